#ifndef BROWSER_CONTROL_H
#define BROWSER_CONTROL_H

#include "nacre/browser.h"

/*
 * Where a browser is asked for tokens: STATE_DIR/browsers/SLUG.sock, 0600 in a directory
 * that only its user can enter, and a lock beside it, which its owner holds as long as it
 * lives.  One question and one answer to a connection: a word, and JSON.
 */
#define CONTROL_BYTES_MAX 4096

#define CONTROL_STATUS "status"
#define CONTROL_STOP "stop"
#define CONTROL_CDP "cdp"
#define CONTROL_HTTP "http"
#define CONTROL_SCREEN "screen"

struct control {
    int dir_fd, lock_fd, socket_fd;
    char slug[NACRE_SLUG];
};
#define CONTROL_NONE { .dir_fd = -1, .lock_fd = -1, .socket_fd = -1 }

/* The right to be the session's browser.  NACRE_ERR_USAGE: another has it. */
NACRE_MUST_CHECK enum nacre_status control_lock(const char *state_dir, const char *slug,
                                                struct control *ret_control,
                                                struct nacre_error *err);
/* Only with the lock: whatever lies there is of one that is gone. */
NACRE_MUST_CHECK enum nacre_status control_listen(struct control *control,
                                                  struct nacre_error *err);
void control_clear(struct control *control); /* its name goes first, then the lock */

/* Somebody asks: `answer` gets the word, and gives the reply.  Others than our own user
 * get none. */
void control_serve(const struct control *control,
                   struct json_t *(*answer)(void *data, const char *word), void *data);

/* NACRE_ERR_NOT_FOUND: nobody listens there.  What the answer has as "error" is the
 * failure. */
NACRE_MUST_CHECK enum nacre_status control_ask(const char *state_dir, const char *slug,
                                               const char *word,
                                               struct json_t **ret_answer,
                                               struct nacre_error *err);

/* Until nobody holds the lock; NACRE_ERR_TIMEOUT. */
NACRE_MUST_CHECK enum nacre_status control_await_end(const char *state_dir,
                                                     const char *slug,
                                                     uint64_t deadline_ns,
                                                     struct nacre_error *err);

/* The slug of each socket that lies there. */
NACRE_MUST_CHECK enum nacre_status
control_each(const char *state_dir, bool (*each)(void *data, const char *slug),
             void *data, struct nacre_error *err);

/* What is told of a browser, written and read. */
struct json_t *control_info_write(const struct nacre_browser_info *info);
bool control_info_read(const struct json_t *json, struct nacre_browser_info *ret_info);

#endif
