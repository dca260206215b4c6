/* Trusts nothing of what it cuts into frames: the sender may be a guest that has taken
 * the other end over. */
#include "frame.h"

#include <assert.h>
#include <string.h>

/* Version, type, lane, a zero, the payload's size, the stream's id. */
enum {
    AT_VERSION,
    AT_TYPE,
    AT_LANE,
    AT_PADDING,
    AT_SIZE,
    AT_ID = AT_SIZE + 4,
};
_Static_assert(AT_ID + FRAME_ID == FRAME_HEADER, "the header has no gap");

const char *frame_type_name(uint8_t type)
{
    switch (type) {
#define X(id, value) \
    case value:      \
        return #id;
        FRAME_TYPE_MAP(X)
#undef X
    default:
        return NULL;
    }
}

void frame_header(uint8_t ret_bytes[FRAME_HEADER], const struct frame *frame)
{
    assert(frame_type_name(frame->type) && frame->lane < FRAME_LANES);
    assert(frame->size <= FRAME_PAYLOAD_MAX);
    ret_bytes[AT_VERSION] = FRAME_VERSION;
    ret_bytes[AT_TYPE] = frame->type;
    ret_bytes[AT_LANE] = frame->lane;
    ret_bytes[AT_PADDING] = 0;
    for (unsigned i = 0; i < 4; i++)
        ret_bytes[AT_SIZE + i] = (uint8_t)(frame->size >> (8 * i));
    memcpy(ret_bytes + AT_ID, frame->id, FRAME_ID);
}

void frame_reader_init(struct frame_reader *reader)
{
    reader->used = 0;
    reader->taken = 0;
    reader->broken = false;
}

uint8_t *frame_reader_room(struct frame_reader *reader, size_t *ret_room)
{
    size_t left = reader->used - reader->taken;

    /* What is left is moved only when it must be, or when that costs nothing. */
    if (left == 0 ||
        sizeof(reader->bytes) - reader->used < FRAME_HEADER + FRAME_PAYLOAD_MAX) {
        memmove(reader->bytes, reader->bytes + reader->taken, left);
        /* What was moved may be half of a frame with secrets, which its taker wipes in
         * one place. */
        if (left > 0)
            explicit_bzero(reader->bytes + left, reader->taken);
        reader->used = left;
        reader->taken = 0;
    }
    *ret_room = sizeof(reader->bytes) - reader->used;
    return reader->bytes + reader->used;
}

void frame_reader_filled(struct frame_reader *reader, size_t count)
{
    assert(count <= sizeof(reader->bytes) - reader->used);
    reader->used += count;
}

static uint32_t size_of(const uint8_t *header)
{
    uint32_t size = 0;

    for (unsigned i = 0; i < 4; i++)
        size |= (uint32_t)header[AT_SIZE + i] << (8 * i);
    return size;
}

size_t frame_reader_missing(const struct frame_reader *reader)
{
    const uint8_t *header = reader->bytes + reader->taken;
    size_t left = reader->used - reader->taken, whole = FRAME_HEADER;

    if (left >= FRAME_HEADER && size_of(header) <= FRAME_PAYLOAD_MAX)
        whole += size_of(header);
    return left < whole ? whole - left : 0;
}

int frame_reader_next(struct frame_reader *reader, struct frame *ret_frame)
{
    const uint8_t *header = reader->bytes + reader->taken;
    size_t left = reader->used - reader->taken;
    uint32_t size;

    if (reader->broken)
        return -1;
    if (left < FRAME_HEADER)
        return 0;
    size = size_of(header);
    if (header[AT_VERSION] != FRAME_VERSION || !frame_type_name(header[AT_TYPE]) ||
        header[AT_LANE] >= FRAME_LANES || header[AT_PADDING] != 0 ||
        size > FRAME_PAYLOAD_MAX) {
        reader->broken = true;
        return -1;
    }
    if (left < FRAME_HEADER + size)
        return 0;
    ret_frame->type = header[AT_TYPE];
    ret_frame->lane = header[AT_LANE];
    memcpy(ret_frame->id, header + AT_ID, FRAME_ID);
    ret_frame->size = size;
    ret_frame->payload = header + FRAME_HEADER;
    reader->taken += FRAME_HEADER + size;
    return 1;
}

void frame_reader_wipe(struct frame_reader *reader, const struct frame *frame)
{
    assert(frame->payload + frame->size == reader->bytes + reader->taken);
    explicit_bzero(reader->bytes + reader->taken - frame->size, frame->size);
}
