#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

/* How the cache stands, or what was removed from it. */
static int tell(const struct cli_args *args, struct nacre_engine *engine,
                const char *done, const struct nacre_cache_report *report)
{
    const char *dir = nacre_engine_cache_dir(engine);
    char shown[256];

    if (args->json)
        return cli_json_print(json_pack("{s:s, s:I, s:I, s:o}", "action", done, "entries",
                                        (json_int_t)report->entries, "bytes",
                                        (json_int_t)report->bytes, "directory",
                                        cli_json_text(dir)))
                   ? 0
                   : nacre_status_exit(NACRE_ERR_MEMORY);
    (void)printf("%s: %" PRIu64 " compiled modules, %" PRIu64 " bytes, in %s\n", done,
                 report->entries, report->bytes,
                 nacre_text_show(shown, sizeof(shown), dir, strlen(dir)));
    return 0;
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

    if (adds != (args->operand_count == 2)) {
        (void)nacre_fail(&err, NACRE_ERR_USAGE, "nacre cache %s expects %s", word,
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
    return tell(args, engine, adds ? "added" : clears ? "removed" : "kept", &report);
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
