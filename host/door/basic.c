#include "basic.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char scheme[] = "Basic ";

/* 64 and above: not of the alphabet. */
static uint32_t digit(char c)
{
    const char *found = c ? strchr(alphabet, c) : NULL;

    return found ? (uint32_t)(found - alphabet) : 64;
}

bool door_basic_read(const char *value, size_t count, struct door_locked *out)
{
    uint32_t bits = 0, have = 0;
    bool good = true;

    if (count < sizeof(scheme) - 1 || strncasecmp(value, scheme, sizeof(scheme) - 1) != 0)
        return false;
    value += sizeof(scheme) - 1;
    count -= sizeof(scheme) - 1;
    while (count > 0 && value[0] == ' ')
        value++, count--;
    while (count > 0 && value[count - 1] == '=')
        count--;
    for (size_t i = 0; i < count && good; i++) {
        uint32_t next = digit(value[i]);
        char byte;

        if (next >= 64)
            return false;
        bits = bits << 6 | next;
        have += 6;
        if (have < 8)
            continue;
        have -= 8;
        byte = (char)(bits >> have & 0xff);
        good = door_locked_add(out, &byte, 1);
    }
    return good;
}

bool door_basic_write(const char *bytes, size_t count, struct door_locked *out)
{
    bool good = door_locked_add(out, scheme, sizeof(scheme) - 1);

    for (size_t i = 0; i < count && good; i += 3) {
        size_t left = count - i;
        uint32_t bits = (uint32_t)(unsigned char)bytes[i] << 16;
        char four[4];

        if (left > 1)
            bits |= (uint32_t)(unsigned char)bytes[i + 1] << 8;
        if (left > 2)
            bits |= (unsigned char)bytes[i + 2];
        for (size_t k = 0; k < 4; k++)
            four[k] = alphabet[bits >> (18 - 6 * k) & 63];
        if (left < 3)
            four[3] = '=';
        if (left < 2)
            four[2] = '=';
        good = door_locked_add(out, four, sizeof(four));
        explicit_bzero(four, sizeof(four));
    }
    return good;
}
