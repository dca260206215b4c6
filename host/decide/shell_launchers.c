/*
 * Programs that have a command somewhere among their words, and more options than are
 * known here.  Trusts nothing.
 */
#include <string.h>

#include "nacre/own.h"
#include "shell_wrappers.h"

#define LAUNCHER_WORDS_MAX 256

/* ---- behind subcommands and options ---- */

static bool is_option(const struct sh_word *word)
{
    return word->size > 1 && word->marks[0] < NACRE_MARK_ANY && word->text[0] == '-' &&
           !nacre_sh_word_is(word, "--");
}

/* The word behind it may be its value. */
static bool may_take_value(const struct sh_word *word)
{
    return is_option(word) && !nacre_sh_word_is_listed(word, "-y --yes -it --rm");
}

/* -c TEXT, --call=TEXT: what the option at `at` is given, or NULL. */
static const struct sh_word *text_at(const struct sh_effect *effect, size_t at)
{
    static const char *const names[] = { "-c", "--call", "--command", "--run", "--exec" };
    const struct sh_word *word = effect->words[at];

    for (size_t i = 0; i < NACRE_COUNT(names); i++) {
        size_t size = strlen(names[i]);

        if (nacre_sh_word_is(word, names[i]))
            return at + 1 < effect->count ? effect->words[at + 1] : NULL;
        if (size > 2 && word->literal && strncmp(word->text, names[i], size) == 0 &&
            word->text[size] == '=')
            return nacre_sh_word_literal(effect->parse, word->text + size + 1,
                                         word->size - size - 1, word->at);
    }
    return NULL;
}

/* Where the words behind the subcommand begin; the count when it is another one. */
static size_t behind_subcommand(const struct sh_effect *effect, const char *names)
{
    if (!names)
        return 1;
    for (size_t i = 1; i < effect->count; i++) {
        const struct sh_word *word = effect->words[i];

        if (!word->literal || nacre_sh_word_is_listed(word, names))
            return i + 1;
    }
    return effect->count;
}

/*
 * Each word that could be the program is judged as one: those behind an option, which
 * may be its value, and the first behind none, before which there are `operands`.
 */
bool nacre_sh_run_among(const struct sh_effect *effect, const struct sh_wrapper *wrapper)
{
    size_t from = behind_subcommand(effect, wrapper->longs);
    unsigned certain = 0;

    if (effect->count > LAUNCHER_WORDS_MAX)
        return SH_CANT(effect, effect->words[0], "%s is given too many words",
                       wrapper->name);
    for (size_t i = from; i < effect->count && strncmp(wrapper->name, "mpi", 3) == 0; i++)
        if (nacre_sh_word_is_listed(effect->words[i], ": --app -app --configfile"))
            return SH_CANT(effect, effect->words[i], "%s is given several programs; give "
                                                     "it one",
                           wrapper->name);
    for (size_t i = from; i < effect->count && certain <= wrapper->operands; i++) {
        const struct sh_word *word = effect->words[i];
        const struct sh_word *text = text_at(effect, i);
        bool sure = i == from || !may_take_value(effect->words[i - 1]);

        if (text && text->literal && !nacre_sh_run_text(effect, text, false))
            return false;
        if (is_option(word) || nacre_sh_word_is(word, "--"))
            continue;
        if (!word->literal &&
            (wrapper->operands == 0 || (sure && certain == wrapper->operands)))
            return SH_CANT(effect, word, "what %s starts can't be told: '%.40s' is not "
                                         "literal",
                           wrapper->name, word->text);
        if (word->literal &&
            !nacre_sh_run_words(effect, effect->words + i, effect->count - i))
            return false;
        certain += sure;
    }
    return true;
}

/* ---- the value of an option ---- */

/* Is it --NAME, or -NAME as Go has it?  How much of the word that is; 0: it is not. */
static size_t option_size(const struct sh_word *word, const char *names)
{
    size_t dashes = strspn(word->text, "-"), size = strcspn(word->text, "=");

    if (dashes == 0 || dashes > 2)
        return 0;
    for (; *names; names += strspn(names, " ")) {
        size_t length = strcspn(names, " ");

        if (length == size - dashes && strncmp(word->text + dashes, names, length) == 0)
            return size;
        names += length;
    }
    return 0;
}

bool nacre_sh_run_named(const struct sh_effect *effect, const struct sh_wrapper *wrapper)
{
    for (size_t i = 1; i < effect->count; i++) {
        const struct sh_word *word = effect->words[i], *text = NULL;
        size_t size = option_size(word, wrapper->longs);

        if (size == 0)
            continue;
        if (word->text[size] == '=')
            text = nacre_sh_word_rest(effect->parse, word, size + 1);
        else if (i + 1 < effect->count)
            text = effect->words[i + 1];
        else
            return true;
        if (!text || !nacre_sh_run_text(effect, text, false))
            return false;
    }
    return true;
}

/* ---- every operand ---- */

/* What is no option is a text, and so are these values. */
bool nacre_sh_hyperfine_option(const struct sh_effect *effect, char letter,
                               const struct sh_word *value)
{
    return (letter != '\0' && !strchr("spct", letter)) ||
           nacre_sh_run_text(effect, value, false);
}

bool nacre_sh_concurrently_option(const struct sh_effect *effect, char letter,
                                  const struct sh_word *value)
{
    return (letter != '\0' && letter != 'T') || nacre_sh_run_text(effect, value, false);
}
