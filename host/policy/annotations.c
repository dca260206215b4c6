/*
 * Annotations.  CKP leaves them to whoever writes them and forbids a runtime to act on
 * those of others; the ones that begin with "nacre/" are ours, and a misspelt one would
 * be a guard that is not there.  The document is untrusted.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ckp.h"
#include "entries.h"
#include "nacre/input.h"
#include "nacre/text.h"

#define X(id, name) name,
static const char *const mode_words[] = { NACRE_INPUT_MODE_MAP(X) };
static const char *const action_words[] = { NACRE_INPUT_ACTION_MAP(X) };
static const char *const need_words[] = { NACRE_INTENT_NEED_MAP(X) };
#undef X

/* A text by now: "true" without its quotes would be none. */
static enum nacre_status set_require_intent(const struct nacre_reading *at,
                                            const struct nacre_node *node, void *target,
                                            struct nacre_error *err)
{
    struct nacre_policy *policy = target;
    size_t index = 0;
    enum nacre_status status = nacre_schema_read_choice(
        at, node, need_words, NACRE_COUNT(need_words), &index, err);

    if (status != NACRE_OK)
        return status;
    policy->input.intent = (enum nacre_intent_need)(index + 1);
    policy->input.intent_place = node->place;
    return NACRE_OK;
}

static char *trim(char *text)
{
    static const char blanks[] = " \t\n";
    size_t length;

    text += strspn(text, blanks);
    length = strlen(text);
    while (length > 0 && strchr(blanks, text[length - 1]))
        text[--length] = '\0';
    return text;
}

/* An annotation is a text, and so is a list in it: "a.example, *.b.example:8443".  Each
 * entry has the place of the whole. */
static enum nacre_status set_denied_hosts(const struct nacre_reading *at,
                                          const struct nacre_node *node, void *target,
                                          struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *text = NULL;
    struct nacre_rules *rules = &((struct nacre_policy *)target)->network.denied_hosts;
    struct nacre_node entry = *node;
    size_t count = 1;
    char *next;
    enum nacre_status status = nacre_schema_copy(node->text, &text, err);

    if (status != NACRE_OK)
        return status;
    for (next = text; (next = strchr(next, ',')); next++)
        count++;
    if (count > NACRE_LIST_MAX)
        return NACRE_READING_FAIL(
            at, node->place, err,
            "%s: a list may have at most %d entries, this one has %zu", at->where,
            NACRE_LIST_MAX, count);
    rules->place = node->key_place;
    rules->items = calloc(count, sizeof(*rules->items));
    if (!rules->items)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the policy");
    for (next = text; next;) {
        struct nacre_reading where = nacre_reading_entry(at, rules->count);
        struct nacre_rule *rule = &rules->items[rules->count];

        entry.text = trim(strsep(&next, ","));
        status = nacre_entry_host(&where, &entry, &rule->text, err);
        if (status != NACRE_OK)
            return status;
        rule->place = node->place;
        rules->count++;
    }
    return NACRE_OK;
}

#define WORD(key, member, list)                                               \
    .name = key, .type = NACRE_SCHEMA_WORD,                                   \
    .offset = offsetof(struct nacre_policy, member),                          \
    .place_offset = offsetof(struct nacre_policy, member##_place), .words = list, \
    .word_count = NACRE_COUNT(list)

static const struct nacre_schema_key keys[] = {
    { WORD(NACRE_ANNOTATION_SCAN, input.mode, mode_words) },
    { WORD(NACRE_ANNOTATION_SUSPECT, input.suspect, action_words) },
    { WORD(NACRE_ANNOTATION_ATTACK, input.attack, action_words) },
    { .name = NACRE_ANNOTATION_INTENT,
      .type = NACRE_SCHEMA_TEXT,
      .set = set_require_intent },
    { .name = NACRE_ANNOTATION_DENIED,
      .type = NACRE_SCHEMA_TEXT,
      .set = set_denied_hosts },
};
static const struct nacre_schema schema = { .keys = keys, .count = NACRE_COUNT(keys) };

enum nacre_status nacre_ckp_annotations(const struct nacre_reading *at,
                                        const struct nacre_node *node, void *target,
                                        struct nacre_error *err)
{
    /* One more than there are: of so many, one is unknown, and that is told. */
    struct nacre_node ours[NACRE_COUNT(keys) + 1];
    struct nacre_node all = *node;
    size_t count = 0;

    for (const struct nacre_node *child = node->first; child; child = child->next)
        if (strncmp(child->key, NACRE_ANNOTATION, strlen(NACRE_ANNOTATION)) == 0 &&
            count < NACRE_COUNT(ours))
            ours[count++] = *child;
    for (size_t i = 0; i < count; i++)
        ours[i].next = i + 1 < count ? &ours[i + 1] : NULL;
    all.first = count > 0 ? ours : NULL;
    all.count = count;
    return nacre_schema_read(&schema, at, &all, target, err);
}
