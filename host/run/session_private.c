/*
 * What lies below is a guest's, who may have put a link in place of a directory: every
 * part is opened by the fd of the one before, and by no link.
 */
#include "session_private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "nacre/clock.h"
#include "nacre/config.h"
#include "nacre/keeper.h"
#include "nacre/tree.h"
#include "session_store.h"

#define KEPT_MAX 32
#define WAIT_MS 10000
#define OPEN_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

static const struct {
    const char *name;
    mode_t mode;
} directories[] = { { "workspace", 0700 }, { "tmp", 01777 } };

struct session_private {
    struct session_private *next; /* the one that was used before it */
    struct nacre_session_hold *hold; /* locked while there are users */
    enum nacre_scope scope;
    char *scope_key;
    unsigned users;
    bool is_gone; /* not kept any more: the last user drops it */
};

struct session_privates {
    pthread_mutex_t lock;
    struct session_private *first;
    size_t count;
};

enum nacre_status session_privates_new(struct session_privates **ret_all,
                                       struct nacre_error *err)
{
    struct session_privates *all = calloc(1, sizeof(*all));

    if (!all)
        return nacre_fail(err, NACRE_ERR_MEMORY, "sessions");
    (void)pthread_mutex_init(&all->lock, NULL);
    *ret_all = all;
    return NACRE_OK;
}

static void session_private_free(struct session_private *private)
{
    if (!private)
        return;
    nacre_session_hold_free(private->hold);
    free(private->scope_key);
    free(private);
}
NACRE_OWNED(session_private)

void session_privates_free(struct session_privates *all)
{
    if (!all)
        return;
    while (all->first) {
        struct session_private *private = all->first;

        all->first = private->next;
        session_private_free(private);
    }
    (void)pthread_mutex_destroy(&all->lock);
    free(all);
}

/* ---- whose ---- */

/* As records have it: the key itself, "agent:ID" or "shared". */
static char *key_of(const struct nacre_request *request)
{
    char *key = NULL;

    if (request->scope == NACRE_SCOPE_SESSION)
        return strdup(request->session);
    if (request->scope == NACRE_SCOPE_SHARED)
        return strdup("shared");
    return asprintf(&key, "agent:%s", request->agent) < 0 ? NULL : key;
}

static bool is_given(const char *text)
{
    return text && text[0];
}

/* A configuration's sessions have their own places, and name them. */
bool session_private_is_meant(const struct nacre_plan *plan,
                              const struct nacre_request *request)
{
    bool is_scoped =
        request->scope == NACRE_SCOPE_SHARED ||
        (request->scope == NACRE_SCOPE_SESSION && is_given(request->session)) ||
        (request->scope == NACRE_SCOPE_AGENT && is_given(request->agent));

    if (!is_scoped || request->box_name)
        return false;
    for (uint32_t i = 0; i < plan->mount_count; i++)
        if (!plan->mounts[i].host)
            return true;
    return false;
}

/* ---- making ---- */

/* Or puts them right: a guest to whom they belong may have shut them, also against nacre
 * and whoever comes after it. */
static enum nacre_status make_directories(const struct nacre_session_hold *hold,
                                          struct nacre_error *err)
{
    for (size_t i = 0; i < NACRE_COUNT(directories); i++) {
        NACRE_AUTO(nacre_fd_guard) int fd = -1;
        enum nacre_status status;

        (void)nacre_tree_open_up(hold->fd, directories[i].name);
        status = session_dir_make(hold->fd, directories[i].name, &hold->owner, false,
                                  NULL, &fd, err);
        if (status != NACRE_OK)
            return status;
        if (fchmod(fd, directories[i].mode) != 0)
            return nacre_fail(err, NACRE_ERR_IO, "the mode of %s can't be set",
                              directories[i].name);
    }
    return NACRE_OK;
}

static bool directories_are_right(const struct nacre_session_hold *hold)
{
    struct stat st;

    for (size_t i = 0; i < NACRE_COUNT(directories); i++)
        if (fstatat(hold->fd, directories[i].name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISDIR(st.st_mode) || (st.st_mode & 07777) != directories[i].mode)
            return false;
    return true;
}

/* Each scope in a directory of its own: a session may be called "shared". */
static char *path_in(const char *state_dir, enum nacre_scope scope, const char *key)
{
    char slug[NACRE_SLUG], *path = NULL;

    nacre_session_slug(key, slug);
    return asprintf(&path, "%s/" NACRE_PRIVATE_ROOT "/%s/%s", state_dir,
                    nacre_scope_name(scope), slug) < 0
               ? NULL
               : path;
}

/* By no configuration, and without a turn: its commands may run side by side.  Nor is
 * anything waited for, under the lock that all of the engine's runs share. */
static enum nacre_status open_hold(struct session_private *private, const char *state_dir,
                                   const struct nacre_policy *policy,
                                   const struct nacre_request *request,
                                   struct nacre_error *err)
{
    const struct nacre_config none = { .source = (char *)"--policy" };
    const struct nacre_session_open_options options = {
        .state_dir = state_dir,
        .out_of_turn = true,
    };
    NACRE_AUTO(nacre_heap_guard) char *path =
        path_in(state_dir, private->scope, private->scope_key);
    NACRE_AUTO(nacre_heap_guard) char *root = path ? strdup(path) : NULL;
    struct nacre_session session = {
        .config = &none,
        .agent = (char *)(request->agent ? request->agent : "main"),
        .key = private->scope_key,
        .scope = private->scope,
        .scope_key = private->scope_key,
        .access = NACRE_ACCESS_NONE,
        .sandboxed = true,
        .shell = (struct nacre_policy *)policy,
        .prune_idle_ms = NACRE_PRUNE_IDLE_MS,
        .prune_age_ms = NACRE_PRUNE_AGE_MS,
    };
    enum nacre_status status;

    if (!root)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a session");
    *strrchr(root, '/') = '\0';
    session.workspace_root = root;
    session.box_workspace = path;
    status = nacre_session_open(&session, &options, &private->hold, err);
    return status == NACRE_OK ? make_directories(private->hold, err) : status;
}

static enum nacre_status make(const char *state_dir, const struct nacre_policy *policy,
                              const struct nacre_request *request, const char *key,
                              struct session_private **ret_private,
                              struct nacre_error *err)
{
    NACRE_AUTO(session_private_guard)
    struct session_private *private = calloc(1, sizeof(*private));
    enum nacre_status status;

    if (private)
        private->scope_key = strdup(key);
    if (!private || !private->scope_key)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a session");
    private->scope = request->scope;
    private->users = 1;
    status = open_hold(private, state_dir, policy, request, err);
    if (status != NACRE_OK)
        return nacre_fail_context(err, "the session's private directories");
    *ret_private = session_private_take(&private);
    return NACRE_OK;
}

/* ---- giving out ---- */

/* False: the session was ended meanwhile, or is being so, and what it had is gone. */
static bool hold_again(struct session_private *private)
{
    struct nacre_session_hold *hold = private->hold;
    const struct session_wait at_once = { 0 };
    struct stat held, named;
    struct nacre_error ignored;

    if (private->users == 0 &&
        session_lock(hold->dir_fd, hold->id, SESSION_HELD, false, &at_once,
                     &hold->held_fd, NULL, &ignored) != NACRE_OK)
        return false;
    return fstat(hold->fd, &held) == 0 && stat(hold->path, &named) == 0 &&
           held.st_dev == named.st_dev && held.st_ino == named.st_ino &&
           (directories_are_right(hold) || make_directories(hold, &ignored) == NACRE_OK);
}

static void let_go(struct session_private *private)
{
    struct nacre_session_hold *hold = private->hold;

    session_record_touch(hold->dir_fd, hold->id);
    nacre_fd_guard(&hold->held_fd);
    hold->held_fd = -1;
}

static struct session_private *take_kept(struct session_privates *all,
                                         enum nacre_scope scope, const char *key)
{
    for (struct session_private **at = &all->first; *at; at = &(*at)->next) {
        struct session_private *found = *at;

        if (found->scope != scope || strcmp(found->scope_key, key) != 0)
            continue;
        *at = found->next;
        all->count--;
        if (hold_again(found))
            return found;
        found->is_gone = true;
        if (found->users == 0)
            session_private_free(found);
        return NULL;
    }
    return NULL;
}

static void keep(struct session_privates *all, struct session_private *private)
{
    struct session_private **last = NULL;

    private->next = all->first;
    all->first = private;
    all->count++;
    for (struct session_private **at = &all->first; *at; at = &(*at)->next)
        if ((*at)->users == 0)
            last = at;
    if (all->count > KEPT_MAX && last) {
        struct session_private *oldest = *last;

        *last = oldest->next;
        all->count--;
        session_private_free(oldest);
    }
}

static enum nacre_status get_at_once(struct session_privates *all, const char *state_dir,
                                     const struct nacre_policy *policy,
                                     const struct nacre_request *request, const char *key,
                                     struct session_private **ret_private,
                                     struct nacre_error *err)
{
    struct session_private *private;
    enum nacre_status status = NACRE_OK;

    (void)pthread_mutex_lock(&all->lock);
    private = take_kept(all, request->scope, key);
    if (private)
        private->users++;
    else
        status = make(state_dir, policy, request, key, &private, err);
    if (status == NACRE_OK) {
        keep(all, private);
        *ret_private = private;
    }
    (void)pthread_mutex_unlock(&all->lock);
    return status;
}

enum nacre_status session_private_get(struct session_privates *all, const char *state_dir,
                                      const struct nacre_policy *policy,
                                      const struct nacre_request *request,
                                      uint64_t *ret_left_ms,
                                      struct session_private **ret_private,
                                      struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *key = key_of(request);
    uint64_t time_ms = session_time_ms(policy, request), start_ns = nacre_clock_ns();
    const struct session_wait wait = {
        start_ns + (time_ms < WAIT_MS ? time_ms : WAIT_MS) * NACRE_NS_PER_MS,
        request->cancelled,
    };
    uint64_t pause_ns = SESSION_PAUSE_NS, left_ms = 0;
    enum nacre_status status;

    if (!key)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a session");
    while ((status = get_at_once(all, state_dir, policy, request, key, ret_private,
                                 err)) == NACRE_ERR_TIMEOUT && session_may_wait(&wait)) {
        uint64_t waited_ms;

        session_pause(&wait, &pause_ns);
        waited_ms = (nacre_clock_ns() - start_ns) / NACRE_NS_PER_MS;
        left_ms = waited_ms < time_ms ? time_ms - waited_ms : 1;
    }
    if (status == NACRE_OK)
        *ret_left_ms = left_ms;
    return status;
}

void session_private_put(struct session_privates *all, struct session_private *private)
{
    if (!private)
        return;
    (void)pthread_mutex_lock(&all->lock);
    if (--private->users == 0) {
        let_go(private);
        if (private->is_gone)
            session_private_free(private);
    }
    (void)pthread_mutex_unlock(&all->lock);
}

char *session_private_name(const char *state_dir, const struct nacre_request *request)
{
    NACRE_AUTO(nacre_heap_guard) char *key = key_of(request);

    return key ? path_in(state_dir, request->scope, key) : NULL;
}

const char *session_private_path(const struct session_private *private)
{
    return private->hold->path;
}

/* ---- the way to a denied name ---- */

static void make_way(int top_fd, const struct session_owner *owner, const char *denied)
{
    NACRE_AUTO(nacre_fd_guard) int fd = openat(top_fd, ".", OPEN_FLAGS);
    const char *at = denied, *slash;

    for (; fd >= 0 && (slash = strchr(at, '/')) != NULL; at = slash + 1) {
        char name[NAME_MAX + 1];
        size_t length = (size_t)(slash - at);
        bool is_new;
        int below;

        if (length > NAME_MAX)
            return;
        memcpy(name, at, length);
        name[length] = '\0';
        is_new = mkdirat(fd, name, 0755) == 0;
        below = openat(fd, name, OPEN_FLAGS);
        if (below >= 0 && is_new)
            (void)!fchown(below, owner->uid, owner->gid);
        (void)close(fd);
        fd = below;
    }
}

void session_private_make_ways(const struct session_private *private,
                               const struct nacre_plan *plan)
{
    for (uint32_t i = 0; i < plan->mount_count; i++) {
        const struct nacre_mount *mount = &plan->mounts[i];
        NACRE_AUTO(nacre_fd_guard) int fd = -1;

        if (!mount->own || mount->denied_count == 0)
            continue;
        fd = openat(private->hold->fd, mount->guest + 1, OPEN_FLAGS);
        for (uint32_t k = 0; fd >= 0 && k < mount->denied_count; k++)
            if (!nacre_mount_covers_denied(mount, k))
                make_way(fd, &private->hold->owner, mount->denied[k]);
    }
}
