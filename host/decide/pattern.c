/*
 * Regular expressions that deny.  The expression comes from the policy, the subject
 * from an agent that may want it to be undecidable: both are bounded, and what can't
 * be decided counts as a match.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include "nacre/decide.h"

/* An honest command needs thousands of steps; a million takes tens of milliseconds. */
#define MATCH_STEPS_MAX 1000000
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
    pcre2_set_match_limit(pattern->limits, MATCH_STEPS_MAX);
    pcre2_set_depth_limit(pattern->limits, MATCH_DEPTH_MAX);
    pcre2_set_heap_limit(pattern->limits, MATCH_HEAP_KIB_MAX);

    pcre2_compile_context *context = pcre2_compile_context_create(pattern->memory);
    if (!context)
        return fail_memory(ret_offset, err);
    pattern->code =
        pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
                      PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C, &code, &offset, context);
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

bool nacre_pattern_matches(const struct nacre_pattern *pattern, const char *subject,
                           size_t count)
{
    /* One pair is enough for "does it occur?", and each call has its own: threads. */
    pcre2_match_data *data = pcre2_match_data_create(1, pattern->memory);
    int found;

    if (!data)
        return true;
    found = pcre2_match(pattern->code, (PCRE2_SPTR)subject, count, 0, 0, data,
                        pattern->limits);
    pcre2_match_data_free(data);
    return found != PCRE2_ERROR_NOMATCH;
}
