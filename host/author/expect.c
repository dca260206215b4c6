/* What a tool answered against what its case expects, in words for its author. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "case.h"
#include "nacre/text.h"

#define SHOWN_LINES 40

/* ---- texts ---- */

static const char *text_of(const json_t *answer)
{
    const json_t *block = json_array_get(json_object_get(answer, "content"), 0);

    return json_string_value(json_object_get(block, "text"));
}

static enum nacre_status add_line(struct nacre_buf *out, const char *mark,
                                  const char *line, size_t length,
                                  struct nacre_error *err)
{
    char shown[400];

    return nacre_buf_addf(out, err, "%s %s\n", mark,
                          nacre_text_show(shown, sizeof(shown), line, length));
}

/* From the first line that differs: what was expected, then what came. */
static enum nacre_status add_diff(struct nacre_buf *out, const char *expected,
                                  const char *found, struct nacre_error *err)
{
    const char *const texts[] = { expected, found };
    const char *const marks[] = { "-", "+" };
    size_t same = 0;
    enum nacre_status status = NACRE_OK;

    for (size_t i = 0; expected[i] && expected[i] == found[i]; i++)
        if (expected[i] == '\n')
            same = i + 1;
    status = nacre_buf_addf(out, err, "the text differs (- expected, + got):\n");
    for (size_t side = 0; side < 2; side++) {
        const char *at = texts[side] + same;

        for (int line = 0; *at && line < SHOWN_LINES && status == NACRE_OK; line++) {
            size_t length = strcspn(at, "\n");

            status = add_line(out, marks[side], at, length, err);
            at += length + (at[length] == '\n');
        }
    }
    return status;
}

/* ---- values ---- */

static enum nacre_status add_value(struct nacre_buf *out, const char *key,
                                   const json_t *expected, const json_t *found,
                                   struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard)
    char *wanted = json_dumps(expected, JSON_ENCODE_ANY | JSON_SORT_KEYS);
    NACRE_AUTO(nacre_heap_guard)
    char *got = found ? json_dumps(found, JSON_ENCODE_ANY | JSON_SORT_KEYS) : NULL;

    return nacre_buf_addf(out, err, "%s: expected %.300s, got %.300s\n", key,
                          wanted ? wanted : "?", found ? (got ? got : "?") : "nothing");
}

/* At least what is expected; objects are compared key by key. */
static enum nacre_status judge_value(struct nacre_buf *out, const char *where,
                                     const json_t *expected, const json_t *found,
                                     struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;
    const char *key;
    json_t *value;

    if (!json_is_object(expected) || !json_is_object(found))
        return json_equal(expected, found) ? NACRE_OK
                                           : add_value(out, where, expected, found, err);
    json_object_foreach((json_t *)expected, key, value) {
        char below[256];

        (void)snprintf(below, sizeof(below), "%s.%s", where, key);
        if (status == NACRE_OK)
            status = judge_value(out, below, value, json_object_get(found, key), err);
    }
    return status;
}

static enum nacre_status judge_text(const struct nacre_node *expect, const char *said,
                                    struct nacre_buf *out, struct nacre_error *err)
{
    const struct nacre_node *text = nacre_node_find(expect, "text");
    const struct nacre_node *parts = nacre_node_find(expect, "text_contains");
    enum nacre_status status = NACRE_OK;
    char shown[400];

    if (text && text->text && strcmp(text->text, said) != 0)
        status = add_diff(out, text->text, said, err);
    for (const struct nacre_node *part = parts ? parts->first : NULL;
         part && status == NACRE_OK; part = part->next)
        if (!strstr(said, part->text))
            status = nacre_buf_addf(out, err, "'%s' is not in the text: %s\n", part->text,
                                    nacre_text_show(shown, sizeof(shown), said,
                                                    strlen(said)));
    return status;
}

static enum nacre_status judge_code(const struct nacre_node *expect, const json_t *answer,
                                    const char *said, struct nacre_buf *out,
                                    struct nacre_error *err)
{
    const struct nacre_node *is_error = nacre_node_find(expect, "isError");
    const struct nacre_node *code = nacre_node_find(expect, "code");
    const char *found = json_string_value(
        json_object_get(json_object_get(answer, "structuredContent"), "code"));
    bool failed = json_is_true(json_object_get(answer, "isError"));
    char shown[400];
    enum nacre_status status = NACRE_OK;

    if (failed != (strcmp(is_error->text, "true") == 0))
        status = nacre_buf_addf(
            out, err, "isError is %s: %s\n", failed ? "true" : "false",
            nacre_text_show(shown, sizeof(shown), said, strlen(said)));
    if (status == NACRE_OK && code && code->text &&
        (!found || strcmp(found, code->text) != 0))
        status = nacre_buf_addf(out, err, "code: expected %s, got %s\n", code->text,
                                found ? nacre_text_shown(shown, found) : "none");
    return status;
}

enum nacre_status case_judge_answer(const struct tool_case *tool_case,
                                    const json_t *answer, struct nacre_buf *ret_text,
                                    struct nacre_error *err)
{
    const struct nacre_node *expect = tool_case->expect;
    const struct nacre_node *structured = nacre_node_find(expect, "structured");
    const char *said = text_of(answer) ? text_of(answer) : "";
    json_t *wanted = NULL;
    enum nacre_status status = judge_code(expect, answer, said, ret_text, err);

    if (status == NACRE_OK)
        status = judge_text(expect, said, ret_text, err);
    if (status == NACRE_OK && structured)
        status = nacre_node_json(tool_case->file, structured, &wanted, err);
    if (status == NACRE_OK && wanted)
        status = judge_value(ret_text, "structured", wanted,
                             json_object_get(answer, "structuredContent"), err);
    json_decref(wanted);
    return status;
}

enum nacre_status case_judge_fuel(const struct tool_case *tool_case, uint64_t fuel,
                                  bool exact, struct nacre_buf *ret_text,
                                  struct nacre_error *err)
{
    uint64_t golden = tool_case->fuel_golden, room;

    if (!tool_case->has_fuel)
        return NACRE_OK;
    if (!exact)
        return nacre_buf_addf(ret_text, err, "fuel: it could not be counted\n");
    room = golden / 100 * tool_case->fuel_tolerance_percent +
           golden % 100 * tool_case->fuel_tolerance_percent / 100;
    if (fuel <= golden + room && fuel + room >= golden)
        return NACRE_OK;
    return nacre_buf_addf(ret_text, err,
                          "fuel: %" PRIu64 " is not within %" PRIu64 " %% of the golden "
                          "%" PRIu64 "; where that is meant, nacre test --update\n",
                          fuel, tool_case->fuel_tolerance_percent, golden);
}
