/* What a machine is made of, as data: the container around it, QEMU's words, what its init
 * is told.  Nothing is started. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>

#include "dk_machine.h"
#include "fail_alloc.h"
#include "nacre/executor.h"

#define MIB (UINT64_C(1) << 20)

/* Of a layer above; nothing here comes to it. */
void nacre_mechanism_add(struct nacre_executor *executor, const char *name, bool present,
                         const char *format, ...)
{
    (void)executor;
    (void)name;
    (void)present;
    (void)format;
    fail();
}

static char image[] = "debian:1", workdir[] = "/workspace";
static char *none[] = { NULL };
static char *kept[] = { (char[]){ "CHOWN" }, NULL };
static char *blocked[] = { (char[]){ "ptrace" }, NULL };
static char *said[] = { (char[]){ "A=b" }, NULL };
static char *tmpfs[] = { (char[]){ "/run:size=1048576,mode=755,noexec" }, NULL };
static char *denied_here[] = { (char[]){ "key/deep" }, NULL };
static char *denied_root[] = { (char[]){ "/etc/shadow" }, NULL };

static struct nacre_mount mounts[] = {
    { .guest = (char[]){ "/workspace" }, .host = (char[]){ "/srv/work" },
      .writable = true },
    { .guest = (char[]){ "/own" }, .writable = true, .denied = denied_here,
      .denied_count = 1 },
    { .guest = (char[]){ "/workspace/a,b" }, .host = (char[]){ "/srv/other" } },
};

static struct nacre_plan plan_of(void)
{
    return (struct nacre_plan){
        .level = NACRE_LEVEL_VM,
        .runtime = NACRE_RUNTIME_FIRECRACKER,
        .mounts = mounts,
        .mount_count = NACRE_COUNT(mounts),
        .shared_memory = true,
        .injection = NACRE_INJECTION_FILE_MOUNT,
        .limits = { .memory_bytes_max = 256 * MIB, .open_files_max = 128,
                    .processes_max = 32, .cpu_shares = 512,
                    .scratch_bytes_max = 16 * MIB, .scratch_files_max = 1000 },
        .container = { .image = image, .workdir = workdir,
                       .tmpfs = tmpfs, .keep_capabilities = kept,
                       .blocked_syscalls = blocked, .environment = said,
                       .ulimits = none, .disk_bytes = 64 * MIB },
        .denied_root = denied_root,
        .denied_root_count = 1,
        .digest = { .bytes = { 7 } },
    };
}

/* ---- around it ---- */

static void the_container_around_it_has_nothing_but_the_shares(void **state)
{
    const struct nacre_plan inside = plan_of();
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(dk_machine_plan(&inside, &plan, &err), NACRE_OK);
    assert_int_equal(plan->level, NACRE_LEVEL_CONTAINER);
    assert_int_equal(plan->runtime, NACRE_RUNTIME_DOCKER);
    assert_string_equal(plan->container.image, NACRE_VM_IMAGE);
    assert_true(plan->container.read_only_root);
    assert_null(plan->container.keep_capabilities[0]);
    assert_null(plan->container.blocked_syscalls[0]);
    assert_null(plan->container.environment[0]);
    assert_null(plan->container.workdir);
    assert_string_equal(plan->container.tmpfs[0], "/tmp:size=67108864,mode=1777");
    assert_null(plan->container.tmpfs[1]);
    assert_int_equal(plan->container.disk_bytes, 0);
    assert_int_equal(plan->denied_root_count, 0);
    assert_int_equal(plan->injection, NACRE_INJECTION_UNSET);
    assert_false(plan->shared_memory);
    assert_false(nacre_egress_is_open(&plan->egress));
    assert_int_equal(plan->mount_count, 2);
    assert_string_equal(plan->mounts[0].guest, DK_MACHINE_SHARES "/0/workspace");
    assert_string_equal(plan->mounts[1].guest, DK_MACHINE_SHARES "/1/workspace/a,b");
    assert_string_equal(plan->mounts[1].host, "/srv/other");
    /* What is shared of the processors is around it; the rest is inside. */
    assert_int_equal(plan->limits.cpu_shares, 512);
    assert_true(plan->limits.memory_bytes_max > dk_machine_ram(&inside));
    assert_int_equal(plan->container.memory_swap_bytes, plan->limits.memory_bytes_max);
    assert_memory_equal(&plan->digest, &inside.digest, sizeof(plan->digest));
}

static void its_memory_is_more_than_its_commands_may_have(void **state)
{
    struct nacre_plan plan = plan_of();

    (void)state;
    assert_int_equal(dk_machine_ram(&plan), (256 + 96 + 8) * MIB);
    plan.limits.memory_bytes_max = 48 * MIB + 1;
    assert_int_equal(dk_machine_ram(&plan) % MIB, 0);
    assert_true(dk_machine_ram(&plan) > (48 + 96) * MIB);
}

static void it_has_as_many_processors_as_were_asked_for(void **state)
{
    struct nacre_plan plan = plan_of();
    uint32_t all = dk_machine_processors(&plan, true);

    (void)state;
    assert_true(all >= 1 && all <= 8);
    assert_int_equal(dk_machine_processors(&plan, false), 1);
    plan.container.cpus_nano = 500000000;
    assert_int_equal(dk_machine_processors(&plan, true), 1);
    plan.container.cpus_nano = UINT64_C(999000000000);
    assert_int_equal(dk_machine_processors(&plan, false), all);
}

/* ---- QEMU ---- */

static struct dk_bind shares[] = {
    { .target = "/workspace", .writable = true, .is_dir = true },
    { .target = "/workspace/a,b", .is_dir = true },
};
static const struct dk_binds two_shares = { .items = shares, .count = 2 };

static char *words_of(const struct dk_machine_boot *boot, char ret_text[8192])
{
    NACRE_AUTO(dk_machine_words_clear) struct dk_machine_words words = { 0 };
    struct nacre_error err;
    size_t used = 0;

    assert_int_equal(dk_machine_words_make(boot, &words, &err), NACRE_OK);
    assert_null(words.items[words.count]);
    for (size_t i = 0; i < words.count; i++)
        used += (size_t)snprintf(ret_text + used, 8192 - used, "%s\n", words.items[i]);
    return ret_text;
}

static void qemu_is_told_of_nothing_that_was_not_planned(void **state)
{
    const struct dk_machine_boot boot = { .shares = &two_shares, .ram_bytes = 360 * MIB,
                                          .processors = 2, .emulated = true,
                                          .processor_khz = 2100000, .has_disk = true };
    char text[8192];

    (void)state;
    assert_string_equal(
        words_of(&boot, text),
        "/bin/sh\n-c\n"
        "cat /.nacre-machine/initrd /boot/modules.cpio >/tmp/initrd && exec \"$@\"\nsh\n"
        "/usr/bin/qemu-system-x86_64\n-M\n"
        "microvm,acpi=on,pit=off,pic=off,rtc=on,usb=off,isa-serial=off\n"
        "-accel\ntcg,tb-size=64\n-cpu\nmax\n-m\n360M\n-smp\n2\n"
        "-nodefaults\n-no-user-config\n-display\nnone\n-no-reboot\n"
        "-sandbox\non,obsolete=deny,elevateprivileges=deny,spawn=deny,"
        "resourcecontrol=deny\n"
        "-kernel\n/boot/vmlinux\n-initrd\n/tmp/initrd\n"
        "-append\ntsc_early_khz=2100000 panic=-1 quiet cryptomgr.notests "
        "rcupdate.rcu_expedited=1 lockdown=confidentiality -- machine\n"
        "-drive\nid=disk,file=/.nacre-machine/disk,format=raw,if=none,readonly=on\n"
        "-device\nvirtio-blk-device,drive=disk\n"
        "-chardev\nstdio,id=channel,signal=off\n"
        "-device\nvirtio-serial-device,max_ports=2\n"
        "-device\nvirtserialport,chardev=channel,name=nacre.channel\n"
        "-fsdev\nlocal,id=s0,path=/.nacre-machine/shares/0/workspace,"
        "security_model=none,multidevs=remap\n"
        "-device\nvirtio-9p-device,fsdev=s0,mount_tag=s0\n"
        "-fsdev\nlocal,id=s1,path=/.nacre-machine/shares/1/workspace/a,,b,"
        "security_model=none,multidevs=remap,readonly=on\n"
        "-device\nvirtio-9p-device,fsdev=s1,mount_tag=s1\n");
}

static void with_kvm_the_processor_is_the_hosts(void **state)
{
    const struct dk_machine_boot boot = { .ram_bytes = 128 * MIB, .processors = 1 };
    char text[8192];

    (void)state;
    (void)words_of(&boot, text);
    assert_non_null(strstr(text, "-accel\nkvm\n-cpu\nhost\n"));
    /* Unpacked by its own code, which puts it where nobody can tell. */
    assert_non_null(strstr(text, "-kernel\n/boot/vmlinuz\n"));
    assert_non_null(strstr(text, "-append\npanic=-1 "));
    assert_null(strstr(text, "tcg"));
    assert_null(strstr(text, "-drive"));
    assert_null(strstr(text, "-fsdev"));
}

/* ---- what is in it ---- */

static struct dk_parts parts_of(struct nacre_plan *plan)
{
    return (struct dk_parts){ .plan = plan, .kernel = DK_KERNEL_MACHINE,
                              .user = { 1234, 5678 }, .binds = two_shares,
                              .layer_bytes_max = 9 * MIB };
}

static void init_is_told_all_that_it_makes_outer_before_inner(void **state)
{
    static const struct {
        uint64_t kind;
        const char *target, *text;
        bool writable, no_exec;
        uint64_t bytes, inodes, mode;
    } want[] = {
        { MACHINE_MOUNT_TMPFS, "/dev/shm", "", true, true, 16 * MIB, 0, 01777 },
        { MACHINE_MOUNT_FILE, "/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n" },
        { MACHINE_MOUNT_FILE, "/etc/resolv.conf", "" },
        { MACHINE_MOUNT_COVER, "/etc/shadow", "" },
        { MACHINE_MOUNT_TMPFS, "/own", "", true, false, 8 * MIB, 500, 0700 },
        { MACHINE_MOUNT_TMPFS, "/own/key", "", true, false, 8 * MIB, 500, 0700 },
        { MACHINE_MOUNT_TMPFS, "/own/key/deep", "", false, true, 4096, 2, 0 },
        { MACHINE_MOUNT_TMPFS, "/run", "", true, true, MIB, 0, 0755 },
        { MACHINE_MOUNT_TMPFS, "/run/secrets", "", true, true, 8 * MIB, 128, 0700 },
        { MACHINE_MOUNT_SHARE, "/workspace", "s0", true },
        { MACHINE_MOUNT_SHARE, "/workspace/a,b", "s1" },
    };
    struct nacre_plan plan = plan_of();
    struct dk_parts inside = parts_of(&plan);
    NACRE_AUTO(dk_machine_order_clear) struct dk_machine_order order = { 0 };
    struct nacre_error err;

    (void)state;
    assert_int_equal(dk_machine_order_make(&inside, &order, &err), NACRE_OK);
    assert_int_equal(order.machine.uid, 1234);
    assert_int_equal(order.machine.gid, 5678);
    assert_int_equal(order.machine.capabilities_kept, 1);
    assert_true(order.machine.writable_root);
    assert_int_equal(order.machine.layer_bytes, 9 * MIB);
    assert_int_equal(order.machine.memory_bytes_max, 256 * MIB);
    assert_int_equal(order.machine.processes_max, 33);
    assert_true(order.machine.unix_ms > 0);
    assert_int_equal(order.machine.mount_count, NACRE_COUNT(want));
    for (size_t i = 0; i < NACRE_COUNT(want); i++) {
        const struct machine_mount *is = &order.machine.mounts[i];

        assert_string_equal(is->target, want[i].target);
        assert_int_equal(is->kind, want[i].kind);
        assert_string_equal(is->text, want[i].text);
        assert_int_equal(is->writable, want[i].writable);
        assert_int_equal(is->no_exec, want[i].no_exec);
        assert_int_equal(is->bytes, want[i].bytes);
        assert_int_equal(is->inodes, want[i].inodes);
        assert_int_equal(is->mode, want[i].mode);
    }
}

/* Denied, though a tmpfs or a file of nacre's own is there. */
static void what_is_denied_lies_above_all_else(void **state)
{
    char *of_root[] = { (char[]){ "/run" }, (char[]){ "/etc/hosts" }, NULL };
    struct nacre_plan plan = plan_of();
    struct dk_parts inside = parts_of(&plan);
    NACRE_AUTO(dk_machine_order_clear) struct dk_machine_order order = { 0 };
    const struct machine_mount *last_at_run = NULL;
    struct nacre_error err;

    (void)state;
    plan.denied_root = of_root;
    plan.denied_root_count = 2;
    assert_int_equal(dk_machine_order_make(&inside, &order, &err), NACRE_OK);
    for (uint64_t i = 0; i < order.machine.mount_count; i++) {
        const struct machine_mount *mount = &order.machine.mounts[i];

        if (strcmp(mount->target, "/etc/hosts") == 0)
            assert_int_equal(mount->kind, MACHINE_MOUNT_COVER);
        if (strcmp(mount->target, "/run") == 0)
            last_at_run = mount;
    }
    assert_non_null(last_at_run);
    assert_int_equal(last_at_run->kind, MACHINE_MOUNT_COVER);
}

/* Whatever changes what the machine is, and not what a command is given. */
static void another_machine_has_another_digest(void **state)
{
    struct nacre_plan plan = plan_of();
    struct dk_parts inside = parts_of(&plan);
    struct nacre_digest first, same, other;
    struct nacre_error err;

    (void)state;
    assert_int_equal(dk_machine_digest(&inside, &first, &err), NACRE_OK);
    plan.digest.bytes[0]++;
    plan.limits.output_bytes_max++;
    assert_int_equal(dk_machine_digest(&inside, &same, &err), NACRE_OK);
    assert_memory_equal(&first, &same, sizeof(first));
    plan.limits.memory_bytes_max++;
    assert_int_equal(dk_machine_digest(&inside, &other, &err), NACRE_OK);
    assert_memory_not_equal(&first, &other, sizeof(first));
    plan = plan_of();
    plan.denied_root_count = 0;
    assert_int_equal(dk_machine_digest(&inside, &other, &err), NACRE_OK);
    assert_memory_not_equal(&first, &other, sizeof(first));
}

/* Opened mounts, as the container around it has them. */
static struct nacre_open_mounts *open_mounts(struct nacre_mount *mount, const char *path,
                                             uint32_t count)
{
    struct nacre_open_mounts *opened = calloc(1, sizeof(*opened));

    opened->items = calloc(count, sizeof(*opened->items));
    opened->count = count;
    for (uint32_t i = 0; i < count; i++) {
        opened->items[i].mount = mount;
        opened->items[i].fd = open(path, O_PATH | O_CLOEXEC);
    }
    return opened;
}

static void names_lose_the_lead_that_they_have_around_it(void **state)
{
    struct nacre_mount mount = { .guest = (char[]){ DK_MACHINE_SHARES "/0/w" },
                                 .host = (char[]){ "/" }, .writable = true };
    char *covered[] = { (char[]){ DK_MACHINE_SHARES "/0/w/.env" }, NULL };
    struct nacre_open_mounts *opened = open_mounts(&mount, "/", 1);
    const struct dk_binds around = { .mounts = opened, .covered = covered,
                                     .covered_count = 1 };
    NACRE_AUTO(dk_binds_clear) struct dk_binds inside = { 0 };
    char words[] = "the denied path " DK_MACHINE_SHARES "/21/w/.env changed";
    struct nacre_error err;

    (void)state;
    dk_machine_drop_lead(words);
    assert_string_equal(words, "the denied path /w/.env changed");
    assert_int_equal(dk_machine_binds(&around, &inside, &err), NACRE_OK);
    assert_int_equal(inside.count, 1);
    assert_string_equal(inside.items[0].target, "/w");
    assert_true(inside.items[0].writable && inside.items[0].is_dir);
    assert_int_equal(inside.covered_count, 1);
    assert_string_equal(inside.covered[0], "/w/.env");
    nacre_mounts_clear(opened);
    free(opened);
}

static void what_no_machine_can_be_shown_is_refused(void **state)
{
    struct nacre_mount mount = { .guest = (char[]){ DK_MACHINE_SHARES "/0/w" },
                                 .host = (char[]){ "/etc/passwd" } };
    static const struct {
        const char *path;
        uint32_t count;
        const char *says;
    } rows[] = {
        { "/etc/passwd", 1, "'/w' is no directory" },
        { "/", DK_MACHINE_SHARES_MAX + 1, "over 22 mounts" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nacre_open_mounts *opened =
            open_mounts(&mount, rows[i].path, rows[i].count);
        const struct dk_binds around = { .mounts = opened };
        struct dk_binds inside = { 0 };
        struct nacre_error err;

        assert_int_equal(dk_machine_binds(&around, &inside, &err),
                         NACRE_ERR_NOT_RUNNABLE);
        assert_non_null(strstr(err.text, rows[i].says));
        nacre_mounts_clear(opened);
        free(opened);
    }
}

static void making_one_survives_every_allocation_failure(void **state)
{
    struct nacre_plan plan = plan_of();
    struct dk_parts inside = parts_of(&plan);
    const struct dk_machine_boot boot = { .shares = &two_shares, .ram_bytes = MIB };

    (void)state;
    for (int after = 0;; after++) {
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *around = NULL;
        NACRE_AUTO(dk_machine_words_clear) struct dk_machine_words words = { 0 };
        NACRE_AUTO(dk_machine_order_clear) struct dk_machine_order order = { 0 };
        struct nacre_error err;
        enum nacre_status status;

        fail_alloc_after(after);
        status = dk_machine_plan(&plan, &around, &err);
        if (status == NACRE_OK)
            status = dk_machine_words_make(&boot, &words, &err);
        if (status == NACRE_OK)
            status = dk_machine_order_make(&inside, &order, &err);
        if (!fail_alloc_fired()) {
            fail_alloc_after(-1);
            assert_int_equal(status, NACRE_OK);
            break;
        }
        fail_alloc_after(-1);
        assert_int_equal(status, NACRE_ERR_MEMORY);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_container_around_it_has_nothing_but_the_shares),
        cmocka_unit_test(its_memory_is_more_than_its_commands_may_have),
        cmocka_unit_test(it_has_as_many_processors_as_were_asked_for),
        cmocka_unit_test(qemu_is_told_of_nothing_that_was_not_planned),
        cmocka_unit_test(with_kvm_the_processor_is_the_hosts),
        cmocka_unit_test(init_is_told_all_that_it_makes_outer_before_inner),
        cmocka_unit_test(what_is_denied_lies_above_all_else),
        cmocka_unit_test(another_machine_has_another_digest),
        cmocka_unit_test(names_lose_the_lead_that_they_have_around_it),
        cmocka_unit_test(what_no_machine_can_be_shown_is_refused),
        cmocka_unit_test(making_one_survives_every_allocation_failure),
    };

    return cmocka_run_group_tests_name("dk_machine", tests, NULL, NULL);
}
