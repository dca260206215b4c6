/*
 * The sandbox's own CA.  Its key never leaves this process's memory, and even a stolen
 * one is good for the hosts of way INTERCEPT and the door's life alone: the name
 * constraints are in the certificate, critical, and clients check them.
 */
#include "ca.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nacre/own.h"

#define LIFE_SECONDS_MAX (UINT64_C(8) * 24 * 3600) /* a run has seven days at most */
#define SLACK_SECONDS 300L /* a clock inside may be behind, or ahead */
#define SERIAL_BYTES 16
#define CONTEXTS_MAX 128
#define CONSTRAINTS_MAX ((size_t)64 << 10)

/* One of the hosts that were asked for. */
struct context {
    char name[NACRE_NAME_SIZE];
    SSL_CTX *tls;
};

struct door_ca {
    EVP_PKEY *key, *leaf_key; /* one for all leaves: they are one process's */
    time_t end;               /* of every certificate */
    X509 *certificate;
    char *pem;
    struct context contexts[CONTEXTS_MAX];
    uint32_t context_count, context_next; /* the oldest gives way */
};

static enum nacre_status broken(struct nacre_error *err, const char *what)
{
    ERR_clear_error();
    return nacre_fail(err, NACRE_ERR_BACKEND, "OpenSSL can't make %s", what);
}

static bool add_extension(X509 *certificate, X509 *issuer, int nid, const char *value)
{
    X509_EXTENSION *extension;
    X509V3_CTX context;
    bool added;

    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509V3_set_ctx_nodb(&context);
    extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    added = extension && X509_add_ext(certificate, extension, -1) == 1;
    X509_EXTENSION_free(extension);
    return added;
}

/* Everything but the extensions and the signature. */
static X509 *begin_certificate(EVP_PKEY *key, time_t end, const char *subject,
                               const X509 *issuer)
{
    X509 *certificate = X509_new();
    unsigned char serial[SERIAL_BYTES];
    BIGNUM *number = NULL;
    X509_NAME *name;
    bool made;

    if (!certificate)
        return NULL;
    name = X509_get_subject_name(certificate);
    made = RAND_bytes(serial, sizeof(serial)) == 1;
    serial[0] &= 0x7f;
    made = made && (number = BN_bin2bn(serial, sizeof(serial), NULL)) &&
           BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) &&
           X509_set_version(certificate, X509_VERSION_3) == 1 &&
           X509_gmtime_adj(X509_getm_notBefore(certificate), -SLACK_SECONDS) &&
           ASN1_TIME_set(X509_getm_notAfter(certificate), end) &&
           X509_NAME_add_entry_by_txt(name, "O", MBSTRING_ASC,
                                      (const unsigned char *)"nacre sandbox", -1, -1,
                                      0) == 1 &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                      (const unsigned char *)subject, -1, -1, 0) == 1 &&
           X509_set_issuer_name(certificate,
                                issuer ? X509_get_subject_name(issuer) : name) == 1 &&
           X509_set_pubkey(certificate, key) == 1;
    BN_free(number);
    if (made)
        return certificate;
    X509_free(certificate);
    return NULL;
}

/* ---- what it may vouch for ---- */

/* In a certificate a name stands for those below it too.  An address has no part in it: a
 * client that wants one sends no server name and is refused before.  Only named hosts can
 * be constrained to, so there is no interception of whatever a guest may think of. */
static enum nacre_status make_constraints(const struct nacre_egress *egress,
                                          struct nacre_buf *list, struct nacre_error *err)
{
    enum nacre_status status = nacre_buf_addf(
        list, err, "critical,excluded;IP:0.0.0.0/0.0.0.0,excluded;IP:::/::");
    uint32_t count = 0;

    for (uint32_t i = 0; i < egress->allowed_count && status == NACRE_OK; i++) {
        const struct nacre_egress_host *host = &egress->allowed[i];

        if (host->way != NACRE_WAY_INTERCEPT || host->is_address)
            continue;
        status = nacre_buf_addf(list, err, ",permitted;DNS:%s", host->name);
        count++;
    }
    if (status == NACRE_OK && (count == 0 || egress->way == NACRE_WAY_INTERCEPT))
        status = nacre_fail(err, NACRE_ERR_USAGE,
                            "only hosts that are named can be intercepted");
    return status;
}

static enum nacre_status make_root(struct door_ca *ca, const struct nacre_egress *egress,
                                   struct nacre_error *err)
{
    struct nacre_buf list = NACRE_BUF(CONSTRAINTS_MAX);
    enum nacre_status status = make_constraints(egress, &list, err);
    X509 *root = NULL;

    if (status == NACRE_OK) {
        root = ca->certificate = begin_certificate(ca->key, ca->end, "CA of one sandbox",
                                                  NULL);
        if (!root ||
            !add_extension(root, root, NID_basic_constraints,
                           "critical,CA:TRUE,pathlen:0") ||
            !add_extension(root, root, NID_key_usage, "critical,keyCertSign,cRLSign") ||
            !add_extension(root, root, NID_subject_key_identifier, "hash") ||
            !add_extension(root, root, NID_name_constraints, list.bytes) ||
            X509_sign(root, ca->key, EVP_sha256()) == 0)
            status = broken(err, "the sandbox's CA");
    }
    nacre_buf_clear(&list);
    return status;
}

static char *pem_of(X509 *certificate)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *bytes, *pem = NULL;
    long count;

    if (bio && PEM_write_bio_X509(bio, certificate) == 1 &&
        (count = BIO_get_mem_data(bio, &bytes)) > 0)
        pem = strndup(bytes, (size_t)count);
    BIO_free(bio);
    return pem;
}

enum nacre_status door_ca_new(const struct nacre_egress *egress, uint64_t life_s,
                              struct door_ca **ret_ca, struct nacre_error *err)
{
    struct door_ca *ca = calloc(1, sizeof(*ca));
    enum nacre_status status = NACRE_OK;

    if (!ca)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the sandbox's CA");
    ca->end = time(NULL) + SLACK_SECONDS +
              (time_t)(life_s < LIFE_SECONDS_MAX ? life_s : LIFE_SECONDS_MAX);
    ca->key = EVP_EC_gen("P-256");
    ca->leaf_key = EVP_EC_gen("P-256");
    if (!ca->key || !ca->leaf_key)
        status = broken(err, "a key");
    if (status == NACRE_OK)
        status = make_root(ca, egress, err);
    if (status == NACRE_OK && !(ca->pem = pem_of(ca->certificate)))
        status = broken(err, "the sandbox's CA");
    if (status != NACRE_OK) {
        door_ca_free(ca);
        return status;
    }
    *ret_ca = ca;
    return NACRE_OK;
}

const char *door_ca_certificate(const struct door_ca *ca)
{
    return ca->pem;
}

void door_ca_free(struct door_ca *ca)
{
    if (!ca)
        return;
    for (uint32_t i = 0; i < ca->context_count; i++)
        SSL_CTX_free(ca->contexts[i].tls);
    X509_free(ca->certificate);
    EVP_PKEY_free(ca->key);
    EVP_PKEY_free(ca->leaf_key);
    free(ca->pem);
    free(ca);
}

/* ---- one host ---- */

static X509 *make_leaf(const struct door_ca *ca, const char *name)
{
    X509 *leaf = begin_certificate(ca->leaf_key, ca->end, "host of one sandbox",
                                   ca->certificate);
    char value[NACRE_NAME_SIZE + 8];
    bool made = leaf != NULL;

    /* `name` is normalised: nothing in it means anything to the reader of the value. */
    (void)snprintf(value, sizeof(value), "DNS:%s", name);
    made = made && add_extension(leaf, ca->certificate, NID_basic_constraints,
                                 "critical,CA:FALSE") &&
           add_extension(leaf, ca->certificate, NID_key_usage,
                         "critical,digitalSignature") &&
           add_extension(leaf, ca->certificate, NID_ext_key_usage, "serverAuth") &&
           add_extension(leaf, ca->certificate, NID_subject_key_identifier, "hash") &&
           add_extension(leaf, ca->certificate, NID_authority_key_identifier,
                         "keyid:always") &&
           add_extension(leaf, ca->certificate, NID_subject_alt_name, value) &&
           X509_sign(leaf, ca->key, EVP_sha256()) != 0;
    if (made)
        return leaf;
    X509_free(leaf);
    return NULL;
}

/* HTTP/1.1 is what is spoken inside; who can't is told so. */
static int choose_protocol(SSL *tls, const unsigned char **ret_chosen,
                           unsigned char *ret_count, const unsigned char *offered,
                           unsigned int count, void *data)
{
    static const unsigned char spoken[] = "\x08http/1.1";

    (void)tls;
    (void)data;
    if (SSL_select_next_proto((unsigned char **)(uintptr_t)ret_chosen, ret_count, spoken,
                              sizeof(spoken) - 1, offered, count) ==
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_OK;
    return SSL_TLSEXT_ERR_ALERT_FATAL;
}

static SSL_CTX *make_context(const struct door_ca *ca, const char *name)
{
    SSL_CTX *tls = SSL_CTX_new(TLS_server_method());
    X509 *leaf = tls ? make_leaf(ca, name) : NULL;
    bool made = leaf && SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION) == 1 &&
                SSL_CTX_use_certificate(tls, leaf) == 1 &&
                SSL_CTX_use_PrivateKey(tls, ca->leaf_key) == 1;

    X509_free(leaf);
    if (!made) {
        SSL_CTX_free(tls);
        return NULL;
    }
    (void)SSL_CTX_set_options(tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                       SSL_OP_IGNORE_UNEXPECTED_EOF);
    (void)SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_RELEASE_BUFFERS |
                                    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    (void)SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(tls, choose_protocol, NULL);
    return tls;
}

enum nacre_status door_ca_context(struct door_ca *ca, const char *name,
                                  SSL_CTX **ret_context, struct nacre_error *err)
{
    struct context *slot;
    SSL_CTX *tls;

    for (uint32_t i = 0; i < ca->context_count; i++)
        if (strcmp(ca->contexts[i].name, name) == 0) {
            *ret_context = ca->contexts[i].tls;
            return NACRE_OK;
        }
    tls = make_context(ca, name);
    if (!tls)
        return broken(err, "a certificate for a host");
    slot = &ca->contexts[ca->context_next];
    ca->context_next = (ca->context_next + 1) % CONTEXTS_MAX;
    if (ca->context_count < CONTEXTS_MAX)
        ca->context_count++;
    SSL_CTX_free(slot->tls); /* connections that use it hold it too */
    (void)snprintf(slot->name, sizeof(slot->name), "%s", name);
    slot->tls = tls;
    *ret_context = tls;
    return NACRE_OK;
}
