/*
 * The end of sandboxes and of sessions.  A record is believed only where it leads, by no
 * link, to a directory of ours; whoever ends a sandbox has it alone.  What goes goes in
 * this order: the sandbox, its workspace, the record, its locks.  So whoever dies on the
 * way leaves a record, and the next end or prune goes on by it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "nacre/text.h"
#include "session_store.h"

static const struct session_wait at_once = { 0 };

/* ---- of one sandbox ---- */

static enum nacre_status remove_workspace(int dir_fd, const struct session_record *record,
                                          const struct session_steps *steps,
                                          uint32_t *count, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int root_fd = -1;
    struct stat st;
    enum nacre_status status;
    bool is_there;

    if (!record->workspace)
        return NACRE_OK;
    status = session_dir_walk(record->root, false, NULL, &root_fd, err);
    if (status == NACRE_ERR_NOT_FOUND)
        return NACRE_OK;
    if (status != NACRE_OK)
        return status;
    is_there = fstatat(root_fd, record->workspace, &st, AT_SYMLINK_NOFOLLOW) == 0;
    status = session_disk_remove(dir_fd, record->id, root_fd, record->workspace, err);
    if (status == NACRE_OK)
        status = session_workspace_remove(root_fd, record->workspace, steps, err);
    if (status == NACRE_OK)
        *count += is_there;
    return status;
}

/* Root, scope and key are what the record's own name is made of; what it says the sandbox
 * is called is not, and so would have any other ended. */
static enum nacre_status end_warm(const struct session_record *record, bool force,
                                  const struct nacre_sessions_ender *ender,
                                  uint32_t *ret_ended, uint32_t *ret_left,
                                  struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *key = NULL;

    if (asprintf(&key, "%s%s", record->scope == NACRE_SCOPE_SESSION ? "session:" : "",
                 record->scope_key) < 0) {
        key = NULL;
        return nacre_fail(err, NACRE_ERR_MEMORY, "the end of a session");
    }
    /* A policy's session has a sandbox that is called as its engine likes. */
    if (!record->box_name[0])
        return ender->end(ender->data, key, NULL, force, ret_ended, ret_left, err);
    return ender->end(ender->data, record->box_name, key, force, ret_ended, ret_left,
                      err);
}

enum nacre_status session_end_held(int dir_fd, const struct session_record *record,
                                   bool force, const struct nacre_sessions_ender *ender,
                                   const struct session_steps *steps,
                                   struct nacre_sessions_report *report, bool *ret_left,
                                   struct nacre_error *err)
{
    uint32_t ended = 0, left = 0;
    enum nacre_status status;

    session_step(steps, "end the sandbox");
    status = end_warm(record, force, ender, &ended, &left, err);
    *ret_left = status == NACRE_OK && left > 0;
    report->ended += ended;
    if (status != NACRE_OK || *ret_left)
        return status;
    status = remove_workspace(dir_fd, record, steps, &report->workspaces, err);
    if (status != NACRE_OK)
        return status;
    session_step(steps, "remove the record");
    session_record_remove(dir_fd, record->id);
    session_step(steps, "remove a lock");
    session_lock_remove(dir_fd, record->id, SESSION_PUT);
    session_step(steps, "remove the last lock");
    session_lock_remove(dir_fd, record->id, SESSION_HELD);
    return NACRE_OK;
}

/* ---- of a session ---- */

/* One call's work. */
struct ending {
    int dir_fd, turn_fd;
    char turn[SESSION_ID];
    bool is_known, is_running; /* by the file of its turn */
    int pid;                   /* a hint: who has the turn; or 0 */
    char *agent;               /* of a session, owned */
    enum nacre_scope scope;
    char *scope_key;           /* as records have it; owned */
    const struct nacre_sessions_end *how;
    const struct nacre_sessions_ender *ender;
    struct session_steps steps;
    struct nacre_sessions_report report;
    uint32_t found;
};

static void ending_clear(struct ending *ending)
{
    nacre_fd_guard(&ending->turn_fd);
    nacre_fd_guard(&ending->dir_fd);
    free(ending->agent);
    free(ending->scope_key);
}

/* For a sentence: "session 'work'". */
#define WHOSE (NACRE_SHOWN + 16)
static const char *whose(const struct ending *ending, char ret_text[WHOSE])
{
    char shown[NACRE_SHOWN];

    if (ending->scope == NACRE_SCOPE_SHARED)
        (void)snprintf(ret_text, WHOSE, "the shared scope");
    else
        (void)snprintf(ret_text, WHOSE, "%s '%s'", nacre_scope_name(ending->scope),
                       nacre_text_shown(shown, ending->how->key));
    return ret_text;
}

static enum nacre_status fail_running(const struct ending *ending,
                                      struct nacre_error *err)
{
    char text[WHOSE];

    return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                      ending->how->force ? "%s runs, and its process does not end"
                                         : "%s runs: wait for it, or end it with --force",
                      whose(ending, text));
}

/* A key is a session's of the agent in it: agent:ID:NAME, of all others the main one. */
static char *agent_of(const char *key)
{
    static const char prefix[] = "agent:";

    if (strncmp(key, prefix, strlen(prefix)) != 0)
        return strdup("main");
    key += strlen(prefix);
    return strndup(key, strcspn(key, ":"));
}

/* Nobody runs in it while we have its turn.  A session that never ran has none. */
static enum nacre_status take_turn(struct ending *ending, struct nacre_error *err)
{
    enum nacre_status status;

    session_turn_id(ending->agent, ending->how->key, ending->turn);
    ending->is_known = session_lock_is_there(ending->dir_fd, ending->turn, SESSION_TURN);
    if (!ending->is_known)
        return NACRE_OK;
    status = session_lock(ending->dir_fd, ending->turn, SESSION_TURN, true, &at_once,
                          &ending->turn_fd, &ending->pid, err);
    ending->is_running = status == NACRE_ERR_TIMEOUT;
    if (ending->is_running && !ending->how->force)
        return fail_running(ending, err);
    return ending->is_running ? NACRE_OK : status;
}

static enum nacre_status count_box(struct ending *ending,
                                   const struct session_record *record,
                                   struct nacre_error *err)
{
    (void)err;
    ending->found += record->scope == ending->scope;
    ending->report.kept += record->scope != ending->scope;
    return NACRE_OK;
}

static enum nacre_status end_box(struct ending *ending,
                                 const struct session_record *record,
                                 struct nacre_error *err)
{
    const struct session_wait wait = { .deadline_ns = ending->how->deadline_ns };
    const struct nacre_sessions_ender *ender = ending->ender;
    bool force = ending->how->force, in_use = false;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    uint32_t ended = 0, left = 0;
    enum nacre_status status = NACRE_OK;

    if (record->scope != ending->scope)
        return NACRE_OK;
    /* Under its run: then the hold is let go of. */
    if (force)
        status = end_warm(record, true, ender, &ended, &left, err);
    ending->report.ended += ended;
    if (status == NACRE_OK)
        status = session_lock(ending->dir_fd, record->id, SESSION_HELD, true,
                              force ? &wait : &at_once, &fd, NULL, err);
    if (status == NACRE_ERR_TIMEOUT)
        return fail_running(ending, err);
    if (status == NACRE_OK)
        status = session_end_held(ending->dir_fd, record, force, ender, &ending->steps,
                                  &ending->report, &in_use, err);
    return in_use ? fail_running(ending, err) : status;
}

static bool is_of_agent(const struct session_record *record, const char *agent)
{
    static const char prefix[] = "agent:";

    return record->scope == NACRE_SCOPE_AGENT &&
           strncmp(record->scope_key, prefix, strlen(prefix)) == 0 &&
           strcmp(record->scope_key + strlen(prefix), agent) == 0;
}

typedef enum nacre_status box_function(struct ending *ending,
                                       const struct session_record *record,
                                       struct nacre_error *err);

static enum nacre_status each_box(struct ending *ending, box_function *function,
                                  struct nacre_error *err)
{
    NACRE_AUTO(session_ids_guard) char **ids = NULL;
    enum nacre_status status = session_record_ids(ending->dir_fd, &ids, err);

    for (size_t i = 0; status == NACRE_OK && ids[i]; i++) {
        NACRE_AUTO(session_record_clear) struct session_record record = { 0 };
        struct nacre_error ignored;

        if (session_record_read(ending->dir_fd, ids[i], &record, &ignored) != NACRE_OK)
            continue;
        if ((ending->agent && is_of_agent(&record, ending->agent)) ||
            (record.scope == ending->scope &&
             strcmp(record.scope_key, ending->scope_key) == 0))
            status = function(ending, &record, err);
    }
    return status;
}

/* And one that a policy, not a configuration, had made. */
static enum nacre_status end_unrecorded(struct ending *ending, struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *which = NULL;
    uint32_t ended = 0, left = 0;
    enum nacre_status status;

    if (asprintf(&which, "%s%s", ending->scope == NACRE_SCOPE_SESSION ? "session:" : "",
                 ending->scope_key) < 0) {
        which = NULL;
        return nacre_fail(err, NACRE_ERR_MEMORY, "the end of a session");
    }
    status = ending->ender->end(ending->ender->data, which, NULL, ending->how->force,
                                &ended, &left, err);
    ending->report.ended += ended;
    return status == NACRE_OK && left > 0 ? fail_running(ending, err) : status;
}

static enum nacre_status judge(const struct ending *ending, struct nacre_error *err)
{
    char text[WHOSE];

    if (ending->found > 0 || ending->report.ended > 0 || ending->report.jobs > 0 ||
        ending->is_known)
        return NACRE_OK;
    return nacre_fail(err, NACRE_ERR_NOT_FOUND,
                      "%s has neither a sandbox of its own nor anything in the "
                      "background, so there is nothing to end: see nacre session list",
                      whose(ending, text));
}

/* A scope other than a session has no turns: whoever uses what is its holds that. */
static enum nacre_status start_scope(struct ending *ending, struct nacre_error *err)
{
    const char *key = ending->how->key;
    bool of_agent = ending->scope == NACRE_SCOPE_AGENT;

    if (asprintf(&ending->scope_key, "%s%s", of_agent ? "agent:" : "",
                 ending->scope == NACRE_SCOPE_SHARED ? "shared" : key) < 0) {
        ending->scope_key = NULL;
        return nacre_fail(err, NACRE_ERR_MEMORY, "the end of a session");
    }
    if (ending->scope != NACRE_SCOPE_SESSION)
        return NACRE_OK;
    ending->agent = agent_of(key);
    return ending->agent ? take_turn(ending, err)
                         : nacre_fail(err, NACRE_ERR_MEMORY, "the end of a session");
}

static enum nacre_status start(struct ending *ending, const char *state_dir,
                               struct nacre_error *err)
{
    enum nacre_status status = session_store_open(state_dir, &ending->dir_fd, err);
    char shown[NACRE_SHOWN];

    if (status != NACRE_OK)
        return status;
    status = start_scope(ending, err);
    if (status == NACRE_OK)
        status = each_box(ending, count_box, err);
    /* Without a sandbox there is nothing to end it by: its processes are the host's. */
    if (status == NACRE_OK && ending->is_running && ending->found == 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "session '%s' runs without a sandbox of its own: wait for it, "
                          "or end its process (%d)",
                          nacre_text_shown(shown, ending->how->key), ending->pid);
    return status;
}

enum nacre_status nacre_sessions_end(const char *state_dir,
                                     const struct nacre_sessions_end *how,
                                     const struct nacre_sessions_ender *ender,
                                     struct nacre_sessions_report *ret_report,
                                     struct nacre_error *err)
{
    NACRE_AUTO(ending_clear)
    struct ending ending = { .dir_fd = -1, .turn_fd = -1, .how = how, .ender = ender,
                             .steps = { how->step, how->step_data },
                             .scope = how->scope ? how->scope : NACRE_SCOPE_SESSION };
    enum nacre_status status = start(&ending, state_dir, err);

    if (status == NACRE_OK && ending.scope == NACRE_SCOPE_SESSION)
        status = how->end_jobs(how->jobs_data, how->key, &ending.report.jobs, err);
    if (status == NACRE_OK)
        status = each_box(&ending, end_box, err);
    if (status == NACRE_OK)
        status = end_unrecorded(&ending, err);
    if (status == NACRE_OK)
        status = judge(&ending, err);
    if (status != NACRE_OK)
        return status;
    if (ending.turn_fd >= 0) {
        session_step(&ending.steps, "remove the turn");
        session_lock_remove(ending.dir_fd, ending.turn, SESSION_TURN);
    }
    *ret_report = ending.report;
    return NACRE_OK;
}
