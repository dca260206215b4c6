/*
 * Reads a file that anybody may have changed.  Nothing of it is believed, but its head's
 * first words, before the head's seal and by it the digest of everything else hold.
 */
#include "vault_file.h"

#include <stdlib.h>
#include <string.h>

#include "nacre/own.h"
#include "nacre/secrets.h"
#include "names.h"

#define FORMAT 1
#define MAGIC "NACREVLT"
#define HEAD_OPEN (8 + 4 + VAULT_ID + VAULT_ID + 8)
#define HEAD_INSIDE (SEAL_KEY + NACRE_DIGEST_BYTES + 4)
#define HEAD_BYTES (HEAD_OPEN + HEAD_INSIDE + SEAL_EXTRA)
#define META_BYTES_MAX ((size_t)128 << 10)

static void texts_free(char **texts)
{
    for (size_t i = 0; texts && texts[i]; i++)
        free(texts[i]);
    free(texts);
}

void vault_entry_clear(struct vault_entry *entry)
{
    free(entry->name);
    texts_free(entry->hosts);
    texts_free(entry->grants);
    free(entry->sealed);
    *entry = (struct vault_entry){ 0 };
}

void vault_content_clear(struct vault_content *content)
{
    for (uint32_t i = 0; i < content->count; i++)
        vault_entry_clear(&content->entries[i]);
    free(content->entries);
    *content = (struct vault_content){ 0 };
}

/* ---- an entry's words ---- */

static void write_texts(struct writer *writer, char *const *texts)
{
    size_t count = 0;

    while (texts[count])
        count++;
    write_number(writer, count, 2);
    for (size_t i = 0; i < count; i++)
        write_text(writer, texts[i]);
}

static void write_words(struct writer *writer, const struct vault_entry *entry)
{
    write_text(writer, entry->name);
    write_number(writer, entry->version, 8);
    write_number(writer, entry->changed_ms, 8);
    write_texts(writer, entry->hosts);
    write_texts(writer, entry->grants);
    write_number(writer, entry->value_count, 4);
}

/* What a value is sealed with: the words, and whose they are. */
static enum nacre_status write_aad(struct writer *writer, const struct vault_entry *entry,
                                   const uint8_t id[VAULT_ID], struct nacre_error *err)
{
    static const char purpose[] = "nacre vault entry";

    write_bytes(writer, purpose, sizeof(purpose));
    write_number(writer, FORMAT, 4);
    write_bytes(writer, id, VAULT_ID);
    write_words(writer, entry);
    if (!writer->failed)
        return NACRE_OK;
    *err = writer->err;
    return err->status;
}

enum nacre_status vault_entry_seal(struct vault_entry *entry, const uint8_t id[VAULT_ID],
                                   const uint8_t seal_key[SEAL_KEY], const void *value,
                                   struct nacre_error *err)
{
    NACRE_AUTO(writer_clear) struct writer aad = { .buf = NACRE_BUF(META_BYTES_MAX) };
    NACRE_AUTO(nacre_heap_guard)
    uint8_t *sealed = malloc(entry->value_count + SEAL_EXTRA);
    enum nacre_status status;

    if (!sealed)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a secret");
    status = write_aad(&aad, entry, id, err);
    if (status == NACRE_OK)
        status = crypto_seal(seal_key, (struct seal_aad){ aad.buf.bytes, aad.buf.size },
                             value, entry->value_count, sealed, err);
    if (status != NACRE_OK)
        return status;
    free(entry->sealed);
    entry->sealed = NACRE_HEAP_TAKE(sealed);
    return NACRE_OK;
}

enum nacre_status vault_entry_open(const struct vault_entry *entry,
                                   const uint8_t id[VAULT_ID],
                                   const uint8_t seal_key[SEAL_KEY], void *ret_value,
                                   struct nacre_error *err)
{
    NACRE_AUTO(writer_clear) struct writer aad = { .buf = NACRE_BUF(META_BYTES_MAX) };
    enum nacre_status status = write_aad(&aad, entry, id, err);

    if (status == NACRE_OK)
        status = crypto_open(seal_key, (struct seal_aad){ aad.buf.bytes, aad.buf.size },
                             entry->sealed, entry->value_count + SEAL_EXTRA, ret_value,
                             err);
    return status;
}

static char **read_texts(struct reader *reader, bool *memory)
{
    size_t count = (size_t)read_number(reader, 2);
    char **texts;

    if (reader->bad || count > VAULT_TEXTS_MAX) {
        reader->bad = true;
        return NULL;
    }
    texts = calloc(count + 1, sizeof(*texts));
    if (!texts) {
        reader->bad = *memory = true;
        return NULL;
    }
    for (size_t i = 0; i < count && !reader->bad; i++)
        texts[i] = read_text(reader, memory);
    return texts;
}

static void read_entry(struct reader *reader, struct vault_entry *entry, bool *memory)
{
    const uint8_t *sealed;

    entry->name = read_text(reader, memory);
    entry->version = read_number(reader, 8);
    entry->changed_ms = read_number(reader, 8);
    entry->hosts = read_texts(reader, memory);
    entry->grants = read_texts(reader, memory);
    entry->value_count = (size_t)read_number(reader, 4);
    if (reader->bad || entry->value_count > NACRE_SECRET_BYTES_MAX ||
        !secret_name_is_valid(entry->name)) {
        reader->bad = true;
        return;
    }
    sealed = read_bytes(reader, entry->value_count + SEAL_EXTRA);
    if (!sealed)
        return;
    entry->sealed = malloc(entry->value_count + SEAL_EXTRA);
    if (entry->sealed)
        memcpy(entry->sealed, sealed, entry->value_count + SEAL_EXTRA);
    else
        reader->bad = *memory = true;
}

/* ---- the whole ---- */

static enum nacre_status fail_altered(struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_PARSE,
                      "the vault was altered or damaged: nothing of it is used; put a "
                      "sound copy back");
}

enum nacre_status vault_key_id(const void *bytes, size_t count, uint8_t ret_id[VAULT_ID],
                               struct nacre_error *err)
{
    struct reader reader = { bytes, count, count < HEAD_BYTES };
    const uint8_t *magic = read_bytes(&reader, sizeof(MAGIC) - 1);
    uint64_t format = read_number(&reader, 4);
    const uint8_t *id;

    if (!magic || memcmp(magic, MAGIC, sizeof(MAGIC) - 1) != 0)
        return fail_altered(err);
    if (format != FORMAT)
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "the vault has format %llu, and this nacre reads %d only",
                          (unsigned long long)format, FORMAT);
    (void)read_bytes(&reader, VAULT_ID);
    id = read_bytes(&reader, VAULT_ID);
    memcpy(ret_id, id, VAULT_ID);
    return NACRE_OK;
}

static enum nacre_status read_entries(struct reader *reader, uint32_t count,
                                      struct vault_content *content,
                                      struct nacre_error *err)
{
    bool memory = false;

    if (count > NACRE_SECRETS_MAX)
        return fail_altered(err);
    content->entries = calloc((size_t)count + 1, sizeof(*content->entries));
    if (!content->entries)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the vault");
    for (uint32_t i = 0; i < count && !reader->bad; i++) {
        struct vault_entry *entry = &content->entries[i];

        content->count++;
        read_entry(reader, entry, &memory);
        reader->bad |= i > 0 && !reader->bad && strcmp(entry[-1].name, entry->name) >= 0;
    }
    if (memory)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the vault");
    return reader->bad || reader->left > 0 ? fail_altered(err) : NACRE_OK;
}

enum nacre_status vault_decode(const void *bytes, size_t count,
                               const uint8_t seal_key[SEAL_KEY],
                               struct vault_content *ret_content,
                               uint8_t ret_token_key[SEAL_KEY], struct nacre_error *err)
{
    NACRE_AUTO(vault_content_clear) struct vault_content content = { 0 };
    struct reader reader = { bytes, count, false };
    uint8_t inside[HEAD_INSIDE];
    struct nacre_digest digest;
    enum nacre_status status;

    if (count < HEAD_BYTES)
        return fail_altered(err);
    status = crypto_open(seal_key, (struct seal_aad){ bytes, HEAD_OPEN },
                         (const uint8_t *)bytes + HEAD_OPEN, HEAD_BYTES - HEAD_OPEN,
                         inside, err);
    if (status == NACRE_ERR_PARSE)
        return fail_altered(err);
    if (status != NACRE_OK)
        return status;
    digest = nacre_hash((const uint8_t *)bytes + HEAD_BYTES, count - HEAD_BYTES);
    if (!nacre_bytes_equal(digest.bytes, inside + SEAL_KEY, sizeof(digest.bytes))) {
        explicit_bzero(inside, sizeof(inside));
        return fail_altered(err);
    }
    (void)read_bytes(&reader, 8 + 4);
    memcpy(content.id, read_bytes(&reader, VAULT_ID), VAULT_ID);
    (void)read_bytes(&reader, VAULT_ID);
    content.generation = read_number(&reader, 8);
    (void)read_bytes(&reader, HEAD_BYTES - HEAD_OPEN);
    {
        struct reader sealed = { inside + SEAL_KEY + NACRE_DIGEST_BYTES, 4, false };

        status = read_entries(&reader, (uint32_t)read_number(&sealed, 4), &content, err);
    }
    if (status == NACRE_OK) {
        memcpy(ret_token_key, inside, SEAL_KEY);
        *ret_content = content;
        content = (struct vault_content){ 0 };
    }
    explicit_bzero(inside, sizeof(inside));
    return status;
}

enum nacre_status vault_encode(const struct vault_content *content,
                               const uint8_t seal_key[SEAL_KEY],
                               const uint8_t key_id[VAULT_ID],
                               const uint8_t token_key[SEAL_KEY],
                               struct nacre_buf *ret_bytes, struct nacre_error *err)
{
    NACRE_AUTO(writer_clear)
    struct writer entries = { .buf = NACRE_BUF(VAULT_BYTES_MAX) };
    NACRE_AUTO(writer_clear)
    struct writer whole = { .buf = NACRE_BUF(VAULT_BYTES_MAX) };
    uint8_t inside[HEAD_INSIDE], sealed[HEAD_INSIDE + SEAL_EXTRA];
    struct nacre_digest digest;
    enum nacre_status status = NACRE_OK;

    for (uint32_t i = 0; i < content->count; i++) {
        const struct vault_entry *entry = &content->entries[i];

        write_words(&entries, entry);
        write_bytes(&entries, entry->sealed, entry->value_count + SEAL_EXTRA);
    }
    digest = nacre_hash(entries.buf.bytes, entries.buf.size);
    memcpy(inside, token_key, SEAL_KEY);
    memcpy(inside + SEAL_KEY, digest.bytes, sizeof(digest.bytes));
    for (size_t i = 0; i < 4; i++)
        inside[HEAD_INSIDE - 4 + i] = (uint8_t)(content->count >> 8 * i);

    write_bytes(&whole, MAGIC, sizeof(MAGIC) - 1);
    write_number(&whole, FORMAT, 4);
    write_bytes(&whole, content->id, VAULT_ID);
    write_bytes(&whole, key_id, VAULT_ID);
    write_number(&whole, content->generation, 8);
    if (!whole.failed)
        status = crypto_seal(seal_key, (struct seal_aad){ whole.buf.bytes, HEAD_OPEN },
                             inside, sizeof(inside), sealed, err);
    explicit_bzero(inside, sizeof(inside));
    if (status != NACRE_OK)
        return status;
    write_bytes(&whole, sealed, sizeof(sealed));
    write_bytes(&whole, entries.buf.bytes, entries.buf.size);
    if (entries.failed || whole.failed) {
        *err = entries.failed ? entries.err : whole.err;
        return err->status;
    }
    *ret_bytes = whole.buf;
    whole.buf = (struct nacre_buf){ 0 };
    return NACRE_OK;
}
