#ifndef NACRE_DECIDE_SHELL_LEX_H
#define NACRE_DECIDE_SHELL_LEX_H

#include "nacre/buf.h"
#include "nacre/own.h"
#include "shell_parse.h"

/* Private to the reader of shell texts: shell_word.c, shell_expand.c, shell_token.c,
 * shell_heredoc.c and the grammar in shell_parse.c. */

enum sh_token_kind {
    SH_TOKEN_NONE,
    SH_TOKEN_END,
    SH_TOKEN_NEWLINE,
    SH_TOKEN_OPERATOR,
    SH_TOKEN_WORD,
};

struct sh_token {
    enum sh_token_kind kind;
    const char *operator; /* of a table; "" for what is none */
    struct sh_word *word;
    int fd; /* before a redirection; -1: none */
    size_t at;
};

#define SH_HEREDOCS_MAX 16

/* <(...) or >(...), which a command reads or writes as a pipeline does. */
struct sh_process {
    struct sh_range *range;
    size_t at;
    bool writes; /* >(...): the command does */
    struct sh_process *next;
};

struct sh_cursor {
    struct sh_parse *parse;
    const char *text;
    size_t size, at;
    struct sh_where where;
    struct sh_token token; /* looked at, not taken; NONE: none */
    /* Here-documents that begin at the next line. */
    struct sh_redirect *pending[SH_HEREDOCS_MAX];
    unsigned pending_count;
    unsigned pending_outside; /* of the text around a substitution */
    struct sh_process *processes; /* of commands that are not read to their end */
    bool heredoc; /* the text is a here-document's body */
    bool pattern; /* in a regular expression of [[ ]]: parentheses belong to the word */
};

/* A word in the making. */
struct sh_build {
    struct nacre_buf text, marks;
    bool quoted, expanded;
};
#define SH_BUILD                                                                      \
    {                                                                                    \
        .text = NACRE_BUF(4 * SH_BYTES_MAX), .marks = NACRE_BUF(4 * SH_BYTES_MAX)  \
    }
void nacre_sh_build_clear(struct sh_build *build);

/* The byte `ahead` of the cursor; '\0' past the end. */
char nacre_sh_peek(const struct sh_cursor *cursor, size_t ahead);
/* A problem at `at` of this cursor's text. */
#define SH_PROBLEM(cursor, position, ...)                                             \
    nacre_sh_problem((cursor)->parse, nacre_sh_place(cursor, position), __VA_ARGS__)
size_t nacre_sh_place(const struct sh_cursor *cursor, size_t at);

bool nacre_sh_build_add(struct sh_cursor *cursor, struct sh_build *build,
                     const char *bytes, size_t count, enum nacre_mark mark);
/* Into the arena, with assignments, globs, braces and tildes recognised. */
struct sh_word *nacre_sh_build_finish(struct sh_cursor *cursor,
                                      const struct sh_build *build, size_t at);

/* ---- shell_word.c ---- */
bool nacre_sh_read_word(struct sh_cursor *cursor, struct sh_word **ret_word);
/* Up to `end`, which is taken; '\0': up to the end of the text, as a here-document. */
bool nacre_sh_read_double(struct sh_cursor *cursor, struct sh_build *build, char end);

/* ---- shell_expand.c ---- */
bool nacre_sh_read_dollar(struct sh_cursor *cursor, struct sh_build *build,
                       bool in_double);
bool nacre_sh_read_backquote(struct sh_cursor *cursor, struct sh_build *build,
                          bool in_double);
/* From behind the "(" to behind its ")".  Only a substitution may be empty. */
bool nacre_sh_read_nested(struct sh_cursor *cursor, bool substitution);
enum sh_arithmetic {
    SH_ARITHMETIC_EXPRESSION, /* $(( )) */
    SH_ARITHMETIC_STATEMENT,  /* (( )), which a plain sh takes for subshells */
    SH_ARITHMETIC_LOOP,       /* for (( ; ; )) */
};
/* From behind the "((" to behind its "))". */
bool nacre_sh_read_arithmetic(struct sh_cursor *cursor, enum sh_arithmetic kind);

/* ---- shell_token.c ---- */
bool nacre_sh_token_peek(struct sh_cursor *cursor, struct sh_token **ret_token);
void nacre_sh_token_take(struct sh_cursor *cursor);
bool nacre_sh_token_is(const struct sh_token *token, const char *operator);
bool nacre_sh_token_is_word(const struct sh_token *token, const char *reserved);
/* Complains of `token`.  Returns false. */
bool nacre_sh_unexpected(struct sh_cursor *cursor, const struct sh_token *token);
bool nacre_sh_take_word(struct sh_cursor *cursor, struct sh_word **ret_word);
bool nacre_sh_skip_newlines(struct sh_cursor *cursor, struct sh_token **ret_token);

/* ---- shell_heredoc.c ---- */
/* Called behind the delimiter, which was written from `start` on. */
bool nacre_sh_heredoc_add(struct sh_cursor *cursor, struct sh_redirect *redirect,
                          size_t start);
/* Called behind a line's end. */
bool nacre_sh_heredoc_read(struct sh_cursor *cursor);

/* ---- shell_simple.c ---- */

/* A simple command in the making. */
struct sh_simple {
    struct sh_word *words, **words_end;
    struct sh_word *assignments, **assignments_end;
    struct sh_redirect *redirects, **redirects_end;
    size_t count, at;
    bool ended; /* for a plain sh, by "&>" */
};

void nacre_sh_simple_init(struct sh_simple *simple, size_t at);
void nacre_sh_simple_add(struct sh_simple *simple, struct sh_word *word);
bool nacre_sh_simple_finish(struct sh_cursor *cursor, const struct sh_simple *simple);
bool nacre_sh_token_redirects(const struct sh_token *token);
bool nacre_sh_read_redirection(struct sh_cursor *cursor, struct sh_simple *simple);
bool nacre_sh_read_simple_word(struct sh_cursor *cursor, struct sh_simple *simple);
/* `simple` may hold words already. */
bool nacre_sh_read_simple(struct sh_cursor *cursor, struct sh_simple *simple);

/* ---- shell_compound.c ---- */
bool nacre_sh_read_command(struct sh_cursor *cursor);
/* Behind NAME "(", or without it behind "function NAME". */
bool nacre_sh_read_function_body(struct sh_cursor *cursor, const struct sh_word *name,
                                 bool paren);

/* ---- shell_flow.c ---- */
/* One more stage behind *end; fails without ranges, as when memory was short for them. */
bool nacre_sh_stage_add(struct sh_parse *parse, struct sh_stage ***end,
                        struct sh_range *ranges);
/* Keeps them, unless it is one alone. */
bool nacre_sh_pipeline_add(struct sh_parse *parse, struct sh_stage *stages);
/* What was read since `before` is the body of a function. */
bool nacre_sh_function_add(struct sh_parse *parse, const struct sh_word *name,
                           struct sh_command *before);
/* What was read since `before` is a <(...) or >(...) at `at`. */
bool nacre_sh_process_add(struct sh_cursor *cursor, size_t at, bool writes,
                          struct sh_command *before);
/* A command was read from `at` on; it takes the processes in its words. */
bool nacre_sh_processes_join(struct sh_cursor *cursor, size_t at,
                             struct sh_command *before);
/* What was read since `before` may read from all other commands and write to them. */
bool nacre_sh_coproc_add(struct sh_parse *parse, struct sh_command *before);

/* ---- shell_parse.c ---- */
/* Commands up to the end, a ")" or a word that closes; *ret_some: was there any? */
bool nacre_sh_read_list(struct sh_cursor *cursor, bool *ret_some);

#endif
