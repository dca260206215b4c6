#ifndef NACRE_TEST_JAIL_WORLD_H
#define NACRE_TEST_JAIL_WORLD_H

#include "nacre/executor.h"
#include "nacre/tool.h"

/*
 * A world for the native executors: directories of the test's own, and plans made by
 * hand.  Every test body runs in a child process (in_child.h), once as the user that the
 * tests run as and, when that is root, once more as an ordinary one.
 *
 *   ws/       what the guest's user may write: a file "file" with "inside" in it, a
 *             directory "a/b" with a file "deep"
 *   ro/       the same, for read-only mounts
 *   outside/  no mount: a file "canary" with "untouched" in it
 *   state/    the executor's
 */
#define JAIL_NOBODY 65534
#define JAIL_MOUNTS_MAX 8

struct jail {
    const struct nacre_executor_ops *ops;
    struct nacre_executor *executor;
    struct nacre_executor_options options;
    struct nacre_plan plan;
    struct nacre_mount mounts[JAIL_MOUNTS_MAX];
    struct nacre_request request;
    struct nacre_result *result; /* of the last run */
    struct nacre_error err;
    char top[64], state[96];
};

/* Makes the tree below a fresh directory, for the user that this process is; opens
 * nothing.  Leaves by _exit() when it can't. */
void jail_prepare(struct jail *jail, const struct nacre_executor_ops *ops);
/* `name` below the world, or NULL for a private one; `denied` may be NULL. */
void jail_mount(struct jail *jail, const char *guest, const char *name, bool writable,
                const char *denied);
/* Of the last mount, too. */
void jail_deny(struct jail *jail, const char *denied);
enum nacre_status jail_open(struct jail *jail);
/* Opens at first use; `text` is for /bin/sh -c. */
enum nacre_status jail_run(struct jail *jail, const char *text);
/* Did it run, and leave with `status`?  Tells what else happened on stderr. */
bool jail_exits(struct jail *jail, const char *text, int status);
bool jail_says(const struct jail *jail, const char *output);
/* Frees the executor and removes the tree. */
void jail_finish(struct jail *jail);

const char *jail_path(const struct jail *jail, const char *name, char ret_path[128]);
/* What an observer outside sees. */
bool jail_holds(const struct jail *jail, const char *name, const char *text);
bool jail_has(const struct jail *jail, const char *name);
/* Processes anywhere on this machine whose command line has `words` in it, this one and
 * those that wait to be reaped aside. */
int jail_processes(const char *words);
/* The same, until there is none or 3 s have passed. */
bool jail_all_gone(const char *words);

/* Runs `body` as told above; true when it returned 0 each time. */
bool jail_as_both(int (*body)(void *data), void *data);
/* As the ordinary user alone; true also when this is no root and so can't be another. */
bool jail_as_nobody(int (*body)(void *data), void *data);

#endif
