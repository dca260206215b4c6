#include "scan.h"

#include "lanes.h"

size_t scan_byte(const uint8_t *bytes, size_t count, size_t from, uint8_t byte)
{
    size_t at = from;

    for (; at + LANES <= count; at += LANES) {
        lanes hits = lanes_equal(lanes_load(bytes + at), lanes_all(byte));

        if (lanes_any(hits))
            return at + (size_t)__builtin_ctz(lanes_bits(hits));
    }
    for (; at < count; at++)
        if (bytes[at] == byte)
            return at;
    return count;
}

size_t scan_behind(const uint8_t *bytes, size_t from, uint8_t byte)
{
    size_t at = from;

    for (; at >= LANES; at -= LANES) {
        lanes hits = lanes_equal(lanes_load(bytes + at - LANES), lanes_all(byte));

        if (lanes_any(hits))
            return at - (size_t)__builtin_clz(lanes_bits(hits) << (32 - LANES));
    }
    for (; at > 0; at--)
        if (bytes[at - 1] == byte)
            return at;
    return 0;
}

size_t scan_count(const uint8_t *bytes, size_t count, uint8_t byte)
{
    size_t total = 0, at = 0;

    for (; at + LANES <= count; at += LANES)
        total += (size_t)__builtin_popcount(
            lanes_bits(lanes_equal(lanes_load(bytes + at), lanes_all(byte))));
    for (; at < count; at++)
        total += bytes[at] == byte;
    return total;
}
