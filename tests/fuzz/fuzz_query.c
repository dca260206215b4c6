/*
 * A query, a document and edits, each behind a NUL: what a query finds is where its
 * pointer says, what is edited can be written and read, in the document's own style.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "edit.h"
#include "query.h"
#include "style.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct part {
    const char *bytes;
    size_t count;
};

static struct part take(struct part *rest)
{
    const char *stop = rest->count > 0 ? memchr(rest->bytes, '\0', rest->count) : NULL;
    struct part part = { rest->bytes, stop ? (size_t)(stop - rest->bytes) : rest->count };

    rest->bytes += part.count + (stop != NULL);
    rest->count -= part.count + (stop != NULL);
    return part;
}

static void check_query(struct part text, struct nacre_json *root)
{
    struct query_fault fault = { 0 };
    struct found_list list = { 0 };
    struct query *query = query_read(text.bytes, text.count, &fault);

    if (!query || !query_run(query, root, &list, &fault)) {
        assert(fault.code && fault.text);
        return;
    }
    for (size_t i = 0; i < list.count && i < 100; i++) {
        const char *pointer = found_pointer(list.items[i]);

        if (strlen(pointer) < 200)
            assert(pointer_find(root, pointer, strlen(pointer), &fault) ==
                   list.items[i]->value);
    }
}

static void check_style(struct part document, const struct nacre_json *root)
{
    struct json_style style = json_style_of(document.bytes, document.count);
    struct nacre_text text = { 0 };
    struct nacre_json *again;
    const char *fault;
    size_t offset, steps = 0;

    json_style_write(&style, root, &text);
    again = nacre_json_read(text.bytes, text.count, &fault, &offset);
    if (!again) {
        assert(strcmp(fault, "nested too deeply") == 0);
        return;
    }
    assert(json_equal(again, root, &steps) || steps > QUERY_STEPS_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct part rest = { (const char *)data, size };
    struct part query = take(&rest), document = take(&rest);
    struct query_fault fault = { 0 };
    const char *why;
    size_t offset;
    struct nacre_json *root = nacre_json_read(document.bytes, document.count, &why,
                                              &offset);
    struct nacre_json *edits = nacre_json_read(rest.bytes, rest.count, &why, &offset);

    if (!root)
        root = nacre_json_new(NACRE_JSON_OBJECT);
    check_query(query, root);
    check_style(document, root);
    if (edits && (edits->kind == NACRE_JSON_ARRAY ? edit_apply(&root, edits, &fault)
                                                  : edit_merge(&root, edits, &fault)))
        check_style(document, root);
    nacre_arena_reset();
    return 0;
}
