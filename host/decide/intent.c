/* The token of an intent.  It comes from an agent: until its HMAC holds it is bytes of
 * one length, and nothing of them decides anything. */
#include "nacre/intent.h"

#include <assert.h>
#include <string.h>

#include "nacre/own.h"
#include "nacre/seal.h"

#define VERSION 1

struct payload {
    uint8_t bytes[1 + 8 + NACRE_INTENT_NONCE + 4 * NACRE_DIGEST_BYTES];
};

#define PURPOSE "nacre intent 1"
_Static_assert(sizeof(struct payload) <= NACRE_SEAL_BYTES_MAX, "a payload fits");
_Static_assert(NACRE_SEAL_SIZE(sizeof(struct payload)) <= NACRE_INTENT_TOKEN,
               "a token fits");

const char *nacre_intent_verdict_name(enum nacre_intent_verdict verdict)
{
    static const char *const names[] = {
#define X(id, name) [NACRE_INTENT_##id] = name,
        NACRE_INTENT_VERDICT_MAP(X)
#undef X
    };

    assert(verdict < NACRE_INTENT_VERDICT_COUNT);
    return names[verdict];
}

bool nacre_intent_is_required(const struct nacre_policy *policy)
{
    return policy->input.intent == NACRE_INTENT_NEED_ALWAYS ||
           (policy->input.intent == NACRE_INTENT_NEED_CHANGES &&
            !policy->input.held_to_reading);
}

/* ---- the call ---- */

static void add_list(struct nacre_hasher *hasher, const char *const *list)
{
    for (size_t i = 0; list && list[i]; i++)
        nacre_hash_add_text(hasher, list[i]);
}

static struct nacre_digest tool_digest(const struct nacre_tool *tool)
{
    struct nacre_hasher hasher;

    nacre_hash_init(&hasher);
    if (tool->argv) {
        nacre_hash_add_text(&hasher, "nacre intent command");
        nacre_hash_add_text(&hasher, tool->argv[0]);
    } else {
        nacre_hash_add_text(&hasher, "nacre intent module");
        nacre_hash_add(&hasher, tool->digest.bytes, sizeof(tool->digest.bytes));
    }
    return nacre_hash_end(&hasher);
}

/* A command's own words and the request's arguments are one list to who runs it; a tool's
 * JSON arguments are what its stdin holds. */
static struct nacre_digest arguments_digest(const struct nacre_tool *tool,
                                            const struct nacre_request *request)
{
    struct nacre_hasher hasher;

    nacre_hash_init(&hasher);
    nacre_hash_add_text(&hasher, request->input_digest ? "nacre intent call"
                                                       : "nacre intent arguments");
    if (request->input_digest)
        nacre_hash_add(&hasher, request->input_digest, sizeof(*request->input_digest));
    nacre_hash_add_text(&hasher, request->invoke);
    if (tool->argv)
        add_list(&hasher, (const char *const *)tool->argv + 1);
    add_list(&hasher, request->arguments);
    return nacre_hash_end(&hasher);
}

static struct nacre_digest text_digest(const char *purpose, const char *text)
{
    struct nacre_hasher hasher;

    nacre_hash_init(&hasher);
    nacre_hash_add_text(&hasher, purpose);
    nacre_hash_add_text(&hasher, text);
    return nacre_hash_end(&hasher);
}

void nacre_intent_describe(const struct nacre_tool *tool,
                           const struct nacre_request *request,
                           struct nacre_intent *intent)
{
    intent->tool = tool_digest(tool);
    intent->arguments = arguments_digest(tool, request);
    intent->input = text_digest("nacre intent input", request->user_input);
    intent->session = text_digest("nacre intent session", request->session);
}

/* ---- the token ---- */

void nacre_intent_seal(const uint8_t key[NACRE_KEY_BYTES],
                       const struct nacre_intent *intent,
                       char ret_token[NACRE_INTENT_TOKEN])
{
    const struct nacre_digest *const parts[] = { &intent->tool, &intent->arguments,
                                                 &intent->input, &intent->session };
    struct payload payload = { { VERSION } };
    uint8_t *at = payload.bytes + 1;

    for (int i = 0; i < 8; i++)
        *at++ = (uint8_t)(intent->expires_ms >> 8 * (7 - i));
    memcpy(at, intent->nonce, sizeof(intent->nonce));
    at += sizeof(intent->nonce);
    for (size_t i = 0; i < NACRE_COUNT(parts); i++, at += NACRE_DIGEST_BYTES)
        memcpy(at, parts[i]->bytes, NACRE_DIGEST_BYTES);
    assert(at == payload.bytes + sizeof(payload.bytes));
    nacre_seal(key, PURPOSE, payload.bytes, sizeof(payload.bytes), ret_token);
}

static void read_payload(const struct payload *payload, struct nacre_intent *intent)
{
    struct nacre_digest *const parts[] = { &intent->tool, &intent->arguments,
                                           &intent->input, &intent->session };
    const uint8_t *at = payload->bytes + 1;

    intent->expires_ms = 0;
    for (int i = 0; i < 8; i++)
        intent->expires_ms = intent->expires_ms << 8 | *at++;
    memcpy(intent->nonce, at, sizeof(intent->nonce));
    at += sizeof(intent->nonce);
    for (size_t i = 0; i < NACRE_COUNT(parts); i++, at += NACRE_DIGEST_BYTES)
        memcpy(parts[i]->bytes, at, NACRE_DIGEST_BYTES);
}

enum nacre_intent_verdict nacre_intent_open(const uint8_t key[NACRE_KEY_BYTES],
                                            const char *token,
                                            struct nacre_intent *ret_intent)
{
    struct payload payload;

    if (!nacre_unseal(key, PURPOSE, token, payload.bytes, sizeof(payload.bytes)) ||
        payload.bytes[0] != VERSION)
        return NACRE_INTENT_INVALID;
    read_payload(&payload, ret_intent);
    return NACRE_INTENT_HOLDS;
}

enum nacre_intent_verdict nacre_intent_compare(const struct nacre_intent *intent,
                                               const struct nacre_intent *call,
                                               uint64_t now_ms, const char **ret_what)
{
    const struct {
        const struct nacre_digest *given, *right;
        const char *what;
    } parts[] = {
        { &intent->tool, &call->tool, "the tool" },
        { &intent->arguments, &call->arguments, "the arguments" },
        { &intent->input, &call->input, "the user's input" },
        { &intent->session, &call->session, "the session" },
    };

    for (size_t i = 0; i < NACRE_COUNT(parts); i++)
        if (!nacre_digest_equal(parts[i].given, parts[i].right)) {
            *ret_what = parts[i].what;
            return NACRE_INTENT_MISMATCH;
        }
    return now_ms < intent->expires_ms ? NACRE_INTENT_HOLDS : NACRE_INTENT_EXPIRED;
}
