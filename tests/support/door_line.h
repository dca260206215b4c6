#ifndef NACRE_TEST_DOOR_LINE_H
#define NACRE_TEST_DOOR_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "nacre/buf.h"

/* A guest's end of nacre/door_wire.h, for programs that test or measure a door.  What
 * breaks ends the program. */

struct door_line_request {
    const char *method, *url, *headers;
    size_t headers_size;
    const void *body;
    size_t body_size;
};

struct door_line_answer {
    uint32_t code, status;
    char *text;             /* the headers, or the sentence of a failure; the caller's */
    struct nacre_buf body;  /* with a ceiling by the caller; he clears it */
};

/* Asks, reads the body to its end, and closes. */
void door_line_ask(int fd, const struct door_line_request *request,
                   struct door_line_answer *answer);

#endif
