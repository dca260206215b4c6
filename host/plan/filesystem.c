/* The filesystem section of a plan: mounts, what is cut out of them, decisions. */
#include <stdio.h>
#include <string.h>

#include "draft.h"
#include "mounts.h"
#include "nacre/path.h"
#include "nacre/text.h"

#define BENEATH_WALL "openat2 RESOLVE_BENEATH below a kept fd; landlock"
#define ROOT_WALL                                                                        \
    "openat2 RESOLVE_IN_ROOT below a kept fd; kernel filesystems are never opened"
#define PRIVATE_WALL BENEATH_WALL "; made in the worker's scratch directory"
#define DENIED_WALL "name and inode compared at every step of the path walk"
#define NO_PREOPEN_WALL "no preopen exists: every path call fails"

static bool same_root(const struct candidate *candidate)
{
    return candidate->item == 0 && strcmp(candidate->guest, "/") == 0;
}

static void say_mode(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;
    static const struct {
        enum nacre_verdict verdict;
        const char *what, *mechanism;
    } modes[] = {
        [NACRE_FILESYSTEM_DENY] = { NACRE_VERDICT_DENY, "deny: no directory is visible",
                                    NO_PREOPEN_WALL },
        [NACRE_FILESYSTEM_READ_ONLY] = { NACRE_VERDICT_GRANT,
                                         "read-only: the listed mounts, none of them "
                                         "writable",
                                         BENEATH_WALL },
        [NACRE_FILESYSTEM_SCOPED] = { NACRE_VERDICT_GRANT,
                                      "scoped: the listed mounts alone", BENEATH_WALL },
        [NACRE_FILESYSTEM_FULL] = { NACRE_VERDICT_GRANT,
                                    "full: the host's tree, read-write, but for kernel "
                                    "filesystems",
                                    ROOT_WALL },
    };
    enum nacre_filesystem_mode mode = policy->filesystem.mode;
    struct nacre_decision decision = {
        .rule = RULE_FS_MODE,
        .place = policy->filesystem.mode_place,
        .verdict = modes[mode].verdict,
    };

    (void)snprintf(decision.mechanism, sizeof(decision.mechanism), "%s",
                   modes[mode].mechanism);
    (void)snprintf(decision.what, sizeof(decision.what), "%s", modes[mode].what);
    if (mode == NACRE_FILESYSTEM_READ_ONLY && policy->filesystem.mounts.count == 0)
        (void)snprintf(decision.what, sizeof(decision.what),
                       "read-only: the workspace alone, since no mount is listed");
    if (mode == NACRE_FILESYSTEM_DENY)
        (void)snprintf(
            decision.fix, sizeof(decision.fix), "%s",
            policy->filesystem.mode_place.line > 0
                ? "change 'deny' to 'scoped' and list the directories in mount_paths"
                : "add under spec.capabilities.filesystem: mode: scoped, and list "
                  "the directories in mount_paths");
    nacre_draft_add(draft, &decision);
}

static void say_candidate(struct draft *draft, const struct candidate *candidate)
{
    struct nacre_decision decision;
    const char *code = nacre_candidate_decide(draft->policy, candidate, &decision);
    const char *wall = BENEATH_WALL;

    if (code) {
        nacre_draft_refuse(draft, code, &decision);
        return;
    }
    if (candidate->fate == FATE_MODE_DENIES)
        wall = NO_PREOPEN_WALL;
    else if (candidate->fate == FATE_DENIED_PATH)
        wall = DENIED_WALL;
    else if (candidate->fate == FATE_TREE || same_root(candidate))
        wall = ROOT_WALL;
    else if (!candidate->host)
        wall = PRIVATE_WALL;
    (void)snprintf(decision.mechanism, sizeof(decision.mechanism), "%s", wall);
    nacre_draft_add(draft, &decision);
}

/* In how many mounts is there something of denied path `item`?  The first is shown. */
static size_t count_denied(const struct candidates *list, size_t item,
                           char ret_shown[NACRE_SHOWN])
{
    size_t hits = 0;

    for (size_t i = 0; i < list->count; i++) {
        const struct candidate *mount = &list->items[i];
        bool hit = false;

        if (mount->fate != FATE_MOUNT)
            continue;
        for (size_t k = 0; k < list->denied_count; k++) {
            const struct denied_name *denied = &list->denied[k];

            hit |= denied->item == item && !denied->host_only &&
                   nacre_path_is_below(denied->path, mount->guest, NULL);
            hit |= denied->item == item && mount->host &&
                   nacre_path_is_below(denied->path, mount->host, NULL);
        }
        if (hit && hits++ == 0)
            (void)nacre_text_shown(ret_shown, mount->guest);
    }
    return hits;
}

static void say_denied(struct draft *draft, const struct candidates *list)
{
    const struct nacre_rules *rules = &draft->policy->filesystem.denied_paths;

    for (size_t i = 0; i < rules->count; i++) {
        struct nacre_decision decision = {
            .place = rules->items[i].place,
            .verdict = NACRE_VERDICT_DENY,
            .mechanism = DENIED_WALL,
        };
        char path[NACRE_SHOWN], mount[NACRE_SHOWN] = "";
        size_t hits = count_denied(list, i + 1, mount);

        nacre_rule_name(decision.rule, RULE_DENIED, i + 1);
        (void)nacre_text_shown(path, rules->items[i].text);
        if (hits == 0)
            (void)snprintf(decision.what, sizeof(decision.what),
                           "%s: no mount reaches it", path);
        else if (hits == 1)
            (void)snprintf(decision.what, sizeof(decision.what),
                           "%s: cut out of the mount %s", path, mount);
        else
            (void)snprintf(decision.what, sizeof(decision.what),
                           "%s: cut out of the mount %s and %zu more", path, mount,
                           hits - 1);
        (void)snprintf(decision.fix, sizeof(decision.fix),
                       "remove '%s' from denied_paths (line %d)", path,
                       decision.place.line);
        nacre_draft_add(draft, &decision);
    }
}

static void say_hooks(struct draft *draft)
{
    struct nacre_decision decision = {
        .rule = "(built in)",
        .verdict = NACRE_VERDICT_DENY,
        .what =
            NACRE_HOOKS " of a writable mount: git would run on the host what a guest "
                        "puts there",
        .mechanism = DENIED_WALL,
        .fix = "mount it read-only: then it can be read",
    };

    for (uint32_t i = 0; i < draft->plan->mount_count; i++) {
        if (nacre_has_hooks(draft->plan->mounts[i].host,
                            draft->plan->mounts[i].writable)) {
            nacre_draft_add(draft, &decision);
            return;
        }
    }
}

/* ---- the mounts themselves ---- */

/* Adds a copy of `name` unless it is there; the array has room. */
static bool add_name(char **names, uint32_t *count, const char *name)
{
    for (uint32_t i = 0; i < *count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    names[*count] = nacre_copy(name);
    if (!names[*count])
        return false;
    ++*count;
    return true;
}

static bool fill_denied(struct nacre_mount *mount, const struct candidates *list)
{
    mount->denied = calloc(2 * list->denied_count + 2, sizeof(*mount->denied));
    if (!mount->denied)
        return false;
    for (size_t i = 0; i < list->denied_count; i++) {
        const struct denied_name *denied = &list->denied[i];
        const char *rest;

        if (!denied->host_only &&
            nacre_path_is_below(denied->path, mount->guest, &rest) &&
            !add_name(mount->denied, &mount->denied_count, rest))
            return false;
        if (mount->host && nacre_path_is_below(denied->path, mount->host, &rest) &&
            !add_name(mount->denied, &mount->denied_count, rest))
            return false;
    }
    return !nacre_has_hooks(mount->host, mount->writable) ||
           add_name(mount->denied, &mount->denied_count, NACRE_HOOKS);
}

static bool fill_covered(struct nacre_mount *mount, const struct candidates *list)
{
    mount->covered = calloc(list->count + 1, sizeof(*mount->covered));
    if (!mount->covered)
        return false;
    for (size_t i = 0; i < list->count; i++) {
        const char *rest;

        if (list->items[i].fate == FATE_MOUNT &&
            nacre_path_is_below(list->items[i].guest, mount->guest, &rest) && rest[0] &&
            !add_name(mount->covered, &mount->covered_count, rest))
            return false;
    }
    return true;
}

static bool add_mount(struct nacre_plan *plan, const struct candidate *candidate,
                      const struct candidates *list, struct nacre_place place)
{
    struct nacre_mount *mount = &plan->mounts[plan->mount_count++];

    mount->guest = nacre_copy(candidate->guest);
    mount->host = candidate->host ? nacre_copy(candidate->host) : NULL;
    mount->writable = candidate->writable;
    mount->place = place;
    return mount->guest && (mount->host || !candidate->host) &&
           fill_denied(mount, list) && fill_covered(mount, list);
}

static bool fill_mounts(struct draft *draft, const struct candidates *list)
{
    const struct nacre_mount_rules *rules = &draft->policy->filesystem.mounts;
    struct nacre_plan *plan = draft->plan;

    plan->mounts = calloc(list->count + 1, sizeof(*plan->mounts));
    plan->denied_host_paths = calloc(list->denied_count + 2, sizeof(char *));
    if (!plan->mounts || !plan->denied_host_paths)
        return false;
    for (size_t i = 0; i < list->count; i++) {
        const struct candidate *candidate = &list->items[i];
        struct nacre_place place = candidate->item > 0
                                       ? rules->items[candidate->item - 1].place
                                       : draft->policy->filesystem.mode_place;

        if (candidate->fate == FATE_MOUNT && !add_mount(plan, candidate, list, place))
            return false;
    }
    for (size_t i = 0; i < list->denied_count; i++)
        if (!add_name(plan->denied_host_paths, &plan->denied_host_count,
                      list->denied[i].path))
            return false;
    /* A guest that could rewrite its policy would grant itself the world next time. */
    return !draft->policy->file ||
           add_name(plan->denied_host_paths, &plan->denied_host_count,
                    draft->policy->file);
}

void nacre_draft_filesystem(struct draft *draft)
{
    NACRE_AUTO(nacre_candidates_clear) struct candidates list = { 0 };
    struct nacre_plan *plan = draft->plan;

    if (draft->status != NACRE_OK)
        return;
    draft->status = nacre_candidates_make(draft->policy, draft->request, &list,
                                          draft->err);
    if (draft->status != NACRE_OK)
        return;
    if (!fill_mounts(draft, &list)) {
        draft->status = nacre_fail(draft->err, NACRE_ERR_MEMORY, "the mounts of a plan");
        return;
    }
    for (uint32_t i = 0; i < plan->mount_count; i++)
        plan->full_tree |= draft->policy->filesystem.mode == NACRE_FILESYSTEM_FULL &&
                           strcmp(plan->mounts[i].guest, "/") == 0;
    if (plan->full_tree)
        plan->required |= NACRE_FEATURE_FS_FULL;
    if (plan->mount_count > 0)
        plan->required |= NACRE_FEATURE_FS_BENEATH;
    for (uint32_t i = 0; i < plan->mount_count; i++)
        if (plan->mounts[i].denied_count > 0 || plan->denied_host_count > 0)
            plan->required |= NACRE_FEATURE_FS_DENIED;

    say_mode(draft);
    for (size_t i = 0; i < list.count; i++) {
        const struct candidate *candidate = &list.items[i];
        bool told = candidate->item == 0 && !candidate->asked &&
                    candidate->fate == FATE_MOUNT;

        if (!told) /* what the mode alone brings is told with the mode */
            say_candidate(draft, candidate);
    }
    say_denied(draft, &list);
    say_hooks(draft);
}
