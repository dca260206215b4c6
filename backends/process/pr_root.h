#ifndef NACRE_PROCESS_ROOT_H
#define NACRE_PROCESS_ROOT_H

#include <stddef.h>
#include <stdint.h>

/*
 * What a sandbox of level process has beside the policy's mounts: one table, in the order
 * in which it is made.  In mode full the root is the host's own tree, and only a part of
 * the table is put into it.
 */
enum pr_root_kind {
    PR_ROOT_NONE,
    PR_ROOT_HOST,    /* the host's directory or file, read-only; left out when missing.  A
                        link is made again as a link */
    PR_ROOT_FILE,    /* made: `text` */
    PR_ROOT_PASSWD,  /* made: the sandbox's one user, */
    PR_ROOT_GROUP,   /* and its group */
    PR_ROOT_HOSTS,   /* made: `text`, and the names that a door serves */
    PR_ROOT_OVER,    /* put over the host's own file, where there is a door */
    PR_ROOT_LINK,    /* made: to `text` */
    PR_ROOT_DEVICE,  /* the host's node */
    PR_ROOT_PRIVATE, /* an empty directory on the tmpfs that the policy's private mounts
                        share; left out when a mount has that name */
    PR_ROOT_TMP,     /* like PRIVATE, writable where the plan says so: */
    PR_ROOT_SHARED,  /* /tmp, and shared memory */
    PR_ROOT_PROC,
    PR_ROOT_COVER,   /* nobody may look into it; left out when missing */
    PR_ROOT_HOLD,    /* of /proc: read-only; left out when missing */
    PR_ROOT_RUN,     /* like COVER; an empty directory where something has to lie in it */
    PR_ROOT_CERTIFICATES, /* private directories: where a door has certificates, */
    PR_ROOT_SECRETS,      /* and where the run has secret files */
};

enum pr_root_where {
    PR_IN_OWN  = 1 << 0, /* in a root of the sandbox's own */
    PR_IN_FULL = 1 << 1, /* in the host's tree */
    PR_IN_BOTH = PR_IN_OWN | PR_IN_FULL,
};

struct pr_root_entry {
    const char *path; /* without the first slash */
    enum pr_root_where where;
    enum pr_root_kind kind;
    const char *text;
    const char *door_text; /* the same where there is a door; NULL: it makes no
                              difference */
    uint64_t flags; /* enum spec_flag, for the second wall */
    unsigned mode;
    const char *why; /* for a person */
};

extern const struct pr_root_entry pr_root[];
extern const size_t pr_root_count;

#endif
