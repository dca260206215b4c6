#ifndef NACRE_DECIDE_SHELL_WRAPPERS_H
#define NACRE_DECIDE_SHELL_WRAPPERS_H

#include "shell_parse.h"

/* Programs and builtins that start others.  Private to shell_effect.c, shell_variables.c,
 * shell_options.c, shell_find.c, shell_git.c, shell_transfer.c, shell_launchers.c,
 * shell_interpreters.c and the table in shell_wrappers.c. */

enum sh_wrapper_kind {
    SH_WRAPPER_NONE,
    SH_WRAPPER_RUN,     /* options, operands, then the words of a command */
    SH_WRAPPER_TEXT,    /* the same, or -c TEXT */
    SH_WRAPPER_JOIN,    /* the rest, with blanks between, is a shell text */
    SH_WRAPPER_ENV,     /* RUN, with -S */
    SH_WRAPPER_XARGS,   /* RUN, with words that come later */
    SH_WRAPPER_FIND,    /* -exec ... ; */
    SH_WRAPPER_GIT,     /* options, then a subcommand */
    SH_WRAPPER_SSH,     /* options, host, options, then a shell text */
    SH_WRAPPER_RSYNC,   /* -e COMMAND */
    SH_WRAPPER_FD,      /* -x ... ; */
    SH_WRAPPER_OPTIONS, /* starts only what `option` judges */
    SH_WRAPPER_NAMED,   /* the value of an option in `longs` is a shell text */
    SH_WRAPPER_LIST,    /* REFUSE, unless it is told to list */
    SH_WRAPPER_AMONG,   /* a command somewhere behind one of the subcommands in `longs` */
    SH_WRAPPER_SHELL,   /* sh */
    SH_WRAPPER_BASH,    /* a shell with bash's grammar */
    SH_WRAPPER_SOURCE,  /* . */
    SH_WRAPPER_TRAP,    /* the first word is a text */
    SH_WRAPPER_ASSIGN,  /* its words, or the first `operands`, name or set variables */
    SH_WRAPPER_DECLARE, /* the same, and -n makes a name stand for another */
    SH_WRAPPER_WAIT,    /* -p sets one */
    SH_WRAPPER_SET,     /* its words become variables, or are evaluated */
    SH_WRAPPER_PRINTF,  /* -v sets one */
    SH_WRAPPER_TEST,    /* -v evaluates one */
    SH_WRAPPER_LATER,   /* `shorts`: options, or "=", that change what later words mean */
    SH_WRAPPER_REFUSE,  /* what it starts can't be told */
};

struct sh_effect;

struct sh_wrapper {
    const char *name;
    enum sh_wrapper_kind kind;
    /* As getopt() has them: "ab:c::".  An option that is not here is a problem. */
    const char *shorts;
    /* "plain value= optional?", each with the letter of its short form behind it if
     * somebody asks for its value: "command=c".  With `option` the last one needs it. */
    const char *longs;
    unsigned operands; /* words before the command */
    bool assignments;  /* NAME=VALUE may stand before it */
    bool permutes;     /* options may stand behind operands */
    bool starts_shell; /* without a command */
    /* Judges each value of an option and, if it permutes, each operand ('\0'). */
    bool (*option)(const struct sh_effect *effect, char letter,
                   const struct sh_word *value);
    const char *instead; /* of what is refused: what could be judged */
};

/* By the last part of a program's path, a shell also with a version behind it.  NULL: it
 * starts nothing that is known here. */
const struct sh_wrapper *nacre_sh_wrapper_find(const char *name);

struct sh_scan {
    size_t operand; /* the first word that is no option */
    bool seen[128];
    const struct sh_word *value[128]; /* of the option with this letter; or NULL */
};

/* Reads the options of words[0]. */
bool nacre_sh_scan(const struct sh_effect *effect, const struct sh_wrapper *wrapper,
                   struct sh_scan *ret_scan);

/* One program with its words. */
struct sh_effect {
    struct sh_parse *parse;
    struct sh_command *command; /* whose input a shell would read */
    const struct sh_word *const *words;
    size_t count;
    unsigned wrapped; /* by how many others */
};

/* It can't be judged, for what this word is. */
#define SH_CANT(effect, word, ...)                                                       \
    nacre_sh_problem((effect)->parse, (word)->at, __VA_ARGS__)

/* Parses what the program is given as a shell text. */
bool nacre_sh_run_text(const struct sh_effect *effect, const struct sh_word *text,
                       bool bash);

/* The same for the words from `from` on with one blank between. */
bool nacre_sh_run_joined(const struct sh_effect *effect, size_t from, bool bash);
/* Complains of it.  Returns false. */
bool nacre_sh_starts_shell(const struct sh_effect *effect);

/* Judges the words [from, to) as a command in which `name` stands for later words. */
bool nacre_sh_run_replaced(const struct sh_effect *effect, size_t from, size_t to,
                           const char *name, enum nacre_mark mark);

/* Judges words as a command of their own. */
bool nacre_sh_run_words(const struct sh_effect *around,
                        const struct sh_word *const *words, size_t count);

/* `word` sets the variable that the first `name_size` bytes name, to what is behind
 * `value_at` (0: to something else). */
bool nacre_sh_check_name(const struct sh_effect *effect, const struct sh_word *word,
                         size_t name_size, size_t value_at);
/* A word that names a variable, and may set it. */
bool nacre_sh_check_variable(const struct sh_effect *effect, const struct sh_word *word);
/* Nothing that could be run later is in the words from `from` on. */
bool nacre_sh_none_hides(const struct sh_effect *effect, size_t from);
/* What the command's own assignments and here-documents make values of. */
bool nacre_sh_check_values(const struct sh_effect *effect);

bool nacre_sh_run_assign(const struct sh_effect *effect,
                         const struct sh_wrapper *wrapper);
bool nacre_sh_run_wait(const struct sh_effect *effect, const struct sh_wrapper *wrapper);
bool nacre_sh_run_set(const struct sh_effect *effect);
bool nacre_sh_run_printf(const struct sh_effect *effect);
bool nacre_sh_run_test(const struct sh_effect *effect);
bool nacre_sh_run_later(const struct sh_effect *effect, const struct sh_wrapper *wrapper);
bool nacre_sh_run_git(const struct sh_effect *effect, const struct sh_wrapper *wrapper);
bool nacre_sh_run_among(const struct sh_effect *effect, const struct sh_wrapper *wrapper);
bool nacre_sh_run_find(const struct sh_effect *effect);
bool nacre_sh_run_fd(const struct sh_effect *effect);
bool nacre_sh_run_named(const struct sh_effect *effect, const struct sh_wrapper *wrapper);
bool nacre_sh_run_ssh(const struct sh_effect *effect, const struct sh_wrapper *wrapper);
bool nacre_sh_run_rsync(const struct sh_effect *effect);
bool nacre_sh_ssh_option(const struct sh_effect *effect, char letter,
                         const struct sh_word *value);
bool nacre_sh_scp_option(const struct sh_effect *effect, char letter,
                         const struct sh_word *value);
bool nacre_sh_hyperfine_option(const struct sh_effect *effect, char letter,
                               const struct sh_word *value);
bool nacre_sh_concurrently_option(const struct sh_effect *effect, char letter,
                                  const struct sh_word *value);
bool nacre_sh_run_shell(const struct sh_effect *effect, bool bash);
bool nacre_sh_run_source(const struct sh_effect *effect);
bool nacre_sh_run_trap(const struct sh_effect *effect);
/* May a file of this name be a descriptor?  Where it is only the kernel knows, too. */
bool nacre_sh_is_descriptor(const char *path);
/* Is it an option by which a shell reads its text otherwise? */
bool nacre_sh_changes_reading(const struct sh_word *word);

#endif
