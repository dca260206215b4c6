/* What an engine is sent for a plan, to the last field; nothing is touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dk_api.h"
#include "dk_create.h"
#include "fail_alloc.h"

#define MIB (UINT64_C(1) << 20)
#define IMAGE "sha256:0000000000000000000000000000000000000000000000000000000000000000"

static char workspace[] = "/workspace", scratch[] = "/scratch", work[] = "/srv/work";
static char *none[] = { NULL };

static struct nacre_mount two_mounts[] = {
    { .guest = workspace, .host = work, .writable = true },
    { .guest = scratch, .writable = true },
};
static const struct dk_bind two_binds[] = {
    { .source = "/srv/work", .target = "/workspace", .writable = true, .device = 1,
      .inode = 2 },
    { .source = "/state/init", .target = DK_INIT_TARGET, .device = 1, .inode = 3 },
};

static struct nacre_plan plain_plan(void)
{
    return (struct nacre_plan){
        .level = NACRE_LEVEL_CONTAINER,
        .mounts = two_mounts,
        .mount_count = 2,
        .shared_memory = true,
        .limits = { .memory_bytes_max = 64 * MIB, .open_files_max = 128,
                    .processes_max = 32, .cpu_shares = 512,
                    .scratch_bytes_max = 16 * MIB, .scratch_files_max = 1000 },
        .container = { .tmpfs = none, .keep_capabilities = none, .blocked_syscalls = none,
                       .environment = none, .ulimits = none, .read_only_root = true },
    };
}

static struct dk_order order_of(const struct nacre_plan *plan)
{
    static const char *const labels[] = { "nacre.test=yes", NULL };

    return (struct dk_order){ .plan = plan, .image_id = IMAGE, .uid = 1000, .gid = 1001,
                              .binds = two_binds, .bind_count = 2,
                              .seccomp_json = "PROFILE", .labels = labels };
}

static void must_equal(const json_t *is, const char *golden)
{
    NACRE_AUTO(dk_json_guard) json_t *planned = json_loads(golden, JSON_DECODE_ANY, NULL);
    NACRE_AUTO(nacre_heap_guard) char *text =
        json_dumps(is, JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_INDENT(1));

    assert_non_null(planned);
    if (!json_equal(is, planned))
        fail_msg("is: %s\nplanned: %s", text, golden);
}

#define SHM_OF(mode, size)                                                             \
    "\"/dev/shm\":\"" mode ",noexec,nosuid,nodev,size=" size                            \
    ",uid=1000,gid=1001,mode=1777\","
#define SHM SHM_OF("rw", "67108864")
#define QUEUES                                                                         \
    "\"/dev/mqueue\":\"ro,noexec,nosuid,nodev,size=4096,uid=1000,gid=1001,mode=1777\","
#define READ_ONLY_TMP                                                                  \
    "\"/tmp\":\"ro,exec,nosuid,nodev,size=16777216,nr_inodes=1000,uid=1000,gid=1001,"  \
    "mode=700\""

static void the_whole_body_is_what_an_engine_takes(void **state)
{
    const struct nacre_plan plan = plain_plan();
    const struct dk_order order = order_of(&plan);
    NACRE_AUTO(dk_json_guard) json_t *body = dk_create_body(&order);

    (void)state;
    must_equal(body,
        "{\"Image\":\"" IMAGE "\",\"User\":\"1000:1001\",\"WorkingDir\":\"/\","
        "\"Entrypoint\":[\"/.nacre-init\"],\"Cmd\":[],\"Hostname\":\"nacre\","
        "\"OpenStdin\":true,\"StdinOnce\":true,\"AttachStdin\":true,"
        "\"AttachStdout\":true,\"AttachStderr\":true,\"Tty\":false,"
        "\"NetworkDisabled\":true,\"Healthcheck\":{\"Test\":[\"NONE\"]},"
        "\"Labels\":{\"nacre.test\":\"yes\"},\"HostConfig\":{"
        "\"ReadonlyRootfs\":true,\"CapDrop\":[\"ALL\"],\"CapAdd\":[],"
        "\"NetworkMode\":\"none\",\"LogConfig\":{\"Type\":\"none\",\"Config\":{}},"
        "\"AutoRemove\":true,\"Init\":false,\"IpcMode\":\"private\","
        "\"CgroupnsMode\":\"private\",\"Privileged\":false,\"ShmSize\":67108864,"
        "\"OomScoreAdj\":500,\"OomKillDisable\":false,"
        "\"RestartPolicy\":{\"Name\":\"no\"},"
        "\"ReadonlyPaths\":[\"/proc/bus\",\"/proc/fs\",\"/proc/irq\",\"/proc/sys\","
        "\"/proc/sysrq-trigger\"],"
        "\"SecurityOpt\":[\"no-new-privileges\",\"seccomp=PROFILE\"],"
        "\"Mounts\":[{\"Type\":\"bind\",\"Source\":\"/srv/work\","
        "\"Target\":\"/workspace\",\"ReadOnly\":false,\"BindOptions\":"
        "{\"Propagation\":\"rprivate\",\"NonRecursive\":true}},"
        "{\"Type\":\"bind\",\"Source\":\"/state/init\",\"Target\":\"/.nacre-init\","
        "\"ReadOnly\":true,\"BindOptions\":"
        "{\"Propagation\":\"rprivate\",\"NonRecursive\":true}}],"
        "\"Tmpfs\":{" SHM "\"/scratch\":\"rw,exec,nosuid,nodev,size=16777216,nr_inodes=1000,"
        "uid=1000,gid=1001,mode=700\"},"
        "\"Memory\":67108864,\"MemorySwap\":67108864,\"CpuShares\":512,"
        "\"PidsLimit\":34,\"Ulimits\":[{\"Name\":\"nofile\",\"Soft\":128,\"Hard\":128},"
        "{\"Name\":\"core\",\"Soft\":0,\"Hard\":0}]}}");
}

/* ---- one line of a policy after the other ---- */

static char *two_tmpfs[] = { (char[]){ "/run:size=3m,mode=755,noexec" },
                             (char[]){ "/workspace:size=1m" }, NULL };
static char *shared[] = { (char[]){ "/dev/shm:size=1g" }, NULL };
static char *kept[] = { (char[]){ "CHOWN" }, (char[]){ "KILL" }, NULL };
static char *limits[] = { (char[]){ "fsize=10:20" }, (char[]){ "core=5:6" }, NULL };
static char *masks[] = { (char[]){ "/sys/class" }, NULL };

static void with_tmpfs(struct nacre_plan *plan, struct dk_order *order)
{
    (void)order;
    plan->container.tmpfs = two_tmpfs;
}
static void with_own_tmp(struct nacre_plan *plan, struct dk_order *order)
{
    (void)order;
    plan->own_tmp = plan->tmp_writable = true;
}
static void with_read_only_scratch(struct nacre_plan *plan, struct dk_order *order)
{
    static struct nacre_mount mounts[] = { { .guest = scratch }, { .guest = workspace } };

    (void)order;
    plan->mounts = mounts;
}
static void with_nothing_shared(struct nacre_plan *plan, struct dk_order *order)
{
    (void)order;
    plan->mount_count = 0;
    plan->own_tmp = true;
    plan->shared_memory = false;
}
/* Of nacre's own making. */
static void with_machine(struct nacre_plan *plan, struct dk_order *order)
{
    with_nothing_shared(plan, order);
    plan->level = NACRE_LEVEL_VM;
}
static void with_kata(struct nacre_plan *plan, struct dk_order *order)
{
    with_machine(plan, order);
    order->runtime = "kata";
}
static void with_disk(struct nacre_plan *plan, struct dk_order *order)
{
    (void)order;
    plan->container.disk_bytes = 32 * MIB + 20000;
}
static void with_little_disk(struct nacre_plan *plan, struct dk_order *order)
{
    (void)order;
    plan->container.disk_bytes = 100;
}
static void with_shared_tmpfs(struct nacre_plan *plan, struct dk_order *order)
{
    (void)order;
    plan->mount_count = 0;
    plan->container.tmpfs = shared;
}
static void with_capabilities(struct nacre_plan *plan, struct dk_order *order)
{
    (void)order;
    plan->container.keep_capabilities = kept;
}
static void with_ulimits(struct nacre_plan *plan, struct dk_order *order)
{
    (void)order;
    plan->container.ulimits = limits;
}
static void with_labels(struct nacre_plan *plan, struct dk_order *order)
{
    plan->container.apparmor_profile = workspace;
    plan->container.selinux_label = scratch;
    order->seccomp_json = NULL;
}
static void with_numbers(struct nacre_plan *plan, struct dk_order *order)
{
    plan->container.memory_swap_bytes = 100 * MIB;
    plan->container.memory_reservation_bytes = 7;
    plan->container.cpus_nano = 1500000000;
    plan->container.disk_io_weight = 300;
    plan->container.cpuset = scratch;
    order->layer_bytes_max = 12345;
}
static void with_operations(struct nacre_plan *plan, struct dk_order *order)
{
    static const struct dk_io io = { { { 254, 0, "/dev/vda" }, { 254, 16, "/dev/vdb" } },
                                     2 };

    plan->container.disk_iops = 40;
    order->io = &io;
}
static void with_masks(struct nacre_plan *plan, struct dk_order *order)
{
    (void)plan;
    order->masked = masks;
}
static void with_writable_root(struct nacre_plan *plan, struct dk_order *order)
{
    (void)order;
    plan->container.read_only_root = false;
}
static void with_no_limits(struct nacre_plan *plan, struct dk_order *order)
{
    (void)order;
    plan->limits.memory_bytes_max = plan->limits.processes_max = 0;
    plan->limits.cpu_shares = 0;
}

static void with_gvisor(struct nacre_plan *plan, struct dk_order *order)
{
    plan->runtime = NACRE_RUNTIME_GVISOR;
    order->runtime = "runsc";
}

/* As dk_setup.c orders it. */
static void with_setup(struct nacre_plan *plan, struct dk_order *order)
{
    plan->limits.open_files_max = 0;
    order->setup = true;
}

static const struct {
    void (*change)(struct nacre_plan *plan, struct dk_order *order);
    const char *field, *golden; /* NULL: it is not there */
} rows[] = {
    { with_gvisor, "Runtime", "\"runsc\"" },
    { with_gvisor, "PidsLimit", NULL }, /* reaching it would be the end of gVisor */
    { with_gvisor, "Memory", "67108864" },
    { with_gvisor, "Tmpfs", /* it counts no files */
      "{" SHM "\"/scratch\":\"rw,exec,nosuid,nodev,size=16777216,uid=1000,gid=1001,"
      "mode=700\"}" },
    { with_own_tmp, "Tmpfs",
      "{" SHM "\"/scratch\":\"rw,exec,nosuid,nodev,size=8388608,nr_inodes=500,uid=1000,gid=1001,"
      "mode=700\",\"/tmp\":\"rw,exec,nosuid,nodev,size=8388608,nr_inodes=500,uid=1000,"
      "gid=1001,mode=700\"}" },
    { with_tmpfs, "Tmpfs",
      "{" SHM "\"/run\":\"rw,nosuid,nodev,uid=1000,gid=1001,size=3m,mode=755,noexec\","
      "\"/scratch\":\"rw,exec,nosuid,nodev,size=16777216,nr_inodes=1000,uid=1000,"
      "gid=1001,mode=700\"}" },
    { with_read_only_scratch, "Tmpfs",
      "{" SHM "\"/scratch\":\"ro,exec,nosuid,nodev,size=8388608,nr_inodes=500,uid=1000,"
      "gid=1001,mode=700\",\"/workspace\":\"ro,exec,nosuid,nodev,size=8388608,"
      "nr_inodes=500,uid=1000,gid=1001,mode=700\"}" },
    { with_nothing_shared, "Tmpfs",
      "{" SHM_OF("ro", "4096") QUEUES READ_ONLY_TMP "}" },
    { with_machine, "Tmpfs",
      "{" SHM_OF("ro", "4096") READ_ONLY_TMP "}" },
    { with_kata, "Tmpfs",
      "{" SHM_OF("ro", "4096") QUEUES READ_ONLY_TMP "}" },
    { with_disk, "Tmpfs",
      "{" SHM_OF("rw", "8392704") "\"/scratch\":\"rw,exec,nosuid,nodev,size=16777216,"
      "nr_inodes=1000,uid=1000,gid=1001,mode=700\"}" },
    { with_little_disk, "Tmpfs", /* 0 would be no limit */
      "{" SHM_OF("rw", "4096") "\"/scratch\":\"rw,exec,nosuid,nodev,size=16777216,"
      "nr_inodes=1000,uid=1000,gid=1001,mode=700\"}" },
    { with_shared_tmpfs, "Tmpfs",
      "{\"/dev/shm\":\"rw,exec,nosuid,nodev,uid=1000,gid=1001,size=1g\"}" },
    { with_capabilities, "CapAdd", "[\"CHOWN\",\"KILL\"]" },
    { with_capabilities, "CapDrop", "[\"ALL\"]" },
    { with_ulimits, "Ulimits",
      "[{\"Name\":\"nofile\",\"Soft\":128,\"Hard\":128},"
      "{\"Name\":\"fsize\",\"Soft\":10,\"Hard\":20},"
      "{\"Name\":\"core\",\"Soft\":5,\"Hard\":6}]" },
    { with_labels, "SecurityOpt",
      "[\"no-new-privileges\",\"apparmor=/workspace\",\"label=/scratch\"]" },
    { with_numbers, "MemorySwap", "104857600" },
    { with_numbers, "MemoryReservation", "7" },
    { with_numbers, "NanoCpus", "1500000000" },
    { with_numbers, "BlkioWeight", "300" },
    { with_numbers, "BlkioDeviceReadIOps", NULL },
    { with_operations, "BlkioDeviceReadIOps",
      "[{\"Path\":\"/dev/vda\",\"Rate\":40},{\"Path\":\"/dev/vdb\",\"Rate\":40}]" },
    { with_operations, "BlkioDeviceWriteIOps",
      "[{\"Path\":\"/dev/vda\",\"Rate\":40},{\"Path\":\"/dev/vdb\",\"Rate\":40}]" },
    { with_numbers, "CpusetCpus", "\"/scratch\"" },
    { with_numbers, "StorageOpt", "{\"size\":\"12345\"}" },
    { with_masks, "MaskedPaths", "[\"/sys/class\"]" },
    { with_writable_root, "ReadonlyRootfs", "false" },
    { with_no_limits, "Memory", NULL },
    { with_no_limits, "MemorySwap", NULL },
    { with_no_limits, "PidsLimit", NULL },
    { with_no_limits, "CpuShares", NULL },
    { with_setup, "Ulimits", "[{\"Name\":\"core\",\"Soft\":0,\"Hard\":0}]" },
};

static void each_line_has_its_field(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nacre_plan plan = plain_plan();
        struct dk_order order = order_of(&plan);
        NACRE_AUTO(dk_json_guard) json_t *body = NULL;
        const json_t *field;

        rows[i].change(&plan, &order);
        if (rows[i].change == with_read_only_scratch)
            order.bind_count = 0;
        body = dk_create_body(&order);
        field = json_object_get(json_object_get(body, "HostConfig"), rows[i].field);
        if (rows[i].golden)
            must_equal(field, rows[i].golden);
        else
            assert_null(field);
    }
}

/* What the engine makes for it at any other place would be kept with the root. */
static void the_init_of_a_setup_command_lies_in_no_image(void **state)
{
    struct nacre_plan plan = plain_plan();
    struct dk_order order = order_of(&plan);
    NACRE_AUTO(dk_json_guard) json_t *body = NULL;

    (void)state;
    with_setup(&plan, &order);
    body = dk_create_body(&order);
    must_equal(json_object_get(body, "Entrypoint"), "[\"/dev/.nacre-init\"]");
    must_equal(json_object_get(body, "Cmd"), "[\"setup\"]");
}

/* And the engine must not fill it with what the image has there. */
static void init_that_is_carried_is_a_volume(void **state)
{
    static const struct dk_bind carried[] = {
        { .source = "0123", .target = DK_INIT_TARGET, .is_dir = true, .volume = true },
    };
    struct nacre_plan plan = plain_plan();
    struct dk_order order = order_of(&plan);
    NACRE_AUTO(dk_json_guard) json_t *body = NULL;

    (void)state;
    order.far = true;
    order.binds = carried;
    order.bind_count = 1;
    body = dk_create_body(&order);
    must_equal(json_object_get(body, "Entrypoint"), "[\"/.nacre-init/init\"]");
    must_equal(json_object_get(json_object_get(body, "HostConfig"), "Mounts"),
               "[{\"Type\":\"volume\",\"Source\":\"0123\",\"Target\":\"/.nacre-init\","
               "\"ReadOnly\":true,\"VolumeOptions\":{\"NoCopy\":true}}]");
}

static void what_would_open_the_sandbox_is_never_asked_for(void **state)
{
    static const char *const never[] = {
        "Devices", "DeviceRequests", "DeviceCgroupRules", "PidMode", "UsernsMode",
        "UTSMode", "Binds", "VolumesFrom", "Links", "GroupAdd", "Sysctls", "PortBindings",
        "CgroupParent", "Dns", "ExtraHosts", "Runtime",
    };
    struct nacre_plan plan = plain_plan();
    struct dk_order order = order_of(&plan);
    NACRE_AUTO(dk_json_guard) json_t *body = NULL;

    (void)state;
    with_numbers(&plan, &order);
    with_labels(&plan, &order);
    body = dk_create_body(&order);
    for (size_t i = 0; i < NACRE_COUNT(never); i++)
        assert_null(json_object_get(json_object_get(body, "HostConfig"), never[i]));
}

/* ---- the digest ---- */

static struct nacre_digest digest_of(const struct dk_order *order)
{
    NACRE_AUTO(dk_json_guard) json_t *body = dk_create_body(order);
    struct nacre_digest digest;
    struct nacre_error err;

    assert_int_equal(dk_create_digest(order, body, &digest, &err), NACRE_OK);
    return digest;
}

static void with_another_directory(struct nacre_plan *plan, struct dk_order *order)
{
    static const struct dk_bind other[] = {
        { .source = "/srv/work", .target = "/workspace", .writable = true, .device = 1,
          .inode = 99 },
        { .source = "/state/init", .target = DK_INIT_TARGET, .device = 1, .inode = 3 },
    };

    (void)plan;
    order->binds = other;
}
static void with_blocked_calls(struct nacre_plan *plan, struct dk_order *order)
{
    (void)order;
    plan->container.blocked_syscalls = kept;
}
static void with_denied_names(struct nacre_plan *plan, struct dk_order *order)
{
    (void)order;
    plan->denied_root = kept;
    plan->denied_root_count = 1;
}

static void two_orders_that_differ_never_share_a_digest(void **state)
{
    static void (*const changes[])(struct nacre_plan *plan, struct dk_order *order) = {
        with_tmpfs, with_capabilities, with_ulimits, with_labels, with_numbers,
        with_masks, with_writable_root, with_no_limits, with_another_directory,
        with_blocked_calls, with_denied_names, with_setup,
    };
    struct nacre_plan plain = plain_plan();
    struct dk_order order = order_of(&plain);
    struct nacre_digest first = digest_of(&order), other;

    (void)state;
    order.labels = NULL; /* labels tell who, not what */
    other = digest_of(&order);
    assert_memory_equal(&first, &other, sizeof(first));
    for (size_t i = 0; i < NACRE_COUNT(changes); i++) {
        struct nacre_plan plan = plain_plan();

        order = order_of(&plan);
        changes[i](&plan, &order);
        other = digest_of(&order);
        assert_memory_not_equal(&first, &other, sizeof(first));
    }
}

static void short_of_memory_there_is_no_body(void **state)
{
    struct nacre_plan plan = plain_plan();
    struct dk_order order = order_of(&plan);
    json_t *body = NULL;

    (void)state;
    with_tmpfs(&plan, &order);
    with_ulimits(&plan, &order);
    with_labels(&plan, &order);
    with_masks(&plan, &order);
    order.seccomp_json = "PROFILE";
    for (int after = 0; !body; after++) {
        assert_true(after < 2000);
        fail_alloc_after(after);
        body = dk_create_body(&order);
        if (fail_alloc_fired())
            assert_null(body);
        fail_alloc_after(-1);
    }
    json_decref(body);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_body_is_what_an_engine_takes),
        cmocka_unit_test(each_line_has_its_field),
        cmocka_unit_test(the_init_of_a_setup_command_lies_in_no_image),
        cmocka_unit_test(init_that_is_carried_is_a_volume),
        cmocka_unit_test(what_would_open_the_sandbox_is_never_asked_for),
        cmocka_unit_test(two_orders_that_differ_never_share_a_digest),
        cmocka_unit_test(short_of_memory_there_is_no_body),
    };

    return cmocka_run_group_tests_name("dk_create", tests, NULL, NULL);
}
