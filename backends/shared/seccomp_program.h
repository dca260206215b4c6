#ifndef NACRE_SECCOMP_PROGRAM_H
#define NACRE_SECCOMP_PROGRAM_H

#include <linux/filter.h>

#include "seccomp.h"

/* Both filters are below 400 instructions; a copy must fit on a child's stack. */
#define NACRE_SECCOMP_INSTRUCTIONS_MAX 1024

struct nacre_seccomp_program {
    struct sock_filter code[NACRE_SECCOMP_INSTRUCTIONS_MAX];
    uint16_t count;
    uint16_t own_pid; /* index of the comparison that install() completes */
};

#endif
