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
    const char *policy; /* a reference; NULL: the tool's own */
    json_t *arguments;
    const struct nacre_node *files, *expect, *after; /* files, after: NULL when absent */
    bool has_fuel;
    uint64_t fuel_golden, fuel_tolerance_percent;
};

#define CASE_BYTES_MAX ((size_t)1 << 20)

NACRE_MUST_CHECK enum nacre_status case_load(const char *file,
                                             struct tool_case **ret_case,
                                             struct nacre_error *err);
void tool_case_free(struct tool_case *tool_case); /* accepts NULL */
NACRE_OWNED(tool_case)

/* Makes `files` in the empty directory `dir_fd`. */
NACRE_MUST_CHECK enum nacre_status case_make_files(const struct tool_case *tool_case,
                                                   int dir_fd, struct nacre_error *err);

/* What differs, a line each, is added to `ret_text`.  Files are as `after` says, else as
 * `files` says, and nothing else is there. */
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

/* The names, sorted, of what lies in the workspace and differs from before: made, changed
 * or gone.  At most CASE_CHANGES_MAX; NULL: no memory. */
#define CASE_CHANGES_MAX 64
json_t *case_changes(const struct tool_case *tool_case, int dir_fd);

/* Which parts of a case are written anew. */
struct case_stale {
    bool answer, files, fuel;
};

/* Writes what was got into the case's file: of `expect`, `after` and `fuel` what is
 * stale. */
NACRE_MUST_CHECK enum nacre_status
case_update(const struct tool_case *tool_case, const struct case_stale *stale,
            const json_t *answer, int dir_fd, uint64_t fuel, uint64_t tolerance_percent,
            struct nacre_error *err);

/* The directory that holds the last part of `path`, a path below `dir_fd` that is cut
 * there; no link is followed.  -1 with errno. */
int case_parent(int dir_fd, char *path, bool make, const char **ret_name);

/* The bytes that a node of `files` or `after` stands for, into `ret_bytes`. */
NACRE_MUST_CHECK enum nacre_status case_bytes(const struct tool_case *tool_case,
                                              const struct nacre_node *node,
                                              struct nacre_buf *ret_bytes,
                                              struct nacre_error *err);

#endif
