#include "leak_forms.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct text {
    char *bytes;
    size_t used, size;
};

static void put(struct text *text, const char *bytes, size_t count)
{
    assert(count <= text->size - text->used);
    memcpy(text->bytes + text->used, bytes, count);
    text->used += count;
}

static void put_text(struct text *text, const char *words)
{
    put(text, words, strlen(words));
}

__attribute__((format(printf, 2, 3))) static void put_format(struct text *text,
                                                             const char *format, ...)
{
    char words[16];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    put_text(text, words);
}

#define WRITER(name)                                                               \
    static size_t name(const unsigned char *value, size_t count, char *ret_text, \
                       size_t size)
#define EACH(text)                                            \
    struct text text = { .bytes = ret_text, .size = size };   \
    for (size_t i = 0; i < count; i++)

WRITER(write_raw)
{
    EACH(text)
        put(&text, (const char *)value + i, 1);
    return text.used;
}

WRITER(write_reversed)
{
    EACH(text)
        put(&text, (const char *)value + count - 1 - i, 1);
    return text.used;
}

WRITER(write_hex_lower)
{
    EACH(text)
        put_format(&text, "%02x", value[i]);
    return text.used;
}

WRITER(write_hex_upper)
{
    EACH(text)
        put_format(&text, "%02X", value[i]);
    return text.used;
}

WRITER(write_hex_colons)
{
    EACH(text)
        put_format(&text, i ? ":%02x" : "%02x", value[i]);
    return text.used;
}

WRITER(write_hex_lines) /* xxd -p, with short lines */
{
    EACH(text)
        put_format(&text, i && i % 5 == 0 ? "\n%02x" : "%02x", value[i]);
    return text.used;
}

WRITER(write_percent_all_upper)
{
    EACH(text)
        put_format(&text, "%%%02X", value[i]);
    return text.used;
}

WRITER(write_percent_all_lower)
{
    EACH(text)
        put_format(&text, "%%%02x", value[i]);
    return text.used;
}

WRITER(write_percent_component)
{
    EACH(text) {
        if (value[i] < 0x80 && (isalnum(value[i]) || strchr("-_.~", value[i])))
            put(&text, (const char *)value + i, 1);
        else
            put_format(&text, "%%%02X", value[i]);
    }
    return text.used;
}

WRITER(write_form_field)
{
    EACH(text) {
        if (value[i] == ' ')
            put_text(&text, "+");
        else if (value[i] < 0x80 && (isalnum(value[i]) || strchr("*-._", value[i])))
            put(&text, (const char *)value + i, 1);
        else
            put_format(&text, "%%%02x", value[i]);
    }
    return text.used;
}

static void put_json(struct text *text, unsigned char byte, bool slash)
{
    static const char letters[] = "\"\"\\\\\bb\ff\nn\rr\tt";

    for (size_t i = 0; i + 1 < sizeof(letters); i += 2)
        if ((unsigned char)letters[i] == byte) {
            put_text(text, "\\");
            put(text, &letters[i + 1], 1);
            return;
        }
    if (slash && byte == '/')
        put_text(text, "\\/");
    else if (byte < 0x20)
        put_format(text, "\\u%04x", byte);
    else
        put(text, (const char *)&byte, 1);
}

WRITER(write_json)
{
    EACH(text)
        put_json(&text, value[i], false);
    return text.used;
}

WRITER(write_json_slashes)
{
    EACH(text)
        put_json(&text, value[i], true);
    return text.used;
}

/* ASCII alone: for characters of two and three bytes, which the tests' values have. */
WRITER(write_json_unicode)
{
    EACH(text) {
        unsigned point = value[i];

        if (point >= 0xe0) {
            point = (point & 15) << 12 | (value[i + 1] & 63U) << 6 | (value[i + 2] & 63U);
            i += 2;
        } else if (point >= 0xc0) {
            point = (point & 31) << 6 | (value[i + 1] & 63U);
            i++;
        }
        put_format(&text, "\\u%04X", point);
    }
    return text.used;
}

WRITER(write_c_hex)
{
    EACH(text)
        put_format(&text, "\\x%02x", value[i]);
    return text.used;
}

WRITER(write_c_octal)
{
    EACH(text)
        put_format(&text, "\\%03o", value[i]);
    return text.used;
}

WRITER(write_shell_backslash) /* as bash's printf %q has it */
{
    EACH(text) {
        if (value[i] < 0x80 && !isalnum(value[i]) && !strchr("-_./\n", value[i]))
            put_text(&text, "\\");
        if (value[i] == '\n')
            put_text(&text, "\\n");
        else
            put(&text, (const char *)value + i, 1);
    }
    return text.used;
}

WRITER(write_shell_quotes)
{
    EACH(text) {
        if (value[i] == '\'')
            put_text(&text, "'\\''");
        else
            put(&text, (const char *)value + i, 1);
    }
    return text.used;
}

WRITER(write_python_quotes)
{
    EACH(text) {
        if (value[i] == '\'')
            put_text(&text, "'\"'\"'");
        else
            put(&text, (const char *)value + i, 1);
    }
    return text.used;
}

/* With `before` bytes of something else in front, and three behind. */
static size_t base64(const unsigned char *value, size_t count, size_t before, bool url,
                     size_t width, char *ret_text, size_t size)
{
    const char *digits =
        url ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
            : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct text text = { .bytes = ret_text, .size = size };
    unsigned char bytes[1024];
    size_t total = before + count, written = 0;
    uint32_t bits = 0;
    unsigned held = 0;

    assert(total <= sizeof(bytes));
    memset(bytes, '!', before);
    memcpy(bytes + before, value, count);
    for (size_t i = 0; i < total; i++) {
        bits = bits << 8 | bytes[i];
        for (held += 8; held >= 6; held -= 6) {
            put(&text, &digits[bits >> (held - 6) & 63], 1);
            if (width > 0 && ++written % width == 0)
                put_text(&text, "\n");
        }
    }
    if (held > 0)
        put(&text, &digits[bits << (6 - held) & 63], 1);
    if (held > 0 && !url)
        put_text(&text, held == 2 ? "==" : "=");
    return text.used;
}

#define BASE64_WRITER(name, before, url, width) \
    WRITER(name)                                \
    {                                           \
        return base64(value, count, before, url, width, ret_text, size); \
    }
BASE64_WRITER(write_base64_0, 0, false, 0)
BASE64_WRITER(write_base64_1, 1, false, 0)
BASE64_WRITER(write_base64_2, 2, false, 0)
BASE64_WRITER(write_base64_7, 7, false, 0)
BASE64_WRITER(write_base64url_0, 0, true, 0)
BASE64_WRITER(write_base64url_1, 4, true, 0)
BASE64_WRITER(write_base64url_2, 5, true, 0)
BASE64_WRITER(write_base64_lines, 1, false, 4)

const struct leak_spelling leak_spellings[] = {
    { "raw", write_raw },
    { "reversed", write_reversed },
    { "hex", write_hex_lower },
    { "HEX", write_hex_upper },
    { "hex with colons", write_hex_colons },
    { "hex in lines", write_hex_lines },
    { "percent, all, upper", write_percent_all_upper },
    { "percent, all, lower", write_percent_all_lower },
    { "percent, reserved", write_percent_component },
    { "form field", write_form_field },
    { "JSON", write_json },
    { "JSON with \\/", write_json_slashes },
    { "JSON with \\u", write_json_unicode },
    { "C with \\x", write_c_hex },
    { "C with octal", write_c_octal },
    { "shell backslash", write_shell_backslash },
    { "shell quotes", write_shell_quotes },
    { "Python's shell quotes", write_python_quotes },
    { "base64, phase 0", write_base64_0 },
    { "base64, phase 1", write_base64_1 },
    { "base64, phase 2", write_base64_2 },
    { "base64, later", write_base64_7 },
    { "base64url, phase 0", write_base64url_0 },
    { "base64url, phase 1", write_base64url_1 },
    { "base64url, phase 2", write_base64url_2 },
    { "base64 in lines", write_base64_lines },
};
const size_t leak_spelling_count = sizeof(leak_spellings) / sizeof(leak_spellings[0]);
