#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "boxes.h"
#include "nacre/own.h"
#include "report.h"
#include "session.h"
#include "verbs.h"

enum { OPT_IDLE, OPT_AGE, OPT_CONFIG, OPT_COUNT };

#define MS_PER_HOUR UINT64_C(3600000)
#define MS_PER_DAY (24 * MS_PER_HOUR)

static const struct cli_option options[OPT_COUNT] = {
    [OPT_IDLE] = { "--idle-hours", .kind = CLI_NUMBER, .value = "N", .max = 1000000,
                   .help = "unused for more than this (24; 0: however long)" },
    [OPT_AGE] = { "--max-age-days", .kind = CLI_NUMBER, .value = "N", .max = 100000,
                  .help = "older than this (7; 0: however old)" },
    [OPT_CONFIG] = { "--config", .kind = CLI_TEXT, .value = "FILE",
                     .offer = CLI_OFFER_FILES,
                     .help = "only sessions of this file, by what it says now" },
};

/* What the command line says, or else what holds for all. */
static struct nacre_sessions_prune limits_of(const struct cli_args *args)
{
    const struct cli_value *idle = &args->values[OPT_IDLE], *age = &args->values[OPT_AGE];

    return (struct nacre_sessions_prune){
        .limits_given = idle->given || age->given,
        .idle_ms = idle->given ? idle->number * MS_PER_HOUR : NACRE_PRUNE_IDLE_MS,
        .age_ms = age->given ? age->number * MS_PER_DAY : NACRE_PRUNE_AGE_MS,
    };
}

/* What the file says now for an agent; one that it no longer fits keeps what it has. */
static bool limits_now(void *data, const char *agent, uint64_t *ret_idle_ms,
                       uint64_t *ret_age_ms)
{
    NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
    const struct nacre_session_ask ask = { .agent = agent, .home = getenv("HOME") };
    struct nacre_error ignored;

    if (nacre_session_settle(data, &ask, &session, &ignored) != NACRE_OK)
        return false;
    *ret_idle_ms = session->prune_idle_ms;
    *ret_age_ms = session->prune_age_ms;
    return true;
}

/* By the file's own name, as records have it. */
static enum nacre_status read_config(const char *reference,
                                     struct nacre_sessions_prune *how,
                                     struct nacre_config **ret_config,
                                     struct nacre_error *err)
{
    enum nacre_status status = nacre_config_load(reference, ret_config, err);

    if (status != NACRE_OK)
        return status;
    how->config = (*ret_config)->file ? (*ret_config)->file : (*ret_config)->source;
    how->limits = limits_now;
    how->limits_data = *ret_config;
    return NACRE_OK;
}

/* An executor that meets the engine removes what dead owners left there. */
static void sweep(struct nacre_engine *engine)
{
    const struct nacre_executor *executor;
    struct nacre_error ignored;

    (void)!nacre_engine_executor(engine, NACRE_LEVEL_CONTAINER, &executor, &ignored);
}

static int tell(const struct cli_args *args, const struct nacre_sessions_report *report)
{
    if (args->json)
        return cli_json_print(json_pack("{s:I, s:I, s:I}", "ended",
                                        (json_int_t)report->ended, "in_use",
                                        (json_int_t)report->in_use, "workspaces",
                                        (json_int_t)report->workspaces))
                   ? 0
                   : nacre_status_exit(NACRE_ERR_MEMORY);
    (void)printf("ended %" PRIu32 " sandbox%s", report->ended,
                 report->ended == 1 ? "" : "es");
    if (report->workspaces > 0)
        (void)printf(", removed %" PRIu32 " workspace%s", report->workspaces,
                     report->workspaces == 1 ? "" : "s");
    if (report->in_use > 0)
        (void)printf("; left %" PRIu32 " in which a command runs", report->in_use);
    (void)putchar('\n');
    return 0;
}

static int run(const struct cli_args *args)
{
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config = NULL;
    struct nacre_sessions_prune how = limits_of(args);
    struct nacre_sessions_report report = { 0 };
    bool has_config = args->values[OPT_CONFIG].given;
    struct nacre_error err;
    enum nacre_status status = cli_boxes_engine(&engine, &err);

    if (status == NACRE_OK && has_config)
        status = read_config(args->values[OPT_CONFIG].text, &how, &config, &err);
    if (status == NACRE_OK)
        status = nacre_engine_prune(engine, &how, &report, &err);
    if (status == NACRE_OK && !has_config)
        sweep(engine);
    return status == NACRE_OK ? tell(args, &report) : cli_fail(args, &err);
}

const struct cli_verb cli_verb_prune = {
    .name = "prune",
    .summary = "end warm sandboxes that are long unused or old",
    .operands = "",
    .about = "One in which a command runs is never taken. Sandboxes of a configuration\n"
             "go by its prune.idleHours and prune.maxAgeDays unless numbers are given,\n"
             "and their workspaces go with them. The keeper does the same by itself\n"
             "every five minutes.",
    .example = "  nacre prune --idle-hours 2",
    .options = options,
    .option_count = OPT_COUNT,
    .run = run,
};
