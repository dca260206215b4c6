#ifndef NACRE_SECCOMP_H
#define NACRE_SECCOMP_H

#include <stdint.h>

#include "nacre/error.h"

/*
 * The system calls that a process of ours may still make once a guest has a say in
 * it.  A list of what is allowed; the rest gets EPERM, and a call that only an
 * attacker would make (exec, a socket, ptrace, mount, bpf, ...) kills the process
 * with SIGSYS, as does every call of a foreign architecture.
 *
 * A filter is built once, before forking (about 0.5 ms), and installed in each child
 * (about 0.1 ms).
 */
enum nacre_seccomp_kind {
    NACRE_SECCOMP_NONE,
    NACRE_SECCOMP_WORKER,   /* runs guests: files below the directories it holds, no
                               process, no thread, no socket */
    NACRE_SECCOMP_COMPILER, /* reads and writes the fds it was given, opens nothing;
                               threads, but no process */
};

struct nacre_seccomp_program;

/* NACRE_ERR_UNAVAILABLE when this kernel has no filters, or can't kill by them. */
NACRE_MUST_CHECK enum nacre_status nacre_seccomp_probe(struct nacre_error *err);

/* Made when nacre was built (seccomp_rules.c): nothing to release. */
const struct nacre_seccomp_program *nacre_seccomp_program(enum nacre_seccomp_kind kind);

/*
 * Put every thread of this process under `program`, for good; sets no_new_privs.
 * Allocates nothing, so that a forked child may call it.  To be called last: what
 * the other walls need is not allowed any more.  On failure no filter is in place,
 * and nothing of a guest may run.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_seccomp_install(const struct nacre_seccomp_program *program,
                      struct nacre_error *err);

#endif
