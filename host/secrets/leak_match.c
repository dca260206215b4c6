/*
 * One regular expression at one place of a hostile text.  What can't be decided, for want
 * of steps or of memory, counts as a match.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "leak_patterns.h"

#define STEPS_MAX 200000
#define MATCH_HEAP_KIB_MAX 1024

/* How much is replaced where a match can't be decided. */
#define UNDECIDED_BYTES ((size_t)1024)

/* Compiled at first need and never given back, as the table itself. */
static struct {
    pthread_mutex_t compiling;
    pcre2_general_context *memory;
    pcre2_compile_context *context;
    pcre2_match_context *limits;
    pcre2_code *_Atomic codes[NACRE_LEAK_PATTERNS];
} compiled = { .compiling = PTHREAD_MUTEX_INITIALIZER };

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

static bool make_contexts(void)
{
    if (!compiled.memory)
        compiled.memory = pcre2_general_context_create(allocate, release, NULL);
    if (compiled.memory && !compiled.context)
        compiled.context = pcre2_compile_context_create(compiled.memory);
    if (compiled.context && !compiled.limits) {
        compiled.limits = pcre2_match_context_create(compiled.memory);
        if (compiled.limits) {
            (void)pcre2_set_match_limit(compiled.limits, STEPS_MAX);
            (void)pcre2_set_heap_limit(compiled.limits, MATCH_HEAP_KIB_MAX);
        }
    }
    return compiled.limits != NULL;
}

/* Under the lock. */
static pcre2_code *compile_new(uint32_t index)
{
    PCRE2_SIZE offset;
    int problem;
    pcre2_code *code;

    if (!make_contexts())
        return NULL;
    code = pcre2_compile((PCRE2_SPTR)leak_patterns[index].regex, PCRE2_ZERO_TERMINATED,
                         PCRE2_ANCHORED, &problem, &offset, compiled.context);
    /* Where code can't be made at run time PCRE2 interprets: slower, but the same. */
    if (code)
        (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
    return code;
}

static pcre2_code *compile(uint32_t index)
{
    pcre2_code *code;

    (void)pthread_mutex_lock(&compiled.compiling);
    code = atomic_load(&compiled.codes[index]);
    if (!code) {
        code = compile_new(index);
        atomic_store(&compiled.codes[index], code);
    }
    (void)pthread_mutex_unlock(&compiled.compiling);
    return code;
}

void leak_matcher_clear(struct leak_matcher *matcher)
{
    pcre2_match_data_free(matcher->data);
    matcher->data = NULL;
}

static unsigned char lower(unsigned char character)
{
    return character >= 'A' && character <= 'Z' ? (unsigned char)(character | 0x20)
                                                : character;
}

/* Cheaper than the expression, and nearly always enough. */
static bool starts_here(const struct leak_pattern *pattern, const unsigned char *text,
                        size_t count)
{
    for (const char *const *start = pattern->starts; *start; start++) {
        size_t at = 0;

        while (at < count && (*start)[at] &&
               (pattern->any_case ? lower(text[at]) : text[at]) ==
                   (unsigned char)(*start)[at])
            at++;
        if (at == count || !(*start)[at])
            return true;
    }
    return false;
}

enum leak_match leak_pattern_match(struct leak_matcher *matcher, uint32_t index,
                                   const unsigned char *text, size_t count, size_t at,
                                   bool at_end, size_t *ret_length)
{
    size_t before = at < LEAK_LOOKBEHIND ? at : LEAK_LOOKBEHIND;
    size_t left = count - at < LEAK_MATCH_MAX ? count - at : LEAK_MATCH_MAX;
    bool is_cut = left == LEAK_MATCH_MAX;
    pcre2_code *code;
    int found;

    if (!starts_here(&leak_patterns[index], text + at, left))
        return LEAK_MATCH_NONE;
    *ret_length = UNDECIDED_BYTES;
    code = atomic_load(&compiled.codes[index]);
    if (!code)
        code = compile(index);
    if (code && !matcher->data)
        matcher->data = pcre2_match_data_create(1, compiled.memory);
    if (!code || !matcher->data)
        return LEAK_MATCH_FOUND;
    found = pcre2_match(code, text + at - before, before + left, before,
                        at_end || is_cut ? 0 : PCRE2_PARTIAL_HARD, matcher->data,
                        compiled.limits);
    if (found == PCRE2_ERROR_NOMATCH)
        return LEAK_MATCH_NONE;
    if (found == PCRE2_ERROR_PARTIAL)
        return LEAK_MATCH_OPEN;
    if (found >= 0) {
        const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(matcher->data);

        *ret_length = ends[1] - ends[0];
    }
    return LEAK_MATCH_FOUND;
}
