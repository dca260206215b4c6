#include <sys/mman.h>

#include "nacre/own.h"
#include "report.h"
#include "run_tool.h"
#include "trace.h"
#include "verbs.h"

static int run(const struct cli_args *args)
{
    NACRE_AUTO(nacre_fd_guard) int fd = memfd_create("nacre-trace", MFD_CLOEXEC);
    struct cli_operands operands = { .module = args->operands[0],
                                     .arguments = args->operands + 1,
                                     .trace_fd = fd };
    struct nacre_error err;
    int status;

    if (fd <= 0) {
        (void)nacre_fail(&err, NACRE_ERR_IO, "a file for the trace");
        return cli_fail(args, &err);
    }
    status = cli_run_tool(args, &operands);
    (void)fflush(stdout);
    if (cli_trace_print(fd, args->json, stderr))
        return status;
    (void)nacre_fail(&err, NACRE_ERR_MEMORY, "reading the trace");
    return cli_fail(args, &err);
}

const struct cli_verb cli_verb_trace = {
    .name = "trace",
    .summary = "run a module and show every host call it makes",
    .operands = "MODULE [ARG...]",
    .about =
        "Like nacre run, in the same sandbox; then on stderr each call with its\n"
        "arguments, result and time, and what they cost together. With --json the calls\n"
        "are JSON lines. What a file holds is never shown, only how much was moved.",
    .example = "  nacre trace --policy workspace --workspace . tool.wasm --read "
               "/workspace/note.txt",
    .options = cli_run_options,
    .option_count = RUN_OPT_COUNT,
    .operand_offer = CLI_OFFER_FILES,
    .operands_min = 1,
    .operands_max = SIZE_MAX,
    .ends_at_operand = true,
    .run = run,
};
