#ifndef NACRE_NACRE_H
#define NACRE_NACRE_H

/*
 * libnacre: what an embedder includes.
 *
 *     struct nacre_engine *engine;  nacre_engine_open(NULL, &engine, &err);
 *     struct nacre_policy *policy;
 *     nacre_engine_policy(engine, "workspace", &policy, &err);
 *     struct nacre_tool *tool;  nacre_tool_load("tool.wasm", &tool, &err);
 *     struct nacre_request request = { .input_fd = -1, .workspace = "/srv/work" };
 *     struct nacre_result *result;
 *     nacre_run(engine, policy, tool, &request, &result, &err);
 *     ... result->outcome, result->output ...
 *     nacre_result_free(result); nacre_tool_free(tool); nacre_policy_free(policy);
 *     nacre_engine_free(engine);
 *
 * Engines, policies and tools may be shared between threads; a result belongs to
 * its caller.  Functions that can fail return an enum nacre_status, fill `err` if
 * and only if they fail, and write ret_x if and only if they succeed.
 */

#include "nacre/audit.h"
#include "nacre/boxes.h"
#include "nacre/cache.h"
#include "nacre/error.h"
#include "nacre/executor.h"
#include "nacre/explain.h"
#include "nacre/module.h"
#include "nacre/plan.h"
#include "nacre/policy.h"
#include "nacre/result.h"
#include "nacre/tool.h"

#define NACRE_VERSION "0.1.0"

struct nacre_engine;

/* Zeroed is the default for all. */
struct nacre_engine_options {
    const char *program;      /* path of the nacre program, for `__zygote` and `keeper`;
                                 NULL: found in $NACRE_PROGRAM or in PATH */
    bool fork_self;           /* this process has one thread: fork instead of spawning */
    bool single_run;          /* with fork_self: nacre_run() will be called once */
    bool in_process;          /* guests run in this process: see explain */
    bool commands_only;       /* no module will run: level wasm is not made ready early */
    bool process_early;       /* with single_run: level process is, for a command of which
                                 the policy is still to be read; another level's ends it */
    bool own_boxes;           /* what stays warm belongs to this process and ends with it:
                                 no keeper */
    const char *state_dir;    /* NULL: $XDG_STATE_HOME/nacre or ~/.local/state/nacre */
    const char *cache_dir;    /* NULL: $XDG_CACHE_HOME/nacre or ~/.cache/nacre */
    const char *key_dir; /* NULL: $XDG_CONFIG_HOME/nacre/keys or ~/.config/nacre/keys */
    const char *host_file; /* NULL: $XDG_CONFIG_HOME/nacre/host.yaml or
                              ~/.config/nacre/host.yaml */
    const char *const *policy_dirs; /* NULL: $NACRE_POLICY_DIR, ~/.config/nacre/policies,
                                       the policies/ installed with the program */
    const char *const *tool_dirs; /* NULL: $NACRE_TOOL_DIR, ~/.config/nacre/tools, the
                                     tools that are built or installed with the program */
    const char *audit_path;   /* NULL: state_dir/audit.jsonl */
    bool audit_off;           /* only for measuring; the program has no such option */
    uint32_t landlock_min;
    void (*on_progress)(void *data, const char *what, uint64_t elapsed_ms);
    void (*on_notice)(void *data, const char *sentence); /* e.g. a repaired audit log */
    void *callback_data;
};

NACRE_MUST_CHECK enum nacre_status nacre_engine_open(
    const struct nacre_engine_options *options, struct nacre_engine **ret_engine,
    struct nacre_error *err);
void nacre_engine_free(struct nacre_engine *engine); /* accepts NULL */
NACRE_OWNED(nacre_engine)

/* By reference, in the engine's policy directories; NULL: the most restrictive one. */
NACRE_MUST_CHECK enum nacre_status nacre_engine_policy(struct nacre_engine *engine,
                                                       const char *reference,
                                                       struct nacre_policy **ret_policy,
                                                       struct nacre_error *err);

/*
 * Plan, record, run, record.  A refusal by the policy is NACRE_OK with the outcome
 * DENIED and the reasons in result->denials; it leaves the same two records.
 */
NACRE_MUST_CHECK enum nacre_status nacre_run(struct nacre_engine *engine,
                                             const struct nacre_policy *policy,
                                             const struct nacre_tool *tool,
                                             const struct nacre_request *request,
                                             struct nacre_result **ret_result,
                                             struct nacre_error *err);

/* Would nacre_run() refuse it by its rules for commands, by its plan, or because this
 * machine can't enforce that?  `tool` is NULL where it is not known yet.  Nothing is
 * recorded, and nothing that was asked for is used up. */
bool nacre_run_is_refused(struct nacre_engine *engine, const struct nacre_policy *policy,
                          const struct nacre_tool *tool,
                          const struct nacre_request *request);

/*
 * For a caller who could not read the policy (NULL then) or the tool: leaves the two
 * records of a run that failed for the reason in *err.  `tool_name` is its name or path.
 * Returns err->status; `err` stays as it is, except that it tells when there could be no
 * record either.
 */
enum nacre_status nacre_run_failed(struct nacre_engine *engine,
                                   const struct nacre_policy *policy,
                                   const char *tool_name,
                                   const struct nacre_request *request,
                                   struct nacre_error *err);

/* End every run of this engine soon, as if by `signal`: those under way and those that
 * still come, until 0 takes it back.  Safe in signal handlers. */
void nacre_cancel(struct nacre_engine *engine, int signal);

/* The executor of a level, opened and probed; for `backends` and `explain`.  It lives as
 * long as the engine.  NACRE_ERR_UNAVAILABLE says why there is none here. */
NACRE_MUST_CHECK enum nacre_status
nacre_engine_executor(struct nacre_engine *engine, enum nacre_level level,
                      const struct nacre_executor **ret_executor, struct nacre_error *err);

/* nacre_plan_draft(), with refusals also for what this machine can't enforce. */
NACRE_MUST_CHECK enum nacre_status nacre_engine_draft(struct nacre_engine *engine,
                                                      const struct nacre_policy *policy,
                                                      const struct nacre_request *request,
                                                      struct nacre_plan **ret_plan,
                                                      struct nacre_error *err);

/*
 * Be the keeper for other processes of this user: see nacre/keeper.h.  Serves until it is
 * idle or told to leave; then nothing is warm any more.  NACRE_ERR_USAGE: there is one
 * already.
 */
struct nacre_engine_keep_options {
    uint64_t idle_ms;           /* 0: a minute */
    uint64_t reap_ms;           /* purge expired tokens every so often; 0: 5 minutes */
    int ready_fd;               /* receives a byte when clients can come; -1: none */
    const _Atomic int *leaving; /* a signal's number: end everything and leave */
};
NACRE_MUST_CHECK enum nacre_status nacre_engine_keep(
    struct nacre_engine *engine, const struct nacre_engine_keep_options *options,
    struct nacre_error *err);

/*
 * The warm sandboxes of every process of this user that lives, the keeper's and those of
 * engines with own_boxes: by the keeper and the registry, and where that is lost by the
 * engine's labels.  `ret_note` tells about what is lost, or is "".
 */
#define NACRE_BOXES_NOTE 1024
NACRE_MUST_CHECK enum nacre_status
nacre_engine_boxes(struct nacre_engine *engine,
                   bool (*each)(void *data, const struct nacre_box_info *info),
                   void *data, char ret_note[NACRE_BOXES_NOTE], struct nacre_error *err);

/* Is there one called `which` (as ps shows it) that neither this engine nor the keeper
 * has?  Then only the process *ret_pid can end it; 1: that is not known. */
bool nacre_engine_box_is_anothers(struct nacre_engine *engine, const char *which,
                                  int32_t *ret_pid);

/*
 * `nacre prune`, for an embedder: sessions by their records, as nacre_sessions_prune(),
 * and with no `config` also what has no record, by idle_ms and age_ms (strictly more; 0:
 * never).  With own_boxes these are this engine's own; else the keeper's.
 */
struct nacre_sessions_prune;
struct nacre_sessions_report;
NACRE_MUST_CHECK enum nacre_status
nacre_engine_prune(struct nacre_engine *engine, const struct nacre_sessions_prune *how,
                   struct nacre_sessions_report *ret_report, struct nacre_error *err);

/* As nacre_container_image_build(), see nacre/boxes.h, with the engine's own executor. */
NACRE_MUST_CHECK enum nacre_status
nacre_engine_image_build(struct nacre_engine *engine, enum nacre_image image,
                         const char *tag, void (*said)(void *data, const char *text), void *data,
                         struct nacre_error *err);

/* What a run of `tool` (its name, or NULL) would be granted of the secrets that `request`
 * asks for, and by the tokens that its session or agent holds: names and hosts, no value;
 * for planning.  NULL: none of either.  As nacre_secrets_collect() fails. */
struct nacre_secret_set;
NACRE_MUST_CHECK enum nacre_status
nacre_engine_secrets(struct nacre_engine *engine, const struct nacre_policy *policy,
                     const char *tool, const struct nacre_request *request,
                     struct nacre_secret_set **ret_set, struct nacre_error *err);

/*
 * What a layer above keeps with an engine: made by `make` at the first call for it, given
 * back as the same to every later one, and released with the engine.  NULL: out of
 * memory.  From several threads; `make` names which one is meant.
 */
void *nacre_engine_attached(struct nacre_engine *engine, void *(*make)(void),
                            void (*release)(void *thing));

/* The directories in use, for messages. */
const char *const *nacre_engine_policy_dirs(const struct nacre_engine *engine);
const char *const *nacre_engine_tool_dirs(const struct nacre_engine *engine);
const char *nacre_engine_state_dir(const struct nacre_engine *engine);
const char *nacre_engine_cache_dir(const struct nacre_engine *engine);
const char *nacre_engine_audit_path(const struct nacre_engine *engine);
const char *nacre_engine_key_dir(const struct nacre_engine *engine);
/* Tells the engine's on_notice, if it has one. */
void nacre_engine_notice(struct nacre_engine *engine, const char *sentence);
/* The nacre program, or NULL where it is not known. */
const char *nacre_engine_program(const struct nacre_engine *engine);
/* The operator's own configuration, see nacre/approval.h; NULL or not there:
 * it says nothing. */
const char *nacre_engine_host_file(const struct nacre_engine *engine);

/* ---- the compiled-code cache ---- */

/* Compile `tool` now, with a deadline of its own, and keep the code. */
NACRE_MUST_CHECK enum nacre_status nacre_cache_add(struct nacre_engine *engine,
                                                   const struct nacre_tool *tool,
                                                   uint64_t timeout_ms,
                                                   struct nacre_error *err);

NACRE_MUST_CHECK enum nacre_status nacre_cache_report(
    struct nacre_engine *engine, struct nacre_cache_report *ret_report,
    struct nacre_error *err);
/* Hand over each entry, the one that was used last first. */
NACRE_MUST_CHECK enum nacre_status
nacre_cache_list(struct nacre_engine *engine,
                 void (*each)(void *data, const struct nacre_cache_entry *entry),
                 void *data, struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status nacre_cache_clear(
    struct nacre_engine *engine, struct nacre_cache_report *ret_removed,
    struct nacre_error *err);

#endif
