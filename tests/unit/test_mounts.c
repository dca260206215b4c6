/* A plan's mounts, opened: denied names hold for what directories really are, and the way
 * to a worker loses none of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "scene.h"
#include "wt_mounts.h"

/*
 * The scene, for each test anew:
 *   data/secret/key, data/plain      what mounts lead to
 *   to-data -> data                  another name of it
 *   data/link -> secret              another name within
 *   root -> /
 *   file, fifo
 */
static int start(void **state)
{
    return scene_clear(state) ||
           system("mkdir -p data/secret data/sub data/private/s data/privately && "
                  "ln -s ../secret data/private/out && : >data/secret/key && "
                  ": >data/plain && ln -s data to-data && ln -s secret data/link && ln -s / root && "
                  ": >file && mkfifo fifo && ln -s loop loop && ln -s nowhere dangling");
}

#define PATHS_MAX 4

/* A path that starts with '@' lies in the scene. */
struct words {
    const char *host;
    const char *denied[PATHS_MAX];     /* by the policy, as host paths */
    const char *protected_[PATHS_MAX]; /* nacre's own */
    const char *in_plan;               /* denied already by the plan, relative */
    bool own;                          /* as the plan has it */
};

struct opened {
    struct nacre_plan plan;
    struct nacre_mount mount;
    struct nacre_open_mounts mounts;
    char texts[2 * PATHS_MAX + 1][NACRE_PATH_MAX];
    char *denied[PATHS_MAX], *in_plan[1];
    const char *protected_[PATHS_MAX + 1];
};

static char *text_of(struct opened *opened, size_t slot, const char *path)
{
    if (path[0] == '@')
        (void)scene_path(opened->texts[slot], path + 1);
    else
        (void)snprintf(opened->texts[slot], NACRE_PATH_MAX, "%s", path);
    return opened->texts[slot];
}

static enum nacre_status open_words(struct opened *opened, const struct words *words,
                                    struct nacre_error *err)
{
    *opened = (struct opened){ .plan = { .mount_count = 1 },
                               .mount = { .guest = (char *)"/g", .own = words->own } };
    opened->plan.mounts = &opened->mount;
    opened->plan.denied_host_paths = opened->denied;
    opened->mount.host = text_of(opened, 0, words->host);
    for (size_t i = 0; i < PATHS_MAX && words->denied[i]; i++)
        opened->denied[opened->plan.denied_host_count++] =
            text_of(opened, 1 + i, words->denied[i]);
    for (size_t i = 0; i < PATHS_MAX && words->protected_[i]; i++)
        opened->protected_[i] = text_of(opened, 1 + PATHS_MAX + i, words->protected_[i]);
    if (words->in_plan) {
        opened->in_plan[0] = (char *)words->in_plan;
        opened->mount.denied = opened->in_plan;
        opened->mount.denied_count = 1;
    }
    return nacre_mounts_open(&opened->plan, opened->protected_, &opened->mounts, err);
}

static const struct {
    struct words words;
    const char *said; /* in the refusal; NULL: it opens */
    const char *names; /* that are then denied, one after another */
} cases[] = {
    /* Refused: the mount is no directory, or none that a guest may have. */
    { { "@missing" }, "does not exist", NULL },
    { { "@dangling" }, "does not exist", NULL },
    { { "@file" }, "a mount is a directory", NULL },
    { { "@fifo" }, "a mount is a directory", NULL },
    { { "@file/below" }, "a mount is a directory", NULL },
    { { "@loop" }, "can't open", NULL },
    { { "/proc" }, "kernel filesystem", NULL },
    { { "/proc/self/fd" }, "kernel filesystem", NULL },
    { { "/sys" }, "kernel filesystem", NULL },
    { { "@root/proc" }, "kernel filesystem", NULL },
    { { "@data", { "@data" } }, "within the denied path", NULL },
    { { "@data/secret", { "@data/secret" } }, "within the denied path", NULL },
    { { "@data/secret", { "@data" } }, "within the denied path", NULL },
    { { "@data/link", { "@data/secret" } }, "within the denied path", NULL },
    { { "@to-data/link", { "@data/secret" } }, "within the denied path", NULL },
    { { "@data/secret", { "@to-data/link" } }, "within the denied path", NULL },
    { { "@to-data", { "@root" } }, "within the denied path", NULL },
    { { "@data", { NULL }, { "@data" } }, "within the denied path", NULL },
    { { "@to-data/sub", { NULL }, { "@data" } }, "within the denied path", NULL },
    { { "@data/link", { NULL }, { "@elsewhere", "@to-data/secret" } },
      "within the denied path", NULL },
    /* What a plan calls a session's own is that by its place alone. */
    { { "@data", .own = true }, "no session's own", NULL },
    { { "@data", { NULL }, { "@data" }, .own = true }, "no session's own", NULL },
    { { "@data/secret", { NULL }, { "@data" }, .own = true }, "no session's own", NULL },
    { { "@data/private", { NULL }, { "@data" }, .own = true }, "no session's own", NULL },
    { { "@data/privately", { NULL }, { "@data" }, .own = true }, "no session's own",
      NULL },
    { { "@data/private/../secret", { NULL }, { "@data" }, .own = true },
      "no session's own", NULL },
    { { "@data/private/out", { NULL }, { "@data" }, .own = true }, "no session's own",
      NULL },
    { { "@data/private/s", { NULL }, { "@elsewhere" }, .own = true }, "no session's own",
      NULL },
    { { "/proc/self/fd", { NULL }, { "/" }, .own = true }, "kernel filesystem", NULL },
    /* Opened, with these names shut. */
    { { "@data/private/s", { NULL }, { "@data" }, .own = true }, NULL, "" },
    { { "@data/private/s", { "@data" }, { "@file", "@to-data" }, "key", true }, NULL,
      "key " },
    { { "@data" }, NULL, "" },
    { { "@data", { "@data/secret" } }, NULL, "secret " },
    { { "@to-data", { "@data/secret" } }, NULL, "secret " },
    { { "@data", { "@to-data/secret" } }, NULL, "secret " },
    { { "@data", { "@data/link" } }, NULL, "link secret " },
    { { "@to-data", { "@to-data/link/key" } }, NULL, "secret/key " },
    { { "@data", { "@data/link/none/yet" } }, NULL, "link/none/yet secret/none/yet " },
    { { "@data", { "@to-data/none/yet" } }, NULL, "none/yet " },
    { { "@data", { NULL }, { "@to-data/sub", "@data/none" } }, NULL, "sub none " },
    { { "@data", { "@data/plain" }, { "@data/plain" }, "own" }, NULL, "own plain " },
    { { "@data", { "@data-twin", "@dat", "@file" } }, NULL, "" },
    { { "/", { "@root/none-yet" } }, NULL, NULL }, /* judged below */
};

static void every_name_of_a_denied_path_is_denied(void **state)
{
    static struct opened opened;
    int fds = scene_fds();

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(cases) - 1; i++) {
        struct nacre_error err = { .text = "" };
        enum nacre_status status = open_words(&opened, &cases[i].words, &err);
        char names[512] = "";

        if (cases[i].said) {
            if (status == NACRE_OK || !strstr(err.text, cases[i].said))
                fail_msg("row %zu: '%s'", i, err.text);
            assert_null(opened.mounts.items);
        } else {
            const struct nacre_open_mount *mount = opened.mounts.items;

            if (status != NACRE_OK)
                fail_msg("row %zu: %s", i, err.text);
            for (uint32_t k = 0; k < mount->denied_count; k++)
                (void)snprintf(names + strlen(names), sizeof(names) - strlen(names),
                               "%s ",
                               mount->denied[k]);
            assert_string_equal(names, cases[i].names);
            nacre_mounts_clear(&opened.mounts);
        }
        assert_int_equal(scene_fds(), fds);
    }
}

/* "//none-yet" would be the name of nothing. */
static void a_link_to_the_root_gives_a_name_with_one_slash(void **state)
{
    static struct opened opened;
    const struct words *words = &cases[NACRE_COUNT(cases) - 1].words;
    struct nacre_error err;
    bool found = false;

    (void)state;
    assert_int_equal(open_words(&opened, words, &err), NACRE_OK);
    for (uint32_t k = 0; k < opened.mounts.items->denied_count; k++)
        found |= strcmp(opened.mounts.items->denied[k], "none-yet") == 0;
    assert_true(found);
    nacre_mounts_clear(&opened.mounts);
}

/* 2,000 levels of what is not there cost no stack; over-long ones are no name at all. */
static void a_long_denied_path_is_only_long(void **state)
{
    static struct opened opened;
    char path[NACRE_PATH_MAX], name[NACRE_PATH_MAX];
    const struct words words = { "@data", { path } };
    struct nacre_error err;
    size_t used = (size_t)snprintf(path, sizeof(path), "%s/to-data/x", scene_top);

    (void)state;
    while (used + 3 < sizeof(path))
        used += (size_t)snprintf(path + used, sizeof(path) - used, "/a");
    (void)snprintf(name, sizeof(name), "%s",
                   path + strlen(scene_top) + strlen("/to-data/"));
    assert_int_equal(open_words(&opened, &words, &err), NACRE_OK);
    assert_int_equal(opened.mounts.items->denied_count, 1);
    assert_string_equal(opened.mounts.items->denied[0], name);
    nacre_mounts_clear(&opened.mounts);
}

static void opening_survives_every_allocation_failure(void **state)
{
    static struct opened opened;
    const struct words words = { "@data", { "@data/link", "@to-data/plain" },
                                 { "@data/sub" },
                                 "own" };
    int fds = scene_fds();
    bool fired = true;

    (void)state;
    for (int n = 0; fired; n++) {
        struct nacre_error err;
        enum nacre_status status;

        assert_true(n < 100);
        fail_alloc_after(n);
        status = open_words(&opened, &words, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        nacre_mounts_clear(&opened.mounts);
        assert_int_equal(scene_fds(), fds);
    }
}

/* ---- on the way to a worker ---- */

static char *two[] = { (char *)"secret", (char *)"" }, *one[] = { (char *)"below/there" };
static struct nacre_mount plan_mounts[] = {
    { .guest = (char *)"/", .host = (char *)"/", .writable = true, .covered = one,
      .covered_count = 1 },
    { .guest = (char *)"/tmp", .writable = true },
    { .guest = (char *)"rel", .host = (char *)"/srv", .denied = two, .denied_count = 2 },
};
static struct nacre_open_mount open_mounts[] = {
    { .mount = &plan_mounts[0], .fd = 70 },
    { .mount = &plan_mounts[1], .fd = -1 },
    { .mount = &plan_mounts[2], .fd = 71, .denied = two, .denied_count = 2 },
};
static const struct nacre_open_mounts to_pack = { open_mounts, 3, true };
static const int fds_sent[] = { 80, 81, 82 };

static size_t pack(char *text, size_t size, bool full)
{
    const struct nacre_plan plan = { .full_tree = full };
    struct wt_cursor cursor = { text, text + size, false };

    wt_mounts_pack(&cursor, &plan, &to_pack);
    return cursor.failed ? 0 : (size_t)(cursor.at - text);
}

static enum nacre_status unpack(char *text, size_t size, uint32_t count,
                                uint32_t fd_count,
                                struct nacre_wasi_mount **ret_mounts)
{
    struct wt_cursor cursor = { text, text + size, false };
    struct nacre_error err;

    return wt_mounts_unpack(&cursor, count, fds_sent, fd_count, ret_mounts, &err);
}

static void what_is_packed_is_what_is_unpacked(void **state)
{
    struct nacre_wasi_mount *mounts = NULL;
    char text[512];
    size_t size = pack(text, sizeof(text), true);

    (void)state;
    assert_int_equal(unpack(text, size, 3, 2, &mounts), NACRE_OK);
    assert_string_equal(mounts[0].guest, "/");
    assert_true(mounts[0].writable && mounts[0].is_root && mounts[0].fd == 80);
    assert_int_equal(mounts[0].denied_count, 0);
    assert_int_equal(mounts[0].covered_count, 1);
    assert_string_equal(mounts[0].covered[0], "below/there");
    assert_true(mounts[1].writable && !mounts[1].is_root && mounts[1].fd == -1);
    assert_true(!mounts[2].writable && !mounts[2].is_root && mounts[2].fd == 81);
    assert_int_equal(mounts[2].denied_count, 2);
    assert_string_equal(mounts[2].denied[0], "secret");
    assert_string_equal(mounts[2].denied[1], "");
    wt_mounts_free(mounts, 3);
    size = pack(text, sizeof(text), false);
    assert_int_equal(unpack(text, size, 3, 2, &mounts), NACRE_OK);
    assert_false(mounts[0].is_root); /* a mount of "/" that is not the mode full */
    wt_mounts_free(mounts, 3);
    wt_mounts_free(NULL, 3);
}

/* A denied name that got lost would be a name that is open. */
static void what_is_cut_short_is_refused_whole(void **state)
{
    struct nacre_wasi_mount *mounts = NULL;
    char text[512], huge[] = "g\0\0\0\0\0\0\0\0\0\1\0\0\0\xff\xff\xff\xff";
    size_t size = pack(text, sizeof(text), true);

    (void)state;
    for (size_t cut = 0; cut < size; cut++) {
        /* Exactly as large as said: a sanitizer guards its end. */
        NACRE_AUTO(nacre_heap_guard) char *shorter = malloc(cut + 1);

        assert_int_equal(pack(text, cut, true), 0);
        assert_int_equal(pack(text, size, true), size);
        memcpy(shorter, text, cut);
        assert_int_not_equal(unpack(shorter, cut, 3, 2, &mounts), NACRE_OK);
        assert_null(mounts);
    }
    for (uint32_t fd_count = 0; fd_count <= 3; fd_count++)
        if (fd_count != 2)
            assert_int_not_equal(unpack(text, size, 3, fd_count, &mounts), NACRE_OK);
    assert_int_not_equal(unpack(text, size, 4, 2, &mounts), NACRE_OK);
    assert_int_not_equal(unpack(huge, sizeof(huge), 1, 0, &mounts), NACRE_OK);
    assert_null(mounts);
}

static void unpacking_survives_every_allocation_failure(void **state)
{
    struct nacre_wasi_mount *mounts = NULL;
    char text[512];
    size_t size = pack(text, sizeof(text), true);
    bool fired = true;

    (void)state;
    for (int n = 0; fired; n++) {
        enum nacre_status status;

        assert_true(n < 50);
        fail_alloc_after(n);
        status = unpack(text, size, 3, 2, &mounts);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
    }
    wt_mounts_free(mounts, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_name_of_a_denied_path_is_denied, start),
        cmocka_unit_test_setup(a_link_to_the_root_gives_a_name_with_one_slash, start),
        cmocka_unit_test_setup(a_long_denied_path_is_only_long, start),
        cmocka_unit_test_setup(opening_survives_every_allocation_failure, start),
        cmocka_unit_test(what_is_packed_is_what_is_unpacked),
        cmocka_unit_test(what_is_cut_short_is_refused_whole),
        cmocka_unit_test(unpacking_survives_every_allocation_failure),
    };

    return cmocka_run_group_tests_name("mounts", tests, scene_enter, scene_leave);
}
