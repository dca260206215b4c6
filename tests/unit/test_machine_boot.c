/*
 * A real machine, emulated: our init as the first process of a kernel of its own.  It is
 * booted once for all that leaves it as it was, because that takes seconds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "fail_alloc.h"
#include "machine_world.h"
#include "nacre/clock.h"

#define BOOT_MS 90000
#define MIB ((uint64_t)1 << 20)

static struct machine_world world;
static struct nt_box *box;
static struct nacre_result result;
static struct nacre_error err;

static const struct machine_mount mounts[] = {
    { .kind = MACHINE_MOUNT_TMPFS, .target = "/tmp", .text = "", .writable = true,
      .bytes = 4 * MIB, .inodes = 100, .mode = 0700 },
    { .kind = MACHINE_MOUNT_TMPFS, .target = "/still", .text = "", .no_exec = true,
      .bytes = MIB, .mode = 0755 },
    { .kind = MACHINE_MOUNT_SHARE, .target = "/work/deep/share", .text = "share",
      .writable = true },
    { .kind = MACHINE_MOUNT_COVER, .target = "/work/deep/share/hidden", .text = "" },
    { .kind = MACHINE_MOUNT_COVER, .target = "/work/deep/share/none/such", .text = "" },
    { .kind = MACHINE_MOUNT_SHARE, .target = "/fixed", .text = "fixed",
      .writable = true },
    { .kind = MACHINE_MOUNT_FILE, .target = "/etc/hosts", .text = "127.0.0.1 nacre\n" },
    { .kind = MACHINE_MOUNT_FILE, .target = "/etc/link", .text = "through the link\n" },
    { .kind = MACHINE_MOUNT_COVER, .target = "/etc/none", .text = "" },
};

static struct init_machine order_of(const struct machine_mount *list, size_t count)
{
    return (struct init_machine){
        .uid = MACHINE_UID,
        .gid = MACHINE_UID,
        .hostname = "nacre",
        .memory_bytes_max = 96 * MIB,
        .processes_max = 24,
        .unix_ms = (uint64_t)time(NULL) * 1000,
        .mounts = list,
        .mount_count = count,
    };
}

static enum nacre_status boot(const struct init_machine *order)
{
    static const char *const questions[] = { "file /proc/self/status",
                                             "file /proc/self/mounts", "stat /tmp" };
    static const struct init_mask masks[] = { { "/work/deep/share/hidden", 0, 0 } };
    const struct init_config config = { .beat_ms_max = 10000,
                                        .commands_max = 4,
                                        .capabilities_kept =
                                            order ? order->capabilities_kept : 0,
                                        .landlock_none = true,
                                        .oom_file = MACHINE_OOM_FILE,
                                        .masks = masks,
                                        .mask_count = order && order->mount_count > 1,
                                        .carries = true,
                                        .questions = questions,
                                        .question_count = NACRE_COUNT(questions) };
    struct nt_wait wait = { 0 };
    struct nt_stream stream;

    assert_true(machine_world_boot(&world, "", &stream, &err));
    wait.deadline_ns = nacre_clock_ns() + BOOT_MS * NACRE_NS_PER_MS;
    return nt_box_open_machine(&stream, order, &config, wait, &box, &err);
}

static int start(void **state)
{
    const struct init_machine order = order_of(mounts, NACRE_COUNT(mounts));

    (void)state;
    if (!machine_world_make(&world, &err))
        fail_msg("the world can't be made: %s", err.text);
    if (boot(&order) != NACRE_OK)
        fail_msg("%s", err.text);
    return 0;
}

static int stop(void **state)
{
    (void)state;
    nt_box_free(box);
    box = NULL;
    nacre_buf_clear(&result.output);
    nacre_buf_clear(&result.errors);
    machine_world_clear(&world);
    return 0;
}

/* `disturbed` may be NULL: nt_command has it. */
static enum nacre_status shell_under(const char *text, uint64_t wall_ms,
                                     bool (*disturbed)(void *, char *, size_t))
{
    static const char *const environment[] = { "PATH=/bin", NULL };
    static const struct nacre_request request = { .input_fd = -1 };
    const char *const words[] = { "/bin/sh", "-c", text, NULL };
    const struct nt_command command = { .start = { .arguments = words,
                                                   .environment = environment,
                                                   .directory = "/",
                                                   .wall_ms_max = wall_ms },
                                        .output_bytes_max = 1 << 20,
                                        .request = &request,
                                        .disturbed = disturbed };

    nacre_buf_clear(&result.output);
    nacre_buf_clear(&result.errors);
    result = (struct nacre_result){ .outcome = NACRE_OUTCOME_NONE };
    return nt_box_run(box, &command, &result, &err);
}

static enum nacre_status shell_within(const char *text, uint64_t wall_ms)
{
    return shell_under(text, wall_ms, NULL);
}

/* What it says on stdout; the text lives until the next one. */
static const char *said(const char *text)
{
    static char output[65536];

    if (shell_within(text, 30000) != NACRE_OK)
        fail_msg("%s: %s", text, err.text);
    (void)snprintf(output, sizeof(output), "%.*s", (int)result.output.size,
                   result.output.bytes ? (const char *)result.output.bytes : "");
    return output;
}

static void says(const char *text, const char *expected)
{
    const char *found = said(text);

    if (strcmp(found, expected) != 0)
        fail_msg("%s: said '%s' and '%.*s'", text, found, (int)result.errors.size,
                 (const char *)result.errors.bytes);
}

static void fails(const char *text)
{
    (void)said(text);
    if (result.outcome != NACRE_OUTCOME_EXITED || result.exit_status == 0)
        fail_msg("%s: outcome %d, status %d", text, (int)result.outcome,
                 result.exit_status);
}

static bool host_has(const char *name, const char *text)
{
    char path[128], bytes[64] = "";
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", world.dir, name);
    file = fopen(path, "re");
    if (file) {
        bytes[fread(bytes, 1, sizeof(bytes) - 1, file)] = '\0';
        (void)fclose(file);
    }
    return file && strcmp(bytes, text) == 0;
}

/* ---- who and where ---- */

static void commands_are_an_ordinary_user_without_capabilities(void **state)
{
    (void)state;
    says("id -u; id -g; id -G; hostname", "1234\n1234\n1234\nnacre\n");
    says("grep -E '^(Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):' /proc/self/status",
         "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\n"
         "CapEff:\t0000000000000000\nCapBnd:\t0000000000000000\n"
         "CapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n");
    /* Neither init nor a thread of the kernel's. */
    says("ls -d /proc/1 /proc/2 2>/dev/null", "");
}

static void the_clock_is_the_owners(void **state)
{
    long long found = strtoll(said("date +%s"), NULL, 10), now = time(NULL);

    (void)state;
    if (found < now - 60 || found > now + 60)
        fail_msg("%lld is far from %lld", found, now);
}

static void the_kernel_allows_only_what_commands_need(void **state)
{
    static const char *const zero[] = { "user/max_user_namespaces",
                                        "net/ipv4/ip_unprivileged_port_start",
                                        "kernel/sysrq", NULL };
    static const char *const one[] = { "kernel/modules_disabled",
                                       "kernel/kexec_load_disabled",
                                       "kernel/dmesg_restrict", "kernel/panic_on_oops",
                                       "kernel/unprivileged_bpf_disabled", NULL };
    char text[128];

    (void)state;
    for (size_t i = 0; zero[i]; i++) {
        (void)snprintf(text, sizeof(text), "cat /proc/sys/%s", zero[i]);
        says(text, "0\n");
    }
    for (size_t i = 0; one[i]; i++) {
        (void)snprintf(text, sizeof(text), "cat /proc/sys/%s", one[i]);
        says(text, "1\n");
    }
    fails("echo 1 >/proc/sys/kernel/hostname");
    fails("echo b >/proc/sysrq-trigger");
    fails("head -c 1 /proc/kcore || cat /proc/timer_list");
}

static void devices_are_those_of_a_container(void **state)
{
    (void)state;
    says("echo /dev/*",
         "/dev/fd /dev/full /dev/null /dev/ptmx /dev/pts /dev/random /dev/shm "
         "/dev/stderr /dev/stdin /dev/stdout /dev/tty /dev/urandom /dev/zero\n");
    says("head -c 3 /dev/zero | wc -c; echo x >/dev/null; head -c 9 /dev/urandom | wc -c",
         "3\n9\n");
    says("echo /sys/* /sys/fs/*", "/sys/fs /sys/fs/cgroup\n");
    fails("touch /dev/new");
}

/* A port takes 32 KiB at once, and less when it is full. */
static void much_crosses_the_channel_both_ways_whole(void **state)
{
    static char bytes[2 << 20];
    static const char *const words[] = { "/bin/cat", NULL };
    struct nacre_request request = { .input_fd = memfd_create("input", MFD_CLOEXEC) };
    const struct nt_command command = { .start = { .arguments = words,
                                                   .directory = "/",
                                                   .wall_ms_max = 60000,
                                                   .input = true },
                                        .output_bytes_max = sizeof(bytes) + 1,
                                        .request = &request };

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)(i * 2654435761u >> 13);
    assert_int_equal(write(request.input_fd, bytes, sizeof(bytes)), sizeof(bytes));
    assert_int_equal(lseek(request.input_fd, 0, SEEK_SET), 0);
    nacre_buf_clear(&result.output);
    result = (struct nacre_result){ .outcome = NACRE_OUTCOME_NONE };
    if (nt_box_run(box, &command, &result, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    (void)close(request.input_fd);
    assert_int_equal(result.output.size, sizeof(bytes));
    assert_memory_equal(result.output.bytes, bytes, sizeof(bytes));
}

/* ---- mounts ---- */

static void the_image_is_there_and_stays_as_it_is(void **state)
{
    (void)state;
    fails("echo x >/new");
    fails("echo x >/etc/file");
    says("cat /etc/hosts", "127.0.0.1 nacre\n");
    says("cat /etc/file", "through the link\n");
    fails("echo x >/etc/hosts");
}

static void a_tmpfs_holds_what_it_may_and_no_more(void **state)
{
    (void)state;
    says("stat -c '%a %u %g' /tmp /still", "700 1234 1234\n755 1234 1234\n");
    says("dd if=/dev/zero of=/tmp/big bs=65536 2>/dev/null; stat -c %s /tmp/big;"
         "rm /tmp/big",
         "4194304\n");
    says("i=0; while true 2>/dev/null >/tmp/$i; do i=$((i + 1)); [ $i -lt 200 ] || break;"
         "done; [ $i -lt 100 ] && echo few; rm -f /tmp/*",
         "few\n");
    fails("touch /still/new");
}

static void a_share_is_the_hosts_directory(void **state)
{
    (void)state;
    says("cd /work/deep/share && cat file && printf made >new && mkdir d && ln -s file l"
         " && stat -c '%u %a' new",
         "inside1234 644\n");
    assert_true(host_has("share/new", "made"));
    /* What the host changes is seen at once. */
    says("cat /work/deep/share/later 2>/dev/null", "");
    {
        char path[128];
        FILE *file;

        (void)snprintf(path, sizeof(path), "%s/share/later", world.dir);
        file = fopen(path, "we");
        assert_non_null(file);
        (void)fputs("later", file);
        (void)fclose(file);
    }
    says("cat /work/deep/share/later", "later");
    says("cat /fixed/file", "fixed");
    fails("echo x >/fixed/file");
    assert_true(host_has("fixed/file", "fixed"));
}

static void large_files_cross_a_share_whole(void **state)
{
    (void)state;
    says("cd /work/deep/share && dd if=/dev/urandom of=big bs=1000003 count=3 2>/dev/null"
         " && cp big /tmp/big && cmp big /tmp/big && stat -c %s big; rm -f /tmp/big big",
         "3000009\n");
}

static void a_cover_can_be_neither_read_nor_moved(void **state)
{
    (void)state;
    says("stat -c '%a %u' /work/deep/share/hidden", "0 0\n");
    fails("ls /work/deep/share/hidden");
    fails("cat /work/deep/share/hidden/secret");
    fails("mv /work/deep/share/hidden /work/deep/share/seen");
    fails("rmdir /work/deep/share/hidden");
    assert_true(host_has("share/hidden/secret", "secret"));
}

/* ---- limits ---- */

static void more_memory_than_allowed_is_out_of_memory(void **state)
{
    (void)state;
    says("cat /sys/fs/cgroup/nacre/memory.max", "100663296\n");
    (void)said("exec dd if=/dev/zero of=/dev/null bs=150M count=1");
    assert_int_equal(result.outcome, NACRE_OUTCOME_OUT_OF_MEMORY);
    says("echo goes on", "goes on\n");
}

static void a_group_can_not_be_changed_from_inside(void **state)
{
    (void)state;
    says("cat /proc/self/cgroup", "0::/nacre\n");
    fails("echo max >/sys/fs/cgroup/nacre/memory.max");
    fails("mkdir /sys/fs/cgroup/other");
    fails("echo $$ >/sys/fs/cgroup/cgroup.procs");
}

static void a_fork_bomb_ends_at_its_limit(void **state)
{
    (void)state;
    says("cat /sys/fs/cgroup/nacre/pids.max", "25\n");
    assert_int_equal(shell_within("f() { f | f & }; f; sleep 100", 1000), NACRE_OK);
    says("echo goes on", "goes on\n");
}

static void a_deadline_ends_all_that_a_command_started(void **state)
{
    (void)state;
    assert_int_equal(shell_within("sleep 1000 & sleep 1000", 300), NACRE_OK);
    assert_int_equal(result.outcome, NACRE_OUTCOME_TIMED_OUT);
    says("ps | grep -c '[s]leep'", "0\n");
}

/* ---- ends ---- */

/* The last one with the machine of all: nothing but closing the channel ends it. */
static void a_machine_ends_with_its_channel(void **state)
{
    (void)state;
    nt_box_free(box);
    box = NULL;
    assert_true(machine_world_ended(&world, 5000));
}

static void root_in_a_machine_has_what_it_was_left(void **state)
{
    struct init_machine order = order_of(mounts, 1);

    (void)state;
    order.uid = 0;
    order.gid = 0;
    order.capabilities_kept = 1; /* CAP_CHOWN */
    order.writable_root = true;
    order.layer_bytes = MIB;
    if (boot(&order) != NACRE_OK)
        fail_msg("%s", err.text);
    says("grep -E '^Cap(Eff|Bnd):' /proc/self/status",
         "CapEff:\t0000000000000001\nCapBnd:\t0000000000000001\n");
    says("echo x >/new && cat /new", "x\n");
    fails("dd if=/dev/zero of=/big bs=65536 count=100; s=$?; rm /big; exit $s");
    fails("echo 0 >/proc/sys/kernel/panic_on_oops");
    fails("echo max >/sys/fs/cgroup/nacre/memory.max");
    fails("mount -o remount,rw /dev");
    fails("chmod 700 /proc/kcore || head -c 1 /proc/kcore");
}

static bool kill_machine(void *data, char *reason, size_t size)
{
    (void)data, (void)reason, (void)size;
    (void)kill(world.qemu, SIGKILL);
    return false;
}

static void a_machine_that_dies_in_the_middle_is_told(void **state)
{
    (void)state;
    assert_non_null(box);
    assert_int_equal(shell_under("echo begun; sleep 30", 60000, kill_machine),
                     NACRE_ERR_IO);
    assert_non_null(strstr(err.text, "init is gone"));
    assert_true(nt_box_is_spent(box));
    nt_box_free(box);
    box = NULL;
    assert_true(machine_world_ended(&world, 5000));
}

/* Links that a guest has left in a share lead no mount away from it. */
static void a_link_in_a_share_is_no_way_to_a_mount(void **state)
{
    static const struct machine_mount list[] = {
        { .kind = MACHINE_MOUNT_SHARE, .target = "/work", .text = "share" },
        { .kind = MACHINE_MOUNT_TMPFS, .target = "/work/link", .text = "" },
    };
    const struct init_machine order = order_of(list, NACRE_COUNT(list));

    (void)state;
    assert_int_equal(boot(&order), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "can't mount a tmpfs /work/link"));
    assert_true(machine_world_ended(&world, 5000));
}

static void a_machine_is_told_first_what_it_is(void **state)
{
    (void)state;
    assert_int_equal(boot(NULL), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "can't read what the machine is made of"));
    assert_true(machine_world_ended(&world, 5000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_an_ordinary_user_without_capabilities),
        cmocka_unit_test(the_clock_is_the_owners),
        cmocka_unit_test(the_kernel_allows_only_what_commands_need),
        cmocka_unit_test(devices_are_those_of_a_container),
        cmocka_unit_test(much_crosses_the_channel_both_ways_whole),
        cmocka_unit_test(the_image_is_there_and_stays_as_it_is),
        cmocka_unit_test(a_tmpfs_holds_what_it_may_and_no_more),
        cmocka_unit_test(a_share_is_the_hosts_directory),
        cmocka_unit_test(large_files_cross_a_share_whole),
        cmocka_unit_test(a_cover_can_be_neither_read_nor_moved),
        cmocka_unit_test(more_memory_than_allowed_is_out_of_memory),
        cmocka_unit_test(a_group_can_not_be_changed_from_inside),
        cmocka_unit_test(a_fork_bomb_ends_at_its_limit),
        cmocka_unit_test(a_deadline_ends_all_that_a_command_started),
        cmocka_unit_test(a_machine_ends_with_its_channel),
        cmocka_unit_test(root_in_a_machine_has_what_it_was_left),
        cmocka_unit_test(a_machine_that_dies_in_the_middle_is_told),
        cmocka_unit_test(a_link_in_a_share_is_no_way_to_a_mount),
        cmocka_unit_test(a_machine_is_told_first_what_it_is),
    };
    const char *lack = machine_world_lack();

    if (lack) {
        printf("skipped: no %s here\n", lack);
        return 77;
    }
    return cmocka_run_group_tests(tests, start, stop);
}
