#ifndef NACRE_SCRATCH_ROOT_H
#define NACRE_SCRATCH_ROOT_H

#include <stdbool.h>

#include "nacre/error.h"
#include "nacre/own.h"

/*
 * Where private directories are made: one root for each engine, 0700, on tmpfs where
 * there is one, removed at the end.  A lock held on the root tells others that its
 * owner lives; what a killed owner left is removed at the next open.
 */
struct nacre_scratch;

NACRE_MUST_CHECK enum nacre_status nacre_scratch_open(const char *base,
                                                      struct nacre_scratch **ret_scratch,
                                                      struct nacre_error *err);
void nacre_scratch_free(struct nacre_scratch *scratch); /* accepts NULL */
NACRE_OWNED(nacre_scratch)

/* A new directory, for one worker.  The caller closes *ret_fd and gives `name` back
 * to nacre_scratch_drop() when nobody uses it any more. */
#define NACRE_SCRATCH_NAME 24
NACRE_MUST_CHECK enum nacre_status nacre_scratch_make(struct nacre_scratch *scratch,
                                                      char ret_name[NACRE_SCRATCH_NAME],
                                                      int *ret_fd,
                                                      struct nacre_error *err);
void nacre_scratch_drop(struct nacre_scratch *scratch, const char *name);

/* The same while somebody may still use it, if nothing was ever made there: a directory
 * that is gone takes no more names.  False, and it stays as it is, if something was. */
bool nacre_scratch_drop_unused(struct nacre_scratch *scratch, const char *name);

#endif
