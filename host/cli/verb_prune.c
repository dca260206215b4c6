#include "boxes.h"
#include "nacre/own.h"
#include "report.h"
#include "verbs.h"

enum { OPT_IDLE, OPT_AGE, OPT_COUNT };

#define MS_PER_HOUR UINT64_C(3600000)
#define MS_PER_DAY (24 * MS_PER_HOUR)

static const struct cli_option options[OPT_COUNT] = {
    [OPT_IDLE] = { "--idle-hours", .kind = CLI_NUMBER, .value = "N", .max = 1000000,
                   .help = "unused for more than this (24; 0: however long)" },
    [OPT_AGE] = { "--max-age-days", .kind = CLI_NUMBER, .value = "N", .max = 100000,
                  .help = "older than this (7; 0: however old)" },
};

static int run(const struct cli_args *args)
{
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    const struct cli_value *idle = &args->values[OPT_IDLE], *age = &args->values[OPT_AGE];
    const struct nacre_keeper_choice choice = {
        .idle_ms = idle->given ? idle->number * MS_PER_HOUR : NACRE_PRUNE_IDLE_MS,
        .age_ms = age->given ? age->number * MS_PER_DAY : NACRE_PRUNE_AGE_MS,
    };
    const struct nacre_executor *executor;
    struct nacre_error err, ignored;
    uint32_t ended = 0, left = 0;
    enum nacre_status status = cli_boxes_engine(&engine, &err);

    if (status == NACRE_OK && (choice.idle_ms || choice.age_ms))
        status = cli_boxes_end(engine, &choice, &ended, &left, &err);
    if (status != NACRE_OK)
        return cli_fail(args, &err);
    /* An executor that meets the engine removes what dead owners left there. */
    (void)!nacre_engine_executor(engine, NACRE_LEVEL_CONTAINER, &executor, &ignored);
    return cli_boxes_tell(args, ended, left);
}

const struct cli_verb cli_verb_prune = {
    .name = "prune",
    .summary = "end warm sandboxes that are long unused or old",
    .operands = "",
    .about = "One in which a command runs is never taken. The keeper does the same by\n"
             "itself, with the defaults, every five minutes.",
    .example = "  nacre prune --idle-hours 2",
    .options = options,
    .option_count = OPT_COUNT,
    .run = run,
};
