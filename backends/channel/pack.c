/* Reading trusts nothing: every count is checked against what is really there. */
#include "pack.h"

#include <string.h>

static uint8_t *pack_room(struct pack *pack, size_t count)
{
    uint8_t *at = pack->bytes + pack->used;

    if (pack->failed || count > pack->size - pack->used) {
        pack->failed = true;
        return NULL;
    }
    pack->used += count;
    return at;
}

void pack_u64(struct pack *pack, uint64_t value)
{
    uint8_t *at = pack_room(pack, 8);

    for (unsigned i = 0; at && i < 8; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

void pack_bytes(struct pack *pack, const void *bytes, size_t count)
{
    uint8_t *at;

    pack_u64(pack, count);
    at = pack_room(pack, count);
    if (at && count > 0)
        memcpy(at, bytes, count);
}

void pack_text(struct pack *pack, const char *text)
{
    pack_bytes(pack, text, strlen(text) + 1);
}

void pack_texts(struct pack *pack, const char *const *texts)
{
    size_t count = 0;

    while (texts && texts[count])
        count++;
    pack_u64(pack, count);
    for (size_t i = 0; i < count; i++)
        pack_text(pack, texts[i]);
}

static const uint8_t *unpack_some(struct unpack *unpack, uint64_t count)
{
    const uint8_t *at = unpack->bytes + unpack->used;

    if (unpack->failed || count > unpack->size - unpack->used) {
        unpack->failed = true;
        return NULL;
    }
    unpack->used += (size_t)count;
    return at;
}

uint64_t unpack_u64(struct unpack *unpack)
{
    const uint8_t *at = unpack_some(unpack, 8);
    uint64_t value = 0;

    for (unsigned i = 0; at && i < 8; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

bool unpack_bool(struct unpack *unpack)
{
    uint64_t value = unpack_u64(unpack);

    if (value > 1)
        unpack->failed = true;
    return value == 1;
}

const void *unpack_bytes(struct unpack *unpack, size_t *ret_count)
{
    uint64_t count = unpack_u64(unpack);
    const uint8_t *at = unpack_some(unpack, count);

    *ret_count = at ? (size_t)count : 0;
    return at;
}

const char *unpack_text(struct unpack *unpack)
{
    size_t count;
    const char *text = unpack_bytes(unpack, &count);

    if (text && (count == 0 || memchr(text, '\0', count) != text + count - 1)) {
        unpack->failed = true;
        return NULL;
    }
    return text;
}

size_t unpack_texts(struct unpack *unpack, const char **ret_texts, size_t max)
{
    uint64_t count = unpack_u64(unpack);

    if (count > max)
        unpack->failed = true;
    for (size_t i = 0; !unpack->failed && i < count; i++)
        ret_texts[i] = unpack_text(unpack);
    ret_texts[unpack->failed ? 0 : count] = NULL;
    return unpack->failed ? 0 : (size_t)count;
}

bool unpack_whole(const struct unpack *unpack)
{
    return !unpack->failed && unpack->used == unpack->size;
}
