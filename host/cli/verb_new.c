#include <stdio.h>
#include <string.h>

#include "author.h"
#include "nacre/own.h"
#include "nacre/text.h"
#include "report.h"
#include "verbs.h"

#define X(id, name) name,
static const char *const words[] = { NACRE_LANGUAGE_MAP(X) };
#undef X

static int run(const struct cli_args *args)
{
    const char *name = args->operands[1];
    const char *directory = args->operand_count > 2 ? args->operands[2] : name;
    struct nacre_error err;
    char shown[NACRE_SHOWN];

    if (nacre_author_new(nacre_language_find(args->operands[0]), name, directory, &err) !=
        NACRE_OK)
        return cli_fail(args, &err);
    if (args->json)
        return cli_json_print(json_pack("{s:o}", "directory", cli_json_text(directory)))
                   ? 0
                   : nacre_status_exit(NACRE_ERR_MEMORY);
    (void)nacre_text_shown(shown, directory);
    (void)printf("%s is there; next: nacre build %s && nacre test %s\n", shown, shown,
                 shown);
    return 0;
}

const struct cli_verb cli_verb_new = {
    .name = "new",
    .summary = "make a folder for a new tool that builds and passes its tests",
    .operands = "LANGUAGE NAME [DIR]",
    .about = "LANGUAGE is c, zig, go, rust or assemblyscript. DIR (default: NAME) must not\n"
             "be there yet. It gets tool.yaml, the source and tests as data.",
    .example = "  nacre new c wordcount && nacre build wordcount && nacre test wordcount",
    .words = words,
    .word_count = NACRE_COUNT(words),
    .operands_min = 2,
    .operands_max = 3,
    .run = run,
};
