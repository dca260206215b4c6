/* Reads a log that anybody may have changed, for people to look at: what could drive
 * a terminal does not get past here. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "nacre/audit.h"
#include "nacre/text.h"
#include "parse.h"
#include "read.h"

enum nacre_status audit_file_read_open(const char *path, int *ret_fd, uint64_t *ret_size,
                                       struct nacre_error *err)
{
    static const int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, flags);
    char shown[NACRE_SHOWN];
    struct stat st;

    (void)nacre_text_shown(shown, path);
    if (fd < 0 && errno == ENOENT)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND, "there is no audit log %s", shown);
    if (fd < 0 || fstat(fd, &st) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "cannot open %s", shown);
    if (!S_ISREG(st.st_mode))
        return nacre_fail(err, NACRE_ERR_USAGE, "%s is not a plain file", shown);
    *ret_size = (uint64_t)st.st_size;
    *ret_fd = nacre_fd_take(&fd);
    return NACRE_OK;
}

static bool is_printable(const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        unsigned char byte = (unsigned char)text[i];

        if (byte < 0x20 || byte == 0x7f)
            return false;
        if (byte == 0xc2 && i + 1 < count && (unsigned char)text[i + 1] < 0xa0)
            return false;
    }
    return nacre_text_is_utf8(text, count);
}

enum nacre_status nacre_audit_read(const char *path, struct nacre_audit_cursor *cursor,
                                   bool (*each)(void *data, uint64_t line,
                                                const char *text, size_t count),
                                   void *data, struct nacre_error *err)
{
    NACRE_AUTO(audit_reader_clear) struct audit_reader reader = { .buffer = NULL };
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    enum nacre_status status;
    const char *text;
    uint64_t size;
    size_t count;

    status = audit_file_read_open(path, &fd, &size, err);
    if (status == NACRE_OK && size < cursor->offset) {
        errno = 0;
        status = nacre_fail(err, NACRE_ERR_IO,
                            "the audit log was cut from over %llu to %llu bytes",
                            (unsigned long long)cursor->offset, (unsigned long long)size);
    }
    if (status == NACRE_OK)
        status = audit_reader_init(&reader, fd, path, cursor->offset, size, err);
    reader.line = cursor->lines;
    while (status == NACRE_OK) {
        bool more;

        status = audit_reader_next(&reader, &text, &count, err);
        if (status != NACRE_OK || !text)
            break;
        if (!is_printable(text, count))
            return nacre_fail_at(err, NACRE_ERR_PARSE, path,
                                 audit_line_int(reader.line), 1,
                                 "not a record of nacre's: it has bytes that are no "
                                 "text");
        more = each(data, reader.line, text, count);
        *cursor = (struct nacre_audit_cursor){ reader.offset, reader.line };
        if (!more)
            break;
    }
    return status;
}

enum nacre_status nacre_audit_tail(const char *path, uint64_t lines,
                                   struct nacre_audit_cursor *ret_cursor,
                                   struct nacre_error *err)
{
    struct nacre_audit_cursor cursor = { 0 };
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    uint64_t size, skip = UINT64_MAX;
    enum nacre_status status;

    status = audit_file_read_open(path, &fd, &size, err);
    /* Once to count them, once to stop before the last. */
    for (int pass = 0; pass < 2 && status == NACRE_OK; pass++) {
        NACRE_AUTO(audit_reader_clear) struct audit_reader reader = { .buffer = NULL };
        const char *text = "";
        size_t count;

        status = audit_reader_init(&reader, fd, path, 0, size, err);
        while (status == NACRE_OK && text && reader.line < skip)
            status = audit_reader_next(&reader, &text, &count, err);
        skip = reader.line > lines ? reader.line - lines : 0;
        cursor = (struct nacre_audit_cursor){ reader.offset, reader.line };
    }
    if (status == NACRE_OK)
        *ret_cursor = cursor;
    return status;
}
