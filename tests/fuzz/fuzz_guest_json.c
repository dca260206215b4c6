/*
 * Any bytes as JSON for a tool: what the guest SDK reads is what jansson reads, and what
 * it writes reads as itself.  Any bytes as a string: what is written is JSON.
 */
#include <assert.h>
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nacre_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_written(const struct nacre_json *value, int indent)
{
    const char *fault;
    size_t count, again_count, offset;
    char *text = nacre_json_write(value, indent, &count);
    struct nacre_json *again = nacre_json_read(text, count, &fault, &offset);

    assert(again && strlen(text) == count);
    assert(strcmp(nacre_json_write(again, indent, &again_count), text) == 0);
}

/* What jansson refuses of what is JSON: numbers that it can't hold. */
static int is_range(const json_error_t *error)
{
    return json_error_code(error) == json_error_numeric_overflow;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data, *fault = NULL;
    size_t offset = SIZE_MAX;
    struct nacre_json *value = nacre_json_read(bytes, size, &fault, &offset);
    json_error_t error;
    json_t *other = json_loadb(bytes, size,
                               JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
                               &error);

    assert(value || (fault && offset <= size));
    if (value) {
        assert(other || is_range(&error));
        check_written(value, 0);
        check_written(value, 3);
        (void)nacre_json_int(value, 0);
    } else {
        /* A NUL behind the value is the end for jansson. */
        assert(!other || strcmp(fault, "nested too deeply") == 0 ||
               memchr(bytes, '\0', size));
    }
    check_written(nacre_json_string(bytes, size), 0);
    json_decref(other);
    nacre_arena_reset();
    return 0;
}
