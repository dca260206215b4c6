/*
 * Regular expressions of `pattern`.  The expression is a tool's author's, the subject an
 * agent's, who may want it to take for ever: both are bounded, and what can't be decided
 * is told as that.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include "json_schema.h"

/* PCRE2's own match limit begins anew at each place where a match could: steps are
 * counted by a callout before every item, over the whole subject, see
 * host/decide/pattern.c. */
#define STEPS_MAX 1000000
#define CHARACTERS_PER_STEP 16
#define DEPTH_MAX 10000
#define HEAP_KIB_MAX 8192

struct schema_pattern {
    pcre2_general_context *memory;
    pcre2_match_context *limits;
    pcre2_code *code;
};

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

static enum nacre_status fail_memory(struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a regular expression");
}

static enum nacre_status compile(struct schema_pattern *pattern, const char *text,
                                 size_t count, struct nacre_error *err)
{
    /* As ECMAScript reads them: \u0041, and a $ that is the end and no newline's. */
    uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C |
                       PCRE2_DOLLAR_ENDONLY | PCRE2_ALT_BSUX | PCRE2_AUTO_CALLOUT;
    pcre2_compile_context *context;
    PCRE2_SIZE offset = 0;
    unsigned char words[128];
    int code = 0;

    pattern->memory = pcre2_general_context_create(allocate, release, NULL);
    if (!pattern->memory)
        return fail_memory(err);
    pattern->limits = pcre2_match_context_create(pattern->memory);
    context = pcre2_compile_context_create(pattern->memory);
    if (pattern->limits && context)
        pattern->code = pcre2_compile((PCRE2_SPTR)text, count, options, &code, &offset,
                                      context);
    else
        code = PCRE2_ERROR_HEAP_FAILED;
    pcre2_compile_context_free(context);
    if (code == PCRE2_ERROR_HEAP_FAILED)
        return fail_memory(err);
    if (!pattern->code) {
        (void)pcre2_get_error_message(code, words, sizeof(words));
        return nacre_fail(err, NACRE_ERR_PARSE, "%s at offset %zu", (const char *)words,
                          offset);
    }
    (void)pcre2_set_match_limit(pattern->limits, STEPS_MAX);
    (void)pcre2_set_depth_limit(pattern->limits, DEPTH_MAX);
    (void)pcre2_set_heap_limit(pattern->limits, HEAP_KIB_MAX);
    return NACRE_OK;
}

enum nacre_status schema_pattern_compile(const char *text, size_t count,
                                         struct schema_pattern **ret_pattern,
                                         struct nacre_error *err)
{
    struct schema_pattern *pattern = calloc(1, sizeof(*pattern));
    enum nacre_status status;

    if (!pattern)
        return fail_memory(err);
    status = compile(pattern, text, count, err);
    if (status == NACRE_OK)
        *ret_pattern = pattern;
    else
        schema_pattern_free(pattern);
    return status;
}

void schema_pattern_free(struct schema_pattern *pattern)
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
    size_t at;
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

enum schema_match schema_pattern_match(const struct schema_pattern *pattern,
                                       const char *subject, size_t count,
                                       uint64_t *steps)
{
    pcre2_match_data *data = pcre2_match_data_create(1, pattern->memory);
    pcre2_match_context *limits = pcre2_match_context_copy(pattern->limits);
    struct effort effort = { .steps_max = *steps < STEPS_MAX ? *steps : STEPS_MAX };
    int found = PCRE2_ERROR_NOMEMORY;

    if (data && limits && count <= SCHEMA_SUBJECT_BYTES_MAX) {
        (void)pcre2_set_callout(limits, count_step, &effort);
        found = pcre2_match(pattern->code, (PCRE2_SPTR)subject, count, 0, 0, data,
                            limits);
    }
    pcre2_match_context_free(limits);
    pcre2_match_data_free(data);
    *steps -= effort.steps < *steps ? effort.steps : *steps;
    /* 0: it matched, and the one pair was too little room for its groups. */
    if (found >= 0)
        return SCHEMA_MATCH_YES;
    return found == PCRE2_ERROR_NOMATCH ? SCHEMA_MATCH_NO : SCHEMA_MATCH_UNDECIDED;
}
