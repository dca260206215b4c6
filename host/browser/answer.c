/* Trusts nothing of what goes in: it comes from the sandbox. */
#include "answer.h"

#include <stdio.h>
#include <string.h>

#include "headers.h"
#include "nacre/text.h"

static bool keep(const struct door_field *field, char *ret_text, size_t size)
{
    if (ret_text[0] || field->value_size >= size)
        return false;
    memcpy(ret_text, field->value, field->value_size);
    ret_text[field->value_size] = '\0';
    return true;
}

static bool take_length(const struct door_field *field, struct answer *answer)
{
    char digits[20] = "";

    if (answer->has_length || !keep(field, digits, sizeof(digits)))
        return false;
    answer->has_length = nacre_text_u64(digits, UINT64_MAX >> 1, &answer->length);
    return answer->has_length;
}

static bool take(const struct door_field *field, struct answer *answer)
{
    if (door_field_is(field, "content-length"))
        return take_length(field, answer);
    if (door_field_is(field, "transfer-encoding"))
        answer->is_chunked = true;
    if (door_field_is(field, "content-type"))
        (void)keep(field, answer->type, sizeof(answer->type));
    if (door_field_is(field, "sec-websocket-accept"))
        return keep(field, answer->accept, sizeof(answer->accept));
    if (door_field_is(field, "sec-websocket-extensions"))
        return keep(field, answer->extensions, sizeof(answer->extensions));
    if (door_field_is(field, "sec-websocket-protocol"))
        return keep(field, answer->protocol, sizeof(answer->protocol));
    return true;
}

/* Lines as the reader of fields has them: without their CR. */
static bool unwind(const char *bytes, size_t count, char *ret_lines, size_t *ret_count)
{
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == '\r' && i + 1 < count && bytes[i + 1] == '\n')
            continue;
        ret_lines[used++] = bytes[i];
    }
    *ret_count = used;
    return used > 0;
}

/* "HTTP/1.1 101 ...": digits that are three. */
static bool read_status(const char *line, size_t count, struct answer *answer)
{
    uint64_t status;
    char digits[4];

    if (count < 12 || strncmp(line, "HTTP/1.", 7) != 0 || line[8] != ' ' ||
        (count > 12 && line[12] != ' ' && line[12] != '\r'))
        return false;
    memcpy(digits, line + 9, 3);
    digits[3] = '\0';
    if (!nacre_text_u64(digits, 599, &status) || status < 100)
        return false;
    answer->status = (int)status;
    return true;
}

enum answer_is answer_read(const char *bytes, size_t count, struct answer *ret_answer,
                           size_t *ret_used)
{
    const char *end = memmem(bytes, count, "\r\n\r\n", 4), *line;
    char lines[ANSWER_HEAD_BYTES_MAX];
    struct answer answer = { .status = 0 };
    struct door_field field;
    enum door_next next;
    const char *at = lines;
    size_t left;

    if (!end)
        return count >= sizeof(lines) ? ANSWER_BAD : ANSWER_MORE;
    line = memchr(bytes, '\n', count);
    if ((size_t)(end - bytes) + 2 > sizeof(lines) ||
        !read_status(bytes, (size_t)(line - bytes), &answer))
        return ANSWER_BAD;
    *ret_used = (size_t)(end - bytes) + 4;
    line++;
    if (line < end + 2 && unwind(line, (size_t)(end + 2 - line), lines, &left)) {
        while ((next = door_field_next(&at, &left, &field)) == DOOR_NEXT_FIELD)
            if (!take(&field, &answer))
                return ANSWER_BAD;
        if (next == DOOR_NEXT_BAD)
            return ANSWER_BAD;
    }
    *ret_answer = answer;
    return ANSWER_WHOLE;
}
