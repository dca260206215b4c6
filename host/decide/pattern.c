/*
 * Regular expressions that judge.  The expression comes from a policy or from a tool's
 * author, the subject from an agent that may want it to be undecidable: both are bounded,
 * and what can't be decided is told as that.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include "nacre/decide.h"

#define CHARACTERS_PER_STEP 16

struct kind {
    uint32_t options;
    size_t subject_bytes_max;
    uint32_t steps_max, depth_max, heap_kib_max;
};

/*
 * PCRE2 counts its match limit anew at each place where a match could begin, so that a
 * long subject multiplies it: 10,000 letters took 7 s.  The steps are therefore counted
 * by a callout before every item, over the whole subject; a loop that ran over
 * characters since the last one costs by their number.  At most 0.2 s were measured.
 */
static const struct kind kinds[] = {
    [NACRE_PATTERN_POLICY] = {
        .options = PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT,
        .subject_bytes_max = (size_t)32 << 10,
        .steps_max = 2000000,
        .depth_max = 50000,
        .heap_kib_max = 32 * 1024,
    },
    /* \u0041, and a $ that is the end and no newline's. */
    [NACRE_PATTERN_ECMASCRIPT] = {
        .options = PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C |
                   PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX | PCRE2_AUTO_CALLOUT,
        .subject_bytes_max = (size_t)1 << 20,
        .steps_max = 1000000,
        .depth_max = 10000,
        .heap_kib_max = 8 * 1024,
    },
};

struct nacre_pattern {
    const struct kind *kind;
    pcre2_general_context *memory;
    pcre2_match_context *limits;
    pcre2_code *code;
};

/* Through our own malloc, so that the tests which make it fail reach PCRE2 too. */
static void *allocate(PCRE2_SIZE size, void *data)
{
    (void)data;
    return malloc(size);
}

static void release(void *memory, void *data)
{
    (void)data;
    free(memory);
}

static enum nacre_status fail_memory(size_t *ret_offset, struct nacre_error *err)
{
    *ret_offset = 0;
    return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a regular expression");
}

static enum nacre_status compile(struct nacre_pattern *pattern, const char *text,
                                 size_t count, size_t *ret_offset,
                                 struct nacre_error *err)
{
    const struct kind *kind = pattern->kind;
    pcre2_compile_context *context;
    int code = 0;
    PCRE2_SIZE offset = 0;
    unsigned char words[128];

    pattern->memory = pcre2_general_context_create(allocate, release, NULL);
    if (!pattern->memory)
        return fail_memory(ret_offset, err);
    pattern->limits = pcre2_match_context_create(pattern->memory);
    if (!pattern->limits)
        return fail_memory(ret_offset, err);
    pcre2_set_match_limit(pattern->limits, kind->steps_max);
    pcre2_set_depth_limit(pattern->limits, kind->depth_max);
    pcre2_set_heap_limit(pattern->limits, kind->heap_kib_max);

    context = pcre2_compile_context_create(pattern->memory);
    if (!context)
        return fail_memory(ret_offset, err);
    pattern->code = pcre2_compile((PCRE2_SPTR)text, count, kind->options, &code, &offset,
                                  context);
    pcre2_compile_context_free(context);
    if (pattern->code)
        return NACRE_OK;
    if (code == PCRE2_ERROR_HEAP_FAILED)
        return fail_memory(ret_offset, err);
    (void)pcre2_get_error_message(code, words, sizeof(words));
    *ret_offset = offset;
    return nacre_fail(err, NACRE_ERR_PARSE, "%s", (const char *)words);
}

enum nacre_status nacre_pattern_compile(enum nacre_pattern_kind kind, const char *text,
                                        size_t count, struct nacre_pattern **ret_pattern,
                                        size_t *ret_offset, struct nacre_error *err)
{
    struct nacre_pattern *pattern = calloc(1, sizeof(*pattern));
    enum nacre_status status;

    if (!pattern)
        return fail_memory(ret_offset, err);
    pattern->kind = &kinds[kind];
    status = compile(pattern, text, count, ret_offset, err);
    if (status != NACRE_OK) {
        nacre_pattern_free(pattern);
        return status;
    }
    *ret_pattern = pattern;
    return NACRE_OK;
}

void nacre_pattern_free(struct nacre_pattern *pattern)
{
    if (!pattern)
        return;
    pcre2_code_free(pattern->code);
    pcre2_match_context_free(pattern->limits);
    pcre2_general_context_free(pattern->memory);
    free(pattern);
}

struct effort {
    uint64_t steps, steps_max;
    size_t at; /* where in the subject the last step was */
};

static int count_step(pcre2_callout_block *block, void *data)
{
    struct effort *effort = data;

    effort->steps++;
    if (block->current_position > effort->at)
        effort->steps += (block->current_position - effort->at) / CHARACTERS_PER_STEP;
    effort->at = block->current_position;
    return effort->steps > effort->steps_max ? PCRE2_ERROR_CALLOUT : 0;
}

enum nacre_found nacre_pattern_search(const struct nacre_pattern *pattern,
                                      const char *subject, size_t count, uint64_t *steps)
{
    const struct kind *kind = pattern->kind;
    struct effort effort = { .steps_max = *steps < kind->steps_max ? *steps
                                                                   : kind->steps_max };
    pcre2_match_data *data;
    pcre2_match_context *limits;
    int found = PCRE2_ERROR_NOMEMORY;

    if (count > kind->subject_bytes_max)
        return NACRE_FOUND_UNDECIDED;
    /* Of this call alone, because threads share the pattern.  One pair will do. */
    data = pcre2_match_data_create(1, pattern->memory);
    limits = pcre2_match_context_copy(pattern->limits);
    if (data && limits) {
        (void)pcre2_set_callout(limits, count_step, &effort);
        found = pcre2_match(pattern->code, (PCRE2_SPTR)subject, count, 0, 0, data,
                            limits);
    }
    pcre2_match_context_free(limits);
    pcre2_match_data_free(data);
    *steps -= effort.steps < *steps ? effort.steps : *steps;
    /* 0: it matched, and the one pair was too little room for its groups. */
    if (found >= 0)
        return NACRE_FOUND_YES;
    return found == PCRE2_ERROR_NOMATCH ? NACRE_FOUND_NO : NACRE_FOUND_UNDECIDED;
}

bool nacre_pattern_matches(const struct nacre_pattern *pattern, const char *subject,
                           size_t count)
{
    uint64_t steps = pattern->kind->steps_max;

    return nacre_pattern_search(pattern, subject, count, &steps) != NACRE_FOUND_NO;
}
