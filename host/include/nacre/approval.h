#ifndef NACRE_APPROVAL_H
#define NACRE_APPROVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/error.h"
#include "nacre/hash.h"
#include "nacre/own.h"
#include "nacre/policy.h"

/*
 * A person's word, for tools that run unsandboxed or whose manifest asks for it.  A
 * request lies in STATE_DIR/approvals, a file each; the answer comes from outside the
 * model's channel: `nacre approve ID`, an approver command of the operator's, a token
 * that was given in advance, or the operator's SOUL.md.  An approval is for exactly one
 * call with exactly those arguments, that directory and that digest, until it expires; and
 * one for a sandbox is none for the host.
 */
struct nacre_approval_ask {
    const char *tool;      /* canonical */
    const char *also;      /* the tool that this call comes to, where marks are looked
                              for it, too; or NULL */
    const char *arguments; /* one line of JSON with sorted keys, or a command as it runs */
    const char *directory; /* where it would run */
    struct nacre_digest digest; /* of the module or of the command's words */
    bool unsandboxed;      /* it would run on the host */
    const char *reason;    /* why a person is asked: "unsandboxed", "manifest" */
    const char *session, *agent, *caller; /* or NULL */
    const char *token;     /* given in advance, or NULL */
    uint64_t timeout_ms;   /* the caller waits no longer; 0: as long as the operator */
};

/* What the operator wants; zeroed: no command, no soul, two minutes. */
struct nacre_approval_options {
    const char *state_dir, *key_dir;
    uint64_t wait_ms;        /* 0: NACRE_APPROVAL_WAIT_MS */
    char *const *command;    /* the approver, NULL-terminated argv; NULL: none */
    const char *soul;        /* path of the SOUL.md that has to name the tool; NULL: none */
    const char *const *mounts; /* NULL-terminated: host directories that a guest sees; or
                                  NULL */
    /* Told once when a person has to answer; may be NULL. */
    void (*on_wait)(void *data, const char *id, const char *tool);
    void *on_wait_data;
};

/*
 * The caller's own configuration, host.yaml beside the policies' directory:
 *
 *     approvals:
 *       soul: /home/me/SOUL.md
 *       command: [/usr/local/bin/ask-me]
 *       wait_ms: 60000
 *       require: [write, exec]        # asked about though they are sandboxed
 *     engine:                         # of containers, where neither DOCKER_HOST nor a
 *       host: tcp://build:2376        # docker context names one; or unix:///path
 *       certificates: /etc/nacre/tls  # ca.pem, cert.pem and key.pem; none: no TLS
 */
struct nacre_host_rules {
    char *soul;
    char **command; /* NULL-terminated; or NULL */
    char **require; /* NULL-terminated names of tools, as written; or NULL */
    struct nacre_limit wait_ms; /* line 0: not said */
    char *engine_host, *engine_certificates; /* or NULL; the second only with the first */
    struct nacre_place engine_place;         /* of the host */
    struct nacre_place certificates_place;
};
/* A file that is not there, or NULL, says nothing; one that others may write is refused. */
NACRE_MUST_CHECK enum nacre_status nacre_host_rules_load(const char *path,
                                                         struct nacre_host_rules **ret_rules,
                                                         struct nacre_error *err);
void nacre_host_rules_free(struct nacre_host_rules *rules); /* accepts NULL */
NACRE_OWNED(nacre_host_rules)

#define NACRE_APPROVAL_WAIT_MS UINT64_C(120000)
#define NACRE_APPROVAL_TTL_MS UINT64_C(600000)
#define NACRE_APPROVAL_TTL_MS_MAX UINT64_C(86400000)
#define NACRE_APPROVAL_ID 17

/* The codes of the denials, too. */
#define NACRE_APPROVAL_MAP(X)            \
    X(NONE, "none")                      \
    X(APPROVED, "approved")              \
    X(DENIED, "approval-denied")         \
    X(TIMED_OUT, "approval-timed-out")   \
    X(CHANGED, "approval-changed")       /* approved, but for another call */ \
    X(REPLAYED, "approval-replayed")     \
    X(EXPIRED, "approval-expired")       \
    X(NOT_IN_SOUL, "approval-not-in-soul")
enum nacre_approval_verdict {
#define X(id, name) NACRE_APPROVAL_##id,
    NACRE_APPROVAL_MAP(X)
#undef X
    NACRE_APPROVAL_COUNT
};
const char *nacre_approval_verdict_name(enum nacre_approval_verdict verdict);

struct nacre_approval {
    enum nacre_approval_verdict verdict;
    char id[NACRE_APPROVAL_ID];
    char approver[64]; /* "person:<user>", "command", "token", "soul" */
    char text[384];    /* a sentence, and what to do next */
};

/* Asks and waits: as long as the options say, at the most until `deadline_ns` of
 * nacre_clock_ns().  Whatever is not a clear yes is a no. */
NACRE_MUST_CHECK enum nacre_status
nacre_approval_get(const struct nacre_approval_options *options,
                   const struct nacre_approval_ask *ask, uint64_t deadline_ns,
                   struct nacre_approval *ret_approval, struct nacre_error *err);

/* ---- for the person ---- */

struct nacre_approval_info {
    char id[NACRE_APPROVAL_ID];
    const char *tool, *arguments, *directory, *reason, *session, *agent, *caller;
    bool unsandboxed;
    char digest[NACRE_HEX];
    uint64_t asked_ms, expires_ms; /* since 1970 */
    char state[16]; /* waiting, answered (and not yet used), expired */
};

NACRE_MUST_CHECK enum nacre_status
nacre_approvals_each(const char *state_dir,
                     bool (*each)(void *data, const struct nacre_approval_info *info),
                     void *data, struct nacre_error *err);
/* Answers one that waits.  NACRE_ERR_NOT_FOUND; NACRE_ERR_USAGE: it has its answer, or is
 * too old.  NACRE_ERR_DENIED: the caller is a command that nacre runs. */
NACRE_MUST_CHECK enum nacre_status nacre_approval_answer(const char *state_dir,
                                                         const char *key_dir,
                                                         const char *id, bool approve,
                                                         struct nacre_error *err);
/* A token for one call like `ask`, before it is made. */
#define NACRE_APPROVAL_TOKEN 256
NACRE_MUST_CHECK enum nacre_status
nacre_approval_issue(const char *key_dir, const struct nacre_approval_ask *ask,
                     uint64_t ttl_ms, char ret_token[NACRE_APPROVAL_TOKEN],
                     struct nacre_error *err);

/* Records SOUL.md as it is now, as the operator's word. */
NACRE_MUST_CHECK enum nacre_status nacre_soul_trust(const char *soul, const char *key_dir,
                                                    struct nacre_error *err);

#endif
