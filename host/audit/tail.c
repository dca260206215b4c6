/* Reads the end of a log that anybody may have changed; see parse.c. */
#include "tail.h"

#include <stdlib.h>
#include <string.h>

#include "line.h"
#include "nacre/own.h"
#include "parse.h"

#define RUNS_WINDOW_BYTES 32768

static enum nacre_status not_a_log(const char *path, struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_USAGE,
                      "%s does not end like an audit log: name another file, or move "
                      "this one away",
                      path);
}

/* `window` is the end of the file, `start` its offset there.  *ret_found is false when
 * it does not reach back to the beginning of the last whole line. */
static enum nacre_status judge(const char *path, const char *window, size_t count,
                               uint64_t start, bool *ret_found,
                               struct audit_tail *ret_tail, struct nacre_error *err)
{
    const char *newline = memrchr(window, '\n', count);
    const char *torn = newline ? newline + 1 : window;
    const char *line = newline ? memrchr(window, '\n', (size_t)(newline - window)) : NULL;
    struct audit_tail tail = { .torn_count = count - (size_t)(torn - window) };
    struct audit_record record;

    *ret_found = line || start == 0;
    if (!*ret_found)
        return NACRE_OK;
    line = line ? line + 1 : window;
    if (tail.torn_count > 0 && !audit_record_is_torn(torn, tail.torn_count))
        return not_a_log(path, err);
    if (newline) {
        if (!audit_record_parse(line, (size_t)(newline - line), &record))
            return not_a_log(path, err);
        tail.head = (struct audit_checkpoint){
            .count = record.seq,
            .bytes = start + (uint64_t)(torn - window),
            .head = nacre_hash(line, (size_t)(newline - line)),
        };
    }
    *ret_tail = tail;
    return NACRE_OK;
}

enum nacre_status audit_tail_read(int fd, const char *path, uint64_t size,
                                  struct audit_tail *ret_tail, struct nacre_error *err)
{
    /* Nearly always the last line is short; at worst a torn one stands behind a whole
     * one, both as long as they come. */
    static const size_t windows[] = { 4096, 2 * (AUDIT_LINE_MAX + 1) };

    for (size_t i = 0; i < NACRE_COUNT(windows); i++) {
        size_t count = size < windows[i] ? (size_t)size : windows[i];
        NACRE_AUTO(nacre_heap_guard) char *window = malloc(count + 1);
        enum nacre_status status;
        bool found;

        if (!window)
            return nacre_fail(err, NACRE_ERR_MEMORY, "no memory to read %s", path);
        status = audit_pread(fd, path, window, count, size - count, err);
        if (status == NACRE_OK)
            status = judge(path, window, count, size - count, &found, ret_tail, err);
        if (status != NACRE_OK || found)
            return status;
    }
    return not_a_log(path, err);
}

enum nacre_status audit_tail_runs(int fd, const char *path, uint64_t size,
                                  struct audit_runs *runs, struct nacre_error *err)
{
    uint64_t start = size < RUNS_WINDOW_BYTES ? 0 : size - RUNS_WINDOW_BYTES;
    NACRE_AUTO(audit_reader_clear) struct audit_reader reader = { .buffer = NULL };
    bool partial = start > 0; /* a window rarely begins where a line does */
    enum nacre_status status;
    const char *text;
    size_t count;

    status = audit_reader_init(&reader, fd, path, start, size, err);
    while (status == NACRE_OK) {
        struct audit_record record;

        status = audit_reader_next(&reader, &text, &count, err);
        if (status != NACRE_OK || !text)
            return status;
        if (!partial && audit_record_parse(text, count, &record)) {
            if (record.accounts)
                audit_runs_clear(runs);
            status = audit_runs_see(runs, &record, err);
        }
        partial = false;
    }
    return status;
}
