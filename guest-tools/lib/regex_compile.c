/*
 * From a tree to a program over bytes.  It is built from its end to its start: an item
 * is compiled when what follows it is known, so that nothing but loops is patched and
 * equal ends of UTF-8 sequences are one.
 */
#include <string.h>

#include "regex_internal.h"

/* Compiling nothing a thousand times a thousand times takes no room, but time. */
#define WORK_MAX (20U * NACRE_REGEX_PROGRAM_MAX)
#define SHARED_COUNT 512

struct compiler {
    struct rx_program *program;
    unsigned flags;
    uint32_t work;
    bool too_large, no_memory;
    uint32_t shared[SHARED_COUNT]; /* index + 1 of instructions that take bytes */
};

static bool is_stopped(const struct compiler *compiler)
{
    return compiler->too_large || compiler->no_memory;
}

static uint32_t emit(struct compiler *compiler, struct rx_inst inst)
{
    struct rx_program *program = compiler->program;

    if (program->count >= NACRE_REGEX_PROGRAM_MAX)
        compiler->too_large = true;
    if (is_stopped(compiler))
        return 0;
    if (program->count == program->room) {
        uint32_t room = program->room ? 2 * program->room : 64;
        struct rx_inst *insts = realloc(program->insts, room * sizeof(*insts));

        if (!insts) {
            compiler->no_memory = true;
            return 0;
        }
        program->insts = insts;
        program->room = room;
    }
    program->insts[program->count] = inst;
    return program->count++;
}

static uint32_t emit_split(struct compiler *compiler, uint32_t preferred, uint32_t other,
                           bool lazy)
{
    return emit(compiler, (struct rx_inst){ .op = RX_OP_SPLIT,
                                            .next = lazy ? other : preferred,
                                            .other = lazy ? preferred : other });
}

static uint32_t emit_bytes(struct compiler *compiler, uint8_t low, uint8_t high,
                           uint32_t next)
{
    uint32_t slot = (low * 31U + high * 7U + next * 2654435761U) % SHARED_COUNT;
    uint32_t known = compiler->shared[slot];

    if (known > 0) {
        const struct rx_inst *inst = &compiler->program->insts[known - 1];

        if (inst->low == low && inst->high == high && inst->next == next)
            return known - 1;
    }
    known = emit(compiler, (struct rx_inst){ .op = RX_OP_BYTES, .low = low, .high = high,
                                             .next = next });
    if (!is_stopped(compiler))
        compiler->shared[slot] = known + 1;
    return known;
}

/* ---- sets of code points ---- */

struct alternatives {
    uint32_t entry, next;
    bool any;
};

static void add_sequence(struct compiler *compiler, struct alternatives *all,
                         uint32_t low, uint32_t high)
{
    uint8_t lows[4], highs[4];
    size_t length = unicode_encode(low, lows);
    uint32_t entry = all->next;

    unicode_encode(high, highs);
    for (size_t i = length; i > 0; i--)
        entry = emit_bytes(compiler, lows[i - 1], highs[i - 1], entry);
    all->entry = all->any ? emit_split(compiler, entry, all->entry, false) : entry;
    all->any = true;
}

/* Cut where the length of the UTF-8 changes and where a part of it would not be free to
 * take all its values. */
static void add_range(struct compiler *compiler, struct alternatives *all, uint32_t low,
                      uint32_t high)
{
    static const uint32_t lengths[] = { 0x7f, 0x7ff, 0xffff };

    for (size_t i = 0; i < 3; i++)
        if (low <= lengths[i] && high > lengths[i]) {
            add_range(compiler, all, low, lengths[i]);
            add_range(compiler, all, lengths[i] + 1, high);
            return;
        }
    for (int i = 1; high >= 0x80 && i < 4; i++) {
        uint32_t mask = (1U << (6 * i)) - 1;

        if ((low & ~mask) == (high & ~mask))
            continue;
        if ((low & mask) != 0) {
            add_range(compiler, all, low, low | mask);
            add_range(compiler, all, (low | mask) + 1, high);
            return;
        }
        if ((high & mask) != mask) {
            add_range(compiler, all, low, (high & ~mask) - 1);
            add_range(compiler, all, high & ~mask, high);
            return;
        }
    }
    add_sequence(compiler, all, low, high);
}

static uint32_t compile_set(struct compiler *compiler, const struct unicode_set *set,
                            uint32_t next)
{
    struct alternatives all = { .next = next };

    for (size_t i = 0; i < set->count && !is_stopped(compiler); i++)
        add_range(compiler, &all, set->ranges[i].low, set->ranges[i].high);
    if (!all.any) /* nothing is in it, so nothing matches */
        return emit(compiler,
                    (struct rx_inst){ .op = RX_OP_BYTES, .low = 1, .next = next });
    return all.entry;
}

/* ---- the tree ---- */

static bool is_nullable(struct rx_node *node)
{
    bool is;

    if (node->nullable != 0)
        return node->nullable > 0;
    is = node->kind != RX_ALT && node->kind != RX_SET;
    if (node->kind == RX_CAT || node->kind == RX_ALT)
        for (struct rx_node *child = node->first; child; child = child->next)
            is = node->kind == RX_CAT ? is && is_nullable(child)
                                      : is || is_nullable(child);
    else if (node->kind == RX_REPEAT)
        is = node->min == 0 || is_nullable(node->first);
    node->nullable = is ? 1 : -1;
    return is;
}

static uint32_t compile(struct compiler *compiler, const struct rx_node *node,
                        uint32_t next);

static uint32_t compile_alternatives(struct compiler *compiler,
                                     const struct rx_node *node, uint32_t next)
{
    uint32_t entry = compile(compiler, node->last, next);

    for (const struct rx_node *child = node->last->before; child; child = child->before)
        entry = emit_split(compiler, compile(compiler, child, next), entry, false);
    return entry;
}

/* x* of something that may be empty is (x+)?: else its first empty round would be
 * taken for having been here before, and a later alternative would be preferred. */
static uint32_t compile_loop(struct compiler *compiler, const struct rx_node *node,
                             uint32_t next)
{
    uint32_t loop = emit_split(compiler, next, next, false);
    uint32_t body = compile(compiler, node->first, loop);

    if (is_stopped(compiler))
        return 0;
    compiler->program->insts[loop].next = node->lazy ? next : body;
    compiler->program->insts[loop].other = node->lazy ? body : next;
    if (node->min > 0)
        return body;
    if (is_nullable(node->first))
        return emit_split(compiler, body, next, node->lazy);
    return loop;
}

static uint32_t compile_repeat(struct compiler *compiler, const struct rx_node *node,
                               uint32_t next)
{
    uint32_t entry = next, copies = node->min;

    if (node->max == RX_UNBOUNDED) {
        entry = compile_loop(compiler, node, next);
        copies -= copies > 0;
    } else {
        for (uint32_t i = node->min; i < node->max && !is_stopped(compiler); i++)
            entry = emit_split(compiler, compile(compiler, node->first, entry), next,
                               node->lazy);
    }
    for (uint32_t i = 0; i < copies && !is_stopped(compiler); i++)
        entry = compile(compiler, node->first, entry);
    return entry;
}

static uint32_t compile_assert(struct compiler *compiler, const struct rx_node *node,
                               uint32_t next)
{
    uint32_t entry = emit(compiler, (struct rx_inst){ .op = RX_OP_ASSERT,
                                                      .low = (uint8_t)node->assert_kind,
                                                      .next = next });

    if (node->assert_kind == RX_LINE_END && (compiler->flags & NACRE_REGEX_CRLF))
        return emit_split(compiler, entry, emit_bytes(compiler, '\r', '\r', entry),
                          false);
    return entry;
}

static uint32_t compile(struct compiler *compiler, const struct rx_node *node,
                        uint32_t next)
{
    if (++compiler->work > WORK_MAX)
        compiler->too_large = true;
    if (is_stopped(compiler))
        return 0;
    switch (node->kind) {
    case RX_EMPTY:
        return next;
    case RX_SET:
        return compile_set(compiler, &node->set, next);
    case RX_CAT:
        for (const struct rx_node *child = node->last; child; child = child->before)
            next = compile(compiler, child, next);
        return next;
    case RX_ALT:
        return compile_alternatives(compiler, node, next);
    case RX_REPEAT:
        return compile_repeat(compiler, node, next);
    case RX_ASSERT:
        return compile_assert(compiler, node, next);
    }
    return next;
}

bool rx_compile(const struct rx_node *tree, unsigned flags, struct rx_program *program,
                struct nacre_regex_error *ret_error)
{
    struct compiler compiler = { .program = program, .flags = flags };
    uint32_t match = emit(&compiler, (struct rx_inst){ .op = RX_OP_MATCH });

    program->start = compile(&compiler, tree, match);
    if (compiler.no_memory)
        return rx_fault(ret_error, 0, "out of memory");
    if (compiler.too_large)
        return rx_fault(ret_error, 0,
                        "the pattern is too large when its repeats are written out (more "
                        "than %d steps): use smaller numbers in {}, or + and *",
                        NACRE_REGEX_PROGRAM_MAX);
    return true;
}
