#ifndef NACRE_INIT_LOOPBACK_H
#define NACRE_INIT_LOOPBACK_H

#include <stdbool.h>

/* Raises the one interface of an empty network: a guest may talk to itself.  False with
 * errno. */
bool loopback_raise(void);

#endif
