#ifndef NACRE_TEST_FAKE_LINE_H
#define NACRE_TEST_FAKE_LINE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "nacre/door_wire.h"

/*
 * The other end of a guest's line, played by a thread: it serves a small web of its own,
 * or says word for word what a test wants to be said.
 *
 *   /ok           200, "Content-Type: text/plain\nX-Method: METHOD\n", the body "hello"
 *   /echo         200, the request's headers as its headers, its body as its body
 *   /denied       DENIED with a sentence
 *   /big          200, 600,000 bytes 'b'
 *   /cut          200, then PROTOCOL in the middle of the body
 *   /silent       never answers
 *   /gone         hangs up
 *   anything else NOT_FOUND
 */
struct fake_line {
    int fd;      /* the guest's end */
    int own_fd;
    pthread_t thread;
    _Atomic uint32_t asked, read, closed; /* messages so far */
    _Atomic uint32_t misuses;             /* of the wire by the guest's end */
    char url[256];                        /* the last one */
};

void fake_line_start(struct fake_line *line);
/* Serves an end that was made elsewhere, which becomes this side's. */
void fake_line_serve(struct fake_line *line, int fd);
void fake_line_stop(struct fake_line *line);

#endif
