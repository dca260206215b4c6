#ifndef NACRE_INIT_CHILDREN_H
#define NACRE_INIT_CHILDREN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* SIGKILL to the children of this process, whose own children are its children then.
 * False: the kernel's list of them can't be read. */
bool children_kill(void);

/* One child that has ended: its pid; 0: none has, some live; -1: there is none at all. */
pid_t children_reap(int *ret_status);

#endif
