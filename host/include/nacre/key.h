#ifndef NACRE_KEY_H
#define NACRE_KEY_H

#include <stdint.h>

#include "nacre/error.h"

/* What only its owner may read: a directory, and a key in it. */

#define NACRE_KEY_BYTES 32

/*
 * Open `path`, made 0700 with its missing parents when it is not there.
 * NACRE_ERR_USAGE when it is a link or no directory, belongs to another user, or
 * lets group or others in: what lies in it could not be trusted then.
 */
NACRE_MUST_CHECK enum nacre_status nacre_private_dir_open(const char *path, int *ret_fd,
                                                          struct nacre_error *err);

/*
 * The key in file `name` of the private directory `dir`, made of random bytes at
 * first use; of several processes that make it at once all get the same one.
 * NACRE_ERR_USAGE when the file is not a plain one of NACRE_KEY_BYTES bytes, ours,
 * and closed to group and others: such a file is never replaced or repaired here,
 * because what the old key protects would be lost without a word.
 */
NACRE_MUST_CHECK enum nacre_status nacre_key_load(const char *dir, const char *name,
                                                  uint8_t ret_key[NACRE_KEY_BYTES],
                                                  struct nacre_error *err);

#endif
