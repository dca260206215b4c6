#include "audit_log.h"

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

int audit_log_setup(void **state)
{
    struct audit_log *log = calloc(1, sizeof(*log));

    if (!log)
        return -1;
    (void)snprintf(log->dir, sizeof(log->dir), "/tmp/nacre-audit-XXXXXX");
    if (!mkdtemp(log->dir))
        return -1;
    (void)snprintf(log->path, sizeof(log->path), "%s/audit.jsonl", log->dir);
    (void)snprintf(log->checkpoints, sizeof(log->checkpoints), "%s.checkpoints",
                   log->path);
    (void)snprintf(log->keys, sizeof(log->keys), "%s/keys", log->dir);
    log->request =
        (struct nacre_request){ .input_fd = -1, .session = "s1", .agent = "a1" };
    log->policy = (struct nacre_policy){ .name = (char *)"standard",
                                         .source = (char *)"standard.yaml",
                                         .level = NACRE_LEVEL_WASM };
    log->tool = (struct nacre_tool){ .name = (char *)"hello.wasm" };
    log->result = calloc(1, sizeof(*log->result));
    if (!log->result)
        return -1;
    log->result->outcome = NACRE_OUTCOME_EXITED;
    *state = log;
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *where)
{
    (void)st;
    (void)type;
    (void)where;
    return remove(path);
}

int audit_log_teardown(void **state)
{
    struct audit_log *log = *state;
    int status = nftw(log->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);

    free(log->result);
    free(log);
    return status;
}

struct nacre_audit *audit_log_open(const struct audit_log *log)
{
    struct nacre_audit *audit = NULL;
    struct nacre_error err = { .text = "" };

    if (nacre_audit_open(log->path, log->keys, &audit, NULL, 0, &err) != NACRE_OK)
        fail_msg("open: %s", err.text);
    return audit;
}

struct nacre_audit_run audit_log_run(const struct audit_log *log, const char *run_id)
{
    return (struct nacre_audit_run){
        .run_id = run_id,
        .request = &log->request,
        .tool = &log->tool,
        .tool_name = "hello",
        .policy = &log->policy,
        .executor = "wasm",
    };
}

void audit_log_write(struct nacre_audit *audit, const struct audit_log *log,
                     const char *prefix, int runs)
{
    for (int i = 0; i < runs; i++) {
        char id[NACRE_RUN_ID];
        struct nacre_audit_run run = audit_log_run(log, id);
        struct nacre_error err;

        (void)snprintf(id, sizeof(id), "%s-%d", prefix, i);
        if (nacre_audit_begin(audit, &run, &err) != NACRE_OK ||
            nacre_audit_end(audit, &run, log->result, NULL, &err) != NACRE_OK)
            fail_msg("run %s: %s", id, err.text);
    }
}

struct nacre_audit_report audit_log_verify(const struct audit_log *log)
{
    struct nacre_audit_report report = { 0 };
    struct nacre_error err;

    if (nacre_audit_verify(log->path, log->keys, &report, &err) != NACRE_OK)
        fail_msg("%s:%d: %s", err.file, err.line, err.text);
    return report;
}

char *audit_log_slurp(const char *path, size_t *ret_count)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    char *bytes;

    assert_true(fd >= 0);
    assert_int_equal(fstat(fd, &st), 0);
    bytes = calloc(1, (size_t)st.st_size + 1);
    assert_non_null(bytes);
    assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
    *ret_count = (size_t)st.st_size;
    return bytes;
}

void audit_log_spill(const char *path, const char *bytes, size_t count)
{
    static const int flags = O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC;
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, flags, 0600);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), count);
}
