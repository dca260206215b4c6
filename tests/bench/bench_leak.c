/*
 * bench_leak MIB ROW FILE... [+ ROW FILE...]...: how fast a clean text passes the leak
 * scan, as a run's output does: in pieces, and what is clean given out.  Of each text so
 * many MiB, with values alone (leak.values.ROW), with patterns alone
 * (leak.patterns.ROW) and with both (leak.both.ROW).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "measure.h"
#include "nacre/leak.h"
#include "nacre/own.h"

#define MIB ((size_t)1 << 20)
#define PIECE ((size_t)64 << 10)
#define VALUES 8

static const struct {
    const char *name;
    size_t values;
    uint32_t patterns;
} variants[] = {
    { "values", VALUES, 0 },
    { "patterns", 0, NACRE_LEAK_PATTERNS },
    { "both", VALUES, NACRE_LEAK_PATTERNS },
};

static struct nacre_leaks *make(size_t value_count, uint32_t pattern_count)
{
    char secrets[VALUES][48];
    struct nacre_leak_value values[VALUES];
    struct nacre_leaks *leaks = NULL;
    struct nacre_error err;

    for (size_t i = 0; i < value_count; i++) {
        (void)snprintf(secrets[i], sizeof(secrets[i]), "%zuZk%zu-q7HxWv2LmP9tRc4Ys8Nb1J",
                       i * 7919 % 10, i * 104729);
        values[i] = (struct nacre_leak_value){ .name = "SECRET",
                                               .bytes = (unsigned char *)secrets[i],
                                               .count = strlen(secrets[i]) };
    }
    if (nacre_leaks_new(values, value_count, pattern_count, &leaks, &err) != NACRE_OK)
        measure_die("%s", err.text);
    return leaks;
}

/* Of the processor, and not of the wall: nothing here waits, and whoever else uses the
 * machine is not measured. */
static uint64_t now_ns(void)
{
    struct timespec now;

    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0)
        measure_die("there is no clock");
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void count_out(void *data, const char *bytes, size_t count)
{
    (void)bytes;
    *(size_t *)data += count;
}

/* The whole of `text` again and again; ns for all of it. */
static uint64_t scan(const struct nacre_leaks *leaks, const struct nacre_buf *text,
                     size_t total)
{
    NACRE_AUTO(nacre_leak_stream_guard) struct nacre_leak_stream *stream = NULL;
    uint64_t start_ns = now_ns();
    size_t at = 0, came = 0;
    struct nacre_error err;

    if (nacre_leak_stream_new(leaks, &stream, &err) != NACRE_OK)
        measure_die("%s", err.text);
    for (size_t left = total; left > 0;) {
        size_t part = text->size - at < PIECE ? text->size - at : PIECE;

        part = part < left ? part : left;
        left -= part;
        if (nacre_leak_stream_add(stream, text->bytes + at, part, left == 0, count_out,
                                  &came, &err) != NACRE_OK)
            measure_die("%s", err.text);
        at = at + part == text->size ? 0 : at + part;
    }
    if (came != total)
        measure_die("the text is not clean: %s", nacre_leak_stream_counts(stream)->first);
    return now_ns() - start_ns;
}

static void measure(const char *row, const struct nacre_buf *text, size_t total)
{
    for (size_t i = 0; i < NACRE_COUNT(variants); i++) {
        NACRE_AUTO(nacre_leaks_guard) struct nacre_leaks *leaks =
            make(variants[i].values, variants[i].patterns);
        char name[64];

        (void)snprintf(name, sizeof(name), "leak.%s.%s", variants[i].name, row);
        (void)scan(leaks, text, total / 8); /* to warm up */
        measure_print(name, "bytes_per_s",
                      (uint64_t)((double)total * 1e9 / (double)scan(leaks, text, total)));
    }
}

static void load(const char *path, struct nacre_buf *text)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct nacre_error err;

    if (fd < 0 || nacre_buf_read(text, fd, &err) != NACRE_OK)
        measure_die("%s can't be read", path);
}

int main(int argc, char **argv)
{
    size_t total = argc > 1 ? measure_count(argv[1]) * MIB : 0;

    if (argc < 4)
        measure_die("usage: bench_leak MIB ROW FILE... [+ ROW FILE...]...");
    for (int i = 2; i < argc; i++) {
        NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF(256 * MIB);
        const char *row = argv[i];

        while (++i < argc && strcmp(argv[i], "+") != 0)
            load(argv[i], &text);
        if (text.size == 0)
            measure_die("%s: no text", row);
        measure(row, &text, total);
    }
    return 0;
}
