/*
 * The scanner over what comes in pieces.  What is given out depends on the bytes alone:
 * a place is judged once, when all that its verdict can depend on is there.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "leak_scan.h"

/* Longer pieces are taken in parts, so that the buffer stays small. */
#define PART_BYTES ((size_t)64 << 10)

_Static_assert(NACRE_LEAK_VALUE_MAX * LEAK_SPELLING_MAX <= NACRE_LEAK_HELD_MAX &&
                   LEAK_MATCH_MAX <= NACRE_LEAK_HELD_MAX,
               "what is held back has to end");

struct nacre_leak_stream {
    struct leak_scan scan;
    unsigned char *bytes; /* what is held back, and what a match may look back at */
    size_t count, allocated;
    size_t enough; /* no use in looking again before there are so many */
    bool is_cut, has_ended;
};

enum nacre_status nacre_leak_stream_new(const struct nacre_leaks *leaks,
                                        struct nacre_leak_stream **ret_stream,
                                        struct nacre_error *err)
{
    struct nacre_leak_stream *stream = calloc(1, sizeof(*stream));

    if (!stream)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a leak scan");
    stream->scan.leaks = leaks;
    *ret_stream = stream;
    return NACRE_OK;
}

static void wipe(struct nacre_leak_stream *stream)
{
    if (stream->bytes)
        explicit_bzero(stream->bytes, stream->allocated);
    free(stream->bytes);
    stream->bytes = NULL;
    stream->count = stream->allocated = 0;
}

void nacre_leak_stream_free(struct nacre_leak_stream *stream)
{
    if (!stream)
        return;
    leak_scan_clear(&stream->scan);
    wipe(stream);
    free(stream);
}

/* Not realloc(), which leaves copies of what may be secret. */
static enum nacre_status append(struct nacre_leak_stream *stream,
                                const unsigned char *bytes, size_t count,
                                struct nacre_error *err)
{
    if (count > stream->allocated - stream->count) {
        size_t doubled = stream->allocated * 2, needed = stream->count + count;
        size_t size = doubled > needed ? doubled : needed;
        unsigned char *grown = malloc(size);
        size_t kept = stream->count;

        if (!grown)
            return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a leak scan");
        if (kept > 0)
            memcpy(grown, stream->bytes, kept);
        wipe(stream);
        stream->bytes = grown;
        stream->count = kept;
        stream->allocated = size;
    }
    if (count > 0)
        memcpy(stream->bytes + stream->count, bytes, count);
    stream->count += count;
    return NACRE_OK;
}

static void pass(struct nacre_leak_stream *stream, enum leak_end end)
{
    size_t held = leak_scan_pass(&stream->scan, stream->bytes, stream->count, end);
    size_t keep = held < stream->scan.cursor ? held : stream->scan.cursor;
    size_t waiting = stream->count - held;

    assert(end != LEAK_END_NOT_YET || waiting <= NACRE_LEAK_HELD_MAX);
    keep = keep < LEAK_LOOKBEHIND ? 0 : keep - LEAK_LOOKBEHIND;
    leak_scan_forget(&stream->scan, stream->bytes, keep);
    if (keep > 0)
        memmove(stream->bytes, stream->bytes + keep, stream->count - keep);
    stream->count -= keep;
    /* Whoever writes byte by byte must not have all that is held read again each time. */
    stream->enough = stream->count + waiting / 4 + 1;
}

enum nacre_status nacre_leak_stream_add(struct nacre_leak_stream *stream,
                                        const void *bytes, size_t count, bool at_end,
                                        void (*out)(void *data, const char *bytes,
                                                    size_t count),
                                        void *data, struct nacre_error *err)
{
    const unsigned char *next = bytes;

    assert(!stream->has_ended);
    if (!leaks_are_whole(stream->scan.leaks))
        return nacre_fail(err, NACRE_ERR_USAGE, LEAK_FORKED);
    stream->scan.out = out;
    stream->scan.data = data;
    while (count > 0) {
        size_t part = count < PART_BYTES ? count : PART_BYTES;

        if (append(stream, next, part, err) != NACRE_OK)
            return err->status;
        next += part;
        count -= part;
        if (stream->count >= stream->enough)
            pass(stream, LEAK_END_NOT_YET);
    }
    if (at_end) {
        pass(stream, stream->is_cut ? LEAK_END_CUT : LEAK_END_REAL);
        stream->has_ended = true;
        wipe(stream);
    }
    return NACRE_OK;
}

void nacre_leak_stream_watch(struct nacre_leak_stream *stream,
                             void (*found)(void *data, const char *name,
                                           enum nacre_leak_class class, uint64_t line,
                                           uint64_t offset),
                             void *data)
{
    stream->scan.found = found;
    stream->scan.found_data = data;
}

void nacre_leak_stream_cut(struct nacre_leak_stream *stream)
{
    stream->is_cut = true;
}

const struct nacre_leak_counts *
nacre_leak_stream_counts(const struct nacre_leak_stream *stream)
{
    return &stream->scan.counts;
}
