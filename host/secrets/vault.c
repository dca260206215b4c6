/* The vault's operations: each takes the lock, reads what is there, and writes it
 * whole. */
#include "vault.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/clock.h"
#include "nacre/egress.h"
#include "nacre/key.h"
#include "nacre/text.h"
#include "names.h"

/* ---- its life ---- */

void nacre_vault_free(struct nacre_vault *vault)
{
    if (!vault)
        return;
    vault_content_clear(&vault->content);
    locked_clear(&vault->pages);
    nacre_fd_guard(&vault->state_fd);
    nacre_fd_guard(&vault->key_place.dir_fd);
    free(vault->state_dir);
    free(vault->key_dir);
    free(vault);
}

/* Several state directories may share a directory of keys. */
static enum nacre_status name_files(struct nacre_vault *vault, struct nacre_error *err)
{
    char whole[PATH_MAX], hex[NACRE_HEX];
    struct nacre_digest digest;

    if (!realpath(vault->state_dir, whole))
        return nacre_fail(err, NACRE_ERR_IO, "cannot resolve the state directory");
    digest = nacre_hash(whole, strlen(whole));
    (void)nacre_digest_hex(&digest, hex);
    (void)snprintf(vault->key_place.name, sizeof(vault->key_place.name),
                   "vault-%.16s.key", hex);
    (void)snprintf(vault->key_place.next, sizeof(vault->key_place.next),
                   "vault-%.16s.key.next", hex);
    (void)snprintf(vault->record_name, sizeof(vault->record_name), "vault-%.16s.newest",
                   hex);
    return NACRE_OK;
}

static enum nacre_status prepare(const char *state_dir, const char *key_dir,
                                 struct nacre_vault **ret_vault, struct nacre_error *err)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = calloc(1, sizeof(*vault));
    enum nacre_status status;

    if (!vault)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the vault");
    vault->state_fd = vault->key_place.dir_fd = -1;
    vault->state_dir = strdup(state_dir);
    vault->key_dir = strdup(key_dir);
    if (!vault->state_dir || !vault->key_dir)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the vault");
    vault->key_place.dir = vault->key_dir;
    status = crypto_ready(err);
    if (status == NACRE_OK)
        status = nacre_private_dir_open(state_dir, &vault->state_fd, err);
    if (status == NACRE_OK)
        status = nacre_private_dir_open(key_dir, &vault->key_place.dir_fd, err);
    if (status == NACRE_OK)
        status = name_files(vault, err);
    if (status == NACRE_OK)
        status = locked_new(sizeof(*vault->private), &vault->pages, err);
    if (status != NACRE_OK)
        return status;
    vault->private = (struct vault_private *)(void *)vault->pages.bytes;
    *ret_vault = nacre_vault_take(&vault);
    return NACRE_OK;
}

enum nacre_status nacre_vault_open(const char *state_dir, const char *key_dir,
                                   struct nacre_vault **ret_vault,
                                   struct nacre_error *err)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;
    NACRE_AUTO(nacre_fd_guard) int lock = -1;
    enum nacre_status status = prepare(state_dir, key_dir, &vault, err);

    if (status == NACRE_OK)
        status = vault_begin(vault, &lock, err);
    if (status != NACRE_OK)
        return status;
    *ret_vault = nacre_vault_take(&vault);
    return NACRE_OK;
}

enum nacre_status nacre_vault_accept(const char *state_dir, const char *key_dir,
                                     struct nacre_error *err)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;
    enum nacre_status status = prepare(state_dir, key_dir, &vault, err);

    return status == NACRE_OK ? vault_accept(vault, err) : status;
}

/* ---- entries ---- */

struct vault_entry *vault_find(const struct nacre_vault *vault, const char *name)
{
    for (uint32_t i = 0; i < vault->content.count; i++)
        if (strcmp(vault->content.entries[i].name, name) == 0)
            return &vault->content.entries[i];
    return NULL;
}

static enum nacre_status find(const struct nacre_vault *vault, const char *name,
                              struct vault_entry **ret_entry, struct nacre_error *err)
{
    enum nacre_status status = secret_name_check(name, err);

    if (status != NACRE_OK)
        return status;
    *ret_entry = vault_find(vault, name);
    if (!*ret_entry)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND,
                          "there is no secret %s; nacre secret set %s makes one", name,
                          name);
    return NACRE_OK;
}

/* An empty entry at its place among the others. */
static enum nacre_status insert(struct vault_content *content, const char *name,
                                struct vault_entry **ret_entry, struct nacre_error *err)
{
    struct vault_entry fresh = { .name = strdup(name),
                                 .hosts = calloc(1, sizeof(char *)),
                                 .grants = calloc(1, sizeof(char *)) };
    struct vault_entry *grown = NULL;
    uint32_t at = 0;

    if (content->count == NACRE_SECRETS_MAX) {
        vault_entry_clear(&fresh);
        return nacre_fail(err, NACRE_ERR_TOO_BIG,
                          "the vault is full: it holds %d secrets", NACRE_SECRETS_MAX);
    }
    if (fresh.name && fresh.hosts && fresh.grants)
        grown = realloc(content->entries, (content->count + 1) * sizeof(*grown));
    if (!grown) {
        vault_entry_clear(&fresh);
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a secret");
    }
    content->entries = grown;
    while (at < content->count && strcmp(grown[at].name, name) < 0)
        at++;
    memmove(&grown[at + 1], &grown[at], (content->count - at) * sizeof(*grown));
    grown[at] = fresh;
    content->count++;
    *ret_entry = &grown[at];
    return NACRE_OK;
}

/* ---- who may have it, and where it may go ---- */

static void texts_free(char **texts)
{
    for (size_t i = 0; texts && texts[i]; i++)
        free(texts[i]);
    free(texts);
}

static bool has_text(char *const *texts, const char *text)
{
    for (size_t i = 0; texts[i]; i++)
        if (strcmp(texts[i], text) == 0)
            return true;
    return false;
}

static enum nacre_status add_texts(char **list, size_t *count, const char *const *texts,
                                   const char *what, struct nacre_error *err)
{
    for (size_t i = 0; texts && texts[i]; i++) {
        if (has_text(list, texts[i]))
            continue;
        if (*count == VAULT_TEXTS_MAX)
            return nacre_fail(err, NACRE_ERR_TOO_BIG, "a secret has at most %d %s",
                              VAULT_TEXTS_MAX, what);
        if (!texts[i][0] || strlen(texts[i]) > CODEC_TEXT_MAX)
            return nacre_fail(err, NACRE_ERR_USAGE, "one of the %s is empty or too long",
                              what);
        list[*count] = strdup(texts[i]);
        if (!list[(*count)++])
            return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a secret");
    }
    return NACRE_OK;
}

/* `texts` after those in *list, or instead of them; NULL: none are named. */
static enum nacre_status extend(char ***list, const char *const *texts, bool replace,
                                const char *what, struct nacre_error *err)
{
    char **fresh = calloc(VAULT_TEXTS_MAX + 1, sizeof(*fresh));
    const char *const *kept = replace ? NULL : (const char *const *)*list;
    enum nacre_status status;
    size_t count = 0;

    if (!fresh)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a secret");
    status = add_texts(fresh, &count, kept, what, err);
    if (status == NACRE_OK)
        status = add_texts(fresh, &count, texts, what, err);
    if (status != NACRE_OK) {
        texts_free(fresh);
        return status;
    }
    texts_free(*list);
    *list = fresh;
    return NACRE_OK;
}

/* Without `replace` a list that is not named stays as it is. */
static enum nacre_status bind_entry(struct vault_entry *entry, const char *const *hosts,
                                    const char *const *grants, bool replace,
                                    struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    if (hosts || replace)
        status = extend(&entry->hosts, hosts, replace, "hosts", err);
    if (status == NACRE_OK && (grants || replace))
        status = extend(&entry->grants, grants, replace, "grants", err);
    return status;
}

/* The words are sealed with the value, which is therefore sealed anew. */
static enum nacre_status regrant(struct nacre_vault *vault, struct vault_entry *entry,
                                 const char *const *hosts, const char *const *grants,
                                 bool replace, struct nacre_error *err)
{
    NACRE_AUTO(locked_clear) struct locked value = { 0 };
    const uint8_t *id = vault->content.id, *key = vault->private->seal_key;
    enum nacre_status status = locked_new(entry->value_count, &value, err);

    if (status == NACRE_OK)
        status = vault_entry_open(entry, id, key, value.bytes, err);
    if (status == NACRE_OK)
        status = bind_entry(entry, hosts, grants, replace, err);
    if (status != NACRE_OK)
        return status;
    entry->version++;
    entry->changed_ms = nacre_clock_wall_ms();
    return vault_entry_seal(entry, id, key, value.bytes, err);
}

static enum nacre_status check_host(const char *text, struct nacre_error *err)
{
    struct nacre_egress_host host;
    char shown[NACRE_SHOWN], why[sizeof(err->text)];

    if (nacre_egress_host_read(text, &host, err) == NACRE_OK) {
        nacre_egress_host_clear(&host);
        return NACRE_OK;
    }
    if (err->status != NACRE_ERR_PARSE)
        return err->status;
    memcpy(why, err->text, sizeof(why));
    return nacre_fail(err, NACRE_ERR_USAGE, "'%s' is no host for a secret: %.300s",
                      nacre_text_shown(shown, text), why);
}

enum nacre_status nacre_vault_check(const char *const *hosts, const char *const *grants,
                                    struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    for (size_t i = 0; grants && grants[i] && status == NACRE_OK; i++)
        status = secret_grant_check(grants[i], err);
    for (size_t i = 0; hosts && hosts[i] && status == NACRE_OK; i++)
        status = check_host(hosts[i], err);
    return status;
}

/* The value with its hosts and grants, sealed as one. */
static enum nacre_status put_value(struct nacre_vault *vault, const char *name,
                                   const void *value, size_t count,
                                   const char *const *hosts, const char *const *grants,
                                   struct nacre_error *err)
{
    struct vault_entry *entry = vault_find(vault, name);
    enum nacre_status status = vault_found(vault, err);

    if (status == NACRE_OK && !entry)
        status = insert(&vault->content, name, &entry, err);
    if (status == NACRE_OK)
        status = bind_entry(entry, hosts, grants, false, err);
    if (status != NACRE_OK)
        return status;
    entry->version++;
    entry->changed_ms = nacre_clock_wall_ms();
    entry->value_count = count;
    return vault_entry_seal(entry, vault->content.id, vault->private->seal_key, value,
                            err);
}

enum nacre_status nacre_vault_put(struct nacre_vault *vault, const char *name,
                                  const void *value, size_t count,
                                  const char *const *hosts, const char *const *grants,
                                  struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int lock = -1;
    enum nacre_status status = secret_name_check(name, err);

    if (status != NACRE_OK)
        return status;
    if (count == 0)
        return nacre_fail(err, NACRE_ERR_USAGE, "the value of %s is empty", name);
    if (count > NACRE_SECRET_BYTES_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "a secret has at most %zu bytes",
                          NACRE_SECRET_BYTES_MAX);
    status = nacre_vault_check(hosts, grants, err);
    if (status == NACRE_OK)
        status = vault_begin(vault, &lock, err);
    if (status == NACRE_OK)
        status = put_value(vault, name, value, count, hosts, grants, err);
    return status == NACRE_OK ? vault_save(vault, err) : status;
}

enum nacre_status nacre_vault_set(struct nacre_vault *vault, const char *name,
                                  const void *value, size_t count,
                                  struct nacre_error *err)
{
    return nacre_vault_put(vault, name, value, count, NULL, NULL, err);
}

enum nacre_status nacre_vault_grant(struct nacre_vault *vault, const char *name,
                                    const char *const *hosts, const char *const *grants,
                                    bool replace, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int lock = -1;
    struct vault_entry *entry = NULL;
    enum nacre_status status = nacre_vault_check(hosts, grants, err);

    if (status == NACRE_OK)
        status = vault_begin(vault, &lock, err);
    if (status == NACRE_OK)
        status = find(vault, name, &entry, err);
    if (status == NACRE_OK)
        status = regrant(vault, entry, hosts, grants, replace, err);
    return status == NACRE_OK ? vault_save(vault, err) : status;
}

/* ---- removal, rotation, listing ---- */

enum nacre_status nacre_vault_remove(struct nacre_vault *vault, const char *name,
                                     struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int lock = -1;
    NACRE_AUTO(tokens_clear) struct tokens tokens = { 0 };
    struct vault_entry *entry = NULL;
    size_t after, dropped;
    enum nacre_status status = vault_begin(vault, &lock, err);

    if (status == NACRE_OK)
        status = find(vault, name, &entry, err);
    if (status == NACRE_OK)
        status = tokens_load(vault, &tokens, err);
    /* A new secret of that name is none that its stand-ins were issued for. */
    if (status == NACRE_OK)
        status = tokens_drop(vault, &tokens, NULL, name, &dropped, err);
    if (status == NACRE_OK)
        status = nacre_random(vault->private->token_key, SEAL_KEY, err);
    if (status != NACRE_OK)
        return status;
    after = vault->content.count - (size_t)(entry - vault->content.entries) - 1;
    vault_entry_clear(entry);
    memmove(entry, entry + 1, after * sizeof(*entry));
    vault->content.count--;
    status = vault_save(vault, err);
    return status == NACRE_OK ? tokens_save(vault, &tokens, err) : status;
}

enum nacre_status nacre_vault_rotate(struct nacre_vault *vault, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int lock = -1;
    NACRE_AUTO(tokens_clear) struct tokens tokens = { 0 };
    enum nacre_status status = vault_begin(vault, &lock, err);

    if (status == NACRE_OK && vault->content.generation == 0)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND,
                          "there is no vault yet: nacre secret set makes it");
    if (status == NACRE_OK)
        status = tokens_load(vault, &tokens, err);
    if (status == NACRE_OK)
        status = nacre_random(vault->private->token_key, SEAL_KEY, err);
    if (status == NACRE_OK)
        status = vault_save_rotated(vault, err);
    return status == NACRE_OK ? tokens_save(vault, &tokens, err) : status;
}

enum nacre_status nacre_vault_list(struct nacre_vault *vault,
                                   void (*each)(void *data,
                                                const struct nacre_secret_info *info),
                                   void *data, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int lock = -1;
    enum nacre_status status = vault_begin(vault, &lock, err);

    for (uint32_t i = 0; status == NACRE_OK && i < vault->content.count; i++) {
        const struct vault_entry *entry = &vault->content.entries[i];
        const struct nacre_secret_info info = {
            .name = entry->name,
            .version = entry->version,
            .changed_ms = entry->changed_ms,
            .hosts = (const char *const *)entry->hosts,
            .grants = (const char *const *)entry->grants,
        };

        each(data, &info);
    }
    return status;
}
