/* What has to stand in the files of a container's cgroups. */
#include <inttypes.h>
#include <unistd.h>

#include "cgroup.h"
#include "cgroup_dir.h"
#include "dk_rows.h"

#define CGROUP "/sys/fs/cgroup"
#define MACHINES_GROUP "nacre" /* below it, as MACHINE_OOM_FILE has it */

/* Inside, or where the sandbox shows none, on the host. */
static void expect(struct dk_making *making, const char *what, enum nt_check check,
                   const char *file, const char *planned)
{
    const char *question =
        making->gvisor ? dk_text(making, DK_HOSTS "%s", file)
        : making->kernel == DK_KERNEL_MACHINE
            ? dk_text(making, "file " CGROUP "/" MACHINES_GROUP "/%s", file)
            : dk_text(making, "file " CGROUP "/%s", file);

    dk_expect(making, (struct nt_expect){ what, check, question, NULL, planned });
}

static void expect_number(struct dk_making *making, const char *what, const char *file,
                          uint64_t planned)
{
    expect(making, what, NT_CHECK_TEXT, file, dk_text(making, "%" PRIu64, planned));
}

static uint64_t pages(uint64_t bytes)
{
    return bytes & ~(uint64_t)(sysconf(_SC_PAGESIZE) - 1);
}

static bool is_v2(const struct dk_making *making, const struct dk_parts *parts)
{
    return parts->site->is_cgroup2 || making->kernel == DK_KERNEL_MACHINE;
}

static void memory(struct dk_making *making, const struct dk_parts *parts)
{
    const struct nacre_plan *plan = parts->plan;
    uint64_t most = plan->limits.memory_bytes_max;
    uint64_t swap = plan->container.memory_swap_bytes;
    uint64_t reserved = plan->container.memory_reservation_bytes;
    bool v2 = is_v2(making, parts);

    if (most)
        expect_number(making, "the limit on memory",
                      v2 ? "memory.max" : "memory/memory.limit_in_bytes", pages(most));
    if (swap < most)
        swap = most;
    if (most && (dk_site_says(parts->site, "SwapLimit") ||
                 making->kernel == DK_KERNEL_MACHINE))
        expect_number(making, "the limit on swap",
                      v2 ? "memory.swap.max" : "memory/memory.memsw.limit_in_bytes",
                      v2 ? pages(swap - most) : pages(swap));
    if (reserved)
        expect_number(making, "the memory reserved",
                      v2 ? "memory.low" : "memory/memory.soft_limit_in_bytes",
                      pages(reserved));
}

/*
 * Nobody but the runtime knows how it translates shares to v2's weights.  There are two
 * ways: a straight line from 2..262144 to 1..10000, of runc before 1.3.2 and crun before
 * 1.23, and the curve that nacre itself uses, since then.  Another number is none that
 * was asked for.
 */
static void shares(struct dk_making *making, const struct dk_parts *parts)
{
    uint64_t shares = parts->plan->limits.cpu_shares;

    if (shares && !is_v2(making, parts))
        expect_number(making, "the share of the processors", "cpu/cpu.shares", shares);
    else if (shares)
        expect(making, "the share of the processors", NT_CHECK_ONE_OF, "cpu.weight",
               dk_text(making, "%" PRIu64 " %" PRIu64,
                       1 + (shares - NACRE_CPU_SHARES_MIN) * 9999 /
                               (NACRE_CPU_SHARES_MAX - NACRE_CPU_SHARES_MIN),
                       nacre_cgroup_weight(shares)));
}

static void processors(struct dk_making *making, const struct dk_parts *parts)
{
    const struct nacre_container *container = &parts->plan->container;
    uint64_t quota = container->cpus_nano / 10000; /* us in 100 ms */
    bool v2 = is_v2(making, parts);

    if (quota && v2) {
        expect(making, "the number of processors", NT_CHECK_TEXT, "cpu.max",
               dk_text(making, "%" PRIu64 " 100000", quota));
    } else if (quota) {
        expect_number(making, "the number of processors", "cpu/cpu.cfs_quota_us", quota);
        expect_number(making, "the period of that", "cpu/cpu.cfs_period_us", 100000);
    }
    if (container->cpuset)
        expect(making, "the processors", NT_CHECK_TEXT,
               v2 ? "cpuset.cpus" : "cpuset/cpuset.cpus", container->cpuset);
}

/* All that the engine was told, and nothing else: of a disk that is not there, operations
 * would not be counted. */
static void operations(struct dk_making *making, const struct dk_parts *parts)
{
    uint64_t most = parts->plan->container.disk_iops;
    uint64_t weight = parts->plan->container.disk_io_weight;
    const char *lines = "";

    for (size_t i = 0; most > 0 && i < parts->io.count; i++)
        lines = dk_text(making,
                        "%s%s%u:%u rbps=max wbps=max riops=%" PRIu64 " wiops=%" PRIu64,
                        lines, i > 0 ? "\n" : "", parts->io.disks[i].major_number,
                        parts->io.disks[i].minor_number, most, most);
    if (most > 0)
        expect(making, "the limit on disk operations", NT_CHECK_LINES, "io.max", lines);
    if (weight > 0)
        expect(making, "the weight of disk operations", NT_CHECK_TEXT, "io.bfq.weight",
               dk_text(making, "default %" PRIu64, weight));
}

void dk_expect_groups(struct dk_making *making, const struct dk_parts *parts)
{
    const struct nacre_plan *plan = parts->plan;

    memory(making, parts);
    if (plan->limits.processes_max && !making->gvisor)
        expect_number(making, "the limit on processes",
                      is_v2(making, parts) ? "pids.max" : "pids/pids.max",
                      plan->limits.processes_max + dk_create_processes_ours(plan));
    if (making->kernel == DK_KERNEL_MACHINE) /* the rest is around it */
        return;
    shares(making, parts);
    processors(making, parts);
    operations(making, parts);
}
