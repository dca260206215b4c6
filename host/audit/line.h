#ifndef NACRE_AUDIT_LINE_H
#define NACRE_AUDIT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nacre/hash.h"

/*
 * One record under construction.  Written by hand and not as a tree: a record is
 * made twice in every call, and a call takes microseconds.
 *
 * When memory runs out `failed` is set, later additions do nothing, and sealing fails: a
 * builder needs no check of its own.
 */
struct audit_line {
    char *bytes; /* `room`, or on the heap: so it is not to be copied */
    size_t size, allocated;
    bool failed;
    char room[2048]; /* does for a call that met no wall */
};

/* Every field of a record is cut, so that a record is never longer than this. */
#define AUDIT_LINE_MAX ((size_t)256 << 10)

/* What every record starts with; its number follows. */
#define AUDIT_LINE_FRONT "{\"v\":1,\"seq\":"

void audit_line_init(struct audit_line *line);

/* Bytes of our own, as they are, where the room does not do. */
void audit_line_grow(struct audit_line *line, const char *bytes, size_t count);

/* In the header, so that the length of a literal costs nothing: a record has some fifty
 * of them. */
static inline void audit_line_put(struct audit_line *line, const char *bytes,
                                  size_t count)
{
    if (count > line->allocated - line->size) {
        audit_line_grow(line, bytes, count);
        return;
    }
    memcpy(line->bytes + line->size, bytes, count);
    line->size += count;
}

/* Text of our own, as it is. */
static inline void audit_line_add(struct audit_line *line, const char *text)
{
    audit_line_put(line, text, strlen(text));
}

/*
 * A JSON string, or null.  Of `text` at most `max` bytes are looked at; a longer one
 * ends in "...".  Control characters become \u00NN; bytes that are not UTF-8 become
 * the four characters \xNN, because JSON has no way to hold them.
 */
void audit_line_text(struct audit_line *line, const char *text, size_t max);
/* The same for bytes that are not terminated. */
void audit_line_bytes(struct audit_line *line, const char *bytes, size_t count,
                      size_t max);

void audit_line_number(struct audit_line *line, uint64_t number);
void audit_line_signed(struct audit_line *line, int64_t number);
void audit_line_digest(struct audit_line *line, const struct nacre_digest *digest);

/* Gives the line its number and its link; false when memory ran out.  The text ends
 * in a newline and belongs to `line`. */
bool audit_line_seal(struct audit_line *line, uint64_t seq,
                     const struct nacre_digest *prev, const char **ret_text,
                     size_t *ret_count);

/* Frees it.  A scope guard, too. */
void audit_line_clear(struct audit_line *line);

#endif
