#ifndef NACRE_AUDIT_CHECKPOINT_H
#define NACRE_AUDIT_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/error.h"
#include "nacre/hash.h"
#include "nacre/key.h"

/*
 * A checkpoint vouches with the key for a log's first `count` records: they are
 * `bytes` long and the SHA-256 of the last of them is `head` (zeros for none).
 * The first line of the file is the checkpoint of the empty log: one that is
 * missing shows that checkpoints were lost.
 */
struct audit_checkpoint {
    uint64_t count, bytes;
    struct nacre_digest head;
};

#define AUDIT_CHECKPOINT_SUFFIX ".checkpoints"

/* Records between two checkpoints of a busy log. */
#define AUDIT_CHECKPOINT_EVERY 256

/*
 * Append one.  The caller holds the log's lock.  Cuts off what a crash left unfinished
 * before it; on failure the file has no part of the new line.
 */
NACRE_MUST_CHECK enum nacre_status
audit_checkpoint_write(int fd, const char *path, const uint8_t key[NACRE_KEY_BYTES],
                       const struct audit_checkpoint *checkpoint,
                       struct nacre_error *err);

/* False when the line (without newline) is no checkpoint, or not one of this key's. */
bool audit_checkpoint_parse(const char *text, size_t count,
                            const uint8_t key[NACRE_KEY_BYTES],
                            struct audit_checkpoint *ret_checkpoint);

enum audit_last { AUDIT_LAST_NONE, AUDIT_LAST_HOLDS, AUDIT_LAST_BROKEN };

/* The last whole line of the file: there is none, it holds, or it does not. */
NACRE_MUST_CHECK enum nacre_status
audit_checkpoint_last(int fd, const char *path, const uint8_t key[NACRE_KEY_BYTES],
                      enum audit_last *ret_last, struct audit_checkpoint *ret_checkpoint,
                      struct nacre_error *err);

/* `count` bytes at the end of `fd`, whose size is `size`, in one write; what did not
 * fit wholly is cut off again. */
NACRE_MUST_CHECK enum nacre_status audit_append(int fd, const char *path, uint64_t size,
                                                const char *bytes, size_t count,
                                                struct nacre_error *err);

#endif
