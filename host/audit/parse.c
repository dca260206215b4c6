/*
 * Reads logs and checkpoints that anybody may have changed.  Trusts nothing in them:
 * every length is bounded, and a line is either exactly of the form that this
 * version writes or it is none.
 */
#include "parse.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "line.h"
#include "nacre/clock.h"

bool audit_scan_word(struct audit_scan *scan, const char *word)
{
    size_t length = strlen(word);

    if ((size_t)(scan->end - scan->at) < length || memcmp(scan->at, word, length) != 0)
        return false;
    scan->at += length;
    return true;
}

bool audit_scan_number(struct audit_scan *scan, uint64_t *ret_number)
{
    const char *at = scan->at;
    uint64_t number = 0;

    for (; at < scan->end && *at >= '0' && *at <= '9'; at++) {
        unsigned digit = (unsigned)(*at - '0');

        if (number > (UINT64_MAX - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    /* One spelling for each number: none without digits, none with a leading 0. */
    if (at == scan->at || (*scan->at == '0' && at - scan->at > 1))
        return false;
    scan->at = at;
    *ret_number = number;
    return true;
}

bool audit_scan_digest(struct audit_scan *scan, struct nacre_digest *ret_digest)
{
    char hex[NACRE_HEX];

    if ((size_t)(scan->end - scan->at) < sizeof(hex) - 1)
        return false;
    memcpy(hex, scan->at, sizeof(hex) - 1);
    hex[sizeof(hex) - 1] = '\0';
    if (!nacre_digest_from_hex(hex, ret_digest))
        return false;
    scan->at += sizeof(hex) - 1;
    return true;
}

bool audit_scan_string(struct audit_scan *scan, size_t max, const char **ret_text,
                       size_t *ret_count)
{
    size_t left = (size_t)(scan->end - scan->at);
    const char *quote = memchr(scan->at, '"', left < max + 1 ? left : max + 1);

    if (!quote)
        return false;
    *ret_text = scan->at;
    *ret_count = (size_t)(quote - scan->at);
    scan->at = quote;
    return true;
}

bool audit_run_id_is_valid(const char *id)
{
    size_t length = strnlen(id, NACRE_RUN_ID);

    return length > 0 && length < NACRE_RUN_ID &&
           strspn(id, "0123456789abcdefghijklmnopqrstuvwxyz-") == length;
}

static bool scan_type(struct audit_scan *scan, struct audit_record *record)
{
    const char *run;
    size_t count;

    if (audit_scan_word(scan, "recovered\"")) {
        record->type = AUDIT_RECOVERED;
        record->accounts = audit_scan_word(scan, ",\"unended\":[");
        return true;
    }
    if (audit_scan_word(scan, "begin\""))
        record->type = AUDIT_BEGIN;
    else if (audit_scan_word(scan, "end\""))
        record->type = AUDIT_END;
    else
        return false;
    if (!audit_scan_word(scan, ",\"run\":\"") ||
        !audit_scan_string(scan, sizeof(record->run) - 1, &run, &count))
        return false;
    memcpy(record->run, run, count);
    return audit_run_id_is_valid(record->run);
}

bool audit_record_parse(const char *text, size_t count, struct audit_record *ret_record)
{
    static const char link[] = ",\"prev\":\"";
    static const size_t tail = sizeof(link) - 1 + NACRE_HEX - 1 + 2;
    struct audit_record record = { .type = AUDIT_NONE };
    struct audit_scan scan = { text, text + count };
    struct audit_scan back;
    const char *time;
    size_t time_count;

    if (!audit_scan_word(&scan, AUDIT_LINE_FRONT) ||
        !audit_scan_number(&scan, &record.seq) ||
        !audit_scan_word(&scan, ",\"time\":\"") ||
        !audit_scan_string(&scan, NACRE_TIMESTAMP, &time, &time_count) ||
        !audit_scan_word(&scan, "\",\"type\":\"") || !scan_type(&scan, &record))
        return false;
    if ((size_t)(scan.end - scan.at) < tail)
        return false;
    back = (struct audit_scan){ scan.end - tail, scan.end };
    if (!audit_scan_word(&back, link) || !audit_scan_digest(&back, &record.prev) ||
        !audit_scan_word(&back, "\"}"))
        return false;
    *ret_record = record;
    return true;
}

bool audit_record_is_torn(const char *bytes, size_t count)
{
    static const char front[] = AUDIT_LINE_FRONT;
    size_t known = count < sizeof(front) - 1 ? count : sizeof(front) - 1;

    /* Some file systems show blocks that were allocated and never written as zeros. */
    if (count == 0 || bytes[0] == '\0')
        return count > 0;
    return memcmp(bytes, front, known) == 0;
}

enum nacre_status audit_pread(int fd, const char *path, void *ret_bytes, size_t count,
                              uint64_t offset, struct nacre_error *err)
{
    char *bytes = ret_bytes;

    while (count > 0) {
        ssize_t got = pread(fd, bytes, count, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0)
            errno = 0;
        if (got <= 0)
            return nacre_fail(err, NACRE_ERR_IO, "cannot read %s at byte %llu%s", path,
                              (unsigned long long)offset,
                              got == 0 ? ": it became shorter meanwhile" : "");
        bytes += got;
        offset += (uint64_t)got;
        count -= (size_t)got;
    }
    return NACRE_OK;
}

int audit_line_int(uint64_t line)
{
    return line < INT_MAX ? (int)line : INT_MAX;
}

enum nacre_status audit_reader_init(struct audit_reader *reader, int fd, const char *path,
                                    uint64_t start, uint64_t end, struct nacre_error *err)
{
    /* A line and its newline, whose place the terminator takes. */
    size_t wanted = end - start < AUDIT_LINE_MAX ? (size_t)(end - start) : AUDIT_LINE_MAX;
    char *buffer = malloc(wanted + 1);

    assert(start <= end);
    if (!buffer)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory to read %s", path);
    *reader = (struct audit_reader){ .fd = fd,
                                     .path = path,
                                     .offset = start,
                                     .end = end,
                                     .buffer = buffer,
                                     .allocated = wanted + 1 };
    return NACRE_OK;
}

void audit_reader_clear(struct audit_reader *reader)
{
    free(reader->buffer);
    reader->buffer = NULL;
}

static enum nacre_status fill(struct audit_reader *reader, struct nacre_error *err)
{
    size_t kept = reader->filled - reader->used;
    uint64_t from = reader->offset + kept;
    uint64_t left = reader->end - from;
    size_t room = reader->allocated - kept;
    enum nacre_status status;

    memmove(reader->buffer, reader->buffer + reader->used, kept);
    reader->used = 0;
    reader->filled = kept;
    if (left < room)
        room = (size_t)left;
    status = audit_pread(reader->fd, reader->path, reader->buffer + kept, room, from,
                         err);
    if (status == NACRE_OK)
        reader->filled += room;
    return status;
}

enum nacre_status audit_reader_next(struct audit_reader *reader, const char **ret_text,
                                    size_t *ret_count, struct nacre_error *err)
{
    char *text = reader->buffer + reader->used;
    size_t held = reader->filled - reader->used;
    char *newline = memchr(text, '\n', held);
    enum nacre_status status;

    assert(reader->offset + held <= reader->end);
    if (!newline && reader->offset + held < reader->end) {
        status = fill(reader, err);
        if (status != NACRE_OK)
            return status;
        text = reader->buffer;
        held = reader->filled;
        newline = memchr(text, '\n', held);
    }
    if (!newline && held > AUDIT_LINE_MAX)
        return nacre_fail_at(err, NACRE_ERR_PARSE, reader->path,
                             audit_line_int(reader->line + 1), 1,
                             "a line of over %zu bytes: not a record of nacre's",
                             AUDIT_LINE_MAX);
    if (!newline) {
        reader->torn = held;
        reader->torn_record = audit_record_is_torn(text, held);
        *ret_text = NULL;
        *ret_count = 0;
        return NACRE_OK;
    }
    *newline = '\0';
    *ret_text = text;
    *ret_count = (size_t)(newline - text);
    reader->used += *ret_count + 1;
    reader->offset += *ret_count + 1;
    reader->line++;
    return NACRE_OK;
}
