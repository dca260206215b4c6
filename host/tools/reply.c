/*
 * What a tool at level wasm wrote, judged.  It is a guest's word, and hostile: nothing of
 * it is passed on but what the contract names, and what the host says of the call is the
 * host's alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "door.h"
#include "json_read.h"
#include "json_schema.h"
#include "nacre/text.h"

#define CONTENT_MAX 1024
#define EXCERPT_BYTES 240
#define STDERR_BYTES 600

/* ---- arguments ---- */

enum nacre_status tools_input(const char *bytes, size_t count, int *ret_fd,
                              struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard)
    int fd = memfd_create("nacre-arguments", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "memfd");
    for (size_t done = 0; done < count;) {
        ssize_t put = pwrite(fd, bytes + done, count - done, (off_t)done);

        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return nacre_fail(err, NACRE_ERR_IO, "the arguments can't be kept");
        done += (size_t)put;
    }
    if (fcntl(fd, F_ADD_SEALS,
              F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "the arguments can't be sealed");
    *ret_fd = nacre_fd_take(&fd);
    return NACRE_OK;
}

/* ---- how it ended ---- */

/* The policy's own denials, for a model: what, and that a person decides it. */
static void say_denied(const struct nacre_result *result, char *ret_text, size_t size)
{
    const struct nacre_denial *denial = &result->denials[0];

    if (result->denial_count == 0) {
        (void)snprintf(ret_text, size, "denied by the policy");
        return;
    }
    (void)snprintf(ret_text, size, "denied by the policy: %s%s%s%s", denial->text,
                   denial->fix[0] ? "; only a person can change that: " : "", denial->fix,
                   result->denial_count > 1 ? " (and more, see _meta)" : "");
}

bool tools_limit(const struct tools_call *call, const struct nacre_result *result,
                 struct nacre_denial *ret_limit)
{
    return call->policy &&
           nacre_explain_limit(call->policy, result, call->request.timeout_ms,
                               call->request.fuel, ret_limit);
}

/* Which limit it was; what a model can do about it is to want less. */
static void say_limit(const struct tools_call *call, const struct nacre_result *result,
                      char *text, size_t size)
{
    struct nacre_denial limit;
    char where[320] = "";
    size_t used = strlen(text);

    if (!tools_limit(call, result, &limit))
        return;
    if (limit.place.line > 0)
        (void)snprintf(where, sizeof(where), ", %.256s:%d:%d", call->policy->source,
                       limit.place.line, limit.place.column);
    (void)snprintf(text + used, size - used,
                   " (%s: %s%s; only a person can change that: %s)", limit.text,
                   limit.rule, where, limit.fix);
}

static void say_ending(const struct tools_call *call, const struct nacre_result *result,
                       char *ret_text, size_t size)
{
    const char *name = call->name;

    switch (result->outcome) {
    case NACRE_OUTCOME_TIMED_OUT:
        (void)snprintf(ret_text, size,
                       "%s did not end in time and was stopped; ask for less at once",
                       name);
        return;
    case NACRE_OUTCOME_OUT_OF_FUEL:
        (void)snprintf(ret_text, size,
                       "%s used up its budget of instructions and was stopped; ask for "
                       "less at once",
                       name);
        return;
    case NACRE_OUTCOME_OUT_OF_MEMORY:
        (void)snprintf(ret_text, size,
                       "%s needed more memory than it may have and was stopped; ask for "
                       "less at once",
                       name);
        return;
    case NACRE_OUTCOME_OUTPUT_LIMIT:
        (void)snprintf(ret_text, size,
                       "%s wrote more than may be kept and was stopped; ask for less at "
                       "once",
                       name);
        return;
    case NACRE_OUTCOME_TRAPPED:
        (void)snprintf(ret_text, size,
                       "%s failed inside (%.300s); other arguments may help", name,
                       result->reason);
        return;
    case NACRE_OUTCOME_KILLED:
        (void)snprintf(ret_text, size, "%s was ended by signal %d", name, result->signal);
        return;
    case NACRE_OUTCOME_DENIED:
        say_denied(result, ret_text, size);
        return;
    case NACRE_OUTCOME_EXITED:
        (void)snprintf(ret_text, size, "exit status %d", result->exit_status);
        return;
    case NACRE_OUTCOME_NONE:
    case NACRE_OUTCOME_COUNT:
        break;
    }
    (void)snprintf(ret_text, size, "%s did not run", name);
}

void tools_say_outcome(const struct tools_call *call, const struct nacre_result *result,
                       char *ret_text, size_t size)
{
    say_ending(call, result, ret_text, size);
    say_limit(call, result, ret_text, size);
}

/* What a tool had changed when it was stopped stays changed. */
static void say_half_done(const struct tools_call *call,
                          const struct nacre_result *result, char *text, size_t size)
{
    size_t used = strlen(text);

    if (call->entry->manifest->access == NACRE_TOOL_ACCESS_WRITE &&
        result->outcome != NACRE_OUTCOME_DENIED)
        (void)snprintf(text + used, size - used,
                       ". Some of its changes may be made: look at the files first");
}

/* ---- what it answered ---- */

static bool is_text_member(const json_t *item, const char *key)
{
    return json_is_string(json_object_get(item, key));
}

static const char *content_fault(const json_t *content)
{
    if (!json_is_array(content))
        return "content is not an array";
    if (json_array_size(content) > CONTENT_MAX)
        return "content has too many entries";
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *item = json_array_get(content, i);
        const char *type = json_string_value(json_object_get(item, "type"));

        if (!type)
            return "an entry of content has no type";
        if (strcmp(type, "text") == 0) {
            if (!is_text_member(item, "text"))
                return "an entry of type text has no text";
        } else if (strcmp(type, "image") == 0 || strcmp(type, "audio") == 0) {
            if (!is_text_member(item, "data") || !is_text_member(item, "mimeType"))
                return "an image has no data or no mimeType";
        } else if (strcmp(type, "resource_link") == 0) {
            if (!is_text_member(item, "uri"))
                return "a resource_link has no uri";
        } else {
            return "an entry of content is of no known type";
        }
    }
    return NULL;
}

/* NULL: it is an answer. */
static const char *answer_fault(const json_t *answer)
{
    static const char *const known[] = { "content", "structuredContent", "isError",
                                         "_meta" };
    const json_t *flag = json_object_get(answer, "isError");
    const json_t *structured = json_object_get(answer, "structuredContent");
    const char *key;
    json_t *value;

    if (!json_is_object(answer))
        return "it is no object";
    json_object_foreach((json_t *)answer, key, value) {
        bool found = false;

        for (size_t i = 0; i < NACRE_COUNT(known); i++)
            found |= strcmp(known[i], key) == 0;
        if (!found)
            return "it has a key that is none of content, structuredContent and isError";
    }
    if (flag && !json_is_boolean(flag))
        return "isError is neither true nor false";
    if (structured && !json_is_object(structured))
        return "structuredContent is no object";
    return content_fault(json_object_get(answer, "content"));
}

/* The answer of a tool that gave none: what happened, and the end of its stderr. */
static enum nacre_status fail_answer(const struct tools_call *call,
                                     const struct nacre_result *result,
                                     const char *code, const char *sentence,
                                     json_t **ret_answer, struct nacre_error *err)
{
    size_t kept = result->errors.size < STDERR_BYTES ? result->errors.size : STDERR_BYTES;
    NACRE_AUTO(nacre_buf_clear)
    struct nacre_buf text = NACRE_BUF(NACRE_CALL_RESULT_BYTES_MAX);
    enum nacre_status status = nacre_buf_addf(&text, err, "%s", sentence);

    if (status == NACRE_OK && kept > 0)
        status = nacre_buf_addf(&text, err, "\nits last words: ");
    if (status == NACRE_OK && kept > 0)
        status = nacre_buf_add(&text, result->errors.bytes + result->errors.size - kept,
                               kept, err);
    if (status == NACRE_OK)
        status = tools_answer(true, tools_text(text.bytes, text.size),
                              json_pack("{s:s}", "code", code), ret_answer, err);
    return status == NACRE_OK
               ? tools_add_meta(call, result, NULL, NULL, ret_answer, err)
               : status;
}

static enum nacre_status fail_output(const struct tools_call *call,
                                     const struct nacre_result *result,
                                     const char *fault, json_t **ret_answer,
                                     struct nacre_error *err)
{
    char sentence[EXCERPT_BYTES + 512], excerpt[EXCERPT_BYTES];

    if (result->leaks.redacted + result->leaks.blocked + result->leaks.values > 0)
        (void)snprintf(sentence, sizeof(sentence),
                       "%s answered with a secret; it was taken out, and what is left is "
                       "no answer. Ask for something that has no secrets in it",
                       call->name);
    else if (result->output.size == 0)
        (void)snprintf(sentence, sizeof(sentence),
                       "%s gave no answer (it ended with status %d)", call->name,
                       result->exit_status);
    else
        (void)snprintf(sentence, sizeof(sentence),
                       "what %s answered is not what a tool may answer: %.400s. The tool "
                       "is at fault, not its arguments. It wrote: %s",
                       call->name, fault,
                       nacre_text_show(excerpt, sizeof(excerpt), result->output.bytes,
                                       result->output.size));
    return fail_answer(call, result, "bad-answer", sentence, ret_answer, err);
}

static enum nacre_status pass_on(const struct tools_call *call,
                                 const struct nacre_result *result, json_t *answer,
                                 json_t **ret_answer, struct nacre_error *err)
{
    bool is_error = json_is_true(json_object_get(answer, "isError")) ||
                    result->exit_status != 0;

    if (json_object_set_new(answer, "isError", json_boolean(is_error)) != 0) {
        json_decref(answer);
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for an answer");
    }
    *ret_answer = answer;
    return tools_add_meta(call, result, NULL, NULL, ret_answer, err);
}

enum nacre_status tools_reply(const struct tools_call *call,
                              const struct nacre_result *result, json_t **ret_answer,
                              struct nacre_error *err)
{
    const struct nacre_manifest *manifest = call->entry->manifest;
    const char *fault = NULL;
    struct nacre_error why;
    json_error_t where = { 0 };
    json_t *answer;
    char text[768];
    enum nacre_status status;

    if (result->outcome != NACRE_OUTCOME_EXITED) {
        tools_say_outcome(call, result, text, sizeof(text));
        say_half_done(call, result, text, sizeof(text));
        return fail_answer(call, result, nacre_outcome_name(result->outcome), text,
                           ret_answer, err);
    }
    answer = result->output.size > NACRE_CALL_RESULT_BYTES_MAX
                 ? NULL
                 : tools_json_read(result->output.bytes ? result->output.bytes : "",
                                   result->output.size, &where);
    if (!answer) {
        (void)snprintf(text, sizeof(text), "it is not JSON (%.160s at byte %d)",
                       result->output.size > NACRE_CALL_RESULT_BYTES_MAX ? "too large"
                                                                         : where.text,
                       where.position);
        fault = text;
    } else {
        fault = answer_fault(answer);
    }
    if (!fault && manifest->output && json_object_get(answer, "structuredContent") &&
        !json_is_true(json_object_get(answer, "isError")) &&
        nacre_json_schema_judge(manifest->output,
                                json_object_get(answer, "structuredContent"),
                                &why) != NACRE_OK) {
        (void)snprintf(text, sizeof(text), "structuredContent: %.400s", why.text);
        fault = text;
    }
    if (!fault)
        return pass_on(call, result, answer, ret_answer, err);
    status = fail_output(call, result, fault, ret_answer, err);
    json_decref(answer);
    return status;
}
