#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stddef.h>
#include <stdint.h>

/*
 * What the measuring programs share.  Each prints its findings to stdout, one in a
 * line, for report.c:
 *
 *     ROW <tab> METRIC <tab> VALUE
 *     ROW <tab> unavailable <tab> why, in words
 *
 * Nothing here returns an error: a program that can't measure says why and exits.
 */

__attribute__((noreturn, format(printf, 1, 2))) void measure_die(const char *format, ...);

uint64_t measure_now_ns(void);

/* A whole decimal number from 1 on, or the program ends. */
uint32_t measure_count(const char *text);

void measure_print(const char *row, const char *metric, uint64_t value);

/* One way of making the same call. */
struct measure_variant {
    const char *row;
    void (*call)(void *data);
    void (*enter)(void *data); /* before a block of calls and after it, or NULL */
    void (*leave)(void *data);
    void *data;
    uint32_t one_in; /* costly: one call where the others make so many; 0 is 1 */
    uint64_t *samples_ns; /* of the measuring itself */
};

/*
 * `count` calls of each variant after a warm-up, in blocks by turns (A B C A B C ...), so
 * that what else the machine does meets all of them.  Prints p50_ns and p99_ns.
 */
void measure_by_turns(struct measure_variant *variants, size_t variant_count,
                      uint32_t count);

/* A whole program, from its start to its end, as a call: `data` is its argv.  It reads
 * nothing, its output is dropped, and it has to succeed. */
void measure_program(void *data);

/*
 * One such variant for each ROW PROGRAM [ARGUMENT...] in `words`, up to a NULL and with
 * "+" between them; the words become the arguments.  Returns how many.
 */
size_t measure_programs(char **words, struct measure_variant *ret_variants, size_t max);

#define MEASURE_CLIENTS_MAX 64

/*
 * `clients` threads, each with its own call(data, client) in a loop, `count` times after
 * one call for warming up.  Prints calls per second of all of them as METRIC.
 */
void measure_clients(const char *row, const char *metric, uint32_t clients,
                     uint32_t count, void (*call)(void *data, uint32_t client),
                     void *data);

/*
 * The memory of this process and of all its descendants in bytes, what they share counted
 * once (PSS).  0 when the kernel lets us not see one of them.
 */
uint64_t measure_memory_bytes(void);

/*
 * Memory of a further live instance: start(data, n) brings number n to life and returns
 * when it lives.  The first ones are not counted: they pay for what all share.
 */
void measure_live(const char *row, void (*start)(void *data, uint32_t number),
                  void *data);

#endif
