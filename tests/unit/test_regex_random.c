/*
 * Patterns and texts that were thrown with dice, judged by PCRE2: the same lines match,
 * and within a line the same bytes.  The dice are the same in every run; a number as the
 * argument throws others.  Each text is searched with literals and DFA, with the DFA
 * alone and with neither.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "regex.h"

#define PATTERNS 6000
#define TEXT_MAX 400
#define LINES_MAX 12

static uint64_t dice_state = 0x9e3779b97f4a7c15U;

static unsigned dice(unsigned sides)
{
    dice_state ^= dice_state << 13;
    dice_state ^= dice_state >> 7;
    dice_state ^= dice_state << 17;
    return (unsigned)(dice_state >> 33) % sides;
}

struct words {
    char text[2048];
    size_t count;
    bool empty_rounds; /* what may match nothing is repeated */
};

static void add(struct words *words, const char *text)
{
    size_t length = strlen(text);

    if (words->count + length < sizeof(words->text)) {
        memcpy(words->text + words->count, text, length + 1);
        words->count += length;
    }
}

#define ONE_OF(words, list) add(words, (list)[dice(sizeof(list) / sizeof((list)[0]))])

/* Both tell whether what they threw may match nothing. */
static bool throw_item(struct words *words, int depth);

static bool throw_alternatives(struct words *words, int depth)
{
    unsigned branches = dice(3) ? 1 : 1 + dice(3);
    bool nullable = false;

    for (unsigned b = 0; b < branches; b++) {
        unsigned items = dice(4) ? 1 + dice(3) : 0;
        bool all = true;

        if (b > 0)
            add(words, "|");
        for (unsigned i = 0; i < items; i++)
            all &= throw_item(words, depth);
        nullable |= all;
    }
    return nullable;
}

static bool throw_item(struct words *words, int depth)
{
    static const char *const atoms[] = {
        "a",
        "b",
        "c",
        "k",
        "s",
        "é",
        "É",
        "ab",
        "abc",
        "K",
        "0",
        "_",
        "-",
        " ",
        ".",
        "\\.",
        "\\d",
        "\\w",
        "\\s",
        "\\W",
        "\\D",
        "\\S",
        "[ab]",
        "[^a]",
        "[a-c0-9]",
        "[^\\w]",
        "[é-ü]",
        "[[:alpha:]]",
        "[[:^digit:]_]",
        "\\x61",
        "\\x{e9}",
        "\\Qa.b\\E",
        "\\p{L}",
        "\\P{L}",
        "\\p{Lu}",
        "[\\d_-]",
        "\\h",
        "\\N",
        "bcab",
        "caé",
    };
    static const char *const asserts[] = { "^", "$", "\\b", "\\B", "\\A", "\\z" };
    static const char *const groups[] = { "(", "(?:", "(?i:", "(?<n>", "(?-i:" };
    static const char *const many[] = { "+", "{2}", "{1,3}", "{2,}", "+?", "{1,2}?", "*",
                                        "?", "{0,2}", "*?", "??" };
    static unsigned names;
    bool nullable = false;

    if (dice(9) == 0) {
        ONE_OF(words, asserts);
        return true;
    }
    if (depth > 0 && dice(4) == 0) {
        const char *group = groups[dice(5)];
        char named[32];

        (void)snprintf(named, sizeof(named), "(?<n%u>", names++);
        add(words, strcmp(group, "(?<n>") == 0 ? named : group);
        nullable = throw_alternatives(words, depth - 1);
        add(words, ")");
    } else {
        ONE_OF(words, atoms);
    }
    if (dice(3) == 0) {
        unsigned index = dice(sizeof(many) / sizeof(many[0]));

        add(words, many[index]);
        words->empty_rounds |= nullable;
        nullable |= index > 5;
    }
    return nullable;
}

static void throw_text(struct words *words)
{
    static const char *const pieces[] = { "a",    "b",      "c",      "k",   "s",
                                          "A",    "B",      "K",      "S",   "é",
                                          "É",    "0",      "7",      "_",   "-",
                                          " ",    ".",      "ü",      "a.b", "abc",
                                          "bcab", "\u212a", "\u017f", "\t",  "caé" };
    unsigned lines = 1 + dice(LINES_MAX);

    words->count = 0;
    for (unsigned l = 0; l < lines; l++) {
        unsigned count = dice(3) ? dice(8) : dice(30);

        for (unsigned i = 0; i < count && words->count < TEXT_MAX; i++)
            ONE_OF(words, pieces);
        if (l + 1 < lines || dice(2))
            add(words, "\n");
    }
}

struct judge {
    bool no_bounds;
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *context;
    size_t start, end;
};

static int asked(struct judge *judge, const char *line, size_t count)
{
    int code = pcre2_match(judge->code, (PCRE2_SPTR)line, count, 0, 0, judge->match,
                           judge->context);

    if (code >= 0) {
        judge->start = pcre2_get_ovector_pointer(judge->match)[0];
        judge->end = pcre2_get_ovector_pointer(judge->match)[1];
    }
    return code;
}

static void check_line(struct judge *judge, struct nacre_regex *regex,
                       const char *pattern, const char *line, size_t count, bool found)
{
    int code = asked(judge, line, count);
    size_t start, end;
    bool bounded;

    if (code < PCRE2_ERROR_NOMATCH) /* it ran out of its limit */
        return;
    if (found != (code >= 0))
        fail_msg("/%s/ on \"%.*s\": PCRE2 says %d, the search %d", pattern, (int)count,
                 line, code >= 0, found);
    /* A backtracking engine leaves a loop after a round of nothing: how far it had come
     * by then is its own affair. */
    if (judge->no_bounds)
        return;
    bounded = nacre_regex_bounds(regex, line, count, &start, &end);
    if (bounded != (code >= 0) ||
        (bounded && (start != judge->start || end != judge->end)))
        fail_msg("/%s/ on \"%.*s\": PCRE2 has %d %zu-%zu, bounds %d %zu-%zu", pattern,
                 (int)count, line, code >= 0, judge->start, judge->end, bounded, start,
                 end);
}

static void check_text(struct judge *judge, struct nacre_regex *regex,
                       const char *pattern, const struct words *text)
{
    struct nacre_regex_line line = { 0 };
    size_t from = 0;
    bool more = nacre_regex_next_line(regex, text->text, text->count, 0, &line);

    while (from < text->count) {
        const char *newline = memchr(text->text + from, '\n', text->count - from);
        size_t end = newline ? (size_t)(newline - text->text) : text->count;
        bool found = more && line.start == from;

        if (found && line.end != end)
            fail_msg("/%s/: a line ends at %zu, not %zu", pattern, line.end, end);
        check_line(judge, regex, pattern, text->text + from, end - from, found);
        from = end + 1;
        if (found)
            more = nacre_regex_next_line(regex, text->text, text->count, from, &line);
    }
    if (more && line.start >= text->count)
        fail_msg("/%s/: a line behind the end", pattern);
}

static bool check_pattern(const struct words *thrown, bool caseless, bool word)
{
    const char *pattern = thrown->text;
    struct nacre_regex_error error;
    struct nacre_regex *regex = nacre_regex_new(
        pattern, strlen(pattern),
        (caseless ? NACRE_REGEX_CASELESS : 0U) | (word ? NACRE_REGEX_WORD : 0U), &error);
    char worded[2100];
    struct judge judge = { .context = pcre2_match_context_create(NULL),
                           .no_bounds = thrown->empty_rounds };
    struct words text;
    int code;
    size_t offset;

    (void)snprintf(worded, sizeof(worded), word ? "(?<!\\w)(?:%s)(?!\\w)" : "%s",
                   pattern);
    judge.code =
        pcre2_compile((PCRE2_SPTR)worded, PCRE2_ZERO_TERMINATED,
                      PCRE2_UTF | (caseless ? PCRE2_CASELESS : 0), &code, &offset, NULL);
    if (!regex || !judge.code) {
        if (judge.code && !strstr(error.text, "too large"))
            fail_msg("/%s/: refused: %s", pattern, error.text);
        nacre_regex_free(regex);
        pcre2_code_free(judge.code);
        pcre2_match_context_free(judge.context);
        return false;
    }
    pcre2_set_match_limit(judge.context, 200000);
    judge.match = pcre2_match_data_create_from_pattern(judge.code, NULL);
    for (int way = 0; way < 3; way++)
        for (int t = 0; t < 3; t++) {
            nacre_regex_disable(regex, way > 0, way > 1);
            throw_text(&text);
            check_text(&judge, regex, pattern, &text);
        }
    pcre2_match_data_free(judge.match);
    pcre2_match_context_free(judge.context);
    pcre2_code_free(judge.code);
    nacre_regex_free(regex);
    return true;
}

static void thrown_patterns_match_as_pcre2_says(void **state)
{
    unsigned compiled = 0;

    (void)state;
    for (int i = 0; i < PATTERNS; i++) {
        struct words pattern = { .count = 0 };

        throw_alternatives(&pattern, 3);
        compiled += check_pattern(&pattern, dice(3) == 0, dice(5) == 0);
    }
    assert_true(compiled > PATTERNS * 9 / 10);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thrown_patterns_match_as_pcre2_says),
    };

    if (argc > 1)
        dice_state ^= strtoull(argv[1], NULL, 10) * 0x2545f4914f6cdd1dU;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
