#include "suite.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nacre/own.h"
#include "nacre/path.h"

void suite_read(const char *path, struct nacre_buf *buf)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct nacre_error err;

    if (fd < 0)
        fail_msg("cannot open %s", path);
    assert_int_equal(nacre_buf_read(buf, fd, &err), NACRE_OK);
    assert_int_equal(nacre_buf_add(buf, "", 0, &err), NACRE_OK);
}

void suite_read_beside(const char *path, const char *extension, struct nacre_buf *buf)
{
    char beside[NACRE_PATH_MAX];

    (void)snprintf(beside, sizeof(beside), "%.*s%s", (int)(strrchr(path, '.') - path),
                   path, extension);
    suite_read(beside, buf);
}

int suite_each(const char *directory, const char *extension,
               void (*each)(void *data, const char *path), void *data)
{
    struct dirent **entries = NULL;
    int count = scandir(directory, &entries, NULL, alphasort), cases = 0;

    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        const char *dot = strrchr(entries[i]->d_name, '.');
        char path[NACRE_PATH_MAX];

        (void)snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
        if (dot && strcmp(dot, extension) == 0) {
            each(data, path);
            cases++;
        }
        free(entries[i]);
    }
    free(entries);
    return cases;
}

void suite_expect(const char *path, const char *found)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf expected = NACRE_BUF((size_t)1 << 20);

    suite_read_beside(path, ".expect", &expected);
    if (strcmp(found, expected.bytes) != 0)
        fail_msg("%s\nexpected:\n%sfound:\n%s", path, expected.bytes, found);
}
