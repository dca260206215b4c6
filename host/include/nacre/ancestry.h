#ifndef NACRE_ANCESTRY_H
#define NACRE_ANCESTRY_H

#include <stdbool.h>

/*
 * Was this process started by a command that nacre runs, at whatever level?  Nacre's init
 * is above every one of them, in a sandbox as pid 1, and whoever leaves its parent behind
 * is its child.  Where /proc does not tell, the answer is yes: what depends on it is for
 * people.  Not told: who has another daemon of the host (cron, systemd) start it.
 */
#define NACRE_INIT_NAME "nacre-init"
bool nacre_is_inside(void);

#endif
