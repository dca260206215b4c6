#ifndef NACRE_TREE_H
#define NACRE_TREE_H

#include <stdbool.h>

#include "nacre/error.h"

/*
 * Remove `name` in the directory `parent_fd` and all that lies below it; of what is our
 * own also what was shut against ourselves, down to mode 000.  Goes by fds only, follows
 * no link and never leaves the tree; any depth with a handful of fds.  Nobody else may be
 * changing the tree.  A missing `name` is no failure.
 */
NACRE_MUST_CHECK enum nacre_status nacre_tree_remove(int parent_fd, const char *name,
                                                     struct nacre_error *err);

/* The same for what lies in `dir_fd`; the directory itself stays. */
NACRE_MUST_CHECK enum nacre_status nacre_tree_empty(int dir_fd, struct nacre_error *err);

/* A guest may have shut the directory `name` against its own user: one of ours is opened
 * up.  False where nothing had to be done or could be: another's stays as it is. */
bool nacre_tree_open_up(int parent_fd, const char *name);

#endif
