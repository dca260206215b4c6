/*
 * Stand-ins for secrets: state_dir/tokens.  Anybody may have changed the file: a token
 * counts if the HMAC over it holds.  Its key lies in the vault and is a new one after
 * every revocation, so that an older file that is put back brings nobody back to life; a
 * stop in the middle of a revocation costs the other tokens, too, and no secret.
 *
 * Expiry is by the wall clock and judged where a token is used: purging is housekeeping.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "names.h"
#include "nacre/key.h"
#include "nacre/base64.h"
#include "nacre/clock.h"
#include "nacre/path.h"
#include "nacre/text.h"
#include "store.h"
#include "vault.h"

#define TOKENS_NAME "tokens"
#define MAGIC "NACRETOK"
#define FORMAT 1
#define TOKENS_BYTES_MAX ((size_t)4 << 20)
#define CLOCK_SKEW_MS 60000

static void token_clear(struct token *token)
{
    free(token->secret);
    free(token->scope);
}

void tokens_clear(struct tokens *tokens)
{
    for (size_t i = 0; i < tokens->count; i++)
        token_clear(&tokens->items[i]);
    free(tokens->items);
    *tokens = (struct tokens){ 0 };
}

/* One that was issued in the future outlives a clock that went back. */
static bool is_live(const struct token *token, uint64_t now_ms)
{
    return now_ms < token->expires_ms && token->issued_ms <= now_ms + CLOCK_SKEW_MS;
}

/* ---- the file ---- */

static void write_token(struct writer *writer, const struct token *token)
{
    write_bytes(writer, token->digest.bytes, sizeof(token->digest.bytes));
    write_number(writer, token->issued_ms, 8);
    write_number(writer, token->expires_ms, 8);
    write_text(writer, token->secret);
    write_text(writer, token->scope);
}

static bool token_code(const struct nacre_vault *vault, const struct token *token,
                       struct nacre_digest *ret_code)
{
    static const char purpose[] = "nacre token 1";
    NACRE_AUTO(writer_clear) struct writer writer = { .buf = NACRE_BUF(4096) };

    write_bytes(&writer, purpose, sizeof(purpose));
    write_bytes(&writer, vault->content.id, VAULT_ID);
    write_token(&writer, token);
    if (writer.failed)
        return false;
    *ret_code = nacre_hmac(vault->private->token_key, SEAL_KEY, writer.buf.bytes,
                           writer.buf.size);
    return true;
}

static enum nacre_status fail_damaged(struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_PARSE,
                      "the file tokens of the state directory is damaged: remove it, "
                      "which ends all tokens");
}

static enum nacre_status decode(const struct nacre_buf *buf, struct tokens *ret_tokens,
                                struct nacre_error *err)
{
    NACRE_AUTO(tokens_clear) struct tokens tokens = { 0 };
    struct reader reader = { (const uint8_t *)buf->bytes, buf->size, false };
    const uint8_t *magic = read_bytes(&reader, sizeof(MAGIC) - 1);
    uint64_t format = read_number(&reader, 4), count = read_number(&reader, 4);
    bool memory = false;

    if (!magic || memcmp(magic, MAGIC, sizeof(MAGIC) - 1) != 0 || format != FORMAT ||
        reader.bad || count > TOKENS_MAX)
        return fail_damaged(err);
    tokens.items = calloc(count + 1, sizeof(*tokens.items));
    if (!tokens.items)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for tokens");
    for (; tokens.count < count && !reader.bad; tokens.count++) {
        struct token *token = &tokens.items[tokens.count];
        const uint8_t *digest = read_bytes(&reader, NACRE_DIGEST_BYTES), *code;

        token->issued_ms = read_number(&reader, 8);
        token->expires_ms = read_number(&reader, 8);
        token->secret = read_text(&reader, &memory);
        token->scope = read_text(&reader, &memory);
        code = read_bytes(&reader, NACRE_DIGEST_BYTES);
        if (reader.bad || !secret_name_is_valid(token->secret) ||
            !secret_scope_is_valid(token->scope)) {
            reader.bad = true;
            continue;
        }
        memcpy(token->digest.bytes, digest, NACRE_DIGEST_BYTES);
        memcpy(token->code.bytes, code, NACRE_DIGEST_BYTES);
    }
    if (memory)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for tokens");
    if (reader.bad || reader.left > 0)
        return fail_damaged(err);
    *ret_tokens = tokens;
    tokens = (struct tokens){ 0 };
    return NACRE_OK;
}

static enum nacre_status read_file(int state_fd, struct tokens *ret_tokens,
                                   struct nacre_error *err)
{
    struct nacre_buf buf = NACRE_BUF(TOKENS_BYTES_MAX);
    bool there = false;
    enum nacre_status status = store_read(state_fd, TOKENS_NAME, &buf, &there, err);

    if (status == NACRE_OK && there)
        status = decode(&buf, ret_tokens, err);
    nacre_buf_clear(&buf);
    return status;
}

static enum nacre_status write_file(int state_fd, const struct tokens *tokens,
                                    struct nacre_error *err)
{
    NACRE_AUTO(writer_clear)
    struct writer writer = { .buf = NACRE_BUF(TOKENS_BYTES_MAX) };

    write_bytes(&writer, MAGIC, sizeof(MAGIC) - 1);
    write_number(&writer, FORMAT, 4);
    write_number(&writer, tokens->count, 4);
    for (size_t i = 0; i < tokens->count; i++) {
        write_token(&writer, &tokens->items[i]);
        write_bytes(&writer, tokens->items[i].code.bytes, NACRE_DIGEST_BYTES);
    }
    if (writer.failed) {
        *err = writer.err;
        return err->status;
    }
    return store_replace(state_fd, TOKENS_NAME, writer.buf.bytes, writer.buf.size, err);
}

/* Leaves those of which `keep` is true; returns how many went. */
static size_t filter(struct tokens *tokens,
                     bool (*keep)(const struct token *token, const void *data),
                     const void *data)
{
    size_t kept = 0, before = tokens->count;

    for (size_t i = 0; i < before; i++) {
        if (keep(&tokens->items[i], data))
            tokens->items[kept++] = tokens->items[i];
        else
            token_clear(&tokens->items[i]);
    }
    tokens->count = kept;
    return before - kept;
}

static bool keep_live(const struct token *token, const void *data)
{
    return is_live(token, *(const uint64_t *)data);
}

/* ---- for the vault's other parts ---- */

static bool keep_ours(const struct token *token, const void *data)
{
    struct nacre_digest code;

    return token_code(data, token, &code) && nacre_digest_equal(&code, &token->code);
}

enum nacre_status tokens_load(struct nacre_vault *vault, struct tokens *ret_tokens,
                              struct nacre_error *err)
{
    uint64_t now_ms = nacre_clock_wall_ms();
    enum nacre_status status = read_file(vault->state_fd, ret_tokens, err);

    if (status != NACRE_OK)
        return status;
    (void)filter(ret_tokens, keep_live, &now_ms);
    (void)filter(ret_tokens, keep_ours, vault);
    return NACRE_OK;
}

enum nacre_status tokens_save(struct nacre_vault *vault, struct tokens *tokens,
                              struct nacre_error *err)
{
    if (tokens->count == 0 &&
        faccessat(vault->state_fd, TOKENS_NAME, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
        return NACRE_OK;
    for (size_t i = 0; i < tokens->count; i++)
        if (!token_code(vault, &tokens->items[i], &tokens->items[i].code))
            return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for tokens");
    if (write_file(vault->state_fd, tokens, err) != NACRE_OK)
        return nacre_fail_context(err, vault->state_dir);
    return NACRE_OK;
}

struct unwanted {
    const char *name; /* a token's scope, id or text; or NULL */
    const char *secret;
    struct nacre_digest digest; /* of the name: a token's text is known by it alone */
};

/* One that has no more digits than its id is named by, is it. */
static bool keep_wanted(const struct token *token, const void *data)
{
    const struct unwanted *unwanted = data;
    char hex[NACRE_HEX];

    if (unwanted->secret && strcmp(token->secret, unwanted->secret) == 0)
        return false;
    if (!unwanted->name)
        return true;
    (void)nacre_digest_hex(&token->digest, hex);
    hex[TOKEN_ID_DIGITS] = '\0';
    return strcmp(token->scope, unwanted->name) != 0 &&
           strcmp(hex, unwanted->name) != 0 &&
           !nacre_digest_equal(&token->digest, &unwanted->digest);
}

enum nacre_status tokens_drop(struct nacre_vault *vault, struct tokens *tokens,
                              const char *name, const char *secret,
                              size_t *ret_dropped, struct nacre_error *err)
{
    const struct unwanted unwanted = {
        .name = name, .secret = secret,
        .digest = nacre_hash(name ? name : "", name ? strlen(name) : 0),
    };
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf digests = NACRE_BUF(TOKENS_BYTES_MAX);
    enum nacre_status status = NACRE_OK;

    for (size_t i = 0; i < tokens->count && status == NACRE_OK; i++)
        if (!keep_wanted(&tokens->items[i], &unwanted))
            status = nacre_buf_add(&digests, tokens->items[i].digest.bytes,
                                   NACRE_DIGEST_BYTES, err);
    if (status == NACRE_OK && digests.size > 0 &&
        store_append(vault->state_fd, NACRE_TOKENS_REVOKED, digests.bytes, digests.size,
                     err) != NACRE_OK)
        status = nacre_fail_context(err, vault->state_dir);
    if (status == NACRE_OK)
        *ret_dropped = filter(tokens, keep_wanted, &unwanted);
    return status;
}

static enum nacre_status make_text(char ret_token[NACRE_TOKEN_TEXT],
                                   struct nacre_error *err)
{
    static const char prefix[] = NACRE_TOKEN_PREFIX;
    uint8_t bytes[32];
    enum nacre_status status = nacre_random(bytes, sizeof(bytes), err);

    _Static_assert(sizeof(prefix) - 1 + 43 < NACRE_TOKEN_TEXT, "32 bytes are 43 digits");
    if (status != NACRE_OK)
        return status;
    memcpy(ret_token, prefix, sizeof(prefix) - 1);
    (void)nacre_base64_write(NACRE_BASE64_URL, bytes, sizeof(bytes),
                             ret_token + sizeof(prefix) - 1);
    explicit_bzero(bytes, sizeof(bytes));
    return NACRE_OK;
}

enum nacre_status tokens_add(struct tokens *tokens, const char *secret, const char *scope,
                             uint64_t ttl_ms, char ret_token[NACRE_TOKEN_TEXT],
                             struct nacre_error *err)
{
    struct token fresh = { .issued_ms = nacre_clock_wall_ms() };
    struct token *grown;
    enum nacre_status status;

    if (!secret_scope_is_valid(scope))
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "a token's scope is run:ID, session:KEY or agent:ID, of at "
                          "most %d bytes", SCOPE_BYTES_MAX);
    if (ttl_ms == 0 || ttl_ms > NACRE_TOKEN_MS_MAX)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "a token lives from 1 to %llu ms",
                          (unsigned long long)NACRE_TOKEN_MS_MAX);
    if (tokens->count >= TOKENS_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG,
                          "there are %d live tokens already: revoke some", TOKENS_MAX);
    grown = realloc(tokens->items, (tokens->count + 1) * sizeof(*grown));
    if (!grown)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a token");
    tokens->items = grown;
    status = make_text(ret_token, err);
    if (status != NACRE_OK)
        return status;
    fresh.expires_ms = fresh.issued_ms + ttl_ms;
    fresh.digest = nacre_hash(ret_token, strlen(ret_token));
    fresh.secret = strdup(secret);
    fresh.scope = strdup(scope);
    if (!fresh.secret || !fresh.scope) {
        token_clear(&fresh);
        explicit_bzero(ret_token, NACRE_TOKEN_TEXT);
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a token");
    }
    tokens->items[tokens->count++] = fresh;
    return NACRE_OK;
}

/* ---- for people and the reaper ---- */

enum nacre_status nacre_token_issue(struct nacre_vault *vault, const char *secret,
                                    const char *scope, uint64_t ttl_ms,
                                    char ret_token[NACRE_TOKEN_TEXT],
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int lock = -1;
    NACRE_AUTO(tokens_clear) struct tokens tokens = { 0 };
    char text[NACRE_TOKEN_TEXT];
    enum nacre_status status = secret_name_check(secret, err);

    if (status == NACRE_OK)
        status = vault_begin(vault, &lock, err);
    if (status == NACRE_OK && !vault_find(vault, secret))
        return nacre_fail(err, NACRE_ERR_NOT_FOUND, "there is no secret %s", secret);
    if (status == NACRE_OK)
        status = tokens_load(vault, &tokens, err);
    if (status == NACRE_OK)
        status = tokens_add(&tokens, secret, scope, ttl_ms, text, err);
    if (status == NACRE_OK)
        status = tokens_save(vault, &tokens, err);
    if (status == NACRE_OK)
        memcpy(ret_token, text, sizeof(text));
    explicit_bzero(text, sizeof(text));
    return status;
}

enum nacre_status nacre_token_list(struct nacre_vault *vault,
                                   void (*each)(void *data,
                                                const struct nacre_token_info *info),
                                   void *data, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int lock = -1;
    NACRE_AUTO(tokens_clear) struct tokens tokens = { 0 };
    enum nacre_status status = vault_begin(vault, &lock, err);

    if (status == NACRE_OK)
        status = tokens_load(vault, &tokens, err);
    for (size_t i = 0; status == NACRE_OK && i < tokens.count; i++) {
        const struct token *token = &tokens.items[i];
        char hex[NACRE_HEX];
        const struct nacre_token_info info = {
            .id = hex,
            .secret = token->secret,
            .scope = token->scope,
            .issued_ms = token->issued_ms,
            .expires_ms = token->expires_ms,
        };

        (void)nacre_digest_hex(&token->digest, hex);
        hex[TOKEN_ID_DIGITS] = '\0';
        each(data, &info);
    }
    return status;
}

enum nacre_status nacre_token_revoke(struct nacre_vault *vault, const char *name,
                                     uint64_t *ret_revoked, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int lock = -1;
    NACRE_AUTO(tokens_clear) struct tokens tokens = { 0 };
    size_t revoked = 0;
    enum nacre_status status = vault_begin(vault, &lock, err);

    if (status == NACRE_OK)
        status = tokens_load(vault, &tokens, err);
    if (status == NACRE_OK)
        status = tokens_drop(vault, &tokens, name, NULL, &revoked, err);
    if (status == NACRE_OK && revoked > 0)
        status = nacre_random(vault->private->token_key, SEAL_KEY, err);
    if (status == NACRE_OK && revoked > 0)
        status = vault_save(vault, err);
    if (status == NACRE_OK && revoked > 0)
        status = tokens_save(vault, &tokens, err);
    if (status == NACRE_OK)
        *ret_revoked = revoked;
    return status;
}

static bool has_tokens(const char *state_dir)
{
    char path[NACRE_PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/" TOKENS_NAME, state_dir);

    return length >= (int)sizeof(path) ||
           faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/* Is all of the list of tokens that have expired since? */
static bool is_list_over(int state_fd, uint64_t now_ms)
{
    struct stat info;

    return fstatat(state_fd, NACRE_TOKENS_REVOKED, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
           info.st_size > 0 &&
           (uint64_t)info.st_mtim.tv_sec * 1000 + NACRE_TOKEN_MS_MAX + CLOCK_SKEW_MS <
               now_ms;
}

/* In place: doors have it open. */
static enum nacre_status forget_revoked(int state_fd, uint64_t now_ms,
                                        struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int lock = -1;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    enum nacre_status status;

    if (!is_list_over(state_fd, now_ms))
        return NACRE_OK;
    status = store_lock(state_fd, VAULT_LOCK, &lock, err);
    if (status != NACRE_OK || !is_list_over(state_fd, now_ms))
        return status;
    fd = openat(state_fd, NACRE_TOKENS_REVOKED,
                O_WRONLY | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    return fd < 0 ? nacre_fail(err, NACRE_ERR_IO, "cannot empty " NACRE_TOKENS_REVOKED)
                  : NACRE_OK;
}

/* Needs no key, so that the keeper has none: what it takes away had ended already.  Every
 * engine does it when it is opened: whoever has no tokens pays for one look, and whoever
 * has none that ended waits for no lock. */
enum nacre_status nacre_token_reap(const char *state_dir, uint64_t *ret_purged,
                                   struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int state_fd = -1;
    NACRE_AUTO(nacre_fd_guard) int lock = -1;
    NACRE_AUTO(tokens_clear) struct tokens tokens = { 0 };
    uint64_t now_ms = nacre_clock_wall_ms(), purged = 0;
    enum nacre_status status = NACRE_OK;

    if (has_tokens(state_dir)) {
        status = nacre_private_dir_open(state_dir, &state_fd, err);
        if (status == NACRE_OK)
            status = forget_revoked(state_fd, now_ms, err);
        if (status == NACRE_OK)
            status = read_file(state_fd, &tokens, err);
    }
    if (status == NACRE_OK && filter(&tokens, keep_live, &now_ms) > 0) {
        tokens_clear(&tokens);
        status = store_lock(state_fd, VAULT_LOCK, &lock, err);
        if (status == NACRE_OK)
            status = read_file(state_fd, &tokens, err);
        if (status == NACRE_OK)
            purged = filter(&tokens, keep_live, &now_ms);
        if (status == NACRE_OK && purged > 0)
            status = write_file(state_fd, &tokens, err);
    }
    if (status == NACRE_OK)
        *ret_purged = purged;
    return status;
}

bool nacre_token_any(const char *state_dir, const char *session, const char *agent)
{
    NACRE_AUTO(nacre_fd_guard) int state_fd =
        open(state_dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    NACRE_AUTO(tokens_clear) struct tokens tokens = { 0 };
    uint64_t now_ms = nacre_clock_wall_ms();
    struct nacre_error err;

    if (state_fd < 0 || read_file(state_fd, &tokens, &err) != NACRE_OK)
        return false;
    for (size_t i = 0; i < tokens.count; i++)
        if (is_live(&tokens.items[i], now_ms) &&
            secret_scope_means(tokens.items[i].scope, session, agent))
            return true;
    return false;
}
