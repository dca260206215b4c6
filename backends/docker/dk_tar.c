#include "dk_tar.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* ustar: octal numbers, and a sum over the head. */
void dk_tar_head(char ret_block[DK_TAR_BLOCK], enum dk_tar_kind kind, const char *name,
                 unsigned mode, size_t size)
{
    unsigned sum = 0;

    assert(strlen(name) < 100 && mode <= 07777);
    memset(ret_block, 0, DK_TAR_BLOCK);
    (void)snprintf(ret_block, 100, "%s", name);
    (void)snprintf(ret_block + 100, 8, "%07o", mode);
    (void)snprintf(ret_block + 108, 8, "%07o", 0u);
    (void)snprintf(ret_block + 116, 8, "%07o", 0u);
    (void)snprintf(ret_block + 124, 12, "%011zo", size);
    (void)snprintf(ret_block + 136, 12, "%011o", 0u);
    memset(ret_block + 148, ' ', 8);
    ret_block[156] = (char)kind;
    memcpy(ret_block + 257, "ustar\00000", 8);
    for (size_t i = 0; i < DK_TAR_BLOCK; i++)
        sum += (unsigned char)ret_block[i];
    (void)snprintf(ret_block + 148, 8, "%06o", sum);
}
