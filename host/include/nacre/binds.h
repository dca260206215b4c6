#ifndef NACRE_BINDS_H
#define NACRE_BINDS_H

#include <stdbool.h>

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

/* `host` is normalised and absolute.  `home` is the caller's home directory where it is
 * known, else NULL; the usual ones are known anyway. */
bool nacre_bind_is_refused(const char *host, bool writable, const char *home,
                           struct nacre_bind_refusal *ret_refusal);

/* Where in a sandbox nothing may be mounted: `guest` is normalised and absolute. */
bool nacre_bind_target_is_refused(const char *guest,
                                  struct nacre_bind_refusal *ret_refusal);

#endif
