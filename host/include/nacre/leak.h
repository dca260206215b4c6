#ifndef NACRE_LEAK_H
#define NACRE_LEAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/buf.h"
#include "nacre/error.h"
#include "nacre/own.h"

/*
 * Leak detection: two scanners over bytes that leave a sandbox.  (1) values: every secret
 * that the run could touch, raw and in the forms that leak_values.h lists, wherever a
 * write is split; (2) patterns: one table, the first N of it.
 *
 * A scanner is immutable and may be shared; a stream belongs to one run's one lane.  In a
 * forked child one with values is of no use, and says so: all is a finding, and streams
 * fail.
 */
#define NACRE_LEAK_PATTERNS 22

/* What is found decides what happens; see the table in the README. */
enum nacre_leak_class {
    NACRE_LEAK_NONE,
    NACRE_LEAK_WARN,   /* kept and counted */
    NACRE_LEAK_REDACT, /* replaced by [redacted:NAME]; an outbound request is denied */
    NACRE_LEAK_BLOCK,  /* the same, and the outcome is flagged */
    NACRE_LEAK_VALUE,  /* a secret's own value: as BLOCK */
};

struct nacre_leak_value {
    const char *name;
    const unsigned char *bytes;
    size_t count; /* values under 6 bytes are not looked for: told by _new()'s caller */
};
#define NACRE_LEAK_VALUE_MIN 6
#define NACRE_LEAK_VALUE_MAX ((size_t)64 << 10) /* more is NACRE_ERR_TOO_BIG */
#define NACRE_LEAK_VALUES_MAX 4096

struct nacre_leaks; /* a compiled scanner */

/* `pattern_count` is 0 to NACRE_LEAK_PATTERNS.  Blanks and line ends around a value are
 * not looked for.  Copies of the values live in locked memory (NACRE_ERR_UNAVAILABLE where
 * RLIMIT_MEMLOCK leaves no room), in no core dump and in no forked child, and are wiped by
 * free. */
NACRE_MUST_CHECK enum nacre_status nacre_leaks_new(const struct nacre_leak_value *values,
                                                   size_t value_count,
                                                   uint32_t pattern_count,
                                                   struct nacre_leaks **ret_leaks,
                                                   struct nacre_error *err);
void nacre_leaks_free(struct nacre_leaks *leaks); /* accepts NULL */
NACRE_OWNED(nacre_leaks)

/* How often something was found; what overlaps is one finding, of the worst class. */
#define NACRE_LEAK_NAME 65
struct nacre_leak_counts {
    uint64_t values, blocked, redacted, warned;
    char first[NACRE_LEAK_NAME]; /* of the first finding; "" when there is none */
};

/* The worst of what is in `bytes`, for what is sent whole: URLs, headers, bodies, texts. */
enum nacre_leak_class nacre_leaks_find(const struct nacre_leaks *leaks, const void *bytes,
                                       size_t count, struct nacre_leak_counts *counts);

/* Appends `bytes` to `ret_clean` with every finding but a WARN replaced. */
NACRE_MUST_CHECK enum nacre_status nacre_leaks_redact(const struct nacre_leaks *leaks,
                                                      const void *bytes, size_t count,
                                                      struct nacre_buf *ret_clean,
                                                      struct nacre_leak_counts *counts,
                                                      struct nacre_error *err);

/* The same for what comes in pieces.  How it is cut never changes what is found or what
 * comes out; what could be the beginning of a finding is held back until it is known, and
 * never more than NACRE_LEAK_HELD_MAX bytes. */
#define NACRE_LEAK_HELD_MAX ((size_t)512 << 10)
struct nacre_leak_stream;
NACRE_MUST_CHECK enum nacre_status nacre_leak_stream_new(const struct nacre_leaks *leaks,
                                                         struct nacre_leak_stream **ret_stream,
                                                         struct nacre_error *err);
void nacre_leak_stream_free(struct nacre_leak_stream *stream); /* accepts NULL */
NACRE_OWNED(nacre_leak_stream)
/* `at_end`: nothing more comes, and nothing is held back any longer. */
NACRE_MUST_CHECK enum nacre_status
nacre_leak_stream_add(struct nacre_leak_stream *stream, const void *bytes, size_t count,
                      bool at_end, void (*out)(void *data, const char *bytes, size_t count),
                      void *data, struct nacre_error *err);
/* Tells each finding when it is known: its name, its class, the line (from 1) on which it
 * begins and the place of its first byte in the whole stream (from 0).  Of what overlaps,
 * the first alone.  Before anything is added. */
void nacre_leak_stream_watch(struct nacre_leak_stream *stream,
                             void (*found)(void *data, const char *name,
                                           enum nacre_leak_class class, uint64_t line,
                                           uint64_t offset),
                             void *data);
/* The end that comes next is not the text's own: more was written and is lost.  What is
 * held back then counts as found, since the rest of it may be beyond the cut. */
void nacre_leak_stream_cut(struct nacre_leak_stream *stream);
const struct nacre_leak_counts *
nacre_leak_stream_counts(const struct nacre_leak_stream *stream);

/* A row of the table, for `nacre leak-scan --list` and the README's test. */
struct nacre_leak_pattern_row {
    const char *name;
    enum nacre_leak_class class;
    const char *const *examples, *const *counter_examples; /* NULL-terminated */
};
const struct nacre_leak_pattern_row *nacre_leak_pattern(uint32_t index);

#endif
