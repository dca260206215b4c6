/*
 * Simple commands: assignments, words, redirections.  Trusts nothing.
 */
#include <string.h>

#include "shell_lex.h"

void nacre_sh_simple_init(struct sh_simple *simple, size_t at)
{
    *simple = (struct sh_simple){ .at = at };
    simple->words_end = &simple->words;
    simple->assignments_end = &simple->assignments;
    simple->redirects_end = &simple->redirects;
}

void nacre_sh_simple_add(struct sh_simple *simple, struct sh_word *word)
{
    *simple->words_end = word;
    simple->words_end = &word->next;
    simple->count++;
}

bool nacre_sh_simple_finish(struct sh_cursor *cursor, const struct sh_simple *simple)
{
    struct sh_where where = cursor->where;
    const struct sh_word **words =
        nacre_sh_alloc(cursor->parse, (simple->count + 1) * sizeof(const char *));
    struct sh_command *command;
    size_t i = 0;

    if (!words)
        return false;
    for (const struct sh_word *word = simple->words; word; word = word->next)
        words[i++] = word;
    where.at = nacre_sh_place(cursor, simple->at);
    command = nacre_sh_command_add(cursor->parse, words, simple->count, &where);
    if (!command)
        return false;
    command->assignments = simple->assignments;
    command->redirects = simple->redirects;
    return true;
}

bool nacre_sh_token_redirects(const struct sh_token *token)
{
    return token->kind == SH_TOKEN_OPERATOR &&
           (strchr("<>", token->operator[0]) || strncmp(token->operator, "&>", 2) == 0);
}

bool nacre_sh_read_redirection(struct sh_cursor *cursor, struct sh_simple *simple)
{
    struct sh_redirect *redirect = nacre_sh_alloc(cursor->parse, sizeof(*redirect));
    struct sh_token *token;
    struct sh_word *target;
    size_t start;

    if (!redirect || !nacre_sh_token_peek(cursor, &token))
        return false;
    redirect->operator = token->operator;
    redirect->fd = token->fd >= 0 ? token->fd : token->operator[0] == '<' ? 0 : 1;
    redirect->at = token->at;
    nacre_sh_token_take(cursor);
    start = cursor->at;
    if (!nacre_sh_take_word(cursor, &target))
        return false;
    redirect->target = target;
    *simple->redirects_end = redirect;
    simple->redirects_end = &redirect->next;
    if (redirect->operator[0] == '&' && !cursor->where.bash)
        simple->ended = true;
    if (strcmp(redirect->operator, "<<") == 0 || strcmp(redirect->operator, "<<-") == 0)
        return nacre_sh_heredoc_add(cursor, redirect, start);
    return true;
}

/* Behind NAME=( to behind the ")". */
static bool read_array(struct sh_cursor *cursor)
{
    struct sh_token *token;

    cursor->at++;
    for (;;) {
        if (!nacre_sh_token_peek(cursor, &token))
            return false;
        if (nacre_sh_token_is(token, ")"))
            break;
        if (token->kind != SH_TOKEN_WORD && token->kind != SH_TOKEN_NEWLINE)
            return nacre_sh_unexpected(cursor, token);
        if (token->kind == SH_TOKEN_WORD && nacre_sh_word_hides_command(token->word))
            return SH_PROBLEM(cursor, token->at,
                              "an array holds what could be run later");
        nacre_sh_token_take(cursor);
    }
    nacre_sh_token_take(cursor);
    return true;
}

static bool declares(const struct sh_simple *simple)
{
    static const char *const names[] = { "declare", "typeset", "local", "export",
                                         "readonly" };

    for (size_t i = 0; simple->words && i < NACRE_COUNT(names); i++)
        if (nacre_sh_word_is(simple->words, names[i]))
            return true;
    return false;
}

bool nacre_sh_read_simple_word(struct sh_cursor *cursor, struct sh_simple *simple)
{
    struct sh_word *word;
    size_t start = cursor->token.at;

    if (!nacre_sh_take_word(cursor, &word))
        return false;
    if (simple->ended)
        return SH_PROBLEM(cursor, start,
                          "a word behind &> is a command of its own to some shells; put "
                          "the redirection last");
    if (word->name_size > 0 && word->value_at == word->size &&
        nacre_sh_peek(cursor, 0) == '(' && (simple->count == 0 || declares(simple)) &&
        !read_array(cursor))
        return false;
    if (simple->count == 0 && word->name_size > 0) {
        *simple->assignments_end = word;
        simple->assignments_end = &word->next;
        return true;
    }
    /* Bash reads on to the "]=", past blanks and operators. */
    if (simple->count == 0 && !word->name_size && strchr(word->text, '[') &&
        strcspn(word->text, "[") > 0 && !strchr(word->text, ']'))
        return SH_PROBLEM(cursor, start, "shells differ on where this word ends");
    nacre_sh_simple_add(simple, word);
    return true;
}

/* `simple` may hold words already. */
bool nacre_sh_read_simple(struct sh_cursor *cursor, struct sh_simple *simple)
{
    struct sh_token *token;

    for (;;) {
        if (!nacre_sh_token_peek(cursor, &token))
            return false;
        if (nacre_sh_token_redirects(token)) {
            if (!nacre_sh_read_redirection(cursor, simple))
                return false;
        } else if (token->kind == SH_TOKEN_WORD) {
            if (!nacre_sh_read_simple_word(cursor, simple))
                return false;
        } else if (nacre_sh_token_is(token, "(") && simple->count == 1 &&
                   !simple->assignments && !simple->redirects) {
            if (!simple->words->literal)
                return nacre_sh_unexpected(cursor, token);
            nacre_sh_token_take(cursor);
            return nacre_sh_read_function_body(cursor, simple->words, true);
        } else {
            break;
        }
    }
    if (simple->count == 0 && !simple->assignments && !simple->redirects)
        return nacre_sh_unexpected(cursor, token);
    return nacre_sh_simple_finish(cursor, simple);
}
