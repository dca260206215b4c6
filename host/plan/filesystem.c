/* The filesystem section of a plan: mounts, what is cut out of them, decisions. */
#include <stdio.h>
#include <string.h>

#include "draft.h"
#include "mounts.h"
#include "nacre/path.h"
#include "nacre/text.h"

static bool same_root(const struct candidate *candidate)
{
    return candidate->item == 0 && strcmp(candidate->guest, "/") == 0;
}

static void say_mode(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;
    const struct walls *walls = draft->walls;
    enum nacre_filesystem_mode mode = policy->filesystem.mode;
    struct nacre_decision decision = {
        .rule = RULE_FS_MODE,
        .place = policy->filesystem.mode_place,
        .verdict = NACRE_VERDICT_GRANT,
    };

    WALL(&decision, walls->mount);
    if (mode == NACRE_FILESYSTEM_FULL) {
        WHAT(&decision, "full: %s", walls->full);
        WALL(&decision, walls->tree);
    } else if (mode == NACRE_FILESYSTEM_SCOPED) {
        WHAT(&decision, "scoped: the listed mounts alone");
    } else if (mode == NACRE_FILESYSTEM_READ_ONLY) {
        WHAT(&decision, "read-only: %s; nothing can be written",
             policy->filesystem.mounts.count == 0
                 ? "the workspace alone, since no mount is listed"
                 : "the listed mounts alone");
    } else {
        decision.verdict = NACRE_VERDICT_DENY;
        WHAT(&decision, "deny: %s", walls->deny);
        WALL(&decision, walls->no_files);
        FIX(&decision, "%s",
            policy->filesystem.mode_place.line > 0
                ? "change 'deny' to 'scoped' and list the directories in mount_paths"
                : "add under spec.capabilities.filesystem: mode: scoped, and list "
                  "the directories in mount_paths");
    }
    nacre_draft_add(draft, &decision);
}

/* Mode full lets a guest write what the host runs later: a person should read that. */
static void say_warning(struct draft *draft)
{
    struct nacre_decision decision = {
        .rule = RULE_FS_MODE,
        .place = draft->policy->filesystem.mode_place,
        .verdict = NACRE_VERDICT_NOTE,
        .what = "warning: what the sandbox's user may write on the host, the command "
                "may; only denied_paths are kept from it",
    };

    if (draft->policy->level == NACRE_LEVEL_PROCESS && draft->plan->full_tree)
        nacre_draft_add(draft, &decision);
}

/* What a directory brings along that no mode of the network covers. */
static void say_sockets(struct draft *draft)
{
    struct nacre_decision decision = { .rule = RULE_BUILT_IN,
                                       .verdict = NACRE_VERDICT_NOTE };
    bool granted = false;

    for (uint32_t i = 0; i < draft->plan->mount_count; i++)
        granted |= draft->plan->mounts[i].host && !draft->plan->mounts[i].own;
    if (!granted || !draft->walls->sockets)
        return;
    WHAT(&decision, "%s", draft->walls->sockets);
    nacre_draft_add(draft, &decision);
}

static void say_builtins(struct draft *draft)
{
    const struct builtin *part = NULL;

    while ((part = nacre_builtin_next(draft->policy, part)) != NULL) {
        struct nacre_decision decision = {
            .rule = RULE_BUILT_IN,
            .verdict = part->read ? NACRE_VERDICT_GRANT : NACRE_VERDICT_DENY,
        };
        bool replaced = false;

        for (uint32_t k = 0; part->guest && k < draft->plan->mount_count; k++)
            replaced |= strcmp(draft->plan->mounts[k].guest, part->guest) == 0;
        if (!part->what || replaced)
            continue;
        WHAT(&decision, "%s", part->what);
        WALL(&decision, part->mechanism);
        nacre_draft_add(draft, &decision);
    }
}

static void say_candidate(struct draft *draft, const struct candidate *candidate)
{
    struct nacre_decision decision;
    const char *code = nacre_candidate_decide(draft->policy, candidate, &decision);
    const char *wall = draft->walls->mount;

    if (code) {
        nacre_draft_refuse(draft, code, &decision);
        return;
    }
    if (candidate->fate == FATE_MODE_DENIES)
        wall = draft->walls->no_files;
    else if (candidate->fate == FATE_DENIED_PATH)
        wall = draft->walls->denied;
    else if (candidate->fate == FATE_TREE || same_root(candidate))
        wall = draft->walls->tree;
    else if (!candidate->host)
        wall = draft->walls->private_mount;
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
            hit |= denied->item == item && mount->host && !mount->own &&
                   !denied->guest_only &&
                   nacre_path_is_below(denied->path, mount->host, NULL);
        }
        if (hit && hits++ == 0)
            (void)nacre_text_shown(ret_shown, mount->guest);
    }
    return hits;
}

/* The root itself: whatever part of it can be read is below. */
static bool has_part_below(const struct draft *draft, const char *path)
{
    const struct builtin *part = NULL;

    while ((part = nacre_builtin_next(draft->policy, part)) != NULL)
        if (part->read && part->guest && nacre_path_is_below(part->guest, path, NULL))
            return true;
    return false;
}

/* Is it in, or above, a part of the sandbox that no mount has replaced?  The kernel's
 * own are masked by other means. */
static bool is_in_root(const struct draft *draft, const struct candidates *list,
                       const char *path)
{
    const struct builtin *part = nacre_builtin_at(draft->policy, path);

    return ((part && part->read && nacre_builtin_holds(part, path)) ||
            has_part_below(draft, path)) &&
           !nacre_path_is_kernels(path) && !nacre_candidates_at(list, path, true);
}

/* A name in /proc or /sys is the host's, which no sandbox has; what stands in its place
 * is as the level's own parts say. */
static void say_kernels(const struct draft *draft, const char *shown, const char *path,
                        struct nacre_decision *decision)
{
    const struct builtin *part = nacre_builtin_at(draft->policy, path);

    WHAT(decision, "%s: the host's is not there%s", shown,
         part && part->read ? "; the sandbox has its own" : "");
    WALL(decision, part && part->guest ? part->mechanism : NOT_IN_ROOT);
}

static void say_denied(struct draft *draft, const struct candidates *list)
{
    const struct nacre_rules *rules = &draft->policy->filesystem.denied_paths;

    for (size_t i = 0; i < rules->count; i++) {
        struct nacre_decision decision = {
            .place = rules->items[i].place,
            .verdict = NACRE_VERDICT_DENY,
        };
        char path[NACRE_SHOWN], mount[NACRE_SHOWN] = "";
        size_t hits = count_denied(list, i + 1, mount);

        WALL(&decision, draft->walls->denied);
        nacre_rule_name(decision.rule, RULE_DENIED, i + 1);
        (void)nacre_text_shown(path, rules->items[i].text);
        if (nacre_level_is_native(draft->policy->level) &&
            nacre_path_is_kernels(rules->items[i].text)) {
            say_kernels(draft, path, rules->items[i].text, &decision);
        } else if (is_in_root(draft, list, rules->items[i].text)) {
            WHAT(&decision, "%s: covered in the sandbox's own files", path);
        } else if (hits == 0) {
            WHAT(&decision, "%s: no mount reaches it", path);
            if (draft->walls->unreached)
                WALL(&decision, draft->walls->unreached);
        } else if (hits == 1) {
            WHAT(&decision, "%s: cut out of the mount %s", path, mount);
        } else {
            WHAT(&decision, "%s: cut out of the mount %s and %zu more", path, mount,
                 hits - 1);
        }
        FIX(&decision, "remove '%s' from denied_paths (line %d)", path,
            decision.place.line);
        if (!draft->walls->covers_root &&
            is_in_root(draft, list, rules->items[i].text)) {
            WHAT(&decision, "%s lies in the sandbox's own files, of which level %s "
                            "covers none", path, nacre_level_name(draft->policy->level));
            nacre_draft_refuse(draft, CODE_NOT_ENFORCEABLE, &decision);
            continue;
        }
        nacre_draft_add(draft, &decision);
    }
}

static void say_hooks(struct draft *draft)
{
    struct nacre_decision decision = {
        .rule = RULE_BUILT_IN,
        .verdict = NACRE_VERDICT_DENY,
        .what =
            NACRE_HOOKS " of a writable mount: git would run on the host what a guest "
                        "puts there",
        .fix = "mount it read-only: then it can be read",
    };

    WALL(&decision, draft->walls->denied);
    for (uint32_t i = 0; i < draft->plan->mount_count; i++) {
        const struct nacre_mount *mount = &draft->plan->mounts[i];

        if (nacre_has_hooks(mount->host, mount->own, mount->writable)) {
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
        if (mount->host && !mount->own && !denied->guest_only &&
            nacre_path_is_below(denied->path, mount->host, &rest) &&
            !add_name(mount->denied, &mount->denied_count, rest))
            return false;
    }
    return !nacre_has_hooks(mount->host, mount->own, mount->writable) ||
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
    mount->own = candidate->own;
    mount->writable = candidate->writable;
    mount->place = place;
    return mount->guest && (mount->host || !candidate->host) &&
           fill_denied(mount, list) && fill_covered(mount, list);
}

static bool fill_denied_root(struct draft *draft, const struct candidates *list)
{
    const struct nacre_rules *rules = &draft->policy->filesystem.denied_paths;
    struct nacre_plan *plan = draft->plan;

    plan->denied_root = calloc(rules->count + 1, sizeof(*plan->denied_root));
    if (!plan->denied_root)
        return false;
    for (size_t i = 0; i < rules->count; i++)
        if (is_in_root(draft, list, rules->items[i].text) &&
            !add_name(plan->denied_root, &plan->denied_root_count, rules->items[i].text))
            return false;
    return true;
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
        if (!list->denied[i].guest_only &&
            !add_name(plan->denied_host_paths, &plan->denied_host_count,
                      list->denied[i].path))
            return false;
    /* A guest that could rewrite its policy would grant itself the world next time. */
    return !draft->policy->file ||
           add_name(plan->denied_host_paths, &plan->denied_host_count,
                    draft->policy->file);
}

static void say_candidates(struct draft *draft, const struct candidates *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct candidate *candidate = &list->items[i];
        bool told = candidate->item == 0 && !candidate->asked &&
                    candidate->fate == FATE_MOUNT;

        if (!told) /* what the mode alone brings is told with the mode */
            say_candidate(draft, candidate);
    }
}

static void require_files(struct draft *draft)
{
    struct nacre_plan *plan = draft->plan;

    enum nacre_filesystem_mode mode = draft->policy->filesystem.mode;

    plan->strict_binds = draft->policy->filesystem.strict_binds;
    for (uint32_t i = 0; i < plan->mount_count; i++)
        plan->full_tree |= mode == NACRE_FILESYSTEM_FULL &&
                           strcmp(plan->mounts[i].guest, "/") == 0;
    plan->own_tmp = nacre_draft_has_own_tmp(draft);
    plan->tmp_writable = plan->own_tmp && mode != NACRE_FILESYSTEM_READ_ONLY;
    plan->shared_memory =
        nacre_level_is_native(draft->policy->level) &&
        (mode == NACRE_FILESYSTEM_SCOPED || mode == NACRE_FILESYSTEM_FULL);
    if (plan->full_tree)
        plan->required |= NACRE_FEATURE_FS_FULL;
    if (plan->mount_count > 0)
        plan->required |= NACRE_FEATURE_FS_BENEATH;
    for (uint32_t i = 0; i < plan->mount_count; i++)
        if (plan->mounts[i].denied_count > 0 || plan->denied_host_count > 0)
            plan->required |= NACRE_FEATURE_FS_DENIED;
    if (plan->denied_root_count > 0)
        plan->required |= NACRE_FEATURE_FS_DENIED;
}

/* ---- level none: there is nothing that a line about files could rest on ---- */

static void refuse_of_the_host(struct draft *draft, const char *key, size_t item,
                               struct nacre_place place, const char *what)
{
    struct nacre_decision decision = { .place = place };

    nacre_rule_name(decision.rule, key, item);
    WHAT(&decision, "%s can't be enforced at level none: the command has the caller's "
                    "files", what);
    FIX(&decision, "change the level 'none' to 'process', or remove this line");
    nacre_draft_refuse(draft, CODE_NOT_ENFORCEABLE, &decision);
}

static void files_of_the_host(struct draft *draft)
{
    const struct nacre_policy *policy = draft->policy;
    const struct nacre_mount_rules *mounts = &policy->filesystem.mounts;
    const struct nacre_rules *denied = &policy->filesystem.denied_paths;
    bool full = policy->filesystem.mode == NACRE_FILESYSTEM_FULL;
    struct nacre_decision decision = {
        .rule = RULE_FS_MODE,
        .place = policy->filesystem.mode_place,
        .verdict = NACRE_VERDICT_NOTE,
        .what = "not enforced at level none: the command has the caller's files",
    };
    char shown[NACRE_SHOWN];

    if (full)
        WHAT(&decision, "full: whatever the caller may read and write");
    if (full || policy->filesystem.mode_place.line == 0)
        nacre_draft_add(draft, &decision);
    else
        refuse_of_the_host(draft, RULE_FS_MODE, 0, policy->filesystem.mode_place,
                           nacre_filesystem_mode_name(policy->filesystem.mode));
    for (size_t i = 0; i < mounts->count; i++)
        refuse_of_the_host(draft, RULE_MOUNTS, i + 1, mounts->items[i].place,
                           nacre_text_shown(shown, mounts->items[i].path));
    for (size_t i = 0; i < denied->count; i++)
        refuse_of_the_host(draft, RULE_DENIED, i + 1, denied->items[i].place,
                           nacre_text_shown(shown, denied->items[i].text));
    if (draft->request->mount_count > 0) {
        nacre_rule_name(decision.rule, RULE_ASKED_MOUNTS, 0);
        decision.place = (struct nacre_place){ 0 };
        WHAT(&decision, "there are no mounts at level none: the command sees the host's "
                        "tree");
        FIX(&decision, "leave --mount out, or change the level 'none' to 'process'");
        nacre_draft_refuse(draft, CODE_WRONG_LEVEL, &decision);
    }
}

void nacre_draft_filesystem(struct draft *draft)
{
    NACRE_AUTO(nacre_candidates_clear) struct candidates list = { 0 };

    if (draft->policy->level == NACRE_LEVEL_NONE) {
        files_of_the_host(draft);
        return;
    }
    if (draft->status != NACRE_OK)
        return;
    draft->status = nacre_candidates_make(draft->policy, draft->request, &list,
                                          draft->err);
    if (draft->status != NACRE_OK)
        return;
    if (!fill_mounts(draft, &list) || !fill_denied_root(draft, &list)) {
        draft->status = nacre_fail(draft->err, NACRE_ERR_MEMORY, "the mounts of a plan");
        return;
    }
    require_files(draft);
    say_mode(draft);
    say_warning(draft);
    say_candidates(draft, &list);
    say_denied(draft, &list);
    say_hooks(draft);
    say_sockets(draft);
    say_builtins(draft);
}
