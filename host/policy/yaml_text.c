#include "yaml_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "nacre/own.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* Nothing that some YAML takes for a number, a boolean, a null or a mark of its own. */
static bool is_plain(const char *text)
{
    static const char *const words[] = { "true", "false", "null", "yes", "no",
                                         "on",   "off",   "y",    "n" };

    if (text[0] == '\0' || !strchr("/" LETTERS, text[0]))
        return false;
    for (size_t i = 0; i < NACRE_COUNT(words); i++)
        if (strcasecmp(text, words[i]) == 0)
            return false;
    return text[strspn(text, LETTERS "0123456789/._-")] == '\0';
}

/* The character at `text`, which is UTF-8, and how many bytes it has. */
static uint32_t decode(const char *text, size_t *ret_length)
{
    const unsigned char *bytes = (const unsigned char *)text;
    uint32_t character = bytes[0];

    *ret_length = 1;
    if (bytes[0] < 0x80)
        return character;
    *ret_length = bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
    character &= 0xffu >> (*ret_length + 1);
    for (size_t i = 1; i < *ret_length && bytes[i]; i++)
        character = character << 6 | (bytes[i] & 0x3f);
    return character;
}

/* Controls, and what YAML takes for the end of a line, or for no character at all. */
static bool must_escape(uint32_t character)
{
    return character < 0x20 || (character >= 0x7f && character < 0xa0) ||
           character == 0x2028 || character == 0x2029 || character == 0xfeff ||
           character == 0xfffe || character == 0xffff;
}

enum nacre_status nacre_yaml_text_add(struct nacre_buf *out, const char *text,
                                      struct nacre_error *err)
{
    enum nacre_status status;
    size_t length;

    if (is_plain(text))
        return nacre_buf_add(out, text, strlen(text), err);
    status = nacre_buf_add(out, "\"", 1, err);
    for (; status == NACRE_OK && *text; text += length) {
        uint32_t character = decode(text, &length);
        char escape[8];

        if (character == '"' || character == '\\') {
            (void)snprintf(escape, sizeof(escape), "\\%c", (char)character);
            status = nacre_buf_add(out, escape, 2, err);
        } else if (must_escape(character)) {
            (void)snprintf(escape, sizeof(escape), "\\u%04x", (unsigned)character);
            status = nacre_buf_add(out, escape, 6, err);
        } else {
            status = nacre_buf_add(out, text, length, err);
        }
    }
    return status == NACRE_OK ? nacre_buf_add(out, "\"", 1, err) : status;
}
