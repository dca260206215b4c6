#ifndef NACRE_EXECUTOR_H
#define NACRE_EXECUTOR_H

#include <stdatomic.h>
#include <stdint.h>

#include "nacre/plan.h"
#include "nacre/result.h"

struct nacre_tool;
struct nacre_doors;
struct nacre_executor;

/* What an executor is opened with; borrowed for its life.  One for the only run of a program
 * is opened with what the caller says; the places follow before that run. */
struct nacre_executor_options {
    const char *program;     /* the nacre program, to spawn `nacre __zygote`; NULL: this
                                process has one thread and may fork itself */
    bool single_run;         /* with program NULL: there will be one run and no other */
    const char *cache_dir;   /* for compiled code; NULL: none */
    const char *key_dir;     /* where the key that authenticates the cache lives */
    const char *state_dir;   /* for what stays between runs: boxes, sessions */
    const char *const *protected_paths; /* NULL-terminated: nacre's own directories, denied
                                           to every guest; or NULL */
    struct nacre_executor *containers; /* level vm: whose engine and boxes it shares; else
                                          NULL */
    struct nacre_doors *doors; /* what plans with an open network leave by; NULL: none */
    /* The container engine that the operator's host.yaml names, the directory of its
     * certificates, and where that stands; NULL: none. */
    const char *engine_host, *engine_certificates, *engine_origin;
    const struct nacre_error *engine_unknown; /* why host.yaml can't tell; NULL: it can */
    const char *host_file;   /* for a keeper that is started; NULL: its own to find */
    uint32_t engine_ms_max;  /* for tests: no call to a container engine has longer; 0:
                                each has its own time */
    bool in_process;         /* run guests in this process: no jail, no kill */
    uint32_t landlock_min;   /* --require-landlock N; 0: use what there is */
    /* Told about once a second while something slow goes on; may be NULL. */
    void (*on_progress)(void *data, const char *what, uint64_t elapsed_ms);
    void *on_progress_data;
};

/*
 * The whole contract between the host and a backend.  Every member is mandatory.
 * run() may be called from several threads at once.
 */
struct nacre_executor_ops {
    const char *name; /* as policies and audit records spell it */

    /* Find out what works here.  NACRE_ERR_UNAVAILABLE when nothing does. */
    enum nacre_status (*open)(const struct nacre_executor_options *options,
                              struct nacre_executor **ret_executor,
                              struct nacre_error *err);

    /* Complete `features` by those of `wanted` that open() left aside, because finding
     * out costs more than a run.  From several threads. */
    void (*probe)(struct nacre_executor *executor, uint64_t wanted);

    /*
     * Run `tool` to its end.  NACRE_OK means "the guest ran and `result` says how it
     * ended", even if it trapped; NACRE_ERR_NOT_RUNNABLE or NACRE_ERR_UNAVAILABLE
     * that it never started, for a reason of its own; anything else means the host
     * failed and the guest's effects are unknown.
     */
    enum nacre_status (*run)(struct nacre_executor *executor, const struct nacre_plan *plan,
                             const struct nacre_tool *tool,
                             const struct nacre_request *request,
                             struct nacre_result *result, struct nacre_error *err);

    /* End every run() soon, under way or still to come: outcome KILLED by `signal`; 0
     * takes it back.  From any thread and from a signal handler, any number of times. */
    void (*cancel)(struct nacre_executor *executor, int signal);

    /* Accepts NULL.  No run() may be under way. */
    void (*free)(struct nacre_executor *executor);
};

/* First member of every backend's own struct. */
struct nacre_executor {
    const struct nacre_executor_ops *ops;
    _Atomic uint64_t features; /* mask of enum nacre_feature; grows by probe() only */
    struct nacre_mechanism mechanisms[NACRE_MECHANISMS_MAX]; /* its walls, probed */
    _Atomic uint32_t mechanism_count; /* likewise */
};

/* The one place that calls ops->run(): what holds for every backend is checked here. */
NACRE_MUST_CHECK enum nacre_status nacre_executor_run(struct nacre_executor *executor,
                                                      const struct nacre_plan *plan,
                                                      const struct nacre_tool *tool,
                                                      const struct nacre_request *request,
                                                      struct nacre_result *result,
                                                      struct nacre_error *err);

/*
 * The executor for the plan's level, if it can enforce all that the plan requires.
 * Never another one: NACRE_ERR_UNAVAILABLE names what is missing, and *ret_denials
 * (never NULL on entry) has received the line of the policy behind each of it.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_executor_select(struct nacre_executor *const executors[], uint32_t count,
                      const struct nacre_plan *plan, struct nacre_executor **ret_executor,
                      struct nacre_result *ret_denials, struct nacre_error *err);

/* Add a wall to a list of mechanisms; drops what does not fit (there are few). */
void nacre_mechanism_add(struct nacre_executor *executor, const char *name, bool present,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

extern const struct nacre_executor_ops nacre_wasm_executor;
extern const struct nacre_executor_ops nacre_process_executor;
extern const struct nacre_executor_ops nacre_container_executor;
extern const struct nacre_executor_ops nacre_vm_executor;
extern const struct nacre_executor_ops nacre_none_executor;

#endif
