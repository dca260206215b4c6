/*
 * Here-documents.  Trusts nothing: where a body ends decides what is a command, so a
 * delimiter must be plain, and a line that is continued may not touch it.
 */
#include <string.h>

#include "shell_lex.h"

bool nacre_sh_heredoc_add(struct sh_cursor *cursor, struct sh_redirect *redirect,
                          size_t start)
{
    const struct sh_word *delimiter = redirect->target;
    const char *written = cursor->text + start;
    size_t size = cursor->at - start;

    /* Shells differ on $'E', and on a delimiter that goes on in the next line. */
    if (!delimiter->literal || delimiter->size == 0 || memchr(written, '\n', size) ||
        memchr(written, '$', size))
        return SH_PROBLEM(cursor, cursor->at, "a here-document's delimiter is not plain");
    if (cursor->pending_count == NACRE_COUNT(cursor->pending))
        return SH_PROBLEM(cursor, cursor->at, "too many here-documents in a line");
    redirect->quoted = !delimiter->bare;
    cursor->pending[cursor->pending_count++] = redirect;
    return true;
}

/* One line of the text, without its end.  False at the end of the text. */
static bool next_line(struct sh_cursor *cursor, bool strip, const char **ret_line,
                      size_t *ret_size)
{
    const char *from = cursor->text + cursor->at;
    const char *end = memchr(from, '\n', cursor->size - cursor->at);

    if (cursor->at >= cursor->size)
        return false;
    if (!end)
        end = cursor->text + cursor->size;
    cursor->at = (size_t)(end - cursor->text) + (end < cursor->text + cursor->size);
    while (strip && from < end && *from == '\t')
        from++;
    *ret_line = from;
    *ret_size = (size_t)(end - from);
    return true;
}

static bool is_continued(const char *line, size_t size)
{
    size_t backslashes = 0;

    while (backslashes < size && line[size - 1 - backslashes] == '\\')
        backslashes++;
    return backslashes % 2 == 1;
}

static bool is_text(const char *line, size_t size, const struct sh_word *delimiter)
{
    return size == delimiter->size && memcmp(line, delimiter->text, size) == 0;
}

/* Is the line the delimiter only when it is joined with the next, or in spite of it? */
static bool is_doubtful(const char *line, size_t size, const struct sh_word *delimiter,
                        bool continued)
{
    bool whole = is_text(line, size, delimiter);

    return (continued && whole) ||
           (is_continued(line, size) && size > 0 &&
            strncmp(line, delimiter->text, size - 1) == 0 && size - 1 <= delimiter->size);
}

static bool add_line(struct sh_cursor *cursor, struct nacre_buf *body, const char *line,
                     size_t size)
{
    struct nacre_error err;

    if (nacre_buf_add(body, line, size, &err) == NACRE_OK &&
        nacre_buf_add(body, "\n", 1, &err) == NACRE_OK)
        return true;
    cursor->parse->no_memory = true;
    return false;
}

/* The lines of the body. */
static bool read_body(struct sh_cursor *cursor, const struct sh_redirect *redirect,
                      struct nacre_buf *body)
{
    bool strip = strcmp(redirect->operator, "<<-") == 0, continued = false;
    const struct sh_word *delimiter = redirect->target;
    size_t start = cursor->at, size = 0;
    const char *line = NULL;

    for (;;) {
        if (!next_line(cursor, strip, &line, &size))
            return SH_PROBLEM(cursor, start, "a here-document is not ended");
        if (!redirect->quoted && is_doubtful(line, size, delimiter, continued))
            return SH_PROBLEM(cursor, start,
                              "a line of a here-document is continued into its end");
        if (is_text(line, size, delimiter))
            return true;
        continued = is_continued(line, size);
        if (!add_line(cursor, body, line, size))
            return false;
    }
}

/* Expansions of the body run as those of a command do. */
static bool expand_body(struct sh_cursor *cursor, struct sh_redirect *redirect,
                        const char *body)
{
    NACRE_AUTO(nacre_sh_build_clear) struct sh_build build = SH_BUILD;
    struct sh_cursor inner = {
        .parse = cursor->parse,
        .text = body,
        .size = strlen(body),
        .where = cursor->where,
        .heredoc = true,
    };

    inner.where.at = nacre_sh_place(cursor, redirect->at);
    inner.where.inside = true;
    if (!nacre_sh_read_double(&inner, &build, '\0'))
        return false;
    redirect->body = nacre_sh_build_finish(&inner, &build, 0);
    return redirect->body != NULL;
}

bool nacre_sh_heredoc_read(struct sh_cursor *cursor)
{
    if (cursor->pending_outside > 0)
        return SH_PROBLEM(cursor, cursor->at,
                          "a line ends within ( ) before a here-document begins");
    for (unsigned i = 0; i < cursor->pending_count; i++) {
        NACRE_AUTO(nacre_buf_clear) struct nacre_buf body = NACRE_BUF(2 * SH_BYTES_MAX);
        struct sh_redirect *redirect = cursor->pending[i];
        size_t at = nacre_sh_place(cursor, redirect->at);

        if (!read_body(cursor, redirect, &body))
            return false;
        redirect->body = nacre_sh_word_literal(
            cursor->parse, body.size > 0 ? body.bytes : "", body.size, at);
        if (!redirect->body)
            return false;
        if (!redirect->quoted && !expand_body(cursor, redirect, redirect->body->text))
            return false;
    }
    cursor->pending_count = 0;
    return true;
}
