/* A scanner is made here, and used on what is whole. */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "leak_memory.h"
#include "nacre/locked.h"
#include "leak_scan.h"

/* ---- values ---- */

/* Around a value that came from a file there is often a line end, which is no part of
 * what is used and printed. */
static struct leak_value trimmed(const struct nacre_leak_value *given)
{
    struct leak_value value = { .bytes = given->bytes, .count = given->count };

    while (value.count > 0 && isspace(value.bytes[0])) {
        value.bytes++;
        value.count--;
    }
    while (value.count > 0 && isspace(value.bytes[value.count - 1]))
        value.count--;
    return value;
}

static enum nacre_status measure(const struct nacre_leak_value *values,
                                 size_t value_count, size_t *ret_bytes,
                                 size_t *ret_names, struct nacre_error *err)
{
    if (value_count > NACRE_LEAK_VALUES_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "more than %d secrets to look for",
                          NACRE_LEAK_VALUES_MAX);
    *ret_bytes = *ret_names = 1;
    for (size_t i = 0; i < value_count; i++) {
        if (values[i].count > NACRE_LEAK_VALUE_MAX)
            return nacre_fail(err, NACRE_ERR_TOO_BIG,
                              "a secret of %zu bytes can't be looked for: over %zu",
                              values[i].count, NACRE_LEAK_VALUE_MAX);
        *ret_bytes += trimmed(&values[i]).count;
        *ret_names += strlen(values[i].name) + 1;
    }
    return NACRE_OK;
}

static enum nacre_status copy_values(struct nacre_leaks *leaks,
                                     const struct nacre_leak_value *values,
                                     size_t value_count, struct nacre_error *err)
{
    size_t names_size = 0, bytes_used = 0, names_used = 0;

    if (measure(values, value_count, &leaks->secrets_size, &names_size, err) != NACRE_OK)
        return err->status;
    leaks->values = calloc(value_count + 1, sizeof(*leaks->values));
    leaks->names = malloc(names_size);
    leaks->index.is_secret = value_count > 0;
    /* What the index holds, four bytes of each spelling, is locked if there is room. */
    leaks->secrets = value_count > 0 ? nacre_locked_new(leaks->secrets_size, true)
                                     : calloc(1, leaks->secrets_size);
    if (!leaks->values || !leaks->names || (!leaks->secrets && value_count == 0))
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a leak scanner");
    if (!leaks->secrets)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "no room to lock secrets into memory: raise the limit (ulimit "
                          "-l, LimitMEMLOCK)");
    leaks->secrets[leaks->secrets_size - 1] = 1;
    for (size_t i = 0; i < value_count; i++) {
        struct leak_value value = trimmed(&values[i]);
        size_t name_size = strlen(values[i].name) + 1;

        if (value.count < NACRE_LEAK_VALUE_MIN)
            continue;
        memcpy(leaks->secrets + bytes_used, value.bytes, value.count);
        memcpy(leaks->names + names_used, values[i].name, name_size);
        leaks->values[leaks->value_count++] = (struct leak_value){
            .name = leaks->names + names_used,
            .bytes = leaks->secrets + bytes_used,
            .count = value.count,
        };
        bytes_used += value.count;
        names_used += name_size;
    }
    return NACRE_OK;
}

/* No form of a value begins with other bytes than these, its own apart. */
static const char *alphabet(enum leak_form form)
{
    switch (form) {
    case LEAK_FORM_RAW:
    case LEAK_FORM_REVERSED:
        return "";
    case LEAK_FORM_QUOTED:
        return "'\"\\";
    case LEAK_FORM_PERCENT:
        return "%+0123456789abcdefABCDEF";
    case LEAK_FORM_BACKSLASH:
        return "\\uUxX0123456789abcdefABCDEFnrtv";
    case LEAK_FORM_HEX:
        return "0123456789abcdefABCDEF\r\n :-\\nN";
    case LEAK_FORM_BASE64_0:
    case LEAK_FORM_BASE64_1:
    case LEAK_FORM_BASE64_2:
    case LEAK_FORM_COUNT:
        break;
    }
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_%\\\r\n";
}

static void mark_choices(const struct leak_value *value, enum leak_form form,
                         bool ret_choices[256])
{
    memset(ret_choices, 0, 256);
    for (const char *next = alphabet(form); *next; next++)
        ret_choices[(unsigned char)*next] = true;
    for (size_t i = 0; i < LEAK_KEY_BYTES; i++) {
        ret_choices[value->bytes[i]] = true;
        ret_choices[value->bytes[value->count - 1 - i]] = true;
    }
}

/*
 * All four bytes that a form of a value can begin with, by trying: the reader itself says
 * what may go on, so that what it reads and what is looked for can't differ.
 */
static enum nacre_status add_form(struct nacre_leaks *leaks, uint32_t owner,
                                  const bool choices[256],
                                  unsigned char key[LEAK_KEY_BYTES], size_t used,
                                  struct nacre_error *err)
{
    const struct leak_value *value = &leaks->values[owner / LEAK_FORM_COUNT];
    enum leak_form form = (enum leak_form)(owner % LEAK_FORM_COUNT);

    if (used == LEAK_KEY_BYTES)
        return leak_index_add(&leaks->index, key, owner, err);
    for (unsigned next = 0; next < 256; next++) {
        key[used] = (unsigned char)next;
        if (choices[next] && leak_value_read(value, form, key, used + 1).is_open &&
            add_form(leaks, owner, choices, key, used + 1, err) != NACRE_OK)
            return err->status;
    }
    return NACRE_OK;
}

static enum nacre_status add_values(struct nacre_leaks *leaks, struct nacre_error *err)
{
    unsigned char key[LEAK_KEY_BYTES];
    bool choices[256];
    enum nacre_status status = NACRE_OK;

    for (uint32_t owner = 0;
         owner < leaks->value_count * LEAK_FORM_COUNT && status == NACRE_OK; owner++) {
        mark_choices(&leaks->values[owner / LEAK_FORM_COUNT],
                     (enum leak_form)(owner % LEAK_FORM_COUNT), choices);
        status = add_form(leaks, owner, choices, key, 0, err);
    }
    explicit_bzero(key, sizeof(key));
    explicit_bzero(choices, sizeof(choices));
    return status;
}

/* ---- patterns ---- */

static enum nacre_status add_start(struct nacre_leaks *leaks, uint32_t pattern,
                                   const char *start, unsigned char key[LEAK_KEY_BYTES],
                                   size_t used, struct nacre_error *err)
{
    const struct leak_pattern *row = &leak_patterns[pattern];
    const char *choices = row->next;
    char either[3] = { 0 };

    if (used == LEAK_KEY_BYTES)
        return leak_index_add(&leaks->index, key, LEAK_OWNER_PATTERN | pattern, err);
    if (used < strlen(start)) {
        either[0] = start[used];
        if (row->any_case)
            either[1] = (char)toupper((unsigned char)start[used]);
        choices = either;
    }
    assert(choices);
    for (; *choices; choices++) {
        key[used] = (unsigned char)*choices;
        if (add_start(leaks, pattern, start, key, used + 1, err) != NACRE_OK)
            return err->status;
    }
    return NACRE_OK;
}

/* ---- the whole ---- */

static enum nacre_status fill(struct nacre_leaks *leaks,
                              const struct nacre_leak_value *values, size_t value_count,
                              uint32_t pattern_count, struct nacre_error *err)
{
    unsigned char key[LEAK_KEY_BYTES];
    enum nacre_status status = copy_values(leaks, values, value_count, err);

    if (status == NACRE_OK)
        status = add_values(leaks, err);
    for (uint32_t i = 0; i < pattern_count; i++)
        for (const char *const *start = leak_patterns[i].starts;
             *start && status == NACRE_OK; start++)
            status = add_start(leaks, i, *start, key, 0, err);
    return status == NACRE_OK ? leak_index_seal(&leaks->index, err) : status;
}

enum nacre_status nacre_leaks_new(const struct nacre_leak_value *values,
                                  size_t value_count, uint32_t pattern_count,
                                  struct nacre_leaks **ret_leaks, struct nacre_error *err)
{
    NACRE_AUTO(nacre_leaks_guard) struct nacre_leaks *leaks = NULL;

    if (pattern_count > NACRE_LEAK_PATTERNS)
        return nacre_fail(err, NACRE_ERR_USAGE, "there are %d leak patterns, not %u",
                          NACRE_LEAK_PATTERNS, pattern_count);
    leaks = calloc(1, sizeof(*leaks));
    if (!leaks)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a leak scanner");
    if (fill(leaks, values, value_count, pattern_count, err) != NACRE_OK)
        return err->status;
    *ret_leaks = nacre_leaks_take(&leaks);
    return NACRE_OK;
}

void nacre_leaks_free(struct nacre_leaks *leaks)
{
    if (!leaks)
        return;
    leak_memory_free(leaks->secrets, leaks->secrets_size, leaks->index.is_secret);
    leak_index_clear(&leaks->index);
    free(leaks->values);
    free(leaks->names);
    free(leaks);
}

bool leaks_are_whole(const struct nacre_leaks *leaks)
{
    return leaks->secrets[leaks->secrets_size - 1] == 1;
}

static void add_counts(struct nacre_leak_counts *sum,
                       const struct nacre_leak_counts *counts)
{
    sum->values += counts->values;
    sum->blocked += counts->blocked;
    sum->redacted += counts->redacted;
    sum->warned += counts->warned;
    if (!sum->first[0])
        memcpy(sum->first, counts->first, sizeof(sum->first));
}

enum nacre_leak_class nacre_leaks_find(const struct nacre_leaks *leaks, const void *bytes,
                                       size_t count, struct nacre_leak_counts *counts)
{
    struct leak_scan scan = { .leaks = leaks };

    /* Nobody can tell, so it is one. */
    if (!leaks_are_whole(leaks)) {
        counts->values++;
        return NACRE_LEAK_VALUE;
    }
    (void)leak_scan_pass(&scan, bytes, count, LEAK_END_REAL);
    add_counts(counts, &scan.counts);
    leak_scan_clear(&scan);
    return scan.worst;
}

struct sink {
    struct nacre_buf *clean;
    enum nacre_status status;
    struct nacre_error *err;
};

static void add_clean(void *data, const char *bytes, size_t count)
{
    struct sink *sink = data;

    if (sink->status == NACRE_OK)
        sink->status = nacre_buf_add(sink->clean, bytes, count, sink->err);
}

enum nacre_status nacre_leaks_redact(const struct nacre_leaks *leaks, const void *bytes,
                                     size_t count, struct nacre_buf *ret_clean,
                                     struct nacre_leak_counts *counts,
                                     struct nacre_error *err)
{
    struct sink sink = { .clean = ret_clean, .err = err };
    struct leak_scan scan = { .leaks = leaks, .out = add_clean, .data = &sink };

    if (!leaks_are_whole(leaks))
        return nacre_fail(err, NACRE_ERR_USAGE, LEAK_FORKED);
    (void)leak_scan_pass(&scan, bytes, count, LEAK_END_REAL);
    add_counts(counts, &scan.counts);
    leak_scan_clear(&scan);
    return sink.status;
}
