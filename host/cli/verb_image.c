#include <stdio.h>
#include <string.h>

#include "boxes.h"
#include "nacre/browser.h"
#include "nacre/own.h"
#include "nacre/text.h"
#include "report.h"
#include "verbs.h"

enum { OPT_TAG, OPT_COUNT };

static const struct cli_option options[OPT_COUNT] = {
    [OPT_TAG] = { "--tag", .kind = CLI_TEXT, .value = "NAME:TAG",
                  .help = "what it is called (its own name)" },
};

#define X(id, word, tag, about) " " word
static const char known[] = NACRE_IMAGE_MAP(X);
#undef X

static const char *const words[] = { "build" };

static void say(void *data, const char *text)
{
    (void)data;
    cli_say_lines("image", text);
}

static const struct {
    const char *word, *tag;
} images[NACRE_IMAGE_COUNT] = {
#define X(id, word, tag, about) [NACRE_IMAGE_##id] = { word, tag },
    NACRE_IMAGE_MAP(X)
#undef X
};

/* The second operand; without one, the image that commands run in. */
static bool find_image(const struct cli_args *args, enum nacre_image *ret_image)
{
    const char *word = args->operand_count > 1 ? args->operands[1] : images[0].word;

    for (size_t i = 0; i < NACRE_IMAGE_COUNT; i++)
        if (strcmp(images[i].word, word) == 0) {
            *ret_image = (enum nacre_image)i;
            return true;
        }
    return false;
}

static int run(const struct cli_args *args)
{
    enum nacre_image image;
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    const char *tag;
    struct nacre_error err;
    char shown[NACRE_SHOWN];
    enum nacre_status status;

    if (!find_image(args, &image)) {
        (void)nacre_fail(&err, NACRE_ERR_USAGE, "there is no image '%s': known are%s",
                         nacre_text_shown(shown, args->operands[1]), known);
        return cli_fail(args, &err);
    }
    tag = args->values[OPT_TAG].given ? args->values[OPT_TAG].text : images[image].tag;
    status = cli_boxes_engine(&engine, &err);
    if (status == NACRE_OK)
        status = nacre_engine_image_build(engine, image, tag, say, NULL, &err);
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
    .summary = "make the images that sandboxes are made from: build",
    .operands = "build [IMAGE]",
    .about = "Debian bookworm-slim with packages: from a registry where the engine\n"
             "reaches one, else by mmdebstrap on this machine. It takes minutes.\n"
             "IMAGE is one of:\n"
#define X(id, word, tag, about) "  " word ": " about ", called\n    " tag "\n"
             NACRE_IMAGE_MAP(X)
#undef X
             "sandbox, when none is given, has bash, ca-certificates, curl, git, jq,\n"
             "python3 and ripgrep.",
    .example = "  nacre image build\n"
               "  nacre image build vm",
    .options = options,
    .option_count = OPT_COUNT,
    .words = words,
    .word_count = NACRE_COUNT(words),
    .operands_min = 1,
    .operands_max = 2,
    .run = run,
};
