/*
 * F08: a neighbour swaps a directory for a link that leads out, as fast as it can,
 * while the guest opens through it.  Judged by what the guest got to read, and by
 * whether anything appeared outside.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "wasi_guest.h"

#define SWAPS 100000

struct neighbour {
    int in_fd;
    _Atomic bool done;
    _Atomic uint32_t swaps;
};

/* "swap" is by turns the directory "real" and the link "bad". */
static void *swap(void *data)
{
    struct neighbour *neighbour = data;

    for (uint32_t i = 0; i < SWAPS; i++) {
        (void)renameat2(neighbour->in_fd, "swap", neighbour->in_fd, "bad",
                        RENAME_EXCHANGE);
        atomic_store(&neighbour->swaps, i + 1);
    }
    atomic_store(&neighbour->done, true);
    return NULL;
}

static void race(bool without_openat2, bool guarded)
{
    static struct guest guest;
    static const char *const denied[] = { "nothing-here" };
    struct neighbour neighbour = { 0 };
    uint32_t inside = 0, refused = 0, number;
    pthread_t thread;

    guest_prepare(&guest);
    guest.config.without_openat2 = without_openat2;
    if (guarded) {
        guest.mounts[0].denied = denied;
        guest.mounts[0].denied_count = 1;
    }
    outside_dir(&guest, "in/swap");
    outside_file(&guest, "in/swap/canary", "inside_");
    outside_link(&guest, "../out", "in/bad");
    guest_start(&guest);
    neighbour.in_fd = guest.in_fd;
    assert_int_equal(pthread_create(&thread, NULL, swap, &neighbour), 0);
    while (!atomic_load(&neighbour.done)) {
        if (guest_open(&guest, GUEST_IN, "swap/canary", P1_LOOKUP_FOLLOW, 0, READ,
                       &number) == P1_SUCCESS) {
            assert_int_equal(guest_read(&guest, number, 7), P1_SUCCESS);
            assert_memory_equal(guest.memory.base + GUEST_BUFFER, "inside_", 7);
            assert_int_equal(guest_close(&guest, number), P1_SUCCESS);
            inside++;
        } else {
            refused++;
        }
        if (guest_open(&guest, GUEST_IN, "dir/../swap/../swap/new", P1_LOOKUP_FOLLOW,
                       P1_OFLAG_CREAT, WRITE, &number) == P1_SUCCESS)
            assert_int_equal(guest_close(&guest, number), P1_SUCCESS);
        (void)guest_mkdir(&guest, GUEST_IN, "swap/newdir");
        (void)guest_rename(&guest, GUEST_IN, "swap/new", GUEST_IN, "swap/moved");
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(atomic_load(&neighbour.swaps), SWAPS);
    assert_int_equal(outside_count(&guest, "out"), 1);
    assert_true(outside_holds(&guest, "out/canary", "outside"));
    /* Both sides of the race were met, or nothing was tried. */
    assert_true(inside > 0);
    assert_true(refused > 0);
    guest_finish(&guest);
}

static void no_swap_leads_out_with_openat2(void **state)
{
    (void)state;
    race(false, false);
}

static void no_swap_leads_out_of_the_walk(void **state)
{
    (void)state;
    race(true, false);
}

static void no_swap_leads_out_of_a_guarded_mount(void **state)
{
    (void)state;
    race(false, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_swap_leads_out_with_openat2),
        cmocka_unit_test(no_swap_leads_out_of_the_walk),
        cmocka_unit_test(no_swap_leads_out_of_a_guarded_mount),
    };

    return cmocka_run_group_tests_name("wasi_race", tests, NULL, NULL);
}
