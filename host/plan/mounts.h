#ifndef NACRE_MOUNTS_H
#define NACRE_MOUNTS_H

#include <string.h>

#include "nacre/binds.h"
#include "nacre/plan.h"

/*
 * Which directories a guest would see: every name that the policy lists, its mode
 * implies or a request asks for, each with its fate.  Private to host/plan; the plan
 * and `explain` both read it, so that they can't disagree.
 */

enum fate {
    FATE_NONE,
    FATE_MOUNT,
    FATE_TREE,        /* mode full: listed, and there already as a part of "/" */
    FATE_MODE_DENIES, /* mode deny */
    FATE_DENIED_PATH, /* at or below a denied path */
    FATE_CONTRADICTS, /* read-only in mode full */
    FATE_UNMAPPED,    /* relative, and no request says where it is */
    FATE_NOT_COVERED, /* asked for, and the policy has nothing at or above it */
    FATE_OVER_GRANT,  /* asked for with writing, granted without */
    FATE_DUPLICATE,   /* asked for twice */
    FATE_BAD_MOUNT,   /* asked for with a name that is none */
    FATE_RELATIVE,    /* at a native level: a relative name has no place there */
    FATE_BAD_BIND,    /* at a native level: a directory that no sandbox may see */
    FATE_BAD_TARGET,  /* at a native level: over what the sandbox is made of */
};

struct candidate {
    char *guest; /* normalised, but for FATE_BAD_MOUNT */
    char *host;  /* normalised and absolute; NULL: private */
    enum fate fate;
    bool own; /* `host` is in nacre's state: private to the request's session */
    bool writable;
    bool asked; /* a request names it */
    char mode;  /* the request's */
    size_t item;      /* of mount_paths, 1-based, that grants it; 0: the mode does */
    size_t denied_by; /* of denied_paths, 1-based, for FATE_DENIED_PATH */
    struct nacre_bind_refusal refusal; /* for FATE_BAD_BIND and FATE_BAD_TARGET */
};

/* A denied path, or where on the host it lies when a mount has moved it there. */
struct denied_name {
    char *path;
    bool host_only; /* says nothing about guest names */
    bool guest_only; /* nor this one about names of the host */
    size_t item;    /* of denied_paths, 1-based */
};

struct candidates {
    struct candidate *items;
    size_t count;
    struct denied_name *denied;
    size_t denied_count;
};

/* The mode as far as mounts go: a container's root is its own, also where mode full
 * lets it be written. */
enum nacre_filesystem_mode nacre_mount_mode(const struct nacre_policy *policy);

NACRE_MUST_CHECK enum nacre_status
nacre_candidates_make(const struct nacre_policy *policy,
                      const struct nacre_request *request, struct candidates *ret_list,
                      struct nacre_error *err);
void nacre_candidates_clear(struct candidates *list);

/* The innermost one at or above `guest`; with `mounts_only` among those that a guest
 * will see.  NULL when there is none. */
const struct candidate *nacre_candidates_at(const struct candidates *list,
                                            const char *guest, bool mounts_only);

/*
 * What a decision says about it: everything but the mechanism.  Returns the code of
 * the refusal, or NULL when nothing is refused.
 */
const char *nacre_candidate_decide(const struct nacre_policy *policy,
                                   const struct candidate *candidate,
                                   struct nacre_decision *ret_decision);

/* What no guest may have in a directory of the host that it may write: git runs it.  In
 * nacre's own state nobody runs git. */
#define NACRE_HOOKS ".git/hooks"
static inline bool nacre_has_hooks(const char *host, bool own, bool writable)
{
    return host && !own && writable && strcmp(host, "/") != 0;
}

/* "add under spec....mount_paths: - {path: P, permissions: ro}" as it fits the policy. */
void nacre_mount_fix(const struct nacre_policy *policy, const char *path, bool writable,
                     char *ret_fix, size_t size);

#endif
