#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nacre/call.h"
#include "nacre/intent.h"
#include "nacre/own.h"
#include "nacre/text.h"
#include "report.h"
#include "request.h"
#include "verbs.h"

enum {
    OPT_TOOL, OPT_SHELL, OPT_JSON_ARGS, OPT_INVOKE, OPT_SESSION, OPT_INPUT, OPT_TTL,
    OPT_COUNT
};

static const struct cli_option options[OPT_COUNT] = {
    [OPT_TOOL] = { "--tool", .kind = CLI_TEXT, .value = "TOOL", .offer = CLI_OFFER_FILES,
                   .help = "a module's file, the first word of a command or, with "
                           "--json-args, a tool's name" },
    [OPT_SHELL] = { "--shell", .kind = CLI_TEXT, .value = "TEXT",
                    .help = "instead: a text for nacre exec" },
    [OPT_JSON_ARGS] = CLI_OPTION_JSON_ARGS,
    [OPT_INVOKE] = { "--invoke", .kind = CLI_TEXT, .value = "EXPORT",
                     .help = "of a module, as nacre run has it" },
    [OPT_SESSION] = { "--session", .kind = CLI_TEXT, .value = "KEY",
                      .help = "the run's session (default: none)" },
    [OPT_INPUT] = { "--input", .kind = CLI_TEXT, .value = "FILE",
                    .offer = CLI_OFFER_FILES,
                    .help = "what the person said; nacre run --user-input has to match" },
    [OPT_TTL] = { "--ttl-ms", .kind = CLI_NUMBER, .value = "N", .min = 1,
                  .max = NACRE_INTENT_TTL_MS_MAX,
                  .help = "how long it is good (300000)" },
};

static const char *const words[] = { "issue" };

/* A module is a file that says so; everything else is the name of a command. */
static bool is_module(const char *name)
{
    NACRE_AUTO(nacre_fd_guard)
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    size_t length = strlen(name);
    char magic[4];

    if (length > 4 && (strcmp(name + length - 4, ".wat") == 0 ||
                       (length > 5 && strcmp(name + length - 5, ".wasm") == 0)))
        return true;
    return fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) &&
           memcmp(magic, "\0asm", sizeof(magic)) == 0;
}

/* `arguments` are the request's for a module, and the command's own words else. */
static enum nacre_status make_tool(const struct cli_args *args,
                                   const char *const *arguments,
                                   struct nacre_request *request,
                                   struct nacre_tool **ret_tool, struct nacre_error *err)
{
    const struct cli_value *tool = &args->values[OPT_TOOL];
    const struct cli_value *shell = &args->values[OPT_SHELL];
    const char *const command[] = { tool->text, NULL };

    if (tool->given == shell->given)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "intent issue expects --tool TOOL or --shell TEXT");
    if (shell->given && (arguments[0] || args->values[OPT_INVOKE].given))
        return nacre_fail(err, NACRE_ERR_USAGE, "--shell takes no arguments");
    if (shell->given)
        return nacre_tool_shell(shell->text, ret_tool, err);
    request->arguments = arguments;
    request->invoke = args->values[OPT_INVOKE].text;
    if (is_module(tool->text))
        return nacre_tool_load(tool->text, ret_tool, err);
    if (request->invoke)
        return nacre_fail(err, NACRE_ERR_USAGE, "--invoke is for modules");
    return nacre_tool_command(command, ret_tool, err);
}

/* What nacre tool call makes of a tool's name: exec is its command, all others are their
 * modules. */
static enum nacre_status make_called(const struct cli_args *args,
                                     struct nacre_engine *engine,
                                     const struct nacre_buf *json,
                                     struct nacre_tool **ret_tool,
                                     struct nacre_error *err)
{
    NACRE_AUTO(nacre_manifest_guard) struct nacre_manifest *manifest = NULL;
    const char *given = args->values[OPT_TOOL].text;
    char name[NACRE_TOOL_NAME], shown[NACRE_SHOWN];
    const char *command = NULL;
    json_t *object;
    enum nacre_status status;

    if (!given || args->operand_count > 1 || args->values[OPT_INVOKE].given)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "--json-args goes with --tool NAME and no other argument");
    if (is_module(given))
        return nacre_tool_load(given, ret_tool, err);
    if (!nacre_tool_canonical(given, name))
        return nacre_fail(err, NACRE_ERR_NOT_FOUND, "there is no tool '%s'",
                          nacre_text_shown(shown, given));
    status = nacre_tools_find(nacre_engine_tool_dirs(engine), name, &manifest, err);
    if (status != NACRE_OK)
        return status;
    if (manifest->module)
        return nacre_tool_load(manifest->module, ret_tool, err);
    object = json_loadb(json->bytes ? json->bytes : "", json->size, 0, NULL);
    command = json_string_value(json_object_get(object, "command"));
    status = strcmp(name, "exec") == 0 && command
                 ? nacre_tool_shell(command, ret_tool, err)
                 : nacre_fail(err, NACRE_ERR_USAGE,
                              "--json-args: an intent for %s is one for its command: "
                              "{\"command\": \"...\"}", name);
    json_decref(object);
    return status;
}

static enum nacre_status issue(const struct cli_args *args, struct nacre_engine *engine,
                               char ret_token[NACRE_INTENT_TOKEN],
                               struct nacre_error *err)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    NACRE_AUTO(nacre_buf_clear)
    struct nacre_buf input = NACRE_BUF(NACRE_USER_INPUT_BYTES_MAX);
    NACRE_AUTO(nacre_buf_clear)
    struct nacre_buf json = NACRE_BUF(NACRE_CALL_ARGUMENT_BYTES_MAX);
    struct nacre_request request = { .input_fd = -1,
                                     .session = args->values[OPT_SESSION].text };
    bool is_call = args->values[OPT_JSON_ARGS].given;
    struct nacre_digest digest;
    enum nacre_status status =
        is_call ? cli_json_args_read(&args->values[OPT_JSON_ARGS], &json, err)
                : make_tool(args, args->operands + 1, &request, &tool, err);

    if (status == NACRE_OK && is_call) {
        digest = nacre_hash(json.bytes ? json.bytes : "", json.size);
        request.input_digest = &digest;
        status = make_called(args, engine, &json, &tool, err);
    }
    if (status == NACRE_OK)
        status = cli_request_user_input(&args->values[OPT_INPUT], "--input", &input,
                                        &request.user_input, err);
    if (status != NACRE_OK)
        return status;
    return nacre_intent_issue(nacre_engine_key_dir(engine), tool, &request,
                              args->values[OPT_TTL].number, ret_token, err);
}

static int run(const struct cli_args *args)
{
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    struct nacre_engine_options quiet = { .audit_off = true, .commands_only = true };
    struct cli_term term = { 0 };
    char token[NACRE_INTENT_TOKEN];
    struct nacre_error err;
    enum nacre_status status = cli_engine_open(quiet, &term, &engine, &err);

    if (status == NACRE_OK)
        status = issue(args, engine, token, &err);
    if (status != NACRE_OK)
        return cli_fail(args, &err);
    if (args->json)
        return cli_json_print(json_pack("{s:s}", "intent", token))
                   ? 0
                   : nacre_status_exit(NACRE_ERR_MEMORY);
    (void)printf("%s\n", token);
    return 0;
}

const struct cli_verb cli_verb_intent = {
    .name = "intent",
    .summary = "issue a token that lets exactly one call through",
    .operands = "issue [ARG...]",
    .about =
        "The token binds the tool, every ARG, the session and the person's input; nacre\n"
        "run --intent TOKEN is held to them, and takes the token once. A policy with\n"
        "the annotation nacre/require-intent: \"true\" lets nothing run without one, with\n"
        "\"changes\" nothing but tools that only read.\n"
        "For nacre tool call give --tool NAME and the same --json-args, byte by byte.\n"
        "The key is intent.key in the key directory: keep it, and this verb, from the\n"
        "agent.",
    .example =
        "  nacre intent issue --tool git --session s1 --input said -- push origin\n"
        "  nacre run --policy shell --session s1 --user-input said \\\n"
        "      --intent TOKEN -- git push origin",
    .options = options,
    .option_count = OPT_COUNT,
    .words = words,
    .word_count = NACRE_COUNT(words),
    .operands_min = 1,
    .operands_max = SIZE_MAX,
    .run = run,
};
