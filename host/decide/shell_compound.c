/*
 * Compound commands: groups, conditions, loops, functions.  Trusts nothing.  Where the
 * shell that will run a text is not known, a construct that sh and bash read in
 * different ways is read in both, or is a problem.
 */
#include <string.h>

#include "nacre/shell.h"
#include "shell_lex.h"

static bool expect_word(struct sh_cursor *cursor, const char *reserved)
{
    struct sh_token *token;

    if (!nacre_sh_token_peek(cursor, &token))
        return false;
    if (!nacre_sh_token_is_word(token, reserved))
        return nacre_sh_unexpected(cursor, token);
    nacre_sh_token_take(cursor);
    return true;
}

/* A list that may not be empty, and the word behind it. */
static bool read_block(struct sh_cursor *cursor, const char *closer)
{
    struct sh_token *token;
    bool some;

    if (!nacre_sh_read_list(cursor, &some) || !nacre_sh_token_peek(cursor, &token))
        return false;
    if (!some)
        return nacre_sh_unexpected(cursor, token);
    return !closer || expect_word(cursor, closer);
}

static bool read_if(struct sh_cursor *cursor)
{
    struct sh_token *token;

    for (;;) {
        if (!read_block(cursor, "then") || !read_block(cursor, NULL) ||
            !nacre_sh_token_peek(cursor, &token))
            return false;
        if (!nacre_sh_token_is_word(token, "elif"))
            break;
        nacre_sh_token_take(cursor);
    }
    if (nacre_sh_token_is_word(token, "else")) {
        nacre_sh_token_take(cursor);
        return read_block(cursor, "fi");
    }
    return expect_word(cursor, "fi");
}

static bool read_loop(struct sh_cursor *cursor)
{
    return read_block(cursor, "do") && read_block(cursor, "done");
}

/* The words behind "in", up to the end of the line or a semicolon. */
static bool read_for_words(struct sh_cursor *cursor)
{
    struct sh_token *token;

    for (;;) {
        if (!nacre_sh_token_peek(cursor, &token))
            return false;
        if (token->kind != SH_TOKEN_WORD)
            break;
        if (nacre_sh_word_hides_command(token->word))
            return SH_PROBLEM(cursor, token->at, "a loop's word could be run later");
        nacre_sh_token_take(cursor);
    }
    if (!nacre_sh_token_is(token, ";") && token->kind != SH_TOKEN_NEWLINE)
        return nacre_sh_unexpected(cursor, token);
    nacre_sh_token_take(cursor);
    return true;
}

static bool read_do(struct sh_cursor *cursor)
{
    struct sh_token *token;

    return nacre_sh_skip_newlines(cursor, &token) && expect_word(cursor, "do") &&
           read_block(cursor, "done");
}

static bool take_semicolon(struct sh_cursor *cursor)
{
    struct sh_token *token;

    if (!nacre_sh_token_peek(cursor, &token))
        return false;
    if (nacre_sh_token_is(token, ";"))
        nacre_sh_token_take(cursor);
    return true;
}

/* for and select. */
static bool read_for(struct sh_cursor *cursor)
{
    struct sh_token *token;
    const char *reason;

    if (!nacre_sh_token_peek(cursor, &token))
        return false;
    if (nacre_sh_token_is(token, "(") && nacre_sh_peek(cursor, 0) == '(') {
        nacre_sh_token_take(cursor);
        cursor->at++;
        return nacre_sh_read_arithmetic(cursor, SH_ARITHMETIC_LOOP) &&
               take_semicolon(cursor) && read_do(cursor);
    }
    if (token->kind != SH_TOKEN_WORD || !token->word->bare)
        return nacre_sh_unexpected(cursor, token);
    reason = nacre_shell_environment_denied(token->word->text);
    if (reason)
        return SH_PROBLEM(cursor, token->at, "it sets %.40s, which %s", token->word->text,
                          reason);
    nacre_sh_token_take(cursor);
    if (!nacre_sh_skip_newlines(cursor, &token))
        return false;
    if (nacre_sh_token_is_word(token, "in")) {
        nacre_sh_token_take(cursor);
        return read_for_words(cursor) && read_do(cursor);
    }
    return take_semicolon(cursor) && read_do(cursor);
}

/* One pattern list of a case, up to behind its ")". */
static bool read_case_patterns(struct sh_cursor *cursor)
{
    struct sh_token *token;
    struct sh_word *pattern;

    if (!nacre_sh_token_peek(cursor, &token))
        return false;
    if (nacre_sh_token_is(token, "("))
        nacre_sh_token_take(cursor);
    for (;;) {
        if (!nacre_sh_take_word(cursor, &pattern) || !nacre_sh_token_peek(cursor, &token))
            return false;
        if (nacre_sh_token_is(token, ")"))
            break;
        if (!nacre_sh_token_is(token, "|"))
            return nacre_sh_unexpected(cursor, token);
        nacre_sh_token_take(cursor);
    }
    nacre_sh_token_take(cursor);
    return true;
}

static bool read_case(struct sh_cursor *cursor)
{
    struct sh_token *token;
    struct sh_word *subject;
    bool some;

    if (!nacre_sh_take_word(cursor, &subject) ||
        !nacre_sh_skip_newlines(cursor, &token) || !expect_word(cursor, "in"))
        return false;
    for (;;) {
        if (!nacre_sh_skip_newlines(cursor, &token))
            return false;
        if (nacre_sh_token_is_word(token, "esac"))
            break;
        if (!read_case_patterns(cursor) || !nacre_sh_read_list(cursor, &some) ||
            !nacre_sh_token_peek(cursor, &token))
            return false;
        if (token->kind == SH_TOKEN_OPERATOR && token->operator[0] == ';')
            nacre_sh_token_take(cursor);
        else if (!nacre_sh_token_is_word(token, "esac"))
            return nacre_sh_unexpected(cursor, token);
    }
    nacre_sh_token_take(cursor);
    return true;
}

/*
 * ((...)): arithmetic for bash, subshells for a plain sh.  The text is one that bash
 * can't take for commands; a plain sh runs it, if it can read it.
 */
static bool read_arithmetic_command(struct sh_cursor *cursor)
{
    size_t start = ++cursor->at, size;
    struct sh_where where = cursor->where;
    char *copy;

    if (!nacre_sh_read_arithmetic(cursor, SH_ARITHMETIC_STATEMENT))
        return false;
    if (cursor->where.bash)
        return true;
    size = cursor->at - 2 - start;
    copy = nacre_sh_alloc(cursor->parse, size + 1);
    if (!copy)
        return false;
    memcpy(copy, cursor->text + start, size);
    where.at = nacre_sh_place(cursor, start);
    where.inside = true;
    where.depth++;
    if (!nacre_sh_parse_text(cursor->parse, copy, &where)) {
        if (cursor->parse->no_memory)
            return false;
        cursor->parse->problem[0] = '\0'; /* no sh reads it either */
    }
    return true;
}

static bool read_paren(struct sh_cursor *cursor)
{
    nacre_sh_token_take(cursor);
    if (nacre_sh_peek(cursor, 0) == '(')
        return read_arithmetic_command(cursor);
    return nacre_sh_read_nested(cursor, false);
}

bool nacre_sh_read_function_body(struct sh_cursor *cursor, const struct sh_word *name,
                                 bool paren)
{
    struct sh_command *before = cursor->parse->last_command;
    struct sh_token *token;

    if (paren) {
        if (!nacre_sh_token_peek(cursor, &token))
            return false;
        if (!nacre_sh_token_is(token, ")"))
            return nacre_sh_unexpected(cursor, token);
        nacre_sh_token_take(cursor);
    }
    return nacre_sh_skip_newlines(cursor, &token) && nacre_sh_read_command(cursor) &&
           nacre_sh_function_add(cursor->parse, name, before);
}

static bool read_function(struct sh_cursor *cursor)
{
    struct sh_token *token;
    struct sh_word *name;

    if (!nacre_sh_take_word(cursor, &name) || !nacre_sh_token_peek(cursor, &token))
        return false;
    if (nacre_sh_token_is(token, "(") && nacre_sh_peek(cursor, 0) == ')') {
        nacre_sh_token_take(cursor);
        return nacre_sh_read_function_body(cursor, name, true);
    }
    if (!nacre_sh_skip_newlines(cursor, &token))
        return false;
    if (!nacre_sh_token_is_word(token, "{") && !nacre_sh_token_is(token, "("))
        return nacre_sh_unexpected(cursor, token);
    return nacre_sh_read_function_body(cursor, name, false);
}

static bool read_braces(struct sh_cursor *cursor)
{
    return read_block(cursor, "}");
}

/* ---- [[ ]] ---- */

/* One word of a condition.  Behind =~ parentheses belong to the next one. */
static bool read_condition_word(struct sh_cursor *cursor, struct sh_simple *simple)
{
    struct sh_word *word;
    struct sh_token *next;
    size_t start = cursor->token.at;

    if (!nacre_sh_take_word(cursor, &word))
        return false;
    if (nacre_sh_word_hides_command(word))
        return SH_PROBLEM(cursor, start, "[[ ]] could run what this quotes");
    nacre_sh_simple_add(simple, word);
    cursor->pattern = nacre_sh_word_is(word, "=~");
    if (!nacre_sh_token_peek(cursor, &next))
        return false;
    cursor->pattern = false;
    return true;
}

/* && or ||, which may end a line.  To a plain sh a command follows. */
static bool read_condition_joint(struct sh_cursor *cursor, struct sh_simple *simple)
{
    struct sh_token *token;

    nacre_sh_token_take(cursor);
    if (!nacre_sh_skip_newlines(cursor, &token))
        return false;
    if (cursor->where.bash)
        return true;
    if (!nacre_sh_simple_finish(cursor, simple))
        return false;
    nacre_sh_simple_init(simple, token->at);
    return true;
}

/* Behind "[[".  To a plain sh it is the name of a command. */
static bool read_condition(struct sh_cursor *cursor)
{
    struct sh_simple simple;
    struct sh_word *opening =
        nacre_sh_word_literal(cursor->parse, "[[", 2, nacre_sh_place(cursor, cursor->at));

    if (!opening)
        return false;
    nacre_sh_simple_init(&simple, cursor->at);
    nacre_sh_simple_add(&simple, opening);
    for (;;) {
        struct sh_token *token;
        bool read = true;

        if (!nacre_sh_token_peek(cursor, &token))
            return false;
        if (nacre_sh_token_is_word(token, "]]"))
            break;
        if (token->kind == SH_TOKEN_WORD)
            read = read_condition_word(cursor, &simple);
        else if (nacre_sh_token_is(token, "&&") || nacre_sh_token_is(token, "||"))
            read = read_condition_joint(cursor, &simple);
        else if (nacre_sh_token_is(token, "(") || nacre_sh_token_is(token, ")") ||
                 nacre_sh_token_is(token, "<") || nacre_sh_token_is(token, ">"))
            nacre_sh_token_take(cursor);
        else
            return nacre_sh_unexpected(cursor, token);
        if (!read)
            return false;
    }
    nacre_sh_token_take(cursor);
    return nacre_sh_simple_finish(cursor, &simple);
}

/* ---- commands ---- */

static const struct {
    const char *word;
    bool (*read)(struct sh_cursor *cursor);
} compounds[] = {
    { "{", read_braces },     { "if", read_if },     { "while", read_loop },
    { "until", read_loop },   { "for", read_for },   { "select", read_for },
    { "case", read_case },    { "[[", read_condition },
    { "function", read_function },
};

static bool is_compound(const struct sh_token *token)
{
    for (size_t i = 0; i < NACRE_COUNT(compounds); i++)
        if (nacre_sh_token_is_word(token, compounds[i].word))
            return true;
    return nacre_sh_token_is(token, "(");
}

static bool read_compound(struct sh_cursor *cursor, const struct sh_token *token)
{
    struct sh_simple redirections;

    nacre_sh_simple_init(&redirections, token->at);
    if (nacre_sh_token_is(token, "(")) {
        if (!read_paren(cursor))
            return false;
    } else {
        for (size_t i = 0; i < NACRE_COUNT(compounds); i++) {
            if (!nacre_sh_token_is_word(token, compounds[i].word))
                continue;
            nacre_sh_token_take(cursor);
            if (!compounds[i].read(cursor))
                return false;
            break;
        }
    }
    for (;;) {
        struct sh_token *next;

        if (!nacre_sh_token_peek(cursor, &next))
            return false;
        if (!nacre_sh_token_redirects(next))
            break;
        if (!nacre_sh_read_redirection(cursor, &redirections))
            return false;
    }
    return !redirections.redirects || nacre_sh_simple_finish(cursor, &redirections);
}

/* The words of "coproc NAME {": the variable is set. */
static bool check_coproc_name(struct sh_cursor *cursor, const struct sh_simple *simple)
{
    const struct sh_word *name = simple->words->next;
    const char *reason = name ? nacre_shell_environment_denied(name->text) : NULL;

    if (!name || !name->literal || reason)
        return SH_PROBLEM(cursor, simple->at, "coproc sets a variable%s%s",
                          reason ? ", which " : " that only the shell knows",
                          reason ? reason : "");
    return true;
}

/* "time" and "coproc" may stand before a compound command. */
static bool read_prefixed(struct sh_cursor *cursor, struct sh_simple *simple)
{
    bool time = nacre_sh_word_is(simple->words, "time");
    struct sh_token *token;

    for (unsigned words = 0;; words++) {
        if (!nacre_sh_token_peek(cursor, &token))
            return false;
        if (is_compound(token))
            return (words == 0 || time || check_coproc_name(cursor, simple)) &&
                   nacre_sh_read_command(cursor);
        if (time && nacre_sh_token_is_word(token, "!")) {
            nacre_sh_token_take(cursor);
            continue;
        }
        /* time -p {, coproc NAME { */
        if (token->kind != SH_TOKEN_WORD || words > 0 ||
            (time && !nacre_sh_token_is_word(token, "-p")))
            return nacre_sh_read_simple(cursor, simple);
        if (!nacre_sh_read_simple_word(cursor, simple))
            return false;
    }
}

bool nacre_sh_read_command(struct sh_cursor *cursor)
{
    struct sh_command *before = cursor->parse->last_command;
    struct sh_token *token;
    struct sh_simple simple;
    size_t start;
    bool read;

    if (!nacre_sh_token_peek(cursor, &token))
        return false;
    start = token->at;
    if (++cursor->where.depth > SH_DEPTH_MAX)
        return SH_PROBLEM(cursor, start, "it is nested too deeply");
    nacre_sh_simple_init(&simple, start);
    if (is_compound(token)) {
        struct sh_token first = *token;

        read = read_compound(cursor, &first);
    } else if (nacre_sh_token_is_word(token, "time") ||
               nacre_sh_token_is_word(token, "coproc")) {
        bool coproc = nacre_sh_token_is_word(token, "coproc");

        read = nacre_sh_read_simple_word(cursor, &simple) &&
               read_prefixed(cursor, &simple) &&
               (!coproc || nacre_sh_coproc_add(cursor->parse, before));
    } else {
        read = nacre_sh_read_simple(cursor, &simple);
    }
    cursor->where.depth--;
    return read && nacre_sh_processes_join(cursor, start, before);
}
