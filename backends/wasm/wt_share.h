#ifndef WT_SHARE_H
#define WT_SHARE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "nacre/error.h"
#include "nacre_wasi.h"
#include "wt_call.h"

/*
 * The memory that a supervisor and its worker share: the set-up and each call on
 * the way in, what the guest writes and how it ended on the way out.  A worker
 * that a guest has taken over can write anything here at any time, so the
 * supervisor copies, then checks, then believes.
 */

/*
 * `word` is the whole hand-over, and a robust futex besides:
 *   0                       idle; the reply of the last call is complete
 *   WT_WORD_STARTING        the worker is being set up
 *   tid | FUTEX_WAITERS     the worker runs; it owns the word, so that the kernel
 *                           wakes the supervisor when it dies, however it dies
 *   ... | FUTEX_OWNER_DIED  it died
 */
#define WT_WORD_STARTING 1u /* pid 1 is no worker */

#define WT_TEXT_BYTES ((size_t)2 << 20)
#define WT_TEXT_COUNT_MAX 8192 /* arguments and environment together */
#define WT_SECRET_FILES_MAX 64

struct wt_setup {
    struct wt_bounds bounds;
    uint64_t open_files_max, output_bytes_max;
    uint64_t scratch_bytes_max, scratch_files_max, file_bytes_max;
    uint32_t mount_count, mount_text_bytes;
    uint32_t has_scratch;
    uint32_t has_door;
    uint32_t has_call; /* the first one is here: it begins when every wall stands */
    uint32_t landlock_min;
    uint32_t file_uid, file_gid; /* whose what it makes is; 0: its own */
};

struct wt_share {
    _Atomic uint32_t word;
    _Atomic uint32_t worker_tid; /* 0 until every wall stands */
    uint32_t landlock_abi;
    struct wt_setup setup;

    /* One call; its texts follow one another in `text` from there on, then its secret
     * files: name, size and bytes each; then its input, where that comes as bytes. */
    uint32_t text_start;
    uint64_t deadline_ns;
    uint64_t fuel_max;
    uint32_t argument_count, environment_count, secret_file_count;
    uint32_t has_input, has_trace; /* their fds come over the control socket, in one */
    uint32_t has_input_bytes;
    uint32_t terminals;
    uint32_t has_invoke; /* the export's name comes after the environment */
    uint32_t is_streamed; /* wake the supervisor at each write */
    _Atomic uint32_t begun; /* by the worker, before anything of the guest happens */

    struct wt_reply reply;
    struct nacre_wasi_record record;
    char text[WT_TEXT_BYTES]; /* until the walls stand: the mounts in front */
};

/* The whole mapping: the struct, then the buffers of stdout and stderr. */
size_t wt_share_size(uint64_t output_bytes_max);
unsigned char *wt_share_output(struct wt_share *share, uint64_t output_bytes_max,
                               int stream);

int wt_futex_wait(_Atomic uint32_t *word, uint32_t expected,
                  uint64_t timeout_ns); /* 0: none */
void wt_futex_wake(_Atomic uint32_t *word);

/* Texts and numbers one after another in a bounded area. */
struct wt_cursor {
    char *at, *end;
    bool failed; /* something did not fit, or was not there */
};

void wt_put_text(struct wt_cursor *cursor, const char *text);
void wt_put_number(struct wt_cursor *cursor, uint32_t number);
void wt_put_bytes(struct wt_cursor *cursor, const void *bytes, size_t count);
const char *wt_get_text(struct wt_cursor *cursor); /* "" on failure */
uint32_t wt_get_number(struct wt_cursor *cursor);  /* 0 on failure */
const void *wt_get_bytes(struct wt_cursor *cursor, size_t count); /* NULL on failure */

/* ---- the zygote's socket ---- */

enum wt_request {
    WT_REQUEST_NONE,
    WT_REQUEST_SPAWN,   /* fds: share, code, control, [scratch], [the line to the door], a
                           directory a mount */
    WT_REQUEST_BECOME,  /* the same, and the zygote itself is the worker from then on;
                           no answer */
    WT_REQUEST_COMPILE, /* fds: module, artifact, note */
    WT_REQUEST_REAP,    /* a child that has ended */
};

struct wt_message {
    uint32_t request;
    int32_t pid;    /* of the child; negative: -errno */
    int32_t status; /* of waitpid(), for WT_REQUEST_REAP; in its question: a signal to end
                       it by, or 0 when it has ended */
};

#define WT_FDS_MAX 128

/* How a compilation went; in memory shared with the child that compiles. */
struct wt_note {
    uint32_t status; /* enum nacre_status */
    uint64_t size;   /* of the artifact */
    char text[480];
};

/* Both return false with errno set; at the end of the stream errno is 0. */
bool wt_send(int socket, const struct wt_message *message, const int *fds,
             uint32_t fd_count);
bool wt_receive(int socket, struct wt_message *ret_message, int *ret_fds,
                uint32_t *ret_count);

#endif
