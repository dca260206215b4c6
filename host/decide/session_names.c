/*
 * Names as OpenClaw, Clawdis and Clawpy make them, byte for byte: people look for their
 * containers by them.  A session's key is anybody's: a chat group may be called "../..".
 */
#include <stdio.h>
#include <string.h>

#include "nacre/hash.h"
#include "settle.h"

#define SLUG_LETTERS 32
#define HASH_DIGITS 8

/* ---- JavaScript's idea of text ---- */

/* Bytes of the white space at `at`, 0 when there is none. */
static size_t blank(const char *at, size_t left)
{
    static const char *const blanks[] = {
        "\t", "\n", "\v", "\f", "\r", " ",
        "\xc2\xa0",                                                   /* U+00A0 */
        "\xe1\x9a\x80",                                               /* U+1680 */
        "\xe2\x80\x80", "\xe2\x80\x81", "\xe2\x80\x82", "\xe2\x80\x83", /* U+2000… */
        "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86", "\xe2\x80\x87",
        "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a",
        "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f",
        "\xe3\x80\x80",                                               /* U+3000 */
        "\xef\xbb\xbf",                                               /* U+FEFF */
    };

    for (size_t i = 0; i < NACRE_COUNT(blanks); i++) {
        size_t length = strlen(blanks[i]);

        if (length <= left && memcmp(at, blanks[i], length) == 0)
            return length;
    }
    return 0;
}

const char *nacre_session_trim(const char *text, size_t *ret_length)
{
    size_t left = strlen(text), end = 0, step;

    while ((step = blank(text, left)) > 0) {
        text += step;
        left -= step;
    }
    for (size_t at = 0; at < left; at += step) {
        step = blank(text + at, left - at);
        if (step == 0)
            end = at + 1;
        step = step ? step : 1;
    }
    *ret_length = end;
    return text;
}

/* The letter at *at in lower case, and one step on; '\0' for what is not of ASCII then.
 * Two letters of Unicode have a lower case that is: the Kelvin sign, and I with a dot. */
static char lower(const char **at, const char *end)
{
    const char *here = *at;
    size_t left = (size_t)(end - here);

    if (left >= 3 && memcmp(here, "\xe2\x84\xaa", 3) == 0) {
        *at += 3;
        return 'k';
    }
    if (left >= 2 && memcmp(here, "\xc4\xb0", 2) == 0) {
        *at += 1; /* the dot is left, as a letter of its own */
        return 'i';
    }
    *at += 1;
    if (*here >= 'A' && *here <= 'Z')
        return (char)(*here - 'A' + 'a');
    return (unsigned char)*here < 0x80 ? *here : '\0';
}

static bool is_one_of(char letter, const char *more)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') ||
           (letter && strchr(more, letter));
}

/* Lower case, each run of other letters than [a-z0-9] and `more` one '-', without '-' at
 * both ends, then cut.  Returns the length, which is below `size`. */
static size_t safe_letters(const char *text, size_t length, const char *more,
                           char *ret_text, size_t size)
{
    const char *at = text, *end = text + length;
    size_t used = 0, solid = 0; /* `solid`: up to the last that is no '-' */
    bool in_run = false;

    while (at < end) {
        char letter = lower(&at, end);
        bool good = is_one_of(letter, more);

        if (!good && in_run)
            continue;
        in_run = !good;
        letter = good ? letter : '-';
        if (letter == '-' && used == 0)
            continue;
        if (used < size - 1)
            ret_text[used] = letter;
        used++;
        if (letter != '-')
            solid = used;
    }
    solid = solid < size - 1 ? solid : size - 1;
    ret_text[solid] = '\0';
    return solid;
}

static void hash_digits(const char *text, size_t length, char ret_hex[HASH_DIGITS + 1])
{
    uint8_t digest[NACRE_SHA1_BYTES];

    nacre_sha1(text, length, digest);
    for (size_t i = 0; i < HASH_DIGITS / 2; i++)
        (void)snprintf(ret_hex + 2 * i, 3, "%02x", digest[i]);
}

/* ---- names ---- */

void nacre_session_slug(const char *key, char ret_slug[NACRE_SLUG])
{
    char safe[SLUG_LETTERS + 1], hex[HASH_DIGITS + 1];
    size_t length;

    key = nacre_session_trim(key, &length);
    if (length == 0) {
        key = "session";
        length = strlen(key);
    }
    hash_digits(key, length, hex);
    if (safe_letters(key, length, "._-", safe, sizeof(safe)) == 0)
        (void)snprintf(safe, sizeof(safe), "session");
    (void)snprintf(ret_slug, NACRE_SLUG, "%s-%s", safe, hex);
}

void nacre_session_box_name(const char *prefix, const char *key,
                            char ret_name[NACRE_BOX_NAME])
{
    char slug[NACRE_SLUG];

    nacre_session_slug(key, slug);
    (void)snprintf(ret_name, NACRE_BOX_NAME, "%s%s", prefix, slug);
}

void nacre_session_safe_name(const char *name, char ret_name[NACRE_BOX_NAME])
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_.-";
    size_t length = strlen(name);
    bool same = length < NACRE_BOX_NAME && name[strspn(name, letters)] == '\0';
    char hex[HASH_DIGITS + 1];
    size_t used = 0;

    if (same) {
        memcpy(ret_name, name, length + 1);
        return;
    }
    while (name[used] && used < NACRE_BOX_NAME - HASH_DIGITS - 2) {
        ret_name[used] = strchr(letters, name[used]) ? name[used] : '-';
        used++;
    }
    hash_digits(name, length, hex);
    (void)snprintf(ret_name + used, NACRE_BOX_NAME - used, "-%s", hex);
}

void nacre_session_agent_id(const char *id, char ret_id[NACRE_AGENT_ID])
{
    size_t length;

    id = nacre_session_trim(id, &length);
    if (safe_letters(id, length, "_-", ret_id, NACRE_AGENT_ID) == 0)
        (void)snprintf(ret_id, NACRE_AGENT_ID, "%s", NACRE_MAIN_AGENT);
}
