/* Tools as an agent knows them: what there is, what one takes, and a call. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "nacre/call.h"
#include "nacre/intent.h"
#include "nacre/own.h"
#include "nacre/text.h"
#include "report.h"
#include "request.h"
#include "session.h"
#include "trace.h"
#include "verbs.h"

enum {
    OPT_JSON_ARGS, OPT_POLICY, OPT_CONFIG, OPT_SESSION, OPT_AGENT, OPT_SENDER,
    OPT_CALLER, OPT_SCOPE, OPT_WORKSPACE, OPT_MOUNT, OPT_TIMEOUT, OPT_FUEL, OPT_WAIVE,
    OPT_EMULATION, OPT_ELEVATED,
    OPT_UNSANDBOXED, OPT_APPROVAL, OPT_INTENT, OPT_USER_INPUT, OPT_SECRET, OPT_TOKEN,
    OPT_TRACE, OPT_COUNT
};

static const struct cli_option options[OPT_COUNT] = {
    [OPT_JSON_ARGS] = CLI_OPTION_JSON_ARGS,
    [OPT_POLICY] = { "--policy", .kind = CLI_TEXT, .value = "POLICY",
                     .offer = CLI_OFFER_POLICIES,
                     .help = "without a configuration (default: the tool's own)" },
    [OPT_CONFIG] = { "--config", .kind = CLI_TEXT, .value = "FILE",
                     .offer = CLI_OFFER_FILES,
                     .help = "OpenClaw's, Clawdis's, config.yml or Clawpy's; decides" },
    [OPT_SESSION] = { "--session", .kind = CLI_TEXT, .value = "KEY",
                      .help = "in which session (with --config: the main one)" },
    [OPT_AGENT] = { "--agent", .kind = CLI_TEXT, .value = "NAME",
                    .help = "on whose behalf" },
    [OPT_SENDER] = { "--sender", .kind = CLI_TEXT, .value = "PROVIDER:ID",
                     .help = "who is behind the call, for --elevated" },
    [OPT_CALLER] = { "--caller", .kind = CLI_TEXT, .value = "NAME",
                     .help = "who asked, for the audit record" },
    [OPT_SCOPE] = CLI_OPTION_SCOPE,
    [OPT_WORKSPACE] = CLI_OPTION_WORKSPACE,
    [OPT_MOUNT] = CLI_OPTION_MOUNT,
    [OPT_TIMEOUT] = { "--timeout-ms", .kind = CLI_NUMBER, .value = "N", .min = 1,
                      .max = 604800000,
                      .help = "less than the manifest and the policy allow" },
    [OPT_FUEL] = { "--fuel", .kind = CLI_NUMBER, .value = "N", .min = 1, .max = INT64_MAX,
                   .help = "less than the manifest says" },
    [OPT_WAIVE] = CLI_OPTION_WAIVE,
    [OPT_EMULATION] = CLI_OPTION_EMULATION,
    [OPT_ELEVATED] = { "--elevated", .kind = CLI_FLAG,
                       .help = "exec outside the sandbox, where the gates are open" },
    [OPT_UNSANDBOXED] = CLI_OPTION_UNSANDBOXED,
    [OPT_APPROVAL] = { "--approval", .kind = CLI_TEXT, .value = "TOKEN",
                       .help = "a person's word, given in advance" },
    [OPT_INTENT] = { "--intent", .kind = CLI_TEXT, .value = "TOKEN",
                     .help = "what nacre intent issued for exactly this call" },
    [OPT_USER_INPUT] = { "--user-input", .kind = CLI_TEXT, .value = "FILE",
                         .offer = CLI_OFFER_FILES,
                         .help = "what the person said, as the intent has it" },
    [OPT_SECRET] = CLI_OPTION_SECRET,
    [OPT_TOKEN] = CLI_OPTION_TOKEN,
    [OPT_TRACE] = { "--trace", .kind = CLI_FLAG,
                    .help = "then show every host call of the module, on stderr" },
};

struct tool_verb {
    const struct cli_args *args;
    struct cli_term term;
    struct nacre_engine *engine;
    struct cli_request request;
    struct cli_session session; /* empty without a configuration */
    struct nacre_buf arguments, user_input;
    int trace_fd; /* 0: none */
    json_t *answer;
};

static void verb_clear(struct tool_verb *verb)
{
    cli_term_clear(&verb->term);
    json_decref(verb->answer);
    nacre_engine_free(verb->engine);
    cli_session_clear(&verb->session);
    cli_request_clear(&verb->request);
    nacre_buf_clear(&verb->arguments);
    nacre_buf_clear(&verb->user_input);
    if (verb->trace_fd > 0)
        (void)close(verb->trace_fd);
}

/* ---- list and show ---- */

static const char *access_name(const struct nacre_manifest *manifest)
{
    static const char *const names[] = { "none", "read", "write" };

    return manifest->directory ? names[manifest->access] : "commands";
}

static json_t *text_or_null(const char *text)
{
    return text ? cli_json_text(text) : json_null();
}

static json_t *manifest_json(const struct nacre_manifest *manifest)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:O, s:o, s:o, s:s, s:b, s:I, s:I, s:o, s:o, s:o}", "name",
        cli_json_text(manifest->name), "version", text_or_null(manifest->version),
        "title", text_or_null(manifest->title), "description",
        cli_json_text(manifest->description), "inputSchema", manifest->input_schema,
        "outputSchema",
        manifest->output_schema ? json_incref(manifest->output_schema) : json_null(),
        "sandbox_ref", text_or_null(manifest->sandbox_ref), "access",
        access_name(manifest), "approval", manifest->needs_approval, "timeout_ms",
        (json_int_t)manifest->timeout_ms.value, "fuel", (json_int_t)manifest->fuel.value,
        "digest", manifest->has_digest ? cli_json_digest(&manifest->digest) : json_null(),
        "module", text_or_null(manifest->module), "source",
        cli_json_text(manifest->source));
}

struct listing {
    json_t *items; /* NULL: print */
    bool failed;
};

static void list_one(void *data, const char *name, const struct nacre_manifest *manifest,
                     const struct nacre_error *why)
{
    struct listing *listing = data;
    char shown[NACRE_SHOWN], line[1024];
    json_t *item;

    (void)nacre_text_shown(shown, name);
    if (!listing->items && manifest) {
        const char *text = manifest->description;

        (void)printf("%-16s %-10s %-9s %s\n", shown, manifest->version,
                     access_name(manifest),
                     nacre_text_show(line, 80, text, strcspn(text, "\n")));
        return;
    }
    if (!listing->items) {
        nacre_error_print(why, line, sizeof(line));
        cli_say_lines(shown, line);
        return;
    }
    item = manifest ? manifest_json(manifest)
                    : json_pack("{s:o, s:o}", "name", cli_json_text(name), "error",
                                cli_json_error(why));
    listing->failed |= json_array_append_new(listing->items, item) != 0;
}

static enum nacre_status list_tools(struct tool_verb *verb, int *ret_exit,
                                    struct nacre_error *err)
{
    struct listing listing = { .items = verb->args->json ? json_array() : NULL };
    enum nacre_status status = nacre_tools_each(nacre_engine_tool_dirs(verb->engine),
                                                list_one, &listing, err);

    *ret_exit = 0;
    if (status == NACRE_OK && listing.items && !listing.failed)
        (void)cli_json_print(json_pack("{s:O}", "tools", listing.items));
    json_decref(listing.items);
    if (status == NACRE_OK && listing.failed)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the list");
    return status;
}

static void print_manifest(const struct nacre_manifest *manifest)
{
    NACRE_AUTO(nacre_heap_guard)
    char *schema = json_dumps(manifest->input_schema, JSON_INDENT(2));
    char shown[4096], hex[NACRE_HEX];

    (void)printf("%s %s\n  %s\n", manifest->name, manifest->version,
                 nacre_text_show(shown, sizeof(shown), manifest->description,
                                 strlen(manifest->description)));
    (void)printf("files:       %s\n", access_name(manifest));
    if (manifest->sandbox_ref)
        (void)printf("sandbox:     %s\n", manifest->sandbox_ref);
    if (manifest->needs_approval)
        (void)printf("approval:    a person is asked\n");
    if (manifest->timeout_ms.value > 0)
        (void)printf("timeout_ms:  %ju\n", (uintmax_t)manifest->timeout_ms.value);
    if (manifest->fuel.value > 0)
        (void)printf("fuel:        %ju\n", (uintmax_t)manifest->fuel.value);
    if (manifest->module)
        (void)printf("module:      %s\n", nacre_text_shown(shown, manifest->module));
    if (manifest->has_digest)
        (void)printf("digest:      %s\n", nacre_digest_hex(&manifest->digest, hex));
    (void)printf("arguments:   %s\n", schema ? schema : "");
}

static enum nacre_status show_tool(struct tool_verb *verb, int *ret_exit,
                                   struct nacre_error *err)
{
    NACRE_AUTO(nacre_manifest_guard) struct nacre_manifest *manifest = NULL;
    char name[NACRE_TOOL_NAME], shown[NACRE_SHOWN];
    enum nacre_status status;

    if (!nacre_tool_canonical(verb->args->operands[1], name))
        return nacre_fail(err, NACRE_ERR_NOT_FOUND, "there is no tool '%s'",
                          nacre_text_shown(shown, verb->args->operands[1]));
    status = nacre_tools_find(nacre_engine_tool_dirs(verb->engine), name, &manifest, err);
    if (status != NACRE_OK)
        return status;
    *ret_exit = 0;
    if (!verb->args->json)
        print_manifest(manifest);
    else if (!cli_json_print(manifest_json(manifest)))
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the manifest");
    return NACRE_OK;
}

/* ---- call ---- */

static enum nacre_status make_request(struct tool_verb *verb, struct nacre_error *err)
{
    const struct cli_value *values = verb->args->values;
    struct nacre_request *request = &verb->request.request;
    enum nacre_status status =
        cli_request_make(&verb->request, &values[OPT_WORKSPACE], &values[OPT_MOUNT], NULL,
                         err);

    if (status == NACRE_OK)
        status = cli_request_waive(&verb->request, &values[OPT_WAIVE],
                                   &values[OPT_EMULATION], err);
    if (status == NACRE_OK)
        status = cli_request_scope(&verb->request, &values[OPT_SCOPE], err);
    if (status == NACRE_OK)
        status = cli_request_user_input(&values[OPT_USER_INPUT], "--user-input",
                                        &verb->user_input, &request->user_input, err);
    if (status != NACRE_OK)
        return status;
    cli_request_secrets(&verb->request, &values[OPT_SECRET], &values[OPT_TOKEN], NULL);
    request->session = values[OPT_SESSION].text;
    request->agent = values[OPT_AGENT].text;
    request->caller = values[OPT_CALLER].text;
    request->timeout_ms = values[OPT_TIMEOUT].number;
    request->fuel = values[OPT_FUEL].number;
    request->unsandboxed = values[OPT_UNSANDBOXED].given;
    request->intent = values[OPT_INTENT].text;
    return NACRE_OK;
}

static bool is_tool(const struct cli_args *args, const char *tool)
{
    char name[NACRE_TOOL_NAME];

    return args->operand_count > 1 && nacre_tool_canonical(args->operands[1], name) &&
           strcmp(name, tool) == 0;
}

static enum nacre_status open_trace(struct tool_verb *verb, struct nacre_error *err)
{
    if (!verb->args->values[OPT_TRACE].given)
        return NACRE_OK;
    if (is_tool(verb->args, "exec") || is_tool(verb->args, "process"))
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "--trace shows a module's host calls, and %s has no module",
                          verb->args->operands[1]);
    verb->trace_fd = memfd_create("nacre-trace", MFD_CLOEXEC);
    return verb->trace_fd > 0 ? NACRE_OK
                              : nacre_fail(err, NACRE_ERR_IO, "a file for the trace");
}

/* With a configuration: what it means for this session. */
static enum nacre_status enter_session(struct tool_verb *verb, struct nacre_error *err)
{
    const struct cli_value *values = verb->args->values;

    if (!values[OPT_CONFIG].given)
        return values[OPT_SENDER].given
                   ? nacre_fail(err, NACRE_ERR_USAGE, "--sender needs --config")
                   : NACRE_OK;
    if (values[OPT_POLICY].given)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "--config or --policy, not both: the configuration decides");
    return cli_session_settle(&verb->session, values[OPT_CONFIG].text,
                              &values[OPT_SESSION], &values[OPT_AGENT],
                              &values[OPT_SENDER], err);
}

static void print_answer(const json_t *answer, bool is_error)
{
    const json_t *content = json_object_get(answer, "content");
    FILE *out = is_error ? stderr : stdout;

    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *item = json_array_get(content, i);
        const json_t *text = json_object_get(item, "text");
        size_t length = json_string_length(text);

        if (text) {
            (void)fwrite(json_string_value(text), 1, length, out);
            if (length == 0 || json_string_value(text)[length - 1] != '\n')
                (void)fputc('\n', out);
        } else {
            (void)fprintf(out, "[%s]\n",
                          json_string_value(json_object_get(item, "type")));
        }
    }
}

/* 0, 1 for what the tool or its arguments did wrong, 126 for what was denied. */
static int finish(struct tool_verb *verb)
{
    const json_t *meta = json_object_get(json_object_get(verb->answer, "_meta"), "nacre");
    const char *outcome = json_string_value(json_object_get(meta, "outcome"));
    bool is_error = json_is_true(json_object_get(verb->answer, "isError"));
    bool denied = outcome && strcmp(outcome, "denied") == 0;

    if (!verb->args->json)
        print_answer(verb->answer, is_error);
    else if (!cli_json_print(json_incref(verb->answer)))
        return nacre_status_exit(NACRE_ERR_MEMORY);
    return denied ? nacre_status_exit(NACRE_ERR_DENIED) : is_error;
}

static enum nacre_status make_call(struct tool_verb *verb, struct nacre_call *ret_call,
                                   struct nacre_error *err)
{
    const struct cli_value *values = verb->args->values;
    enum nacre_status status = cli_json_args_read(&verb->args->values[OPT_JSON_ARGS],
                                                  &verb->arguments, err);

    if (status == NACRE_OK)
        status = open_trace(verb, err);
    if (status == NACRE_OK)
        status = enter_session(verb, err);
    if (status != NACRE_OK)
        return status;
    *ret_call = (struct nacre_call){
        .tool = verb->args->operands[1], .policy = values[OPT_POLICY].text,
        .elevated = values[OPT_ELEVATED].given, .approval = values[OPT_APPROVAL].text,
        .session = verb->session.session, .request = verb->request.request,
        .arguments = verb->arguments.bytes ? verb->arguments.bytes : "",
        .argument_bytes = verb->arguments.size,
    };
    ret_call->request.trace_fd = verb->trace_fd;
    return NACRE_OK;
}

static enum nacre_status call_tool(struct tool_verb *verb, int *ret_exit,
                                   struct nacre_error *err)
{
    struct nacre_call call;
    enum nacre_status status = make_call(verb, &call, err);

    if (status != NACRE_OK)
        return status;
    status = nacre_call(verb->engine, &call, &verb->answer, err);
    cli_term_clear(&verb->term);
    if (status == NACRE_OK)
        *ret_exit = finish(verb);
    (void)fflush(stdout);
    if (status == NACRE_OK && verb->trace_fd > 0 &&
        !cli_trace_print(verb->trace_fd, verb->args->json, stderr))
        return nacre_fail(err, NACRE_ERR_MEMORY, "reading the trace");
    return status;
}

/* The operator's word for one such call, before it is made. */
static enum nacre_status approve_tool(struct tool_verb *verb, int *ret_exit,
                                      struct nacre_error *err)
{
    char token[NACRE_APPROVAL_TOKEN];
    struct nacre_call call;
    enum nacre_status status = make_call(verb, &call, err);

    if (status == NACRE_OK)
        status = nacre_call_approve(verb->engine, &call, 0, token, err);
    cli_term_clear(&verb->term);
    if (status != NACRE_OK)
        return status;
    if (!verb->args->json)
        (void)printf("%s\n", token);
    else if (!cli_json_print(json_pack("{s:s}", "approval", token)))
        *ret_exit = nacre_status_exit(NACRE_ERR_MEMORY);
    return NACRE_OK;
}

/* ---- the words ---- */

static const struct {
    const char *word;
    size_t operands;
    enum nacre_status (*run)(struct tool_verb *verb, int *ret_exit,
                             struct nacre_error *err);
} acts[] = {
    { "list", 1, list_tools },
    { "show", 2, show_tool },
    { "call", 2, call_tool },
    { "approve", 2, approve_tool },
};
static const char *const words[NACRE_COUNT(acts)] = { "list", "show", "call", "approve" };

static enum nacre_status run_word(struct tool_verb *verb, int *ret_exit,
                                  struct nacre_error *err)
{
    struct nacre_engine_options engine = { 0 };
    size_t act = 0;
    enum nacre_status status;

    while (strcmp(acts[act].word, verb->args->operands[0]) != 0)
        act++;
    if (verb->args->operand_count != acts[act].operands)
        return nacre_fail(err, NACRE_ERR_USAGE, "tool %s expects %s", acts[act].word,
                          acts[act].operands == 1 ? "no more operands" : "one NAME");
    for (size_t i = 0; i < OPT_COUNT && acts[act].run != call_tool &&
                       acts[act].run != approve_tool; i++)
        if (verb->args->values[i].given)
            return nacre_fail(err, NACRE_ERR_USAGE, "tool %s has no %s", acts[act].word,
                              options[i].name);
    engine.audit_off = acts[act].run != call_tool;
    engine.commands_only = engine.audit_off || is_tool(verb->args, "exec");
    engine.single_run = true;
    status = make_request(verb, err);
    if (status == NACRE_OK)
        status = cli_engine_open(engine, &verb->term, &verb->engine, err);
    return status == NACRE_OK ? acts[act].run(verb, ret_exit, err) : status;
}

static int run(const struct cli_args *args)
{
    NACRE_AUTO(verb_clear) struct tool_verb verb = {
        .args = args, .arguments = NACRE_BUF(NACRE_CALL_ARGUMENT_BYTES_MAX),
        .user_input = NACRE_BUF(NACRE_USER_INPUT_BYTES_MAX),
    };
    struct nacre_error err;
    int status = 0;

    if (run_word(&verb, &status, &err) != NACRE_OK)
        return cli_fail(args, &err);
    return status;
}

const struct cli_verb cli_verb_tool = {
    .name = "tool",
    .summary = "list the tools that an agent can call, show one, call one",
    .operands = "list | show NAME | call NAME | approve NAME",
    .about =
        "A tool is a folder with tool.yaml and a module, in $NACRE_TOOL_DIR,\n"
        "~/.config/nacre/tools or installed with nacre; exec is built in. A tool with a\n"
        "module runs at level wasm, whatever level the shell has. Its text goes to\n"
        "stdout; what it or its arguments did wrong goes to stderr, with status 1, and\n"
        "what was denied with 126. --json prints the whole answer, as MCP spells it;\n"
        "--trace shows what a module asked of the host, and never what a file holds.\n"
        "approve gives a token for one such call, in advance: --approval takes it.",
    .example = "  nacre tool list\n"
               "  nacre tool call read --policy workspace --workspace . --json-args "
               "'{\"path\": \"a.txt\"}'\n"
               "  nacre tool call exec --config openclaw.json --session main --json-args "
               "@args.json",
    .options = options,
    .option_count = OPT_COUNT,
    .words = words,
    .word_count = NACRE_COUNT(words),
    .operands_min = 1,
    .operands_max = 2,
    .run = run,
};
