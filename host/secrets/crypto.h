#ifndef NACRE_SECRETS_CRYPTO_H
#define NACRE_SECRETS_CRYPTO_H

#include <stddef.h>
#include <stdint.h>

#include "nacre/error.h"

/*
 * AES-256-GCM by libcrypto, which is loaded at first use: linked, it would cost every run
 * its start-up.  From any thread.
 */
#define SEAL_KEY 32
#define SEAL_NONCE 12
#define SEAL_TAG 16
#define SEAL_EXTRA (SEAL_NONCE + SEAL_TAG) /* sealed bytes are so much longer */

/* NACRE_ERR_UNAVAILABLE says what to install. */
NACRE_MUST_CHECK enum nacre_status crypto_ready(struct nacre_error *err);

struct seal_aad { /* authenticated with it, and kept elsewhere */
    const void *bytes;
    size_t count;
};

/* Writes count + SEAL_EXTRA bytes: a fresh random nonce, the ciphertext, the tag. */
NACRE_MUST_CHECK enum nacre_status crypto_seal(const uint8_t key[SEAL_KEY],
                                               struct seal_aad aad, const void *plain,
                                               size_t count, uint8_t *ret_sealed,
                                               struct nacre_error *err);

/* Writes sealed_count - SEAL_EXTRA bytes.  NACRE_ERR_PARSE: it is not what was sealed
 * with this key and these words; nothing is left in `ret_plain`. */
NACRE_MUST_CHECK enum nacre_status crypto_open(const uint8_t key[SEAL_KEY],
                                               struct seal_aad aad, const uint8_t *sealed,
                                               size_t sealed_count, void *ret_plain,
                                               struct nacre_error *err);

#endif
