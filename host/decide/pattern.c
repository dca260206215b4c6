/*
 * Regular expressions that deny.  The expression comes from the policy, the subject
 * from an agent that may want it to be undecidable: both are bounded, and what can't
 * be decided counts as a match.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include "nacre/decide.h"

/*
 * PCRE2 counts its match limit anew at each place where a match could begin, so that a
 * long subject multiplies it: 10,000 letters took 7 s.  The steps are therefore counted
 * by a callout before every item, over the whole subject; a loop that ran over
 * characters since the last one costs by their number.  At most 0.2 s were measured.
 */
#define SUBJECT_BYTES_MAX ((size_t)32 << 10)
#define STEPS_MAX 2000000
#define CHARACTERS_PER_STEP 16
#define MATCH_DEPTH_MAX 50000
#define MATCH_HEAP_KIB_MAX (32 * 1024)

struct nacre_pattern {
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
                                 size_t *ret_offset, struct nacre_error *err)
{
    int code = 0;
    PCRE2_SIZE offset = 0;
    unsigned char words[128];

    pattern->memory = pcre2_general_context_create(allocate, release, NULL);
    if (!pattern->memory)
        return fail_memory(ret_offset, err);
    pattern->limits = pcre2_match_context_create(pattern->memory);
    if (!pattern->limits)
        return fail_memory(ret_offset, err);
    pcre2_set_match_limit(pattern->limits, STEPS_MAX);
    pcre2_set_depth_limit(pattern->limits, MATCH_DEPTH_MAX);
    pcre2_set_heap_limit(pattern->limits, MATCH_HEAP_KIB_MAX);

    pcre2_compile_context *context = pcre2_compile_context_create(pattern->memory);
    if (!context)
        return fail_memory(ret_offset, err);
    pattern->code =
        pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
                      PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT, &code,
                      &offset, context);
    pcre2_compile_context_free(context);
    if (pattern->code)
        return NACRE_OK;
    if (code == PCRE2_ERROR_HEAP_FAILED)
        return fail_memory(ret_offset, err);
    (void)pcre2_get_error_message(code, words, sizeof(words));
    *ret_offset = offset;
    return nacre_fail(err, NACRE_ERR_PARSE, "%s", (const char *)words);
}

enum nacre_status nacre_pattern_compile(const char *text,
                                        struct nacre_pattern **ret_pattern,
                                        size_t *ret_offset, struct nacre_error *err)
{
    struct nacre_pattern *pattern = calloc(1, sizeof(*pattern));
    enum nacre_status status;

    if (!pattern)
        return fail_memory(ret_offset, err);
    status = compile(pattern, text, ret_offset, err);
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
    size_t steps;
    size_t at; /* where in the subject the last step was */
};

static int count_step(pcre2_callout_block *block, void *data)
{
    struct effort *effort = data;

    effort->steps++;
    if (block->current_position > effort->at)
        effort->steps += (block->current_position - effort->at) / CHARACTERS_PER_STEP;
    effort->at = block->current_position;
    return effort->steps > STEPS_MAX ? PCRE2_ERROR_CALLOUT : 0;
}

bool nacre_pattern_matches(const struct nacre_pattern *pattern, const char *subject,
                           size_t count)
{
    pcre2_match_data *data;
    pcre2_match_context *limits;
    struct effort effort = { 0 };
    int found = PCRE2_ERROR_NOMEMORY;

    if (count > SUBJECT_BYTES_MAX)
        return true;
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
    return found != PCRE2_ERROR_NOMATCH;
}
