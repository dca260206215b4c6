/*
 * What every match must hold: a set of texts, one of which is in any match.  The longest
 * that can be had; looking for it is many times faster than running the DFA.
 */
#include <string.h>

#include "regex_internal.h"

struct texts {
    struct literal items[LITERALS_MAX];
    unsigned count;            /* 0: nothing is known */
    bool paired, plain_letter; /* letters that stand for both cases, or only for one */
};

struct facts {
    struct texts exact; /* the item is one of these, count 0: it is not that simple */
    struct texts held;  /* any match holds one of these */
    bool is_all;        /* exact says everything: there are no assertions in it */
};

static const struct texts empty_text = { .count = 1 };

static unsigned shortest(const struct texts *texts)
{
    unsigned least = texts->count ? UINT8_MAX : 0;

    for (unsigned i = 0; i < texts->count; i++)
        if (texts->items[i].count < least)
            least = texts->items[i].count;
    return least;
}

static void keep_better(struct texts *best, const struct texts *other)
{
    unsigned have = shortest(best), offered = shortest(other);

    if (offered > have || (offered == have && offered > 0 && other->count < best->count))
        *best = *other;
}

static void merge_flags(struct texts *to, const struct texts *from)
{
    to->paired |= from->paired;
    to->plain_letter |= from->plain_letter;
}

/* Each of one before each of the other; false: too many or too long. */
static bool join(struct texts *texts, const struct texts *more)
{
    struct texts out = { .paired = texts->paired, .plain_letter = texts->plain_letter };

    if (texts->count * more->count > LITERALS_MAX)
        return false;
    for (unsigned i = 0; i < texts->count; i++)
        for (unsigned j = 0; j < more->count; j++) {
            const struct literal *a = &texts->items[i], *b = &more->items[j];
            struct literal *item = &out.items[out.count++];

            if (a->count + b->count > LITERAL_BYTES_MAX)
                return false;
            *item = *a;
            memcpy(item->bytes + a->count, b->bytes, b->count);
            item->count = (uint8_t)(a->count + b->count);
        }
    merge_flags(&out, more);
    *texts = out;
    return true;
}

static void from_set(const struct unicode_set *set, struct facts *ret_facts)
{
    const struct unicode_range *ranges = set->ranges;
    struct texts *exact = &ret_facts->exact;
    struct literal *item = &exact->items[0];
    bool pair = set->count == 2 && ranges[0].low == ranges[0].high &&
                ranges[1].low == ranges[1].high && ranges[0].low >= 'A' &&
                ranges[0].low <= 'Z' && ranges[1].low == ranges[0].low + 32;

    ret_facts->is_all = true;
    if (!pair && !(set->count == 1 && ranges[0].low == ranges[0].high))
        return;
    exact->count = 1;
    exact->paired = pair;
    item->count = (uint8_t)unicode_encode(ranges[pair].low, item->bytes);
    exact->plain_letter = !pair && ((ranges[0].low >= 'A' && ranges[0].low <= 'Z') ||
                                    (ranges[0].low >= 'a' && ranges[0].low <= 'z'));
    ret_facts->held = *exact;
}

static void collect(const struct rx_node *node, struct facts *ret_facts);

static void from_sequence(const struct rx_node *node, struct facts *ret_facts)
{
    struct texts run = empty_text;
    bool whole = true;

    ret_facts->is_all = true;
    for (const struct rx_node *child = node->first; child; child = child->next) {
        struct facts facts;

        collect(child, &facts);
        ret_facts->is_all &= facts.is_all;
        if (facts.exact.count > 0 && join(&run, &facts.exact))
            continue;
        whole = false;
        keep_better(&ret_facts->held, &run);
        keep_better(&ret_facts->held, &facts.held);
        run = facts.exact.count > 0 ? facts.exact : empty_text;
    }
    keep_better(&ret_facts->held, &run);
    if (whole)
        ret_facts->exact = run;
}

static bool unite(struct texts *texts, const struct texts *more)
{
    if (more->count == 0 || texts->count + more->count > LITERALS_MAX)
        return false;
    for (unsigned i = 0; i < more->count; i++)
        texts->items[texts->count++] = more->items[i];
    merge_flags(texts, more);
    return true;
}

static void from_alternatives(const struct rx_node *node, struct facts *ret_facts)
{
    bool all_exact = true, all_held = true;

    ret_facts->is_all = true;
    for (const struct rx_node *child = node->first; child; child = child->next) {
        struct facts facts;

        collect(child, &facts);
        ret_facts->is_all &= facts.is_all;
        all_exact = all_exact && unite(&ret_facts->exact, &facts.exact);
        all_held = all_held && unite(&ret_facts->held, &facts.held);
    }
    if (!all_exact)
        ret_facts->exact.count = 0;
    if (!all_held)
        ret_facts->held.count = 0;
}

static void collect(const struct rx_node *node, struct facts *ret_facts)
{
    memset(ret_facts, 0, sizeof(*ret_facts));
    switch (node->kind) {
    case RX_EMPTY:
        ret_facts->is_all = true;
        ret_facts->exact = empty_text;
        break;
    case RX_ASSERT:
        ret_facts->exact = empty_text;
        break;
    case RX_SET:
        from_set(&node->set, ret_facts);
        break;
    case RX_CAT:
        from_sequence(node, ret_facts);
        break;
    case RX_ALT:
        from_alternatives(node, ret_facts);
        break;
    case RX_REPEAT:
        if (node->min > 0)
            collect(node->first, ret_facts);
        if (node->min != 1 || node->max != 1)
            ret_facts->exact.count = 0;
        break;
    }
}

static void lower(struct literals *literals)
{
    for (unsigned i = 0; i < literals->count; i++)
        for (unsigned b = 0; b < literals->items[i].count; b++)
            if (literals->items[i].bytes[b] >= 'A' && literals->items[i].bytes[b] <= 'Z')
                literals->items[i].bytes[b] += 32;
}

bool rx_literals(const struct rx_node *tree, struct literals *ret_literals,
                 bool *ret_exact)
{
    struct facts facts;
    const struct texts *held = &facts.held;
    unsigned length;

    collect(tree, &facts);
    if (facts.exact.count > 0 && facts.is_all)
        held = &facts.exact;
    length = shortest(held);
    if (length < (held->count > 1 ? 2 : 1))
        return false;
    *ret_exact = held == &facts.exact && !(held->paired && held->plain_letter);
    memcpy(ret_literals->items, held->items, sizeof(held->items));
    ret_literals->count = held->count;
    ret_literals->caseless = held->paired;
    if (held->paired)
        lower(ret_literals);
    literals_prepare(ret_literals);
    return true;
}
