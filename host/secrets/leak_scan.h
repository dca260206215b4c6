#ifndef NACRE_LEAK_SCAN_H
#define NACRE_LEAK_SCAN_H

#include "leak_index.h"
#include "leak_patterns.h"
#include "leak_values.h"
#include "nacre/leak.h"

struct nacre_leaks {
    struct leak_value *values;
    size_t value_count;
    char *names;            /* of all values, each terminated */
    unsigned char *secrets; /* of all values, locked; the last byte is 1 */
    size_t secrets_size;
    struct leak_index index;
};

/* False in a forked child, where the values are gone: nothing would be found there. */
#define LEAK_FORKED "a leak scanner can't be used in a forked child"
bool leaks_are_whole(const struct nacre_leaks *leaks);

/* The body of a private key: redacted up to its END line, or to what can't be part of
 * one.  Nothing of it is held back. */
struct leak_key {
    bool is_open;
    bool is_ending;  /* "-----END" was read */
    unsigned dashes; /* of those read last */
    unsigned word;   /* how much of END was read after them */
    size_t at;       /* the next byte to be read */
};

enum leak_end {
    LEAK_END_NOT_YET,
    LEAK_END_REAL,
    LEAK_END_CUT, /* what was held back counts as found */
};

/*
 * One text on its way.  Places are counted from the beginning of the caller's buffer, and
 * may lie behind its end: what comes there is covered when it comes.
 */
struct leak_scan {
    const struct nacre_leaks *leaks;
    struct leak_matcher matcher;
    struct leak_key key;
    size_t cursor;  /* every finding that begins before it is known */
    size_t done;    /* up to here all was given out or left out */
    size_t covered; /* what is left out ends here */
    enum nacre_leak_class open; /* of what is left out and was not counted yet */
    enum nacre_leak_class worst;
    struct nacre_leak_counts counts;
    uint64_t effort; /* spent on long beginnings of values that were none */
    void (*out)(void *data, const char *bytes, size_t count);
    void *data;

    /* For whoever wants to know where: NULL otherwise, and then nothing is counted. */
    void (*found)(void *data, const char *name, enum nacre_leak_class class,
                  uint64_t line, uint64_t offset);
    void *found_data;
    uint64_t gone_bytes, gone_lines; /* before the buffer */
};

/* Goes on to the end of `text`, or to the place that it returns: what begins there may be
 * a finding, and has to be seen again with more behind it. */
size_t leak_scan_pass(struct leak_scan *scan, const unsigned char *text, size_t count,
                      enum leak_end end);

/* The first `count` bytes of the text are about to leave the buffer. */
void leak_scan_forget(struct leak_scan *scan, const unsigned char *text, size_t count);

void leak_scan_clear(struct leak_scan *scan);

#endif
