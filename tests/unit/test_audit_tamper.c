/*
 * What was done to a log behind nacre's back shows, with its line; and what a crash
 * leaves is set right and told.  Every case starts from a log that verifies.
 */
#include <fcntl.h>
#include <jansson.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include <cmocka.h>

#include "audit_log.h"

#define RECORDS 600 /* with checkpoints for 0, 256, 512 and 600 of them */

struct docs {
    struct doc log, checkpoints, newest;
    char newest_path[NEWEST_PATH];
};

static struct docs docs_load(const struct audit_log *log)
{
    struct docs docs = { doc_load(log->path), doc_load(log->checkpoints), { 0 }, "" };

    audit_log_newest(log, docs.newest_path);
    docs.newest = doc_load(docs.newest_path);
    return docs;
}

static void docs_store(struct docs *docs, const struct audit_log *log)
{
    doc_store(&docs->log, log->path);
    doc_store(&docs->checkpoints, log->checkpoints);
    doc_store(&docs->newest, docs->newest_path);
}

static void alter_a_byte(struct docs *docs)
{
    doc_change(&docs->log, 100, "\"a1\"", "\"b1\"");
}

static void alter_the_last_record(struct docs *docs)
{
    doc_change(&docs->log, RECORDS, "exited", "killed");
}

static void alter_the_first_link(struct docs *docs)
{
    doc_change(&docs->log, 1, "\"prev\":\"0", "\"prev\":\"1");
}

static void break_the_form(struct docs *docs)
{
    doc_change(&docs->log, 100, "\"type\":\"", "\"tape\":\"");
}

static void alter_and_chain_again(struct docs *docs)
{
    doc_change(&docs->log, 100, "\"a1\"", "\"b1\"");
    doc_chain_again(&docs->log, 100);
}

static void alter_after_the_second_checkpoint(struct docs *docs)
{
    doc_change(&docs->log, 300, "\"a1\"", "\"b1\"");
    doc_chain_again(&docs->log, 300);
}

static void delete_a_line(struct docs *docs)
{
    doc_delete_lines(&docs->log, 100, 100);
}

static void delete_the_first_line(struct docs *docs)
{
    doc_delete_lines(&docs->log, 1, 1);
}

static void repeat_a_line(struct docs *docs)
{
    doc_copy_line(&docs->log, 5, 6);
}

static void swap_two_lines(struct docs *docs)
{
    doc_copy_line(&docs->log, 11, 10);
    doc_delete_lines(&docs->log, 12, 12);
}

static void cut_the_tail(struct docs *docs)
{
    doc_delete_lines(&docs->log, RECORDS - 1, RECORDS);
}

static void cut_inside_the_last_line(struct docs *docs)
{
    docs->log.size -= 10;
}

static void empty_the_log(struct docs *docs)
{
    docs->log.size = 0;
}

static void leave_a_torn_line(struct docs *docs)
{
    doc_replace(&docs->log, docs->log.size, 0, "{\"v\":1,\"seq\":601,", 17);
}

static void leave_half_a_line_of_junk(struct docs *docs)
{
    doc_replace(&docs->log, docs->log.size, 0, "{\"half", 6);
}

static void put_in_junk(struct docs *docs)
{
    doc_replace(&docs->log, docs->log.size, 0, "\x1b[2J\n", 5);
}

static void put_in_an_endless_line(struct docs *docs)
{
    char *line = calloc(1, 1 << 20);

    memset(line, 'x', 1 << 20);
    doc_replace(&docs->log, docs->log.size, 0, line, 1 << 20);
    free(line);
}

static void alter_a_checkpoint(struct docs *docs)
{
    doc_change(&docs->checkpoints, 4, "\"count\":600", "\"count\":512");
}

static void alter_an_hmac(struct docs *docs)
{
    docs->checkpoints.bytes[docs->checkpoints.size - 4] ^= 1;
}

static void swap_two_checkpoints(struct docs *docs)
{
    doc_copy_line(&docs->checkpoints, 3, 2);
    doc_delete_lines(&docs->checkpoints, 4, 4);
}

static void delete_the_first_checkpoint(struct docs *docs)
{
    doc_delete_lines(&docs->checkpoints, 1, 1);
}

static void empty_the_checkpoints(struct docs *docs)
{
    docs->checkpoints.size = 0;
}

static void delete_the_checkpoints(struct docs *docs)
{
    docs->checkpoints.missing = true;
}

static void put_both_back(struct docs *docs)
{
    doc_delete_lines(&docs->log, 513, RECORDS);
    doc_delete_lines(&docs->checkpoints, 4, 4);
}

static void put_both_back_to_the_start(struct docs *docs)
{
    docs->log.size = 0;
    doc_delete_lines(&docs->checkpoints, 2, 4);
}

static void cut_the_checkpoints_and_rewrite(struct docs *docs)
{
    doc_delete_lines(&docs->checkpoints, 2, 4);
    alter_and_chain_again(docs);
}

static void cut_the_checkpoints_and_alter_the_end(struct docs *docs)
{
    doc_delete_lines(&docs->checkpoints, 4, 4);
    alter_the_last_record(docs);
}

static void delete_log_and_checkpoints(struct docs *docs)
{
    docs->log.missing = docs->checkpoints.missing = true;
}

static void alter_the_newest(struct docs *docs)
{
    doc_change(&docs->newest, 1, "\"count\":600", "\"count\":512");
}

static void alter_what_was_lost(struct docs *docs)
{
    doc_change(&docs->newest, 2, "[]", "[ ");
}

static void cut_the_newest(struct docs *docs)
{
    docs->newest.size /= 2;
}

static void empty_the_newest(struct docs *docs)
{
    docs->newest.size = 0;
}

static void delete_the_newest(struct docs *docs)
{
    docs->newest.missing = true;
}

static const struct {
    void (*tamper)(struct docs *docs);
    const char *file; /* NULL: the newest checkpoint's */
    int line;
    const char *complaint;
} tamperings[] = {
    { alter_a_byte, "audit.jsonl", 101, "the line before is not the one" },
    { alter_the_last_record, "audit.jsonl", 600, "not what checkpoint 4 vouches for" },
    { alter_the_first_link, "audit.jsonl", 1, "the line before is not the one" },
    { break_the_form, "audit.jsonl", 100, "not a record of nacre's" },
    { alter_and_chain_again, "audit.jsonl", 256, "not what checkpoint 2 vouches for" },
    { alter_after_the_second_checkpoint, "audit.jsonl", 512, "checkpoint 3 vouches for" },
    { delete_a_line, "audit.jsonl", 100, "record 101 stands where record 100" },
    { delete_the_first_line, "audit.jsonl", 1, "record 2 stands where record 1" },
    { repeat_a_line, "audit.jsonl", 6, "record 5 stands where record 6" },
    { swap_two_lines, "audit.jsonl", 10, "record 11 stands where record 10" },
    { cut_the_tail, "audit.jsonl", 599, "ends after 598 records, checkpoint 4" },
    { cut_inside_the_last_line, "audit.jsonl", 600, "ends after 599 records" },
    { empty_the_log, "audit.jsonl", 1, "ends after 0 records" },
    { leave_a_torn_line, "audit.jsonl", 601, "the last line is torn (17 bytes)" },
    { leave_half_a_line_of_junk, "audit.jsonl", 601, "6 bytes that are no record" },
    { put_in_junk, "audit.jsonl", 601, "not a record of nacre's" },
    { put_in_an_endless_line, "audit.jsonl", 601, "a line of over" },
    { alter_a_checkpoint, "audit.jsonl.checkpoints", 4, "not written with the key" },
    { alter_an_hmac, "audit.jsonl.checkpoints", 4, "not written with the key" },
    { swap_two_checkpoints, "audit.jsonl.checkpoints", 3, "checkpoint before for 512" },
    { delete_the_first_checkpoint, "audit.jsonl.checkpoints", 1, "256 records, are" },
    { empty_the_checkpoints, "audit.jsonl.checkpoints", 1, "the checkpoints are gone" },
    { delete_the_checkpoints, "audit.jsonl.checkpoints", 1, "the checkpoints are gone" },
    { put_both_back, "audit.jsonl", 513, "vouches for 600: log and checkpoints were" },
    { put_both_back_to_the_start, "audit.jsonl", 1, "vouches for 600: log and" },
    { cut_the_checkpoints_and_rewrite, "audit.jsonl", 600, "both rewritten" },
    { cut_the_checkpoints_and_alter_the_end, "audit.jsonl", 600, "both rewritten" },
    { alter_the_newest, NULL, 1, "not written with the key" },
    { alter_what_was_lost, NULL, 1, "not written with the key" },
    { cut_the_newest, NULL, 1, "not written with the key" },
    { empty_the_newest, NULL, 1, "this file is missing" },
    { delete_the_newest, NULL, 1, "this file is missing" },
};

static void write_records(const struct audit_log *log)
{
    struct nacre_audit *audit = audit_log_open(log);

    audit_log_write(audit, log, "r", RECORDS / 2);
    nacre_audit_free(audit);
}

static void every_tampering_shows_with_its_line(void **state)
{
    struct audit_log *log = *state;
    struct nacre_audit_report report;
    struct docs good;

    write_records(log);
    report = audit_log_verify(log);
    assert_int_equal(report.records, RECORDS);
    assert_int_equal(report.checkpoints, 4);
    assert_int_equal(report.after_checkpoint, 0);
    assert_int_equal(report.open_runs, 0);
    good = docs_load(log);
    for (size_t i = 0; i < NACRE_COUNT(tamperings); i++) {
        struct docs bad = docs_load(log);
        struct nacre_error err = { .text = "" };
        const char *file = tamperings[i].file;

        report.records = 7;
        tamperings[i].tamper(&bad);
        docs_store(&bad, log);
        if (nacre_audit_verify(log->path, log->keys, &report, &err) != NACRE_ERR_PARSE ||
            !strstr(err.text, tamperings[i].complaint) ||
            err.line != tamperings[i].line ||
            strcmp(file ? strrchr(err.file, '/') + 1 : err.file,
                   file ? file : good.newest_path) != 0)
            fail_msg("row %zu: %s:%d: %s", i, err.file, err.line, err.text);
        assert_int_equal(report.records, 7);
        audit_log_spill(log->path, good.log.bytes, good.log.size);
        audit_log_spill(log->checkpoints, good.checkpoints.bytes, good.checkpoints.size);
        audit_log_spill(good.newest_path, good.newest.bytes, good.newest.size);
        (void)audit_log_verify(log);
    }
    docs_store(&good, log);
}

/* The header says what can't be shown; should that ever change, it must say so too. */
static void the_stated_limits_are_the_real_ones(void **state)
{
    struct audit_log *log = *state;
    struct nacre_audit *audit = audit_log_open(log);
    struct doc records;
    struct docs docs;

    /* All three put back to one earlier state, the key directory too. */
    audit_log_write(audit, log, "r", 256);
    nacre_audit_free(audit);
    docs = docs_load(log);
    write_records(log);
    assert_int_equal(audit_log_verify(log).records, 512 + RECORDS);
    docs_store(&docs, log);
    assert_int_equal(audit_log_verify(log).records, 512);

    audit = audit_log_open(log);
    audit_log_write(audit, log, "new", 1);
    records = doc_load(log->path);
    doc_change(&records, 513, "\"a1\"", "\"b1\"");
    doc_chain_again(&records, 513);
    doc_store(&records, log->path);
    assert_int_equal(audit_log_verify(log).after_checkpoint, 2);
    nacre_audit_free(audit);
}

static void another_key_vouches_for_nothing(void **state)
{
    struct audit_log *log = *state;
    struct nacre_audit_report report;
    struct nacre_error err;
    char key[128];

    write_records(log);
    (void)snprintf(key, sizeof(key), "%s/audit.key", log->keys);
    assert_int_equal(unlink(key), 0);
    assert_int_equal(nacre_audit_verify(log->path, log->keys, &report, &err),
                     NACRE_ERR_NOT_FOUND);
    assert_int_equal(access(key, F_OK), -1);
    audit_log_spill(key, "0123456789abcdef0123456789abcdef", 32);
    assert_int_equal(nacre_audit_verify(log->path, log->keys, &report, &err),
                     NACRE_ERR_PARSE);
    assert_int_equal(err.line, 1);
    assert_int_equal(chmod(key, 0640), 0);
    assert_int_equal(nacre_audit_verify(log->path, log->keys, &report, &err),
                     NACRE_ERR_USAGE);
}

/* Opens, wants the notice to say `sentence` (or nothing), and closes again. */
static void reopen(const struct audit_log *log, const char *sentence)
{
    struct nacre_audit *audit = NULL;
    char notice[1024] = "stale";
    struct nacre_error err;
    enum nacre_status status;

    status = nacre_audit_open(log->path, log->keys, &audit, notice, sizeof(notice), &err);
    assert_int_equal(status, NACRE_OK);
    if (sentence ? !strstr(notice, sentence) : notice[0] != '\0')
        fail_msg("notice: \"%s\"", notice);
    nacre_audit_free(audit);
}

static void a_torn_line_is_recovered_once_and_stays_visible(void **state)
{
    static const char torn[] = "{\"v\":1,\"seq\":5,\"time\":\"\xff\n";
    struct audit_log *log = *state;
    struct doc records;
    json_t *record;
    char *last;

    for (size_t cut = 1; cut < sizeof(torn) - 1; cut++) {
        struct nacre_audit *audit = audit_log_open(log);

        audit_log_write(audit, log, "r", 1);
        nacre_audit_free(audit);
        records = doc_load(log->path);
        doc_replace(&records, records.size, 0, torn, cut);
        doc_store(&records, log->path);
        reopen(log, "torn bytes");
        reopen(log, NULL);
        assert_int_equal(audit_log_verify(log).records, 3 * cut);
    }
    records = doc_load(log->path);
    last = records.bytes + doc_line_at(&records, 3 * (sizeof(torn) - 2));
    record = json_loads(last, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(record, "type")), "recovered");
    assert_int_equal(json_integer_value(json_object_get(record, "torn_bytes")), 24);
    assert_string_equal(json_string_value(json_object_get(record, "torn")),
                        "{\"v\":1,\"seq\":5,\"time\":\"\\xff");
    json_decref(record);
    free(records.bytes);
}

static void a_torn_line_of_another_process_is_recovered_by_the_next_writer(void **state)
{
    struct audit_log *log = *state;
    struct nacre_audit *audit = audit_log_open(log);
    struct doc records;

    audit_log_write(audit, log, "a", 1);
    records = doc_load(log->path);
    doc_replace(&records, records.size, 0, "\0\0\0", 3);
    doc_store(&records, log->path);
    audit_log_write(audit, log, "b", 1);
    nacre_audit_free(audit);
    assert_int_equal(audit_log_verify(log).records, 5);
}

static const struct {
    void (*lose)(struct docs *docs);
    const char *sentence;
} losses[] = {
    { cut_the_tail, "The last 2 records" },
    { cut_inside_the_last_line, "The last 1 records" },
    { empty_the_log, "The last 600 records" },
    { alter_the_last_record, "it was changed" },
    { alter_an_hmac, "No checkpoint in" },
    { empty_the_checkpoints, "No checkpoint in" },
    { delete_the_checkpoints, "No checkpoint in" },
    { put_both_back, "The last 88 records" },
    { put_both_back_to_the_start, "The last 600 records" },
    { delete_log_and_checkpoints, "The last 600 records" },
    { cut_the_checkpoints_and_rewrite, "does not begin with the records" },
    { cut_the_checkpoints_and_alter_the_end, "does not begin with the records" },
    { alter_the_newest, "is missing or changed" },
    { cut_the_newest, "is missing or changed" },
    { empty_the_newest, "is missing or changed" },
    { delete_the_newest, "is missing or changed" },
};

static void losses_are_told_once_and_never_forgiven(void **state)
{
    struct audit_log *log = *state;

    for (size_t i = 0; i < NACRE_COUNT(losses); i++) {
        struct nacre_audit_report report;
        char newest[NEWEST_PATH];
        struct nacre_error err;
        struct docs docs;

        write_records(log);
        (void)audit_log_verify(log);
        docs = docs_load(log);
        losses[i].lose(&docs);
        docs_store(&docs, log);
        reopen(log, losses[i].sentence);
        reopen(log, NULL);
        assert_int_equal(nacre_audit_verify(log->path, log->keys, &report, &err),
                         NACRE_ERR_PARSE);
        /* Also when the log has become longer than it was. */
        write_records(log);
        write_records(log);
        assert_int_equal(nacre_audit_verify(log->path, log->keys, &report, &err),
                         NACRE_ERR_PARSE);
        audit_log_newest(log, newest);
        assert_int_equal(unlink(log->path), 0);
        assert_int_equal(unlink(log->checkpoints), 0);
        assert_int_equal(unlink(newest), 0);
    }
}

static void a_handle_does_not_vouch_for_what_was_put_back_meanwhile(void **state)
{
    static void (*const rollbacks[])(struct docs *) = {
        put_both_back, cut_the_checkpoints_and_rewrite, delete_the_newest,
    };
    struct audit_log *log = *state;
    struct docs good;

    write_records(log);
    good = docs_load(log);
    for (size_t i = 0; i <= NACRE_COUNT(rollbacks); i++) {
        struct nacre_audit *audit = audit_log_open(log);
        struct nacre_audit_run run = audit_log_run(log, "r");
        enum nacre_status status, expected = NACRE_OK;
        struct nacre_error err;

        write_records(log); /* by another handle, so that a checkpoint is due */
        if (i < NACRE_COUNT(rollbacks)) {
            struct docs docs = docs_load(log);

            rollbacks[i](&docs);
            docs_store(&docs, log);
            expected = NACRE_ERR_IO;
        }
        status = nacre_audit_begin(audit, &run, &err);
        if (status != expected ||
            (status != NACRE_OK && !strstr(err.text, ".newest vouches for")))
            fail_msg("row %zu: %d %s", i, status, err.text);
        nacre_audit_free(audit);
        if (expected == NACRE_OK)
            break;
        audit_log_spill(log->path, good.log.bytes, good.log.size);
        audit_log_spill(log->checkpoints, good.checkpoints.bytes, good.checkpoints.size);
        audit_log_spill(good.newest_path, good.newest.bytes, good.newest.size);
    }
    assert_int_equal(audit_log_verify(log).records, 2 * RECORDS + 1);
    docs_store(&good, log);
}

static void a_log_that_moves_with_its_newest_checkpoint_stays_whole(void **state)
{
    struct audit_log *log = *state;
    struct nacre_audit_report report;
    char moved[128], moved_checkpoints[160];
    struct nacre_error err;
    struct docs docs;

    write_records(log);
    docs = docs_load(log);
    (void)snprintf(moved, sizeof(moved), "%s/old.jsonl", log->dir);
    (void)snprintf(moved_checkpoints, sizeof(moved_checkpoints), "%s.checkpoints", moved);
    assert_int_equal(rename(log->path, moved), 0);
    assert_int_equal(rename(log->checkpoints, moved_checkpoints), 0);
    assert_int_equal(nacre_audit_verify(moved, log->keys, &report, &err),
                     NACRE_ERR_PARSE);
    assert_non_null(strstr(err.text, "moved or copied here"));
    assert_int_equal(rename(docs.newest_path, err.file), 0);
    assert_int_equal(nacre_audit_verify(moved, log->keys, &report, &err), NACRE_OK);
    assert_int_equal(report.records, RECORDS);

    /* And its name is free for a new one. */
    reopen(log, NULL);
    assert_int_equal(audit_log_verify(log).records, 0);
    free(docs.log.bytes);
    free(docs.checkpoints.bytes);
    free(docs.newest.bytes);
}

static void one_log_of_many_spellings_has_one_newest_checkpoint(void **state)
{
    struct audit_log *log = *state;
    char link[80], newest[NEWEST_PATH];

    write_records(log);
    (void)snprintf(link, sizeof(link), "%s/l", log->dir);
    assert_int_equal(symlink(".", link), 0);
    (void)snprintf(log->path, sizeof(log->path), "%s/.//l/l/audit.jsonl",
                   log->dir);
    assert_int_equal(audit_log_verify(log).records, RECORDS);
    reopen(log, NULL);
    audit_log_newest(log, newest);
}

static void a_crash_before_the_first_checkpoint_leaves_a_fresh_log(void **state)
{
    struct audit_log *log = *state;
    struct docs docs;

    nacre_audit_free(audit_log_open(log));
    docs = docs_load(log);
    docs.log.size = docs.checkpoints.size = 0;
    docs_store(&docs, log);
    reopen(log, NULL);
    docs = docs_load(log);
    docs.log.size = docs.checkpoints.size = docs.newest.size = 0;
    docs_store(&docs, log);
    reopen(log, NULL);
    assert_int_equal(audit_log_verify(log).records, 0);
}

static void runs_that_never_ended_are_told_once_and_only_when_nobody_runs(void **state)
{
    struct audit_log *log = *state;
    struct nacre_audit *audit = audit_log_open(log);
    struct nacre_audit_run run = audit_log_run(log, "lost");
    struct nacre_error err;

    audit_log_write(audit, log, "r", 30);
    assert_int_equal(nacre_audit_begin(audit, &run, &err), NACRE_OK);
    audit_log_write(audit, log, "s", 3);
    reopen(log, NULL);
    nacre_audit_free(audit);
    assert_int_equal(audit_log_verify(log).open_runs, 1);
    reopen(log, "1 run(s) that began and never ended, among them lost");
    reopen(log, NULL);
    assert_int_equal(audit_log_verify(log).open_runs, 0);
}

/* Another process has begun a run and waits for its end. */
static pid_t begin_elsewhere(struct audit_log *log)
{
    int begun[2];
    pid_t child;
    char byte;

    assert_int_equal(pipe(begun), 0);
    child = fork();
    if (child == 0) {
        struct nacre_audit_run run = audit_log_run(log, "lost");
        struct nacre_error err;

        if (nacre_audit_begin(audit_log_open(log), &run, &err) == NACRE_OK)
            (void)!write(begun[1], "", 1);
        (void)pause();
        _exit(0);
    }
    assert_int_equal(read(begun[0], &byte, 1), 1);
    (void)close(begun[0]);
    (void)close(begun[1]);
    return child;
}

static void kill_it(pid_t child)
{
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void a_lost_run_is_told_though_another_closed_the_log_after_it(void **state)
{
    struct audit_log *log = *state;
    pid_t child = begin_elsewhere(log);
    struct nacre_audit *audit = audit_log_open(log);

    audit_log_write(audit, log, "s", 3);
    nacre_audit_free(audit);
    kill_it(child);
    reopen(log, "1 run(s) that began and never ended, among them lost");
    reopen(log, NULL);
}

/* Who is left over is alone with the log at the end, and does not know of that run. */
static void a_lost_run_is_told_though_another_had_the_log_all_the_time(void **state)
{
    for (int opened_first = 0; opened_first < 2; opened_first++) {
        struct audit_log *log = *state;
        struct nacre_audit *audit = opened_first ? audit_log_open(log) : NULL;
        pid_t child = begin_elsewhere(log);

        if (!audit)
            audit = audit_log_open(log);
        kill_it(child);
        audit_log_write(audit, log, opened_first ? "t" : "s", 3);
        nacre_audit_free(audit);
        assert_int_equal(audit_log_verify(log).open_runs, 1);
        reopen(log, "1 run(s) that began and never ended, among them lost");
        reopen(log, NULL);
        assert_int_equal(audit_log_verify(log).open_runs, 0);
    }
}

static void verify_counts_the_runs_that_overlap_and_never_end(void **state)
{
    struct audit_log *log = *state;
    struct nacre_audit *audit = audit_log_open(log);
    struct nacre_error err;
    char id[NACRE_RUN_ID];
    struct nacre_audit_run run = audit_log_run(log, id);

    for (int i = 0; i < 500; i++) {
        (void)snprintf(id, sizeof(id), "%d", i);
        assert_int_equal(nacre_audit_begin(audit, &run, &err), NACRE_OK);
    }
    for (int i = 0; i < 490; i++) {
        (void)snprintf(id, sizeof(id), "%d", i * 7 % 500);
        assert_int_equal(nacre_audit_end(audit, &run, log->result, NULL, &err), NACRE_OK);
    }
    nacre_audit_free(audit);
    assert_int_equal(audit_log_verify(log).open_runs, 10);
}

static void after_a_kill_in_the_middle_the_log_goes_on(void **state)
{
    struct audit_log *log = *state;
    const struct timespec pause = { .tv_nsec = 1000000 };

    for (int i = 0; i < 10; i++) {
        pid_t child = fork();
        struct stat st = { .st_size = 0 };
        off_t enough;
        int status;

        if (child == 0) {
            struct nacre_audit *own = audit_log_open(log);

            for (;;)
                audit_log_write(own, log, "k", 100);
        }
        (void)stat(log->path, &st);
        enough = st.st_size + 20000;
        while (stat(log->path, &st) < 0 || st.st_size < enough)
            (void)nanosleep(&pause, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        nacre_audit_free(audit_log_open(log));
        (void)audit_log_verify(log);
    }
    assert_true(audit_log_verify(log).records > 100);
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, audit_log_setup, audit_log_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_tampering_shows_with_its_line),
        TEST(the_stated_limits_are_the_real_ones),
        TEST(another_key_vouches_for_nothing),
        TEST(a_torn_line_is_recovered_once_and_stays_visible),
        TEST(a_torn_line_of_another_process_is_recovered_by_the_next_writer),
        TEST(losses_are_told_once_and_never_forgiven),
        TEST(a_handle_does_not_vouch_for_what_was_put_back_meanwhile),
        TEST(a_log_that_moves_with_its_newest_checkpoint_stays_whole),
        TEST(one_log_of_many_spellings_has_one_newest_checkpoint),
        TEST(a_crash_before_the_first_checkpoint_leaves_a_fresh_log),
        TEST(runs_that_never_ended_are_told_once_and_only_when_nobody_runs),
        TEST(a_lost_run_is_told_though_another_closed_the_log_after_it),
        TEST(a_lost_run_is_told_though_another_had_the_log_all_the_time),
        TEST(verify_counts_the_runs_that_overlap_and_never_end),
        TEST(after_a_kill_in_the_middle_the_log_goes_on),
    };

    return cmocka_run_group_tests_name("audit_tamper", tests, NULL, NULL);
}
