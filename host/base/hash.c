#include "nacre/hash.h"

#include <assert.h>
#include <errno.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <nettle/poly1305.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>
#include <string.h>
#include <sys/random.h>

_Static_assert(sizeof(struct sha256_ctx) <= sizeof(((struct nacre_hasher *)0)->state),
               "the hasher holds nettle's context");

static struct sha256_ctx *context_of(struct nacre_hasher *hasher)
{
    return (struct sha256_ctx *)(void *)hasher->state;
}

void nacre_hash_init(struct nacre_hasher *hasher)
{
    sha256_init(context_of(hasher));
}

void nacre_hash_add(struct nacre_hasher *hasher, const void *bytes, size_t count)
{
    sha256_update(context_of(hasher), count, bytes);
}

void nacre_hash_add_u64(struct nacre_hasher *hasher, uint64_t number)
{
    uint8_t bytes[8];

    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(number >> 8 * i);
    nacre_hash_add(hasher, bytes, sizeof(bytes));
}

void nacre_hash_add_text(struct nacre_hasher *hasher, const char *text)
{
    nacre_hash_add_u64(hasher, text ? strlen(text) : UINT64_MAX);
    if (text)
        nacre_hash_add(hasher, text, strlen(text));
}

struct nacre_digest nacre_hash_end(struct nacre_hasher *hasher)
{
    struct nacre_digest digest;

    sha256_digest(context_of(hasher), sizeof(digest.bytes), digest.bytes);
    return digest;
}

struct nacre_digest nacre_hash(const void *bytes, size_t count)
{
    struct nacre_hasher hasher;

    nacre_hash_init(&hasher);
    nacre_hash_add(&hasher, bytes, count);
    return nacre_hash_end(&hasher);
}

struct nacre_digest nacre_hmac(const void *key, size_t key_bytes, const void *bytes,
                               size_t count)
{
    struct hmac_sha256_ctx context;
    struct nacre_digest digest;

    hmac_sha256_set_key(&context, key_bytes, key);
    hmac_sha256_update(&context, count, bytes);
    hmac_sha256_digest(&context, sizeof(digest.bytes), digest.bytes);
    return digest;
}

const char *nacre_digest_hex(const struct nacre_digest *digest, char ret_hex[NACRE_HEX])
{
    /* By arithmetic and not from a table: so the compiler does many at once. */
    for (size_t i = 0; i < sizeof(digest->bytes); i++) {
        uint8_t high = digest->bytes[i] >> 4, low = digest->bytes[i] & 15;

        ret_hex[2 * i] = (char)(high + '0' + (high > 9 ? 'a' - '9' - 1 : 0));
        ret_hex[2 * i + 1] = (char)(low + '0' + (low > 9 ? 'a' - '9' - 1 : 0));
    }
    ret_hex[NACRE_HEX - 1] = '\0';
    return ret_hex;
}

bool nacre_digest_from_hex(const char *hex, struct nacre_digest *ret_digest)
{
    struct nacre_digest digest = { { 0 } };

    if (strlen(hex) != NACRE_HEX - 1)
        return false;
    for (size_t i = 0; i < NACRE_HEX - 1; i++) {
        unsigned value;

        if (hex[i] >= '0' && hex[i] <= '9')
            value = (unsigned)(hex[i] - '0');
        else if (hex[i] >= 'a' && hex[i] <= 'f')
            value = (unsigned)(hex[i] - 'a') + 10;
        else
            return false;
        digest.bytes[i / 2] = (uint8_t)((unsigned)digest.bytes[i / 2] << 4 | value);
    }
    *ret_digest = digest;
    return true;
}

bool nacre_bytes_equal(const void *a, const void *b, size_t count)
{
    return memeql_sec(a, b, count) != 0;
}

bool nacre_digest_equal(const struct nacre_digest *a, const struct nacre_digest *b)
{
    return nacre_bytes_equal(a->bytes, b->bytes, sizeof(a->bytes));
}

void nacre_mac(const uint8_t key[NACRE_MAC_KEY_BYTES], const uint8_t nonce[16],
               const void *bytes, size_t count, uint8_t ret_mac[NACRE_MAC_BYTES])
{
    struct poly1305_aes_ctx context;

    poly1305_aes_set_key(&context, key);
    poly1305_aes_set_nonce(&context, nonce);
    poly1305_aes_update(&context, count, bytes);
    poly1305_aes_digest(&context, NACRE_MAC_BYTES, ret_mac);
}

void nacre_sha1(const void *bytes, size_t count, uint8_t ret_digest[NACRE_SHA1_BYTES])
{
    struct sha1_ctx context;

    sha1_init(&context);
    sha1_update(&context, count, bytes);
    sha1_digest(&context, NACRE_SHA1_BYTES, ret_digest);
}

enum nacre_status nacre_random(void *ret_bytes, size_t count, struct nacre_error *err)
{
    unsigned char *bytes = ret_bytes;

    while (count > 0) {
        ssize_t got = getrandom(bytes, count, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return nacre_fail(err, NACRE_ERR_IO, "no random numbers");
        bytes += got;
        count -= (size_t)got;
    }
    return NACRE_OK;
}
