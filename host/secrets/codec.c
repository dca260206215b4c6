#include "codec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void write_bytes(struct writer *writer, const void *bytes, size_t count)
{
    if (!writer->failed && count > 0)
        writer->failed =
            nacre_buf_add(&writer->buf, bytes, count, &writer->err) != NACRE_OK;
}

void write_number(struct writer *writer, uint64_t number, size_t bytes)
{
    uint8_t digits[8];

    assert(bytes <= sizeof(digits) && (bytes == 8 || number >> 8 * bytes == 0));
    for (size_t i = 0; i < bytes; i++)
        digits[i] = (uint8_t)(number >> 8 * i);
    write_bytes(writer, digits, bytes);
}

void write_text(struct writer *writer, const char *text)
{
    size_t length = strlen(text);

    assert(length > 0 && length <= CODEC_TEXT_MAX);
    write_number(writer, length, 2);
    write_bytes(writer, text, length);
}

void writer_clear(struct writer *writer)
{
    nacre_buf_clear(&writer->buf);
}

const uint8_t *read_bytes(struct reader *reader, size_t count)
{
    const uint8_t *at = reader->at;

    if (reader->bad || count > reader->left) {
        reader->bad = true;
        return NULL;
    }
    reader->at += count;
    reader->left -= count;
    return at;
}

uint64_t read_number(struct reader *reader, size_t bytes)
{
    const uint8_t *digits = read_bytes(reader, bytes);
    uint64_t number = 0;

    for (size_t i = 0; digits && i < bytes; i++)
        number |= (uint64_t)digits[i] << 8 * i;
    return number;
}

char *read_text(struct reader *reader, bool *memory)
{
    size_t length = (size_t)read_number(reader, 2);
    const uint8_t *bytes = read_bytes(reader, length);
    char *text;

    if (!bytes || length == 0 || length > CODEC_TEXT_MAX || memchr(bytes, 0, length)) {
        reader->bad = true;
        return NULL;
    }
    text = malloc(length + 1);
    if (!text) {
        reader->bad = *memory = true;
        return NULL;
    }
    memcpy(text, bytes, length);
    text[length] = '\0';
    return text;
}
