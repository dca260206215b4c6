#include "line.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/text.h"

/* Before the first byte there is room for the front and any number: the number is
 * known only under the lock, when the rest stands already. */
#define FRONT_ROOM (sizeof(AUDIT_LINE_FRONT) - 1 + 20)

void audit_line_init(struct audit_line *line)
{
    line->bytes = line->room;
    line->size = FRONT_ROOM;
    line->allocated = sizeof(line->room);
    line->failed = false;
}

void audit_line_grow(struct audit_line *line, const char *bytes, size_t count)
{
    bool on_heap = line->bytes != line->room;
    size_t wanted = line->allocated;
    char *grown;

    if (line->failed)
        return;
    while (wanted < line->size + count)
        wanted *= 2;
    assert(wanted <= AUDIT_LINE_MAX);
    grown = realloc(on_heap ? line->bytes : NULL, wanted);
    if (!grown) {
        line->failed = true;
        line->allocated = line->size; /* whatever is added next comes here, too */
        return;
    }
    if (!on_heap)
        memcpy(grown, line->room, line->size);
    line->bytes = grown;
    line->allocated = wanted;
    audit_line_put(line, bytes, count);
}

static bool is_plain(unsigned char byte)
{
    return byte >= 0x20 && byte < 0x7f && byte != '"' && byte != '\\';
}

/* Bytes of the character that starts at `at`, if it is valid and not ASCII; else 0. */
static size_t wide_length(const unsigned char *at, size_t count)
{
    size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;

    if (at[0] < 0xc2 || length > count || !nacre_text_is_utf8((const char *)at, length))
        return 0;
    return length;
}

/* Adds the one character at `at` that is not plain; returns how many bytes it has. */
static size_t add_escaped(struct audit_line *line, const unsigned char *at, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    size_t length = wide_length(at, count);
    /* C1 controls are valid UTF-8 and still drive a terminal. */
    bool c1 = length == 2 && at[0] == 0xc2 && at[1] < 0xa0;
    unsigned char shown = c1 ? at[1] : at[0];
    char escaped[6] = { '\\', 'u', '0', '0', digits[shown >> 4], digits[shown & 15] };

    if (at[0] == '"' || at[0] == '\\') {
        escaped[1] = (char)at[0];
        audit_line_put(line, escaped, 2);
    } else if (c1 || at[0] < 0x80) {
        audit_line_put(line, escaped, sizeof(escaped));
    } else if (length > 0) {
        audit_line_put(line, (const char *)at, length);
    } else {
        memcpy(escaped, "\\\\x", 3);
        memmove(escaped + 3, escaped + 4, 2);
        audit_line_put(line, escaped, 5);
    }
    return length > 0 ? length : 1;
}

void audit_line_bytes(struct audit_line *line, const char *bytes, size_t count,
                      size_t max)
{
    const unsigned char *at = (const unsigned char *)bytes;
    size_t left = count < max ? count : max;

    audit_line_put(line, "\"", 1);
    while (left > 0) {
        size_t plain = 0, taken;

        while (plain < left && is_plain(at[plain]))
            plain++;
        audit_line_put(line, (const char *)at, plain);
        at += plain;
        left -= plain;
        if (left == 0)
            break;
        taken = add_escaped(line, at, left);
        at += taken;
        left -= taken;
    }
    audit_line_put(line, "...\"", count > max ? 4 : 0);
    audit_line_put(line, "\"", count > max ? 0 : 1);
}

void audit_line_text(struct audit_line *line, const char *text, size_t max)
{
    if (text)
        audit_line_bytes(line, text, strnlen(text, max + 1), max);
    else
        audit_line_put(line, "null", 4);
}

void audit_line_number(struct audit_line *line, uint64_t number)
{
    char digits[20];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    audit_line_put(line, digits + at, sizeof(digits) - at);
}

void audit_line_signed(struct audit_line *line, int64_t number)
{
    if (number < 0)
        audit_line_put(line, "-", 1);
    audit_line_number(line, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

void audit_line_digest(struct audit_line *line, const struct nacre_digest *digest)
{
    char hex[NACRE_HEX];

    audit_line_put(line, "\"", 1);
    audit_line_put(line, nacre_digest_hex(digest, hex), NACRE_HEX - 1);
    audit_line_put(line, "\"", 1);
}

bool audit_line_seal(struct audit_line *line, uint64_t seq,
                     const struct nacre_digest *prev, const char **ret_text,
                     size_t *ret_count)
{
    static const char front[] = AUDIT_LINE_FRONT;
    size_t start = FRONT_ROOM;

    audit_line_add(line, ",\"prev\":");
    audit_line_digest(line, prev);
    audit_line_add(line, "}\n");
    if (line->failed)
        return false;
    do {
        line->bytes[--start] = (char)('0' + seq % 10);
        seq /= 10;
    } while (seq > 0);
    start -= sizeof(front) - 1;
    memcpy(line->bytes + start, front, sizeof(front) - 1);
    *ret_text = line->bytes + start;
    *ret_count = line->size - start;
    return true;
}

void audit_line_clear(struct audit_line *line)
{
    if (line->bytes != line->room)
        free(line->bytes);
}
