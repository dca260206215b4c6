/* A tool is read once: what was hashed is what runs, and what is no module is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/mman.h>

#include "fail_alloc.h"
#include "in_child.h"
#include "nacre/tool.h"
#include "scene.h"

static int start(void **state)
{
    return scene_clear(state) ||
           system("printf module >good.wasm && : >empty.wasm && mkdir dir.wasm && "
                  "mkfifo fifo.wasm && ln -s good.wasm link.wasm && ln -s loop loop && "
                  "ln -s nowhere dangling && truncate -s 268435457 sparse.wasm && "
                  "printf x >$(printf 'esc\\033[2J')");
}

static void what_cannot_be_a_tool_is_told(void **state)
{
    static const struct {
        const char *path;
        enum nacre_status status;
        const char *said;
    } bad[] = {
        { "missing.wasm", NACRE_ERR_NOT_FOUND, "missing.wasm: no such module" },
        { "", NACRE_ERR_NOT_FOUND, "no such module" },
        { "good.wasm/below", NACRE_ERR_NOT_FOUND, "no such module" },
        { "dangling", NACRE_ERR_NOT_FOUND, "no such module" },
        { "loop", NACRE_ERR_IO, "can't open it" },
        { "dir.wasm", NACRE_ERR_NOT_RUNNABLE, "it is a directory" },
        { "fifo.wasm", NACRE_ERR_NOT_RUNNABLE, "not a regular file" },
        { "/dev/null", NACRE_ERR_NOT_RUNNABLE, "not a regular file" },
        { "empty.wasm", NACRE_ERR_NOT_RUNNABLE, "it is empty" },
        { "sparse.wasm", NACRE_ERR_TOO_BIG, "larger than 256 MiB" },
        { "none\033[2J", NACRE_ERR_NOT_FOUND, "none\\x1b[2J: no such module" },
    };
    int fds = scene_fds();

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(bad); i++) {
        struct nacre_tool *tool = NULL;
        struct nacre_error err;

        assert_int_equal(nacre_tool_load(bad[i].path, &tool, &err), bad[i].status);
        assert_null(tool);
        if (!strstr(err.text, bad[i].said))
            fail_msg("%s: %s", bad[i].path, err.text);
        assert_int_equal(scene_fds(), fds);
    }
}

static int load_unreadable(void *data)
{
    struct nacre_tool *tool = NULL;
    struct nacre_error err;

    (void)data;
    if (geteuid() == 0)
        CHILD_CHECK(setresuid(65534, 65534, 65534) == 0);
    CHILD_CHECK(nacre_tool_load("shut.wasm", &tool, &err) == NACRE_ERR_IO && !tool);
    CHILD_CHECK(err.sys_errno == EACCES);
    return 0;
}

static void what_may_not_be_read_is_told(void **state)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    struct nacre_error err;

    (void)state;
    scene_file("shut.wasm", "module");
    assert_int_equal(chmod(".", 0755), 0);
    assert_int_equal(chmod("shut.wasm", 0), 0);
    assert_exited(in_child(load_unreadable, NULL), 0);
    assert_int_equal(chmod("shut.wasm", 0600), 0);
    assert_int_equal(nacre_tool_load("shut.wasm", &tool, &err), NACRE_OK);
}

/* X01: changed in place, cut short, replaced: what was loaded stays as it was. */
static void a_file_that_is_swapped_after_loading_changes_nothing(void **state)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    struct nacre_digest digest = nacre_hash("module", 6);
    struct nacre_error err;
    char bytes[16];

    (void)state;
    assert_int_equal(nacre_tool_load("link.wasm", &tool, &err), NACRE_OK);
    assert_string_equal(tool->name, "link.wasm");
    scene_file("good.wasm", "attack");
    assert_int_equal(truncate("good.wasm", 0), 0);
    assert_int_equal(rename("empty.wasm", "good.wasm"), 0);
    assert_int_equal(tool->count, 6);
    assert_memory_equal(tool->bytes, "module", 6);
    assert_int_equal(pread(tool->bytes_fd, bytes, sizeof(bytes), 0), 6);
    assert_memory_equal(bytes, "module", 6);
    assert_true(nacre_digest_equal(&tool->digest, &digest));
}

static void the_copy_cannot_be_changed_by_anyone(void **state)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    struct nacre_error err;
    char path[64];

    (void)state;
    assert_int_equal(nacre_tool_load("good.wasm", &tool, &err), NACRE_OK);
    assert_int_equal(pwrite(tool->bytes_fd, "x", 1, 0), -1);
    assert_int_equal(ftruncate(tool->bytes_fd, 0), -1);
    assert_int_equal(ftruncate(tool->bytes_fd, 100), -1);
    assert_ptr_equal(mmap(NULL, 6, PROT_READ | PROT_WRITE, MAP_SHARED, tool->bytes_fd, 0),
                     MAP_FAILED);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", tool->bytes_fd);
    assert_int_equal(truncate(path, 0), -1);
    assert_true(fcntl(tool->bytes_fd, F_GETFD) & FD_CLOEXEC);
    assert_memory_equal(tool->bytes, "module", 6);
}

static void loading_survives_every_allocation_failure(void **state)
{
    int fds = scene_fds();
    bool fired = true;

    (void)state;
    for (int n = 0; fired; n++) {
        struct nacre_tool *tool = NULL;
        struct nacre_error err;
        enum nacre_status status;

        assert_true(n < 20);
        fail_alloc_after(n);
        status = nacre_tool_load("good.wasm", &tool, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        nacre_tool_free(tool);
        assert_int_equal(scene_fds(), fds);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(what_cannot_be_a_tool_is_told, start),
        cmocka_unit_test_setup(what_may_not_be_read_is_told, start),
        cmocka_unit_test_setup(a_file_that_is_swapped_after_loading_changes_nothing,
                               start),
        cmocka_unit_test_setup(the_copy_cannot_be_changed_by_anyone, start),
        cmocka_unit_test_setup(loading_survives_every_allocation_failure, start),
    };

    return cmocka_run_group_tests_name("tool", tests, scene_enter, scene_leave);
}
