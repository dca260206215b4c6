#ifndef DK_LINES_H
#define DK_LINES_H

#include "dk_api.h"
#include "nacre/buf.h"

/*
 * The engine's running report of a build or an import: a JSON object a line.  A failure
 * comes in such a line too, under a status of 200.
 */
#define DK_LINE_MAX ((size_t)256 << 10)

struct dk_lines {
    struct nacre_buf line;              /* what came of the one that is under way */
    const struct dk_progress *progress; /* may be NULL */
    char id[DK_IMAGE_ID];               /* of the image, the last that was named; or "" */
    char complaint[320];                /* the engine's first, escaped and cut; or "" */
};

#define DK_LINES(progress_) { .line = NACRE_BUF(DK_LINE_MAX), .progress = (progress_) }

/* A dk_request's sink; `data` is a struct dk_lines. */
NACRE_MUST_CHECK enum nacre_status dk_lines_take(void *data, const char *bytes,
                                                 size_t count, struct nacre_error *err);

/* After the last: the image's id, or the engine's complaint.  Frees what was held. */
NACRE_MUST_CHECK enum nacre_status dk_lines_end(struct dk_lines *lines,
                                                char ret_id[DK_IMAGE_ID],
                                                struct nacre_error *err);

static inline void dk_lines_guard(struct dk_lines *lines)
{
    nacre_buf_clear(&lines->line);
}

#endif
