#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "nacre_json.h"
#include "nacre_words.h"

static void make_room(struct nacre_text *text, size_t count)
{
    size_t room = text->room ? text->room : 256;

    /* In 32 bits a text is over before its size is: the arena refuses what can't be. */
    while (room - text->count <= count && room < SIZE_MAX / 2)
        room *= 2;
    if (room - text->count <= count)
        room = SIZE_MAX;
    text->bytes = nacre_arena_grow(text->bytes, text->room, room);
    text->room = room;
}

void nacre_text_add(struct nacre_text *text, const char *bytes, size_t count)
{
    if (text->room - text->count <= count)
        make_room(text, count);
    if (count > 0)
        memcpy(text->bytes + text->count, bytes, count);
    text->count += count;
    text->bytes[text->count] = '\0';
}

void nacre_text_addv(struct nacre_text *text, const char *format, va_list args)
{
    va_list again;
    int count;

    if (text->room - text->count < 2)
        make_room(text, 256);
    va_copy(again, args);
    count = vsnprintf(text->bytes + text->count, text->room - text->count, format, args);
    if (count > 0 && (size_t)count >= text->room - text->count) {
        make_room(text, (size_t)count);
        count = vsnprintf(text->bytes + text->count, text->room - text->count, format,
                          again);
    }
    va_end(again);
    if (count > 0)
        text->count += (size_t)count;
}

void nacre_text_addf(struct nacre_text *text, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    nacre_text_addv(text, format, args);
    va_end(args);
}

static bool follows(const unsigned char *at, size_t left, size_t index)
{
    return index < left && (at[index] & 0xc0) == 0x80;
}

size_t nacre_utf8_length(const char *bytes, size_t count)
{
    const unsigned char *at = (const unsigned char *)bytes;

    if (count == 0)
        return 0;
    if (at[0] < 0x80)
        return 1;
    if (at[0] >= 0xc2 && at[0] <= 0xdf)
        return follows(at, count, 1) ? 2 : 0;
    if ((at[0] & 0xf0) == 0xe0) {
        if (!follows(at, count, 1) || !follows(at, count, 2))
            return 0;
        /* Neither longer than it has to be nor half of a pair. */
        return (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ? 0 : 3;
    }
    if (at[0] >= 0xf0 && at[0] <= 0xf4) {
        if (!follows(at, count, 1) || !follows(at, count, 2) || !follows(at, count, 3))
            return 0;
        return (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f) ? 0 : 4;
    }
    return 0;
}

/* How many bytes from here on can be shown as they are. */
static size_t plain(const char *bytes, size_t count)
{
    size_t done = nacre_words_shown(bytes, count);

    while (done < count) {
        unsigned char byte = (unsigned char)bytes[done];
        size_t length = 1;

        if (byte < 0x20 ? byte != '\n' && byte != '\t' : byte == 0x7f)
            break;
        if (byte >= 0x80) {
            length = nacre_utf8_length(bytes + done, count - done);
            /* U+0080 to U+009F steer a terminal as the first 32 do. */
            if (length == 0 || (byte == 0xc2 && (unsigned char)bytes[done + 1] < 0xa0))
                break;
        }
        done += length;
        /* Behind a tab or a letter that is not ASCII there may be much that is. */
        if (byte >= 0x80 || byte < 0x20)
            done += nacre_words_shown(bytes + done, count - done);
    }
    return done;
}

size_t nacre_utf8_wrong(const char *bytes, size_t count)
{
    size_t wrong = 0, at = 0;

    while (at < count) {
        size_t length;

        while (count - at >= 8 && !(nacre_word_at(bytes + at) & NACRE_WORD_HIGH))
            at += 8;
        length = nacre_utf8_length(bytes + at, count - at);
        if (length == 0 && at < count) {
            /* A character that the end cut is not wrong. */
            wrong += count - at >= 4;
            length = 1;
        }
        at += length;
    }
    return wrong;
}

size_t nacre_text_add_shown(struct nacre_text *text, const char *bytes, size_t count)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t escaped = 0;

    while (count > 0) {
        size_t good = plain(bytes, count);

        nacre_text_add(text, bytes, good);
        bytes += good;
        count -= good;
        if (count > 0) {
            unsigned char byte = (unsigned char)*bytes++;
            const char shown[] = { '\\', 'x', hex[byte >> 4], hex[byte & 15] };

            nacre_text_add(text, shown, sizeof shown);
            count--;
            escaped++;
        }
    }
    return escaped;
}
