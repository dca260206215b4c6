#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "nacre/clock.h"
#include "nacre/own.h"
#include "nacre/text.h"
#include "report.h"
#include "verbs.h"

enum { OPT_TIMEOUT, OPT_COUNT };

#define ADD_TIMEOUT_MS 600000

static const struct cli_option options[OPT_COUNT] = {
    [OPT_TIMEOUT] = { "--timeout-ms", .kind = CLI_NUMBER, .value = "N", .min = 1,
                      .max = 604800000, .help = "for add: give up after this (600000)" },
};

static const char *const words[] = { "list", "add", "clear" };

static void print_entry(void *data, const struct nacre_cache_entry *entry)
{
    char shown[NACRE_SHOWN], hex[NACRE_HEX], used[NACRE_SECOND];

    (void)data;
    if (!entry->is_known)
        (void)printf("  damaged, or of another version: never used  %" PRIu64
                     " bytes\n", entry->bytes);
    else
        (void)printf("  %-24s sha256 %.16s  %10" PRIu64 " bytes  used %s\n",
                     nacre_text_shown(shown, entry->name),
                     nacre_digest_hex(&entry->module, hex), entry->bytes,
                     nacre_clock_second(used, (uint64_t)entry->used_s));
}

static void add_entry(void *data, const struct nacre_cache_entry *entry)
{
    char used[NACRE_SECOND];
    json_t *known = json_pack("{s:o, s:o, s:I, s:s}", "name",
                              entry->is_known ? cli_json_text(entry->name) : json_null(),
                              "digest",
                              entry->is_known ? cli_json_digest(&entry->module)
                                              : json_null(),
                              "bytes", (json_int_t)entry->bytes, "used",
                              nacre_clock_second(used, (uint64_t)entry->used_s));

    if (json_array_append_new(*(json_t **)data, known) != 0) {
        json_decref(*(json_t **)data);
        *(json_t **)data = NULL; /* and so is the whole answer */
    }
}

static json_t *report_json(const char *done, const char *dir,
                           const struct nacre_cache_report *report)
{
    return json_pack("{s:s, s:I, s:I, s:o}", "action", done, "entries",
                     (json_int_t)report->entries, "bytes", (json_int_t)report->bytes,
                     "directory", cli_json_text(dir));
}

static int print_json(json_t *answer)
{
    return cli_json_print(answer) ? 0 : nacre_status_exit(NACRE_ERR_MEMORY);
}

/* How the cache stands, or what was removed from it. */
static void tell(const char *done, const char *dir,
                 const struct nacre_cache_report *report)
{
    char shown[256];

    (void)printf("%s: %" PRIu64 " compiled module%s, %" PRIu64 " bytes, in %s\n", done,
                 report->entries, cli_plural(report->entries), report->bytes,
                 nacre_text_show(shown, sizeof(shown), dir, strlen(dir)));
}

static int list(const struct cli_args *args, struct nacre_engine *engine,
                const struct nacre_cache_report *report)
{
    const char *dir = nacre_engine_cache_dir(engine);
    json_t *modules = args->json ? json_array() : NULL, *answer;
    struct nacre_error err;

    if (!args->json)
        tell("kept", dir, report);
    if (nacre_cache_list(engine, args->json ? add_entry : print_entry, &modules, &err) !=
        NACRE_OK) {
        json_decref(modules);
        return cli_fail(args, &err);
    }
    if (!args->json)
        return 0;
    answer = report_json("kept", dir, report);
    if (json_object_set_new(answer, "modules", modules) != 0) {
        json_decref(answer);
        answer = NULL;
    }
    return print_json(answer);
}

static enum nacre_status add(const struct cli_args *args, struct nacre_engine *engine,
                             struct cli_term *term, struct nacre_error *err)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    const struct cli_value *timeout = &args->values[OPT_TIMEOUT];
    enum nacre_status status = nacre_tool_load(args->operands[1], &tool, err);

    if (status == NACRE_OK)
        status = nacre_cache_add(engine, tool,
                                 timeout->given ? timeout->number : ADD_TIMEOUT_MS, err);
    cli_term_clear(term);
    return status;
}

static int run(const struct cli_args *args)
{
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    const char *word = args->operand_count > 0 ? args->operands[0] : "list";
    bool adds = strcmp(word, "add") == 0, clears = strcmp(word, "clear") == 0;
    struct nacre_engine_options quiet = { .audit_off = true };
    struct nacre_cache_report report;
    struct cli_term term = { 0 };
    struct nacre_error err;
    enum nacre_status status;
    const char *dir;

    if (adds != (args->operand_count == 2)) {
        (void)nacre_fail(&err, NACRE_ERR_USAGE, "cache %s expects %s", word,
                         adds ? "MODULE" : "nothing after it");
        return cli_fail(args, &err);
    }
    status = cli_engine_open(quiet, &term, &engine, &err);
    if (status == NACRE_OK && adds)
        status = add(args, engine, &term, &err);
    if (status == NACRE_OK)
        status = clears ? nacre_cache_clear(engine, &report, &err)
                        : nacre_cache_report(engine, &report, &err);
    if (status != NACRE_OK)
        return cli_fail(args, &err);
    if (!adds && !clears)
        return list(args, engine, &report);
    dir = nacre_engine_cache_dir(engine);
    if (args->json)
        return print_json(report_json(adds ? "added" : "removed", dir, &report));
    tell(adds ? "added, now kept" : "removed", dir, &report);
    return 0;
}

const struct cli_verb cli_verb_cache = {
    .name = "cache",
    .summary = "keep compiled code: list, add MODULE, clear",
    .operands = "[list | add MODULE | clear]",
    .about = "A big module takes longer to compile than most policies let it run: add\n"
             "compiles it once, with a time limit of its own.",
    .example = "  nacre cache add python.wasm",
    .options = options,
    .option_count = OPT_COUNT,
    .words = words,
    .word_count = NACRE_COUNT(words),
    .operand_offer = CLI_OFFER_FILES,
    .operands_max = 2,
    .run = run,
};
