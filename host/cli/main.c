/*
 * The program: finds the verb, reads its command line, and leaves with its status.
 * Everything else is libnacre's.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "job.h"
#include "nacre/own.h"
#include "nacre/text.h"
#include "nacre/zygote.h"
#include "report.h"
#include "verbs.h"

static const struct cli_verb *const verbs[] = {
    &cli_verb_run,     &cli_verb_exec,     &cli_verb_check, &cli_verb_explain,
    &cli_verb_inspect, &cli_verb_backends, &cli_verb_cache, &cli_verb_audit,
    &cli_verb_ps,      &cli_verb_stop,     &cli_verb_rm,    &cli_verb_recreate,
    &cli_verb_prune,   &cli_verb_image,    &cli_verb_keeper,
    &cli_verb_browser,
    &cli_verb_leak_scan,
    &cli_verb_input_scan, &cli_verb_intent,
    &cli_verb_secret, &cli_verb_new, &cli_verb_build, &cli_verb_test, &cli_verb_watch,
    &cli_verb_trace,
    &cli_verb_approvals, &cli_verb_approve, &cli_verb_deny,
    &cli_verb_parse, &cli_verb_convert,
    &cli_verb_tool, &cli_verb_session,
    &cli_verb_version, &cli_verb_completion,
};

const struct cli_verb *const *cli_verbs(size_t *ret_count)
{
    *ret_count = NACRE_COUNT(verbs);
    return verbs;
}

/* Whoever runs nacre as a service has no home that can be written, and does not know
 * what nacre wants there. */
static void hint_at_places(struct nacre_error *err)
{
    static const char hint[] = "; set HOME, or XDG_STATE_HOME, XDG_CACHE_HOME and "
                               "XDG_CONFIG_HOME, to where nacre may write";
    size_t used = strlen(err->text);

    if (err->status == NACRE_ERR_IO && strstr(err->text, "cannot make the directory") &&
        used + sizeof(hint) <= sizeof(err->text))
        memcpy(err->text + used, hint, sizeof(hint));
}

enum nacre_status cli_engine_open(struct nacre_engine_options options,
                                  struct cli_term *term, struct nacre_engine **ret_engine,
                                  struct nacre_error *err)
{
    options.fork_self = true;
    options.program = "/proc/self/exe";
    options.on_progress = cli_term_progress;
    options.on_notice = cli_term_notice;
    options.callback_data = term;
    if (nacre_engine_open(&options, ret_engine, err) == NACRE_OK)
        return NACRE_OK;
    hint_at_places(err);
    return err->status;
}

static const struct cli_verb *find_verb(const char *name)
{
    for (size_t i = 0; i < NACRE_COUNT(verbs); i++)
        if (strcmp(verbs[i]->name, name) == 0)
            return verbs[i];
    return NULL;
}

static void print_verbs(FILE *out)
{
    (void)fputs(
        "nacre runs a tool inside a policy: every line of it is enforced or the "
        "run is refused.\n\nusage: nacre VERB [OPTION]... [OPERAND]...\n\nverbs:\n",
        out);
    for (size_t i = 0; i < NACRE_COUNT(verbs); i++)
        (void)fprintf(out, "  %-12s%s\n", verbs[i]->name, verbs[i]->summary);
    (void)fputs(
        "\nnacre VERB --help says more, with an example.\n"
        "\nexample:\n"
        "  nacre run --policy workspace --workspace . tool.wasm\n"
        "  nacre exec --policy shell --workspace . 'grep -rn TODO src | wc -l'\n"
        "\nexit status:\n"
        "  the guest's own, or 124 timed out, 125 nacre failed, 126 denied by the\n"
        "  policy or not runnable, 127 not found, 128+n killed by signal n,\n"
        "  134 trapped, 137 out of memory, 152 out of fuel, 153 too much output\n",
        out);
}

static int fail_verb(const char *word)
{
    const char *names[NACRE_COUNT(verbs)];
    char shown[NACRE_SHOWN];
    const char *nearest;

    for (size_t i = 0; i < NACRE_COUNT(verbs); i++)
        names[i] = verbs[i]->name;
    (void)nacre_text_shown(shown, word);
    nearest = nacre_text_nearest(word, names, NACRE_COUNT(verbs));
    if (nearest)
        cli_say("unknown verb '%s'; did you mean '%s'? see nacre --help", shown, nearest);
    else
        cli_say("unknown verb '%s'; see nacre --help", shown);
    return nacre_status_exit(NACRE_ERR_USAGE);
}

static int run_verb(const struct cli_verb *verb, int argc, char **argv)
{
    NACRE_AUTO(cli_args_clear) struct cli_args args;
    struct nacre_error err;

    if (cli_args_parse(verb, argc, (const char *const *)argv, &args, &err) != NACRE_OK)
        return cli_fail(&args, &err);
    if (args.help) {
        cli_args_help(verb, stdout);
        return 0;
    }
    return verb->run(&args);
}

static int run_help(int argc, char **argv)
{
    bool verbs_only = argc == 0 || strcmp(argv[0], "--help") == 0 ||
                      strcmp(argv[0], "-h") == 0 || strcmp(argv[0], "help") == 0;
    const struct cli_verb *verb = verbs_only ? NULL : find_verb(argv[0]);

    if (!verbs_only && !verb)
        return fail_verb(argv[0]);
    if (verb)
        cli_args_help(verb, stdout);
    else
        print_verbs(stdout);
    return 0;
}

static int dispatch(int argc, char **argv)
{
    const struct cli_verb *verb;

    if (argc < 2) {
        print_verbs(stderr);
        return nacre_status_exit(NACRE_ERR_USAGE);
    }
    if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0 ||
        strcmp(argv[1], "-h") == 0)
        return run_help(argc - 2, argv + 2);
    verb = strcmp(argv[1], "--version") == 0 ? &cli_verb_version : find_verb(argv[1]);
    return verb ? run_verb(verb, argc - 2, argv + 2) : fail_verb(argv[1]);
}

/* A file opened as fd 1 would receive the output that belongs to nobody. */
static bool fill_standard_fds(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd)
            return false;
    return true;
}

/* Secrets go through this process.  Their pages are in no dump, but a register may still
 * hold what was copied last. */
static bool leave_no_core(void)
{
    return setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 }) == 0;
}

/* What was printed must have arrived; a reader that left early is not an error. */
static int flush_stdout(int status)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    if (errno == EPIPE)
        return 128 + SIGPIPE;
    cli_say("writing to stdout: %s", errno ? strerror(errno) : "the output is not whole");
    return nacre_status_exit(NACRE_ERR_IO);
}

/* A command takes its memory once and gives it back at its end: that in one piece, buffers
 * of some hundred KiB among it, spares the kernel a dozen calls and their page tables. */
static void take_memory_at_once(void)
{
#ifdef M_TOP_PAD
    (void)mallopt(M_TOP_PAD, 512 << 10);
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 20);
    (void)mallopt(M_TRIM_THRESHOLD, 4 << 20);
#endif
}

int main(int argc, char **argv)
{
    struct nacre_error err;

    if (!fill_standard_fds())
        return nacre_status_exit(NACRE_ERR_IO);
    if (!leave_no_core()) {
        cli_say("core dumps, which could hold secrets, can't be switched off: %s",
                strerror(errno));
        return nacre_status_exit(NACRE_ERR_IO);
    }
    if (argc > 1 && strcmp(argv[1], "__zygote") == 0)
        return nacre_zygote_main(argc - 1, argv + 1);
    take_memory_at_once();
    (void)signal(SIGPIPE, SIG_IGN);
    if (argc > 1 && strcmp(argv[1], "__job") == 0 &&
        cli_job_become(&argc, &argv, &err) != NACRE_OK) {
        cli_say("%s", err.text);
        return nacre_status_exit(err.status);
    }
    return flush_stdout(dispatch(argc, argv));
}
