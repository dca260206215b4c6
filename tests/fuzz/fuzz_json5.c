/* Any bytes at all: a whole tree, or an error with its place, and never both.  What is
 * JSON is JSON5 with the same tree, and what was read can be written and read again. */
#include <assert.h>
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/document.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static json_t *read_as(const char *bytes, size_t count, enum nacre_document_format format,
                       bool places)
{
    struct nacre_error err = { .status = NACRE_OK };
    json_t *value = NULL;
    enum nacre_status status =
        nacre_document_json("fuzz", bytes, count, format, places, &value, &err);

    assert(status == err.status);
    assert((status == NACRE_OK) == (value != NULL));
    if (status == NACRE_ERR_PARSE)
        assert(err.line > 0 && err.column > 0 && strcmp(err.file, "fuzz") == 0);
    return value;
}

/* jansson refuses no depth that we take, and reads what it wrote. */
static void read_again(const json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    json_t *again, *theirs;

    assert(text);
    again = read_as(text, strlen(text), NACRE_DOCUMENT_JSON5, false);
    theirs = json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    assert(theirs);
    /* Escapes can make the text longer than a document may be; 5e0 is a whole number
     * for us and a real for jansson. */
    if (again && !strpbrk(text, ".eE"))
        assert(json_equal(again, theirs));
    json_decref(again);
    json_decref(theirs);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    json_t *json5 = read_as(bytes, size, NACRE_DOCUMENT_JSON5, false);
    json_t *json = read_as(bytes, size, NACRE_DOCUMENT_JSON, false);
    json_t *places = read_as(bytes, size, NACRE_DOCUMENT_JSON5, true);
    json_t *any = read_as(bytes, size, NACRE_DOCUMENT_ANY, true);

    if (json)
        assert(json5 && json_equal(json, json5));
    if (json5) {
        assert(places);
        read_again(json5);
    }
    json_decref(json5);
    json_decref(json);
    json_decref(places);
    json_decref(any);
    return 0;
}
