/* Tokens of a shell text: operators, words, line ends.  Trusts nothing. */
#include <stdlib.h>
#include <string.h>

#include "shell_lex.h"

/* The longer before the shorter that they begin with. */
static const char *const operators[] = {
    ";;&", "<<<", "<<-", "&>>", "&&", "||", ";;", ";&", "|&", "<<", "<&", "<>",
    ">>",  ">&",  ">|",  "&>",  "<",  ">",  "(",  ")",  "|",  "&",  ";",
};

static void skip_blanks(struct sh_cursor *cursor)
{
    for (;;) {
        char here = nacre_sh_peek(cursor, 0);

        if (here == ' ' || here == '\t') {
            cursor->at++;
        } else if (here == '\\' && nacre_sh_peek(cursor, 1) == '\n') {
            cursor->at += 2;
        } else if (here == '#') {
            while (nacre_sh_peek(cursor, 0) && nacre_sh_peek(cursor, 0) != '\n')
                cursor->at++;
        } else {
            return;
        }
    }
}

static bool read_operator(struct sh_cursor *cursor, struct sh_token *token)
{
    const char *from = cursor->text + cursor->at;

    for (size_t i = 0; i < NACRE_COUNT(operators); i++) {
        size_t size = strlen(operators[i]);

        if (strncmp(from, operators[i], size) != 0)
            continue;
        /* A shell drops the line's end first and may see a longer operator. */
        if (from[size] == '\\' && from[size + 1] == '\n' && from[size + 2] &&
            strchr("&|;<>(\\-", from[size + 2]))
            return SH_PROBLEM(cursor, cursor->at, "an operator goes on in the next line");
        token->kind = SH_TOKEN_OPERATOR;
        token->operator = operators[i];
        cursor->at += size;
        return true;
    }
    return SH_PROBLEM(cursor, cursor->at, "a character that begins nothing");
}

/* A number right before < or > is the descriptor, {name} receives it. */
static bool read_descriptor(struct sh_cursor *cursor, struct sh_token *token)
{
    const struct sh_word *word = token->word;
    char next = nacre_sh_peek(cursor, 0);

    if ((next != '<' && next != '>') || !word->bare)
        return true;
    if (word->text[0] == '{' && word->text[word->size - 1] == '}')
        return SH_PROBLEM(cursor, token->at, "{name} before a redirection");
    if (word->size == 0 || strspn(word->text, "0123456789") != word->size)
        return true;
    /* To some shells it is a word before the redirection. */
    if (word->size > 1 && (word->size > 3 || !cursor->where.bash))
        return SH_PROBLEM(cursor, token->at, "shells differ on descriptors above 9");
    token->fd = atoi(word->text);
    token->word = NULL;
    return read_operator(cursor, token);
}

static bool read_token(struct sh_cursor *cursor, struct sh_token *token)
{
    char here;

    skip_blanks(cursor);
    here = nacre_sh_peek(cursor, 0);
    *token = (struct sh_token){ .operator = "", .fd = -1, .at = cursor->at };
    if (here == '\0') {
        if (cursor->pending_count > cursor->pending_outside)
            return SH_PROBLEM(cursor, cursor->at, "a here-document is not ended");
        token->kind = SH_TOKEN_END;
        return true;
    }
    if (here == '\n') {
        token->kind = SH_TOKEN_NEWLINE;
        cursor->at++;
        return nacre_sh_heredoc_read(cursor);
    }
    if (strchr("&;)", here) || (!cursor->pattern && strchr("|(", here)) ||
        ((here == '<' || here == '>') && nacre_sh_peek(cursor, 1) != '('))
        return read_operator(cursor, token);
    token->kind = SH_TOKEN_WORD;
    return nacre_sh_read_word(cursor, &token->word) && read_descriptor(cursor, token);
}

bool nacre_sh_token_peek(struct sh_cursor *cursor, struct sh_token **ret_token)
{
    if (cursor->token.kind == SH_TOKEN_NONE) {
        struct sh_token token;

        /* A word may hold commands, which use cursor->token meanwhile. */
        if (!read_token(cursor, &token))
            return false;
        cursor->token = token;
    }
    *ret_token = &cursor->token;
    return true;
}

void nacre_sh_token_take(struct sh_cursor *cursor)
{
    cursor->token.kind = SH_TOKEN_NONE;
}

bool nacre_sh_token_is(const struct sh_token *token, const char *operator)
{
    return token->kind == SH_TOKEN_OPERATOR && strcmp(token->operator, operator) == 0;
}

bool nacre_sh_token_is_word(const struct sh_token *token, const char *reserved)
{
    return token->kind == SH_TOKEN_WORD && token->word->bare &&
           strcmp(token->word->text, reserved) == 0;
}

bool nacre_sh_unexpected(struct sh_cursor *cursor, const struct sh_token *token)
{
    if (token->kind == SH_TOKEN_END)
        return SH_PROBLEM(cursor, token->at, "it ends too early");
    if (token->kind == SH_TOKEN_NEWLINE)
        return SH_PROBLEM(cursor, token->at, "a line ends too early");
    if (token->kind == SH_TOKEN_OPERATOR)
        return SH_PROBLEM(cursor, token->at, "'%s' is not expected", token->operator);
    return SH_PROBLEM(cursor, token->at, "'%.40s' is not expected", token->word->text);
}

bool nacre_sh_take_word(struct sh_cursor *cursor, struct sh_word **ret_word)
{
    struct sh_token *token;

    if (!nacre_sh_token_peek(cursor, &token))
        return false;
    if (token->kind != SH_TOKEN_WORD)
        return nacre_sh_unexpected(cursor, token);
    *ret_word = token->word;
    nacre_sh_token_take(cursor);
    return true;
}

bool nacre_sh_skip_newlines(struct sh_cursor *cursor, struct sh_token **ret_token)
{
    for (;;) {
        if (!nacre_sh_token_peek(cursor, ret_token))
            return false;
        if ((*ret_token)->kind != SH_TOKEN_NEWLINE)
            return true;
        nacre_sh_token_take(cursor);
    }
}
