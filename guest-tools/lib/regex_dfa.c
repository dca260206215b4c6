/*
 * The DFA, built state by state as the text asks for them.  A state is a set of
 * instructions that wait; and what is before it, where one of them is an assertion: once
 * that holds, those behind it may ask.
 *
 * Patterns and texts can be chosen so that every byte makes a new state.  So the cache is
 * bounded: when it is full it is emptied, and where that happens too often for the text
 * that was read meanwhile, the sets are stepped without a cache from then on.
 */
#include <string.h>

#include "regex_internal.h"
#include "scan.h"

#define STATES_MAX 8192U
#define CELLS_MAX (1U << 19) /* 2 MiB of transitions */
#define ITEMS_MAX (1U << 20)
#define BYTES_FOR_STATE 8    /* fewer read for each state made: not worth a cache */

/* What a transition leads to: one of these, or where the row of a state begins. */
enum { UNKNOWN, MATCHED, DEAD, SPECIAL_COUNT };

struct state {
    uint32_t first, count; /* in items; the first item is the context */
};

struct rx_dfa {
    const struct rx_program *program;
    struct rx_stepper stepper;
    struct rx_context context;  /* of stepper.now */
    uint8_t class_of[256], bytes_of[256];
    uint32_t stride, state_count, states_max;
    uint32_t *cells;            /* row r is state r; the first SPECIAL_COUNT are unused */
    struct state *states;
    uint32_t *items, item_count, item_room;
    uint32_t *table, table_size; /* state numbers by hash; 0 is free */
    uint32_t row_room, start;
    size_t read_since;          /* the cache was emptied, bytes */
    bool disabled;
    bool can_revive; /* in the middle of a line, from nothing */
};

/* ---- classes of bytes that no instruction tells apart ---- */

static void classes_find(struct rx_dfa *dfa)
{
    bool edges[257] = { [0] = true, ['\n'] = true, ['\n' + 1] = true };
    int class_index = -1;

    for (uint32_t i = 0; i < dfa->program->count; i++) {
        const struct rx_inst *inst = &dfa->program->insts[i];

        if (inst->op == RX_OP_BYTES && inst->low <= inst->high) {
            edges[inst->low] = true;
            edges[inst->high + 1] = true;
        } else if (inst->op == RX_OP_ASSERT && inst->low >= RX_WORD_EDGE) {
            static const int words[] = { '0', '9' + 1, 'A', 'Z' + 1, '_', '_' + 1, 'a',
                                         'z' + 1, 0x80, 0xc0 };

            dfa->can_revive |= inst->low == RX_NO_WORD_BEFORE;
            for (size_t e = 0; e < sizeof(words) / sizeof(words[0]); e++)
                edges[words[e]] = true;
        }
    }
    for (int byte = 0; byte < 256; byte++) {
        if (edges[byte])
            dfa->bytes_of[++class_index] = (uint8_t)byte;
        dfa->class_of[byte] = (uint8_t)class_index;
    }
    dfa->stride = (uint32_t)class_index + 1;
}

/* ---- the cache ---- */

static void cache_empty(struct rx_dfa *dfa)
{
    dfa->state_count = SPECIAL_COUNT;
    dfa->item_count = 0;
    dfa->start = UNKNOWN;
    dfa->read_since = 0;
    memset(dfa->table, 0, dfa->table_size * sizeof(*dfa->table));
}

struct rx_dfa *rx_dfa_new(const struct rx_program *program)
{
    struct rx_dfa *dfa = calloc(1, sizeof(*dfa));

    if (!dfa)
        return NULL;
    dfa->program = program;
    classes_find(dfa);
    dfa->states_max = CELLS_MAX / dfa->stride;
    if (dfa->states_max > STATES_MAX)
        dfa->states_max = STATES_MAX;
    dfa->table_size = 256;
    dfa->table = calloc(dfa->table_size, sizeof(*dfa->table));
    if (!rx_stepper_init(&dfa->stepper, program) || !dfa->table) {
        rx_dfa_free(dfa);
        return NULL;
    }
    dfa->state_count = SPECIAL_COUNT;
    return dfa;
}

void rx_dfa_free(struct rx_dfa *dfa)
{
    if (!dfa)
        return;
    rx_stepper_clear(&dfa->stepper);
    free(dfa->cells);
    free(dfa->states);
    free(dfa->items);
    free(dfa->table);
    free(dfa);
}

void rx_dfa_disable(struct rx_dfa *dfa)
{
    dfa->disabled = true;
    cache_empty(dfa);
}

static uint32_t hash_of(const uint32_t *items, uint32_t count)
{
    uint32_t hash = 2166136261U;

    for (uint32_t i = 0; i < count; i++)
        hash = (hash ^ items[i]) * 16777619U;
    return hash ^ hash >> 15;
}

static int compare(const void *one, const void *other)
{
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;

    return a < b ? -1 : a > b;
}

/* Writes stepper.now as a state's items behind the last; how many, 0: there is no room
 * for it even in an empty cache. */
static uint32_t items_put(struct rx_dfa *dfa)
{
    const struct rx_set *now = &dfa->stepper.now;
    uint32_t count = 1, *items;
    bool waiting = false;

    if (dfa->item_count + now->count + 1 > dfa->item_room) {
        uint32_t room = 2 * (dfa->item_room + now->count + 512);

        items = realloc(dfa->items, room * sizeof(*items));
        if (!items)
            return 0;
        dfa->items = items;
        dfa->item_room = room;
    }
    items = dfa->items + dfa->item_count;
    for (uint32_t i = 0; i < now->count; i++) {
        const struct rx_inst *inst = &dfa->program->insts[now->dense[i]];

        if (inst->op == RX_OP_ASSERT) {
            if (inst->low == RX_LINE_START ||
                (inst->low == RX_NO_WORD_BEFORE && dfa->context.word_before))
                continue; /* decided already */
            waiting = true;
        } else if (inst->op != RX_OP_BYTES) {
            continue;
        }
        items[count++] = now->dense[i];
    }
    items[0] = waiting ? (uint32_t)dfa->context.word_before |
                             (uint32_t)dfa->context.line_start << 1
                       : 0;
    qsort(items + 1, count - 1, sizeof(*items), compare);
    return count;
}

static bool table_grow(struct rx_dfa *dfa)
{
    uint32_t size = 2 * dfa->table_size;
    uint32_t *table = calloc(size, sizeof(*table));

    if (!table)
        return false;
    for (uint32_t i = SPECIAL_COUNT; i < dfa->state_count; i++) {
        const struct state *state = &dfa->states[i];
        uint32_t slot = hash_of(dfa->items + state->first, state->count) % size;

        while (table[slot] != 0)
            slot = (slot + 1) % size;
        table[slot] = i;
    }
    free(dfa->table);
    dfa->table = table;
    dfa->table_size = size;
    return true;
}

static bool rows_grow(struct rx_dfa *dfa)
{
    uint32_t room = dfa->row_room ? 2 * dfa->row_room : 32;
    uint32_t *cells;
    struct state *states;

    if (room > dfa->states_max)
        room = dfa->states_max;
    cells = realloc(dfa->cells, (size_t)room * dfa->stride * sizeof(*cells));
    if (cells)
        dfa->cells = cells;
    states = cells ? realloc(dfa->states, room * sizeof(*states)) : NULL;
    if (!states)
        return false;
    dfa->states = states;
    dfa->row_room = room;
    return true;
}

/*
 * The row of stepper.now's state, found or made.  UNKNOWN: no memory for it, or not worth
 * it: then stepper.now is gone on from.  Rows that were known before may be no more.
 */
static uint32_t state_of_now(struct rx_dfa *dfa)
{
    uint32_t count, slot;

    if (dfa->state_count >= dfa->states_max || dfa->item_count > ITEMS_MAX) {
        if (dfa->read_since < (size_t)BYTES_FOR_STATE * dfa->state_count)
            dfa->disabled = true;
        cache_empty(dfa);
    }
    count = items_put(dfa);
    if (dfa->disabled || count == 0)
        return UNKNOWN;
    if (count == 1 && !dfa->can_revive)
        return DEAD;
    if (2 * dfa->state_count > dfa->table_size && !table_grow(dfa))
        return UNKNOWN;
    slot = hash_of(dfa->items + dfa->item_count, count) % dfa->table_size;
    while (dfa->table[slot] != 0) {
        const struct state *state = &dfa->states[dfa->table[slot]];

        if (state->count == count &&
            memcmp(dfa->items + state->first, dfa->items + dfa->item_count,
                   count * sizeof(*dfa->items)) == 0)
            return dfa->table[slot] * dfa->stride;
        slot = (slot + 1) % dfa->table_size;
    }
    if (dfa->state_count >= dfa->row_room && !rows_grow(dfa))
        return UNKNOWN;
    dfa->table[slot] = dfa->state_count;
    dfa->states[dfa->state_count] = (struct state){ dfa->item_count, count };
    dfa->item_count += count;
    memset(dfa->cells + (size_t)dfa->state_count * dfa->stride, 0,
           dfa->stride * sizeof(*dfa->cells));
    return dfa->state_count++ * dfa->stride;
}

static void load_state(struct rx_dfa *dfa, uint32_t row)
{
    const struct state *state = &dfa->states[row / dfa->stride];
    const uint32_t *items = dfa->items + state->first;

    dfa->stepper.now.count = 0;
    dfa->context = (struct rx_context){ .word_before = items[0] & 1,
                                        .line_start = items[0] >> 1 };
    for (uint32_t i = 1; i < state->count; i++)
        rx_set_add(&dfa->stepper.now, items[i]);
}

/* ---- running it ---- */

/* Behind the last newline there is no line. */
static bool is_over(const uint8_t *bytes, size_t count, size_t from)
{
    return count > from && bytes[count - 1] == '\n';
}

/* Without a cache, from stepper.now; `from` is where the search began. */
static bool run_sets(struct rx_dfa *dfa, const uint8_t *bytes, size_t count, size_t from,
                     size_t at, size_t *ret_at)
{
    for (; at < count; at++)
        if (rx_step(&dfa->stepper, &dfa->context, bytes[at])) {
            *ret_at = at;
            return true;
        }
    *ret_at = count;
    return !is_over(bytes, count, from) && rx_step(&dfa->stepper, &dfa->context, '\n');
}

/* The cell that the row has for the byte, worked out.  UNKNOWN: see state_of_now(). */
static uint32_t cell_find(struct rx_dfa *dfa, uint32_t row, uint8_t byte)
{
    uint32_t class_index = dfa->class_of[byte], made, to;

    load_state(dfa, row);
    if (rx_step(&dfa->stepper, &dfa->context, byte))
        to = MATCHED;
    else {
        made = dfa->state_count;
        to = state_of_now(dfa);
        if (to == UNKNOWN || dfa->state_count < made)
            return to; /* the cache was emptied: the row is no more */
    }
    dfa->cells[row + class_index] = to;
    return to;
}

static uint32_t start_row(struct rx_dfa *dfa)
{
    if (dfa->start == UNKNOWN) {
        (void)rx_begin(&dfa->stepper, &dfa->context);
        dfa->start = state_of_now(dfa);
    }
    return dfa->start;
}

/* Runs until a cell says something else than a state; *ret_to is that cell. */
static size_t run(const struct rx_dfa *dfa, const uint8_t *bytes, size_t count, size_t at,
                  uint32_t *row, uint32_t *ret_to)
{
    const uint8_t *class_of = dfa->class_of;
    const uint32_t *cells = dfa->cells;
    uint32_t from = *row, to;

    for (; at < count; at++) {
        to = cells[from + class_of[bytes[at]]];
        if (to < SPECIAL_COUNT) {
            *row = from;
            *ret_to = to;
            return at;
        }
        from = to;
    }
    *row = from;
    *ret_to = cells[from + class_of['\n']]; /* the end of the text ends its line */
    return at;
}

/* `at` begins a line. */
static bool run_sets_from_start(struct rx_dfa *dfa, const uint8_t *bytes, size_t count,
                                size_t at, size_t *ret_at)
{
    if (at == count && at > 0)
        return false;
    (void)rx_begin(&dfa->stepper, &dfa->context);
    return run_sets(dfa, bytes, count, at, at, ret_at);
}

bool rx_dfa_search(struct rx_dfa *dfa, const uint8_t *bytes, size_t count, size_t from,
                   size_t *ret_at)
{
    size_t at = from, mark = from;
    uint32_t row = start_row(dfa), to;

    for (;;) {
        if (row == DEAD) {
            at = scan_byte(bytes, count, at, '\n');
            if (at == count)
                return false;
            at++;
            row = start_row(dfa);
            if (row == DEAD)
                return false;
        }
        if (row == UNKNOWN)
            return run_sets_from_start(dfa, bytes, count, at, ret_at);
        at = run(dfa, bytes, count, at, &row, &to);
        dfa->read_since += at - mark;
        mark = at;
        if (at == count && is_over(bytes, count, from))
            return false;
        if (to == UNKNOWN)
            to = cell_find(dfa, row, at < count ? bytes[at] : '\n');
        *ret_at = at;
        if (to == MATCHED || at == count)
            return to == MATCHED;
        at++;
        if (to == UNKNOWN)
            return run_sets(dfa, bytes, count, from, at, ret_at);
        row = to;
    }
}
