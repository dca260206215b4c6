#ifndef NACRE_SECRETS_VAULT_FILE_H
#define NACRE_SECRETS_VAULT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec.h"
#include "crypto.h"
#include "nacre/hash.h"

/*
 * The vault's bytes.  A head: magic, format, the vault's id, its key's id, the
 * generation; and sealed, with these words authenticated: the tokens' key, how many
 * entries there are and the SHA-256 of them all.  Then the entries by name: name,
 * version, time, hosts, grants, size; and the value, sealed with a nonce of its own and
 * with the format, the vault's id and these words authenticated.  So an entry that is
 * missing, swapped, older or from another vault, and one whose bindings were altered, are
 * all refused.
 */
#define VAULT_ID 16
#define VAULT_BYTES_MAX ((size_t)96 << 20)
#define VAULT_TEXTS_MAX 64 /* hosts of an entry; its grants */

struct vault_entry {
    char *name;
    uint64_t version, changed_ms;
    char **hosts, **grants; /* NULL-terminated; never NULL */
    size_t value_count;
    uint8_t *sealed; /* value_count + SEAL_EXTRA bytes */
};

struct vault_content {
    uint8_t id[VAULT_ID];
    uint64_t generation; /* 0: there is no file yet */
    struct vault_entry *entries; /* by name */
    uint32_t count;
};

void vault_entry_clear(struct vault_entry *entry);
void vault_content_clear(struct vault_content *content);

/* Which key opens it.  NACRE_ERR_PARSE: it is no vault of this format. */
NACRE_MUST_CHECK enum nacre_status vault_key_id(const void *bytes, size_t count,
                                                uint8_t ret_id[VAULT_ID],
                                                struct nacre_error *err);

NACRE_MUST_CHECK enum nacre_status vault_decode(const void *bytes, size_t count,
                                                const uint8_t seal_key[SEAL_KEY],
                                                struct vault_content *ret_content,
                                                uint8_t ret_token_key[SEAL_KEY],
                                                struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status vault_encode(const struct vault_content *content,
                                                const uint8_t seal_key[SEAL_KEY],
                                                const uint8_t key_id[VAULT_ID],
                                                const uint8_t token_key[SEAL_KEY],
                                                struct nacre_buf *ret_bytes,
                                                struct nacre_error *err);

/* Replaces entry->sealed; every other word of the entry is as it will be. */
NACRE_MUST_CHECK enum nacre_status vault_entry_seal(struct vault_entry *entry,
                                                    const uint8_t id[VAULT_ID],
                                                    const uint8_t seal_key[SEAL_KEY],
                                                    const void *value,
                                                    struct nacre_error *err);
/* Writes entry->value_count bytes. */
NACRE_MUST_CHECK enum nacre_status vault_entry_open(const struct vault_entry *entry,
                                                    const uint8_t id[VAULT_ID],
                                                    const uint8_t seal_key[SEAL_KEY],
                                                    void *ret_value,
                                                    struct nacre_error *err);

#endif
