/* A case's workspace: made before, looked at afterwards.  The tool that ran in it may
 * have left anything, links among it: none is followed. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "case.h"
#include "nacre/base64.h"
#include "nacre/path.h"
#include "nacre/text.h"

#define FILE_BYTES_MAX ((size_t)8 << 20)

static enum nacre_status fail_node(const struct tool_case *tool_case,
                                   const struct nacre_node *node, const char *what,
                                   struct nacre_error *err)
{
    return nacre_fail_at(err, NACRE_ERR_PARSE, tool_case->file, node->place.line,
                         node->place.column, "%s", what);
}

enum nacre_status case_bytes(const struct tool_case *tool_case,
                             const struct nacre_node *node, struct nacre_buf *ret_bytes,
                             struct nacre_error *err)
{
    const struct nacre_node *coded;
    NACRE_AUTO(nacre_heap_guard) char *bytes = NULL;
    size_t length, count = 0;

    if (node->kind == NACRE_NODE_TEXT)
        return nacre_buf_add(ret_bytes, node->text, strlen(node->text), err);
    coded = node->kind == NACRE_NODE_MAPPING ? nacre_node_find(node, "base64") : NULL;
    if (!coded || coded->kind != NACRE_NODE_TEXT)
        return fail_node(tool_case, node,
                         "expected a text, {base64: ...}, {link: ...} or "
                         "{directory: true}", err);
    length = strlen(coded->text);
    bytes = malloc(length + 1);
    if (!bytes)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a case's file");
    if (!nacre_base64_read(NACRE_BASE64_PLAIN, coded->text, length, bytes, length,
                           &count))
        return fail_node(tool_case, coded, "this is not base64", err);
    return nacre_buf_add(ret_bytes, bytes, count, err);
}

static const struct nacre_node *form_of(const struct nacre_node *node, const char *form)
{
    return node->kind == NACRE_NODE_MAPPING ? nacre_node_find(node, form) : NULL;
}

/* A key is a path below the workspace and nothing else; what a link leads to, a text. */
static enum nacre_status check_path(const struct tool_case *tool_case,
                                    const struct nacre_node *node,
                                    char ret_path[NACRE_PATH_MAX],
                                    struct nacre_error *err)
{
    const struct nacre_node *link = form_of(node, "link");

    if (link && link->kind != NACRE_NODE_TEXT)
        return fail_node(tool_case, link, "expected what the link leads to, a text", err);
    if (node->key[0] != '/' &&
        nacre_path_normalise(node->key, ret_path, NACRE_PATH_MAX) &&
        strcmp(ret_path, ".") != 0)
        return NACRE_OK;
    return nacre_fail_at(err, NACRE_ERR_PARSE, tool_case->file, node->key_place.line,
                         node->key_place.column,
                         "a file of a case is named by a path below the workspace");
}

int case_parent(int dir_fd, char *path, bool make, const char **ret_name)
{
    NACRE_AUTO(nacre_fd_guard)
    int fd = openat(dir_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    char *part = path, *slash;

    while (fd >= 0 && (slash = strchr(part, '/'))) {
        int next;

        *slash = '\0';
        if (make && mkdirat(fd, part, 0755) != 0 && errno != EEXIST)
            return -1;
        next = openat(fd, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0)
            return -1;
        (void)close(fd);
        fd = next;
        part = slash + 1;
    }
    *ret_name = part;
    return nacre_fd_take(&fd);
}

static enum nacre_status make_file(const struct tool_case *tool_case,
                                   const struct nacre_node *node, int dir_fd,
                                   const char *name, struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(FILE_BYTES_MAX);
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    const struct nacre_node *link = form_of(node, "link");
    enum nacre_status status;

    if (link && symlinkat(link->text, dir_fd, name) == 0)
        return NACRE_OK;
    if (link || (form_of(node, "directory") && mkdirat(dir_fd, name, 0755) != 0 &&
                 errno != EEXIST))
        return nacre_fail(err, NACRE_ERR_IO, "making %.200s for a case", name);
    if (form_of(node, "directory"))
        return NACRE_OK;
    status = case_bytes(tool_case, node, &bytes, err);
    if (status != NACRE_OK)
        return status;
    fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0 || (bytes.size > 0 &&
                   write(fd, bytes.bytes, bytes.size) != (ssize_t)bytes.size))
        return nacre_fail(err, NACRE_ERR_IO, "making %.200s for a case", name);
    return NACRE_OK;
}

enum nacre_status case_make_files(const struct tool_case *tool_case, int dir_fd,
                                  struct nacre_error *err)
{
    const struct nacre_node *node = tool_case->files ? tool_case->files->first : NULL;

    for (; node; node = node->next) {
        NACRE_AUTO(nacre_fd_guard) int parent = -1;
        char path[NACRE_PATH_MAX];
        const char *name = NULL;
        enum nacre_status status = check_path(tool_case, node, path, err);

        if (status != NACRE_OK)
            return status;
        parent = case_parent(dir_fd, path, true, &name);
        if (parent < 0)
            return nacre_fail(err, NACRE_ERR_IO, "making the directories of a case");
        status = make_file(tool_case, node, parent, name, err);
        if (status != NACRE_OK)
            return status;
    }
    return NACRE_OK;
}

/* ---- afterwards ---- */

static enum nacre_status compare_file(const struct tool_case *tool_case,
                                      const struct nacre_node *expected,
                                      const char *key, int dir_fd, const char *name,
                                      struct nacre_buf *out, struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf wanted = NACRE_BUF(FILE_BYTES_MAX);
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf found = NACRE_BUF(FILE_BYTES_MAX);
    NACRE_AUTO(nacre_fd_guard)
    int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    char shown[512];
    enum nacre_status status = case_bytes(tool_case, expected, &wanted, err);

    if (status == NACRE_OK && fd < 0)
        return nacre_buf_addf(out, err, "%s: %s\n", key, strerror(errno));
    if (status == NACRE_OK)
        status = nacre_buf_read(&found, fd, err);
    if (status != NACRE_OK || (found.size == wanted.size &&
                               (found.size == 0 ||
                                memcmp(found.bytes, wanted.bytes, found.size) == 0)))
        return status;
    return nacre_buf_addf(out, err, "%s holds: %s\n", key,
                          nacre_text_show(shown, sizeof(shown),
                                          found.bytes ? found.bytes : "", found.size));
}

static enum nacre_status compare_link(const char *target, const char *key, int dir_fd,
                                      const char *name, struct nacre_buf *out,
                                      struct nacre_error *err)
{
    char found[PATH_MAX];
    ssize_t count = readlinkat(dir_fd, name, found, sizeof(found));

    if (count >= 0 && strlen(target) == (size_t)count &&
        memcmp(found, target, (size_t)count) == 0)
        return NACRE_OK;
    return nacre_buf_addf(out, err, "%s is not the link to %s any more\n", key, target);
}

static enum nacre_status compare(const struct tool_case *tool_case,
                                 const struct nacre_node *expected, const char *key,
                                 int dir_fd, const char *name, struct nacre_buf *out,
                                 struct nacre_error *err)
{
    struct stat info = { 0 };
    bool there = dir_fd >= 0 && fstatat(dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0;

    if (expected->kind == NACRE_NODE_NULL)
        return there ? nacre_buf_addf(out, err, "%s is there\n", key) : NACRE_OK;
    if (!there)
        return nacre_buf_addf(out, err, "%s is not there\n", key);
    if (form_of(expected, "link"))
        return compare_link(form_of(expected, "link")->text, key, dir_fd, name, out, err);
    if (form_of(expected, "directory"))
        return S_ISDIR(info.st_mode)
                   ? NACRE_OK
                   : nacre_buf_addf(out, err, "%s is no directory\n", key);
    return compare_file(tool_case, expected, key, dir_fd, name, out, err);
}

/* Is what `node` names as `expected` says? */
static enum nacre_status compare_node(const struct tool_case *tool_case,
                                      const struct nacre_node *node,
                                      const struct nacre_node *expected, int dir_fd,
                                      struct nacre_buf *out, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int parent = -1;
    char path[NACRE_PATH_MAX];
    const char *name = "";
    enum nacre_status status = check_path(tool_case, node, path, err);

    if (status != NACRE_OK)
        return status;
    parent = case_parent(dir_fd, path, false, &name);
    return compare(tool_case, expected, node->key, parent, name, out, err);
}

/* ---- what nobody named ---- */

/* Does a key of `mapping` name `path`, or something below it? */
static bool is_named(const struct nacre_node *mapping, const char *path)
{
    const struct nacre_node *node = mapping ? mapping->first : NULL;
    size_t length = strlen(path);
    char known[NACRE_PATH_MAX];

    for (; node; node = node->next)
        if (nacre_path_normalise(node->key, known, sizeof(known)) &&
            strncmp(known, path, length) == 0 &&
            (known[length] == '\0' || known[length] == '/'))
            return true;
    return false;
}

/* The paths below `dir_fd` that no key of `known` (NULL at its end) names.  What is below
 * one of them is not looked at, so that keys bound the depth.  False: no memory. */
static bool find_others(const struct nacre_node *const *known, int dir_fd,
                        const char *below, json_t *paths)
{
    int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    char path[NACRE_PATH_MAX];
    struct dirent *entry;
    bool whole = true;

    if (!dir && fd >= 0)
        (void)close(fd);
    while (dir && whole && json_array_size(paths) < CASE_CHANGES_MAX &&
           (entry = readdir(dir))) {
        NACRE_AUTO(nacre_fd_guard) int inner = -1;
        bool named = false;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            snprintf(path, sizeof(path), "%s%s%s", below, below[0] ? "/" : "",
                     entry->d_name) >= (int)sizeof(path))
            continue;
        for (size_t i = 0; known[i] && !named; i++)
            named = is_named(known[i], path);
        if (!named) {
            whole = json_array_append_new(
                        paths, json_stringn_nocheck(path, strlen(path))) == 0;
            continue;
        }
        inner = openat(dirfd(dir), entry->d_name,
                       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        whole = inner < 0 || find_others(known, inner, path, paths);
    }
    if (dir)
        (void)closedir(dir);
    return whole;
}

json_t *case_changes(const struct tool_case *tool_case, int dir_fd)
{
    const struct nacre_node *const known[] = { tool_case->files, NULL };
    const struct nacre_node *node = tool_case->files ? tool_case->files->first : NULL;
    json_t *paths = json_array();
    bool whole = paths && find_others(known, dir_fd, "", paths);

    for (; node && whole; node = node->next) {
        NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF(FILE_BYTES_MAX);
        struct nacre_error err;

        if (compare_node(tool_case, node, node, dir_fd, &text, &err) != NACRE_OK ||
            text.size > 0)
            whole = json_array_append_new(paths, json_string_nocheck(node->key)) == 0;
    }
    if (whole)
        return paths;
    json_decref(paths);
    return NULL;
}

static enum nacre_status judge_others(const struct tool_case *tool_case, int dir_fd,
                                      struct nacre_buf *out, struct nacre_error *err)
{
    const struct nacre_node *const known[] = {
        tool_case->files ? tool_case->files : tool_case->after,
        tool_case->files ? tool_case->after : NULL, NULL
    };
    json_t *paths = json_array();
    char shown[NACRE_SHOWN];
    enum nacre_status status = NACRE_OK;

    if (!paths || !find_others(known, dir_fd, "", paths))
        status = nacre_fail(err, NACRE_ERR_MEMORY, "what a case left behind");
    for (size_t i = 0; i < json_array_size(paths) && status == NACRE_OK; i++)
        status = nacre_buf_addf(
            out, err, "%s is there, and neither files nor after names it\n",
            nacre_text_shown(shown, json_string_value(json_array_get(paths, i))));
    json_decref(paths);
    return status;
}

enum nacre_status case_judge_files(const struct tool_case *tool_case, int dir_fd,
                                   struct nacre_buf *ret_text, struct nacre_error *err)
{
    const struct nacre_node *files = tool_case->files, *after = tool_case->after;
    enum nacre_status status = NACRE_OK;

    for (const struct nacre_node *node = after ? after->first : NULL;
         node && status == NACRE_OK; node = node->next) {
        const struct nacre_node *expected = node;

        if (form_of(node, "same"))
            expected = files ? nacre_node_find(files, node->key) : NULL;
        if (!expected)
            return fail_node(tool_case, node, "this was not there before", err);
        status = compare_node(tool_case, node, expected, dir_fd, ret_text, err);
    }
    for (const struct nacre_node *node = files ? files->first : NULL;
         node && status == NACRE_OK; node = node->next)
        if (!after || !nacre_node_find(after, node->key))
            status = compare_node(tool_case, node, node, dir_fd, ret_text, err);
    return status == NACRE_OK ? judge_others(tool_case, dir_fd, ret_text, err) : status;
}
