#include "crypto.h"

#include <assert.h>
#include <dlfcn.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "nacre/hash.h"
#include "nacre/own.h"

#define CRYPTO_MAP(X)                                                                  \
    X(int, OPENSSL_init_crypto, (uint64_t options, const void *settings))              \
    X(EVP_CIPHER_CTX *, EVP_CIPHER_CTX_new, (void))                                    \
    X(void, EVP_CIPHER_CTX_free, (EVP_CIPHER_CTX *context))                            \
    X(int, EVP_CIPHER_CTX_ctrl, (EVP_CIPHER_CTX *context, int type, int n, void *data)) \
    X(const EVP_CIPHER *, EVP_aes_256_gcm, (void))                                     \
    X(int, EVP_CipherInit_ex,                                                          \
      (EVP_CIPHER_CTX *context, const EVP_CIPHER *cipher, void *engine,                \
       const unsigned char *key, const unsigned char *nonce, int seals))               \
    X(int, EVP_CipherUpdate,                                                           \
      (EVP_CIPHER_CTX *context, unsigned char *out, int *out_count,                    \
       const unsigned char *in, int in_count))                                         \
    X(int, EVP_CipherFinal_ex,                                                         \
      (EVP_CIPHER_CTX *context, unsigned char *out, int *out_count))

struct crypto {
#define X(type, name, parameters) type(*name) parameters;
    CRYPTO_MAP(X)
#undef X
};

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
#define X(type, name, parameters) { #name, offsetof(struct crypto, name) },
    CRYPTO_MAP(X)
#undef X
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct crypto crypto;
static bool is_loaded;

static enum nacre_status load(struct crypto *ret_crypto, struct nacre_error *err)
{
    void *library = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);
    struct crypto found;

    if (!library)
        library = dlopen("libcrypto.so.1.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "secrets need OpenSSL's libcrypto, which can't be loaded: "
                          "install the package libssl3 (%s)", dlerror());
    for (size_t i = 0; i < NACRE_COUNT(symbols); i++) {
        void *symbol = dlsym(library, symbols[i].name);

        if (!symbol) {
            (void)dlclose(library);
            return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                              "secrets need another libcrypto: this one has no %s; "
                              "install the package libssl3", symbols[i].name);
        }
        memcpy((char *)&found + symbols[i].offset, &symbol, sizeof(symbol));
    }
    /* No configuration file: it could name other code to load.  No work at exit: forked
     * children leave in their own ways. */
    if (found.OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT,
                                  NULL) != 1)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE, "libcrypto can't be initialised");
    *ret_crypto = found;
    return NACRE_OK;
}

enum nacre_status crypto_ready(struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    (void)pthread_mutex_lock(&lock);
    if (!is_loaded)
        status = load(&crypto, err);
    is_loaded = status == NACRE_OK;
    (void)pthread_mutex_unlock(&lock);
    return status;
}

/* One pass in either direction; `tag` is written when it seals and judged when it opens.
 * False: out of memory, or the tag does not fit. */
static bool pass(bool seals, const uint8_t key[SEAL_KEY], const uint8_t *nonce,
                 struct seal_aad aad, const uint8_t *in, size_t count, uint8_t *out,
                 uint8_t *tag)
{
    EVP_CIPHER_CTX *context = crypto.EVP_CIPHER_CTX_new();
    unsigned char none[SEAL_TAG];
    int part = 0;
    bool done;

    assert(count <= INT_MAX && aad.count <= INT_MAX);
    if (!context)
        return false;
    done = crypto.EVP_CipherInit_ex(context, crypto.EVP_aes_256_gcm(), NULL, key, nonce,
                                    seals) == 1 &&
           crypto.EVP_CipherUpdate(context, NULL, &part, aad.bytes,
                                   (int)aad.count) == 1 &&
           (count == 0 ||
            crypto.EVP_CipherUpdate(context, out, &part, in, (int)count) == 1) &&
           (seals || crypto.EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, SEAL_TAG,
                                                tag) == 1) &&
           crypto.EVP_CipherFinal_ex(context, none, &part) == 1 &&
           (!seals || crypto.EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, SEAL_TAG,
                                                 tag) == 1);
    crypto.EVP_CIPHER_CTX_free(context);
    return done;
}

enum nacre_status crypto_seal(const uint8_t key[SEAL_KEY], struct seal_aad aad,
                              const void *plain, size_t count, uint8_t *ret_sealed,
                              struct nacre_error *err)
{
    enum nacre_status status = crypto_ready(err);

    if (status == NACRE_OK)
        status = nacre_random(ret_sealed, SEAL_NONCE, err);
    if (status != NACRE_OK)
        return status;
    if (!pass(true, key, ret_sealed, aad, plain, count, ret_sealed + SEAL_NONCE,
              ret_sealed + SEAL_NONCE + count))
        return nacre_fail(err, NACRE_ERR_MEMORY, "libcrypto could not seal a secret");
    return NACRE_OK;
}

enum nacre_status crypto_open(const uint8_t key[SEAL_KEY], struct seal_aad aad,
                              const uint8_t *sealed, size_t sealed_count, void *ret_plain,
                              struct nacre_error *err)
{
    enum nacre_status status = crypto_ready(err);
    uint8_t tag[SEAL_TAG];
    size_t count;

    if (status != NACRE_OK)
        return status;
    if (sealed_count < SEAL_EXTRA)
        return nacre_fail(err, NACRE_ERR_PARSE, "sealed bytes are cut short");
    count = sealed_count - SEAL_EXTRA;
    memcpy(tag, sealed + SEAL_NONCE + count, sizeof(tag));
    if (pass(false, key, sealed, aad, sealed + SEAL_NONCE, count, ret_plain, tag))
        return NACRE_OK;
    explicit_bzero(ret_plain, count);
    return nacre_fail(err, NACRE_ERR_PARSE, "sealed bytes were altered");
}
