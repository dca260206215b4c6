#include "dk_last.h"

#include <string.h>

#include "nacre/text.h"

void dk_last_add(struct dk_last *last, const char *bytes, size_t count)
{
    size_t old;

    if (count > DK_LAST) {
        bytes += count - DK_LAST;
        count = DK_LAST;
    }
    old = last->count + count > DK_LAST ? DK_LAST - count : last->count;
    memmove(last->bytes, last->bytes + last->count - old, old);
    memcpy(last->bytes + old, bytes, count);
    last->count = old + count;
}

const char *dk_last_shown(const struct dk_last *last, char ret_text[DK_LAST_SHOWN])
{
    return nacre_text_show(ret_text, DK_LAST_SHOWN, last->bytes, last->count);
}
