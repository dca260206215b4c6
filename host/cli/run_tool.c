/* What `run` and `exec` have in common: all but the meaning of their operands. */
#include "run_tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nacre/intent.h"
#include "nacre/own.h"
#include "nacre/secrets.h"
#include "nacre/text.h"
#include "pump.h"
#include "report.h"
#include "request.h"
#include "run_report.h"
#include "session.h"
#include "verbs.h"

const struct cli_option cli_run_options[RUN_OPT_COUNT] = {
    [RUN_OPT_POLICY] = CLI_OPTION_POLICY,
    [RUN_OPT_WORKSPACE] = CLI_OPTION_WORKSPACE,
    [RUN_OPT_MOUNT] = CLI_OPTION_MOUNT,
    [RUN_OPT_ENV] = { "--env", .kind = CLI_LIST, .value = "NAME=VALUE",
                      .help = "a variable for the guest; nacre's own are not passed on" },
    [RUN_OPT_STDIN] = { "--stdin", .kind = CLI_TEXT, .value = "FILE",
                        .offer = CLI_OFFER_FILES,
                        .help = "the guest's input (default: this command's own)" },
    [RUN_OPT_DIRECTORY] = { "--directory", .kind = CLI_TEXT, .value = "DIR",
                            .help = "where a command starts (default: /workspace)" },
    [RUN_OPT_IMAGE] = CLI_OPTION_IMAGE,
    [RUN_OPT_TIMEOUT] = { "--timeout-ms", .kind = CLI_NUMBER, .value = "N", .min = 1,
                          .max = 604800000,
                          .help = "wall time, with compilation; at most the policy's" },
    [RUN_OPT_SESSION] = { "--session", .kind = CLI_TEXT, .value = "KEY",
                          .help = "keeps this run apart from other sessions'; recorded" },
    [RUN_OPT_AGENT] = { "--agent", .kind = CLI_TEXT, .value = "NAME",
                        .help = "on whose behalf, for the audit record" },
    [RUN_OPT_CALLER] = { "--caller", .kind = CLI_TEXT, .value = "NAME",
                         .help = "who asked, for the audit record" },
    [RUN_OPT_SCOPE] = CLI_OPTION_SCOPE,
    [RUN_OPT_UNSANDBOXED] = CLI_OPTION_UNSANDBOXED,
    [RUN_OPT_WAIVE] = CLI_OPTION_WAIVE,
    [RUN_OPT_EMULATION] = CLI_OPTION_EMULATION,
    [RUN_OPT_INTERCEPT] = CLI_OPTION_INTERCEPT,
    [RUN_OPT_AUDIT] = { "--audit", .kind = CLI_TEXT, .value = "FILE",
                        .offer = CLI_OFFER_FILES,
                        .help = "where the record goes (default: the state directory)" },
    [RUN_OPT_LANDLOCK] = { "--require-landlock", .kind = CLI_NUMBER, .value = "N",
                           .min = 1, .max = 99,
                           .help = "refuse to run below this Landlock ABI" },
    [RUN_OPT_INTENT] = { "--intent", .kind = CLI_TEXT, .value = "TOKEN",
                         .help = "what nacre intent issued for exactly this call" },
    [RUN_OPT_USER_INPUT] = { "--user-input", .kind = CLI_TEXT, .value = "FILE",
                             .offer = CLI_OFFER_FILES,
                             .help = "what the person said, as the intent has it" },
    [RUN_OPT_SECRET] = CLI_OPTION_SECRET,
    [RUN_OPT_TOKEN] = CLI_OPTION_TOKEN,
    [RUN_OPT_TOKEN_MS] = { "--token-ttl-ms", .kind = CLI_NUMBER, .value = "N", .min = 1,
                           .max = NACRE_TOKEN_MS_MAX,
                           .help = "how long each token lives (default: as the run may)" },
    [RUN_OPT_SCAN_FILES] = { "--scan-files", .kind = CLI_FLAG,
                             .help = "replace secrets in files that the run leaves in "
                                     "writable mounts, and tell" },
    [RUN_OPT_CONFIG] = CLI_OPTION_CONFIG,
    [RUN_OPT_SENDER] = CLI_OPTION_SENDER,
    [RUN_OPT_ELEVATED] = { "--elevated", .kind = CLI_FLAG,
                           .help = "a command outside its sandbox, where every gate of "
                                   "tools.elevated is open" },
    [RUN_OPT_APPROVAL] = { "--approval", .kind = CLI_TEXT, .value = "TOKEN",
                           .help = "a person's word, given in advance" },
    [RUN_OPT_OUT_OF_TURN] = { "--out-of-turn", .kind = CLI_FLAG,
                              .help = "as the tool process: the session's other runs go "
                                      "on beside it" },
    [RUN_OPT_FUEL] = { "--fuel", .kind = CLI_NUMBER, .value = "N", .min = 1,
                       .max = INT64_MAX,
                       .help = "an exact budget of instructions, the same everywhere" },
    [RUN_OPT_INVOKE] = { "--invoke", .kind = CLI_TEXT, .value = "EXPORT",
                         .help = "call this export with ARG... and print what it "
                                 "returns" },
};

/* Everything a run holds, so that one guard releases it in the right order. */
struct run {
    struct cli_request request;
    struct cli_term term;
    struct cli_pump pump;
    struct nacre_engine *engine;
    struct cli_session session;
    struct nacre_policy *own_policy; /* NULL with a configuration */
    const struct nacre_policy *policy;
    struct nacre_tool *tool;
    struct nacre_result *result;
    struct nacre_approval approval; /* who gave their word; or NONE */
    int input_fd; /* owned; -1 unless --stdin */
    struct nacre_buf user_input;
};

static void run_clear(struct run *run)
{
    cli_term_clear(&run->term);
    nacre_result_free(run->result);
    nacre_tool_free(run->tool);
    nacre_policy_free(run->own_policy);
    cli_session_clear(&run->session);
    nacre_engine_free(run->engine);
    cli_pump_clear(&run->pump);
    cli_request_clear(&run->request);
    nacre_fd_guard(&run->input_fd);
    nacre_buf_clear(&run->user_input);
}

/* The one engine that a signal can reach.  Set before the handler is. */
static struct nacre_engine *cancel_engine;

/* The first asks the command to end, the second kills it; a third of the same kind ends
 * nacre itself, and its workers with it. */
static void on_signal(int number)
{
    static volatile sig_atomic_t is_asked;
    int kept = errno;

    nacre_cancel(cancel_engine, is_asked ? SIGKILL : number);
    if (is_asked)
        (void)signal(number, SIG_DFL);
    is_asked = 1;
    errno = kept;
}

/* A signal that is ignored from birth, as under nohup, stays ignored. */
static void catch_signal(int signal)
{
    struct sigaction action = { .sa_handler = on_signal }, before;

    (void)sigfillset(&action.sa_mask); /* else the first could come after the second */
    if (sigaction(signal, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        (void)sigaction(signal, &action, NULL);
}

static void release_signal(int signal)
{
    struct sigaction action = { .sa_handler = SIG_DFL }, before;

    if (sigaction(signal, NULL, &before) == 0 && before.sa_handler == on_signal)
        (void)sigaction(signal, &action, NULL);
}

/* Nobody reads any more: a native program would die of SIGPIPE, and so does this. */
static void on_output(void *data, int stream, const char *bytes, size_t count)
{
    struct run *run = data;

    cli_term_clear(&run->term);
    if (run->pump.broken)
        return;
    cli_pump_push(&run->pump, stream, bytes, count);
    if (run->pump.broken)
        nacre_cancel(run->engine, SIGPIPE);
}

static enum nacre_status open_input(const struct cli_value *file, struct run *run,
                                    struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    if (!file->given)
        return NACRE_OK;
    run->input_fd = open(file->text, O_RDONLY | O_CLOEXEC);
    (void)nacre_text_shown(shown, file->text);
    if (run->input_fd < 0 && errno == ENOENT)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND, "--stdin: there is no file '%s'",
                          shown);
    if (run->input_fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "--stdin: opening '%s'", shown);
    return NACRE_OK;
}

/* What a configuration says, nobody says beside it. */
static enum nacre_status check_config(const struct cli_args *args,
                                      const struct cli_operands *operands,
                                      struct nacre_error *err)
{
    static const int without[] = { RUN_OPT_POLICY,    RUN_OPT_WORKSPACE, RUN_OPT_MOUNT,
                                   RUN_OPT_IMAGE,     RUN_OPT_SCOPE,
                                   RUN_OPT_UNSANDBOXED };
    static const int within[] = { RUN_OPT_SENDER, RUN_OPT_ELEVATED, RUN_OPT_APPROVAL,
                                  RUN_OPT_OUT_OF_TURN };
    const struct cli_value *values = args->values;
    bool has_config = values[RUN_OPT_CONFIG].given;

    for (size_t i = 0; i < NACRE_COUNT(without) && has_config; i++)
        if (values[without[i]].given)
            return nacre_fail(err, NACRE_ERR_USAGE,
                              "%s has no place beside --config: the file decides",
                              cli_run_options[without[i]].name);
    for (size_t i = 0; i < NACRE_COUNT(within) && !has_config; i++)
        if (values[within[i]].given)
            return nacre_fail(err, NACRE_ERR_USAGE, "%s is for --config",
                              cli_run_options[within[i]].name);
    if (values[RUN_OPT_ELEVATED].given && operands->module)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "--elevated is for commands: a module always has a sandbox");
    if (values[RUN_OPT_ELEVATED].given && values[RUN_OPT_OUT_OF_TURN].given)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "--elevated is for exec alone: what --out-of-turn runs is the "
                          "tool process");
    return NACRE_OK;
}

static enum nacre_status make_request(const struct cli_args *args,
                                      const struct cli_operands *operands,
                                      struct run *run, struct nacre_error *err)
{
    const struct cli_value *values = args->values;
    struct nacre_request *request = &run->request.request;
    enum nacre_status status =
        cli_request_make(&run->request, &values[RUN_OPT_WORKSPACE],
                         &values[RUN_OPT_MOUNT], &values[RUN_OPT_ENV], err);

    if (status == NACRE_OK)
        status = cli_request_waive(&run->request, &values[RUN_OPT_WAIVE],
                                   &values[RUN_OPT_EMULATION], err);
    if (status == NACRE_OK)
        status = cli_request_scope(&run->request, &values[RUN_OPT_SCOPE], err);
    if (status == NACRE_OK)
        status = open_input(&values[RUN_OPT_STDIN], run, err);
    if (status == NACRE_OK)
        status = cli_request_user_input(&values[RUN_OPT_USER_INPUT], "--user-input",
                                        &run->user_input, &request->user_input, err);
    if (status != NACRE_OK)
        return status;
    cli_request_secrets(&run->request, &values[RUN_OPT_SECRET], &values[RUN_OPT_TOKEN],
                        &values[RUN_OPT_TOKEN_MS]);
    request->arguments = operands->arguments;
    request->trace_fd = operands->trace_fd;
    request->input_fd = run->input_fd >= 0 ? run->input_fd : STDIN_FILENO;
    request->fuel = values[RUN_OPT_FUEL].number;
    request->timeout_ms = values[RUN_OPT_TIMEOUT].number;
    request->invoke = values[RUN_OPT_INVOKE].text;
    request->directory = values[RUN_OPT_DIRECTORY].text;
    request->image = values[RUN_OPT_IMAGE].text;
    request->scan_files = values[RUN_OPT_SCAN_FILES].given;
    request->unsandboxed = values[RUN_OPT_UNSANDBOXED].given;
    request->approver = request->unsandboxed ? "--unsandboxed" : NULL;
    request->intercept = values[RUN_OPT_INTERCEPT].items;
    request->session = values[RUN_OPT_SESSION].text;
    request->agent = values[RUN_OPT_AGENT].text;
    request->caller = values[RUN_OPT_CALLER].text;
    request->intent = values[RUN_OPT_INTENT].text;
    if (!args->json) {
        const int streams[] = { request->input_fd, STDOUT_FILENO, STDERR_FILENO };

        for (size_t i = 0; i < NACRE_COUNT(streams); i++)
            request->terminals |= isatty(streams[i]) ? UINT32_C(1) << i : 0;
        request->on_output = on_output;
        request->on_output_data = run;
        request->stream_only = true;
    }
    return NACRE_OK;
}

/* A policy of a native level, and a word that is no module: most likely a command. */
static enum nacre_status load_module(const char *path, const char *reference,
                                     const struct nacre_policy *policy,
                                     struct nacre_tool **ret_tool,
                                     struct nacre_error *err)
{
    enum nacre_status status = nacre_tool_load(path, ret_tool, err);
    char shown[NACRE_SHOWN], given[NACRE_SHOWN];

    if (status == NACRE_OK || policy->level == NACRE_LEVEL_WASM || !reference)
        return status;
    return nacre_fail(err, NACRE_ERR_USAGE,
                      "policy %s is of level %s, which runs commands: write nacre run "
                      "--policy %s -- %s", policy->name, nacre_level_name(policy->level),
                      nacre_text_shown(given, reference), nacre_text_shown(shown, path));
}

static enum nacre_status make_tool(const struct cli_operands *operands,
                                   const char *reference, struct run *run,
                                   struct nacre_error *err)
{
    if (operands->shell)
        return nacre_tool_shell(operands->shell, &run->tool, err);
    if (operands->command)
        return nacre_tool_command(operands->command, &run->tool, err);
    return load_module(operands->module, reference, run->policy, &run->tool, err);
}

/* Says which module it was, and how to find what it has. */
static enum nacre_status fail_invoke(const struct nacre_tool *tool, const char *path,
                                     struct nacre_error *err)
{
    char name[NACRE_SHOWN], given[NACRE_SHOWN];
    struct nacre_error why = *err;

    return nacre_fail(err, why.status, "%s: %.256s; nacre inspect %s lists its exports",
                      nacre_text_shown(name, tool->name), why.text,
                      nacre_text_shown(given, path));
}

#define TOOL_NAME_MAX 128

/* "read" for dir/read.wasm. */
static void tool_name(const struct cli_operands *operands, bool background,
                      char ret_name[TOOL_NAME_MAX])
{
    const char *slash = operands->module ? strrchr(operands->module, '/') : NULL;
    const char *name = slash ? slash + 1 : operands->module;
    const char *dot = name ? strrchr(name, '.') : NULL;

    if (!name)
        (void)snprintf(ret_name, TOOL_NAME_MAX, background ? "process" : "exec");
    else
        (void)snprintf(ret_name, TOOL_NAME_MAX, "%.*s",
                       dot && dot != name ? (int)(dot - name) : (int)strlen(name), name);
}

static enum nacre_status settle(const struct cli_args *args,
                                const struct cli_operands *operands, struct run *run,
                                struct nacre_error *err)
{
    const struct cli_value *values = args->values;
    bool elevated = values[RUN_OPT_ELEVATED].given;
    char name[TOOL_NAME_MAX];
    enum nacre_status status =
        cli_session_settle(&run->session, values[RUN_OPT_CONFIG].text,
                           &values[RUN_OPT_SESSION], &values[RUN_OPT_AGENT],
                           &values[RUN_OPT_SENDER], err);

    if (status != NACRE_OK)
        return status;
    run->policy = cli_session_policy(&run->session, operands->module != NULL, elevated);
    run->request.request.session = run->session.session->key;
    run->request.request.agent = run->session.session->agent;
    tool_name(operands, values[RUN_OPT_OUT_OF_TURN].given, name);
    status = cli_session_allow(&run->session, name, err);
    if (status == NACRE_OK && !operands->module) /* in the background it is still one */
        status = cli_session_allow(&run->session, "exec", err);
    if (status == NACRE_OK && elevated)
        status = cli_session_elevate(&run->session, err);
    return status;
}

static enum nacre_status get_policy(const struct cli_args *args,
                                    const struct cli_operands *operands, struct run *run,
                                    struct nacre_error *err)
{
    enum nacre_status status;

    if (args->values[RUN_OPT_CONFIG].given)
        return settle(args, operands, run, err);
    status = nacre_engine_policy(run->engine, args->values[RUN_OPT_POLICY].text,
                                 &run->own_policy, err);
    run->policy = run->own_policy;
    return status;
}

/* Asked before the session's turn is taken: a person may need their time. */
static enum nacre_status enter(const struct cli_args *args,
                               const struct cli_operands *operands, struct run *run,
                               struct nacre_error *err)
{
    bool out_of_turn = args->values[RUN_OPT_OUT_OF_TURN].given;
    struct nacre_request *request = &run->request.request;
    char name[TOOL_NAME_MAX];
    enum nacre_status status;

    tool_name(operands, out_of_turn, name);
    status = cli_session_approve(&run->session, run->engine, run->policy, run->tool, name,
                                 request, args->values[RUN_OPT_APPROVAL].text,
                                 &run->approval, err);
    if (status == NACRE_OK)
        status = nacre_session_enter(run->session.session, run->engine, run->policy,
                                     run->tool, out_of_turn, NULL, request,
                                     &run->session.hold, err);
    if (status == NACRE_OK && run->approval.verdict == NACRE_APPROVAL_APPROVED)
        request->approver = run->approval.approver;
    return status;
}

/* Up to the run itself; what can't be read leaves the records of a failed run. */
static enum nacre_status load_it(const struct cli_args *args,
                                 const struct cli_operands *operands, struct run *run,
                                 struct nacre_error *err)
{
    const char *reference = args->values[RUN_OPT_POLICY].text;
    const char *name = operands->module    ? operands->module
                       : operands->command ? operands->command[0]
                                           : "sh";
    enum nacre_status status = get_policy(args, operands, run, err);

    if (status == NACRE_OK)
        status = make_tool(operands, reference, run, err);
    if (status == NACRE_OK && run->session.session)
        status = enter(args, operands, run, err);
    if (status != NACRE_OK)
        return nacre_run_failed(run->engine, run->policy, name, &run->request.request,
                                err);
    return NACRE_OK;
}

/* Nothing that is asked for belongs to another native level. */
static bool may_be_process(const struct cli_args *args)
{
    static const size_t others[] = { RUN_OPT_CONFIG, RUN_OPT_SESSION, RUN_OPT_SCOPE,
                                     RUN_OPT_IMAGE, RUN_OPT_UNSANDBOXED };

    for (size_t i = 0; i < NACRE_COUNT(others); i++)
        if (args->values[others[i]].given)
            return false;
    return args->values[RUN_OPT_POLICY].given;
}

static enum nacre_status run_it(const struct cli_args *args,
                                const struct cli_operands *operands, struct run *run,
                                struct nacre_error *err)
{
    static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    struct nacre_engine_options engine = {
        .audit_path = args->values[RUN_OPT_AUDIT].text,
        .landlock_min = (uint32_t)args->values[RUN_OPT_LANDLOCK].number,
        .single_run = true,
        .commands_only = !operands->module,
        .process_early = !operands->module && may_be_process(args),
    };
    enum nacre_status status = check_config(args, operands, err);

    if (status == NACRE_OK)
        status = make_request(args, operands, run, err);
    if (status == NACRE_OK)
        status = cli_engine_open(engine, &run->term, &run->engine, err);
    if (status == NACRE_OK)
        status = load_it(args, operands, run, err);
    if (status != NACRE_OK)
        return status;
    cancel_engine = run->engine;
    for (size_t i = 0; i < NACRE_COUNT(caught); i++)
        catch_signal(caught[i]);
    status = nacre_run(run->engine, run->policy, run->tool, &run->request.request,
                       &run->result, err);
    nacre_session_hold_settle(run->session.hold, status, run->result);
    if (status == NACRE_ERR_NOT_RUNNABLE && run->request.request.invoke)
        status = fail_invoke(run->tool, operands->module, err);
    for (size_t i = 0; i < NACRE_COUNT(caught); i++)
        release_signal(caught[i]);
    cli_term_clear(&run->term);
    return status;
}

static int finish(const struct cli_args *args, struct run *run)
{
    struct cli_ran ran = { run->policy, run->tool, &run->request.request, run->result,
                           args->values[RUN_OPT_TIMEOUT].number };
    int status = nacre_result_exit(run->result);

    if (args->json)
        return cli_json_print(cli_run_json(&ran)) ? status
                                                  : nacre_status_exit(NACRE_ERR_MEMORY);
    cli_pump_drain(&run->pump);
    if (run->pump.broken == EPIPE)
        return 128 + SIGPIPE;
    if (run->pump.broken) {
        cli_say("the guest's output can't be written to %s: %s",
                run->pump.broken_fd == 1 ? "stdout" : "stderr",
                strerror(run->pump.broken));
        return nacre_status_exit(NACRE_ERR_IO);
    }
    cli_run_print_values(&ran);
    cli_run_explain(&ran);
    return status;
}

int cli_run_tool(const struct cli_args *args, const struct cli_operands *operands)
{
    NACRE_AUTO(run_clear) struct run run = {
        .input_fd = -1, .user_input = NACRE_BUF(NACRE_USER_INPUT_BYTES_MAX)
    };
    struct nacre_error err;

    cli_pump_init(&run.pump);
    if (run_it(args, operands, &run, &err) != NACRE_OK)
        return cli_fail(args, &err);
    return finish(args, &run);
}
