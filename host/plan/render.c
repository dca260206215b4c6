/* Plans and answers as text for a terminal. */
#include "nacre/render.h"

#include <stdio.h>
#include <string.h>

#include "nacre/text.h"

#define WHAT_COLUMNS_MAX 56 /* a longer one pushes its mechanism to the right */

struct page {
    const struct nacre_policy *policy;
    bool colour;
    struct nacre_buf *out;
    struct nacre_error *err;
    int place_columns, rule_columns, what_columns;
};

/* Room for the longest file name that is shown and two numbers. */
#define PLACE_TEXT (NACRE_SHOWN + 24)

static const char *place_text(const struct nacre_policy *policy, const char *rule,
                              struct nacre_place place, char ret_text[PLACE_TEXT])
{
    char source[NACRE_SHOWN];

    if (place.line > 0)
        (void)snprintf(ret_text, PLACE_TEXT, "%s:%d:%d",
                       nacre_text_shown(source, policy->source), place.line,
                       place.column);
    else
        (void)snprintf(ret_text, PLACE_TEXT, "%s",
                       strncmp(rule, "request.", 8) == 0 ? "request" : "default");
    return ret_text;
}

/* Characters, not bytes: padding by printf() alone would count the latter. */
static int columns(const char *text)
{
    int count = 0;

    for (; *text; text++)
        count += ((unsigned char)*text & 0xc0) != 0x80;
    return count;
}

static int padding(const char *text, int wanted)
{
    int have = columns(text);

    return have < wanted ? wanted - have : 0;
}

static const char *colour_of(enum nacre_verdict verdict)
{
    static const char *const colours[] = {
        [NACRE_VERDICT_NONE] = "",      [NACRE_VERDICT_GRANT] = "\033[32m",
        [NACRE_VERDICT_LIMIT] = "\033[36m", [NACRE_VERDICT_DENY] = "\033[33m",
        [NACRE_VERDICT_REFUSE] = "\033[31m", [NACRE_VERDICT_NOTE] = "\033[2m",
        [NACRE_VERDICT_WAIVE] = "\033[35m",
    };

    return colours[verdict];
}

/* In the words of the policy's dialect, for who reads it. */
static struct nacre_decision spelt(const struct page *page,
                                   const struct nacre_decision *decision)
{
    struct nacre_decision copy = *decision;

    nacre_policy_spell(page->policy, copy.rule, copy.fix, sizeof(copy.fix));
    return copy;
}

static void measure(struct page *page, const struct nacre_plan *plan)
{
    for (uint32_t i = 0; i < plan->decision_count; i++) {
        const struct nacre_decision copy = spelt(page, &plan->decisions[i]);
        const struct nacre_decision *decision = &copy;
        char place[PLACE_TEXT];
        int place_columns =
            columns(place_text(page->policy, decision->rule, decision->place, place));
        int rule_columns = columns(decision->rule);
        int what_columns = columns(decision->what);

        if (place_columns > page->place_columns)
            page->place_columns = place_columns;
        if (rule_columns > page->rule_columns)
            page->rule_columns = rule_columns;
        if (what_columns > page->what_columns && what_columns <= WHAT_COLUMNS_MAX)
            page->what_columns = what_columns;
    }
}

static enum nacre_status put_head(struct page *page, const struct nacre_plan *plan,
                                  const struct nacre_executor *executor)
{
    const struct nacre_policy *policy = page->policy;
    char source[NACRE_SHOWN], hex[NACRE_HEX];
    uint32_t refused = 0, waived = 0;
    enum nacre_status status;

    for (uint32_t i = 0; i < plan->decision_count; i++) {
        refused += plan->decisions[i].verdict == NACRE_VERDICT_REFUSE;
        waived += plan->decisions[i].verdict == NACRE_VERDICT_WAIVE;
    }
    status = nacre_buf_addf(page->out, page->err, "policy  %s%s%s, %s, sha256 %.16s\n",
                            policy->name, policy->version ? " " : "",
                            policy->version ? policy->version : "",
                            nacre_text_shown(source, policy->source),
                            nacre_digest_hex(&policy->digest, hex));
    if (status != NACRE_OK)
        return status;
    if (refused > 0)
        return nacre_buf_addf(page->out, page->err, "plan    refused: %u %s below\n\n",
                              refused, refused == 1 ? "line" : "lines");
    if (executor && (plan->required & ~executor->features & ~plan->waivable))
        return nacre_buf_addf(page->out, page->err,
                              "plan    can't run here: the executor %s lacks what is "
                              "told below\n\n", executor->ops->name);
    return nacre_buf_addf(page->out, page->err, "plan    can run%s, sha256 %.16s\n\n",
                          waived ? " degraded: lines below are waived" : "",
                          nacre_digest_hex(&plan->digest, hex));
}

static enum nacre_status put_decision(struct page *page,
                                      const struct nacre_decision *planned)
{
    const struct nacre_decision copy = spelt(page, planned), *decision = &copy;
    const char *verdict = nacre_verdict_name(decision->verdict);
    char place[PLACE_TEXT];
    enum nacre_status status;

    (void)place_text(page->policy, planned->rule, decision->place, place);
    status = nacre_buf_addf(page->out, page->err, "%s%*s  %s%s%s%*s  %s%*s  %s", place,
                            padding(place, page->place_columns), "",
                            page->colour ? colour_of(decision->verdict) : "", verdict,
                            page->colour ? "\033[0m" : "", padding(verdict, 6), "",
                            decision->rule, padding(decision->rule, page->rule_columns),
                            "", decision->what);
    if (status == NACRE_OK && decision->mechanism[0])
        status = nacre_buf_addf(page->out, page->err, "%*s  [%s]",
                                padding(decision->what, page->what_columns), "",
                                decision->mechanism);
    if (status == NACRE_OK)
        status = nacre_buf_add(page->out, "\n", 1, page->err);
    return status;
}

static enum nacre_status put_fixes(struct page *page, const struct nacre_plan *plan)
{
    enum nacre_status status = NACRE_OK;
    bool first = true;

    for (uint32_t i = 0; i < plan->decision_count && status == NACRE_OK; i++) {
        const struct nacre_decision copy = spelt(page, &plan->decisions[i]);
        const struct nacre_decision *decision = &copy;
        char place[PLACE_TEXT];

        if (!decision->fix[0])
            continue;
        (void)place_text(page->policy, decision->rule, decision->place, place);
        status = nacre_buf_addf(page->out, page->err, "%s%s%*s  %s%*s  %s\n",
                                first ? "\nto change a verdict\n" : "", place,
                                padding(place, page->place_columns), "", decision->rule,
                                padding(decision->rule, page->rule_columns), "",
                                decision->fix);
        first = false;
    }
    return status;
}

static enum nacre_status put_walls(struct page *page, const struct nacre_plan *plan,
                                   const struct nacre_executor *executor)
{
    uint64_t lacks = plan->required & ~executor->features & ~plan->waivable;
    int name_columns = 0;
    enum nacre_status status;

    status = nacre_buf_addf(page->out, page->err, "\nwalls of the executor %s\n",
                            executor->ops->name);
    for (uint32_t i = 0; i < executor->mechanism_count; i++)
        if (columns(executor->mechanisms[i].name) > name_columns)
            name_columns = columns(executor->mechanisms[i].name);
    for (uint32_t i = 0; i < executor->mechanism_count && status == NACRE_OK; i++) {
        const struct nacre_mechanism *wall = &executor->mechanisms[i];

        status = nacre_buf_addf(page->out, page->err, "%s  %s%*s  %s\n",
                                wall->present ? "stands " : "lacking", wall->name,
                                padding(wall->name, name_columns), "", wall->detail);
    }
    for (uint64_t bit = 1; bit != 0 && bit <= lacks && status == NACRE_OK; bit <<= 1)
        if (lacks & bit)
            status = nacre_buf_addf(
                page->out, page->err,
                "lacking  %s, which this plan requires: it can't run here\n",
                nacre_feature_name((enum nacre_feature)bit));
    return status;
}

enum nacre_status nacre_render_plan(const struct nacre_policy *policy,
                                    const struct nacre_plan *plan,
                                    const struct nacre_executor *executor, bool colour,
                                    struct nacre_buf *out, struct nacre_error *err)
{
    struct page page = { .policy = policy, .colour = colour, .out = out, .err = err };
    enum nacre_status status;

    measure(&page, plan);
    status = put_head(&page, plan, executor);
    for (uint32_t i = 0; i < plan->decision_count && status == NACRE_OK; i++)
        status = put_decision(&page, &plan->decisions[i]);
    if (status == NACRE_OK)
        status = put_fixes(&page, plan);
    if (status == NACRE_OK && executor)
        status = put_walls(&page, plan, executor);
    return status;
}

enum nacre_status nacre_render_answer(const struct nacre_policy *policy,
                                      const char *question,
                                      const struct nacre_answer *answer, bool colour,
                                      struct nacre_buf *out, struct nacre_error *err)
{
    enum nacre_verdict verdict = answer->allowed ? NACRE_VERDICT_GRANT
                                                 : NACRE_VERDICT_REFUSE;
    const char *word = answer->allowed ? "allowed" : "denied";
    struct nacre_answer copy = *answer;
    char place[PLACE_TEXT], shown[NACRE_SHOWN];

    nacre_policy_spell(policy, copy.rule, copy.fix, sizeof(copy.fix));
    if (answer->is_path && answer->read && !answer->write)
        word = "read only";
    return nacre_buf_addf(
        out, err, "%s%s%s  %s\n  why   %s\n  rule  %s (%s)\n  flip  %s\n",
        colour ? colour_of(verdict) : "", word, colour ? "\033[0m" : "",
        nacre_text_shown(shown, question), answer->text, copy.rule,
        place_text(policy, answer->rule, answer->place, place), copy.fix);
}
