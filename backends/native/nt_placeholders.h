#ifndef NACRE_NATIVE_PLACEHOLDERS_H
#define NACRE_NATIVE_PLACEHOLDERS_H

#include <stdbool.h>
#include <sys/stat.h>

#include "nacre/error.h"
#include "nacre/own.h"

/*
 * Empty files and directories that hold a name while sandboxes run.  Each owner writes
 * down where its own are before it makes them, in a journal that is locked as long as the
 * owner lives; several owners may lean on one placeholder, and the last removes it.
 *
 * A placeholder is known by its mode (the sticky bit on a file, or on a directory that
 * nobody else may enter) and by being empty: what somebody has put something into, or
 * given another mode, is theirs.
 */
struct nt_placeholders;

/* Removes what owners that died have left.  Nothing is made in `state_dir` before the
 * first placeholder is. */
NACRE_MUST_CHECK enum nacre_status nt_placeholders_open(const char *state_dir,
                                                        struct nt_placeholders **ret_held,
                                                        struct nacre_error *err);

/* The same for who needs none itself: whatever starts next gives back what a dead one
 * held.  A look at an empty directory where there is nothing; `state_dir` may be NULL. */
void nt_placeholders_sweep(const char *state_dir);

/* Removes its own, where no other owner leans on them.  Accepts NULL. */
void nt_placeholders_free(struct nt_placeholders *held);
NACRE_OWNED(nt_placeholders)

/* Is `name` in `dir_fd`, which looks like `info`, a placeholder? */
bool nt_placeholders_is(int dir_fd, const char *name, const struct stat *info);

/*
 * Holds `name`: by what is there if that is a placeholder, else by a new one.  On success
 * *ret_fd is it, O_PATH; -1 when we may not write there, and so nobody with our rights
 * can.  NACRE_ERR_UNAVAILABLE when something else came between.
 */
NACRE_MUST_CHECK enum nacre_status nt_placeholders_hold(struct nt_placeholders *held,
                                                        int dir_fd, const char *name,
                                                        bool as_directory, int *ret_fd,
                                                        struct nacre_error *err);

#endif
