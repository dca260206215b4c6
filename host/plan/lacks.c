/* A plan is made without a look at the machine; what the machine lacks is told in the
 * words of the line that needs it. */
#include <stdio.h>
#include <string.h>

#include "draft.h"

/* Which line is to blame for a feature, and the way out. */
struct need {
    const char *rule, *why, *fix;
};

#define NO_CGROUP "there is no cgroup with this controller to be had here"
#define GIVE_CGROUP                                                              \
    "remove it, give this user a cgroup (nacre backends says how), or give --waive "
#define ENGINE_LACKS "neither the engine nor the kernel shows how"
#define GIVE_WAIVER "remove it, or give --waive "

static const struct {
    enum nacre_feature feature;
    struct need need;
} needs[] = {
    { NACRE_FEATURE_CPU_SHARES_LOW,
      { "resource_limits.cpu_shares", "neither a cgroup nor nice can set it here",
        "remove it, run guests in workers of their own, or give --waive cpu_shares" } },
    { NACRE_FEATURE_MEMORY_LIMIT,
      { "resource_limits.memory_mb", NO_CGROUP, GIVE_CGROUP "memory_mb" } },
    { NACRE_FEATURE_CPU_SHARES_ANY,
      { "resource_limits.cpu_shares", NO_CGROUP, GIVE_CGROUP "cpu_shares" } },
    { NACRE_FEATURE_PROCESSES,
      { "resource_limits.max_processes", "nothing here counts the processes of one run",
        GIVE_WAIVER "max_processes" } },
    { NACRE_FEATURE_CPUS, { "container.cpus", ENGINE_LACKS, GIVE_WAIVER "cpus" } },
    { NACRE_FEATURE_CPUSET, { "container.cpuset", ENGINE_LACKS, GIVE_WAIVER "cpuset" } },
    { NACRE_FEATURE_SWAP_LIMIT,
      { "container.memory_swap",
        "the engine's kernel does not count swap, and memory that is swapped out has no "
        "bound",
        "boot the engine's machine with swapaccount=1, or give --waive memory_swap" } },
    { NACRE_FEATURE_MEMORY_RESERVATION,
      { "container.memory_reservation", ENGINE_LACKS,
        GIVE_WAIVER "memory_reservation" } },
    { NACRE_FEATURE_DISK_OF_ROOT,
      { "container.disk",
        "the root is writable, and the engine's storage driver has no quotas that nacre "
        "relies on (overlay2 on xfs has; those of btrfs, zfs and devicemapper are not "
        "proved from inside)",
        "make the root read-only, " GIVE_WAIVER "disk" } },
    { NACRE_FEATURE_DISK_OF_SESSION,
      { "container.disk",
        "a session's workspace is bounded by root alone, with loop devices and mkfs.ext4 "
        "(package e2fsprogs)",
        GIVE_WAIVER "disk" } },
    { NACRE_FEATURE_DISK_OF_HOST,
      { "container.disk", "directories of the host that a guest writes to have no bound",
        "mount them read-only, " GIVE_WAIVER "disk" } },
    { NACRE_FEATURE_DISK_IOPS,
      { "container.disk_iops",
        "it takes cgroup v2 with its io controller, and an engine with its files on ext4 "
        "(cgroup v1 lets buffered writes through)",
        GIVE_WAIVER "disk_iops" } },
    { NACRE_FEATURE_DISK_IO_WEIGHT,
      { "container.disk_io_weight",
        "it takes cgroup v2 with its io controller, and disks of ext4 with the scheduler "
        "bfq",
        GIVE_WAIVER "disk_io_weight" } },
    { NACRE_FEATURE_APPARMOR,
      { "container.apparmor_profile", ENGINE_LACKS, GIVE_WAIVER "apparmor_profile" } },
    { NACRE_FEATURE_SELINUX,
      { "container.selinux_label", ENGINE_LACKS, GIVE_WAIVER "selinux_label" } },
    { NACRE_FEATURE_SECCOMP_PROFILE,
      { "container.seccomp_profile",
        "filters of other people's are not installed, nacre's own is",
        GIVE_WAIVER "seccomp_profile" } },
    { NACRE_FEATURE_EGRESS,
      { "capabilities.network.mode",
        "the door that leads out is not to be had here (see nacre backends)",
        "change the mode to 'deny', or install what nacre backends names" } },
    { NACRE_FEATURE_SECRET_FILES,
      { "capabilities.secrets.injection", "no private files can be had here",
        "change 'file-mount' to 'host-boundary'" } },
    { NACRE_FEATURE_TUNNEL_SCAN,
      { RULE_WAIVED_TUNNELS, "a tunnel is opaque", "leave the waiver out" } },
    { NACRE_FEATURE_RUNTIME,
      { "runtime", "the engine has no runsc registered, and nothing else is gVisor",
        "install Debian's package runsc and name it in the engine's daemon.json: "
        "\"runtimes\": {\"runsc\": {\"path\": \"/usr/bin/runsc\"}}" } },
    { NACRE_FEATURE_WARM,
      { "request.scope", "no sandbox can be kept warm here",
        "give --scope run: a sandbox for each run" } },
};

/* There the words about cgroups would only mislead. */
static const struct level_need {
    enum nacre_feature feature;
    struct need need;
} needs_of_none[] = {
#define NOTHING_THERE "nothing enforces it at level none"
#define LEAVE_NONE "remove it, change the level 'none' to 'process', or give --waive "
    { NACRE_FEATURE_MEMORY_LIMIT,
      { "resource_limits.memory_mb", NOTHING_THERE, LEAVE_NONE "memory_mb" } },
    { NACRE_FEATURE_CPU_SHARES_ANY,
      { "resource_limits.cpu_shares", NOTHING_THERE, LEAVE_NONE "cpu_shares" } },
    { NACRE_FEATURE_PROCESSES,
      { "resource_limits.max_processes", NOTHING_THERE, LEAVE_NONE "max_processes" } },
};

static const struct level_need needs_of_vm[] = {
    { NACRE_FEATURE_RUNTIME,
      { "runtime", "the engine has no kata-fc registered, and nothing else is Firecracker",
        "install Kata Containers and name it in the engine's daemon.json (\"runtimes\": "
        "{\"kata-fc\": ...}), or remove the line: then the bundled microVM serves" } },
    { NACRE_FEATURE_KVM,
      { "level", "KVM boots no machine here, and an emulated one is no security boundary",
        "use a machine with KVM, change 'vm' to 'container', or give "
        "--allow-emulation" } },
};

static struct need need_of(enum nacre_level level, enum nacre_feature feature)
{
    for (size_t i = 0; level == NACRE_LEVEL_NONE && i < NACRE_COUNT(needs_of_none); i++)
        if (needs_of_none[i].feature == feature)
            return needs_of_none[i].need;
    for (size_t i = 0; level == NACRE_LEVEL_VM && i < NACRE_COUNT(needs_of_vm); i++)
        if (needs_of_vm[i].feature == feature)
            return needs_of_vm[i].need;
    /* Up to an ordinary share, nice does at this level. */
    if (feature == NACRE_FEATURE_CPU_SHARES_ANY && level == NACRE_LEVEL_WASM)
        return (struct need){ "resource_limits.cpu_shares",
                              "more than 1024 takes a cgroup with the cpu controller, "
                              "and there is none to be had here",
                              "lower it to 1024 or give this user a cgroup" };
    for (size_t i = 0; i < NACRE_COUNT(needs); i++)
        if (needs[i].feature == feature)
            return needs[i].need;
    return (struct need){ "level", "", "see nacre backends for what this machine lacks" };
}

static bool blames(const struct need *need, const struct nacre_decision *decision)
{
    return strcmp(decision->rule, need->rule) == 0;
}

/* `decision` becomes the refusal that it would have been, had the machine been known. */
static void refuse(const struct need *need, enum nacre_feature feature,
                   struct nacre_decision *decision)
{
    size_t used = strlen(decision->what);

    decision->verdict = NACRE_VERDICT_REFUSE;
    decision->mechanism[0] = '\0';
    if (need->why[0])
        (void)snprintf(decision->what + used, sizeof(decision->what) - used, ": %s",
                       need->why);
    else
        (void)snprintf(decision->what + used, sizeof(decision->what) - used,
                       "%s%s can't be enforced here", used ? ": " : "",
                       nacre_feature_name(feature));
    (void)snprintf(decision->fix, sizeof(decision->fix), "%s", need->fix);
    nacre_trim(decision->what);
}

/* The caller has said that it may go without. */
static void waive(const struct need *need, struct nacre_decision *decision)
{
    size_t used = strlen(decision->what);

    decision->verdict = NACRE_VERDICT_WAIVE;
    decision->mechanism[0] = decision->fix[0] = '\0';
    (void)snprintf(decision->what + used, sizeof(decision->what) - used,
                   ": not enforced, waived by the caller: %s", need->why);
    nacre_trim(decision->what);
}

void nacre_plan_settle(struct nacre_plan *draft, uint64_t features)
{
    uint64_t lacking = draft->required & ~features;

    for (uint64_t bit = 1; bit != 0 && bit <= lacking; bit <<= 1) {
        struct need need = need_of(draft->level, (enum nacre_feature)bit);

        for (uint32_t i = 0; (lacking & bit) && i < draft->decision_count; i++) {
            struct nacre_decision *decision = &draft->decisions[i];

            if (!blames(&need, decision))
                continue;
            if (draft->waivable & bit)
                waive(&need, decision);
            else
                refuse(&need, (enum nacre_feature)bit, decision);
        }
    }
}

void nacre_plan_deny(const struct nacre_plan *plan, uint64_t features,
                     struct nacre_result *ret_denials)
{
    uint64_t lacking = plan->required & ~features & ~plan->waivable;

    for (uint64_t bit = 1; bit != 0 && bit <= lacking; bit <<= 1) {
        struct need need = need_of(plan->level, (enum nacre_feature)bit);
        struct nacre_decision decision = { 0 };
        struct nacre_denial denial;

        if (!(lacking & bit))
            continue;
        nacre_rule_name(decision.rule, need.rule, 0);
        for (uint32_t i = 0; i < plan->decision_count; i++)
            if (blames(&need, &plan->decisions[i]))
                decision = plan->decisions[i];
        refuse(&need, (enum nacre_feature)bit, &decision);
        denial = nacre_decision_denial(CODE_NOT_ENFORCEABLE, &decision);
        nacre_result_deny(ret_denials, &denial);
    }
}

struct nacre_plan nacre_plan_without(const struct nacre_plan *plan, uint64_t waived)
{
    struct nacre_plan view = *plan;

    view.required &= ~waived;
    if (waived & NACRE_FEATURE_MEMORY_LIMIT)
        view.limits.memory_asked = false;
    if (waived & (NACRE_FEATURE_CPU_SHARES_LOW | NACRE_FEATURE_CPU_SHARES_ANY))
        view.limits.cpu_shares = 0;
    if (waived & NACRE_FEATURE_PROCESSES)
        view.limits.processes_max = 0;
    if (waived & NACRE_FEATURE_SWAP_LIMIT)
        view.container.memory_swap_bytes = view.limits.memory_bytes_max;
    if (waived & NACRE_FEATURE_MEMORY_RESERVATION)
        view.container.memory_reservation_bytes = 0;
    if (waived & NACRE_FEATURE_CPUS)
        view.container.cpus_nano = 0;
    if (waived & NACRE_FEATURE_CPUSET)
        view.container.cpuset = NULL;
    if (waived & (NACRE_FEATURE_DISK_OF_ROOT | NACRE_FEATURE_DISK_OF_SESSION |
                  NACRE_FEATURE_DISK_OF_HOST))
        view.container.disk_bytes = 0;
    if (waived & NACRE_FEATURE_DISK_IOPS)
        view.container.disk_iops = 0;
    if (waived & NACRE_FEATURE_DISK_IO_WEIGHT)
        view.container.disk_io_weight = 0;
    if (waived & NACRE_FEATURE_APPARMOR)
        view.container.apparmor_profile = NULL;
    if (waived & NACRE_FEATURE_SELINUX)
        view.container.selinux_label = NULL;
    if (waived & NACRE_FEATURE_SECCOMP_PROFILE)
        view.container.seccomp_profile = NULL;
    return view;
}
