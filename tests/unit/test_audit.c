/* What the log says, who may write to it, that nothing runs when it can't be, and what
 * readers get. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "audit_log.h"
#include "fail_alloc.h"
#include "nacre/clock.h"

/* The records as jansson reads them: an array, to be decref'ed. */
static json_t *parse_log(const char *path)
{
    size_t count;
    char *bytes = audit_log_slurp(path, &count);
    json_t *records = json_array();
    char *line = bytes;

    for (char *end; (end = strchr(line, '\n')); line = end + 1) {
        json_error_t error;
        json_t *record = json_loadb(line, (size_t)(end - line),
                                    JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);

        if (!record)
            fail_msg("not JSON: %s in %.200s", error.text, line);
        assert_int_equal(json_array_append_new(records, record), 0);
    }
    assert_int_equal(*line, '\0');
    free(bytes);
    return records;
}

static const char *text_of(json_t *record, const char *key)
{
    return json_string_value(json_object_get(record, key));
}

static void the_two_records_of_a_run_tell_who_what_and_how(void **state)
{
    static const char *const begin_keys[] = {
        "v", "seq", "time", "type", "run", "session", "agent", "caller", "tool",
        "arguments_digest", "policy", "level", "executor", "unsandboxed", "prev",
    };
    struct audit_log *log = *state;
    struct nacre_audit *audit = audit_log_open(log);
    json_t *records, *begin, *end;
    const char *key;
    json_t *value;
    size_t at = 0;

    log->result->exit_status = 3;
    log->result->waived = NACRE_FEATURE_MEMORY_LIMIT | NACRE_FEATURE_CPU_SHARES_ANY;
    log->result->usage.fuel = UINT64_C(9000000000000000000);
    log->result->mechanism_count = 2;
    log->result->mechanisms[0] =
        (struct nacre_mechanism){ .name = "seccomp", .present = true };
    log->result->mechanisms[1] = (struct nacre_mechanism){ .name = "landlock" };
    log->result->denial_count = 1;
    log->result->denials_seen = 40;
    log->result->denials[0] =
        (struct nacre_denial){ .code = "over-limit", .place.line = 7 };
    audit_log_write(audit, log, "r", 1);
    nacre_audit_free(audit);

    records = parse_log(log->path);
    assert_int_equal(json_array_size(records), 2);
    begin = json_array_get(records, 0);
    end = json_array_get(records, 1);
    json_object_foreach(begin, key, value)
    {
        assert_true(at < NACRE_COUNT(begin_keys));
        assert_string_equal(key, begin_keys[at++]);
    }
    assert_int_equal(at, NACRE_COUNT(begin_keys));
    assert_string_equal(text_of(begin, "type"), "begin");
    assert_string_equal(text_of(end, "type"), "end");
    assert_string_equal(text_of(end, "run"), "r-0");
    assert_string_equal(text_of(end, "session"), "s1");
    assert_true(json_is_null(json_object_get(end, "caller")));
    assert_string_equal(text_of(json_object_get(end, "tool"), "name"), "hello");
    assert_string_equal(text_of(json_object_get(end, "tool"), "kind"), "module");
    assert_true(json_is_false(json_object_get(end, "unsandboxed")));
    assert_true(json_is_true(json_object_get(end, "degraded")));
    value = json_object_get(end, "waived");
    assert_int_equal(json_array_size(value), 2);
    assert_string_equal(json_string_value(json_array_get(value, 0)), "memory_mb");
    assert_string_equal(json_string_value(json_array_get(value, 1)), "cpu_shares");
    assert_string_equal(text_of(json_object_get(end, "policy"), "name"), "standard");
    assert_string_equal(text_of(end, "level"), "wasm");
    assert_string_equal(text_of(end, "outcome"), "exited");
    assert_int_equal(json_integer_value(json_object_get(end, "exit_status")), 3);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(end, "usage"), "fuel")),
        9000000000000000000);
    assert_int_equal(json_array_size(json_object_get(end, "mechanisms")), 1);
    value = json_array_get(json_object_get(end, "denials"), 0);
    assert_string_equal(text_of(value, "code"), "over-limit");
    assert_int_equal(json_integer_value(json_object_get(value, "line")), 7);
    assert_int_equal(json_integer_value(json_object_get(end, "denials_seen")), 40);
    json_decref(records);
}

static void a_run_that_the_host_failed_has_an_end_too(void **state)
{
    struct audit_log *log = *state;
    struct nacre_audit *audit = audit_log_open(log);
    struct nacre_audit_run run = { .run_id = "x", .request = &log->request };
    struct nacre_error failure, err;
    json_t *records, *error;

    (void)nacre_fail(&failure, NACRE_ERR_BACKEND, "worker said \"no\"");
    assert_int_equal(nacre_audit_begin(audit, &run, &err), NACRE_OK);
    assert_int_equal(nacre_audit_end(audit, &run, NULL, &failure, &err), NACRE_OK);
    nacre_audit_free(audit);
    records = parse_log(log->path);
    error = json_object_get(json_array_get(records, 1), "error");
    assert_string_equal(text_of(error, "status"), "backend");
    assert_string_equal(text_of(error, "text"), "worker said \"no\"");
    assert_true(json_is_null(json_object_get(json_array_get(records, 1), "level")));
    json_decref(records);
    assert_int_equal(audit_log_verify(log).records, 2);
}

static void a_record_tells_the_time_at_which_it_was_made(void **state)
{
    struct audit_log *log = *state;
    struct nacre_audit *audit = audit_log_open(log);
    const struct timespec over_a_second = { .tv_sec = 1, .tv_nsec = 1000000 };
    char before[3][NACRE_TIMESTAMP], after[3][NACRE_TIMESTAMP];
    json_t *records;

    for (size_t i = 0; i < 3; i++) {
        (void)nacre_clock_timestamp(before[i]);
        audit_log_write(audit, log, "r", 1);
        (void)nacre_clock_timestamp(after[i]);
        if (i == 1)
            assert_int_equal(nanosleep(&over_a_second, NULL), 0);
    }
    nacre_audit_free(audit);
    records = parse_log(log->path);
    for (size_t i = 0; i < 6; i++) {
        const char *time = text_of(json_array_get(records, i), "time");

        assert_int_equal(strlen(time), NACRE_TIMESTAMP - 1);
        assert_true(strcmp(before[i / 2], time) <= 0);
        assert_true(strcmp(time, after[i / 2]) <= 0);
    }
    json_decref(records);
}

static void arguments_and_environment_appear_as_a_digest_only(void **state)
{
    static const char *const lists[][3] = {
        { "ab", "c", NULL },
        { "ab", "c", NULL },
        { "a", "bc", NULL },
        { "ab", NULL, NULL },
    };
    struct audit_log *log = *state;
    struct nacre_audit *audit = audit_log_open(log);
    const char *const secret[] = { "TOKEN=hunter2secret", NULL };
    const char *const other[] = { "TOKEN=hunter3secret", NULL };
    const char *digests[7];
    struct nacre_audit_run run = audit_log_run(log, "d");
    struct nacre_error err;
    json_t *records;
    size_t count;
    char *bytes;

    for (size_t i = 0; i < 7; i++) {
        log->request.arguments = i < 4 ? lists[i] : i == 4 ? secret : NULL;
        log->request.environment = i < 5 ? NULL : i == 5 ? secret : other;
        assert_int_equal(nacre_audit_begin(audit, &run, &err), NACRE_OK);
    }
    nacre_audit_free(audit);
    bytes = audit_log_slurp(log->path, &count);
    assert_null(strstr(bytes, "hunter"));
    assert_null(strstr(bytes, "TOKEN"));
    free(bytes);
    records = parse_log(log->path);
    for (size_t i = 0; i < 7; i++)
        digests[i] = text_of(json_array_get(records, i), "arguments_digest");
    assert_string_equal(digests[0], digests[1]);
    for (size_t i = 1; i < 7; i++)
        for (size_t k = i + 1; k < 7; k++)
            assert_string_not_equal(digests[i], digests[k]);
    json_decref(records);
}

static const char *const hostile[] = {
    "\"},\"type\":\"end\",\"x\":\"",
    "line\nbreak\r\n",
    "back\\slash\\",
    "\xff\xfe\x80",
    "\xc3",
    "\xed\xa0\x80 surrogate",
    "\x1b[31mred\x7f",
    "c1 \xc2\x9b 31m",
    "gr\xc3\xbc\xc3\x9f \xf0\x9f\x90\x9a",
    "\xf4\x90\x80\x80",
    "\xe2\x82",
    "",
};

static bool count_line(void *data, uint64_t line, const char *text, size_t count)
{
    (void)text;
    (void)count;
    *(uint64_t *)data = line;
    return true;
}

/* Whether begin's words were short enough to be kept for end, or not. */
static void assert_same_about(json_t *begin, json_t *end)
{
    static const char *const keys[] = {
        "run", "session", "agent", "caller", "tool", "arguments_digest", "policy",
        "level", "executor", "unsandboxed",
    };

    for (size_t i = 0; i < NACRE_COUNT(keys); i++)
        assert_true(json_equal(json_object_get(begin, keys[i]),
                               json_object_get(end, keys[i])));
}

static void hostile_text_stays_inside_its_string(void **state)
{
    struct audit_log *log = *state;
    struct nacre_audit_cursor cursor = { 0 };
    uint64_t printable = 0;
    struct nacre_audit *audit = audit_log_open(log);
    char *megabyte = malloc((1 << 20) + 1);
    const char *const arguments[] = { megabyte, NULL };
    struct nacre_error err;
    json_t *records;

    memset(megabyte, '"', 1 << 20);
    megabyte[1 << 20] = '\0';
    log->request.arguments = arguments;
    for (size_t i = 0; i <= NACRE_COUNT(hostile); i++) {
        const char *text = i < NACRE_COUNT(hostile) ? hostile[i] : megabyte;
        struct nacre_audit_run run = audit_log_run(log, "h");

        log->request.session = log->request.agent = log->request.caller = text;
        run.tool_name = run.executor = text;
        log->result->denial_count = NACRE_DENIALS_MAX;
        for (size_t k = 0; k < NACRE_DENIALS_MAX; k++)
            memset(log->result->denials[k].text, i % 2 ? '\x01' : '\xff', 511);
        assert_int_equal(nacre_audit_begin(audit, &run, &err), NACRE_OK);
        assert_int_equal(nacre_audit_end(audit, &run, log->result, NULL, &err), NACRE_OK);
    }
    nacre_audit_free(audit);
    records = parse_log(log->path);
    assert_int_equal(json_array_size(records), 2 * NACRE_COUNT(hostile) + 2);
    assert_string_equal(text_of(json_array_get(records, 0), "agent"), hostile[0]);
    assert_string_equal(text_of(json_array_get(records, 6), "agent"), "\\xff\\xfe\\x80");
    assert_string_equal(text_of(json_array_get(records, 14), "agent"), hostile[7]);
    assert_string_equal(text_of(json_array_get(records, 16), "agent"), hostile[8]);
    assert_int_equal(strlen(text_of(json_array_get(records, 24), "agent")), 256 + 3);
    for (size_t i = 0; i < json_array_size(records); i += 2)
        assert_same_about(json_array_get(records, i), json_array_get(records, i + 1));
    json_decref(records);
    assert_int_equal(nacre_audit_read(log->path, &cursor, count_line, &printable, &err),
                     NACRE_OK);
    assert_int_equal(printable, 2 * NACRE_COUNT(hostile) + 2);
    assert_int_equal(audit_log_verify(log).records, 2 * NACRE_COUNT(hostile) + 2);
    free(megabyte);
}

static void two_handles_of_one_process_keep_one_chain(void **state)
{
    struct audit_log *log = *state;
    struct nacre_audit *a = audit_log_open(log), *b = audit_log_open(log);

    for (int i = 0; i < 20; i++) {
        audit_log_write(a, log, "a", 1);
        audit_log_write(b, log, "b", 1 + i % 3);
    }
    nacre_audit_free(a);
    nacre_audit_free(b);
    assert_int_equal(audit_log_verify(log).after_checkpoint, 0);
}

struct writer {
    const struct audit_log *log;
    struct nacre_audit *audit;
};

static void *write_some(void *data)
{
    struct writer *writer = data;

    audit_log_write(writer->audit, writer->log, "t", 100);
    return NULL;
}

static void processes_and_threads_keep_one_chain(void **state)
{
    struct audit_log *log = *state;
    struct writer writer = { log, NULL };
    struct nacre_audit_report report;
    pthread_t threads[4];
    pid_t children[4];

    for (int i = 0; i < 4; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            struct nacre_audit *audit = audit_log_open(log);

            audit_log_write(audit, log, "p", 100);
            nacre_audit_free(audit);
            _exit(0);
        }
    }
    writer.audit = audit_log_open(log);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_some, &writer), 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 4; i++) {
        int status;

        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    nacre_audit_free(writer.audit);
    report = audit_log_verify(log);
    assert_int_equal(report.records, 1600);
    assert_int_equal(report.after_checkpoint, 0);
    assert_true(report.checkpoints >= 1 + 1600 / 256);
}

/* In a child, because the limit stays with the process. */
static void nothing_begins_on_a_full_disk_and_the_log_still_verifies(void **state)
{
    struct audit_log *log = *state;

    /* Every remainder of a line that may still fit; the last ones let it fit wholly. */
    for (rlim_t more = 0; more < 1500; more += 53) {
        struct nacre_audit *audit = audit_log_open(log);
        struct stat before, after;
        pid_t child;
        int status;

        audit_log_write(audit, log, "w", 1);
        assert_int_equal(stat(log->path, &before), 0);
        child = fork();
        if (child == 0) {
            struct nacre_audit *own = audit_log_open(log);
            struct nacre_audit_run run = audit_log_run(log, "full");
            struct rlimit limit = { (rlim_t)before.st_size + more, RLIM_INFINITY };
            struct nacre_error err;
            enum nacre_status began;

            (void)signal(SIGXFSZ, SIG_IGN);
            if (setrlimit(RLIMIT_FSIZE, &limit) < 0)
                _exit(9);
            began = nacre_audit_begin(own, &run, &err);
            _exit(began == NACRE_OK ? 0 : began == NACRE_ERR_IO ? 1 : 2);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(stat(log->path, &after), 0);
        if (after.st_size == before.st_size)
            assert_int_equal(WEXITSTATUS(status), 1);
        else
            assert_int_equal(WEXITSTATUS(status), 0);
        assert_true(more > 0 || after.st_size == before.st_size);
        assert_true(more < 1400 || after.st_size > before.st_size);
        (void)audit_log_verify(log);
        audit_log_write(audit, log, "again", 1);
        nacre_audit_free(audit);
        (void)audit_log_verify(log);
    }
}

static void nothing_begins_when_the_log_was_cut_or_deleted_meanwhile(void **state)
{
    struct audit_log *log = *state;
    struct nacre_audit *audit = audit_log_open(log);
    struct nacre_audit_run run = audit_log_run(log, "r");
    struct nacre_error err;
    struct stat st;

    audit_log_write(audit, log, "w", 2);
    assert_int_equal(stat(log->path, &st), 0);
    assert_int_equal(truncate(log->path, st.st_size - 10), 0);
    assert_int_equal(nacre_audit_begin(audit, &run, &err), NACRE_ERR_IO);
    assert_non_null(strstr(err.text, "was cut from"));
    assert_int_equal(unlink(log->path), 0);
    assert_int_equal(nacre_audit_begin(audit, &run, &err), NACRE_ERR_IO);
    assert_non_null(strstr(err.text, "was deleted"));
    nacre_audit_free(audit);
    assert_int_equal(access(log->path, F_OK), -1);
}

static void a_log_that_is_kept_locked_is_not_waited_for_without_end(void **state)
{
    struct audit_log *log = *state;
    struct nacre_audit *audit = audit_log_open(log);
    NACRE_AUTO(nacre_fd_guard) int fd = open(log->path, O_RDONLY | O_CLOEXEC);
    struct nacre_audit_run run = audit_log_run(log, "r");
    struct nacre_error err;

    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(nacre_audit_begin(audit, &run, &err), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "is locked by another process"));
    assert_int_equal(flock(fd, LOCK_UN), 0);
    assert_int_equal(nacre_audit_begin(audit, &run, &err), NACRE_OK);
    nacre_audit_free(audit);
    assert_int_equal(audit_log_verify(log).records, 1);
}

static void a_forked_child_has_no_key(void **state)
{
    struct audit_log *log = *state;
    struct nacre_audit *audit = audit_log_open(log);
    pid_t child = fork();
    int status;

    if (child == 0) {
        struct rlimit none = { 0, 0 };

        (void)setrlimit(RLIMIT_CORE, &none);
        (void)signal(SIGABRT, SIG_DFL);
        (void)close(2);
        audit_log_write(audit, log, "child", 1);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    audit_log_write(audit, log, "parent", 1);
    nacre_audit_free(audit);
    assert_int_equal(audit_log_verify(log).records, 2);
}

enum plant { FIFO, LINK, DIRECTORY, DEVICE, OPEN_MODE, NOTES, NOTES_TORN, BINARY };

static void plant(enum plant what, const char *path)
{
    static const char zeros[600000] = "some text";

    if (what == FIFO)
        assert_int_equal(mkfifo(path, 0600), 0);
    else if (what == LINK)
        assert_int_equal(symlink("elsewhere", path), 0);
    else if (what == DIRECTORY)
        assert_int_equal(mkdir(path, 0700), 0);
    else if (what == DEVICE)
        assert_int_equal(symlink("/dev/null", path), 0);
    else if (what == NOTES)
        audit_log_spill(path, "my notes\n", 9);
    else if (what == NOTES_TORN)
        audit_log_spill(path, "my notes", 8);
    else if (what == BINARY)
        audit_log_spill(path, zeros, sizeof(zeros));
    else
        audit_log_spill(path, "", 0);
    if (what == OPEN_MODE)
        assert_int_equal(chmod(path, 0620), 0);
}

static const struct {
    enum plant what;
    const char *complaint;
} plants[] = {
    { FIFO, "is not a plain file" },      { LINK, "is a symbolic link" },
    { DIRECTORY, "is not a plain file" }, { DEVICE, "is a symbolic link" },
    { OPEN_MODE, "others may write" },    { NOTES, "does not end like an audit log" },
    { NOTES_TORN, "does not end like" },  { BINARY, "does not end like" },
};

static void open_refuses_what_is_no_log_and_leaves_it_alone(void **state)
{
    struct audit_log *log = *state;

    for (size_t i = 0; i < NACRE_COUNT(plants); i++) {
        struct nacre_audit *audit = NULL;
        struct nacre_error err;
        struct stat before, after;

        plant(plants[i].what, log->path);
        assert_int_equal(lstat(log->path, &before), 0);
        assert_int_equal(nacre_audit_open(log->path, log->keys, &audit, NULL, 0, &err),
                         NACRE_ERR_USAGE);
        assert_null(audit);
        assert_non_null(strstr(err.text, plants[i].complaint));
        assert_int_equal(lstat(log->path, &after), 0);
        assert_int_equal(before.st_size, after.st_size);
        assert_int_equal(before.st_ino, after.st_ino);
        assert_int_equal(remove(log->path), 0);
    }
    nacre_audit_free(audit_log_open(log));
}

static void open_makes_private_files_and_directories(void **state)
{
    struct audit_log *log = *state;
    struct stat st;

    (void)snprintf(log->path, sizeof(log->path), "%s/a/b/audit.jsonl", log->dir);
    nacre_audit_free(audit_log_open(log));
    assert_int_equal(stat(log->path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    *strrchr(log->path, '/') = '\0';
    assert_int_equal(stat(log->path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
}

static void every_failed_allocation_fails_closed(void **state)
{
    struct audit_log *log = *state;
    struct nacre_audit *audit = audit_log_open(log);
    struct nacre_audit_run run = audit_log_run(log, "r");
    uint64_t records = 0;
    bool fired = true;

    log->result->denial_count = NACRE_DENIALS_MAX; /* a line that must grow */
    for (size_t k = 0; k < NACRE_DENIALS_MAX; k++)
        memset(log->result->denials[k].text, 'd', 500);
    for (int n = 0; fired; n++) {
        enum nacre_status began, ended = NACRE_ERR_MEMORY;
        struct nacre_error err;

        assert_true(n < 100);
        fail_alloc_after(n);
        began = nacre_audit_begin(audit, &run, &err);
        if (began == NACRE_OK)
            ended = nacre_audit_end(audit, &run, log->result, NULL, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_true(began == NACRE_OK || began == NACRE_ERR_MEMORY);
        assert_int_equal(ended, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        records += (began == NACRE_OK) + (uint64_t)(ended == NACRE_OK);
        assert_int_equal(audit_log_verify(log).records, records);
    }
    nacre_audit_free(audit);
    assert_true(records > 3);
}

static void open_and_verify_survive_every_allocation_failure(void **state)
{
    struct audit_log *log = *state;
    struct nacre_audit *audit = audit_log_open(log);
    struct nacre_audit_run run = audit_log_run(log, "never-ends");
    struct nacre_error err;
    bool fired = true;

    assert_int_equal(nacre_audit_begin(audit, &run, &err), NACRE_OK);
    nacre_audit_free(audit);
    for (int n = 0; fired; n++) {
        struct nacre_audit_report report;
        enum nacre_status opened, verified;

        assert_true(n < 100);
        audit = NULL;
        fail_alloc_after(n);
        opened = nacre_audit_open(log->path, log->keys, &audit, NULL, 0, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(n);
        verified = nacre_audit_verify(log->path, log->keys, &report, &err);
        assert_int_equal(verified, fail_alloc_fired() ? NACRE_ERR_MEMORY : NACRE_OK);
        fired = fired || fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(!audit, opened != NACRE_OK);
        assert_true(opened == NACRE_OK || opened == NACRE_ERR_MEMORY);
        nacre_audit_free(audit);
    }
    assert_int_equal(audit_log_verify(log).records, 3); /* ended, and recovered once */
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

    audit_log_write(audit, log, "r", 300);
    assert_int_equal(nacre_audit_tail(log->path, 5, &cursor, &err), NACRE_OK);
    assert_int_equal(nacre_audit_read(log->path, &cursor, see, &seen, &err), NACRE_OK);
    assert_int_equal(seen.first, 600 - 4);
    assert_int_equal(seen.last, 600);
    audit_log_write(audit, log, "s", 2);
    records = doc_load(log->path);
    doc_replace(&records, records.size, 0, "{\"v\":1", 6);
    doc_store(&records, log->path);
    assert_int_equal(nacre_audit_read(log->path, &cursor, see, &some, &err), NACRE_OK);
    assert_int_equal(some.last, 600 + 2);
    assert_int_equal(nacre_audit_read(log->path, &cursor, see, &more, &err), NACRE_OK);
    assert_int_equal(more.first, 600 + 3);
    assert_int_equal(more.last, 600 + 4);
    assert_int_equal(nacre_audit_tail(log->path, UINT64_MAX, &cursor, &err), NACRE_OK);
    assert_int_equal(nacre_audit_read(log->path, &cursor, see, &all, &err), NACRE_OK);
    assert_int_equal(all.count, 600 + 4);
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

        doc_replace(&doc, doc.size, 0, unprintable[i].line, unprintable[i].count);
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
        TEST(the_two_records_of_a_run_tell_who_what_and_how),
        TEST(a_run_that_the_host_failed_has_an_end_too),
        TEST(a_record_tells_the_time_at_which_it_was_made),
        TEST(arguments_and_environment_appear_as_a_digest_only),
        TEST(hostile_text_stays_inside_its_string),
        TEST(two_handles_of_one_process_keep_one_chain),
        TEST(processes_and_threads_keep_one_chain),
        TEST(nothing_begins_on_a_full_disk_and_the_log_still_verifies),
        TEST(nothing_begins_when_the_log_was_cut_or_deleted_meanwhile),
        TEST(a_log_that_is_kept_locked_is_not_waited_for_without_end),
        TEST(a_forked_child_has_no_key),
        TEST(open_refuses_what_is_no_log_and_leaves_it_alone),
        TEST(open_makes_private_files_and_directories),
        TEST(every_failed_allocation_fails_closed),
        TEST(open_and_verify_survive_every_allocation_failure),
        TEST(a_reader_shows_the_tail_and_follows),
        TEST(a_reader_never_hands_out_what_drives_a_terminal),
    };

    umask(0);
    return cmocka_run_group_tests_name("audit", tests, NULL, NULL);
}
