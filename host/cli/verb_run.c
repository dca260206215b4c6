#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "nacre/own.h"
#include "nacre/text.h"
#include "pump.h"
#include "report.h"
#include "request.h"
#include "run_report.h"
#include "verbs.h"

enum {
    OPT_POLICY, OPT_WORKSPACE, OPT_MOUNT, OPT_ENV, OPT_STDIN, OPT_FUEL, OPT_TIMEOUT,
    OPT_INVOKE, OPT_SESSION, OPT_AGENT, OPT_CALLER, OPT_AUDIT, OPT_LANDLOCK, OPT_COUNT
};

static const struct cli_option options[OPT_COUNT] = {
    [OPT_POLICY] = CLI_OPTION_POLICY,
    [OPT_WORKSPACE] = CLI_OPTION_WORKSPACE,
    [OPT_MOUNT] = CLI_OPTION_MOUNT,
    [OPT_ENV] = { "--env", .kind = CLI_LIST, .value = "NAME=VALUE",
                  .help = "a variable for the guest, which has no others" },
    [OPT_STDIN] = { "--stdin", .kind = CLI_TEXT, .value = "FILE",
                    .offer = CLI_OFFER_FILES,
                    .help = "the guest's input (default: this command's own)" },
    [OPT_FUEL] = { "--fuel", .kind = CLI_NUMBER, .value = "N", .min = 1, .max = INT64_MAX,
                   .help = "an exact budget of instructions, the same on every machine" },
    [OPT_TIMEOUT] = { "--timeout-ms", .kind = CLI_NUMBER, .value = "N", .min = 1,
                      .max = 604800000,
                      .help = "wall time, compilation included; within the policy's" },
    [OPT_INVOKE] = { "--invoke", .kind = CLI_TEXT, .value = "EXPORT",
                     .help = "call this export with ARG... and print what it returns" },
    [OPT_SESSION] = { "--session", .kind = CLI_TEXT, .value = "KEY",
                      .help = "keeps this run apart from other sessions'; recorded" },
    [OPT_AGENT] = { "--agent", .kind = CLI_TEXT, .value = "NAME",
                    .help = "on whose behalf, for the audit record" },
    [OPT_CALLER] = { "--caller", .kind = CLI_TEXT, .value = "NAME",
                     .help = "who asked, for the audit record" },
    [OPT_AUDIT] = { "--audit", .kind = CLI_TEXT, .value = "FILE",
                    .offer = CLI_OFFER_FILES,
                    .help = "where the record goes (default: the state directory)" },
    [OPT_LANDLOCK] = { "--require-landlock", .kind = CLI_NUMBER, .value = "N", .min = 1,
                       .max = 99, .help = "refuse to run below this Landlock ABI" },
};

/* Everything a run holds, so that one guard releases it in the right order. */
struct run {
    struct cli_request request;
    struct cli_term term;
    struct cli_pump pump;
    struct nacre_engine *engine;
    struct nacre_policy *policy;
    struct nacre_tool *tool;
    struct nacre_result *result;
    int input_fd; /* owned; -1 unless --stdin */
};

static void run_clear(struct run *run)
{
    cli_term_clear(&run->term);
    nacre_result_free(run->result);
    nacre_tool_free(run->tool);
    nacre_policy_free(run->policy);
    nacre_engine_free(run->engine);
    cli_pump_clear(&run->pump);
    cli_request_clear(&run->request);
    nacre_fd_guard(&run->input_fd);
}

/* The one engine that a signal can reach.  Set before the handler is. */
static struct nacre_engine *cancel_engine;

static void on_signal(int signal)
{
    int kept = errno;

    nacre_cancel(cancel_engine, signal);
    errno = kept;
}

/* Once each: a second ^C ends nacre itself, and its workers with it.  A signal that
 * is ignored from birth, as under nohup, stays ignored. */
static void catch_signal(int signal)
{
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
    struct sigaction before;

    (void)sigemptyset(&action.sa_mask);
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

static enum nacre_status make_request(const struct cli_args *args, struct run *run,
                                      struct nacre_error *err)
{
    const struct cli_value *values = args->values;
    struct nacre_request *request = &run->request.request;
    enum nacre_status status =
        cli_request_make(&run->request, &values[OPT_WORKSPACE], &values[OPT_MOUNT],
                         &values[OPT_ENV], err);
    char shown[NACRE_SHOWN];

    if (status != NACRE_OK)
        return status;
    if (values[OPT_STDIN].given) {
        run->input_fd = open(values[OPT_STDIN].text, O_RDONLY | O_CLOEXEC);
        (void)nacre_text_shown(shown, values[OPT_STDIN].text);
        if (run->input_fd < 0 && errno == ENOENT)
            return nacre_fail(err, NACRE_ERR_NOT_FOUND, "--stdin: there is no file '%s'",
                              shown);
        if (run->input_fd < 0)
            return nacre_fail(err, NACRE_ERR_IO, "--stdin: opening '%s'", shown);
    }
    request->arguments = args->operands + 1;
    request->input_fd = run->input_fd >= 0 ? run->input_fd : STDIN_FILENO;
    request->fuel = values[OPT_FUEL].number;
    request->timeout_ms = values[OPT_TIMEOUT].number;
    request->invoke = values[OPT_INVOKE].text;
    request->session = values[OPT_SESSION].text;
    request->agent = values[OPT_AGENT].text;
    request->caller = values[OPT_CALLER].text;
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

static enum nacre_status run_it(const struct cli_args *args, struct run *run,
                                struct nacre_error *err)
{
    struct nacre_engine_options engine = {
        .audit_path = args->values[OPT_AUDIT].text,
        .landlock_min = (uint32_t)args->values[OPT_LANDLOCK].number,
        .single_run = true,
    };
    enum nacre_status status = make_request(args, run, err);

    if (status == NACRE_OK)
        status = cli_engine_open(engine, &run->term, &run->engine, err);
    if (status == NACRE_OK)
        status = nacre_engine_policy(run->engine, args->values[OPT_POLICY].text,
                                     &run->policy, err);
    if (status == NACRE_OK)
        status = nacre_tool_load(args->operands[0], &run->tool, err);
    if (status != NACRE_OK)
        return status;
    cancel_engine = run->engine;
    catch_signal(SIGINT);
    catch_signal(SIGTERM);
    catch_signal(SIGHUP);
    status = nacre_run(run->engine, run->policy, run->tool, &run->request.request,
                       &run->result, err);
    release_signal(SIGINT);
    release_signal(SIGTERM);
    release_signal(SIGHUP);
    cli_term_clear(&run->term);
    return status;
}

static int finish(const struct cli_args *args, struct run *run)
{
    struct cli_ran ran = { run->policy, run->tool, &run->request.request, run->result,
                           run->engine };
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

static int run(const struct cli_args *args)
{
    NACRE_AUTO(run_clear) struct run run = { .input_fd = -1 };
    struct nacre_error err;

    cli_pump_init(&run.pump);
    if (run_it(args, &run, &err) != NACRE_OK)
        return cli_fail(args, &err);
    return finish(args, &run);
}

const struct cli_verb cli_verb_run = {
    .name = "run",
    .summary = "run a tool inside a policy",
    .operands = "MODULE [ARG...]",
    .about =
        "Options end at MODULE; what follows belongs to the guest. MODULE is a WASI\n"
        "command or, with --invoke, any module; .wasm or .wat. Without --policy\n"
        "nothing is granted but arguments, input and output.\n"
        "\n"
        "Exit status: the guest's own, or 124 timed out, 125 nacre failed, 126 denied\n"
        "or not runnable, 127 not found, 128+n killed.",
    .example = "  nacre run --policy workspace --workspace . tool.wasm --read "
               "/workspace/note.txt\n"
               "  nacre run --json --fuel 1000000 --invoke add calc.wat 2 3",
    .options = options,
    .option_count = OPT_COUNT,
    .operand_offer = CLI_OFFER_FILES,
    .operands_min = 1,
    .operands_max = SIZE_MAX,
    .ends_at_operand = true,
    .run = run,
};
