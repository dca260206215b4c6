#include "token.h"

#include <stdlib.h>
#include <string.h>

#include "nacre/clock.h"
#include "nacre/hash.h"

#define TOKEN_BYTES 16

struct held {
    enum token_kind kind; /* NONE: free */
    bool is_visit;
    bool has_socket;      /* a visit's: it lives as long as that */
    struct nacre_digest digest, cookie;
    uint64_t until_ns;
};

struct tokens {
    pthread_mutex_t lock;
    struct held held[TOKENS_MAX];
};

struct tokens *tokens_new(void)
{
    struct tokens *tokens = calloc(1, sizeof(*tokens));

    if (tokens)
        (void)pthread_mutex_init(&tokens->lock, NULL);
    return tokens;
}

void tokens_free(struct tokens *tokens)
{
    if (!tokens)
        return;
    (void)pthread_mutex_destroy(&tokens->lock);
    free(tokens);
}

static struct nacre_digest digest_of(const char *text)
{
    return nacre_hash(text, strlen(text));
}

static enum nacre_status make(char ret_token[TOKEN_HEX], struct nacre_error *err)
{
    struct nacre_digest bits = { { 0 } };
    char hex[NACRE_HEX];
    enum nacre_status status = nacre_random(bits.bytes, TOKEN_BYTES, err);

    if (status != NACRE_OK)
        return status;
    memcpy(ret_token, nacre_digest_hex(&bits, hex), TOKEN_HEX - 1);
    ret_token[TOKEN_HEX - 1] = '\0';
    return NACRE_OK;
}

static bool is_over(const struct held *held, uint64_t now_ns)
{
    return held->kind == TOKEN_NONE || (!held->has_socket && now_ns > held->until_ns);
}

static enum nacre_status keep(struct tokens *tokens, const struct held *held,
                              uint64_t now_ns, struct nacre_error *err)
{
    for (size_t i = 0; i < TOKENS_MAX; i++)
        if (is_over(&tokens->held[i], now_ns)) {
            tokens->held[i] = *held;
            tokens->held[i].until_ns = now_ns + TOKEN_LIFE_MS * NACRE_NS_PER_MS;
            return NACRE_OK;
        }
    return nacre_fail(err, NACRE_ERR_TOO_BIG,
                      "%d URLs of this browser are not used yet: use one, or wait a "
                      "minute", TOKENS_MAX);
}

/* All are looked at, whichever it is. */
static struct held *find(struct tokens *tokens, enum token_kind kind, bool is_visit,
                         const char *token, uint64_t now_ns)
{
    struct nacre_digest digest = digest_of(token);
    struct held *found = NULL;

    for (size_t i = 0; i < TOKENS_MAX; i++) {
        struct held *held = &tokens->held[i];
        bool same = nacre_digest_equal(&held->digest, &digest);

        if (same && held->kind == kind && held->is_visit == is_visit &&
            !is_over(held, now_ns))
            found = held;
    }
    return found;
}

enum nacre_status tokens_give(struct tokens *tokens, enum token_kind kind,
                              uint64_t now_ns, char ret_token[TOKEN_HEX],
                              struct nacre_error *err)
{
    struct held held = { .kind = kind };
    char token[TOKEN_HEX];
    enum nacre_status status = make(token, err);

    if (status != NACRE_OK)
        return status;
    held.digest = digest_of(token);
    (void)pthread_mutex_lock(&tokens->lock);
    status = keep(tokens, &held, now_ns, err);
    (void)pthread_mutex_unlock(&tokens->lock);
    if (status == NACRE_OK)
        memcpy(ret_token, token, sizeof(token));
    return status;
}

bool tokens_take(struct tokens *tokens, enum token_kind kind, const char *token,
                 uint64_t now_ns)
{
    struct held *held;

    (void)pthread_mutex_lock(&tokens->lock);
    held = find(tokens, kind, false, token, now_ns);
    if (held)
        *held = (struct held){ .kind = TOKEN_NONE };
    (void)pthread_mutex_unlock(&tokens->lock);
    return held != NULL;
}

/* ---- visits ---- */

enum nacre_status tokens_visit(struct tokens *tokens, uint64_t now_ns,
                               struct token_visit *ret_visit, struct nacre_error *err)
{
    struct held held = { .kind = TOKEN_SCREEN, .is_visit = true };
    struct token_visit visit;
    enum nacre_status status = make(visit.path, err);

    if (status == NACRE_OK)
        status = make(visit.cookie, err);
    if (status != NACRE_OK)
        return status;
    held.digest = digest_of(visit.path);
    held.cookie = digest_of(visit.cookie);
    (void)pthread_mutex_lock(&tokens->lock);
    status = keep(tokens, &held, now_ns, err);
    (void)pthread_mutex_unlock(&tokens->lock);
    if (status == NACRE_OK)
        *ret_visit = visit;
    return status;
}

static struct held *find_visit(struct tokens *tokens, const struct token_visit *visit,
                               uint64_t now_ns)
{
    struct nacre_digest cookie = digest_of(visit->cookie);
    struct held *held = find(tokens, TOKEN_SCREEN, true, visit->path, now_ns);

    return held && nacre_digest_equal(&held->cookie, &cookie) ? held : NULL;
}

bool tokens_is_visit(struct tokens *tokens, const struct token_visit *visit,
                     uint64_t now_ns)
{
    bool is;

    (void)pthread_mutex_lock(&tokens->lock);
    is = find_visit(tokens, visit, now_ns) != NULL;
    (void)pthread_mutex_unlock(&tokens->lock);
    return is;
}

bool tokens_visit_socket(struct tokens *tokens, const struct token_visit *visit,
                         uint64_t now_ns)
{
    struct held *held;
    bool first;

    (void)pthread_mutex_lock(&tokens->lock);
    held = find_visit(tokens, visit, now_ns);
    first = held && !held->has_socket;
    if (first)
        held->has_socket = true;
    (void)pthread_mutex_unlock(&tokens->lock);
    return first;
}

void tokens_visit_end(struct tokens *tokens, const struct token_visit *visit)
{
    struct held *held;

    (void)pthread_mutex_lock(&tokens->lock);
    held = find_visit(tokens, visit, 0);
    if (held)
        *held = (struct held){ .kind = TOKEN_NONE };
    (void)pthread_mutex_unlock(&tokens->lock);
}
