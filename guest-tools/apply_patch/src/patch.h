#ifndef NACRE_PATCH_H
#define NACRE_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre_json.h"

/*
 * A patch as it was read, whichever of the two formats it came in, and what becomes of
 * one file's bytes by it.  Nothing here touches a file; texts point into the patch.
 */
#define PATCH_BYTES_MAX ((size_t)8 << 20)
#define PATCH_FILE_BYTES_MAX ((size_t)16 << 20)
#define PATCH_FILES_MAX 500
#define PATCH_HUNKS_MAX 2000 /* of one file */
/* Hunks times lines of one file: each is looked for in all of it. */
#define PATCH_WORK_MAX ((uint64_t)300000000)

struct patch_line {
    const char *text; /* without its sign and its line's end */
    size_t length;
    char sign;        /* ' ', '+' or '-'; '@' of an anchor */
    bool unended;     /* "\ No newline at end of file" */
};

struct patch_hunk {
    struct patch_line *anchors; /* "@@ text": the hunk lies behind such a line */
    struct patch_line *lines;
    size_t anchor_count, line_count;
    size_t from;    /* the line of the patch that it starts in, from 1 */
    size_t at;      /* the line of the file that a unified diff says, from 1; or 0 */
    bool at_end;    /* its last line is the file's last */
};

enum patch_op {
    PATCH_ADD,
    PATCH_UPDATE,
    PATCH_DELETE,
};

struct patch_file {
    enum patch_op op;
    const char *path;
    const char *move_to; /* or NULL */
    struct patch_hunk *hunks;
    size_t hunk_count;
    size_t from;         /* the line of the patch */
    bool executable;     /* git says mode 100755: more than a tool can do */
};

struct patch {
    struct patch_file *files;
    size_t count;
};

/* Why not, for whoever wrote the patch.  `code` is stable. */
struct patch_fault {
    const char *code;
    struct nacre_text text;
};

/* False with `fault`. */
bool patch_read(const char *bytes, size_t count, struct patch *ret_patch,
                struct patch_fault *fault);

/* How far a hunk had to be bent to fit; the worst of all is told. */
enum patch_fit {
    PATCH_FIT_EXACT,
    PATCH_FIT_SPACE, /* white space at the ends of lines differs */
    PATCH_FIT_FOLD,  /* typographic dashes, quotes and spaces, too */
};

struct patch_stats {
    size_t added, removed; /* lines */
    size_t moved;          /* hunks that were not at the line they say */
    enum patch_fit fit;
};

/* The bytes of `file` after its hunks; added to *ret_after and *stats.  False with
 * `fault`. */
bool patch_apply(const struct patch_file *file, const char *before, size_t count,
                 struct nacre_text *ret_after, struct patch_stats *stats,
                 struct patch_fault *fault);

/* ---- between the parts ---- */

struct patch_reader {
    const char *bytes;
    size_t count, at;
    size_t number; /* of the line that is next, from 1 */
    struct patch *patch;
    struct patch_fault *fault;
};

/* The next line without its end; false at the end of the patch. */
bool patch_peek(const struct patch_reader *reader, struct patch_line *ret_line);
void patch_skip(struct patch_reader *reader);
bool patch_starts(const struct patch_line *line, const char *prefix);
/* But for spaces behind. */
bool patch_is(const struct patch_line *line, const char *text);

static inline bool patch_blank(char sign)
{
    return sign == ' ' || sign == '\t' || sign == '\r';
}

/* NULL with a fault when there are too many. */
struct patch_file *patch_add_file(struct patch_reader *reader, enum patch_op op);
struct patch_hunk *patch_add_hunk(struct patch_reader *reader, struct patch_file *file);
void patch_add_line(struct patch_hunk *hunk, const struct patch_line *line);
void patch_add_anchor(struct patch_hunk *hunk, const struct patch_line *line);
/* "-A,B +C,D @@": what stands behind "@@ "; false where it is none. */
bool patch_ranges(const char *text, size_t length, size_t ret_ranges[4]);

bool patch_read_envelope(struct patch_reader *reader);
bool patch_read_unified(struct patch_reader *reader);

/* Always false, for return. */
bool patch_fail(struct patch_fault *fault, const char *code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A line for a message: escaped, cut, in quotes. */
const char *patch_shown(const char *text, size_t length);

/* ---- finding lines among lines ---- */

/* Looser than any fit: spaces in front, too.  For anchors, which change nothing. */
#define PATCH_FIT_ANCHOR ((enum patch_fit)(PATCH_FIT_FOLD + 1))
#define PATCH_FIT_COUNT (PATCH_FIT_ANCHOR + 1)
#define PATCH_LINES_MAX ((size_t)1 << 20)

struct patch_text {
    struct patch_line *lines;
    size_t count, longest;
    uint64_t *hashes[PATCH_FIT_COUNT]; /* made when they are needed first */
    char *scratch;                     /* as long as the longest line */
};

/* False: more than PATCH_LINES_MAX. */
bool patch_split(const char *bytes, size_t count, struct patch_text *ret_text);

struct patch_places {
    size_t *at;
    size_t count, room;
};

struct patch_search {
    struct patch_text *text;
    struct patch_text wanted;
    size_t start;
    enum patch_fit fit;
    size_t reach, reach_at; /* how many of `wanted` stood together at best, and where */
};

/* All places at or behind `start` where all of `wanted` (at least one) stand.  Linear in
 * both, whatever they hold. */
void patch_find(struct patch_search *search, struct patch_places *places);

#endif
