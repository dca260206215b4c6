/*
 * Any bytes as a log and its checkpoints, and any change of ones that hold: whatever is
 * handed out is fit to print, a changed log never verifies, and a log that is refused is
 * left as it was.
 */
#include <assert.h>
#include <fcntl.h>
#include <glob.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nacre/audit.h"
#include "nacre/key.h"
#include "nacre/text.h"
#include "nacre/tree.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RUNS 3
#define FILE_BYTES_MAX 65536
#define PATH_BYTES 128

enum { FILE_LOG, FILE_CHECKPOINTS, FILE_NEWEST, FILE_COUNT };

static struct file {
    char path[PATH_BYTES];
    uint8_t sound[FILE_BYTES_MAX]; /* as the library left it */
    size_t sound_count;
} files[FILE_COUNT];

static char top[] = "/tmp/nacre-fuzz-XXXXXX", keys[PATH_BYTES];
static const char *const log_path = files[FILE_LOG].path;

static void leave(void)
{
    struct nacre_error err;

    (void)!nacre_tree_remove(AT_FDCWD, top, &err);
}

static size_t slurp(const char *path, uint8_t bytes[FILE_BYTES_MAX])
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = read(fd, bytes, FILE_BYTES_MAX);

    assert(got >= 0 && got < FILE_BYTES_MAX);
    return (size_t)got;
}

static void spill(const char *path, const void *bytes, size_t count)
{
    NACRE_AUTO(nacre_fd_guard) int fd =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t written = write(fd, bytes, count);

    assert(written == (ssize_t)count);
}

/* A known key, so that an input means the same in every process. */
static void write_sound_log(void)
{
    static const uint8_t key[NACRE_KEY_BYTES] = { 1 };
    struct nacre_request request = { .input_fd = -1, .session = "s1" };
    struct nacre_result *result = calloc(1, sizeof(*result));
    struct nacre_audit_run run = { .request = &request, .tool_name = "hello.wasm" };
    struct nacre_audit *audit = NULL;
    char key_path[PATH_BYTES + 16];
    struct nacre_error err;
    int fd;

    assert(result && nacre_private_dir_open(keys, &fd, &err) == NACRE_OK);
    (void)close(fd);
    (void)snprintf(key_path, sizeof(key_path), "%s/audit.key", keys);
    spill(key_path, key, sizeof(key));
    result->outcome = NACRE_OUTCOME_EXITED;
    assert(nacre_audit_open(log_path, keys, &audit, NULL, 0, &err) == NACRE_OK);
    for (char id[] = "run-0"; id[4] < '0' + RUNS; id[4]++) {
        run.run_id = id;
        assert(nacre_audit_begin(audit, &run, &err) == NACRE_OK);
        assert(nacre_audit_end(audit, &run, result, NULL, &err) == NACRE_OK);
    }
    nacre_audit_free(audit);
    free(result);
}

/* Its name tells the log's place. */
static void find_newest(void)
{
    char pattern[PATH_BYTES + 16];
    glob_t found;

    (void)snprintf(pattern, sizeof(pattern), "%s/audit-*.newest", keys);
    assert(glob(pattern, 0, NULL, &found) == 0 && found.gl_pathc == 1);
    (void)snprintf(files[FILE_NEWEST].path, PATH_BYTES, "%s", found.gl_pathv[0]);
    globfree(&found);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    assert(mkdtemp(top) && atexit(leave) == 0);
    (void)snprintf(keys, sizeof(keys), "%s/keys", top);
    (void)snprintf(files[FILE_LOG].path, PATH_BYTES, "%s/audit.jsonl", top);
    (void)snprintf(files[FILE_CHECKPOINTS].path, PATH_BYTES, "%s/audit.jsonl.checkpoints",
                   top);
    write_sound_log();
    find_newest();
    for (size_t i = 0; i < FILE_COUNT; i++)
        files[i].sound_count = slurp(files[i].path, files[i].sound);
    return 0;
}

/* The first two bytes part the log from its checkpoints. */
static bool lay_out(const uint8_t *data, size_t size)
{
    size_t log_count;

    if (size < 2)
        return false;
    log_count = (size_t)(data[0] | data[1] << 8);
    data += 2;
    size -= 2;
    if (log_count > size)
        log_count = size;
    if (size >= FILE_BYTES_MAX)
        return false;
    spill(files[FILE_LOG].path, data, log_count);
    spill(files[FILE_CHECKPOINTS].path, data + log_count, size - log_count);
    spill(files[FILE_NEWEST].path, files[FILE_NEWEST].sound,
          files[FILE_NEWEST].sound_count);
    return true;
}

/* Four bytes a change: which file, where, and the bits that flip or a cut.  Tells which
 * of the files are not what they were. */
static void change(const uint8_t *data, size_t size, bool ret_changed[FILE_COUNT])
{
    static uint8_t bytes[FILE_COUNT][FILE_BYTES_MAX];
    size_t counts[FILE_COUNT];

    for (size_t i = 0; i < FILE_COUNT; i++) {
        memcpy(bytes[i], files[i].sound, files[i].sound_count);
        counts[i] = files[i].sound_count;
    }
    for (; size >= 4; data += 4, size -= 4) {
        size_t which = data[0] % FILE_COUNT, at = (size_t)(data[1] | data[2] << 8);

        if (data[0] & 0x80 && at < counts[which])
            counts[which] = at;
        else if (at < counts[which])
            bytes[which][at] ^= data[3];
    }
    for (size_t i = 0; i < FILE_COUNT; i++) {
        spill(files[i].path, bytes[i], counts[i]);
        ret_changed[i] = counts[i] != files[i].sound_count ||
                         memcmp(bytes[i], files[i].sound, counts[i]) != 0;
    }
}

static bool check_line(void *data, uint64_t line, const char *text, size_t count)
{
    uint64_t *last = data;

    assert(line == *last + 1 && text[count] == '\0' && strlen(text) == count);
    assert(nacre_text_is_utf8(text, count));
    for (size_t i = 0; i < count; i++)
        assert((unsigned char)text[i] >= 0x20 && text[i] != 0x7f);
    *last = line;
    return true;
}

static void check_reading(uint64_t lines)
{
    struct nacre_audit_cursor cursor = { 0 };
    uint64_t whole = 0, last;
    struct nacre_error err;

    if (nacre_audit_read(log_path, &cursor, check_line, &whole, &err) != NACRE_OK)
        return;
    assert(cursor.lines == whole);
    assert(nacre_audit_tail(log_path, lines, &cursor, &err) == NACRE_OK);
    assert(cursor.lines == (whole > lines ? whole - lines : 0));
    last = cursor.lines;
    assert(nacre_audit_read(log_path, &cursor, check_line, &last, &err) == NACRE_OK);
    assert(last == whole);
}

static void check_opening(void)
{
    static uint8_t before[FILE_BYTES_MAX], after[FILE_BYTES_MAX];
    size_t count = slurp(log_path, before);
    struct nacre_audit *audit = NULL;
    struct nacre_error err;
    char notice[512];

    if (nacre_audit_open(log_path, keys, &audit, notice, sizeof(notice), &err) ==
        NACRE_OK) {
        assert(strlen(notice) < sizeof(notice));
        nacre_audit_free(audit);
        return;
    }
    assert(!audit && slurp(log_path, after) == count);
    assert(memcmp(before, after, count) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool changed[FILE_COUNT] = { true, true, true };
    struct nacre_audit_report report;
    enum nacre_status status;
    struct nacre_error err;

    if (size < 1)
        return 0;
    if (data[0] & 1)
        change(data + 1, size - 1, changed);
    else if (!lay_out(data + 1, size - 1))
        return 0;
    check_reading(data[0] >> 4);
    status = nacre_audit_verify(log_path, keys, &report, &err);
    if (changed[FILE_LOG])
        assert(status != NACRE_OK);
    else if (!changed[FILE_CHECKPOINTS] && !changed[FILE_NEWEST])
        assert(status == NACRE_OK && report.records == 2 * RUNS);
    check_opening();
    return 0;
}
