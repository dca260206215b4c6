#include "boxes.h"
#include "nacre/own.h"
#include "verbs.h"

enum { OPT_ALL, OPT_COUNT };

static const struct cli_option options[OPT_COUNT] = {
    [OPT_ALL] = { "--all", .kind = CLI_FLAG, .help = "every one" },
};

static int run(const struct cli_args *args)
{
    return cli_boxes_end_named(args, args->values[OPT_ALL].given, true);
}

const struct cli_verb cli_verb_stop = {
    .name = "stop",
    .summary = "end warm sandboxes, with the commands that run in them",
    .operands = "WHICH...",
    .about = "WHICH is a scope (session:KEY, agent:ID, shared), a session's key, a name\n"
             "or an id, as nacre ps shows them.",
    .example = "  nacre stop session:review",
    .options = options,
    .option_count = OPT_COUNT,
    .operands_max = SIZE_MAX,
    .run = run,
};
