#ifndef DK_TAR_H
#define DK_TAR_H

#include <stddef.h>

/*
 * The few tars that nacre makes itself, in the form that every engine reads.  The same
 * entries are the same bytes: nobody's name and no time is in them.
 */
#define DK_TAR_BLOCK 512
#define DK_TAR_END (2 * DK_TAR_BLOCK) /* of zeros, behind the last entry */

/* What a file of `size` bytes takes behind its head. */
static inline size_t dk_tar_room(size_t size)
{
    return (size + DK_TAR_BLOCK - 1) / DK_TAR_BLOCK * DK_TAR_BLOCK;
}

enum dk_tar_kind {
    DK_TAR_FILE = '0',
    DK_TAR_DIR = '5', /* its name ends with a slash */
};

/* The head of one entry of root's; `name` has less than 100 bytes. */
void dk_tar_head(char ret_block[DK_TAR_BLOCK], enum dk_tar_kind kind, const char *name,
                 unsigned mode, size_t size);

#endif
