#ifndef NACRE_TEST_FAKE_INIT_H
#define NACRE_TEST_FAKE_INIT_H

#include <pthread.h>

#include "config.h"

/*
 * The other end of a channel, played by a thread that follows a script: it may say
 * anything.  It allocates nothing, so that a test can make the box's allocations fail.
 */
struct fake_answer {
    const char *question, *text;
};

struct fake_init {
    void (*script)(struct fake_init *fake);
    void *data;
    const struct fake_answer *answers; /* to the questions; ended by a NULL */

    int fd; /* the script may close it, and then sets it to -1 */
    pthread_t thread;
    struct frame_reader reader;
    uint64_t kills, beats; /* that came by the way */
};

/* Starts the script; the owner's end of the channel, or -1. */
int fake_init_start(struct fake_init *fake);
/* After the owner has closed its end, or the script has an end of its own. */
void fake_init_join(struct fake_init *fake);

/* ---- for scripts ---- */

/* The next frame that is neither KILL nor BEAT; false when the owner has gone. */
bool fake_init_next(struct fake_init *fake, struct frame *ret_frame);
/* The next of this type; others by the way are dropped. */
bool fake_init_await(struct fake_init *fake, enum frame_type type,
                     struct frame *ret_frame);
/* Until a KILL comes. */
bool fake_init_await_kill(struct fake_init *fake);
void fake_init_write(struct fake_init *fake, const void *bytes, size_t count);
void fake_init_send(struct fake_init *fake, enum frame_type type, uint8_t lane,
                    const uint8_t *id, const void *payload, size_t count);
void fake_init_send_u64(struct fake_init *fake, enum frame_type type, uint8_t lane,
                        const uint8_t *id, uint64_t number);

/* What an honest init does first: takes the configuration, answers the questions. */
bool fake_init_report(struct fake_init *fake);
/* The next command's id; *ret_input: it will have input.  NULL: not asked for. */
bool fake_init_await_start(struct fake_init *fake, uint8_t ret_id[FRAME_ID],
                           bool *ret_input);
void fake_init_exit(struct fake_init *fake, const uint8_t *id,
                    const struct init_exit *exit);
void fake_init_refuse(struct fake_init *fake, const uint8_t *id, uint64_t refusal,
                      uint64_t number, const char *text);
void fake_init_fail(struct fake_init *fake, const char *text);
/* Until the owner has gone. */
void fake_init_idle(struct fake_init *fake);
void fake_init_hang_up(struct fake_init *fake);

#endif
