#include "run_tool.h"
#include "verbs.h"

static int run(const struct cli_args *args)
{
    struct cli_operands operands = { 0 };

    if (args->dashes) {
        operands.command = args->operands;
    } else {
        operands.module = args->operands[0];
        operands.arguments = args->operands + 1;
    }
    return cli_run_tool(args, &operands);
}

const struct cli_verb cli_verb_run = {
    .name = "run",
    .summary = "run a module or, after --, a command inside a policy",
    .operands = "MODULE [ARG...] | -- CMD [ARG...]",
    .about =
        "Options end at MODULE or --; what follows belongs to the guest. MODULE is a\n"
        "WASI command or, with --invoke, any module; .wasm or .wat. CMD is a native\n"
        "command, for a policy of level process, container, vm or none. Without --policy\n"
        "nothing is granted but arguments, input and output, and no command runs.\n"
        "\n" CLI_RUN_SESSIONS "A MODULE is the tool that its file is named after.\n\n"
        CLI_RUN_EXITS,
    .example = "  nacre run --policy workspace --workspace . tool.wasm --read "
               "/workspace/note.txt\n"
               "  nacre run --json --fuel 1000000 --invoke add calc.wat 2 3\n"
               "  nacre run --policy build --workspace . -- make test",
    .options = cli_run_options,
    .option_count = RUN_OPT_COUNT,
    .operand_offer = CLI_OFFER_FILES,
    .operands_min = 1,
    .operands_max = SIZE_MAX,
    .ends_at_operand = true,
    .run = run,
};
