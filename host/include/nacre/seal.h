#ifndef NACRE_SEAL_H
#define NACRE_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/base64.h"
#include "nacre/error.h"
#include "nacre/hash.h"
#include "nacre/key.h"

/*
 * Tokens that whoever holds the key gave out, and that are good once.
 *
 *     TOKEN = base64url(payload) "." base64url(HMAC-SHA-256(key, purpose NUL payload))
 *
 * A payload has one length for its purpose, and nothing of it is looked at before the
 * HMAC holds.
 */
#define NACRE_SEAL_BYTES_MAX 256
#define NACRE_SEAL_SIZE(count) \
    (NACRE_BASE64_SIZE(count) + NACRE_BASE64_SIZE(NACRE_DIGEST_BYTES))

/* `ret_token` has room for NACRE_SEAL_SIZE(count). */
void nacre_seal(const uint8_t key[NACRE_KEY_BYTES], const char *purpose,
                const uint8_t *payload, size_t count, char *ret_token);

/* False: not sealed with this key for this purpose, or altered. */
bool nacre_unseal(const uint8_t key[NACRE_KEY_BYTES], const char *purpose,
                  const char *token, uint8_t *ret_payload, size_t count);

/*
 * Takes `nonce`, for good: true for the first who comes, false for everybody else, across
 * processes and power cuts.  Those that were taken lie in the private directory `dir`,
 * a file each, until a day after `expires_ms` (of the wall clock).
 */
#define NACRE_NONCE_BYTES 16
NACRE_MUST_CHECK enum nacre_status nacre_once(const char *dir,
                                              const uint8_t nonce[NACRE_NONCE_BYTES],
                                              uint64_t expires_ms, bool *ret_first,
                                              struct nacre_error *err);

#endif
