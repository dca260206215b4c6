#include "outbox.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "nacre/clock.h"
#include "pack.h"

/* STARTED, two ENDs, CREDIT and EXIT, or REFUSED with a text. */
#define LAST_WORDS (8 * FRAME_HEADER + 128 + OUTBOX_TEXT_MAX)
_Static_assert((CONFIG_COMMANDS_MAX + 2) * LAST_WORDS <= OUTBOX_CONTROL,
               "every command and the frame at hand have room");

static size_t used(const struct outbox *out)
{
    return out->end - out->start;
}

static uint8_t *room_for(struct outbox *out, size_t count)
{
    if (count > sizeof(out->bytes) - out->end) {
        memmove(out->bytes, out->bytes + out->start, used(out));
        out->end -= out->start;
        out->start = 0;
    }
    assert(count <= sizeof(out->bytes) - out->end);
    return out->bytes + out->end;
}

static void put_header(uint8_t *at, enum frame_type type, uint8_t lane, const uint8_t *id,
                       size_t size)
{
    struct frame frame = { .type = (uint8_t)type, .lane = lane, .size = (uint32_t)size };

    if (id)
        memcpy(frame.id, id, FRAME_ID);
    frame_header(at, &frame);
}

void outbox_add(struct outbox *out, enum frame_type type, uint8_t lane, const uint8_t *id,
                const void *payload, size_t size)
{
    uint8_t *at = room_for(out, FRAME_HEADER + size);

    if (type != FRAME_STARTED && type != FRAME_END)
        out->held_ns = 0;
    else if (outbox_is_empty(out))
        out->held_ns = nacre_clock_ns() + OUTBOX_HOLD_MS * NACRE_NS_PER_MS;
    put_header(at, type, lane, id, size);
    if (size > 0)
        memcpy(at + FRAME_HEADER, payload, size);
    out->end += FRAME_HEADER + size;
}

void outbox_add_text(struct outbox *out, enum frame_type type, const uint8_t *id,
                     const uint64_t *numbers, size_t count, const char *text)
{
    uint8_t bytes[OUTBOX_TEXT_MAX + 64];
    struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };
    char shown[OUTBOX_TEXT_MAX];

    (void)strncpy(shown, text, sizeof(shown) - 1);
    shown[sizeof(shown) - 1] = '\0';
    for (size_t i = 0; i < count; i++)
        pack_u64(&pack, numbers[i]);
    pack_text(&pack, shown);
    assert(!pack.failed);
    outbox_add(out, type, 0, id, bytes, pack.used);
}

bool outbox_may_answer(const struct outbox *out)
{
    return used(out) + (CONFIG_COMMANDS_MAX + 1) * LAST_WORDS <= sizeof(out->bytes);
}

bool outbox_takes_data(const struct outbox *out)
{
    return used(out) + FRAME_HEADER + FRAME_PAYLOAD_MAX <= OUTBOX_DATA;
}

uint8_t *outbox_data_room(struct outbox *out, size_t *ret_room)
{
    *ret_room = outbox_takes_data(out) ? FRAME_PAYLOAD_MAX : 0;
    return room_for(out, FRAME_HEADER + *ret_room) + FRAME_HEADER;
}

void outbox_data_added(struct outbox *out, enum frame_type type, uint8_t lane,
                       const uint8_t *id, size_t count)
{
    out->held_ns = 0;
    put_header(out->bytes + out->end, type, lane, id, count);
    out->end += FRAME_HEADER + count;
}

bool outbox_flush(struct outbox *out, int fd)
{
    while (!outbox_is_empty(out)) {
        ssize_t count = write(fd, out->bytes + out->start, used(out));

        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return errno == EAGAIN;
        out->start += (size_t)count;
    }
    out->start = 0;
    out->end = 0;
    out->held_ns = 0;
    return true;
}
