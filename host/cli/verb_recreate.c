#include <stdio.h>

#include "boxes.h"
#include "nacre/own.h"
#include "report.h"
#include "verbs.h"

enum { OPT_ALL, OPT_SESSION, OPT_AGENT, OPT_FORCE, OPT_COUNT };

static const struct cli_option options[OPT_COUNT] = {
    [OPT_ALL] = { "--all", .kind = CLI_FLAG, .help = "every one" },
    [OPT_SESSION] = { "--session", .kind = CLI_TEXT, .value = "KEY",
                      .help = "that of this session" },
    [OPT_AGENT] = { "--agent", .kind = CLI_TEXT, .value = "ID",
                    .help = "that of this agent" },
    [OPT_FORCE] = { "--force", .kind = CLI_FLAG,
                    .help = "also one in which a command runs, which then ends" },
};

/* The scope key as plans spell it; NULL: of all. */
static enum nacre_status read_scope(const struct cli_args *args, char **ret_key,
                                    struct nacre_error *err)
{
    const struct cli_value *values = args->values;
    const struct cli_value *named = &values[values[OPT_AGENT].given ? OPT_AGENT
                                                                    : OPT_SESSION];
    int given = values[OPT_ALL].given + values[OPT_SESSION].given +
                values[OPT_AGENT].given;

    *ret_key = NULL;
    if (given != 1 || args->operand_count > 0)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "recreate expects one of --all, --session and --agent, or "
                          "WHICH...; see nacre recreate --help");
    if (!values[OPT_ALL].given &&
        asprintf(ret_key, "%s:%s", values[OPT_AGENT].given ? "agent" : "session",
                 named->text) < 0)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the command line");
    return NACRE_OK;
}

static bool has_option(const struct cli_args *args)
{
    return args->values[OPT_ALL].given || args->values[OPT_SESSION].given ||
           args->values[OPT_AGENT].given;
}

static int run(const struct cli_args *args)
{
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    NACRE_AUTO(nacre_heap_guard) char *key = NULL;
    struct nacre_keeper_choice choice = { .force = args->values[OPT_FORCE].given };
    uint32_t ended = 0, left = 0;
    struct nacre_error err;
    enum nacre_status status;

    if (args->operand_count > 0 && !has_option(args))
        return cli_boxes_end_named(args, false, args->values[OPT_FORCE].given);
    status = read_scope(args, &key, &err);
    choice.which = key;
    if (status == NACRE_OK)
        status = cli_boxes_engine(&engine, &err);
    if (status == NACRE_OK)
        status = cli_boxes_end(engine, &choice, &ended, &left, &err);
    if (status == NACRE_OK && left > 0)
        status = nacre_fail(&err, NACRE_ERR_UNAVAILABLE,
                            "a command runs in %u of them: wait for it, or use --force",
                            (unsigned)left);
    return status == NACRE_OK ? cli_boxes_tell(args, ended, left) : cli_fail(args, &err);
}

const struct cli_verb cli_verb_recreate = {
    .name = "recreate",
    .summary = "let the next run make its sandbox anew",
    .operands = "[WHICH...]",
    .about = "Ends the warm ones: what was installed or left running in them is gone, a\n"
             "workspace that was given stays. WHICH is as for nacre rm.",
    .example = "  nacre recreate --session review",
    .options = options,
    .option_count = OPT_COUNT,
    .operands_max = SIZE_MAX,
    .run = run,
};
