/*
 * Any text, cut anywhere: the same is found and the same comes out, and no value is in
 * what comes out.  The first bytes say how the text is cut; high bytes of the text stand
 * for the beginnings of what is looked for, which a fuzzer would hardly hit upon.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/leak.h"
#include "nacre/own.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char secret[] = "s3cr'et%", other[] = "tok/en+8 \"x\\";

static const struct nacre_leaks *leaks_once(void)
{
    static struct nacre_leaks *leaks;
    const struct nacre_leak_value values[] = {
        { "ONE", (const unsigned char *)secret, sizeof(secret) - 1 },
        { "TWO", (const unsigned char *)other, sizeof(other) - 1 },
    };
    struct nacre_error err;

    if (!leaks &&
        nacre_leaks_new(values, 2, NACRE_LEAK_PATTERNS, &leaks, &err) != NACRE_OK)
        abort();
    return leaks;
}

static const char *const spellings[] = {
    secret, other, "%te'rc3s", "7333637227657425", "73:33:63\n72", "%73%33cr%27et%25",
    "s3cr'\\''et%", "s3cr'\"'\"'et%", "\\u0073\\x33\\143r\\'et%", "tok/en+8 \\\"x\\\\",
    "tok\\/en+8 \\\"x\\\\", "tok%2Fen%2B8+%22x%5C", "czNjcidldCU", "MzY3InZXQl",
    "M2NyJ2V0", "dG9rL2VuKzggInhc", "-----END X-----", "-----", "\n", "\\n",
};

/* What a byte of the input stands for. */
static const char *piece(uint8_t byte)
{
    size_t index = byte - 0xa0U;

    if (index < NACRE_COUNT(spellings))
        return spellings[index];
    index -= NACRE_COUNT(spellings);
    return index < NACRE_LEAK_PATTERNS ? nacre_leak_pattern((uint32_t)index)->examples[0]
                                       : "";
}

/* Two bytes: which piece, and how much of it. */
static void expand(const uint8_t *data, size_t size, struct nacre_buf *ret_text)
{
    struct nacre_error err;

    for (size_t i = 0; i < size; i++) {
        const void *bytes = data + i;
        size_t count = 1;

        if (data[i] >= 0xa0 && i + 1 < size) {
            bytes = piece(data[i]);
            count = strlen(bytes);
            if (data[++i] >= 0x80 && count > 0)
                count = data[i] % count;
        }
        if (nacre_buf_add(ret_text, bytes, count, &err) != NACRE_OK)
            return;
    }
}

static void collect(void *data, const char *bytes, size_t count)
{
    struct nacre_error err;

    if (nacre_buf_add(data, bytes, count, &err) != NACRE_OK)
        abort();
}

static void in_pieces(const uint8_t *cuts, size_t cut_count, const uint8_t *text,
                      size_t count, struct nacre_buf *clean,
                      struct nacre_leak_counts *ret_counts)
{
    struct nacre_leak_stream *stream;
    struct nacre_error err;

    if (nacre_leak_stream_new(leaks_once(), &stream, &err) != NACRE_OK)
        abort();
    for (size_t i = 0; i < cut_count && count > 0; i++) {
        size_t part = cuts[i] < count ? cuts[i] : count;

        if (nacre_leak_stream_add(stream, text, part, false, collect, clean, &err))
            abort();
        text += part;
        count -= part;
    }
    if (nacre_leak_stream_add(stream, text, count, true, collect, clean, &err))
        abort();
    *ret_counts = *nacre_leak_stream_counts(stream);
    nacre_leak_stream_free(stream);
}

static void check(const uint8_t *cuts, size_t cut_count, const uint8_t *text,
                  size_t count)
{
    struct nacre_buf whole = NACRE_BUF(16 << 20), pieces = NACRE_BUF(16 << 20);
    struct nacre_leak_counts at_once = { 0 }, by_piece = { 0 }, found = { 0 };
    enum nacre_leak_class class;
    struct nacre_error err;

    if (nacre_leaks_redact(leaks_once(), text, count, &whole, &at_once, &err) != NACRE_OK)
        abort();
    in_pieces(cuts, cut_count, text, count, &pieces, &by_piece);
    assert(whole.size == pieces.size);
    assert(whole.size == 0 || memcmp(whole.bytes, pieces.bytes, whole.size) == 0);
    assert(memcmp(&at_once, &by_piece, sizeof(at_once)) == 0);

    class = nacre_leaks_find(leaks_once(), text, count, &found);
    assert(memcmp(&at_once, &found, sizeof(at_once)) == 0);
    assert((class == NACRE_LEAK_NONE) == (found.first[0] == '\0'));
    assert((class == NACRE_LEAK_VALUE) == (found.values > 0));
    if (class <= NACRE_LEAK_WARN)
        assert(whole.size == count && (count == 0 || !memcmp(whole.bytes, text, count)));
    if (count > 0 && memmem(text, count, secret, sizeof(secret) - 1))
        assert(class == NACRE_LEAK_VALUE);
    if (whole.size > 0)
        assert(!memmem(whole.bytes, whole.size, secret, sizeof(secret) - 1));
    nacre_buf_clear(&whole);
    nacre_buf_clear(&pieces);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t cut_count = size < 32 ? size / 2 : 16;
    struct nacre_buf text = NACRE_BUF(1 << 20);

    expand(data + cut_count, size - cut_count, &text);
    check(data, cut_count, (const uint8_t *)text.bytes, text.size);
    nacre_buf_clear(&text);
    return 0;
}
