/*
 * exec: a shell command, at the level that the configuration or the caller's policy
 * gives.  Its words are an agent's: the policy judges them, in nacre_run() and nowhere
 * else.
 */
#include <stdio.h>
#include <string.h>

#include "nacre/path.h"
#include "nacre/text.h"
#include "native.h"

/* Of what a command says, the beginning and the end are kept: what it began with, and
 * what it came to. */
#define HEAD_BYTES ((size_t)32 << 10)
#define TAIL_BYTES ((size_t)32 << 10)
#define VARIABLES_MAX 64

struct kept {
    char head[HEAD_BYTES];
    char tail[TAIL_BYTES]; /* a ring: `seen` says where it begins */
    size_t head_count;
    uint64_t seen; /* of all that came after the head */
};

static void keep(void *data, int stream, const char *bytes, size_t count)
{
    struct kept *kept = data;
    size_t room = HEAD_BYTES - kept->head_count;
    size_t first = count < room ? count : room;

    (void)stream;
    memcpy(kept->head + kept->head_count, bytes, first);
    kept->head_count += first;
    for (bytes += first, count -= first; count > 0;) {
        size_t at = kept->seen % TAIL_BYTES;
        size_t part = count < TAIL_BYTES - at ? count : TAIL_BYTES - at;

        memcpy(kept->tail + at, bytes, part);
        kept->seen += part;
        bytes += part;
        count -= part;
    }
}

static enum nacre_status add_kept(const struct kept *kept, struct nacre_buf *text,
                                  struct nacre_error *err)
{
    size_t at = kept->seen % TAIL_BYTES;
    enum nacre_status status = nacre_buf_add(text, kept->head, kept->head_count, err);

    if (status == NACRE_OK && kept->seen > TAIL_BYTES) {
        status = nacre_buf_addf(text, err, "\n[... %ju bytes are left out ...]\n",
                                (uintmax_t)(kept->seen - TAIL_BYTES));
        if (status == NACRE_OK)
            status = nacre_buf_add(text, kept->tail + at, TAIL_BYTES - at, err);
    }
    return status == NACRE_OK ? nacre_buf_add(text, kept->tail, at, err) : status;
}

/* ---- the request ---- */

struct command {
    struct nacre_tool *tool;
    char directory[NACRE_PATH_MAX];
    char *variables[VARIABLES_MAX + 1];
    int input_fd;
    struct nacre_digest digest; /* of the JSON arguments: all of them make the call */
    struct kept *kept;
};

static void command_clear(struct command *command)
{
    nacre_tool_free(command->tool);
    for (size_t i = 0; command->variables[i]; i++)
        free(command->variables[i]);
    nacre_fd_guard(&command->input_fd);
    free(command->kept);
}

/* NACRE_ERR_USAGE: what the model should mend. */
static enum nacre_status read_variables(const json_t *object, struct command *command,
                                        struct nacre_error *err)
{
    char shown[NACRE_SHOWN];
    size_t count = 0;
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)object, key, value) {
        if (key[0] == '\0' || strchr(key, '=') ||
            strlen(json_string_value(value)) != json_string_length(value))
            return nacre_fail(err, NACRE_ERR_USAGE,
                              "/environment: '%s' is no variable that can be set",
                              nacre_text_shown(shown, key));
        if (asprintf(&command->variables[count], "%s=%s", key,
                     json_string_value(value)) < 0) {
            command->variables[count] = NULL;
            return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the environment");
        }
        count++;
    }
    return NACRE_OK;
}

static enum nacre_status read_directory(const struct tools_call *call, const char *text,
                                        struct command *command, struct nacre_error *err)
{
    const char *base = call->policy->level != NACRE_LEVEL_NONE ? "/workspace"
                       : call->request.workspace               ? call->request.workspace
                                                               : "/";
    char joined[2 * NACRE_PATH_MAX];

    if ((size_t)snprintf(joined, sizeof(joined), "%s%s%s", text[0] == '/' ? "" : base,
                         text[0] == '/' ? "" : "/", text) >= sizeof(joined) ||
        !nacre_path_normalise(joined, command->directory, sizeof(command->directory)))
        return nacre_fail(err, NACRE_ERR_USAGE, "/directory: it is too long");
    return NACRE_OK;
}

static enum nacre_status read_arguments(struct tools_call *call, struct command *command,
                                        struct nacre_error *err)
{
    const json_t *text = json_object_get(call->arguments, "command");
    const json_t *directory = json_object_get(call->arguments, "directory");
    const json_t *input = json_object_get(call->arguments, "stdin");
    const json_t *timeout = json_object_get(call->arguments, "timeout_ms");
    struct nacre_request *request = &call->request;
    uint64_t timeout_ms = (uint64_t)json_number_value(timeout);
    enum nacre_status status;

    if (strlen(json_string_value(text)) != json_string_length(text) ||
        strlen(directory ? json_string_value(directory) : "") !=
            json_string_length(directory))
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "a NUL character can't be in a command or a directory");
    status = nacre_tool_shell(json_string_value(text), &command->tool, err);
    if (status == NACRE_ERR_TOO_BIG)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "/command: it is too long; write it to a file and run that");
    if (status == NACRE_OK)
        status = read_variables(json_object_get(call->arguments, "environment"), command,
                                err);
    if (status == NACRE_OK && directory)
        status = read_directory(call, json_string_value(directory), command, err);
    if (status == NACRE_OK && input)
        status = tools_input(json_string_value(input), json_string_length(input),
                             &command->input_fd, err);
    if (status != NACRE_OK)
        return status;
    if (timeout && (request->timeout_ms == 0 || timeout_ms < request->timeout_ms))
        request->timeout_ms = timeout_ms;
    if (request->timeout_ms > call->policy->limits.timeout_ms.value)
        request->timeout_ms = call->policy->limits.timeout_ms.value;
    request->directory = directory ? command->directory : request->directory;
    request->environment = (const char *const *)command->variables;
    request->input_fd = command->input_fd;
    command->digest = nacre_hash(call->asked->arguments, call->asked->argument_bytes);
    request->input_digest = &command->digest;
    request->on_output = keep;
    request->on_output_data = command->kept;
    request->stream_only = true;
    return NACRE_OK;
}

/* ---- the answer ---- */

static json_t *structured(const struct kept *kept, const struct nacre_result *result)
{
    bool exited = result->outcome == NACRE_OUTCOME_EXITED;

    return json_pack("{s:s, s:o, s:I, s:b}", "outcome",
                     nacre_outcome_name(result->outcome), "exit_status",
                     exited ? json_integer(result->exit_status) : json_null(),
                     "output_bytes", (json_int_t)(kept->head_count + kept->seen), "cut",
                     kept->seen > TAIL_BYTES || result->output_cut);
}

static enum nacre_status answer(const struct tools_call *call, const struct kept *kept,
                                const struct nacre_result *result, json_t **ret_answer,
                                struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear)
    struct nacre_buf text = NACRE_BUF(HEAD_BYTES + TAIL_BYTES + 4096);
    bool is_good = result->outcome == NACRE_OUTCOME_EXITED && result->exit_status == 0;
    char ending[768];
    enum nacre_status status = add_kept(kept, &text, err);

    if (status == NACRE_OK && (!is_good || text.size == 0)) {
        tools_say_outcome(call, result, ending, sizeof(ending));
        status = nacre_buf_addf(&text, err, "%s[%s]\n",
                                text.size > 0 && text.bytes[text.size - 1] != '\n' ? "\n"
                                                                                   : "",
                                ending);
    }
    if (status == NACRE_OK)
        status = tools_answer(!is_good, tools_text(text.bytes, text.size),
                              structured(kept, result), ret_answer, err);
    return status == NACRE_OK
               ? tools_add_meta(call, result, NULL, NULL, ret_answer, err)
               : status;
}

static enum nacre_status fail_arguments(const struct tools_call *call,
                                        const struct nacre_error *why,
                                        json_t **ret_answer, struct nacre_error *err)
{
    enum nacre_status status =
        tools_answer(true, tools_text(why->text, strlen(why->text)),
                     json_pack("{s:s}", "code", "invalid-arguments"), ret_answer, err);

    return status == NACRE_OK
               ? tools_add_meta(call, NULL, "invalid", NULL, ret_answer, err)
               : status;
}

static enum nacre_status call_exec(struct tools_call *call, json_t **ret_answer,
                                   struct nacre_error *err)
{
    NACRE_AUTO(command_clear) struct command command = { .input_fd = -1 };
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    struct nacre_error why;
    enum nacre_status status;

    command.kept = calloc(1, sizeof(*command.kept));
    if (!command.kept)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a command's output");
    status = read_arguments(call, &command, &why);
    if (status == NACRE_ERR_USAGE)
        return fail_arguments(call, &why, ret_answer, err);
    if (status != NACRE_OK) {
        *err = why;
        return status;
    }
    status = tools_run(call, command.tool, &result, ret_answer, err);
    return result ? answer(call, command.kept, result, ret_answer, err) : status;
}

const struct native_tool native_exec = {
    .name = "exec",
    .description =
        "Run a shell command in the sandbox and wait for it. stdout and stderr come "
        "together; of long output the beginning and the end are kept.",
    .schema =
        "{\"type\": \"object\", \"properties\": {"
        "\"command\": {\"type\": \"string\", \"minLength\": 1, "
        "\"description\": \"for /bin/sh -c\"}, "
        "\"directory\": {\"type\": \"string\", \"minLength\": 1, "
        "\"description\": \"where it starts; relative to the workspace\"}, "
        "\"environment\": {\"type\": \"object\", \"maxProperties\": 64, "
        "\"additionalProperties\": {\"type\": \"string\"}, "
        "\"description\": \"variables that are set for it\"}, "
        "\"timeout_ms\": {\"type\": \"integer\", \"minimum\": 1, "
        "\"maximum\": 604800000}, "
        "\"stdin\": {\"type\": \"string\", \"maxLength\": 8388608}}, "
        "\"required\": [\"command\"], \"additionalProperties\": false}",
    .call = call_exec,
};
