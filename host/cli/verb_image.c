#include <stdio.h>
#include <string.h>

#include "boxes.h"
#include "nacre/own.h"
#include "report.h"
#include "verbs.h"

enum { OPT_TAG, OPT_COUNT };

static const struct cli_option options[OPT_COUNT] = {
    [OPT_TAG] = { "--tag", .kind = CLI_TEXT, .value = "NAME:TAG",
                  .help = "what it is called (" NACRE_DEFAULT_IMAGE ")" },
};

static const char *const words[] = { "build" };

static void say(void *data, const char *text)
{
    (void)data;
    cli_say_lines("image", text);
}

static int run(const struct cli_args *args)
{
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    const char *tag = args->values[OPT_TAG].given ? args->values[OPT_TAG].text
                                                  : NACRE_DEFAULT_IMAGE;
    struct nacre_error err;
    enum nacre_status status = cli_boxes_engine(&engine, &err);

    if (status == NACRE_OK)
        status = nacre_engine_image_build(engine, tag, say, NULL, &err);
    if (status != NACRE_OK)
        return cli_fail(args, &err);
    if (args->json)
        return cli_json_print(json_pack("{s:o}", "image", cli_json_text(tag)))
                   ? 0
                   : nacre_status_exit(NACRE_ERR_MEMORY);
    (void)printf("made %s\n", tag);
    return 0;
}

const struct cli_verb cli_verb_image = {
    .name = "image",
    .summary = "make the image that containers are made from: build",
    .operands = "build",
    .about = "Debian bookworm-slim with bash, ca-certificates, curl, git, jq, python3\n"
             "and ripgrep: from a registry where the engine reaches one, else by\n"
             "mmdebstrap on this machine. It takes minutes.",
    .example = "  nacre image build",
    .options = options,
    .option_count = OPT_COUNT,
    .words = words,
    .word_count = NACRE_COUNT(words),
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
