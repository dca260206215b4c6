#ifndef NACRE_SESSION_STORE_H
#define NACRE_SESSION_STORE_H

#include "nacre/clock.h"
#include "nacre/own.h"
#include "nacre/sessions.h"
#include "nacre/text.h"

/* STATE_DIR/sessions: locks and records, and the directories that records tell of. */

#define SESSION_ID 33                  /* hex digits, and the terminator */
#define SESSION_FILE (SESSION_ID + 8)  /* with a dot and what it is */

#define SESSION_TURN "turn" /* of a session key: whoever runs has it alone */
#define SESSION_HELD "held" /* of a sandbox: shared by who uses it, alone to end it */
#define SESSION_PUT "put"   /* of a sandbox: alone to put something into it */

/* As tests want to know it: something is about to change. */
struct session_steps {
    void (*step)(void *data, const char *name); /* may be NULL */
    void *data;
};
void session_step(const struct session_steps *steps, const char *name);

NACRE_MUST_CHECK enum nacre_status session_store_open(const char *state_dir, int *ret_fd,
                                                      struct nacre_error *err);
void session_turn_id(const char *agent, const char *key, char ret_id[SESSION_ID]);
void session_box_id(const char *root, enum nacre_scope scope, const char *scope_key,
                    char ret_id[SESSION_ID]);

/* ---- locks ---- */

struct session_wait {
    uint64_t deadline_ns; /* 0: not at all */
    const _Atomic int *cancelled; /* may be NULL */
};

/* For a loop around what fails with NACRE_ERR_TIMEOUT at once: is there time left, and a
 * pause that grows from SESSION_PAUSE_NS on. */
#define SESSION_PAUSE_NS NACRE_NS_PER_MS
bool session_may_wait(const struct session_wait *wait);
void session_pause(const struct session_wait *wait, uint64_t *pause_ns);

/* How long the run may take, with what it waits for. */
uint64_t session_time_ms(const struct nacre_policy *policy,
                         const struct nacre_request *request);

/*
 * Locks the file of `id` and `kind`, made when it is missing.  Closing *ret_fd, or the
 * end of the process, lets go.  NACRE_ERR_TIMEOUT: somebody else has it; *ret_pid (may be
 * NULL) is then a process that had it alone, or 0.
 */
NACRE_MUST_CHECK enum nacre_status session_lock(int dir_fd, const char *id,
                                                const char *kind, bool alone,
                                                const struct session_wait *wait,
                                                int *ret_fd, int *ret_pid,
                                                struct nacre_error *err);
/* Has anybody ever locked it, since it was last removed? */
bool session_lock_is_there(int dir_fd, const char *id, const char *kind);
/* Removes the file of a lock that is held alone. */
void session_lock_remove(int dir_fd, const char *id, const char *kind);
/* Removes the files of turns that nobody has, and of sandboxes that there are not. */
void session_locks_tidy(int dir_fd);

/* ---- records ---- */

struct session_record {
    char id[SESSION_ID];
    char *scope_key, *agent, *config, *root, *workspace, *box_name; /* owned */
    enum nacre_scope scope;
    uint64_t created_ms, used_ms, idle_ms, age_ms;
    bool daily;
};
void session_record_clear(struct session_record *record);

/* Writes the session's record, or keeps the one that says the same; used now.  A text
 * that can't be recorded is NACRE_ERR_USAGE. */
NACRE_MUST_CHECK enum nacre_status session_record_keep(int dir_fd, const char *id,
                                                       const struct nacre_session *session,
                                                       const struct session_wait *wait,
                                                       const struct session_steps *steps,
                                                       struct nacre_error *err);
/* NACRE_ERR_NOT_FOUND; NACRE_ERR_PARSE: it is broken. */
NACRE_MUST_CHECK enum nacre_status session_record_read(int dir_fd, const char *id,
                                                       struct session_record *ret_record,
                                                       struct nacre_error *err);
void session_record_touch(int dir_fd, const char *id);
void session_record_remove(int dir_fd, const char *id);

/* The ids of all records, NULL-terminated; free() them and the list. */
NACRE_MUST_CHECK enum nacre_status session_record_ids(int dir_fd, char ***ret_ids,
                                                      struct nacre_error *err);
static inline void session_ids_guard(char ***ids)
{
    for (size_t i = 0; *ids && (*ids)[i]; i++)
        free((*ids)[i]);
    free(*ids);
}

/* ---- directories ---- */

/*
 * Opens the absolute `path`, from / on and by no link; with `make`, what is missing is
 * made, mode 0700.  NACRE_ERR_DENIED names the part that can't be trusted,
 * NACRE_ERR_NOT_FOUND what is missing.
 */
NACRE_MUST_CHECK enum nacre_status session_dir_walk(const char *path, bool make,
                                                    const struct session_steps *steps,
                                                    int *ret_fd, struct nacre_error *err);

/* Whom the workspace belongs to: for root, whom its sandboxes run as. */
struct session_owner {
    uint32_t uid, gid;
};
NACRE_MUST_CHECK enum nacre_status session_owner_of(const struct nacre_session *session,
                                                    struct session_owner *ret_owner,
                                                    struct nacre_error *err);

/* The directory `name` in `parent_fd`, made when it is missing.  With `put_right` one that
 * its guest has changed the mode of has it as at first; else it is left as it is. */
NACRE_MUST_CHECK enum nacre_status session_dir_make(int parent_fd, const char *name,
                                                    const struct session_owner *owner,
                                                    bool put_right,
                                                    const struct session_steps *steps,
                                                    int *ret_fd, struct nacre_error *err);

/*
 * A session's own workspace `name` in `root_fd`, open as `*fd`, that holds at most `bytes`
 * (0: it was not asked for).  Bounded when it is made and for as long as it is there; one
 * that has files already, or that can't be bounded here, stays as it is: what needs the
 * bound has to look.
 */
struct session_disk {
    int dir_fd; /* of the store, where its file lies */
    const char *id;
    uint64_t bytes;
    int root_fd;
    const char *name;
    const struct session_owner *owner;
    const struct session_wait *wait;
    const struct session_steps *steps;
    bool *made; /* set where there was none before */
};
NACRE_MUST_CHECK enum nacre_status session_disk_open(const struct session_disk *disk,
                                                     int *fd, struct nacre_error *err);
bool session_dir_is_empty(int fd);
/* Its end: whoever comes back before the workspace itself is removed finds it empty. */
NACRE_MUST_CHECK enum nacre_status session_disk_remove(int dir_fd, const char *id,
                                                       int root_fd, const char *name,
                                                       struct nacre_error *err);

/* Takes the workspace `name` out of `root_fd`: moved aside first, so that a session that
 * comes back never finds half of it. */
NACRE_MUST_CHECK enum nacre_status
session_workspace_remove(int root_fd, const char *name, const struct session_steps *steps,
                         struct nacre_error *err);
/* Removes what was moved aside. */
NACRE_MUST_CHECK enum nacre_status session_workspace_finish(int root_fd, const char *name,
                                                            struct nacre_error *err);
/* Has somebody died over that? */
bool session_workspace_is_half_gone(int root_fd, const char *name);

/* Ends a sandbox whose hold is the caller's alone, with its workspace, its record and its
 * locks.  *ret_left: a command runs in it, and it is as it was. */
NACRE_MUST_CHECK enum nacre_status
session_end_held(int dir_fd, const struct session_record *record, bool force,
                 const struct nacre_sessions_ender *ender,
                 const struct session_steps *steps, struct nacre_sessions_report *report,
                 bool *ret_left, struct nacre_error *err);

/* ---- what a hold is ---- */

struct nacre_session_hold {
    int dir_fd, turn_fd, held_fd;
    int fd;       /* of the workspace; -1: none */
    char *path;   /* of the workspace */
    bool own;     /* the sandbox's, not the agent's */
    bool disk_made; /* for this hold: the workspace had none */
    char id[SESSION_ID]; /* of the sandbox; "": there is none */
    struct session_owner owner;
    struct session_wait wait;
    struct session_steps steps;
    char approver[NACRE_SHOWN + 64]; /* of a run at level none */
};

/* Copies the regular file `from_fd` to `to_fd`, NACRE_ERR_TOO_BIG beyond `bytes_max`;
 * *ret_bytes (may be NULL) is how many. */
NACRE_MUST_CHECK enum nacre_status session_copy(int from_fd, int to_fd,
                                                uint64_t bytes_max, uint64_t *ret_bytes,
                                                struct nacre_error *err);

#endif
