/*
 * The tools against their data: each guest-tools/NAME/tests/CASE.yaml says what lies in
 * the workspace, with which arguments the tool is run in the sandbox, what it must answer
 * and what the workspace must be like afterwards.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nacre/base64.h"
#include "node.h"
#include "scene.h"
#include "tool_run.h"

#define FILE_BYTES_MAX ((size_t)1 << 20)

static char the_case[1024]; /* for what is said when it fails */

/* ---- YAML as JSON ---- */

static json_t *json_of(const struct nacre_node *node)
{
    json_t *value;

    switch (node->kind) {
    case NACRE_NODE_NONE:
    case NACRE_NODE_NULL:
        return json_null();
    case NACRE_NODE_BOOLEAN:
        return json_boolean(strcmp(node->text, "true") == 0);
    case NACRE_NODE_NUMBER:
        return json_loads(node->text, JSON_DECODE_ANY, NULL);
    case NACRE_NODE_TEXT:
        return json_string(node->text);
    case NACRE_NODE_LIST:
        value = json_array();
        for (const struct nacre_node *at = node->first; at; at = at->next)
            assert_int_equal(json_array_append_new(value, json_of(at)), 0);
        return value;
    case NACRE_NODE_MAPPING:
        break;
    }
    value = json_object();
    for (const struct nacre_node *at = node->first; at; at = at->next)
        assert_int_equal(json_object_set_new(value, at->key, json_of(at)), 0);
    return value;
}

static bool is_subset(const json_t *part, const json_t *whole)
{
    const char *key;
    json_t *value;

    if (!json_is_object(part) || !json_is_object(whole))
        return json_equal(part, whole);
    json_object_foreach((json_t *)part, key, value)
        if (!is_subset(value, json_object_get(whole, key)))
            return false;
    return true;
}

/* ---- files ---- */

/* A file's bytes as a case spells them; `ret_bytes` has room for them. */
static size_t bytes_of(const struct nacre_node *node, char *ret_bytes)
{
    const struct nacre_node *coded;
    size_t count;

    if (node->kind != NACRE_NODE_MAPPING) {
        count = strlen(node->text);
        assert_true(count <= FILE_BYTES_MAX);
        memcpy(ret_bytes, node->text, count);
        return count;
    }
    coded = nacre_node_find(node, "base64");
    if (!coded || !nacre_base64_read(NACRE_BASE64_PLAIN, coded->text, strlen(coded->text),
                                     ret_bytes, FILE_BYTES_MAX, &count))
        fail_msg("%s: %s is no file", the_case, node->key);
    return count;
}

static void parents_make(const char *path)
{
    char parent[512];

    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        assert_true(snprintf(parent, sizeof(parent), "ws/%.*s", (int)(slash - path),
                             path) < (int)sizeof(parent));
        assert_true(mkdir(parent, 0755) == 0 || errno == EEXIST);
    }
}

static void file_make(const struct nacre_node *node, const char *path)
{
    static char bytes[FILE_BYTES_MAX];
    const struct nacre_node *link =
        node->kind == NACRE_NODE_MAPPING ? nacre_node_find(node, "link") : NULL;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    size_t count;

    if (link) {
        assert_int_equal(symlink(link->text, path), 0);
        return;
    }
    if (node->kind == NACRE_NODE_MAPPING && nacre_node_find(node, "directory")) {
        assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
        return;
    }
    count = bytes_of(node, bytes);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, count), count);
}

static void files_make(const struct nacre_node *files)
{
    char path[600];

    scene_shell("rm -rf ws && mkdir ws");
    for (const struct nacre_node *at = files ? files->first : NULL; at; at = at->next) {
        parents_make(at->key);
        assert_true(snprintf(path, sizeof(path), "ws/%s", at->key) < (int)sizeof(path));
        file_make(at, path);
    }
}

/* ---- afterwards ---- */

static void expect_file(const struct nacre_node *expected, const char *name)
{
    static char bytes[FILE_BYTES_MAX], found[FILE_BYTES_MAX + 1];
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    const struct nacre_node *link = NULL;
    char path[600], target[512];
    struct stat info;
    ssize_t count;
    size_t wanted;

    assert_true(snprintf(path, sizeof(path), "ws/%s", name) < (int)sizeof(path));
    if (expected->kind == NACRE_NODE_NULL) {
        if (lstat(path, &info) == 0)
            fail_msg("%s: %s must not be there", the_case, name);
        return;
    }
    if (expected->kind == NACRE_NODE_MAPPING)
        link = nacre_node_find(expected, "link");
    if (link) {
        count = readlink(path, target, sizeof(target) - 1);
        if (count < 0 || strlen(link->text) != (size_t)count ||
            memcmp(target, link->text, (size_t)count) != 0)
            fail_msg("%s: %s is not that link any more", the_case, name);
        return;
    }
    if (expected->kind == NACRE_NODE_MAPPING && nacre_node_find(expected, "directory")) {
        if (lstat(path, &info) != 0 || !S_ISDIR(info.st_mode))
            fail_msg("%s: %s is no directory", the_case, name);
        return;
    }
    wanted = bytes_of(expected, bytes);
    fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        fail_msg("%s: %s: %s", the_case, name, strerror(errno));
    count = read(fd, found, sizeof(found));
    if (count != (ssize_t)wanted || memcmp(bytes, found, wanted) != 0)
        fail_msg("%s: %s holds\n%.*s", the_case, name, (int)count, found);
}

static void expect_after(const struct nacre_node *after, const struct nacre_node *files)
{
    for (const struct nacre_node *at = after ? after->first : NULL; at; at = at->next) {
        const struct nacre_node *expected = at;

        if (at->kind == NACRE_NODE_MAPPING && nacre_node_find(at, "same"))
            expected = nacre_node_find(files, at->key);
        if (!expected)
            fail_msg("%s: %s was not there before", the_case, at->key);
        expect_file(expected, at->key);
    }
}

/* A write that goes by another name leaves none of those names behind. */
static void expect_nothing_beside(void)
{
    scene_shell("test -z \"$(find ws -name '.nacre-*')\"");
}

static void expect_answer(const struct nacre_node *expect, const json_t *answer)
{
    const struct nacre_node *failed = nacre_node_find(expect, "isError");
    const struct nacre_node *code = nacre_node_find(expect, "code");
    const struct nacre_node *text = nacre_node_find(expect, "text");
    const struct nacre_node *parts = nacre_node_find(expect, "text_contains");
    const struct nacre_node *structured = nacre_node_find(expect, "structured");
    const char *said = tool_text(answer);
    json_t *part;

    if (!said)
        fail_msg("%s: no text", the_case);
    if (!failed || tool_failed(answer) != (strcmp(failed->text, "true") == 0))
        fail_msg("%s: isError is otherwise: %s", the_case, said);
    if (code && (!tool_code(answer) || strcmp(tool_code(answer), code->text) != 0))
        fail_msg("%s: code %s: %s", the_case, tool_code(answer), said);
    if (text && strcmp(text->text, said) != 0)
        fail_msg("%s: said\n%s", the_case, said);
    for (const struct nacre_node *at = parts ? parts->first : NULL; at; at = at->next)
        if (!strstr(said, at->text))
            fail_msg("%s: \"%s\" is not in\n%s", the_case, at->text, said);
    part = structured ? json_of(structured) : NULL;
    if (part && !is_subset(part, json_object_get(answer, "structuredContent")))
        fail_msg("%s: structured content is %s", the_case,
                 json_dumps(json_object_get(answer, "structuredContent"), 0));
    json_decref(part);
}

static void expect_known_keys(const struct nacre_node *mapping, const char *known)
{
    for (const struct nacre_node *at = mapping ? mapping->first : NULL; at; at = at->next) {
        char word[64];

        (void)snprintf(word, sizeof(word), " %s ", at->key);
        if (!strstr(known, word))
            fail_msg("%s: unknown key %s", the_case, at->key);
    }
}

static void run_case(const char *tool, const char *path)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(NACRE_DOCUMENT_BYTES_MAX);
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_RDONLY | O_CLOEXEC);
    NACRE_AUTO(nacre_node_guard) struct nacre_node *root = NULL;
    const struct nacre_node *files, *expect;
    struct nacre_error err;
    json_t *arguments, *answer;
    char *text;

    (void)snprintf(the_case, sizeof(the_case), "%s", path);
    assert_true(fd >= 0);
    assert_int_equal(nacre_buf_read(&bytes, fd, &err), NACRE_OK);
    if (nacre_yaml_read(path, bytes.bytes, bytes.size, &root, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    expect_known_keys(root, " name arguments files expect after fuel ");
    files = nacre_node_find(root, "files");
    expect = nacre_node_find(root, "expect");
    if (!nacre_node_find(root, "name") || !nacre_node_find(root, "arguments") || !expect)
        fail_msg("%s: needs name, arguments and expect", path);
    expect_known_keys(expect, " isError code text text_contains structured ");
    files_make(files);
    arguments = json_of(nacre_node_find(root, "arguments"));
    text = json_dumps(arguments, 0);
    answer = tool_run(tool, "ws", text, strlen(text));
    expect_answer(expect, answer);
    expect_after(nacre_node_find(root, "after"), files);
    expect_nothing_beside();
    json_decref(answer);
    json_decref(arguments);
    free(text);
}

static int by_name(const struct dirent **left, const struct dirent **right)
{
    return strcmp((*left)->d_name, (*right)->d_name);
}

static void every_case_of_the_tool_holds(void **state)
{
    const char *tool = *state;
    struct dirent **entries;
    char directory[400], path[700];
    int count, cases = 0;

    tool_home();
    assert_true(snprintf(directory, sizeof(directory), "%s/%s/tests", NACRE_SOURCES_DIR,
                         tool) < (int)sizeof(directory));
    count = scandir(directory, &entries, NULL, by_name);
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        size_t length = strlen(entries[i]->d_name);

        if (length > 5 && strcmp(entries[i]->d_name + length - 5, ".yaml") == 0) {
            (void)snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
            run_case(tool, path);
            cases++;
        }
        free(entries[i]);
    }
    free(entries);
    print_message("%s: %d cases\n", tool, cases);
    assert_true(cases > 0);
    tool_home_remove();
}

int main(void)
{
#define X(name) cmocka_unit_test_prestate(every_case_of_the_tool_holds, (void *)#name),
    const struct CMUnitTest tests[] = { NACRE_TOOL_ROWS };
#undef X

    return cmocka_run_group_tests(tests, scene_enter, scene_leave);
}
