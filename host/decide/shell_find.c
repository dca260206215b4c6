/*
 * What find and fd start.  Trusts nothing: a word that only the shell knows may be an
 * action of find, or end one, so what follows it is judged as if it were.
 */
#include <fnmatch.h>
#include <string.h>

#include "nacre/own.h"
#include "shell_wrappers.h"

#define UNKNOWN_MAX 32 /* words that only the shell knows */

static const char *const actions[] = { "-exec", "-execdir", "-ok", "-okdir" };

/* The word as a pattern: what only the shell knows is a '*'. */
static const char *pattern_of(const struct sh_effect *effect, const struct sh_word *word)
{
    char *pattern = nacre_sh_alloc(effect->parse, 2 * word->size + 1);
    size_t used = 0;

    for (size_t i = 0; pattern && i < word->size; i++) {
        unsigned char mark = word->marks[i];

        if (mark == NACRE_MARK_ANY || mark == NACRE_MARK_ONE) {
            if (used == 0 || pattern[used - 1] != '*')
                pattern[used++] = '*';
            continue;
        }
        if (mark < NACRE_MARK_ANY)
            pattern[used++] = '\\';
        pattern[used++] = word->text[i];
    }
    return pattern;
}

static bool may_be(const struct sh_effect *effect, const struct sh_word *word,
                   const char *text)
{
    const char *pattern;

    if (word->literal)
        return strcmp(word->text, text) == 0;
    pattern = pattern_of(effect, word);
    return !pattern || fnmatch(pattern, text, 0) == 0;
}

static bool may_act(const struct sh_effect *effect, const struct sh_word *word)
{
    for (size_t i = 0; i < NACRE_COUNT(actions); i++)
        if (may_be(effect, word, actions[i]))
            return true;
    return false;
}

/* {a,b} makes several words, none of which can be an action without a '-'. */
static bool is_plain_list(const struct sh_word *word)
{
    return !strpbrk(word->text, "$`-(") && !strstr(word->text, "..");
}

/* Words that may be any number of words could hold an action and its whole command. */
static bool check_words(const struct sh_effect *effect)
{
    unsigned unknown = 0;

    for (size_t i = 1; i < effect->count; i++) {
        const struct sh_word *word = effect->words[i];
        bool several = memchr(word->marks, NACRE_MARK_ANY, word->size) != NULL;
        bool glob = memchr(word->marks, NACRE_MARK_GLOB, word->size) != NULL;

        if (several && !is_plain_list(word))
            return SH_CANT(effect, word,
                           "what find starts can't be told: '%.40s' may be several "
                           "words; put it in double quotes",
                           word->text);
        if (glob && may_act(effect, word))
            return SH_CANT(effect, word,
                           "what find starts can't be told: a file that '%.40s' finds "
                           "may be named -exec; write ./ before it",
                           word->text);
        unknown += !word->literal;
    }
    if (unknown > UNKNOWN_MAX)
        return SH_CANT(effect, effect->words[0], "find has too many words that only the "
                                                 "shell knows");
    return true;
}

/* Where a command can end: ";", or "+" behind "{}". */
enum ending { ENDS_NOT, MAY_END, ENDS, ENDS_DOUBTFULLY };

static enum ending ending_at(const struct sh_effect *effect, size_t at)
{
    const struct sh_word *word = effect->words[at], *before = effect->words[at - 1];

    if (nacre_sh_word_is(word, ";"))
        return ENDS;
    if (nacre_sh_word_is(word, "+")) {
        if (nacre_sh_word_is(before, "{}"))
            return ENDS;
        return before->literal ? ENDS_DOUBTFULLY : MAY_END;
    }
    if (word->literal)
        return ENDS_NOT;
    return may_be(effect, word, ";") || may_be(effect, word, "+") ? MAY_END : ENDS_NOT;
}

/* All that the action at `at` could start, if it is one. */
static bool run_action(const struct sh_effect *effect, size_t at)
{
    size_t end = at + 1;

    for (; end < effect->count; end++) {
        enum ending ending = ending_at(effect, end);

        if (ending == ENDS_DOUBTFULLY)
            return SH_CANT(effect, effect->words[end],
                           "finds differ on whether this + ends a command");
        if (ending != ENDS_NOT &&
            !nacre_sh_run_replaced(effect, at + 1, end, "{}", NACRE_MARK_ANY))
            return false;
        if (ending == ENDS)
            return true;
    }
    /* Without an end find refuses; what is written out is judged all the same. */
    return !effect->words[at]->literal ||
           nacre_sh_run_replaced(effect, at + 1, end, "{}", NACRE_MARK_ANY);
}

/* ---- where the expression is ---- */

static bool takes_value(const struct sh_word *word)
{
    return nacre_sh_word_is_listed(
        word, "-name -iname -path -ipath -wholename -iwholename -lname -ilname -regex "
              "-iregex -regextype -type -xtype -size -perm -links -inum -samefile -mtime "
              "-atime -ctime -mmin -amin -cmin -newer -anewer -cnewer -newermt -user "
              "-group -uid -gid -fstype -maxdepth -mindepth -used -printf -fprint "
              "-fprint0 -fls");
}

static bool takes_nothing(const struct sh_word *word)
{
    return nacre_sh_word_is_listed(
        word, "( ) ! , -not -a -and -o -or -print -print0 -ls -delete -prune -quit "
              "-empty -depth -mount -xdev -follow -daystart -true -false -nouser "
              "-nogroup -readable -writable -executable -H -L -P");
}

/*
 * Neither an option nor an operator.  As a part of the expression find would refuse it
 * and start nothing, so it is a value or a starting point.
 */
static bool is_operand(const struct sh_word *word)
{
    return word->literal && word->size > 0 && !strchr("-(),!", word->text[0]);
}

/* Is the word behind words[at] a part of the expression for sure, if that one was? */
static bool goes_on(const struct sh_effect *effect, size_t at, bool part)
{
    if (is_operand(effect->words[at]))
        return !may_be(effect, effect->words[at - 1], "-fprintf");
    return part && takes_nothing(effect->words[at]);
}

/* If the action were another's value, the word behind it would be refused. */
static bool is_action(const struct sh_effect *effect, size_t at)
{
    return at + 1 < effect->count && is_operand(effect->words[at + 1]) &&
           !may_be(effect, effect->words[at - 1], "-fprintf");
}

bool nacre_sh_run_find(const struct sh_effect *effect)
{
    bool part = true;    /* the word is a part of the expression for sure */
    bool inside = false; /* it is within an action's command for sure */

    if (!check_words(effect))
        return false;
    for (size_t i = 1; i < effect->count; i++) {
        const struct sh_word *word = effect->words[i];

        if (inside) {
            enum ending ending = ending_at(effect, i);

            inside = ending == ENDS_NOT;
            part = ending == ENDS;
        } else if (may_act(effect, word)) {
            if (!run_action(effect, i))
                return false;
            inside = word->literal && (part || is_action(effect, i));
            part = false;
        } else if (part && takes_value(word)) {
            i++; /* whatever it is, it is no action */
        } else {
            part = goes_on(effect, i, part);
        }
    }
    return true;
}

/* ---- fd ---- */

/* Where a command begins in -x, --exec=... and their like; 0: it is none of them. */
static size_t fd_action(const struct sh_word *word)
{
    static const char *const names[] = { "--exec-batch", "--exec" };

    if (word->text[0] != '-')
        return 0;
    for (size_t i = 0; i < NACRE_COUNT(names); i++) {
        size_t size = strlen(names[i]);

        if (strncmp(word->text, names[i], size) == 0 &&
            (word->text[size] == '=' || word->size == size))
            return word->size == size ? size : size + 1;
    }
    if (word->text[1] == '-')
        return 0;
    for (size_t i = 1; i < word->size && !strchr("dEteSjco", word->text[i]); i++)
        if (strchr("xX", word->text[i]))
            return i + 1;
    return 0;
}

/* A word with {} or {/.} or their like is a path, and without any the last word is. */
static bool run_fd_action(const struct sh_effect *effect, size_t at, size_t size)
{
    const struct sh_word **words =
        nacre_sh_alloc(effect->parse, (effect->count + 2) * sizeof(*words));
    size_t count = 0;

    if (!words)
        return false;
    if (size < effect->words[at]->size) {
        words[0] = nacre_sh_word_rest(effect->parse, effect->words[at], size);
        if (!words[count++])
            return false;
    }
    while (++at < effect->count && !nacre_sh_word_is(effect->words[at], ";")) {
        const struct sh_word *word = effect->words[at];

        words[count] = !strchr(word->text, '{')
                           ? word
                           : nacre_sh_word_unknown(effect->parse, word->text,
                                                   NACRE_MARK_ANY, word->at);
        if (!words[count++])
            return false;
    }
    words[count] = nacre_sh_word_unknown(effect->parse, "...", NACRE_MARK_ANY,
                                         effect->words[0]->at);
    return words[count] && nacre_sh_run_words(effect, words, count + 1);
}

bool nacre_sh_run_fd(const struct sh_effect *effect)
{
    for (size_t i = 1; i < effect->count; i++) {
        size_t size = fd_action(effect->words[i]);

        if (size > 0 && !run_fd_action(effect, i, size))
            return false;
    }
    return true;
}
