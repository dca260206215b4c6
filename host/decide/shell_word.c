/*
 * Words of a shell text: quotes, escapes, and where a word ends.  Trusts nothing: the
 * text comes from an agent that may want it to be read otherwise than a shell would, so
 * what shells read in different ways is a problem, never a guess.
 */
#include <string.h>

#include "shell_lex.h"

char nacre_sh_peek(const struct sh_cursor *cursor, size_t ahead)
{
    return cursor->at + ahead < cursor->size ? cursor->text[cursor->at + ahead] : '\0';
}

size_t nacre_sh_place(const struct sh_cursor *cursor, size_t at)
{
    return cursor->where.inside ? cursor->where.at : at;
}

/* ---- building ---- */

void nacre_sh_build_clear(struct sh_build *build)
{
    nacre_buf_clear(&build->text);
    nacre_buf_clear(&build->marks);
}

bool nacre_sh_build_add(struct sh_cursor *cursor, struct sh_build *build,
                        const char *bytes, size_t count, enum nacre_mark mark)
{
    struct nacre_error err;
    enum nacre_status status = nacre_buf_add(&build->text, bytes, count, &err);

    for (size_t i = 0; i < count && status == NACRE_OK; i++)
        status = nacre_buf_add(&build->marks, &(char){ (char)mark }, 1, &err);
    if (mark != NACRE_MARK_BARE)
        build->quoted = true;
    if (mark >= NACRE_MARK_ANY)
        build->expanded = true;
    if (status == NACRE_ERR_TOO_BIG)
        return SH_PROBLEM(cursor, cursor->at, "a word is too long");
    if (status != NACRE_OK)
        cursor->parse->no_memory = true;
    return status == NACRE_OK;
}

/* NAME=, NAME+= or NAME[...]=, all of it but the subscript bare. */
static void find_assignment(struct sh_word *word)
{
    size_t name = strspn(word->text, SH_NAME), at = name;

    if (name == 0 || !strchr(SH_NAME_START, word->text[0]))
        return;
    if (word->text[at] == '[' && word->marks[at] == NACRE_MARK_BARE) {
        const char *close = strstr(word->text + at, "]=");
        const char *close_add = strstr(word->text + at, "]+=");

        if (!close || (close_add && close_add < close))
            close = close_add;
        if (!close)
            return;
        at = (size_t)(close - word->text) + 1;
    }
    if (word->text[at] == '+')
        at++;
    if (word->text[at] != '=' || word->marks[at] != NACRE_MARK_BARE)
        return;
    for (size_t i = 0; i < name; i++)
        if (word->marks[i] != NACRE_MARK_BARE)
            return;
    word->name_size = name;
    word->value_at = at + 1;
}

/* The bare `wanted` at or after `from`, or the word's size. */
static size_t find_bare(const char *text, const unsigned char *marks, size_t from,
                        char wanted)
{
    size_t i = from;

    while (text[i] && !(text[i] == wanted && marks[i] == NACRE_MARK_BARE))
        i++;
    return i;
}

static void mark_range(unsigned char *marks, size_t from, size_t to, enum nacre_mark mark)
{
    for (size_t i = from; i < to; i++)
        if (marks[i] != NACRE_MARK_ANY)
            marks[i] = (unsigned char)mark;
}

/* {a,b} and {1..9} make several words of one. */
static void mark_braces(const char *text, unsigned char *marks, size_t size)
{
    size_t open = find_bare(text, marks, 0, '{'), close = size;
    bool list = false;

    for (size_t i = open; i < size; i++) {
        if (marks[i] != NACRE_MARK_BARE)
            continue;
        list |= text[i] == ',' || (text[i] == '.' && text[i + 1] == '.');
        if (text[i] == '}')
            close = i;
    }
    if (close < size && list)
        mark_range(marks, open, close + 1, NACRE_MARK_ANY);
}

static void mark_tildes(const char *text, unsigned char *marks, size_t size,
                        size_t value_at)
{
    for (size_t i = 0; i < size; i++) {
        bool start = i == 0 || (value_at > 0 && (i == value_at || text[i - 1] == ':'));

        if (text[i] != '~' || marks[i] != NACRE_MARK_BARE || !start)
            continue;
        for (; i < size && marks[i] == NACRE_MARK_BARE && !strchr("/:", text[i]); i++)
            marks[i] = NACRE_MARK_ONE;
    }
}

/* What the shell makes of bare characters after it has taken the word apart. */
static void mark_patterns(const struct sh_word *word, unsigned char *marks)
{
    const char *text = word->text;
    size_t opened = word->size;

    mark_braces(text, marks, word->size);
    mark_tildes(text, marks, word->size, word->value_at);
    for (size_t i = 0; i < word->size; i++) {
        if (marks[i] != NACRE_MARK_BARE)
            continue;
        if (text[i] == '[' && opened == word->size) {
            opened = i;
        } else if (text[i] == ']' && opened < i) {
            mark_range(marks, opened, i + 1, NACRE_MARK_GLOB);
            opened = word->size;
        } else if (text[i] == '*' || text[i] == '?') {
            marks[i] = NACRE_MARK_GLOB;
        }
    }
}

/* Behind a '$': what makes it a command.  `read` takes backslashes out. */
static bool begins_command(const char *text)
{
    text += strspn(text, "\\\n");
    return text[0] == '(' || (text[0] == '{' && text[1] && strchr(" \t\n|(", text[1]));
}

/* Of marks that no pattern has changed yet. */
static bool hides_command(const char *text, const unsigned char *marks, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (marks[i] < NACRE_MARK_ANY &&
            (text[i] == '`' || (text[i] == '$' && begins_command(text + i + 1))))
            return true;
    return false;
}

struct sh_word *nacre_sh_build_finish(struct sh_cursor *cursor,
                                      const struct sh_build *build, size_t at)
{
    struct sh_word *word = nacre_sh_alloc(cursor->parse, sizeof(*word));
    char *text = nacre_sh_alloc(cursor->parse, build->text.size + 1);
    unsigned char *marks = nacre_sh_alloc(cursor->parse, build->text.size + 1);

    if (!word || !text || !marks)
        return NULL;
    if (build->text.size > 0) {
        memcpy(text, build->text.bytes, build->text.size);
        memcpy(marks, build->marks.bytes, build->text.size);
    }
    *word = (struct sh_word){
        .text = text,
        .marks = marks,
        .size = build->text.size,
        .at = nacre_sh_place(cursor, at),
        .bare = !build->quoted && !build->expanded,
        .literal = true,
    };
    word->hides = hides_command(text, marks, word->size);
    find_assignment(word);
    mark_patterns(word, marks);
    for (size_t i = 0; i < word->size; i++)
        word->literal &= marks[i] < NACRE_MARK_ANY;
    return word;
}

/* ---- finished words ---- */

static struct sh_word *marked_word(struct sh_parse *parse, const char *text, size_t size,
                                   enum nacre_mark mark, size_t at)
{
    struct sh_word *word = nacre_sh_alloc(parse, sizeof(*word));
    char *copy = nacre_sh_alloc(parse, size + 1);
    unsigned char *marks = nacre_sh_alloc(parse, size + 1);

    if (!word || !copy || !marks)
        return NULL;
    memcpy(copy, text, size);
    memset(marks, (int)mark, size);
    *word = (struct sh_word){ .text = copy,
                              .marks = marks,
                              .size = size,
                              .at = at,
                              .literal = mark < NACRE_MARK_ANY,
                              .hides = hides_command(copy, marks, size) };
    return word;
}

struct sh_word *nacre_sh_word_literal(struct sh_parse *parse, const char *text,
                                      size_t size, size_t at)
{
    return marked_word(parse, text, size, NACRE_MARK_QUOTED, at);
}

struct sh_word *nacre_sh_word_unknown(struct sh_parse *parse, const char *text,
                                      enum nacre_mark mark, size_t at)
{
    return marked_word(parse, text, strlen(text), mark, at);
}

struct sh_word *nacre_sh_word_rest(struct sh_parse *parse, const struct sh_word *word,
                                   size_t from)
{
    struct sh_word *rest = nacre_sh_alloc(parse, sizeof(*rest));

    if (!rest)
        return NULL;
    *rest = (struct sh_word){ .text = word->text + from,
                              .marks = word->marks + from,
                              .size = word->size - from,
                              .at = word->at,
                              .literal = true,
                              .hides = word->hides };
    for (size_t i = 0; i < rest->size; i++)
        rest->literal &= rest->marks[i] < NACRE_MARK_ANY;
    return rest;
}

const char *nacre_sh_program_name(const struct sh_word *word)
{
    const char *slash = strrchr(word->text, '/');

    if (word->literal || !slash || !nacre_sh_word_is_one(word))
        return NULL;
    for (const char *at = slash; *at; at++)
        if (word->marks[at - word->text] >= NACRE_MARK_ANY)
            return NULL;
    slash++;
    return *slash == '\0' || strcmp(slash, ".") == 0 || strcmp(slash, "..") == 0 ? NULL
                                                                                : slash;
}

bool nacre_sh_word_is_one(const struct sh_word *word)
{
    for (size_t i = 0; i < word->size; i++)
        if (word->marks[i] == NACRE_MARK_ANY || word->marks[i] == NACRE_MARK_GLOB)
            return false;
    return true;
}

bool nacre_sh_word_hides_command(const struct sh_word *word)
{
    return word->hides || nacre_sh_word_sets_guarded(word);
}

bool nacre_sh_word_is(const struct sh_word *word, const char *text)
{
    return word->literal && strcmp(word->text, text) == 0;
}

bool nacre_sh_word_is_listed(const struct sh_word *word, const char *list)
{
    for (; word->literal && *list; list += strspn(list, " ")) {
        size_t size = strcspn(list, " ");

        if (size == word->size && strncmp(list, word->text, size) == 0)
            return true;
        list += size;
    }
    return false;
}

/* ---- reading ---- */

static bool read_single(struct sh_cursor *cursor, struct sh_build *build)
{
    const char *from = cursor->text + cursor->at + 1;
    const char *close = memchr(from, '\'', cursor->size - cursor->at - 1);

    if (!close)
        return SH_PROBLEM(cursor, cursor->at, "a ' is not closed");
    cursor->at = (size_t)(close - cursor->text) + 1;
    build->quoted = true;
    return nacre_sh_build_add(cursor, build, from, (size_t)(close - from),
                              NACRE_MARK_QUOTED);
}

static bool read_escape(struct sh_cursor *cursor, struct sh_build *build)
{
    char escaped = nacre_sh_peek(cursor, 1);

    if (escaped == '\0')
        return SH_PROBLEM(cursor, cursor->at, "a backslash ends the text");
    cursor->at += 2;
    if (escaped == '\n')
        return true;
    return nacre_sh_build_add(cursor, build, &escaped, 1, NACRE_MARK_QUOTED);
}

/* A backslash in double quotes or a here-document. */
static bool read_double_escape(struct sh_cursor *cursor, struct sh_build *build, char end)
{
    char escaped = nacre_sh_peek(cursor, 1);

    if (escaped == '\n') {
        cursor->at += 2;
        return true;
    }
    if (escaped == '\0' || !(strchr("$`\\", escaped) || escaped == end)) {
        cursor->at++;
        return nacre_sh_build_add(cursor, build, "\\", 1, NACRE_MARK_QUOTED);
    }
    cursor->at += 2;
    return nacre_sh_build_add(cursor, build, &escaped, 1, NACRE_MARK_QUOTED);
}

bool nacre_sh_read_double(struct sh_cursor *cursor, struct sh_build *build, char end)
{
    size_t start = cursor->at;

    build->quoted = true;
    for (;;) {
        char here = nacre_sh_peek(cursor, 0);
        bool read;

        if (here == end) {
            cursor->at += end != '\0';
            return true;
        }
        if (here == '\0')
            return SH_PROBLEM(cursor, start, "a \" is not closed");
        if (here == '\\') {
            read = read_double_escape(cursor, build, end);
        } else if (here == '$') {
            read = nacre_sh_read_dollar(cursor, build, true);
        } else if (here == '`') {
            read = nacre_sh_read_backquote(cursor, build, true);
        } else {
            read = nacre_sh_build_add(cursor, build, &here, 1, NACRE_MARK_QUOTED);
            cursor->at++;
        }
        if (!read)
            return false;
    }
}

static bool read_process(struct sh_cursor *cursor, struct sh_build *build)
{
    struct sh_command *before = cursor->parse->last_command;
    bool writes = cursor->text[cursor->at] == '>';
    size_t start = cursor->at;

    cursor->at += 2;
    return nacre_sh_read_nested(cursor, true) &&
           nacre_sh_process_add(cursor, start, writes, before) &&
           nacre_sh_build_add(cursor, build, "<(...)", 6, NACRE_MARK_ANY);
}

static bool ends_word(const struct sh_cursor *cursor, char here)
{
    if (here == '\0' || strchr(" \t\n", here))
        return true;
    if (cursor->pattern)
        return strchr(";&<>", here) != NULL;
    if ((here == '<' || here == '>') && nacre_sh_peek(cursor, 1) == '(')
        return false; /* <(...) */
    return strchr("<>&|;()", here) != NULL;
}

static bool read_piece(struct sh_cursor *cursor, struct sh_build *build, char here)
{
    switch (here) {
    case '\'':
        return read_single(cursor, build);
    case '"':
        cursor->at++;
        return nacre_sh_read_double(cursor, build, '"');
    case '\\':
        return read_escape(cursor, build);
    case '$':
        return nacre_sh_read_dollar(cursor, build, false);
    case '`':
        return nacre_sh_read_backquote(cursor, build, false);
    case '<':
    case '>':
        return read_process(cursor, build);
    default:
        break;
    }
    cursor->at++;
    return nacre_sh_build_add(cursor, build, &here, 1, NACRE_MARK_BARE);
}

bool nacre_sh_read_word(struct sh_cursor *cursor, struct sh_word **ret_word)
{
    NACRE_AUTO(nacre_sh_build_clear) struct sh_build build = SH_BUILD;
    size_t start = cursor->at;
    unsigned open = 0; /* parentheses of a regular expression */

    for (;;) {
        char here = nacre_sh_peek(cursor, 0);

        if (here == ')' && open == 0)
            break;
        if (ends_word(cursor, here)) {
            if (open > 0)
                return SH_PROBLEM(cursor, start, "a ( of a regular expression is open");
            break;
        }
        if (here == '|' && open == 0 && !cursor->where.bash)
            return SH_PROBLEM(cursor, cursor->at,
                              "some shells read the | of a regular expression as a pipe");
        open += here == '(';
        open -= here == ')';
        if (!read_piece(cursor, &build, here))
            return false;
    }
    *ret_word = nacre_sh_build_finish(cursor, &build, start);
    return *ret_word != NULL;
}
