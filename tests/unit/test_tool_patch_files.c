/*
 * apply_patch writes all of it or nothing: every call that changes the tree fails once,
 * and the tree is as it was, down to the directories that were made and the files that
 * were written beside others.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "files.h"
#include "in_child.h"
#include "scene.h"

#define WROTE_ALL 42 /* and nothing failed */
#define SURVIVED 43

static int calls_left; /* until one fails; 0: none does */

static int fails(void)
{
    if (calls_left == 0 || --calls_left > 0)
        return 0;
    errno = EIO;
    return 1;
}

int __real_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to);
int __wrap_rename(const char *from, const char *to)
{
    return fails() ? -1 : __real_rename(from, to);
}

int __real_unlink(const char *path);
int __wrap_unlink(const char *path);
int __wrap_unlink(const char *path)
{
    return fails() ? -1 : __real_unlink(path);
}

int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode)
{
    return fails() ? -1 : __real_mkdir(path, mode);
}

ssize_t __real_write(int fd, const void *bytes, size_t count);
ssize_t __wrap_write(int fd, const void *bytes, size_t count);
ssize_t __wrap_write(int fd, const void *bytes, size_t count)
{
    return fd > 2 && fails() ? -1 : __real_write(fd, bytes, count);
}

static struct patch_entry *entry(struct patch_files *files, const char *name)
{
    char path[256];

    (void)snprintf(path, sizeof(path), "%s/%s", scene_top, name);
    return patch_files_get(files, path);
}

static void set(struct patch_entry *entry, const char *text)
{
    entry->exists = text != NULL;
    entry->after = text;
    entry->after_count = text ? strlen(text) : 0;
}

static int write_files(void *data)
{
    static struct patch_files files;
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (dup2(nothing, 1) != 1)
        return 1;
    set(entry(&files, "a"), "A\n");
    set(entry(&files, "new/deep/b"), "B\n");
    set(entry(&files, "c"), NULL);
    set(entry(&files, "d"), "D\n");
    set(entry(&files, "e"), NULL);
    set(entry(&files, "m"), NULL);
    set(entry(&files, "to/m"), "M\n");
    entry(&files, "to/m")->source = entry(&files, "m");
    calls_left = *(int *)data;
    patch_files_write(&files);
    return calls_left == 0 ? SURVIVED : WROTE_ALL;
}

static void make_tree(void)
{
    scene_shell("rm -rf * .nacre-* && printf a >a && printf c >c && printf d >d && "
                "printf e >e && printf m >m");
}

static void expect_new_tree(void)
{
    scene_shell("test \"$(find . -type f | sort | tr '\\n' ' ')\" = "
                "'./a ./d ./new/deep/b ./to/m ' && "
                "test \"$(cat a d new/deep/b to/m | tr '\\n' ' ')\" = 'A D B M '");
}

static void a_failure_anywhere_leaves_the_tree_as_it_was(void **state)
{
    struct stat info;
    int failures = 0, count = 0, code, status;

    (void)state;
    if (stat("/workspace", &info) == 0)
        skip(); /* then what is below /tmp is refused, as it should be */
    do {
        make_tree();
        count++;
        status = in_child(write_files, &count);
        assert_true(WIFEXITED(status) && count < 100);
        code = WEXITSTATUS(status);
        if (code == SURVIVED || code == WROTE_ALL) {
            expect_new_tree();
            continue;
        }
        failures++;
        scene_shell("test \"$(find . | sort | tr '\\n' ' ')\" = '. ./a ./c ./d ./e ./m ' "
                    "&& test \"$(cat a c d e m)\" = acdem");
    } while (code != WROTE_ALL);
    /* mkdir() thrice, write() four times, rename() seven times, unlink() four times. */
    assert_int_equal(failures, 18);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failure_anywhere_leaves_the_tree_as_it_was),
    };

    return cmocka_run_group_tests(tests, scene_enter, scene_leave);
}
