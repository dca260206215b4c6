#ifndef NACRE_PLAN_H
#define NACRE_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "nacre/egress.h"
#include "nacre/error.h"
#include "nacre/hash.h"
#include "nacre/own.h"
#include "nacre/path.h"
#include "nacre/policy.h"
#include "nacre/result.h"

/* ---- what a caller asks for ---- */

struct nacre_mount_request {
    const char *guest;
    const char *host; /* absolute: a relative one is refused */
    char mode; /* 'r' read-only, 'w' read-write, 0: what the policy grants */
};

/* A file that only this run sees, read-only and never on a disk. */
struct nacre_secret_file {
    const char *name; /* in /run/secrets */
    const unsigned char *bytes;
    size_t count;
};
#define NACRE_SECRET_DIR "/run/secrets"

struct nacre_secret_set;

/* Larger input comes by an fd. */
#define NACRE_REQUEST_INPUT_MAX ((size_t)256 << 10)

/*
 * One call of a tool.  Everything is borrowed for the length of the call.  Zeroed
 * is a valid request: no arguments, no environment, empty input.
 */
struct nacre_request {
    const char *const *arguments; /* NULL-terminated, without the tool's name; or NULL */
    const char *const *environment; /* NULL-terminated "K=V"; or NULL */
    const char *workspace; /* host directory for /workspace, absolute; or NULL: private */
    const struct nacre_mount_request *mounts;
    uint32_t mount_count;
    int input_fd;         /* the guest's stdin; 0 is the caller's own, -1 is empty */
    const char *input;    /* level wasm: stdin itself, in place of input_fd; or NULL */
    size_t input_bytes;   /* of it, at most NACRE_REQUEST_INPUT_MAX */
    uint32_t terminals;   /* bits 0, 1, 2: a guest may take this stream for a terminal */
    int trace_fd;         /* level wasm: receives a JSON line for each host call of the
                             guest; 0: none */
    uint64_t fuel;        /* 0: the default of the plan */
    uint64_t timeout_ms;  /* 0: the policy's */
    const char *invoke;   /* an export of a reactor, or NULL for _start */
    const char *session, *agent, *caller; /* for audit and for keeping runs apart */
    const char *called;   /* by which name an agent called the tool: a secret's grant may
                             be for that; NULL: the tool's own.  No executor reads it */
    const char *directory; /* where a native command starts; NULL: /workspace when it is
                              there, else / */
    const char *image;     /* of a container; NULL: the policy's, else the default */
    enum nacre_scope scope; /* of warm sandboxes; UNSET: session when there is one, else
                               run (nothing stays).  One that is named is the scope of
                               private directories too, at every level */
    const char *box_name;  /* what a warm container is called; NULL: a name of its own */
    bool workspace_is_own; /* nacre made `workspace` for a session, and may bound it: see
                              nacre/disk.h */
    bool unsandboxed;      /* consent to level none, which the policy must ask for too */
    bool refused; /* nacre_session_enter() found so, and nacre_run() only says why; no
                     executor reads it */
    const char *approver;  /* who gave that consent, for the audit record; or NULL */
    bool scan_files;       /* the leak scan looks through what is left in writable mounts */
    const char *const *waive; /* NULL-terminated names of policy lines ("cpu_shares") that
                                 need not be enforced; or NULL */

    const char *const *secrets; /* NULL-terminated "NAME" or "NAME=VARIABLE" from the
                                   vault, handed over as the policy's injection says */
    const char *const *tokens;  /* the same, as stand-ins that live for `token_ms` */
    uint64_t token_ms;          /* 0: as long as the run may last */
    const char *const *intercept; /* NULL-terminated hosts whose TLS the door may end */
    const char *intent;         /* a token of nacre/intent.h, or NULL */
    const char *user_input;     /* what the person said, whose digest an intent binds */
    const struct nacre_digest *input_digest; /* of all that stdin holds, where it is known
                                                and is what the call is about: recorded
                                                with the arguments; or NULL */

    /* Filled in by nacre_run(), for planning and for executors; a caller's is ignored. */
    const char *private_dir; /* of the scope: what a policy lists as /workspace and /tmp,
                                and nobody names, lies there and outlives the run.  NULL:
                                it is the run's own */
    const struct nacre_secret_set *granted;
    const struct nacre_secret_file *secret_files;
    uint32_t secret_file_count;

    /* Output as it comes, from the calling thread; NULL: only in the result.
     * `stream` is 1 or 2.  At native levels it has to return within 4 s: an owner that
     * gives no sign of life for longer is taken for dead, and its command is killed. */
    void (*on_output)(void *data, int stream, const char *bytes, size_t count);
    void *on_output_data;
    bool stream_only; /* leave result.output and result.errors empty */

    /* A signal's number put in here ends this run alone, as nacre_cancel() ends all; for
     * native levels.  May be NULL. */
    const _Atomic int *cancelled;

    /* Level container: connections into the sandbox.  A SOCK_SEQPACKET socket; whoever
     * sends a port (uint16_t) with a connected stream socket to its other end gets that
     * one joined to the port on the sandbox's loopback while the command runs.  What can't
     * be reached is closed.  0: nobody comes in. */
    int dial_fd;
};

/* ---- what may happen ---- */

/* What a backend can ENFORCE on this machine, not what it can merely accept. */
enum nacre_feature {
    NACRE_FEATURE_WASM           = 1 << 0,
    NACRE_FEATURE_MEMORY_LIMIT   = 1 << 1,
    NACRE_FEATURE_WALL_LIMIT     = 1 << 2,
    NACRE_FEATURE_FUEL           = 1 << 3,
    NACRE_FEATURE_OPEN_FILES     = 1 << 4,
    NACRE_FEATURE_OUTPUT_LIMIT   = 1 << 5,
    NACRE_FEATURE_PROCESSES      = 1 << 6,
    NACRE_FEATURE_CPU_SHARES_LOW = 1 << 7, /* at most 1024 */
    NACRE_FEATURE_CPU_SHARES_ANY = 1 << 8,
    NACRE_FEATURE_FS_BENEATH     = 1 << 9,
    NACRE_FEATURE_FS_DENIED      = 1 << 10,
    NACRE_FEATURE_FS_FULL        = 1 << 11,
    NACRE_FEATURE_NO_NETWORK     = 1 << 12,
    NACRE_FEATURE_NO_SHELL       = 1 << 13,
    NACRE_FEATURE_NATIVE         = 1 << 14, /* runs commands */
    NACRE_FEATURE_CPUS           = 1 << 15,
    NACRE_FEATURE_CPUSET         = 1 << 16,
    NACRE_FEATURE_SWAP_LIMIT     = 1 << 17, /* another than "none beyond memory" */
    NACRE_FEATURE_MEMORY_RESERVATION = 1 << 18,
    NACRE_FEATURE_DISK_OF_ROOT   = 1 << 19, /* a bound on a root that can be written */
    NACRE_FEATURE_DISK_IOPS      = 1 << 20,
    NACRE_FEATURE_DISK_IO_WEIGHT = 1 << 21,
    NACRE_FEATURE_APPARMOR       = 1 << 22,
    NACRE_FEATURE_SELINUX        = 1 << 23,
    NACRE_FEATURE_WARM           = 1 << 24, /* can keep a sandbox for a scope */
    NACRE_FEATURE_EGRESS         = 1 << 25, /* has a door, and no other way out */
    NACRE_FEATURE_SECRET_FILES   = 1 << 26,
    NACRE_FEATURE_TUNNEL_SCAN    = 1 << 27, /* what nobody has: required only of a caller
                                               who waives it */
    NACRE_FEATURE_SECCOMP_PROFILE = 1 << 28, /* one of the file's own: nobody has it,
                                                nacre's own filter holds */
    NACRE_FEATURE_DISK_OF_HOST   = 1 << 29, /* a bound on directories of the host's that
                                               a guest writes to: nobody has it */
    NACRE_FEATURE_RUNTIME        = 1 << 30, /* the very one that the policy names: gVisor
                                               in a container, Firecracker in a machine */
    NACRE_FEATURE_KVM            = 1u << 31, /* a machine that the processor keeps apart */
    NACRE_FEATURE_DISK_OF_SESSION = 1ull << 32, /* a bound on a session's own workspace */
};
const char *nacre_feature_name(enum nacre_feature feature);

/* What an executor of `level` can be asked for. */
uint64_t nacre_level_features(enum nacre_level level);

/* Lines of a policy that a caller may do without, by the name that --waive takes. */
#define NACRE_WAIVER_MAP(X)                      \
    X(MEMORY_LIMIT, "memory_mb")                 \
    X(CPU_SHARES_LOW, "cpu_shares")              \
    X(CPU_SHARES_ANY, "cpu_shares")              \
    X(PROCESSES, "max_processes")                \
    X(CPUS, "cpus")                              \
    X(CPUSET, "cpuset")                          \
    X(SWAP_LIMIT, "memory_swap")                 \
    X(MEMORY_RESERVATION, "memory_reservation")  \
    X(DISK_OF_ROOT, "disk")                      \
    X(DISK_OF_SESSION, "disk")                   \
    X(DISK_OF_HOST, "disk")                      \
    X(DISK_IOPS, "disk_iops")                    \
    X(DISK_IO_WEIGHT, "disk_io_weight")          \
    X(APPARMOR, "apparmor_profile")              \
    X(SELINUX, "selinux_label")                  \
    X(SECCOMP_PROFILE, "seccomp_profile")        \
    X(TUNNEL_SCAN, "tunnel-scan")                \
    X(KVM, NACRE_WAIVER_EMULATION)
#define NACRE_WAIVER_EMULATION "emulation" /* also --allow-emulation */
const char *nacre_waiver_name(enum nacre_feature feature); /* NULL: never waived */

/* In nacre's state: the directory of all that is private to a scope. */
#define NACRE_PRIVATE_ROOT "private"

#define NACRE_RULE_MOUNTS "capabilities.filesystem.mount_paths"

/* A directory that the guest will see. */
struct nacre_mount {
    char *guest;   /* normalised; what a preopen is called */
    char *host;    /* NULL: a fresh private directory, removed after the run */
    bool own;      /* `host` is nacre's, in its state: private to a session */
    bool writable;
    char **denied; /* relative to this mount; "" is the mount itself */
    uint32_t denied_count;
    char **covered; /* names that belong to another mount below this one */
    uint32_t covered_count;
    struct nacre_place place;
};

struct nacre_limits {
    uint64_t memory_bytes_max;
    bool memory_asked;     /* the policy says it; else it is a default, enforced where
                              the level can and told where it can't */
    uint64_t wall_ms_max;
    uint64_t open_files_max;
    uint64_t output_bytes_max;
    uint64_t cpu_shares;   /* 0: not asked for */
    uint64_t processes_max;
    bool processes_asked;  /* likewise */
    uint64_t fuel_max;
    bool fuel_exact;       /* a caller's own budget, not the default ceiling */
    uint64_t scratch_bytes_max, scratch_files_max; /* of private directories together */
};

/* What only a container or a machine has, settled: defaults filled in, texts owned by the
 * plan. */
struct nacre_container {
    char *image;
    char *workdir;
    char *user;             /* NULL: the caller's uid:gid, for root 1000:1000 */
    char *seccomp_profile;  /* NULL: ours is sent; "docker-default": none is */
    char *apparmor_profile, *selinux_label; /* NULL: the engine's default */
    char *setup_command;    /* or NULL */
    char *cpuset;           /* or NULL */
    char **tmpfs, **keep_capabilities, **blocked_syscalls, **environment, **ulimits;
                            /* NULL-terminated; never NULL at its levels */
    bool read_only_root;
    bool user_namespaces;   /* a browser's own sandbox needs them; no policy can ask */
    uint64_t memory_swap_bytes;      /* memory and swap together; equal to memory unless
                                        said otherwise */
    uint64_t memory_reservation_bytes, cpus_nano; /* 0: not asked for; so below */
    uint64_t disk_bytes, disk_iops, disk_io_weight;
};

#define NACRE_DEFAULT_IMAGE "nacre-sandbox:bookworm-slim"
#define NACRE_VM_IMAGE "nacre-vm:bookworm-slim" /* the machine's, around any sandbox's */

#define NACRE_VERDICT_MAP(X) \
    X(NONE, "none")          \
    X(GRANT, "grant")        \
    X(LIMIT, "limit")        \
    X(DENY, "deny")          \
    X(REFUSE, "refuse")      \
    X(WAIVE, "waive")        \
    X(NOTE, "note")
enum nacre_verdict {
#define X(id, name) NACRE_VERDICT_##id,
    NACRE_VERDICT_MAP(X)
#undef X
    NACRE_VERDICT_COUNT
};
const char *nacre_verdict_name(enum nacre_verdict verdict);

/* One line of the policy (or one default) and what becomes of it. */
struct nacre_decision {
    char rule[64];             /* capabilities.filesystem.mount_paths[1] */
    enum nacre_verdict verdict;
    struct nacre_place place;  /* line 0: a default */
    char what[256];            /* "/config read-only from /srv/config" */
    char mechanism[128];       /* "openat2 beneath the mount's fd; landlock" */
    char fix[256];             /* for DENY and REFUSE: the smallest change that flips it */
};

/*
 * What may happen in one run; sealed, never changed by an executor.  A function
 * of policy, tool and request alone: no file, clock or socket was touched.
 */
struct nacre_plan {
    enum nacre_level level;
    enum nacre_runtime runtime;
    bool full_tree; /* mode full: a mount "/" that resolves as a root */
    bool own_tmp; /* native levels: nothing asks for /tmp, and a private one is there */
    bool tmp_writable; /* that one is; and */
    bool shared_memory; /* so are /dev/shm and what else of the kind the level has */
    bool strict_binds; /* level wasm: names as resolved are judged by nacre/binds.h */
    struct nacre_mount *mounts;
    uint32_t mount_count;
    struct nacre_limits limits;
    struct nacre_egress egress; /* what may leave; mode DENY: nothing */
    enum nacre_injection injection; /* of the request's secrets */
    bool leak_scan;         /* output, traps and records are scanned */
    uint32_t leak_patterns; /* by so many patterns, see nacre/leak.h */
    uint64_t required; /* mask of enum nacre_feature */
    uint64_t waivable; /* of those: the caller does without, where they can't be had */
    char *directory;   /* where a native command starts */
    enum nacre_scope scope;
    char *scope_key;   /* whose sandbox it is, when one is kept; NULL for scope run */
    struct nacre_container container; /* for levels container and vm */
    struct nacre_decision *decisions;
    uint32_t decision_count;
    char **denied_host_paths; /* absolute; for identity checks at the mounts.  Where a mount
                                 puts a denied guest name elsewhere, that place too */
    uint32_t denied_host_count;
    char **denied_root; /* native levels: denied guest names, absolute, that lie in no mount
                           but in the sandbox's own parts (/usr, the image): what exists of
                           them is covered */
    uint32_t denied_root_count;
    struct nacre_digest digest; /* over all that a sandbox is made of: policy, mounts,
                                   limits but fuel and time, container, waivers, scope,
                                   session, agent */
    bool sealed;
};

/*
 * A private directory is empty when its sandbox starts: what leads to a denied name below
 * it is made with it, and is the guest's but for that name.  The Nth such directory, each
 * told once, with the mount that it lies in; false: there are fewer.
 */
bool nacre_plan_way(const struct nacre_plan *plan, size_t n,
                    const struct nacre_mount **ret_mount, char ret_path[NACRE_PATH_MAX]);
/* Does denied name `k` of `mount` lie below another one, which covers it? */
bool nacre_mount_covers_denied(const struct nacre_mount *mount, uint32_t k);
/* Private directories, these among them, that have an even part each of scratch_bytes_max
 * and scratch_files_max where each is a file system of its own. */
uint64_t nacre_plan_private_count(const struct nacre_plan *plan);

#define NACRE_PAGE_BYTES ((uint64_t)4096)
#define NACRE_SHARED_BYTES_MAX ((uint64_t)64 << 20) /* as engines have it */
/* Of each tmpfs for a run's own files; each file is far smaller. */
#define NACRE_FILES_BYTES ((uint64_t)8 << 20)
/* What /dev/shm of an image's levels may hold: a page where it is not writable. */
uint64_t nacre_plan_shared_bytes(const struct nacre_plan *plan);

/* What an entry of container.tmpfs may hold; 0 when it names no size. */
uint64_t nacre_tmpfs_bytes(const char *text);

/* All that says what may leave. */
void nacre_plan_hash_egress(struct nacre_hasher *hasher,
                            const struct nacre_egress *egress);

/*
 * NACRE_OK: *ret_plan is sealed, its decisions tell all.  NACRE_ERR_DENIED or
 * NACRE_ERR_UNAVAILABLE: `err` is the first refusal with its place, and
 * *ret_denials (never NULL on entry) has received every refusal.
 */
NACRE_MUST_CHECK enum nacre_status nacre_plan_make(const struct nacre_policy *policy,
                                                   const struct nacre_request *request,
                                                   struct nacre_plan **ret_plan,
                                                   struct nacre_result *ret_denials,
                                                   struct nacre_error *err);

/* The decisions alone, refusals among them: what `explain` prints when no plan can
 * be made.  The plan is not sealed and can't be run. */
NACRE_MUST_CHECK enum nacre_status nacre_plan_draft(const struct nacre_policy *policy,
                                                    const struct nacre_request *request,
                                                    struct nacre_plan **ret_plan,
                                                    struct nacre_error *err);

/* What a plan requires and `features` lacks: the lines of a draft that need it become
 * refusals (WAIVE for what is waived), or for a plan that stays as it is, `ret_denials`
 * receives the refusals. */
void nacre_plan_settle(struct nacre_plan *draft, uint64_t features);
void nacre_plan_deny(const struct nacre_plan *plan, uint64_t features,
                     struct nacre_result *ret_denials);

/* What an executor found of a line that can't be kept (nacre_fail_blame), as planning
 * would have told it.  A directory that the request brought has no line, but is named
 * "request.workspace" or "request.mounts". */
struct nacre_denial nacre_plan_blame(const struct nacre_policy *policy,
                                     const struct nacre_plan *plan,
                                     const struct nacre_request *request,
                                     const struct nacre_error *err);

/* `plan` as if its policy had never asked for the `waived` features.  A borrowed view:
 * not to be freed, and gone with the plan. */
struct nacre_plan nacre_plan_without(const struct nacre_plan *plan, uint64_t waived);

/* All of it, owned by the caller. */
NACRE_MUST_CHECK enum nacre_status nacre_plan_copy(const struct nacre_plan *plan,
                                                   struct nacre_plan **ret_plan,
                                                   struct nacre_error *err);

void nacre_plan_free(struct nacre_plan *plan); /* accepts NULL */
NACRE_OWNED(nacre_plan)

#endif
