#ifndef NACRE_AUDIT_PARSE_H
#define NACRE_AUDIT_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/error.h"
#include "nacre/hash.h"
#include "nacre/result.h"

/* ---- a line's fixed parts, found by their place ---- */

/* Moves forward over what it recognises; false and unmoved otherwise. */
struct audit_scan {
    const char *at, *end;
};

bool audit_scan_word(struct audit_scan *scan, const char *word);
bool audit_scan_number(struct audit_scan *scan, uint64_t *ret_number);
bool audit_scan_digest(struct audit_scan *scan, struct nacre_digest *ret_digest);
/* Up to the next quote, which it leaves; false when that is not within `max`. */
bool audit_scan_string(struct audit_scan *scan, size_t max, const char **ret_text,
                       size_t *ret_count);

enum audit_type { AUDIT_NONE, AUDIT_BEGIN, AUDIT_END, AUDIT_RECOVERED };

struct audit_record {
    uint64_t seq;
    enum audit_type type;
    char run[NACRE_RUN_ID]; /* "" for RECOVERED */
    bool accounts;          /* RECOVERED that tells which runs before it never ended */
    struct nacre_digest prev;
};

/* Readers find it by its place, so it holds nothing that would need escaping: 1 to
 * NACRE_RUN_ID - 1 small letters, digits and '-'. */
bool audit_run_id_is_valid(const char *id);

/* False when the line (without newline) is not one that this version writes. */
bool audit_record_parse(const char *text, size_t count, struct audit_record *ret_record);

/* Could these bytes be the beginning of a record that a crash cut off? */
bool audit_record_is_torn(const char *bytes, size_t count);

/* ---- a file, line by line ---- */

struct audit_reader {
    int fd;
    const char *path; /* for errors */
    uint64_t end;     /* nothing at or past this offset is looked at */
    uint64_t offset;  /* of the next line */
    uint64_t line;    /* number of the line handed out last */
    uint64_t torn;    /* at the end: bytes that have no newline */
    bool torn_record; /* those could be the beginning of a record */
    char *buffer;     /* private: [used, filled) lies at `offset` in the file */
    size_t used, filled, allocated;
};

/* Of the bytes from `start` to `end`.  `fd` and `path` are borrowed. */
NACRE_MUST_CHECK enum nacre_status audit_reader_init(struct audit_reader *reader, int fd,
                                                     const char *path, uint64_t start,
                                                     uint64_t end,
                                                     struct nacre_error *err);
void audit_reader_clear(struct audit_reader *reader);

/* *ret_text is NULL at the end; else a terminated line that holds until the next call.
 * NACRE_ERR_PARSE for a line that is longer than any of ours. */
NACRE_MUST_CHECK enum nacre_status audit_reader_next(struct audit_reader *reader,
                                                     const char **ret_text,
                                                     size_t *ret_count,
                                                     struct nacre_error *err);

/* All of `count` bytes at `offset`, or NACRE_ERR_IO. */
NACRE_MUST_CHECK enum nacre_status audit_pread(int fd, const char *path, void *ret_bytes,
                                               size_t count, uint64_t offset,
                                               struct nacre_error *err);

/* For nacre_fail_at(), whose lines are ints. */
int audit_line_int(uint64_t line);

#endif
