#include "nacre/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of the UTF-8 character at `bytes`, or 0 when it is none. */
static size_t utf8_length(const unsigned char *bytes, size_t count)
{
    static const struct {
        unsigned char low, high;   /* the first byte */
        unsigned char low2, high2; /* the second one: no overlong form, no surrogate */
        unsigned char length;
    } forms[] = {
        { 0x00, 0x7f, 0, 0, 1 },       { 0xc2, 0xdf, 0x80, 0xbf, 2 },
        { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
        { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 },
        { 0xf0, 0xf0, 0x90, 0xbf, 4 }, { 0xf1, 0xf3, 0x80, 0xbf, 4 },
        { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };

    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (bytes[0] < forms[i].low || bytes[0] > forms[i].high)
            continue;
        if (forms[i].length > count)
            return 0;
        if (forms[i].length > 1 &&
            (bytes[1] < forms[i].low2 || bytes[1] > forms[i].high2))
            return 0;
        for (size_t k = 2; k < forms[i].length; k++)
            if ((bytes[k] & 0xc0) != 0x80)
                return 0;
        return forms[i].length;
    }
    return 0;
}

bool nacre_text_is_utf8(const char *bytes, size_t count)
{
    const unsigned char *at = (const unsigned char *)bytes;

    while (count > 0) {
        size_t length = utf8_length(at, count);

        if (length == 0)
            return false;
        at += length;
        count -= length;
    }
    return true;
}

/* How the next character is shown: raw (its bytes) or escaped (one byte). */
struct shown {
    size_t taken, width;
    bool raw;
};

/* What has no width or turns the direction of what follows: with it, a person reads
 * another text than the one that is there. */
static bool deceives(const unsigned char *at, size_t length)
{
    if (length == 2)
        return (at[0] == 0xc2 && at[1] == 0xad) || (at[0] == 0xd8 && at[1] == 0x9c);
    if (length == 3 && at[0] == 0xe2 && at[1] == 0x80)
        return (at[2] >= 0x8b && at[2] <= 0x8f) || (at[2] >= 0xa8 && at[2] <= 0xae);
    if (length == 3 && at[0] == 0xe2 && at[1] == 0x81)
        return at[2] >= 0xa0 && at[2] <= 0xaf;
    if (length == 3)
        return at[0] == 0xef && at[1] == 0xbb && at[2] == 0xbf;
    return length == 4 && at[0] == 0xf3 && at[1] == 0xa0; /* tags */
}

static struct shown show_next(const unsigned char *at, size_t count)
{
    size_t length = utf8_length(at, count);
    /* C1 controls are two bytes of valid UTF-8 and still drive a terminal. */
    bool control = at[0] < 0x20 || at[0] == 0x7f ||
                   (length == 2 && at[0] == 0xc2 && at[1] < 0xa0);

    if (length > 0 && !control && !deceives(at, length))
        return (struct shown){ .taken = length, .width = length, .raw = true };
    return (struct shown){ .taken = 1, .width = 4 };
}

const char *nacre_text_show(char *ret_text, size_t size, const char *bytes, size_t count)
{
    const unsigned char *at = (const unsigned char *)bytes;
    size_t used = 0, cut = 0; /* `cut`: the last length that leaves room for "..." */

    if (size < 8) {
        if (size > 0)
            ret_text[0] = '\0';
        return ret_text;
    }
    while (count > 0) {
        struct shown next = show_next(at, count);

        if (used + next.width + 1 > size) {
            memcpy(ret_text + cut, "...", 4);
            return ret_text;
        }
        if (next.raw)
            memcpy(ret_text + used, at, next.taken);
        else
            (void)snprintf(ret_text + used, 5, "\\x%02x", at[0]);
        used += next.width;
        if (used + 4 <= size)
            cut = used;
        at += next.taken;
        count -= next.taken;
    }
    ret_text[used] = '\0';
    return ret_text;
}

const char *nacre_text_shown(char ret_text[NACRE_SHOWN], const char *text)
{
    return nacre_text_show(ret_text, NACRE_SHOWN, text, strlen(text));
}

static unsigned smallest(unsigned a, unsigned b, unsigned c)
{
    unsigned least = a < b ? a : b;

    return least < c ? least : c;
}

#define WORD_MAX 48

/* Edit distance with neighbouring swaps counted once (optimal string alignment). */
static unsigned distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    unsigned rows[3][WORD_MAX + 1];

    for (size_t j = 0; j <= b_length; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= a_length; i++) {
        unsigned *now = rows[i % 3];
        const unsigned *before = rows[(i - 1) % 3];
        const unsigned *earlier = rows[(i + 1) % 3];

        now[0] = (unsigned)i;
        for (size_t j = 1; j <= b_length; j++) {
            now[j] = smallest(before[j] + 1, now[j - 1] + 1,
                              before[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                earlier[j - 2] + 1 < now[j])
                now[j] = earlier[j - 2] + 1;
        }
    }
    return rows[a_length % 3][b_length];
}

const char *nacre_text_nearest(const char *word, const char *const words[], size_t count)
{
    size_t length = strlen(word);
    const char *nearest = NULL;
    unsigned least = 3;

    if (length == 0 || length > WORD_MAX)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t other = strlen(words[i]);
        unsigned slips;

        if (other > WORD_MAX)
            continue;
        slips = distance(word, length, words[i], other);
        if (slips < least && 2 * slips < other) {
            least = slips;
            nearest = words[i];
        }
    }
    return nearest;
}

bool nacre_text_u64(const char *text, uint64_t max, uint64_t *ret_number)
{
    char *end;
    unsigned long long number;

    /* strtoull() takes blanks and signs; nothing of ours may. */
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    number = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || number > max)
        return false;
    *ret_number = number;
    return true;
}

#define ID_MAX INT32_MAX

bool nacre_text_ids(const char *text, uint32_t *ret_uid, uint32_t *ret_gid)
{
    const char *colon = strchrnul(text, ':');
    size_t length = (size_t)(colon - text);
    uint64_t uid, gid;
    char first[16];

    if (length >= sizeof(first))
        return false;
    memcpy(first, text, length);
    first[length] = '\0';
    if (!nacre_text_u64(first, ID_MAX, &uid) ||
        !nacre_text_u64(*colon ? colon + 1 : first, ID_MAX, &gid))
        return false;
    *ret_uid = (uint32_t)uid;
    *ret_gid = (uint32_t)gid;
    return true;
}
