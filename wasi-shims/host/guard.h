#ifndef NACRE_WASI_GUARD_H
#define NACRE_WASI_GUARD_H

#include "resolve.h"

/*
 * What may not be reached below a mount: denied and covered names, by name and by
 * identity, and the kernel's own file systems.
 */

/* Take down who the denied and covered names are at this moment. */
void ws_guard_look(struct nacre_wasi *wasi, uint32_t mount);

/* Refuses a canonical path at or below a denied or covered name. */
int ws_guard_name(struct nacre_wasi *wasi, uint32_t mount, const char *path);

/* Refuses what is one of those names under another spelling; after ws_guard_look(). */
int ws_guard_id(struct nacre_wasi *wasi, uint32_t mount, const struct stat *st,
                const char *path);

/* Is it above a denied or covered name?  Then it stays where and what it is: P1_BUSY. */
int ws_guard_above(struct nacre_wasi *wasi, const struct ws_place *place);

/*
 * Has making `place` given life to a denied name, or, with `above`, put it on the way
 * to one?  By name that was refused before; this is for file systems that know a name
 * in more than one spelling.  The caller undoes what it made.
 */
int ws_guard_made(struct nacre_wasi *wasi, const struct ws_place *place, bool above);

/* Refuses a kernel file system.  `fd` and `name` say where to ask, when `dev` is new. */
int ws_guard_device(struct nacre_wasi *wasi, uint32_t mount, int fd, const char *name,
                    dev_t dev, const char *path);

/* Refuses what would change a read-only mount. */
int ws_guard_write(struct nacre_wasi *wasi, uint32_t mount, const char *path);

#endif
