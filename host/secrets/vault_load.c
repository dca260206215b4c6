/* Reading and writing of the vault and what vouches for it: see vault.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nacre/own.h"
#include "nacre/text.h"
#include "store.h"
#include "vault.h"

#define RECORD_MAGIC "NACREGEN"
#define RECORD_OPEN (8 + VAULT_ID + 8)
#define RECORD_BYTES (RECORD_OPEN + NACRE_DIGEST_BYTES)

/* What the record says, and whether it is under the key in use. */
struct record {
    bool there, is_ours;
    uint64_t generation;
};

static void derive(const uint8_t key[NACRE_KEY_BYTES], const char *purpose, uint8_t *ret,
                   size_t count)
{
    struct nacre_digest digest = nacre_hmac(key, NACRE_KEY_BYTES, purpose,
                                            strlen(purpose));

    memcpy(ret, digest.bytes, count);
    explicit_bzero(&digest, sizeof(digest));
}

static void key_id_of(const uint8_t key[NACRE_KEY_BYTES], uint8_t ret_id[VAULT_ID])
{
    derive(key, "nacre vault key id 1", ret_id, VAULT_ID);
}

static void take_key(struct vault_private *private, int which)
{
    const uint8_t *key = private->keys.bytes[which];

    derive(key, "nacre vault seal 1", private->seal_key, SEAL_KEY);
    derive(key, "nacre vault record 1", private->record_key, SEAL_KEY);
    key_id_of(key, private->key_id);
}

/* ---- the record ---- */

static enum nacre_status record_prepare(struct nacre_vault *vault,
                                        struct nacre_error *err)
{
    NACRE_AUTO(writer_clear) struct writer writer = { .buf = NACRE_BUF(RECORD_BYTES) };
    struct nacre_digest code;

    write_bytes(&writer, RECORD_MAGIC, sizeof(RECORD_MAGIC) - 1);
    write_bytes(&writer, vault->content.id, VAULT_ID);
    write_number(&writer, vault->content.generation, 8);
    if (!writer.failed) {
        code = nacre_hmac(vault->private->record_key, SEAL_KEY, writer.buf.bytes,
                          writer.buf.size);
        write_bytes(&writer, code.bytes, sizeof(code.bytes));
    }
    if (writer.failed) {
        *err = writer.err;
        return err->status;
    }
    if (store_prepare(vault->key_place.dir_fd, vault->record_name, writer.buf.bytes,
                      writer.buf.size, err) != NACRE_OK)
        return nacre_fail_context(err, vault->key_dir);
    return NACRE_OK;
}

static enum nacre_status record_commit(struct nacre_vault *vault, struct nacre_error *err)
{
    if (store_commit(vault->key_place.dir_fd, vault->record_name, err) != NACRE_OK)
        return nacre_fail_context(err, vault->key_dir);
    return NACRE_OK;
}

static enum nacre_status record_write(struct nacre_vault *vault, struct nacre_error *err)
{
    enum nacre_status status = record_prepare(vault, err);

    return status == NACRE_OK ? record_commit(vault, err) : status;
}

static bool record_holds(const uint8_t record_key[SEAL_KEY], const char *bytes)
{
    struct nacre_digest code = nacre_hmac(record_key, SEAL_KEY, bytes, RECORD_OPEN);

    return nacre_bytes_equal(code.bytes, bytes + RECORD_OPEN, sizeof(code.bytes));
}

/* `used` is the key that opened the vault.  A new key's vault may still have the old
 * key's record. */
static enum nacre_status record_read(struct nacre_vault *vault, int used,
                                     struct record *ret_record, struct nacre_error *err)
{
    struct nacre_buf buf = NACRE_BUF(RECORD_BYTES);
    const struct vault_private *private = vault->private;
    struct record record = { 0 };
    uint8_t old_key[SEAL_KEY];
    struct reader reader;
    bool holds = false;
    enum nacre_status status = store_read(vault->key_place.dir_fd, vault->record_name,
                                          &buf, &record.there, err);

    if (status == NACRE_OK && record.there && buf.size == RECORD_BYTES) {
        record.is_ours = holds = record_holds(private->record_key, buf.bytes);
        if (!holds && used == 1 && private->keys.there[0]) {
            derive(private->keys.bytes[0], "nacre vault record 1", old_key, SEAL_KEY);
            holds = record_holds(old_key, buf.bytes);
            explicit_bzero(old_key, sizeof(old_key));
        }
        holds = holds && memcmp(buf.bytes, RECORD_MAGIC, 8) == 0 &&
                memcmp(buf.bytes + 8, vault->content.id, VAULT_ID) == 0;
        reader = (struct reader){ (const uint8_t *)buf.bytes + 8 + VAULT_ID, 8, false };
        record.generation = read_number(&reader, 8);
    }
    nacre_buf_clear(&buf);
    if (status != NACRE_OK)
        return status;
    if (record.there && !holds)
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "the record of the vault's generation, %s in the key "
                          "directory, is of another vault or was altered; if you put "
                          "this vault there yourself, run nacre secret accept",
                          vault->record_name);
    *ret_record = record;
    return NACRE_OK;
}

static enum nacre_status judge(const struct nacre_vault *vault,
                               const struct record *record, struct nacre_error *err)
{
    uint64_t generation = vault->content.generation;

    if (record->there && generation < record->generation)
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "the vault was rolled back: it is of generation %llu, and "
                          "generation %llu was written; if you restored it yourself, run "
                          "nacre secret accept",
                          (unsigned long long)generation,
                          (unsigned long long)record->generation);
    /* Only its first writer can have been stopped before there was a record. */
    if (!record->there && generation > 1)
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "nothing vouches that this vault is the newest: %s is missing "
                          "from the key directory; if you brought it here yourself, run "
                          "nacre secret accept",
                          vault->record_name);
    return NACRE_OK;
}

/* ---- the whole ---- */

/* Which of the keys opens these bytes, derived; -1: none. */
static enum nacre_status choose_key(struct nacre_vault *vault,
                                    const struct nacre_buf *buf,
                                    int *ret_used, struct nacre_error *err)
{
    const struct vault_keys *keys = &vault->private->keys;
    uint8_t wanted[VAULT_ID], id[VAULT_ID];
    char shown[NACRE_SHOWN];
    enum nacre_status status = vault_key_id(buf->bytes, buf->size, wanted, err);

    if (status != NACRE_OK)
        return status;
    for (int i = 0; i < 2; i++) {
        if (!keys->there[i])
            continue;
        key_id_of(keys->bytes[i], id);
        if (memcmp(id, wanted, sizeof(id)) != 0)
            continue;
        take_key(vault->private, i);
        *ret_used = i;
        return NACRE_OK;
    }
    if (keys->source == KEY_SOURCE_FILE)
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "the vault is sealed with another key than that of %s, or was "
                          "altered: put its key there, as file %s",
                          nacre_text_shown(shown, vault->key_dir), vault->key_place.name);
    return nacre_fail(err, NACRE_ERR_PARSE,
                      "the vault is sealed with another key than that of %s, or was "
                      "altered",
                      keys->source == KEY_SOURCE_KEYRING ? "the keyring"
                                                         : "$NACRE_VAULT_KEY");
}

/* What one who was stopped left to do. */
static enum nacre_status heal(struct nacre_vault *vault, int used,
                              const struct record *record, struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    if (!record->is_ours || record->generation < vault->content.generation)
        status = record_write(vault, err);
    if (status == NACRE_OK && used == 1)
        return keys_promote(&vault->key_place, &vault->private->keys, err);
    if (status == NACRE_OK)
        return keys_drop_next(&vault->key_place, &vault->private->keys, err);
    return status;
}

static enum nacre_status load_empty(struct nacre_vault *vault, bool accepts,
                                    struct nacre_error *err)
{
    if (faccessat(vault->key_place.dir_fd, vault->record_name, F_OK,
                  AT_SYMLINK_NOFOLLOW) < 0)
        return NACRE_OK;
    if (!accepts)
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "the vault is gone, though one was written: put it back, or "
                          "begin anew with nacre secret accept");
    if (unlinkat(vault->key_place.dir_fd, vault->record_name, 0) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot remove %s", vault->record_name);
    return NACRE_OK;
}

static enum nacre_status load_bytes(struct nacre_vault *vault,
                                    const struct nacre_buf *buf,
                                    bool accepts, struct nacre_error *err)
{
    struct record record = { 0 };
    int used = 0;
    enum nacre_status status = choose_key(vault, buf, &used, err);

    if (status == NACRE_OK)
        status = vault_decode(buf->bytes, buf->size, vault->private->seal_key,
                              &vault->content, vault->private->token_key, err);
    if (status == NACRE_OK && !accepts)
        status = record_read(vault, used, &record, err);
    if (status == NACRE_OK && !accepts)
        status = judge(vault, &record, err);
    if (status == NACRE_OK)
        status = heal(vault, used, &record, err);
    if (status != NACRE_OK)
        vault_content_clear(&vault->content);
    return status;
}

static enum nacre_status load(struct nacre_vault *vault, bool accepts,
                              struct nacre_error *err)
{
    struct nacre_buf buf = NACRE_BUF(VAULT_BYTES_MAX);
    bool there = false;
    enum nacre_status status;

    vault_content_clear(&vault->content);
    status = keys_load(&vault->key_place, &vault->private->keys, err);
    if (status == NACRE_OK)
        status = store_read(vault->state_fd, VAULT_NAME, &buf, &there, err);
    if (status == NACRE_OK)
        status = there ? load_bytes(vault, &buf, accepts, err)
                       : load_empty(vault, accepts, err);
    nacre_buf_clear(&buf);
    return status;
}

static enum nacre_status take_lock(struct nacre_vault *vault, int *ret_lock,
                                   struct nacre_error *err)
{
    if (store_lock(vault->state_fd, VAULT_LOCK, ret_lock, err) != NACRE_OK)
        return nacre_fail_context(err, vault->state_dir);
    return NACRE_OK;
}

enum nacre_status vault_begin(struct nacre_vault *vault, int *ret_lock,
                              struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int lock = -1;
    enum nacre_status status = take_lock(vault, &lock, err);

    if (status == NACRE_OK)
        status = load(vault, false, err);
    if (status != NACRE_OK)
        return status;
    *ret_lock = nacre_fd_take(&lock);
    return NACRE_OK;
}

enum nacre_status vault_accept(struct nacre_vault *vault, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int lock = -1;
    enum nacre_status status = take_lock(vault, &lock, err);

    return status == NACRE_OK ? load(vault, true, err) : status;
}

enum nacre_status vault_found(struct nacre_vault *vault, struct nacre_error *err)
{
    struct vault_private *private = vault->private;
    enum nacre_status status;

    if (vault->content.generation > 0)
        return NACRE_OK;
    status = keys_make(&vault->key_place, &private->keys, 0, err);
    if (status == NACRE_OK)
        status = nacre_random(vault->content.id, VAULT_ID, err);
    if (status == NACRE_OK)
        status = nacre_random(private->token_key, SEAL_KEY, err);
    if (status == NACRE_OK)
        take_key(private, 0);
    return status;
}

enum nacre_status vault_save(struct nacre_vault *vault, struct nacre_error *err)
{
    struct nacre_buf bytes = { 0 };
    struct vault_private *private = vault->private;
    enum nacre_status status;

    vault->content.generation++;
    status = vault_encode(&vault->content, private->seal_key, private->key_id,
                          private->token_key, &bytes, err);
    /* A directory of keys that can't be written to is found out before the vault has
     * changed. */
    if (status == NACRE_OK)
        status = record_prepare(vault, err);
    if (status == NACRE_OK && store_replace(vault->state_fd, VAULT_NAME, bytes.bytes,
                                            bytes.size, err) != NACRE_OK) {
        store_drop(vault->key_place.dir_fd, vault->record_name);
        status = nacre_fail_context(err, vault->state_dir);
    }
    nacre_buf_clear(&bytes);
    return status == NACRE_OK ? record_commit(vault, err) : status;
}

/* Opens with the key in use, seals with that of `next`. */
static enum nacre_status reseal(struct nacre_vault *vault, const uint8_t next[SEAL_KEY],
                                struct nacre_error *err)
{
    NACRE_AUTO(locked_clear) struct locked value = { 0 };
    size_t longest = 0;
    enum nacre_status status;

    for (uint32_t i = 0; i < vault->content.count; i++)
        if (vault->content.entries[i].value_count > longest)
            longest = vault->content.entries[i].value_count;
    status = locked_new(longest, &value, err);
    for (uint32_t i = 0; i < vault->content.count && status == NACRE_OK; i++) {
        struct vault_entry *entry = &vault->content.entries[i];

        status = vault_entry_open(entry, vault->content.id, vault->private->seal_key,
                                  value.bytes, err);
        if (status == NACRE_OK)
            status = vault_entry_seal(entry, vault->content.id, next, value.bytes, err);
    }
    return status;
}

enum nacre_status vault_save_rotated(struct nacre_vault *vault, struct nacre_error *err)
{
    struct vault_private *private = vault->private;
    uint8_t next[SEAL_KEY];
    enum nacre_status status = keys_make(&vault->key_place, &private->keys, 1, err);

    if (status != NACRE_OK)
        return status;
    derive(private->keys.bytes[1], "nacre vault seal 1", next, SEAL_KEY);
    status = reseal(vault, next, err);
    explicit_bzero(next, sizeof(next));
    if (status != NACRE_OK)
        return status;
    take_key(private, 1);
    status = vault_save(vault, err);
    return status == NACRE_OK ? keys_promote(&vault->key_place, &private->keys, err)
                              : status;
}
