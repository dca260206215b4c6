#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "nacre/text.h"

int nacre_policy_file_open(const char *path)
{
    /* NONBLOCK: a FIFO without a writer would hold us for ever. */
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

enum nacre_status nacre_policy_file_fail(const char *kind, const char *path,
                                         struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    if (errno == ENOENT || errno == ENOTDIR)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND, "%s '%s': no such file", kind,
                          nacre_text_shown(shown, path));
    return nacre_fail(err, NACRE_ERR_IO, "%s '%s'", kind, nacre_text_shown(shown, path));
}

enum nacre_status nacre_policy_file_read(int fd, const char *kind, const char *path,
                                         struct nacre_buf *buf, struct nacre_error *err)
{
    struct stat info;
    enum nacre_status status;
    char shown[NACRE_SHOWN];

    if (fstat(fd, &info) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "%s '%s'", kind,
                          nacre_text_shown(shown, path));
    if (!S_ISREG(info.st_mode))
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "%s '%s': not a regular file; a %s is a YAML%s file", kind,
                          nacre_text_shown(shown, path), kind,
                          strcmp(kind, "policy") == 0 ? "" : " or JSON5");
    status = nacre_buf_read(buf, fd, err);
    if (status == NACRE_ERR_TOO_BIG)
        return nacre_fail_at(err, NACRE_ERR_TOO_BIG, path, 1, 1,
                             "the document is larger than %zu bytes", buf->size_max);
    if (status != NACRE_OK)
        return nacre_fail_context(err, nacre_text_shown(shown, path));
    return NACRE_OK;
}

enum nacre_status nacre_policy_file_real(const char *kind, const char *path,
                                         char **ret_path, struct nacre_error *err)
{
    char *real = realpath(path, NULL);
    char shown[NACRE_SHOWN];

    if (!real)
        return nacre_fail(err, NACRE_ERR_IO, "%s '%s': where it lies can't be found",
                          kind, nacre_text_shown(shown, path));
    *ret_path = real;
    return NACRE_OK;
}
