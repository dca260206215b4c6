#ifndef NACRE_SECRETS_VAULT_H
#define NACRE_SECRETS_VAULT_H

#include "keys.h"
#include "locked.h"
#include "nacre/secrets.h"
#include "vault_file.h"

/*
 * Three files: the vault (state_dir/vault); its key; and beside the key a record of the
 * newest generation, under an HMAC.  A vault that is older than its record is refused.
 *
 * The order of writing is what makes a stop at any point harmless: first the vault,
 * whole; then the record.  In between, the vault is newer than its record, which nobody
 * without the key can bring about, and whoever opens it next brings the record up.  With
 * a new key: the next key's file, the vault sealed with it, the record, then the next
 * key's file takes the name of the old one; the vault names its key, so that both ways
 * are known.
 */
struct vault_private { /* in locked memory */
    struct vault_keys keys;
    uint8_t seal_key[SEAL_KEY], record_key[SEAL_KEY]; /* of the key in use */
    uint8_t token_key[SEAL_KEY]; /* from the vault; new with every revocation */
    uint8_t key_id[VAULT_ID];
};

struct nacre_vault {
    int state_fd;
    char *state_dir, *key_dir;
    struct key_place key_place;
    char record_name[64];
    struct locked pages;
    struct vault_private *private;
    struct vault_content content; /* as of the last vault_begin() */
};

#define VAULT_NAME "vault"
#define VAULT_LOCK "vault.lock"

/* Takes the lock (closing *ret_lock gives it back) and reads everything anew. */
NACRE_MUST_CHECK enum nacre_status vault_begin(struct nacre_vault *vault, int *ret_lock,
                                               struct nacre_error *err);
/* Before anything is put into it: a vault that is not there yet gets its key and id. */
NACRE_MUST_CHECK enum nacre_status vault_found(struct nacre_vault *vault,
                                               struct nacre_error *err);
/* The content as it is now, as the next generation; under the lock. */
NACRE_MUST_CHECK enum nacre_status vault_save(struct nacre_vault *vault,
                                              struct nacre_error *err);
/* The same with another key: seals every entry anew. */
NACRE_MUST_CHECK enum nacre_status vault_save_rotated(struct nacre_vault *vault,
                                                      struct nacre_error *err);
/* Makes what is there the newest, whatever the record says; under the lock. */
NACRE_MUST_CHECK enum nacre_status vault_accept(struct nacre_vault *vault,
                                                struct nacre_error *err);

struct vault_entry *vault_find(const struct nacre_vault *vault, const char *name);

/* ---- tokens.c, under the lock ---- */

struct token {
    struct nacre_digest digest;
    uint64_t issued_ms, expires_ms;
    char *secret, *scope;
    struct nacre_digest code; /* HMAC of the rest with the tokens' key */
};

struct tokens {
    struct token *items;
    size_t count;
};
#define TOKENS_MAX 4096
#define TOKEN_ID_DIGITS 12
void tokens_clear(struct tokens *tokens);

/* Those that have not expired and whose HMAC holds. */
NACRE_MUST_CHECK enum nacre_status tokens_load(struct nacre_vault *vault,
                                               struct tokens *ret_tokens,
                                               struct nacre_error *err);
/* Seals each with the tokens' key of the moment. */
NACRE_MUST_CHECK enum nacre_status tokens_save(struct nacre_vault *vault,
                                               struct tokens *tokens,
                                               struct nacre_error *err);
/* Takes out those that `name` is the scope, the id or the text of, and those of a secret;
 * either may be NULL.  The doors that are open know it from then on. */
NACRE_MUST_CHECK enum nacre_status tokens_drop(struct nacre_vault *vault,
                                               struct tokens *tokens,
                                               const char *name, const char *secret,
                                               size_t *ret_dropped,
                                               struct nacre_error *err);
/* Adds one with a new text, which is written to `ret_token`. */
NACRE_MUST_CHECK enum nacre_status tokens_add(struct tokens *tokens, const char *secret,
                                              const char *scope, uint64_t ttl_ms,
                                              char ret_token[NACRE_TOKEN_TEXT],
                                              struct nacre_error *err);

#endif
