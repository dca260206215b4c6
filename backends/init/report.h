#ifndef NACRE_INIT_REPORT_H
#define NACRE_INIT_REPORT_H

#include "command.h"

/* What the probe found (probe.h), on its way to the owner. */
struct report {
    pid_t probe; /* 0: not asked yet, or reaped */
    int wait_status;
    int fd; /* of what it says; -1: it has said everything, or there is no probe and */
    const uint8_t *here; /* these are still to be said, unless NULL */
    size_t here_count;
    bool is_asked, is_sent;
    char kind;
    size_t used;
    uint8_t bytes[FRAME_PAYLOAD_MAX]; /* of a frame that may be the last one */
};

/* False with errno: no process could be made. */
bool report_ask(struct report *report, const struct sandbox *sandbox);

/* Passes on what is there.  NULL, or why there will be no report; the text lies in the
 * report. */
const char *report_move(struct report *report, struct sandbox *sandbox);

#endif
