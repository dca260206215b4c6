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
#include "nacre/hash.h"

#define RECORDS 600 /* with checkpoints for 0, 256, 512 and 600 of them */

struct doc {
    char *bytes;
    size_t size;
    bool missing;
};

static struct doc doc_load(const char *path)
{
    struct doc doc = { .missing = false };

    doc.bytes = audit_log_slurp(path, &doc.size);
    return doc;
}

static void doc_store(struct doc *doc, const char *path)
{
    if (doc->missing)
        assert_int_equal(unlink(path), 0);
    else
        audit_log_spill(path, doc->bytes, doc->size);
    free(doc->bytes);
}

struct docs {
    struct doc log, checkpoints;
};

static struct docs docs_load(const struct audit_log *log)
{
    return (struct docs){ doc_load(log->path), doc_load(log->checkpoints) };
}

static void docs_store(struct docs *docs, const struct audit_log *log)
{
    doc_store(&docs->log, log->path);
    doc_store(&docs->checkpoints, log->checkpoints);
}

/* Where line `number` begins, counted from 1. */
static size_t line_at(const struct doc *doc, size_t number)
{
    size_t at = 0;

    while (--number > 0)
        at += strcspn(doc->bytes + at, "\n") + 1;
    assert_true(at <= doc->size);
    return at;
}

static void replace(struct doc *doc, size_t at, size_t removed, const char *text,
                    size_t count)
{
    char *bytes = malloc(doc->size - removed + count + 1);

    memcpy(bytes, doc->bytes, at);
    memcpy(bytes + at, text, count);
    memcpy(bytes + at + count, doc->bytes + at + removed, doc->size - at - removed + 1);
    free(doc->bytes);
    doc->bytes = bytes;
    doc->size += count - removed;
}

static void delete_lines(struct doc *doc, size_t from, size_t to)
{
    size_t at = line_at(doc, from);

    replace(doc, at, line_at(doc, to + 1) - at, "", 0);
}

static void copy_line(struct doc *doc, size_t from, size_t before)
{
    size_t at = line_at(doc, from), count = line_at(doc, from + 1) - at;
    char *line = strndup(doc->bytes + at, count);

    replace(doc, line_at(doc, before), 0, line, count);
    free(line);
}

static void change(struct doc *doc, size_t line, const char *from, const char *to)
{
    char *found = strstr(doc->bytes + line_at(doc, line), from);

    assert_non_null(found);
    assert_true(found < doc->bytes + line_at(doc, line + 1));
    memcpy(found, to, strlen(to));
}

/* What one does who knows the format but not the key: every link from line `line` on
 * is made to fit again. */
static void chain_again(struct doc *doc, size_t line)
{
    size_t at = line_at(doc, line), next = line_at(doc, line + 1);

    while (next < doc->size) {
        struct nacre_digest digest = nacre_hash(doc->bytes + at, next - at - 1);
        char hex[NACRE_HEX];

        at = next;
        next += strcspn(doc->bytes + at, "\n") + 1;
        memcpy(doc->bytes + next - 3 - 64, nacre_digest_hex(&digest, hex), 64);
    }
}

static void alter_a_byte(struct docs *docs)
{
    change(&docs->log, 100, "\"a1\"", "\"b1\"");
}

static void alter_the_last_record(struct docs *docs)
{
    change(&docs->log, RECORDS, "exited", "killed");
}

static void alter_the_first_link(struct docs *docs)
{
    change(&docs->log, 1, "\"prev\":\"0", "\"prev\":\"1");
}

static void break_the_form(struct docs *docs)
{
    change(&docs->log, 100, "\"type\":\"", "\"tape\":\"");
}

static void alter_and_chain_again(struct docs *docs)
{
    change(&docs->log, 100, "\"a1\"", "\"b1\"");
    chain_again(&docs->log, 100);
}

static void alter_after_the_second_checkpoint(struct docs *docs)
{
    change(&docs->log, 300, "\"a1\"", "\"b1\"");
    chain_again(&docs->log, 300);
}

static void delete_a_line(struct docs *docs)
{
    delete_lines(&docs->log, 100, 100);
}

static void delete_the_first_line(struct docs *docs)
{
    delete_lines(&docs->log, 1, 1);
}

static void repeat_a_line(struct docs *docs)
{
    copy_line(&docs->log, 5, 6);
}

static void swap_two_lines(struct docs *docs)
{
    copy_line(&docs->log, 11, 10);
    delete_lines(&docs->log, 12, 12);
}

static void cut_the_tail(struct docs *docs)
{
    delete_lines(&docs->log, RECORDS - 1, RECORDS);
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
    replace(&docs->log, docs->log.size, 0, "{\"v\":1,\"seq\":601,", 17);
}

static void put_in_junk(struct docs *docs)
{
    replace(&docs->log, docs->log.size, 0, "\x1b[2J\n", 5);
}

static void put_in_an_endless_line(struct docs *docs)
{
    char *line = calloc(1, 1 << 20);

    memset(line, 'x', 1 << 20);
    replace(&docs->log, docs->log.size, 0, line, 1 << 20);
    free(line);
}

static void alter_a_checkpoint(struct docs *docs)
{
    change(&docs->checkpoints, 4, "\"count\":600", "\"count\":512");
}

static void alter_an_hmac(struct docs *docs)
{
    docs->checkpoints.bytes[docs->checkpoints.size - 4] ^= 1;
}

static void swap_two_checkpoints(struct docs *docs)
{
    copy_line(&docs->checkpoints, 3, 2);
    delete_lines(&docs->checkpoints, 4, 4);
}

static void delete_the_first_checkpoint(struct docs *docs)
{
    delete_lines(&docs->checkpoints, 1, 1);
}

static void empty_the_checkpoints(struct docs *docs)
{
    docs->checkpoints.size = 0;
}

static void delete_the_checkpoints(struct docs *docs)
{
    docs->checkpoints.missing = true;
}

static const struct {
    void (*tamper)(struct docs *docs);
    const char *file;
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
    { put_in_junk, "audit.jsonl", 601, "not a record of nacre's" },
    { put_in_an_endless_line, "audit.jsonl", 601, "a line of over" },
    { alter_a_checkpoint, "audit.jsonl.checkpoints", 4, "not written with the key" },
    { alter_an_hmac, "audit.jsonl.checkpoints", 4, "not written with the key" },
    { swap_two_checkpoints, "audit.jsonl.checkpoints", 3, "checkpoint before for 512" },
    { delete_the_first_checkpoint, "audit.jsonl.checkpoints", 1, "256 records, are" },
    { empty_the_checkpoints, "audit.jsonl.checkpoints", 1, "the checkpoints are gone" },
    { delete_the_checkpoints, "audit.jsonl.checkpoints", 1, "the checkpoints are gone" },
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

        report.records = 7;
        tamperings[i].tamper(&bad);
        docs_store(&bad, log);
        if (nacre_audit_verify(log->path, log->keys, &report, &err) != NACRE_ERR_PARSE ||
            !strstr(err.text, tamperings[i].complaint) ||
            err.line != tamperings[i].line ||
            strcmp(strrchr(err.file, '/') + 1, tamperings[i].file) != 0)
            fail_msg("row %zu: %s:%d: %s", i, err.file, err.line, err.text);
        assert_int_equal(report.records, 7);
        audit_log_spill(log->path, good.log.bytes, good.log.size);
        audit_log_spill(log->checkpoints, good.checkpoints.bytes, good.checkpoints.size);
        (void)audit_log_verify(log);
    }
    free(good.log.bytes);
    free(good.checkpoints.bytes);
}

/* The header says what can't be shown; should that ever change, it must say so too. */
static void the_stated_limits_are_the_real_ones(void **state)
{
    struct audit_log *log = *state;
    struct nacre_audit *audit;
    struct doc records;
    struct docs docs;

    write_records(log);
    docs = docs_load(log);
    delete_lines(&docs.log, 513, RECORDS);
    delete_lines(&docs.checkpoints, 4, 4);
    docs_store(&docs, log);
    assert_int_equal(audit_log_verify(log).records, 512);

    audit = audit_log_open(log);
    audit_log_write(audit, log, "new", 1);
    records = doc_load(log->path);
    change(&records, 513, "\"a1\"", "\"b1\"");
    chain_again(&records, 513);
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
        replace(&records, records.size, 0, torn, cut);
        doc_store(&records, log->path);
        reopen(log, "torn bytes");
        reopen(log, NULL);
        assert_int_equal(audit_log_verify(log).records, 3 * cut);
    }
    records = doc_load(log->path);
    last = records.bytes + line_at(&records, 3 * (sizeof(torn) - 2));
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
    replace(&records, records.size, 0, "\0\0\0", 3);
    doc_store(&records, log->path);
    audit_log_write(audit, log, "b", 1);
    nacre_audit_free(audit);
    assert_int_equal(audit_log_verify(log).records, 5);
}

static void lost_records_and_checkpoints_are_told_and_never_forgiven(void **state)
{
    static void (*const losses[])(struct docs *) = {
        cut_the_tail, cut_inside_the_last_line, empty_the_log, alter_the_last_record,
        alter_an_hmac, empty_the_checkpoints, delete_the_checkpoints,
    };
    static const char *const sentences[] = {
        "The last 2 records", "The last 1 records", "The last 600 records",
        "it was changed",     "No checkpoint in",   "No checkpoint in",
        "No checkpoint in",
    };
    struct audit_log *log = *state;

    for (size_t i = 0; i < NACRE_COUNT(losses); i++) {
        struct nacre_audit_report report;
        struct nacre_error err;
        struct docs docs;

        write_records(log);
        (void)audit_log_verify(log);
        docs = docs_load(log);
        losses[i](&docs);
        docs_store(&docs, log);
        reopen(log, sentences[i]);
        reopen(log, NULL);
        assert_int_equal(nacre_audit_verify(log->path, log->keys, &report, &err),
                         NACRE_ERR_PARSE);
        assert_int_equal(unlink(log->path), 0);
        assert_int_equal(unlink(log->checkpoints), 0);
    }
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
    reopen(log, "1 run(s) that began and never ended, among them lost");
    reopen(log, NULL);
    assert_int_equal(audit_log_verify(log).open_runs, 1);
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

struct seen {
    uint64_t first, last, count, stop_after;
};

static bool see(void *data, uint64_t line, const char *text, size_t count)
{
    struct seen *seen = data;

    assert_int_equal(strlen(text), count);
    if (seen->count++ == 0)
        seen->first = line;
    seen->last = line;
    return seen->count != seen->stop_after;
}

static void a_reader_shows_the_tail_and_follows(void **state)
{
    struct audit_log *log = *state;
    struct nacre_audit *audit = audit_log_open(log);
    struct nacre_audit_cursor cursor;
    struct seen seen = { 0 }, more = { 0 }, some = { .stop_after = 2 }, all = { 0 };
    struct nacre_error err;
    struct doc records;

    audit_log_write(audit, log, "r", RECORDS / 2);
    assert_int_equal(nacre_audit_tail(log->path, 5, &cursor, &err), NACRE_OK);
    assert_int_equal(nacre_audit_read(log->path, &cursor, see, &seen, &err), NACRE_OK);
    assert_int_equal(seen.first, RECORDS - 4);
    assert_int_equal(seen.last, RECORDS);
    audit_log_write(audit, log, "s", 2);
    records = doc_load(log->path);
    replace(&records, records.size, 0, "{\"v\":1", 6);
    doc_store(&records, log->path);
    assert_int_equal(nacre_audit_read(log->path, &cursor, see, &some, &err), NACRE_OK);
    assert_int_equal(some.last, RECORDS + 2);
    assert_int_equal(nacre_audit_read(log->path, &cursor, see, &more, &err), NACRE_OK);
    assert_int_equal(more.first, RECORDS + 3);
    assert_int_equal(more.last, RECORDS + 4);
    assert_int_equal(nacre_audit_tail(log->path, UINT64_MAX, &cursor, &err), NACRE_OK);
    assert_int_equal(nacre_audit_read(log->path, &cursor, see, &all, &err), NACRE_OK);
    assert_int_equal(all.count, RECORDS + 4);
    nacre_audit_free(audit);

    assert_int_equal(truncate(log->path, 100), 0);
    assert_int_equal(nacre_audit_read(log->path, &cursor, see, &all, &err), NACRE_ERR_IO);
    assert_int_equal(unlink(log->path), 0);
    assert_int_equal(nacre_audit_tail(log->path, 1, &cursor, &err), NACRE_ERR_NOT_FOUND);
}

static const struct {
    const char *line;
    size_t count;
} unprintable[] = {
    { "\x1b[2J\n", 5 },   { "a\0b\n", 4 }, { "\xff\n", 2 },
    { "\xc2\x9b\n", 3 }, { "\x7f\n", 2 }, { "a\rb\n", 4 },
};

static void a_reader_never_hands_out_what_drives_a_terminal(void **state)
{
    struct audit_log *log = *state;

    for (size_t i = 0; i < NACRE_COUNT(unprintable); i++) {
        struct nacre_audit_cursor cursor = { 0 };
        struct seen seen = { 0 };
        struct nacre_error err;
        struct doc doc = { .bytes = strdup("{}\n"), .size = 3 };

        replace(&doc, doc.size, 0, unprintable[i].line, unprintable[i].count);
        doc_store(&doc, log->path);
        assert_int_equal(nacre_audit_read(log->path, &cursor, see, &seen, &err),
                         NACRE_ERR_PARSE);
        assert_int_equal(err.line, 2);
        assert_int_equal(seen.count, 1);
        assert_int_equal(cursor.lines, 1);
    }
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
        TEST(lost_records_and_checkpoints_are_told_and_never_forgiven),
        TEST(runs_that_never_ended_are_told_once_and_only_when_nobody_runs),
        TEST(verify_counts_the_runs_that_overlap_and_never_end),
        TEST(after_a_kill_in_the_middle_the_log_goes_on),
        TEST(a_reader_shows_the_tail_and_follows),
        TEST(a_reader_never_hands_out_what_drives_a_terminal),
    };

    return cmocka_run_group_tests_name("audit_tamper", tests, NULL, NULL);
}
