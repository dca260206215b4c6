#include <string.h>

#include "style.h"

static bool is_blank(char sign)
{
    return sign == ' ' || sign == '\t' || sign == '\r' || sign == '\n';
}

/* The first line that starts deeper says how deep one level is. */
static void find_indent(const char *bytes, size_t count, struct json_style *style)
{
    const char *line = memchr(bytes, '\n', count);
    size_t length = 0, left;

    if (!line)
        return;
    style->has_crlf = line > bytes && line[-1] == '\r';
    left = count - (size_t)(line + 1 - bytes);
    line++;
    while (length < left && (line[length] == ' ' || line[length] == '\t'))
        length++;
    if (length == 0 || length == left || length >= sizeof(style->indent) ||
        is_blank(line[length]))
        return;
    memcpy(style->indent, line, length);
}

struct json_style json_style_of(const char *bytes, size_t count)
{
    struct json_style style = { .ends_line = count > 0 && bytes[count - 1] == '\n' };
    bool in_string = false, has_colon = false, has_comma = false;
    size_t at = 0;

    while (at < count && is_blank(bytes[at]))
        at++;
    find_indent(bytes + at, count - at, &style);
    for (; at + 1 < count && !(has_colon && has_comma); at++) {
        if (bytes[at] == '\\' && in_string) {
            at++;
        } else if (bytes[at] == '"') {
            in_string = !in_string;
        } else if (bytes[at] == ':' && !in_string && !has_colon) {
            has_colon = true;
            style.has_colon_space = bytes[at + 1] == ' ';
        } else if (bytes[at] == ',' && !in_string && !has_comma) {
            has_comma = true;
            style.has_comma_space = bytes[at + 1] == ' ';
        }
    }
    if (!has_colon)
        style.has_colon_space = style.has_comma_space || style.indent[0];
    if (!has_comma)
        style.has_comma_space = style.has_colon_space;
    return style;
}

static void add_word(struct nacre_text *out, const char *word)
{
    nacre_text_add(out, word, strlen(word));
}

static void new_line(const struct json_style *style, size_t depth, struct nacre_text *out)
{
    if (!style->indent[0])
        return;
    add_word(out, style->has_crlf ? "\r\n" : "\n");
    while (depth-- > 0)
        add_word(out, style->indent);
}

static void add_scalar(const struct nacre_json *value, struct nacre_text *out)
{
    size_t count;
    char *text = nacre_json_write(value, 0, &count);

    nacre_text_add(out, text, count);
}

static void add_value(const struct json_style *style, const struct nacre_json *value,
                      size_t depth, struct nacre_text *out)
{
    bool is_object = value->kind == NACRE_JSON_OBJECT;

    if (!is_object && value->kind != NACRE_JSON_ARRAY) {
        add_scalar(value, out);
        return;
    }
    add_word(out, is_object ? "{" : "[");
    for (const struct nacre_json *at = value->first; at; at = at->next) {
        struct nacre_json key = { .kind = NACRE_JSON_STRING, .text = at->key };

        new_line(style, depth + 1, out);
        if (is_object) {
            key.length = strlen(at->key);
            add_scalar(&key, out);
            add_word(out, style->has_colon_space ? ": " : ":");
        }
        add_value(style, at, depth + 1, out);
        if (at->next)
            add_word(out, !style->indent[0] && style->has_comma_space ? ", " : ",");
    }
    if (value->first)
        new_line(style, depth, out);
    add_word(out, is_object ? "}" : "]");
}

void json_style_write(const struct json_style *style, const struct nacre_json *value,
                      struct nacre_text *out)
{
    add_value(style, value, 0, out);
    if (style->ends_line)
        add_word(out, style->has_crlf ? "\r\n" : "\n");
}
