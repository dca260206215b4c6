/* Trusts nothing of what goes in: it comes from the sandbox.  What comes out grows with
 * `out` alone, so a bomb ends at its ceiling. */
#include "inflate.h"

#include <limits.h>
#include <string.h>
#include <zlib.h>

#define PIECE ((size_t)16 << 10)
#define GZIP_ALONE (15 + 16) /* in zlib's terms: the largest window, and that header */

static enum door_body_is inflate_into(z_stream *zlib, struct nacre_buf *out)
{
    unsigned char piece[PIECE];
    struct nacre_error err;
    int result = Z_OK;

    while (result == Z_OK) {
        size_t made;

        zlib->next_out = piece;
        zlib->avail_out = sizeof(piece);
        result = inflate(zlib, Z_NO_FLUSH);
        made = sizeof(piece) - zlib->avail_out;
        if (made > 0 && nacre_buf_add(out, piece, made, &err) != NACRE_OK)
            return DOOR_BODY_TOO_BIG;
        if (result == Z_OK && zlib->avail_in == 0 && zlib->avail_out > 0)
            return DOOR_BODY_BAD; /* it ends before its end */
    }
    if (result == Z_MEM_ERROR)
        return DOOR_BODY_TOO_BIG;
    return result == Z_STREAM_END && zlib->avail_in == 0 ? DOOR_BODY_WHOLE : DOOR_BODY_BAD;
}

enum door_body_is door_inflate(const void *bytes, size_t count, struct nacre_buf *out)
{
    z_stream zlib;
    enum door_body_is is;

    if (count > UINT_MAX)
        return DOOR_BODY_TOO_BIG;
    memset(&zlib, 0, sizeof(zlib));
    if (inflateInit2(&zlib, GZIP_ALONE) != Z_OK)
        return DOOR_BODY_TOO_BIG;
    zlib.next_in = (z_const Bytef *)(uintptr_t)bytes;
    zlib.avail_in = (uInt)count;
    is = inflate_into(&zlib, out);
    (void)inflateEnd(&zlib);
    return is;
}
