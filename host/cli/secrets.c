#include "secrets.h"

#include <stdio.h>
#include <string.h>

#include "nacre/leak.h"
#include "nacre/text.h"

static bool is_refusal(enum nacre_status status)
{
    return status == NACRE_ERR_DENIED || status == NACRE_ERR_NOT_FOUND;
}

enum nacre_status cli_secrets_preview(struct nacre_engine *engine,
                                      const struct nacre_policy *policy, const char *tool,
                                      const struct nacre_request *request,
                                      struct nacre_secret_set **ret_set,
                                      struct nacre_error *err)
{
    enum nacre_status status;

    *ret_set = NULL;
    status = nacre_engine_secrets(engine, policy, tool, request, ret_set, err);
    return is_refusal(status) ? NACRE_OK : status;
}

/* The `number`th line of that rule: there is one for each name. */
static struct nacre_decision *find_line(struct nacre_plan *draft, const char *rule,
                                        size_t number)
{
    for (uint32_t i = 0; i < draft->decision_count; i++)
        if (strcmp(draft->decisions[i].rule, rule) == 0 && number-- == 0)
            return &draft->decisions[i];
    return NULL;
}

static void refuse(struct nacre_decision *line, const struct nacre_policy *policy,
                   const char *name, const struct nacre_error *why)
{
    int length = (int)strcspn(name, "=");
    char shown[NACRE_SHOWN];

    line->verdict = NACRE_VERDICT_REFUSE;
    line->mechanism[0] = '\0';
    (void)snprintf(line->what, sizeof(line->what), "%.255s", why->text);
    if (why->status == NACRE_ERR_DENIED)
        (void)snprintf(line->fix, sizeof(line->fix),
                       "nacre secret grant %.*s --to 'policy:%s'", length, name,
                       nacre_text_shown(shown, policy->name));
    else
        (void)snprintf(line->fix, sizeof(line->fix), "nacre secret set %.*s", length,
                       name);
}

static void warn_if_short(struct nacre_decision *line, const struct nacre_secret_set *set)
{
    size_t used = strlen(line->what);

    if (set->count > 0 && set->items[0].count < NACRE_LEAK_VALUE_MIN)
        (void)snprintf(line->what + used, sizeof(line->what) - used,
                       "; warning: under %d bytes, so it is not searched for in what "
                       "leaves",
                       NACRE_LEAK_VALUE_MIN);
}

static enum nacre_status settle(struct nacre_engine *engine,
                                const struct nacre_policy *policy, const char *tool,
                                const struct nacre_request *request, const char *rule,
                                const char *const *names, struct nacre_plan *draft,
                                struct nacre_error *err)
{
    for (size_t i = 0; names && names[i]; i++) {
        NACRE_AUTO(nacre_secret_set_guard) struct nacre_secret_set *set = NULL;
        struct nacre_decision *line = find_line(draft, rule, i);
        struct nacre_request one = *request;
        enum nacre_status status;

        one.secrets = (const char *const[]){ names[i], NULL };
        one.tokens = NULL;
        status = nacre_engine_secrets(engine, policy, tool, &one, &set, err);
        if (status != NACRE_OK && !is_refusal(status))
            return status;
        if (line && status != NACRE_OK)
            refuse(line, policy, names[i], err);
        else if (line && line->verdict != NACRE_VERDICT_REFUSE)
            warn_if_short(line, set);
    }
    return NACRE_OK;
}

enum nacre_status cli_secrets_settle(struct nacre_engine *engine,
                                     const struct nacre_policy *policy, const char *tool,
                                     const struct nacre_request *request,
                                     struct nacre_plan *draft, struct nacre_error *err)
{
    enum nacre_status status;

    if (policy->secrets.place.line == 0)
        return NACRE_OK;
    status = settle(engine, policy, tool, request, "request.secrets", request->secrets,
                    draft, err);
    if (status == NACRE_OK)
        status = settle(engine, policy, tool, request, "request.tokens", request->tokens,
                        draft, err);
    return status;
}
