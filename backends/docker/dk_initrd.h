#ifndef DK_INITRD_H
#define DK_INITRD_H

#include "nacre/error.h"

/*
 * The initial file system of a machine (machine.h of the channel): our init, and behind
 * it the modules of the kernel that it will run on, an archive of their own that was made
 * with that kernel.  The kernel unpacks one after the other.
 */
#define DK_INITRD_MODULES_MAX ((uint64_t)64 << 20)

/* Writes it to `out_fd`, with all that is left in `modules_fd`; -1: whoever boots lays
 * them behind it.  On failure what was written is no file system. */
NACRE_MUST_CHECK enum nacre_status dk_initrd_write(int modules_fd, int out_fd,
                                                   struct nacre_error *err);

#endif
