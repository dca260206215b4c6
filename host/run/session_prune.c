/* What there is, and the end of what is long unused or old. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "nacre/clock.h"
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

/* ---- pruning ---- */

/* Now, as this prune has it. */
static uint64_t now_of(const struct nacre_sessions_prune *how)
{
    return how->now_ms ? how->now_ms : nacre_clock_wall_ms();
}

static bool is_stale(const struct session_record *record,
                     const struct nacre_sessions_prune *how, bool is_day)
{
    uint64_t now_ms = now_of(how);
    uint64_t idle_ms = how->limits_given ? how->idle_ms : record->idle_ms;
    uint64_t age_ms = how->limits_given ? how->age_ms : record->age_ms;

    if (how->config && strcmp(how->config, record->config) != 0)
        return false;
    if (how->timer && record->daily && !is_day)
        return false;
    if (!how->limits_given && how->limits &&
        !how->limits(how->limits_data, record->agent, &idle_ms, &age_ms))
        return false;
    return nacre_clock_is_over(now_ms, record->used_ms, idle_ms) ||
           nacre_clock_is_over(now_ms, record->created_ms, age_ms);
}

/* Is it the day's first time?  Then the next is in a day. */
static bool take_day(int dir_fd, uint64_t now_ms)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    struct stat st;

    if (fstatat(dir_fd, DAILY_NAME, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        !nacre_clock_is_over(now_ms, (uint64_t)st.st_mtim.tv_sec * 1000, DAY_MS))
        return false;
    fd = openat(dir_fd, DAILY_NAME, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd >= 0 && futimens(fd, NULL) == 0;
}

static void prune_one(int dir_fd, const char *id, const struct nacre_sessions_prune *how,
                      bool is_day, const struct nacre_sessions_ender *ender,
                      struct nacre_sessions_report *report)
{
    NACRE_AUTO(session_record_clear) struct session_record record = { 0 };
    const struct session_steps steps = { how->step, how->step_data };
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
    (void)!session_end_held(dir_fd, &record, false, ender, &steps, report, &in_use,
                            &ignored);
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
    is_day = how->timer && take_day(dir_fd, now_of(how));
    for (size_t i = 0; ids[i]; i++)
        prune_one(dir_fd, ids[i], how, is_day, ender, &report);
    session_locks_tidy(dir_fd);
    *ret_report = report;
    return NACRE_OK;
}
