/*
 * The scan itself.  The text is hostile and long; it is folded window by window, one
 * automaton looks for the keys of all rules at once, and an expression is searched only
 * where one of its keys is.  Its gaps are bounded, so that the worst text costs about a
 * quarter of a second for each MiB and rule; what runs into a limit counts as found.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <assert.h>
#include <pcre2.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "input_scan.h"
#include "nacre/own.h"

/* A window begins so far before the end of the one before it: longer than any match. */
#define WINDOW_BYTES ((size_t)256 << 10)
#define OVERLAP_BYTES ((size_t)4 << 10)
#define STEPS_MAX 200000 /* from one place where a match could begin */
#define MATCH_HEAP_KIB_MAX 1024
#define JIT_STACK_BYTES ((size_t)32 << 10)
#define JIT_STACK_BYTES_MAX ((size_t)1 << 20)

#define X(id, name) name,
#define NAMES(FUNCTION, TYPE, PREFIX, ...)                          \
    const char *FUNCTION(enum TYPE value)                           \
    {                                                               \
        static const char *const names[] = { __VA_ARGS__ };         \
                                                                    \
        assert(value < PREFIX##_COUNT);                             \
        return names[value];                                        \
    }
NAMES(nacre_input_class_name, nacre_input_class, NACRE_INPUT_CLASS,
      NACRE_INPUT_CLASS_MAP(X))
NAMES(nacre_input_mode_name, nacre_input_mode, NACRE_INPUT, "off",
      NACRE_INPUT_MODE_MAP(X))
NAMES(nacre_input_action_name, nacre_input_action, NACRE_ON_INPUT, "unset",
      NACRE_INPUT_ACTION_MAP(X))
NAMES(nacre_intent_need_name, nacre_intent_need, NACRE_INTENT_NEED, "false",
      NACRE_INTENT_NEED_MAP(X))
#undef X

/* ---- the keys of all rules, as one automaton ---- */

#define STATES_MAX 1024
#define LETTERS_MAX 64

static struct {
    uint8_t letters[256]; /* 0: in no key */
    uint16_t next[STATES_MAX][LETTERS_MAX];
    uint16_t fallback[STATES_MAX];
    uint32_t found[STATES_MAX]; /* a bit for each rule */
    uint16_t states;
} keys;
static pthread_once_t keys_once = PTHREAD_ONCE_INIT;

static void add_key(const char *key, uint32_t rule)
{
    uint16_t state = 0;

    for (; *key; key++) {
        uint16_t *next = &keys.next[state][keys.letters[(unsigned char)*key]];

        if (*next == 0) {
            assert(keys.states < STATES_MAX);
            *next = keys.states++;
        }
        state = *next;
    }
    keys.found[state] |= rule;
}

static void add_letters(const char *key, unsigned *count)
{
    for (; *key; key++) {
        uint8_t *letter = &keys.letters[(unsigned char)*key];

        if (*letter == 0) {
            assert(*count < LETTERS_MAX);
            *letter = (uint8_t)(*count)++;
        }
    }
}

/* Aho and Corasick: in the order of their depth, every missing edge becomes that of the
 * longest proper suffix. */
static void close_edges(void)
{
    static uint16_t queue[STATES_MAX];
    size_t head = 0, tail = 0;

    for (size_t letter = 0; letter < LETTERS_MAX; letter++)
        if (keys.next[0][letter])
            queue[tail++] = keys.next[0][letter];
    while (head < tail) {
        uint16_t state = queue[head++];
        uint16_t shorter = keys.fallback[state];

        keys.found[state] |= keys.found[shorter];
        for (size_t letter = 0; letter < LETTERS_MAX; letter++) {
            uint16_t child = keys.next[state][letter];

            if (child == 0) {
                keys.next[state][letter] = keys.next[shorter][letter];
                continue;
            }
            keys.fallback[child] = keys.next[shorter][letter];
            queue[tail++] = child;
        }
    }
}

static void make_keys(void)
{
    unsigned letters = 1;

    for (size_t i = 0; i < input_row_count; i++)
        for (size_t k = 0; k < INPUT_KEYS_MAX && input_rows[i].keys[k]; k++)
            add_letters(input_rows[i].keys[k], &letters);
    keys.states = 1;
    for (size_t i = 0; i < input_row_count; i++)
        for (size_t k = 0; k < INPUT_KEYS_MAX && input_rows[i].keys[k]; k++)
            add_key(input_rows[i].keys[k], UINT32_C(1) << i);
    close_edges();
}

/* The rules of which a key is in `text`. */
static uint32_t find_keys(const char *text, size_t count)
{
    uint32_t found = 0;
    uint16_t state = 0;

    (void)pthread_once(&keys_once, make_keys);
    for (size_t i = 0; i < count; i++) {
        state = keys.next[state][keys.letters[(unsigned char)text[i]]];
        found |= keys.found[state];
    }
    return found;
}

/* ---- expressions, compiled when first needed and kept ---- */

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

static pthread_mutex_t codes_lock = PTHREAD_MUTEX_INITIALIZER;
static pcre2_general_context *codes_memory;
static pcre2_code *codes[NACRE_INPUT_RULES_MAX];

/* NULL: no memory.  Called with the lock held. */
static pcre2_code *compile(const char *pattern)
{
    pcre2_compile_context *context;
    pcre2_code *code;
    int why = 0;
    PCRE2_SIZE offset = 0;

    if (!codes_memory)
        codes_memory = pcre2_general_context_create(allocate, release, NULL);
    context = codes_memory ? pcre2_compile_context_create(codes_memory) : NULL;
    if (!context)
        return NULL;
    code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                         PCRE2_DOTALL | PCRE2_NEVER_UTF, &why, &offset, context);
    pcre2_compile_context_free(context);
    assert(code || why == PCRE2_ERROR_HEAP_FAILED);
    /* Where there is no JIT, or no memory for it, the interpreter serves. */
    if (code)
        (void)pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    return code;
}

static pcre2_code *code_of(size_t row)
{
    pcre2_code *code;

    (void)pthread_mutex_lock(&codes_lock);
    if (!codes[row])
        codes[row] = compile(input_rows[row].pattern);
    code = codes[row];
    (void)pthread_mutex_unlock(&codes_lock);
    return code;
}

/* Is it there, and where?  What can't be decided is. */
static enum nacre_status search(size_t row, const char *text, size_t count,
                                bool *ret_found, size_t *ret_offset,
                                struct nacre_error *err)
{
    pcre2_code *code = code_of(row);
    pcre2_match_data *data = code ? pcre2_match_data_create(1, codes_memory) : NULL;
    pcre2_match_context *limits = code ? pcre2_match_context_create(codes_memory) : NULL;
    pcre2_jit_stack *stack =
        code ? pcre2_jit_stack_create(JIT_STACK_BYTES, JIT_STACK_BYTES_MAX, codes_memory)
             : NULL;
    int found = PCRE2_ERROR_NOMEMORY;

    if (data && limits && stack) {
        (void)pcre2_set_match_limit(limits, STEPS_MAX);
        (void)pcre2_set_heap_limit(limits, MATCH_HEAP_KIB_MAX);
        pcre2_jit_stack_assign(limits, NULL, stack);
        found = pcre2_match(code, (PCRE2_SPTR)text, count, 0, 0, data, limits);
        *ret_found = found != PCRE2_ERROR_NOMATCH;
        *ret_offset = found >= 0 ? pcre2_get_ovector_pointer(data)[0] : 0;
    }
    pcre2_jit_stack_free(stack);
    pcre2_match_context_free(limits);
    pcre2_match_data_free(data);
    return found == PCRE2_ERROR_NOMEMORY
               ? nacre_fail(err, NACRE_ERR_MEMORY, "no memory to scan the input")
               : NACRE_OK;
}

/* ---- one window ---- */

struct window {
    struct nacre_input_scan *scan;
    const char *where;
    const unsigned char *bytes;
    size_t count, offset; /* of `bytes` in what was added */
    char *folded;         /* room for a window */
    unsigned char *decoded;
    bool encoded;
};

static bool is_hit(const struct nacre_input_scan *scan, size_t row)
{
    for (uint32_t i = 0; i < scan->hit_count; i++)
        if (scan->hits[i].rule == input_rows[row].rule.name)
            return true;
    return false;
}

static void hit(const struct window *window, size_t row, size_t offset)
{
    struct nacre_input_scan *scan = window->scan;

    if (is_hit(scan, row))
        return;
    assert(scan->hit_count < NACRE_INPUT_RULES_MAX);
    scan->hits[scan->hit_count++] = (struct nacre_input_hit){
        .rule = input_rows[row].rule.name,
        .score = input_rows[row].rule.score,
        .where = window->where,
        .offset = offset,
        .encoded = window->encoded,
    };
    scan->score += input_rows[row].rule.score;
}

static void hit_kind(const struct window *window, enum input_kind kind, size_t offset)
{
    for (size_t i = 0; i < input_row_count; i++)
        if (input_rows[i].kind == kind)
            hit(window, i, offset);
}

#define ZERO_WIDTH_MIN 4
#define SELECTORS_MIN 4

static void judge_characters(const struct window *window,
                             const struct input_characters *characters)
{
    size_t at;

    if (characters->tags > 0)
        hit_kind(window, INPUT_HIDDEN_TAGS, characters->tag_at);
    if (characters->overrides > 0)
        hit_kind(window, INPUT_BIDI, characters->override_at);
    if (characters->zero_width >= ZERO_WIDTH_MIN)
        hit_kind(window, INPUT_ZERO_WIDTH, characters->zero_width_at);
    if (characters->selectors_run_max >= SELECTORS_MIN)
        hit_kind(window, INPUT_SELECTORS, characters->selectors_at);
    if (input_find_control(window->bytes, window->count, &at))
        hit_kind(window, INPUT_TERMINAL_CONTROL, window->offset + at);
    if (input_find_clipboard(window->bytes, window->count, &at))
        hit_kind(window, INPUT_TERMINAL_CLIPBOARD, window->offset + at);
}

static enum nacre_status scan_text(struct window *window,
                                   struct input_characters *characters,
                                   struct nacre_error *err)
{
    size_t used;
    size_t size = input_fold(window->bytes, window->count, window->offset,
                             window->folded, window->count, characters, &used);
    uint32_t found = find_keys(window->folded, size);

    for (size_t row = 0; found >> row != 0; row++) {
        size_t at = 0;
        bool is_there = false;
        enum nacre_status status;

        if (!(found >> row & 1) || is_hit(window->scan, row))
            continue;
        status = search(row, window->folded, size, &is_there, &at, err);
        if (status != NACRE_OK)
            return status;
        if (!is_there)
            continue;
        /* Folded once more up to there, to know where it came from. */
        (void)input_fold(window->bytes, window->count, window->offset, window->folded, at,
                         NULL, &used);
        hit(window, row, window->encoded ? window->offset : window->offset + used);
        (void)input_fold(window->bytes, window->count, window->offset, window->folded,
                         window->count, NULL, &used);
    }
    return NACRE_OK;
}

/* What base64 holds is scanned like the text around it, once. */
static enum nacre_status scan_base64(const struct window *outer, struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;
    size_t step;

    for (size_t at = 0; at < outer->count && status == NACRE_OK; at += step) {
        struct window inner = *outer;
        struct input_characters characters = { 0 };
        uint32_t before = outer->scan->hit_count;

        step = input_base64(outer->bytes + at, outer->count - at, outer->decoded,
                            WINDOW_BYTES, &inner.count);
        inner.bytes = outer->decoded;
        inner.offset = outer->offset + at;
        inner.encoded = true;
        step += step < outer->count - at; /* the byte that ended it */
        if (inner.count == 0)
            continue;
        status = scan_text(&inner, &characters, err);
        if (status == NACRE_OK && outer->scan->hit_count > before)
            hit_kind(&inner, INPUT_ENCODED, inner.offset);
    }
    return status;
}

enum nacre_status nacre_input_scan_add(struct nacre_input_scan *scan, const char *where,
                                       const void *bytes, size_t count,
                                       struct nacre_error *err)
{
    size_t room = count < WINDOW_BYTES ? count : WINDOW_BYTES;
    NACRE_AUTO(nacre_heap_guard) char *folded = malloc(room + 1);
    NACRE_AUTO(nacre_heap_guard) unsigned char *decoded = malloc(room + 1);
    struct input_characters characters = { 0 };
    struct window window = { .scan = scan, .where = where, .folded = folded,
                             .decoded = decoded };
    enum nacre_status status = NACRE_OK;

    if (!folded || !decoded)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory to scan the input");
    for (size_t at = 0; at < count && status == NACRE_OK;) {
        window.bytes = (const unsigned char *)bytes + at;
        window.offset = at;
        window.count = count - at < WINDOW_BYTES ? count - at : WINDOW_BYTES;
        status = scan_text(&window, &characters, err);
        if (status == NACRE_OK)
            status = scan_base64(&window, err);
        if (status == NACRE_OK)
            judge_characters(&window, &characters);
        if (window.count == count - at)
            break;
        at += WINDOW_BYTES - OVERLAP_BYTES;
    }
    return status;
}

/* ---- what it comes to ---- */

enum nacre_input_class nacre_input_scan_class(const struct nacre_input_scan *scan,
                                              enum nacre_input_mode mode)
{
    bool strict = mode == NACRE_INPUT_STRICT;

    assert(strict || mode == NACRE_INPUT_ON);
    if (scan->score >= (strict ? NACRE_INPUT_STRICT_ATTACK : NACRE_INPUT_ATTACK))
        return NACRE_INPUT_CLASS_ATTACK;
    if (scan->score >= (strict ? NACRE_INPUT_STRICT_SUSPECT : NACRE_INPUT_SUSPECT))
        return NACRE_INPUT_CLASS_SUSPECT;
    return NACRE_INPUT_CLASS_SAFE;
}

const struct nacre_input_hit *nacre_input_scan_worst(const struct nacre_input_scan *scan)
{
    const struct nacre_input_hit *worst = NULL;

    for (uint32_t i = 0; i < scan->hit_count; i++)
        if (!worst || scan->hits[i].score > worst->score)
            worst = &scan->hits[i];
    return worst;
}

enum nacre_input_action nacre_input_action(const struct nacre_policy *policy,
                                           enum nacre_input_class class)
{
    enum nacre_input_action said = NACRE_ON_INPUT_ALLOW;

    if (class == NACRE_INPUT_CLASS_ATTACK)
        said = policy->input.attack ? policy->input.attack : NACRE_ON_INPUT_BLOCK;
    else if (class == NACRE_INPUT_CLASS_SUSPECT)
        said = policy->input.suspect ? policy->input.suspect : NACRE_ON_INPUT_WARN;
    return said;
}
