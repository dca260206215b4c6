#ifndef NACRE_BINDS_H
#define NACRE_BINDS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Which directories of the host no native sandbox may see, whatever a policy says: the
 * engine's socket, what the system stands on, what the user is known by elsewhere.  Pure:
 * planning asks with the names as given, an executor again with the names as resolved.
 */
struct nacre_bind_refusal {
    const char *what; /* the rule's path or name: "/run", ".ssh" */
    const char *why;
    bool is_above;    /* the directory is above `what`, and would bring it along */
};

/* What is the caller's own; all normalised and absolute. */
struct nacre_bind_caller {
    const char *home; /* NULL: not known; the usual ones are anyway */
    const char *const *engine; /* NULL-terminated: the engine's socket by each of its
                                  names, and where the keys to it lie; or NULL */
};

/* `host` is normalised and absolute.  `caller` is NULL where nothing of it is known; what
 * a refusal says may point into it. */
bool nacre_bind_is_refused(const char *host, bool writable,
                           const struct nacre_bind_caller *caller,
                           struct nacre_bind_refusal *ret_refusal);

/* The Nth name, relative to a `host` that is not refused by its own, that it is refused
 * for if there is such a one in it: of "/srv/a/.config" that is "gcloud".  NULL: there are
 * fewer. */
const char *nacre_bind_below(const char *host, size_t n,
                             struct nacre_bind_refusal *ret_refusal);

/* Where in a sandbox nothing may be mounted: `guest` is normalised and absolute. */
bool nacre_bind_target_is_refused(const char *guest,
                                  struct nacre_bind_refusal *ret_refusal);

#endif
