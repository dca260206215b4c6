/*
 * The channel's bytes, in and out.  The queue out has a ceiling because what we send
 * also answers what a hostile init makes us answer; one that does not read is given up.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nt_private.h"

#define BACKLOG_LOW FRAME_WINDOW /* below it those who have input may go on */

size_t nt_wire_backlog(const struct nt_box *box)
{
    return box->out.size - box->out_sent;
}

static void drop_sent(struct nt_box *box)
{
    size_t left = nt_wire_backlog(box);

    /* Moved only when at least as much has gone, so that a byte moves once on average. */
    if (left > box->out_sent || box->out_sent == 0)
        return;
    memmove(box->out.bytes, box->out.bytes + box->out_sent, left);
    /* There may have been secrets in it: of a command's variables and files. */
    explicit_bzero(box->out.bytes + left, box->out_sent);
    box->out.size = left;
    box->out_sent = 0;
}

static void wake_starved(const struct nt_box *box)
{
    for (struct nt_run *run = box->runs; run; run = run->next)
        if (run->starved && run != box->leader)
            nt_run_poke(run);
}

void nt_wire_flush(struct nt_box *box)
{
    bool was_long = nt_wire_backlog(box) >= BACKLOG_LOW;

    while (nt_wire_backlog(box) > 0 && !box->out_dead) {
        ssize_t written = box->stream.ops->write(box->stream.stream,
                                                 box->out.bytes + box->out_sent,
                                                 nt_wire_backlog(box));

        if (written > 0) {
            box->out_sent += (size_t)written;
        } else if (written < 0 && errno == EINTR) {
            continue;
        } else if (written < 0 && errno == EAGAIN) {
            break;
        } else {
            /* Not the end yet: what init said before it went away is still to be read. */
            box->out_dead = true;
        }
    }
    if (box->out_dead)
        box->out_sent = box->out.size;
    drop_sent(box);
    if (was_long && nt_wire_backlog(box) < BACKLOG_LOW)
        wake_starved(box);
}

static void queue(struct nt_box *box, const struct frame *frame)
{
    uint8_t header[FRAME_HEADER];
    struct nacre_error err;

    if (box->out_dead || atomic_load(&box->spent))
        return;
    frame_header(header, frame);
    if (nacre_buf_add(&box->out, header, sizeof(header), &err) != NACRE_OK ||
        nacre_buf_add(&box->out, frame->payload, frame->size, &err) != NACRE_OK)
        nt_box_break(box, "what is for init can't be queued: %.200s", err.text);
}

static void go(struct nt_box *box)
{
    nt_wire_flush(box);
    if (nt_wire_backlog(box) > 0 && box->leader)
        nt_run_poke(box->leader);
}

void nt_wire_send(struct nt_box *box, enum frame_type type, uint8_t lane,
                  const uint8_t *id, const void *payload, size_t count)
{
    struct frame frame = {
        .type = (uint8_t)type, .lane = lane, .size = (uint32_t)count, .payload = payload
    };

    if (id)
        memcpy(frame.id, id, FRAME_ID);
    queue(box, &frame);
    go(box);
}

void nt_wire_send_u64(struct nt_box *box, enum frame_type type, uint8_t lane,
                      const uint8_t *id, uint64_t number)
{
    uint8_t bytes[16];
    struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };

    pack_u64(&pack, number);
    nt_wire_send(box, type, lane, id, bytes, pack.used);
}

void nt_wire_send_message(struct nt_box *box, enum frame_type type, const uint8_t *id,
                          const void *bytes, size_t count)
{
    const uint8_t *at = bytes;
    struct frame frame = { .type = (uint8_t)type };

    if (id)
        memcpy(frame.id, id, FRAME_ID);
    do {
        frame.size = (uint32_t)(count < FRAME_PAYLOAD_MAX ? count : FRAME_PAYLOAD_MAX);
        frame.payload = at;
        frame.lane = frame.size == count;
        queue(box, &frame);
        at += frame.size;
        count -= frame.size;
    } while (count > 0);
    go(box);
}

static void take_frames(struct nt_box *box)
{
    struct frame frame;
    int got = 0;

    while (!atomic_load(&box->spent) &&
           (got = frame_reader_next(&box->reader, &frame)) == 1)
        nt_frames_take(box, &frame);
    if (got < 0)
        nt_box_break(box, "init sent what is no frame");
}

bool nt_wire_read(struct nt_box *box)
{
    size_t room;
    uint8_t *at = frame_reader_room(&box->reader, &room);
    ssize_t got;

    if (atomic_load(&box->spent))
        return false;
    do
        got = box->stream.ops->read(box->stream.stream, at, room);
    while (got < 0 && errno == EINTR);
    if (got > 0) {
        frame_reader_filled(&box->reader, (size_t)got);
        take_frames(box);
        return true;
    }
    if (got < 0 && errno == EAGAIN && !box->out_dead)
        return false;
    if (got < 0 && errno != EAGAIN && errno != ECONNRESET)
        nt_box_break(box, "the channel broke: %s", strerrordesc_np(errno));
    else
        nt_box_lost(box);
    return false;
}

void nt_wire_beat(struct nt_box *box, uint64_t now_ns)
{
    if (now_ns < box->beat_next_ns)
        return;
    box->beat_next_ns = now_ns + box->beat_every_ns;
    nt_wire_send(box, FRAME_BEAT, 0, NULL, NULL, 0);
}
