/*
 * Letters of two scripts in one label are how a name is made to look like another.  A
 * label is of one script, or of those that one language writes together.
 */
#include "idna.h"
#include "nacre/own.h"

enum script {
    COMMON, /* digits, hyphens, marks that any script may bear */
    LATIN,
    GREEK,
    CYRILLIC,
    ARMENIAN,
    HEBREW,
    ARABIC,
    DEVANAGARI,
    BENGALI,
    GURMUKHI,
    GUJARATI,
    ORIYA,
    TAMIL,
    TELUGU,
    KANNADA,
    MALAYALAM,
    SINHALA,
    THAI,
    LAO,
    TIBETAN,
    MYANMAR,
    GEORGIAN,
    ETHIOPIC,
    KHMER,
    MONGOLIAN,
    HAN,
    HIRAGANA,
    KATAKANA,
    BOPOMOFO,
    HANGUL,
    UNKNOWN,
};

/* By blocks, in order: coarser than Unicode's own list where IDNA refuses the rest. */
static const struct {
    uint32_t first, last;
    enum script script;
} blocks[] = {
    { '-', '-', COMMON },            { '0', '9', COMMON },
    { '_', '_', COMMON },            { 'a', 'z', LATIN },
    { 0x00b7, 0x00b7, COMMON },      { 0x00df, 0x00f6, LATIN },
    { 0x00f8, 0x024f, LATIN },       { 0x0250, 0x02af, LATIN },
    { 0x0300, 0x036f, COMMON },      { 0x0370, 0x03ff, GREEK },
    { 0x0400, 0x052f, CYRILLIC },    { 0x0530, 0x058f, ARMENIAN },
    { 0x0590, 0x05ff, HEBREW },      { 0x0600, 0x06ff, ARABIC },
    { 0x0750, 0x077f, ARABIC },      { 0x08a0, 0x08ff, ARABIC },
    { 0x0900, 0x097f, DEVANAGARI },  { 0x0980, 0x09ff, BENGALI },
    { 0x0a00, 0x0a7f, GURMUKHI },    { 0x0a80, 0x0aff, GUJARATI },
    { 0x0b00, 0x0b7f, ORIYA },       { 0x0b80, 0x0bff, TAMIL },
    { 0x0c00, 0x0c7f, TELUGU },      { 0x0c80, 0x0cff, KANNADA },
    { 0x0d00, 0x0d7f, MALAYALAM },   { 0x0d80, 0x0dff, SINHALA },
    { 0x0e00, 0x0e7f, THAI },        { 0x0e80, 0x0eff, LAO },
    { 0x0f00, 0x0fff, TIBETAN },     { 0x1000, 0x109f, MYANMAR },
    { 0x10a0, 0x10ff, GEORGIAN },    { 0x1200, 0x139f, ETHIOPIC },
    { 0x1780, 0x17ff, KHMER },       { 0x1800, 0x18af, MONGOLIAN },
    { 0x1e00, 0x1eff, LATIN },       { 0x1f00, 0x1fff, GREEK },
    { 0x200c, 0x200d, COMMON },      { 0x2d00, 0x2d2f, GEORGIAN },
    { 0x2d80, 0x2ddf, ETHIOPIC },    { 0x2de0, 0x2dff, CYRILLIC },
    { 0x3005, 0x3007, HAN },         { 0x3040, 0x309f, HIRAGANA },
    { 0x30a0, 0x30fa, KATAKANA },    { 0x30fb, 0x30fc, COMMON },
    { 0x30fd, 0x30ff, KATAKANA },    { 0x3100, 0x312f, BOPOMOFO },
    { 0x31a0, 0x31bf, BOPOMOFO },    { 0x3400, 0x4dbf, HAN },
    { 0x4e00, 0x9fff, HAN },         { 0xa640, 0xa69f, CYRILLIC },
    { 0xa720, 0xa7ff, LATIN },       { 0xac00, 0xd7a3, HANGUL },
    { 0x20000, 0x3ffff, HAN },
};

/* Japanese, Chinese with its phonetic letters, Korean: each may have Latin too. */
static const uint32_t together[] = {
    1u << LATIN | 1u << HAN | 1u << HIRAGANA | 1u << KATAKANA,
    1u << LATIN | 1u << HAN | 1u << BOPOMOFO,
    1u << LATIN | 1u << HAN | 1u << HANGUL,
};

static enum script script_of(uint32_t point)
{
    for (size_t i = 0; i < NACRE_COUNT(blocks) && blocks[i].first <= point; i++)
        if (point <= blocks[i].last)
            return blocks[i].script;
    return UNKNOWN;
}

uint32_t nacre_idna_point(const char **at)
{
    const unsigned char *bytes = (const unsigned char *)*at;
    unsigned length = bytes[0] < 0x80 ? 1 : bytes[0] < 0xe0 ? 2 : bytes[0] < 0xf0 ? 3 : 4;
    uint32_t point = length == 1 ? bytes[0] : bytes[0] & (0x7fu >> length);

    for (unsigned i = 1; i < length; i++)
        point = point << 6 | (bytes[i] & 0x3fu);
    *at += length;
    return point;
}

const char *nacre_script_fault(const char *label, size_t length)
{
    const char *end = label + length;
    uint32_t seen = 0;

    while (label < end) {
        enum script script = script_of(nacre_idna_point(&label));

        if (script == UNKNOWN)
            return "the name has a character that is no letter of a script known here";
        if (script != COMMON)
            seen |= 1u << script;
    }
    if ((seen & (seen - 1)) == 0)
        return NULL;
    for (size_t i = 0; i < NACRE_COUNT(together); i++)
        if ((seen & ~together[i]) == 0)
            return NULL;
    return "the name mixes letters of several scripts in one label";
}
