#ifndef NACRE_SESSION_PRIVATE_H
#define NACRE_SESSION_PRIVATE_H

#include "nacre/plan.h"
#include "nacre/policy.h"

/*
 * What a policy lists as /workspace and /tmp and no request names is private: to the run,
 * or, where the request names a scope, to the session, the agent or all, and then the
 * same at every level.  STATE_DIR/private has a directory for each, with a record as every
 * session's sandbox has one: so `nacre session list`, `end` and `prune` know it.
 *
 * An engine keeps those that it has used last, so that nothing of the above is looked
 * through for each run.  One that is used is not ended or pruned.  From several threads.
 */
struct session_privates;

NACRE_MUST_CHECK enum nacre_status session_privates_new(struct session_privates **ret_all,
                                                        struct nacre_error *err);
void session_privates_free(struct session_privates *all); /* none is used; accepts NULL */

/* Has this plan, made without one, directories that are its scope's? */
bool session_private_is_meant(const struct nacre_plan *plan,
                              const struct nacre_request *request);

/*
 * The one of the request's scope, with both directories in it; used until put().  As root
 * they belong to whom sandboxes run as.  Fails as nacre_session_open() does.  Waits while
 * it is being ended, in nobody else's way, and *ret_left_ms is then what is left of the
 * run's time; else 0.
 */
struct session_private;
NACRE_MUST_CHECK enum nacre_status
session_private_get(struct session_privates *all, const char *state_dir,
                    const struct nacre_policy *policy,
                    const struct nacre_request *request, uint64_t *ret_left_ms,
                    struct session_private **ret_private, struct nacre_error *err);
void session_private_put(struct session_privates *all,
                         struct session_private *private); /* accepts NULL */

/* For nacre_request's private_dir; and the same where nothing is made, for who explains:
 * free() it, NULL when memory is short. */
const char *session_private_path(const struct session_private *private);
char *session_private_name(const char *state_dir, const struct nacre_request *request);

/* A name that is denied is held; what leads to it is the guest's, as it is in a directory
 * that is new.  What the guest itself has put in the way stays. */
void session_private_make_ways(const struct session_private *private,
                               const struct nacre_plan *plan);

#endif
