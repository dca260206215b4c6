#include <string.h>

#include "html.h"

/* The ones that pages use; others stay as they are written. */
static const struct {
    const char *name;
    uint32_t character;
} entities[] = {
    { "amp", '&' },       { "lt", '<' },        { "gt", '>' },        { "quot", '"' },
    { "apos", '\'' },     { "nbsp", 0xa0 },     { "copy", 0xa9 },     { "reg", 0xae },
    { "trade", 0x2122 },  { "hellip", 0x2026 }, { "mdash", 0x2014 },  { "ndash", 0x2013 },
    { "lsquo", 0x2018 },  { "rsquo", 0x2019 },  { "ldquo", 0x201c },  { "rdquo", 0x201d },
    { "sbquo", 0x201a },  { "bdquo", 0x201e },  { "laquo", 0xab },    { "raquo", 0xbb },
    { "lsaquo", 0x2039 }, { "rsaquo", 0x203a }, { "bull", 0x2022 },   { "middot", 0xb7 },
    { "sect", 0xa7 },     { "para", 0xb6 },     { "deg", 0xb0 },      { "plusmn", 0xb1 },
    { "times", 0xd7 },    { "divide", 0xf7 },   { "frac12", 0xbd },   { "frac14", 0xbc },
    { "frac34", 0xbe },   { "sup1", 0xb9 },     { "sup2", 0xb2 },     { "sup3", 0xb3 },
    { "micro", 0xb5 },    { "cent", 0xa2 },     { "pound", 0xa3 },    { "yen", 0xa5 },
    { "euro", 0x20ac },   { "larr", 0x2190 },   { "uarr", 0x2191 },   { "rarr", 0x2192 },
    { "darr", 0x2193 },   { "harr", 0x2194 },   { "rArr", 0x21d2 },   { "hArr", 0x21d4 },
    { "minus", 0x2212 },  { "infin", 0x221e },  { "ne", 0x2260 },     { "le", 0x2264 },
    { "ge", 0x2265 },     { "asymp", 0x2248 },  { "equiv", 0x2261 },  { "sum", 0x2211 },
    { "radic", 0x221a },  { "part", 0x2202 },   { "int", 0x222b },    { "isin", 0x2208 },
    { "cap", 0x2229 },    { "cup", 0x222a },    { "sub", 0x2282 },    { "sup", 0x2283 },
    { "and", 0x2227 },    { "or", 0x2228 },     { "not", 0xac },     { "forall", 0x2200 },
    { "exist", 0x2203 },  { "empty", 0x2205 },  { "nabla", 0x2207 },  { "prod", 0x220f },
    { "auml", 0xe4 },     { "ouml", 0xf6 },     { "uuml", 0xfc },     { "Auml", 0xc4 },
    { "Ouml", 0xd6 },     { "Uuml", 0xdc },     { "szlig", 0xdf },    { "eacute", 0xe9 },
    { "Eacute", 0xc9 },   { "egrave", 0xe8 },   { "Egrave", 0xc8 },   { "ecirc", 0xea },
    { "euml", 0xeb },     { "agrave", 0xe0 },   { "Agrave", 0xc0 },   { "aacute", 0xe1 },
    { "Aacute", 0xc1 },   { "acirc", 0xe2 },    { "atilde", 0xe3 },   { "aring", 0xe5 },
    { "Aring", 0xc5 },    { "aelig", 0xe6 },    { "AElig", 0xc6 },    { "ccedil", 0xe7 },
    { "Ccedil", 0xc7 },   { "iacute", 0xed },   { "igrave", 0xec },   { "icirc", 0xee },
    { "iuml", 0xef },     { "ntilde", 0xf1 },   { "Ntilde", 0xd1 },   { "oacute", 0xf3 },
    { "ograve", 0xf2 },   { "ocirc", 0xf4 },    { "otilde", 0xf5 },   { "oslash", 0xf8 },
    { "Oslash", 0xd8 },   { "oelig", 0x153 },   { "uacute", 0xfa },   { "ugrave", 0xf9 },
    { "ucirc", 0xfb },    { "yacute", 0xfd },   { "yuml", 0xff },     { "thorn", 0xfe },
    { "eth", 0xf0 },      { "scaron", 0x161 },  { "iexcl", 0xa1 },    { "iquest", 0xbf },
    { "ordf", 0xaa },     { "ordm", 0xba },     { "alpha", 0x3b1 },   { "beta", 0x3b2 },
    { "gamma", 0x3b3 },   { "delta", 0x3b4 },   { "epsilon", 0x3b5 }, { "theta", 0x3b8 },
    { "lambda", 0x3bb },  { "mu", 0x3bc },      { "pi", 0x3c0 },      { "sigma", 0x3c3 },
    { "tau", 0x3c4 },     { "phi", 0x3c6 },     { "omega", 0x3c9 },   { "Delta", 0x394 },
    { "Omega", 0x3a9 },   { "Sigma", 0x3a3 },   { "dagger", 0x2020 },
    { "prime", 0x2032 },  { "ensp", 0x2002 },   { "emsp", 0x2003 },  { "thinsp", 0x2009 },
    { "zwnj", 0x200c },   { "zwj", 0x200d },    { "shy", 0xad },      { "check", 0x2713 },
};

#define NAME_BYTES_MAX 10

uint32_t html_cp1252(unsigned char byte)
{
    static const uint16_t high[32] = {
        0x20ac, 0xfffd, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
        0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0xfffd, 0x017d, 0xfffd,
        0xfffd, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014,
        0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0xfffd, 0x017e, 0x0178,
    };

    return byte >= 0x80 && byte < 0xa0 ? high[byte - 0x80] : byte;
}

size_t html_utf8(uint32_t character, char ret_bytes[4])
{
    if (character == 0 || character > 0x10ffff ||
        (character >= 0xd800 && character < 0xe000))
        character = 0xfffd;
    if (character < 0x80) {
        ret_bytes[0] = (char)character;
        return 1;
    }
    if (character < 0x800) {
        ret_bytes[0] = (char)(0xc0 | character >> 6);
        ret_bytes[1] = (char)(0x80 | (character & 0x3f));
        return 2;
    }
    if (character < 0x10000) {
        ret_bytes[0] = (char)(0xe0 | character >> 12);
        ret_bytes[1] = (char)(0x80 | (character >> 6 & 0x3f));
        ret_bytes[2] = (char)(0x80 | (character & 0x3f));
        return 3;
    }
    ret_bytes[0] = (char)(0xf0 | character >> 18);
    ret_bytes[1] = (char)(0x80 | (character >> 12 & 0x3f));
    ret_bytes[2] = (char)(0x80 | (character >> 6 & 0x3f));
    ret_bytes[3] = (char)(0x80 | (character & 0x3f));
    return 4;
}

static int digit_of(char sign, uint32_t base)
{
    if (sign >= '0' && sign <= '9')
        return sign - '0';
    sign |= 0x20;
    return base == 16 && sign >= 'a' && sign <= 'f' ? sign - 'a' + 10 : -1;
}

static size_t numeric(const char *at, const char *end, char ret_bytes[4],
                      size_t *ret_byte_count)
{
    const char *from = at;
    uint32_t character = 0, base = 10;
    int digit, digits = 0;

    at += 2;
    if (at < end && (*at == 'x' || *at == 'X')) {
        base = 16;
        at++;
    }
    /* A page that writes zeros without end gets its text back. */
    for (; at < end && digits < 16 && (digit = digit_of(*at, base)) >= 0; at++, digits++)
        if (character <= 0x10ffff)
            character = character * base + (uint32_t)digit;
    if (digits == 0)
        return 0;
    if (character >= 0x80 && character < 0xa0)
        character = html_cp1252((unsigned char)character);
    *ret_byte_count = html_utf8(character, ret_bytes);
    return (size_t)(at - from) + (at < end && *at == ';');
}

size_t html_entity(const char *at, const char *end, char ret_bytes[4],
                   size_t *ret_byte_count)
{
    size_t length = 0;

    if (end - at > 1 && at[1] == '#')
        return numeric(at, end, ret_bytes, ret_byte_count);
    while (length <= NAME_BYTES_MAX && at + 1 + length < end && at[1 + length] != ';')
        length++;
    if (length == 0 || length > NAME_BYTES_MAX || at + 1 + length >= end)
        return 0;
    for (size_t i = 0; i < sizeof(entities) / sizeof(entities[0]); i++)
        if (strlen(entities[i].name) == length &&
            memcmp(entities[i].name, at + 1, length) == 0) {
            *ret_byte_count = html_utf8(entities[i].character, ret_bytes);
            return length + 2;
        }
    return 0;
}
