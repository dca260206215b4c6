#ifndef NACRE_LANES_H
#define NACRE_LANES_H

/*
 * 16 bytes at once: wasm's instructions in a guest, the compiler's own vectors where the
 * code is built for the host, that is, for its tests.  A lane that is "true" is all ones.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define LANES 16U

#ifdef __wasm_simd128__
#include <wasm_simd128.h>

typedef v128_t lanes;

static inline lanes lanes_load(const uint8_t *bytes) { return wasm_v128_load(bytes); }
static inline lanes lanes_all(uint8_t byte) { return wasm_u8x16_splat(byte); }
static inline lanes lanes_equal(lanes a, lanes b) { return wasm_i8x16_eq(a, b); }
static inline lanes lanes_and(lanes a, lanes b) { return wasm_v128_and(a, b); }
static inline lanes lanes_or(lanes a, lanes b) { return wasm_v128_or(a, b); }
static inline lanes lanes_high(lanes a) { return wasm_u8x16_shr(a, 4); }
static inline bool lanes_any(lanes a) { return wasm_v128_any_true(a); }
/* A bit for each lane that is true. */
static inline uint32_t lanes_bits(lanes a) { return (uint32_t)wasm_i8x16_bitmask(a); }
/* Each lane of `index` (below 16) replaced by what the table has for it. */
static inline lanes lanes_look_up(lanes table, lanes index)
{
    return wasm_i8x16_swizzle(table, index);
}

#else

typedef uint8_t lanes __attribute__((vector_size(16)));

static inline lanes lanes_load(const uint8_t *bytes)
{
    lanes out;

    memcpy(&out, bytes, sizeof(out));
    return out;
}

static inline lanes lanes_all(uint8_t byte) { return (lanes){ 0 } + byte; }
static inline lanes lanes_equal(lanes a, lanes b) { return (lanes)(a == b); }
static inline lanes lanes_and(lanes a, lanes b) { return a & b; }
static inline lanes lanes_or(lanes a, lanes b) { return a | b; }
static inline lanes lanes_high(lanes a) { return a >> 4; }

static inline uint32_t lanes_bits(lanes a)
{
    uint32_t bits = 0;

    for (unsigned i = 0; i < LANES; i++)
        bits |= (uint32_t)(a[i] >> 7) << i;
    return bits;
}

static inline bool lanes_any(lanes a)
{
    uint64_t halves[2];

    memcpy(halves, &a, sizeof(halves));
    return (halves[0] | halves[1]) != 0;
}

static inline lanes lanes_look_up(lanes table, lanes index)
{
    lanes out;

    for (unsigned i = 0; i < LANES; i++)
        out[i] = table[index[i] & 15];
    return out;
}

#endif

#endif
