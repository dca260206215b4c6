#include "boxes.h"
#include "nacre/own.h"
#include "verbs.h"

enum { OPT_ALL, OPT_COUNT };

static const struct cli_option options[OPT_COUNT] = {
    [OPT_ALL] = { "--all", .kind = CLI_FLAG, .help = "every one that is idle" },
};

static int run(const struct cli_args *args)
{
    return cli_boxes_end_named(args, args->values[OPT_ALL].given, false);
}

const struct cli_verb cli_verb_rm = {
    .name = "rm",
    .summary = "remove warm sandboxes that are idle",
    .operands = "WHICH...",
    .about = "WHICH is a scope (session:KEY, agent:ID, shared), a session's key, a name\n"
             "or an id, as nacre ps shows them. One in which a command runs is left:\n"
             "see nacre stop.",
    .example = "  nacre rm --all",
    .options = options,
    .option_count = OPT_COUNT,
    .operands_max = SIZE_MAX,
    .run = run,
};
