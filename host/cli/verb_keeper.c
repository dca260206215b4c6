#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "boxes.h"
#include "nacre/own.h"
#include "nacre/text.h"
#include "report.h"
#include "verbs.h"

enum { OPT_IDLE, OPT_REAP, OPT_QUIT, OPT_STATE, OPT_HOST, OPT_READY, OPT_COUNT };

static const struct cli_option options[OPT_COUNT] = {
    [OPT_IDLE] = { "--idle-ms", .kind = CLI_NUMBER, .value = "N", .min = 1,
                   .max = 604800000,
                   .help = "leave when nothing was warm for so long (60000)" },
    [OPT_REAP] = { "--token-reap-ms", .kind = CLI_NUMBER, .value = "N", .min = 1,
                   .max = 604800000,
                   .help = "purge expired tokens so often (300000)" },
    [OPT_QUIT] = { "--quit", .kind = CLI_FLAG,
                   .help = "end the one that runs, and all that it keeps" },
    [OPT_STATE] = { "--state-dir", .kind = CLI_TEXT, .value = "DIR",
                    .offer = CLI_OFFER_DIRECTORIES,
                    .help = "where it listens (default: the state directory)" },
    [OPT_HOST] = { "--host-file", .kind = CLI_TEXT, .value = "FILE",
                   .offer = CLI_OFFER_FILES,
                   .help = "the configuration (default: host.yaml in its directory)" },
    [OPT_READY] = { "--ready-fd", .kind = CLI_NUMBER, .value = "N", .min = 3,
                    .max = 1023,
                    .help = "go to the background; a byte here says: ready" },
};

static _Atomic int leaving;

/* Once each: a second one ends it at once, and init ends what it kept. */
static void on_signal(int signal)
{
    atomic_store(&leaving, signal);
}

static void catch_signals(void)
{
    static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < NACRE_COUNT(signals); i++)
        (void)sigaction(signals[i], &action, NULL);
}

/* Several for each client and each sandbox. */
static void allow_many_fds(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* Whoever started it must not stay its parent, who would have to wait for it. */
static enum nacre_status go_to_background(int ready_fd, struct nacre_error *err)
{
    pid_t pid = fork();

    if (pid < 0)
        return nacre_fail(err, NACRE_ERR_IO, "fork");
    if (pid > 0)
        _exit(0);
    (void)fcntl(ready_fd, F_SETFD, FD_CLOEXEC);
    return NACRE_OK;
}

/* For a keeper that is started on demand: nobody gives it options. */
static uint64_t reap_ms(void)
{
    const char *text = getenv("NACRE_TOKEN_REAP_MS");
    uint64_t number;

    return text && nacre_text_u64(text, 604800000, &number) ? number : 0;
}

static enum nacre_status serve(const struct cli_args *args, struct nacre_error *err)
{
    const struct cli_value *values = args->values;
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    const struct nacre_engine_options own = {
        .fork_self = true, .commands_only = true, .audit_off = true, .own_boxes = true,
        .state_dir = values[OPT_STATE].text,
        .host_file = values[OPT_HOST].text,
    };
    const struct nacre_engine_keep_options keep = {
        .idle_ms = values[OPT_IDLE].number,
        .reap_ms = values[OPT_REAP].given ? values[OPT_REAP].number : reap_ms(),
        .ready_fd = values[OPT_READY].given ? (int)values[OPT_READY].number : -1,
        .leaving = &leaving,
    };
    enum nacre_status status = NACRE_OK;

    if (keep.ready_fd >= 0)
        status = go_to_background(keep.ready_fd, err);
    if (status == NACRE_OK)
        status = nacre_engine_open(&own, &engine, err);
    if (status != NACRE_OK)
        return status;
    catch_signals();
    allow_many_fds();
    status = nacre_engine_keep(engine, &keep, err);
    /* Two were started at the same time, and this is the one too many. */
    if (status == NACRE_ERR_USAGE && keep.ready_fd >= 0)
        return NACRE_OK;
    return status;
}

static enum nacre_status quit(const struct cli_args *args, struct nacre_error *err)
{
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    const struct cli_value *state_dir = &args->values[OPT_STATE];
    enum nacre_status status = cli_boxes_engine(&engine, err);

    if (status == NACRE_OK)
        status = nacre_keeper_quit(state_dir->given ? state_dir->text
                                                    : nacre_engine_state_dir(engine),
                                   err);
    return status;
}

static int run(const struct cli_args *args)
{
    bool quits = args->values[OPT_QUIT].given;
    struct nacre_error err;
    enum nacre_status status = quits ? quit(args, &err) : serve(args, &err);
    bool ran = status == NACRE_OK;

    if (!ran && !(quits && status == NACRE_ERR_NOT_FOUND))
        return cli_fail(args, &err);
    if (args->json)
        return cli_json_print(json_pack("{s:b}", "ran", (int)ran))
                   ? 0
                   : nacre_status_exit(NACRE_ERR_MEMORY);
    if (quits)
        (void)puts(ran ? "the keeper has left" : "no keeper runs");
    return 0;
}

const struct cli_verb cli_verb_keeper = {
    .name = "keeper",
    .summary = "own the sandboxes that stay warm; started when one is needed",
    .operands = "",
    .about = "One for each user. Runs that share a sandbox (--session, --scope) reach\n"
             "it through a socket in the state directory. It leaves by itself when\n"
             "nothing is warm, and on SIGTERM, with all that it keeps. Errors of one\n"
             "that was started on demand are in keeper.log in the state directory.",
    .example = "  nacre keeper --quit",
    .options = options,
    .option_count = OPT_COUNT,
    .run = run,
};
