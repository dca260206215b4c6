/* What comes from the guest's memory and goes back to it.  Best run with ASan: the
 * memory is exactly as large as it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "fail_alloc.h"
#include "nacre/own.h"
#include "wasi_guest.h"

static int set_up(void **state)
{
    static struct guest guest;

    guest_prepare(&guest);
    *state = &guest;
    return 0;
}

static int tear_down(void **state)
{
    guest_finish(*state);
    return 0;
}

/* ---- the table ---- */

static void the_table_is_all_of_preview1_and_six_of_ours(void **state)
{
    struct guest *guest = *state;
    uint32_t count;
    const struct nacre_wasi_function *functions = nacre_wasi_functions(&count);

    guest_start(guest);
    assert_int_equal(count, 46 + 6);
    for (uint32_t i = 0; i < count; i++) {
        const char *colon = strchr(functions[i].signature, ':');

        assert_string_equal(functions[i].module,
                            i < 46 ? NACRE_WASI_MODULE : NACRE_WASI_OWN_MODULE);

        assert_non_null(functions[i].call);
        assert_non_null(colon);
        assert_true(functions[i].capability < NACRE_CAPABILITY_COUNT);
        assert_int_equal(strspn(functions[i].signature, "iI"),
                         (size_t)(colon - functions[i].signature));
        assert_string_equal(colon,
                            strcmp(functions[i].name, "proc_exit") == 0 ? ":" : ":i");
        for (uint32_t j = 0; j < i; j++)
            assert_string_not_equal(functions[i].name, functions[j].name);
    }
}

/* ---- edges ---- */

static const int64_t edges[] = {
    0, 1, 2, 3, 5, 8, 255, GUEST_MEMORY - 8, GUEST_MEMORY - 4, GUEST_MEMORY - 1,
    GUEST_MEMORY, GUEST_MEMORY + 1, INT32_MAX, INT64_C(0x80000000), UINT32_MAX - 7,
    UINT32_MAX, INT64_MAX, INT64_MIN, -1,
};

/* W01: any number in any place.  Most are nonsense; none may touch the host's memory. */
static void every_function_survives_every_edge(void **state)
{
    struct guest *guest = *state;
    uint32_t count;
    const struct nacre_wasi_function *functions = nacre_wasi_functions(&count);

    guest_start(guest);
    for (uint32_t i = 0; i < count; i++) {
        size_t params = strcspn(functions[i].signature, ":");

        for (size_t at = 0; at < params; at++)
            for (size_t edge = 0; edge < sizeof(edges) / sizeof(edges[0]); edge++)
                for (int64_t others = 0; others < 3; others++) {
                    int64_t numbers[16] = { GUEST_IN };
                    int error;

                    for (size_t k = 1; k < 16; k++)
                        numbers[k] = others == 0   ? 8
                                     : others == 1 ? GUEST_MEMORY - 8
                                                   : -1;
                    numbers[at] = edges[edge];
                    /* Small subscriptions are clocks that are over. */
                    memset(guest->memory.base, 0, 256);
                    error = guest_call(guest, functions[i].name, numbers);
                    assert_true((error >= 0 && error <= P1_NOTCAPABLE) ||
                                error == NACRE_WASI_UNWIND);
                }
        guest_restart(guest);
    }
}

static const struct {
    const char *function;
    int64_t numbers[9];
} faults[] = {
    { "fd_write", { 1, GUEST_MEMORY - 7, 1, 16 } },
    { "fd_write", { 1, 0, 0x20000000, 16 } },  /* count * 8 is 2^32: wraps to 0 */
    { "fd_write", { 1, 32, 1, GUEST_MEMORY - 3 } },
    { "fd_write", { 1, 40, 1, 16 } },          /* its vector ends one byte too late */
    { "fd_write", { 1, 48, 1, 16 } },          /* address + length wraps */
    { "fd_read", { 0, 40, 1, 16 } },
    { "args_sizes_get", { GUEST_MEMORY - 3, 16 } },
    { "args_sizes_get", { 16, GUEST_MEMORY } },
    { "args_get", { GUEST_MEMORY - 3, 16 } },
    { "args_get", { 16, GUEST_MEMORY - 2 } },
    { "environ_get", { UINT32_MAX, 16 } },
    { "clock_time_get", { 1, 0, GUEST_MEMORY - 7 } },
    { "clock_res_get", { 1, UINT32_MAX } },
    { "random_get", { GUEST_MEMORY - 1, 2 } },
    { "random_get", { 1, UINT32_MAX } },
    { "fd_fdstat_get", { 1, GUEST_MEMORY - 23 } },
    { "fd_filestat_get", { GUEST_IN, GUEST_MEMORY - 63 } },
    { "fd_prestat_get", { GUEST_IN, GUEST_MEMORY - 7 } },
    { "fd_prestat_dir_name", { GUEST_IN, GUEST_MEMORY - 2, 3 } },
    { "fd_readdir", { GUEST_IN, 1, UINT32_MAX, 0, 16 } },
    { "fd_readdir", { GUEST_IN, 1, 64, 0, GUEST_MEMORY - 3 } },
    { "path_open", { GUEST_IN, 0, GUEST_MEMORY - 1, 2, 0, 0, 0, 0, 16 } },
    { "path_open", { GUEST_IN, 0, GUEST_TEXT, 4, P1_OFLAG_CREAT, 0, 0, 0, UINT32_MAX } },
    { "path_readlink", { GUEST_IN, GUEST_TEXT, 4, GUEST_MEMORY - 2, 3, 16 } },
    { "path_filestat_get", { GUEST_IN, 0, GUEST_TEXT, 4, UINT32_MAX } },
    { "poll_oneoff", { 0, 0, 0x5555556, 16 } }, /* count * 48 wraps in 32 bits */
    { "poll_oneoff", { GUEST_MEMORY - 47, 0, 1, 16 } },
    { "poll_oneoff", { 0, GUEST_MEMORY - 31, 1, 16 } },
    { "poll_oneoff", { 0, 0, 1, GUEST_MEMORY - 3 } },
};

static void what_is_not_all_inside_is_a_fault(void **state)
{
    struct guest *guest = *state;
    static const char *const words[] = { "program", "argument" };
    const struct p1_iovec late = { GUEST_MEMORY - 4, 5 },
                          wrapping = { 8, UINT32_MAX - 4 };

    guest->call.arguments = words;
    guest->call.argument_count = 2;
    guest->call.environment = words;
    guest->call.environment_count = 2;
    guest_start(guest);
    memset(guest->memory.base, 0, 256);
    memcpy(guest->memory.base + 40, &late, sizeof(late));
    memcpy(guest->memory.base + 48, &wrapping, sizeof(wrapping));
    guest_text(guest, GUEST_TEXT, "file");
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        int error = guest_call(guest, faults[i].function, faults[i].numbers);

        if (strcmp(faults[i].function, "path_readlink") == 0)
            assert_true(error == P1_FAULT || error == P1_INVAL);
        else if (error != P1_FAULT)
            fail_msg("%s, row %zu: %d", faults[i].function, i, error);
    }
    assert_int_equal(guest->record.output_used[0], 0);
}

/* W03: the size that counts is the one of the moment. */
static void a_memory_that_grew_is_seen_at_once(void **state)
{
    struct guest *guest = *state;

    guest->memory.size = 1024;
    guest_start(guest);
    assert_int_equal(CALL(guest, "random_get", 1020, 8), P1_FAULT);
    guest->memory.size = GUEST_MEMORY;
    assert_int_equal(CALL(guest, "random_get", 1020, 8), P1_SUCCESS);
}

static void names_with_a_nul_or_too_long_are_refused(void **state)
{
    struct guest *guest = *state;

    guest_start(guest);
    memcpy(guest->memory.base + GUEST_TEXT, "file\0", 6);
    assert_int_equal(CALL(guest, "path_create_directory", GUEST_IN, GUEST_TEXT, 5),
                     P1_INVAL);
    memset(guest->memory.base + GUEST_BUFFER, 'x', 5000);
    assert_int_equal(CALL(guest, "path_create_directory", GUEST_IN, GUEST_BUFFER, 4096),
                     P1_NAMETOOLONG);
    assert_int_equal(CALL(guest, "path_create_directory", GUEST_IN, GUEST_BUFFER, 256),
                     P1_NAMETOOLONG);
    assert_int_equal(CALL(guest, "path_create_directory", GUEST_IN, GUEST_BUFFER, 255),
                     P1_SUCCESS);
}

/* ---- vectors ---- */

static void thousands_of_vectors_are_one_write(void **state)
{
    struct guest *guest = *state;
    uint32_t number, count = 5000, address = 0x4000;

    guest_start(guest);
    for (uint32_t i = 0; i < count; i++) {
        struct p1_iovec item = { GUEST_TEXT + i % 10, i % 3 };

        memcpy(guest->memory.base + address + i * sizeof(item), &item, sizeof(item));
    }
    guest_text(guest, GUEST_TEXT, "0123456789ab");
    assert_int_equal(guest_open(guest, GUEST_IN, "file", 0, P1_OFLAG_TRUNC, READ | WRITE,
                                &number),
                     P1_SUCCESS);
    guest_text(guest, GUEST_TEXT, "0123456789ab");
    assert_int_equal(CALL(guest, "fd_write", number, address, count, GUEST_RESULT),
                     P1_SUCCESS);
    assert_int_equal(guest_u32(guest, GUEST_RESULT), 4999);
    assert_int_equal(CALL(guest, "fd_pread", number, address, count, 0, GUEST_RESULT),
                     P1_SUCCESS);
    assert_int_equal(guest_u32(guest, GUEST_RESULT), 4999);
    assert_int_equal(guest->record.bytes_read, 4999);
    assert_int_equal(guest->record.bytes_written, 4999);
}

static void a_bad_vector_after_good_ones_cuts_the_write(void **state)
{
    struct guest *guest = *state;
    struct p1_iovec items[200];

    guest_start(guest);
    for (uint32_t i = 0; i < 200; i++)
        items[i] = (struct p1_iovec){ GUEST_TEXT, 1 };
    items[150].buf = GUEST_MEMORY;
    memcpy(guest->memory.base + 0x4000, items, sizeof(items));
    assert_int_equal(CALL(guest, "fd_write", 1, 0x4000, 200, GUEST_RESULT), P1_SUCCESS);
    assert_int_equal(guest_u32(guest, GUEST_RESULT), guest->record.output_used[0]);
    assert_true(guest->record.output_used[0] <= 150);
    memcpy(guest->memory.base + 0x4000, &items[150], sizeof(items[0]));
    assert_int_equal(CALL(guest, "fd_write", 1, 0x4000, 1, GUEST_RESULT), P1_FAULT);
}

/* ---- W10: padding ---- */

static void padding_carries_nothing_of_the_host(void **state)
{
    struct guest *guest = *state;
    const unsigned char *out = guest->memory.base + GUEST_BUFFER;
    struct p1_fdstat fdstat;
    struct p1_filestat filestat;
    struct p1_dirent dirent;
    static const unsigned char zeros[8];

    guest_start(guest);
    assert_int_equal(CALL(guest, "fd_fdstat_get", GUEST_IN, GUEST_BUFFER), P1_SUCCESS);
    memcpy(&fdstat, out, sizeof(fdstat));
    assert_int_equal(fdstat.filetype, P1_FILETYPE_DIRECTORY);
    assert_int_equal(fdstat.padding1, 0);
    assert_memory_equal(fdstat.padding2, zeros, sizeof(fdstat.padding2));
    assert_int_equal(out[sizeof(fdstat)], 0xAA);
    assert_int_equal(guest_stat(guest, GUEST_IN, "file", 0), P1_SUCCESS);
    memcpy(&filestat, out, sizeof(filestat));
    assert_int_equal(filestat.size, 6);
    assert_memory_equal(filestat.padding, zeros, sizeof(filestat.padding));
    assert_int_equal(out[sizeof(filestat)], 0xAA);
    assert_int_equal(
        CALL(guest, "fd_readdir", GUEST_IN, GUEST_BUFFER, 24, 0, GUEST_RESULT),
        P1_SUCCESS);
    memcpy(&dirent, out, sizeof(dirent));
    assert_memory_equal(dirent.padding, zeros, sizeof(dirent.padding));
    assert_int_equal(CALL(guest, "fd_prestat_get", GUEST_IN, GUEST_BUFFER), P1_SUCCESS);
    assert_memory_equal(out, zeros, 4);
    assert_int_equal(guest_u32(guest, GUEST_BUFFER + 4), 3);
}

static void a_listing_hides_what_is_above_the_mount(void **state)
{
    struct guest *guest = *state;
    struct stat own;
    uint32_t at = 0, used, seen = 0;

    guest_start(guest);
    assert_int_equal(fstat(guest->in_fd, &own), 0);
    assert_int_equal(
        CALL(guest, "fd_readdir", GUEST_IN, GUEST_BUFFER, 4096, 0, GUEST_RESULT),
        P1_SUCCESS);
    used = guest_u32(guest, GUEST_RESULT);
    while (at < used) {
        const unsigned char *bytes = guest->memory.base + GUEST_BUFFER + at;
        struct p1_dirent entry;

        memcpy(&entry, bytes, sizeof(entry));
        if (entry.name_length == 2 && memcmp(bytes + sizeof(entry), "..", 2) == 0)
            assert_int_equal(entry.ino, own.st_ino);
        at += (uint32_t)sizeof(entry) + entry.name_length;
        seen++;
    }
    assert_int_equal(seen, 4); /* ".", "..", "file", "dir" */
    assert_int_equal(
        CALL(guest, "fd_readdir", GUEST_IN, GUEST_BUFFER, 4096, -1, GUEST_RESULT),
        P1_SUCCESS);
    assert_int_equal(guest_u32(guest, GUEST_RESULT), 0);
}

/* ---- memory of ours ---- */

static void every_allocation_failure_is_an_errno(void **state)
{
    struct guest *guest = *state;
    bool fired = true;

    guest_start(guest);
    for (int n = 0; fired; n++) {
        struct nacre_wasi *wasi = NULL;
        struct nacre_error err;
        enum nacre_status status;

        fail_alloc_after(n);
        status = nacre_wasi_new(&guest->config, &wasi, &err);
        if (status == NACRE_OK) {
            status = nacre_wasi_begin(wasi, &guest->call, &err);
            if (status == NACRE_OK)
                assert_int_equal(nacre_wasi_end(wasi, &err), NACRE_OK);
        }
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        nacre_wasi_free(wasi);
    }
    fired = true;
    for (int n = 0; fired; n++) {
        uint32_t numbers[16], count = 0;
        int error = P1_SUCCESS;

        fail_alloc_after(n);
        while (error == P1_SUCCESS && count < 16) {
            error = guest_open(guest, GUEST_IN, "dir", 0, P1_OFLAG_DIRECTORY, 0,
                               &numbers[count]);
            count += error == P1_SUCCESS;
        }
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(error, fired ? P1_NOMEM : P1_SUCCESS);
        while (count > 0)
            assert_int_equal(guest_close(guest, numbers[--count]), P1_SUCCESS);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_table_is_all_of_preview1_and_six_of_ours),
        TEST(every_function_survives_every_edge),
        TEST(what_is_not_all_inside_is_a_fault),
        TEST(a_memory_that_grew_is_seen_at_once),
        TEST(names_with_a_nul_or_too_long_are_refused),
        TEST(thousands_of_vectors_are_one_write),
        TEST(a_bad_vector_after_good_ones_cuts_the_write),
        TEST(padding_carries_nothing_of_the_host),
        TEST(a_listing_hides_what_is_above_the_mount),
        TEST(every_allocation_failure_is_an_errno),
    };

    return cmocka_run_group_tests_name("wasi_memory", tests, NULL, NULL);
}
