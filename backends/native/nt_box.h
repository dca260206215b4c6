#ifndef NACRE_NATIVE_BOX_H
#define NACRE_NATIVE_BOX_H

#include <stdatomic.h>
#include <sys/types.h>

#include "config.h"
#include "machine.h"
#include "nacre/error.h"
#include "nacre/plan.h"
#include "nacre/result.h"
#include "nt_wait.h"

/*
 * A sandbox with our init in it, as its one owner sees it: through the channel.  Process,
 * container and none all run their commands here; they differ in how the sandbox came to
 * be.  What comes through the channel is believed as little as a guest: every frame may
 * be forged by one that took init over.
 */

/* The stream under the channel.  Non-blocking; errno as read() and write() have it. */
struct nt_stream_ops {
    ssize_t (*read)(void *stream, void *bytes, size_t count);
    ssize_t (*write)(void *stream, const void *bytes, size_t count);
    int (*poll_fd)(void *stream);
    void (*close)(void *stream); /* frees it */
};
struct nt_stream {
    const struct nt_stream_ops *ops;
    void *stream;
};
/* A socket or a pipe of two ends; takes the fd. */
NACRE_MUST_CHECK enum nacre_status nt_stream_fd(int fd, struct nt_stream *ret_stream,
                                                struct nacre_error *err);

struct nt_box;

/*
 * Takes `stream` (closed on failure too), sends the configuration and waits for the
 * report until the wait is over (NACRE_ERR_TIMEOUT).  No command has run yet: judge the
 * report, and free the box if it is not as planned.  NACRE_ERR_PROTOCOL-like trouble
 * (frames that are none, a report that is cut) is NACRE_ERR_IO with a sentence.
 */
NACRE_MUST_CHECK enum nacre_status nt_box_open(struct nt_stream *stream,
                                               const struct init_config *config,
                                               struct nt_wait wait,
                                               struct nt_box **ret_box,
                                               struct nacre_error *err);

/* The same for a sandbox that is a machine of its own: it is told first what it is made
 * of.  NULL: it is none. */
NACRE_MUST_CHECK enum nacre_status nt_box_open_machine(struct nt_stream *stream,
                                                       const struct init_machine *machine,
                                                       const struct init_config *config,
                                                       struct nt_wait wait,
                                                       struct nt_box **ret_box,
                                                       struct nacre_error *err);

/* Closes the stream: init sees it, kills everything and leaves.  Accepts NULL.  No run
 * is under way. */
void nt_box_free(struct nt_box *box);
NACRE_OWNED(nt_box)

/* The same for init, while commands run: they see a channel that broke.  From any thread;
 * the box is spent, and still to be freed. */
void nt_box_shut(struct nt_box *box);

/* The answer to `question`, as it was asked; NULL when init gave none.  Terminated;
 * lives as long as the box. */
const char *nt_box_answer(const struct nt_box *box, const char *question,
                          size_t *ret_count);

struct nt_command {
    struct init_start start;
    uint64_t grace_ms; /* for init to end what has to end, unless there is output to take;
                          then the box is given up.  0, and the most: two seconds */
    uint64_t output_bytes_max; /* both streams together, cut at the byte */
    const struct nacre_request *request; /* input_fd, on_output, stream_only, dial_fd */
    const _Atomic int *cancelled;        /* a signal's number ends the command */
    /* Asked about while the command runs, when `disturbed_fd` can be read (0: there is
     * none) and every 100 ms; true: something that the sandbox stands on has changed,
     * `reason` says what.  May be NULL. */
    bool (*disturbed)(void *data, char *reason, size_t size);
    int disturbed_fd;
    void *disturbed_data;
    /* Then called first, maybe more than once: ends all that is in the sandbox without
     * init, which might wait for its turn among those that it should kill.  NULL: that
     * can't be done from here. */
    void (*halt)(void *data);
    /* Gets each connection that comes through the sandbox's doorway (doorway.h) while the
     * command runs; `fd` is its own from there on, and at its end when the command is.
     * Only one command of a box at a time may have it, or a request with a `dial_fd`.
     * NULL: nobody is there. */
    void (*connected)(void *data, int kind, int fd);
    void *connected_data;
};

/*
 * Runs a command to its end.  Several threads may do so at once; whoever waits also
 * moves the others' frames, so no thread of its own is needed.  The owner's beat is sent
 * while any command runs, and by nt_box_beat() between them.
 *
 * NACRE_OK: outcome (EXITED, TIMED_OUT, OUTPUT_LIMIT, OUT_OF_MEMORY when the kernel
 * killed for memory, KILLED), exit_status, signal, output, errors, output_cut, reason
 * and usage (cpu, memory peak, bytes) are filled.  NACRE_ERR_NOT_FOUND or
 * NACRE_ERR_NOT_RUNNABLE: the program is not there or can't be executed; nothing ran.
 * NACRE_ERR_DENIED-like refusals of init (a mask that fell off, a wall) are
 * NACRE_ERR_UNAVAILABLE, nothing ran, and the box is spent.  NACRE_ERR_IO: the channel
 * broke; the box is spent, and the command's effects are unknown.
 */
NACRE_MUST_CHECK enum nacre_status nt_box_run(struct nt_box *box,
                                              const struct nt_command *command,
                                              struct nacre_result *result,
                                              struct nacre_error *err);

/* A command that init could not end within its grace (2 s past the deadline or the kill)
 * or a channel that broke: only the sandbox as a whole can be ended now. */
bool nt_box_is_spent(const struct nt_box *box);

/* Spent, because init was suddenly gone while a command ran? */
bool nt_box_died(const struct nt_box *box);

/* To be called at least every second by whoever keeps the box warm.  False: it is
 * spent. */
bool nt_box_beat(struct nt_box *box);

#endif
