#ifndef NACRE_SECCOMP_H
#define NACRE_SECCOMP_H

#include <assert.h>
#include <stdint.h>

#include "nacre/error.h"

/*
 * The system calls that a process may still make once a guest has a say in it.  A list
 * of what is allowed; the rest gets EPERM, and every call of a foreign architecture
 * kills the process with SIGSYS.  In a process of our own (worker, compiler) so does a
 * call that only an attacker would make: exec, a socket, ptrace, mount, bpf, ...
 *
 * For a native guest nothing else kills.  clone3, and a call that is newer than the
 * whole table, get ENOSYS, at which C libraries turn to an older one.
 *
 * A filter is made when nacre is built and installed in each child (about 0.1 ms).
 */
enum nacre_seccomp_kind {
    NACRE_SECCOMP_NONE,
    NACRE_SECCOMP_WORKER,   /* runs guests: files below the directories it holds, no
                               process, no thread, no socket */
    NACRE_SECCOMP_COMPILER, /* reads and writes the fds it was given, opens nothing;
                               threads, but no process */
    NACRE_SECCOMP_NATIVE,   /* a program that was not written for us: what Docker's
                               default profile leaves to a container without
                               capabilities, and less */
    NACRE_SECCOMP_BROWSER,  /* the same, and what a browser's own sandbox needs */
};

struct nacre_seccomp_program;

/* NACRE_ERR_UNAVAILABLE when this kernel has no filters, or can't kill by them. */
NACRE_MUST_CHECK enum nacre_status nacre_seccomp_probe(struct nacre_error *err);

/* Made when nacre was built (seccomp_rules.c): nothing to release.  Inlined, so that a
 * program holds only those that it names. */
extern const struct nacre_seccomp_program nacre_worker_filter, nacre_compiler_filter,
    nacre_native_filter, nacre_browser_filter;

static inline const struct nacre_seccomp_program *
nacre_seccomp_program(enum nacre_seccomp_kind kind)
{
    assert(kind != NACRE_SECCOMP_NONE);
    return kind == NACRE_SECCOMP_WORKER     ? &nacre_worker_filter
           : kind == NACRE_SECCOMP_COMPILER ? &nacre_compiler_filter
           : kind == NACRE_SECCOMP_NATIVE   ? &nacre_native_filter
                                            : &nacre_browser_filter;
}

/* NACRE_SECCOMP_NATIVE or _BROWSER as a profile for the container engine, from the same
 * rows.  runc by itself gives ENOSYS for what is newer than the profile. */
const char *nacre_seccomp_profile_json(enum nacre_seccomp_kind kind);

/*
 * A filter that refuses these calls with EPERM and judges no other, to be installed in
 * addition, in any order.  NACRE_ERR_USAGE names the word that is no system call.  A
 * call that only other machines have is fine: here nobody can make it.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_seccomp_blocklist_build(const char *const *names, size_t count,
                              struct nacre_seccomp_program *ret_program,
                              struct nacre_error *err);

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
