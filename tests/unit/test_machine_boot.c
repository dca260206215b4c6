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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
                                        .landlock_none = true,
                                        .oom_file = MACHINE_OOM_FILE,
                                        .masks = masks,
                                        .mask_count = NACRE_COUNT(masks),
                                        .carries = true,
                                        .questions = questions,
                                        .question_count = NACRE_COUNT(questions) };
    struct nt_stream stream;

    assert_true(machine_world_boot(&world, "", &stream, &err));
    return nt_box_open_machine(&stream, order, &config,
                               nacre_clock_ns() + BOOT_MS * NACRE_NS_PER_MS, NULL, &box,
                               &err);
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

static enum nacre_status shell_within(const char *text, uint64_t wall_ms)
{
    static const char *const environment[] = { "PATH=/bin", NULL };
    static const struct nacre_request request = { .input_fd = -1 };
    const char *const words[] = { "/bin/sh", "-c", text, NULL };
    const struct nt_command command = { .start = { .arguments = words,
                                                   .environment = environment,
                                                   .directory = "/",
                                                   .wall_ms_max = wall_ms },
                                        .output_bytes_max = 1 << 20,
                                        .request = &request };

    nacre_buf_clear(&result.output);
    nacre_buf_clear(&result.errors);
    result = (struct nacre_result){ .outcome = NACRE_OUTCOME_NONE };
    return nt_box_run(box, &command, &result, &err);
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

static void look_around(void **state)
{
    (void)state;
    printf("%s\n", said("id; cat /proc/self/mounts; cat /proc/self/status; ps; ls -la / /dev /sys/fs/cgroup; date; cat /proc/meminfo | head -4; cat /sys/fs/cgroup/nacre/memory.current; ls /proc"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(look_around),
    };
    const char *lack = machine_world_lack();

    if (lack) {
        printf("skipped: no %s here\n", lack);
        return getenv("CI") ? 1 : 77;
    }
    return cmocka_run_group_tests(tests, start, stop);
}
