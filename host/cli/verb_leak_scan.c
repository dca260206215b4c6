/* Reads anybody's text; of it only names from nacre's own table are printed, or the text
 * itself when that is asked for, with what was found taken out. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nacre/leak.h"
#include "nacre/own.h"
#include "nacre/text.h"
#include "report.h"
#include "verbs.h"

enum { OPT_PATTERNS, OPT_VALUE, OPT_REDACT, OPT_LIST, OPT_COUNT };

static const struct cli_option options[OPT_COUNT] = {
    [OPT_PATTERNS] = { "--patterns", .kind = CLI_NUMBER, .value = "N",
                       .max = NACRE_LEAK_PATTERNS,
                       .help = "look for the first N of the table (22; 0: values only)" },
    [OPT_VALUE] = { "--value", .kind = CLI_LIST, .value = "FILE",
                    .offer = CLI_OFFER_FILES,
                    .help = "look for what FILE holds too, in every spelling" },
    [OPT_REDACT] = { "--redact", .kind = CLI_FLAG,
                     .help = "print the text, each finding replaced by [redacted:NAME]" },
    [OPT_LIST] = { "--list", .kind = CLI_FLAG,
                   .help = "print the table of patterns instead" },
};

#define FOUND_EXIT 1
#define VALUES_MAX 64
#define TOLD_MAX 1000
#define JSON_TEXT_MAX ((size_t)256 << 20)

static const char *class_name(enum nacre_leak_class class)
{
    switch (class) {
    case NACRE_LEAK_VALUE: return "value";
    case NACRE_LEAK_BLOCK: return "block";
    case NACRE_LEAK_REDACT: return "redact";
    case NACRE_LEAK_WARN: return "warn";
    case NACRE_LEAK_NONE: break;
    }
    return "none";
}

/* ---- the table ---- */

static int list(const struct cli_args *args)
{
    json_t *rows = args->json ? json_array() : NULL;

    for (uint32_t i = 0; i < NACRE_LEAK_PATTERNS; i++) {
        const struct nacre_leak_pattern_row *row = nacre_leak_pattern(i);

        if (!args->json)
            (void)printf("%2" PRIu32 "  %-7s %s\n", i + 1, class_name(row->class),
                         row->name);
        else if (json_array_append_new(rows, json_pack("{s:s, s:s}", "name", row->name,
                                                       "class",
                                                       class_name(row->class))) != 0)
            return nacre_status_exit(NACRE_ERR_MEMORY);
    }
    return !args->json || cli_json_print(rows) ? 0 : nacre_status_exit(NACRE_ERR_MEMORY);
}

/* ---- the scan ---- */

struct scan {
    const struct cli_args *args;
    struct nacre_leaks *leaks;
    struct nacre_leak_stream *stream;
    json_t *findings;       /* for --json */
    struct nacre_buf clean; /* for --json with --redact */
    uint64_t told;
    struct nacre_error failure;
};

static void clear(struct scan *scan)
{
    nacre_leak_stream_free(scan->stream);
    nacre_leaks_free(scan->leaks);
    json_decref(scan->findings);
    nacre_buf_clear(&scan->clean);
}

static void tell(void *data, const char *name, enum nacre_leak_class class, uint64_t line,
                 uint64_t offset)
{
    struct scan *scan = data;
    bool redact = scan->args->values[OPT_REDACT].given;
    char shown[NACRE_SHOWN];

    if (scan->told++ >= TOLD_MAX)
        return;
    (void)nacre_text_shown(shown, name);
    if (!scan->args->json && redact)
        cli_say("line %" PRIu64 ": %s (%s)", line, shown, class_name(class));
    else if (!scan->args->json)
        (void)printf("%" PRIu64 ": %s (%s)\n", line, shown, class_name(class));
    else if (json_array_append_new(
                 scan->findings,
                 json_pack("{s:s, s:s, s:I, s:I}", "name", shown, "class",
                           class_name(class), "line", (json_int_t)line, "offset",
                           (json_int_t)offset)) != 0)
        (void)nacre_fail(&scan->failure, NACRE_ERR_MEMORY, "no memory for the findings");
}

static void put(void *data, const char *bytes, size_t count)
{
    struct scan *scan = data;

    if (!scan->args->values[OPT_REDACT].given || scan->failure.status != NACRE_OK)
        return;
    if (!scan->args->json)
        (void)fwrite(bytes, 1, count, stdout);
    else if (nacre_buf_add(&scan->clean, bytes, count, &scan->failure) != NACRE_OK)
        (void)nacre_fail_context(&scan->failure, "the text for --json");
}

static enum nacre_status read_value(const char *path, struct nacre_buf *value,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    char shown[NACRE_SHOWN], context[NACRE_SHOWN + 16];

    (void)nacre_text_shown(shown, path);
    (void)snprintf(context, sizeof(context), "--value %s", shown);
    if (fd < 0 && errno == ENOENT)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND, "%s: there is no such file", context);
    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "%s: opening it", context);
    if (nacre_buf_read(value, fd, err) != NACRE_OK)
        return nacre_fail_context(err, context);
    if (value->size < NACRE_LEAK_VALUE_MIN)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "%s: a value of less than %d bytes can't be looked for",
                          context, NACRE_LEAK_VALUE_MIN);
    return NACRE_OK;
}

static enum nacre_status make_scanner(const struct cli_args *args,
                                      struct nacre_leaks **ret_leaks,
                                      struct nacre_error *err)
{
    const struct cli_value *files = &args->values[OPT_VALUE];
    const struct cli_value *patterns = &args->values[OPT_PATTERNS];
    struct nacre_buf contents[VALUES_MAX] = { 0 };
    struct nacre_leak_value values[VALUES_MAX] = { 0 };
    enum nacre_status status = NACRE_OK;

    if (files->count > VALUES_MAX)
        return nacre_fail(err, NACRE_ERR_USAGE, "at most %d times --value", VALUES_MAX);
    for (size_t i = 0; i < files->count && status == NACRE_OK; i++) {
        const char *slash = strrchr(files->items[i], '/');

        contents[i].size_max = NACRE_LEAK_VALUE_MAX;
        status = read_value(files->items[i], &contents[i], err);
        values[i] = (struct nacre_leak_value){
            .name = slash ? slash + 1 : files->items[i],
            .bytes = (const unsigned char *)contents[i].bytes,
            .count = contents[i].size,
        };
    }
    if (status == NACRE_OK)
        status = nacre_leaks_new(
            values, files->count,
            patterns->given ? (uint32_t)patterns->number : NACRE_LEAK_PATTERNS, ret_leaks,
            err);
    for (size_t i = 0; i < files->count; i++) {
        if (contents[i].bytes)
            explicit_bzero(contents[i].bytes, contents[i].size);
        nacre_buf_clear(&contents[i]);
    }
    return status;
}

static enum nacre_status scan_stdin(struct scan *scan, struct nacre_error *err)
{
    enum nacre_status status = make_scanner(scan->args, &scan->leaks, err);
    ssize_t got = 1;

    if (status == NACRE_OK)
        status = nacre_leak_stream_new(scan->leaks, &scan->stream, err);
    if (status == NACRE_OK)
        nacre_leak_stream_watch(scan->stream, tell, scan);
    while (status == NACRE_OK && got != 0) {
        char bytes[64 << 10];

        got = read(STDIN_FILENO, bytes, sizeof(bytes));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return nacre_fail(err, NACRE_ERR_IO, "reading stdin");
        status = nacre_leak_stream_add(scan->stream, bytes, (size_t)got, got == 0, put,
                                       scan, err);
        if (status == NACRE_OK && scan->failure.status != NACRE_OK) {
            *err = scan->failure;
            status = err->status;
        }
        /* Whoever watches a pipe wants to see what has come. */
        (void)fflush(stdout);
    }
    return status;
}

static bool print_json(struct scan *scan)
{
    const struct nacre_leak_counts *counts = nacre_leak_stream_counts(scan->stream);
    const char *text = scan->clean.bytes ? scan->clean.bytes : "";
    json_t *object = json_pack(
        "{s:O, s:I, s:{s:I, s:I, s:I, s:I}}", "findings", scan->findings, "found",
        (json_int_t)scan->told, "leaks", "values", (json_int_t)counts->values, "blocked",
        (json_int_t)counts->blocked, "redacted", (json_int_t)counts->redacted, "warned",
        (json_int_t)counts->warned);

    if (object && scan->args->values[OPT_REDACT].given &&
        json_object_set_new(object, "text", cli_json_text(text)) != 0) {
        json_decref(object);
        object = NULL;
    }
    return cli_json_print(object);
}

static int run(const struct cli_args *args)
{
    NACRE_AUTO(clear) struct scan scan = { .args = args,
                                           .clean = NACRE_BUF(JSON_TEXT_MAX) };
    const struct nacre_leak_counts *counts;
    struct nacre_error err;

    if (args->values[OPT_LIST].given)
        return list(args);
    scan.findings = json_array();
    if (scan_stdin(&scan, &err) != NACRE_OK)
        return cli_fail(args, &err);
    counts = nacre_leak_stream_counts(scan.stream);
    if (args->json && !print_json(&scan))
        return nacre_status_exit(NACRE_ERR_MEMORY);
    if (!args->json && scan.told > TOLD_MAX)
        cli_say("%" PRIu64 " more findings are not listed", scan.told - TOLD_MAX);
    return counts->values + counts->blocked + counts->redacted > 0 ? FOUND_EXIT : 0;
}

const struct cli_verb cli_verb_leak_scan = {
    .name = "leak-scan",
    .summary = "look for keys, tokens and given values in what stdin says",
    .operands = "",
    .about = "Each finding is told with its line, never with what it is. Exit status: 1\n"
             "if anything was found that a run would not let out, 0 if not; what is of\n"
             "class warn is told, but changes nothing. What is compressed, encrypted,\n"
             "encoded twice, or spread over the text in small pieces is not found.",
    .example = "  git diff | nacre leak-scan\n"
               "  nacre leak-scan --value token.txt --redact < build.log > clean.log",
    .options = options,
    .option_count = OPT_COUNT,
    .run = run,
};
