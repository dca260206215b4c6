#ifndef NACRE_SECRETS_H
#define NACRE_SECRETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/error.h"
#include "nacre/hash.h"
#include "nacre/own.h"

/*
 * Secrets at rest and the stand-ins for them.  The vault is one file of state_dir, sealed
 * entry by entry with AES-256-GCM (libcrypto, loaded at first use); its key is a file of
 * key_dir (0600), a key of the kernel's keyring, or $NACRE_VAULT_KEY for CI.
 */

/* ---- what a run may use ---- */

/* One secret, as granted to a run.  Borrowed for the length of the run. */
struct nacre_secret {
    const char *name;
    const char *const *hosts;   /* where it may go, NULL-terminated, as allowed_hosts */
    const char *variable;       /* its name in the environment */
    const unsigned char *value; /* locked memory; NULL where only planning is asked for */
    size_t count;
    const char *assignment; /* "VARIABLE=value" around that value, terminated; or NULL */
    bool by_token; /* the run has stand-ins for it alone: its name is good for nothing */
};

/* A stand-in that the door swaps for the value. */
struct nacre_secret_token {
    struct nacre_digest digest; /* SHA-256 of its text, prefix and all: the text itself
                                   is nowhere kept */
    uint32_t secret;            /* index */
    uint64_t expires_ms;        /* of the wall clock, since 1970 */
};

struct nacre_secret_set {
    struct nacre_secret *items;
    uint32_t count;
    struct nacre_secret_token *tokens; /* live ones of this run, session and agent */
    uint32_t token_count;
    char **environment; /* NULL-terminated "VARIABLE=nct_..." of those of this run */
};

/* ---- the vault ---- */

#define NACRE_SECRET_BYTES_MAX ((size_t)64 << 10)
#define NACRE_SECRET_NAME_MAX 64 /* letters, digits, '_', '-', '.' */
#define NACRE_SECRETS_MAX 1024

struct nacre_vault;

/* NACRE_ERR_UNAVAILABLE where libcrypto can't be loaded; a vault that is not there yet is
 * empty.  NACRE_ERR_PARSE: altered, truncated, rolled back or not ours: refused whole. */
NACRE_MUST_CHECK enum nacre_status nacre_vault_open(const char *state_dir,
                                                    const char *key_dir,
                                                    struct nacre_vault **ret_vault,
                                                    struct nacre_error *err);
void nacre_vault_free(struct nacre_vault *vault); /* wipes; accepts NULL */
NACRE_OWNED(nacre_vault)

/* Makes the vault that is there the newest one, for who restored it from a copy or
 * brought it from elsewhere; where there is none, the next one begins anew. */
NACRE_MUST_CHECK enum nacre_status nacre_vault_accept(const char *state_dir,
                                                      const char *key_dir,
                                                      struct nacre_error *err);

/* What is known of a secret without its value. */
struct nacre_secret_info {
    const char *name;
    uint64_t version;            /* counts up with every write */
    uint64_t changed_ms;
    const char *const *hosts;    /* NULL-terminated */
    const char *const *grants;   /* NULL-terminated "policy:NAME", "agent:ID",
                                    "tool:NAME", "any"; one of them is enough, and
                                    without one nobody may use it */
};

/* Each writes the whole file anew, crash-safely, under a lock. */
NACRE_MUST_CHECK enum nacre_status nacre_vault_set(struct nacre_vault *vault,
                                                   const char *name, const void *value,
                                                   size_t count, struct nacre_error *err);
/* The same with hosts and grants to add, either of which may be NULL, in the one write:
 * whoever stops it in the middle leaves no value that has lost its bindings. */
NACRE_MUST_CHECK enum nacre_status
nacre_vault_put(struct nacre_vault *vault, const char *name, const void *value,
                size_t count, const char *const *hosts, const char *const *grants,
                struct nacre_error *err);
/* Are these hosts and grants that nacre_vault_grant() takes?  NACRE_ERR_USAGE says why
 * not. */
NACRE_MUST_CHECK enum nacre_status nacre_vault_check(const char *const *hosts,
                                                     const char *const *grants,
                                                     struct nacre_error *err);
/* Adds hosts and grants; either list may be NULL.  `replace`: instead of those there. */
NACRE_MUST_CHECK enum nacre_status
nacre_vault_grant(struct nacre_vault *vault, const char *name, const char *const *hosts,
                  const char *const *grants, bool replace, struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status nacre_vault_remove(struct nacre_vault *vault,
                                                      const char *name,
                                                      struct nacre_error *err);
/* A new key; every entry is sealed anew. */
NACRE_MUST_CHECK enum nacre_status nacre_vault_rotate(struct nacre_vault *vault,
                                                      struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status
nacre_vault_list(struct nacre_vault *vault,
                 void (*each)(void *data, const struct nacre_secret_info *info),
                 void *data, struct nacre_error *err);

/* ---- a run's secrets ---- */

/* Who asks: grants are matched against it.  Each may be NULL; without a run_id it is only
 * asked what there would be: no value is opened and no token issued. */
struct nacre_secret_asker {
    const char *policy, *tool, *session, *agent, *run_id;
};

/*
 * The secrets that `names` ("NAME" or "NAME=VARIABLE", NULL-terminated) ask for, opened;
 * `token_names` in the same form get a stand-in each, good for `token_ms`; live tokens of
 * the session and agent come along.  NACRE_ERR_DENIED names a secret that is not granted
 * to this asker, NACRE_ERR_NOT_FOUND one that does not exist.  (A token for a session or
 * an agent is by itself the leave to use it there.)
 *
 * The items begin with those of `names`, in that order.
 */
NACRE_MUST_CHECK enum nacre_status nacre_secrets_collect(
    struct nacre_vault *vault, const struct nacre_secret_asker *asker,
    const char *const *names, const char *const *token_names, uint64_t token_ms,
    struct nacre_secret_set **ret_set, struct nacre_error *err);
void nacre_secret_set_free(struct nacre_secret_set *set); /* wipes; accepts NULL */
NACRE_OWNED(nacre_secret_set)

/* ---- tokens ---- */

#define NACRE_TOKEN_PREFIX "nct_"
#define NACRE_TOKEN_TEXT 48 /* with the terminator */

#define NACRE_TOKEN_MS_MAX (UINT64_C(30) * 24 * 3600 * 1000)

/* In the state directory: digests of tokens that were revoked, appended as they are, for
 * the doors that are open.  Emptied when all of them have expired. */
#define NACRE_TOKENS_REVOKED "tokens.revoked"

struct nacre_token_info {
    const char *id;       /* the first 12 hex digits of its digest */
    const char *secret, *scope; /* "run:ID", "session:KEY", "agent:ID" */
    uint64_t issued_ms, expires_ms;
};

NACRE_MUST_CHECK enum nacre_status nacre_token_issue(struct nacre_vault *vault,
                                                     const char *secret,
                                                     const char *scope, uint64_t ttl_ms,
                                                     char ret_token[NACRE_TOKEN_TEXT],
                                                     struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status
nacre_token_list(struct nacre_vault *vault,
                 void (*each)(void *data, const struct nacre_token_info *info),
                 void *data, struct nacre_error *err);
/* Purges what has expired; the reaper's whole work. */
NACRE_MUST_CHECK enum nacre_status nacre_token_reap(const char *state_dir,
                                                    uint64_t *ret_purged,
                                                    struct nacre_error *err);
/* Does any token look as if it were for this session or agent?  Opens no vault; what it
 * says is no proof. */
bool nacre_token_any(const char *state_dir, const char *session, const char *agent);
/* Ends those of a scope, or one by its id or its text, also for runs under way.  A tokens file from
 * before it ends with them. */
NACRE_MUST_CHECK enum nacre_status nacre_token_revoke(struct nacre_vault *vault,
                                                      const char *name,
                                                      uint64_t *ret_revoked,
                                                      struct nacre_error *err);

#endif
