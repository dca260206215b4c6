/* What is bound, and how it is sealed.  A token comes from anybody. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "nacre/clock.h"
#include "nacre/seal.h"
#include "store.h"

#define VERSION 1

_Static_assert(NACRE_SEAL_SIZE(APPROVAL_ANSWER_BYTES) <= NACRE_APPROVAL_TOKEN,
               "a token fits");

const char *nacre_approval_verdict_name(enum nacre_approval_verdict verdict)
{
    static const char *const names[] = {
#define X(id, name) [NACRE_APPROVAL_##id] = name,
        NACRE_APPROVAL_MAP(X)
#undef X
    };

    assert(verdict < NACRE_APPROVAL_COUNT);
    return names[verdict];
}

struct nacre_digest approval_call(const struct nacre_approval_ask *ask)
{
    struct nacre_hasher hasher;

    nacre_hash_init(&hasher);
    nacre_hash_add_text(&hasher, "nacre approval call 2");
    nacre_hash_add_text(&hasher, ask->tool);
    nacre_hash_add_text(&hasher, ask->arguments);
    nacre_hash_add_text(&hasher, ask->directory);
    nacre_hash_add(&hasher, ask->digest.bytes, sizeof(ask->digest.bytes));
    nacre_hash_add_u64(&hasher, ask->unsandboxed);
    nacre_hash_add_text(&hasher, ask->session);
    nacre_hash_add_text(&hasher, ask->agent);
    return nacre_hash_end(&hasher);
}

static uint8_t *put(uint8_t *at, uint64_t number, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--)
        *at++ = (uint8_t)(number >> 8 * i);
    return at;
}

static const uint8_t *get(const uint8_t *at, int bytes, uint64_t *ret_number)
{
    *ret_number = 0;
    for (int i = 0; i < bytes; i++)
        *ret_number = *ret_number << 8 | *at++;
    return at;
}

void approval_answer_seal(const uint8_t key[NACRE_KEY_BYTES], const char *purpose,
                          const struct approval_answer *answer,
                          char ret_token[NACRE_APPROVAL_TOKEN])
{
    uint8_t payload[APPROVAL_ANSWER_BYTES] = { VERSION, answer->approve }, *at;

    memcpy(payload + 2, answer->nonce, sizeof(answer->nonce));
    at = put(payload + 2 + sizeof(answer->nonce), answer->expires_ms, 8);
    at = put(at, answer->uid, 4);
    memcpy(at, answer->call.bytes, sizeof(answer->call.bytes));
    nacre_seal(key, purpose, payload, sizeof(payload), ret_token);
}

bool approval_answer_open(const uint8_t key[NACRE_KEY_BYTES], const char *purpose,
                          const char *token, struct approval_answer *ret_answer)
{
    uint8_t payload[APPROVAL_ANSWER_BYTES];
    const uint8_t *at;
    uint64_t uid;

    if (!nacre_unseal(key, purpose, token, payload, sizeof(payload)) ||
        payload[0] != VERSION)
        return false;
    ret_answer->approve = payload[1] == 1;
    memcpy(ret_answer->nonce, payload + 2, sizeof(ret_answer->nonce));
    at = get(payload + 2 + sizeof(ret_answer->nonce), 8, &ret_answer->expires_ms);
    at = get(at, 4, &uid);
    ret_answer->uid = (uint32_t)uid;
    memcpy(ret_answer->call.bytes, at, sizeof(ret_answer->call.bytes));
    return true;
}

enum nacre_status nacre_approval_issue(const char *key_dir,
                                       const struct nacre_approval_ask *ask,
                                       uint64_t ttl_ms,
                                       char ret_token[NACRE_APPROVAL_TOKEN],
                                       struct nacre_error *err)
{
    struct approval_answer answer = { .approve = true, .uid = (uint32_t)getuid(),
                                      .call = approval_call(ask) };
    uint8_t key[NACRE_KEY_BYTES];
    enum nacre_status status;

    if (ttl_ms > NACRE_APPROVAL_TTL_MS_MAX)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "an approval is good for at most %" PRIu64 " ms",
                          NACRE_APPROVAL_TTL_MS_MAX);
    status = nacre_random(answer.nonce, sizeof(answer.nonce), err);
    if (status == NACRE_OK)
        status = nacre_key_load(key_dir, APPROVAL_KEY, key, err);
    if (status != NACRE_OK)
        return status;
    answer.expires_ms =
        nacre_clock_wall_ms() + (ttl_ms > 0 ? ttl_ms : NACRE_APPROVAL_TTL_MS);
    approval_answer_seal(key, APPROVAL_PURPOSE_TOKEN, &answer, ret_token);
    explicit_bzero(key, sizeof(key));
    return NACRE_OK;
}
