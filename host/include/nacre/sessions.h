#ifndef NACRE_SESSIONS_H
#define NACRE_SESSIONS_H

#include <stdatomic.h>

#include "nacre/session.h"

/*
 * Sessions while they run: whose turn it is, the sandbox's own workspace, and what is
 * left when they have ended.  What holds for one is settled by nacre/session.h; here it
 * is done.
 *
 * STATE_DIR/sessions holds a file for each turn (a session key's), and for each sandbox a
 * record and its locks.  Locks are the kernel's: whoever dies lets go of them.  A record
 * is written before the workspace that it tells of is made, and removed after it: what a
 * killed process leaves is found by it.
 */

/* ---- a session for the length of a run ---- */

struct nacre_engine;
struct nacre_tool;
struct nacre_session_hold;

struct nacre_session_open_options {
    const char *state_dir;
    uint64_t deadline_ns; /* of nacre_clock_ns(): so long others are waited for */
    const _Atomic int *cancelled; /* not 0: no more waiting; may be NULL */
    bool out_of_turn; /* not a run: what runs in the session meanwhile is no matter */
    /* For tests: called before each change that is made to the file system. */
    void (*step)(void *data, const char *name);
    void *step_data;
};

/*
 * Takes the session's turn and makes the sandbox's own workspace, mode 0700, with its
 * root; where a session has the agent's own (access rw, or no sandbox), that one is made
 * if it is missing.  Nothing is put into either.  As root the workspace belongs to whom
 * the container runs as.  The sandbox is not pruned while it is held.
 *
 * NACRE_ERR_TIMEOUT: another run has the turn.  NACRE_ERR_DENIED: a link, another user's
 * directory or one that others may write lies on the way; nothing was made beyond it.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_session_open(const struct nacre_session *session,
                   const struct nacre_session_open_options *options,
                   struct nacre_session_hold **ret_hold, struct nacre_error *err);
/* What nacre_run() said of the run that it was held for: where that was refused, a disk
 * that was made for it, and is empty, goes again, and the workspace is not open any more.
 * Accepts NULL; `result` counts where `status` is NACRE_OK. */
void nacre_session_hold_settle(struct nacre_session_hold *hold, enum nacre_status status,
                               const struct nacre_result *result);
/* It was used until now.  Accepts NULL. */
void nacre_session_hold_free(struct nacre_session_hold *hold);
NACRE_OWNED(nacre_session_hold)

/*
 * The same for a run by one of the session's policies: waits at most as long as the run
 * may take, takes what was waited from request->timeout_ms, and makes the request the
 * session's, as nacre_session_request() does.  At level none it has its consent from the
 * configuration, and says so in request->approver.  The request borrows from session and
 * hold.
 *
 * A request that its policy or this machine refuses makes nothing and waits for nobody:
 * *ret_hold is then NULL, and nacre_run() says why.
 *
 * `out_of_turn` is for a command in the background, beside which the session goes
 * on; `cancelled` may be NULL, and `tool` where it is not known yet.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_session_enter(const struct nacre_session *session, struct nacre_engine *engine,
                    const struct nacre_policy *policy, const struct nacre_tool *tool,
                    bool out_of_turn, const _Atomic int *cancelled,
                    struct nacre_request *request,
                    struct nacre_session_hold **ret_hold, struct nacre_error *err);

/* What the session sees as /workspace: open, and its path.  -1 and NULL: an agent without
 * a workspace. */
int nacre_session_hold_fd(const struct nacre_session_hold *hold);
const char *nacre_session_hold_path(const struct nacre_session_hold *hold);

/* ---- what is put into it ---- */

#define NACRE_MEDIA_DIR "media/inbound"
#define NACRE_MEDIA_NAME 256
#define NACRE_MEDIA_BYTES_MAX (UINT64_C(512) << 20)

/* Can `path` be put?  Asked of all before the first is: a wrong name changes nothing. */
NACRE_MUST_CHECK enum nacre_status nacre_session_put_check(const char *path,
                                                           struct nacre_error *err);
/*
 * Copies the regular file `path` to media/inbound, under its own name made safe; where
 * that is taken, with a number: "photo-2.png".  Whole or not at all.  Links are followed
 * at neither end.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_session_put_file(struct nacre_session_hold *hold, const char *path,
                       char ret_name[NACRE_MEDIA_NAME], struct nacre_error *err);

#define NACRE_SKILLS_DIR "skills"
#define NACRE_SKILLS_MAX 256
#define NACRE_SKILL_FILES_MAX 8192 /* of all together; and as many folders */
#define NACRE_SKILL_BYTES_MAX (UINT64_C(256) << 20)
#define NACRE_SKILL_DEPTH_MAX 16

struct nacre_skills_report {
    uint32_t skills, files;
    uint32_t not_skills; /* folders without a SKILL.md */
    uint32_t left_out;   /* links, sockets, devices: neither followed nor copied */
};

/*
 * Makes skills/ the mirror of the folders in `dir` that have a SKILL.md: what was there
 * before is gone.  Whole or not at all.  NACRE_ERR_USAGE: this workspace is the agent's
 * own.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_session_put_skills(struct nacre_session_hold *hold, const char *dir,
                         struct nacre_skills_report *ret_report, struct nacre_error *err);

/* ---- what there is ---- */

struct nacre_session_info {
    enum nacre_scope scope;
    const char *scope_key; /* as nacre/session.h has it */
    const char *agent;     /* of the session that made it */
    const char *config;    /* the file that it was made by, or its name */
    const char *root;      /* of its workspace */
    const char *workspace; /* the name in `root`; NULL: it has the agent's own */
    const char *box_name;
    uint64_t created_ms, used_ms; /* since 1970 */
    uint64_t idle_ms, age_ms; /* prune by these; 0: never */
    bool daily;            /* looked at once a day */
    bool live;             /* somebody holds it now */
};

/* Each sandbox that has a record, until `each` returns false. */
NACRE_MUST_CHECK enum nacre_status
nacre_sessions_each(const char *state_dir,
                    bool (*each)(void *data, const struct nacre_session_info *info),
                    void *data, struct nacre_error *err);

/* ---- their end ---- */

/* How a warm sandbox is ended: `which` and `scope_key` (NULL: any) as nacre_keeper_end()
 * takes them.  *ret_left: it was left, as something runs in it. */
struct nacre_sessions_ender {
    enum nacre_status (*end)(void *data, const char *which, const char *scope_key,
                             bool force, uint32_t *ret_ended, uint32_t *ret_left,
                             struct nacre_error *err);
    void *data;
};

struct nacre_sessions_report {
    uint32_t ended;      /* warm sandboxes */
    uint32_t workspaces; /* removed */
    uint32_t in_use;     /* left, as they are */
    uint32_t kept;       /* of `end`: its agent's, so they stay */
    uint32_t jobs;       /* of `end`: in the background */
};

struct nacre_sessions_end {
    enum nacre_scope scope; /* UNSET: a session; AGENT and SHARED: what is theirs */
    const char *key;        /* of the session, or the agent's name; SHARED: not read */
    bool force;
    uint64_t deadline_ns; /* of nacre_clock_ns(): so long a run that is ended has */
    /* Ends what runs in the session's background. */
    enum nacre_status (*end_jobs)(void *data, const char *key, uint32_t *ret_ended,
                                  struct nacre_error *err);
    void *jobs_data;
    /* For tests: called before each change that is made to the file system. */
    void (*step)(void *data, const char *name);
    void *step_data;
};

/*
 * The session `key` is over: what runs in its background, its own sandboxes and their
 * workspaces go.  Those of its agent, and shared ones, stay; a session that had no sandbox
 * has nothing else to lose.  NACRE_ERR_UNAVAILABLE: it runs, and `force` is not set, or it
 * runs on the host; where somebody has its turn, nothing was ended then.  With `force` a
 * sandboxed run is ended first.  NACRE_ERR_NOT_FOUND: nothing is known of it.
 *
 * Of an agent's or the shared scope likewise what is private to that; sessions in it and
 * what runs in their background are theirs, and stay.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_sessions_end(const char *state_dir, const struct nacre_sessions_end *how,
                   const struct nacre_sessions_ender *ender,
                   struct nacre_sessions_report *ret_report, struct nacre_error *err);

struct nacre_sessions_prune {
    bool limits_given;       /* by the next two, whatever the records say */
    uint64_t idle_ms, age_ms; /* strictly more; 0: never */
    const char *config;      /* only what was made by this file; NULL: any */
    bool timer;              /* those of once a day only when it is time */
    /* Unless limits are given: those of one agent now, instead of the record's; false: it
     * can't be told, and the sandbox stays.  NULL: the record's hold. */
    bool (*limits)(void *data, const char *agent, uint64_t *ret_idle_ms,
                   uint64_t *ret_age_ms);
    void *limits_data;
    uint64_t now_ms; /* for tests: since 1970; 0: the clock's */
    /* For tests: called before each change that is made to the file system. */
    void (*step)(void *data, const char *name);
    void *step_data;
};

/* Ends what was unused or is old, with its workspace.  One that is held, or in which a
 * command runs, is never taken.  What fails is left for the next time. */
NACRE_MUST_CHECK enum nacre_status
nacre_sessions_prune(const char *state_dir, const struct nacre_sessions_prune *how,
                     const struct nacre_sessions_ender *ender,
                     struct nacre_sessions_report *ret_report, struct nacre_error *err);

#endif
