/*
 * A session's turn and its place, for the length of a run.  The order matters: first the
 * turn, then the hold that keeps prune away, then the record, and only then what the
 * record tells of.
 */
#include "nacre/sessions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "engine.h"
#include "nacre/clock.h"
#include "nacre/text.h"
#include "session_store.h"

#define TRIES_MAX 8

/* ---- the turn ---- */

static enum nacre_status fail_turn(const struct nacre_session *session, int pid,
                                   struct nacre_error *err)
{
    char shown[NACRE_SHOWN], who[32] = "";

    if (pid > 0)
        (void)snprintf(who, sizeof(who), " (process %d)", pid);
    return nacre_fail(err, NACRE_ERR_TIMEOUT,
                      "session '%s' is at another run's%s, and one runs at a time: it "
                      "was waited for until the deadline",
                      nacre_text_shown(shown, session->key), who);
}

static enum nacre_status take_turn(const struct nacre_session *session,
                                   struct nacre_session_hold *hold,
                                   struct nacre_error *err)
{
    char id[SESSION_ID];
    int pid = 0;
    enum nacre_status status;

    session_turn_id(session->agent, session->key, id);
    session_step(&hold->steps, "take the turn");
    status = session_lock(hold->dir_fd, id, SESSION_TURN, true, &hold->wait,
                          &hold->turn_fd, &pid, err);
    return status == NACRE_ERR_TIMEOUT ? fail_turn(session, pid, err) : status;
}

/* ---- the sandbox's own workspace ---- */

/* Somebody died while it was being removed; alone with it, that is finished. */
static enum nacre_status finish_removal(struct nacre_session_hold *hold, int root_fd,
                                        const char *name, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int alone = -1;
    enum nacre_status status;

    (void)close(nacre_fd_take(&hold->held_fd));
    status = session_lock(hold->dir_fd, hold->id, SESSION_HELD, true, &hold->wait, &alone,
                          NULL, err);
    if (status == NACRE_OK && session_workspace_is_half_gone(root_fd, name))
        status = session_workspace_finish(root_fd, name, err);
    return status;
}

static enum nacre_status bound_own(const struct nacre_session *session,
                                   struct nacre_session_hold *hold, int root_fd,
                                   const char *name, struct nacre_error *err)
{
    const struct nacre_policy *shell = session->shell;
    const struct session_disk disk = {
        .dir_fd = hold->dir_fd,
        .id = hold->id,
        .bytes = shell && shell->level == NACRE_LEVEL_CONTAINER
                     ? shell->container.disk_bytes.value
                     : 0,
        .root_fd = root_fd,
        .name = name,
        .owner = &hold->owner,
        .wait = &hold->wait,
        .steps = &hold->steps,
        .made = &hold->disk_made,
    };

    return session_disk_open(&disk, &hold->fd, err);
}

/* The record first: a workspace that nobody knows of would stay for ever.  *ret_again:
 * the hold had to be let go of. */
static enum nacre_status make_own(const struct nacre_session *session,
                                  struct nacre_session_hold *hold, bool *ret_again,
                                  struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int root_fd = -1;
    const char *name = strrchr(session->box_workspace, '/') + 1;
    enum nacre_status status = session_dir_walk(session->workspace_root, true,
                                                &hold->steps, &root_fd, err);

    if (status != NACRE_OK)
        return status;
    /* Scope shared: some dialects put it right into the root. */
    if (strcmp(session->box_workspace, session->workspace_root) == 0) {
        hold->fd = nacre_fd_take(&root_fd);
        return NACRE_OK;
    }
    if (session_workspace_is_half_gone(root_fd, name)) {
        *ret_again = true;
        return finish_removal(hold, root_fd, name, err);
    }
    status = session_dir_make(root_fd, name, &hold->owner, true, &hold->steps, &hold->fd,
                              err);
    if (status == NACRE_OK)
        status = bound_own(session, hold, root_fd, name, err);
    return status;
}

static enum nacre_status hold_box(const struct nacre_session *session,
                                  struct nacre_session_hold *hold, bool *ret_again,
                                  struct nacre_error *err)
{
    enum nacre_status status;

    session_step(&hold->steps, "hold the sandbox");
    status = session_lock(hold->dir_fd, hold->id, SESSION_HELD, false, &hold->wait,
                          &hold->held_fd, NULL, err);
    if (status == NACRE_OK)
        status = session_record_keep(hold->dir_fd, hold->id, session, &hold->wait,
                                     &hold->steps, err);
    if (status == NACRE_OK && hold->own)
        status = make_own(session, hold, ret_again, err);
    return status;
}

/* ---- the agent's own ---- */

/* It is the operator's: how it is reached, and whose it is, is judged where it is
 * mounted. */
static enum nacre_status open_agents(const struct nacre_session *session,
                                     struct nacre_session_hold *hold, int *ret_fd,
                                     struct nacre_error *err)
{
    char shown[NACRE_SHOWN];
    enum nacre_status status;
    int fd = open(session->workspace, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)nacre_text_shown(shown, session->workspace);
    if (fd < 0 && errno != ENOENT)
        return nacre_fail(err, NACRE_ERR_IO, "the agent's workspace %s can't be opened",
                          shown);
    if (fd < 0) {
        status = session_dir_walk(session->workspace, true, &hold->steps, &fd, err);
        if (status != NACRE_OK)
            return nacre_fail_context(err, "the agent's workspace");
        if (session->sandboxed && fchown(fd, hold->owner.uid, hold->owner.gid) != 0) {
            (void)close(fd);
            return nacre_fail(err, NACRE_ERR_IO, "the agent's workspace %s can't be "
                              "given to user %u", shown, hold->owner.uid);
        }
    }
    *ret_fd = fd;
    return NACRE_OK;
}

static enum nacre_status open_workspaces(const struct nacre_session *session,
                                         struct nacre_session_hold *hold,
                                         struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int agents_fd = -1;
    bool needs_agents = !session->sandboxed || session->access != NACRE_ACCESS_NONE;
    char shown[NACRE_SHOWN];
    enum nacre_status status = NACRE_OK;

    if (needs_agents && session->workspace)
        status = open_agents(session, hold, &agents_fd, err);
    else if (session->sandboxed && session->access != NACRE_ACCESS_NONE)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "workspaceAccess is %s, and agent '%s' has no workspace: name "
                          "it in the configuration",
                          nacre_access_name(session->access),
                          nacre_text_shown(shown, session->agent));
    for (int i = 0; i < TRIES_MAX && status == NACRE_OK && session->sandboxed; i++) {
        bool again = false;

        status = hold_box(session, hold, &again, err);
        if (!again)
            break;
    }
    if (status == NACRE_OK && !hold->own)
        hold->fd = nacre_fd_take(&agents_fd);
    return status;
}

/* ---- the whole ---- */

static enum nacre_status check_texts(const struct nacre_session *session,
                                     struct nacre_error *err)
{
    const char *const texts[] = { session->key, session->agent, session->workspace_root,
                                  session->box_workspace };

    for (size_t i = 0; i < NACRE_COUNT(texts); i++)
        if (texts[i] && !nacre_text_is_utf8(texts[i], strlen(texts[i])))
            return nacre_fail(err, NACRE_ERR_USAGE,
                              "a session's key, agent and paths must be UTF-8");
    if (session->sandboxed && (!session->box_workspace || !session->workspace_root ||
                               session->box_workspace[0] != '/'))
        return nacre_fail(err, NACRE_ERR_USAGE, "the session has no workspace root");
    return NACRE_OK;
}

static enum nacre_status make_hold(const struct nacre_session *session,
                                   const struct nacre_session_open_options *options,
                                   struct nacre_session_hold **ret_hold,
                                   struct nacre_error *err)
{
    struct nacre_session_hold *hold = calloc(1, sizeof(*hold));
    const char *path;

    if (!hold)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a session");
    *hold = (struct nacre_session_hold){
        .dir_fd = -1, .turn_fd = -1, .held_fd = -1, .fd = -1,
        .own = session->sandboxed && session->access != NACRE_ACCESS_RW,
        .wait = { options->deadline_ns, options->cancelled },
        .steps = { options->step, options->step_data },
    };
    *ret_hold = hold;
    path = hold->own ? session->box_workspace : session->workspace;
    hold->path = path ? strdup(path) : NULL;
    if (path && !hold->path)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a session");
    if (session->sandboxed)
        session_box_id(session->workspace_root, session->scope, session->scope_key,
                       hold->id);
    return session_owner_of(session, &hold->owner, err);
}

enum nacre_status nacre_session_open(const struct nacre_session *session,
                                     const struct nacre_session_open_options *options,
                                     struct nacre_session_hold **ret_hold,
                                     struct nacre_error *err)
{
    NACRE_AUTO(nacre_session_hold_guard) struct nacre_session_hold *hold = NULL;
    enum nacre_status status = check_texts(session, err);

    if (status == NACRE_OK)
        status = make_hold(session, options, &hold, err);
    if (status == NACRE_OK)
        status = session_store_open(options->state_dir, &hold->dir_fd, err);
    if (status == NACRE_OK && !options->out_of_turn)
        status = take_turn(session, hold, err);
    if (status == NACRE_OK)
        status = open_workspaces(session, hold, err);
    if (status != NACRE_OK)
        return status;
    *ret_hold = nacre_session_hold_take(&hold);
    return NACRE_OK;
}

void nacre_session_hold_free(struct nacre_session_hold *hold)
{
    if (!hold)
        return;
    if (hold->held_fd >= 0)
        session_record_touch(hold->dir_fd, hold->id);
    nacre_fd_guard(&hold->fd);
    nacre_fd_guard(&hold->held_fd);
    nacre_fd_guard(&hold->turn_fd);
    nacre_fd_guard(&hold->dir_fd);
    free(hold->path);
    free(hold);
}

void nacre_session_hold_settle(struct nacre_session_hold *hold, enum nacre_status status,
                               const struct nacre_result *result)
{
    bool refused = status == NACRE_OK ? result->outcome == NACRE_OUTCOME_DENIED
                                      : status == NACRE_ERR_UNAVAILABLE ||
                                            status == NACRE_ERR_NOT_RUNNABLE;
    const struct session_wait at_once = { 0 };
    NACRE_AUTO(nacre_fd_guard) int alone = -1, root_fd = -1;
    NACRE_AUTO(nacre_heap_guard) char *root = NULL;
    struct nacre_error ignored;
    const char *name;

    if (!refused || !hold || !hold->disk_made || !session_dir_is_empty(hold->fd))
        return;
    name = strrchr(hold->path, '/') + 1;
    root = strndup(hold->path, (size_t)(name - 1 - hold->path));
    /* Whoever has come meanwhile needs it. */
    nacre_fd_guard(&hold->held_fd);
    hold->held_fd = -1;
    if (!root ||
        session_lock(hold->dir_fd, hold->id, SESSION_HELD, true, &at_once, &alone, NULL,
                     &ignored) != NACRE_OK ||
        session_dir_walk(root, false, NULL, &root_fd, &ignored) != NACRE_OK)
        return;
    nacre_fd_guard(&hold->fd); /* the device ends with the last that is open in it */
    hold->fd = -1;
    hold->disk_made = false;
    if (session_disk_remove(hold->dir_fd, hold->id, root_fd, name, &ignored) == NACRE_OK)
        hold->held_fd = nacre_fd_take(&alone);
}

int nacre_session_hold_fd(const struct nacre_session_hold *hold)
{
    return hold->fd;
}

const char *nacre_session_hold_path(const struct nacre_session_hold *hold)
{
    return hold->path;
}

/* ---- for a run ---- */

/* Who says that there is no sandbox. */
static void name_approver(const struct nacre_session *session, bool elevated,
                          struct nacre_session_hold *hold)
{
    const struct nacre_source *source = &session->mode_source;
    char shown[NACRE_SHOWN];

    (void)nacre_text_shown(shown, session->config->source);
    if (elevated)
        (void)snprintf(hold->approver, sizeof(hold->approver),
                       "config %s: tools.elevated", shown);
    else if (source->place.line > 0)
        (void)snprintf(hold->approver, sizeof(hold->approver), "config %s:%d:%d", shown,
                       source->place.line, source->place.column);
    else
        (void)snprintf(hold->approver, sizeof(hold->approver), "config %s: mode %.8s",
                       shown, nacre_mode_name(session->mode));
}

uint64_t session_time_ms(const struct nacre_policy *policy,
                         const struct nacre_request *request)
{
    uint64_t most = policy->limits.timeout_ms.value > 0 ? policy->limits.timeout_ms.value
                                                        : NACRE_DEFAULT_TIMEOUT_MS;

    return request->timeout_ms > 0 && request->timeout_ms < most ? request->timeout_ms
                                                                 : most;
}

/* As level none has it: mounts are a sandbox's, here the command has the host's tree. */
static void strip_request(const struct nacre_session *session,
                          struct nacre_request *request)
{
    request->mounts = NULL;
    request->mount_count = 0;
    request->unsandboxed = true;
    request->workspace = session->sandboxed && session->access != NACRE_ACCESS_RW
                             ? session->box_workspace
                             : session->workspace;
}

enum nacre_status nacre_session_enter(const struct nacre_session *session,
                                      struct nacre_engine *engine,
                                      const struct nacre_policy *policy,
                                      const struct nacre_tool *tool, bool out_of_turn,
                                      const _Atomic int *cancelled,
                                      struct nacre_request *request,
                                      struct nacre_session_hold **ret_hold,
                                      struct nacre_error *err)
{
    uint64_t start_ns = nacre_clock_ns(), time_ms = session_time_ms(policy, request);
    uint64_t waited_ms;
    const struct nacre_session_open_options options = {
        .state_dir = nacre_engine_state_dir(engine),
        .deadline_ns = start_ns + time_ms * NACRE_NS_PER_MS,
        .cancelled = cancelled,
        .out_of_turn = out_of_turn,
    };
    struct nacre_session_hold *hold = NULL;
    enum nacre_status status;

    nacre_session_request(session, request);
    if (policy->level == NACRE_LEVEL_NONE)
        strip_request(session, request);
    *ret_hold = NULL;
    request->refused = nacre_run_is_refused(engine, policy, tool, request);
    if (request->refused)
        return NACRE_OK;
    status = nacre_session_open(session, &options, &hold, err);
    if (status != NACRE_OK)
        return status;
    waited_ms = (nacre_clock_ns() - start_ns) / NACRE_NS_PER_MS;
    if (waited_ms > 0)
        request->timeout_ms = waited_ms < time_ms ? time_ms - waited_ms : 1;
    if (policy->level == NACRE_LEVEL_NONE) {
        name_approver(session, policy == session->host, hold);
        request->approver = hold->approver;
    }
    *ret_hold = hold;
    return NACRE_OK;
}
