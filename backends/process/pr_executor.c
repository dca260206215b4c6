/*
 * The process executor: makes a sandbox for each run, runs one command in it and ends it.
 * What comes out of the sandbox is read by nt_box and nt_report, which believe nothing;
 * what the plan asks for is believed to stand only after the kernel's own report said so.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "landlock.h"
#include "nacre/clock.h"
#include "nacre/executor.h"
#include "binds.h"
#include "nt_door.h"
#include "nt_launch.h"
#include "nt_placeholders.h"
#include "nt_start.h"
#include "nt_user.h"
#include "pr_expect.h"
#include "pr_groups.h"
#include "pr_probe.h"

#define MAKING_MS 10000 /* a sandbox takes 3 ms to make; what takes that long is stuck */
#define BEAT_MS 5000
#define GRACE_MS_SHORT 100 /* where the host can kill all of it as well as init could */
#define MOUNTINFO_MAX ((size_t)16 << 20)

struct executor {
    struct nacre_executor base;
    const struct nacre_executor_options *options;
    struct nt_launcher *launcher;
    struct nt_user user;
    bool is_root;
    pthread_mutex_t probing;
    struct pr_groups groups;
    _Atomic int cancelled;             /* a signal's number */
    struct nt_launched ending; /* of the only run: dead but for the kernel's part, */
    struct pr_group ending_group; /* and its group */
};

static struct executor *executor_of(struct nacre_executor *base)
{
    return (struct executor *)base;
}

/* ---- opening: what stands here ---- */

static void add_walls(struct executor *executor)
{
    struct nacre_executor *base = &executor->base;
    uint32_t abi = nacre_landlock_abi();

    nacre_mechanism_add(base, "namespaces", true,
                        "user, mount, pid, net, ipc, uts, cgroup; uid %u, never root",
                        executor->user.uid);
    nacre_mechanism_add(base, "root", true,
                        "pivot_root into a read-only root; mounts by fd; nosuid, nodev");
    nacre_mechanism_add(base, "seccomp", true,
                        "allowlist; no mounts, no namespaces, no ptrace, no keys");
    if (abi == 0)
        nacre_mechanism_add(base, "landlock", false, "this kernel has none");
    else
        nacre_mechanism_add(base, "landlock", true, "ABI %u; files alone%s", abi,
                            abi >= NACRE_LANDLOCK_ABI_SOCKETS
                                ? ", and no socket of the host's"
                                : "; lacks: sockets of the host's in granted directories");
    nacre_mechanism_add(base, "rlimits", true,
                        "processes (in the user namespace), open files, data of each "
                        "process, no core");
    nacre_mechanism_add(base, "network", true, "an empty network namespace");
    nacre_mechanism_add(base, "scratch", true, "one tmpfs of a fixed size");
    nacre_mechanism_add(base, "deadline", true,
                        "init kills the command; the host kills init 2 s later, or 100 ms "
                        "where it may be kept from the processors");
}

/* Cgroups are probed by making some, which costs as much as a run. */
static void executor_probe(struct nacre_executor *base, uint64_t wanted)
{
    struct executor *executor = executor_of(base);

    if (wanted & NACRE_FEATURE_EGRESS)
        nt_door_probe(base, executor->options->doors, &executor->probing);
    if (!(wanted & (NACRE_FEATURE_MEMORY_LIMIT | NACRE_FEATURE_CPU_SHARES_LOW |
                    NACRE_FEATURE_CPU_SHARES_ANY)))
        return;
    pr_groups_probe(&executor->groups, base);
}

static void executor_free(struct nacre_executor *base)
{
    struct executor *executor = executor_of(base);
    struct nacre_error err;

    if (!executor)
        return;
    (void)!nt_launched_end(&executor->ending, &err);
    pr_group_drop(&executor->ending_group);
    pr_groups_clear(&executor->groups);
    nt_launcher_free(executor->launcher);
    (void)pthread_mutex_destroy(&executor->probing);
    free(executor);
}

static enum nacre_status check_landlock(uint32_t wanted, struct nacre_error *err)
{
    uint32_t abi = nacre_landlock_abi();

    if (abi < wanted)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "Landlock ABI %u is required, and this kernel has %u", wanted,
                          abi);
    return NACRE_OK;
}

static enum nacre_status executor_open(const struct nacre_executor_options *options,
                                       struct nacre_executor **ret_executor,
                                       struct nacre_error *err)
{
    struct executor *executor = calloc(1, sizeof(*executor));
    enum nacre_status status;

    if (!executor)
        return nacre_fail(err, NACRE_ERR_MEMORY, "executor");
    executor->base.ops = &nacre_process_executor;
    executor->options = options;
    executor->ending = (struct nt_launched){ -1, -1, -1 };
    executor->is_root = geteuid() == 0;
    (void)pthread_mutex_init(&executor->probing, NULL);
    (void)pthread_mutex_init(&executor->groups.opening, NULL);
    status = nt_user_find(NULL, &executor->user, err);
    if (status == NACRE_OK)
        status = nt_launcher_open(!options->single_run, &executor->launcher, err);
    /* Before anything is asked: it has the longest way, and where it can't be made the
     * probe has the words.  That run's record is not begun yet; nothing of a guest's is in
     * these processes. */
    if (status == NACRE_OK && options->single_run)
        nt_launcher_prepare(executor->launcher,
                            &(struct spec_head){ .uid = executor->user.uid,
                                                 .gid = executor->user.gid,
                                                 .hostname = PR_HOSTNAME });
    if (status == NACRE_OK)
        status = pr_probe("/proc", executor->is_root, err);
    if (status == NACRE_OK)
        status = check_landlock(options->landlock_min, err);
    if (status != NACRE_OK) {
        executor_free(&executor->base);
        return status;
    }
    executor->base.features =
        NACRE_FEATURE_NATIVE | NACRE_FEATURE_WALL_LIMIT | NACRE_FEATURE_OUTPUT_LIMIT |
        NACRE_FEATURE_OPEN_FILES | NACRE_FEATURE_PROCESSES | NACRE_FEATURE_FS_BENEATH |
        NACRE_FEATURE_FS_DENIED | NACRE_FEATURE_FS_FULL | NACRE_FEATURE_NO_NETWORK |
        NACRE_FEATURE_SECRET_FILES;
    add_walls(executor);
    *ret_executor = &executor->base;
    return NACRE_OK;
}

/* ---- one sandbox ---- */

/* In the order in which it is made; its end goes the other way round. */
struct sandbox {
    struct executor *executor;
    struct nacre_open_mounts mounts;
    struct nt_masks *masks;
    struct pr_group group;
    struct nt_door door;
    struct nt_door_names names;
    int door_fd; /* where the launcher's listening sockets come; -1: there is no door */
    struct pr_spec spec;
    struct pr_expect *expect;
    struct nt_launched launched;
    struct nt_box *box;
    bool is_empty; /* init has said that nothing is left, and leaves itself */
};

/* Of the one run that there is, nothing waits for the kernel's tidying up but the end of
 * all: the record of the run can be written meanwhile. */
static bool may_linger(const struct sandbox *sandbox)
{
    const struct executor *executor = sandbox->executor;

    return sandbox->is_empty && executor->options->single_run && !sandbox->masks &&
           executor->ending.pid1_fd < 0;
}

/* Whatever became of it, nothing of it is left: neither process nor mount, placeholder
 * nor cgroup. */
static void sandbox_end(struct sandbox *sandbox)
{
    struct nt_launched doomed;
    struct nacre_error err;

    nt_box_free(sandbox->box);
    if (may_linger(sandbox)) {
        nt_launched_doom(&sandbox->launched, &sandbox->executor->ending);
        sandbox->executor->ending_group = sandbox->group;
        sandbox->group = (struct pr_group){ NULL, NULL };
    } else {
        nt_launched_doom(&sandbox->launched, &doomed);
        if (!sandbox->is_empty)
            pr_group_kill(&sandbox->group);
        (void)!nt_launched_end(&doomed, &err);
    }
    if (sandbox->expect)
        pr_expect_clear(sandbox->expect);
    free(sandbox->expect);
    pr_spec_clear(&sandbox->spec);
    nacre_fd_guard(&sandbox->door_fd);
    nt_door_names_clear(&sandbox->names);
    nt_door_close(&sandbox->door);
    pr_group_put(&sandbox->group);
    nt_masks_free(sandbox->masks);
    nacre_mounts_clear(&sandbox->mounts);
}

static enum nacre_status open_mounts(struct sandbox *sandbox,
                                     const struct nacre_plan *plan,
                                     struct nacre_error *err)
{
    const struct nacre_executor_options *options = sandbox->executor->options;
    enum nacre_status status = nacre_mounts_open(plan, options->protected_paths,
                                                 &sandbox->mounts, err);
    bool denies = false;

    if (status == NACRE_OK)
        status = nacre_binds_check(&sandbox->mounts, options, err);
    /* In the host's own tree each user has its own places. */
    if (status == NACRE_OK && !plan->full_tree)
        status = nt_user_check(&sandbox->executor->user, &sandbox->mounts, err);
    for (uint32_t i = 0; i < sandbox->mounts.count && status == NACRE_OK; i++)
        denies |= sandbox->mounts.items[i].fd >= 0 &&
                  sandbox->mounts.items[i].denied_count > 0;
    if (!denies)
        nt_placeholders_sweep(options->state_dir);
    else if (status == NACRE_OK)
        status = nt_masks_open(&sandbox->mounts, &sandbox->executor->user,
                               options->state_dir, &sandbox->masks, err);
    return status;
}

static enum nacre_status read_mountinfo(const struct nacre_open_mounts *mounts,
                                        struct nacre_buf *ret_text,
                                        struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    bool needed = false;

    for (uint32_t i = 0; i < mounts->count; i++)
        needed |= mounts->items[i].fd >= 0;
    if (!needed)
        return NACRE_OK;
    fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "/proc/self/mountinfo");
    return nacre_buf_read(ret_text, fd, err);
}

/* The launcher's end is for it alone: the other way its sockets come back. */
static enum nacre_status make_doorway(struct sandbox *sandbox, int *ret_theirs,
                                      struct nacre_error *err)
{
    int pair[2];

    if (!sandbox->door.door)
        return NACRE_OK;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "socketpair");
    nacre_fd_guard(&sandbox->door_fd);
    sandbox->door_fd = pair[0];
    *ret_theirs = pair[1];
    return NACRE_OK;
}

static enum nacre_status make_spec(struct sandbox *sandbox, const struct nacre_plan *plan,
                                   const struct nacre_request *request, int door_fd,
                                   struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf mountinfo = NACRE_BUF(MOUNTINFO_MAX);
    struct pr_spec_input input = {
        .door_fd = door_fd,
        .hosts = sandbox->names.hosts,
        .certificates = nacre_egress_intercepts(&plan->egress),
        .secrets = request->secret_file_count > 0,
        .plan = plan,
        .mounts = &sandbox->mounts,
        .uid = sandbox->executor->user.uid,
        .gid = sandbox->executor->user.gid,
        .landlock = true,
    };
    enum nacre_status status = read_mountinfo(&sandbox->mounts, &mountinfo, err);

    if (status != NACRE_OK)
        return status;
    input.mountinfo = mountinfo.bytes ? mountinfo.bytes : "";
    if (sandbox->masks)
        input.masks = nt_masks_items(sandbox->masks, &input.mask_count);
    if (!pr_groups_bound(&sandbox->executor->base, plan))
        input.data_bytes_max = plan->limits.memory_bytes_max;
    status = pr_spec_make(&input, &sandbox->spec, err);
    if (status != NACRE_OK)
        return status;
    sandbox->expect = malloc(sizeof(*sandbox->expect));
    if (!sandbox->expect)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a sandbox");
    return pr_expect_make(&sandbox->spec, sandbox->executor->is_root, sandbox->expect,
                          err);
}

static enum nacre_status launch(struct sandbox *sandbox, uint64_t deadline_ns,
                                struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) uint8_t *packed = NULL;
    struct nt_launch_options options = {
        .fds = sandbox->spec.fds,
        .fd_count = sandbox->spec.fd_count,
        .deadline_ns = deadline_ns,
        .cancelled = &sandbox->executor->cancelled,
    };
    enum nacre_status status = pr_spec_pack(&sandbox->spec, &packed, &options.spec_bytes,
                                            err);

    if (status != NACRE_OK)
        return status;
    options.spec = packed;
    return nt_launch(sandbox->executor->launcher, &options, &sandbox->launched, err);
}

/* While pid 1 makes its mounts; it has to be in there before it reports. */
static enum nacre_status join_group(struct sandbox *sandbox,
                                    const struct nacre_plan *plan,
                                    struct nacre_error *err)
{
    struct executor *executor = sandbox->executor;
    int fds[NACRE_BOX_HIERARCHIES_MAX];
    enum nacre_status status = NACRE_OK;
    size_t count = 0;

    if (!sandbox->group.pool)
        status = pr_group_take(&executor->groups, &executor->base, plan, &sandbox->group,
                               err);
    if (status != NACRE_OK)
        return status;
    if (sandbox->group.group)
        count = nacre_box_group_procs(sandbox->group.group, fds);
    return nt_launched_join(&sandbox->launched, fds, count, err);
}

static enum nacre_status open_box(struct sandbox *sandbox, uint64_t deadline_ns,
                                  struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf names = NACRE_BUF(SPEC_BYTES_MAX);
    NACRE_AUTO(nacre_heap_guard) struct init_mask *masks = NULL;
    struct init_config config = {
        .beat_ms_max = BEAT_MS,
        .commands_max = 1,
        .once = true,
        .weighed_apart = pr_group_weighs(&sandbox->group),
        .landlock_none = nacre_landlock_abi() == 0,
        .oom_file = "",
        .names = (const char *const *)sandbox->names.names,
        .name_count = sandbox->names.count,
        .questions = sandbox->expect->questions,
        .question_count = sandbox->expect->question_count,
    };
    const struct nt_wait wait = { deadline_ns, &sandbox->executor->cancelled, NULL };
    struct nt_stream stream;
    enum nacre_status status = pr_expect_masks(&sandbox->spec, &masks, &config.mask_count,
                                          &names, err);

    if (status != NACRE_OK)
        return status;
    config.masks = masks;
    status = nt_stream_fd(nacre_fd_take(&sandbox->launched.channel_fd), &stream, err);
    if (status == NACRE_OK)
        status = nt_box_open(&stream, &config, wait, &sandbox->box, err);
    if (status == NACRE_OK)
        status = pr_expect_judge(sandbox->expect, sandbox->box, err);
    return status;
}

/* Both the launcher and what it has made beforehand may have been killed meanwhile: the
 * third try has new ones. */
static enum nacre_status start(struct sandbox *sandbox, const struct nacre_plan *plan,
                               uint64_t deadline_ns, struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;
    struct nacre_error ignored;

    for (int i = 0; i < 3; i++) {
        status = launch(sandbox, deadline_ns, err);
        if (status == NACRE_OK)
            status = join_group(sandbox, plan, err);
        if (status == NACRE_OK)
            status = open_box(sandbox, deadline_ns, err);
        if (status != NACRE_ERR_IO)
            break;
        (void)!nt_launched_end(&sandbox->launched, &ignored);
        nt_door_forget(sandbox->door_fd);
    }
    return status;
}

static enum nacre_status sandbox_make(struct sandbox *sandbox,
                                      const struct nacre_plan *plan,
                                      const struct nacre_tool *tool,
                                      const struct nacre_request *request,
                                      struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int theirs = -1;
    uint64_t wall_ms = plan->limits.wall_ms_max;
    uint64_t deadline_ns = nacre_clock_ns() + (wall_ms < MAKING_MS ? wall_ms : MAKING_MS) *
                                                  NACRE_NS_PER_MS;
    enum nacre_status status = open_mounts(sandbox, plan, err);

    if (status == NACRE_OK)
        status = nt_door_open(sandbox->executor->options->doors, plan, tool, request,
                              &sandbox->door, err);
    if (status == NACRE_OK)
        status = nt_door_names_make(plan, &sandbox->names, err);
    if (status == NACRE_OK)
        status = make_doorway(sandbox, &theirs, err);
    if (status == NACRE_OK)
        status = make_spec(sandbox, plan, request, theirs, err);
    if (status == NACRE_OK)
        status = start(sandbox, plan, deadline_ns, err);
    if (status == NACRE_OK && sandbox->door.door)
        status = nt_door_receive(&sandbox->door, sandbox->door_fd, err);
    if (status == NACRE_OK || status == NACRE_ERR_MEMORY ||
        status == NACRE_ERR_NOT_RUNNABLE || status == NACRE_ERR_TOO_BIG ||
        (status == NACRE_ERR_TIMEOUT && wall_ms <= MAKING_MS))
        return status;
    /* Nothing of the guest has run: that is what the caller has to know. */
    err->status = NACRE_ERR_UNAVAILABLE;
    return nacre_fail_context(err, "the sandbox can't be made");
}

/* ---- one command in it ---- */

/* The kernel's own count is the last word on memory: init may have been killed too. */
static void add_usage(const struct sandbox *sandbox, struct nacre_result *result)
{
    struct nacre_box_usage usage;

    if (!sandbox->group.group)
        return;
    nacre_box_group_usage(sandbox->group.group, &usage);
    if (usage.memory_bytes_peak > 0)
        result->usage.memory_bytes_peak = usage.memory_bytes_peak;
    if (usage.cpu_ns > 0)
        result->usage.cpu_ns = usage.cpu_ns;
    result->usage.processes_refused |= usage.forks_refused > 0;
    if (usage.oom_kills == 0)
        return;
    result->usage.memory_refused = true;
    if (result->outcome == NACRE_OUTCOME_KILLED && result->signal == SIGKILL) {
        result->outcome = NACRE_OUTCOME_OUT_OF_MEMORY;
        result->signal = 0;
    }
    if (!result->reason[0] || result->outcome == NACRE_OUTCOME_OUT_OF_MEMORY)
        (void)snprintf(result->reason, sizeof(result->reason),
                       "the kernel killed %s for memory",
                       result->outcome == NACRE_OUTCOME_EXITED ? "processes of it"
                                                               : "it");
}

/* The channel broke.  When the kernel has killed init itself for memory, or the caller
 * wants no more of it, that is how the guest ended and no failure of the host's. */
static bool explain_break(const struct sandbox *sandbox, struct nacre_result *result)
{
    struct nacre_box_usage usage = { 0 };
    int signal = atomic_load(&sandbox->executor->cancelled);

    if (sandbox->group.group)
        nacre_box_group_usage(sandbox->group.group, &usage);
    if (usage.oom_kills == 0 && signal == 0)
        return false;
    result->outcome = NACRE_OUTCOME_KILLED;
    result->signal = usage.oom_kills > 0 ? SIGKILL : signal;
    return true;
}

static bool is_disturbed(void *data, char *reason, size_t size)
{
    const struct sandbox *sandbox = data;

    return nt_masks_changed(sandbox->masks, reason, size);
}

/* By its group first, which is frozen where it can be: pid 1 has to get a turn among the
 * others before the kernel kills them for it. */
static void halt(void *data)
{
    const struct sandbox *sandbox = data;

    pr_group_kill(&sandbox->group);
    nt_launched_strike(&sandbox->launched);
}

static enum nacre_status run_command(struct sandbox *sandbox,
                                     const struct nacre_plan *plan,
                                     const struct nacre_tool *tool,
                                     const struct nacre_request *request,
                                     uint64_t wall_ms, struct nacre_result *result,
                                     struct nacre_error *err)
{
    bool has_workspace = false;
    const char *defaults[] = { "PATH=/usr/local/bin:/usr/bin:/bin",
                               "HOME=/tmp",
                               "TMPDIR=/tmp",
                               "LANG=C.UTF-8",
                               "USER=nacre",
                               "LOGNAME=nacre",
                               "TERM=dumb",
                               [7 + NT_DOOR_VARIABLES] = NULL };
    NACRE_AUTO(nt_words_clear) struct nt_words words = { 0 };
    NACRE_AUTO(nacre_heap_guard) char *certificates = NULL;
    struct nt_command command = {
        .start = { .wall_ms_max = wall_ms,
                   .open_files_max = plan->limits.open_files_max,
                   .processes_max = pr_group_processes(&sandbox->group, plan) },
        .grace_ms = pr_group_weighs(&sandbox->group) ? GRACE_MS_SHORT : 0,
        .output_bytes_max = plan->limits.output_bytes_max,
        .request = request,
        .cancelled = &sandbox->executor->cancelled,
        .disturbed = sandbox->masks ? is_disturbed : NULL,
        .disturbed_fd = sandbox->masks ? nt_masks_fd(sandbox->masks) : 0,
        .disturbed_data = sandbox,
        .halt = halt,
    };
    enum nacre_status status;

    for (uint32_t i = 0; i < plan->mount_count; i++)
        has_workspace |= strcmp(plan->mounts[i].guest, "/workspace") == 0;
    if (has_workspace)
        defaults[1] = "HOME=/workspace";
    (void)nt_door_variables(plan, defaults, 7);
    status = nt_words_make(tool, request, defaults, &words, err);
    if (status == NACRE_OK)
        status = nt_door_bundle(&sandbox->door, &certificates, err);
    if (status == NACRE_OK)
        status = nt_door_begin(&sandbox->door, result->run_id,
                               nacre_clock_ns() + wall_ms * NACRE_NS_PER_MS, err);
    if (status != NACRE_OK)
        return status;
    command.start.certificates = certificates;
    command.start.arguments = words.arguments;
    command.start.environment = words.environment;
    command.start.directory = plan->directory ? plan->directory
                              : has_workspace ? "/workspace"
                                              : "/";
    status = nt_box_run(sandbox->box, &command, result, err);
    sandbox->is_empty = status == NACRE_OK && result->outcome == NACRE_OUTCOME_EXITED;
    if (status == NACRE_ERR_IO && explain_break(sandbox, result))
        status = NACRE_OK;
    if (status == NACRE_OK)
        add_usage(sandbox, result);
    return nt_door_end(&sandbox->door, status, result, err);
}

static enum nacre_status cancelled(int signal, struct nacre_result *result)
{
    result->outcome = NACRE_OUTCOME_KILLED;
    result->signal = signal;
    (void)snprintf(result->reason, sizeof(result->reason), "cancelled");
    return NACRE_OK;
}

static enum nacre_status executor_run(struct nacre_executor *base,
                                      const struct nacre_plan *plan,
                                      const struct nacre_tool *tool,
                                      const struct nacre_request *request,
                                      struct nacre_result *result,
                                      struct nacre_error *err)
{
    struct executor *executor = executor_of(base);
    uint64_t start_ns = nacre_clock_ns(), wall_ms = plan->limits.wall_ms_max, spent_ms;
    NACRE_AUTO(sandbox_end)
    struct sandbox sandbox = { .executor = executor, .door_fd = -1,
                               .launched = { -1, -1, -1 } };
    enum nacre_status status;

    if (atomic_load(&executor->cancelled))
        return cancelled(atomic_load(&executor->cancelled), result);
    status = sandbox_make(&sandbox, plan, tool, request, err);
    if (status != NACRE_OK && atomic_load(&executor->cancelled))
        return cancelled(atomic_load(&executor->cancelled), result);
    if (status != NACRE_OK && status != NACRE_ERR_TIMEOUT)
        return status;
    /* The policy's time is the whole run's, its sandbox included. */
    spent_ms = (nacre_clock_ns() - start_ns) / NACRE_NS_PER_MS;
    if (status == NACRE_ERR_TIMEOUT || spent_ms >= wall_ms) {
        result->outcome = NACRE_OUTCOME_TIMED_OUT;
        return NACRE_OK;
    }
    return run_command(&sandbox, plan, tool, request, wall_ms - spent_ms, result, err);
}

static void executor_cancel(struct nacre_executor *base, int signal)
{
    atomic_store(&executor_of(base)->cancelled, signal);
}

const struct nacre_executor_ops nacre_process_executor = {
    .name = "process",
    .open = executor_open,
    .probe = executor_probe,
    .run = executor_run,
    .cancel = executor_cancel,
    .free = executor_free,
};
