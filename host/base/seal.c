/* A token comes from anybody: until its HMAC holds it is bytes of one length. */
#include "nacre/seal.h"

#include <assert.h>
#include <string.h>

#define ENCODED(count) (((count) * 4 + 2) / 3)
#define MAC_TEXT ENCODED(NACRE_DIGEST_BYTES)
#define PURPOSE_MAX 32

static struct nacre_digest mac(const uint8_t key[NACRE_KEY_BYTES], const char *purpose,
                               const uint8_t *payload, size_t count)
{
    uint8_t bytes[PURPOSE_MAX + NACRE_SEAL_BYTES_MAX];
    size_t head = strlen(purpose) + 1;

    assert(head <= PURPOSE_MAX && count <= NACRE_SEAL_BYTES_MAX);
    memcpy(bytes, purpose, head);
    memcpy(bytes + head, payload, count);
    return nacre_hmac(key, NACRE_KEY_BYTES, bytes, head + count);
}

void nacre_seal(const uint8_t key[NACRE_KEY_BYTES], const char *purpose,
                const uint8_t *payload, size_t count, char *ret_token)
{
    struct nacre_digest digest = mac(key, purpose, payload, count);
    char *at = ret_token;

    at += nacre_base64_write(NACRE_BASE64_URL, payload, count, at);
    *at++ = '.';
    at += nacre_base64_write(NACRE_BASE64_URL, digest.bytes, sizeof(digest.bytes), at);
    *at = '\0';
}

/* Of a length that is known. */
static bool decode(const char *text, size_t length, uint8_t *ret_bytes, size_t count)
{
    size_t found;

    return nacre_base64_read(NACRE_BASE64_URL, text, length, ret_bytes, count, &found) &&
           found == count;
}

bool nacre_unseal(const uint8_t key[NACRE_KEY_BYTES], const char *purpose,
                  const char *token, uint8_t *ret_payload, size_t count)
{
    uint8_t payload[NACRE_SEAL_BYTES_MAX];
    struct nacre_digest given, right;
    size_t length = ENCODED(count);

    assert(count <= sizeof(payload));
    if (strnlen(token, NACRE_SEAL_SIZE(count)) != length + 1 + MAC_TEXT ||
        token[length] != '.' || !decode(token, length, payload, count) ||
        !decode(token + length + 1, MAC_TEXT, given.bytes, sizeof(given.bytes)))
        return false;
    right = mac(key, purpose, payload, count);
    if (!nacre_digest_equal(&given, &right))
        return false;
    memcpy(ret_payload, payload, count);
    return true;
}
