/* Trusts the policy, which is normalised; of the request's names, nothing. */
#include "mounts.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "draft.h"
#include "nacre/path.h"
#include "walls.h"

static enum nacre_status no_memory(struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_MEMORY, "the mounts of a plan");
}

void nacre_candidates_clear(struct candidates *list)
{
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i].guest);
        free(list->items[i].host);
    }
    for (size_t i = 0; i < list->denied_count; i++)
        free(list->denied[i].path);
    free(list->items);
    free(list->denied);
    *list = (struct candidates){ 0 };
}

const struct candidate *nacre_candidates_at(const struct candidates *list,
                                            const char *guest, bool mounts_only)
{
    const struct candidate *best = NULL;

    for (size_t i = 0; i < list->count; i++) {
        const struct candidate *here = &list->items[i];

        if (here->fate == FATE_DUPLICATE || here->fate == FATE_BAD_MOUNT ||
            (mounts_only && here->fate != FATE_MOUNT) ||
            !nacre_path_is_below(guest, here->guest, NULL))
            continue;
        /* "/" and "." are the shortest names of their kinds. */
        if (!best || strlen(here->guest) > strlen(best->guest))
            best = here;
    }
    return best;
}

enum nacre_filesystem_mode nacre_mount_mode(const struct nacre_policy *policy)
{
    return nacre_level_has_image(policy->level) &&
                   policy->filesystem.mode == NACRE_FILESYSTEM_FULL
               ? NACRE_FILESYSTEM_SCOPED
               : policy->filesystem.mode;
}

/* ---- what the policy names ---- */

static enum nacre_status add_listed(struct candidates *list, const char *path,
                                    size_t item, struct nacre_error *err)
{
    struct candidate *added = &list->items[list->count];

    *added = (struct candidate){ .guest = nacre_copy(path), .item = item };
    if (!added->guest)
        return no_memory(err);
    list->count++;
    return NACRE_OK;
}

static enum nacre_status add_policy(struct candidates *list,
                                    const struct nacre_policy *policy,
                                    struct nacre_error *err)
{
    const struct nacre_mount_rules *rules = &policy->filesystem.mounts;
    enum nacre_status status = NACRE_OK;

    if (nacre_mount_mode(policy) == NACRE_FILESYSTEM_FULL)
        status = add_listed(list, "/", 0, err);
    else if (nacre_mount_mode(policy) == NACRE_FILESYSTEM_READ_ONLY && rules->count == 0)
        status = add_listed(list, "/workspace", 0, err);
    for (size_t i = 0; i < rules->count && status == NACRE_OK; i++)
        status = add_listed(list, rules->items[i].path, i + 1, err);
    return status;
}

/* ---- what the request names ---- */

static struct candidate *listed(struct candidates *list, size_t count, const char *guest)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list->items[i].guest, guest) == 0)
            return &list->items[i];
    return NULL;
}

/* A relative host directory would mean another
 * one in each process, and denied paths could not be compared with it. */
static bool read_asked(const struct nacre_mount_request *mount,
                       struct candidate *ret_asked)
{
    char guest[NACRE_PATH_MAX], host[NACRE_PATH_MAX];
    bool good = mount->guest[0] && mount->host[0] == '/' &&
                nacre_path_normalise(mount->guest, guest, sizeof(guest)) &&
                nacre_path_normalise(mount->host, host, sizeof(host));

    assert(mount->mode == 0 || mount->mode == 'r' || mount->mode == 'w');
    *ret_asked = (struct candidate){
        .guest = nacre_copy(good ? guest : mount->guest),
        .host = nacre_copy(good ? host : mount->host),
        .fate = good ? FATE_NONE : FATE_BAD_MOUNT,
        .asked = true,
        .mode = mount->mode,
    };
    if (ret_asked->guest && ret_asked->host)
        return true;
    free(ret_asked->guest);
    free(ret_asked->host);
    return false;
}

/* `own` is how many at the start of the list are the policy's. */
static enum nacre_status add_asked(struct candidates *list, size_t own,
                                   const struct nacre_mount_request *mount,
                                   struct nacre_error *err)
{
    struct candidate *asked = &list->items[list->count];
    struct candidate *same;

    if (!read_asked(mount, asked))
        return no_memory(err);
    same = asked->fate == FATE_NONE ? listed(list, list->count, asked->guest) : NULL;
    if (same && same->asked) {
        asked->fate = FATE_DUPLICATE;
    } else if (same && (size_t)(same - list->items) < own) {
        same->asked = true;
        same->mode = asked->mode;
        same->host = asked->host;
        free(asked->guest);
        return NACRE_OK;
    }
    list->count++;
    return NACRE_OK;
}

static enum nacre_status add_request(struct candidates *list,
                                     const struct nacre_request *request,
                                     struct nacre_error *err)
{
    size_t own = list->count;
    enum nacre_status status = NACRE_OK;

    if (request->workspace) {
        struct nacre_mount_request workspace = {
            .guest = "/workspace", .host = request->workspace,
        };

        status = add_asked(list, own, &workspace, err);
    }
    for (uint32_t i = 0; i < request->mount_count && status == NACRE_OK; i++)
        status = add_asked(list, own, &request->mounts[i], err);
    return status;
}

/* ---- their fates ---- */

/* The line that covers a name which the request alone brings: false when none does. */
static bool cover(const struct nacre_policy *policy, struct candidate *asked)
{
    const struct nacre_mount_rules *rules = &policy->filesystem.mounts;
    size_t longest = 0;
    bool covered = nacre_mount_mode(policy) == NACRE_FILESYSTEM_FULL &&
                   asked->guest[0] == '/';

    if (nacre_mount_mode(policy) == NACRE_FILESYSTEM_READ_ONLY && rules->count == 0)
        covered = nacre_path_is_below(asked->guest, "/workspace", NULL);
    for (size_t i = 0; i < rules->count; i++) {
        size_t length = strlen(rules->items[i].path);

        if (length > longest &&
            nacre_path_is_below(asked->guest, rules->items[i].path, NULL)) {
            longest = length;
            asked->item = i + 1;
            covered = true;
        }
    }
    return covered;
}

static bool grants_write(const struct nacre_policy *policy,
                         const struct candidate *candidate)
{
    if (nacre_mount_mode(policy) == NACRE_FILESYSTEM_SCOPED)
        return policy->filesystem.mounts.items[candidate->item - 1].writable;
    return nacre_mount_mode(policy) == NACRE_FILESYSTEM_FULL;
}

/* "/srv" and "a/b" make "/srv/a/b"; NULL when memory is short. */
static char *join(const char *top, const char *rest)
{
    size_t size = strlen(top) + strlen(rest) + 2;
    char *joined = malloc(size);

    if (joined)
        (void)snprintf(joined, size, "%s%s%s", top,
                       rest[0] && strcmp(top, "/") != 0 ? "/" : "", rest);
    return joined;
}

/* For what the policy names. */
static enum fate judge_listed(const struct nacre_policy *policy,
                              const struct candidate *candidate)
{
    bool full = nacre_mount_mode(policy) == NACRE_FILESYSTEM_FULL;

    if (full && candidate->item > 0 &&
        !policy->filesystem.mounts.items[candidate->item - 1].writable)
        return FATE_CONTRADICTS;
    if (candidate->asked || strcmp(candidate->guest, "/workspace") == 0 ||
        strcmp(candidate->guest, "/tmp") == 0)
        return FATE_MOUNT;
    if (candidate->guest[0] != '/')
        return FATE_UNMAPPED;
    return full && candidate->item > 0 ? FATE_TREE : FATE_MOUNT;
}

/* Where it lies on the host, unless a request has said so or it is private: then only
 * where its session has it. */
static enum nacre_status find_host(const struct candidates *list,
                                   const struct nacre_request *request,
                                   struct candidate *candidate, struct nacre_error *err)
{
    bool is_private = !candidate->host && (strcmp(candidate->guest, "/workspace") == 0 ||
                                           strcmp(candidate->guest, "/tmp") == 0);

    if (candidate->host || (is_private && !request->private_dir))
        return NACRE_OK;
    if (is_private) {
        candidate->own = true;
        candidate->host = join(request->private_dir, candidate->guest + 1);
        return candidate->host ? NACRE_OK : no_memory(err);
    }
    /* In mode full the first one is "/", and a request may have put it elsewhere. */
    candidate->host = candidate->fate == FATE_TREE
                          ? join(list->items[0].host, candidate->guest + 1)
                          : nacre_copy(candidate->guest);
    return candidate->host ? NACRE_OK : no_memory(err);
}

/* What holds at every native level, and for a session's file tools, for what a policy
 * lists or a request asks for; what a mode brings by itself is its own affair. */
static void judge_bind(const struct nacre_policy *policy, struct candidate *candidate)
{
    if ((!nacre_level_is_native(policy->level) && !policy->filesystem.strict_binds) ||
        (candidate->item == 0 && !candidate->asked) || candidate->own ||
        (candidate->fate != FATE_MOUNT && candidate->fate != FATE_TREE))
        return;
    if (nacre_bind_target_is_refused(candidate->guest, &candidate->refusal))
        candidate->fate = FATE_BAD_TARGET;
    else if (candidate->host &&
             nacre_bind_is_refused(candidate->host, candidate->writable, NULL,
                                   &candidate->refusal))
        candidate->fate = FATE_BAD_BIND;
}

static enum nacre_status judge(const struct nacre_policy *policy,
                               const struct nacre_request *request,
                               const struct candidates *list, struct candidate *candidate,
                               bool own, struct nacre_error *err)
{
    enum nacre_status status;

    if (candidate->fate != FATE_NONE)
        return NACRE_OK;
    if (nacre_mount_mode(policy) == NACRE_FILESYSTEM_DENY)
        candidate->fate = FATE_MODE_DENIES;
    else if (nacre_level_is_native(policy->level) && candidate->guest[0] != '/')
        candidate->fate = FATE_RELATIVE;
    else if (own)
        candidate->fate = judge_listed(policy, candidate);
    else
        candidate->fate = cover(policy, candidate) ? FATE_MOUNT : FATE_NOT_COVERED;
    if (candidate->fate != FATE_MOUNT && candidate->fate != FATE_TREE)
        return NACRE_OK;
    candidate->writable = candidate->fate == FATE_TREE
                              ? list->items[0].writable
                              : grants_write(policy, candidate) && candidate->mode != 'r';
    if (candidate->mode == 'w' && !candidate->writable)
        candidate->fate = FATE_OVER_GRANT;
    status = find_host(list, request, candidate, err);
    if (status == NACRE_OK)
        judge_bind(policy, candidate);
    return status;
}

/* ---- denied paths ---- */

static enum nacre_status add_denied(struct candidates *list, const char *top,
                                    const char *rest, size_t item, bool host_only,
                                    bool guest_only, struct nacre_error *err)
{
    struct denied_name *added = &list->denied[list->denied_count];

    *added = (struct denied_name){
        .path = join(top, rest), .host_only = host_only, .guest_only = guest_only,
        .item = item,
    };
    if (!added->path)
        return no_memory(err);
    list->denied_count++;
    return NACRE_OK;
}

/*
 * A denied path is a name that the guest would use and one on the host.  Where a
 * mount moves the first somewhere else on the host, that place is denied too: else
 * a second mount of the same directory would lead around it.
 */
static enum nacre_status find_denied(struct candidates *list,
                                     const struct nacre_policy *policy,
                                     struct nacre_error *err)
{
    const struct nacre_rules *rules = &policy->filesystem.denied_paths;
    enum nacre_status status = NACRE_OK;

    for (size_t i = 0; i < rules->count && status == NACRE_OK; i++) {
        const char *path = rules->items[i].text;
        const struct candidate *mount = nacre_candidates_at(list, path, true);
        const char *rest;

        status = add_denied(list, path, "", i + 1, false,
                            policy->filesystem.denied_inside, err);
        /* What is nacre's own no other mount can have. */
        if (status != NACRE_OK || !mount || !mount->host || mount->own ||
            strcmp(mount->host, mount->guest) == 0)
            continue;
        (void)nacre_path_is_below(path, mount->guest, &rest);
        status = add_denied(list, mount->host, rest, i + 1, true, false, err);
    }
    return status;
}

static void apply_denied(struct candidates *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct candidate *here = &list->items[i];

        for (size_t k = 0; k < list->denied_count; k++) {
            const struct denied_name *denied = &list->denied[k];
            bool hit = (!denied->host_only &&
                        nacre_path_is_below(here->guest, denied->path, NULL)) ||
                       (here->host && !here->own && !denied->guest_only &&
                        nacre_path_is_below(here->host, denied->path, NULL));

            if (hit && (here->fate == FATE_MOUNT || here->fate == FATE_TREE)) {
                here->fate = FATE_DENIED_PATH;
                here->denied_by = denied->item;
            }
        }
    }
}

enum nacre_status nacre_candidates_make(const struct nacre_policy *policy,
                                        const struct nacre_request *request,
                                        struct candidates *ret_list,
                                        struct nacre_error *err)
{
    NACRE_AUTO(nacre_candidates_clear) struct candidates list = { 0 };
    size_t own;
    enum nacre_status status;

    /* One for what the mode implies, one for the workspace, one that is filled in and
     * given up again. */
    list.items = calloc(policy->filesystem.mounts.count + request->mount_count + 3,
                        sizeof(*list.items));
    list.denied = calloc(2 * policy->filesystem.denied_paths.count + 1,
                         sizeof(*list.denied));
    if (!list.items || !list.denied)
        return no_memory(err);
    status = add_policy(&list, policy, err);
    own = list.count;
    if (status == NACRE_OK)
        status = add_request(&list, request, err);
    for (size_t i = 0; i < list.count && status == NACRE_OK; i++)
        status = judge(policy, request, &list, &list.items[i], i < own, err);
    if (status == NACRE_OK)
        status = find_denied(&list, policy, err);
    if (status != NACRE_OK)
        return status;
    apply_denied(&list);
    *ret_list = list;
    list = (struct candidates){ 0 };
    return NACRE_OK;
}
