/* The path is the caller's; what it leads to may be a FIFO that nobody writes to, or a
 * file without an end. */
#include "document.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "nacre/own.h"
#include "nacre/text.h"

enum nacre_status cli_document_read(const char *path, struct nacre_buf *buf,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int file = -1;
    bool is_stdin = strcmp(path, "-") == 0;
    struct stat info;
    char shown[NACRE_SHOWN];
    enum nacre_status status;

    (void)nacre_text_shown(shown, is_stdin ? "stdin" : path);
    if (!is_stdin) {
        file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        if (file < 0 && (errno == ENOENT || errno == ENOTDIR))
            return nacre_fail(err, NACRE_ERR_NOT_FOUND, "%s: no such file", shown);
        if (file < 0 || fstat(file, &info) < 0)
            return nacre_fail(err, NACRE_ERR_IO, "%s", shown);
        if (!S_ISREG(info.st_mode))
            return nacre_fail(err, NACRE_ERR_USAGE, "%s: not a regular file", shown);
    }
    status = nacre_buf_read(buf, is_stdin ? STDIN_FILENO : file, err);
    if (status == NACRE_ERR_TOO_BIG)
        return nacre_fail_at(err, NACRE_ERR_TOO_BIG, is_stdin ? "stdin" : path, 1, 1,
                             "the document is larger than %zu bytes",
                             NACRE_DOCUMENT_BYTES_MAX);
    return status == NACRE_OK ? NACRE_OK : nacre_fail_context(err, shown);
}
