#ifndef NACRE_INTENT_H
#define NACRE_INTENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/error.h"
#include "nacre/hash.h"
#include "nacre/key.h"
#include "nacre/plan.h"
#include "nacre/tool.h"

/*
 * Intents: a token that lets exactly one call through.  Whoever holds the key (the host
 * that talks to the person, never the agent) issues it for a tool, its arguments, the
 * session and what the person said; nacre_run() holds the run to it and takes it once.
 *
 * Bound: the tool (a module by its bytes, a command by its first word), every argument,
 * the JSON arguments of a tool's call byte by byte (request.input_digest), the export
 * that is invoked, the session, the person's input.  Not bound: environment, stdin of
 * which no digest is known, mounts, the directory it starts in and the policy; where
 * these matter, let the policy rule them.
 *
 *     TOKEN = base64url(payload) "." base64url(HMAC-SHA-256(key, payload))
 *
 * The payload has one length and one layout: version, expiry, nonce and four digests.
 * Nothing of it is looked at before the HMAC holds.
 */
#define NACRE_INTENT_KEY "intent.key" /* in the key directory */
#define NACRE_INTENT_TOKEN 256        /* with the terminator */
#define NACRE_INTENT_TTL_MS UINT64_C(300000)
#define NACRE_INTENT_TTL_MS_MAX UINT64_C(86400000)
#define NACRE_USER_INPUT_BYTES_MAX ((size_t)1 << 20)

#define NACRE_INTENT_NONCE 16

/* What a token says. */
struct nacre_intent {
    uint64_t expires_ms; /* of the wall clock, since 1970 */
    uint8_t nonce[NACRE_INTENT_NONCE];
    struct nacre_digest tool, arguments, input, session;
};

/* The codes of the denials, too. */
#define NACRE_INTENT_VERDICT_MAP(X)   \
    X(NONE, "none")                   \
    X(HOLDS, "intent-holds")          \
    X(MISSING, "intent-missing")      \
    X(INVALID, "intent-invalid")      /* not ours, or altered */ \
    X(EXPIRED, "intent-expired")      \
    X(MISMATCH, "intent-mismatch")    /* issued for another call */ \
    X(REPLAYED, "intent-replayed")    /* taken before */
enum nacre_intent_verdict {
#define X(id, name) NACRE_INTENT_##id,
    NACRE_INTENT_VERDICT_MAP(X)
#undef X
    NACRE_INTENT_VERDICT_COUNT
};
const char *nacre_intent_verdict_name(enum nacre_intent_verdict verdict);

/* ---- pure ---- */

/* Does the policy let nothing run without one?  With `changes` a tool that only reads is
 * held to that by its policy, see struct nacre_policy. */
bool nacre_intent_is_required(const struct nacre_policy *policy);

/* The four digests of a call; expiry and nonce are left as they are. */
void nacre_intent_describe(const struct nacre_tool *tool,
                           const struct nacre_request *request,
                           struct nacre_intent *intent);

void nacre_intent_seal(const uint8_t key[NACRE_KEY_BYTES],
                       const struct nacre_intent *intent,
                       char ret_token[NACRE_INTENT_TOKEN]);

/* HOLDS: *ret_intent is what the key's holder sealed.  INVALID else. */
enum nacre_intent_verdict nacre_intent_open(const uint8_t key[NACRE_KEY_BYTES],
                                            const char *token,
                                            struct nacre_intent *ret_intent);

/* Is it for this call, at this time?  HOLDS, EXPIRED or MISMATCH; then *ret_what names
 * what differs ("the arguments"). */
enum nacre_intent_verdict nacre_intent_compare(const struct nacre_intent *intent,
                                               const struct nacre_intent *call,
                                               uint64_t now_ms, const char **ret_what);

/* ---- with key and state ---- */

/*
 * A token for a run of `tool` with this request (arguments, invoke, session, user_input
 * count) that is good for `ttl_ms` (0: NACRE_INTENT_TTL_MS).  The key is made at first
 * use.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_intent_issue(const char *key_dir, const struct nacre_tool *tool,
                   const struct nacre_request *request, uint64_t ttl_ms,
                   char ret_token[NACRE_INTENT_TOKEN], struct nacre_error *err);

/* request->intent against the call; nothing is written.  `ret_text` receives a sentence
 * when it does not hold. */
#define NACRE_INTENT_TEXT 256
NACRE_MUST_CHECK enum nacre_status
nacre_intent_verify(const char *key_dir, const struct nacre_tool *tool,
                    const struct nacre_request *request, struct nacre_intent *ret_intent,
                    enum nacre_intent_verdict *ret_verdict,
                    char ret_text[NACRE_INTENT_TEXT], struct nacre_error *err);

/*
 * Takes it, for good: HOLDS for the first who comes before it expires, REPLAYED (or
 * EXPIRED) for everybody else, across processes and power cuts.  Used nonces lie in
 * STATE_DIR/intents, a file each, until a day after their expiry.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_intent_take(const char *state_dir, const struct nacre_intent *intent,
                  enum nacre_intent_verdict *ret_verdict, struct nacre_error *err);

#endif
