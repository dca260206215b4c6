#ifndef NACRE_WASI_FDTABLE_H
#define NACRE_WASI_FDTABLE_H

#include "state.h"

/* Numbers are the lowest free one, as in POSIX; none is ever beyond what may be open
 * at once, so the table is bounded by the limit. */

/* What a preopen reports; opened directories report what they were asked for. */
extern const uint64_t ws_rights_directory, ws_rights_file;

/* NULL when it is not open. */
static inline struct ws_file *ws_file_get(struct nacre_wasi *wasi, uint32_t number)
{
    if (number >= wasi->file_end || wasi->files[number].kind == WS_FREE)
        return NULL;
    return &wasi->files[number];
}

/* A directory whose fd is there (a private one is made now).  BADF, NOTDIR, or why
 * the private one could not be made. */
int ws_directory_get(struct nacre_wasi *wasi, uint32_t number, struct ws_file **ret_file);

/* A regular file, which has no fd if it is a secret; anything else open is `otherwise`. */
int ws_regular_get(struct nacre_wasi *wasi, uint32_t number, int otherwise,
                   struct ws_file **ret_file);

/* May the guest open one more?  Puts the refusal on record. */
int ws_files_room(struct nacre_wasi *wasi);

/* Takes over file->fd and file->path on success only. */
int ws_file_add(struct nacre_wasi *wasi, const struct ws_file *file,
                uint32_t *ret_number);

void ws_file_close(struct nacre_wasi *wasi, uint32_t number);

/* `to` must be open too; what it was is closed. */
int ws_file_renumber(struct nacre_wasi *wasi, uint32_t from, uint32_t to);

/* stdio and the preopens, as a run begins.  False when memory ran out. */
bool ws_files_begin(struct nacre_wasi *wasi);
void ws_files_end(struct nacre_wasi *wasi);

/* A directory of `mount` moved: open ones at or below it go by their new name.  When
 * memory runs out they are closed instead, so that no name is ever a stale one. */
void ws_files_moved(struct nacre_wasi *wasi, uint32_t mount, const char *from,
                    const char *to);

#endif
