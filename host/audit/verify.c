/*
 * Trusts the key and the newest checkpoint beside it, and nothing else: log and
 * checkpoints may both have been written by whoever has something to hide.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "checkpoint.h"
#include "log.h"
#include "nacre/audit.h"
#include "nacre/path.h"
#include "parse.h"
#include "read.h"
#include "runs.h"

struct verifier {
    const char *path;
    const char *checkpoints_path;
    char newest_path[NACRE_PATH_MAX], newest_shown[NACRE_SHOWN];
    uint8_t key[NACRE_KEY_BYTES];
    struct audit_reader log, checkpoints;
    struct audit_checkpoint head; /* as far as the chain has been followed */
    struct audit_checkpoint next; /* the checkpoint that is waited for */
    bool waiting;
    struct audit_newest newest;
    enum audit_last newest_found;
    struct audit_runs runs;
    struct nacre_audit_report report;
};

static void verifier_clear(struct verifier *verifier)
{
    explicit_bzero(verifier->key, sizeof(verifier->key));
    audit_reader_clear(&verifier->log);
    audit_reader_clear(&verifier->checkpoints);
    audit_runs_clear(&verifier->runs);
}

/* Reads into verifier->next; waiting is false when there is none left. */
static enum nacre_status next_checkpoint(struct verifier *verifier,
                                         struct nacre_error *err)
{
    struct audit_checkpoint before = verifier->next;
    bool first = verifier->checkpoints.line == 0;
    enum nacre_status status;
    const char *text;
    size_t count;
    int line;

    verifier->waiting = false;
    status = audit_reader_next(&verifier->checkpoints, &text, &count, err);
    if (status != NACRE_OK || !text)
        return status;
    line = audit_line_int(verifier->checkpoints.line);
    if (!audit_checkpoint_parse(text, count, verifier->key, &verifier->next))
        return nacre_fail_at(err, NACRE_ERR_PARSE, verifier->checkpoints_path, line, 1,
                             "this checkpoint was not written with the key at hand: it "
                             "was changed, or the key was");
    if (first && verifier->next.count != 0)
        return nacre_fail_at(err, NACRE_ERR_PARSE, verifier->checkpoints_path, line, 1,
                             "the checkpoints before this one, for %llu records, are "
                             "gone",
                             (unsigned long long)verifier->next.count);
    if (!first && verifier->next.count < before.count)
        return nacre_fail_at(err, NACRE_ERR_PARSE, verifier->checkpoints_path, line, 1,
                             "vouches for %llu records, the checkpoint before for %llu: "
                             "records were lost or cut off",
                             (unsigned long long)verifier->next.count,
                             (unsigned long long)before.count);
    verifier->waiting = true;
    return NACRE_OK;
}

/* All checkpoints for as many records as have been seen now. */
static enum nacre_status check_checkpoints(struct verifier *verifier,
                                           struct nacre_error *err)
{
    while (verifier->waiting && verifier->next.count == verifier->head.count) {
        enum nacre_status status;

        if (verifier->next.bytes != verifier->head.bytes ||
            !nacre_digest_equal(&verifier->next.head, &verifier->head.head))
            return nacre_fail_at(err, NACRE_ERR_PARSE, verifier->path,
                                 audit_line_int(verifier->head.count), 1,
                                 "line 1 to here are not what checkpoint %llu vouches "
                                 "for: the log was rewritten",
                                 (unsigned long long)verifier->checkpoints.line);
        verifier->report.checkpoints++;
        verifier->report.after_checkpoint = 0;
        status = next_checkpoint(verifier, err);
        if (status != NACRE_OK)
            return status;
    }
    return NACRE_OK;
}

/* After the checkpoints, which say more exactly what was changed where they can. */
static enum nacre_status check_newest(const struct verifier *verifier,
                                      struct nacre_error *err)
{
    const struct audit_checkpoint *vouched = &verifier->newest.vouched;

    if (verifier->newest_found == AUDIT_LAST_HOLDS &&
        vouched->count == verifier->head.count &&
        (vouched->bytes != verifier->head.bytes ||
         !nacre_digest_equal(&vouched->head, &verifier->head.head)))
        return nacre_fail_at(err, NACRE_ERR_PARSE, verifier->path,
                             audit_line_int(verifier->head.count), 1,
                             "line 1 to here are not what %s vouches for: log and "
                             "checkpoints were both rewritten",
                             verifier->newest_shown);
    return NACRE_OK;
}

static enum nacre_status check_line(struct verifier *verifier, const char *text,
                                    size_t count, struct nacre_error *err)
{
    int line = audit_line_int(verifier->log.line);
    struct audit_record record;

    if (!audit_record_parse(text, count, &record))
        return nacre_fail_at(err, NACRE_ERR_PARSE, verifier->path, line, 1,
                             "not a record of nacre's: it was changed or put in");
    if (record.seq != verifier->log.line)
        return nacre_fail_at(err, NACRE_ERR_PARSE, verifier->path, line, 1,
                             "record %llu stands where record %d belongs: lines were "
                             "removed, put in or swapped",
                             (unsigned long long)record.seq, line);
    if (!nacre_digest_equal(&record.prev, &verifier->head.head))
        return nacre_fail_at(err, NACRE_ERR_PARSE, verifier->path, line, 1,
                             "the line before is not the one that this record follows: "
                             "one of them was changed");
    verifier->head = (struct audit_checkpoint){
        .count = verifier->log.line,
        .bytes = verifier->log.offset,
        .head = nacre_hash(text, count),
    };
    verifier->report.records++;
    verifier->report.after_checkpoint++;
    return audit_runs_see(&verifier->runs, &record, err);
}

static enum nacre_status check_end(const struct verifier *verifier,
                                   struct nacre_error *err)
{
    int line = audit_line_int(verifier->head.count + 1);

    if (verifier->waiting)
        return nacre_fail_at(err, NACRE_ERR_PARSE, verifier->path, line, 1,
                             "the log ends after %llu records, checkpoint %llu vouches "
                             "for %llu: its end is gone",
                             (unsigned long long)verifier->head.count,
                             (unsigned long long)verifier->checkpoints.line,
                             (unsigned long long)verifier->next.count);
    if (verifier->newest.vouched.count > verifier->head.count)
        return nacre_fail_at(err, NACRE_ERR_PARSE, verifier->path, line, 1,
                             "the log ends after %llu records, %s vouches for %llu: log "
                             "and checkpoints were both put back, or a power cut lost "
                             "the end of both",
                             (unsigned long long)verifier->head.count,
                             verifier->newest_shown,
                             (unsigned long long)verifier->newest.vouched.count);
    if (verifier->log.torn > 0 && !verifier->log.torn_record)
        return nacre_fail_at(err, NACRE_ERR_PARSE, verifier->path, line, 1,
                             "the log ends in %llu bytes that are no record of nacre's; "
                             "the %llu records before them hold; nothing runs until they "
                             "are taken out",
                             (unsigned long long)verifier->log.torn,
                             (unsigned long long)verifier->head.count);
    if (verifier->log.torn > 0)
        return nacre_fail_at(err, NACRE_ERR_PARSE, verifier->path, line, 1,
                             "the last line is torn (%llu bytes), as a crash leaves it; "
                             "the %llu records before it hold; the next run sets it "
                             "right",
                             (unsigned long long)verifier->log.torn,
                             (unsigned long long)verifier->head.count);
    return NACRE_OK;
}

/* Whether the file that tells how far the log went can be believed. */
static enum nacre_status check_newest_file(const struct verifier *verifier,
                                           struct nacre_error *err)
{
    const char *path = verifier->newest_path;

    if (verifier->newest_found == AUDIT_LAST_NONE)
        return nacre_fail_at(err, NACRE_ERR_PARSE, path, 1, 1,
                             "this file is missing, so it does not show whether the "
                             "log's end was cut off; all %llu records hold. If the log "
                             "was moved or copied here, bring its audit-*.newest along "
                             "from the key directory, under this name",
                             (unsigned long long)verifier->head.count);
    if (verifier->newest_found == AUDIT_LAST_BROKEN)
        return nacre_fail_at(err, NACRE_ERR_PARSE, path, 1, 1,
                             "not written with the key at hand: it was changed, or torn "
                             "by a power cut");
    if (verifier->newest.broken)
        return nacre_fail_at(err, NACRE_ERR_PARSE, path, 2, 1,
                             "%llu records were vouched for when the log was found to "
                             "be another; its \"recovered\" records tell when. To "
                             "begin anew, move log, checkpoints and this file away",
                             (unsigned long long)verifier->newest.lost.count);
    return NACRE_OK;
}


static enum nacre_status follow(struct verifier *verifier, struct nacre_error *err)
{
    enum nacre_status status = next_checkpoint(verifier, err);
    const char *text = "";
    size_t count;

    if (status == NACRE_OK && !verifier->waiting && verifier->log.end > 0)
        return nacre_fail_at(err, NACRE_ERR_PARSE, verifier->checkpoints_path, 1, 1,
                             "the checkpoints are gone, nothing vouches for the log");
    while (status == NACRE_OK) {
        status = check_checkpoints(verifier, err);
        if (status == NACRE_OK)
            status = check_newest(verifier, err);
        if (status == NACRE_OK)
            status = audit_reader_next(&verifier->log, &text, &count, err);
        if (status != NACRE_OK || !text)
            break;
        status = check_line(verifier, text, count, err);
    }
    if (status == NACRE_OK)
        status = check_end(verifier, err);
    if (status == NACRE_OK)
        status = check_newest_file(verifier, err);
    return status;
}

static enum nacre_status load_key(const char *key_dir, uint8_t ret_key[NACRE_KEY_BYTES],
                                  struct nacre_error *err)
{
    char path[NACRE_PATH_MAX], shown[NACRE_SHOWN];

    /* nacre_key_load() would make one, which vouches for nothing. */
    (void)snprintf(path, sizeof(path), "%s/audit.key", key_dir);
    if (access(path, F_OK) < 0 && errno == ENOENT)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND,
                          "no key %s: it made the checkpoints, without it they can't be "
                          "checked",
                          nacre_text_shown(shown, path));
    return nacre_key_load(key_dir, "audit.key", ret_key, err);
}

enum nacre_status nacre_audit_verify(const char *path, const char *key_dir,
                                     struct nacre_audit_report *ret_report,
                                     struct nacre_error *err)
{
    char checkpoints[NACRE_PATH_MAX], shown[NACRE_SHOWN];
    NACRE_AUTO(verifier_clear) struct verifier verifier = {
        .path = path, .checkpoints_path = checkpoints,
    };
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    NACRE_AUTO(nacre_fd_guard) int checkpoints_fd = -1;
    uint64_t size, checkpoints_size = 0;
    enum nacre_status status;
    struct stat st;

    (void)snprintf(checkpoints, sizeof(checkpoints), "%s%s", path,
                   AUDIT_CHECKPOINT_SUFFIX);
    (void)nacre_text_shown(shown, path);
    status = load_key(key_dir, verifier.key, err);
    if (status == NACRE_OK)
        status = audit_file_read_open(path, &fd, &size, err);
    if (status == NACRE_OK)
        status = audit_newest_path(path, key_dir, verifier.newest_path, err);
    (void)nacre_text_shown(verifier.newest_shown, verifier.newest_path);
    /* Both sizes of one moment; what is appended later is not looked at, so that runs
     * need not wait for a long verification. */
    if (status == NACRE_OK)
        status = audit_file_lock(fd, LOCK_SH, AUDIT_LOCK_MS, shown, err);
    if (status != NACRE_OK)
        return status;
    status = audit_file_read_open(checkpoints, &checkpoints_fd, &checkpoints_size, err);
    if (status == NACRE_OK && fstat(fd, &st) < 0)
        status = nacre_fail(err, NACRE_ERR_IO, "cannot examine %s", shown);
    if (status == NACRE_OK)
        status = audit_newest_read(verifier.newest_path, verifier.key,
                                   &verifier.newest_found, &verifier.newest, err);
    audit_file_unlock(fd);
    if (status == NACRE_ERR_NOT_FOUND)
        return nacre_fail_at(err, NACRE_ERR_PARSE, checkpoints, 1, 1,
                             "the checkpoints are gone, nothing vouches for the log");
    if (status != NACRE_OK)
        return status;

    status = audit_reader_init(&verifier.log, fd, path, 0, (uint64_t)st.st_size, err);
    if (status == NACRE_OK)
        status = audit_reader_init(&verifier.checkpoints, checkpoints_fd, checkpoints, 0,
                                   checkpoints_size, err);
    if (status == NACRE_OK)
        status = follow(&verifier, err);
    if (status != NACRE_OK)
        return status;
    verifier.report.open_runs = verifier.runs.count;
    *ret_report = verifier.report;
    return NACRE_OK;
}
