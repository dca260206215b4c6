/*
 * race OP ...: a guest that hurries.
 *
 *   chase PATH TIMES TEXT     opens PATH so often and reads it: how often it could, how
 *                             often what it read held TEXT
 *   swap A B TIMES            exchanges two names
 *   take PATH TIMES           tries every way to move PATH or a directory above it
 *                             away, and to put another in its place
 *   last PATH TEXT LOG COUNT  so many processes read PATH until they are killed; LOG has
 *                             when (CLOCK_MONOTONIC, ns) each last found TEXT in it
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int chase(const char *path, unsigned long times, const char *text)
{
    unsigned long opened = 0, refused = 0, found = 0;
    char bytes[256];

    while (times-- > 0) {
        int fd = open(path, O_RDONLY | O_NONBLOCK);
        ssize_t got = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes) - 1);

        if (fd >= 0)
            (void)close(fd);
        if (got < 0) {
            refused++;
            continue;
        }
        opened++;
        bytes[got] = '\0';
        found += strstr(bytes, text) != NULL;
    }
    (void)printf("opened %lu refused %lu found %lu\n", opened, refused, found);
    return 0;
}

static int swap(const char *a, const char *b, unsigned long times)
{
    unsigned long done = 0, refused = 0;

    while (times-- > 0)
        if (renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE) == 0)
            done++;
        else
            refused++;
    if (done % 2)
        (void)renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
    (void)printf("swapped %lu refused %lu\n", done, refused);
    return 0;
}

/* One way after another on one name; how many were not refused. */
static unsigned long take_one(const char *path)
{
    unsigned long done = 0;

    done += rename(path, "away") == 0;
    done += renameat2(AT_FDCWD, path, AT_FDCWD, "other", RENAME_EXCHANGE) == 0;
    done += renameat2(AT_FDCWD, "other", AT_FDCWD, path, RENAME_EXCHANGE) == 0;
    done += link(path, "linked") == 0;
    done += linkat(AT_FDCWD, path, AT_FDCWD, "linked", AT_SYMLINK_FOLLOW) == 0;
    done += unlink(path) == 0;
    done += rmdir(path) == 0;
    done += rename("other", path) == 0;
    done += chmod(path, 0777) == 0;
    return done;
}

static int take(const char *path, unsigned long times)
{
    unsigned long done = 0;
    char above[4096];

    (void)mkdir("other", 0777);
    while (times-- > 0) {
        (void)snprintf(above, sizeof(above), "%s", path);
        done += take_one(above);
        for (char *slash; (slash = strrchr(above, '/')) != NULL;) {
            *slash = '\0';
            /* The mode of what lies above is the guest's own. */
            done += rename(above, "away") == 0;
            done += renameat2(AT_FDCWD, above, AT_FDCWD, "other", RENAME_EXCHANGE) == 0;
            done += rmdir(above) == 0;
        }
    }
    (void)printf("taken %lu\n", done);
    return 0;
}

_Noreturn static void last(const char *path, const char *text, const char *log,
                           unsigned count)
{
    int log_fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    char bytes[256];
    unsigned mine = 0;

    while (mine + 1 < count && fork() != 0)
        mine++;
    if (mine == 0)
        (void)!write(1, "up\n", 3);
    for (;;) {
        int fd = open(path, O_RDONLY | O_NONBLOCK);
        ssize_t got = fd < 0 ? -1 : read(fd, bytes, sizeof(bytes) - 1);

        if (fd >= 0)
            (void)close(fd);
        if (got < 0)
            continue;
        bytes[got] = '\0';
        if (strstr(bytes, text)) {
            struct timespec now;
            char line[32];

            (void)clock_gettime(CLOCK_MONOTONIC, &now);
            (void)snprintf(line, sizeof(line), "%020llu\n",
                           (unsigned long long)now.tv_sec * 1000000000 +
                               (unsigned long long)now.tv_nsec);
            (void)!pwrite(log_fd, line, 21, (off_t)mine * 21);
        }
    }
}

int main(int argc, char **argv)
{
    const char *op = argc > 3 ? argv[1] : "";

    if (strcmp(op, "chase") == 0 && argc > 4)
        return chase(argv[2], strtoul(argv[3], NULL, 10), argv[4]);
    if (strcmp(op, "last") == 0 && argc > 5)
        last(argv[2], argv[3], argv[4], (unsigned)strtoul(argv[5], NULL, 10));
    if (strcmp(op, "swap") == 0 && argc > 4)
        return swap(argv[2], argv[3], strtoul(argv[4], NULL, 10));
    if (strcmp(op, "take") == 0)
        return take(argv[2], strtoul(argv[3], NULL, 10));
    return 2;
}
