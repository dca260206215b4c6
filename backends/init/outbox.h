#ifndef NACRE_INIT_OUTBOX_H
#define NACRE_INIT_OUTBOX_H

#include "frame.h"

/*
 * What waits to be sent.  An owner that does not read costs this much memory and no
 * more: bytes of lanes have one part of the room, everything else the other, which lasts
 * for a last word of every command and an answer to the frame at hand.
 */
#define OUTBOX_DATA ((size_t)1 << 20)
#define OUTBOX_CONTROL ((size_t)640 << 10)
#define OUTBOX_TEXT_MAX 4096 /* of a text in a frame: a longer one is cut */

/*
 * That a command has begun, and that its output is at its end, is worth no trip of its
 * own: through an engine one costs 0.3 ms.  Such a frame waits so long for another one.
 */
#define OUTBOX_HOLD_MS 2

struct outbox {
    size_t start, end;
    uint64_t held_ns; /* until then there is nothing but such frames; 0: there is more */
    uint8_t bytes[OUTBOX_DATA + OUTBOX_CONTROL];
};

/* A frame that is no data.  `id` may be NULL: what concerns the sandbox as a whole. */
void outbox_add(struct outbox *out, enum frame_type type, uint8_t lane, const uint8_t *id,
                const void *payload, size_t size);
/* The same with a text for its payload, behind `count` numbers. */
void outbox_add_text(struct outbox *out, enum frame_type type, const uint8_t *id,
                     const uint64_t *numbers, size_t count, const char *text);

/* There is room for an answer to one more frame of the owner. */
bool outbox_may_answer(const struct outbox *out);

/* Where a lane's bytes may be put: up to *ret_room of them, 0 for now none.  Then
 * outbox_data_added() makes a frame of them. */
uint8_t *outbox_data_room(struct outbox *out, size_t *ret_room);
void outbox_data_added(struct outbox *out, enum frame_type type, uint8_t lane,
                       const uint8_t *id, size_t count);

bool outbox_takes_data(const struct outbox *out);

/* The frame that was added last is needed by somebody. */
static inline void outbox_hurry(struct outbox *out)
{
    out->held_ns = 0;
}

static inline bool outbox_is_empty(const struct outbox *out)
{
    return out->start == out->end;
}

/* Writes what can be written without waiting.  False: nobody reads any more. */
bool outbox_flush(struct outbox *out, int fd);

#endif
