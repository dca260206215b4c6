/*
 * Programs that have a command somewhere among their words: git behind its own options,
 * and launchers with more options than are known here.  Trusts nothing.
 */
#include <string.h>

#include "nacre/own.h"
#include "shell_wrappers.h"

#define LAUNCHER_WORDS_MAX 256

/* ---- git ---- */

/* Settings that name a command, or make one. */
static bool is_git_setting(const struct sh_word *word, size_t from)
{
    static const char *const names[] = { "alias.",         "core.sshcommand",
                                         "core.hookspath", "core.fsmonitor",
                                         "core.editor",    "core.gitproxy",
                                         "diff.external",  "sequence.editor" };

    for (size_t i = 0; i < NACRE_COUNT(names); i++)
        if (strncasecmp(word->text + from, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* -c NAME=VALUE, of which there may be several. */
static bool check_git_settings(const struct sh_effect *effect, size_t end)
{
    for (size_t i = 1; i < end; i++) {
        const struct sh_word *word = effect->words[i];
        bool is_apart = nacre_sh_word_is(word, "-c") && i + 1 < end;
        const struct sh_word *setting = is_apart ? effect->words[i + 1] : word;
        size_t from = is_apart ? 0 : 2;

        if (strncmp(word->text, "--config-env", 12) == 0)
            return SH_CANT(effect, word, "what git sets by it only the shell knows");
        if (strncmp(word->text, "-c", 2) != 0)
            continue;
        if (is_git_setting(setting, from))
            return SH_CANT(effect, setting, "'%.40s' makes git run something",
                           setting->text + from);
        for (size_t k = from; k < setting->size && setting->text[k] != '='; k++)
            if (setting->marks[k] >= NACRE_MARK_ANY)
                return SH_CANT(effect, setting, "what git sets by it only the shell knows");
        i += is_apart;
    }
    return true;
}

/* `git -C x push` and `git-push` are `git push` to a rule. */
bool nacre_sh_run_git(const struct sh_effect *effect, const struct sh_wrapper *wrapper)
{
    const char *slash = strrchr(effect->words[0]->text, '/');
    const char *name = slash ? slash + 1 : effect->words[0]->text;
    bool dashed = strncmp(name, "git-", 4) == 0;
    const struct sh_word **words;
    struct sh_scan scan = { .operand = 1 };
    size_t count = 0;

    if (!dashed && !nacre_sh_scan(effect->parse, wrapper, effect->words, effect->count,
                                  &scan))
        return false;
    if (!dashed && !check_git_settings(effect, scan.operand))
        return false;
    if (!dashed && scan.operand == 1)
        return true;
    words = nacre_sh_alloc(effect->parse, (effect->count + 2) * sizeof(*words));
    if (!words)
        return false;
    words[count++] = nacre_sh_word_literal(effect->parse, "git", 3, effect->words[0]->at);
    if (dashed)
        words[count++] = nacre_sh_word_literal(effect->parse, name + 4, strlen(name + 4),
                                               effect->words[0]->at);
    if (!words[0] || !words[count - 1])
        return false;
    for (size_t i = scan.operand; i < effect->count; i++)
        words[count++] = effect->words[i];
    return nacre_sh_run_words(effect, words, count);
}

/* ---- launchers ---- */

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
