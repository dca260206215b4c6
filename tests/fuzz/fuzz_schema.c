/* A schema, a NUL, and a value: whatever they are, there is a verdict within bounds, and
 * the same one twice.  And the whole is read as jansson reads it. */
#include <assert.h>
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "json_read.h"
#include "json_schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void judge(const struct nacre_json_schema *schema, const json_t *value)
{
    struct nacre_error err = { 0 }, again = { 0 };
    enum nacre_status status = nacre_json_schema_judge(schema, value, &err);

    assert(status == err.status && (status == NACRE_OK) == (err.text[0] == '\0'));
    assert(nacre_json_schema_judge(schema, value, &again) == status);
    assert(strcmp(err.text, again.text) == 0);
}

static void check(const json_t *document, const json_t *value)
{
    struct nacre_json_schema *schema = NULL;
    char pointer[NACRE_SCHEMA_POINTER];
    struct nacre_error err = { 0 };

    if (nacre_json_schema_compile(document, &schema, pointer, &err) == NACRE_OK) {
        judge(schema, document); /* a schema is a value too */
        if (value)
            judge(schema, value);
    } else {
        assert(!schema && err.text[0]);
    }
    nacre_json_schema_free(schema);
}

/* A file of the suite is an array of schemas with their values. */
static void check_groups(const json_t *groups)
{
    for (size_t i = 0; i < json_array_size(groups); i++) {
        const json_t *group = json_array_get(groups, i);
        const json_t *document = json_object_get(group, "schema");
        const json_t *rows = json_object_get(group, "rows");

        for (size_t j = 0; document && j <= json_array_size(rows); j++)
            check(document, json_object_get(json_array_get(rows, j), "value"));
    }
}

static void check_reading(const char *bytes, size_t count)
{
    json_error_t where;
    json_t *ours = tools_json_read(bytes, count, &where);
    json_t *theirs =
        json_loadb(bytes, count, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &where);

    assert(!ours == !theirs && (!ours || json_equal(ours, theirs)));
    json_decref(ours);
    json_decref(theirs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *cut = size ? memchr(data, 0, size) : NULL;
    size_t length = cut ? (size_t)(cut - data) : size;
    json_t *document = json_loadb((const char *)data, length, JSON_DECODE_ANY, NULL);
    json_t *value = cut ? json_loadb((const char *)cut + 1, size - length - 1,
                                     JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL)
                        : NULL;

    check_reading((const char *)data, size);
    if (document)
        check(document, value);
    check_groups(document);
    json_decref(document);
    json_decref(value);
    return 0;
}
