#ifndef BROWSER_BOX_H
#define BROWSER_BOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "answer.h"
#include "nacre/buf.h"

/* The sandbox's side: connections into it, and what is asked of the browser there. */
struct box {
    int dial_fd, stop_fd;
};

/* A stream to a port of the sandbox's loopback; -1: not now.  One that nobody listens at
 * is closed. */
int box_dial(const struct box *box, uint16_t port);

/* The head of the answer to what was sent; what came behind it stays in `bytes`, from
 * *ret_used on. */
bool box_answer(const struct box *box, int fd, uint64_t deadline_ns,
                struct nacre_buf *bytes, struct answer *ret_answer, size_t *ret_used);

#define BOX_JSON_BYTES_MAX ((size_t)64 << 10)

struct box_version {
    char path[128];    /* /devtools/browser/ID, of letters that need no care */
    char browser[128]; /* as it says; not escaped */
    char json[4096];   /* all of it, without URLs: members for an answer of our own */
};

/* What /json/version says; false: nothing, or nothing that makes sense. */
bool box_version(const struct box *box, uint64_t deadline_ns,
                 struct box_version *ret_version);

#endif
