#include "audit_log.h"

#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "nacre/hash.h"

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
    log->tool = (struct nacre_tool){ .kind = NACRE_TOOL_MODULE,
                                      .name = (char *)"hello.wasm" };
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

void audit_log_newest(const struct audit_log *log, char ret_path[NEWEST_PATH])
{
    char pattern[NEWEST_PATH];
    glob_t found;

    (void)snprintf(pattern, sizeof(pattern), "%s/audit-*.newest", log->keys);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_int_equal(found.gl_pathc, 1);
    (void)snprintf(ret_path, NEWEST_PATH, "%s", found.gl_pathv[0]);
    globfree(&found);
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

struct doc doc_load(const char *path)
{
    struct doc doc = { .missing = false };

    doc.bytes = audit_log_slurp(path, &doc.size);
    return doc;
}

void doc_store(struct doc *doc, const char *path)
{
    if (doc->missing)
        assert_int_equal(unlink(path), 0);
    else
        audit_log_spill(path, doc->bytes, doc->size);
    free(doc->bytes);
}

size_t doc_line_at(const struct doc *doc, size_t number)
{
    size_t at = 0;

    while (--number > 0)
        at += strcspn(doc->bytes + at, "\n") + 1;
    assert_true(at <= doc->size);
    return at;
}

void doc_replace(struct doc *doc, size_t at, size_t removed, const char *text,
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

void doc_delete_lines(struct doc *doc, size_t from, size_t to)
{
    size_t at = doc_line_at(doc, from);

    doc_replace(doc, at, doc_line_at(doc, to + 1) - at, "", 0);
}

void doc_copy_line(struct doc *doc, size_t from, size_t before)
{
    size_t at = doc_line_at(doc, from), count = doc_line_at(doc, from + 1) - at;
    char *line = strndup(doc->bytes + at, count);

    doc_replace(doc, doc_line_at(doc, before), 0, line, count);
    free(line);
}

void doc_change(struct doc *doc, size_t line, const char *from, const char *to)
{
    char *found = strstr(doc->bytes + doc_line_at(doc, line), from);

    assert_non_null(found);
    assert_true(found < doc->bytes + doc_line_at(doc, line + 1));
    memcpy(found, to, strlen(to));
}

void doc_chain_again(struct doc *doc, size_t line)
{
    size_t at = doc_line_at(doc, line), next = doc_line_at(doc, line + 1);

    while (next < doc->size) {
        struct nacre_digest digest = nacre_hash(doc->bytes + at, next - at - 1);
        char hex[NACRE_HEX];

        at = next;
        next += strcspn(doc->bytes + at, "\n") + 1;
        memcpy(doc->bytes + next - 3 - 64, nacre_digest_hex(&digest, hex), 64);
    }
}
