#ifndef DK_DEMUX_H
#define DK_DEMUX_H

#include <stdbool.h>

#include "dk_api.h"

/*
 * The engine's frames around a container's output: one byte says which of the two, three
 * are zero, four hold the length (most significant first), then that many bytes.  Pure:
 * bytes go in by room/added and come out by take.
 */
struct dk_demux {
    unsigned char in[32768]; /* private, as all of it */
    size_t start, end;       /* in[start, end) waits to be taken apart */
    uint32_t left;           /* of the frame that is being taken */
    enum dk_output output;   /* whose it is */
};

/* The engine copies 32 KiB at a time; a length far above is a frame that is none. */
#define DK_FRAME_MAX ((uint32_t)16 << 20)

/* Where input goes, and how much: never nothing after take() returned 0. */
unsigned char *dk_demux_room(struct dk_demux *demux, size_t *ret_room);
void dk_demux_added(struct dk_demux *demux, size_t count);

/* Bytes of one output; 0: more input is needed; -1: this is no frame, and never again. */
ssize_t dk_demux_take(struct dk_demux *demux, void *bytes, size_t count,
                      enum dk_output *ret_output);

/* Would take() give bytes, or a break, without more input? */
bool dk_demux_is_ready(const struct dk_demux *demux);

/* Nothing is held, and no frame is open: here a stream may end. */
bool dk_demux_is_between(const struct dk_demux *demux);

#endif
