#include "author.h"
#include "nacre/own.h"
#include "report.h"
#include "request.h"
#include "verbs.h"

enum { OPT_POLICY, OPT_MODULE, OPT_ONLY, OPT_UPDATE, OPT_TOLERANCE, OPT_COUNT };

static const struct cli_option options[OPT_COUNT] = {
    [OPT_POLICY] = { "--policy", .kind = CLI_TEXT, .value = "POLICY",
                     .offer = CLI_OFFER_POLICIES,
                     .help = "instead of the manifest's sandbox_ref" },
    [OPT_MODULE] = { "--module", .kind = CLI_TEXT, .value = "FILE",
                     .offer = CLI_OFFER_FILES,
                     .help = "instead of the one in the folder" },
    [OPT_ONLY] = { "--only", .kind = CLI_TEXT, .value = "TEXT",
                   .help = "cases whose file name contains it" },
    [OPT_UPDATE] = { "--update", .kind = CLI_FLAG,
                     .help = "write what came as what is expected, and the fuel" },
    [OPT_TOLERANCE] = { "--tolerance", .kind = CLI_NUMBER, .value = "PERCENT", .min = 1,
                        .max = 1000,
                        .help = "with --update: how far fuel may differ (default: 10)" },
};

static int run(const struct cli_args *args)
{
    NACRE_AUTO(nacre_manifest_guard) struct nacre_manifest *manifest = NULL;
    const struct cli_testing testing = {
        .policy = args->values[OPT_POLICY].text, .module = args->values[OPT_MODULE].text,
        .only = args->values[OPT_ONLY].text, .update = args->values[OPT_UPDATE].given,
        .tolerance_percent = args->values[OPT_TOLERANCE].number,
    };
    struct nacre_error err;

    if (cli_author_load(args->operand_count ? args->operands[0] : ".", &manifest, &err) !=
        NACRE_OK)
        return cli_fail(args, &err);
    return cli_author_test(args, manifest, &testing);
}

const struct cli_verb cli_verb_test = {
    .name = "test",
    .summary = "run a tool's tests, which are data, in the sandbox",
    .operands = "[DIR]",
    .about =
        "Each DIR/tests/*.yaml says the arguments, the files before, the answer that is\n"
        "expected, the files after, and the fuel that it may take. Exit status 1 when\n"
        "one fails. --update writes what came into the cases: look at the difference\n"
        "before you commit it.",
    .example = "  nacre test wordcount\n  nacre test --update --only first wordcount",
    .options = options,
    .option_count = OPT_COUNT,
    .operand_offer = CLI_OFFER_DIRECTORIES,
    .operands_max = 1,
    .run = run,
};
