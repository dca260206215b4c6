/*
 * Finds and replaces.  The text is anybody's: a guest may know the secret and the table,
 * and write whatever helps it to get a value past both.  So findings may overlap, and
 * what any of them covers is left out: a match that swallows the beginning of a value
 * does not free its rest.
 */
#include "leak_scan.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/*
 * A value that repeats itself, and a text that repeats its beginning, would have each
 * place read far: 16 s for a MiB were measured.  So long beginnings are counted, over the
 * whole stream, and when there were too many each further one is itself a finding.
 */
#define BEGINNING_UNITS 64
#define EFFORT_MAX ((uint64_t)8 << 20)
#define EFFORT_PER_BYTE 8

/* What begins at one place. */
struct verdict {
    enum nacre_leak_class class;
    size_t length; /* of what is to be left out */
    const char *name;
    uint64_t warned;
    const char *warned_name;
    bool is_open; /* not known before there is more of the text */
    bool is_key;
    bool is_tired; /* places within it are not looked at any more */
};

static void count_open(struct leak_scan *scan)
{
    switch (scan->open) {
    case NACRE_LEAK_VALUE:
        scan->counts.values++;
        break;
    case NACRE_LEAK_BLOCK:
        scan->counts.blocked++;
        break;
    case NACRE_LEAK_REDACT:
        scan->counts.redacted++;
        break;
    case NACRE_LEAK_WARN:
    case NACRE_LEAK_NONE:
        break;
    }
    scan->open = NACRE_LEAK_NONE;
}

static uint64_t count_lines(const unsigned char *text, size_t count)
{
    const unsigned char *at = text, *end = text + count;
    uint64_t lines = 0;

    while (at < end && (at = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        lines++;
        at++;
    }
    return lines;
}

static void note(struct leak_scan *scan, const unsigned char *text, size_t at,
                 enum nacre_leak_class class, const char *name)
{
    if (!scan->counts.first[0])
        (void)snprintf(scan->counts.first, sizeof(scan->counts.first), "%s", name);
    if (scan->found)
        scan->found(scan->found_data, name, class,
                    scan->gone_lines + count_lines(text, at) + 1, scan->gone_bytes + at);
}

static void worsen(struct leak_scan *scan, enum nacre_leak_class class)
{
    if (class > scan->worst)
        scan->worst = class;
}

/* Gives out what is clean up to `end`. */
static void flush(struct leak_scan *scan, const unsigned char *text, size_t end)
{
    if (scan->done >= end)
        return;
    if (scan->out)
        scan->out(scan->data, (const char *)text + scan->done, end - scan->done);
    scan->done = end;
}

static void cover(struct leak_scan *scan, size_t end)
{
    if (end > scan->covered)
        scan->covered = end;
    if (scan->covered > scan->done)
        scan->done = scan->covered;
}

static void replace(struct leak_scan *scan, const unsigned char *text, size_t at,
                    const struct verdict *verdict)
{
    char mark[NACRE_LEAK_NAME + 16];

    worsen(scan, verdict->class);
    if (at < scan->covered) {
        if (verdict->class > scan->open)
            scan->open = verdict->class;
    } else {
        int length = snprintf(mark, sizeof(mark), "[redacted:%.*s]", NACRE_LEAK_NAME - 1,
                              verdict->name);

        note(scan, text, at, verdict->class, verdict->name);
        count_open(scan);
        scan->open = verdict->class;
        flush(scan, text, at);
        if (scan->out)
            scan->out(scan->data, mark, (size_t)length);
    }
    cover(scan, at + verdict->length);
}

/* What a key's body is written with: base64, and what lines, JSON, URLs and programs put
 * around it. */
static bool is_body(unsigned char character)
{
    static const char others[] = "+/=\\\"',|>#*%-_ \t\r\n";

    return (character >= '0' && character <= '9') ||
           (character >= 'A' && character <= 'Z') ||
           (character >= 'a' && character <= 'z') ||
           memchr(others, character, sizeof(others) - 1) != NULL;
}

static void read_key(struct leak_scan *scan, const unsigned char *text, size_t count)
{
    static const unsigned char end[] = "END";
    struct leak_key *key = &scan->key;

    while (key->is_open && key->at < count) {
        unsigned char character = text[key->at];

        if (!is_body(character)) {
            key->is_open = false;
            break;
        }
        key->at++;
        if (character == '-') {
            key->dashes++;
            key->word = 0;
            if (key->is_ending && key->dashes == 5)
                key->is_open = false;
            continue;
        }
        if (key->dashes >= 5 && key->word < 3 && character == end[key->word]) {
            key->word++;
            key->is_ending = key->word == 3;
            if (key->is_ending)
                key->dashes = 0;
            continue;
        }
        key->dashes = 0;
        key->word = 0;
    }
    cover(scan, key->at);
}

/* Is a beginning that came to nothing one too many? */
static bool is_too_much(struct leak_scan *scan, size_t units, size_t at)
{
    if (units < BEGINNING_UNITS)
        return false;
    scan->effort += units;
    return scan->effort > EFFORT_MAX + EFFORT_PER_BYTE * (scan->gone_bytes + at);
}

static void judge_value(struct leak_scan *scan, uint32_t owner, const unsigned char *text,
                        size_t count, size_t at, enum leak_end end,
                        struct verdict *verdict)
{
    const struct leak_value *value = &scan->leaks->values[owner / LEAK_FORM_COUNT];
    struct leak_reach reach =
        leak_value_read(value, (enum leak_form)(owner % LEAK_FORM_COUNT), text + at,
                        count - at);

    if (reach.is_open && end == LEAK_END_NOT_YET) {
        verdict->is_open = true;
        return;
    }
    if (!reach.is_hit && !(reach.is_open && (reach.is_enough || end == LEAK_END_CUT))) {
        if (!is_too_much(scan, reach.units, at))
            return;
        verdict->is_tired = true;
    }
    /* What follows, at a cut, is the beginning of its next byte. */
    if (reach.is_open && end == LEAK_END_CUT)
        reach.text = count - at;
    if (verdict->class < NACRE_LEAK_VALUE)
        verdict->name = value->name;
    verdict->class = NACRE_LEAK_VALUE;
    if (reach.text > verdict->length)
        verdict->length = reach.text;
}

static void judge_pattern(struct leak_scan *scan, uint32_t index,
                          const unsigned char *text, size_t count, size_t at,
                          enum leak_end end, struct verdict *verdict)
{
    const struct nacre_leak_pattern_row *row = &leak_patterns[index].row;
    size_t length = 0;
    enum leak_match match = leak_pattern_match(&scan->matcher, index, text, count, at,
                                               end == LEAK_END_REAL, &length);

    if (match == LEAK_MATCH_OPEN && end == LEAK_END_NOT_YET)
        verdict->is_open = true;
    if (match == LEAK_MATCH_OPEN && end == LEAK_END_CUT) {
        match = LEAK_MATCH_FOUND;
        length = count - at;
    }
    if (match != LEAK_MATCH_FOUND)
        return;
    if (row->class == NACRE_LEAK_WARN) {
        verdict->warned++;
        verdict->warned_name = row->name;
        return;
    }
    if (row->class > verdict->class) {
        verdict->class = row->class;
        verdict->name = row->name;
    }
    if (length > verdict->length)
        verdict->length = length;
    if (leak_patterns[index].is_key)
        verdict->is_key = true;
}

static struct verdict judge(struct leak_scan *scan, const unsigned char *text,
                            size_t count, size_t at, enum leak_end end)
{
    struct verdict verdict = { 0 };
    const struct leak_entry *entry;
    size_t left = leak_index_find(&scan->leaks->index, text + at, &entry);

    for (; left > 0 && !verdict.is_open; left--, entry++) {
        if (entry->owner & LEAK_OWNER_PATTERN)
            judge_pattern(scan, entry->owner & ~LEAK_OWNER_PATTERN, text, count, at, end,
                          &verdict);
        else
            judge_value(scan, entry->owner, text, count, at, end, &verdict);
    }
    return verdict;
}

static void found(struct leak_scan *scan, const unsigned char *text, size_t count,
                  size_t at, const struct verdict *verdict)
{
    if (verdict->warned > 0) {
        worsen(scan, NACRE_LEAK_WARN);
        note(scan, text, at, NACRE_LEAK_WARN, verdict->warned_name);
        scan->counts.warned += verdict->warned;
    }
    if (verdict->class == NACRE_LEAK_NONE)
        return;
    replace(scan, text, at, verdict);
    if (verdict->is_key) {
        scan->key = (struct leak_key){ .is_open = true, .at = at + verdict->length };
        read_key(scan, text, count);
    }
}

/* The first of the last bytes, too few for a key of the index, by which one may begin. */
static size_t held_tail(const struct leak_scan *scan, const unsigned char *text,
                        size_t count)
{
    for (size_t at = scan->cursor; at < count; at++)
        if (leak_index_begins(&scan->leaks->index, text + at, count - at))
            return at;
    return count;
}

size_t leak_scan_pass(struct leak_scan *scan, const unsigned char *text, size_t count,
                      enum leak_end end)
{
    size_t last = count < LEAK_KEY_BYTES ? 0 : count - (LEAK_KEY_BYTES - 1);
    size_t held = count;

    read_key(scan, text, count);
    while (scan->cursor < last) {
        size_t at = leak_index_next(&scan->leaks->index, text, scan->cursor, count);
        struct verdict verdict;

        scan->cursor = at;
        if (at == last)
            break;
        verdict = judge(scan, text, count, at, end);
        if (verdict.is_open) {
            flush(scan, text, at);
            return at;
        }
        found(scan, text, count, at, &verdict);
        scan->cursor += verdict.is_tired ? verdict.length : 1;
    }
    if (end == LEAK_END_NOT_YET)
        held = held_tail(scan, text, count);
    flush(scan, text, held);
    if (end != LEAK_END_NOT_YET)
        count_open(scan);
    return held;
}

void leak_scan_forget(struct leak_scan *scan, const unsigned char *text, size_t count)
{
    if (scan->found)
        scan->gone_lines += count_lines(text, count);
    scan->gone_bytes += count;
    assert(scan->done >= count && scan->cursor >= count);
    scan->done -= count;
    scan->cursor -= count;
    scan->covered -= count < scan->covered ? count : scan->covered;
    scan->key.at -= count < scan->key.at ? count : scan->key.at;
}

void leak_scan_clear(struct leak_scan *scan)
{
    leak_matcher_clear(&scan->matcher);
}
