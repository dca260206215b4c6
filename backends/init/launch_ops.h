#ifndef NACRE_INIT_LAUNCH_OPS_H
#define NACRE_INIT_LAUNCH_OPS_H

#include "landlock.h"
#include "spec.h"
#include "trees.h"

#define LAUNCH_RULES_MAX 512

/* A sandbox in the making.  Everything that fails ends the process by launch_fail(). */
struct launch {
    struct spec_head head;
    const uint8_t *spec;
    size_t spec_bytes;
    const uint8_t *ops; /* packed, head.op_count of them; in the spec */
    size_t op_bytes;
    struct launch_order order;
    int fds[LAUNCH_FDS_MAX];
    size_t fd_count;

    int trees[TREES_MAX]; /* of the TREE operations in their order, as many as came */
    size_t tree_count;
    int root_fd;                 /* of the sandbox's root; -1: not yet */
    bool root_is_ours;           /* a tmpfs of the sandbox, not a tree of the host's */
    int scratch_fd, cover_dir_fd, cover_file_fd;
    int names_fd;                /* of the doorway's name server; -1: none */
    unsigned privates;
    struct nacre_landlock_rule rules[LAUNCH_RULES_MAX];
    size_t rule_count;
};

/* A process that makes sandboxes begins with neither directories of the host's nor what it
 * has left open: fd 0 alone stays, 1 and 2 are /dev/null, and LAUNCH_SOCKET is taken. */
#define LAUNCH_SOCKET 3
bool launch_begin(void);

/* Where failures are told: the channel of the sandbox in the making; -1: nowhere yet. */
extern int launch_channel;

/* Tells the owner by a FAILED frame what could not be done, with the errno of the moment;
 * nothing was executed.  `what` may be NULL. */
_Noreturn void launch_fail(const char *step, const char *what);

/* The spec in `spec_fd`, mapped. */
void launch_read_spec(struct launch *launch, int spec_fd);
/* What is done as the sandbox's own user, in its namespaces. */
void launch_inside(struct launch *launch);
/* The second wall: what may be done where, as the operations say; -1 without one. */
int launch_ruleset(struct launch *launch);

/* launch_inner.c: the life of a sandbox's pid 1; `socket` as in spec.h, `failure` the errno
 * of what should have been made already, or 0. */
enum launch_made {
    LAUNCH_MADE_SOME, /* all namespaces but those that hold something of the host's */
    LAUNCH_MADE_ALL,  /* the mounts', too */
};
_Noreturn void launch_inner(const struct spec_head *head, int socket,
                            enum launch_made made, int failure);

#endif
