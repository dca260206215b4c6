#ifndef NACRE_SECRETS_STORE_H
#define NACRE_SECRETS_STORE_H

#include <stdbool.h>

#include "nacre/buf.h"

/* Files of private directories, by the directory's fd. */

/* All of a file.  *ret_there is false, and nothing was read, when there is none.
 * NACRE_ERR_USAGE: a link, not a plain file, another user's, or open to others. */
NACRE_MUST_CHECK enum nacre_status store_read(int dir_fd, const char *name,
                                              struct nacre_buf *buf, bool *ret_there,
                                              struct nacre_error *err);

/*
 * The file as a whole, or as it was: whenever this process or the machine stops, the name
 * stands for one of the two, and after it returned for the new one.  For one writer at a
 * time.
 */
NACRE_MUST_CHECK enum nacre_status store_replace(int dir_fd, const char *name,
                                                 const void *bytes, size_t count,
                                                 struct nacre_error *err);

/* The same in two steps, for two files that change together: all that is likely to fail
 * fails in the first, and leaves nothing.  What was prepared is committed or dropped. */
NACRE_MUST_CHECK enum nacre_status store_prepare(int dir_fd, const char *name,
                                                 const void *bytes, size_t count,
                                                 struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status store_commit(int dir_fd, const char *name,
                                                struct nacre_error *err);
void store_drop(int dir_fd, const char *name);

/* At the end of a file, which is made where there is none; others may have it open. */
NACRE_MUST_CHECK enum nacre_status store_append(int dir_fd, const char *name,
                                                const void *bytes, size_t count,
                                                struct nacre_error *err);

/* Waits 5 s at most, then NACRE_ERR_UNAVAILABLE.  Closing *ret_fd gives it back. */
NACRE_MUST_CHECK enum nacre_status store_lock(int dir_fd, const char *name, int *ret_fd,
                                              struct nacre_error *err);

#endif
