/*
 * process: commands in the background, owned by the keeper.  Each is a `nacre exec` of
 * its own, with the policy, session and files that this call has; its words are an
 * agent's, and judged there.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "nacre/jobs.h"
#include "nacre/text.h"
#include "nacre/words.h"
#include "native.h"

#define READ_BYTES ((size_t)32 << 10)

bool tools_is_command(const struct tools_call *call)
{
    const char *action = json_string_value(json_object_get(call->arguments, "action"));

    return call->entry->native == &native_process && action &&
           (strcmp(action, "start") == 0 || strcmp(action, "write") == 0);
}

/* ---- the words of the job ---- */

static void add(struct nacre_words *words, const char *word)
{
    nacre_words_add(words, word);
}

static void add_option(struct nacre_words *words, const char *option, const char *value)
{
    if (!value)
        return;
    add(words, option);
    add(words, value);
}

static void add_owned(struct nacre_words *words, const char *option, char *value)
{
    add(words, option);
    nacre_words_take(words, value);
}

static void add_mounts(struct nacre_words *words, const struct nacre_request *request)
{
    for (uint32_t i = 0; i < request->mount_count; i++) {
        const struct nacre_mount_request *mount = &request->mounts[i];
        char *text = NULL;

        if (asprintf(&text, "%s=%s%s", mount->guest, mount->host,
                     mount->mode == 'r'   ? ":ro"
                     : mount->mode == 'w' ? ":rw"
                                          : "") < 0)
            text = NULL;
        add_owned(words, "--mount", text);
    }
}

static void add_variables(struct nacre_words *words, const json_t *object)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value) {
        char *text = NULL;

        if (asprintf(&text, "%s=%s", key, json_string_value(value)) < 0)
            text = NULL;
        add_owned(words, "--env", text);
    }
}

/* Who it is for: a session of a configuration, or a policy and what the caller says. */
static void add_place(struct nacre_words *words, const struct tools_call *call)
{
    const struct nacre_session *session = call->asked->session;
    const struct nacre_request *request = &call->asked->request;

    if (session) {
        add_option(words, "--config",
                   session->config->file ? session->config->file
                                         : session->config->source);
        add_option(words, "--session", session->key);
        add_option(words, "--agent", session->agent);
        add(words, "--out-of-turn");
        return;
    }
    add_option(words, "--policy", call->asked->policy);
    add_option(words, "--workspace", request->workspace);
    add_mounts(words, request);
    add_option(words, "--session", request->session);
    add_option(words, "--agent", request->agent);
    if (request->scope != NACRE_SCOPE_UNSET)
        add_option(words, "--scope", nacre_scope_name(request->scope));
    if (request->unsandboxed)
        add(words, "--unsandboxed");
}

static void add_limits(struct nacre_words *words, const struct tools_call *call)
{
    const char *const *waive = call->asked->request.waive;
    const json_t *timeout = json_object_get(call->arguments, "timeout_ms");
    uint64_t limit_ms = call->policy->limits.timeout_ms.value;
    uint64_t asked_ms = (uint64_t)json_number_value(timeout);
    char *text = NULL;

    for (size_t i = 0; waive && waive[i]; i++)
        add_option(words, "--waive", waive[i]);
    if (asprintf(&text, "%" PRIu64,
                 timeout && asked_ms < limit_ms ? asked_ms : limit_ms) < 0)
        text = NULL;
    add_owned(words, "--timeout-ms", text);
}

/* ---- what is asked ---- */

static const char *text_of(const struct tools_call *call, const char *key)
{
    const json_t *value = json_object_get(call->arguments, key);
    const char *text = json_string_value(value);

    /* What a NUL cuts off would be lost without a word. */
    return text && strlen(text) == json_string_length(value) ? text : NULL;
}

/* False: a NUL would cut the directory or a variable, or drop it. */
static bool is_startable(const struct tools_call *call)
{
    const json_t *variables = json_object_get(call->arguments, "environment");
    const char *key;
    json_t *value;

    if (!text_of(call, "command") ||
        (json_object_get(call->arguments, "directory") && !text_of(call, "directory")))
        return false;
    json_object_foreach((json_t *)variables, key, value)
        if (key[0] == '\0' || strchr(key, '=') ||
            strlen(json_string_value(value)) != json_string_length(value))
            return false;
    return true;
}

static struct nacre_job_owner owner_of(const struct tools_call *call)
{
    const struct nacre_session *session = call->asked->session;
    const char *key = session ? session->key : call->asked->request.session;
    const char *agent = session ? session->agent : call->asked->request.agent;

    return (struct nacre_job_owner){ key ? key : "", agent ? agent : "" };
}

static struct nacre_keeper_at keeper_of(const struct tools_call *call)
{
    return (struct nacre_keeper_at){ nacre_engine_state_dir(call->engine),
                                     nacre_engine_program(call->engine) };
}

/* ---- answers ---- */

static json_t *info_json(const struct nacre_job_info *info)
{
    return json_pack("{s:s, s:o, s:b, s:o, s:I, s:I}", "id", info->id, "command",
                     tools_text(info->title, strlen(info->title)), "running",
                     info->running, "exit_status",
                     info->running ? json_null() : json_integer(info->exit_status),
                     "output_bytes", (json_int_t)info->bytes_written, "started_ms",
                     (json_int_t)info->started_ms);
}

static enum nacre_status say(const struct tools_call *call, const char *text,
                             size_t count, json_t *structured, json_t **ret_answer,
                             struct nacre_error *err)
{
    enum nacre_status status =
        tools_answer(false, tools_text(text, count), structured, ret_answer, err);

    return status == NACRE_OK
               ? tools_add_meta(call, NULL, "done", NULL, ret_answer, err)
               : status;
}

/* What the model can mend; anything else is the host's failure. */
static enum nacre_status tell_failure(const struct tools_call *call,
                                      const struct nacre_error *why, json_t **ret_answer,
                                      struct nacre_error *err)
{
    const char *code = why->status == NACRE_ERR_NOT_FOUND ? "not-found"
                       : why->status == NACRE_ERR_TOO_BIG ? "too-many"
                       : why->status == NACRE_ERR_TIMEOUT ? "timed-out"
                                                          : "invalid-arguments";
    enum nacre_status status;

    if (why->status != NACRE_ERR_NOT_FOUND && why->status != NACRE_ERR_TOO_BIG &&
        why->status != NACRE_ERR_TIMEOUT && why->status != NACRE_ERR_USAGE) {
        *err = *why;
        return why->status;
    }
    status = tools_answer(true, tools_text(why->text, strlen(why->text)),
                          json_pack("{s:s}", "code", code), ret_answer, err);
    return status == NACRE_OK
               ? tools_add_meta(call, NULL, "invalid", NULL, ret_answer, err)
               : status;
}

/* ---- the actions ---- */

static enum nacre_status start(const struct tools_call *call, json_t **ret_answer,
                               struct nacre_error *err)
{
    NACRE_AUTO(nacre_words_clear) struct nacre_words words = { 0 };
    const char *text = text_of(call, "command");
    struct nacre_job_start job = { .words = words.items, .directory = "/",
                                   .title = text };
    struct nacre_job_owner owner = owner_of(call);
    struct nacre_keeper_at at = keeper_of(call);
    char id[NACRE_JOB_ID], said[128];
    enum nacre_status status;

    if (!is_startable(call))
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "start needs a command; it, the directory and variables are "
                          "without a NUL, and variables have names");
    add(&words, "exec");
    add_place(&words, call);
    add_limits(&words, call);
    add_option(&words, "--directory", text_of(call, "directory"));
    add_option(&words, "--caller", "process");
    add_variables(&words, json_object_get(call->arguments, "environment"));
    add(&words, "--");
    add(&words, text);
    if (words.failed)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "there are too many mounts and variables for one command");
    status = nacre_job_start(&at, &owner, &job, id, err);
    if (status != NACRE_OK)
        return status;
    (void)snprintf(said, sizeof(said),
                   "started in the background as %s; poll it for output", id);
    return say(call, said, strlen(said), json_pack("{s:s, s:b}", "id", id, "running", 1),
               ret_answer, err);
}

/* The end of "[running]", "[ended with status 3]". */
static void add_state(struct nacre_buf *text, const struct nacre_job_info *info)
{
    struct nacre_error ignored;
    const char *gap = text->size > 0 && text->bytes[text->size - 1] != '\n' ? "\n" : "";

    if (info->running)
        (void)!nacre_buf_addf(text, &ignored, "%s[running]\n", gap);
    else
        (void)!nacre_buf_addf(text, &ignored, "%s[ended with status %d]\n", gap,
                              info->exit_status);
}

/* From the call's offset on, or the newest of what it wrote. */
static enum nacre_status read_output(const struct tools_call *call, const char *id,
                                     bool newest, uint64_t wait_ms,
                                     json_t **ret_answer, struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF(READ_BYTES + 256);
    struct nacre_job_owner owner = owner_of(call);
    struct nacre_keeper_at at = keeper_of(call);
    uint64_t next = 0;
    uint64_t from =
        (uint64_t)json_number_value(json_object_get(call->arguments, "offset"));
    struct nacre_job_info info;
    json_t *structured;
    enum nacre_status status = NACRE_OK;

    if (newest) {
        status = nacre_job_read(&at, &owner, id, 0, 0, 0, &text, &next, &info, err);
        if (status == NACRE_OK)
            from = info.bytes_written > READ_BYTES ? info.bytes_written - READ_BYTES : 0;
    }
    if (status == NACRE_OK)
        status = nacre_job_read(&at, &owner, id, from, READ_BYTES, wait_ms, &text, &next,
                                &info, err);
    if (status != NACRE_OK)
        return status;
    structured = info_json(&info);
    if (structured &&
        (json_object_set_new(structured, "next_offset", json_integer((json_int_t)next)) !=
             0 ||
         json_object_set_new(structured, "lost_bytes",
                             json_integer(info.bytes_kept_from > from
                                              ? (json_int_t)(info.bytes_kept_from - from)
                                              : 0)) != 0)) {
        json_decref(structured);
        structured = NULL;
    }
    add_state(&text, &info);
    return say(call, text.bytes, text.size, structured, ret_answer, err);
}

static enum nacre_status feed(const struct tools_call *call, const char *id,
                              json_t **ret_answer, struct nacre_error *err)
{
    const json_t *input = json_object_get(call->arguments, "input");
    bool end = json_is_true(json_object_get(call->arguments, "eof"));
    struct nacre_job_owner owner = owner_of(call);
    struct nacre_keeper_at at = keeper_of(call);
    const char *bytes = input ? json_string_value(input) : "";
    enum nacre_status status = nacre_job_write(&at, &owner, id, bytes,
                                               json_string_length(input), end, err);

    if (status != NACRE_OK)
        return status;
    return say(call, "written", strlen("written"), json_pack("{s:s}", "id", id),
               ret_answer, err);
}

static enum nacre_status end(const struct tools_call *call, const char *id,
                             json_t **ret_answer, struct nacre_error *err)
{
    struct nacre_job_owner owner = owner_of(call);
    struct nacre_keeper_at at = keeper_of(call);
    enum nacre_status status = nacre_job_kill(&at, &owner, id, err);

    if (status != NACRE_OK)
        return status;
    return say(call, "ended, and forgotten", strlen("ended, and forgotten"),
               json_pack("{s:s, s:b}", "id", id, "running", 0), ret_answer, err);
}

struct listing {
    struct nacre_buf text;
    json_t *jobs;
    bool failed;
};

static bool list_one(void *data, const struct nacre_job_info *info)
{
    struct listing *listing = data;
    struct nacre_error ignored;
    char ended[48];

    (void)snprintf(ended, sizeof(ended), "ended with status %d", info->exit_status);
    listing->failed |=
        json_array_append_new(listing->jobs, info_json(info)) != 0 ||
        nacre_buf_addf(&listing->text, &ignored, "%s  %s  %s\n", info->id,
                       info->running ? "running" : ended, info->title) != NACRE_OK;
    return !listing->failed;
}

static enum nacre_status list(const struct tools_call *call, json_t **ret_answer,
                              struct nacre_error *err)
{
    struct listing listing = { .text = NACRE_BUF(READ_BYTES), .jobs = json_array() };
    struct nacre_job_owner owner = owner_of(call);
    struct nacre_keeper_at at = keeper_of(call);
    static const char none[] = "nothing runs in the background";
    enum nacre_status status = nacre_job_list(&at, &owner, list_one, &listing, err);

    if (status == NACRE_OK && listing.failed)
        status = nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the list");
    if (status == NACRE_OK)
        status = say(call, listing.text.size ? listing.text.bytes : none,
                     listing.text.size ? listing.text.size : strlen(none),
                     json_pack("{s:O}", "processes", listing.jobs), ret_answer, err);
    json_decref(listing.jobs);
    nacre_buf_clear(&listing.text);
    return status;
}

static enum nacre_status act(const struct tools_call *call, json_t **ret_answer,
                             struct nacre_error *err)
{
    const char *action = text_of(call, "action"), *id = text_of(call, "id");
    uint64_t wait_ms =
        (uint64_t)json_number_value(json_object_get(call->arguments, "wait_ms"));

    if (strcmp(action, "start") == 0)
        return start(call, ret_answer, err);
    if (strcmp(action, "list") == 0)
        return list(call, ret_answer, err);
    if (!id)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "%s needs the id of a background command; list shows them",
                          action);
    if (strcmp(action, "poll") == 0)
        return read_output(call, id, false, wait_ms, ret_answer, err);
    if (strcmp(action, "logs") == 0)
        return read_output(call, id, true, 0, ret_answer, err);
    if (strcmp(action, "write") == 0)
        return feed(call, id, ret_answer, err);
    return end(call, id, ret_answer, err);
}

static enum nacre_status call_process(struct tools_call *call, json_t **ret_answer,
                                      struct nacre_error *err)
{
    struct nacre_error why;
    enum nacre_status status = act(call, ret_answer, &why);

    return status == NACRE_OK ? status : tell_failure(call, &why, ret_answer, err);
}

const struct native_tool native_process = {
    .name = "process",
    .description =
        "Run shell commands in the background of this session: start one, poll its "
        "output from an offset, read the newest (logs), write to its stdin, kill it, "
        "list them. They end with the session.",
    .schema =
        "{\"type\": \"object\", \"properties\": {"
        "\"action\": {\"enum\": [\"start\", \"poll\", \"logs\", \"write\", \"kill\", "
        "\"list\"]}, "
        "\"id\": {\"type\": \"string\", \"pattern\": \"^[0-9a-f]{16}$\", "
        "\"description\": \"of a command that was started\"}, "
        "\"command\": {\"type\": \"string\", \"minLength\": 1, "
        "\"description\": \"start: for /bin/sh -c\"}, "
        "\"directory\": {\"type\": \"string\", \"minLength\": 1, "
        "\"description\": \"start: where, an absolute path of the sandbox\"}, "
        "\"environment\": {\"type\": \"object\", \"maxProperties\": 64, "
        "\"additionalProperties\": {\"type\": \"string\"}}, "
        "\"timeout_ms\": {\"type\": \"integer\", \"minimum\": 1, "
        "\"maximum\": 604800000}, "
        "\"offset\": {\"type\": \"integer\", \"minimum\": 0, "
        "\"description\": \"poll: from next_offset of the last poll on\"}, "
        "\"wait_ms\": {\"type\": \"integer\", \"minimum\": 0, \"maximum\": 30000, "
        "\"description\": \"poll: how long to wait for something new\"}, "
        "\"input\": {\"type\": \"string\", \"maxLength\": 1048576}, "
        "\"eof\": {\"type\": \"boolean\", \"description\": \"write: close its stdin\"}}, "
        "\"required\": [\"action\"], \"additionalProperties\": false}",
    .call = call_process,
};
