/*
 * Builtins that set variables, and what they are set to.  Trusts nothing: a value may be
 * run later, by bash's arithmetic or by a program that is told what to run by it.
 */
#include <stdio.h>
#include <string.h>

#include "nacre/own.h"
#include "nacre/shell.h"
#include "shell_wrappers.h"

static bool hides(const struct sh_effect *effect, const struct sh_word *word)
{
    if (!nacre_sh_word_hides_command(word))
        return false;
    (void)SH_CANT(effect, word, "'%.40s' quotes what could be run later", word->text);
    return true;
}

bool nacre_sh_none_hides(const struct sh_effect *effect, size_t from)
{
    for (size_t i = from; i < effect->count; i++)
        if (hides(effect, effect->words[i]))
            return false;
    return true;
}

/* CC=gcc: the value as a command with words that come later. */
static bool run_tool(const struct sh_effect *effect, const struct sh_word *word,
                     const char *value)
{
    static const char later[] = " \"$@\"";
    size_t size = strlen(value) + sizeof(later);
    char *text = nacre_sh_alloc(effect->parse, size);
    struct sh_word *command;

    if (!text)
        return false;
    (void)snprintf(text, size, "%s%s", value, later);
    command = nacre_sh_word_literal(effect->parse, text, size - 1, word->at);
    return command && nacre_sh_run_text(effect, command, false);
}

/*
 * What Python and Node find there runs unjudged, as do the files that they are given; so
 * to refuse it would cost much and gain nothing.  A request may not set them: nobody sees
 * there which program it is for.
 */
static bool is_code_path(const char *text, size_t name_size)
{
    static const char *const names[] = { "PYTHONPATH", "NODE_PATH" };

    for (size_t i = 0; i < NACRE_COUNT(names); i++)
        if (strlen(names[i]) == name_size && memcmp(text, names[i], name_size) == 0)
            return true;
    return false;
}

bool nacre_sh_check_name(const struct sh_effect *effect, const struct sh_word *word,
                         size_t name_size, size_t value_at)
{
    static const char *const tables[] = { "aliases", "galiases", "saliases", "commands",
                                          "functions", "dis_functions" };
    char *text = nacre_sh_alloc(effect->parse, word->size + 3);
    struct sh_word rest = *word;
    const char *reason;

    if (!text)
        return false;
    memcpy(text, word->text, name_size);
    for (size_t i = 0; i < NACRE_COUNT(tables); i++)
        if (strcmp(text, tables[i]) == 0 && word->text[name_size] == '[')
            return SH_CANT(effect, word, "%s[ ] changes what a name means", text);
    text[name_size] = '=';
    if (value_at > 0 && word->literal)
        memcpy(text + name_size + 1, word->text + value_at, word->size - value_at);
    else
        text[name_size + 1] = '?'; /* unknown, so none that is harmless */
    reason = nacre_shell_environment_denied(text);
    if (reason && value_at > 0 && word->literal && nacre_sh_variable_is_tool(text))
        return run_tool(effect, word, text + name_size + 1);
    if (reason && !is_code_path(text, name_size))
        return SH_CANT(effect, word, "it sets %.*s, which %s", (int)name_size, text,
                       reason);
    rest.text += name_size;
    rest.marks += name_size;
    rest.size -= name_size;
    return !hides(effect, &rest);
}

bool nacre_sh_check_variable(const struct sh_effect *effect, const struct sh_word *word)
{
    size_t size = strcspn(word->text, "=[+");

    for (size_t i = 0; i < size; i++)
        if (word->marks[i] >= NACRE_MARK_ANY)
            return SH_CANT(effect, word,
                           "which variable '%.40s' sets only the shell knows",
                           word->text);
    if (strspn(word->text, SH_NAME) < size)
        return nacre_sh_check_name(effect, word, 0, 0); /* an option, an expression */
    return nacre_sh_check_name(effect, word, size,
                               word->text[size] == '=' ? size + 1 : 0);
}

static bool has_option(const struct sh_word *word, const char *letters)
{
    return word->size > 1 && word->text[0] == '-' && strpbrk(word->text + 1, letters);
}

bool nacre_sh_run_assign(const struct sh_effect *effect, const struct sh_wrapper *wrapper)
{
    struct sh_scan scan = { .operand = 1 };
    size_t end = effect->count;

    if (wrapper->shorts && !nacre_sh_scan(effect, wrapper, &scan))
        return false;
    if (scan.value['a'] && !nacre_sh_check_variable(effect, scan.value['a']))
        return false;
    if (wrapper->operands > 0 && end > wrapper->operands + 1)
        end = wrapper->operands + 1;
    for (size_t i = scan.operand; i < end; i++) {
        const struct sh_word *word = effect->words[i];

        if (wrapper->kind == SH_WRAPPER_DECLARE && has_option(word, "n"))
            return SH_CANT(effect, word, "%s -n makes a name stand for another",
                           wrapper->name);
        /* `export CC`: what it was set to has been judged. */
        if (!wrapper->shorts && wrapper->operands == 0 && word->literal &&
            nacre_sh_variable_is_tool(word->text) && !strchr(word->text, '='))
            continue;
        if (!nacre_sh_check_variable(effect, word))
            return false;
    }
    return nacre_sh_none_hides(effect, end);
}

/* wait -p NAME */
bool nacre_sh_run_wait(const struct sh_effect *effect, const struct sh_wrapper *wrapper)
{
    struct sh_scan scan;

    if (!nacre_sh_scan(effect, wrapper, &scan))
        return false;
    return !scan.value['p'] || nacre_sh_check_variable(effect, scan.value['p']);
}

bool nacre_sh_run_set(const struct sh_effect *effect)
{
    for (size_t i = 1; i < effect->count; i++) {
        if (nacre_sh_changes_reading(effect->words[i]))
            return SH_CANT(effect, effect->words[i], "'%.40s' changes what words mean",
                           effect->words[i]->text);
    }
    return nacre_sh_none_hides(effect, 1);
}

/* printf -v NAME makes a value of its words, in which escapes could hide a command. */
static bool run_printf_value(const struct sh_effect *effect, size_t name_at)
{
    for (size_t i = name_at + 1; i < effect->count; i++) {
        const struct sh_word *word = effect->words[i];

        for (size_t k = 0; k + 1 < word->size; k++)
            if (word->text[k] == '\\' && strchr("01234567xuU", word->text[k + 1]))
                return SH_CANT(effect, word, "what printf -v makes of '%.40s' could be "
                                             "run later",
                               word->text);
    }
    return name_at >= effect->count ||
           (nacre_sh_check_variable(effect, effect->words[name_at]) &&
            nacre_sh_none_hides(effect, name_at + 1));
}

bool nacre_sh_run_printf(const struct sh_effect *effect)
{
    for (size_t i = 1; i < effect->count; i++) {
        const struct sh_word *word = effect->words[i];

        if (word->text[0] != '-')
            break;
        if (!word->literal)
            return SH_CANT(effect, word, "which option '%.40s' is only the shell knows",
                           word->text);
        if (nacre_sh_word_is(word, "-v"))
            return run_printf_value(effect, i + 1);
        if (word->text[1] == 'v')
            return SH_CANT(effect, word, "leave a blank behind printf -v");
    }
    return true;
}

/* -v, and to some shells a comparison of numbers, evaluates its words. */
bool nacre_sh_run_test(const struct sh_effect *effect)
{
    for (size_t i = 1; i < effect->count; i++)
        if (nacre_sh_word_is_listed(effect->words[i], "-v -eq -ne -lt -le -gt -ge"))
            return nacre_sh_none_hides(effect, 1);
    return true;
}

bool nacre_sh_run_later(const struct sh_effect *effect, const struct sh_wrapper *wrapper)
{
    for (size_t i = 1; i < effect->count; i++) {
        const struct sh_word *word = effect->words[i];

        if (!word->literal || has_option(word, wrapper->shorts) ||
            (wrapper->shorts[0] == '=' && strchr(word->text, '=')))
            return SH_CANT(effect, word, "%s changes what later words mean",
                           wrapper->name);
        if (!nacre_sh_check_variable(effect, word))
            return false;
    }
    return true;
}

/* ---- values from elsewhere ---- */

/* What is read from a here-document can become a value. */
static bool check_redirects(const struct sh_effect *effect, bool documents)
{
    for (const struct sh_redirect *at = effect->command->redirects; at; at = at->next) {
        const struct sh_word *text = at->body;

        if (strcmp(at->operator, "<<<") == 0)
            text = at->target;
        else if (!documents)
            continue;
        if (text && hides(effect, text))
            return false;
    }
    return true;
}

/* For `read` alone, a builtin that splits what it reads and runs nothing: every shell takes
 * it back then.  Of a function with that name it would be true for its whole body. */
static bool is_for_read(const struct sh_effect *effect, const struct sh_word *assignment)
{
    const struct sh_command *command = effect->command;

    return assignment->name_size == 3 && memcmp(assignment->text, "IFS", 3) == 0 &&
           assignment->text[3] == '=' && command->count > 0 &&
           nacre_sh_word_is_listed(command->words[0], "read mapfile readarray") &&
           !nacre_sh_function_find(effect->parse, command->words[0]);
}

bool nacre_sh_check_values(const struct sh_effect *effect)
{
    const struct sh_command *command = effect->command;
    bool reads = command->count == 0; /* a compound command, which may hold a read */

    for (size_t i = 0; i < command->count; i++)
        reads |= nacre_sh_word_is_listed(command->words[i], "read mapfile readarray");
    for (const struct sh_word *word = command->assignments; word; word = word->next)
        if (!is_for_read(effect, word) &&
            !nacre_sh_check_name(effect, word, word->name_size, word->value_at))
            return false;
    return check_redirects(effect, reads);
}

bool nacre_sh_check_calls(struct sh_parse *parse)
{
    if (!parse->functions)
        return true;
    for (struct sh_command *at = parse->commands; at; at = at->next)
        for (const struct sh_form *form = at->forms; form; form = form->next) {
            const struct sh_effect effect = { .parse = parse,
                                              .command = at,
                                              .words = form->words,
                                              .count = form->count };

            const struct sh_function *function =
                nacre_sh_function_find(parse, form->words[0]);

            if (function && (!nacre_sh_none_hides(&effect, 1) ||
                             !check_redirects(&effect, true) ||
                             !nacre_sh_started_add(parse, at, function->bodies)))
                return false;
        }
    return true;
}
