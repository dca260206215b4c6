/* Reads a file that anybody may have changed: a line counts only if its HMAC holds. */
#include "checkpoint.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nacre/clock.h"
#include "nacre/own.h"
#include "nacre/text.h"
#include "parse.h"

#define LINE_BYTES_MAX 512
#define DOMAIN "nacre audit checkpoint 1\n"

static struct nacre_digest hmac(const uint8_t key[NACRE_KEY_BYTES], const char *text,
                                size_t count)
{
    char bytes[sizeof(DOMAIN) + LINE_BYTES_MAX] = DOMAIN;

    /* The key serves other purposes too; no other text of theirs begins like this. */
    memcpy(bytes + sizeof(DOMAIN) - 1, text, count);
    return nacre_hmac(key, NACRE_KEY_BYTES, bytes, sizeof(DOMAIN) - 1 + count);
}

enum nacre_status audit_append(int fd, const char *path, uint64_t size, const char *bytes,
                               size_t count, struct nacre_error *err)
{
    enum nacre_status status;
    ssize_t written;

    do
        written = write(fd, bytes, count);
    while (written < 0 && errno == EINTR);
    if (written == (ssize_t)count)
        return NACRE_OK;
    if (written < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot write to %s", path);

    errno = ENOSPC;
    status = nacre_fail(err, NACRE_ERR_IO,
                        "cannot write to %s: only %zd of %zu bytes fit", path, written,
                        count);
    /* If this fails too, the bytes stay as a torn line that the next writer removes. */
    (void)!ftruncate(fd, (off_t)size);
    return status;
}

/* Where the last whole line begins and how long it is; 0 bytes when there is none.
 * `*ret_end` is the offset behind its newline. */
static enum nacre_status last_line(int fd, const char *path, char line[LINE_BYTES_MAX],
                                   size_t *ret_count, uint64_t *ret_end,
                                   uint64_t *ret_size, struct nacre_error *err)
{
    char window[2 * LINE_BYTES_MAX];
    const char *newline, *start;
    size_t count;
    enum nacre_status status;
    struct stat st;
    uint64_t size;

    if (fstat(fd, &st) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot examine %s", path);
    size = (uint64_t)st.st_size;
    count = size < sizeof(window) ? (size_t)size : sizeof(window);
    status = audit_pread(fd, path, window, count, size - count, err);
    if (status != NACRE_OK)
        return status;
    newline = memrchr(window, '\n', count);
    if (!newline && size > count)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "%s does not end like a file of checkpoints; move it away if "
                          "it is none",
                          path);
    start = newline ? memrchr(window, '\n', (size_t)(newline - window)) : NULL;
    start = start ? start + 1 : window;
    *ret_count = 0;
    if (newline && newline - start < LINE_BYTES_MAX) {
        *ret_count = (size_t)(newline - start);
        memcpy(line, start, *ret_count);
    }
    *ret_end = newline ? size - count + (uint64_t)(newline + 1 - window) : 0;
    *ret_size = size;
    return NACRE_OK;
}

/* With its newline; returns the length. */
static size_t line_make(char line[LINE_BYTES_MAX], const uint8_t key[NACRE_KEY_BYTES],
                        const struct audit_checkpoint *checkpoint)
{
    char head[NACRE_HEX], code[NACRE_HEX], time[NACRE_TIMESTAMP];
    struct nacre_digest digest;
    size_t count;

    count = (size_t)snprintf(line, LINE_BYTES_MAX,
                             "{\"count\":%llu,\"head\":\"%s\",\"bytes\":%llu,"
                             "\"time\":\"%s\"",
                             (unsigned long long)checkpoint->count,
                             nacre_digest_hex(&checkpoint->head, head),
                             (unsigned long long)checkpoint->bytes,
                             nacre_clock_timestamp(time));
    digest = hmac(key, line, count);
    count += (size_t)snprintf(line + count, LINE_BYTES_MAX - count, ",\"hmac\":\"%s\"}\n",
                              nacre_digest_hex(&digest, code));
    return count;
}

enum nacre_status audit_checkpoint_write(int fd, const char *path,
                                         const uint8_t key[NACRE_KEY_BYTES],
                                         const struct audit_checkpoint *checkpoint,
                                         struct nacre_error *err)
{
    char line[LINE_BYTES_MAX];
    enum nacre_status status;
    uint64_t end = 0, size = 0;
    size_t count;

    status = last_line(fd, path, line, &count, &end, &size, err);
    if (status != NACRE_OK)
        return status;
    if (end < size && ftruncate(fd, (off_t)end) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot cut off the torn end of %s", path);

    count = line_make(line, key, checkpoint);
    return audit_append(fd, path, end, line, count, err);
}

bool audit_checkpoint_parse(const char *text, size_t count,
                            const uint8_t key[NACRE_KEY_BYTES],
                            struct audit_checkpoint *ret_checkpoint)
{
    struct audit_scan scan = { text, text + count };
    struct audit_checkpoint checkpoint;
    struct nacre_digest said, holds;
    size_t time_count, signed_count;
    const char *time;

    if (count >= LINE_BYTES_MAX || !audit_scan_word(&scan, "{\"count\":") ||
        !audit_scan_number(&scan, &checkpoint.count) ||
        !audit_scan_word(&scan, ",\"head\":\"") ||
        !audit_scan_digest(&scan, &checkpoint.head) ||
        !audit_scan_word(&scan, "\",\"bytes\":") ||
        !audit_scan_number(&scan, &checkpoint.bytes) ||
        !audit_scan_word(&scan, ",\"time\":\"") ||
        !audit_scan_string(&scan, NACRE_TIMESTAMP, &time, &time_count) ||
        !audit_scan_word(&scan, "\""))
        return false;
    signed_count = (size_t)(scan.at - text);
    if (!audit_scan_word(&scan, ",\"hmac\":\"") || !audit_scan_digest(&scan, &said) ||
        !audit_scan_word(&scan, "\"}") || scan.at != scan.end)
        return false;
    holds = hmac(key, text, signed_count);
    if (!nacre_digest_equal(&said, &holds))
        return false;
    *ret_checkpoint = checkpoint;
    return true;
}

enum nacre_status audit_checkpoint_last(int fd, const char *path,
                                        const uint8_t key[NACRE_KEY_BYTES],
                                        enum audit_last *ret_last,
                                        struct audit_checkpoint *ret_checkpoint,
                                        struct nacre_error *err)
{
    struct audit_checkpoint checkpoint = { 0 };
    char line[LINE_BYTES_MAX];
    enum nacre_status status;
    uint64_t end = 0, size = 0;
    size_t count;

    status = last_line(fd, path, line, &count, &end, &size, err);
    if (status != NACRE_OK)
        return status;
    if (end == 0)
        *ret_last = AUDIT_LAST_NONE;
    else if (audit_checkpoint_parse(line, count, key, &checkpoint))
        *ret_last = AUDIT_LAST_HOLDS;
    else
        *ret_last = AUDIT_LAST_BROKEN;
    *ret_checkpoint = checkpoint;
    return NACRE_OK;
}

enum nacre_status audit_newest_path(const char *path, const char *key_dir,
                                    char ret_path[NACRE_PATH_MAX],
                                    struct nacre_error *err)
{
    char log[PATH_MAX], keys[PATH_MAX], shown[NACRE_SHOWN], hex[NACRE_HEX];
    struct nacre_digest digest;
    int length;

    /* Resolved, because one log may be named in many ways. */
    if (!realpath(path, log))
        return nacre_fail(err, NACRE_ERR_IO, "cannot resolve %s",
                          nacre_text_shown(shown, path));
    if (!realpath(key_dir, keys))
        return nacre_fail(err, NACRE_ERR_IO, "cannot resolve %s",
                          nacre_text_shown(shown, key_dir));
    digest = nacre_hash(log, strlen(log));
    length = snprintf(ret_path, NACRE_PATH_MAX, "%s/audit-%.16s.newest", keys,
                      nacre_digest_hex(&digest, hex));
    if (length < 0 || length >= NACRE_PATH_MAX)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "the path of the key directory is too long");
    return NACRE_OK;
}

/* The file is one line for each, padded: so every state of it is written over the
 * one before in a single write of the same size. */
#define SLOT_BYTES 320
static const char blank[] = "{}", quiet_blank[] = "[]";
_Static_assert(sizeof(blank) == sizeof(quiet_blank), "one is as long as the other");

static void slot_make(char slot[SLOT_BYTES], const uint8_t key[NACRE_KEY_BYTES],
                      const struct audit_checkpoint *checkpoint, const char *otherwise)
{
    char line[LINE_BYTES_MAX];
    size_t count = sizeof(blank) - 1;

    if (checkpoint)
        count = line_make(line, key, checkpoint) - 1;
    assert(count < SLOT_BYTES);
    memset(slot, ' ', SLOT_BYTES - 1);
    slot[SLOT_BYTES - 1] = '\n';
    memcpy(slot, checkpoint ? line : otherwise, count);
}

/* How it holds no checkpoint on purpose; NULL: it is to hold one. */
static const char *slot_blank(const char slot[SLOT_BYTES])
{
    size_t count = sizeof(blank) - 1;

    if (slot[count] != ' ')
        return NULL;
    return memcmp(slot, blank, count) == 0         ? blank
           : memcmp(slot, quiet_blank, count) == 0 ? quiet_blank
                                                   : NULL;
}

static bool slot_parse(const char slot[SLOT_BYTES], const uint8_t key[NACRE_KEY_BYTES],
                       struct audit_checkpoint *ret_checkpoint)
{
    size_t count = SLOT_BYTES - 1;

    if (slot[count] != '\n')
        return false;
    while (count > 0 && slot[count - 1] == ' ')
        count--;
    return count == sizeof(blank) - 1
               ? slot_blank(slot) != NULL
               : audit_checkpoint_parse(slot, count, key, ret_checkpoint);
}

enum nacre_status audit_newest_read(const char *newest_path,
                                    const uint8_t key[NACRE_KEY_BYTES],
                                    enum audit_last *ret_last,
                                    struct audit_newest *ret_newest,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd =
        open(newest_path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct audit_newest newest = { .broken = false };
    char bytes[2 * SLOT_BYTES], shown[NACRE_SHOWN];
    const char *second = bytes + SLOT_BYTES;
    ssize_t got = 0;
    bool whole;

    if (fd < 0 && errno != ENOENT)
        return nacre_fail(err, NACRE_ERR_IO, "cannot open %s",
                          nacre_text_shown(shown, newest_path));
    if (fd >= 0)
        got = pread(fd, bytes, sizeof(bytes), 0);
    if (got < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot read %s",
                          nacre_text_shown(shown, newest_path));
    whole = got == sizeof(bytes) && !slot_blank(bytes) &&
            slot_parse(bytes, key, &newest.vouched) &&
            slot_parse(second, key, &newest.lost);
    if (whole) {
        newest.broken = slot_blank(second) == NULL;
        newest.quiet = slot_blank(second) == quiet_blank;
    }
    *ret_last = got == 0 ? AUDIT_LAST_NONE : whole ? AUDIT_LAST_HOLDS : AUDIT_LAST_BROKEN;
    *ret_newest = whole ? newest : (struct audit_newest){ .broken = false };
    return NACRE_OK;
}

enum nacre_status audit_newest_write(const char *newest_path,
                                     const uint8_t key[NACRE_KEY_BYTES],
                                     const struct audit_newest *newest,
                                     struct nacre_error *err)
{
    static const int flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    NACRE_AUTO(nacre_fd_guard) int fd = open(newest_path, flags, 0600);
    char bytes[2 * SLOT_BYTES], shown[NACRE_SHOWN];

    slot_make(bytes, key, &newest->vouched, blank);
    slot_make(bytes + SLOT_BYTES, key, newest->broken ? &newest->lost : NULL,
              newest->quiet ? quiet_blank : blank);
    errno = fd < 0 ? errno : 0;
    if (fd < 0 || pwrite(fd, bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return nacre_fail(err, NACRE_ERR_IO, "cannot write to %s",
                          nacre_text_shown(shown, newest_path));
    return NACRE_OK;
}
