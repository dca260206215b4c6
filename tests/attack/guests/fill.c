/*
 * fill HOW FD: takes all that it can get in the directory FD and says how much that was
 * and which error ended it.  HOW: bytes, files, deep (directories in one another), fds
 * (the file "file" opened again and again), links (hard links to "file").
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "raw.h"

#define MOST 200000

static uint32_t fill_bytes(uint32_t dir_fd, unsigned long *ret_count)
{
    static char chunk[1 << 20];
    struct raw_iovec iov = { AT(chunk), sizeof chunk };
    uint32_t fd, count;
    uint32_t error = raw_open(dir_fd, "bytes", 5, 0, CREAT, RIGHTS_ALL, &fd);

    memset(chunk, 'x', sizeof chunk);
    while (error == 0 && *ret_count < 4096) {
        error = raw_fd_write(fd, AT(&iov), 1, AT(&count));
        *ret_count += error == 0;
    }
    return error;
}

static uint32_t fill_files(uint32_t dir_fd, unsigned long *ret_count)
{
    char name[16];
    uint32_t fd, error = 0;

    while (error == 0 && *ret_count < MOST) {
        snprintf(name, sizeof name, "%lu", *ret_count);
        error = raw_open(dir_fd, name, (uint32_t)strlen(name), 0, CREAT | EXCL,
                         RIGHT_WRITE, &fd);
        if (error == 0)
            (void)!raw_fd_close(fd);
        *ret_count += error == 0;
    }
    return error;
}

static uint32_t fill_deep(uint32_t dir_fd, unsigned long *ret_count)
{
    uint32_t error = 0, next;

    while (error == 0 && *ret_count < MOST) {
        error = raw_path_create_directory(dir_fd, AT("d"), 1);
        if (error == 0)
            error = raw_open(dir_fd, "d", 1, 0, DIRECTORY, RIGHTS_OF_DIRECTORY, &next);
        if (error != 0)
            break;
        if (*ret_count > 0)
            (void)!raw_fd_close(dir_fd);
        dir_fd = next;
        ++*ret_count;
    }
    return error;
}

static uint32_t fill_fds(uint32_t dir_fd, unsigned long *ret_count)
{
    uint32_t fd;
    uint32_t error = raw_open(dir_fd, "file", 4, 0, CREAT, RIGHTS_ALL, &fd);

    while (error == 0 && *ret_count < MOST) {
        ++*ret_count;
        error = raw_open(dir_fd, "file", 4, 0, 0, RIGHT_READ, &fd);
    }
    return error;
}

static uint32_t fill_links(uint32_t dir_fd, unsigned long *ret_count)
{
    char name[16];
    uint32_t fd;
    uint32_t error = raw_open(dir_fd, "file", 4, 0, CREAT, RIGHTS_ALL, &fd);

    while (error == 0 && *ret_count < MOST) {
        snprintf(name, sizeof name, "l%lu", *ret_count);
        error = raw_path_link(dir_fd, 0, AT("file"), 4, dir_fd, AT(name),
                              (uint32_t)strlen(name));
        *ret_count += error == 0;
    }
    return error;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        uint32_t (*fill)(uint32_t dir_fd, unsigned long *ret_count);
    } ways[] = { { "bytes", fill_bytes }, { "files", fill_files }, { "deep", fill_deep },
                 { "fds", fill_fds }, { "links", fill_links } };

    for (size_t i = 0; argc == 3 && i < sizeof ways / sizeof *ways; i++) {
        unsigned long count = 0;
        uint32_t error;

        if (strcmp(ways[i].name, argv[1]) != 0)
            continue;
        error = ways[i].fill((uint32_t)atoi(argv[2]), &count);
        printf("%s %lu, then error %u\n", argv[1], count, error);
        return 0;
    }
    return 2;
}
