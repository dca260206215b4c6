#ifndef NACRE_CLI_PUMP_H
#define NACRE_CLI_PUMP_H

#include <stdbool.h>

#include "nacre/buf.h"

/*
 * A guest's output on its way to our stdout and stderr.  A reader that is slow must
 * not hold up the thread that watches the guest's deadline: what does not go at once
 * waits here.  That can't be more than the policy's max_output_bytes.
 */
struct cli_pump {
    struct nacre_buf waiting[2]; /* for fd 1 and fd 2 */
    size_t sent[2];              /* of what waits */
    int broken;                  /* the errno of a failed write; 0: none */
    int broken_fd;
};

void cli_pump_init(struct cli_pump *pump);
void cli_pump_clear(struct cli_pump *pump);

/* Send what can be sent soon, keep the rest.  After a failure everything is dropped. */
void cli_pump_push(struct cli_pump *pump, int fd, const char *bytes, size_t count);

/* Send all that waits, however long the reader takes. */
void cli_pump_drain(struct cli_pump *pump);

#endif
