/*
 * Kinds of files and the dimensions of images.  The bytes are anybody's: each field is
 * read only where it is inside, and a dimension is a number to show, no size to allocate.
 */
#include "kinds.h"

#include <string.h>

#include "nacre_json.h"

struct bytes {
    const unsigned char *at;
    size_t count;
};

static uint32_t big(const unsigned char *at, int count)
{
    uint32_t value = 0;

    for (int i = 0; i < count; i++)
        value = value << 8 | at[i];
    return value;
}

static uint32_t little(const unsigned char *at, int count)
{
    uint32_t value = 0;

    for (int i = count; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

static void png_size(struct bytes file, struct kind *kind)
{
    if (file.count < 24 || memcmp(file.at + 12, "IHDR", 4) != 0)
        return;
    kind->width = big(file.at + 16, 4);
    kind->height = big(file.at + 20, 4);
}

static void gif_size(struct bytes file, struct kind *kind)
{
    if (file.count < 10)
        return;
    kind->width = little(file.at + 6, 2);
    kind->height = little(file.at + 8, 2);
}

static void bmp_size(struct bytes file, struct kind *kind)
{
    uint32_t height;

    if (file.count < 26)
        return;
    if (little(file.at + 14, 4) == 12) {
        kind->width = little(file.at + 18, 2);
        kind->height = little(file.at + 20, 2);
        return;
    }
    /* Below zero it begins at the top. */
    height = little(file.at + 22, 4);
    kind->width = little(file.at + 18, 4);
    kind->height = height > INT32_MAX ? 0 - height : height;
}

/* The frame header comes behind any number of other segments. */
static void jpeg_size(struct bytes file, struct kind *kind)
{
    size_t at = 2;

    while (file.count - at >= 9) {
        unsigned char marker = file.at[at + 1];
        uint32_t length;

        if (file.at[at] != 0xff)
            return;
        if (marker == 0xff) {
            at++;
            continue;
        }
        if (marker == 0x01 || (marker >= 0xd0 && marker <= 0xd8)) {
            at += 2;
            continue;
        }
        if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 &&
            marker != 0xcc) {
            kind->height = big(file.at + at + 5, 2);
            kind->width = big(file.at + at + 7, 2);
            return;
        }
        length = big(file.at + at + 2, 2);
        if (length < 2 || length + 2 > file.count - at)
            return;
        at += 2 + length;
    }
}

static void webp_size(struct bytes file, struct kind *kind)
{
    const unsigned char *at = file.at;
    uint32_t bits;

    if (file.count < 30)
        return;
    if (memcmp(at + 12, "VP8X", 4) == 0) {
        kind->width = little(at + 24, 3) + 1;
        kind->height = little(at + 27, 3) + 1;
    } else if (memcmp(at + 12, "VP8L", 4) == 0) {
        bits = little(at + 21, 4);
        kind->width = (bits & 0x3fff) + 1;
        kind->height = (bits >> 14 & 0x3fff) + 1;
    } else if (memcmp(at + 12, "VP8 ", 4) == 0) {
        kind->width = little(at + 26, 2) & 0x3fff;
        kind->height = little(at + 28, 2) & 0x3fff;
    }
}

static const struct {
    size_t offset;
    const char *magic;
    size_t count;
    const char *name, *mime;
    void (*size)(struct bytes file, struct kind *kind);
} magics[] = {
#define MAGIC(text) text, sizeof text - 1
    { 0, MAGIC("\x89PNG\r\n\x1a\n"), "a PNG image", "image/png", png_size },
    { 0, MAGIC("\xff\xd8\xff"), "a JPEG image", "image/jpeg", jpeg_size },
    { 0, MAGIC("GIF87a"), "a GIF image", "image/gif", gif_size },
    { 0, MAGIC("GIF89a"), "a GIF image", "image/gif", gif_size },
    { 8, MAGIC("WEBP"), "a WebP image", "image/webp", webp_size },
    { 6, MAGIC("\0\0\0\0"), "a BMP image", "image/bmp", bmp_size },
    { 0, MAGIC("%PDF-"), "a PDF document", NULL, NULL },
    { 0, MAGIC("PK\x03\x04"), "a ZIP archive", NULL, NULL },
    { 0, MAGIC("\x1f\x8b"), "gzip data", NULL, NULL },
    { 0, MAGIC("BZh"), "bzip2 data", NULL, NULL },
    { 0, MAGIC("\xfd" "7zXZ\0"), "xz data", NULL, NULL },
    { 0, MAGIC("\x28\xb5\x2f\xfd"), "zstd data", NULL, NULL },
    { 0, MAGIC("7z\xbc\xaf\x27\x1c"), "a 7-Zip archive", NULL, NULL },
    { 257, MAGIC("ustar"), "a tar archive", NULL, NULL },
    { 0, MAGIC("\x7f" "ELF"), "an ELF program or library", NULL, NULL },
    { 0, MAGIC("\0asm"), "a WebAssembly module", NULL, NULL },
    { 0, MAGIC("SQLite format 3\0"), "an SQLite database", NULL, NULL },
    { 0, MAGIC("\xff\xfe"), "UTF-16 text (little endian)", NULL, NULL },
    { 0, MAGIC("\xfe\xff"), "UTF-16 text (big endian)", NULL, NULL },
    { 4, MAGIC("ftyp"), "an MP4 or HEIF file", NULL, NULL },
    { 0, MAGIC("OggS"), "an Ogg file", NULL, NULL },
    { 8, MAGIC("WAVE"), "a WAV sound", NULL, NULL },
    { 0, MAGIC("wOF2"), "a WOFF2 font", NULL, NULL },
    { 0, MAGIC("MZ"), "a Windows program", NULL, NULL },
#undef MAGIC
};

/* Magic of two or four common bytes says nothing alone. */
static bool confirmed(const char *mime, struct bytes file)
{
    if (mime && strcmp(mime, "image/webp") == 0)
        return memcmp(file.at, "RIFF", 4) == 0;
    if (mime && strcmp(mime, "image/bmp") == 0)
        return memcmp(file.at, "BM", 2) == 0;
    return true;
}

struct kind kind_of(const char *bytes, size_t count)
{
    struct bytes file = { (const unsigned char *)bytes, count };
    struct kind kind = { 0 };

    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++) {
        if (count < magics[i].offset + magics[i].count ||
            memcmp(bytes + magics[i].offset, magics[i].magic, magics[i].count) != 0 ||
            !confirmed(magics[i].mime, file))
            continue;
        kind.name = magics[i].name;
        kind.mime = magics[i].mime;
        if (magics[i].size)
            magics[i].size(file, &kind);
        break;
    }
    return kind;
}

bool looks_binary(const char *bytes, size_t count)
{
    return memchr(bytes, '\0', count) || nacre_utf8_wrong(bytes, count) > count / 3;
}
