/*
 * bench_io DIRECTORY COUNT: reads, writes and opens files in DIRECTORY and prints what one
 * of each took by its own clock.  Also compiled for the host, as the native side.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define FILE_BYTES (4 << 20)
#define BLOCK_MAX 65536

static char block[BLOCK_MAX];

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* One pass over the file in blocks; going back to its start is not counted. */
static int64_t pass_ns(int fd, size_t bytes, int is_write, int blocks)
{
    int64_t start;

    if (lseek(fd, 0, SEEK_SET) != 0)
        fail("lseek");
    start = now_ns();
    for (int i = 0; i < blocks; i++) {
        ssize_t done = is_write ? write(fd, block, bytes) : read(fd, block, bytes);

        if (done != (ssize_t)bytes)
            fail(is_write ? "write" : "read");
    }
    return now_ns() - start;
}

static void measure_blocks(const char *metric, int fd, size_t bytes, int is_write, int count)
{
    int64_t sum_ns = 0;

    for (int left = count; left > 0;) {
        int blocks = FILE_BYTES / (int)bytes < left ? FILE_BYTES / (int)bytes : left;

        sum_ns += pass_ns(fd, bytes, is_write, blocks);
        left -= blocks;
    }
    printf("%s\t%lld\n", metric, (long long)(sum_ns / count));
}

static void measure_open(const char *path, int count)
{
    int64_t start = now_ns();

    for (int i = 0; i < count; i++) {
        int fd = open(path, O_RDONLY);

        if (fd < 0 || close(fd) != 0)
            fail(path);
    }
    printf("open_close_ns\t%lld\n", (long long)((now_ns() - start) / count));
}

int main(int argc, char **argv)
{
    char path[1024];
    int count = argc == 3 ? atoi(argv[2]) : 0;
    int fd;

    if (count < 1) {
        fprintf(stderr, "bench_io: expected DIRECTORY COUNT\n");
        return 2;
    }
    snprintf(path, sizeof path, "%s/bench_io.data", argv[1]);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0)
        fail(path);
    /* Once over the whole file first, so that no measured write has to make it longer. */
    pass_ns(fd, BLOCK_MAX, 1, FILE_BYTES / BLOCK_MAX);
    measure_blocks("read_4k_ns", fd, 4096, 0, count);
    measure_blocks("read_64k_ns", fd, 65536, 0, count);
    measure_blocks("write_4k_ns", fd, 4096, 1, count);
    measure_blocks("write_64k_ns", fd, 65536, 1, count);
    if (close(fd) != 0)
        fail(path);
    measure_open(path, count);
    if (unlink(path) != 0)
        fail(path);
    return 0;
}
