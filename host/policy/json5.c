/*
 * JSON5 (json5.org) and JSON (RFC 8259).  Trusts nothing: the document may come from a
 * stranger.  It is known to be UTF-8 without NUL before anything of it is read; how deep
 * it goes, how much it holds and how long a text is are bounded as in YAML.
 */
#include "json5.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/text.h"

#define BYTE_ORDER_MARK 0xfeff

static size_t length_of(unsigned char lead)
{
    return lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

uint32_t nacre_json5_peek(const struct nacre_json5 *json5)
{
    static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
    const unsigned char *bytes = (const unsigned char *)json5->bytes + json5->at;
    uint32_t character;
    size_t length;

    if (json5->at >= json5->count)
        return 0;
    length = length_of(bytes[0]);
    character = bytes[0] & masks[length];
    for (size_t i = 1; i < length; i++)
        character = character << 6 | (bytes[i] & 0x3f);
    return character;
}

bool nacre_json5_is_line_end(uint32_t character)
{
    return character == '\n' || character == '\r' || character == 0x2028 ||
           character == 0x2029;
}

void nacre_json5_step(struct nacre_json5 *json5)
{
    uint32_t character = nacre_json5_peek(json5);
    /* \r\n is one end of a line, and it was counted at the \r. */
    bool second =
        character == '\n' && json5->at > 0 && json5->bytes[json5->at - 1] == '\r';

    if (json5->at >= json5->count)
        return;
    json5->at += length_of((unsigned char)json5->bytes[json5->at]);
    if (!nacre_json5_is_line_end(character)) {
        json5->place.column++;
    } else if (!second) {
        json5->place.line++;
        json5->place.column = 1;
    }
}

static const char *language(const struct nacre_json5 *json5)
{
    return json5->strict ? "JSON" : "JSON5";
}

static enum nacre_status fail_memory(struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_MEMORY, "no memory to read the document");
}

enum nacre_status nacre_json5_expected(const struct nacre_json5 *json5, const char *what,
                                       struct nacre_error *err)
{
    const char *here = json5->bytes + json5->at;
    char shown[NACRE_SHOWN];

    if (json5->at >= json5->count)
        return NACRE_JSON5_FAIL(json5, json5->place, err,
                                "not valid %s: expected %s, but the document ends here",
                                language(json5), what);
    return NACRE_JSON5_FAIL(
        json5, json5->place, err, "not valid %s: expected %s, found '%s'",
        language(json5), what,
        nacre_text_show(shown, sizeof(shown), here, length_of((unsigned char)*here)));
}

enum nacre_status nacre_json5_extra(const struct nacre_json5 *json5,
                                    struct nacre_place place, const char *what,
                                    struct nacre_error *err)
{
    if (!json5->strict)
        return NACRE_OK;
    return NACRE_JSON5_FAIL(json5, place, err,
                            "not valid JSON: JSON has no %s; JSON5 does", what);
}

/* ---- what stands between ---- */

/* Also everything of Unicode's category Zs. */
static bool is_blank(const struct nacre_json5 *json5, uint32_t character)
{
    if (character == ' ' || character == '\t' || character == '\n' || character == '\r')
        return true;
    if (json5->strict)
        return false;
    return character == '\v' || character == '\f' || character == 0xa0 ||
           character == BYTE_ORDER_MARK || character == 0x1680 ||
           (character >= 0x2000 && character <= 0x200a) || character == 0x2028 ||
           character == 0x2029 || character == 0x202f || character == 0x205f ||
           character == 0x3000;
}

static bool starts_with(const struct nacre_json5 *json5, const char *text)
{
    size_t length = strlen(text);

    return json5->count - json5->at >= length &&
           memcmp(json5->bytes + json5->at, text, length) == 0;
}

static enum nacre_status skip_block(struct nacre_json5 *json5, struct nacre_error *err)
{
    struct nacre_place start = json5->place;

    nacre_json5_step(json5);
    nacre_json5_step(json5);
    while (!starts_with(json5, "*/")) {
        if (nacre_json5_peek(json5) == 0)
            return NACRE_JSON5_FAIL(json5, start, err,
                                    "not valid JSON5: this comment has no end");
        nacre_json5_step(json5);
    }
    nacre_json5_step(json5);
    nacre_json5_step(json5);
    return NACRE_OK;
}

static enum nacre_status skip_blanks(struct nacre_json5 *json5, struct nacre_error *err)
{
    for (;;) {
        bool line = starts_with(json5, "//"), block = starts_with(json5, "/*");
        enum nacre_status status = NACRE_OK;

        if (line || block)
            status = nacre_json5_extra(json5, json5->place, "comments", err);
        if (status == NACRE_OK && block)
            status = skip_block(json5, err);
        if (status != NACRE_OK)
            return status;
        if (line)
            while (nacre_json5_peek(json5) != 0 &&
                   !nacre_json5_is_line_end(nacre_json5_peek(json5)))
                nacre_json5_step(json5);
        else if (is_blank(json5, nacre_json5_peek(json5)))
            nacre_json5_step(json5);
        else if (!block)
            return NACRE_OK;
    }
}

/* ---- values ---- */

static enum nacre_status count_node(struct nacre_json5 *json5, struct nacre_error *err)
{
    if (++json5->nodes > NACRE_DOCUMENT_NODES_MAX)
        return NACRE_JSON5_FAIL(json5, json5->place, err,
                                "the document has more than %d keys and values",
                                NACRE_DOCUMENT_NODES_MAX);
    return NACRE_OK;
}

static enum nacre_status read_value(struct nacre_json5 *json5, int depth,
                                    struct nacre_node **ret_node,
                                    struct nacre_error *err);

/* Behind an entry: a comma and perhaps another one, or the closing bracket. */
static enum nacre_status read_end(struct nacre_json5 *json5, char close, bool *ret_ended,
                                  struct nacre_error *err)
{
    struct nacre_place comma;
    enum nacre_status status = skip_blanks(json5, err);

    if (status != NACRE_OK)
        return status;
    comma = json5->place;
    if (nacre_json5_peek(json5) == ',') {
        nacre_json5_step(json5);
        status = skip_blanks(json5, err);
        if (status == NACRE_OK && nacre_json5_peek(json5) == (uint32_t)close)
            status = nacre_json5_extra(json5, comma, "comma behind the last entry", err);
        if (status != NACRE_OK)
            return status;
    } else if (nacre_json5_peek(json5) != (uint32_t)close) {
        return nacre_json5_expected(json5, close == '}' ? "',' or '}'" : "',' or ']'",
                                    err);
    }
    *ret_ended = nacre_json5_peek(json5) == (uint32_t)close;
    if (*ret_ended)
        nacre_json5_step(json5);
    return NACRE_OK;
}

static enum nacre_status read_list(struct nacre_json5 *json5, struct nacre_node *list,
                                   int depth, struct nacre_error *err)
{
    struct nacre_node **end = &list->first;
    bool ended;
    enum nacre_status status;

    nacre_json5_step(json5);
    status = skip_blanks(json5, err);
    ended = nacre_json5_peek(json5) == ']';
    if (ended)
        nacre_json5_step(json5);
    while (status == NACRE_OK && !ended) {
        status = read_value(json5, depth + 1, end, err);
        if (status != NACRE_OK)
            break;
        end = &(*end)->next;
        list->count++;
        status = read_end(json5, ']', &ended, err);
    }
    return status;
}

static enum nacre_status read_key(struct nacre_json5 *json5, char **ret_key,
                                  struct nacre_error *err)
{
    uint32_t first = nacre_json5_peek(json5);
    bool is_name = false;
    enum nacre_status status = count_node(json5, err);

    if (status != NACRE_OK)
        return status;
    if (first == '"' || first == '\'')
        return nacre_json5_string(json5, ret_key, err);
    if (first >= '0' && first <= '9')
        return nacre_json5_expected(
            json5, "a key (one that begins with a digit has quotes)", err);
    status = nacre_json5_in_name(json5, first, true, &is_name, err);
    if (status != NACRE_OK)
        return status;
    if (!is_name)
        return nacre_json5_expected(json5, "a key", err);
    status = nacre_json5_extra(json5, json5->place, "keys without double quotes", err);
    return status == NACRE_OK ? nacre_json5_name(json5, ret_key, err) : status;
}

static enum nacre_status read_pair(struct nacre_json5 *json5, int depth,
                                   struct nacre_node **ret_node, struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *key = NULL;
    struct nacre_place place = json5->place;
    enum nacre_status status = read_key(json5, &key, err);

    if (status == NACRE_OK)
        status = skip_blanks(json5, err);
    if (status == NACRE_OK && nacre_json5_peek(json5) != ':')
        status = nacre_json5_expected(json5, "':' behind a key", err);
    if (status != NACRE_OK)
        return status;
    nacre_json5_step(json5);
    status = skip_blanks(json5, err);
    if (status == NACRE_OK)
        status = read_value(json5, depth + 1, ret_node, err);
    if (status != NACRE_OK)
        return status;
    (*ret_node)->key = NACRE_HEAP_TAKE(key);
    (*ret_node)->key_place = place;
    return NACRE_OK;
}

static enum nacre_status read_mapping(struct nacre_json5 *json5,
                                      struct nacre_node *mapping, int depth,
                                      struct nacre_error *err)
{
    struct nacre_node **end = &mapping->first;
    bool ended;
    enum nacre_status status;

    nacre_json5_step(json5);
    status = skip_blanks(json5, err);
    ended = nacre_json5_peek(json5) == '}';
    if (ended)
        nacre_json5_step(json5);
    while (status == NACRE_OK && !ended) {
        status = read_pair(json5, depth, end, err);
        if (status != NACRE_OK)
            break;
        end = &(*end)->next;
        mapping->count++;
        status = read_end(json5, '}', &ended, err);
    }
    return status == NACRE_OK ? nacre_node_refuse_repeats(json5->source, mapping, err)
                              : status;
}

/* A word without quotes; only a few are values. */
static enum nacre_status read_word(struct nacre_json5 *json5, struct nacre_node *node,
                                   struct nacre_error *err)
{
    static const struct {
        const char *word;
        enum nacre_node_kind kind;
    } words[] = {
        { "null", NACRE_NODE_NULL },
        { "true", NACRE_NODE_BOOLEAN },
        { "false", NACRE_NODE_BOOLEAN },
    };
    char shown[NACRE_SHOWN];
    size_t start = json5->at;
    enum nacre_status status = nacre_json5_name(json5, &node->text, err);

    if (status != NACRE_OK)
        return status;
    /* By its bytes: an escape may stand in a name, never in one of these words. */
    for (size_t i = 0; i < NACRE_COUNT(words); i++)
        if (strlen(words[i].word) == json5->at - start &&
            memcmp(words[i].word, json5->bytes + start, json5->at - start) == 0) {
            node->kind = words[i].kind;
            return NACRE_OK;
        }
    return NACRE_JSON5_FAIL(json5, node->place, err,
                            "not valid %s: expected a value, found the word '%s'; a text "
                            "has quotes",
                            language(json5), nacre_text_shown(shown, node->text));
}

static enum nacre_status read_scalar(struct nacre_json5 *json5, struct nacre_node *node,
                                     struct nacre_error *err)
{
    uint32_t first = nacre_json5_peek(json5);
    bool is_name = false;
    enum nacre_status status;

    if (first == '"' || first == '\'') {
        node->kind = NACRE_NODE_TEXT;
        return nacre_json5_string(json5, &node->text, err);
    }
    if ((first >= '0' && first <= '9') || first == '-' || first == '+' || first == '.' ||
        starts_with(json5, "Infinity") || starts_with(json5, "NaN")) {
        node->kind = NACRE_NODE_NUMBER;
        return nacre_json5_number(json5, &node->text, err);
    }
    status = nacre_json5_in_name(json5, first, true, &is_name, err);
    if (status != NACRE_OK)
        return status;
    return is_name ? read_word(json5, node, err)
                   : nacre_json5_expected(json5, "a value", err);
}

static enum nacre_status read_value(struct nacre_json5 *json5, int depth,
                                    struct nacre_node **ret_node,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_node_guard) struct nacre_node *node = NULL;
    enum nacre_status status = count_node(json5, err);

    if (status != NACRE_OK)
        return status;
    if (depth > NACRE_DOCUMENT_DEPTH_MAX)
        return NACRE_JSON5_FAIL(json5, json5->place, err,
                                "nested more than %d levels deep",
                                NACRE_DOCUMENT_DEPTH_MAX);
    node = calloc(1, sizeof(*node));
    if (!node)
        return fail_memory(err);
    node->place = json5->place;
    if (nacre_json5_peek(json5) == '{') {
        node->kind = NACRE_NODE_MAPPING;
        status = read_mapping(json5, node, depth, err);
    } else if (nacre_json5_peek(json5) == '[') {
        node->kind = NACRE_NODE_LIST;
        status = read_list(json5, node, depth, err);
    } else {
        status = read_scalar(json5, node, err);
    }
    if (status == NACRE_OK)
        *ret_node = nacre_node_take(&node);
    return status;
}

/* ---- the whole ---- */

/* Everything behind this reads without asking whether a character is whole. */
static enum nacre_status check_bytes(struct nacre_json5 *json5, struct nacre_error *err)
{
    while (json5->at < json5->count) {
        const char *here = json5->bytes + json5->at;
        size_t length = length_of((unsigned char)*here);

        if (length > json5->count - json5->at || !nacre_text_is_utf8(here, length))
            return NACRE_JSON5_FAIL(json5, json5->place, err,
                                    "not UTF-8 text: the byte \\x%02x",
                                    (unsigned)(unsigned char)*here);
        if (*here == '\0')
            return NACRE_JSON5_FAIL(json5, json5->place, err,
                                    "a document must not contain a NUL character");
        nacre_json5_step(json5);
    }
    json5->at = 0;
    json5->place = (struct nacre_place){ 1, 1 };
    return NACRE_OK;
}

static enum nacre_status read_document(struct nacre_json5 *json5,
                                       struct nacre_node **ret_root,
                                       struct nacre_error *err)
{
    static const struct nacre_place start = { 1, 1 };
    NACRE_AUTO(nacre_node_guard) struct nacre_node *root = NULL;
    enum nacre_status status = skip_blanks(json5, err);

    if (status == NACRE_OK && nacre_json5_peek(json5) == 0)
        return NACRE_JSON5_FAIL(json5, start, err, "the document is empty");
    if (status == NACRE_OK)
        status = read_value(json5, 1, &root, err);
    if (status == NACRE_OK)
        status = skip_blanks(json5, err);
    if (status != NACRE_OK)
        return status;
    if (nacre_json5_peek(json5) != 0)
        return nacre_json5_expected(json5, "the end of the document", err);
    *ret_root = nacre_node_take(&root);
    return NACRE_OK;
}

static struct nacre_json5 open_document(const char *source, const char *bytes,
                                        size_t count)
{
    /* Some editors write a byte order mark; it is no column. */
    size_t mark = count >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

    return (struct nacre_json5){ .source = source,
                                 .bytes = count > 0 ? bytes + mark : "",
                                 .count = count - mark,
                                 .place = { 1, 1 } };
}

static enum nacre_status read_bytes(const char *source, const char *bytes, size_t count,
                                    bool strict, struct nacre_node **ret_root,
                                    struct nacre_error *err)
{
    struct nacre_json5 json5 = open_document(source, bytes, count);
    enum nacre_status status;

    if (count > NACRE_DOCUMENT_BYTES_MAX)
        return nacre_fail_at(err, NACRE_ERR_TOO_BIG, source, 1, 1,
                             "the document is larger than %zu bytes",
                             NACRE_DOCUMENT_BYTES_MAX);
    json5.strict = strict;
    status = check_bytes(&json5, err);
    if (status == NACRE_OK)
        status = read_document(&json5, ret_root, err);
    nacre_pattern_free(json5.no_start);
    nacre_pattern_free(json5.no_part);
    return status;
}

enum nacre_status nacre_json5_read(const char *source, const char *bytes, size_t count,
                                   struct nacre_node **ret_root, struct nacre_error *err)
{
    return read_bytes(source, bytes, count, false, ret_root, err);
}

enum nacre_status nacre_json_read(const char *source, const char *bytes, size_t count,
                                  struct nacre_node **ret_root, struct nacre_error *err)
{
    return read_bytes(source, bytes, count, true, ret_root, err);
}

enum nacre_status nacre_document_read(const char *source, const char *bytes, size_t count,
                                      struct nacre_node **ret_root,
                                      struct nacre_error *err)
{
    struct nacre_json5 json5 = open_document(source, bytes, count);
    struct nacre_error ignored;

    if (json5.count > NACRE_DOCUMENT_BYTES_MAX)
        json5.count = NACRE_DOCUMENT_BYTES_MAX;
    /* Only as far as it is text; what comes of the rest the reader says. */
    if (check_bytes(&json5, &ignored) != NACRE_OK)
        json5.count = json5.at;
    json5.at = 0;
    while (is_blank(&json5, nacre_json5_peek(&json5)))
        nacre_json5_step(&json5);
    if (nacre_json5_peek(&json5) == '{' || starts_with(&json5, "//") ||
        starts_with(&json5, "/*"))
        return nacre_json5_read(source, bytes, count, ret_root, err);
    return nacre_yaml_read(source, bytes, count, ret_root, err);
}
