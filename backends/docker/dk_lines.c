/* Trusts nothing of the lines: they are the engine's, and hold what a build printed. */
#include "dk_lines.h"

#include <stdio.h>
#include <string.h>

#include "dk_name.h"
#include "nacre/text.h"

static void keep_id(struct dk_lines *lines, const json_t *id)
{
    if (json_is_string(id) && dk_name_is_image_id(json_string_value(id)))
        (void)snprintf(lines->id, sizeof(lines->id), "%s", json_string_value(id));
}

static void say(const struct dk_lines *lines, const json_t *words)
{
    char shown[512];
    size_t length = json_string_length(words);

    if (!lines->progress || !json_is_string(words))
        return;
    while (length > 0 && strchr("\r\n", json_string_value(words)[length - 1]))
        length--;
    if (length > 0)
        lines->progress->said(lines->progress->data,
                              nacre_text_show(shown, sizeof(shown),
                                              json_string_value(words), length));
}

static enum nacre_status read_line(struct dk_lines *lines, struct nacre_error *err)
{
    struct nacre_buf *line = &lines->line;
    NACRE_AUTO(dk_json_guard) json_t *object = NULL;
    const json_t *complaint;

    if (line->size == 0 || strspn(line->bytes, " \r") == line->size)
        return NACRE_OK;
    object = json_loadb(line->bytes, line->size, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(object))
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "expected a JSON object a line in the engine's answer");
    complaint = json_object_get(object, "error");
    if (json_is_string(complaint) && !lines->complaint[0])
        (void)nacre_text_show(lines->complaint, sizeof(lines->complaint),
                              json_string_value(complaint),
                              json_string_length(complaint));
    say(lines, json_object_get(object, "stream"));
    say(lines, json_object_get(object, "status"));
    keep_id(lines, json_object_get(object, "status"));
    keep_id(lines, json_object_get(json_object_get(object, "aux"), "ID"));
    return NACRE_OK;
}

enum nacre_status dk_lines_take(void *data, const char *bytes, size_t count,
                                struct nacre_error *err)
{
    struct dk_lines *lines = data;
    enum nacre_status status = NACRE_OK;

    while (count > 0 && status == NACRE_OK) {
        const char *end = memchr(bytes, '\n', count);
        size_t part = end ? (size_t)(end - bytes) : count;

        status = nacre_buf_add(&lines->line, bytes, part, err);
        if (!end || status != NACRE_OK)
            return status;
        status = read_line(lines, err);
        nacre_buf_clear(&lines->line);
        bytes = end + 1;
        count -= part + 1;
    }
    return status;
}

enum nacre_status dk_lines_end(struct dk_lines *lines, char ret_id[DK_IMAGE_ID],
                               struct nacre_error *err)
{
    enum nacre_status status = read_line(lines, err);

    nacre_buf_clear(&lines->line);
    if (status != NACRE_OK)
        return status;
    if (lines->complaint[0])
        return nacre_fail(err, NACRE_ERR_BACKEND, "the engine says: %s",
                          lines->complaint);
    if (!lines->id[0])
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "expected an image's id in the engine's answer");
    (void)snprintf(ret_id, DK_IMAGE_ID, "%s", lines->id);
    return NACRE_OK;
}
