/* What there is, and its end.  A record is believed only where it leads, by no link, to a
 * directory of ours; whoever ends a sandbox has it alone. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "nacre/clock.h"
#include "nacre/text.h"
#include "session_store.h"

#define DAILY_NAME "daily"
#define DAY_MS (UINT64_C(24) * 3600 * 1000)

static const struct session_wait at_once = { 0 };

/* ---- what there is ---- */

static bool is_live(int dir_fd, const char *id)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    struct nacre_error ignored;

    return session_lock(dir_fd, id, SESSION_HELD, true, &at_once, &fd, NULL, &ignored) !=
           NACRE_OK;
}

static struct nacre_session_info info_of(int dir_fd, const struct session_record *record)
{
    return (struct nacre_session_info){
        .scope = record->scope,
        .scope_key = record->scope_key,
        .agent = record->agent,
        .config = record->config,
        .root = record->root,
        .workspace = record->workspace,
        .box_name = record->box_name,
        .created_ms = record->created_ms,
        .used_ms = record->used_ms,
        .idle_ms = record->idle_ms,
        .age_ms = record->age_ms,
        .daily = record->daily,
        .live = is_live(dir_fd, record->id),
    };
}

enum nacre_status nacre_sessions_each(const char *state_dir,
                                      bool (*each)(void *data,
                                                   const struct nacre_session_info *info),
                                      void *data, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    NACRE_AUTO(session_ids_guard) char **ids = NULL;
    enum nacre_status status = session_store_open(state_dir, &dir_fd, err);

    if (status == NACRE_OK)
        status = session_record_ids(dir_fd, &ids, err);
    for (size_t i = 0; status == NACRE_OK && ids[i]; i++) {
        NACRE_AUTO(session_record_clear) struct session_record record = { 0 };
        struct nacre_session_info info;

        status = session_record_read(dir_fd, ids[i], &record, err);
        if (status == NACRE_ERR_NOT_FOUND || status == NACRE_ERR_PARSE) {
            status = NACRE_OK; /* just removed; or to be written anew by its session */
            continue;
        }
        if (status != NACRE_OK)
            return status;
        info = info_of(dir_fd, &record);
        if (!each(data, &info))
            break;
    }
    return status;
}

/* ---- the end of one ---- */

static enum nacre_status remove_workspace(int dir_fd, const struct session_record *record,
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
        status = session_workspace_remove(root_fd, record->workspace, err);
    if (status == NACRE_OK)
        *count += is_there;
    return status;
}

/* The hold on it is the caller's alone.  *ret_left: a command runs in it. */
static enum nacre_status end_held(int dir_fd, const struct session_record *record,
                                  bool force, const struct nacre_sessions_ender *ender,
                                  struct nacre_sessions_report *report, bool *ret_left,
                                  struct nacre_error *err)
{
    uint32_t ended = 0, left = 0;
    enum nacre_status status =
        ender->end(ender->data, record->box_name, force, &ended, &left, err);

    *ret_left = status == NACRE_OK && left > 0;
    report->ended += ended;
    if (status != NACRE_OK || *ret_left)
        return status;
    status = remove_workspace(dir_fd, record, &report->workspaces, err);
    if (status != NACRE_OK)
        return status;
    session_record_remove(dir_fd, record->id);
    session_lock_remove(dir_fd, record->id, SESSION_PUT);
    session_lock_remove(dir_fd, record->id, SESSION_HELD);
    return NACRE_OK;
}

/* ---- the end of a session ---- */

static enum nacre_status fail_running(const char *key, struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                      "session '%s' runs: wait for it, or end it with --force",
                      nacre_text_shown(shown, key));
}

static enum nacre_status end_session(int dir_fd, const struct session_record *record,
                                     bool force, const struct session_wait *wait,
                                     const struct nacre_sessions_ender *ender,
                                     struct nacre_sessions_report *report,
                                     struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    uint32_t ended = 0, left = 0;
    bool in_use = false;
    enum nacre_status status = NACRE_OK;

    /* Under its run: then the hold is let go of. */
    if (force)
        status = ender->end(ender->data, record->box_name, true, &ended, &left, err);
    report->ended += ended;
    if (status == NACRE_OK)
        status = session_lock(dir_fd, record->id, SESSION_HELD, true,
                              force ? wait : &at_once, &fd, NULL, err);
    if (status == NACRE_ERR_TIMEOUT)
        return fail_running(record->scope_key, err);
    if (status == NACRE_OK)
        status = end_held(dir_fd, record, force, ender, report, &in_use, err);
    return in_use ? fail_running(record->scope_key, err) : status;
}

/* "agent:ID:…" is a session of the agent whose scope key is "agent:ID". */
static bool is_of_agent(const char *key, const char *scope_key)
{
    size_t length = strlen(scope_key);

    return strncmp(key, scope_key, length) == 0 && key[length] == ':';
}

static enum nacre_status end_recorded(int dir_fd, const char *key, bool force,
                                      const struct session_wait *wait,
                                      const struct nacre_sessions_ender *ender,
                                      struct nacre_sessions_report *report,
                                      uint32_t *ret_found, struct nacre_error *err)
{
    NACRE_AUTO(session_ids_guard) char **ids = NULL;
    enum nacre_status status = session_record_ids(dir_fd, &ids, err);

    for (size_t i = 0; status == NACRE_OK && ids[i]; i++) {
        NACRE_AUTO(session_record_clear) struct session_record record = { 0 };
        struct nacre_error ignored;

        if (session_record_read(dir_fd, ids[i], &record, &ignored) != NACRE_OK)
            continue;
        if (record.scope != NACRE_SCOPE_SESSION) {
            report->kept += is_of_agent(key, record.scope_key);
            continue;
        }
        if (strcmp(record.scope_key, key) != 0)
            continue;
        (*ret_found)++;
        status = end_session(dir_fd, &record, force, wait, ender, report, err);
    }
    return status;
}

enum nacre_status nacre_sessions_end(const char *state_dir, const char *key, bool force,
                                     uint64_t deadline_ns,
                                     const struct nacre_sessions_ender *ender,
                                     struct nacre_sessions_report *ret_report,
                                     struct nacre_error *err)
{
    const struct session_wait wait = { .deadline_ns = deadline_ns };
    struct nacre_sessions_report report = { 0 };
    NACRE_AUTO(nacre_heap_guard) char *scope_key = NULL;
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    uint32_t found = 0, ended = 0, left = 0;
    char shown[NACRE_SHOWN];
    enum nacre_status status = session_store_open(state_dir, &dir_fd, err);

    if (status == NACRE_OK && asprintf(&scope_key, "session:%s", key) < 0) {
        scope_key = NULL;
        status = nacre_fail(err, NACRE_ERR_MEMORY, "the end of a session");
    }
    if (status == NACRE_OK)
        status = end_recorded(dir_fd, key, force, &wait, ender, &report, &found, err);
    /* And one that a policy, not a configuration, had made. */
    if (status == NACRE_OK)
        status = ender->end(ender->data, scope_key, force, &ended, &left, err);
    if (status != NACRE_OK)
        return status;
    report.ended += ended;
    if (left > 0)
        return fail_running(key, err);
    if (found == 0 && report.ended == 0 && report.kept == 0)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND,
                          "nothing is kept for session '%s': see nacre session list",
                          nacre_text_shown(shown, key));
    *ret_report = report;
    return NACRE_OK;
}

/* ---- pruning ---- */

/* Strictly more: what is as old as it may be stays. */
static bool is_over(uint64_t now_ms, uint64_t since_ms, uint64_t most_ms)
{
    return most_ms > 0 && now_ms > since_ms && now_ms - since_ms > most_ms;
}

static bool is_stale(const struct session_record *record,
                     const struct nacre_sessions_prune *how, bool is_day)
{
    uint64_t now_ms = nacre_clock_wall_ms();
    uint64_t idle_ms = how->limits_given ? how->idle_ms : record->idle_ms;
    uint64_t age_ms = how->limits_given ? how->age_ms : record->age_ms;

    if (how->config && strcmp(how->config, record->config) != 0)
        return false;
    if (how->timer && record->daily && !is_day)
        return false;
    return is_over(now_ms, record->used_ms, idle_ms) ||
           is_over(now_ms, record->created_ms, age_ms);
}

/* Is it the day's first time?  Then the next is in a day. */
static bool take_day(int dir_fd)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    struct stat st;

    if (fstatat(dir_fd, DAILY_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        !is_over(nacre_clock_wall_ms(), (uint64_t)st.st_mtim.tv_sec * 1000, DAY_MS))
        return false;
    fd = openat(dir_fd, DAILY_NAME, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd >= 0 && futimens(fd, NULL) == 0;
}

static void prune_one(int dir_fd, const char *id, const struct nacre_sessions_prune *how,
                      bool is_day, const struct nacre_sessions_ender *ender,
                      struct nacre_sessions_report *report)
{
    NACRE_AUTO(session_record_clear) struct session_record record = { 0 };
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    struct nacre_error ignored;
    bool in_use = false;

    if (session_record_read(dir_fd, id, &record, &ignored) != NACRE_OK ||
        !is_stale(&record, how, is_day))
        return;
    if (session_lock(dir_fd, id, SESSION_HELD, true, &at_once, &fd, NULL, &ignored) !=
        NACRE_OK) {
        report->in_use++;
        return;
    }
    /* It may have been used, or ended, before it was ours. */
    session_record_clear(&record);
    if (session_record_read(dir_fd, id, &record, &ignored) != NACRE_OK ||
        !is_stale(&record, how, is_day))
        return;
    (void)!end_held(dir_fd, &record, false, ender, report, &in_use, &ignored);
    report->in_use += in_use;
}

enum nacre_status nacre_sessions_prune(const char *state_dir,
                                       const struct nacre_sessions_prune *how,
                                       const struct nacre_sessions_ender *ender,
                                       struct nacre_sessions_report *ret_report,
                                       struct nacre_error *err)
{
    struct nacre_sessions_report report = { 0 };
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    NACRE_AUTO(session_ids_guard) char **ids = NULL;
    enum nacre_status status = session_store_open(state_dir, &dir_fd, err);
    bool is_day;

    if (status == NACRE_OK)
        status = session_record_ids(dir_fd, &ids, err);
    if (status != NACRE_OK)
        return status;
    is_day = how->timer && take_day(dir_fd);
    for (size_t i = 0; ids[i]; i++)
        prune_one(dir_fd, ids[i], how, is_day, ender, &report);
    session_locks_tidy(dir_fd);
    *ret_report = report;
    return NACRE_OK;
}
