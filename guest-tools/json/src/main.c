/*
 * json: a JSON file or text is asked, or edited as a whole or not at all.
 */
#include <string.h>

#include "edit.h"
#include "nacre_tool.h"
#include "query.h"
#include "style.h"

#define FILE_BYTES_MAX ((size_t)8 << 20)
#define SHOWN_BYTES_MAX ((size_t)128 << 10)
#define DIFF_LINES_MAX 60

struct source {
    const char *path; /* or NULL: the text was given */
    const char *bytes;
    size_t count;
};

static noreturn void fail(const struct query_fault *fault, const char *behind)
{
    nacre_tool_fail(fault->code, "%s%s", fault->text, behind);
}

static void read_source(const struct nacre_json *args, struct source *ret_source)
{
    const struct nacre_json *text = nacre_json_get(args, "text");
    const char *path = nacre_tool_text(args, "path", NULL);

    if (!path == !text)
        nacre_tool_fail("bad-arguments", "give either path or text");
    *ret_source = (struct source){ 0 };
    if (path) {
        ret_source->path = nacre_tool_path(path);
        ret_source->bytes = nacre_tool_read_file(ret_source->path, FILE_BYTES_MAX,
                                                 &ret_source->count);
        return;
    }
    ret_source->bytes = text->text;
    ret_source->count = text->length;
    if (text->length > FILE_BYTES_MAX)
        nacre_tool_fail("too-large", "the text has %zu bytes, the most is %zu",
                        text->length, FILE_BYTES_MAX);
}

static struct nacre_json *parse(const struct source *source)
{
    const char *fault;
    size_t offset, line = 1, column = 1;
    struct nacre_json *root = nacre_json_read(source->bytes, source->count, &fault,
                                              &offset);

    if (root)
        return root;
    for (size_t i = 0; i < offset && i < source->count; i++) {
        column = source->bytes[i] == '\n' ? 1 : column + 1;
        line += source->bytes[i] == '\n';
    }
    nacre_tool_fail("bad-json", "%s, line %zu, column %zu: %s",
                    source->path ? source->path : "text", line, column, fault);
}

/* ---- asking ---- */

/* A value can be in one list only, and this one is the document's.  Numbers that are
 * beyond 64 bits or a double become texts: a reader that can't hold them would refuse the
 * whole answer. */
static struct nacre_json *copy_of(const struct nacre_json *value)
{
    bool is_text = value->kind == NACRE_JSON_NUMBER && !json_number_fits(value);
    struct nacre_json *copy = nacre_json_new(is_text ? NACRE_JSON_STRING : value->kind);
    struct nacre_json *inner;

    copy->text = value->text;
    copy->length = value->length;
    for (const struct nacre_json *at = value->first; at; at = at->next) {
        inner = copy_of(at);
        inner->key = at->key;
        nacre_json_append(copy, inner);
    }
    return copy;
}

/* True: all of it fitted. */
static bool tell_value(const struct found *found, bool is_only,
                       struct nacre_json *results)
{
    struct nacre_text *text = nacre_tool_content();
    struct nacre_json *object = nacre_json_new(NACRE_JSON_OBJECT);
    const char *pointer = found_pointer(found);
    size_t count;
    char *bytes = nacre_json_write(found->value, is_only ? 2 : 0, &count);

    if (text->count + count + strlen(pointer) > SHOWN_BYTES_MAX)
        return false;
    if (!is_only)
        nacre_text_addf(text, "%s: ", pointer[0] ? pointer : "(the document)");
    nacre_text_add(text, bytes, count);
    nacre_text_add(text, "\n", 1);
    nacre_json_set(object, "pointer", nacre_json_text(pointer));
    nacre_json_set(object, "value", copy_of(found->value));
    nacre_json_append(results, object);
    return true;
}

static void tell(const struct found_list *list, size_t limit)
{
    struct nacre_json *results = nacre_json_new(NACRE_JSON_ARRAY);

    for (size_t i = 0; i < list->count && i < limit; i++)
        if (!tell_value(list->items[i], list->count == 1, results))
            break;
    if (list->count == 0)
        nacre_tool_say("nothing matches\n");
    if (results->count < list->count)
        nacre_tool_say("(%zu of %zu results; ask for less with a narrower query%s)\n",
                       results->count, list->count,
                       results->count == limit ? ", or raise limit"
                                               : ": the answer would be too long");
    nacre_tool_set("count", nacre_json_number((int64_t)list->count));
    nacre_tool_set("results", results);
    nacre_tool_set("truncated", nacre_json_bool(results->count < list->count));
}

static void ask(struct nacre_json *root, const struct nacre_json *text, size_t limit)
{
    struct query_fault fault;
    struct found_list list = { 0 };
    struct query *query;
    struct found only = { .value = root }, *items[] = { &only };

    if (!text || (text->length > 0 && text->text[0] == '$')) {
        query = text ? query_read(text->text, text->length, &fault)
                     : query_read("$", 1, &fault);
        if (!query || !query_run(query, root, &list, &fault))
            fail(&fault, "");
        tell(&list, limit);
        return;
    }
    if (text->length > QUERY_BYTES_MAX)
        nacre_tool_fail("bad-query", "query: more than %d bytes", QUERY_BYTES_MAX);
    if (text->length > 0 && text->text[0] != '/')
        nacre_tool_fail("bad-query",
                        "query: a JSONPath starts with \"$\", a JSON Pointer with \"/\"");
    only.value = pointer_find(root, text->text, text->length, &fault);
    if (!only.value)
        fail(&fault, "");
    list = (struct found_list){ .items = items, .count = 1 };
    tell(&list, limit);
}

/* ---- editing ---- */

static void write_back(const struct source *source, const struct nacre_json *root)
{
    struct json_style style = json_style_of(source->bytes, source->count);
    struct nacre_text after = { 0 };
    struct nacre_changes changes;
    bool is_same;

    json_style_write(&style, root, &after);
    if (after.count > FILE_BYTES_MAX)
        nacre_tool_fail("too-large", "the document would have %zu bytes, the most is %zu",
                        after.count, FILE_BYTES_MAX);
    is_same = after.count == source->count &&
              memcmp(after.bytes, source->bytes, after.count) == 0;
    nacre_tool_set("changed", nacre_json_bool(!is_same));
    if (!source->path) {
        nacre_tool_set("text", nacre_json_string(after.bytes, after.count));
        nacre_text_add(nacre_tool_content(), after.bytes, after.count);
        return;
    }
    if (!is_same &&
        !nacre_tool_replace_file(source->path, after.bytes, after.count, false))
        nacre_tool_fail_errno("Writing", source->path);
    if (is_same) {
        nacre_tool_say("%s stays as it is\n", source->path);
        return;
    }
    changes = nacre_tool_diff(nacre_tool_content(), source->path, source->bytes,
                              source->count, after.bytes, after.count, DIFF_LINES_MAX);
    nacre_tool_set("added", nacre_json_number((int64_t)changes.added));
    nacre_tool_set("removed", nacre_json_number((int64_t)changes.removed));
}

int main(void)
{
    const struct nacre_json *args = nacre_tool_arguments();
    const struct nacre_json *query = nacre_json_get(args, "query");
    const struct nacre_json *edits = nacre_json_get(args, "edits");
    const struct nacre_json *merge = nacre_json_get(args, "merge");
    int64_t limit = nacre_tool_int(args, "limit", 100);
    struct query_fault fault;
    struct source source;
    struct nacre_json *root;

    if (edits && merge)
        nacre_tool_fail("bad-arguments", "give edits or merge, not both");
    read_source(args, &source);
    root = parse(&source);
    if (edits && !edit_apply(&root, edits, &fault))
        fail(&fault, "\nNothing was changed.");
    if (merge && !edit_merge(&root, merge, &fault))
        fail(&fault, "\nNothing was changed.");
    if (edits || merge)
        write_back(&source, root);
    if (query || !(edits || merge))
        ask(root, query, limit < 1 ? 1 : (size_t)limit);
    return nacre_tool_answer();
}
