#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nacre/own.h"
#include "nacre/text.h"
#include "report.h"
#include "verbs.h"

enum { OPT_FILE, OPT_LINES, OPT_FOLLOW, OPT_COUNT };

#define FOLLOW_MS 200 /* between two looks at the log */
#define TAIL_LINES 10

static const struct cli_option options[OPT_COUNT] = {
    [OPT_FILE] = { "--file", .kind = CLI_TEXT, .value = "FILE", .offer = CLI_OFFER_FILES,
                   .help = "the log (default: the one in the state directory)" },
    [OPT_LINES] = { "--lines", 'n', CLI_NUMBER, .value = "N", .min = 1, .max = 1000000,
                    .help = "for tail: how many records (10)" },
    [OPT_FOLLOW] = { "--follow", 'f', CLI_FLAG,
                     .help = "for tail: go on showing records as they come" },
};

static const char *const words[] = { "show", "tail", "verify" };

/* JSON can spell control characters: what it says is shown, not printed as it is. */
static const char *show(char ret_text[NACRE_SHOWN], json_t *value)
{
    const char *text = json_string_value(value);

    return nacre_text_shown(ret_text, text ? text : "-");
}

/* On whose behalf, where somebody was named. */
static void print_who(json_t *record)
{
    static const char *const keys[] = { "session", "agent", "caller" };
    char shown[NACRE_SHOWN];

    for (size_t i = 0; i < NACRE_COUNT(keys); i++) {
        json_t *name = json_object_get(record, keys[i]);

        if (json_is_string(name))
            (void)printf(" %s %s", keys[i], show(shown, name));
    }
}

/* Below its record: why a run was denied or failed. */
static void print_reason(const char *what, json_t *reason)
{
    const char *sentence = json_string_value(json_object_get(reason, "text"));
    char text[1024];

    if (sentence)
        (void)printf("    %s: %s\n", what,
                     nacre_text_show(text, sizeof(text), sentence, strlen(sentence)));
}

/* time, type, outcome, run, tool, policy, who, then each denial. */
static void print_text(const char *line, size_t count)
{
    json_t *record = json_loadb(line, count, JSON_REJECT_DUPLICATES, NULL);
    json_t *error = json_object_get(record, "error"), *denial;
    char time[NACRE_SHOWN], type[NACRE_SHOWN], outcome[NACRE_SHOWN], id[NACRE_SHOWN],
        tool[NACRE_SHOWN], policy[NACRE_SHOWN];
    size_t i;

    if (!record) {
        (void)printf("%s\n", line);
        return;
    }
    (void)printf(
        "%s %-9s %-13s run %.8s tool %s policy %s",
        show(time, json_object_get(record, "time")),
        show(type, json_object_get(record, "type")),
        json_is_object(error) ? "failed"
                              : show(outcome, json_object_get(record, "outcome")),
        show(id, json_object_get(record, "run")),
        show(tool, json_object_get(json_object_get(record, "tool"), "name")),
        show(policy, json_object_get(json_object_get(record, "policy"), "name")));
    print_who(record);
    (void)putchar('\n');
    json_array_foreach(json_object_get(record, "denials"), i, denial)
        print_reason("denied", denial);
    print_reason("failed", error);
    json_decref(record);
}

static bool print_record(void *data, uint64_t number, const char *text, size_t count)
{
    const struct cli_args *args = data;

    (void)number;
    if (args->json)
        (void)printf("%s\n", text);
    else
        print_text(text, count);
    return !ferror(stdout);
}

static enum nacre_status show_all(const struct cli_args *args, const char *path,
                                  struct nacre_error *err)
{
    struct nacre_audit_cursor cursor = { 0 };

    return nacre_audit_read(path, &cursor, print_record, (void *)args, err);
}

static enum nacre_status tail(const struct cli_args *args, const char *path,
                              struct nacre_error *err)
{
    const struct cli_value *lines = &args->values[OPT_LINES];
    struct pollfd reader = { .fd = STDOUT_FILENO };
    struct nacre_audit_cursor cursor;
    enum nacre_status status =
        nacre_audit_tail(path, lines->given ? lines->number : TAIL_LINES, &cursor, err);

    while (status == NACRE_OK) {
        status = nacre_audit_read(path, &cursor, print_record, (void *)args, err);
        if (!args->values[OPT_FOLLOW].given || fflush(stdout) != 0)
            break;
        /* Asked for nothing, poll tells only that the reader has gone. */
        if (poll(&reader, 1, FOLLOW_MS) > 0)
            break;
    }
    return status;
}

static enum nacre_status verify(const struct cli_args *args, const char *path,
                                const char *key_dir, struct nacre_error *err)
{
    struct nacre_audit_report report;
    enum nacre_status status = nacre_audit_verify(path, key_dir, &report, err);

    if (status != NACRE_OK)
        return status;
    if (args->json) {
        (void)cli_json_print(json_pack(
            "{s:b, s:o, s:I, s:I, s:I, s:I}", "ok", 1, "file", cli_json_text(path),
            "records", (json_int_t)report.records, "checkpoints",
            (json_int_t)report.checkpoints, "open_runs", (json_int_t)report.open_runs,
            "after_checkpoint", (json_int_t)report.after_checkpoint));
        return NACRE_OK;
    }
    (void)printf("%s: whole: %" PRIu64 " record%s, %" PRIu64 " checkpoint%s, %" PRIu64
                 " record%s after the last one, %" PRIu64
                 " run%s begun and never ended\n",
                 path, report.records, cli_plural(report.records), report.checkpoints,
                 cli_plural(report.checkpoints), report.after_checkpoint,
                 cli_plural(report.after_checkpoint), report.open_runs,
                 cli_plural(report.open_runs));
    return NACRE_OK;
}

static int run(const struct cli_args *args)
{
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    const char *word = args->operands[0];
    /* Opening the log would set right what a crash left: looking must not. */
    struct nacre_engine_options quiet = { .audit_off = true,
                                          .audit_path = args->values[OPT_FILE].text };
    struct cli_term term = { 0 };
    struct nacre_error err;
    enum nacre_status status = cli_engine_open(quiet, &term, &engine, &err);

    if (status == NACRE_OK) {
        const char *path = nacre_engine_audit_path(engine);

        if (strcmp(word, "show") == 0)
            status = show_all(args, path, &err);
        else if (strcmp(word, "tail") == 0)
            status = tail(args, path, &err);
        else
            status = verify(args, path, nacre_engine_key_dir(engine), &err);
    }
    return status == NACRE_OK ? 0 : cli_fail(args, &err);
}

const struct cli_verb cli_verb_audit = {
    .name = "audit",
    .summary = "read and verify the record of every run: show, tail, verify",
    .operands = "show | tail | verify",
    .about =
        "verify follows the chain of records from the first and checks the keyed\n"
        "checkpoints; a broken chain is named by its line. With --json, show and tail\n"
        "give the records as they are: one JSON object a line.",
    .example = "  nacre audit tail -n 20 --follow\n"
               "  nacre audit verify",
    .options = options,
    .option_count = OPT_COUNT,
    .words = words,
    .word_count = NACRE_COUNT(words),
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
