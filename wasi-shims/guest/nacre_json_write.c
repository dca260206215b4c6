#include <assert.h>
#include <string.h>

#include "nacre_json.h"
#include "nacre_words.h"

/* A value that was read and one that a tool built around it. */
#define WRITE_DEPTH_MAX (2 * NACRE_JSON_DEPTH_MAX)

static void add_word(struct nacre_text *out, const char *word)
{
    nacre_text_add(out, word, strlen(word));
}

static void add_escape(struct nacre_text *out, unsigned char byte)
{
    static const char hex[] = "0123456789abcdef", shown[] = "0123456789ABCDEF";
    static const char letters[] = "\"\\\b\f\n\r\t", names[] = "\"\\bfnrt";
    const char *letter = NULL;

    if (byte == '\n') {
        nacre_text_add(out, "\\n", 2);
        return;
    }
    if (byte)
        letter = strchr(letters, byte);
    if (letter) {
        nacre_text_add(out, (const char[]){ '\\', names[letter - letters] }, 2);
    } else if (byte < 0x20) {
        add_word(out, "\\u00");
        nacre_text_add(out, (const char[]){ hex[byte >> 4], hex[byte & 15] }, 2);
    } else {
        add_word(out, "\\\\x");
        nacre_text_add(out, (const char[]){ shown[byte >> 4], shown[byte & 15] }, 2);
    }
}

static void add_string(struct nacre_text *out, const char *text, size_t count)
{
    const char *end = text + count;

    add_word(out, "\"");
    while (text < end) {
        const char *at = text + nacre_words_json(text, (size_t)(end - text));

        while (at < end) {
            unsigned char byte = (unsigned char)*at;
            size_t length = 1;

            if (byte < 0x20 || byte == '"' || byte == '\\')
                break;
            if (byte >= 0x80) {
                length = nacre_utf8_length(at, (size_t)(end - at));
                if (length == 0)
                    break;
                at += nacre_words_json(at + length, (size_t)(end - at) - length);
            }
            at += length;
        }
        nacre_text_add(out, text, (size_t)(at - text));
        if (at < end)
            add_escape(out, (unsigned char)*at++);
        text = at;
    }
    add_word(out, "\"");
}

static void new_line(struct nacre_text *out, int indent, int depth)
{
    static const char spaces[] = "                ";

    if (indent == 0)
        return;
    add_word(out, "\n");
    for (size_t left = (size_t)indent * (size_t)depth; left > 0;) {
        size_t count = left < sizeof spaces - 1 ? left : sizeof spaces - 1;

        nacre_text_add(out, spaces, count);
        left -= count;
    }
}

static void add_value(struct nacre_text *out, const struct nacre_json *value, int indent,
                      int depth);

static void add_values(struct nacre_text *out, const struct nacre_json *value, int indent,
                       int depth)
{
    bool object = value->kind == NACRE_JSON_OBJECT;

    assert(depth < WRITE_DEPTH_MAX);
    add_word(out, object ? "{" : "[");
    for (const struct nacre_json *at = value->first; at; at = at->next) {
        new_line(out, indent, depth + 1);
        if (object) {
            add_string(out, at->key, strlen(at->key));
            add_word(out, indent ? ": " : ":");
        }
        add_value(out, at, indent, depth + 1);
        if (at->next)
            add_word(out, ",");
    }
    if (value->first)
        new_line(out, indent, depth);
    add_word(out, object ? "}" : "]");
}

static void add_value(struct nacre_text *out, const struct nacre_json *value, int indent,
                      int depth)
{
    switch (value->kind) {
    case NACRE_JSON_NULL:
        add_word(out, "null");
        break;
    case NACRE_JSON_FALSE:
        add_word(out, "false");
        break;
    case NACRE_JSON_TRUE:
        add_word(out, "true");
        break;
    case NACRE_JSON_NUMBER:
        nacre_text_add(out, value->text, value->length);
        break;
    case NACRE_JSON_STRING:
        add_string(out, value->text, value->length);
        break;
    case NACRE_JSON_ARRAY:
    case NACRE_JSON_OBJECT:
        add_values(out, value, indent, depth);
        break;
    }
}

char *nacre_json_write(const struct nacre_json *value, int indent, size_t *ret_count)
{
    struct nacre_text out = { 0 };

    nacre_text_add(&out, "", 0);
    add_value(&out, value, indent, 0);
    *ret_count = out.count;
    return out.bytes;
}
