#ifndef NACRE_FILES_ABI_H
#define NACRE_FILES_ABI_H

#include <stdint.h>

/*
 * The import of module "nacre" by which a guest renames several files, for both sides.
 * Numbers and layouts are fixed for good, as in nacre_http_abi.h.
 *
 *   rename_all (i32 renames, i32 count, i32 done) -> an errno of preview1
 *       Makes the renames one after the other, each as path_rename would, and stops at
 *       the first that fails.  *done is how many were made.  It is one call: the
 *       guest's fuel does not end it between two of them, nor its deadline, unless that is
 *       100 ms past.
 */
#define NACRE_FILES_MODULE "nacre"
#define NACRE_RENAMES_MAX 2048

/* An address in the guest's memory. */
#ifdef __wasm32__
#define NACRE_FILES_ADDRESS const char *
#else
#define NACRE_FILES_ADDRESS uint32_t
#endif

/* The arguments of path_rename; names have no terminator. */
struct nacre_rename {
    uint32_t from_fd;
    NACRE_FILES_ADDRESS from;
    uint32_t from_size;
    uint32_t to_fd;
    NACRE_FILES_ADDRESS to;
    uint32_t to_size;
};
_Static_assert(sizeof(struct nacre_rename) == 24, "six numbers");

#endif
