/*
 * Intents with a key and a memory.  The token and the request are anybody's; the key
 * directory and the state directory are ours alone, and opened as such.
 */
#include "nacre/intent.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "guard.h"
#include "nacre/clock.h"
#include "nacre/own.h"
#include "nacre/path.h"
#include "nacre/seal.h"

#define STATE_NAME "intents"

enum nacre_status nacre_intent_issue(const char *key_dir, const struct nacre_tool *tool,
                                     const struct nacre_request *request, uint64_t ttl_ms,
                                     char ret_token[NACRE_INTENT_TOKEN],
                                     struct nacre_error *err)
{
    uint8_t key[NACRE_KEY_BYTES];
    struct nacre_intent intent;
    enum nacre_status status;

    if (ttl_ms > NACRE_INTENT_TTL_MS_MAX)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "an intent lives at most %" PRIu64 " ms",
                          NACRE_INTENT_TTL_MS_MAX);
    status = nacre_random(intent.nonce, sizeof(intent.nonce), err);
    if (status == NACRE_OK)
        status = nacre_key_load(key_dir, NACRE_INTENT_KEY, key, err);
    if (status != NACRE_OK)
        return status;
    intent.expires_ms =
        nacre_clock_wall_ms() + (ttl_ms > 0 ? ttl_ms : NACRE_INTENT_TTL_MS);
    nacre_intent_describe(tool, request, &intent);
    nacre_intent_seal(key, &intent, ret_token);
    explicit_bzero(key, sizeof(key));
    return NACRE_OK;
}

enum nacre_status nacre_intent_verify(const char *key_dir, const struct nacre_tool *tool,
                                      const struct nacre_request *request,
                                      struct nacre_intent *ret_intent,
                                      enum nacre_intent_verdict *ret_verdict,
                                      char ret_text[NACRE_INTENT_TEXT],
                                      struct nacre_error *err)
{
    uint8_t key[NACRE_KEY_BYTES];
    struct nacre_intent call = { 0 };
    const char *what = "";
    enum nacre_status status;

    if (!request->intent) {
        *ret_verdict = NACRE_INTENT_MISSING;
        (void)snprintf(ret_text, NACRE_INTENT_TEXT,
                       "the policy does not let this run without an intent, and none "
                       "came");
        return NACRE_OK;
    }
    status = nacre_key_load(key_dir, NACRE_INTENT_KEY, key, err);
    if (status != NACRE_OK)
        return nacre_fail_context(err, "the intent can't be verified");
    *ret_verdict = nacre_intent_open(key, request->intent, ret_intent);
    explicit_bzero(key, sizeof(key));
    if (*ret_verdict == NACRE_INTENT_INVALID) {
        (void)snprintf(ret_text, NACRE_INTENT_TEXT,
                       "the intent is not one that was issued here, or it was altered");
        return NACRE_OK;
    }
    nacre_intent_describe(tool, request, &call);
    *ret_verdict = nacre_intent_compare(ret_intent, &call, nacre_clock_wall_ms(), &what);
    if (*ret_verdict == NACRE_INTENT_MISMATCH)
        (void)snprintf(ret_text, NACRE_INTENT_TEXT,
                       "the intent was issued for another call: %s %s not the same", what,
                       strcmp(what, "the arguments") == 0 ? "are" : "is");
    else if (*ret_verdict == NACRE_INTENT_EXPIRED)
        (void)snprintf(ret_text, NACRE_INTENT_TEXT, "the intent has expired");
    return NACRE_OK;
}

/* ---- once ---- */

enum nacre_status nacre_intent_take(const char *state_dir,
                                    const struct nacre_intent *intent,
                                    enum nacre_intent_verdict *ret_verdict,
                                    struct nacre_error *err)
{
    char path[NACRE_PATH_MAX];
    bool first = false;
    enum nacre_status status;

    if ((size_t)snprintf(path, sizeof(path), "%s/" STATE_NAME, state_dir) >= sizeof(path))
        return nacre_fail(err, NACRE_ERR_USAGE, "the state directory's name is too long");
    status = nacre_once(path, intent->nonce, intent->expires_ms, &first, err);
    if (status != NACRE_OK)
        return nacre_fail_context(err, "the intent");
    /* Asked again: what another process pruned meanwhile has expired. */
    *ret_verdict = !first                                       ? NACRE_INTENT_REPLAYED
                   : nacre_clock_wall_ms() < intent->expires_ms ? NACRE_INTENT_HOLDS
                                                                : NACRE_INTENT_EXPIRED;
    return NACRE_OK;
}

/* ---- as a part of a run ---- */

static enum nacre_status deny(const struct nacre_policy *policy,
                              enum nacre_intent_verdict verdict, const char *text,
                              struct nacre_result *result, struct nacre_error *err)
{
    struct nacre_denial denial = {
        .rule = "request.intent",
        .fix = "have one issued for exactly this call: nacre intent issue",
    };

    if (nacre_intent_is_required(policy)) {
        denial.place = policy->input.intent_place;
        (void)snprintf(denial.rule, sizeof(denial.rule), NACRE_GUARD_RULE_INTENT);
    }
    (void)snprintf(denial.text, sizeof(denial.text), "%s", text);
    return nacre_guard_deny(policy, nacre_intent_verdict_name(verdict), &denial, result,
                            err);
}

enum nacre_status nacre_guard_intent(const struct nacre_engine *engine,
                                     const struct nacre_policy *policy,
                                     const struct nacre_tool *tool,
                                     const struct nacre_request *request,
                                     struct nacre_guard *guard,
                                     struct nacre_result *result, struct nacre_error *err)
{
    enum nacre_intent_verdict verdict = NACRE_INTENT_NONE;
    char text[NACRE_INTENT_TEXT] = "";
    enum nacre_status status;

    if (!request->intent && !nacre_intent_is_required(policy))
        return NACRE_OK;
    status = nacre_intent_verify(engine->places.key_dir, tool, request, &guard->intent,
                                 &verdict, text, err);
    if (status != NACRE_OK)
        return status;
    if (verdict != NACRE_INTENT_HOLDS)
        return deny(policy, verdict, text, result, err);
    guard->has_intent = true;
    return NACRE_OK;
}

enum nacre_status nacre_guard_take(const struct nacre_engine *engine,
                                   const struct nacre_policy *policy,
                                   struct nacre_guard *guard, struct nacre_result *result,
                                   struct nacre_error *err)
{
    enum nacre_intent_verdict verdict = NACRE_INTENT_NONE;
    enum nacre_status status;

    if (!guard->has_intent)
        return NACRE_OK;
    status = nacre_intent_take(engine->places.state_dir, &guard->intent, &verdict, err);
    if (status != NACRE_OK)
        return status;
    if (verdict == NACRE_INTENT_REPLAYED)
        return deny(policy, verdict, "the intent was used before: it is good for one run",
                    result, err);
    return verdict == NACRE_INTENT_HOLDS
               ? NACRE_OK
               : deny(policy, verdict, "the intent has expired", result, err);
}
