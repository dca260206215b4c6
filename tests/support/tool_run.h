#ifndef NACRE_TEST_TOOL_RUN_H
#define NACRE_TEST_TOOL_RUN_H

/*
 * A tool of guest-tools/ as the host runs it: in the sandbox, by the program, with its
 * arguments on stdin.  After <cmocka.h> and "scene.h"; NACRE_PROGRAM, NACRE_POLICIES_DIR
 * and NACRE_TOOLS_DIR (the build's) are definitions of the test's target.
 */

#include <jansson.h>
#include <string.h>
#include <sys/wait.h>

#include "nacre/buf.h"

/* Once for a test program: what the runs keep stays in the scene. */
static inline void tool_home(void)
{
    char home[128];

    assert_true(snprintf(home, sizeof(home), "%s-home", scene_top) < (int)sizeof(home));
    assert_true(mkdir(home, 0700) == 0 || errno == EEXIST);
    assert_int_equal(setenv("HOME", home, 1), 0);
    assert_int_equal(setenv("NACRE_POLICY_DIR", NACRE_POLICIES_DIR, 1), 0);
    (void)unsetenv("XDG_STATE_HOME");
    (void)unsetenv("XDG_CACHE_HOME");
    (void)unsetenv("XDG_CONFIG_HOME");
}

static inline void tool_home_remove(void)
{
    char command[160];

    (void)snprintf(command, sizeof(command), "rm -rf %s-home", scene_top);
    scene_shell(command);
}

static inline pid_t tool_start(const char *tool, const char *workspace, int in, int out)
{
    char module[512];
    pid_t pid;

    assert_true(snprintf(module, sizeof(module), "%s/%s/%s.wasm", NACRE_TOOLS_DIR, tool,
                         tool) < (int)sizeof(module));
    pid = fork();
    if (pid == 0) {
        if (dup2(in, 0) == 0 && dup2(out, 1) == 1)
            execl(NACRE_PROGRAM, "nacre", "run", "--policy", "workspace", "--workspace",
                  workspace, module, (char *)NULL);
        _exit(99);
    }
    assert_true(pid > 0);
    return pid;
}

/* Its answer, which the caller owns; fails the test if it is none. */
static inline json_t *tool_run(const char *tool, const char *workspace,
                               const char *arguments, size_t count)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf out = NACRE_BUF((size_t)32 << 20);
    NACRE_AUTO(nacre_fd_guard) int in = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    NACRE_AUTO(nacre_fd_guard) int answer = open(".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    struct nacre_error err;
    json_error_t fault;
    json_t *value;
    int status;
    pid_t pid;

    assert_true(in >= 0 && answer >= 0);
    assert_int_equal(write(in, arguments, count), count);
    assert_int_equal(lseek(in, 0, SEEK_SET), 0);
    pid = tool_start(tool, workspace, in, answer);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s: status %x", tool, (unsigned)status);
    assert_int_equal(lseek(answer, 0, SEEK_SET), 0);
    assert_int_equal(nacre_buf_read(&out, answer, &err), NACRE_OK);
    value = json_loadb(out.bytes ? out.bytes : "", out.size,
                       JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &fault);
    if (!value)
        fail_msg("%s: %s in %.200s", tool, fault.text, out.bytes ? out.bytes : "nothing");
    return value;
}

static inline const char *tool_text(const json_t *answer)
{
    const json_t *block = json_array_get(json_object_get(answer, "content"), 0);

    assert_string_equal(json_string_value(json_object_get(block, "type")), "text");
    return json_string_value(json_object_get(block, "text"));
}

/* The stable word for what went wrong, or NULL. */
static inline const char *tool_code(const json_t *answer)
{
    const json_t *structured = json_object_get(answer, "structuredContent");

    return json_string_value(json_object_get(structured, "code"));
}

static inline bool tool_failed(const json_t *answer)
{
    const json_t *flag = json_object_get(answer, "isError");

    assert_true(json_is_boolean(flag));
    return json_is_true(flag);
}

#endif
