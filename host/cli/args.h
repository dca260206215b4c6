#ifndef NACRE_CLI_ARGS_H
#define NACRE_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "nacre/error.h"

/*
 * The command line as tables.  Parsing, help and completion all read the same rows,
 * so that none of them can know an option that another does not.
 */

enum cli_kind {
    CLI_FLAG,
    CLI_TEXT,
    CLI_NUMBER,
    CLI_LIST, /* text, any number of times */
};

/* What a shell offers where a value or an operand stands. */
enum cli_offer {
    CLI_OFFER_NOTHING,
    CLI_OFFER_FILES,
    CLI_OFFER_DIRECTORIES,
    CLI_OFFER_POLICIES, /* names in the policy directories, and files */
};

struct cli_option {
    const char *name; /* "--policy" */
    char letter;      /* 'n' for -n; '\0': none */
    enum cli_kind kind;
    const char *value; /* what stands for the value in help: "POLICY"; NULL for a flag */
    enum cli_offer offer;
    uint64_t min, max; /* of a number */
    const char *help;
};

#define CLI_OPTIONS_MAX 32

struct cli_value {
    bool given;
    const char *text;   /* as it was written */
    uint64_t number;
    const char **items; /* of a list; NULL-terminated, the texts are argv's */
    size_t count;
};

struct cli_args;

struct cli_verb {
    const char *name;
    const char *summary;
    const char *operands; /* in the usage line, after the options; "" for none */
    const char *about;    /* what a person must know beyond the options; may be "" */
    const char *example;  /* whole command lines */
    const struct cli_option *options;
    size_t option_count;
    const char *const *words; /* the only first operands there are; NULL: any */
    size_t word_count;
    enum cli_offer operand_offer;
    size_t operands_min, operands_max;
    bool ends_at_operand; /* what follows the first operand belongs to a guest */
    int (*run)(const struct cli_args *args); /* returns the exit status */
};

struct cli_args {
    const struct cli_verb *verb;
    struct cli_value values[CLI_OPTIONS_MAX]; /* as the verb's options are numbered */
    bool json, help; /* every verb has these two */
    bool dashes;     /* "--" came before the first operand */
    const char **operands; /* NULL-terminated; the texts are argv's */
    size_t operand_count;
};

/* The rows of --json and --help. */
const struct cli_option *cli_args_common(size_t *ret_count);

/*
 * Read argv[0..argc) as options and operands of `verb`.  After a failure args->json
 * tells whether --json had been seen by then; clear() is due either way.  With
 * --help the operands are not judged.
 */
NACRE_MUST_CHECK enum nacre_status cli_args_parse(const struct cli_verb *verb, int argc,
                                                  const char *const argv[],
                                                  struct cli_args *args,
                                                  struct nacre_error *err);
void cli_args_clear(struct cli_args *args);

void cli_args_help(const struct cli_verb *verb, FILE *out);

#endif
