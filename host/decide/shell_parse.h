#ifndef NACRE_DECIDE_SHELL_PARSE_H
#define NACRE_DECIDE_SHELL_PARSE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "command.h"

/*
 * A shell text taken apart into the simple commands and pipelines it could run, those
 * of substitutions, functions and here-documents among them.  All of it lives in one
 * arena and is freed at once.
 *
 * Failure sticks and is one of two: `no_memory`, or a `problem`, which is what the text
 * holds that can't be judged.  Functions return false after either.
 */

#define SH_BYTES_MAX ((size_t)32 << 10) /* as long as a pattern's subject */
#define SH_DEPTH_MAX 40
#define SH_WORK_MAX (16 * SH_BYTES_MAX) /* texts within texts, together */
#define SH_FLOW_MAX (16 * SH_BYTES_MAX) /* the commands of all stages, together */

/* What the name of a variable is made of. */
#define SH_NAME_START "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
#define SH_NAME SH_NAME_START "0123456789"

struct sh_word {
    const char *text;           /* without quotes; an expansion stands as its own text */
    const unsigned char *marks; /* enum nacre_mark, one for each byte of `text` */
    size_t size;
    size_t at;        /* where it begins in the command */
    size_t name_size; /* of NAME in NAME=VALUE; 0: no assignment */
    size_t value_at;  /* where VALUE begins in `text` */
    bool bare;        /* nothing quoted, nothing expanded: may be a reserved word */
    bool literal;     /* nothing expanded */
    bool hides;       /* holds, as plain text, what would be run if it were expanded */
    struct sh_word *next;
};

struct sh_redirect {
    const char *operator; /* as written, without its descriptor */
    int fd;
    const struct sh_word *target;
    const struct sh_word *body; /* of a here-document */
    bool quoted;                   /* its delimiter is */
    size_t at;
    struct sh_redirect *next;
};

/* Words that are run: as written, or what a wrapper makes of its arguments. */
struct sh_form {
    const struct sh_word *const *words;
    size_t count;
    struct sh_form *next;
};

/* The commands after `before` (NULL: from the first one) up to `last` (NULL: none). */
struct sh_range {
    struct sh_command *before, *last;
    size_t visit; /* of the first of a list: in which it was walked last */
    struct sh_range *next;
};

/* Commands that another one starts: a text it is given, the bodies of a function. */
struct sh_started {
    struct sh_range *ranges;
    struct sh_started *next;
};

struct sh_command {
    const struct sh_word *const *words;
    size_t count;
    const struct sh_word *assignments;
    const struct sh_redirect *redirects;
    struct sh_form *forms;      /* made by nacre_sh_effects() */
    struct sh_started *started; /* the same, and by nacre_sh_check_calls() */
    size_t at;
    size_t number; /* they are counted from 1 */
    unsigned depth;
    bool bash; /* the shell that reads it has bash's grammar; else it is any sh */
    size_t visit;              /* in which it was queued last */
    struct sh_command *queued; /* the next one of that visit */
    struct sh_command *next;
};

struct sh_stage {
    struct sh_range *ranges;
    struct sh_stage *next;
};

struct sh_pipeline {
    struct sh_stage *stages;
    struct sh_pipeline *next;
};

/* A text that was parsed: the command itself, or one given to sh -c and the like. */
struct sh_source {
    const char *text;
    struct sh_source *next;
};

/* A function that is defined somewhere in the texts, perhaps more than once. */
struct sh_function {
    const char *name;
    struct sh_range *bodies;
    struct sh_function *next;
};

struct sh_chunk;

struct sh_parse {
    struct sh_command *commands, *last_command;
    size_t command_count;
    struct sh_pipeline *pipelines;
    struct sh_source *sources;
    struct sh_function *functions;
    struct sh_range *writers, *readers; /* all <(...), all >(...) */
    struct sh_range *coprocs;
    struct sh_chunk *chunks;
    size_t work;
    size_t visits;
    bool programs_written_out; /* the whole path of each has to be */
    bool no_memory;
    char problem[224];
    size_t problem_at; /* byte of the outermost text that it can be blamed on */
};

void nacre_sh_parse_clear(struct sh_parse *parse);

/* Zeroed memory that lives as long as the parse; NULL sets `no_memory`. */
void *nacre_sh_alloc(struct sh_parse *parse, size_t size);
/* Keeps the first problem.  Returns false. */
bool nacre_sh_problem(struct sh_parse *parse, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Where a text that is parsed stands: the command itself, or within a word of it. */
struct sh_where {
    bool inside;
    size_t at;
    unsigned depth;
    bool bash;
};

/* Adds all commands of `text`, which must outlive the parse or lie in its arena. */
bool nacre_sh_parse_text(struct sh_parse *parse, const char *text,
                      const struct sh_where *where);

/* A word that stands for itself, and one that stands for what nobody knows yet. */
struct sh_word *nacre_sh_word_literal(struct sh_parse *parse, const char *text,
                                      size_t size, size_t at);
struct sh_word *nacre_sh_word_unknown(struct sh_parse *parse, const char *text,
                                      enum nacre_mark mark, size_t at);
/* What is behind the first `from` bytes of a word. */
struct sh_word *nacre_sh_word_rest(struct sh_parse *parse, const struct sh_word *word,
                                   size_t from);
/* Of a path that only the shell knows the last part, if that is written out: tool in
 * "$dir/tool" or ~/bin/tool.  NULL: it is written out as a whole, or can't be told. */
const char *nacre_sh_program_name(const struct sh_word *word);
/* Always one word: neither split nor globbed nor left out. */
bool nacre_sh_word_is_one(const struct sh_word *word);
/* Holds what an arithmetic or prompt expansion would still run, or would set. */
bool nacre_sh_word_hides_command(const struct sh_word *word);
bool nacre_sh_word_is(const struct sh_word *word, const char *text);
/* Is it one of the words in `list`, which has a blank between them? */
bool nacre_sh_word_is_listed(const struct sh_word *word, const char *list);

/* Would the word, as an expression, set a variable that changes what runs? */
bool nacre_sh_word_sets_guarded(const struct sh_word *word);
/* Does an expression set only variables whose names it shows, and none of those? */
bool nacre_sh_arithmetic_is_known(const char *text, size_t size);

/* Is its value a program's command line, which can be judged where it is written out? */
bool nacre_sh_variable_is_tool(const char *assignment);

/* The commands since `before`, as a list of one. */
struct sh_range *nacre_sh_range_add(struct sh_parse *parse, struct sh_command *before);
/* `command` starts these; fails without any, as when memory was short for them. */
bool nacre_sh_started_add(struct sh_parse *parse, struct sh_command *command,
                          struct sh_range *ranges);
/* NULL: there is none of this name. */
struct sh_function *nacre_sh_function_find(const struct sh_parse *parse,
                                           const struct sh_word *name);

/* Adds a simple command; `words` lie in the arena. */
struct sh_command *nacre_sh_command_add(struct sh_parse *parse,
                                        const struct sh_word *const *words,
                                        size_t count, const struct sh_where *where);

/*
 * Which programs a command really starts: follows wrappers, shells and builtins, adds
 * a form for each program and parses each text that a shell is given.  A problem where
 * it can't be told.
 */
bool nacre_sh_effects(struct sh_parse *parse, struct sh_command *command);
/*
 * What functions are given becomes values of theirs; called when all commands are known,
 * for one may be defined after the words that call it.
 */
bool nacre_sh_check_calls(struct sh_parse *parse);
/* Pipelines that only all commands together make; called last. */
bool nacre_sh_flows_finish(struct sh_parse *parse);
/* A function that many pipelines call is read once for each of them by every rule.  Where
 * that is too much, it is a problem and all pipelines are dropped. */
bool nacre_sh_flows_fit(struct sh_parse *parse);
/* The commands of a stage and all that they start, each once, linked by `queued`; they
 * are so until the next call. */
struct sh_command *nacre_sh_stage_commands(struct sh_parse *parse,
                                           const struct sh_stage *stage);

#endif
