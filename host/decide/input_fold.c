/* Reads hostile text, byte by byte, and trusts nothing of it: every size is the
 * caller's. */
#include <string.h>

#include "input_scan.h"

/* The character at `bytes` and its length; a byte that begins none is itself. */
static uint32_t character(const unsigned char *bytes, size_t count, size_t *ret_length)
{
    static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
    size_t length = bytes[0] < 0xc2 ? 1 : bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
    uint32_t value = bytes[0] & (0xffU >> (length + 1));

    *ret_length = 1;
    if (length == 1 || bytes[0] > 0xf4 || length > count)
        return bytes[0];
    for (size_t i = 1; i < length; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return bytes[0];
        value = value << 6 | (bytes[i] & 0x3fU);
    }
    if (value < least[length] || value > 0x10ffff)
        return bytes[0];
    *ret_length = length;
    return value;
}

/*
 * Pictures and archives hold every sequence by chance, and nobody reads them.  What
 * stands among bytes of which a tenth are no text is not looked at: a writer who hides
 * behind that has to put garbage around what he wants to be read.
 */
#define BLOCK_BYTES 256
#define AROUND_BYTES 128

/* The block that was judged last. */
struct block {
    size_t number; /* counted from 1; 0: none yet */
    bool is_text;
};

static bool is_in_text(const unsigned char *bytes, size_t count, size_t at,
                       struct block *block)
{
    size_t number = at / BLOCK_BYTES + 1, foreign = 0, length;
    size_t from = (number - 1) * BLOCK_BYTES, to = from + BLOCK_BYTES + AROUND_BYTES;

    if (block->number == number)
        return block->is_text;
    from -= from < AROUND_BYTES ? from : AROUND_BYTES;
    to = to < count ? to : count;
    for (size_t i = from; i < to; i += length) {
        (void)character(bytes + i, to - i, &length);
        foreign += length == 1 && (bytes[i] >= 0x7f || bytes[i] < '\a' ||
                                   (bytes[i] > '\r' && bytes[i] < ' ' &&
                                    bytes[i] != 0x1b));
    }
    *block = (struct block){ number, foreign * 10 <= to - from };
    return block->is_text;
}

static bool is_blank(uint32_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

static bool is_word(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_tag(uint32_t c)
{
    return c >= 0xe0000 && c <= 0xe007f;
}

static bool is_selector(uint32_t c)
{
    return (c >= 0xfe00 && c <= 0xfe0f) || (c >= 0xe0100 && c <= 0xe01ef);
}

/* Never seen; those that some languages and emoji need count only between ASCII
 * letters. */
static bool is_invisible(uint32_t c, bool *ret_needed)
{
    *ret_needed = c == 0x200c || c == 0x200d || c == 0xad || c == 0x200e || c == 0x200f;
    return *ret_needed || c == 0x200b || (c >= 0x2060 && c <= 0x2064) || c == 0xfeff ||
           c == 0x180e || c == 0x115f || c == 0x1160 || c == 0x3164 || c == 0xffa0;
}

static bool is_bidi(uint32_t c)
{
    return (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

/* The ASCII that a character stands for; 0: none. */
static char plain(uint32_t c)
{
    if (c >= 0xff01 && c <= 0xff5e) /* full-width */
        c -= 0xff01 - '!';
    else if (c >= 0x1d400 && c <= 0x1d6a3) /* mathematical letters, by alphabets of 52 */
        c = 'a' + (c - 0x1d400) % 26;
    else if (is_tag(c) && c >= 0xe0020 && c <= 0xe007e)
        c -= 0xe0000;
    else if (c == 0x2018 || c == 0x2019)
        c = '\'';
    else
        return '\0';
    return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

static void note(uint32_t *count, uint32_t weight, size_t *first, size_t at)
{
    if (*count == 0)
        *first = at;
    *count += *count < UINT32_MAX - weight ? weight : 0;
}

/* What stands around a character that is looked at. */
struct around {
    int before;   /* the byte before what is invisible here */
    int after;    /* the byte after it; -1: none */
    bool in_flag; /* tags that follow a black flag spell a region */
    bool in_tags;
};

#define SPLITS_A_WORD 4 /* as much as so many that stand between words */

static void look(struct input_characters *characters, uint32_t c, size_t at,
                 const struct around *around)
{
    bool needed, between;

    if (is_selector(c)) {
        if (characters->selectors_run++ == 0 && characters->selectors_run_max < 4)
            characters->selectors_at = at;
        if (characters->selectors_run > characters->selectors_run_max)
            characters->selectors_run_max = characters->selectors_run;
        return;
    }
    characters->selectors_run = 0;
    if (is_tag(c) && !around->in_flag)
        note(&characters->tags, 1, &characters->tag_at, at);
    if (c == 0x202d || c == 0x202e)
        note(&characters->overrides, 1, &characters->override_at, at);
    between = is_word(around->before) && is_word(around->after);
    if (is_invisible(c, &needed) && (between || !needed) && !(c == 0xfeff && at == 0))
        note(&characters->zero_width, between && c != 0x200e && c != 0x200f
                                          ? SPLITS_A_WORD
                                          : !needed,
             &characters->zero_width_at, at);
}

/* Is it of those that look() counts? */
static bool is_noted(uint32_t c, size_t length)
{
    bool needed;

    return length > 1 && (is_selector(c) || is_tag(c) || is_bidi(c) ||
                          is_invisible(c, &needed));
}

size_t input_fold(const unsigned char *bytes, size_t count, size_t at, char *ret_text,
                  size_t text_max, struct input_characters *characters, size_t *ret_used)
{
    struct around around = { .before = -1 };
    struct block block = { 0 };
    size_t used = 0, size = 0, length;

    for (; used < count && size < text_max; used += length) {
        uint32_t c = bytes[used];
        char same;

        length = 1;
        if (c >= 0x80)
            c = character(bytes + used, count - used, &length);
        if (c < 0x80 && !is_blank(c)) {
            ret_text[size++] = (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
            around.before = (int)c;
            around.in_flag = around.in_tags = false;
            if (characters)
                characters->selectors_run = 0;
            continue;
        }
        around.after = used + length < count ? bytes[used + length] : -1;
        if (characters && is_noted(c, length) && is_in_text(bytes, count, used, &block))
            look(characters, c, at + used, &around);
        else if (characters)
            characters->selectors_run = 0;
        around.in_flag = c == 0x1f3f4 || (around.in_flag && is_tag(c));
        same = length > 1 ? plain(c) : '\0';
        if (is_blank(c) && (c < 0x80 || length > 1)) {
            if (size == 0 || ret_text[size - 1] != ' ')
                ret_text[size++] = ' ';
        } else if (same) {
            /* What tags say is a text of its own. */
            if (is_tag(c) && !around.in_tags && size + 1 < text_max)
                ret_text[size++] = ' ';
            ret_text[size++] = same;
        } else if (!is_noted(c, length)) {
            if (length > text_max - size)
                break;
            memcpy(ret_text + size, bytes + used, length);
            size += length;
            around.before = -1;
        }
        around.in_tags = length > 1 && is_tag(c);
    }
    *ret_used = used;
    return size;
}

/* ---- terminals ---- */

/* Where an introducer ends: ESC and `seven`, or its C1 form in UTF-8; 0: none here. */
static size_t introducer(const unsigned char *bytes, size_t count, unsigned char seven)
{
    if (count >= 2 && bytes[0] == 0x1b && bytes[1] == seven)
        return 2;
    return count >= 2 && bytes[0] == 0xc2 && bytes[1] == seven + 0x40 ? 2 : 0;
}

/* Of CSI: anything but colours, which may not conceal. */
static bool csi_is_plain(const unsigned char *bytes, size_t count)
{
    size_t at = 0;
    unsigned parameter = 0;
    bool concealed = false;

    while (at < count && ((bytes[at] >= '0' && bytes[at] <= '9') || bytes[at] == ';' ||
                          bytes[at] == ':')) {
        if (bytes[at] >= '0' && bytes[at] <= '9') {
            parameter = parameter < 1000 ? parameter * 10 + bytes[at] - '0' : parameter;
        } else {
            concealed |= parameter == 8;
            parameter = 0;
        }
        at++;
    }
    /* 38;5;8 is a colour, and 8 by itself is not: only a lone 8 conceals. */
    if (at < count && bytes[at] == 'm')
        return !(parameter == 8 && at == 1) && !(concealed && bytes[0] == '8');
    return at < count && !((bytes[at] >= '@' && bytes[at] <= '~') || bytes[at] == '?' ||
                           bytes[at] == '>' || bytes[at] == '!');
}

/* Is there one at `bytes` that does more than colour? */
static bool is_control(const unsigned char *bytes, size_t count)
{
    size_t csi = introducer(bytes, count, '[');

    if (csi > 0)
        return csi < count && !csi_is_plain(bytes + csi, count - csi);
    return introducer(bytes, count, ']') || introducer(bytes, count, 'P') ||
           introducer(bytes, count, '_') || introducer(bytes, count, '^') ||
           introducer(bytes, count, 'X') ||
           (count >= 2 && bytes[0] == 0x1b && bytes[1] == 'c'); /* a full reset */
}

/* The next ESC or first byte of a C1 control; NULL: none. */
static const unsigned char *next_control(const unsigned char *bytes, size_t count)
{
    const unsigned char *escape = memchr(bytes, 0x1b, count);
    const unsigned char *second =
        memchr(bytes, 0xc2, escape ? (size_t)(escape - bytes) : count);

    return second ? second : escape;
}

static bool find(const unsigned char *bytes, size_t count,
                 bool (*is_it)(const unsigned char *, size_t), size_t *ret_offset)
{
    const unsigned char *end = bytes + count, *at = bytes;
    struct block block = { 0 };

    while ((at = next_control(at, (size_t)(end - at))) != NULL) {
        if (is_it(at, (size_t)(end - at)) &&
            is_in_text(bytes, count, (size_t)(at - bytes), &block)) {
            *ret_offset = (size_t)(at - bytes);
            return true;
        }
        at++;
    }
    return false;
}

bool input_find_control(const unsigned char *bytes, size_t count, size_t *ret_offset)
{
    return find(bytes, count, is_control, ret_offset);
}

static bool is_clipboard(const unsigned char *bytes, size_t count)
{
    size_t osc = introducer(bytes, count, ']');

    return osc > 0 && count - osc >= 3 && memcmp(bytes + osc, "52;", 3) == 0;
}

bool input_find_clipboard(const unsigned char *bytes, size_t count, size_t *ret_offset)
{
    return find(bytes, count, is_clipboard, ret_offset);
}

/* ---- base64 ---- */

#define LINE_MIN 60 /* a shorter line is the last one of its run */

static int digit(unsigned char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' || c == '-' ? 62 : c == '/' || c == '_' ? 63 : -1;
}

/* Nine of ten bytes can be read. */
static bool is_text(const unsigned char *bytes, size_t count)
{
    size_t readable = 0;

    for (size_t i = 0; i < count; i++)
        readable += bytes[i] >= 0x20 || (bytes[i] >= '\t' && bytes[i] <= '\r');
    for (size_t i = 0; i < count; i++)
        readable -= bytes[i] == 0x7f || (bytes[i] >= 0x80 && bytes[i] < 0xa0);
    return count > 0 && readable * 10 >= count * 9;
}

size_t input_base64(const unsigned char *bytes, size_t count, unsigned char *ret_text,
                    size_t size, size_t *ret_length)
{
    size_t at = 0, line = 0, digits = 0, length = 0;
    uint32_t group = 0;

    for (; at < count; at++) {
        int value = digit(bytes[at]);

        if (value < 0) {
            size_t skip = bytes[at] == '\r' && at + 1 < count ? 1 : 0;

            if (line < LINE_MIN || bytes[at + skip] != '\n' || at + skip + 1 >= count ||
                digit(bytes[at + skip + 1]) < 0)
                break;
            at += skip;
            line = 0;
            continue;
        }
        line++;
        group = group << 6 | (uint32_t)value;
        if (++digits % 4 == 1)
            continue;
        if (length == size)
            break;
        ret_text[length++] = (unsigned char)(group >> (6 - 2 * ((digits - 1) % 4)));
    }
    *ret_length = digits >= INPUT_BASE64_MIN && is_text(ret_text, length) ? length : 0;
    return at;
}
