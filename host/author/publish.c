/* The folder that others install: the module, and a manifest that says its digest. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nacre/author.h"
#include "nacre/own.h"
#include "nacre/path.h"
#include "nacre/text.h"

#define MANIFEST_BYTES_MAX ((size_t)1 << 20)

/* Behind the line "annotations:" of the manifest's text, where a digest belongs. */
static const char *place_for_digest(const char *text, size_t *ret_indent)
{
    static const char key[] = "annotations:";

    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n"), indent = strspn(line, " ");

        if (strncmp(line + indent, key, strlen(key)) == 0 &&
            strspn(line + indent + strlen(key), " \r") ==
                length - indent - strlen(key) &&
            line[length] == '\n') {
            *ret_indent = indent + 2;
            return line + length + 1;
        }
        line += length + (line[length] == '\n');
    }
    return NULL;
}

static enum nacre_status stamp(const struct nacre_manifest *manifest,
                               const struct nacre_digest *digest, struct nacre_buf *out,
                               struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF(MANIFEST_BYTES_MAX);
    NACRE_AUTO(nacre_fd_guard) int fd = open(manifest->source, O_RDONLY | O_CLOEXEC);
    char hex[NACRE_HEX];
    const char *behind;
    size_t indent = 0;
    enum nacre_status status;

    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "reading %.300s", manifest->source);
    status = nacre_buf_read(&text, fd, err);
    if (status != NACRE_OK)
        return status;
    behind = place_for_digest(text.bytes, &indent);
    if (manifest->has_digest || !behind)
        return nacre_fail_at(err, NACRE_ERR_USAGE, manifest->source, 1, 1,
                             "%s", manifest->has_digest
                                       ? "nacre/digest is put in here: leave it out"
                                       : "metadata needs annotations: on a line of its "
                                         "own");
    status = nacre_buf_add(out, text.bytes, (size_t)(behind - text.bytes), err);
    if (status == NACRE_OK)
        status = nacre_buf_addf(out, err, "%*snacre/digest: \"%s\"\n", (int)indent, "",
                                nacre_digest_hex(digest, hex));
    if (status == NACRE_OK)
        status = nacre_buf_add(out, behind, strlen(behind), err);
    return status;
}

static enum nacre_status write_file(int dir_fd, const char *name, const void *bytes,
                                    size_t count, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard)
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                    0644);

    if (fd >= 0 && write(fd, bytes, count) == (ssize_t)count)
        return NACRE_OK;
    return nacre_fail(err, NACRE_ERR_IO, "writing %s", name);
}

/* `path` and what is missing above it; false with errno. */
static bool make_directories(const char *path)
{
    char part[NACRE_PATH_MAX];

    for (const char *at = path; *at; at++) {
        if (*at != '/' || at == path)
            continue;
        (void)snprintf(part, sizeof(part), "%.*s", (int)(at - path), path);
        if (mkdir(part, 0755) != 0 && errno != EEXIST)
            return false;
    }
    return mkdir(path, 0755) == 0 || errno == EEXIST;
}

enum nacre_status nacre_author_publish(const struct nacre_manifest *manifest,
                                       const char *directory, struct nacre_error *err)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF(MANIFEST_BYTES_MAX);
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    char path[NACRE_PATH_MAX], module[128];
    enum nacre_status status = nacre_tool_load(manifest->module, &tool, err);

    if (status == NACRE_ERR_NOT_FOUND)
        return nacre_fail_context(err, "build the tool first, with nacre build");
    if (status == NACRE_OK)
        status = stamp(manifest, &tool->digest, &text, err);
    if (status != NACRE_OK)
        return status;
    (void)snprintf(path, sizeof(path), "%s/%s", directory, manifest->name);
    (void)snprintf(module, sizeof(module), "%s.wasm", manifest->name);
    if (!make_directories(path))
        return nacre_fail(err, NACRE_ERR_IO, "making %.300s", path);
    dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir_fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "opening %.300s", path);
    status = write_file(dir_fd, module, tool->bytes, tool->count, err);
    if (status == NACRE_OK)
        status = write_file(dir_fd, "tool.yaml", text.bytes, text.size, err);
    return status;
}
