#ifndef NACRE_TEST_LEAK_SCENE_H
#define NACRE_TEST_LEAK_SCENE_H

/* Scanners for tests, and texts that go through them in every way.  After <cmocka.h>. */
#include <string.h>

#include "nacre/leak.h"

static inline struct nacre_leaks *made(const char *const *values, size_t count,
                                       uint32_t pattern_count)
{
    struct nacre_leak_value items[16] = { { 0 } };
    struct nacre_leaks *leaks = NULL;
    struct nacre_error err;

    for (size_t i = 0; i < count; i++)
        items[i] = (struct nacre_leak_value){ .name = i ? "OTHER" : "TOKEN",
                                              .bytes = (const unsigned char *)values[i],
                                              .count = strlen(values[i]) };
    assert_int_equal(nacre_leaks_new(items, count, pattern_count, &leaks, &err),
                     NACRE_OK);
    return leaks;
}

static inline struct nacre_leaks *made_for(const char *value)
{
    return made(&value, 1, 0);
}

static inline enum nacre_leak_class class_of(const struct nacre_leaks *leaks,
                                             const char *text, size_t count)
{
    struct nacre_leak_counts counts = { 0 };

    return nacre_leaks_find(leaks, text, count, &counts);
}

struct collected {
    char text[8192];
    size_t used;
};

static inline void collect(void *data, const char *bytes, size_t count)
{
    struct collected *collected = data;

    assert_true(count <= sizeof(collected->text) - collected->used);
    memcpy(collected->text + collected->used, bytes, count);
    collected->used += count;
}

static inline void add(struct nacre_leak_stream *lane, const char *text, size_t count,
                       bool at_end, struct collected *collected)
{
    struct nacre_error err;

    assert_int_equal(
        nacre_leak_stream_add(lane, text, count, at_end, collect, collected, &err),
        NACRE_OK);
}

/* In two pieces, the first of `split` bytes; byte by byte when there are not so many. */
static inline struct nacre_leak_counts stream(const struct nacre_leaks *leaks,
                                              const char *text, size_t count,
                                              size_t split, struct collected *collected)
{
    NACRE_AUTO(nacre_leak_stream_guard) struct nacre_leak_stream *lane = NULL;
    struct nacre_error err;

    collected->used = 0;
    assert_int_equal(nacre_leak_stream_new(leaks, &lane, &err), NACRE_OK);
    if (split <= count) {
        add(lane, text, split, false, collected);
        add(lane, text + split, count - split, true, collected);
    } else {
        for (size_t i = 0; i < count; i++)
            add(lane, text + i, 1, false, collected);
        add(lane, NULL, 0, true, collected);
    }
    return *nacre_leak_stream_counts(lane);
}

/* However it is cut, the same comes out as from the whole; returns that. */
static inline struct nacre_buf checked(const struct nacre_leaks *leaks, const char *text,
                                       size_t count, struct nacre_leak_counts *counts)
{
    struct nacre_buf clean = NACRE_BUF(1 << 20);
    struct collected collected;
    struct nacre_error err;

    assert_int_equal(nacre_leaks_redact(leaks, text, count, &clean, counts, &err),
                     NACRE_OK);
    for (size_t split = 0; split <= count + 1; split++) {
        struct nacre_leak_counts pieces = stream(leaks, text, count, split, &collected);

        if (collected.used != clean.size ||
            memcmp(collected.text, clean.bytes, clean.size) != 0)
            fail_msg("cut at %zu, '%s' comes out as '%.*s', not as '%s'", split, text,
                     (int)collected.used, collected.text, clean.bytes);
        assert_memory_equal(&pieces, counts, sizeof(pieces));
    }
    return clean;
}

#endif
