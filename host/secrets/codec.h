#ifndef NACRE_SECRETS_CODEC_H
#define NACRE_SECRETS_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/buf.h"

/* The bytes of nacre's own files: numbers with their low byte first, texts after their
 * length. */

/* Each appends, or makes `failed` true for good: one check at the end is enough. */
struct writer {
    struct nacre_buf buf;
    struct nacre_error err;
    bool failed;
};

void write_bytes(struct writer *writer, const void *bytes, size_t count);
void write_number(struct writer *writer, uint64_t number, size_t bytes);
void write_text(struct writer *writer, const char *text); /* at most CODEC_TEXT_MAX */
void writer_clear(struct writer *writer);

#define CODEC_TEXT_MAX 512

/* Anybody may have written what is read: whatever does not fit makes `bad` true for good,
 * and what is returned then is 0 or NULL. */
struct reader {
    const uint8_t *at;
    size_t left;
    bool bad;
};

const uint8_t *read_bytes(struct reader *reader, size_t count);
uint64_t read_number(struct reader *reader, size_t bytes);
/* To be freed.  Of 1 to CODEC_TEXT_MAX bytes, none of them NUL; out of memory is `bad`
 * with *memory. */
char *read_text(struct reader *reader, bool *memory);

#endif
