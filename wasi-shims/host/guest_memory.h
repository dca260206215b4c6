#ifndef NACRE_WASI_GUEST_MEMORY_H
#define NACRE_WASI_GUEST_MEMORY_H

#include <sys/uio.h>

#include "state.h"

/*
 * The only way to a guest's memory.  Every access is checked against the size of
 * that moment; a pointer obtained here is good until something may grow the memory,
 * which nothing inside a shim does.
 */

/* NULL when [address, address + count) is not all inside.  64 bits, so that a sum of
 * 32-bit numbers from the guest can't wrap on its way here. */
void *ws_guest(const struct nacre_wasi *wasi, uint64_t address, uint64_t count);

/* P1_SUCCESS or P1_FAULT. */
int ws_guest_get(const struct nacre_wasi *wasi, uint64_t address, void *ret_bytes,
                 size_t count);
int ws_guest_put(const struct nacre_wasi *wasi, uint64_t address, const void *bytes,
                 size_t count);
int ws_guest_put_u32(const struct nacre_wasi *wasi, uint64_t address, uint32_t value);
int ws_guest_put_u64(const struct nacre_wasi *wasi, uint64_t address, uint64_t value);

/* A path, terminated; what can't be one is refused. */
int ws_guest_path(const struct nacre_wasi *wasi, uint32_t address, uint32_t count,
                  char ret_path[NACRE_PATH_MAX]);

/* The guest's vectors, a few at a time: it may pass any number of them. */
#define WS_IOV_MAX 64

struct ws_iov {
    uint32_t address, left; /* of the guest's array */
    uint64_t total;         /* bytes handed out so far */
    struct iovec items[WS_IOV_MAX];
    int count;              /* of items */
    size_t bytes;           /* in items */
};

/* Checks that the whole array is inside. */
int ws_iov_begin(const struct nacre_wasi *wasi, struct ws_iov *iov, uint32_t address,
                 uint32_t count);

/*
 * Fills items with the next vectors, empty ones left out; count 0 means there are no
 * more.  Hands out no more in all than one call may move.  FAULT, or UNWIND when the
 * deadline passes over a long array.
 */
int ws_iov_next(struct nacre_wasi *wasi, struct ws_iov *iov);

/* Copies from `bytes` into the vectors, from *position on, and moves that along: as much as
 * there is and fits.  An error only when nothing was copied, or UNWIND. */
int ws_iov_fill(struct nacre_wasi *wasi, struct ws_iov *iov, const unsigned char *bytes,
                uint64_t count, uint64_t *position);

#endif
