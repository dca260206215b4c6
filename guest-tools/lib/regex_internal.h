#ifndef NACRE_REGEX_INTERNAL_H
#define NACRE_REGEX_INTERNAL_H

#include <stdint.h>
#include <stdlib.h>

#include "literals.h"
#include "regex.h"
#include "unicode.h"

/* ---- regex_parse.c: the pattern as a tree ---- */

enum rx_kind {
    RX_EMPTY,
    RX_SET,    /* one code point of the ranges */
    RX_CAT,
    RX_ALT,
    RX_REPEAT,
    RX_ASSERT,
};

enum rx_assert {
    RX_LINE_START,
    RX_LINE_END,
    RX_WORD_EDGE,
    RX_NO_WORD_EDGE,
    RX_NO_WORD_BEFORE,
    RX_NO_WORD_BEHIND,
};

#define RX_UNBOUNDED UINT32_MAX

struct rx_node {
    enum rx_kind kind;
    enum rx_assert assert_kind;
    bool lazy;
    uint32_t min, max;       /* of a repeat */
    struct unicode_set set;  /* its ranges are the arena's */
    signed char nullable;    /* 0: not known yet, 1: it is, -1: not */
    struct rx_node *first, *last, *next, *before;
};

/* Everything of one regex is freed at once. */
struct rx_arena {
    struct rx_block *blocks;
    size_t used, room; /* of the newest block */
};
void *rx_alloc(struct rx_arena *arena, size_t bytes); /* zeroed; NULL: no memory */
void rx_arena_clear(struct rx_arena *arena);

struct rx_node *rx_parse(struct rx_arena *arena, const char *pattern, size_t count,
                         unsigned flags, struct nacre_regex_error *ret_error);
struct rx_node *rx_node_new(struct rx_arena *arena, enum rx_kind kind);
void rx_node_add(struct rx_node *parent, struct rx_node *child);
bool rx_fault(struct nacre_regex_error *ret_error, size_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- regex_class.c: what stands for a set of code points ---- */

struct rx_parser {
    struct rx_arena *arena;
    const char *at, *end, *begin;
    struct nacre_regex_error *error;
    unsigned depth;
    bool caseless, extended, quoted; /* quoted: between \Q and \E */
};

/* Behind a backslash: a set for \d, \p{L}, \x41, \n, ...; false: a fault, or *ret_known
 * is false and it is none of them. */
bool rx_escape(struct rx_parser *parser, bool in_class, struct unicode_set *set,
               bool *ret_known);
bool rx_class(struct rx_parser *parser, struct unicode_set *set); /* behind the [ */
bool rx_code_point(struct rx_parser *parser, uint32_t *ret_point);

/* ---- regex_compile.c: the tree as a program over bytes ---- */

enum rx_op { RX_OP_BYTES, RX_OP_SPLIT, RX_OP_JUMP, RX_OP_ASSERT, RX_OP_MATCH };

struct rx_inst {
    uint8_t op, low, high; /* of BYTES; `low` is ASSERT's kind */
    uint32_t next, other;  /* SPLIT: next is preferred */
};

struct rx_program {
    struct rx_inst *insts;
    uint32_t count, room, start;
};

bool rx_compile(const struct rx_node *tree, unsigned flags, struct rx_program *program,
                struct nacre_regex_error *ret_error);

/* ---- regex_literal.c: what every match must hold ---- */

/* False: nothing worth looking for.  *ret_exact: a line that holds one matches. */
bool rx_literals(const struct rx_node *tree, struct literals *ret_literals,
                 bool *ret_exact);

/* ---- regex_step.c: sets of instructions ---- */

struct rx_set {
    uint32_t *dense, *sparse;
    uint32_t count;
};
bool rx_set_init(struct rx_set *set, uint32_t room);
void rx_set_clear(struct rx_set *set);

static inline bool rx_set_has(const struct rx_set *set, uint32_t value)
{
    uint32_t at = set->sparse[value];

    return at < set->count && set->dense[at] == value;
}

static inline bool rx_set_add(struct rx_set *set, uint32_t value)
{
    if (rx_set_has(set, value))
        return false;
    set->sparse[value] = set->count;
    set->dense[set->count++] = value;
    return true;
}

/* What is known of a place in the text. */
struct rx_context {
    bool line_start, word_before;
};

struct rx_stepper {
    const struct rx_program *program;
    struct rx_set now, then, resolved;
    uint32_t *stack;
};
bool rx_stepper_init(struct rx_stepper *stepper, const struct rx_program *program);
void rx_stepper_clear(struct rx_stepper *stepper);

/* The instructions that wait for a byte behind `from`; true when MATCH is among them.
 * Assertions about what follows are left in the set, unless `next` (a byte, not -1) says
 * what does. */
bool rx_close(struct rx_stepper *stepper, struct rx_set *set, uint32_t from,
              struct rx_context context, int next);
/* stepper->now goes over `byte` (a newline: ends the line and begins the next).  True:
 * the line has matched, and `now` means nothing any more. */
bool rx_step(struct rx_stepper *stepper, struct rx_context *context, uint8_t byte);
/* `now` at the start of a line; true: everything matches. */
bool rx_begin(struct rx_stepper *stepper, struct rx_context *context);

static inline bool rx_is_word(int byte)
{
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= 'a' && byte <= 'z') || byte == '_';
}

/* ---- regex_dfa.c ---- */

struct rx_dfa;
struct rx_dfa *rx_dfa_new(const struct rx_program *program);
void rx_dfa_free(struct rx_dfa *dfa);
/* *ret_at: where it is known that the line it is in matches.  False: no line does. */
bool rx_dfa_search(struct rx_dfa *dfa, const uint8_t *bytes, size_t count, size_t from,
                   size_t *ret_at);
void rx_dfa_disable(struct rx_dfa *dfa);

#endif
