/* Trusts `start`, `at` <= `end` and nothing that the bytes say. */
#include "wt_bytes.h"

#include <string.h>

#include "nacre/text.h"

static const char ends_early[] = "it ends in the middle of something";
static const char bad_number[] = "a number is too long";

void wt_bytes_fail(struct wt_bytes *in, const char *fault)
{
    if (!in->fault)
        in->fault = fault;
}

size_t wt_bytes_left(const struct wt_bytes *in)
{
    return in->fault ? 0 : in->end - in->at;
}

void wt_bytes_skip(struct wt_bytes *in, size_t count)
{
    if (count > wt_bytes_left(in))
        wt_bytes_fail(in, ends_early);
    else
        in->at += count;
}

uint8_t wt_bytes_u8(struct wt_bytes *in)
{
    if (wt_bytes_left(in) == 0) {
        wt_bytes_fail(in, ends_early);
        return 0;
    }
    return in->start[in->at++];
}

uint8_t wt_bytes_peek(const struct wt_bytes *in)
{
    return wt_bytes_left(in) > 0 ? in->start[in->at] : 0;
}

/* `bits` of an unsigned LEB128; what a last byte says beyond them is a fault. */
static uint64_t unsigned_leb(struct wt_bytes *in, unsigned bits)
{
    uint64_t number = 0;

    for (unsigned shift = 0; shift < bits; shift += 7) {
        uint8_t byte = wt_bytes_u8(in);

        if (shift + 7 > bits && byte >> (bits - shift) != 0)
            break;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return in->fault ? 0 : number;
    }
    wt_bytes_fail(in, bad_number);
    return 0;
}

uint32_t wt_bytes_u32(struct wt_bytes *in)
{
    return (uint32_t)unsigned_leb(in, 32);
}

uint64_t wt_bytes_u64(struct wt_bytes *in)
{
    return unsigned_leb(in, 64);
}

int64_t wt_bytes_s64(struct wt_bytes *in)
{
    uint64_t number = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t byte = wt_bytes_u8(in);

        if (shift == 63 && byte != 0 && byte != 0x7f)
            break;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            if (byte & 0x40 && shift < 57)
                number |= ~UINT64_C(0) << (shift + 7);
            return in->fault ? 0 : (int64_t)number;
        }
    }
    wt_bytes_fail(in, bad_number);
    return 0;
}

uint32_t wt_bytes_count(struct wt_bytes *in, size_t least_bytes, uint32_t max)
{
    uint32_t count = wt_bytes_u32(in);

    if (count > wt_bytes_left(in) / least_bytes) {
        wt_bytes_fail(in, "a count is larger than what follows");
        return 0;
    }
    if (count > max) {
        wt_bytes_fail(in, "a count is beyond all use");
        return 0;
    }
    return count;
}

struct wt_name wt_bytes_name(struct wt_bytes *in)
{
    struct wt_name name = { 0 };
    uint32_t count = wt_bytes_u32(in);

    if (count > wt_bytes_left(in)) {
        wt_bytes_fail(in, "a name runs past the end");
        return name;
    }
    if (!nacre_text_is_utf8((const char *)in->start + in->at, count)) {
        wt_bytes_fail(in, "a name is not UTF-8");
        return name;
    }
    name.at = in->at;
    name.count = count;
    in->at += count;
    return name;
}

bool wt_name_is(const struct wt_bytes *in, struct wt_name name, const char *text)
{
    return name.count == strlen(text) &&
           memcmp(in->start + name.at, text, name.count) == 0;
}
