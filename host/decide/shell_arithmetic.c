/*
 * What arithmetic sets.  Trusts nothing: bash evaluates the value of each variable that
 * an expression names, so any text may turn out to be one.
 */
#include <stdio.h>
#include <string.h>

#include "nacre/shell.h"
#include "shell_parse.h"

#define BLANKS " \t\n"
#define SUBSCRIPT_MAX 512 /* bytes; a longer one is in doubt */

static bool is_one_of(char character, const char *set)
{
    return character != '\0' && strchr(set, character) != NULL;
}

/* ---- operators and names ---- */

/* Is there an operator at `at` that assigns?  *ret_left: where its left side ends. */
static bool assigns_at(const char *text, size_t at, size_t size, size_t *ret_left)
{
    char before = at > 0 ? text[at - 1] : '\0';
    char after = at + 1 < size ? text[at + 1] : '\0';

    *ret_left = at;
    if (is_one_of(text[at], "+-") && after == text[at])
        return true;
    if (text[at] != '=' || after == '=' || is_one_of(before, "=!"))
        return false;
    if (is_one_of(before, "<>")) { /* <<= assigns, <= compares */
        *ret_left = at - 1 - (at > 1);
        return at > 1 && text[at - 2] == before;
    }
    if (is_one_of(before, "+-*/%&^|"))
        *ret_left = at - 1;
    return true;
}

/* *at: where the subscript that ends there begins, if there is one.  False when that is
 * not known: it is too long, or its brackets are not all brackets. */
static bool skip_subscript(const char *text, size_t *at)
{
    size_t start = *at, open = 0;

    if (start == 0 || text[start - 1] != ']')
        return true;
    do {
        start--;
        if (is_one_of(text[start], "{}'\"\\`"))
            return false;
        open += text[start] == ']';
        open -= text[start] == '[';
    } while (open > 0 && start > 0 && *at - start < SUBSCRIPT_MAX);
    if (open == 0)
        *at = start;
    return open == 0;
}

/* Where the name on the left side begins.  *ret_size: of the name, 0: none.  False when
 * it is not looked for that far. */
static bool name_before(const char *text, size_t left, size_t *ret_name, size_t *ret_size)
{
    size_t end = left, at;

    while (end > 0 && is_one_of(text[end - 1], BLANKS))
        end--;
    if (!skip_subscript(text, &end))
        return false;
    at = end;
    while (at > 0 && is_one_of(text[at - 1], SH_NAME))
        at--;
    *ret_name = at;
    *ret_size = end - at;
    return true;
}

/* A tool's name stands for a program; the number that it would be set to is none. */
static bool is_guarded(const char *text, size_t size)
{
    char name[64];

    (void)snprintf(name, sizeof(name), "%.*s", (int)size, text);
    return size > 0 && nacre_shell_environment_denied(name) &&
           !nacre_sh_variable_is_tool(name);
}

/* ---- arithmetic as it is written ---- */

bool nacre_sh_arithmetic_is_known(const char *text, size_t size)
{
    for (size_t at = 0; at < size; at++) {
        size_t left, name_size, name, next = at + 2;

        if (!assigns_at(text, at, size, &left))
            continue;
        if (!name_before(text, left, &name, &name_size) ||
            is_guarded(text + name, name_size) ||
            (name > 0 && is_one_of(text[name - 1], "$}`")) ||
            (name_size == 0 && name > 0 && text[name - 1] == ')' && text[at] == '='))
            return false;
        if (text[at] == '=')
            continue;
        while (next < size && is_one_of(text[next], BLANKS)) /* ++NAME */
            next++;
        if (next < size &&
            (is_guarded(text + next, strspn(text + next, SH_NAME)) ||
             (name_size == 0 && text[next] == '$')))
            return false;
        at++;
    }
    return true;
}

/* ---- words that may become arithmetic ---- */

/* A glob's text is that of a subscript, too. */
static bool is_text(const struct sh_word *word, size_t at)
{
    return word->marks[at] != NACRE_MARK_ANY && word->marks[at] != NACRE_MARK_ONE;
}

/* `export PATH=x` and PATH=/x are no expressions, and what lines of files are made of. */
static bool is_expression(const struct sh_word *word, size_t name, size_t at)
{
    size_t before = name;

    while (before > 0 && is_one_of(word->text[before - 1], BLANKS))
        before--;
    if (before > 0 && before < name && is_one_of(word->text[before - 1], SH_NAME))
        return false;
    return word->text[at] != '=' || at + 1 >= word->size ||
           !is_text(word, at + 1) || !is_one_of(word->text[at + 1], "/.~\"'");
}

bool nacre_sh_word_sets_guarded(const struct sh_word *word)
{
    for (size_t at = 0; at < word->size; at++) {
        size_t left, size, name;

        if (!is_text(word, at) || !assigns_at(word->text, at, word->size, &left))
            continue;
        if (!name_before(word->text, left, &name, &size))
            return true;
        if (size > 0 && is_text(word, name) && is_guarded(word->text + name, size) &&
            is_expression(word, name, at))
            return true;
    }
    return false;
}
