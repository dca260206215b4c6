#ifndef NACRE_HASH_H
#define NACRE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/error.h"

/* SHA-256, HMAC-SHA-256 and a fast MAC, over nettle. */

#define NACRE_DIGEST_BYTES 32
#define NACRE_HEX (2 * NACRE_DIGEST_BYTES + 1)

struct nacre_digest {
    uint8_t bytes[NACRE_DIGEST_BYTES];
};

struct nacre_hasher {
    _Alignas(16) unsigned char state[512]; /* a struct sha256_ctx or hmac_sha256_ctx */
};

void nacre_hash_init(struct nacre_hasher *hasher);
void nacre_hash_add(struct nacre_hasher *hasher, const void *bytes, size_t count);
/* Length-prefixed, so that ("ab","c") and ("a","bc") differ.  NULL differs from "". */
void nacre_hash_add_text(struct nacre_hasher *hasher, const char *text);
void nacre_hash_add_u64(struct nacre_hasher *hasher, uint64_t number);
struct nacre_digest nacre_hash_end(struct nacre_hasher *hasher);

struct nacre_digest nacre_hash(const void *bytes, size_t count);
struct nacre_digest nacre_hmac(const void *key, size_t key_bytes, const void *bytes,
                               size_t count);

/* Lower-case hex, NACRE_HEX bytes with the terminator. */
const char *nacre_digest_hex(const struct nacre_digest *digest, char ret_hex[NACRE_HEX]);
bool nacre_digest_from_hex(const char *hex, struct nacre_digest *ret_digest);
/* In constant time. */
bool nacre_digest_equal(const struct nacre_digest *a, const struct nacre_digest *b);

/*
 * Poly1305-AES over large data (6 GB/s where HMAC-SHA-256 does 1.6).  A nonce
 * may never come twice under one key: take it from nacre_random().
 */
#define NACRE_MAC_BYTES 16
#define NACRE_MAC_KEY_BYTES 32
void nacre_mac(const uint8_t key[NACRE_MAC_KEY_BYTES], const uint8_t nonce[16],
               const void *bytes, size_t count, uint8_t ret_mac[NACRE_MAC_BYTES]);
bool nacre_bytes_equal(const void *a, const void *b, size_t count); /* constant time */

/* SHA-1, for names that others make by it; nothing rests on its strength. */
#define NACRE_SHA1_BYTES 20
void nacre_sha1(const void *bytes, size_t count, uint8_t ret_digest[NACRE_SHA1_BYTES]);

/* The kernel's random numbers; fails only where there are none. */
NACRE_MUST_CHECK enum nacre_status nacre_random(void *ret_bytes, size_t count,
                                                struct nacre_error *err);

#endif
