#ifndef NACRE_CONVERT_H
#define NACRE_CONVERT_H

#include "nacre/buf.h"
#include "nacre/error.h"
#include "nacre/policy.h"

/*
 * A policy in CKP form.  Pure.  What CKP has no key for is never dropped in silence: each
 * such setting is a loss, with the place that said it.
 */

#define NACRE_CKP_BYTES_MAX ((size_t)8 << 20)

struct nacre_loss {
    char key[64];             /* "container.image"; one of a list has its number */
    struct nacre_place place; /* line 0 where a dialect's default says it */
    char text[256];           /* what it says; what to do instead where that is known */
};

struct nacre_losses {
    struct nacre_loss *items;
    size_t count;
};
/* What it holds is freed, and it is empty again. */
void nacre_losses_clear(struct nacre_losses *losses);

/*
 * Appends to `out` a document that nacre_policy_parse() reads as the same policy, less
 * the losses, which are appended to `losses`.  Keys stand in the order of CKP's own
 * specification; behind each value a comment names the line of policy->source that said
 * it.  `about` becomes a comment at the top; one line, or NULL.
 */
NACRE_MUST_CHECK enum nacre_status nacre_ckp_write(const struct nacre_policy *policy,
                                                   const char *about,
                                                   struct nacre_buf *out,
                                                   struct nacre_losses *losses,
                                                   struct nacre_error *err);

/* The same for what a session's shell runs by; what the session and its sandbox have
 * beside the policy (mode, scope, host directories, tools, elevation, prune) is lost. */
struct nacre_session;
NACRE_MUST_CHECK enum nacre_status
nacre_ckp_write_session(const struct nacre_session *session, struct nacre_buf *out,
                        struct nacre_losses *losses, struct nacre_error *err);

#endif
