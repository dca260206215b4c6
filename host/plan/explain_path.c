/* Trusts the policy; the path and the request are anybody's. */
#include <stdio.h>
#include <string.h>

#include "draft.h"
#include "mounts.h"
#include "nacre/explain.h"
#include "nacre/path.h"
#include "nacre/text.h"

struct question {
    const struct nacre_policy *policy;
    const struct candidates *list;
    const struct candidate *at; /* the innermost one at or above the path, or NULL */
    const char *guest;          /* the path, normalised */
    char wanted[NACRE_PATH_MAX]; /* what a mount of it would be called */
    char host[NACRE_PATH_MAX];  /* the same on the host; "" when there is none */
    char shown[NACRE_SHOWN];
};

static bool is_visible(const struct candidate *at)
{
    return at && (at->fate == FATE_MOUNT || at->fate == FATE_TREE);
}

static void find_host(struct question *question)
{
    const struct candidate *at = question->at;
    const char *rest = "";

    if (!at || !at->host || !nacre_path_is_below(question->guest, at->guest, &rest))
        return;
    /* What does not fit is too long for the kernel as well. */
    if ((size_t)snprintf(question->host, sizeof(question->host), "%s%s%s", at->host,
                         rest[0] && strcmp(at->host, "/") != 0 ? "/" : "", rest) >=
        sizeof(question->host))
        question->host[0] = '\0';
}

static void find_wanted(struct question *question, bool is_file)
{
    char *slash;

    memcpy(question->wanted, question->guest, strlen(question->guest) + 1);
    slash = strrchr(question->wanted, '/');
    if (is_file && slash)
        slash[slash == question->wanted ? 1 : 0] = '\0'; /* "/" is a directory, too */
}

/* Does line `item` of denied_paths hide the path? */
static bool is_denied_by(const struct question *question, size_t item)
{
    const struct candidates *list = question->list;

    for (size_t i = 0; i < list->denied_count; i++) {
        const struct denied_name *denied = &list->denied[i];

        if (denied->item != item)
            continue;
        if (!denied->host_only &&
            nacre_path_is_below(question->guest, denied->path, NULL))
            return true;
        if (question->host[0] && !denied->guest_only &&
            nacre_path_is_below(question->host, denied->path, NULL))
            return true;
    }
    return false;
}

/* False when no line denies it.  Every line that does must go before the path opens. */
static bool answer_denied(const struct question *question, struct nacre_answer *answer)
{
    const struct nacre_rules *rules = &question->policy->filesystem.denied_paths;
    bool denied = false;

    for (size_t i = 0; i < rules->count; i++) {
        char path[NACRE_SHOWN];

        if (!is_denied_by(question, i + 1))
            continue;
        (void)nacre_text_shown(path, rules->items[i].text);
        if (!denied)
            nacre_answer_say(
                answer, RULE_DENIED, i + 1, rules->items[i].place,
                "%s is at or below the denied path %s; denied_paths win over every mount",
                question->shown, path);
        nacre_answer_fix(answer, "remove '%s' from denied_paths (line %d)", path,
                         rules->items[i].place.line);
        denied = true;
    }
    return denied;
}

/* No policy opens these, and a guest that could write /proc/self/mem would own us. */
static bool is_kernel(const struct question *question)
{
    static const char *const tops[] = { "/proc", "/sys", "/dev" };

    /* A mount may start there; but from "/" the way to it leads through /dev. */
    if (question->at->host && nacre_path_is_below(question->at->host, "/dev/shm", NULL))
        return false;
    for (size_t i = 0; i < NACRE_COUNT(tops); i++)
        if (nacre_path_is_below(question->host, tops[i], NULL))
            return true;
    return false;
}

static void fix_mode(const struct nacre_policy *policy, struct nacre_answer *answer,
                     const char *from)
{
    if (policy->filesystem.mode_place.line > 0)
        nacre_answer_change(answer, policy, policy->filesystem.mode_place, from,
                            "scoped");
    else
        nacre_answer_fix(answer, "add under spec.capabilities.filesystem: mode: scoped");
}

static void fix_mount(const struct question *question, struct nacre_answer *answer,
                      const char *path, bool writable)
{
    char fix[256];

    nacre_mount_fix(question->policy, path, writable, fix, sizeof(fix));
    nacre_answer_fix(answer, "%s", fix);
    if (path[0] != '/')
        nacre_answer_fix(answer, "ask for a mount: --mount %s=DIR", question->shown);
}

/* `said`: another obstacle has decided already, this one only adds its edits. */
static void answer_invisible(const struct question *question, bool said,
                             struct nacre_answer *answer)
{
    const struct nacre_policy *policy = question->policy;
    const struct candidate *at = question->at;
    struct nacre_answer scrap = { 0 };
    struct nacre_answer *told = said ? &scrap : answer;
    struct nacre_decision decision;

    if (policy->filesystem.mode == NACRE_FILESYSTEM_DENY) {
        nacre_answer_say(told, RULE_FS_MODE, 0,
                         policy->filesystem.mode_place,
                         "%s is not visible: mode is deny, so no directory is",
                         question->shown);
        fix_mode(policy, answer, "deny");
        if (!at || at->item == 0)
            fix_mount(question, answer, question->wanted, false);
    } else if (!at) {
        bool listed = policy->filesystem.mounts.place.line > 0;

        nacre_answer_say(
            told, listed ? RULE_MOUNTS : RULE_FS_MODE, 0,
            listed ? policy->filesystem.mounts.place : policy->filesystem.mode_place,
            "%s is not visible: no mount is at or above it", question->shown);
        fix_mount(question, answer, question->wanted, false);
    } else if (at->fate != FATE_DENIED_PATH) {
        (void)nacre_candidate_decide(policy, at, &decision);
        nacre_answer_say(told, decision.rule, 0, decision.place,
                         "%s is not visible: %s", question->shown, decision.what);
        nacre_answer_fix(answer, "%s", decision.fix);
    }
}

static void answer_read_only(const struct question *question, struct nacre_answer *answer)
{
    const struct nacre_policy *policy = question->policy;
    const struct candidate *at = question->at;
    const struct nacre_mount_rule *rule =
        at->item > 0 ? &policy->filesystem.mounts.items[at->item - 1] : NULL;
    char mount[NACRE_SHOWN];
    char key[64];

    if (policy->input.held_to_reading) {
        nacre_answer_held(policy, question->shown, "is readable, not writable", answer);
        return;
    }
    (void)nacre_text_shown(mount, at->guest);
    if (policy->filesystem.mode == NACRE_FILESYSTEM_READ_ONLY) {
        nacre_answer_say(
            answer, RULE_FS_MODE, 0, policy->filesystem.mode_place,
            "%s is readable, not writable: mode read-only holds for every mount, also "
            "for %s",
            question->shown, mount);
        fix_mode(policy, answer, "read-only");
        if (!rule)
            fix_mount(question, answer, "/workspace", true);
    } else if (!rule ||
               (nacre_mount_mode(policy) == NACRE_FILESYSTEM_SCOPED && rule->writable) ||
               nacre_mount_mode(policy) == NACRE_FILESYSTEM_FULL) {
        nacre_answer_say(answer, RULE_ASKED_MOUNTS, 0, (struct nacre_place){ 0 },
                         "%s is readable, not writable: the request asks for its mount "
                         "read-only", question->shown);
        nacre_answer_fix(answer, "ask for the mount with ':rw'");
        return;
    } else {
        (void)snprintf(key, sizeof(key), RULE_MOUNTS "[%zu].permissions", at->item - 1);
        nacre_answer_say(answer, key, 0, rule->permissions_place,
                         "%s is readable, not writable: the mount %s is ro",
                         question->shown, mount);
    }
    if (rule && !rule->writable)
        nacre_answer_change(answer, policy, rule->permissions_place, "ro", "rw");
}

static void answer_visible(const struct question *question, struct nacre_answer *answer)
{
    const struct nacre_policy *policy = question->policy;
    const struct candidate *at = question->at;
    char mount[NACRE_SHOWN], host[NACRE_SHOWN];

    answer->allowed = answer->read = true;
    answer->write = at->writable;
    if (!at->writable) {
        answer_read_only(question, answer);
        return;
    }
    nacre_answer_say(answer, at->item > 0 ? RULE_MOUNTS : RULE_FS_MODE, at->item,
                     at->item > 0 ? policy->filesystem.mounts.items[at->item - 1].place
                                  : policy->filesystem.mode_place,
                     "%s is readable and writable: in the mount %s, %s%s",
                     question->shown, nacre_text_shown(mount, at->guest),
                     at->host ? "from " : "private",
                     at->host ? nacre_text_shown(host, at->host) : "");
    nacre_answer_add(answer, policy->filesystem.denied_paths.place,
                     "capabilities.filesystem", "denied_paths",
                     question->guest[0] == '/' ? question->guest : question->host);
}

/* git runs what lies there, on the host: see NACRE_HOOKS. */
static bool is_hook(const struct question *question)
{
    const struct candidate *at = question->at;
    const char *rest;

    return nacre_has_hooks(at->host, at->own, at->writable) &&
           nacre_path_is_below(question->guest, at->guest, &rest) &&
           nacre_path_is_below(rest, NACRE_HOOKS, NULL);
}

/* What a native sandbox has though no mount brings it; NULL when it has not. */
static const struct builtin *builtin_of(const struct question *question)
{
    const struct candidate *at = question->at;
    bool tree = at && strcmp(at->guest, "/") == 0; /* mode full: beneath all of these */

    if (question->guest[0] != '/' || (is_visible(at) && !tree))
        return NULL;
    return nacre_builtin_at(question->policy, question->guest);
}

/* Could it be written, were the mode scoped? */
static bool is_held_by_mode(const struct question *question)
{
    struct nacre_policy scoped = *question->policy;
    const struct builtin *part;

    scoped.filesystem.mode = NACRE_FILESYSTEM_SCOPED;
    part = nacre_builtin_at(&scoped, question->guest);
    return part && part->write;
}

static void answer_builtin(const struct question *question, const struct builtin *part,
                           struct nacre_answer *answer)
{
    const struct nacre_policy *policy = question->policy;
    const char *mode = nacre_filesystem_mode_name(policy->filesystem.mode);

    answer->allowed = answer->read = true;
    answer->write = part->write;
    if (!part->write && is_held_by_mode(question)) {
        nacre_answer_say(answer, RULE_FS_MODE, 0, policy->filesystem.mode_place,
                         "%s is readable, not writable: mode %s holds for the sandbox's "
                         "own files too",
                         question->shown, mode);
        fix_mode(policy, answer, mode);
        return;
    }
    nacre_answer_say(answer, RULE_BUILT_IN, 0, (struct nacre_place){ 0 },
                     "%s is %s: it belongs to every sandbox of level %s",
                     question->shown,
                     part->write ? "readable and writable" : "readable, not writable",
                     nacre_level_name(policy->level));
    nacre_answer_fix(answer, part->write ? "take a policy of level wasm: there it is not"
                                         : "no change of a policy makes it writable");
}

static void fill_answer(const struct question *question, struct nacre_answer *answer)
{
    const struct nacre_policy *policy = question->policy;
    const struct builtin *part = builtin_of(question);
    bool denied;

    if (part && part->read) {
        /* On a deny list the kernel's names mean the host's, which is not there. */
        if (nacre_path_is_kernels(question->guest) || !answer_denied(question, answer))
            answer_builtin(question, part, answer);
        return;
    }
    if (is_visible(question->at) && is_kernel(question)) {
        nacre_answer_say(
            answer, RULE_FS_MODE, 0, policy->filesystem.mode_place,
            "%s is not opened: it lies on a kernel filesystem, in every mode",
            question->shown);
        nacre_answer_fix(answer, "no change of a policy opens it");
        return;
    }
    denied = answer_denied(question, answer);
    if (!is_visible(question->at)) {
        answer_invisible(question, denied, answer);
    } else if (!denied && is_hook(question)) {
        nacre_answer_say(
            answer, RULE_BUILT_IN, 0, (struct nacre_place){ 0 },
            "%s is closed: git would run on the host what a guest puts there",
            question->shown);
        nacre_answer_fix(answer, "mount it read-only: then it can be read");
    } else if (!denied) {
        answer_visible(question, answer);
    }
}

static void answer_host(const struct question *question, struct nacre_answer *answer)
{
    answer->allowed = answer->read = answer->write = true;
    nacre_answer_say(answer, "level", 0, question->policy->level_place,
                     "%s is the host's: at level none a command may what its caller may",
                     question->shown);
    nacre_answer_change(answer, question->policy, question->policy->level_place, "none",
                        "process");
}

enum nacre_status nacre_explain_path(const struct nacre_policy *policy,
                                     const struct nacre_request *request,
                                     const char *path, bool is_file,
                                     struct nacre_answer *ret_answer,
                                     struct nacre_error *err)
{
    NACRE_AUTO(nacre_candidates_clear) struct candidates list = { 0 };
    struct question question = { .policy = policy, .list = &list };
    struct nacre_answer made = { .is_path = true };
    char guest[NACRE_PATH_MAX];
    enum nacre_status status;

    (void)nacre_text_shown(question.shown, path);
    if (!nacre_path_normalise(path, guest, sizeof(guest)))
        return nacre_fail(
            err, NACRE_ERR_USAGE,
            "path '%s' climbs above its start or is too long; give one that a guest "
            "could open",
            question.shown);
    if (policy->level == NACRE_LEVEL_NONE) {
        answer_host(&question, &made);
        *ret_answer = made;
        return NACRE_OK;
    }
    status = nacre_candidates_make(policy, request, &list, err);
    if (status != NACRE_OK)
        return status;
    question.guest = guest;
    find_wanted(&question, is_file);
    (void)nacre_text_shown(question.shown, guest);
    question.at = nacre_candidates_at(&list, guest, false);
    find_host(&question);
    fill_answer(&question, &made);
    *ret_answer = made;
    return NACRE_OK;
}
