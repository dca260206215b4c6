/* The command line: options by table, mounts and variables, and slow readers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "args.h"
#include "fail_alloc.h"
#include "nacre/own.h"
#include "pump.h"
#include "request.h"

enum { OPT_POLICY, OPT_MOUNT, OPT_FUEL, OPT_FOLLOW, OPT_WORKSPACE, OPT_ENV, OPT_COUNT };

static const struct cli_option options[OPT_COUNT] = {
    [OPT_POLICY] = CLI_OPTION_POLICY,
    [OPT_MOUNT] = CLI_OPTION_MOUNT,
    [OPT_FUEL] = { "--fuel", 'n', CLI_NUMBER, .value = "N", .min = 1, .max = 1000,
                   .help = "a budget" },
    [OPT_FOLLOW] = { "--follow", .kind = CLI_FLAG, .help = "go on" },
    [OPT_WORKSPACE] = CLI_OPTION_WORKSPACE,
    [OPT_ENV] = { "--env", .kind = CLI_LIST, .value = "K=V", .help = "a variable" },
};

static const char *const words[] = { "show", "tail" };

/* Like `nacre run`: the first operand ends the options. */
static const struct cli_verb guest_verb = {
    .name = "launch", .summary = "launch it", .operands = "MODULE [ARG...]", .about = "",
    .example = "  nacre launch x", .options = options, .option_count = OPT_COUNT,
    .operands_min = 1, .operands_max = SIZE_MAX, .ends_at_operand = true,
};

/* Like `nacre audit`: options anywhere, and only certain words. */
static const struct cli_verb word_verb = {
    .name = "log",
    .summary = "read it",
    .operands = "show | tail",
    .about = "About.",
    .example = "  nacre log show",
    .options = options,
    .option_count = OPT_COUNT,
    .words = words,
    .word_count = NACRE_COUNT(words),
    .operands_min = 1,
    .operands_max = 1,
};

#define ARGV(...) ((const char *const[]){ __VA_ARGS__, NULL })

static enum nacre_status parse(const struct cli_verb *verb, const char *const argv[],
                               struct cli_args *args, struct nacre_error *err)
{
    int argc = 0;

    while (argv[argc])
        argc++;
    return cli_args_parse(verb, argc, argv, args, err);
}

static void options_end_at_the_guest(void **state)
{
    NACRE_AUTO(cli_args_clear) struct cli_args args;
    struct nacre_error err;

    (void)state;
    assert_int_equal(parse(&guest_verb,
                           ARGV("--policy", "p", "--follow", "--fuel=7", "tool.wasm",
                                "--policy", "--", "--nonsense", "-h"),
                           &args, &err),
                     NACRE_OK);
    assert_string_equal(args.values[OPT_POLICY].text, "p");
    assert_true(args.values[OPT_FOLLOW].given);
    assert_int_equal(args.values[OPT_FUEL].number, 7);
    assert_false(args.help);
    assert_int_equal(args.operand_count, 5);
    assert_string_equal(args.operands[0], "tool.wasm");
    assert_string_equal(args.operands[2], "--");
    assert_null(args.operands[5]);
}

static void a_double_dash_ends_options_too(void **state)
{
    NACRE_AUTO(cli_args_clear) struct cli_args args;
    struct nacre_error err;

    (void)state;
    assert_int_equal(
        parse(&guest_verb, ARGV("--json", "--", "--policy", "x"), &args, &err), NACRE_OK);
    assert_true(args.json);
    assert_false(args.values[OPT_POLICY].given);
    assert_string_equal(args.operands[0], "--policy");
}

static void options_may_follow_a_word(void **state)
{
    NACRE_AUTO(cli_args_clear) struct cli_args args;
    struct nacre_error err;

    (void)state;
    assert_int_equal(parse(&word_verb, ARGV("tail", "-n", "12", "--json"), &args, &err),
                     NACRE_OK);
    assert_int_equal(args.values[OPT_FUEL].number, 12);
    assert_true(args.json);
    assert_string_equal(args.operands[0], "tail");
}

static void lists_keep_their_order(void **state)
{
    NACRE_AUTO(cli_args_clear) struct cli_args args;
    struct nacre_error err;

    (void)state;
    assert_int_equal(parse(&guest_verb,
                           ARGV("--mount=a=b", "--mount", "c=d", "--mount", "--x", "m"),
                           &args, &err),
                     NACRE_OK);
    assert_int_equal(args.values[OPT_MOUNT].count, 3);
    assert_string_equal(args.values[OPT_MOUNT].items[0], "a=b");
    assert_string_equal(args.values[OPT_MOUNT].items[2], "--x");
    assert_null(args.values[OPT_MOUNT].items[3]);
}

static const struct {
    const struct cli_verb *verb;
    const char *argv[5];
    const char *text;
} refusals[] = {
    { &guest_verb,
      { "--polcy", "p", "m" },
      "unknown option '--polcy'; did you mean '--policy'? see nacre launch --help" },
    { &guest_verb,
      { "--jsno", "m" },
      "unknown option '--jsno'; did you mean '--json'? see nacre launch --help" },
    { &guest_verb,
      { "--folow=1", "m" },
      "unknown option '--folow'; did you mean '--follow'? see nacre launch --help" },
    { &guest_verb,
      { "--quite-different" },
      "unknown option '--quite-different'; see nacre launch --help" },
    { &guest_verb, { "-x", "m" }, "unknown option '-x'; see nacre launch --help" },
    { &guest_verb, { "-nn", "m" }, "unknown option '-nn'; see nacre launch --help" },
    { &guest_verb,
      { "--\033[31m" },
      "unknown option '--\\x1b[31m'; see nacre launch --help" },
    { &guest_verb, { "--policy" }, "--policy expects POLICY; see nacre launch --help" },
    { &guest_verb,
      { "--policy", "", "m" },
      "--policy expects POLICY, not an empty text" },
    { &guest_verb, { "--policy=a", "--policy=b", "m" }, "--policy is given twice" },
    { &guest_verb, { "--follow", "--follow", "m" }, "--follow is given twice" },
    { &guest_verb, { "--follow=yes", "m" }, "--follow takes no value" },
    { &guest_verb,
      { "--fuel", "0", "m" },
      "--fuel expects a whole number from 1 to 1000, not '0'" },
    { &guest_verb,
      { "--fuel", "-1", "m" },
      "--fuel expects a whole number from 1 to 1000, not '-1'" },
    { &guest_verb,
      { "--fuel", "1001", "m" },
      "--fuel expects a whole number from 1 to 1000, not '1001'" },
    { &guest_verb,
      { "--fuel", "99999999999999999999", "m" },
      "--fuel expects a whole number from 1 to 1000, not '99999999999999999999'" },
    { &guest_verb,
      { "--fuel", "1e3", "m" },
      "--fuel expects a whole number from 1 to 1000, not '1e3'" },
    { &guest_verb,
      { "--fuel", " 7", "m" },
      "--fuel expects a whole number from 1 to 1000, not ' 7'" },
    { &guest_verb,
      { "--follow" },
      "launch expects MODULE [ARG...]; see nacre launch --help" },
    { &word_verb, { "--json" }, "log expects show | tail; see nacre log --help" },
    { &word_verb, { "tial" }, "log does not know 'tial'; did you mean 'tail'?" },
    { &word_verb,
      { "everything" },
      "log does not know 'everything'; see nacre log --help" },
    { &word_verb,
      { "show", "more" },
      "log does not expect 'more'; see nacre log --help" },
};

static void each_mistake_has_its_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(refusals); i++) {
        NACRE_AUTO(cli_args_clear) struct cli_args args;
        struct nacre_error err;

        assert_int_equal(
            parse(refusals[i].verb, refusals[i].argv, &args, &err),
            NACRE_ERR_USAGE);
        assert_string_equal(err.text, refusals[i].text);
    }
}

static void help_is_given_whatever_else_is_missing(void **state)
{
    NACRE_AUTO(cli_args_clear) struct cli_args args;
    struct nacre_error err;

    (void)state;
    assert_int_equal(parse(&guest_verb, ARGV("--help"), &args, &err), NACRE_OK);
    assert_true(args.help);
}

static void help_names_every_option_and_the_example(void **state)
{
    NACRE_AUTO(nacre_heap_guard) char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    assert_non_null(out);
    cli_args_help(&word_verb, out);
    assert_int_equal(fclose(out), 0);
    for (size_t i = 0; i < OPT_COUNT; i++) {
        assert_non_null(strstr(text, options[i].name));
        assert_non_null(strstr(text, options[i].help));
    }
    assert_non_null(strstr(text, "--json"));
    assert_non_null(strstr(text, "-h, --help"));
    assert_non_null(strstr(text, word_verb.example));
    assert_non_null(strstr(text, "About."));
}

static void parsing_survives_every_allocation_failure(void **state)
{
    bool fired = true;

    (void)state;
    for (int n = 0; fired; n++) {
        NACRE_AUTO(cli_args_clear) struct cli_args args;
        struct nacre_error err;
        enum nacre_status status;

        assert_true(n < 100);
        fail_alloc_after(n);
        status =
            parse(&guest_verb, ARGV("--mount", "a=b", "--env", "K=V", "m"), &args, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
    }
}

/* ---- mounts and variables ---- */

static struct cli_value list(const char **items)
{
    struct cli_value value = { .items = items };

    while (items && items[value.count])
        value.count++;
    value.given = value.count > 0;
    return value;
}

static const struct {
    const char *text, *guest, *host;
    char mode;
} mounts[] = {
    { "/data=/no/such", "/data", "/no/such", 0 },
    { "/data=/no/such:ro", "/data", "/no/such", 'r' },
    { "/data=/no/such:rw", "/data", "/no/such", 'w' },
    { ".=/no/such", ".", "/no/such", 0 },
    { "/=/", "/", "/", 0 },
    { "/a=/no/x=y", "/a", "/no/x=y", 0 },
    { "/a=/no/x:y:rw", "/a", "/no/x:y", 'w' },
    { "/a=/no/x:ro:rw", "/a", "/no/x:ro", 'w' },
    { "/a=/no/x:rx", "/a", "/no/x:rx", 0 },
};

static void a_mount_is_split_at_the_first_equals(void **state)
{
    struct cli_value none = { 0 };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(mounts); i++) {
        const char *items[] = { mounts[i].text, NULL };
        struct cli_value given = list(items);
        NACRE_AUTO(cli_request_clear) struct cli_request request;
        struct nacre_error err;

        assert_int_equal(cli_request_make(&request, &none, &given, NULL, &err), NACRE_OK);
        assert_int_equal(request.request.mount_count, 1);
        assert_string_equal(request.request.mounts[0].guest, mounts[i].guest);
        assert_string_equal(request.request.mounts[0].host, mounts[i].host);
        assert_int_equal(request.request.mounts[0].mode, mounts[i].mode);
        assert_int_equal(request.request.input_fd, -1);
    }
}

static void host_directories_become_absolute(void **state)
{
    const char *items[] = { "/data=no-such-directory", NULL };
    struct cli_value workspace = { .given = true, .text = "." }, given = list(items);
    NACRE_AUTO(cli_request_clear) struct cli_request request;
    NACRE_AUTO(nacre_heap_guard) char *here = realpath(".", NULL);
    struct nacre_error err;
    char expected[4200];

    (void)state;
    assert_int_equal(cli_request_make(&request, &workspace, &given, NULL, &err),
                     NACRE_OK);
    assert_string_equal(request.request.workspace, here);
    (void)snprintf(expected, sizeof(expected), "%s/no-such-directory", here);
    assert_string_equal(request.request.mounts[0].host, expected);
}

static const struct {
    const char *mounts[3], *environment[3], *text;
} bad_requests[] = {
    { { "/data" }, { NULL },
      "--mount expects GUEST=HOST, GUEST=HOST:ro or GUEST=HOST:rw, not '/data'" },
    { { "=/data" }, { NULL },
      "--mount expects GUEST=HOST, GUEST=HOST:ro or GUEST=HOST:rw, not '=/data'" },
    { { "/data=" }, { NULL },
      "--mount expects GUEST=HOST, GUEST=HOST:ro or GUEST=HOST:rw, not '/data='" },
    { { "/a=/b", "/data=:rw" }, { NULL },
      "--mount expects GUEST=HOST, GUEST=HOST:ro or GUEST=HOST:rw, not '/data=:rw'" },
    { { NULL }, { "HOME" },
      "--env expects NAME=VALUE, not 'HOME'; nothing of nacre's own environment is "
      "passed on" },
    { { NULL }, { "=x" },
      "--env expects NAME=VALUE, not '=x'; nothing of nacre's own environment is passed "
      "on" },
    { { NULL }, { "A=1", "A=2" }, "--env A is given twice" },
};

static void what_is_no_mount_or_variable_is_refused(void **state)
{
    struct cli_value none = { 0 };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(bad_requests); i++) {
        struct cli_value given = list((const char **)bad_requests[i].mounts);
        struct cli_value environment = list((const char **)bad_requests[i].environment);
        NACRE_AUTO(cli_request_clear) struct cli_request request;
        struct nacre_error err;

        assert_int_equal(cli_request_make(&request, &none, &given, &environment, &err),
                         NACRE_ERR_USAGE);
        assert_string_equal(err.text, bad_requests[i].text);
        assert_null(request.request.mounts);
    }
}

static void variables_reach_the_request_in_order(void **state)
{
    const char *items[] = { "A=1", "AB=2", "B=", NULL };
    struct cli_value none = { 0 }, environment = list(items);
    NACRE_AUTO(cli_request_clear) struct cli_request request;
    struct nacre_error err;

    (void)state;
    assert_int_equal(cli_request_make(&request, &none, &none, &environment, &err),
                     NACRE_OK);
    assert_string_equal(request.request.environment[1], "AB=2");
    assert_string_equal(request.request.environment[2], "B=");
    assert_null(request.request.environment[3]);
}

/* ---- output ---- */

/* Put a pipe where stdout was; what was there comes back with stdout_restore(). */
static int stdout_kept;

static int stdout_to_pipe(void)
{
    int ends[2];

    assert_int_equal(fflush(stdout), 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    stdout_kept = dup(1);
    assert_int_equal(dup2(ends[1], 1), 1);
    assert_int_equal(close(ends[1]), 0);
    return ends[0];
}

static void stdout_restore(void)
{
    (void)dup2(stdout_kept, 1);
    (void)close(stdout_kept);
}

#define FLOOD_BYTES (1 << 20)

/* The pipe holds 64 KiB and nobody reads: a blocking write would hang here. */
static void a_reader_that_sleeps_does_not_hold_up_the_writer(void **state)
{
    NACRE_AUTO(nacre_heap_guard) char *flood = malloc(FLOOD_BYTES);
    struct cli_pump pump;
    int end = stdout_to_pipe();
    int broken, status = -1;
    pid_t reader;

    (void)state;
    memset(flood, 'x', FLOOD_BYTES);
    cli_pump_init(&pump);
    cli_pump_push(&pump, 1, flood, FLOOD_BYTES / 2);
    cli_pump_push(&pump, 1, flood, FLOOD_BYTES / 2);
    reader = fork();
    if (reader == 0) {
        char part[4096];
        size_t total = 0;
        ssize_t got;

        while (total < FLOOD_BYTES && (got = read(end, part, sizeof(part))) > 0)
            total += (size_t)got;
        _exit(total == FLOOD_BYTES ? 0 : 1);
    }
    cli_pump_drain(&pump);
    broken = pump.broken;
    stdout_restore();
    (void)close(end);
    (void)waitpid(reader, &status, 0);
    cli_pump_clear(&pump);
    assert_int_equal(broken, 0);
    assert_int_equal(status, 0);
}

static void a_reader_that_left_is_told_by_its_errno(void **state)
{
    struct cli_pump pump;
    int end = stdout_to_pipe();
    int broken;

    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    cli_pump_init(&pump);
    (void)close(end);
    cli_pump_push(&pump, 1, "x", 1);
    cli_pump_push(&pump, 1, "y", 1);
    cli_pump_drain(&pump);
    broken = pump.broken;
    stdout_restore();
    cli_pump_clear(&pump);
    assert_int_equal(broken, EPIPE);
    assert_int_equal(pump.broken_fd, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_end_at_the_guest),
        cmocka_unit_test(a_double_dash_ends_options_too),
        cmocka_unit_test(options_may_follow_a_word),
        cmocka_unit_test(lists_keep_their_order),
        cmocka_unit_test(each_mistake_has_its_sentence),
        cmocka_unit_test(help_is_given_whatever_else_is_missing),
        cmocka_unit_test(help_names_every_option_and_the_example),
        cmocka_unit_test(parsing_survives_every_allocation_failure),
        cmocka_unit_test(a_mount_is_split_at_the_first_equals),
        cmocka_unit_test(host_directories_become_absolute),
        cmocka_unit_test(what_is_no_mount_or_variable_is_refused),
        cmocka_unit_test(variables_reach_the_request_in_order),
        cmocka_unit_test(a_reader_that_sleeps_does_not_hold_up_the_writer),
        cmocka_unit_test(a_reader_that_left_is_told_by_its_errno),
    };

    return cmocka_run_group_tests_name("args", tests, NULL, NULL);
}
