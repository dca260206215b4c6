#ifndef NACRE_NATIVE_PRIVATE_H
#define NACRE_NATIVE_PRIVATE_H

#include <pthread.h>

#include "nt_box.h"

/*
 * A box and the commands that run in it.  One lock guards all of both; it is never held
 * while somebody waits or while a caller's function runs.
 *
 * Each command has a thread of its caller's, which looks after it.  One of them is the
 * leader: it waits for the stream and moves the frames of all.  The others sleep until
 * they are poked.  A leader that has something else to do gives the lead to another.
 */

/* Output that came and was not taken yet: heads, each followed by its bytes. */
struct nt_chunk {
    uint32_t lane, size;
};
/* Every byte a chunk of its own is the most that the lanes' windows let through. */
#define NT_PENDING_MAX (2 * FRAME_WINDOW * (1 + sizeof(struct nt_chunk)))
#define NT_NO_CHUNK SIZE_MAX

struct nt_run {
    struct nt_run *next;
    uint8_t id[FRAME_ID];
    int wake_fd; /* an eventfd */
    bool poked;
    bool starved; /* has input, and waits for the queue to become shorter */

    /* What init has told. */
    bool started, wrote, refused, over;
    struct init_exit exit;
    uint64_t refusal, refusal_errno;
    char refusal_text[256];

    uint64_t window[FRAME_LANES]; /* [0]: what we may send; else what init may send */
    bool ended[FRAME_LANES]; /* by init: 1 and 2 */
    struct nacre_buf pending;
    size_t pending_last; /* where the last chunk's head lies, or NT_NO_CHUNK */
};

struct nt_answer {
    char *question, *text;
    size_t count;
};

struct nt_box {
    struct nt_stream stream;
    pthread_mutex_t lock;
    struct nt_run *runs, *leader;
    struct nacre_buf out; /* from out_sent on it waits to be written */
    size_t out_sent;
    bool out_dead; /* init takes nothing any more */
    uint64_t beat_next_ns, beat_every_ns;
    struct nt_doorway *doorway; /* nt_doorway.h; NULL: init carries no connections */

    bool reported; /* the answers are there, and commands may run */
    struct nacre_buf report;
    struct nt_answer *answers;
    size_t answer_count;

    _Atomic bool spent;
    bool failed; /* by init's own word (FAILED) */
    bool died;   /* without one, while a command ran; set before `spent` */
    char why[400];

    struct frame_reader reader;
};

/* Spends the box, for the first reason that is given, and wakes everybody. */
void nt_box_break(struct nt_box *box, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for an init that is gone. */
void nt_box_lost(struct nt_box *box);
void nt_run_poke(struct nt_run *run);

/* nt_command.c.  The null device has no input, and the command gets one of its own:
 * nobody has to be woken to be told of its end. */
bool nt_command_has_input(const struct nt_command *command);
/* To be freed, and wiped: it may hold secrets. */
NACRE_MUST_CHECK enum nacre_status nt_command_pack(const struct nt_command *command,
                                                   uint8_t **ret_bytes, size_t *ret_count,
                                                   struct nacre_error *err);

/* What comes from init: nt_frames.c.  Judges a frame and does what it says. */
void nt_frames_take(struct nt_box *box, const struct frame *frame);

/*
 * nt_wire.c.  Sending queues and writes what goes at once; the leader writes the rest.
 * `id` NULL: the sandbox as a whole.  A message may be longer than a frame.
 */
void nt_wire_send(struct nt_box *box, enum frame_type type, uint8_t lane,
                  const uint8_t *id, const void *payload, size_t count);
void nt_wire_send_u64(struct nt_box *box, enum frame_type type, uint8_t lane,
                      const uint8_t *id, uint64_t number);
void nt_wire_send_message(struct nt_box *box, enum frame_type type, const uint8_t *id,
                          const void *bytes, size_t count);
void nt_wire_flush(struct nt_box *box);
/* Takes what is there, once round; false: nothing was. */
bool nt_wire_read(struct nt_box *box);
size_t nt_wire_backlog(const struct nt_box *box);
void nt_wire_beat(struct nt_box *box, uint64_t now_ns); /* if it is time */

#endif
