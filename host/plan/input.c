/* The scan of what a tool is given, and intents: what `explain` says of them.  Both are
 * judged before a sandbox is made, and so need nothing of it. */
#include "draft.h"
#include "nacre/explain.h"
#include "nacre/input.h"
#include "nacre/intent.h"

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
    const struct nacre_policy *policy = draft->policy;
    struct nacre_decision decision = {
        .rule = RULE(NACRE_ANNOTATION_INTENT),
        .place = policy->input.intent_place,
        .verdict = NACRE_VERDICT_NOTE,
        .what = "false: a run needs no intent; one that brings a token is held to it",
    };

    if (decision.place.line == 0)
        return;
    if (policy->input.intent != NACRE_INTENT_NEED_NEVER) {
        decision.verdict = NACRE_VERDICT_LIMIT;
        WHAT(&decision, "%s: %s runs without an intent's token, issued for exactly this "
                        "tool, arguments, session and user's input, and used once",
             nacre_intent_need_name(policy->input.intent),
             policy->input.intent == NACRE_INTENT_NEED_ALWAYS
                 ? "nothing"
                 : "nothing but a tool that only reads, and is held to that,");
        WALL(&decision, "HMAC-SHA-256 by the key in the key directory; used nonces are "
                        "kept until they expire");
    }
    nacre_draft_add(draft, &decision);
}

void nacre_answer_held(const struct nacre_policy *policy, const char *shown,
                       const char *what, struct nacre_answer *answer)
{
    nacre_answer_say(answer, RULE(NACRE_ANNOTATION_INTENT), 0, policy->input.intent_place,
                     "%s %s: without an intent this tool is held to reading", shown,
                     what);
    nacre_answer_fix(answer, "have an intent issued for exactly this call: nacre intent "
                             "issue");
}

void nacre_explain_intent(const struct nacre_policy *policy,
                          struct nacre_answer *ret_answer)
{
    static const char *const words[] = {
        [NACRE_INTENT_NEED_UNSET] = "no intent is needed",
        [NACRE_INTENT_NEED_NEVER] = "no intent is needed",
        [NACRE_INTENT_NEED_ALWAYS] = "it needs an intent: nothing runs without one",
        [NACRE_INTENT_NEED_CHANGES] =
            ("it needs an intent: only a tool whose manifest says nacre/access: read, and "
             "that can be held to that, runs without one"),
    };
    bool held = policy->input.held_to_reading;

    *ret_answer = (struct nacre_answer){ .allowed = !nacre_intent_is_required(policy) };
    nacre_answer_say(ret_answer,
                     policy->input.intent_place.line > 0 ? RULE(NACRE_ANNOTATION_INTENT)
                                                         : "",
                     0, policy->input.intent_place, "%s",
                     held ? "no intent is needed: its manifest says nacre/access: read, "
                            "and it is held to reading: no file can be written, and "
                            "nothing reached"
                          : words[policy->input.intent]);
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
