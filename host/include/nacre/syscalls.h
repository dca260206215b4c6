#ifndef NACRE_SYSCALLS_H
#define NACRE_SYSCALLS_H

#include "nacre/error.h"

/* The system calls that libseccomp knew when nacre was built.  -1: only other machines
 * have it.  NACRE_ERR_USAGE: none is called so; the nearest name is told. */
NACRE_MUST_CHECK enum nacre_status
nacre_syscall_number(const char *name, int *ret_number, struct nacre_error *err);

#endif
