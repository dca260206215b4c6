/*
 * chase PATH TIMES: opens and reads FD 3:PATH again and again while someone swaps what
 * lies on the way.  Tells what it met; 1 if it ever read anything that says CANARY.
 * chase swap PATH A B TIMES is that someone: PATH is A, then B, in turn.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "raw.h"

static int chase(const char *path, unsigned long times)
{
    unsigned long opened = 0, refused = 0;
    char text[64];
    struct raw_iovec iov = { AT(text), sizeof text - 1 };

    for (unsigned long i = 0; i < times; i++) {
        uint32_t fd, count = 0;

        if (raw_open(3, path, (uint32_t)strlen(path), FOLLOW, 0, RIGHT_READ, &fd) != 0) {
            refused++;
            continue;
        }
        opened++;
        (void)!raw_fd_read(fd, AT(&iov), 1, AT(&count));
        (void)!raw_fd_close(fd);
        text[count] = '\0';
        if (strstr(text, "CANARY")) {
            printf("ESCAPED at %lu: %s\n", i, text);
            return 1;
        }
    }
    printf("opened %lu refused %lu\n", opened, refused);
    return 0;
}

static void move(const char *from, const char *to)
{
    (void)!raw_path_rename(3, AT(from), (uint32_t)strlen(from), 3, AT(to),
                           (uint32_t)strlen(to));
}

static int swap(char **names, unsigned long times)
{
    for (unsigned long i = 0; i < times; i++) {
        const char *now = names[1 + i % 2];

        move(now, names[0]);
        move(names[0], now);
    }
    printf("swapped %lu\n", times);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "swap") == 0)
        return swap(argv + 2, strtoul(argv[5], NULL, 10));
    return argc == 3 ? chase(argv[1], strtoul(argv[2], NULL, 10)) : 2;
}
