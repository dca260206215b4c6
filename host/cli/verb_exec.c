#include "run_tool.h"
#include "verbs.h"

static int run(const struct cli_args *args)
{
    struct cli_operands operands = { .shell = args->operands[0] };

    return cli_run_tool(args, &operands);
}

const struct cli_verb cli_verb_exec = {
    .name = "exec",
    .summary = "run a shell command inside a policy",
    .operands = "'SHELL COMMAND'",
    .about =
        "The text is one word: quote it. It is parsed and judged by the policy's shell\n"
        "rules before anything starts, then given to /bin/sh -c in a sandbox of the\n"
        "policy's level: process, container, vm or none.\n"
        "\n" CLI_RUN_SESSIONS "\n" CLI_RUN_EXITS,
    .example = "  nacre exec --policy shell --workspace . 'grep -rn TODO src | wc -l'\n"
               "  nacre exec --config ~/.openclaw/openclaw.json --session work 'make'\n"
               "  nacre exec --json --policy container 'python3 -c \"print(6 * 7)\"'",
    .options = cli_run_options,
    .option_count = RUN_OPT_SHARED,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
