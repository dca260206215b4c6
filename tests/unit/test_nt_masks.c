/* What has to be covered so that a denied name is denied, and who notices when the host
 * changes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "fail_alloc.h"
#include "in_child.h"
#include "nt_masks.h"
#include "scene.h"

/*
 * The scene, for each test anew:
 *   data/secret/key, data/plain, data/sub/deep/    below the mount
 *   data/link -> secret, data/to-deep -> sub/deep
 *   data/fifo
 *   state/                                         nacre's own
 */
static int start(void **state)
{
    return scene_clear(state) ||
           system("mkdir -p data/secret data/sub/deep state && : >data/secret/key && "
                  ": >data/plain && ln -s secret data/link && "
                  "ln -s sub/deep data/to-deep && mkfifo data/fifo && chmod 700 state");
}

#define NAMES_MAX 4

/* Root may search any directory, and everybody else is asked as whom they are. */
static const struct nt_user as_we = { 0, 0 };

struct opened {
    struct nacre_mount mount;
    struct nacre_open_mount open;
    struct nacre_open_mounts mounts;
    char *names[NAMES_MAX];
};

static void open_mount(struct opened *ret_opened, bool writable, const char *const *names)
{
    *ret_opened = (struct opened){
        .mount = { .guest = (char *)"/w", .writable = writable },
        .open = { .fd = open("data", O_RDONLY | O_DIRECTORY | O_CLOEXEC) },
        .mounts = { .count = 1 },
    };
    ret_opened->mounts.items = &ret_opened->open;
    ret_opened->open.mount = &ret_opened->mount;
    ret_opened->open.denied = ret_opened->names;
    for (size_t i = 0; i < NAMES_MAX && names[i]; i++)
        ret_opened->names[ret_opened->open.denied_count++] = (char *)(uintptr_t)names[i];
}

static const char *state_dir(void)
{
    static char path[NACRE_PATH_MAX];

    return scene_path(path, "state");
}

static enum nacre_status masks_of(struct opened *opened, bool writable,
                                  const char *const *names, struct nt_masks **ret_masks,
                                  struct nacre_error *err)
{
    open_mount(opened, writable, names);
    return nt_masks_open(&opened->mounts, &as_we, state_dir(), ret_masks, err);
}

static void close_masks(struct opened *opened, struct nt_masks *masks)
{
    nt_masks_free(masks);
    (void)close(opened->open.fd);
}

/* "s:sub d:sub/deep f:plain " */
static void words_of(const struct nt_masks *masks, char *ret_text, size_t size)
{
    static const char kinds[] = "-sfd";
    size_t count = 0, used = 0;
    const struct nt_mask *items = nt_masks_items(masks, &count);

    ret_text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        struct stat held, there;
        char path[NACRE_PATH_MAX];

        (void)snprintf(path, sizeof(path), "data/%s", items[i].path);
        assert_int_equal(fstat(items[i].fd, &held), 0);
        assert_int_equal(lstat(path, &there), 0);
        assert_true(held.st_ino == there.st_ino && held.st_dev == there.st_dev);
        assert_true(S_ISDIR(held.st_mode) || items[i].kind != NT_MASK_COVER_DIR);
        used += (size_t)snprintf(ret_text + used, size - used, "%c:%s ",
                                 kinds[items[i].kind], items[i].path);
    }
}

static const struct {
    const char *names[NAMES_MAX];
    bool writable;
    const char *words; /* NULL: refused */
    const char *said;
} rows[] = {
    { { NULL }, true, "", NULL },
    { { "" }, true, "d: ", NULL },
    { { "", "secret" }, false, "d: ", NULL },
    { { "secret" }, true, "d:secret ", NULL },
    { { "secret" }, false, "d:secret ", NULL },
    { { "plain", "fifo" }, true, "f:fifo f:plain ", NULL },
    { { "sub/deep" }, true, "s:sub d:sub/deep ", NULL },
    { { "secret/key", "secret" }, true, "d:secret ", NULL },
    { { "secret/key", "sub/deep" }, false, "s:secret f:secret/key s:sub d:sub/deep ",
      NULL },
    { { "sub/deep", "sub" }, true, "d:sub ", NULL },
    { { "sub-twin", "sub", "sub/x" }, false, "d:sub ", NULL },
    /* What is not there: held below a writable mount, only watched below another. */
    { { "none" }, true, "f:none ", NULL },
    { { "none" }, false, "", NULL },
    { { "none/below", "none/other" }, true, "d:none ", NULL },
    { { "none/below", "none" }, true, "f:none ", NULL },
    { { "sub/none/below" }, true, "s:sub d:sub/none ", NULL },
    { { "sub/none/below" }, false, "s:sub ", NULL },
    /* A file on the way is held as it is. */
    { { "plain/below" }, true, "s:plain ", NULL },
    { { "fifo/below/it" }, true, "s:fifo ", NULL },
    /* Links. */
    { { "link", "secret" }, false, "d:secret ", NULL },
    { { "to-deep/x", "sub/deep/x" }, false, "s:sub s:sub/deep ", NULL },
    { { "link", "secret" }, true, NULL, "/w/link is a symbolic link" },
    { { "to-deep/x" }, true, NULL, "/w/to-deep is a symbolic link" },
};

static void the_way_to_a_denied_name_is_held_and_its_end_is_covered(void **state)
{
    struct opened opened;
    struct nacre_error err;

    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        int fds = scene_fds();
        struct nt_masks *masks = NULL;
        enum nacre_status status = masks_of(&opened, rows[i].writable, rows[i].names,
                                            &masks, &err);
        char words[256], reason[256];

        if (status != (rows[i].words ? NACRE_OK : NACRE_ERR_UNAVAILABLE) ||
            (rows[i].said && !strstr(err.text, rows[i].said)))
            fail_msg("row %zu: %s", i, err.text);
        if (masks) {
            words_of(masks, words, sizeof(words));
            if (strcmp(words, rows[i].words) != 0)
                fail_msg("row %zu: '%s'", i, words);
            assert_false(nt_masks_changed(masks, reason, sizeof(reason)));
        }
        close_masks(&opened, masks);
        assert_int_equal(scene_fds(), fds);
        /* Nothing of ours is left in the mount. */
        assert_false(scene_has("data/none") || scene_has("data/sub/none"));
        assert_int_equal(start(state), 0);
    }
}

/* Its own mount covers what is in it; on the way there, nobody may rename anything. */
static void a_name_below_another_mount_is_held_up_to_that_mount(void **state)
{
    static const struct {
        const char *covered, *denied, *words;
    } nested[] = {
        { "sub", "sub/deep/x", "" },
        { "sub", "sub/none", "" },
        { "sub/deep", "sub/deep/x", "s:sub " },
        { "sub/deep/none", "sub/deep/none/x", "s:sub s:sub/deep " },
        { "none", "none/x", "" },
        { "su", "sub/deep/x", "s:sub s:sub/deep d:sub/deep/x " },
        { "sub/deep/x/y", "sub/deep/x", "s:sub s:sub/deep d:sub/deep/x " },
        { "sub/other", "sub/deep", "s:sub d:sub/deep " },
    };

    for (size_t i = 0; i < NACRE_COUNT(nested); i++) {
        char *covered = (char *)(uintptr_t)nested[i].covered;
        struct nt_masks *masks = NULL;
        struct opened opened;
        struct nacre_error err;
        char words[256];

        assert_int_equal(system("mkdir -p data/sub/deep/x"), 0);
        open_mount(&opened, true, (const char *const[]){ nested[i].denied, NULL });
        opened.mount.covered = &covered;
        opened.mount.covered_count = 1;
        assert_int_equal(nt_masks_open(&opened.mounts, &as_we, state_dir(), &masks, &err),
                         NACRE_OK);
        words_of(masks, words, sizeof(words));
        if (strcmp(words, nested[i].words) != 0)
            fail_msg("row %zu: '%s'", i, words);
        assert_false(scene_has("data/none") || scene_has("data/sub/none"));
        close_masks(&opened, masks);
        assert_int_equal(start(state), 0);
    }
}

static void a_name_too_long_to_exist_needs_nothing(void **state)
{
    struct opened opened;
    struct nacre_error err;
    struct nt_masks *masks = NULL;
    char name[400], words[16];
    const char *const names[NAMES_MAX] = { name };

    (void)state;
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(masks_of(&opened, true, names, &masks, &err), NACRE_OK);
    words_of(masks, words, sizeof(words));
    assert_string_equal(words, "");
    close_masks(&opened, masks);
}

static void without_a_state_directory_nothing_is_held(void **state)
{
    struct opened opened;
    struct nacre_error err;
    struct nt_masks *masks = NULL;
    const char *const missing[NAMES_MAX] = { "none" };
    const char *const there[NAMES_MAX] = { "plain" };

    (void)state;
    open_mount(&opened, true, missing);
    assert_int_equal(nt_masks_open(&opened.mounts, &as_we, NULL, &masks, &err),
                     NACRE_ERR_UNAVAILABLE);
    assert_null(masks);
    assert_false(scene_has("data/none"));
    close_masks(&opened, NULL);
    open_mount(&opened, true, there);
    assert_int_equal(nt_masks_open(&opened.mounts, &as_we, NULL, &masks, &err), NACRE_OK);
    close_masks(&opened, masks);
}

/* ---- the watch ---- */

static void what_the_host_does_to_a_denied_name_is_seen(void **state)
{
    static const struct {
        const char *name, *deed;
        bool writable, seen;
    } deeds[] = {
        { "secret/key", ": >new && mv new data/secret/key", true, true },
        { "secret/key", "rm data/secret/key", true, true },
        { "secret/key", "mv data/secret/key elsewhere", true, true },
        { "secret/key", "mv data/secret data/renamed", true, true },
        { "secret/key", "mv data/secret x && mv x data/secret", true, true },
        { "none", ": >data/none", false, true },
        { "none/below", "mkdir data/none", false, true },
        { "sub/none", "mkdir data/sub/none", false, true },
        { "link", "ln -sfn sub data/link", false, true },
        { "none", "rm data/none", true, true }, /* our placeholder */
        { "none", "echo x >new && mv new data/none", true, true },
        /* Not about that name. */
        { "secret/key", "echo new >data/secret/key", true, false },
        { "secret/key", ": >data/secret/other && rm data/secret/other", true, false },
        { "secret/key", ": >data/key && mkdir data/sub/key", true, false },
        { "none", "echo x >data/none", true, false },
        { "none/below", ": >data/none/x", true, false },
        { "none", "ls -R data >/dev/null && cat data/plain", false, false },
    };

    for (size_t i = 0; i < NACRE_COUNT(deeds); i++) {
        const char *const names[NAMES_MAX] = { deeds[i].name };
        struct opened opened;
        struct nacre_error err;
        struct nt_masks *masks = NULL;
        char reason[256] = "";

        if (masks_of(&opened, deeds[i].writable, names, &masks, &err) != NACRE_OK)
            fail_msg("row %zu: %s", i, err.text);
        assert_false(nt_masks_changed(masks, reason, sizeof(reason)));
        scene_shell(deeds[i].deed);
        if (nt_masks_changed(masks, reason, sizeof(reason)) != deeds[i].seen)
            fail_msg("row %zu: %s", i, deeds[i].deed);
        assert_int_equal(strncmp(reason, "/w/", 3) == 0, deeds[i].seen);
        assert_int_equal(strstr(reason, "run the command again") != NULL, deeds[i].seen);
        /* It stays so. */
        assert_int_equal(nt_masks_changed(masks, reason, sizeof(reason)), deeds[i].seen);
        close_masks(&opened, masks);
        assert_int_equal(start(state), 0);
    }
}

/* More than the kernel keeps (16384 by default): what is there decides. */
static void a_flood_of_other_events_hides_nothing_and_is_no_change(void **state)
{
    const char *const names[NAMES_MAX] = { "secret/key" };
    struct opened opened;
    struct nacre_error err;
    struct nt_masks *masks = NULL;
    char reason[256];

    (void)state;
    assert_int_equal(masks_of(&opened, true, names, &masks, &err), NACRE_OK);
    for (int i = 0; i < 20000; i++)
        assert_true(mknodat(opened.open.fd, "x", S_IFREG | 0600, 0) == 0 &&
                    unlinkat(opened.open.fd, "x", 0) == 0);
    for (int i = 0; i < 20; i++)
        assert_false(nt_masks_changed(masks, reason, sizeof(reason)));
    for (int i = 0; i < 20000; i++)
        assert_true(mknodat(opened.open.fd, "x", S_IFREG | 0600, 0) == 0 &&
                    unlinkat(opened.open.fd, "x", 0) == 0);
    scene_shell(": >new && mv new data/secret/key");
    for (int i = 0; i < 20 && !nt_masks_changed(masks, reason, sizeof(reason)); i++)
        ;
    assert_true(nt_masks_changed(masks, reason, sizeof(reason)));
    close_masks(&opened, masks);
}

/* ---- placeholders ---- */

static void what_somebody_put_into_a_placeholder_stays(void **state)
{
    const char *const names[NAMES_MAX] = { "none", "no/below", "gone" };
    struct opened opened;
    struct nacre_error err;
    struct nt_masks *masks = NULL;

    (void)state;
    assert_int_equal(masks_of(&opened, true, names, &masks, &err), NACRE_OK);
    assert_true(scene_has("data/gone"));
    scene_shell("echo mine >data/none && mkdir data/no/below");
    close_masks(&opened, masks);
    assert_true(scene_holds("data/none", "mine\n"));
    assert_true(scene_has("data/no/below"));
    assert_false(scene_has("data/gone"));
}

/* Empty files that only look like one are not ours to remove. */
static void another_file_in_a_placeholders_place_stays(void **state)
{
    const char *const names[NAMES_MAX] = { "none", "other" };
    struct opened opened;
    struct nacre_error err;
    struct nt_masks *masks = NULL;

    (void)state;
    assert_int_equal(masks_of(&opened, true, names, &masks, &err), NACRE_OK);
    scene_shell("rm data/none data/other && : >data/none && ln -s plain data/other");
    close_masks(&opened, masks);
    assert_true(scene_has("data/none"));
    assert_true(scene_has("data/other"));
    assert_true(scene_has("data/plain"));
}

static void the_last_that_leans_on_a_placeholder_removes_it(void **state)
{
    const char *const names[NAMES_MAX] = { "none", "no/below" };
    struct opened one, two;
    struct nacre_error err;
    struct nt_masks *first = NULL, *second = NULL;
    char reason[256], words[64];

    (void)state;
    assert_int_equal(masks_of(&one, true, names, &first, &err), NACRE_OK);
    assert_int_equal(masks_of(&two, true, names, &second, &err), NACRE_OK);
    words_of(second, words, sizeof(words));
    assert_string_equal(words, "d:no f:none ");
    close_masks(&one, first);
    assert_true(scene_has("data/none") && scene_has("data/no"));
    assert_false(nt_masks_changed(second, reason, sizeof(reason)));
    close_masks(&two, second);
    assert_false(scene_has("data/none") || scene_has("data/no"));
    assert_int_equal(system("test -z \"$(ls state/placeholders)\""), 0);
}

static int hold_and_die(void *data)
{
    const char *const names[NAMES_MAX] = { "none", "no/below", "used" };
    struct opened opened;
    struct nacre_error err;
    struct nt_masks *masks = NULL;

    (void)data;
    CHILD_CHECK(masks_of(&opened, true, names, &masks, &err) == NACRE_OK);
    (void)raise(SIGKILL);
    return 0;
}

static void the_next_start_removes_what_the_dead_left(void **state)
{
    const char *const none[NAMES_MAX] = { NULL }, *const names[NAMES_MAX] = { "none" };
    struct opened opened, live;
    struct nacre_error err;
    struct nt_masks *masks = NULL, *living = NULL;

    (void)state;
    /* One that lives leans on one of them. */
    assert_int_equal(masks_of(&live, true, names, &living, &err), NACRE_OK);
    assert_killed(in_child(hold_and_die, NULL), SIGKILL);
    assert_true(scene_has("data/none") && scene_has("data/no") && scene_has("data/used"));
    scene_shell("echo mine >data/used");
    assert_int_equal(masks_of(&opened, true, none, &masks, &err), NACRE_OK);
    assert_false(scene_has("data/no"));
    assert_true(scene_has("data/none"));
    assert_true(scene_holds("data/used", "mine\n"));
    close_masks(&opened, masks);
    close_masks(&live, living);
    assert_false(scene_has("data/none"));
}

/* The mount is a guest's: it may have put a link where the directory was. */
static void the_next_start_follows_no_link(void **state)
{
    const char *const none[NAMES_MAX] = { NULL };
    struct opened opened;
    struct nacre_error err;
    struct nt_masks *masks = NULL;

    (void)state;
    assert_killed(in_child(hold_and_die, NULL), SIGKILL);
    scene_shell("mv data elsewhere && ln -s elsewhere data");
    open_mount(&opened, true, none);
    assert_int_equal(nt_masks_open(&opened.mounts, &as_we, state_dir(), &masks, &err),
                     NACRE_OK);
    assert_true(scene_has("elsewhere/none"));
    close_masks(&opened, masks);
}

static void opening_survives_every_allocation_failure(void **state)
{
    const char *const names[NAMES_MAX] = { "sub/deep", "none", "secret/key", "plain" };
    bool fired = true;

    (void)state;
    for (int n = 0; fired; n++) {
        int fds = scene_fds();
        struct opened opened;
        struct nacre_error err;
        struct nt_masks *masks = NULL;
        enum nacre_status status;

        assert_true(n < 200);
        open_mount(&opened, true, names);
        fail_alloc_after(n);
        status = nt_masks_open(&opened.mounts, &as_we, state_dir(), &masks, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        if (!fired)
            assert_int_equal(status, NACRE_OK);
        close_masks(&opened, masks);
        assert_int_equal(scene_fds(), fds);
        assert_false(scene_has("data/none"));
    }
}

/* ---- as somebody who may not enter everywhere ---- */

static int as_nobody(void *data)
{
    const char *const names[NAMES_MAX] = { "closed/in/it", "foreign/none" };
    struct opened opened;
    struct nacre_error err;
    struct nt_masks *masks = NULL;
    char words[128];

    (void)data;
    open_mount(&opened, true, names);
    CHILD_CHECK(setgid(65534) == 0 && setuid(65534) == 0);
    if (nt_masks_open(&opened.mounts, &as_we, state_dir(), &masks, &err) != NACRE_OK) {
        dprintf(2, "%s\n", err.text);
        return CHILD_CHECK_FAILED;
    }
    words_of(masks, words, sizeof(words));
    nt_masks_free(masks);
    CHILD_CHECK(strcmp(words, "d:closed s:foreign ") == 0);
    return 0;
}

static void what_we_may_not_enter_is_covered_whole(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    scene_shell("chmod 755 . && mkdir -m 700 data/closed && mkdir -m 755 data/foreign && "
                "chown 65534:65534 state");
    assert_exited(in_child(as_nobody, NULL), 0);
}

/* ---- covers ---- */

static int read_covers(void *data)
{
    const struct nt_covers *covers = data;
    char path[64];

    /* As anybody else than the superuser, through the fd as a bind would show it. */
    if (geteuid() == 0)
        CHILD_CHECK(setgid(65534) == 0 && setuid(65534) == 0);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", covers->file_fd);
    CHILD_CHECK(open(path, O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", covers->dir_fd);
    CHILD_CHECK(open(path, O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES);
    CHILD_CHECK(openat(covers->dir_fd, "x", O_RDONLY | O_CLOEXEC) < 0 && errno == EACCES);
    return 0;
}

static void nobody_can_read_a_cover(void **state)
{
    struct nt_covers covers, again;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nt_covers_open(state_dir(), &covers, &err), NACRE_OK);
    assert_exited(in_child(read_covers, &covers), 0);
    assert_int_equal(nt_covers_open(state_dir(), &again, &err), NACRE_OK);
    assert_string_equal(again.file_path, covers.file_path);
    assert_true(scene_has(covers.file_path) && scene_has(covers.dir_path));
    nt_covers_clear(&again);
    nt_covers_clear(&covers);
    nt_covers_clear(&covers);
}

static void a_cover_that_is_not_one_is_refused(void **state)
{
    static const char *const deeds[] = {
        "chmod 644 state/covers/file",
        "chmod 700 state/covers/dir",
        "cd state/covers && rm -f file && echo x >file && chmod 0 file",
        "rm -f state/covers/file && mkdir -m 0 state/covers/file",
        "rmdir state/covers/dir && ln -s / state/covers/dir",
        "chmod 755 state/covers",
    };

    for (size_t i = 0; i < NACRE_COUNT(deeds); i++) {
        int fds = scene_fds();
        struct nt_covers covers;
        struct nacre_error err;

        assert_int_equal(nt_covers_open(state_dir(), &covers, &err), NACRE_OK);
        nt_covers_clear(&covers);
        scene_shell(deeds[i]);
        if (nt_covers_open(state_dir(), &covers, &err) != NACRE_ERR_USAGE)
            fail_msg("row %zu", i);
        assert_int_equal(scene_fds(), fds);
        assert_int_equal(start(state), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_way_to_a_denied_name_is_held_and_its_end_is_covered,
                               start),
        cmocka_unit_test_setup(a_name_below_another_mount_is_held_up_to_that_mount,
                               start),
        cmocka_unit_test_setup(a_name_too_long_to_exist_needs_nothing, start),
        cmocka_unit_test_setup(without_a_state_directory_nothing_is_held, start),
        cmocka_unit_test_setup(what_the_host_does_to_a_denied_name_is_seen, start),
        cmocka_unit_test_setup(a_flood_of_other_events_hides_nothing_and_is_no_change,
                               start),
        cmocka_unit_test_setup(what_somebody_put_into_a_placeholder_stays, start),
        cmocka_unit_test_setup(another_file_in_a_placeholders_place_stays, start),
        cmocka_unit_test_setup(the_last_that_leans_on_a_placeholder_removes_it, start),
        cmocka_unit_test_setup(the_next_start_removes_what_the_dead_left, start),
        cmocka_unit_test_setup(the_next_start_follows_no_link, start),
        cmocka_unit_test_setup(opening_survives_every_allocation_failure, start),
        cmocka_unit_test_setup(what_we_may_not_enter_is_covered_whole, start),
        cmocka_unit_test_setup(nobody_can_read_a_cover, start),
        cmocka_unit_test_setup(a_cover_that_is_not_one_is_refused, start),
    };

    return cmocka_run_group_tests_name("nt_masks", tests, scene_enter, scene_leave);
}
