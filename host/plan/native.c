/*
 * What a request says beyond mounts and limits: where a command starts, whose sandbox it
 * is, what may go unenforced.  The policy is trusted, the request is not.
 */
#include <string.h>

#include "draft.h"
#include "nacre/path.h"
#include "nacre/text.h"
#include "network.h"

static void refuse(struct draft *draft, const char *rule, const char *code,
                   const char *what, const char *fix)
{
    struct nacre_decision decision = { 0 };

    nacre_rule_name(decision.rule, rule, 0);
    WHAT(&decision, "%s", what);
    FIX(&decision, "%s", fix);
    nacre_draft_refuse(draft, code, &decision);
}

static void note(struct draft *draft, const char *rule, const char *what)
{
    struct nacre_decision decision = { .verdict = NACRE_VERDICT_NOTE };

    nacre_rule_name(decision.rule, rule, 0);
    WHAT(&decision, "%s", what);
    nacre_draft_add(draft, &decision);
}

/* ---- where a command starts ---- */

static bool is_mounted(const struct nacre_plan *plan, const char *guest)
{
    for (uint32_t i = 0; i < plan->mount_count; i++)
        if (strcmp(plan->mounts[i].guest, guest) == 0)
            return true;
    return false;
}

/* At level none a directory is one of the host, and the workspace is only that. */
static const char *default_directory(const struct draft *draft)
{
    if (draft->plan->container.workdir)
        return draft->plan->container.workdir;
    if (draft->policy->level == NACRE_LEVEL_NONE)
        return draft->request->workspace ? draft->request->workspace : "/";
    return is_mounted(draft->plan, "/workspace") ? "/workspace" : "/";
}

static void directory(struct draft *draft)
{
    const char *asked = draft->request->directory ? draft->request->directory
                                                  : default_directory(draft);
    char path[NACRE_PATH_MAX];

    /* A name below /proc leads wherever its process looks. */
    if (asked[0] != '/' || !nacre_path_normalise(asked, path, sizeof(path)) ||
        nacre_path_is_below(path, "/proc", NULL)) {
        refuse(draft, "request.directory", CODE_BAD_REQUEST,
               "the directory to start in is not an absolute path of the sandbox, or "
               "lies in /proc",
               "give one like /workspace/src");
        return;
    }
    draft->plan->directory = nacre_draft_copy(draft, path);
    if (draft->policy->level == NACRE_LEVEL_NONE && !draft->request->directory &&
        strcmp(path, "/") == 0)
        note(draft, "request.directory",
             "the command starts in /: --workspace or --directory says where else");
}

/* ---- whose sandbox it is ---- */

static bool is_given(const char *text)
{
    return text && text[0];
}

static void scope_key(struct draft *draft, const char *kind, const char *name)
{
    size_t size = strlen(kind) + strlen(name) + 2;
    char *key = malloc(size);

    if (!key) {
        draft->status = nacre_fail(draft->err, NACRE_ERR_MEMORY, "a plan");
        return;
    }
    /* With its kind in front: a session called "shared" is no one else's sandbox. */
    (void)snprintf(key, size, "%s%s%s", kind, name[0] ? ":" : "", name);
    draft->plan->scope_key = key;
}

static void scope(struct draft *draft)
{
    const struct nacre_request *request = draft->request;
    enum nacre_scope asked = request->scope;
    struct nacre_decision decision = { .rule = "request.scope",
                                       .verdict = NACRE_VERDICT_GRANT,
                                       .mechanism = "labelled with a hash of its "
                                                    "configuration" };

    draft->plan->scope = NACRE_SCOPE_RUN;
    if (asked == NACRE_SCOPE_SESSION && !is_given(request->session)) {
        refuse(draft, "request.scope", CODE_BAD_REQUEST,
               "scope session, and no session is named", "give --session KEY");
        return;
    }
    if (asked == NACRE_SCOPE_AGENT && !is_given(request->agent)) {
        refuse(draft, "request.scope", CODE_BAD_REQUEST,
               "scope agent, and no agent is named", "give --agent NAME");
        return;
    }
    if (!(draft->walls->features & NACRE_FEATURE_WARM)) {
        if (asked != NACRE_SCOPE_UNSET && asked != NACRE_SCOPE_RUN)
            note(draft, "request.scope",
                 "at this level every run has a sandbox of its own; what is private to "
                 "the scope are its directories");
        return;
    }
    if (asked == NACRE_SCOPE_UNSET)
        asked = is_given(request->session) ? NACRE_SCOPE_SESSION : NACRE_SCOPE_RUN;
    draft->plan->scope = asked;
    if (asked == NACRE_SCOPE_RUN)
        return;
    draft->plan->required |= NACRE_FEATURE_WARM;
    scope_key(draft, nacre_scope_name(asked),
              asked == NACRE_SCOPE_SESSION ? request->session
              : asked == NACRE_SCOPE_AGENT ? request->agent
                                           : "");
    WHAT(&decision, "%s: the sandbox stays warm for the next run of it",
         nacre_scope_name(asked));
    nacre_draft_add(draft, &decision);
}

/* ---- what may go unenforced ---- */

static const struct {
    uint64_t feature;
    const char *name;
} waivers[] = {
#define X(id, name) { NACRE_FEATURE_##id, name },
    NACRE_WAIVER_MAP(X)
#undef X
};

const char *nacre_waiver_name(enum nacre_feature feature)
{
    for (size_t i = 0; i < NACRE_COUNT(waivers); i++)
        if (waivers[i].feature == (uint64_t)feature)
            return waivers[i].name;
    return NULL;
}

static const char *last_part(const char *key)
{
    const char *dot = strrchr(key, '.');

    return dot ? dot + 1 : key;
}

/* Is `name` this waiver's, or what the policy's own dialect calls its line?  The advice
 * is spelled in that dialect, and has to work as it is. */
static bool is_waiver(const struct nacre_policy *policy, const char *waiver,
                      const char *name)
{
    for (size_t i = 0; i < policy->alias_count; i++)
        if (strcmp(last_part(policy->aliases[i].rule), waiver) == 0 &&
            strcmp(last_part(policy->aliases[i].key), name) == 0)
            return true;
    return strcmp(waiver, name) == 0;
}

static void refuse_waiver(struct draft *draft, const char *name)
{
    struct nacre_decision decision = { .rule = "request.waive" };
    char shown[NACRE_SHOWN];
    size_t used;

    WHAT(&decision, "'%s' is not a line that can be waived",
         nacre_text_shown(shown, name));
    FIX(&decision, "known are");
    for (size_t i = 0; i < NACRE_COUNT(waivers); i++) {
        used = strlen(decision.fix);
        if (i == 0 || strcmp(waivers[i].name, waivers[i - 1].name) != 0)
            (void)snprintf(decision.fix + used, sizeof(decision.fix) - used, "%s %s",
                           i ? "," : "", waivers[i].name);
    }
    nacre_draft_refuse(draft, CODE_BAD_WAIVER, &decision);
}

/* The hosts' own lines say what becomes of each; the run as a whole is degraded. */
static void waive_tunnels(struct draft *draft)
{
    const struct nacre_egress *egress = &draft->plan->egress;
    bool used = nacre_egress_is_open(egress) && egress->scan &&
                egress->way == NACRE_WAY_TUNNEL;

    if (used) {
        draft->plan->required |= NACRE_FEATURE_TUNNEL_SCAN;
        draft->plan->waivable |= NACRE_FEATURE_TUNNEL_SCAN;
    }
    note(draft, used ? RULE_WAIVED_TUNNELS : "request.waive",
         used ? NACRE_WAIVER_TUNNEL ": what goes through a tunnel is not scanned"
              : NACRE_WAIVER_TUNNEL ": no effect: no tunnel would be scanned");
}

static void waive(struct draft *draft)
{
    const char *const *names = draft->request->waive;

    for (size_t i = 0; names && names[i]; i++) {
        uint64_t mask = 0;
        char what[160];

        if (strcmp(names[i], NACRE_WAIVER_TUNNEL) == 0) {
            waive_tunnels(draft);
            continue;
        }
        for (size_t k = 0; k < NACRE_COUNT(waivers); k++)
            if (is_waiver(draft->policy, waivers[k].name, names[i]))
                mask |= waivers[k].feature;
        if (mask == 0) {
            refuse_waiver(draft, names[i]);
            continue;
        }
        draft->plan->waivable |= mask & draft->plan->required;
        (void)snprintf(what, sizeof(what), "%s: %s", names[i],
                       mask & draft->plan->required
                           ? "enforced where it can be; where it can't, the run goes on "
                             "and says degraded"
                           : "no effect: the policy does not ask for it, or it "
                             "holds everywhere");
        note(draft, "request.waive", what);
    }
}

/* ---- what belongs to another level ---- */

static void misplaced(struct draft *draft)
{
    const struct nacre_request *request = draft->request;
    bool native = nacre_level_is_native(draft->policy->level);

    if (native && request->fuel > 0)
        refuse(draft, "request.fuel", CODE_WRONG_LEVEL,
               "fuel is counted at level wasm alone",
               "leave --fuel out: --timeout-ms bounds a command");
    if (native && request->invoke)
        refuse(draft, "request.invoke", CODE_WRONG_LEVEL,
               "an export is invoked at level wasm alone", "leave --invoke out");
    if (native && request->trace_fd > 0)
        refuse(draft, "request.trace", CODE_WRONG_LEVEL,
               "host calls are traced at level wasm alone", "trace a module");
    if (!native && request->directory)
        refuse(draft, "request.directory", CODE_WRONG_LEVEL,
               "a guest at level wasm starts in no directory",
               "leave --directory out");
    if (request->image && !nacre_level_has_image(draft->policy->level))
        refuse(draft, "request.image", CODE_WRONG_LEVEL,
               "there are images at levels container and vm alone",
               "leave --image out, or take a policy of level container");
    if (request->dial_fd > 0 && draft->policy->level != NACRE_LEVEL_CONTAINER)
        refuse(draft, "request.dial", CODE_WRONG_LEVEL,
               "there are connections into a sandbox at level container alone",
               "take a policy of level container");
    if (request->unsandboxed && draft->policy->level != NACRE_LEVEL_NONE)
        note(draft, "request.unsandboxed",
             "no effect: the policy asks for a sandbox, so there is one");
}

void nacre_draft_request(struct draft *draft)
{
    misplaced(draft);
    scope(draft);
    waive(draft);
    if (nacre_level_is_native(draft->policy->level))
        directory(draft);
}
