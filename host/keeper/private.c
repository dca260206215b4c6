/* What is read comes from a process of our own user, which may be broken: every count is
 * held against what is really there. */
#include "private.h"

#include <assert.h>
#include <string.h>

#include "message.h"
#include "nacre/locked.h"

#define TEXTS_MAX 16384
#define FILES_MAX 1024
#define TOKENS_MAX 65536

struct keeper_private {
    unsigned char *bytes; /* of the message; what follows points into it */
    size_t size;
    const char **environment;
    struct nacre_secret_file *files;
    uint32_t file_count;
    bool is_granted;
    struct nacre_secret_set granted;
};

/* ---- writing: once to count, once into the room ---- */

struct writer {
    unsigned char *bytes; /* NULL: only count */
    size_t used;
};

static void put_bytes(struct writer *writer, const void *bytes, size_t count)
{
    if (writer->bytes && count > 0)
        memcpy(writer->bytes + writer->used, bytes, count);
    writer->used += count;
}

static void put_u64(struct writer *writer, uint64_t value)
{
    unsigned char bytes[8];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (unsigned char)(value >> 8 * i);
    put_bytes(writer, bytes, sizeof(bytes));
}

static void put_counted(struct writer *writer, const void *bytes, size_t count)
{
    put_u64(writer, count);
    put_bytes(writer, bytes, count);
}

static void put_text(struct writer *writer, const char *text)
{
    put_counted(writer, text, strlen(text) + 1);
}

static void put_texts(struct writer *writer, const char *const *texts)
{
    size_t count = 0;

    while (texts && texts[count])
        count++;
    put_u64(writer, count);
    for (size_t i = 0; i < count; i++)
        put_text(writer, texts[i]);
}

static void put_secret(struct writer *writer, const struct nacre_secret *secret)
{
    put_text(writer, secret->name);
    put_texts(writer, secret->hosts);
    put_u64(writer, secret->variable != NULL);
    put_text(writer, secret->variable ? secret->variable : "");
    put_u64(writer, secret->value != NULL);
    put_counted(writer, secret->value, secret->value ? secret->count : 0);
    put_u64(writer, secret->by_token);
}

static void put_granted(struct writer *writer, const struct nacre_secret_set *granted)
{
    put_u64(writer, granted != NULL);
    if (!granted)
        return;
    put_u64(writer, granted->count);
    for (uint32_t i = 0; i < granted->count; i++)
        put_secret(writer, &granted->items[i]);
    put_u64(writer, granted->token_count);
    for (uint32_t i = 0; i < granted->token_count; i++) {
        const struct nacre_secret_token *token = &granted->tokens[i];

        put_counted(writer, token->digest.bytes, sizeof(token->digest.bytes));
        put_u64(writer, token->secret);
        put_u64(writer, token->expires_ms);
    }
}

static void put_all(struct writer *writer, const struct nacre_request *request)
{
    put_texts(writer, request->environment);
    put_u64(writer, request->secret_file_count);
    for (uint32_t i = 0; i < request->secret_file_count; i++) {
        put_text(writer, request->secret_files[i].name);
        put_counted(writer, request->secret_files[i].bytes,
                    request->secret_files[i].count);
    }
    put_granted(writer, request->granted);
}

bool keeper_private_is_needed(const struct nacre_request *request)
{
    return (request->environment && request->environment[0]) ||
           request->secret_file_count > 0 || request->granted;
}

enum nacre_status keeper_private_write(const struct nacre_request *request,
                                       unsigned char **ret_bytes, size_t *ret_count,
                                       struct nacre_error *err)
{
    struct writer counting = { 0 }, writer = { 0 };

    put_all(&counting, request);
    if (counting.used > MESSAGE_BYTES_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG,
                          "environment and secrets take over %zu MiB",
                          MESSAGE_BYTES_MAX >> 20);
    writer.bytes = malloc(counting.used);
    if (!writer.bytes)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a message");
    put_all(&writer, request);
    assert(writer.used == counting.used);
    *ret_bytes = writer.bytes;
    *ret_count = writer.used;
    return NACRE_OK;
}

void keeper_private_wipe(unsigned char *bytes, size_t count)
{
    if (bytes)
        explicit_bzero(bytes, count);
    free(bytes);
}

/* ---- reading: failure sticks, and everything after it is empty ---- */

struct reader {
    unsigned char *bytes;
    size_t size, used;
    bool failed, no_memory;
};

static unsigned char *take(struct reader *reader, uint64_t count)
{
    unsigned char *at = reader->bytes + reader->used;

    if (reader->failed || count > reader->size - reader->used) {
        reader->failed = true;
        return NULL;
    }
    reader->used += (size_t)count;
    return at;
}

static uint64_t take_u64(struct reader *reader)
{
    const unsigned char *at = take(reader, 8);
    uint64_t value = 0;

    for (size_t i = 0; at && i < 8; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

static uint64_t take_below(struct reader *reader, uint64_t most)
{
    uint64_t value = take_u64(reader);

    if (value > most)
        reader->failed = true;
    return reader->failed ? 0 : value;
}

static const unsigned char *take_counted(struct reader *reader, size_t *ret_count)
{
    uint64_t count = take_u64(reader);
    const unsigned char *at = take(reader, count);

    *ret_count = at ? (size_t)count : 0;
    return at;
}

static const char *take_text(struct reader *reader)
{
    size_t count;
    const unsigned char *at = take_counted(reader, &count);

    if (!at || count == 0 || memchr(at, '\0', count) != at + count - 1) {
        reader->failed = true;
        return "";
    }
    return (const char *)at;
}

/* Room for so many, and one more that stays zero. */
static void *room_for(struct reader *reader, uint64_t count, size_t size)
{
    void *room = reader->failed ? NULL : calloc((size_t)count + 1, size);

    if (!reader->failed && !room)
        reader->failed = reader->no_memory = true;
    return room;
}

static const char **take_texts(struct reader *reader)
{
    uint64_t count = take_below(reader, TEXTS_MAX);
    const char **texts = room_for(reader, count, sizeof(*texts));

    for (uint64_t i = 0; texts && i < count; i++)
        texts[i] = take_text(reader);
    return texts;
}

static void take_secret(struct reader *reader, struct nacre_secret *secret)
{
    bool has_variable, has_value;

    secret->name = take_text(reader);
    secret->hosts = take_texts(reader);
    has_variable = take_below(reader, 1) == 1;
    secret->variable = take_text(reader);
    has_value = take_below(reader, 1) == 1;
    secret->value = take_counted(reader, &secret->count);
    secret->by_token = take_below(reader, 1) == 1;
    if ((!has_variable && secret->variable[0]) || (!has_value && secret->count > 0))
        reader->failed = true;
    if (!has_variable)
        secret->variable = NULL;
    if (!has_value)
        secret->value = NULL;
}

static void take_tokens(struct reader *reader, struct nacre_secret_set *set)
{
    uint64_t count = take_below(reader, TOKENS_MAX);

    set->tokens = room_for(reader, count, sizeof(*set->tokens));
    for (uint64_t i = 0; !reader->failed && i < count; i++) {
        struct nacre_secret_token *token = &set->tokens[i];
        size_t size;
        const unsigned char *digest = take_counted(reader, &size);

        if (!digest || size != sizeof(token->digest.bytes)) {
            reader->failed = true;
            return;
        }
        memcpy(token->digest.bytes, digest, size);
        token->secret = (uint32_t)take_below(reader, set->count ? set->count - 1 : 0);
        token->expires_ms = take_u64(reader);
        if (set->count == 0)
            reader->failed = true;
        set->token_count++;
    }
}

static void take_granted(struct reader *reader, struct keeper_private *private)
{
    static char *nothing[] = { NULL };
    struct nacre_secret_set *set = &private->granted;
    uint64_t count;

    private->is_granted = take_below(reader, 1) == 1;
    set->environment = nothing; /* it is in the request's already */
    if (!private->is_granted)
        return;
    count = take_below(reader, NACRE_SECRETS_MAX);
    set->items = room_for(reader, count, sizeof(*set->items));
    for (; !reader->failed && set->count < count; set->count++)
        take_secret(reader, &set->items[set->count]);
    take_tokens(reader, set);
}

static void take_files(struct reader *reader, struct keeper_private *private)
{
    uint64_t count = take_below(reader, FILES_MAX);

    private->files = room_for(reader, count, sizeof(*private->files));
    for (; !reader->failed && private->file_count < count; private->file_count++) {
        struct nacre_secret_file *file = &private->files[private->file_count];

        file->name = take_text(reader);
        file->bytes = take_counted(reader, &file->count);
    }
}

enum nacre_status keeper_private_read(const void *bytes, size_t count,
                                      struct keeper_private **ret_private,
                                      struct nacre_error *err)
{
    NACRE_AUTO(keeper_private_guard)
    struct keeper_private *private = calloc(1, sizeof(*private));
    struct reader reader = { .size = count };

    if (count == 0)
        return nacre_fail(err, NACRE_ERR_PARSE, "a request's secrets are empty");
    /* In no swap where the user may lock so much. */
    if (private)
        private->bytes = nacre_locked_new(count, false);
    if (!private || !private->bytes)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a message");
    memcpy(private->bytes, bytes, count);
    private->size = count;
    reader.bytes = private->bytes;
    private->environment = take_texts(&reader);
    take_files(&reader, private);
    take_granted(&reader, private);
    if (reader.no_memory)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a message");
    if (reader.failed || reader.used != reader.size)
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "a request's environment and secrets are not as expected; are "
                          "keeper and client of the same version?");
    *ret_private = keeper_private_take(&private);
    return NACRE_OK;
}

void keeper_private_lend(const struct keeper_private *private,
                         struct nacre_request *request)
{
    request->environment = private->environment;
    request->secret_files = private->files;
    request->secret_file_count = private->file_count;
    request->granted = private->is_granted ? &private->granted : NULL;
}

void keeper_private_free(struct keeper_private *private)
{
    if (!private)
        return;
    nacre_locked_free(private->bytes, private->size);
    /* One more than were counted may have its hosts. */
    for (uint32_t i = 0; private->granted.items && i <= private->granted.count; i++)
        free((void *)(uintptr_t)private->granted.items[i].hosts);
    free(private->granted.items);
    free(private->granted.tokens);
    free(private->files);
    free((void *)(uintptr_t)private->environment);
    free(private);
}
