#ifndef NACRE_KERNELFS_H
#define NACRE_KERNELFS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Filesystems by which the kernel shows or takes orders about itself: nothing on one of
 * them is ever a guest's (/proc/self/mem is a regular file and would be the end of
 * everything).  `magic` is the f_type of statfs().  devtmpfs has no magic of its own:
 * who cares about devices compares st_dev with that of /dev.
 */
bool nacre_kernelfs_is(uint32_t magic);

#endif
