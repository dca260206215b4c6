/* The scan of what a tool is given, and intents: what `explain` says of them.  Both are
 * judged before a sandbox is made, and so need nothing of it. */
#include "draft.h"
#include "nacre/input.h"

#define RULE(key) "metadata.annotations." key

static bool is_on(const struct nacre_policy *policy)
{
    return policy->input.mode == NACRE_INPUT_ON ||
           policy->input.mode == NACRE_INPUT_STRICT;
}

static void scan(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;
    bool strict = policy->input.mode == NACRE_INPUT_STRICT;
    struct nacre_decision decision = {
        .rule = RULE(NACRE_ANNOTATION_SCAN),
        .place = policy->input.mode_place,
        .verdict = NACRE_VERDICT_NOTE,
        .what = "off: arguments and stdin are not scanned",
    };

    if (decision.place.line == 0)
        return;
    if (is_on(policy)) {
        decision.verdict = NACRE_VERDICT_LIMIT;
        WHAT(&decision, "%s: arguments and stdin are scanned: suspect from a score of "
                        "%d, an attack from %d; stdin is read to its end first, at "
                        "most %zu MiB, %s",
             strict ? "strict" : "on",
             strict ? NACRE_INPUT_STRICT_SUSPECT : NACRE_INPUT_SUSPECT,
             strict ? NACRE_INPUT_STRICT_ATTACK : NACRE_INPUT_ATTACK,
             NACRE_INPUT_BYTES_MAX >> 20,
             strict ? "and may not be a terminal" : "but a terminal is passed unread");
        WALL(&decision, "a table of rules, before the tool starts; it finds known "
                        "phrases and tricks, not every wording");
    }
    nacre_draft_add(draft, &decision);
}

static void action(struct draft *draft, const char *rule, struct nacre_place place,
                   enum nacre_input_class class)
{
    enum nacre_input_action said = nacre_input_action(draft->policy, class);
    const char *name = nacre_input_class_name(class);
    struct nacre_decision decision = { .place = place, .verdict = NACRE_VERDICT_NOTE };

    if (place.line == 0)
        return;
    nacre_rule_name(decision.rule, rule, 0);
    if (!is_on(draft->policy)) {
        WHAT(&decision, "no effect: " NACRE_ANNOTATION_SCAN " is off");
    } else if (said == NACRE_ON_INPUT_BLOCK) {
        decision.verdict = NACRE_VERDICT_DENY;
        WHAT(&decision, "%s: the run is denied", name);
        WALL(&decision, "denied with the rule's name, before anything starts");
        FIX(&decision, "change 'block' to 'warn'");
    } else {
        WHAT(&decision, "%s: the run goes on%s", name,
             said == NACRE_ON_INPUT_WARN ? ", and its result and record tell" : "");
    }
    nacre_draft_add(draft, &decision);
}

static void intent(struct draft *draft)
{
    const struct nacre_flag *required = &draft->policy->input.intent_required;
    struct nacre_decision decision = {
        .rule = RULE(NACRE_ANNOTATION_INTENT),
        .place = required->place,
        .verdict = NACRE_VERDICT_NOTE,
        .what = "false: a run needs no intent; one that brings a token is held to it",
    };

    if (decision.place.line == 0)
        return;
    if (required->on) {
        decision.verdict = NACRE_VERDICT_LIMIT;
        WHAT(&decision, "true: nothing runs without an intent's token, issued for "
                        "exactly this tool, arguments, session and user's input, and "
                        "used once");
        WALL(&decision, "HMAC-SHA-256 by the key in the key directory; used nonces are "
                        "kept until they expire");
    }
    nacre_draft_add(draft, &decision);
}

void nacre_draft_input(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;

    scan(draft);
    action(draft, RULE(NACRE_ANNOTATION_SUSPECT), policy->input.suspect_place,
           NACRE_INPUT_CLASS_SUSPECT);
    action(draft, RULE(NACRE_ANNOTATION_ATTACK), policy->input.attack_place,
           NACRE_INPUT_CLASS_ATTACK);
    intent(draft);
}
