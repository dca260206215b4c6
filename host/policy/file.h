#ifndef NACRE_POLICY_FILE_H
#define NACRE_POLICY_FILE_H

#include "nacre/buf.h"
#include "nacre/error.h"

/*
 * The file of a policy or a configuration (`kind`, for errors).  It may be anybody's: it
 * is opened without waiting, must be a regular file, and is read up to the buffer's
 * ceiling.  Links are followed: people keep such files elsewhere.
 */

/* -1 with errno where there is nothing to open. */
int nacre_policy_file_open(const char *path);
/* What that errno means. */
NACRE_MUST_CHECK enum nacre_status nacre_policy_file_fail(const char *kind,
                                                          const char *path,
                                                          struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status nacre_policy_file_read(int fd, const char *kind,
                                                          const char *path,
                                                          struct nacre_buf *buf,
                                                          struct nacre_error *err);
/* Where it really lies; the caller owns the text. */
NACRE_MUST_CHECK enum nacre_status nacre_policy_file_real(const char *kind,
                                                          const char *path,
                                                          char **ret_path,
                                                          struct nacre_error *err);

#endif
