#include <string.h>
#include <strings.h>

#include "html.h"

#define META_BYTES 2048 /* where a page has to say it */

static enum charset by_name(const char *name)
{
    static const struct {
        const char *name;
        enum charset charset;
    } names[] = {
        { "utf-8", CHARSET_UTF8 },        { "utf8", CHARSET_UTF8 },
        { "us-ascii", CHARSET_UTF8 },     { "ascii", CHARSET_UTF8 },
        { "iso-8859-1", CHARSET_CP1252 }, { "iso8859-1", CHARSET_CP1252 },
        { "latin1", CHARSET_CP1252 },     { "latin-1", CHARSET_CP1252 },
        { "windows-1252", CHARSET_CP1252 }, { "cp1252", CHARSET_CP1252 },
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcasecmp(name, names[i].name) == 0)
            return names[i].charset;
    return CHARSET_OTHER;
}

/* The first "charset=NAME" in `text`. */
static bool find_name(const char *text, size_t count, char ret_name[32])
{
    static const char word[] = "charset";
    size_t at, length = 0;

    for (at = 0; at + sizeof(word) < count; at++)
        if (strncasecmp(text + at, word, sizeof(word) - 1) == 0)
            break;
    if (at + sizeof(word) >= count)
        return false;
    for (at += sizeof(word) - 1; at < count && text[at] == ' '; at++)
        ;
    if (at == count || text[at] != '=')
        return false;
    for (at++; at < count && strchr(" \"'", text[at]) && text[at]; at++)
        ;
    while (at < count && length < 31 && text[at] > ' ' && text[at] < 0x7f &&
           !strchr("\"';>/,", text[at]))
        ret_name[length++] = text[at++];
    ret_name[length] = '\0';
    return length > 0;
}

static bool find_meta(const char *bytes, size_t count, char ret_name[32])
{
    const char *end = bytes + (count < META_BYTES ? count : META_BYTES);
    const char *at = bytes, *stop;

    while ((at = memchr(at, '<', (size_t)(end - at)))) {
        stop = memchr(at, '>', (size_t)(end - at));
        if (!stop)
            return false;
        if (stop - at > 5 && strncasecmp(at, "<meta", 5) == 0 &&
            find_name(at, (size_t)(stop + 1 - at), ret_name))
            return true;
        at++;
    }
    return false;
}

enum charset charset_find(const char *content_type, const char *bytes, size_t count,
                          bool is_html, char ret_name[32])
{
    ret_name[0] = '\0';
    if (find_name(content_type, strlen(content_type) + 1, ret_name))
        return by_name(ret_name);
    if (count >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
        return CHARSET_UTF8;
    if (count >= 2 && (memcmp(bytes, "\xff\xfe", 2) == 0 ||
                       memcmp(bytes, "\xfe\xff", 2) == 0)) {
        memcpy(ret_name, "utf-16", 7);
        return CHARSET_OTHER;
    }
    if (is_html && find_meta(bytes, count, ret_name))
        return by_name(ret_name);
    return CHARSET_UNKNOWN;
}

void charset_decode_cp1252(const char *bytes, size_t count, struct nacre_text *out)
{
    char character[4];
    size_t from = 0;

    for (size_t at = 0; at < count; at++) {
        if ((unsigned char)bytes[at] < 0x80)
            continue;
        nacre_text_add(out, bytes + from, at - from);
        nacre_text_add(out, character,
                       html_utf8(html_cp1252((unsigned char)bytes[at]), character));
        from = at + 1;
    }
    nacre_text_add(out, bytes + from, count - from);
}

bool charset_is_utf8(const char *bytes, size_t count, bool is_cut)
{
    size_t length;

    for (; count > 0; bytes += length, count -= length) {
        length = nacre_utf8_length(bytes, count);
        if (length == 0)
            return is_cut && count < 4 && (unsigned char)bytes[0] >= 0xc2;
    }
    return true;
}
