#ifndef NACRE_AUDIT_CHECKPOINT_H
#define NACRE_AUDIT_CHECKPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/error.h"
#include "nacre/hash.h"
#include "nacre/key.h"
#include "nacre/path.h"

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

/*
 * The newest checkpoint once more, in a file of its own in the key directory: whoever
 * can write the log's directory, and put log and checkpoints back together, can't
 * write there.  The file's name comes from the log's path, so that another log put
 * in its place is measured by it too; its content does not, so that whoever moves a
 * log can move this along.
 */
struct audit_newest {
    struct audit_checkpoint vouched;
    /* `lost` was vouched for when the log was found to be another; zeros when that was
     * not known any more.  Stays, so that what open told once is not forgotten. */
    bool broken;
    struct audit_checkpoint lost;
    /* Who wrote it knew that every run up to `vouched` had ended.  Never of a broken
     * one. */
    bool quiet;
};

/* Its absolute path for the log `path`, which must be there. */
NACRE_MUST_CHECK enum nacre_status audit_newest_path(const char *path,
                                                     const char *key_dir,
                                                     char ret_path[NACRE_PATH_MAX],
                                                     struct nacre_error *err);

/* Under the log's lock, as the next one.  AUDIT_LAST_NONE for a missing or an empty
 * file: a crash leaves that before the first record. */
NACRE_MUST_CHECK enum nacre_status
audit_newest_read(const char *newest_path, const uint8_t key[NACRE_KEY_BYTES],
                  enum audit_last *ret_last, struct audit_newest *ret_newest,
                  struct nacre_error *err);

/* In one write over what was there, not forced to disk. */
NACRE_MUST_CHECK enum nacre_status
audit_newest_write(const char *newest_path, const uint8_t key[NACRE_KEY_BYTES],
                   const struct audit_newest *newest, struct nacre_error *err);

/* `count` bytes at the end of `fd`, whose size is `size`, in one write; what did not
 * fit wholly is cut off again. */
NACRE_MUST_CHECK enum nacre_status audit_append(int fd, const char *path, uint64_t size,
                                                const char *bytes, size_t count,
                                                struct nacre_error *err);

#endif
