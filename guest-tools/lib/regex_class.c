/*
 * Escapes and bracketed classes.  The pattern is a model's or a person's: every read is
 * checked against its end.
 */
#include <string.h>

#include "regex_internal.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static size_t here(const struct rx_parser *parser)
{
    return (size_t)(parser->at - parser->begin);
}

bool rx_code_point(struct rx_parser *parser, uint32_t *ret_point)
{
    size_t length =
        unicode_decode(parser->at, (size_t)(parser->end - parser->at), ret_point);

    if (length == 0)
        return rx_fault(parser->error, here(parser), "the pattern is not UTF-8");
    parser->at += length;
    return true;
}

/* ---- named sets ---- */

static const struct {
    const char *name;
    const char *ranges; /* pairs */
} posix_sets[] = {
    { "alpha", "AZaz" },
    { "digit", "09" },
    { "alnum", "09AZaz" },
    { "upper", "AZ" },
    { "lower", "az" },
    { "space", "\t\r  " },
    { "blank", "\t\t  " },
    { "punct", "!/:@[`{~" },
    { "print", " ~" },
    { "graph", "!~" },
    { "cntrl", "\001\037\177\177" },
    { "xdigit", "09AFaf" },
    { "word", "09AZ__az" },
    { "ascii", "\001\177" },
};

static void add_pairs(struct unicode_set *set, const char *pairs)
{
    for (; pairs[0] != '\0'; pairs += 2)
        unicode_set_add(set, (uint8_t)pairs[0], (uint8_t)pairs[1]);
}

static bool posix_add(struct unicode_set *set, const char *name, size_t count)
{
    for (size_t i = 0; i < COUNT(posix_sets); i++)
        if (strlen(posix_sets[i].name) == count &&
            memcmp(posix_sets[i].name, name, count) == 0) {
            add_pairs(set, posix_sets[i].ranges);
            if (strcmp(posix_sets[i].name, "cntrl") == 0 ||
                strcmp(posix_sets[i].name, "ascii") == 0)
                unicode_set_add(set, 0, 0);
            return true;
        }
    return false;
}

static void add_all(struct unicode_set *to, const struct unicode_set *from)
{
    to->no_memory |= from->no_memory;
    for (size_t i = 0; i < from->count; i++)
        unicode_set_add(to, from->ranges[i].low, from->ranges[i].high);
}

/* \d \w \s \h \v \N and their opposites; false: it is none. */
static bool shorthand(char letter, struct unicode_set *set)
{
    struct unicode_set own = { 0 };
    bool negated = letter >= 'A' && letter <= 'Z' && letter != 'N';

    switch (letter) {
    case 'd': case 'D':
        add_pairs(&own, "09");
        break;
    case 'w': case 'W':
        add_pairs(&own, "09AZ__az");
        break;
    case 's': case 'S':
        add_pairs(&own, "\t\r  ");
        break;
    case 'h': case 'H':
        add_pairs(&own, "\t\t  ");
        unicode_set_add_category(&own, "Zs", 2);
        unicode_set_add(&own, 0x180e, 0x180e);
        break;
    case 'v': case 'V':
        add_pairs(&own, "\n\r");
        unicode_set_add(&own, 0x85, 0x85);
        unicode_set_add(&own, 0x2028, 0x2029);
        break;
    case 'N':
        unicode_set_add(&own, '\n', '\n');
        negated = true;
        break;
    default:
        return false;
    }
    if (negated)
        unicode_set_negate(&own);
    add_all(set, &own);
    unicode_set_clear(&own);
    return true;
}

/* Behind \p or \P. */
static bool property(struct rx_parser *parser, bool negated, struct unicode_set *set)
{
    size_t start = here(parser);
    struct unicode_set own = { 0 };
    const char *name = parser->at, *close;
    size_t count = 1;

    if (parser->at < parser->end && *parser->at == '{') {
        name++;
        close = memchr(name, '}', (size_t)(parser->end - name));
        if (!close)
            return rx_fault(parser->error, start, "\\p{ has no }");
        if (name < close && *name == '^') {
            negated = !negated;
            name++;
        }
        count = (size_t)(close - name);
        parser->at = close + 1;
    } else if (parser->at < parser->end) {
        parser->at++;
    } else {
        return rx_fault(parser->error, start, "\\p wants a property: \\p{L}");
    }
    if (!unicode_set_add_category(&own, name, count))
        return rx_fault(
            parser->error, start,
            "\\p{%.*s}: only general categories are known (L, Lu, Ll, Lt, Lm, "
            "Lo, L&, M, N, Nd, P, S, Z, C, Any, ...)",
            (int)(count < 20 ? count : 20), name);
    if (negated)
        unicode_set_negate(&own);
    add_all(set, &own);
    unicode_set_clear(&own);
    return true;
}

/* ---- numbers ---- */

static int digit_of(char letter)
{
    return letter >= '0' && letter <= '9'   ? letter - '0'
           : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
           : letter >= 'A' && letter <= 'F' ? letter - 'A' + 10
                                            : 99;
}

static uint32_t digits(struct rx_parser *parser, int base, int count_max)
{
    uint32_t value = 0;

    while (count_max-- > 0 && parser->at < parser->end && digit_of(*parser->at) < base) {
        value = value * (uint32_t)base + (uint32_t)digit_of(*parser->at++);
        if (value > UNICODE_MAX)
            value = UNICODE_MAX + 1;
    }
    return value;
}

/* \xHH, \x{..}, \o{..}; `at` is behind the letter. */
static bool number(struct rx_parser *parser, char letter, uint32_t *ret_point)
{
    size_t start = here(parser);
    int base = letter == 'o' ? 8 : 16;

    if (parser->at < parser->end && *parser->at == '{') {
        const char *first = ++parser->at;

        *ret_point = digits(parser, base, 1000);
        if (parser->at == first || parser->at == parser->end || *parser->at != '}')
            return rx_fault(parser->error, start, "\\%c{ wants digits and a }", letter);
        parser->at++;
    } else if (letter == 'o') {
        return rx_fault(parser->error, start, "\\o wants digits in braces: \\o{101}");
    } else {
        *ret_point = digits(parser, base, 2);
    }
    if (*ret_point > UNICODE_MAX || (*ret_point >= 0xd800 && *ret_point < 0xe000))
        return rx_fault(parser->error, start, "that is no code point of Unicode");
    return true;
}

/* ---- escapes ---- */

/* Case is only of what was written out: \w and the like stay as they are. */
static void add_cased(const struct rx_parser *parser, struct unicode_set *set,
                      uint32_t low, uint32_t high)
{
    struct unicode_set own = { 0 };

    unicode_set_add(&own, low, high);
    if (parser->caseless)
        unicode_set_fold(&own);
    add_all(set, &own);
    unicode_set_clear(&own);
}

/* One code point's escapes; *ret_known false: none of them. */
static bool single(struct rx_parser *parser, char letter, bool in_class,
                   uint32_t *ret_point, bool *ret_known)
{
    static const char letters[] = "aefnrt", values[] = "\a\033\f\n\r\t";
    const char *simple = strchr(letters, letter);

    *ret_known = true;
    if (letter == '\0')
        *ret_known = false;
    else if (simple)
        *ret_point = (uint8_t)values[simple - letters];
    else if (letter == 'b' && in_class)
        *ret_point = '\b';
    else if (letter == 'x' || letter == 'o')
        return number(parser, letter, ret_point);
    else if (letter == '0' || (in_class && letter >= '1' && letter <= '7')) {
        parser->at--;
        *ret_point = digits(parser, 8, 3);
    } else if (letter == 'c' && parser->at < parser->end && *parser->at > ' ' &&
               *parser->at < 0x7f) {
        char up = *parser->at++;

        *ret_point = (uint8_t)((up >= 'a' && up <= 'z' ? up - 32 : up) ^ 64);
    } else if (!((letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') ||
                 (letter >= 'a' && letter <= 'z')) &&
               (uint8_t)letter < 0x80) {
        *ret_point = (uint8_t)letter;
    } else {
        *ret_known = false;
    }
    return true;
}

bool rx_escape(struct rx_parser *parser, bool in_class, struct unicode_set *set,
               bool *ret_known)
{
    const char *begun = parser->at;
    uint32_t point = 0;
    char letter;

    *ret_known = true;
    if (parser->at == parser->end)
        return rx_fault(parser->error, here(parser), "the pattern ends in a backslash");
    letter = *parser->at++;
    if (letter == 'p' || letter == 'P')
        return property(parser, letter == 'P', set);
    if (shorthand(letter, set))
        return true;
    if (!single(parser, letter, in_class, &point, ret_known))
        return false;
    if (*ret_known && in_class)
        unicode_set_add(set, point, point);
    else if (*ret_known)
        add_cased(parser, set, point, point);
    else
        parser->at = begun;
    return true;
}

/* ---- [...] ---- */

/* [:name:] in a class; *ret_found false: it is none, and nothing was read. */
static bool posix(struct rx_parser *parser, struct unicode_set *set, bool *ret_found)
{
    const char *name = parser->at + 2, *at = name;
    struct unicode_set own = { 0 };
    bool negated;

    *ret_found = false;
    if (parser->end - parser->at < 4 || parser->at[0] != '[' ||
        !strchr(":.=", parser->at[1]))
        return true;
    negated = *name == '^';
    name += negated;
    at = name;
    while (at < parser->end && *at >= 'a' && *at <= 'z')
        at++;
    if (parser->end - at < 2 || at[0] != parser->at[1] || at[1] != ']')
        return true;
    /* Upper or lower, where case does not count, is any letter. */
    if (parser->caseless && at - name == 5 &&
        (memcmp(name, "upper", 5) == 0 || memcmp(name, "lower", 5) == 0))
        add_pairs(&own, "AZaz");
    else if (parser->at[1] != ':' || !posix_add(&own, name, (size_t)(at - name))) {
        unicode_set_clear(&own);
        return rx_fault(parser->error, here(parser),
                        "there is no such class: [:alpha:], [:digit:], [:alnum:], "
                        "[:space:], [:punct:], [:upper:], ... are known");
    }
    if (negated)
        unicode_set_negate(&own);
    add_all(set, &own);
    unicode_set_clear(&own);
    parser->at = at + 2;
    *ret_found = true;
    return true;
}

/* One item: a code point in *ret_point, or a whole set (then *ret_is_set). */
static bool item(struct rx_parser *parser, struct unicode_set *set, uint32_t *ret_point,
                 bool *ret_is_set)
{
    size_t start = here(parser);
    struct unicode_set one = { 0 };
    uint32_t letter = (uint8_t)*parser->at;
    bool known;

    *ret_is_set = false;
    if (*parser->at == '[') {
        if (!posix(parser, set, ret_is_set))
            return false;
        if (*ret_is_set)
            return true;
    }
    if (*parser->at != '\\' || parser->quoted)
        return rx_code_point(parser, ret_point);
    parser->at++;
    if (parser->at < parser->end)
        letter = (uint8_t)*parser->at;
    if (strchr("dDwWsShHvVNpP", (int)letter) && letter != 0) {
        *ret_is_set = true;
        return rx_escape(parser, true, set, &known);
    }
    if (!rx_escape(parser, true, &one, &known)) {
        unicode_set_clear(&one);
        return false;
    }
    *ret_point = known && one.count > 0 ? one.ranges[0].low : 0;
    set->no_memory |= one.no_memory;
    unicode_set_clear(&one);
    if (!known)
        return rx_fault(parser->error, start, "\\%c has no meaning in a class",
                        (int)(letter > ' ' && letter < 0x7f ? letter : '?'));
    return true;
}

/* \Q and \E are no items. */
static void quotes(struct rx_parser *parser)
{
    while (parser->end - parser->at >= 2 && parser->at[0] == '\\' &&
           (parser->at[1] == 'E' || (parser->at[1] == 'Q' && !parser->quoted))) {
        parser->quoted = parser->at[1] == 'Q';
        parser->at += 2;
    }
}

static bool is_range(struct rx_parser *parser)
{
    return !parser->quoted && parser->end - parser->at >= 2 && parser->at[0] == '-' &&
           parser->at[1] != ']';
}

static bool class_items(struct rx_parser *parser, size_t start, struct unicode_set *set)
{
    for (bool first = true;; first = false) {
        uint32_t low = 0, high = 0;
        bool is_set;

        quotes(parser);
        if (parser->at == parser->end)
            return rx_fault(parser->error, start, "the class has no ]");
        if (*parser->at == ']' && !first && !parser->quoted) {
            parser->at++;
            return true;
        }
        if (!item(parser, set, &low, &is_set))
            return false;
        if (is_set)
            continue;
        high = low;
        quotes(parser);
        if (is_range(parser)) {
            size_t place = here(parser);

            parser->at++;
            quotes(parser);
            if (parser->at == parser->end)
                return rx_fault(parser->error, start, "the class has no ]");
            if (!item(parser, set, &high, &is_set))
                return false;
            if (is_set || high < low)
                return rx_fault(parser->error, place,
                                is_set ? "a range ends in a class; put the - last"
                                       : "a range goes backwards");
        }
        add_cased(parser, set, low, high);
    }
}

bool rx_class(struct rx_parser *parser, struct unicode_set *set)
{
    size_t start = here(parser) - 1;
    bool negated = parser->at < parser->end && *parser->at == '^';

    parser->at += negated;
    if (!class_items(parser, start, set))
        return false;
    if (negated)
        unicode_set_negate(set);
    return true;
}
