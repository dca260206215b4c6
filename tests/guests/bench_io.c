/*
 * bench_io DIRECTORY BATCHES: reads, writes and opens a file in DIRECTORY and prints what
 * one of each took by its own clock.  Also compiled for the host, as the native side.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BLOCK_MAX 65536
#define BATCH 32
#define BATCHES_MAX 1024

static char block[BLOCK_MAX];

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static _Noreturn void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* By batches, and their median in the end: the machine may do other things meanwhile. */
static int64_t batch_ns[BATCHES_MAX];

static int by_size(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;

    return (*a > *b) - (*a < *b);
}

static void print_median(const char *metric, int batches)
{
    qsort(batch_ns, (size_t)batches, sizeof batch_ns[0], by_size);
    printf("%s\t%lld\n", metric, (long long)(batch_ns[batches / 2] / BATCH));
}

/* A batch covers at most the whole file; going back to its start is not counted. */
static int64_t move_blocks(int fd, size_t bytes, int is_write)
{
    int64_t start;

    if (lseek(fd, 0, SEEK_SET) != 0)
        fail("lseek");
    start = now_ns();
    for (int i = 0; i < BATCH; i++) {
        ssize_t done = is_write ? write(fd, block, bytes) : read(fd, block, bytes);

        if (done != (ssize_t)bytes)
            fail(is_write ? "write" : "read");
    }
    return now_ns() - start;
}

static void measure_blocks(const char *metric, int fd, size_t bytes, int is_write,
                           int batches)
{
    for (int i = 0; i < batches; i++)
        batch_ns[i] = move_blocks(fd, bytes, is_write);
    print_median(metric, batches);
}

static void measure_open(const char *path, int batches)
{
    for (int i = 0; i < batches; i++) {
        int64_t start = now_ns();

        for (int j = 0; j < BATCH; j++) {
            int fd = open(path, O_RDONLY);

            if (fd < 0 || close(fd) != 0)
                fail(path);
        }
        batch_ns[i] = now_ns() - start;
    }
    print_median("open_close_ns", batches);
}

int main(int argc, char **argv)
{
    char path[1024];
    int batches = argc == 3 ? atoi(argv[2]) : 0;
    int fd;

    if (batches < 1 || batches > BATCHES_MAX) {
        fprintf(stderr, "bench_io: expected DIRECTORY BATCHES, 1 to %d\n", BATCHES_MAX);
        return 2;
    }
    snprintf(path, sizeof path, "%s/bench_io.data", argv[1]);
    fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (fd < 0)
        fail(path);
    /* Once over the whole file first, so that no measured write has to make it longer. */
    move_blocks(fd, BLOCK_MAX, 1);
    measure_blocks("read_4k_ns", fd, 4096, 0, batches);
    measure_blocks("read_64k_ns", fd, 65536, 0, batches);
    measure_blocks("write_4k_ns", fd, 4096, 1, batches);
    measure_blocks("write_64k_ns", fd, 65536, 1, batches);
    if (close(fd) != 0)
        fail(path);
    measure_open(path, batches);
    if (unlink(path) != 0)
        fail(path);
    return 0;
}
