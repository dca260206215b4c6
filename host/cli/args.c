/* Trusts the verbs' tables; argv is whatever a caller, or a caller's caller, wrote. */
#include "args.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/own.h"
#include "nacre/text.h"

enum { COMMON_JSON, COMMON_HELP, COMMON_COUNT };

static const struct cli_option common[COMMON_COUNT] = {
    [COMMON_JSON] = { "--json", .kind = CLI_FLAG, .help = "answer as JSON on stdout" },
    [COMMON_HELP] = { "--help", 'h', CLI_FLAG, .help = "show this text" },
};

const struct cli_option *cli_args_common(size_t *ret_count)
{
    *ret_count = COMMON_COUNT;
    return common;
}

/* The reader's place in argv. */
struct cursor {
    const char *const *argv;
    int argc, at;
};

static bool is_named(const struct cli_option *option, const char *word, size_t length)
{
    if (word[1] != '-')
        return length == 2 && option->letter != '\0' && option->letter == word[1];
    return strlen(option->name) == length && memcmp(option->name, word, length) == 0;
}

static enum nacre_status fail_unknown(const struct cli_verb *verb, const char *word,
                                      size_t length, struct nacre_error *err)
{
    const char *names[CLI_OPTIONS_MAX + COMMON_COUNT];
    char name[64] = "", shown[NACRE_SHOWN];
    const char *nearest = NULL;
    size_t count = 0;

    for (size_t i = 0; i < verb->option_count; i++)
        names[count++] = verb->options[i].name;
    for (size_t i = 0; i < COMMON_COUNT; i++)
        names[count++] = common[i].name;
    if (length < sizeof(name)) {
        memcpy(name, word, length);
        nearest = nacre_text_nearest(name, names, count);
    }
    (void)nacre_text_show(shown, sizeof(shown), word, length);
    if (nearest)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "unknown option '%s'; did you mean '%s'? see nacre %s --help",
                          shown, nearest, verb->name);
    return nacre_fail(err, NACRE_ERR_USAGE, "unknown option '%s'; see nacre %s --help",
                      shown, verb->name);
}

static enum nacre_status set_number(const struct cli_option *option, const char *text,
                                    struct cli_value *value, struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    if (nacre_text_u64(text, option->max, &value->number) && value->number >= option->min)
        return NACRE_OK;
    return nacre_fail(
        err, NACRE_ERR_USAGE,
        "%s expects a whole number from %" PRIu64 " to %" PRIu64 ", not '%s'",
        option->name, option->min, option->max, nacre_text_shown(shown, text));
}

/* `text` is NULL for a flag. */
static enum nacre_status set_value(const struct cli_option *option, const char *text,
                                   int argc, struct cli_value *value,
                                   struct nacre_error *err)
{
    if (value->given && option->kind != CLI_LIST)
        return nacre_fail(err, NACRE_ERR_USAGE, "%s is given twice", option->name);
    value->given = true;
    value->text = text;
    switch (option->kind) {
    case CLI_NUMBER:
        return set_number(option, text, value, err);
    case CLI_LIST:
        if (!value->items)
            value->items = calloc((size_t)argc + 1, sizeof(*value->items));
        if (!value->items)
            return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the command line");
        value->items[value->count++] = text;
        return NACRE_OK;
    case CLI_TEXT:
        /* An unset variable of a script, most likely; "" would mean something else. */
        if (text[0] == '\0')
            return nacre_fail(err, NACRE_ERR_USAGE, "%s expects %s, not an empty text",
                              option->name, option->value);
        return NACRE_OK;
    case CLI_FLAG:
        break;
    }
    return NACRE_OK;
}

/* `word` starts with '-' and is more than that. */
static enum nacre_status read_option(struct cursor *cursor, const char *word,
                                     struct cli_args *args, struct nacre_error *err)
{
    const struct cli_verb *verb = args->verb;
    const char *equals = word[1] == '-' ? strchr(word, '=') : NULL;
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    const struct cli_option *option = NULL;
    struct cli_value flag = { 0 }, *value = &flag;
    const char *text = equals ? equals + 1 : NULL;

    for (size_t i = 0; i < verb->option_count; i++)
        if (is_named(&verb->options[i], word, length)) {
            option = &verb->options[i];
            value = &args->values[i];
        }
    for (size_t i = 0; i < COMMON_COUNT; i++)
        if (is_named(&common[i], word, length))
            option = &common[i];
    if (!option)
        return fail_unknown(verb, word, length, err);
    if (option->kind == CLI_FLAG && equals)
        return nacre_fail(err, NACRE_ERR_USAGE, "%s takes no value", option->name);
    if (option->kind != CLI_FLAG && !text) {
        if (cursor->at >= cursor->argc)
            return nacre_fail(err, NACRE_ERR_USAGE, "%s expects %s; see nacre %s --help",
                              option->name, option->value, verb->name);
        text = cursor->argv[cursor->at++];
    }
    args->json |= option == &common[COMMON_JSON];
    args->help |= option == &common[COMMON_HELP];
    return set_value(option, text, cursor->argc, value, err);
}

static enum nacre_status judge_operands(const struct cli_args *args,
                                        struct nacre_error *err)
{
    const struct cli_verb *verb = args->verb;
    char shown[NACRE_SHOWN];
    const char *nearest;

    if (args->operand_count < verb->operands_min)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "%s expects %s; see nacre %s --help", verb->name,
                          verb->operands, verb->name);
    if (args->operand_count > verb->operands_max)
        return nacre_fail(
            err, NACRE_ERR_USAGE, "%s does not expect '%s'; see nacre %s --help",
            verb->name, nacre_text_shown(shown, args->operands[verb->operands_max]),
            verb->name);
    if (!verb->words || args->operand_count == 0)
        return NACRE_OK;
    for (size_t i = 0; i < verb->word_count; i++)
        if (strcmp(verb->words[i], args->operands[0]) == 0)
            return NACRE_OK;
    (void)nacre_text_shown(shown, args->operands[0]);
    nearest = nacre_text_nearest(args->operands[0], verb->words, verb->word_count);
    if (nearest)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "%s does not know '%s'; did you mean '%s'?", verb->name,
                          shown, nearest);
    return nacre_fail(err, NACRE_ERR_USAGE,
                      "%s does not know '%s'; see nacre %s --help", verb->name,
                      shown, verb->name);
}

enum nacre_status cli_args_parse(const struct cli_verb *verb, int argc,
                                 const char *const argv[], struct cli_args *args,
                                 struct nacre_error *err)
{
    struct cursor cursor = { .argv = argv, .argc = argc };
    bool options_over = false;

    assert(verb->option_count <= CLI_OPTIONS_MAX);
    *args = (struct cli_args){ .verb = verb };
    args->operands = calloc((size_t)argc + 1, sizeof(*args->operands));
    if (!args->operands)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the command line");
    while (cursor.at < argc) {
        const char *word = argv[cursor.at++];
        enum nacre_status status;

        if (options_over || word[0] != '-' || word[1] == '\0') {
            args->operands[args->operand_count++] = word;
            options_over |= verb->ends_at_operand;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            options_over = true;
            args->dashes = args->operand_count == 0;
            continue;
        }
        status = read_option(&cursor, word, args, err);
        if (status != NACRE_OK)
            return status;
    }
    return args->help ? NACRE_OK : judge_operands(args, err);
}

void cli_args_clear(struct cli_args *args)
{
    for (size_t i = 0; i < CLI_OPTIONS_MAX; i++)
        free(args->values[i].items);
    free(args->operands);
    *args = (struct cli_args){ .verb = args->verb };
}

#define HELP_COLUMN 28

static void help_option(const struct cli_option *option, FILE *out)
{
    int width = 2;

    (void)fputs("  ", out);
    if (option->letter)
        width += fprintf(out, "-%c, ", option->letter);
    width += fprintf(out, "%s", option->name);
    if (option->value)
        width += fprintf(out, " %s", option->value);
    if (width > HELP_COLUMN - 2) {
        (void)fputc('\n', out);
        width = 0;
    }
    (void)fprintf(out, "%*s%s\n", HELP_COLUMN - width, "", option->help);
}

void cli_args_help(const struct cli_verb *verb, FILE *out)
{
    (void)fprintf(out, "nacre %s: %s\n\nusage: nacre %s [OPTION]...%s%s\n", verb->name,
                  verb->summary, verb->name, verb->operands[0] ? " " : "",
                  verb->operands);
    if (verb->about[0])
        (void)fprintf(out, "\n%s\n", verb->about);
    (void)fputs("\noptions:\n", out);
    for (size_t i = 0; i < verb->option_count; i++)
        help_option(&verb->options[i], out);
    for (size_t i = 0; i < COMMON_COUNT; i++)
        help_option(&common[i], out);
    (void)fprintf(out, "\nexample:\n%s\n", verb->example);
}
