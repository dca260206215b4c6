/* A plan as the launcher's operations, and what is looked at on the way: pure but for the
 * names that the host has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "doorway.h"
#include "fail_alloc.h"
#include "nacre/own.h"
#include "pr_expect.h"
#include "pr_mountinfo.h"
#include "pr_probe.h"
#include "pr_root.h"
#include "pr_spec.h"
#include "scene.h"

#define HOST_MOUNTS                                                      \
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"                    \
    "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"                    \
    "50 27 0:50 / /sr\\040v/jail/proc rw shared:1 - proc none rw\n"      \
    "51 27 0:51 / /srv/data rw - ext4 /dev/vdb rw\n"

static struct nacre_mount mounts[4];
static struct nacre_open_mount opened[4];
static struct nacre_open_mounts open_mounts;
static struct nacre_plan plan;
static struct pr_spec_input input;

static int begin(void **state)
{
    (void)state;
    plan = (struct nacre_plan){
        .level = NACRE_LEVEL_PROCESS, .mounts = mounts, .sealed = true,
        .own_tmp = true, .tmp_writable = true, .shared_memory = true,
        .limits = { .scratch_bytes_max = 5000, .scratch_files_max = 77 },
    };
    open_mounts = (struct nacre_open_mounts){ .items = opened };
    input = (struct pr_spec_input){ .plan = &plan, .mounts = &open_mounts, .uid = 1000,
                                    .gid = 1001, .landlock = true,
                                    .mountinfo = HOST_MOUNTS, .door_fd = -1 };
    return scene_clear(state);
}

static void add_mount(const char *guest, const char *host, bool writable)
{
    struct nacre_mount *mount = &mounts[plan.mount_count];

    *mount = (struct nacre_mount){ .guest = (char *)guest, .host = (char *)host,
                                   .writable = writable };
    opened[plan.mount_count] = (struct nacre_open_mount){
        .mount = mount,
        .fd = host ? open(host, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1,
    };
    assert_true(!host || opened[plan.mount_count].fd >= 0);
    open_mounts.count = ++plan.mount_count;
}

static void close_mounts(void)
{
    for (uint32_t i = 0; i < plan.mount_count; i++)
        nacre_fd_guard(&opened[i].fd);
}

static const struct spec_op *find(const struct pr_spec *spec, enum spec_kind kind,
                                  const char *target)
{
    for (size_t i = 0; i < spec->op_count; i++)
        if (spec->ops[i].kind == kind && strcmp(spec->ops[i].target, target) == 0)
            return &spec->ops[i];
    return NULL;
}

static struct pr_spec make(void)
{
    struct pr_spec spec;
    struct nacre_error err = { 0 };

    if (pr_spec_make(&input, &spec, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return spec;
}

static void without_mounts_there_is_the_table_and_no_more(void **state)
{
    NACRE_AUTO(pr_spec_clear) struct pr_spec spec = make();
    const struct spec_op *op;

    (void)state;
    assert_int_equal(spec.head.uid, 1000);
    assert_int_equal(spec.head.gid, 1001);
    assert_int_equal(spec.fd_count, 0);
    op = find(&spec, SPEC_SCRATCH, "");
    assert_int_equal(op->bytes, 5000);
    assert_int_equal(op->files, 77);
    assert_non_null(find(&spec, SPEC_ROOT, ""));
    op = find(&spec, SPEC_TREE, "usr");
    assert_true(op->flags & SPEC_READ_ONLY);
    assert_false(op->flags & (SPEC_DEVICE | SPEC_MAY_WRITE));
    op = find(&spec, SPEC_TREE, "dev/null");
    assert_true(op->flags & SPEC_DEVICE);
    assert_true(op->flags & SPEC_READ_ONLY);
    assert_string_equal(find(&spec, SPEC_FILE, "etc/passwd")->text,
                        "nacre:x:1000:1001:nacre:/tmp:/bin/sh\n");
    assert_non_null(find(&spec, SPEC_PRIVATE, "tmp"));
    assert_null(find(&spec, SPEC_COVER, "sys"));
    assert_null(find(&spec, SPEC_PRIVATE, "dev"));
    /* Nothing but devices may be a device, and nothing but scratch be written. */
    for (size_t i = 0; i < spec.op_count; i++) {
        op = &spec.ops[i];
        assert_true(op->kind != SPEC_TREE || op->flags & SPEC_READ_ONLY);
        assert_true(!(op->flags & SPEC_DEVICE) || strncmp(op->target, "dev/", 4) == 0);
    }
}

static void every_row_of_the_table_is_complete(void **state)
{
    (void)state;
    for (size_t i = 0; i < pr_root_count; i++) {
        const struct pr_root_entry *entry = &pr_root[i];

        assert_true(entry->path[0] && entry->path[0] != '/');
        assert_true(entry->where & PR_IN_BOTH);
        assert_int_not_equal(entry->kind, PR_ROOT_NONE);
        assert_non_null(entry->why);
        assert_true((entry->kind == PR_ROOT_FILE || entry->kind == PR_ROOT_LINK ||
                     entry->kind == PR_ROOT_HOSTS || entry->kind == PR_ROOT_OVER) ==
                    (entry->text != NULL));
        assert_true(entry->text || !entry->door_text);
        for (size_t k = 0; k < i; k++)
            assert_true(!(entry->where & pr_root[k].where) ||
                        strcmp(entry->path, pr_root[k].path) != 0);
    }
}

static void a_door_brings_sockets_names_and_nothing_else(void **state)
{
    NACRE_AUTO(pr_spec_clear) struct pr_spec closed = make();
    NACRE_AUTO(pr_spec_clear) struct pr_spec spec = { 0 };
    size_t sockets = 0;

    (void)state;
    input.door_fd = 42;
    input.hosts = "127.0.1.1 allowed.test\n";
    spec = make();
    for (size_t i = 0; i < spec.op_count; i++) {
        const struct spec_op *op = &spec.ops[i];

        if (op->kind != SPEC_LISTEN)
            continue;
        sockets++;
        assert_true(op->mode == DOORWAY_NAMES ? op->fd == SPEC_NO_FD
                                              : spec.fds[op->fd] == 42);
    }
    assert_int_equal(sockets, DOORWAY_COUNT - 1);
    assert_int_equal(spec.op_count, closed.op_count + sockets);
    assert_non_null(strstr(find(&spec, SPEC_FILE, "etc/hosts")->text, "allowed.test"));
    assert_non_null(strstr(find(&spec, SPEC_FILE, "etc/resolv.conf")->text,
                           "nameserver 127.0.0.53"));
    assert_non_null(strstr(find(&spec, SPEC_FILE, "etc/nsswitch.conf")->text, "dns"));
    assert_null(strstr(find(&closed, SPEC_FILE, "etc/nsswitch.conf")->text, "dns"));
    assert_string_equal(find(&closed, SPEC_FILE, "etc/resolv.conf")->text, "");
    assert_null(find(&spec, SPEC_PRIVATE, "run/nacre"));
    assert_null(find(&spec, SPEC_PRIVATE, "run/secrets"));
}

static void files_of_a_run_have_a_directory_each_where_there_are_some(void **state)
{
    NACRE_AUTO(pr_spec_clear) struct pr_spec spec = { 0 };

    (void)state;
    input.secrets = true;
    spec = make();
    assert_int_equal(find(&spec, SPEC_PRIVATE, "run/secrets")->mode, 0700);
    assert_null(find(&spec, SPEC_PRIVATE, "run/nacre"));
    pr_spec_clear(&spec);
    input.certificates = true;
    spec = make();
    assert_non_null(find(&spec, SPEC_PRIVATE, "run/nacre"));
}

static void a_limit_on_data_comes_first_and_only_when_there_is_one(void **state)
{
    (void)state;
    input.data_bytes_max = 99;
    {
        NACRE_AUTO(pr_spec_clear) struct pr_spec spec = make();

        assert_int_equal(spec.ops[0].kind, SPEC_DATA);
        assert_int_equal(spec.ops[0].bytes, 99);
    }
    input.data_bytes_max = 0;
    {
        NACRE_AUTO(pr_spec_clear) struct pr_spec spec = make();

        assert_null(find(&spec, SPEC_DATA, ""));
    }
}

static void cgroups_are_joined_last_with_a_door_and_without(void **state)
{
    (void)state;
    for (input.door_fd = -1; input.door_fd < 10; input.door_fd += 10) {
        NACRE_AUTO(pr_spec_clear) struct pr_spec spec = make();

        assert_ptr_equal(find(&spec, SPEC_JOIN, ""), &spec.ops[spec.op_count - 1]);
        assert_int_equal(find(&spec, SPEC_LISTEN, "") != NULL, input.door_fd >= 0);
    }
}

static void mounts_are_held_by_fd_and_outer_ones_come_first(void **state)
{
    char top[NACRE_PATH_MAX];
    struct stat info;
    const struct spec_op *inner, *outer;

    (void)state;
    assert_int_equal(mkdir("data", 0755), 0);
    assert_int_equal(stat("data", &info), 0);
    add_mount("/work/inner", scene_path(top, "data"), false);
    add_mount("/work", NULL, true);
    add_mount("/tmp", NULL, true);
    {
        NACRE_AUTO(pr_spec_clear) struct pr_spec spec = make();

        inner = find(&spec, SPEC_TREE, "work/inner");
        outer = find(&spec, SPEC_PRIVATE, "work");
        assert_true(outer < inner);
        assert_int_equal(spec.fds[inner->fd], opened[0].fd);
        assert_int_equal(inner->device, info.st_dev);
        assert_int_equal(inner->inode, info.st_ino);
        assert_string_equal(inner->text, top);
        assert_true(inner->flags & SPEC_READ_ONLY);
        assert_true(inner->flags & SPEC_MAKE); /* its place is in a private directory */
        assert_int_equal(find(&spec, SPEC_PRIVATE, "tmp")->mode, 01777);
    }
    close_mounts();
}

static void nothing_is_made_in_a_directory_of_the_hosts(void **state)
{
    char top[NACRE_PATH_MAX];

    (void)state;
    assert_int_equal(mkdir("data", 0755), 0);
    assert_int_equal(mkdir("data/own", 0755), 0);
    add_mount("/work", scene_path(top, "data"), true);
    add_mount("/work/own", NULL, true);
    {
        NACRE_AUTO(pr_spec_clear) struct pr_spec spec = make();

        assert_true(find(&spec, SPEC_TREE, "work")->flags & SPEC_MAKE);
        assert_false(find(&spec, SPEC_PRIVATE, "work/own")->flags & SPEC_MAKE);
    }
    close_mounts();
}

static void in_mode_full_the_hosts_tree_is_the_root(void **state)
{
    const struct spec_op *op;

    (void)state;
    plan.full_tree = true;
    add_mount("/", "/", true);
    {
        NACRE_AUTO(pr_spec_clear) struct pr_spec spec = make();

        assert_null(find(&spec, SPEC_ROOT, ""));
        op = find(&spec, SPEC_TREE, "");
        assert_false(op->flags & (SPEC_READ_ONLY | SPEC_MAKE | SPEC_DEVICE));
        assert_null(find(&spec, SPEC_TREE, "usr"));
        assert_null(find(&spec, SPEC_FILE, "etc/passwd"));
        assert_null(find(&spec, SPEC_PRIVATE, "tmp"));
        assert_non_null(find(&spec, SPEC_COVER, "sys"));
        assert_non_null(find(&spec, SPEC_PROC, "proc"));
        assert_false(find(&spec, SPEC_PROC, "proc")->flags & SPEC_MAKE);
        /* Another /proc that somebody has mounted, but not the host's own. */
        assert_non_null(find(&spec, SPEC_COVER, "sr v/jail/proc"));
        assert_null(find(&spec, SPEC_COVER, "proc"));
        assert_null(find(&spec, SPEC_COVER, "srv/data"));
    }
    close_mounts();
}

static void denied_names_are_held_and_covered(void **state)
{
    char top[NACRE_PATH_MAX];
    char *denied[] = { (char *)"a/b" };
    struct nt_mask masks[2] = { { .path = (char *)"a", .kind = NT_MASK_SELF },
                                { .path = (char *)"a/f", .kind = NT_MASK_COVER_FILE } };

    (void)state;
    assert_int_equal(mkdir("data", 0755), 0);
    add_mount("/work", scene_path(top, "data"), true);
    add_mount("/own", NULL, true);
    opened[1].denied = denied;
    opened[1].denied_count = 1;
    masks[0].fd = masks[1].fd = opened[0].fd;
    input.masks = masks;
    input.mask_count = 2;
    {
        NACRE_AUTO(pr_spec_clear) struct pr_spec spec = make();
        const struct spec_op *held = find(&spec, SPEC_SELF, "work/a");
        const struct spec_op *covered = find(&spec, SPEC_COVER, "work/a/f");

        assert_true(held < covered && held > find(&spec, SPEC_TREE, "work"));
        assert_int_not_equal(covered->inode, 0);
        assert_false(covered->flags & SPEC_IS_DIR);
        assert_non_null(find(&spec, SPEC_DIR, "own/a/b"));
        assert_non_null(find(&spec, SPEC_SELF, "own/a"));
        assert_null(find(&spec, SPEC_SELF, "own"));
        assert_true(find(&spec, SPEC_COVER, "own/a/b")->flags & SPEC_IS_DIR);
    }
    close_mounts();
}

static size_t count_of(const struct pr_spec *spec, enum spec_kind kind, const char *top)
{
    size_t count = 0;

    for (size_t i = 0; i < spec->op_count; i++)
        count += spec->ops[i].kind == kind &&
                 strncmp(spec->ops[i].target, top, strlen(top)) == 0;
    return count;
}

/* What is covered has nothing below it that could be covered too. */
static void below_a_cover_nothing_is_covered(void **state)
{
    char *denied[] = { (char *)"a/b/c", (char *)"a/b", (char *)"a/bc", (char *)"a/b/d" };
    char top[NACRE_PATH_MAX], text[6 * NACRE_PATH_MAX];

    (void)state;
    assert_int_equal(mkdir("data", 0755), 0);
    (void)scene_path(top, "data");
    (void)snprintf(text, sizeof(text),
                   "50 27 0:50 / %s/s/sub/x rw - cgroup none rw\n"
                   "51 27 0:51 / %s/s rw - sysfs none rw\n"
                   "52 27 0:52 / %s/s/sub rw - tmpfs none rw\n"
                   "53 27 0:53 / %s/sp rw - proc none rw\n",
                   top, top, top, top);
    input.mountinfo = text;
    add_mount("/own", NULL, true);
    opened[0].denied = denied;
    opened[0].denied_count = NACRE_COUNT(denied);
    add_mount("/work", top, true);
    {
        NACRE_AUTO(pr_spec_clear) struct pr_spec spec = make();

        assert_int_equal(count_of(&spec, SPEC_COVER, "own/"), 2);
        assert_non_null(find(&spec, SPEC_COVER, "own/a/b"));
        assert_non_null(find(&spec, SPEC_COVER, "own/a/bc"));
        assert_int_equal(count_of(&spec, SPEC_COVER, "work/"), 2);
        assert_non_null(find(&spec, SPEC_COVER, "work/s"));
        assert_non_null(find(&spec, SPEC_COVER, "work/sp"));
    }
    close_mounts();
}

static void a_mount_without_a_place_on_the_host_is_named(void **state)
{
    char top[NACRE_PATH_MAX];
    struct nacre_error err;
    struct pr_spec spec;

    (void)state;
    assert_int_equal(mkdir("data", 0755), 0);
    assert_int_equal(mkdir("data/there", 0755), 0);
    add_mount("/work", scene_path(top, "data"), true);
    add_mount("/work/there", top, true);
    {
        NACRE_AUTO(pr_spec_clear) struct pr_spec made = make(); /* the control */

        assert_non_null(find(&made, SPEC_TREE, "work/there"));
    }
    add_mount("/work/none", NULL, true);
    assert_int_equal(pr_spec_make(&input, &spec, &err), NACRE_ERR_NOT_RUNNABLE);
    assert_non_null(strstr(err.text, "mount '/work/none'"));
    close_mounts();
}

static void mounts_that_no_sandbox_can_have_are_refused(void **state)
{
    static const char *const names[] = { ".", "relative", "/" };
    struct nacre_error err;
    struct pr_spec spec;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(names); i++) {
        plan.mount_count = open_mounts.count = 0;
        add_mount(names[i], NULL, true);
        assert_int_equal(pr_spec_make(&input, &spec, &err), NACRE_ERR_NOT_RUNNABLE);
    }
    plan.mount_count = open_mounts.count = 0;
    add_mount("/work", "/", false);
    input.mountinfo = "no line of the kernel's\n";
    assert_int_equal(pr_spec_make(&input, &spec, &err), NACRE_ERR_BACKEND);
    close_mounts();
}

static void a_spec_survives_its_way_to_the_launcher(void **state)
{
    NACRE_AUTO(pr_spec_clear) struct pr_spec spec = make();
    NACRE_AUTO(nacre_heap_guard) uint8_t *bytes = NULL;
    struct unpack unpack = { 0 };
    struct nacre_error err;
    struct spec_head head;
    struct spec_op op;

    (void)state;
    assert_int_equal(pr_spec_pack(&spec, &bytes, &unpack.size, &err), NACRE_OK);
    unpack.bytes = bytes;
    assert_true(spec_head_unpack(&unpack, &head));
    assert_int_equal(head.op_count, spec.op_count);
    assert_string_equal(head.hostname, "nacre");
    for (size_t i = 0; i < spec.op_count; i++) {
        assert_true(spec_op_unpack(&unpack, &op));
        assert_int_equal(op.kind, spec.ops[i].kind);
        assert_int_equal(op.flags, spec.ops[i].flags);
        assert_string_equal(op.text, spec.ops[i].text);
        assert_string_equal(op.target, spec.ops[i].target);
    }
    assert_true(unpack_whole(&unpack));
    /* Cut anywhere, it is no spec. */
    for (size_t size = 0; size < unpack.size; size += 1 + size / 16) {
        struct unpack cut = { .bytes = bytes, .size = size };
        bool whole = spec_head_unpack(&cut, &head);

        for (size_t i = 0; i < spec.op_count && whole; i++)
            whole = spec_op_unpack(&cut, &op);
        assert_false(whole);
    }
}

static void no_allocation_that_fails_is_taken_for_a_spec(void **state)
{
    char top[NACRE_PATH_MAX];
    struct nacre_error err;
    bool fired = true;

    (void)state;
    assert_int_equal(mkdir("data", 0755), 0);
    add_mount("/work", scene_path(top, "data"), true);
    for (int after = 0; fired; after++) {
        NACRE_AUTO(pr_spec_clear) struct pr_spec spec = { 0 };
        NACRE_AUTO(nacre_heap_guard) uint8_t *bytes = NULL;
        enum nacre_status status;
        size_t count;

        fail_alloc_after(after);
        status = pr_spec_make(&input, &spec, &err);
        if (status == NACRE_OK)
            status = pr_spec_pack(&spec, &bytes, &count, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
    }
    close_mounts();
}

/* ---- what the sandbox reports ---- */

static void kernel_filesystems_are_seen_wherever_they_are_not_hidden(void **state)
{
    static const struct {
        const char *text;
        bool shows;
    } rows[] = {
        { "", false },
        { "1 0 0:1 / / ro - tmpfs none ro\n2 1 0:2 / /proc rw - proc none rw\n", false },
        { "1 0 0:1 / / ro - tmpfs none ro\n3 1 0:3 /null /dev/null ro - devtmpfs d rw\n",
          false },
        { "2 1 0:2 / /x/proc rw - proc none rw\n", true },
        { "2 1 0:2 / /sys rw - sysfs none rw\n", true },
        { "2 1 0:2 / /dev rw - devtmpfs none rw\n", true },
        { "2 1 0:2 / /sys rw - sysfs n rw\n3 2 0:3 / /sys ro - tmpfs n rw\n", false },
        { "2 1 0:2 / /a/sys rw - sysfs n rw\n3 2 0:3 / /a ro - tmpfs n rw\n", false },
        { "3 2 0:3 / /sys ro - tmpfs n rw\n2 1 0:2 / /sys rw - sysfs n rw\n", true },
        { "2 1 0:2 / /sys rw - sysfs n rw\n3 2 0:3 / /sysx ro - tmpfs n rw\n", true },
        { "2 1 0:2 / /a\\040b rw shared:3 - cgroup2 none rw\n", true },
        { "not a line", true },
        { "1 2 3\n", true },
        { "2 1 0:2 / /a rw tmpfs none rw\n", true },
        { "2 1 0:2 / relative rw - tmpfs none rw\n", true },
        { "2 1 0:2 / /bad\\09 rw - tmpfs none rw\n", true },
    };
    char path[NACRE_PATH_MAX];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++)
        if (pr_expect_shows_kernel(rows[i].text, path) != rows[i].shows)
            fail_msg("%s", rows[i].text);
    assert_true(pr_expect_shows_kernel("2 1 0:2 / /a\\040b rw - cgroup2 n rw\n", path));
    assert_string_equal(path, "/a b");
}

static void what_is_expected_covers_user_mounts_and_scratch(void **state)
{
    NACRE_AUTO(pr_spec_clear) struct pr_spec spec = make();
    NACRE_AUTO(nacre_heap_guard) struct pr_expect *expect = malloc(sizeof(*expect));
    struct nacre_error err;
    bool scratch = false, alone = false;

    (void)state;
    assert_non_null(expect);
    assert_int_equal(pr_expect_make(&spec, true, expect, &err), NACRE_OK);
    for (size_t i = 0; i < expect->row_count; i++) {
        const struct nt_expect *row = &expect->rows[i];

        scratch |= strcmp(row->what, "/tmp") == 0 &&
                   strstr(row->planned, "bytes=8192 inodes=77") != NULL;
        alone |= row->key && strcmp(row->key, "Groups") == 0;
    }
    assert_true(scratch && alone);
    pr_expect_clear(expect);
    assert_int_equal(pr_expect_make(&spec, false, expect, &err), NACRE_OK);
    for (size_t i = 0; i < expect->row_count; i++)
        assert_false(expect->rows[i].key && !strcmp(expect->rows[i].key, "Groups"));
    pr_expect_clear(expect);
}

/* ---- what the level needs ---- */

static void settings_that_forbid_user_namespaces_are_named(void **state)
{
    static const struct {
        const char *make, *word; /* word NULL: nothing stands in the way */
        bool privileged;
    } rows[] = {
        { "true", NULL, false },
        { "rm proc/self/ns/user", "CONFIG_USER_NS", true },
        { "echo 0 >proc/sys/user/max_user_namespaces", "max_user_namespaces", true },
        { "echo 0 >proc/sys/kernel/unprivileged_userns_clone",
          "unprivileged_userns_clone", false },
        { "echo 0 >proc/sys/kernel/unprivileged_userns_clone", NULL, true },
        { "echo 1 >proc/sys/kernel/unprivileged_userns_clone", NULL, false },
        { "echo 1 >proc/sys/kernel/apparmor_restrict_unprivileged_userns", "AppArmor",
          false },
        { "echo 1 >proc/sys/kernel/apparmor_restrict_unprivileged_userns", NULL, true },
        { "echo 1 >proc/sys/kernel/apparmor_restrict_unprivileged_userns; "
          "echo 'nacre (enforce)' >proc/self/attr/current",
          NULL, false },
        { "echo 0 >proc/sys/kernel/apparmor_restrict_unprivileged_userns", NULL, false },
    };
    struct nacre_error err;

    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        enum nacre_status status;

        assert_int_equal(scene_clear(state), 0);
        scene_shell("mkdir -p proc/self/ns proc/self/attr proc/sys/user proc/sys/kernel; "
                    "touch proc/self/ns/user; echo 5 >proc/sys/user/max_user_namespaces; "
                    "echo unconfined >proc/self/attr/current");
        scene_shell(rows[i].make);
        status = pr_probe("proc", rows[i].privileged, &err);
        assert_int_equal(status, rows[i].word ? NACRE_ERR_UNAVAILABLE : NACRE_OK);
        if (rows[i].word && !strstr(err.text, rows[i].word))
            fail_msg("%s: %s", rows[i].word, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(without_mounts_there_is_the_table_and_no_more, begin),
        cmocka_unit_test(every_row_of_the_table_is_complete),
        cmocka_unit_test_setup(a_door_brings_sockets_names_and_nothing_else, begin),
        cmocka_unit_test_setup(files_of_a_run_have_a_directory_each_where_there_are_some,
                               begin),
        cmocka_unit_test_setup(a_limit_on_data_comes_first_and_only_when_there_is_one,
                               begin),
        cmocka_unit_test_setup(cgroups_are_joined_last_with_a_door_and_without, begin),
        cmocka_unit_test_setup(mounts_are_held_by_fd_and_outer_ones_come_first, begin),
        cmocka_unit_test_setup(nothing_is_made_in_a_directory_of_the_hosts, begin),
        cmocka_unit_test_setup(in_mode_full_the_hosts_tree_is_the_root, begin),
        cmocka_unit_test_setup(denied_names_are_held_and_covered, begin),
        cmocka_unit_test_setup(below_a_cover_nothing_is_covered, begin),
        cmocka_unit_test_setup(a_mount_without_a_place_on_the_host_is_named, begin),
        cmocka_unit_test_setup(mounts_that_no_sandbox_can_have_are_refused, begin),
        cmocka_unit_test_setup(a_spec_survives_its_way_to_the_launcher, begin),
        cmocka_unit_test_setup(no_allocation_that_fails_is_taken_for_a_spec, begin),
        cmocka_unit_test(kernel_filesystems_are_seen_wherever_they_are_not_hidden),
        cmocka_unit_test_setup(what_is_expected_covers_user_mounts_and_scratch, begin),
        cmocka_unit_test(settings_that_forbid_user_namespaces_are_named),
    };

    return cmocka_run_group_tests(tests, scene_enter, scene_leave);
}
