/*
 * Where paths lead, with the kernel's help and without it.  Each refusal is judged by
 * what lies outside, and each has a twin that is allowed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <seccomp.h>

#include "in_child.h"
#include "nacre/clock.h"
#include "nacre_files_abi.h"
#include "wasi_guest.h"

/* Every test runs with openat2 and with the fallback walk. */
static bool without_openat2;

static int set_up(void **state)
{
    static struct guest guest;

    guest_prepare(&guest);
    guest.config.without_openat2 = without_openat2;
    *state = &guest;
    return 0;
}

static int tear_down(void **state)
{
    guest_finish(*state);
    return 0;
}

/* ---- escapes ---- */

static const struct {
    const char *path;
    int error;
} plain_paths[] = {
    { "file", P1_SUCCESS },
    { "./file", P1_SUCCESS },
    { "dir/../file", P1_SUCCESS },
    { "dir/.//..///dir/deep", P1_SUCCESS },
    { "to-file", P1_SUCCESS },
    { "to-dir/deep", P1_SUCCESS },
    { "to-dir/../file", P1_SUCCESS },
    { "dir/up/file", P1_SUCCESS },
    { "chain", P1_SUCCESS },
    { "dir", P1_SUCCESS },
    { "dir/", P1_SUCCESS },
    { "to-dir/", P1_SUCCESS },
    { ".", P1_SUCCESS },
    { "dir/..", P1_SUCCESS },
    { "..", P1_PERM },
    { "../out/canary", P1_PERM },
    { "dir/../../out/canary", P1_PERM },
    { "dir/../../in/file", P1_PERM },
    { "./../in/file", P1_PERM },
    { "to-dir/../../out/canary", P1_PERM },
    { "/file", P1_PERM },
    { "/", P1_PERM },
    { "//", P1_PERM },
    { "escape-relative", P1_PERM },
    { "escape-absolute", P1_PERM },
    { "escape-dir/canary", P1_PERM },
    { "escape-dir", P1_PERM },
    { "escape-back", P1_PERM },
    { "absolute-inside",
      P1_PERM }, /* to in/file by its full name: refused all the same */
    { "dangling", P1_NOENT },
    { "loop", P1_LOOP },
    { "loop/x", P1_LOOP },
    { "missing", P1_NOENT },
    { "missing/file", P1_NOENT },
    { "file/", P1_NOTDIR },
    { "file/x", P1_NOTDIR },
    { "file/..", P1_NOTDIR },
    { "to-file/", P1_NOTDIR },
    { "missing/../file", P1_NOENT },
    { "", P1_NOENT },
};

static void a_path_stays_below_its_mount(void **state)
{
    struct guest *guest = *state;
    char full[128];

    outside_link(guest, "file", "in/to-file");
    outside_link(guest, "dir", "in/to-dir");
    outside_link(guest, "..", "in/dir/up");
    outside_link(guest, "dir/up/to-file", "in/chain");
    outside_link(guest, "../out/canary", "in/escape-relative");
    outside_link(guest, "/etc/passwd", "in/escape-absolute");
    outside_link(guest, "../out", "in/escape-dir");
    outside_link(guest, "../in/file", "in/escape-back");
    outside_link(guest, "gone", "in/dangling");
    outside_link(guest, "loop", "in/loop");
    (void)snprintf(full, sizeof(full), "%s/in/file", guest->top);
    outside_link(guest, full, "in/absolute-inside");
    guest_start(guest);
    for (size_t i = 0; i < sizeof(plain_paths) / sizeof(plain_paths[0]); i++) {
        const char *path = plain_paths[i].path;
        uint32_t number;
        int error = guest_open(guest, GUEST_IN, path, P1_LOOKUP_FOLLOW, 0, READ, &number);

        if (error != plain_paths[i].error)
            print_message("open '%s': %d\n", path, error);
        assert_int_equal(error, plain_paths[i].error);
        if (error == P1_SUCCESS)
            assert_int_equal(guest_close(guest, number), P1_SUCCESS);
        assert_int_equal(guest_stat(guest, GUEST_IN, path, P1_LOOKUP_FOLLOW),
                         plain_paths[i].error);
    }
    assert_true(guest_reads(guest, GUEST_IN, "chain", "inside"));
    assert_true(guest_denials(guest, "escape") > 0);
}

static void nothing_is_made_through_a_link_that_leads_out(void **state)
{
    struct guest *guest = *state;
    uint32_t number;

    outside_link(guest, "../out/new", "in/bad");
    outside_link(guest, "../out", "in/bad-dir");
    outside_link(guest, "new", "in/good");
    guest_start(guest);
    assert_int_equal(guest_open(guest, GUEST_IN, "bad", P1_LOOKUP_FOLLOW, P1_OFLAG_CREAT,
                                WRITE, &number),
                     P1_PERM);
    assert_int_equal(guest_mkdir(guest, GUEST_IN, "bad-dir/new"), P1_PERM);
    assert_int_equal(guest_symlink(guest, "x", GUEST_IN, "bad-dir/new"), P1_PERM);
    assert_int_equal(guest_link(guest, GUEST_IN, "file", GUEST_IN, "bad-dir/new"),
                     P1_PERM);
    assert_int_equal(guest_rename(guest, GUEST_IN, "file", GUEST_IN, "bad-dir/new"),
                     P1_PERM);
    assert_int_equal(guest_rename(guest, GUEST_IN, "bad-dir/canary", GUEST_IN, "x"),
                     P1_PERM);
    assert_int_equal(guest_unlink(guest, GUEST_IN, "bad-dir/canary"), P1_PERM);
    assert_int_equal(guest_touch(guest, GUEST_IN, "bad-dir/canary"), P1_PERM);
    assert_int_equal(guest_rmdir(guest, GUEST_IN, "bad-dir/../out"), P1_PERM);
    assert_int_equal(outside_count(guest, "out"), 1);
    assert_true(outside_holds(guest, "out/canary", "outside"));
    assert_int_equal(guest_open(guest, GUEST_IN, "good", P1_LOOKUP_FOLLOW, P1_OFLAG_CREAT,
                                WRITE, &number),
                     P1_SUCCESS);
    assert_true(outside_exists(guest, "in/new"));
}

static void a_directory_number_is_a_ceiling_too(void **state)
{
    struct guest *guest = *state;
    uint32_t dir;

    guest_start(guest);
    assert_int_equal(guest_open(guest, GUEST_IN, "dir", 0, P1_OFLAG_DIRECTORY, 0, &dir),
                     P1_SUCCESS);
    assert_int_equal(guest_stat(guest, dir, "../file", 0), P1_PERM);
    assert_int_equal(guest_stat(guest, dir, "deep", 0), P1_SUCCESS);
    assert_int_equal(guest_stat(guest, dir, ".", 0), P1_SUCCESS);
}

static void the_root_mount_resolves_links_and_dots_against_itself(void **state)
{
    struct guest *guest = *state;
    uint32_t dir;

    guest->mounts[0].is_root = true;
    outside_link(guest, "/file", "in/absolute");
    outside_link(guest, "/dir/../../../file", "in/climbing");
    outside_link(guest, "/dir", "in/dir/again");
    guest_start(guest);
    assert_true(guest_reads(guest, GUEST_IN, "absolute", "inside"));
    assert_true(guest_reads(guest, GUEST_IN, "climbing", "inside"));
    assert_true(guest_reads(guest, GUEST_IN, "../../file", "inside"));
    assert_true(guest_reads(guest, GUEST_IN, "/dir/deep", "inside"));
    assert_true(guest_reads(guest, GUEST_IN, "dir/again/again/deep", "inside"));
    assert_int_equal(guest_stat(guest, GUEST_IN, "../out/canary", 0), P1_NOENT);
    assert_int_equal(guest_open(guest, GUEST_IN, "dir/again/again", P1_LOOKUP_FOLLOW,
                                P1_OFLAG_DIRECTORY, 0, &dir),
                     P1_SUCCESS);
    assert_true(guest_reads(guest, dir, "../file", "inside"));
    assert_true(guest_reads(guest, dir, "../../../dir/deep", "inside"));
}

/* In a root mount ".." leaves an open directory by its name, so the name moves along. */
static void an_open_directory_carries_its_name_along(void **state)
{
    struct guest *guest = *state;
    uint32_t dir;

    guest->mounts[0].is_root = true;
    outside_dir(guest, "in/sub");
    outside_file(guest, "in/sub/sibling", "inside");
    guest_start(guest);
    assert_int_equal(guest_open(guest, GUEST_IN, "dir", 0, P1_OFLAG_DIRECTORY, 0, &dir),
                     P1_SUCCESS);
    assert_int_equal(guest_stat(guest, dir, "../sibling", 0), P1_NOENT);
    assert_int_equal(guest_rename(guest, GUEST_IN, "dir", GUEST_IN, "sub/moved"),
                     P1_SUCCESS);
    assert_true(guest_reads(guest, dir, "../sibling", "inside"));
    assert_true(guest_reads(guest, dir, "deep", "inside"));
    assert_int_equal(guest_rename(guest, GUEST_IN, "sub", GUEST_IN, "subtle"),
                     P1_SUCCESS);
    assert_true(guest_reads(guest, dir, "../sibling", "inside"));
}

/* ---- read-only mounts and two mounts ---- */

static void a_read_only_mount_is_not_changed(void **state)
{
    struct guest *guest = *state;
    uint32_t number, dir;
    struct stat before, after;

    guest_start(guest);
    assert_int_equal(fstatat(guest->top_fd, "ro/file", &before, 0), 0);
    assert_int_equal(guest_open(guest, GUEST_RO, "file", 0, 0, WRITE, &number), P1_PERM);
    assert_int_equal(
        guest_open(guest, GUEST_RO, "file", 0, P1_OFLAG_TRUNC, READ, &number), P1_PERM);
    assert_int_equal(guest_open(guest, GUEST_RO, "new", 0, P1_OFLAG_CREAT, READ, &number),
                     P1_PERM);
    assert_int_equal(guest_mkdir(guest, GUEST_RO, "new"), P1_PERM);
    assert_int_equal(guest_unlink(guest, GUEST_RO, "file"), P1_PERM);
    assert_int_equal(guest_rmdir(guest, GUEST_RO, "dir"), P1_PERM);
    assert_int_equal(guest_rename(guest, GUEST_RO, "file", GUEST_RO, "new"), P1_PERM);
    assert_int_equal(guest_rename(guest, GUEST_RO, "file", GUEST_IN, "new"), P1_PERM);
    assert_int_equal(guest_rename(guest, GUEST_IN, "file", GUEST_RO, "new"), P1_PERM);
    assert_int_equal(guest_link(guest, GUEST_RO, "file", GUEST_IN, "new"), P1_PERM);
    assert_int_equal(guest_link(guest, GUEST_IN, "file", GUEST_RO, "new"), P1_PERM);
    assert_int_equal(guest_symlink(guest, "file", GUEST_RO, "new"), P1_PERM);
    assert_int_equal(guest_touch(guest, GUEST_RO, "file"), P1_PERM);
    /* Creating what exists is only opening it. */
    assert_int_equal(
        guest_open(guest, GUEST_RO, "file", 0, P1_OFLAG_CREAT, READ, &number),
        P1_SUCCESS);
    assert_int_equal(guest_write(guest, number, "x"), P1_BADF);
    assert_int_equal(CALL(guest, "fd_filestat_set_size", number, 0), P1_INVAL);
    assert_int_equal(CALL(guest, "fd_filestat_set_times", number, 0, 0, P1_FSTFLAG_MTIM),
                     P1_PERM);
    assert_int_equal(guest_open(guest, GUEST_RO, "dir", 0, P1_OFLAG_DIRECTORY, 0, &dir),
                     P1_SUCCESS);
    assert_int_equal(guest_unlink(guest, dir, "deep"), P1_PERM);
    assert_int_equal(CALL(guest, "fd_filestat_set_times", dir, 0, 0, P1_FSTFLAG_MTIM_NOW),
                     P1_PERM);
    assert_int_equal(fstatat(guest->top_fd, "ro/file", &after, 0), 0);
    assert_memory_equal(&before.st_mtim, &after.st_mtim, sizeof(before.st_mtim));
    assert_true(outside_holds(guest, "ro/file", "inside"));
    assert_int_equal(outside_count(guest, "ro"), 2);
    assert_true(guest_denials(guest, "read-only") > 0);
    assert_int_equal(guest_touch(guest, GUEST_IN, "file"), P1_SUCCESS);
}

static void nothing_moves_or_links_between_mounts(void **state)
{
    struct guest *guest = *state;

    guest->mounts[1].writable = true;
    guest_start(guest);
    assert_int_equal(guest_rename(guest, GUEST_IN, "file", GUEST_RO, "new"), P1_XDEV);
    assert_int_equal(guest_link(guest, GUEST_IN, "file", GUEST_RO, "new"), P1_XDEV);
    assert_false(outside_exists(guest, "ro/new"));
    assert_int_equal(guest_rename(guest, GUEST_IN, "file", GUEST_IN, "new"), P1_SUCCESS);
    assert_true(outside_exists(guest, "in/new"));
}

static void absolute_links_are_not_made(void **state)
{
    struct guest *guest = *state;

    guest_start(guest);
    assert_int_equal(guest_symlink(guest, "/etc/passwd", GUEST_IN, "new"), P1_PERM);
    assert_false(outside_exists(guest, "in/new"));
    assert_int_equal(guest_symlink(guest, "../out/canary", GUEST_IN, "new"), P1_SUCCESS);
    assert_int_equal(guest_stat(guest, GUEST_IN, "new", P1_LOOKUP_FOLLOW), P1_PERM);
    assert_int_equal(guest_readlink(guest, GUEST_IN, "new"), P1_SUCCESS);
}

static void a_slash_after_a_link_does_not_remove_its_target(void **state)
{
    struct guest *guest = *state;

    outside_dir(guest, "in/empty");
    outside_link(guest, "empty", "in/to-empty");
    guest_start(guest);
    assert_int_equal(guest_rmdir(guest, GUEST_IN, "to-empty/"), P1_NOTDIR);
    assert_int_equal(guest_unlink(guest, GUEST_IN, "to-empty/"), P1_NOTDIR);
    assert_int_equal(guest_rename(guest, GUEST_IN, "to-empty/", GUEST_IN, "x"),
                     P1_NOTDIR);
    assert_true(outside_exists(guest, "in/empty"));
    assert_int_equal(guest_unlink(guest, GUEST_IN, "to-empty"), P1_SUCCESS);
    assert_int_equal(guest_rmdir(guest, GUEST_IN, "empty/"), P1_SUCCESS);
}

/* ---- what is opened ---- */

static void only_files_and_directories_are_opened(void **state)
{
    struct guest *guest = *state;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    NACRE_AUTO(nacre_fd_guard)
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    uint32_t number;

    assert_int_equal(mkfifoat(guest->in_fd, "fifo", 0600), 0);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/in/socket",
                   guest->top);
    assert_int_equal(bind(server, (struct sockaddr *)&address, sizeof(address)), 0);
    outside_link(guest, "fifo", "in/to-fifo");
    guest_start(guest);
    for (uint64_t rights = READ; rights != 0; rights = rights == READ ? WRITE : 0) {
        static const char *const names[] = { "fifo", "to-fifo", "socket" };

        for (size_t i = 0; i < 3; i++)
            assert_int_equal(guest_open(guest, GUEST_IN, names[i], P1_LOOKUP_FOLLOW, 0,
                                        rights, &number),
                             P1_ACCES);
    }
    assert_int_equal(guest_denials(guest, "special-file"), 6);
    assert_int_equal(guest_stat(guest, GUEST_IN, "fifo", 0), P1_SUCCESS);
    assert_int_equal(guest_unlink(guest, GUEST_IN, "fifo"), P1_SUCCESS);
}

static void a_waiting_fifo_is_not_even_touched(void **state)
{
    struct guest *guest = *state;
    NACRE_AUTO(nacre_fd_guard) int reader = -1;
    struct pollfd item = { .events = POLLIN };
    uint32_t number;

    assert_int_equal(mkfifoat(guest->in_fd, "fifo", 0600), 0);
    reader = openat(guest->in_fd, "fifo", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    item.fd = reader;
    guest_start(guest);
    assert_int_equal(
        guest_open(guest, GUEST_IN, "fifo", 0, P1_OFLAG_TRUNC, WRITE, &number), P1_ACCES);
    /* A reader is told when a writer has come and gone: none has. */
    assert_int_equal(poll(&item, 1, 0), 0);
    assert_int_equal(close(openat(guest->in_fd, "fifo", O_WRONLY | O_CLOEXEC)), 0);
    assert_int_equal(poll(&item, 1, 0), 1);
}

static void kernel_file_systems_are_closed(void **state)
{
    struct guest *guest = *state;
    NACRE_AUTO(nacre_fd_guard) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    static const char *const names[] = {
        "proc/self/mem", "proc/self/status", "proc/self/root/etc/passwd", "proc",
        "sys/kernel/uevent_helper", "sys", "dev/null", "proc/self/fd/0", "proc/1/environ",
    };
    uint32_t number;

    guest->mounts[0].fd = root;
    guest->mounts[0].is_root = true;
    guest_start(guest);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        int error = guest_open(guest, GUEST_IN, names[i], 0, 0, READ, &number);

        if (error != P1_ACCES && error != P1_NOENT)
            print_message("open '%s': %d\n", names[i], error);
        assert_true(error == P1_ACCES || error == P1_NOENT);
    }
    assert_true(guest_denials(guest, "kernel-filesystem") >= 3);
    assert_int_equal(guest_mkdir(guest, GUEST_IN, "proc/new"), P1_ACCES);
    assert_int_equal(guest_readlink(guest, GUEST_IN, "proc/self/exe"), P1_ACCES);
    assert_int_equal(guest_open(guest, GUEST_IN, "etc/passwd", 0, 0, READ, &number),
                     P1_SUCCESS);
    guest->mounts[0].fd = guest->in_fd;
}

static void modes_of_new_files_hold_no_special_bits(void **state)
{
    struct guest *guest = *state;
    mode_t before = umask(022);
    uint32_t number;
    struct stat st;

    guest_start(guest);
    assert_int_equal(
        guest_open(guest, GUEST_IN, "new", 0, P1_OFLAG_CREAT, WRITE, &number),
        P1_SUCCESS);
    assert_int_equal(guest_mkdir(guest, GUEST_IN, "newdir"), P1_SUCCESS);
    assert_int_equal(fstatat(guest->in_fd, "new", &st, 0), 0);
    assert_int_equal(st.st_mode, S_IFREG | 0644);
    assert_int_equal(fstatat(guest->in_fd, "newdir", &st, 0), 0);
    assert_int_equal(st.st_mode, S_IFDIR | 0755);
    (void)umask(before);
}

/* ---- without openat2, for real ---- */

static int block_openat2_and_resolve(void *data)
{
    struct guest *guest = data;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    uint32_t number;

    CHILD_CHECK(filter);
    CHILD_CHECK(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(openat2), 0) ==
                0);
    CHILD_CHECK(seccomp_load(filter) == 0);
    CHILD_CHECK(guest_reads(guest, GUEST_IN, "dir/../dir/deep", "inside"));
    CHILD_CHECK(guest_reads(guest, GUEST_IN, "dir/deep", "inside"));
    CHILD_CHECK(guest_open(guest, GUEST_IN, "dir/../../out/canary", 0, 0, READ,
                           &number) == P1_PERM);
    CHILD_CHECK(guest_open(guest, GUEST_IN, "bad/canary", 0, 0, READ, &number) ==
                P1_PERM);
    return 0;
}

static void a_filter_that_blocks_openat2_leaves_the_walk(void **state)
{
    struct guest *guest = *state;

    outside_link(guest, "../out", "in/bad");
    guest_start(guest);
    assert_exited(in_child(block_openat2_and_resolve, guest), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

/* A tool replaces a script by a new file and a rename: preview1 has no chmod. */
static void a_file_that_replaces_another_has_its_mode(void **state)
{
    struct guest *guest = *state;
    struct stat info;
    uint32_t made;

    guest_start(guest);
    assert_int_equal(fchmodat(guest->in_fd, "file", 04750, 0), 0);
    assert_int_equal(guest_open(guest, GUEST_IN, "new", 0, P1_OFLAG_CREAT,
                                P1_RIGHT_FD_WRITE, &made), P1_SUCCESS);
    assert_int_equal(guest_close(guest, made), P1_SUCCESS);
    assert_int_equal(guest_rename(guest, GUEST_IN, "new", GUEST_IN, "file"), P1_SUCCESS);
    assert_int_equal(fstatat(guest->in_fd, "file", &info, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(info.st_mode & 07777, 0750);
    /* Where nothing was there, nothing is said of the mode. */
    assert_int_equal(guest_rename(guest, GUEST_IN, "file", GUEST_IN, "else"), P1_SUCCESS);
    assert_int_equal(fstatat(guest->in_fd, "else", &info, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(info.st_mode & 07777, 0750);
}

/* "key" is also a name of a file outside, which its owner keeps closed. */
static void a_file_with_a_second_name_keeps_its_mode(void **state)
{
    struct guest *guest = *state;
    struct stat info;

    outside_file(guest, "key", "outside");
    guest_start(guest);
    assert_int_equal(fchmodat(guest->in_fd, "file", 0644, 0), 0);
    assert_int_equal(linkat(guest->in_fd, "../key", guest->in_fd, "key", 0), 0);
    assert_int_equal(fchmodat(guest->in_fd, "key", 0600, 0), 0);
    assert_int_equal(guest_rename(guest, GUEST_IN, "key", GUEST_IN, "file"), P1_SUCCESS);
    assert_int_equal(fstatat(guest->in_fd, "../key", &info, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
}

/* `names` are pairs, NULL behind the last; `done` is set to another number before. */
static int rename_all(struct guest *guest, const char *const *names, uint32_t *ret_done)
{
    struct nacre_rename renames[8];
    uint32_t text = GUEST_TEXT, count = 0;
    int error;

    for (; names[2 * count]; count++) {
        const char *from = names[2 * count], *to = names[2 * count + 1];

        renames[count] = (struct nacre_rename){ .from_fd = GUEST_IN, .from = text,
                                                .from_size = guest_text(guest, text, from),
                                                .to_fd = GUEST_IN, .to = text + 64,
                                                .to_size = guest_text(guest, text + 64,
                                                                      to) };
        text += 128;
    }
    memcpy(guest->memory.base + GUEST_BUFFER, renames, count * sizeof(renames[0]));
    guest->memory.base[GUEST_RESULT] = 77;
    error = CALL(guest, "rename_all", GUEST_BUFFER, count, GUEST_RESULT);
    *ret_done = guest_u32(guest, GUEST_RESULT);
    return error;
}

static void many_are_renamed_in_order_up_to_the_first_that_fails(void **state)
{
    static const char *const good[] = { "file", "a", "dir/deep", "file", "a", "dir/b",
                                        NULL };
    static const char *const bad[] = { "file", "c", "../out/canary", "d", "c", "e",
                                       NULL };
    static const char *const none[] = { NULL };
    struct guest *guest = *state;
    uint32_t done;

    guest_start(guest);
    assert_int_equal(rename_all(guest, good, &done), P1_SUCCESS);
    assert_int_equal(done, 3);
    assert_true(outside_holds(guest, "in/dir/b", "inside"));
    assert_true(outside_exists(guest, "in/file"));
    assert_false(outside_exists(guest, "in/dir/deep"));
    assert_int_equal(rename_all(guest, none, &done), P1_SUCCESS);
    assert_int_equal(done, 0);
    assert_int_not_equal(rename_all(guest, bad, &done), P1_SUCCESS);
    assert_int_equal(done, 1);
    assert_true(outside_exists(guest, "in/c"));
    assert_true(outside_holds(guest, "out/canary", "outside"));
    assert_false(outside_exists(guest, "in/e"));
}

static void a_list_of_renames_that_is_not_all_there_renames_nothing(void **state)
{
    static const char *const one[] = { "file", "a", NULL };
    static const struct {
        int64_t address, count, done;
        int error;
    } rows[] = {
        { GUEST_MEMORY - 23, 1, GUEST_RESULT, P1_FAULT },
        { GUEST_BUFFER + 1, 2048, GUEST_RESULT, P1_FAULT },
        { GUEST_BUFFER, 2049, GUEST_RESULT, P1_INVAL },
        { GUEST_BUFFER, -1, GUEST_RESULT, P1_INVAL },
        { -24, 1, GUEST_RESULT, P1_FAULT },
        { GUEST_BUFFER, 1, GUEST_MEMORY - 3, P1_FAULT },
        { GUEST_BUFFER, 1, -1, P1_FAULT },
    };
    struct guest *guest = *state;
    uint32_t done;

    guest_start(guest);
    assert_int_equal(rename_all(guest, one, &done), P1_SUCCESS);
    assert_int_equal(guest_rename(guest, GUEST_IN, "a", GUEST_IN, "file"), P1_SUCCESS);
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        assert_int_equal(CALL(guest, "rename_all", rows[i].address, rows[i].count,
                              rows[i].done), rows[i].error);
        assert_true(outside_exists(guest, "in/file"));
    }
}

/* In a process of its own a guest would be killed; elsewhere nobody else ends it. */
static void renames_end_when_the_deadline_is_long_past(void **state)
{
    static const char *const one[] = { "file", "a", NULL };
    struct guest *guest = *state;
    uint32_t done;

    guest->call.deadline_ns = nacre_clock_ns() - NACRE_NS_PER_S;
    guest_start(guest);
    assert_int_equal(rename_all(guest, one, &done), NACRE_WASI_UNWIND);
    assert_int_equal(done, 0);
    assert_true(outside_exists(guest, "in/file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_path_stays_below_its_mount),
        TEST(a_file_that_replaces_another_has_its_mode),
        TEST(a_file_with_a_second_name_keeps_its_mode),
        TEST(many_are_renamed_in_order_up_to_the_first_that_fails),
        TEST(a_list_of_renames_that_is_not_all_there_renames_nothing),
        TEST(renames_end_when_the_deadline_is_long_past),
        TEST(nothing_is_made_through_a_link_that_leads_out),
        TEST(a_directory_number_is_a_ceiling_too),
        TEST(the_root_mount_resolves_links_and_dots_against_itself),
        TEST(an_open_directory_carries_its_name_along),
        TEST(a_read_only_mount_is_not_changed),
        TEST(nothing_moves_or_links_between_mounts),
        TEST(absolute_links_are_not_made),
        TEST(a_slash_after_a_link_does_not_remove_its_target),
        TEST(only_files_and_directories_are_opened),
        TEST(a_waiting_fifo_is_not_even_touched),
        TEST(kernel_file_systems_are_closed),
        TEST(modes_of_new_files_hold_no_special_bits),
        TEST(a_filter_that_blocks_openat2_leaves_the_walk),
    };
    int failed = cmocka_run_group_tests_name("wasi_paths", tests, NULL, NULL);

    without_openat2 = true;
    return failed +
           cmocka_run_group_tests_name("wasi_paths without openat2", tests, NULL, NULL);
}
