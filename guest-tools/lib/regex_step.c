/* Sets of instructions and how they go over a byte: what the DFA's states are made of,
 * and what is done byte by byte where it has too many of them. */
#include "regex_internal.h"

bool rx_set_init(struct rx_set *set, uint32_t room)
{
    set->dense = calloc(room, sizeof(*set->dense));
    set->sparse = calloc(room, sizeof(*set->sparse));
    set->count = 0;
    return set->dense && set->sparse;
}

void rx_set_clear(struct rx_set *set)
{
    free(set->dense);
    free(set->sparse);
}

bool rx_stepper_init(struct rx_stepper *stepper, const struct rx_program *program)
{
    stepper->program = program;
    stepper->stack = calloc(2U * program->count + 2, sizeof(*stepper->stack));
    return rx_set_init(&stepper->now, program->count) &&
           rx_set_init(&stepper->then, program->count) &&
           rx_set_init(&stepper->resolved, program->count) && stepper->stack;
}

void rx_stepper_clear(struct rx_stepper *stepper)
{
    rx_set_clear(&stepper->now);
    rx_set_clear(&stepper->then);
    rx_set_clear(&stepper->resolved);
    free(stepper->stack);
}

enum verdict { NO, YES, LATER };

static enum verdict judge(enum rx_assert kind, struct rx_context context, int next)
{
    bool word_behind = rx_is_word(next);

    if (kind == RX_LINE_START)
        return context.line_start ? YES : NO;
    if (kind == RX_NO_WORD_BEFORE && context.word_before)
        return NO;
    if (next < 0)
        return LATER;
    if (kind == RX_NO_WORD_BEFORE) /* a match does not begin inside of a character */
        return (next & 0xc0) != 0x80 ? YES : NO;
    if (kind == RX_LINE_END)
        return next == '\n' ? YES : NO;
    if (kind == RX_NO_WORD_BEHIND)
        return word_behind ? NO : YES;
    if (kind == RX_WORD_EDGE)
        return context.word_before != word_behind ? YES : NO;
    /* No edge, and not inside of a character either. */
    return context.word_before == word_behind && (next & 0xc0) != 0x80 ? YES : NO;
}

bool rx_close(struct rx_stepper *stepper, struct rx_set *set, uint32_t from,
              struct rx_context context, int next)
{
    uint32_t *stack = stepper->stack;
    uint32_t depth = 0;
    bool matched = false;

    stack[depth++] = from;
    while (depth > 0) {
        uint32_t index = stack[--depth];
        const struct rx_inst *inst = &stepper->program->insts[index];

        if (!rx_set_add(set, index))
            continue;
        if (inst->op == RX_OP_MATCH) {
            matched = true;
        } else if (inst->op == RX_OP_SPLIT) {
            stack[depth++] = inst->other;
            stack[depth++] = inst->next;
        } else if (inst->op == RX_OP_JUMP ||
                   (inst->op == RX_OP_ASSERT &&
                    judge((enum rx_assert)inst->low, context, next) == YES)) {
            stack[depth++] = inst->next;
        }
    }
    return matched;
}

/* The assertions that waited for what follows.  They are looked at in a set of its own:
 * what they lead to may be what led to them. */
static bool resolve(struct rx_stepper *stepper, struct rx_context context, uint8_t byte,
                    const struct rx_set **ret_from)
{
    const struct rx_inst *insts = stepper->program->insts;
    bool matched = false;

    *ret_from = &stepper->now;
    stepper->resolved.count = 0;
    for (uint32_t i = 0; i < stepper->now.count; i++) {
        const struct rx_inst *inst = &insts[stepper->now.dense[i]];

        if (inst->op == RX_OP_ASSERT &&
            judge((enum rx_assert)inst->low, context, -1) == LATER &&
            judge((enum rx_assert)inst->low, context, byte) == YES)
            matched |= rx_close(stepper, &stepper->resolved, inst->next, context, byte);
    }
    if (stepper->resolved.count == 0)
        return false;
    for (uint32_t i = 0; i < stepper->now.count; i++)
        rx_set_add(&stepper->resolved, stepper->now.dense[i]);
    *ret_from = &stepper->resolved;
    return matched;
}

bool rx_begin(struct rx_stepper *stepper, struct rx_context *context)
{
    *context = (struct rx_context){ .line_start = true };
    stepper->now.count = 0;
    return rx_close(stepper, &stepper->now, stepper->program->start, *context, -1);
}

bool rx_step(struct rx_stepper *stepper, struct rx_context *context, uint8_t byte)
{
    const struct rx_inst *insts = stepper->program->insts;
    const struct rx_set *from;
    struct rx_set swap;
    bool matched = false;

    if (resolve(stepper, *context, byte, &from))
        return true;
    if (byte == '\n') {
        /* A pattern that matches at every start of a line is dealt with elsewhere. */
        (void)rx_begin(stepper, context);
        return false;
    }
    *context = (struct rx_context){ .word_before = rx_is_word(byte) };
    stepper->then.count = 0;
    for (uint32_t i = 0; i < from->count && !matched; i++) {
        const struct rx_inst *inst = &insts[from->dense[i]];

        if (inst->op == RX_OP_BYTES && byte >= inst->low && byte <= inst->high)
            matched = rx_close(stepper, &stepper->then, inst->next, *context, -1);
    }
    matched = matched ||
              rx_close(stepper, &stepper->then, stepper->program->start, *context, -1);
    swap = stepper->now;
    stepper->now = stepper->then;
    stepper->then = swap;
    return matched;
}
