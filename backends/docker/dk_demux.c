/* Trusts nothing of what goes in: it comes from the engine, through it from guests. */
#include "dk_demux.h"

#include <assert.h>
#include <string.h>

#define HEADER 8

unsigned char *dk_demux_room(struct dk_demux *demux, size_t *ret_room)
{
    if (demux->start > 0) {
        memmove(demux->in, demux->in + demux->start, demux->end - demux->start);
        demux->end -= demux->start;
        demux->start = 0;
    }
    *ret_room = sizeof(demux->in) - demux->end;
    return demux->in + demux->end;
}

void dk_demux_added(struct dk_demux *demux, size_t count)
{
    assert(count <= sizeof(demux->in) - demux->end);
    demux->end += count;
}

/* An empty frame is refused with the rest: the engine sends none, and a flood of them
 * would keep a reader busy without ever giving it a byte. */
static bool open_frame(struct dk_demux *demux)
{
    const unsigned char *header = demux->in + demux->start;
    uint32_t length = (uint32_t)header[4] << 24 | (uint32_t)header[5] << 16 |
                      (uint32_t)header[6] << 8 | header[7];

    if ((header[0] != DK_OUTPUT_STDOUT && header[0] != DK_OUTPUT_STDERR) ||
        header[1] != 0 || header[2] != 0 || header[3] != 0 || length == 0 ||
        length > DK_FRAME_MAX)
        return false;
    demux->output = header[0];
    demux->left = length;
    demux->start += HEADER;
    return true;
}

ssize_t dk_demux_take(struct dk_demux *demux, void *bytes, size_t count,
                      enum dk_output *ret_output)
{
    size_t held, taken = count;

    assert(count > 0);
    if (demux->left == 0) {
        if (demux->end - demux->start < HEADER)
            return 0;
        if (!open_frame(demux))
            return -1;
    }
    held = demux->end - demux->start;
    taken = taken < held ? taken : held;
    taken = taken < demux->left ? taken : demux->left;
    memcpy(bytes, demux->in + demux->start, taken);
    demux->start += taken;
    demux->left -= (uint32_t)taken;
    if (taken > 0)
        *ret_output = demux->output;
    return (ssize_t)taken;
}

bool dk_demux_is_ready(const struct dk_demux *demux)
{
    return demux->end - demux->start >= (demux->left > 0 ? 1 : HEADER);
}

bool dk_demux_is_between(const struct dk_demux *demux)
{
    return demux->left == 0 && demux->start == demux->end;
}
