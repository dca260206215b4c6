/*
 * What a simple command really starts.  Trusts nothing: a word that only the shell will
 * know must not be where a program, an option or a text is expected.
 */
#include <string.h>

#include "nacre/own.h"
#include "nacre/path.h"
#include "nacre/shell.h"
#include "shell_wrappers.h"

#define WRAPPERS_MAX 16 /* around one program */

/* ---- texts ---- */

bool nacre_sh_run_text(const struct sh_effect *effect, const struct sh_word *text,
                       bool bash)
{
    struct sh_command *before = effect->parse->last_command;
    struct sh_where where = {
        .inside = true,
        .at = text->at,
        .depth = effect->command->depth + effect->wrapped + 1,
        .bash = bash,
    };

    if (!text->literal)
        return SH_CANT(effect, text,
                       "%s is given a text that only the shell knows; write it out in "
                       "single quotes",
                       effect->words[0]->text);
    return nacre_sh_parse_text(effect->parse, text->text, &where) &&
           nacre_sh_started_add(effect->parse, effect->command,
                                nacre_sh_range_add(effect->parse, before));
}

bool nacre_sh_run_joined(const struct sh_effect *effect, size_t from, bool bash)
{
    size_t size = 0, used = 0;
    struct sh_word *joined;
    char *text;

    for (size_t i = from; i < effect->count; i++) {
        if (!effect->words[i]->literal)
            return nacre_sh_run_text(effect, effect->words[i], bash);
        size += effect->words[i]->size + 1;
    }
    text = nacre_sh_alloc(effect->parse, size + 1);
    if (!text)
        return false;
    for (size_t i = from; i < effect->count; i++) {
        memcpy(text + used, effect->words[i]->text, effect->words[i]->size);
        used += effect->words[i]->size;
        text[used++] = ' ';
    }
    joined = nacre_sh_word_literal(effect->parse, text, used, effect->words[from]->at);
    return joined && nacre_sh_run_text(effect, joined, bash);
}

/* ---- wrappers ---- */

static bool is_assignment(const struct sh_word *word)
{
    size_t equals = strcspn(word->text, "=");

    if (word->text[equals] != '=' || equals == 0)
        return false;
    for (size_t i = 0; i < equals; i++)
        if (word->marks[i] >= NACRE_MARK_ANY)
            return false;
    return true;
}

bool nacre_sh_starts_shell(const struct sh_effect *effect)
{
    return SH_CANT(effect, effect->words[0],
                   "%s starts a shell whose commands can't be known; give it a command",
                   effect->words[0]->text);
}

/* Behind options: operands and assignments.  *ret_from: where the command begins. */
static bool skip_operands(const struct sh_effect *effect,
                          const struct sh_wrapper *wrapper, size_t from,
                          size_t *ret_from)
{
    for (unsigned i = 0; i < wrapper->operands && from < effect->count; i++, from++) {
        const struct sh_word *word = effect->words[from];

        if (word->size > 0 && word->marks[0] >= NACRE_MARK_ANY && !wrapper->permutes)
            return SH_CANT(effect, word,
                           "what %s starts can't be told: '%.40s' is not literal",
                           effect->words[0]->text, word->text);
    }
    while (wrapper->assignments && from < effect->count &&
           (is_assignment(effect->words[from]) ||
            nacre_sh_word_is(effect->words[from], "-"))) {
        if (!nacre_sh_check_variable(effect, effect->words[from]))
            return false;
        from++;
    }
    *ret_from = from;
    return true;
}

static bool run_wrapper(const struct sh_effect *effect, const struct sh_wrapper *wrapper)
{
    struct sh_scan scan;
    size_t from = 0;

    if (!nacre_sh_scan(effect, wrapper, &scan))
        return false;
    if (wrapper->kind == SH_WRAPPER_TEXT && scan.value['c'])
        return nacre_sh_run_text(effect, scan.value['c'], false);
    if (!skip_operands(effect, wrapper, scan.operand, &from))
        return false;
    if (from >= effect->count)
        return !wrapper->starts_shell || nacre_sh_starts_shell(effect);
    if (wrapper->kind == SH_WRAPPER_TEXT && from + 1 < effect->count &&
        (nacre_sh_word_is(effect->words[from], "-c") ||
         nacre_sh_word_is(effect->words[from], "--command")))
        return nacre_sh_run_text(effect, effect->words[from + 1], false);
    if (wrapper->kind == SH_WRAPPER_JOIN && !scan.seen['x'])
        return nacre_sh_run_joined(effect, from,
                                   effect->command->bash &&
                                       strcmp(wrapper->name, "eval") == 0);
    return nacre_sh_run_words(effect, effect->words + from, effect->count - from);
}

/* env -S: a string that env takes apart by rules of its own; only plain ones are read. */
static bool run_split(const struct sh_effect *effect, const struct sh_word *text,
                      size_t from)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789 /._-=:,+@%";
    const struct sh_word **words =
        nacre_sh_alloc(effect->parse, (text->size + effect->count) * sizeof(*words));
    size_t count = 0;

    if (!words)
        return false;
    if (!text->literal || text->text[strspn(text->text, plain)])
        return SH_CANT(effect, text, "env -S is given more than plain words");
    words[count++] = effect->words[0];
    for (const char *at = text->text + strspn(text->text, " "); *at;) {
        size_t size = strcspn(at, " ");

        words[count] = nacre_sh_word_literal(effect->parse, at, size, text->at);
        if (!words[count++])
            return false;
        at += size;
        at += strspn(at, " ");
    }
    for (; from < effect->count; from++)
        words[count++] = effect->words[from];
    return nacre_sh_run_words(effect, words, count);
}

static bool run_env(const struct sh_effect *effect, const struct sh_wrapper *wrapper)
{
    struct sh_scan scan;

    if (!nacre_sh_scan(effect, wrapper, &scan))
        return false;
    if (scan.value['S'])
        return run_split(effect, scan.value['S'], scan.operand);
    return run_wrapper(effect, wrapper);
}

/* `word` with an expansion wherever it says `name`. */
static const struct sh_word *replaced(const struct sh_effect *effect,
                                      const struct sh_word *word, const char *name,
                                      enum nacre_mark mark)
{
    struct sh_word *copy = nacre_sh_alloc(effect->parse, sizeof(*copy));
    unsigned char *marks = nacre_sh_alloc(effect->parse, word->size + 1);
    size_t size = strlen(name);

    if (!copy || !marks)
        return NULL;
    *copy = *word;
    memcpy(marks, word->marks, word->size);
    copy->marks = marks;
    for (const char *at = strstr(word->text, name); at; at = strstr(at + size, name)) {
        memset(marks + (at - word->text), (int)mark, size);
        copy->literal = false;
    }
    return copy;
}

bool nacre_sh_run_replaced(const struct sh_effect *effect, size_t from, size_t to,
                           const char *name, enum nacre_mark mark)
{
    const struct sh_word **words =
        nacre_sh_alloc(effect->parse, (to - from + 1) * sizeof(*words));
    size_t count = 0;

    if (!words)
        return false;
    for (; from < to; from++) {
        words[count] = replaced(effect, effect->words[from], name, mark);
        if (!words[count++])
            return false;
    }
    return nacre_sh_run_words(effect, words, count);
}

static bool run_xargs(const struct sh_effect *effect, const struct sh_wrapper *wrapper)
{
    const struct sh_word **words;
    const struct sh_word *name;
    struct sh_scan scan;
    size_t count;

    if (!nacre_sh_scan(effect, wrapper, &scan))
        return false;
    if (scan.operand >= effect->count)
        return true; /* echo */
    if (scan.seen['I'] || scan.seen['i']) {
        name = scan.value['I'] ? scan.value['I'] : scan.value['i'];
        if (name && (!name->literal || name->size == 0))
            return SH_CANT(effect, name, "what xargs replaces only the shell knows");
        return nacre_sh_run_replaced(effect, scan.operand, effect->count,
                                     name ? name->text : "{}", NACRE_MARK_ONE);
    }
    count = effect->count - scan.operand;
    words = nacre_sh_alloc(effect->parse, (count + 1) * sizeof(*words));
    if (!words)
        return false;
    memcpy(words, effect->words + scan.operand, count * sizeof(*words));
    words[count] = nacre_sh_word_unknown(effect->parse, "...", NACRE_MARK_ANY,
                                         effect->words[0]->at);
    return words[count] && nacre_sh_run_words(effect, words, count + 1);
}

/* ---- all of them ---- */

static bool run_kind(const struct sh_effect *effect, const struct sh_wrapper *wrapper)
{
    struct sh_scan scan;

    switch (wrapper->kind) {
    case SH_WRAPPER_RUN:
    case SH_WRAPPER_TEXT:
    case SH_WRAPPER_JOIN:
        return run_wrapper(effect, wrapper);
    case SH_WRAPPER_ENV:
        return run_env(effect, wrapper);
    case SH_WRAPPER_XARGS:
        return run_xargs(effect, wrapper);
    case SH_WRAPPER_FIND:
        return nacre_sh_run_find(effect);
    case SH_WRAPPER_GIT:
        return nacre_sh_run_git(effect, wrapper);
    case SH_WRAPPER_AMONG:
        return nacre_sh_run_among(effect, wrapper);
    case SH_WRAPPER_SSH:
        return nacre_sh_run_ssh(effect, wrapper);
    case SH_WRAPPER_RSYNC:
        return nacre_sh_run_rsync(effect);
    case SH_WRAPPER_FD:
        return nacre_sh_run_fd(effect);
    case SH_WRAPPER_OPTIONS:
        return nacre_sh_scan(effect, wrapper, &scan);
    case SH_WRAPPER_NAMED:
        return nacre_sh_run_named(effect, wrapper);
    case SH_WRAPPER_SHELL:
    case SH_WRAPPER_BASH:
        return nacre_sh_run_shell(effect, wrapper->kind == SH_WRAPPER_BASH);
    case SH_WRAPPER_SOURCE:
        return nacre_sh_run_source(effect);
    case SH_WRAPPER_TRAP:
        return nacre_sh_run_trap(effect);
    case SH_WRAPPER_ASSIGN:
    case SH_WRAPPER_DECLARE:
        return nacre_sh_run_assign(effect, wrapper);
    case SH_WRAPPER_WAIT:
        return nacre_sh_run_wait(effect, wrapper);
    case SH_WRAPPER_SET:
        return nacre_sh_run_set(effect);
    case SH_WRAPPER_PRINTF:
        return nacre_sh_run_printf(effect);
    case SH_WRAPPER_TEST:
        return nacre_sh_run_test(effect);
    case SH_WRAPPER_LATER:
        return nacre_sh_run_later(effect, wrapper);
    case SH_WRAPPER_LIST:
        if (!nacre_sh_scan(effect, wrapper, &scan))
            return false;
        if (scan.seen['l'] && scan.operand == effect->count)
            return true;
        break;
    case SH_WRAPPER_REFUSE:
    case SH_WRAPPER_NONE:
        break;
    }
    return SH_CANT(effect, effect->words[0], "what %s starts can't be told; %s",
                   effect->words[0]->text,
                   wrapper->instead ? wrapper->instead
                                    : "give the command by itself, which can be judged");
}

/* /proc/self/exe is the shell itself, and fd/3 any program that was opened. */
static bool is_kernel_link(const char *program)
{
    const char *slash = strrchr(program, '/');
    char path[NACRE_PATH_MAX];

    if (slash && (strcmp(slash, "/exe") == 0 || strcmp(slash, "/stdin") == 0 ||
                  strcmp(slash, "/stdout") == 0 || strcmp(slash, "/stderr") == 0 ||
                  (slash[1] && slash[1 + strspn(slash + 1, "0123456789")] == '\0')))
        return true;
    return program[0] == '/' && (!nacre_path_normalise(program, path, sizeof(path)) ||
                                 nacre_path_is_below(path, "/proc", NULL) ||
                                 nacre_path_is_below(path, "/dev", NULL));
}

/*
 * "$HOME/.cargo/bin/cargo" is a cargo to rules, and one that names a path is asked about
 * the whole word.  Behind a wrapper it could be an option or an assignment instead.
 */
static bool name_program(const struct sh_effect *around,
                         const struct sh_word *const **words, size_t count)
{
    const char *name = nacre_sh_program_name(**words);
    const struct sh_word **named;

    if (!name || around->parse->programs_written_out || around->wrapped > 0)
        return true;
    named = nacre_sh_alloc(around->parse, count * sizeof(*named));
    if (!named)
        return false;
    memcpy(named, *words, count * sizeof(*named));
    named[0] = nacre_sh_word_literal(around->parse, name, strlen(name), (**words)->at);
    *words = named;
    return named[0] != NULL;
}

bool nacre_sh_run_words(const struct sh_effect *around,
                        const struct sh_word *const *words, size_t count)
{
    struct sh_effect effect = *around;
    const struct sh_word *program = count > 0 ? words[0] : NULL;
    const struct sh_wrapper *wrapper;
    struct sh_form *form;
    const char *slash;

    if (count == 0)
        return true;
    effect.words = words;
    effect.count = count;
    if (++effect.wrapped > WRAPPERS_MAX)
        return SH_CANT(&effect, program, "too many programs start one another");
    if (is_kernel_link(program->text))
        return SH_CANT(&effect, program,
                       "which program '%.40s' is only the kernel knows", program->text);
    if (!name_program(around, &words, count))
        return false;
    effect.words = words;
    program = words[0];
    /* "=name" is a program's path to zsh. */
    if (!program->literal || program->text[0] == '=')
        return SH_CANT(&effect, program,
                       "the program is '%.40s', which only the shell knows; write it out",
                       program->text);
    form = nacre_sh_alloc(effect.parse, sizeof(*form));
    if (!form)
        return false;
    *form = (struct sh_form){ .words = words,
                              .count = count,
                              .next = effect.command->forms };
    effect.command->forms = form;
    slash = strrchr(program->text, '/');
    wrapper = nacre_sh_wrapper_find(slash ? slash + 1 : program->text);
    return !wrapper || run_kind(&effect, wrapper);
}

bool nacre_sh_effects(struct sh_parse *parse, struct sh_command *command)
{
    const struct sh_effect effect = { .parse = parse, .command = command };

    return nacre_sh_check_values(&effect) &&
           nacre_sh_run_words(&effect, command->words, command->count);
}
