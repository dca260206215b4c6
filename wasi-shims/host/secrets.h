#ifndef NACRE_WASI_SECRETS_H
#define NACRE_WASI_SECRETS_H

#include "fdtable.h"
#include "guest_memory.h"

/*
 * NACRE_SECRET_DIR: a preopen of a run that was given secrets as files.  Directory and
 * files are nowhere but here: no host fd, no path that anyone else could take, and they
 * end with the run.  One level, read-only.  The bytes are the caller's: nothing is copied.
 */

static inline bool ws_is_secrets(struct nacre_wasi *wasi, uint32_t number)
{
    const struct ws_file *file = ws_file_get(wasi, number);

    return file && file->kind == WS_SECRETS;
}

/* The preopen's part in ws_files_begin(): its number is `number`. */
void ws_secrets_begin(struct nacre_wasi *wasi, uint32_t number);

/* What the functions of the same names do when the directory is the secrets' (all cells
 * are theirs), or the file a secret. */
int ws_secrets_open(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells);
int ws_secrets_path_stat(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells);
int ws_secrets_readdir(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells);
int ws_secrets_stat(struct nacre_wasi *wasi, const struct ws_file *file,
                    uint32_t address);

/* NOENT, or that it is no link. */
int ws_secrets_readlink(struct nacre_wasi *wasi, const union nacre_wasi_cell *name);

/* From `offset`, or when that is negative from the file's own position. */
int ws_secret_read(struct nacre_wasi *wasi, struct ws_file *file, int64_t offset,
                   struct ws_iov *iov, uint32_t *ret_count);
int ws_secret_seek(const struct nacre_wasi *wasi, struct ws_file *file, int64_t offset,
                   int whence, uint64_t *ret_position);
/* How much is left to be read. */
uint64_t ws_secret_left(const struct nacre_wasi *wasi, const struct ws_file *file);

#endif
