#ifndef NACRE_LANDLOCK_H
#define NACRE_LANDLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/error.h"

/*
 * Landlock, a second wall: what a process may open, whatever fds and bugs it has.
 * It is used at whatever ABI the kernel has.  It judges opens, not fds that are
 * already open, and none of O_PATH, stat, chmod and utimes.
 */
struct nacre_landlock_rule {
    int dir_fd;      /* a directory (O_PATH will do), and all that lies below it; or one
                        file or device */
    bool writable;   /* read and list; with `writable` also change, make and remove files,
                        directories and symbolic links */
    bool executable; /* also execute */
    bool makes_ipc;  /* with `writable` also make FIFOs and sockets.  Never devices */
    bool ioctls;     /* also ioctls of devices: for a terminal */
    bool connects;   /* also connect to sockets that others have made there */
};

/* The first ABI that judges everything we ask for, sockets by name aside: a wasm worker
 * has none. */
#define NACRE_LANDLOCK_ABI_FULL 6
/* The first one that judges those.  What a domain has made itself it can always reach. */
#define NACRE_LANDLOCK_ABI_SOCKETS 9

/* 0 when the kernel has none, it is switched off, or an outer sandbox hides it. */
uint32_t nacre_landlock_abi(void);

/*
 * Confine this thread and its later children to `rules` (none: no file at all), to no
 * TCP, and to signals and abstract sockets of its own domain, as far as the ABI goes;
 * for good.  Sets no_new_privs.  *ret_abi is what holds; 0: there is no Landlock and
 * nothing changed, which is for the caller to judge.  With ABI 1 a rename or link from
 * one directory to another fails with EXDEV even below one writable rule.
 * On failure nothing is confined.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_landlock_enforce(const struct nacre_landlock_rule *rules, size_t count,
                       uint32_t *ret_abi, struct nacre_error *err);

/*
 * The ruleset for a native guest, in namespaces of its own, for a process that restricts
 * itself by it later: only files are judged.  Its TCP is its own loopback, its signals
 * are its own pid namespace's, and what it starts in one command it may signal from the
 * next.
 * *ret_fd is -1 when the kernel has no Landlock.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_landlock_ruleset_open(const struct nacre_landlock_rule *rules, size_t count,
                            int *ret_fd, struct nacre_error *err);

/* In short words what `abi` does not judge; "" from NACRE_LANDLOCK_ABI_FULL on. */
const char *nacre_landlock_lacks(uint32_t abi);

#endif
