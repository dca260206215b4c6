/*
 * What a '$' or a backquote begins.  Trusts nothing.  The commands of a substitution
 * are read where they stand; of everything else only its extent matters, and where
 * shells disagree about that it is a problem.
 */
#include <string.h>

#include "nacre/shell.h"
#include "shell_lex.h"

#define DIGITS "0123456789"
#define SETS "sets a variable that changes what runs, or one that only the shell knows"

static bool is_one_of(char character, const char *set)
{
    return character != '\0' && strchr(set, character) != NULL;
}

static enum nacre_mark expansion_mark(bool in_double)
{
    return in_double ? NACRE_MARK_ONE : NACRE_MARK_ANY;
}

/* ---- commands ---- */

bool nacre_sh_read_nested(struct sh_cursor *cursor, bool substitution)
{
    unsigned pending = cursor->pending_count, outside = cursor->pending_outside;
    bool pattern = cursor->pattern, heredoc = cursor->heredoc, some;
    size_t start = cursor->at;
    struct sh_token *token;

    if (++cursor->where.depth > SH_DEPTH_MAX)
        return SH_PROBLEM(cursor, start, "it is nested too deeply");
    cursor->pattern = false;
    cursor->heredoc = false;
    cursor->pending_outside = pending;
    if (!nacre_sh_read_list(cursor, &some) || !nacre_sh_token_peek(cursor, &token))
        return false;
    if (!nacre_sh_token_is(token, ")"))
        return SH_PROBLEM(cursor, start, "a ( is not closed");
    if (!some && !substitution)
        return nacre_sh_unexpected(cursor, token);
    if (cursor->pending_count > pending)
        return SH_PROBLEM(cursor, start, "a here-document ends outside its ( )");
    nacre_sh_token_take(cursor);
    cursor->pending_outside = outside;
    cursor->pattern = pattern;
    cursor->heredoc = heredoc;
    cursor->where.depth--;
    return true;
}

/* What is between backquotes, with one level of backslashes taken off. */
static bool unquote_backquotes(struct sh_cursor *cursor, struct nacre_buf *ret_text,
                               bool in_double)
{
    size_t start = cursor->at++;

    for (;;) {
        char here = nacre_sh_peek(cursor, 0);
        struct nacre_error err;

        if (here == '\0')
            return SH_PROBLEM(cursor, start, "a ` is not closed");
        cursor->at++;
        if (here == '`')
            break;
        if (here == '\\' && is_one_of(nacre_sh_peek(cursor, 0),
                                      in_double ? "$`\\\"" : "$`\\"))
            here = cursor->text[cursor->at++];
        if (nacre_buf_add(ret_text, &here, 1, &err) != NACRE_OK) {
            cursor->parse->no_memory = true;
            return false;
        }
    }
    return true;
}

bool nacre_sh_read_backquote(struct sh_cursor *cursor, struct sh_build *build,
                             bool in_double)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF(SH_BYTES_MAX);
    struct sh_where where = cursor->where;
    char *copy;

    where.at = nacre_sh_place(cursor, cursor->at);
    where.inside = true;
    where.depth++;
    if (!unquote_backquotes(cursor, &text, in_double))
        return false;
    copy = nacre_sh_alloc(cursor->parse, text.size + 1);
    if (!copy)
        return false;
    if (text.size > 0)
        memcpy(copy, text.bytes, text.size);
    return nacre_sh_parse_text(cursor->parse, copy, &where) &&
           nacre_sh_build_add(cursor, build, "$(...)", 6, expansion_mark(in_double));
}

/* ---- arithmetic ---- */

/*
 * Some shells read what is between "((" and "))" as commands when it is no arithmetic.
 * So only what can't be anything else is taken: no quote, no escape, no semicolon.
 */
#define ARITHMETIC SH_NAME " \t+-*/%=<>!&|^~?:,.[]()#@"

static bool skip_arithmetic(struct sh_cursor *cursor, enum sh_arithmetic kind)
{
    NACRE_AUTO(nacre_sh_build_clear) struct sh_build unused = SH_BUILD;
    const char *also = kind == SH_ARITHMETIC_LOOP ? ";" : "\n";
    unsigned open = 0;

    for (;;) {
        char here = nacre_sh_peek(cursor, 0), next = nacre_sh_peek(cursor, 1);
        bool statement = kind == SH_ARITHMETIC_STATEMENT;

        if (here == ')' && open == 0)
            return true;
        if (here == '$' && !(statement && is_one_of(next, "({"))) {
            if (!nacre_sh_read_dollar(cursor, &unused, true))
                return false;
            continue;
        }
        if (here == '\0')
            return SH_PROBLEM(cursor, cursor->at, "(( is not closed by ))");
        open += here == '(';
        open -= here == ')';
        if (!is_one_of(here, ARITHMETIC) && (statement || !is_one_of(here, also)))
            return SH_PROBLEM(cursor, cursor->at,
                              "arithmetic holds what some shells run as commands; leave "
                              "a blank within (( if they are subshells");
        if (statement && here == '<' && next == '<')
            return SH_PROBLEM(cursor, cursor->at,
                              "some shells read << in (( )) as a here-document");
        cursor->at++;
    }
}

bool nacre_sh_read_arithmetic(struct sh_cursor *cursor, enum sh_arithmetic kind)
{
    size_t start = cursor->at;

    if (++cursor->where.depth > SH_DEPTH_MAX)
        return SH_PROBLEM(cursor, start, "it is nested too deeply");
    if (!skip_arithmetic(cursor, kind))
        return false;
    if (nacre_sh_peek(cursor, 1) != ')')
        return SH_PROBLEM(cursor, start, "(( is not closed by ))");
    if (!nacre_sh_arithmetic_is_known(cursor->text + start, cursor->at - start))
        return SH_PROBLEM(cursor, start, "arithmetic " SETS);
    cursor->at += 2;
    cursor->where.depth--;
    return true;
}

/* ---- ${...} ---- */

/* ${NAME=...} and ${NAME:=...} assign. */
static bool check_assignment(struct sh_cursor *cursor)
{
    char name[64];
    const char *from = cursor->text + cursor->at;
    size_t size = strspn(from, SH_NAME);
    const char *reason;

    if (size == 0 || size >= sizeof(name) ||
        !(from[size] == '=' || (from[size] == ':' && from[size + 1] == '=')))
        return true;
    memcpy(name, from, size);
    name[size] = '\0';
    reason = nacre_shell_environment_denied(name);
    if (reason)
        return SH_PROBLEM(cursor, cursor->at, "it sets %s, which %s", name, reason);
    return true;
}

/* ${NAME[SUBSCRIPT]:OFFSET:LENGTH}, which was read from `start` on, holds arithmetic. */
static bool check_evaluated(struct sh_cursor *cursor, size_t start)
{
    size_t end = cursor->at - 1, at = start + 2, from;

    at += strspn(cursor->text + at, "!#");
    at += strspn(cursor->text + at, SH_NAME);
    from = at;
    if (at < end && cursor->text[at] == '[')
        while (at < end && cursor->text[at] != ']')
            at++;
    if (at < end && cursor->text[at] == ':' && !is_one_of(cursor->text[at + 1], "-=?+"))
        at = end;
    if (!nacre_sh_arithmetic_is_known(cursor->text + from, at - from))
        return SH_PROBLEM(cursor, start, "what ${ } evaluates " SETS);
    return true;
}

static bool skip_single(struct sh_cursor *cursor, bool in_double)
{
    const char *from = cursor->text + cursor->at + 1;
    const char *close = memchr(from, '\'', cursor->size - cursor->at - 1);
    size_t size = close ? (size_t)(close - from) : 0;

    if (!close)
        return SH_PROBLEM(cursor, cursor->at, "a ' is not closed");
    if (in_double)
        return SH_PROBLEM(cursor, cursor->at,
                          "shells differ on a ' within \"${ }\"; write it as \\'");
    if (memchr(from, '$', size) || memchr(from, '`', size))
        return SH_PROBLEM(cursor, cursor->at, "${ } quotes what could be run later");
    cursor->at += size + 2;
    return true;
}

static bool skip_double(struct sh_cursor *cursor, bool in_double)
{
    NACRE_AUTO(nacre_sh_build_clear) struct sh_build quoted = SH_BUILD;
    size_t start = cursor->at++;

    if (cursor->heredoc)
        return SH_PROBLEM(cursor, start,
                          "shells differ on a \" within ${ } in a here-document");
    if (!nacre_sh_read_double(cursor, &quoted, '"'))
        return false;
    if (in_double && quoted.text.size > 0 && strchr(quoted.text.bytes, '}'))
        return SH_PROBLEM(cursor, start, "shells differ on a quoted } within \"${ }\"");
    return true;
}

static bool skip_in_braces(struct sh_cursor *cursor, struct sh_build *unused,
                           bool in_double)
{
    char next = nacre_sh_peek(cursor, 1);

    switch (nacre_sh_peek(cursor, 0)) {
    case '\0':
        return SH_PROBLEM(cursor, cursor->at, "a ${ is not closed");
    case '\\':
        if (next == '\n' || next == '\0')
            return SH_PROBLEM(cursor, cursor->at, "a line within ${ } is continued");
        cursor->at += 2;
        return true;
    case '\'':
        return skip_single(cursor, in_double);
    case '"':
        return skip_double(cursor, in_double);
    case '$':
        return nacre_sh_read_dollar(cursor, unused, in_double);
    case '`':
        return nacre_sh_read_backquote(cursor, unused, in_double);
    case '<':
    case '>':
        if (next == '(')
            return SH_PROBLEM(cursor, cursor->at, "%c( ) within ${ }",
                              cursor->text[cursor->at]);
        break;
    default:
        break;
    }
    cursor->at++;
    return true;
}

static bool read_braces(struct sh_cursor *cursor, struct sh_build *build, bool in_double)
{
    NACRE_AUTO(nacre_sh_build_clear) struct sh_build unused = SH_BUILD;
    size_t start = cursor->at, size;
    enum nacre_mark mark = expansion_mark(in_double);

    cursor->at += 2;
    if (!is_one_of(nacre_sh_peek(cursor, 0), SH_NAME "!#@*?-$"))
        return SH_PROBLEM(cursor, start, "what this ${ does depends on the shell");
    if (!check_assignment(cursor))
        return false;
    if (++cursor->where.depth > SH_DEPTH_MAX)
        return SH_PROBLEM(cursor, start, "it is nested too deeply");
    /* ${#}, ${$} and the like: the first character is the name. */
    if (nacre_sh_peek(cursor, 1) == '}')
        cursor->at++;
    else if (nacre_sh_peek(cursor, 0) == '$') /* zsh runs ${$(...)} */
        return SH_PROBLEM(cursor, start, "what this ${ does depends on the shell");
    while (nacre_sh_peek(cursor, 0) != '}')
        if (!skip_in_braces(cursor, &unused, in_double))
            return false;
    cursor->at++;
    cursor->where.depth--;

    size = cursor->at - start;
    if (!check_evaluated(cursor, start))
        return false;
    if (size > 5 && memcmp(cursor->text + cursor->at - 3, "@P}", 3) == 0)
        return SH_PROBLEM(cursor, start, "${ @P} runs what a variable holds");
    /* "${list[@]}" is as many words as it has members; shells differ on "${x-"$y"}". */
    if (memchr(cursor->text + start, '@', size) ||
        memchr(cursor->text + start, '"', size))
        mark = NACRE_MARK_ANY;
    return nacre_sh_build_add(cursor, build, cursor->text + start, size, mark);
}

/* ---- $'...' ---- */

static int digit_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    if (digit >= 'A' && digit <= 'F')
        return digit - 'A' + 10;
    return 16;
}

static unsigned long read_number(struct sh_cursor *cursor, int base, int digits_max)
{
    unsigned long number = 0;

    for (int i = 0; i < digits_max; i++) {
        int value = digit_value(nacre_sh_peek(cursor, 0));

        if (value >= base)
            break;
        number = number * (unsigned)base + (unsigned)value;
        cursor->at++;
    }
    return number;
}

static size_t encode_utf8(unsigned long code, char ret_bytes[4])
{
    if (code < 0x80) {
        ret_bytes[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        ret_bytes[0] = (char)(0xc0 | code >> 6);
        ret_bytes[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        ret_bytes[0] = (char)(0xe0 | code >> 12);
        ret_bytes[1] = (char)(0x80 | (code >> 6 & 0x3f));
        ret_bytes[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    ret_bytes[0] = (char)(0xf0 | (code >> 18 & 7));
    ret_bytes[1] = (char)(0x80 | (code >> 12 & 0x3f));
    ret_bytes[2] = (char)(0x80 | (code >> 6 & 0x3f));
    ret_bytes[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* Behind the backslash.  False for what is not an escape that bash and its like share. */
static bool decode_escape(struct sh_cursor *cursor, char ret_bytes[4], size_t *ret_count)
{
    static const char names[] = "abeEfnrtv\\'\"?";
    static const char values[] = "\a\b\033\033\f\n\r\t\v\\'\"?";
    char here = nacre_sh_peek(cursor, 0);
    const char *named = here ? strchr(names, here) : NULL;
    unsigned long code;

    *ret_count = 1;
    if (named) {
        cursor->at++;
        ret_bytes[0] = values[named - names];
        return true;
    }
    if (digit_value(here) < 8) {
        ret_bytes[0] = (char)read_number(cursor, 8, 3);
        return ret_bytes[0] != '\0';
    }
    if (!is_one_of(here, "xuU"))
        return false;
    cursor->at++;
    code = read_number(cursor, 16, here == 'x' ? 2 : here == 'u' ? 4 : 8);
    if (here == 'x')
        ret_bytes[0] = (char)code;
    else
        *ret_count = encode_utf8(code, ret_bytes);
    return code != 0;
}

static bool read_ansi(struct sh_cursor *cursor, struct sh_build *build)
{
    size_t start = cursor->at;

    build->quoted = true;
    cursor->at += 2;
    for (;;) {
        char bytes[4] = { nacre_sh_peek(cursor, 0) };
        size_t count = 1, at = cursor->at;

        if (bytes[0] == '\0')
            return SH_PROBLEM(cursor, start, "a $' is not closed");
        cursor->at++;
        if (bytes[0] == '\'')
            return true;
        /* A shell without $'...' ends the text at \'. */
        if (bytes[0] == '\\' && nacre_sh_peek(cursor, 0) == '\'' && !cursor->where.bash)
            return SH_PROBLEM(cursor, at, "shells differ on \\' within $' '");
        if (bytes[0] == '\\' && !decode_escape(cursor, bytes, &count))
            return SH_PROBLEM(cursor, at, "shells differ on this escape within $' '");
        if (!nacre_sh_build_add(cursor, build, bytes, count, NACRE_MARK_QUOTED))
            return false;
    }
}

/* ---- the dollar ---- */

static bool read_variable(struct sh_cursor *cursor, struct sh_build *build,
                          bool in_double)
{
    const char *from = cursor->text + cursor->at;
    size_t size = strspn(from + 1, SH_NAME_START);

    if (size > 0)
        size = strspn(from + 1, SH_NAME);
    else if (is_one_of(from[1], DIGITS "@*#?-$!"))
        size = 1;
    cursor->at += size + 1;
    if (size == 0)
        return nacre_sh_build_add(cursor, build, "$", 1, NACRE_MARK_QUOTED);
    return nacre_sh_build_add(cursor, build, from, size + 1,
                              from[1] == '@' ? NACRE_MARK_ANY
                                             : expansion_mark(in_double));
}

bool nacre_sh_read_dollar(struct sh_cursor *cursor, struct sh_build *build,
                          bool in_double)
{
    char next = nacre_sh_peek(cursor, 1);

    if (next == '\\' && nacre_sh_peek(cursor, 2) == '\n')
        return SH_PROBLEM(cursor, cursor->at, "a line is continued behind a $");
    if (next == '[')
        return SH_PROBLEM(cursor, cursor->at, "$[ ] is old; write $(( ))");
    if (next == '{')
        return read_braces(cursor, build, in_double);
    if (next == '(' && nacre_sh_peek(cursor, 2) == '(') {
        cursor->at += 3;
        return nacre_sh_read_arithmetic(cursor, SH_ARITHMETIC_EXPRESSION) &&
               nacre_sh_build_add(cursor, build, "$((...))", 8, NACRE_MARK_ONE);
    }
    if (next == '(') {
        cursor->at += 2;
        return nacre_sh_read_nested(cursor, true) &&
               nacre_sh_build_add(cursor, build, "$(...)", 6, expansion_mark(in_double));
    }
    if (next == '\'' && !in_double)
        return read_ansi(cursor, build);
    if (next == '"' && !in_double) {
        cursor->at += 2;
        return nacre_sh_read_double(cursor, build, '"');
    }
    return read_variable(cursor, build, in_double);
}
