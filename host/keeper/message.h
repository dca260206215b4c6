#ifndef NACRE_KEEPER_MESSAGE_H
#define NACRE_KEEPER_MESSAGE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/buf.h"
#include "nacre/error.h"

/*
 * What goes over the keeper's socket: a length, a kind, and bytes; with one of them an fd
 * may come along.  Both ends are nacre and of one user; what comes is checked all the
 * same.
 */
#define MESSAGE_BYTES_MAX ((size_t)8 << 20)
#define MESSAGE_OUTPUT_MAX ((size_t)64 << 10)

/* HELLO, QUIT and their answers are the same in every version: so a keeper of another can
 * be recognised, and told to leave. */
enum message_kind {
    MESSAGE_NONE,
    /* client to keeper */
    MESSAGE_QUIT = 1, /* MESSAGE_NOW or MESSAGE_IF_IDLE; answered by ANSWER */
    MESSAGE_PROBE,    /* {"engine"}; answered by ANSWER */
    MESSAGE_RUN,      /* {"engine", "plan", "tool", "request", "run_id"}, with the input's
                         fd if there is one; answered by OUTPUTs, then RESULT, FAILURE */
    MESSAGE_CANCEL,   /* a signal's number, in digits: ends the run under way */
    MESSAGE_LIST,     /* {}; answered by ANSWER */
    MESSAGE_END,      /* a choice; answered by ANSWER */
    MESSAGE_PRIVATE,  /* private.h: of the RUN that has to follow; not answered */
    MESSAGE_JOB,      /* a question about jobs, see jobs.c; answered by ANSWER */
    /* keeper to client */
    MESSAGE_HELLO = 32, /* its version, before anything else: from now on it listens */
    MESSAGE_ANSWER,     /* for QUIT: MESSAGE_LEAVING or MESSAGE_BUSY */
    MESSAGE_FAILURE,
    MESSAGE_OUTPUT, /* one byte for the stream, then bytes */
    MESSAGE_RESULT,
    MESSAGE_KINDS
};

#define MESSAGE_NOW "now"
#define MESSAGE_IF_IDLE "if-idle"
#define MESSAGE_LEAVING "leaving"
#define MESSAGE_BUSY "busy"

/* Until `deadline_ns` (nacre_clock_ns).  `fd` -1: none; it is borrowed.  NACRE_ERR_IO
 * when the other end is gone. */
NACRE_MUST_CHECK enum nacre_status message_send(int socket, enum message_kind kind,
                                                const void *bytes, size_t count, int fd,
                                                uint64_t deadline_ns,
                                                struct nacre_error *err);

/* The same with JSON, which is taken; NULL stands for no memory. */
NACRE_MUST_CHECK enum nacre_status message_send_json(int socket, enum message_kind kind,
                                                     json_t *json, int fd,
                                                     uint64_t deadline_ns,
                                                     struct nacre_error *err);

/*
 * The next one, whole.  `ret_bytes` (empty, with the caller's ceiling) receives what it
 * carries, terminated.  *ret_fd is the caller's, -1 when none came; ret_fd NULL: one that
 * comes is an error.  NACRE_ERR_NOT_FOUND when the other end has closed between two
 * messages.
 */
NACRE_MUST_CHECK enum nacre_status message_receive(int socket, uint64_t deadline_ns,
                                                   enum message_kind *ret_kind,
                                                   struct nacre_buf *ret_bytes,
                                                   int *ret_fd, struct nacre_error *err);

/* What a message carries, as JSON; the caller's. */
NACRE_MUST_CHECK enum nacre_status message_parse(const struct nacre_buf *bytes,
                                                 json_t **ret_json,
                                                 struct nacre_error *err);

/* Is the process at the other end of this user? */
NACRE_MUST_CHECK enum nacre_status message_check_peer(int socket,
                                                      struct nacre_error *err);

/* A deadline. */
uint64_t message_within_ms(uint64_t ms);

static inline void message_json_guard(json_t **owned)
{
    json_decref(*owned);
}

#endif
