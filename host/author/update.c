/*
 * A case's file with what it got instead of what it expected.  Only the sections that
 * change are written anew, as JSON, which is YAML; comments and order around them stay.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
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

#define FOUND_BYTES_MAX ((size_t)1 << 20)

/* ---- what came ---- */

static json_t *expect_of(const json_t *answer)
{
    const json_t *block = json_array_get(json_object_get(answer, "content"), 0);
    const json_t *structured = json_object_get(answer, "structuredContent");
    const json_t *code = json_object_get(structured, "code");
    bool failed = json_is_true(json_object_get(answer, "isError"));
    json_t *expect = json_object();
    int wrong = json_object_set_new(expect, "isError", json_boolean(failed));

    if (failed && json_is_string(code))
        wrong |= json_object_set(expect, "code", (json_t *)code);
    wrong |= json_object_set_new(
        expect, "text", json_deep_copy(json_object_get(block, "text")));
    if (wrong == 0)
        return expect;
    json_decref(expect);
    return NULL;
}

static json_t *bytes_json(const char *bytes, size_t count)
{
    NACRE_AUTO(nacre_heap_guard) char *text = NULL;

    if (nacre_text_is_utf8(bytes, count) && !memchr(bytes, '\0', count))
        return json_stringn(bytes, count);
    text = malloc(NACRE_BASE64_SIZE(count));
    if (!text)
        return NULL;
    (void)nacre_base64_write(NACRE_BASE64_PLAIN, bytes, count, text);
    return json_pack("{s:s}", "base64", text);
}

/* How it is now, as a case would spell it.  The tool may have put a link anywhere on the
 * way: what is behind one is not there. */
static json_t *file_json(int workspace_fd, const char *key)
{
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf found = NACRE_BUF(FOUND_BYTES_MAX);
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char target[PATH_MAX], whole[NACRE_PATH_MAX];
    const char *path = "";
    struct nacre_error err;
    struct stat info;
    ssize_t count;

    if (nacre_path_normalise(key, whole, sizeof(whole)))
        dir_fd = case_parent(workspace_fd, whole, false, &path);
    if (dir_fd < 0 || fstatat(dir_fd, path, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return json_null();
    if (S_ISDIR(info.st_mode))
        return json_pack("{s:b}", "directory", 1);
    if (S_ISLNK(info.st_mode)) {
        count = readlinkat(dir_fd, path, target, sizeof(target));
        return count < 0 ? NULL : json_pack("{s:s%}", "link", target, (size_t)count);
    }
    fd = openat(dir_fd, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || nacre_buf_read(&found, fd, &err) != NACRE_OK)
        return NULL;
    return bytes_json(found.bytes ? found.bytes : "", found.size);
}

/* What the case names, and whatever else is not as it was. */
static json_t *after_of(const struct tool_case *tool_case, int dir_fd)
{
    const struct nacre_node *node = tool_case->after ? tool_case->after->first : NULL;
    json_t *changes = case_changes(tool_case, dir_fd);
    json_t *after = json_object();
    int wrong = after && changes ? 0 : -1;

    for (; node && !wrong; node = node->next)
        wrong = json_object_set_new(
            after, node->key,
            node->kind == NACRE_NODE_MAPPING && nacre_node_find(node, "same")
                ? json_pack("{s:b}", "same", 1)
                : file_json(dir_fd, node->key));
    for (size_t i = 0; i < json_array_size(changes) && !wrong; i++) {
        const char *path = json_string_value(json_array_get(changes, i));

        wrong = json_object_set_new(after, path, file_json(dir_fd, path));
    }
    json_decref(changes);
    if (!wrong)
        return after;
    json_decref(after);
    return NULL;
}

/* ---- the file ---- */

struct section {
    const char *key;
    char *text; /* "key: JSON\n"; owned */
};

static enum nacre_status section_set(struct section *section, const char *key,
                                     json_t *value, struct nacre_error *err)
{
    char *text = value ? json_dumps(value, JSON_ENSURE_ASCII) : NULL;

    json_decref(value);
    section->key = key;
    if (!text || asprintf(&section->text, "%s: %s\n", key, text) < 0)
        section->text = NULL;
    free(text);
    return section->text ? NACRE_OK
                         : nacre_fail(err, NACRE_ERR_MEMORY, "a case can't be written");
}

static const char *line_at(const struct tool_case *tool_case, int line)
{
    const char *at = tool_case->bytes.bytes;

    for (int i = 1; i < line; i++) {
        const char *end = strchr(at, '\n');

        if (!end)
            return at + strlen(at);
        at = end + 1;
    }
    return at;
}

/* All lines but those of the sections that are written anew; these follow in order. */
static enum nacre_status write_text(const struct tool_case *tool_case,
                                    const struct section *sections, size_t count,
                                    struct nacre_buf *out, struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;
    const char *from = tool_case->bytes.bytes;

    for (const struct nacre_node *node = tool_case->root->first;
         node && status == NACRE_OK; node = node->next) {
        const char *start = line_at(tool_case, node->key_place.line), *end;
        size_t i = 0;

        if (node->key_place.column != 1)
            return nacre_fail_at(err, NACRE_ERR_USAGE, tool_case->file,
                                 node->key_place.line, node->key_place.column,
                                 "a case that is updated has a line of its own for each "
                                 "of its keys");
        while (i < count && strcmp(sections[i].key, node->key) != 0)
            i++;
        if (i == count)
            continue;
        end = node->next ? line_at(tool_case, node->next->key_place.line)
                         : from + strlen(from);
        status = nacre_buf_add(out, from, (size_t)(start - from), err);
        if (status == NACRE_OK)
            status = nacre_buf_add(out, sections[i].text, strlen(sections[i].text), err);
        from = end;
    }
    if (status == NACRE_OK)
        status = nacre_buf_add(out, from, strlen(from), err);
    return status;
}

static enum nacre_status add_missing(const struct tool_case *tool_case,
                                     const struct section *sections, size_t count,
                                     struct nacre_buf *out, struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    if (out->size > 0 && out->bytes[out->size - 1] != '\n')
        status = nacre_buf_add(out, "\n", 1, err);
    for (size_t i = 0; i < count && status == NACRE_OK; i++)
        if (!nacre_node_find(tool_case->root, sections[i].key))
            status = nacre_buf_add(out, sections[i].text, strlen(sections[i].text), err);
    return status;
}

static enum nacre_status replace(const char *file, const struct nacre_buf *text,
                                 struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *made = NULL;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;

    if (asprintf(&made, "%s.new", file) < 0) {
        made = NULL;
        return nacre_fail(err, NACRE_ERR_MEMORY, "a case can't be written");
    }
    fd = open(made, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd >= 0 && write(fd, text->bytes, text->size) == (ssize_t)text->size &&
        rename(made, file) == 0)
        return NACRE_OK;
    (void)nacre_fail(err, NACRE_ERR_IO, "writing %.300s", file);
    (void)unlink(made);
    return err->status;
}

enum nacre_status case_update(const struct tool_case *tool_case,
                              const struct case_stale *stale, const json_t *answer,
                              int dir_fd, uint64_t fuel, uint64_t tolerance_percent,
                              struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf out = NACRE_BUF(4 * CASE_BYTES_MAX);
    struct section sections[3] = { 0 };
    size_t count = 0;
    enum nacre_status status = NACRE_OK;

    if (stale->answer)
        status = section_set(&sections[count++], "expect", expect_of(answer), err);
    if (status == NACRE_OK && stale->files)
        status = section_set(&sections[count++], "after", after_of(tool_case, dir_fd),
                             err);
    if (status == NACRE_OK && stale->fuel)
        status = section_set(&sections[count++], "fuel",
                             json_pack("{s:I, s:I}", "golden", (json_int_t)fuel,
                                       "tolerance_percent",
                                       (json_int_t)tolerance_percent), err);
    if (status == NACRE_OK)
        status = write_text(tool_case, sections, count, &out, err);
    if (status == NACRE_OK)
        status = add_missing(tool_case, sections, count, &out, err);
    if (status == NACRE_OK)
        status = replace(tool_case->file, &out, err);
    for (size_t i = 0; i < NACRE_COUNT(sections); i++)
        free(sections[i].text);
    return status;
}
