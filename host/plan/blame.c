/* An executor knows what it could not do, and by which key; the plan, where that is. */
#include <stdio.h>
#include <string.h>

#include "draft.h"
#include "nacre/path.h"

#define RULE_WORKSPACE "request.workspace"

/* Who brought the mount's directory, when a request did; NULL: the policy's line.  What a
 * session's request brings, its configuration says, and has the line. */
static const char *asked_by(const struct nacre_policy *policy,
                            const struct nacre_request *request, const char *guest)
{
    char path[NACRE_PATH_MAX];

    if (policy->alias_count > 0)
        return NULL;
    if (request->workspace && strcmp(guest, "/workspace") == 0)
        return RULE_WORKSPACE;
    for (uint32_t i = 0; i < request->mount_count; i++)
        if (nacre_path_normalise(request->mounts[i].guest, path, sizeof(path)) &&
            strcmp(path, guest) == 0)
            return RULE_ASKED_MOUNTS;
    return NULL;
}

/* The rule of the line that a mount rests on: which of the list's, or the mode. */
static void name_line(const struct nacre_plan *plan, struct nacre_denial *denial)
{
    for (uint32_t i = 0; denial->place.line > 0 && i < plan->decision_count; i++) {
        const struct nacre_decision *decision = &plan->decisions[i];

        if (decision->place.line != denial->place.line ||
            decision->place.column != denial->place.column)
            continue;
        memcpy(denial->rule, decision->rule, sizeof(denial->rule));
        return;
    }
}

static void blame_mount(const struct nacre_policy *policy, const struct nacre_plan *plan,
                        const struct nacre_request *request,
                        const struct nacre_error *err, struct nacre_denial *denial)
{
    const char *asked = asked_by(policy, request, err->path);

    if (asked) {
        nacre_rule_name(denial->rule, asked, 0);
        return;
    }
    for (uint32_t i = 0; i < plan->mount_count; i++)
        if (strncmp(plan->mounts[i].guest, err->path, sizeof(err->path) - 1) == 0)
            denial->place = plan->mounts[i].place;
    name_line(plan, denial);
}

struct nacre_denial nacre_plan_blame(const struct nacre_policy *policy,
                                     const struct nacre_plan *plan,
                                     const struct nacre_request *request,
                                     const struct nacre_error *err)
{
    struct nacre_denial denial = { 0 };
    const char *what = "";

    memcpy(denial.rule, err->rule, sizeof(denial.rule));
    (void)snprintf(denial.code, sizeof(denial.code), "%s",
                   err->path[0] ? CODE_BAD_MOUNT : CODE_NOT_ENFORCEABLE);
    if (err->path[0])
        blame_mount(policy, plan, request, err, &denial);
    for (uint32_t i = 0; !err->path[0] && i < plan->decision_count; i++)
        if (strcmp(plan->decisions[i].rule, err->rule) == 0) {
            denial.place = plan->decisions[i].place;
            what = plan->decisions[i].what;
        }
    (void)snprintf(denial.text, sizeof(denial.text), "%.200s%s%.300s", what,
                   what[0] ? ": " : "", err->text);
    (void)snprintf(denial.path, sizeof(denial.path), "%s", err->path);
    (void)snprintf(denial.fix, sizeof(denial.fix), "%s", err->fix);
    return denial;
}
