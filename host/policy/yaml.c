/*
 * Trusts nothing: the document may come from a stranger.  libyaml is trusted to turn
 * bytes into events without touching memory it does not own; how many events, how
 * deep and how long is bounded here.  Anchors are refused where they are defined, so
 * no expansion ever begins.
 */
#include "node.h"

#include <assert.h>
#include <string.h>
#include <strings.h>
#include <yaml.h>

struct reader {
    const char *source;
    const char *bytes;
    yaml_parser_t *parser;
    size_t nodes;
};

static struct nacre_place place_of(yaml_mark_t mark)
{
    return (struct nacre_place){ (int)mark.line + 1, (int)mark.column + 1 };
}

#define FAIL(reader, place, err, ...)                                                 \
    nacre_fail_at(err, NACRE_ERR_PARSE, (reader)->source, (place).line, (place).column, \
                  __VA_ARGS__)

static enum nacre_status fail_memory(struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_MEMORY, "no memory to read the document");
}

/* Counts characters, as libyaml does; a stray byte counts as one. */
static struct nacre_place place_at_offset(const char *bytes, size_t offset)
{
    struct nacre_place place = { 1, 1 };

    for (size_t i = 0; i < offset; i++) {
        if (bytes[i] == '\n') {
            place.line++;
            place.column = 1;
        } else if (((unsigned char)bytes[i] & 0xc0) != 0x80) {
            place.column++;
        }
    }
    return place;
}

static enum nacre_status fail_yaml(const struct reader *reader, struct nacre_error *err)
{
    const yaml_parser_t *parser = reader->parser;

    if (parser->error == YAML_MEMORY_ERROR)
        return fail_memory(err);
    if (parser->error == YAML_READER_ERROR) {
        struct nacre_place place = place_at_offset(reader->bytes, parser->problem_offset);

        return FAIL(reader, place, err, "not UTF-8 text: %s", parser->problem);
    }
    return FAIL(reader, place_of(parser->problem_mark), err, "not valid YAML: %s%s%s",
                parser->problem, parser->context ? ", " : "",
                parser->context ? parser->context : "");
}

static enum nacre_status next_event(const struct reader *reader, yaml_event_t *ret_event,
                                    struct nacre_error *err)
{
    return yaml_parser_parse(reader->parser, ret_event) ? NACRE_OK
                                                        : fail_yaml(reader, err);
}

/* Whatever would make the tree mean more than it shows. */
static enum nacre_status refuse_indirection(const struct reader *reader,
                                            const yaml_event_t *event,
                                            struct nacre_error *err)
{
    const yaml_char_t *anchor = NULL, *tag = NULL;

    if (event->type == YAML_ALIAS_EVENT)
        return FAIL(reader, place_of(event->start_mark), err,
                    "aliases are not accepted; write the value out");
    if (event->type == YAML_SCALAR_EVENT) {
        anchor = event->data.scalar.anchor;
        tag = event->data.scalar.tag;
    } else if (event->type == YAML_SEQUENCE_START_EVENT) {
        anchor = event->data.sequence_start.anchor;
        tag = event->data.sequence_start.tag;
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        anchor = event->data.mapping_start.anchor;
        tag = event->data.mapping_start.tag;
    }
    if (anchor)
        return FAIL(reader, place_of(event->start_mark), err,
                    "anchors are not accepted, because aliases are not; remove it");
    if (tag)
        return FAIL(reader, place_of(event->start_mark), err,
                    "tags are not accepted; write the value without one");
    return NACRE_OK;
}

static enum nacre_status count_node(struct reader *reader, const yaml_event_t *event,
                                    struct nacre_error *err)
{
    if (++reader->nodes > NACRE_DOCUMENT_NODES_MAX)
        return FAIL(reader, place_of(event->start_mark), err,
                    "the document has more than %d keys and values",
                    NACRE_DOCUMENT_NODES_MAX);
    return NACRE_OK;
}

static enum nacre_status copy_scalar(const struct reader *reader,
                                     const yaml_event_t *event, char **ret_text,
                                     struct nacre_error *err)
{
    size_t length = event->data.scalar.length;
    char *text;

    if (length > NACRE_DOCUMENT_SCALAR_BYTES_MAX)
        return FAIL(reader, place_of(event->start_mark), err,
                    "a text may have at most %zu bytes, this one has %zu",
                    NACRE_DOCUMENT_SCALAR_BYTES_MAX, length);
    if (memchr(event->data.scalar.value, '\0', length))
        return FAIL(reader, place_of(event->start_mark), err,
                    "a text must not contain a NUL character");
    text = malloc(length + 1);
    if (!text)
        return fail_memory(err);
    memcpy(text, event->data.scalar.value, length);
    text[length] = '\0';
    *ret_text = text;
    return NACRE_OK;
}

/* Everything that some YAML version reads as a number, decimal or not. */
static bool is_number(const char *text)
{
    static const char digits[] = "0123456789";
    size_t whole, part = 0;

    text += *text == '-' || *text == '+';
    if (strcasecmp(text, ".inf") == 0 || strcasecmp(text, ".nan") == 0)
        return true;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'o')) {
        size_t length = strspn(text + 2, "0123456789abcdefABCDEF");

        return length > 0 && text[2 + length] == '\0';
    }
    whole = strspn(text, digits);
    text += whole;
    if (*text == '.') {
        part = strspn(++text, digits);
        text += part;
    }
    if (whole + part == 0)
        return false;
    if (*text == 'e' || *text == 'E') {
        text++;
        text += *text == '-' || *text == '+';
        if (strspn(text, digits) == 0)
            return false;
        text += strspn(text, digits);
    }
    return *text == '\0';
}

static enum nacre_node_kind plain_kind(const char *text)
{
    static const char *const nulls[] = { "", "~", "null", "Null", "NULL" };

    for (size_t i = 0; i < NACRE_COUNT(nulls); i++)
        if (strcmp(text, nulls[i]) == 0)
            return NACRE_NODE_NULL;
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return NACRE_NODE_BOOLEAN;
    return is_number(text) ? NACRE_NODE_NUMBER : NACRE_NODE_TEXT;
}

static enum nacre_status build(struct reader *reader, const yaml_event_t *event,
                               int depth, struct nacre_node **ret_node,
                               struct nacre_error *err);

static enum nacre_status build_list(struct reader *reader, struct nacre_node *list,
                                    int depth, struct nacre_error *err)
{
    struct nacre_node **end = &list->first;

    for (;;) {
        NACRE_AUTO(yaml_event_delete) yaml_event_t event = { .type = YAML_NO_EVENT };
        enum nacre_status status = next_event(reader, &event, err);

        if (status != NACRE_OK)
            return status;
        if (event.type == YAML_SEQUENCE_END_EVENT)
            return NACRE_OK;
        status = build(reader, &event, depth + 1, end, err);
        if (status != NACRE_OK)
            return status;
        end = &(*end)->next;
        list->count++;
    }
}

static enum nacre_status read_key(struct reader *reader, const yaml_event_t *event,
                                  char **ret_key, struct nacre_error *err)
{
    enum nacre_status status = refuse_indirection(reader, event, err);

    if (status != NACRE_OK)
        return status;
    if (event->type != YAML_SCALAR_EVENT)
        return FAIL(reader, place_of(event->start_mark), err,
                    "a key must be a word, not a list or a mapping");
    if (event->data.scalar.length == 0)
        return FAIL(reader, place_of(event->start_mark), err, "a key must not be empty");
    status = count_node(reader, event, err);
    if (status != NACRE_OK)
        return status;
    return copy_scalar(reader, event, ret_key, err);
}

static enum nacre_status build_mapping(struct reader *reader, struct nacre_node *mapping,
                                       int depth, struct nacre_error *err)
{
    struct nacre_node **end = &mapping->first;

    for (;;) {
        NACRE_AUTO(yaml_event_delete) yaml_event_t key_event = { .type = YAML_NO_EVENT };
        NACRE_AUTO(yaml_event_delete) yaml_event_t event = { .type = YAML_NO_EVENT };
        NACRE_AUTO(nacre_heap_guard) char *key = NULL;
        enum nacre_status status = next_event(reader, &key_event, err);

        if (status != NACRE_OK)
            return status;
        if (key_event.type == YAML_MAPPING_END_EVENT)
            return nacre_node_refuse_repeats(reader->source, mapping, err);
        status = read_key(reader, &key_event, &key, err);
        if (status == NACRE_OK)
            status = next_event(reader, &event, err);
        if (status == NACRE_OK)
            status = build(reader, &event, depth + 1, end, err);
        if (status != NACRE_OK)
            return status;
        (*end)->key = NACRE_HEAP_TAKE(key);
        (*end)->key_place = place_of(key_event.start_mark);
        end = &(*end)->next;
        mapping->count++;
    }
}

static enum nacre_status build(struct reader *reader, const yaml_event_t *event,
                               int depth, struct nacre_node **ret_node,
                               struct nacre_error *err)
{
    NACRE_AUTO(nacre_node_guard) struct nacre_node *node = NULL;
    enum nacre_status status = refuse_indirection(reader, event, err);

    if (status == NACRE_OK)
        status = count_node(reader, event, err);
    if (status != NACRE_OK)
        return status;
    if (depth > NACRE_DOCUMENT_DEPTH_MAX)
        return FAIL(reader, place_of(event->start_mark), err,
                    "nested more than %d levels deep", NACRE_DOCUMENT_DEPTH_MAX);
    node = calloc(1, sizeof(*node));
    if (!node)
        return fail_memory(err);
    node->place = place_of(event->start_mark);
    if (event->type == YAML_SEQUENCE_START_EVENT) {
        node->kind = NACRE_NODE_LIST;
        status = build_list(reader, node, depth, err);
    } else if (event->type == YAML_MAPPING_START_EVENT) {
        node->kind = NACRE_NODE_MAPPING;
        status = build_mapping(reader, node, depth, err);
    } else {
        assert(event->type == YAML_SCALAR_EVENT);
        status = copy_scalar(reader, event, &node->text, err);
        if (status == NACRE_OK)
            node->kind = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE
                             ? plain_kind(node->text)
                             : NACRE_NODE_TEXT;
    }
    if (status == NACRE_OK)
        *ret_node = nacre_node_take(&node);
    return status;
}

/* STREAM-START, DOCUMENT-START, the root, DOCUMENT-END, STREAM-END: nothing else. */
static enum nacre_status read_document(struct reader *reader,
                                       struct nacre_node **ret_root,
                                       struct nacre_error *err)
{
    static const struct nacre_place start = { 1, 1 };
    NACRE_AUTO(nacre_node_guard) struct nacre_node *root = NULL;

    for (;;) {
        NACRE_AUTO(yaml_event_delete) yaml_event_t event = { .type = YAML_NO_EVENT };
        enum nacre_status status = next_event(reader, &event, err);

        if (status != NACRE_OK)
            return status;
        if (event.type == YAML_STREAM_END_EVENT)
            break;
        if (event.type == YAML_DOCUMENT_START_EVENT && root)
            return FAIL(reader, place_of(event.start_mark), err,
                        "a second document begins here; a policy is one document");
        if (event.type == YAML_STREAM_START_EVENT ||
            event.type == YAML_DOCUMENT_START_EVENT ||
            event.type == YAML_DOCUMENT_END_EVENT)
            continue;
        assert(!root);
        status = build(reader, &event, 1, &root, err);
        if (status != NACRE_OK)
            return status;
    }
    if (!root)
        return FAIL(reader, start, err, "the document is empty");
    *ret_root = nacre_node_take(&root);
    return NACRE_OK;
}

enum nacre_status nacre_yaml_read(const char *source, const char *bytes, size_t count,
                                  struct nacre_node **ret_root, struct nacre_error *err)
{
    yaml_parser_t parser;
    struct reader reader = { .source = source, .parser = &parser };
    enum nacre_status status;

    if (count > NACRE_DOCUMENT_BYTES_MAX)
        return nacre_fail_at(err, NACRE_ERR_TOO_BIG, source, 1, 1,
                             "the document is larger than %zu bytes",
                             NACRE_DOCUMENT_BYTES_MAX);
    if (!yaml_parser_initialize(&parser))
        return fail_memory(err);
    /* Said, not guessed: a byte order mark must not switch the reader to UTF-16.  The
     * one of UTF-8, which some editors write, would count as a column. */
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    if (count >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
        bytes += 3;
        count -= 3;
    }
    reader.bytes = bytes;
    yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, count);
    status = read_document(&reader, ret_root, err);
    yaml_parser_delete(&parser);
    return status;
}
