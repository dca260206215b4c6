#ifndef NACRE_SECCOMP_RULES_H
#define NACRE_SECCOMP_RULES_H

#include "nacre/own.h"
#include "seccomp_program.h"

/* What a filter allows beyond its kind: a mask.  Memory that is writable and
 * executable at once is refused in any case. */
enum nacre_seccomp_extra {
    NACRE_SECCOMP_MAP_CODE    = 1 << 0, /* mmap and mprotect with PROT_EXEC */
    NACRE_SECCOMP_RECEIVE_FDS = 1 << 1, /* recvmsg on a socket that is already there */
};

/* Takes about 0.5 ms: for the generator and for tests. */
NACRE_MUST_CHECK enum nacre_status
nacre_seccomp_build(enum nacre_seccomp_kind kind, uint32_t extras,
                    struct nacre_seccomp_program **ret_program, struct nacre_error *err);
void nacre_seccomp_program_free(struct nacre_seccomp_program *program); /* accepts NULL */
NACRE_OWNED(nacre_seccomp_program)

#endif
