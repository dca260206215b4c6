#ifndef NACRE_SECCOMP_RULES_H
#define NACRE_SECCOMP_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "nacre/own.h"
#include "seccomp_program.h"

/* What a filter allows beyond its kind: a mask.  Memory that is writable and
 * executable at once is refused in any case. */
enum nacre_seccomp_extra {
    NACRE_SECCOMP_MAP_CODE    = 1 << 0, /* mmap and mprotect with PROT_EXEC */
    NACRE_SECCOMP_RECEIVE_FDS = 1 << 1, /* recvmsg on a socket that is already there */
};

/* One row of the native tables.  Rows of the same name are joined by "or". */
struct nacre_seccomp_arg {
    uint32_t index;
    uint64_t mask, value; /* holds when (argument & mask) == value */
};
struct nacre_seccomp_row {
    const char *name;  /* of the system call; not every machine has all of them */
    uint32_t refuse;   /* 0: allowed; else the errno */
    struct nacre_seccomp_arg args[2];
    size_t arg_count;  /* all of them must hold; 0: whatever its arguments */
};

/* Each row once, those without conditions first; ends with the first visit that fails. */
typedef enum nacre_status nacre_seccomp_visit(void *data,
                                              const struct nacre_seccomp_row *row,
                                              struct nacre_error *err);
typedef enum nacre_status nacre_seccomp_rows(nacre_seccomp_visit *visit, void *data,
                                             struct nacre_error *err);
NACRE_MUST_CHECK nacre_seccomp_rows nacre_seccomp_native_rows, nacre_seccomp_browser_rows;

/* Takes about 0.5 ms: for the generator and for tests.  Native filters have no extras. */
NACRE_MUST_CHECK enum nacre_status
nacre_seccomp_build(enum nacre_seccomp_kind kind, uint32_t extras,
                    struct nacre_seccomp_program **ret_program, struct nacre_error *err);
void nacre_seccomp_program_free(struct nacre_seccomp_program *program); /* accepts NULL */
NACRE_OWNED(nacre_seccomp_program)

#endif
