#include "log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "nacre/clock.h"
#include "parse.h"
#include "tail.h"

/*
 * flock() and not fcntl(): it is held by the open file and so keeps two handles of
 * one process apart, and it is not lost when some other part of the program opens
 * and closes the same file.  Polled, because it has no timeout of its own; whoever
 * has it keeps it for microseconds.
 */
enum nacre_status audit_file_lock(int fd, int how, uint64_t wait_ms, const char *shown,
                                  struct nacre_error *err)
{
    uint64_t deadline_ns = 0;
    struct timespec pause = { .tv_nsec = 20000 };

    while (flock(fd, how | LOCK_NB) < 0) {
        if (errno == EINTR)
            continue;
        if (errno != EWOULDBLOCK)
            return nacre_fail(err, NACRE_ERR_IO, "cannot lock %s", shown);
        if (deadline_ns == 0)
            deadline_ns = nacre_clock_ns() + wait_ms * NACRE_NS_PER_MS;
        else if (nacre_clock_ns() >= deadline_ns)
            return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                              "the audit log %s is locked by another process; end that "
                              "process, or name another log",
                              shown);
        (void)nanosleep(&pause, NULL);
        if (pause.tv_nsec < 2000000)
            pause.tv_nsec *= 2;
    }
    return NACRE_OK;
}

void audit_file_unlock(int fd)
{
    (void)flock(fd, LOCK_UN);
}

enum nacre_status audit_log_refresh(struct nacre_audit *audit, uint64_t *ret_torn_count,
                                    struct nacre_error *err)
{
    struct audit_tail tail;
    enum nacre_status status;
    struct statx st;
    uint64_t size;

    /* Not fstat(): since Linux 6.13, when somebody has asked for a file's times, the next
     * write must give it new ones and so writes its inode, too.  That costs as much
     * as the write itself. */
    if (statx(audit->fd, "", AT_EMPTY_PATH, STATX_SIZE | STATX_NLINK, &st) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot examine %s", audit->shown);
    size = st.stx_size;
    errno = 0;
    if (st.stx_nlink == 0)
        return nacre_fail(err, NACRE_ERR_IO,
                          "the audit log %s was deleted while nacre had it open",
                          audit->shown);
    if (size < audit->head.bytes)
        return nacre_fail(err, NACRE_ERR_IO,
                          "the audit log %s was cut from %llu to %llu bytes while nacre "
                          "had it open",
                          audit->shown, (unsigned long long)audit->head.bytes,
                          (unsigned long long)size);
    *ret_torn_count = 0;
    if (size == audit->head.bytes)
        return NACRE_OK;
    audit->knows_all = false; /* somebody else's run, who may be killed before its end */
    status = audit_tail_read(audit->fd, audit->shown, size, &tail, err);
    if (status != NACRE_OK)
        return status;
    audit->head = tail.head;
    *ret_torn_count = tail.torn_count;
    return NACRE_OK;
}

static enum nacre_status append(struct nacre_audit *audit, struct audit_line *line,
                                struct nacre_error *err)
{
    enum nacre_status status;
    const char *text;
    size_t count;

    if (!audit_line_seal(line, audit->head.count + 1, &audit->head.head, &text, &count))
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a record of %s",
                          audit->shown);
    status = audit_append(audit->fd, audit->shown, audit->head.bytes, text, count, err);
    if (status != NACRE_OK)
        return status;
    audit->head.count++;
    audit->head.bytes += count;
    audit->head.head = nacre_hash(text, count - 1);
    return NACRE_OK;
}

/* Every run has two records, also one whose owner could not write the second. */
static enum nacre_status end_lost(struct nacre_audit *audit,
                                  const struct audit_damage *damage,
                                  struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    for (uint64_t i = 0; i < damage->unended && i < AUDIT_UNENDED_MAX; i++) {
        NACRE_AUTO(audit_line_clear) struct audit_line line;

        audit_line_init(&line);
        audit_record_lost(&line, damage->unended_ids[i]);
        status = append(audit, &line, err);
        if (status != NACRE_OK)
            break;
    }
    return status;
}

enum nacre_status audit_log_recover(struct nacre_audit *audit,
                                    const struct audit_damage *damage,
                                    struct nacre_error *err)
{
    size_t count = damage->torn_count < AUDIT_TORN_MAX ? (size_t)damage->torn_count
                                                       : AUDIT_TORN_MAX;
    NACRE_AUTO(audit_line_clear) struct audit_line line;
    char torn[AUDIT_TORN_MAX];
    enum nacre_status status;

    audit_line_init(&line);
    status = audit_pread(audit->fd, audit->shown, torn, count, audit->head.bytes, err);
    if (status != NACRE_OK)
        return status;
    audit_record_recovered(&line, damage, torn);
    if (line.failed)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a record of %s",
                          audit->shown);
    if (count > 0 && ftruncate(audit->fd, (off_t)audit->head.bytes) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot cut off the torn end of %s",
                          audit->shown);
    status = end_lost(audit, damage, err);
    return status == NACRE_OK ? append(audit, &line, err) : status;
}

enum nacre_status audit_log_compare(const struct nacre_audit *audit,
                                    const struct audit_checkpoint *checkpoint,
                                    enum audit_stand *ret_stand, struct nacre_error *err)
{
    struct audit_tail tail = { .head = audit->head };
    enum nacre_status status = NACRE_OK;
    struct nacre_error failure;
    bool same;

    if (checkpoint->count > audit->head.count) {
        *ret_stand = AUDIT_CUT;
        return NACRE_OK;
    }
    if (checkpoint->bytes < audit->head.bytes)
        status = audit_tail_read(audit->fd, audit->shown, checkpoint->bytes, &tail,
                                 &failure);
    if (status != NACRE_OK && status != NACRE_ERR_USAGE) {
        *err = failure;
        return status;
    }
    same = status == NACRE_OK && tail.torn_count == 0 &&
           tail.head.count == checkpoint->count && tail.head.bytes == checkpoint->bytes &&
           nacre_digest_equal(&tail.head.head, &checkpoint->head);
    *ret_stand = same ? AUDIT_STANDS : AUDIT_DIFFERS;
    return NACRE_OK;
}

enum nacre_status audit_log_checkpoint(struct nacre_audit *audit, struct nacre_error *err)
{
    const uint8_t *key = audit->secret->key;
    enum audit_stand stand = AUDIT_DIFFERS;
    struct audit_newest newest;
    enum nacre_status status;
    enum audit_last found;

    status = audit_newest_read(audit->newest_path, key, &found, &newest, err);
    if (status == NACRE_OK && found == AUDIT_LAST_HOLDS)
        status = audit_log_compare(audit, &newest.vouched, &stand, err);
    if (status != NACRE_OK)
        return status;
    errno = 0;
    if (stand != AUDIT_STANDS)
        return nacre_fail(err, NACRE_ERR_IO,
                          "the audit log %s is not the one that %s vouches for: one of "
                          "them was changed while nacre had it open",
                          audit->shown, audit->newest_shown);
    newest.vouched = audit->head;
    newest.quiet = audit->knows_all && audit->open_runs == 0 && !newest.broken;
    status = audit_newest_write(audit->newest_path, key, &newest, err);
    if (status == NACRE_OK)
        status = audit_checkpoint_write(audit->checkpoints_fd, audit->checkpoints_shown,
                                        key, &audit->head, err);
    if (status == NACRE_OK)
        audit->vouched_count = audit->head.count;
    return status;
}

/* A checkpoint that is due comes before the record: when it can't be written, nothing
 * of the record is there either. */
static enum nacre_status settle_and_append(struct nacre_audit *audit,
                                           struct audit_line *line,
                                           struct nacre_error *err)
{
    enum nacre_status status;
    uint64_t torn_count;

    status = audit_log_refresh(audit, &torn_count, err);
    if (status == NACRE_OK && torn_count > 0) {
        struct audit_damage damage = { .torn_count = torn_count };

        status = audit_log_recover(audit, &damage, err);
    }
    if (status == NACRE_OK &&
        audit->head.count - audit->vouched_count >= AUDIT_CHECKPOINT_EVERY)
        status = audit_log_checkpoint(audit, err);
    if (status == NACRE_OK)
        status = append(audit, line, err);
    return status;
}

/* `begun`: else it is the end of one that was. */
static enum nacre_status commit(struct nacre_audit *audit, struct audit_line *line,
                                bool begun, struct nacre_error *err)
{
    enum nacre_status status;

    (void)pthread_mutex_lock(&audit->mutex);
    status = audit_file_lock(audit->fd, LOCK_EX, AUDIT_LOCK_MS, audit->shown, err);
    if (status == NACRE_OK) {
        status = settle_and_append(audit, line, err);
        audit_file_unlock(audit->fd);
    }
    if (status == NACRE_OK)
        audit->open_runs += begun ? 1 : (uint64_t)-1;
    (void)pthread_mutex_unlock(&audit->mutex);
    return status;
}

enum nacre_status nacre_audit_begin(struct nacre_audit *audit,
                                    struct nacre_audit_run *run,
                                    struct nacre_error *err)
{
    NACRE_AUTO(audit_line_clear) struct audit_line line;

    assert(audit->secret->present); /* not in a forked child */
    audit_line_init(&line);
    audit_record_begin(&line, &audit->secret->keyed, run);
    return commit(audit, &line, true, err);
}

enum nacre_status nacre_audit_end(struct nacre_audit *audit,
                                  const struct nacre_audit_run *run,
                                  const struct nacre_result *result,
                                  const struct nacre_error *failure,
                                  struct nacre_error *err)
{
    NACRE_AUTO(audit_line_clear) struct audit_line line;

    assert(audit->secret->present);
    audit_line_init(&line);
    audit_record_end(&line, &audit->secret->keyed, run, result, failure);
    return commit(audit, &line, false, err);
}
