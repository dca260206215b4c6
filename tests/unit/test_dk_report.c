/* What the second read-back asks for: each line of a plan has its row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dk_api.h"
#include "dk_rows.h"
#include "nacre/own.h"

#define MIB (1024 * 1024)
#define STATUS "file /proc/self/status "
#define LIMITS "file /proc/self/limits "
#define MOUNTS "file /proc/self/mountinfo "
#define PIDS "34" /* the plan's, and nacre's own */
#define GROUP "file /sys/fs/cgroup/"

static char *none[] = { NULL };
static char *kept[] = { (char *)"CHOWN", NULL };
static char *ulimits[] = { (char *)"stack=1024:2048", NULL };
static char *masked[] = { (char *)"/proc/kcore", NULL };
static struct nacre_mount mounts[] = {
    { .guest = (char *)"/workspace", .host = (char *)"/srv/work", .writable = true },
    { .guest = (char *)"/tmp", .writable = true },
};
static struct dk_bind binds[] = {
    { .source = (char *)"/srv/work", .target = (char *)"/workspace", .writable = true,
      .device = 1, .inode = 2, .fd = -1 },
    { .source = (char *)"/state/init", .target = (char *)DK_INIT_TARGET, .device = 1,
      .inode = 3, .fd = -1 },
};

static const char *const common[] = {
    STATUS "PPid=1",
    STATUS "Uid=1000 1000 1000 1000",
    STATUS "Gid=1001 1001 1001 1001",
    STATUS "CapInh=0000000000000000",
    STATUS "CapAmb=0000000000000000",
    STATUS "CapPrm=0000000000000000",
    STATUS "CapEff=0000000000000000",
    STATUS "CapBnd=0000000000000001",
    STATUS "NoNewPrivs=1",
    STATUS "Seccomp=2",
    STATUS "Seccomp_filters=2",
    "file /proc/net/dev -=-",
    "file /proc/sys/kernel/random/boot_id -=this-boot",
    "file /proc/self/attr/current -=mine (enforce)",
    LIMITS "Max open files=128 128",
    LIMITS "Max core file size=0 0",
    LIMITS "Max stack size=1024 2048",
    MOUNTS "/=ro",
    MOUNTS "/workspace=rw",
    "stat /workspace -=device=1 inode=2",
    MOUNTS DK_INIT_TARGET "=ro",
    "stat " DK_INIT_TARGET " -=device=1 inode=3",
    MOUNTS "/tmp=rw nosuid nodev type=tmpfs bytes=16777216 inodes=1000",
    MOUNTS "/dev/shm=rw nosuid nodev type=tmpfs bytes=67108864",
    MOUNTS "/proc/kcore=type=tmpfs",
    MOUNTS "/dev=nosuid type=tmpfs",
    MOUNTS "/dev/pts=nosuid noexec type=devpts",
    MOUNTS "/dev/mqueue=nosuid nodev noexec type=mqueue",
    MOUNTS "/proc=rw nosuid nodev noexec type=proc",
    MOUNTS "/sys=ro nosuid nodev noexec type=sysfs",
};
static const char *const of_v1[] = {
    GROUP "memory/memory.limit_in_bytes -=67108864",
    GROUP "memory/memory.memsw.limit_in_bytes -=134217728",
    GROUP "memory/memory.soft_limit_in_bytes -=33554432",
    GROUP "pids/pids.max -=" PIDS,
    GROUP "cpu/cpu.shares -=512",
    GROUP "cpu/cpu.cfs_quota_us -=150000",
    GROUP "cpu/cpu.cfs_period_us -=100000",
    GROUP "cpuset/cpuset.cpus -=0-1",
    MOUNTS "/sys/fs/cgroup=nosuid nodev noexec type=tmpfs",
};
static const char *const of_v2[] = {
    GROUP "memory.max -=67108864",
    GROUP "memory.swap.max -=67108864",
    GROUP "memory.low -=33554432",
    GROUP "pids.max -=" PIDS,
    GROUP "cpu.weight -=20 59",
    GROUP "cpu.max -=150000 100000",
    GROUP "cpuset.cpus -=0-1",
    GROUP "io.max -=254:0 rbps=max wbps=max riops=40 wiops=40\n"
          "254:16 rbps=max wbps=max riops=40 wiops=40",
    GROUP "io.bfq.weight -=default 300",
    MOUNTS "/sys/fs/cgroup=ro nosuid nodev noexec type=cgroup2",
};
/* Those of them that this kernel has. */
static const char *const read_only[] = { "/proc/bus", "/proc/fs", "/proc/irq",
                                         "/proc/sys", "/proc/sysrq-trigger" };

static void must_have(const struct dk_report *report, const char *planned)
{
    size_t asked = 0;
    char row[512];

    for (size_t i = 0; i < report->count; i++) {
        const struct nt_expect *is = &report->rows[i];

        (void)snprintf(row, sizeof(row), "%s %s=%s", is->question,
                       is->key ? is->key : "-", is->planned ? is->planned : "-");
        if (strcmp(row, planned) != 0)
            continue;
        while (asked < report->question_count &&
               strcmp(report->questions[asked], is->question) != 0)
            asked++;
        if (asked == report->question_count)
            fail_msg("nobody asks for %s", planned);
        return;
    }
    fail_msg("no row says %s", planned);
}

/* How many there are. */
static size_t must_have_read_only(const struct dk_report *report)
{
    size_t count = 0;
    char planned[128];

    for (size_t i = 0; i < NACRE_COUNT(read_only); i++) {
        if (access(read_only[i], F_OK) != 0)
            continue;
        (void)snprintf(planned, sizeof(planned),
                       MOUNTS "%s=ro nosuid nodev noexec type=proc", read_only[i]);
        must_have(report, planned);
        count++;
    }
    assert_true(count > 0);
    return count;
}

static void check(bool is_cgroup2, const char *const *rows, size_t count)
{
    const struct nacre_executor_options options = { 0 };
    NACRE_AUTO(dk_json_guard) json_t *info = json_pack("{s:b}", "SwapLimit", 1);
    struct dk_site site = { .options = &options, .boot_id = "this-boot",
                            .is_cgroup2 = is_cgroup2, .has_filters = true, .info = info,
                            .masked = masked };
    struct nacre_plan plan = {
        .level = NACRE_LEVEL_CONTAINER,
        .mounts = mounts,
        .mount_count = NACRE_COUNT(mounts),
        .shared_memory = true,
        .limits = { .memory_bytes_max = 64 * MIB, .open_files_max = 128,
                    .processes_max = 32, .cpu_shares = 512,
                    .scratch_bytes_max = 16 * MIB, .scratch_files_max = 1000 },
        .container = { .tmpfs = none, .keep_capabilities = kept,
                       .blocked_syscalls = none, .environment = none,
                       .ulimits = ulimits, .read_only_root = true,
                       .apparmor_profile = (char *)"mine", .cpuset = (char *)"0-1",
                       .cpus_nano = 1500000000, .memory_swap_bytes = 128 * MIB,
                       .memory_reservation_bytes = 32 * MIB },
    };
    const struct dk_parts parts = {
        .site = &site, .plan = &plan, .user = { 1000, 1001 }, .kernel = DK_KERNEL_HOSTS,
        .io = { { { 254, 0, "/dev/vda" }, { 254, 16, "/dev/vdb" } }, 2 },
        .binds = { .items = binds, .count = NACRE_COUNT(binds) },
    };
    NACRE_AUTO(dk_report_clear) struct dk_report report = { 0 };
    struct nacre_error err;

    plan.container.disk_iops = is_cgroup2 ? 40 : 0;
    plan.container.disk_io_weight = is_cgroup2 ? 300 : 0;
    assert_int_equal(dk_report_make(&parts, &report, &err), NACRE_OK);
    for (size_t i = 0; i < NACRE_COUNT(common); i++)
        must_have(&report, common[i]);
    for (size_t i = 0; i < count; i++)
        must_have(&report, rows[i]);
    assert_int_equal(report.count,
                     NACRE_COUNT(common) + count + must_have_read_only(&report));
}

/* What else takes a size is refused until it has been proved from inside. */
static void only_overlay2_on_xfs_has_quotas_that_count(void **state)
{
    static const struct {
        const char *driver, *backing;
        bool has;
    } rows[] = {
        { "overlay2", "xfs", true },   { "overlay2", "extfs", false },
        { "overlay2", "btrfs", false }, { "overlay", "xfs", false },
        { "btrfs", "xfs", false },     { "btrfs", "btrfs", false },
        { "zfs", "zfs", false },       { "devicemapper", "xfs", false },
        { "vfs", "xfs", false },       { "fuse-overlayfs", "xfs", false },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(dk_json_guard)
        json_t *info = json_pack("{s:s, s:[[s, s]]}", "Driver", rows[i].driver,
                                 "DriverStatus", "Backing Filesystem", rows[i].backing);
        const struct dk_site site = { .info = info };

        assert_int_equal(dk_site_has_quota(&site), rows[i].has);
    }
}

static void each_line_of_a_plan_has_its_row(void **state)
{
    (void)state;
    check(false, of_v1, NACRE_COUNT(of_v1));
    check(true, of_v2, NACRE_COUNT(of_v2));
}

/* ---- what else is mounted ---- */

static enum nacre_status judge(enum dk_kernel kernel, const char *mount,
                               struct nacre_error *err)
{
    struct dk_site site = { .masked = masked };
    struct nacre_plan plan = { .container = { .tmpfs = none, .read_only_root = true } };
    const struct dk_parts parts = { .site = &site, .plan = &plan, .kernel = kernel,
                                    .binds = { .items = binds,
                                               .count = NACRE_COUNT(binds) } };
    char mountinfo[1024];

    (void)snprintf(mountinfo, sizeof(mountinfo),
                   "1 0 0:1 / / ro,relatime - overlay overlay rw\n%s\n"
                   "9 1 0:9 / /dev rw,nosuid - tmpfs tmpfs rw\n", mount);
    return dk_judge_mounts(&parts, "1d", mountinfo, strlen(mountinfo), err);
}

#define HOSTNAME(from, mode) \
    "6 1 254:0 " from "/hostname /etc/hostname " mode " - ext4 /dev/vda rw"
#define GROUPS(options) "5 4 0:5 / /sys/fs/cgroup/cpu " options " - cgroup cgroup rw,cpu"

static void nothing_is_mounted_that_is_not_on_the_list(void **state)
{
    static const struct {
        const char *mount;
        bool planned; /* where the kernel is the host's */
    } cases[] = {
        { "2 1 0:2 / /proc rw,relatime - proc proc rw", true },
        { "3 2 0:2 /sys /proc/sys ro,relatime - proc proc rw", true },
        { "3 2 0:9 /null /proc/kcore rw,nosuid - tmpfs tmpfs rw", true },
        { "4 1 0:4 / /sys ro - sysfs sysfs ro", true },
        { "4 1 0:4 / /sys/fs/cgroup ro - cgroup2 cgroup rw", true },
        { GROUPS("ro,nosuid,nodev,noexec"), true },
        { HOSTNAME("/lib/docker/containers/1d", "ro"), true },
        { HOSTNAME("/lib/docker/containers/1d", "rw"), false },
        { HOSTNAME("/lib/docker/containers/2d", "ro"), false },
        { HOSTNAME("/etc", "ro"), false },
        { "3 2 254:0 / /proc/scsi rw - ext4 /dev/vda rw", false },
        { "3 2 254:0 / /proc/sys/kernel rw - ext4 /dev/vda rw", false },
        { "3 2 254:0 / /proc/1 rw - ext4 /dev/vda rw", false },
        { "4 1 0:4 / /sys/kernel/debug rw - debugfs none rw", false },
        { "4 1 0:4 / /sys/fs rw - tmpfs none rw", false },
        { GROUPS("rw,nosuid,nodev,noexec"), false },
        { GROUPS("ro,nosuid,noexec"), false },
        { "5 4 0:5 / /sys/fs/cgroup/x ro,nosuid,nodev,noexec - ext4 /dev/vda rw", false },
    };
    struct nacre_error err;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(cases); i++) {
        if ((judge(DK_KERNEL_HOSTS, cases[i].mount, &err) == NACRE_OK) !=
            cases[i].planned)
            fail_msg("%s", cases[i].mount);
        assert_int_equal(judge(DK_KERNEL_GVISOR, cases[i].mount, &err), NACRE_OK);
    }
    assert_int_equal(judge(DK_KERNEL_GVISOR, "2 1 0:2 / /etc rw - tmpfs none rw", &err),
                     NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "the engine mounted something at '/etc'"));
    assert_int_equal(judge(DK_KERNEL_HOSTS, "2 1 0:2 /", &err), NACRE_ERR_UNAVAILABLE);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_mounted_that_is_not_on_the_list),
        cmocka_unit_test(only_overlay2_on_xfs_has_quotas_that_count),
        cmocka_unit_test(each_line_of_a_plan_has_its_row),
    };

    return cmocka_run_group_tests_name("dk_report", tests, NULL, NULL);
}
