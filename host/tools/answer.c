#include <stdio.h>
#include <string.h>

#include "door.h"
#include "nacre/clock.h"

/* ---- text ---- */

/* The length of the UTF-8 character that begins here; 0: there is none. */
static size_t character(const char *bytes, size_t count)
{
    unsigned char first = (unsigned char)bytes[0];
    size_t length = first < 0x80   ? 1
                    : first < 0xc2 ? 0
                    : first < 0xe0 ? 2
                    : first < 0xf0 ? 3
                    : first < 0xf5 ? 4
                                   : 0;

    if (length == 0 || length > count)
        return 0;
    for (size_t i = 1; i < length; i++)
        if (((unsigned char)bytes[i] & 0xc0) != 0x80)
            return 0;
    if ((first == 0xe0 && (unsigned char)bytes[1] < 0xa0) ||
        (first == 0xed && (unsigned char)bytes[1] > 0x9f) ||
        (first == 0xf0 && (unsigned char)bytes[1] < 0x90) ||
        (first == 0xf4 && (unsigned char)bytes[1] > 0x8f))
        return 0;
    return length;
}

json_t *tools_text(const char *bytes, size_t count)
{
    static const char hex[] = "0123456789abcdef";
    NACRE_AUTO(nacre_heap_guard) char *clean = malloc(4 * count + 1);
    size_t used = 0;

    if (!clean)
        return NULL;
    for (size_t i = 0; i < count;) {
        size_t length = character(bytes + i, count - i);
        unsigned char first = (unsigned char)bytes[i];
        bool is_control = (first < 0x20 && first != '\n' && first != '\t') ||
                          first == 0x7f;

        /* \r\n stays a line's end. */
        if (first == '\r' && i + 1 < count && bytes[i + 1] == '\n')
            is_control = false;
        if (length > 0 && !is_control) {
            memcpy(clean + used, bytes + i, length);
            used += length;
            i += length;
            continue;
        }
        memcpy(clean + used, (char[]){ '\\', 'x', hex[first >> 4], hex[first & 15] }, 4);
        used += 4;
        i++;
    }
    return json_stringn(clean, used);
}

enum nacre_status tools_answer(bool is_error, json_t *text, json_t *structured,
                               json_t **ret_answer, struct nacre_error *err)
{
    json_t *answer = json_pack("{s:[{s:s, s:o}], s:b}", "content", "type", "text", "text",
                               text, "isError", is_error);
    bool whole = answer != NULL;

    if (structured && whole)
        whole = json_object_set_new(answer, "structuredContent", structured) == 0;
    else
        json_decref(structured);
    if (whole) {
        *ret_answer = answer;
        return NACRE_OK;
    }
    json_decref(answer);
    return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for an answer");
}

/* ---- what the host says about it ---- */

static json_t *place_json(const char *source, struct nacre_place place)
{
    char text[320];

    if (place.line == 0)
        return json_string("default");
    (void)snprintf(text, sizeof(text), "%.256s:%d:%d", source ? source : "", place.line,
                   place.column);
    return tools_text(text, strlen(text));
}

static json_t *denial_json(const struct tools_call *call,
                           const struct nacre_denial *denial)
{
    const struct nacre_session *session = call->asked->session;
    const char *source = call->policy                ? call->policy->source
                         : session && session->config ? session->config->source
                         : call->entry               ? call->entry->manifest->source
                                                     : NULL;

    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "code",
                     tools_text(denial->code, strlen(denial->code)), "rule",
                     tools_text(denial->rule, strlen(denial->rule)), "place",
                     place_json(source, denial->place), "text",
                     tools_text(denial->text, strlen(denial->text)), "fix",
                     tools_text(denial->fix, strlen(denial->fix)));
}

static json_t *denials_json(const struct tools_call *call,
                            const struct nacre_result *result,
                            const struct nacre_denial *denial)
{
    json_t *list = json_array();
    uint32_t count = result ? result->denial_count : 0;
    bool whole = list != NULL;

    for (uint32_t i = 0; i < count && whole; i++)
        whole = json_array_append_new(list, denial_json(call, &result->denials[i])) == 0;
    if (denial && whole)
        whole = json_array_append_new(list, denial_json(call, denial)) == 0;
    if (whole)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *limit_json(const struct tools_call *call,
                          const struct nacre_result *result)
{
    struct nacre_denial limit;

    return tools_limit(call, result, &limit) ? denial_json(call, &limit) : json_null();
}

static json_t *text_or_null(const char *text)
{
    return text && text[0] ? tools_text(text, strlen(text)) : json_null();
}

static json_t *meta_json(const struct tools_call *call, const struct nacre_result *result,
                         const char *outcome, const struct nacre_denial *denial)
{
    const char *version = call->entry ? call->entry->manifest->version : NULL;
    json_t *meta = json_pack(
        "{s:o, s:o, s:o, s:o, s:s, s:o, s:o}", "tool",
        text_or_null(call->name[0] ? call->name : call->asked->tool), "version",
        text_or_null(version), "level",
        call->policy ? json_string(nacre_level_name(call->policy->level)) : json_null(),
        "why", text_or_null(call->why), "outcome",
        result ? nacre_outcome_name(result->outcome) : outcome, "run_id",
        result ? json_string(result->run_id) : json_null(), "denials",
        denials_json(call, result, denial));

    if (!meta || !result)
        return meta;
    if (json_object_set_new(meta, "limit", limit_json(call, result)) ||
        json_object_set_new(meta, "fuel", json_integer((json_int_t)result->usage.fuel)) ||
        json_object_set_new(meta, "wall_ms",
                            json_real((double)result->usage.wall_ns / 1e6)) ||
        json_object_set_new(meta, "unsandboxed", json_boolean(result->unsandboxed)) ||
        json_object_set_new(meta, "degraded", json_boolean(result->waived != 0))) {
        json_decref(meta);
        return NULL;
    }
    return meta;
}

enum nacre_status tools_add_meta(const struct tools_call *call,
                                 const struct nacre_result *result, const char *outcome,
                                 const struct nacre_denial *denial, json_t **answer,
                                 struct nacre_error *err)
{
    json_t *meta = meta_json(call, result, outcome, denial);

    if (meta && json_object_set_new(*answer, "_meta",
                                    json_pack("{s:o}", "nacre", meta)) == 0)
        return NACRE_OK;
    json_decref(*answer);
    *answer = NULL;
    return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for an answer");
}
