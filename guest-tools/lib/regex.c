#include "regex.h"

#include <string.h>

#include "regex_internal.h"
#include "scan.h"

/* Lines that hold the literal and do not match cost twice: where there are many, the
 * DFA alone is faster. */
#define LITERAL_FAILED_MIN 64
#define LITERAL_BYTES_FOR_FAILED 64

struct nacre_regex {
    struct rx_program program;
    struct rx_dfa *dfa;
    struct rx_stepper bounds; /* made when first asked */
    struct literals literals;
    bool has_literals, literals_exact, matches_all;
    size_t failed_lines, failed_bytes;
};

static bool is_match_of_all(struct nacre_regex *regex)
{
    struct rx_stepper stepper = { 0 };
    struct rx_context context;
    bool all = rx_stepper_init(&stepper, &regex->program) && rx_begin(&stepper, &context);

    rx_stepper_clear(&stepper);
    return all;
}

struct nacre_regex *nacre_regex_new(const char *pattern, size_t count, unsigned flags,
                                    struct nacre_regex_error *ret_error)
{
    struct nacre_regex *regex = calloc(1, sizeof(*regex));
    struct rx_arena arena = { 0 };
    struct rx_node *tree;
    bool done;

    (void)rx_fault(ret_error, 0, "out of memory");
    if (!regex)
        return NULL;
    tree = rx_parse(&arena, pattern, count, flags, ret_error);
    done = tree && rx_compile(tree, flags, &regex->program, ret_error);
    if (done) {
        regex->has_literals =
            rx_literals(tree, &regex->literals, &regex->literals_exact);
        regex->dfa = rx_dfa_new(&regex->program);
        regex->matches_all = is_match_of_all(regex);
    }
    rx_arena_clear(&arena);
    if (done && !regex->dfa)
        done = rx_fault(ret_error, 0, "out of memory");
    if (!done) {
        nacre_regex_free(regex);
        return NULL;
    }
    return regex;
}

void nacre_regex_free(struct nacre_regex *regex)
{
    if (!regex)
        return;
    rx_dfa_free(regex->dfa);
    rx_stepper_clear(&regex->bounds);
    free(regex->program.insts);
    free(regex);
}

size_t nacre_regex_size(const struct nacre_regex *regex)
{
    return regex->program.count;
}

void nacre_regex_disable(struct nacre_regex *regex, bool literals, bool dfa)
{
    regex->has_literals &= !literals;
    if (dfa)
        rx_dfa_disable(regex->dfa);
}

/* ---- lines ---- */

static bool line_around(const uint8_t *bytes, size_t count, size_t at,
                        struct nacre_regex_line *ret_line)
{
    ret_line->known_at = at;
    ret_line->start = scan_behind(bytes, at, '\n');
    ret_line->end = scan_byte(bytes, count, at, '\n');
    return true;
}

static void literal_failed(struct nacre_regex *regex, size_t bytes)
{
    regex->failed_bytes += bytes;
    if (++regex->failed_lines % LITERAL_FAILED_MIN != 0)
        return;
    if (regex->failed_bytes < (size_t)LITERAL_FAILED_MIN * LITERAL_BYTES_FOR_FAILED)
        regex->has_literals = false;
    regex->failed_bytes = 0;
}

static bool next_by_literal(struct nacre_regex *regex, const uint8_t *bytes, size_t count,
                            size_t *from, struct nacre_regex_line *ret_line)
{
    size_t at;

    while (regex->has_literals && *from < count) {
        if (!literals_find(&regex->literals, bytes, count, *from, &at)) {
            *from = count;
            return false;
        }
        (void)line_around(bytes, count, at, ret_line);
        if (regex->literals_exact)
            return true;
        if (rx_dfa_search(regex->dfa, bytes + ret_line->start,
                          ret_line->end - ret_line->start, 0, &at)) {
            ret_line->known_at = ret_line->start + at;
            return true;
        }
        literal_failed(regex, ret_line->end - *from);
        *from = ret_line->end + 1;
    }
    return false;
}

bool nacre_regex_next_line(struct nacre_regex *regex, const char *text, size_t count,
                           size_t from, struct nacre_regex_line *ret_line)
{
    const uint8_t *bytes = (const uint8_t *)text;
    size_t at;

    if (from >= count)
        return false;
    if (regex->matches_all)
        return line_around(bytes, count, from, ret_line);
    if (regex->has_literals) {
        if (next_by_literal(regex, bytes, count, &from, ret_line))
            return true;
        if (from >= count)
            return false;
    }
    return rx_dfa_search(regex->dfa, bytes, count, from, &at) &&
           line_around(bytes, count, at, ret_line);
}

/* ---- bounds ---- */

struct thread {
    uint32_t at;
    size_t start;
};

/* One place in the line: the threads in order of preference go into `set`, what goes on
 * over the byte into `next`.  *ret_found: a match ends here. */
static size_t advance(struct nacre_regex *regex, const struct thread *threads,
                      size_t count, struct rx_context context, int byte,
                      struct thread *ret_next, bool *ret_found, size_t *ret_start)
{
    struct rx_set *set = &regex->bounds.now;
    size_t next_count = 0;

    *ret_found = false;
    set->count = 0;
    for (size_t t = 0; t < count; t++) {
        uint32_t begun = set->count;

        (void)rx_close(&regex->bounds, set, threads[t].at, context, byte);
        for (uint32_t i = begun; i < set->count; i++) {
            const struct rx_inst *inst = &regex->program.insts[set->dense[i]];

            if (inst->op == RX_OP_MATCH) {
                *ret_found = true;
                *ret_start = threads[t].start;
                return next_count;
            }
            if (inst->op == RX_OP_BYTES && byte >= inst->low && byte <= inst->high)
                ret_next[next_count++] = (struct thread){ inst->next, threads[t].start };
        }
    }
    return next_count;
}

bool nacre_regex_bounds(struct nacre_regex *regex, const char *text, size_t count,
                        size_t *ret_start, size_t *ret_end)
{
    const uint8_t *bytes = (const uint8_t *)text;
    size_t room = regex->program.count + 1, thread_count = 0;
    struct thread *threads = calloc(2 * room, sizeof(*threads));
    struct thread *now, *next;
    struct rx_context context = { .line_start = true };
    bool found = false;

    if (!threads || (!regex->bounds.program &&
                     !rx_stepper_init(&regex->bounds, &regex->program))) {
        free(threads);
        return false;
    }
    now = threads;
    next = threads + room;
    for (size_t at = 0; at <= count; at++) {
        int byte = at < count ? bytes[at] : '\n';
        struct thread *swap = now;
        bool ends;
        size_t start;

        /* The least preferred thread begins here, unless inside of a character. */
        if (!found && (at == 0 || (byte & 0xc0) != 0x80))
            now[thread_count++] = (struct thread){ regex->program.start, at };
        thread_count =
            advance(regex, now, thread_count, context, byte, next, &ends, &start);
        if (ends) {
            found = true;
            *ret_start = start;
            *ret_end = at;
        }
        if (found && thread_count == 0)
            break;
        context = (struct rx_context){ .word_before = rx_is_word(byte) };
        now = next;
        next = swap;
    }
    free(threads);
    return found;
}
