#include "nacre/tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "nacre/text.h"

static enum nacre_status too_big(struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_TOO_BIG, "it is larger than %zu MiB",
                      NACRE_TOOL_BYTES_MAX >> 20);
}

/* Copies the file once; what is hashed, shown and run is this copy and no other. */
static enum nacre_status copy(int from, int to, size_t *ret_count,
                              struct nacre_error *err)
{
    size_t total = 0;

    for (;;) {
        ssize_t count = sendfile(to, from, NULL, NACRE_TOOL_BYTES_MAX + 1 - total);

        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return nacre_fail(err, NACRE_ERR_IO, "can't read it");
        if (count == 0)
            break;
        total += (size_t)count;
        if (total > NACRE_TOOL_BYTES_MAX) /* it grows while it is read */
            return too_big(err);
    }
    if (fcntl(to, F_ADD_SEALS,
              F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't seal the copy");
    *ret_count = total;
    return NACRE_OK;
}

static enum nacre_status open_module(const char *path, int *ret_fd,
                                     struct nacre_error *err)
{
    /* O_NONBLOCK: a FIFO put in its place may not hang us. */
    NACRE_AUTO(nacre_fd_guard)
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat info;

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return nacre_fail(err, NACRE_ERR_NOT_FOUND, "no such module");
    if (fd < 0 || fstat(fd, &info) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't open it");
    if (S_ISDIR(info.st_mode))
        return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE, "it is a directory, not a module");
    if (!S_ISREG(info.st_mode))
        return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE, "it is not a regular file");
    if (info.st_size > (off_t)NACRE_TOOL_BYTES_MAX)
        return too_big(err);
    *ret_fd = nacre_fd_take(&fd);
    return NACRE_OK;
}

static enum nacre_status load(const char *path, struct nacre_tool *tool,
                              struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int from = -1;
    const char *slash = strrchr(path, '/');
    enum nacre_status status = open_module(path, &from, err);
    void *mapped;

    if (status != NACRE_OK)
        return status;
    tool->path = strdup(path);
    tool->name = strdup(slash ? slash + 1 : path);
    if (!tool->path || !tool->name)
        return nacre_fail(err, NACRE_ERR_MEMORY, "out of memory");
    tool->bytes_fd = memfd_create("nacre-tool", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (tool->bytes_fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "memfd");
    status = copy(from, tool->bytes_fd, &tool->count, err);
    if (status != NACRE_OK)
        return status;
    if (tool->count == 0)
        return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE, "it is empty");
    mapped = mmap(NULL, tool->count, PROT_READ, MAP_SHARED, tool->bytes_fd, 0);
    if (mapped == MAP_FAILED)
        return nacre_fail(err, NACRE_ERR_IO, "mmap");
    tool->bytes = mapped;
    tool->digest = nacre_hash(tool->bytes, tool->count);
    return NACRE_OK;
}

enum nacre_status nacre_tool_load(const char *path, struct nacre_tool **ret_tool,
                                  struct nacre_error *err)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = calloc(1, sizeof(*tool));
    enum nacre_status status;
    char shown[NACRE_SHOWN];

    if (!tool)
        return nacre_fail(err, NACRE_ERR_MEMORY, "tool");
    tool->kind = NACRE_TOOL_MODULE;
    tool->bytes_fd = -1;
    status = load(path, tool, err);
    if (status != NACRE_OK)
        return nacre_fail_context(err, nacre_text_shown(shown, path));
    *ret_tool = nacre_tool_take(&tool);
    return NACRE_OK;
}

static struct nacre_digest command_digest(enum nacre_tool_kind kind,
                                          const char *const *argv)
{
    struct nacre_hasher hasher;

    nacre_hash_init(&hasher);
    nacre_hash_add_u64(&hasher, kind);
    for (size_t i = 0; argv[i]; i++)
        nacre_hash_add_text(&hasher, argv[i]);
    return nacre_hash_end(&hasher);
}

static enum nacre_status command_of(enum nacre_tool_kind kind, const char *name,
                                    const char *const *argv, struct nacre_tool **ret_tool,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = calloc(1, sizeof(*tool));
    size_t count = 0, bytes = 0;

    for (; argv[count]; count++)
        bytes += strlen(argv[count]) + 1;
    if (count == 0 || argv[0][0] == '\0')
        return nacre_fail(err, NACRE_ERR_USAGE, "there is no command");
    if (bytes > NACRE_COMMAND_BYTES_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG,
                          "the command is longer than %zu KiB: put it in a file of the "
                          "workspace",
                          NACRE_COMMAND_BYTES_MAX >> 10);
    if (!tool)
        return nacre_fail(err, NACRE_ERR_MEMORY, "tool");
    tool->kind = kind;
    tool->bytes_fd = -1;
    tool->name = strdup(name);
    tool->argv = calloc(count + 1, sizeof(*tool->argv));
    if (!tool->name || !tool->argv)
        return nacre_fail(err, NACRE_ERR_MEMORY, "tool");
    for (size_t i = 0; i < count; i++) {
        tool->argv[i] = strdup(argv[i]);
        if (!tool->argv[i])
            return nacre_fail(err, NACRE_ERR_MEMORY, "tool");
    }
    tool->digest = command_digest(kind, argv);
    *ret_tool = nacre_tool_take(&tool);
    return NACRE_OK;
}

enum nacre_status nacre_tool_command(const char *const *argv,
                                     struct nacre_tool **ret_tool,
                                     struct nacre_error *err)
{
    const char *slash = argv[0] ? strrchr(argv[0], '/') : NULL;

    return command_of(NACRE_TOOL_COMMAND, slash ? slash + 1 : argv[0], argv, ret_tool,
                      err);
}

enum nacre_status nacre_tool_shell(const char *text, struct nacre_tool **ret_tool,
                                   struct nacre_error *err)
{
    const char *const argv[] = { "/bin/sh", "-c", text, NULL };

    return command_of(NACRE_TOOL_SHELL, "sh", argv, ret_tool, err);
}

void nacre_tool_free(struct nacre_tool *tool)
{
    if (!tool)
        return;
    for (size_t i = 0; tool->argv && tool->argv[i]; i++)
        free(tool->argv[i]);
    free(tool->argv);
    if (tool->bytes)
        (void)munmap((void *)tool->bytes, tool->count);
    nacre_fd_guard(&tool->bytes_fd);
    free(tool->path);
    free(tool->name);
    free(tool);
}
