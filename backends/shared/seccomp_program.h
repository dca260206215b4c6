#ifndef NACRE_SECCOMP_PROGRAM_H
#define NACRE_SECCOMP_PROGRAM_H

#include <linux/filter.h>

#include "seccomp.h"

/* A copy must fit on a child's stack. */
#define NACRE_SECCOMP_INSTRUCTIONS_MAX 1024

/* x32, a foreign architecture, has the native one's name and its numbers from here on.
 * No other machine has numbers as high. */
#define NACRE_SECCOMP_X32 UINT32_C(0x40000000)

struct nacre_seccomp_program {
    struct sock_filter code[NACRE_SECCOMP_INSTRUCTIONS_MAX];
    uint16_t count;
    uint16_t own_pid; /* index of the comparison that install() completes; 0: none */
};

#endif
