#include "draft.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "nacre/text.h"

#define DECISION_ROOM_MIN 32

static bool make_room(struct draft *draft)
{
    struct nacre_plan *plan = draft->plan;
    uint32_t room = draft->decision_room ? 2 * draft->decision_room : DECISION_ROOM_MIN;
    struct nacre_decision *decisions;

    if (plan->decision_count < draft->decision_room)
        return true;
    decisions = realloc(plan->decisions, room * sizeof(*decisions));
    if (!decisions) {
        draft->status = nacre_fail(draft->err, NACRE_ERR_MEMORY, "a plan of %u decisions",
                                   room);
        return false;
    }
    plan->decisions = decisions;
    draft->decision_room = room;
    return true;
}

void nacre_draft_add(struct draft *draft, const struct nacre_decision *decision)
{
    struct nacre_decision *added;

    assert(decision->rule[0]);
    assert(decision->verdict > NACRE_VERDICT_NONE &&
           decision->verdict < NACRE_VERDICT_COUNT);
    if (draft->status != NACRE_OK || !make_room(draft))
        return;
    added = &draft->plan->decisions[draft->plan->decision_count++];
    *added = *decision;
    nacre_trim(added->what);
    nacre_trim(added->fix);
    /* The mechanisms are those of the wasm executor: at another level they would be
     * a promise that nobody keeps. */
    if (draft->policy->level != NACRE_LEVEL_WASM && added->mechanism[0])
        (void)snprintf(added->mechanism, sizeof(added->mechanism),
                       "none: level %s has no executor in this build",
                       nacre_level_name(draft->policy->level));
}

struct nacre_denial nacre_decision_denial(const char *code,
                                          const struct nacre_decision *decision)
{
    struct nacre_denial denial = { .place = decision->place };

    assert(strlen(code) < sizeof(denial.code));
    (void)snprintf(denial.code, sizeof(denial.code), "%s", code);
    memcpy(denial.rule, decision->rule, sizeof(denial.rule));
    (void)snprintf(denial.text, sizeof(denial.text), "%.254s; %s", decision->what,
                   decision->fix);
    nacre_trim(denial.text);
    return denial;
}

void nacre_draft_refuse(struct draft *draft, const char *code,
                        const struct nacre_decision *decision)
{
    struct nacre_decision refusal = *decision;
    struct nacre_denial denial = nacre_decision_denial(code, decision);

    refusal.verdict = NACRE_VERDICT_REFUSE;
    refusal.mechanism[0] = '\0';
    nacre_draft_add(draft, &refusal);

    if (!draft->refused)
        draft->first = denial;
    draft->refused = true;
    draft->denied |= strcmp(code, CODE_NOT_ENFORCEABLE) != 0;
    if (draft->denials)
        nacre_result_deny(draft->denials, &denial);
}

void nacre_rule_name(char ret_rule[64], const char *key, size_t item)
{
    if (item > 0)
        (void)snprintf(ret_rule, 64, "%s[%zu]", key, item - 1);
    else
        (void)snprintf(ret_rule, 64, "%s", key);
}

/* Letters, digits and a few signs, and nothing that YAML takes for a number, a
 * boolean, a null or a mapping. */
static bool is_plain(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789/._-";
    static const char *const words[] = { "true", "false", "null", "yes", "no",
                                         "on",   "off",   "y",    "n" };

    if (!strchr("/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", text[0]))
        return false;
    for (size_t i = 0; i < NACRE_COUNT(words); i++)
        if (strcasecmp(text, words[i]) == 0)
            return false;
    return text[0] && text[strspn(text, plain)] == '\0';
}

const char *nacre_yaml_word(char ret_word[NACRE_YAML_WORD], const char *text)
{
    char escaped[NACRE_YAML_WORD - 8];
    size_t used = 0;

    if (is_plain(text) && strlen(text) < NACRE_YAML_WORD) {
        (void)snprintf(ret_word, NACRE_YAML_WORD, "%s", text);
        return ret_word;
    }
    /* Quotes and backslashes first; nacre_text_show() then adds only escapes that
     * mean the same in YAML. */
    for (; *text && used + 3 < sizeof(escaped); text++) {
        if (*text == '"' || *text == '\\')
            escaped[used++] = '\\';
        escaped[used++] = *text;
    }
    ret_word[0] = '"';
    (void)nacre_text_show(ret_word + 1, NACRE_YAML_WORD - 6, escaped, used);
    used = strlen(ret_word);
    (void)snprintf(ret_word + used, NACRE_YAML_WORD - used, "%s\"", *text ? "..." : "");
    return ret_word;
}

void nacre_trim(char *text)
{
    size_t length = strlen(text);

    while (length > 0 && !nacre_text_is_utf8(text, length))
        length--;
    text[length] = '\0';
}

char *nacre_copy(const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);

    if (copy)
        memcpy(copy, text, size);
    return copy;
}
