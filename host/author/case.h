#ifndef NACRE_AUTHOR_CASE_H
#define NACRE_AUTHOR_CASE_H

#include <jansson.h>

#include "nacre/buf.h"
#include "nacre/own.h"
#include "node.h"

/* A case as it was read; the nodes are the document's. */
struct tool_case {
    char *file;
    struct nacre_buf bytes; /* of the file */
    struct nacre_node *root;
    const char *name;
    json_t *arguments;
    const struct nacre_node *files, *expect, *after; /* files, after: NULL when absent */
    bool has_fuel;
    uint64_t fuel_golden, fuel_tolerance_percent;
};

#define CASE_BYTES_MAX ((size_t)1 << 20)

NACRE_MUST_CHECK enum nacre_status case_load(const char *file, struct tool_case **ret_case,
                                             struct nacre_error *err);
void tool_case_free(struct tool_case *tool_case); /* accepts NULL */
NACRE_OWNED(tool_case)

/* The directory that holds the last part of the normalised `path`, reached by no link;
 * -1 with errno.  `path` is cut up, and *ret_name lies in it. */
int case_open_parent(int dir_fd, char *path, bool make, const char **ret_name);

/* Makes `files` in the empty directory `dir_fd`. */
NACRE_MUST_CHECK enum nacre_status case_make_files(const struct tool_case *tool_case,
                                                   int dir_fd, struct nacre_error *err);

/* What differs, a line each, is added to `ret_text`. */
NACRE_MUST_CHECK enum nacre_status case_judge_answer(const struct tool_case *tool_case,
                                                     const json_t *answer,
                                                     struct nacre_buf *ret_text,
                                                     struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status case_judge_files(const struct tool_case *tool_case,
                                                    int dir_fd,
                                                    struct nacre_buf *ret_text,
                                                    struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status case_judge_fuel(const struct tool_case *tool_case,
                                                   uint64_t fuel, bool exact,
                                                   struct nacre_buf *ret_text,
                                                   struct nacre_error *err);

/* Writes what was got into the case's file: `expect`, the files that `after` names, and
 * the fuel. */
NACRE_MUST_CHECK enum nacre_status case_update(const struct tool_case *tool_case,
                                               const json_t *answer, int dir_fd,
                                               uint64_t fuel, struct nacre_error *err);

/* The bytes that a node of `files` or `after` stands for, into `ret_bytes`. */
NACRE_MUST_CHECK enum nacre_status case_bytes(const struct tool_case *tool_case,
                                              const struct nacre_node *node,
                                              struct nacre_buf *ret_bytes,
                                              struct nacre_error *err);

#endif
