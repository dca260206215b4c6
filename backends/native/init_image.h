#ifndef NACRE_INIT_IMAGE_H
#define NACRE_INIT_IMAGE_H

#include "nacre/error.h"

/*
 * The program that is pid 1 of every native sandbox (backends/init): a static executable
 * that is part of the library, so that no file on disk decides what runs as pid 1.
 */
extern const unsigned char nacre_init_image[];
extern const size_t nacre_init_image_size;

/*
 * A sealed memfd of it (CLOEXEC, read-only for good), to be executed by way of
 * /proc/self/fd/N: no arguments in a container, "browser" in a browser's, "launch" for a
 * process, "none" for level none.  Takes about as long as copying it: make one and keep it.
 */
NACRE_MUST_CHECK enum nacre_status nacre_init_fd(int *ret_fd, struct nacre_error *err);

#endif
