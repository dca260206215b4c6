/*
 * Reads what came through the keeper's socket: from the same user, but perhaps from
 * another version of nacre, or broken.  Texts are as long as a message can be, lists have
 * a ceiling of their own.
 */
#include "fields.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/own.h"
#include "nacre/text.h"

#define LIST_MAX 16384

/* ---- from a struct to JSON ---- */

/*
 * A text may be of any bytes: a file's name, a sentence that was cut inside a character.
 * JSON holds UTF-8 alone, so each byte travels as the character of its number.
 */
static json_t *write_text(const char *text)
{
    size_t count = strlen(text), used = 0;
    NACRE_AUTO(nacre_heap_guard) char *wide = malloc(2 * count + 1);

    if (!wide)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        unsigned char byte = (unsigned char)text[i];

        if (byte >= 0x80)
            wide[used++] = (char)(0xc0 | byte >> 6);
        wide[used++] = (char)(byte < 0x80 ? byte : 0x80 | (byte & 0x3f));
    }
    return json_stringn_nocheck(wide, used);
}

static json_t *write_list(char *const *list, size_t count)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < count; i++)
        if (json_array_append_new(array, write_text(list[i])) != 0) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *write_field(const void *object, const struct field *field)
{
    const char *at = (const char *)object + field->offset;
    char *const *list;
    const char *text;
    size_t count = 0;
    uint32_t number;
    uint16_t small;
    uint64_t large;
    bool truth;

    switch (field->kind) {
    case FIELD_TEXT:
        memcpy(&text, at, sizeof(text));
        return text ? write_text(text) : json_null();
    case FIELD_LIST:
        memcpy(&list, at, sizeof(list));
        while (list && list[count])
            count++;
        return list ? write_list(list, count) : json_null();
    case FIELD_NAMES:
        memcpy(&list, at, sizeof(list));
        memcpy(&number, (const char *)object + field->size, sizeof(number));
        return write_list(list, number);
    case FIELD_BOOL:
        memcpy(&truth, at, sizeof(truth));
        return json_boolean(truth);
    case FIELD_U64: /* larger than JSON's numbers can be trusted with */
        memcpy(&large, at, sizeof(large));
        return json_sprintf("%llu", (unsigned long long)large);
    case FIELD_NUMBER:
        memcpy(&number, at, sizeof(number));
        return json_integer((json_int_t)number);
    case FIELD_SMALL:
        memcpy(&small, at, sizeof(small));
        return json_integer((json_int_t)small);
    case FIELD_CHARS:
        return write_text(at);
    }
    return NULL;
}

json_t *fields_write(const void *object, const struct field *fields, size_t count)
{
    json_t *json = json_object();

    for (size_t i = 0; json && i < count; i++)
        if (json_object_set_new(json, fields[i].name, write_field(object, &fields[i])) !=
            0) {
            json_decref(json);
            return NULL;
        }
    return json;
}

/* ---- from JSON to a struct ---- */

enum nacre_status fields_wrong(const char *name, struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_PARSE,
                      "the keeper and its client don't understand each other: '%.60s' is "
                      "not as expected; are they of the same version?",
                      name);
}

enum nacre_status fields_no_memory(struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a message");
}

/* jansson has seen to it that it is UTF-8 and holds no NUL. */
static enum nacre_status read_text(const json_t *value, const char *name, char **ret_text,
                                   struct nacre_error *err)
{
    const unsigned char *wide = (const unsigned char *)json_string_value(value);
    NACRE_AUTO(nacre_heap_guard) char *text = NULL;
    size_t used = 0;

    if (!wide)
        return fields_wrong(name, err);
    text = malloc(json_string_length(value) + 1);
    if (!text)
        return fields_no_memory(err);
    for (; *wide; wide++) {
        if (*wide >= 0x80 && *wide != 0xc2 && *wide != 0xc3)
            return fields_wrong(name, err);
        if (*wide < 0x80) {
            text[used++] = (char)*wide;
        } else {
            text[used++] = (char)((wide[0] & 3) << 6 | (wide[1] & 0x3f));
            wide++;
        }
    }
    text[used] = '\0';
    *ret_text = NACRE_HEAP_TAKE(text);
    return NACRE_OK;
}

/* After a failure too, *ret_list is what there is of it. */
static enum nacre_status read_list(const json_t *value, const char *name,
                                   char ***ret_list, struct nacre_error *err)
{
    size_t count = json_array_size(value);
    enum nacre_status status = NACRE_OK;

    *ret_list = NULL;
    if (!json_is_array(value) || count > LIST_MAX)
        return fields_wrong(name, err);
    *ret_list = calloc(count + 1, sizeof(**ret_list));
    if (!*ret_list)
        return fields_no_memory(err);
    for (size_t i = 0; i < count && status == NACRE_OK; i++)
        status = read_text(json_array_get(value, i), name, &(*ret_list)[i], err);
    return status;
}

static enum nacre_status read_chars(const json_t *value, const struct field *field,
                                    char *at, struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *text = NULL;
    enum nacre_status status = read_text(value, field->name, &text, err);

    if (status == NACRE_OK && strlen(text) >= field->size)
        status = fields_wrong(field->name, err);
    if (status == NACRE_OK)
        memcpy(at, text, strlen(text) + 1);
    return status;
}

static enum nacre_status read_number(const json_t *value, const struct field *field,
                                     char *at, struct nacre_error *err)
{
    const char *digits = json_string_value(value);
    json_int_t number = json_integer_value(value);
    uint32_t small = (uint32_t)number;
    uint16_t smaller = (uint16_t)number;
    bool truth = json_is_true(value);
    uint64_t large;

    switch ((int)field->kind) {
    case FIELD_BOOL:
        if (!json_is_boolean(value))
            return fields_wrong(field->name, err);
        memcpy(at, &truth, sizeof(truth));
        return NACRE_OK;
    case FIELD_U64:
        if (!digits || !nacre_text_u64(digits, UINT64_MAX, &large))
            return fields_wrong(field->name, err);
        memcpy(at, &large, sizeof(large));
        return NACRE_OK;
    case FIELD_SMALL:
        if (!json_is_integer(value) || number < 0 || number > UINT16_MAX)
            return fields_wrong(field->name, err);
        memcpy(at, &smaller, sizeof(smaller));
        return NACRE_OK;
    default:
        if (!json_is_integer(value) || number < 0 || number > UINT32_MAX)
            return fields_wrong(field->name, err);
        memcpy(at, &small, sizeof(small));
        return NACRE_OK;
    }
}

static enum nacre_status read_field(const json_t *value, void *object,
                                    const struct field *field, struct nacre_error *err)
{
    char *at = (char *)object + field->offset;
    enum nacre_status status = NACRE_OK;
    char **list = NULL, *text = NULL;
    uint32_t count = 0;

    switch (field->kind) {
    case FIELD_TEXT:
        if (!json_is_null(value))
            status = read_text(value, field->name, &text, err);
        memcpy(at, &text, sizeof(text));
        return status;
    case FIELD_LIST:
        if (!json_is_null(value))
            status = read_list(value, field->name, &list, err);
        memcpy(at, &list, sizeof(list));
        return status;
    case FIELD_NAMES:
        status = read_list(value, field->name, &list, err);
        while (list && list[count])
            count++;
        memcpy(at, &list, sizeof(list));
        memcpy((char *)object + field->size, &count, sizeof(count));
        return status;
    case FIELD_CHARS:
        return read_chars(value, field, at, err);
    case FIELD_BOOL:
    case FIELD_U64:
    case FIELD_NUMBER:
    case FIELD_SMALL:
        break;
    }
    return read_number(value, field, at, err);
}

/* `object` is zeroed before; after a failure it holds what was read. */
enum nacre_status fields_read(const json_t *json, void *object,
                                     const struct field *fields, size_t count,
                                     size_t others, struct nacre_error *err)
{
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_object_get(json, fields[i].name);
        enum nacre_status status = value ? read_field(value, object, &fields[i], err)
                                         : fields_wrong(fields[i].name, err);

        if (status != NACRE_OK)
            return status;
    }
    if (json_object_size(json) != count + others)
        return fields_wrong("a field that is not known", err);
    return NACRE_OK;
}

static void free_list(char **list)
{
    for (char **text = list; text && *text; text++)
        free(*text);
    free(list);
}

void fields_clear(void *object, const struct field *fields, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *at = (char *)object + fields[i].offset;
        char *text, **list;

        if (fields[i].kind == FIELD_TEXT) {
            memcpy(&text, at, sizeof(text));
            free(text);
        } else if (fields[i].kind == FIELD_LIST || fields[i].kind == FIELD_NAMES) {
            memcpy(&list, at, sizeof(list));
            free_list(list);
        }
    }
}
