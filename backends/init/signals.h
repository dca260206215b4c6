#ifndef NACRE_INIT_SIGNALS_H
#define NACRE_INIT_SIGNALS_H

/*
 * Every signal that the kernel has, also the few that a C library keeps for itself and
 * does not let its callers touch.
 */

/* All get their defaults: one that is ignored would stay so in what is executed. */
void signals_reset(void);

/* Blocks all; returns an fd that never waits, to read them from, or -1. */
int signals_take(void);

#endif
