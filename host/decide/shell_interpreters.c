/*
 * What a shell is given to run: a text, a file, or an input.  Trusts nothing: an option
 * that is read otherwise than the shell reads it makes another word the text.
 */
#include <stdio.h>
#include <string.h>

#include "nacre/own.h"
#include "nacre/path.h"
#include "shell_wrappers.h"

/* Options by which a shell reads its text otherwise: history, assignments anywhere. */
bool nacre_sh_changes_reading(const struct sh_word *word)
{
    return (word->size > 1 && strchr("-+", word->text[0]) && strpbrk(word->text, "Hk")) ||
           nacre_sh_word_is(word, "histexpand") || nacre_sh_word_is(word, "keyword");
}

static bool is_listed(const char *text, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, list[i]) == 0)
            return true;
    return false;
}

enum source { SOURCE_FILE, SOURCE_INPUT, SOURCE_UNKNOWN };

/*
 * Is the file the input, or another descriptor, or a process's own text?  Where a
 * relative path begins, and what a directory on the way is a link to, only the kernel
 * knows; so the last part alone is enough, if it is one that such files have.
 */
static enum source source_of(const char *path)
{
    static const char *const inputs[] = { "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0" };
    static const char *const names[] = { "stdin", "stdout",  "stderr",  "tty",  "ptmx",
                                         "kmsg",  "console", "environ", "comm",
                                         "cmdline" };
    char spelled[NACRE_PATH_MAX], normal[NACRE_PATH_MAX];
    const char *last;

    if (strcmp(path, "-") == 0)
        return SOURCE_INPUT;
    if (snprintf(spelled, sizeof(spelled), "/%s", path) >= (int)sizeof(spelled) ||
        !nacre_path_normalise(spelled, normal, sizeof(normal)))
        return SOURCE_UNKNOWN;
    if (path[0] == '/' && is_listed(normal, inputs, NACRE_COUNT(inputs)))
        return SOURCE_INPUT;
    if (path[0] == '/' && strcmp(normal, "/dev/null") != 0 &&
        !nacre_path_is_below(normal, "/dev/shm", NULL) &&
        (nacre_path_is_below(normal, "/dev", NULL) ||
         nacre_path_is_below(normal, "/proc", NULL)))
        return SOURCE_UNKNOWN;
    last = strrchr(normal, '/') + 1;
    if (is_listed(last, names, NACRE_COUNT(names)))
        return SOURCE_UNKNOWN;
    return last[0] && last[strspn(last, "0123456789:")] == '\0' ? SOURCE_UNKNOWN
                                                                : SOURCE_FILE;
}

bool nacre_sh_is_descriptor(const char *path)
{
    return source_of(path) != SOURCE_FILE;
}

/* What a shell reads when it is given neither a text nor a file. */
static bool run_input(const struct sh_effect *effect, bool bash)
{
    const struct sh_redirect *input = NULL;

    for (const struct sh_redirect *at = effect->command->redirects; at; at = at->next)
        if (at->fd == 0)
            input = at;
    if (input && strncmp(input->operator, "<<", 2) == 0)
        return nacre_sh_run_text(effect, input->body ? input->body : input->target, bash);
    if (input && input->target->literal && strcmp(input->operator, "<") == 0 &&
        source_of(input->target->text) == SOURCE_FILE)
        return true;
    return SH_CANT(effect, effect->words[0],
                   "%s reads its commands from an input that can't be known; give them "
                   "with -c or in a file",
                   effect->words[0]->text);
}

/* A file's text is not judged, for nobody can know it. */
static bool run_file(const struct sh_effect *effect, const struct sh_word *file,
                     bool bash)
{
    switch (source_of(file->text)) {
    case SOURCE_FILE:
        return true;
    case SOURCE_INPUT:
        return run_input(effect, bash);
    case SOURCE_UNKNOWN:
        break;
    }
    return SH_CANT(effect, file, "'%.40s' may be a descriptor, and what is read from it "
                                 "can't be known",
                   file->text);
}

/* Long options, which bash takes with one '-' as well. */
static bool is_long_option(const char *text, bool *ret_known)
{
    static const char *const plain[] = { "norc", "noprofile", "posix", "login",
                                         "restricted", "verbose", "noediting" };
    static const char *const others[] = { "rcfile", "init-file", "debug", "debugger",
                                          "help", "version", "protected", "wordexp",
                                          "dump-strings", "dump-po-strings",
                                          "pretty-print" };

    text += 1 + (text[1] == '-');
    *ret_known = true;
    if (is_listed(text, plain, NACRE_COUNT(plain)))
        return true;
    *ret_known = false;
    return is_listed(text, others, NACRE_COUNT(others));
}

/* One word of options.  *ret_end: it is none. */
static bool read_shell_option(const struct sh_effect *effect, size_t *at, bool *text,
                              bool *input, bool *ret_end)
{
    const struct sh_word *word = effect->words[*at];
    bool known;

    *ret_end = !word->literal || word->size < 2 ||
               (word->text[0] != '-' && word->text[0] != '+');
    if (*ret_end || (is_long_option(word->text, &known) && known))
        return true;
    if (is_long_option(word->text, &known) || nacre_sh_changes_reading(word) ||
        word->text[strspn(word->text + 1, "abcefhilmnoprstuvxBCEPTDO") + 1])
        return SH_CANT(effect, word, "option '%.40s' of %s is not known here", word->text,
                       effect->words[0]->text);
    *text |= strchr(word->text, 'c') != NULL; /* bash takes +c for -c */
    *input |= strchr(word->text, 's') != NULL;
    for (const char *letter = word->text; *letter; letter++) {
        if (*letter != 'o' && *letter != 'O')
            continue;
        if (++*at < effect->count && nacre_sh_changes_reading(effect->words[*at]))
            return SH_CANT(effect, word, "option '%.40s' changes what words mean",
                           effect->words[*at]->text);
    }
    return true;
}

bool nacre_sh_run_shell(const struct sh_effect *effect, bool bash)
{
    bool text = false, input = false, end = false;
    size_t at = 1;

    for (; at < effect->count; at++) {
        const struct sh_word *word = effect->words[at];

        if (nacre_sh_word_is(word, "--") || nacre_sh_word_is(word, "-")) {
            at++;
            break;
        }
        if (!read_shell_option(effect, &at, &text, &input, &end))
            return false;
        if (end)
            break;
    }
    if ((text || input) && !nacre_sh_none_hides(effect, at + text))
        return false;
    if (text)
        return at >= effect->count || nacre_sh_run_text(effect, effect->words[at], bash);
    if (at >= effect->count || input)
        return run_input(effect, bash);
    if (!effect->words[at]->literal)
        return SH_CANT(effect, effect->words[at],
                       "what %s runs is '%.40s', which only the shell knows",
                       effect->words[0]->text, effect->words[at]->text);
    return run_file(effect, effect->words[at], bash);
}

bool nacre_sh_run_source(const struct sh_effect *effect)
{
    const struct sh_word *file;
    size_t at = 1;

    if (effect->count > 2 && nacre_sh_word_is(effect->words[1], "--"))
        at = 2;
    if (effect->count <= at)
        return true;
    file = effect->words[at];
    if (!file->literal || (file->text[0] == '-' && file->size > 1))
        return SH_CANT(effect, file, "which file is run only the shell knows");
    return run_file(effect, file, effect->command->bash);
}

bool nacre_sh_run_trap(const struct sh_effect *effect)
{
    const struct sh_word *text = effect->count > 1 ? effect->words[1] : NULL;

    if (text && nacre_sh_word_is(text, "--"))
        text = effect->count > 2 ? effect->words[2] : NULL;
    if (!text || (text->literal && text->text[0] == '-'))
        return true;
    return nacre_sh_run_text(effect, text, effect->command->bash);
}
