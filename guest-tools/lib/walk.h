#ifndef NACRE_WALK_H
#define NACRE_WALK_H

#include "ignore.h"

/*
 * A tree, entry by entry, in the order of the paths' bytes.  Links are entries and never
 * followed, so no farm of them makes a tree endless.  Directories are opened relative to
 * the one above, without following, and at most WALK_OPEN_MAX are open at once.
 *
 * .gitignore and .ignore files are obeyed at every level, those above the root, too, up
 * to the directory that has a .git; an .ignore file's word goes before any .gitignore's.
 * What is called .git is left out, unless it is the root or in its path.
 */
#define WALK_OPEN_MAX 16
#define WALK_PATH_MAX 4096

enum walk_kind { WALK_OTHER, WALK_FILE, WALK_DIRECTORY, WALK_LINK };

struct walk_entry {
    const char *path; /* below the root, "" is never one; good until the next call */
    size_t path_count;
    const char *name; /* its last part */
    enum walk_kind kind;
    unsigned depth; /* 1: in the root */
    int dir_fd;     /* the directory it is in */
};

struct walk_options {
    bool hidden;    /* names that begin with a dot, too */
    bool no_ignore;
    unsigned depth_max; /* 0: any */
};

struct walk;

/* `root` is absolute; NULL with errno when it can't be opened as a directory. */
struct walk *walk_open(const char *root, const struct walk_options *options);
bool walk_next(struct walk *walk, struct walk_entry *ret_entry);
void walk_skip(struct walk *walk); /* not into the directory that was last handed out */
void walk_free(struct walk *walk); /* accepts NULL */

/* How many directories could not be read, and the first of them with its errno. */
size_t walk_unread(const struct walk *walk, const char **ret_path, int *ret_errno);

/* A file in a directory, not followed where it is a link; its fd, or -1 with errno. */
int walk_open_file(int dir_fd, const char *name);

#endif
