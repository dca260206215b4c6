#ifndef DK_LAST_H
#define DK_LAST_H

#include <stddef.h>

/* The last that a program said: what a failure shows of it. */
#define DK_LAST 320
#define DK_LAST_SHOWN (DK_LAST + 64)
struct dk_last {
    char bytes[DK_LAST];
    size_t count;
};
void dk_last_add(struct dk_last *last, const char *bytes, size_t count);
/* Escaped and cut. */
const char *dk_last_shown(const struct dk_last *last, char ret_text[DK_LAST_SHOWN]);

#endif
