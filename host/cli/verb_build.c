#include <stdio.h>

#include "author.h"
#include "nacre/own.h"
#include "nacre/text.h"
#include "report.h"
#include "verbs.h"

enum { OPT_PUBLISH, OPT_COUNT };

static const struct cli_option options[OPT_COUNT] = {
    [OPT_PUBLISH] = { "--publish", .kind = CLI_TEXT, .value = "DIR",
                      .offer = CLI_OFFER_DIRECTORIES,
                      .help = "then put module and manifest, with the module's digest, "
                              "into DIR/NAME" },
};

static int run(const struct cli_args *args)
{
    NACRE_AUTO(nacre_manifest_guard) struct nacre_manifest *manifest = NULL;
    const char *into = args->values[OPT_PUBLISH].text;
    struct nacre_error err;
    char shown[NACRE_SHOWN];
    enum nacre_status status =
        cli_author_load(args->operand_count ? args->operands[0] : ".", &manifest, &err);

    if (status == NACRE_OK)
        status = cli_author_build(manifest, &err);
    if (status == NACRE_OK && into)
        status = nacre_author_publish(manifest, into, &err);
    if (status != NACRE_OK)
        return cli_fail(args, &err);
    if (args->json)
        return cli_json_print(json_pack("{s:o}", "module", cli_json_text(manifest->module)))
                   ? 0
                   : nacre_status_exit(NACRE_ERR_MEMORY);
    (void)printf("%s\n", nacre_text_shown(shown, manifest->module));
    return 0;
}

const struct cli_verb cli_verb_build = {
    .name = "build",
    .summary = "build a tool's module with its language's toolchain",
    .operands = "[DIR]",
    .about = "By the annotation nacre/language of DIR/tool.yaml (default: this folder). The\n"
             "toolchain is the machine's; where it is missing, the package is named.",
    .example = "  nacre build wordcount\n"
               "  nacre build --publish ~/.config/nacre/tools wordcount",
    .options = options,
    .option_count = OPT_COUNT,
    .operand_offer = CLI_OFFER_DIRECTORIES,
    .operands_max = 1,
    .run = run,
};
