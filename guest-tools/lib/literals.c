#include "literals.h"

#include <string.h>

#include "lanes.h"

/* How common a byte is in text and source: the further behind, the more. */
static unsigned commonness(uint8_t byte)
{
    static const char order[] =
        "Q@XZKVJ^~Y$WHGU&|B?!FMOD%jLNPR9CA8S7TIE63q+4'z5\\\"`}{][>"
        "<#2w:kx1v=0*;y/)(-,._gbfmhpudlcsrinoate ";
    const char *place = byte >= 0x80 || byte == 0 ? NULL : strchr(order, byte);

    return place ? (unsigned)(place - order) + 2 : byte >= 0x80;
}

static unsigned commonness_of(const struct literals *literals, uint8_t byte)
{
    unsigned plain = commonness(byte);

    if (!literals->caseless || byte < 'a' || byte > 'z')
        return plain;
    return plain + commonness((uint8_t)(byte - 32)) / 2;
}

static void prepare_single(struct literals *literals)
{
    const struct literal *item = &literals->items[0];
    unsigned best = 0, second;

    for (unsigned i = 1; i < item->count; i++)
        if (commonness_of(literals, item->bytes[i]) <
            commonness_of(literals, item->bytes[best]))
            best = i;
    second = best == 0 ? item->count - 1U : 0;
    for (unsigned i = 0; i < item->count; i++)
        if (i != best && item->bytes[i] != item->bytes[best] &&
            commonness_of(literals, item->bytes[i]) <
                commonness_of(literals, item->bytes[second]))
            second = i;
    literals->offset[0] = (uint8_t)best;
    literals->second = (uint8_t)second;
}

static bool is_letter(uint8_t byte)
{
    return byte >= 'a' && byte <= 'z';
}

static void table_add(struct literals *literals, unsigned index, unsigned at,
                      uint8_t byte)
{
    literals->low[at][byte & 15] |= (uint8_t)(1U << index);
    literals->high[at][byte >> 4] |= (uint8_t)(1U << index);
}

static void prepare_several(struct literals *literals)
{
    literals->width = 3;
    for (unsigned i = 0; i < literals->count; i++)
        if (literals->items[i].count < literals->width)
            literals->width = literals->items[i].count;
    for (unsigned i = 0; i < literals->count; i++) {
        const struct literal *item = &literals->items[i];
        unsigned best = 0, best_sum = UINT32_MAX;

        for (unsigned at = 0; at + literals->width <= item->count; at++) {
            unsigned sum = 0;

            for (unsigned w = 0; w < literals->width; w++)
                sum += commonness_of(literals, item->bytes[at + w]);
            if (sum < best_sum) {
                best_sum = sum;
                best = at;
            }
        }
        literals->offset[i] = (uint8_t)best;
        for (unsigned w = 0; w < literals->width; w++) {
            uint8_t byte = item->bytes[best + w];

            table_add(literals, i, w, byte);
            if (literals->caseless && is_letter(byte))
                table_add(literals, i, w, (uint8_t)(byte - 32));
        }
    }
}

void literals_prepare(struct literals *literals)
{
    if (literals->count == 1)
        prepare_single(literals);
    else
        prepare_several(literals);
}

static bool is_here(const struct literals *literals, unsigned index, const uint8_t *bytes,
                    size_t count, size_t place)
{
    const struct literal *item = &literals->items[index];
    size_t start = place - literals->offset[index];

    if (place < literals->offset[index] || item->count > count - start)
        return false;
    if (!literals->caseless)
        return memcmp(bytes + start, item->bytes, item->count) == 0;
    for (unsigned i = 0; i < item->count; i++) {
        uint8_t byte = bytes[start + i];

        if (byte >= 'A' && byte <= 'Z')
            byte += 32;
        if (byte != item->bytes[i])
            return false;
    }
    return true;
}

/* ---- one ---- */

struct wanted {
    uint8_t byte, mask; /* mask: what makes a letter a lower-case one */
};

static struct wanted wanted(const struct literals *literals, unsigned offset)
{
    uint8_t byte = literals->items[0].bytes[offset];

    return (struct wanted){ byte, literals->caseless && is_letter(byte) ? 0x20 : 0 };
}

static inline lanes hits_of(const uint8_t *first, const uint8_t *second, lanes masks[2],
                            lanes values[2])
{
    return lanes_and(lanes_equal(lanes_or(lanes_load(first), masks[0]), values[0]),
                     lanes_equal(lanes_or(lanes_load(second), masks[1]), values[1]));
}

static bool find_single(const struct literals *literals, const uint8_t *bytes,
                        size_t count, size_t from, size_t *ret_at)
{
    unsigned offset = literals->offset[0], second = literals->second;
    struct wanted one = wanted(literals, offset), other = wanted(literals, second);
    lanes masks[2] = { lanes_all(one.mask), lanes_all(other.mask) };
    lanes values[2] = { lanes_all(one.byte), lanes_all(other.byte) };
    size_t length = literals->items[0].count, at = from; /* of the text's start */

    for (; at + length + 2 * LANES <= count; at += 2 * LANES) {
        lanes low = hits_of(bytes + at + offset, bytes + at + second, masks, values);
        lanes high = hits_of(bytes + at + LANES + offset, bytes + at + LANES + second,
                             masks, values);

        if (!lanes_any(lanes_or(low, high)))
            continue;
        for (uint32_t bits = lanes_bits(low) | lanes_bits(high) << LANES; bits != 0;
             bits &= bits - 1) {
            size_t place = at + (size_t)__builtin_ctz(bits) + offset;

            if (is_here(literals, 0, bytes, count, place)) {
                *ret_at = place;
                return true;
            }
        }
    }
    for (; at + length <= count; at++)
        if ((bytes[at + offset] | one.mask) == one.byte &&
            is_here(literals, 0, bytes, count, at + offset)) {
            *ret_at = at + offset;
            return true;
        }
    return false;
}

/* ---- several ---- */

static bool judge(const struct literals *literals, const uint8_t *bytes, size_t count,
                  size_t place, unsigned texts)
{
    for (; texts != 0; texts &= texts - 1)
        if (is_here(literals, (unsigned)__builtin_ctz(texts), bytes, count, place))
            return true;
    return false;
}

static unsigned texts_at(const struct literals *literals, const uint8_t *bytes)
{
    unsigned texts = 0xff;

    for (unsigned w = 0; w < literals->width; w++)
        texts &= literals->low[w][bytes[w] & 15] & literals->high[w][bytes[w] >> 4];
    return texts;
}

static inline lanes texts_of(const struct literals *literals, const uint8_t *bytes,
                             unsigned w)
{
    lanes text = lanes_load(bytes + w);

    return lanes_and(
        lanes_look_up(lanes_load(literals->low[w]), lanes_and(text, lanes_all(15))),
        lanes_look_up(lanes_load(literals->high[w]), lanes_high(text)));
}

static bool find_several(const struct literals *literals, const uint8_t *bytes,
                         size_t count, size_t from, size_t *ret_at)
{
    size_t at = from;

    for (; at + LANES + 2 <= count; at += LANES) {
        lanes texts = texts_of(literals, bytes + at, 0);

        if (literals->width > 1)
            texts = lanes_and(texts, texts_of(literals, bytes + at, 1));
        if (literals->width > 2)
            texts = lanes_and(texts, texts_of(literals, bytes + at, 2));
        if (!lanes_any(texts))
            continue;
        for (uint32_t bits = ~lanes_bits(lanes_equal(texts, lanes_all(0))) & 0xffff;
             bits != 0; bits &= bits - 1) {
            size_t place = at + (size_t)__builtin_ctz(bits);

            if (judge(literals, bytes, count, place, texts_at(literals, bytes + place))) {
                *ret_at = place;
                return true;
            }
        }
    }
    for (; at + literals->width <= count; at++)
        if (judge(literals, bytes, count, at, texts_at(literals, bytes + at))) {
            *ret_at = at;
            return true;
        }
    return false;
}

bool literals_find(const struct literals *literals, const uint8_t *bytes, size_t count,
                   size_t from, size_t *ret_at)
{
    return literals->count == 1 ? find_single(literals, bytes, count, from, ret_at)
                                : find_several(literals, bytes, count, from, ret_at);
}
