/*
 * From a pattern to a tree.  The pattern is not trusted: its length, the depth of its
 * groups and its repeats are bounded, and what the engine can't do linearly is refused
 * with what to write instead.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "regex_internal.h"

#define BLOCK_BYTES 16384

struct rx_block {
    struct rx_block *older;
    max_align_t bytes[];
};

void *rx_alloc(struct rx_arena *arena, size_t bytes)
{
    void *place;

    bytes = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (!arena->blocks || arena->room - arena->used < bytes) {
        size_t room = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
        struct rx_block *block = calloc(1, sizeof(*block) + room);

        if (!block)
            return NULL;
        block->older = arena->blocks;
        arena->blocks = block;
        arena->room = room;
        arena->used = 0;
    }
    place = (char *)arena->blocks->bytes + arena->used;
    arena->used += bytes;
    return place;
}

void rx_arena_clear(struct rx_arena *arena)
{
    while (arena->blocks) {
        struct rx_block *older = arena->blocks->older;

        free(arena->blocks);
        arena->blocks = older;
    }
}

bool rx_fault(struct nacre_regex_error *ret_error, size_t offset, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    (void)vsnprintf(ret_error->text, sizeof(ret_error->text), format, list);
    va_end(list);
    ret_error->offset = offset;
    return false;
}

struct rx_node *rx_node_new(struct rx_arena *arena, enum rx_kind kind)
{
    struct rx_node *node = rx_alloc(arena, sizeof(*node));

    if (node)
        node->kind = kind;
    return node;
}

void rx_node_add(struct rx_node *parent, struct rx_node *child)
{
    child->before = parent->last;
    if (parent->last)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
}

static size_t here(const struct rx_parser *parser)
{
    return (size_t)(parser->at - parser->begin);
}

static bool fault(struct rx_parser *parser, const char *text)
{
    return rx_fault(parser->error, here(parser), "%s", text);
}

static bool starts(const struct rx_parser *parser, const char *text)
{
    size_t length = strlen(text);

    return (size_t)(parser->end - parser->at) >= length &&
           memcmp(parser->at, text, length) == 0;
}

static bool node(struct rx_parser *parser, enum rx_kind kind, struct rx_node **ret_node)
{
    *ret_node = rx_node_new(parser->arena, kind);
    return *ret_node ? true : fault(parser, "out of memory");
}

/* ---- sets ---- */

/* A class goes without newlines: a match is part of one line. */
static bool set_node(struct rx_parser *parser, size_t start, struct unicode_set *set,
                     struct rx_node **ret_node)
{
    bool was_newline = set->count == 1 && set->ranges[0].low == '\n' &&
                       set->ranges[0].high == '\n';
    struct unicode_range *ranges;
    bool done;

    if (was_newline)
        return rx_fault(parser->error, start,
                        "lines are matched one by one, no match holds a newline: search "
                        "for one of the lines");
    unicode_set_remove(set, '\n');
    ranges = rx_alloc(parser->arena, (set->count + 1) * sizeof(*ranges));
    done = !set->no_memory && ranges && node(parser, RX_SET, ret_node);
    if (!done)
        return fault(parser, "out of memory");
    if (set->count > 0)
        memcpy(ranges, set->ranges, set->count * sizeof(*ranges));
    (*ret_node)->set.ranges = ranges;
    (*ret_node)->set.count = set->count;
    return true;
}

static bool point_node(struct rx_parser *parser, size_t start, uint32_t point,
                       struct rx_node **ret_node)
{
    struct unicode_set set = { 0 };
    bool done;

    unicode_set_add(&set, point, point);
    if (parser->caseless && !set.no_memory)
        unicode_set_fold(&set);
    done = set_node(parser, start, &set, ret_node);
    unicode_set_clear(&set);
    return done;
}

/* ---- groups ---- */

static bool parse_alternatives(struct rx_parser *parser, struct rx_node **ret_node);

static const struct {
    const char *opening, *what;
} refused_groups[] = {
    { "?=", "lookahead is not supported (it is not linear): match what follows, too, or "
            "grep the result" },
    { "?!", "negative lookahead is not supported (it is not linear): search without it "
            "and leave lines out of the result" },
    { "?<=",
      "lookbehind is not supported (it is not linear): match what is before, too" },
    { "?<!",
      "negative lookbehind is not supported (it is not linear): search without it, "
      "or use \\b" },
    { "?>", "atomic groups are not supported: write (?:...), nothing backtracks here" },
    { "?|", "branch reset groups are not supported: write (?:...)" },
    { "?(", "conditional groups are not supported: write an alternation" },
    { "?R", "recursion is not supported: patterns are regular" },
    { "?&", "subroutine calls are not supported: repeat the group's text" },
    { "?P>", "subroutine calls are not supported: repeat the group's text" },
    { "?P=",
      "backreferences are not supported (they are not linear): write the text out, "
      "or search for one side" },
    { "*", "verbs such as (*SKIP) are not supported: nothing backtracks here" },
};

/* (?ims-x); `at` is behind the "?".  True at ")" or ":". */
static bool group_options(struct rx_parser *parser)
{
    for (bool on = true; parser->at < parser->end; parser->at++) {
        switch (*parser->at) {
        case '-':
            on = false;
            break;
        case 'i':
            parser->caseless = on;
            break;
        case 'x':
            parser->extended = on;
            break;
        case 's': /* a match is one line: these change nothing */
        case 'm':
        case 'u':
            break;
        case ')':
        case ':':
            return true;
        default:
            return fault(parser, "an unknown kind of group: (?:...), (?i), (?i:...) and "
                                 "(?<name>...) are known");
        }
    }
    return fault(parser, "a group has no )");
}

static bool group_name(struct rx_parser *parser)
{
    char close = *parser->at == '\'' ? '\'' : '>';
    const char *end;

    parser->at++;
    end = memchr(parser->at, close, (size_t)(parser->end - parser->at));
    if (!end || end == parser->at)
        return fault(parser, "a group's name does not end");
    parser->at = end + 1;
    return true;
}

/* What is behind a "(": *ret_empty when it is no group but options or a comment. */
static bool group_opening(struct rx_parser *parser, bool *ret_empty)
{
    *ret_empty = false;
    for (size_t i = 0; i < sizeof(refused_groups) / sizeof(refused_groups[0]); i++)
        if (starts(parser, refused_groups[i].opening))
            return fault(parser, refused_groups[i].what);
    if (!starts(parser, "?"))
        return true;
    parser->at++;
    if (starts(parser, "#")) {
        const char *close = memchr(parser->at, ')', (size_t)(parser->end - parser->at));

        if (!close)
            return fault(parser, "a comment has no )");
        parser->at = close + 1;
        *ret_empty = true;
        return true;
    }
    if (starts(parser, "P<"))
        parser->at++;
    if (starts(parser, "<") || starts(parser, "'"))
        return group_name(parser);
    if (parser->at < parser->end && *parser->at >= '0' && *parser->at <= '9')
        return fault(parser,
                     "subroutine calls are not supported: repeat the group's text");
    if (!group_options(parser))
        return false;
    *ret_empty = *parser->at == ')';
    parser->at++;
    return true;
}

static bool parse_group(struct rx_parser *parser, struct rx_node **ret_node)
{
    size_t start = here(parser);
    bool caseless = parser->caseless, extended = parser->extended, empty;

    parser->at++;
    if (++parser->depth > NACRE_REGEX_DEPTH_MAX)
        return rx_fault(parser->error, start, "groups are nested deeper than %d",
                        NACRE_REGEX_DEPTH_MAX);
    if (!group_opening(parser, &empty))
        return false;
    parser->depth -= empty;
    if (empty)
        return node(parser, RX_EMPTY, ret_node);
    if (!parse_alternatives(parser, ret_node))
        return false;
    if (parser->at == parser->end)
        return rx_fault(parser->error, start, "this ( has no )");
    parser->at++;
    parser->depth--;
    parser->caseless = caseless;
    parser->extended = extended;
    return true;
}

/* ---- one item ---- */

static bool assert_node(struct rx_parser *parser, enum rx_assert kind,
                        struct rx_node **ret_node)
{
    if (!node(parser, RX_ASSERT, ret_node))
        return false;
    (*ret_node)->assert_kind = kind;
    return true;
}

static bool refuse_escape(struct rx_parser *parser, size_t start)
{
    char letter = *parser->at;

    if ((letter >= '1' && letter <= '9') || letter == 'k' || letter == 'g')
        return rx_fault(
            parser->error, start,
            "backreferences are not supported (they are not linear): write the "
            "text out, or search for one side");
    if (letter > ' ' && letter < 0x7f)
        return rx_fault(parser->error, start,
                        "\\%c is not supported; \\Q...\\E or fixed text takes letters as "
                        "they are", letter);
    return rx_fault(parser->error, start, "a backslash before what needs none");
}

static bool parse_escape(struct rx_parser *parser, struct rx_node **ret_node)
{
    static const struct {
        char letter;
        enum rx_assert kind;
    } asserts[] = {
        { 'b', RX_WORD_EDGE }, { 'B', RX_NO_WORD_EDGE }, { 'A', RX_LINE_START },
        { 'z', RX_LINE_END }, { 'Z', RX_LINE_END },
    };
    size_t start = here(parser);
    struct unicode_set set = { 0 };
    bool known, done;

    parser->at++;
    for (size_t i = 0; i < sizeof(asserts) / sizeof(asserts[0]); i++)
        if (parser->at < parser->end && *parser->at == asserts[i].letter) {
            parser->at++;
            return assert_node(parser, asserts[i].kind, ret_node);
        }
    done = rx_escape(parser, false, &set, &known);
    if (done && !known)
        done = refuse_escape(parser, start);
    done = done && set_node(parser, start, &set, ret_node);
    unicode_set_clear(&set);
    return done;
}

static bool parse_set(struct rx_parser *parser, struct rx_node **ret_node)
{
    size_t start = here(parser);
    struct unicode_set set = { 0 };
    bool done = true;

    if (*parser->at++ == '.')
        unicode_set_negate(&set);
    else
        done = rx_class(parser, &set);
    done = done && set_node(parser, start, &set, ret_node);
    unicode_set_clear(&set);
    return done;
}

static bool parse_item(struct rx_parser *parser, struct rx_node **ret_node)
{
    size_t start = here(parser);
    uint32_t point;

    if (!parser->quoted) {
        switch (*parser->at) {
        case '(':
            return parse_group(parser, ret_node);
        case '[':
        case '.':
            return parse_set(parser, ret_node);
        case '\\':
            return parse_escape(parser, ret_node);
        case '^':
            parser->at++;
            return assert_node(parser, RX_LINE_START, ret_node);
        case '$':
            parser->at++;
            return assert_node(parser, RX_LINE_END, ret_node);
        case '*':
        case '+':
        case '?':
            return fault(parser,
                         "nothing is before this quantifier; write \\ before it to "
                         "mean the character");
        default:
            break;
        }
    }
    return rx_code_point(parser, &point) && point_node(parser, start, point, ret_node);
}

/* ---- quantifiers ---- */

static bool digits(const char **at, const char *end, uint32_t *ret_value)
{
    const char *begun = *at;

    for (*ret_value = 0; *at < end && **at >= '0' && **at <= '9'; (*at)++)
        if (*ret_value <= NACRE_REGEX_REPEAT_MAX)
            *ret_value = *ret_value * 10 + (uint32_t)(**at - '0');
    return *at > begun;
}

/* {m}, {m,}, {m,n}; anything else in braces is text. */
static bool braces(const struct rx_parser *parser, uint32_t *ret_min, uint32_t *ret_max,
                   const char **ret_behind)
{
    const char *at = parser->at + 1;

    if (!digits(&at, parser->end, ret_min))
        return false;
    *ret_max = *ret_min;
    if (at < parser->end && *at == ',') {
        at++;
        if (!digits(&at, parser->end, ret_max))
            *ret_max = RX_UNBOUNDED;
    }
    *ret_behind = at + 1;
    return at < parser->end && *at == '}';
}

static bool read_quantifier(struct rx_parser *parser, uint32_t *ret_min,
                            uint32_t *ret_max, bool *ret_is)
{
    const char *behind = parser->at + 1;
    size_t start = here(parser);

    *ret_is = true;
    *ret_min = 0;
    *ret_max = RX_UNBOUNDED;
    if (parser->at == parser->end || parser->quoted)
        *ret_is = false;
    else if (*parser->at == '+')
        *ret_min = 1;
    else if (*parser->at == '?')
        *ret_max = 1;
    else if (*parser->at == '{')
        *ret_is = braces(parser, ret_min, ret_max, &behind);
    else
        *ret_is = *parser->at == '*';
    if (!*ret_is)
        return true;
    if (*ret_min > NACRE_REGEX_REPEAT_MAX ||
        (*ret_max != RX_UNBOUNDED && *ret_max > NACRE_REGEX_REPEAT_MAX))
        return rx_fault(parser->error, start, "repeats more than %d times; use + or *",
                        NACRE_REGEX_REPEAT_MAX);
    if (*ret_max < *ret_min)
        return fault(parser, "the numbers of this quantifier are out of order");
    parser->at = behind;
    return true;
}

static void skip_quotes(struct rx_parser *parser)
{
    while (starts(parser, "\\E") || (!parser->quoted && starts(parser, "\\Q"))) {
        parser->quoted = parser->at[1] == 'Q';
        parser->at += 2;
    }
}

/* (?x): blanks and comments are none of the pattern. */
static void skip_blanks(struct rx_parser *parser)
{
    skip_quotes(parser);
    while (parser->extended && !parser->quoted && parser->at < parser->end) {
        if (*parser->at == '#')
            while (parser->at < parser->end && *parser->at != '\n')
                parser->at++;
        else if (!strchr(" \t\n\v\f\r", *parser->at))
            return;
        else
            parser->at++;
        skip_quotes(parser);
    }
}

static bool parse_repeated(struct rx_parser *parser, struct rx_node **ret_node)
{
    struct rx_node *item;
    uint32_t min, max;
    size_t again;
    bool is;

    if (!parse_item(parser, &item))
        return false;
    skip_blanks(parser);
    if (!read_quantifier(parser, &min, &max, &is))
        return false;
    *ret_node = item;
    if (!is)
        return true;
    if (starts(parser, "+"))
        return fault(parser, "possessive quantifiers are not supported: leave the + out, "
                             "nothing backtracks here");
    if (!node(parser, RX_REPEAT, ret_node))
        return false;
    (*ret_node)->min = min;
    (*ret_node)->max = max;
    (*ret_node)->lazy = starts(parser, "?");
    parser->at += (*ret_node)->lazy;
    rx_node_add(*ret_node, item);
    skip_blanks(parser);
    again = here(parser);
    if (!read_quantifier(parser, &min, &max, &is))
        return false;
    return is ? rx_fault(parser->error, again,
                         "a quantifier behind a quantifier: use a group")
              : true;
}

static bool parse_sequence(struct rx_parser *parser, struct rx_node **ret_node)
{
    struct rx_node *item;

    if (!node(parser, RX_CAT, ret_node))
        return false;
    for (;;) {
        skip_blanks(parser);
        if (parser->at == parser->end ||
            (!parser->quoted && (*parser->at == '|' || *parser->at == ')')))
            return true;
        if (!parse_repeated(parser, &item))
            return false;
        rx_node_add(*ret_node, item);
    }
}

static bool parse_alternatives(struct rx_parser *parser, struct rx_node **ret_node)
{
    struct rx_node *branch, *all;

    if (!parse_sequence(parser, &branch))
        return false;
    *ret_node = branch;
    if (!starts(parser, "|"))
        return true;
    if (!node(parser, RX_ALT, &all))
        return false;
    rx_node_add(all, branch);
    while (starts(parser, "|")) {
        parser->at++;
        if (!parse_sequence(parser, &branch))
            return false;
        rx_node_add(all, branch);
    }
    *ret_node = all;
    return true;
}

/* ---- the whole ---- */

static struct rx_node *as_word(struct rx_parser *parser, struct rx_node *tree)
{
    struct rx_node *all, *before, *behind;

    if (!node(parser, RX_CAT, &all) || !assert_node(parser, RX_NO_WORD_BEFORE, &before) ||
        !assert_node(parser, RX_NO_WORD_BEHIND, &behind))
        return NULL;
    rx_node_add(all, before);
    rx_node_add(all, tree);
    rx_node_add(all, behind);
    return all;
}

struct rx_node *rx_parse(struct rx_arena *arena, const char *pattern, size_t count,
                         unsigned flags, struct nacre_regex_error *ret_error)
{
    struct rx_parser parser = {
        .arena = arena,
        .begin = pattern,
        .at = pattern,
        .end = pattern + count,
        .error = ret_error,
        .caseless = flags & NACRE_REGEX_CASELESS,
    };
    struct rx_node *tree;

    if (count > NACRE_REGEX_PATTERN_MAX) {
        rx_fault(ret_error, 0, "the pattern has more than %d bytes",
                 NACRE_REGEX_PATTERN_MAX);
        return NULL;
    }
    if (flags & NACRE_REGEX_LITERAL) {
        struct rx_node *item;

        parser.quoted = true;
        if (!node(&parser, RX_CAT, &tree))
            return NULL;
        while (parser.at < parser.end) {
            if (!parse_item(&parser, &item))
                return NULL;
            rx_node_add(tree, item);
        }
    } else if (!parse_alternatives(&parser, &tree)) {
        return NULL;
    } else if (parser.at < parser.end) {
        fault(&parser, "this ) closes nothing; write \\) to mean the character");
        return NULL;
    }
    return flags & NACRE_REGEX_WORD ? as_word(&parser, tree) : tree;
}
