/* By hand: nettle's reader wants padding and takes blanks. */
#include "nacre/base64.h"

#include <stdint.h>
#include <string.h>

static const char digits[][65] = {
    [NACRE_BASE64_PLAIN] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    [NACRE_BASE64_URL] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
};

size_t nacre_base64_write(enum nacre_base64 alphabet, const void *bytes, size_t count,
                          char *ret_text)
{
    const uint8_t *from = bytes;
    char *at = ret_text;

    for (size_t i = 0; i < count; i += 3) {
        size_t left = count - i < 3 ? count - i : 3;
        uint32_t group = (uint32_t)from[i] << 16;

        group |= left > 1 ? (uint32_t)from[i + 1] << 8 : 0;
        group |= left > 2 ? (uint32_t)from[i + 2] : 0;
        for (size_t k = 0; k <= left; k++)
            *at++ = digits[alphabet][group >> (18 - 6 * k) & 63];
        for (size_t k = left; alphabet == NACRE_BASE64_PLAIN && k < 3; k++)
            *at++ = '=';
    }
    *at = '\0';
    return (size_t)(at - ret_text);
}

bool nacre_base64_read(enum nacre_base64 alphabet, const char *text, size_t length,
                       void *ret_bytes, size_t room, size_t *ret_count)
{
    uint8_t *to = ret_bytes;
    uint32_t group = 0;
    unsigned bits = 0;
    size_t count = 0, whole = length;

    while (whole - length < 2 && length > 0 && text[length - 1] == '=')
        length--;
    if (length < whole && whole % 4 != 0)
        return false;
    for (size_t i = 0; i < length; i++) {
        const char *digit = text[i] ? strchr(digits[alphabet], text[i]) : NULL;

        if (!digit)
            return false;
        group = group << 6 | (uint32_t)(digit - digits[alphabet]);
        bits += 6;
        if (bits < 8)
            continue;
        if (count == room)
            return false;
        bits -= 8;
        to[count++] = (uint8_t)(group >> bits);
    }
    if (bits >= 6 || (group & ((UINT32_C(1) << bits) - 1)) != 0)
        return false;
    *ret_count = count;
    return true;
}
