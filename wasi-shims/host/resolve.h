#ifndef NACRE_WASI_RESOLVE_H
#define NACRE_WASI_RESOLVE_H

#include "fdtable.h"

/*
 * Where a path of the guest leads: a directory, held by its fd, and the last component
 * in it.  Whatever is done next is done with the two, so nothing is looked up again.
 */
struct ws_place {
    uint32_t mount;
    int dir_fd;
    dev_t dir_dev; /* where that lies */
    bool owns_dir;
    bool slash;   /* the guest wrote one at the end: it must be a directory */
    bool exists;
    struct stat st;           /* if it exists; of a link itself, not of its target */
    char name[NAME_MAX + 1];  /* "." when the path ends in a directory without a name */
    char last[NAME_MAX + 2];  /* the name with its slash, for calls that make or remove */
    char path[NACRE_PATH_MAX]; /* canonical, from the mount's root; "" is the root */
};

#define WS_PLACE { .dir_fd = -1 }

void ws_place_guard(struct ws_place *place);

/* A link in last place. */
enum ws_links {
    WS_LINK_KEPT,      /* it is what is meant, slash or not */
    WS_LINK_IF_SLASH,  /* followed when a slash comes after it, as for open and stat */
    WS_LINK_FOLLOWED,
};

/*
 * Resolve `path` below `base`.  What does not exist is a success with exists false,
 * when all before its last component does.  Refusals (escape, denied-path,
 * covered-path, kernel-filesystem) are put on record.
 */
int ws_resolve(struct nacre_wasi *wasi, const struct ws_file *base, const char *path,
               enum ws_links links, struct ws_place *place);

#endif
