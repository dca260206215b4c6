/* Streams, files, clocks and numbers: what a guest sees, and when a run ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "nacre/clock.h"
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

/* ---- output ---- */

static void count_output(void *data)
{
    ++*(int *)data;
}

/* R12: exact, never lost before the cut, told. */
static void output_is_cut_at_the_limit_of_both_streams(void **state)
{
    struct guest *guest = *state;
    int told = 0;

    guest->call.output_bytes_max = 10;
    guest->call.on_output = count_output;
    guest->call.on_output_data = &told;
    guest_start(guest);
    assert_int_equal(guest_write(guest, 1, "1234"), P1_SUCCESS);
    assert_int_equal(guest_write(guest, 2, "abcd"), P1_SUCCESS);
    assert_int_equal(guest_write(guest, 1, "56"), P1_SUCCESS);
    assert_int_equal(guest->record.ending, NACRE_WASI_RUNNING);
    assert_int_equal(guest_write(guest, 2, ""), P1_SUCCESS);
    assert_int_equal(told, 3);
    assert_int_equal(guest_write(guest, 2, "e"), NACRE_WASI_UNWIND);
    assert_int_equal(guest->record.ending, NACRE_WASI_OUTPUT_LIMIT);
    assert_int_equal(guest->record.output_used[0], 6);
    assert_int_equal(guest->record.output_used[1], 4);
    assert_memory_equal(guest->output[0], "123456", 6);
    assert_memory_equal(guest->output[1], "abcd", 4);
    assert_int_equal(guest->record.bytes_written, 10);
}

static void the_write_that_does_not_fit_leaves_what_fits(void **state)
{
    struct guest *guest = *state;

    guest->call.output_bytes_max = 3;
    guest_start(guest);
    assert_int_equal(guest_write(guest, 1, "12345"), NACRE_WASI_UNWIND);
    assert_int_equal(guest->record.output_used[0], 3);
    assert_memory_equal(guest->output[0], "123\0", 4);
}

static void streams_can_t_be_read_sought_or_listed(void **state)
{
    struct guest *guest = *state;

    guest_start(guest);
    assert_int_equal(guest_read(guest, 1, 8), P1_BADF);
    assert_int_equal(guest_write(guest, 0, "x"), P1_BADF);
    assert_int_equal(CALL(guest, "fd_seek", 1, 0, P1_WHENCE_CUR, GUEST_RESULT), P1_SPIPE);
    assert_int_equal(CALL(guest, "fd_tell", 0, GUEST_RESULT), P1_SPIPE);
    assert_int_equal(CALL(guest, "fd_pread", 0, 0x20, 1, 0, GUEST_RESULT), P1_SPIPE);
    assert_int_equal(CALL(guest, "fd_readdir", 1, GUEST_BUFFER, 64, 0, GUEST_RESULT),
                     P1_NOTDIR);
    assert_int_equal(guest_stat(guest, 1, "file", 0), P1_NOTDIR);
    assert_int_equal(guest_stat(guest, 99, "file", 0), P1_BADF);
    assert_int_equal(CALL(guest, "fd_prestat_get", 1, GUEST_BUFFER), P1_BADF);
    assert_int_equal(CALL(guest, "sock_shutdown", 1, 0), P1_NOTSOCK);
    assert_int_equal(CALL(guest, "sock_shutdown", 99, 0), P1_BADF);
}

/* ---- input and the deadline ---- */

static void input_is_read_to_its_end(void **state)
{
    struct guest *guest = *state;
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    guest->call.input_fd = ends[0];
    guest_start(guest);
    assert_int_equal(write(ends[1], "hello", 5), 5);
    assert_int_equal(guest_read(guest, 0, 3), P1_SUCCESS);
    assert_int_equal(guest_u32(guest, GUEST_RESULT), 3);
    assert_int_equal(guest_read(guest, 0, 64), P1_SUCCESS);
    assert_int_equal(guest_u32(guest, GUEST_RESULT), 2);
    assert_int_equal(CALL(guest, "fd_fdstat_set_flags", 0, P1_FDFLAG_NONBLOCK),
                     P1_SUCCESS);
    assert_int_equal(guest_read(guest, 0, 64), P1_AGAIN);
    assert_int_equal(CALL(guest, "fd_fdstat_set_flags", 0, 0), P1_SUCCESS);
    (void)close(ends[1]);
    assert_int_equal(guest_read(guest, 0, 64), P1_SUCCESS);
    assert_int_equal(guest_u32(guest, GUEST_RESULT), 0);
    assert_int_equal(guest->record.bytes_read, 5);
    (void)close(ends[0]);
}

static void no_input_is_end_of_file(void **state)
{
    struct guest *guest = *state;

    guest_start(guest);
    assert_int_equal(guest_read(guest, 0, 64), P1_SUCCESS);
    assert_int_equal(guest_u32(guest, GUEST_RESULT), 0);
}

static void bytes_are_an_input_like_any_other(void **state)
{
    struct guest *guest = *state;
    const struct p1_subscription sub = { .tag = P1_EVENT_FD_READ, .u.file.fd = 0 };
    struct p1_event event;

    guest->call.input = (const unsigned char *)"hello";
    guest->call.input_bytes = 5;
    guest->call.input_fd = 999; /* not asked any more */
    guest_start(guest);
    assert_int_equal(guest_read(guest, 0, 3), P1_SUCCESS);
    assert_int_equal(guest_u32(guest, GUEST_RESULT), 3);
    assert_memory_equal(guest->memory.base + GUEST_BUFFER, "hel", 3);
    memcpy(guest->memory.base + 0x4000, &sub, sizeof(sub));
    assert_int_equal(CALL(guest, "poll_oneoff", 0x4000, 0x5000, 1, GUEST_RESULT),
                     P1_SUCCESS);
    memcpy(&event, guest->memory.base + 0x5000, sizeof(event));
    assert_int_equal(event.bytes, 2);
    assert_int_equal(guest_read(guest, 0, 64), P1_SUCCESS);
    assert_int_equal(guest_u32(guest, GUEST_RESULT), 2);
    assert_memory_equal(guest->memory.base + GUEST_BUFFER, "lo", 2);
    assert_int_equal(guest_read(guest, 0, 64), P1_SUCCESS);
    assert_int_equal(guest_u32(guest, GUEST_RESULT), 0);
    assert_int_equal(guest->record.bytes_read, 5);
    assert_int_equal(CALL(guest, "fd_pread", 0, 0x20, 1, 0, GUEST_RESULT), P1_SPIPE);
}

/* R08: each of these would wait for ever. */
static void waiting_ends_at_the_deadline(void **state)
{
    struct guest *guest = *state;
    struct p1_subscription sleep_long = {
        .tag = P1_EVENT_CLOCK,
        .u.clock = { .id = P1_CLOCK_MONOTONIC, .timeout = UINT64_MAX },
    };
    struct p1_subscription input = { .tag = P1_EVENT_FD_READ, .u.file.fd = 0 };
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    guest->call.input_fd = ends[0];
    guest_start(guest);
    for (int way = 0; way < 3; way++) {
        guest->call.deadline_ns = nacre_clock_ns() + 20 * NACRE_NS_PER_MS;
        guest_restart(guest);
        memcpy(guest->memory.base + 0x4000, way == 1 ? &sleep_long : &input,
               sizeof(input));
        assert_int_equal(way == 0 ? guest_read(guest, 0, 64)
                                  : CALL(guest, "poll_oneoff", 0x4000, 0x5000, 1,
                                         GUEST_RESULT),
                         NACRE_WASI_UNWIND);
        assert_int_equal(guest->record.ending, NACRE_WASI_TIMED_OUT);
        assert_true(nacre_clock_ns() >= guest->call.deadline_ns);
    }
    assert_int_equal(CALL(guest, "sched_yield", 0), NACRE_WASI_UNWIND);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* ---- poll ---- */

static void poll_tells_what_happened(void **state)
{
    struct guest *guest = *state;
    struct p1_subscription subs[4] = {
        { .userdata = 1, .tag = P1_EVENT_FD_READ, .u.file.fd = 0 },
        { .userdata = 2, .tag = P1_EVENT_FD_WRITE, .u.file.fd = 1 },
        { .userdata = 3,
          .tag = P1_EVENT_CLOCK,
          .u.clock = { .id = P1_CLOCK_MONOTONIC, .timeout = NACRE_NS_PER_S * 500 } },
        { .userdata = 4,
          .tag = P1_EVENT_CLOCK,
          .u.clock = { .id = P1_CLOCK_PROCESS_CPU } },
    };
    struct p1_event events[4];

    guest_start(guest);
    memcpy(guest->memory.base + 0x4000, subs, sizeof(subs));
    assert_int_equal(CALL(guest, "poll_oneoff", 0x4000, 0x5000, 4, GUEST_RESULT),
                     P1_SUCCESS);
    assert_int_equal(guest_u32(guest, GUEST_RESULT), 3);
    memcpy(events, guest->memory.base + 0x5000, sizeof(events));
    assert_int_equal(events[0].userdata, 1); /* no input: end of file is an event */
    assert_int_equal(events[0].error, P1_SUCCESS);
    assert_int_equal(events[1].userdata, 2);
    assert_int_equal(events[2].userdata, 4);
    assert_int_equal(events[2].error, P1_NOTSUP);
}

static void poll_sleeps_no_less_than_asked(void **state)
{
    struct guest *guest = *state;
    struct p1_subscription sub = {
        .tag = P1_EVENT_CLOCK,
        .u.clock = { .id = P1_CLOCK_REALTIME, .timeout = 3 * NACRE_NS_PER_MS },
    };
    uint64_t before = nacre_clock_ns();
    struct timespec now;

    guest_start(guest);
    memcpy(guest->memory.base + 0x4000, &sub, sizeof(sub));
    assert_int_equal(CALL(guest, "poll_oneoff", 0x4000, 0x5000, 1, GUEST_RESULT),
                     P1_SUCCESS);
    assert_true(nacre_clock_ns() - before >= 3 * NACRE_NS_PER_MS);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    sub.u.clock.flags = P1_SUBCLOCK_ABSTIME;
    sub.u.clock.timeout = (uint64_t)now.tv_sec * NACRE_NS_PER_S; /* already over */
    memcpy(guest->memory.base + 0x4000, &sub, sizeof(sub));
    assert_int_equal(CALL(guest, "poll_oneoff", 0x4000, 0x5000, 1, GUEST_RESULT),
                     P1_SUCCESS);
    assert_int_equal(guest_u32(guest, GUEST_RESULT), 1);
}

static void poll_refuses_nonsense(void **state)
{
    struct guest *guest = *state;
    const struct {
        struct p1_subscription sub;
        int error;
    } rows[] = {
        { { .tag = P1_EVENT_FD_READ, .u.file.fd = 99 }, P1_BADF },
        { { .tag = P1_EVENT_FD_READ, .u.file.fd = UINT32_MAX }, P1_BADF },
        { { .tag = P1_EVENT_FD_READ, .u.file.fd = 1 }, P1_BADF },
        { { .tag = P1_EVENT_FD_WRITE, .u.file.fd = 0 }, P1_BADF },
        { { .tag = P1_EVENT_FD_READ, .u.file.fd = GUEST_IN }, P1_BADF },
        { { .tag = 3 }, P1_INVAL },
        { { .tag = 255 }, P1_INVAL },
    };

    guest_start(guest);
    assert_int_equal(CALL(guest, "poll_oneoff", 0, 0, 0, GUEST_RESULT), P1_INVAL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        memcpy(guest->memory.base + 0x4000, &rows[i].sub, sizeof(rows[i].sub));
        assert_int_equal(CALL(guest, "poll_oneoff", 0x4000, 0x5000, 1, GUEST_RESULT),
                         rows[i].error);
    }
}

/* ---- numbers ---- */

/* R14: exact, and the host's own are untouched. */
static void open_files_are_counted_exactly(void **state)
{
    struct guest *guest = *state;
    uint32_t numbers[4], extra;

    guest->config.open_files_max = 4;
    guest_start(guest);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(guest_open(guest, GUEST_IN, "file", 0, 0, READ, &numbers[i]),
                         P1_SUCCESS);
        assert_int_equal(numbers[i], 6 + i);
    }
    assert_int_equal(guest_open(guest, GUEST_IN, "file", 0, 0, READ, &extra), P1_MFILE);
    assert_int_equal(guest_open(guest, GUEST_IN, "new", 0, P1_OFLAG_CREAT, WRITE, &extra),
                     P1_MFILE);
    assert_false(outside_exists(guest, "in/new"));
    assert_int_equal(guest_denials(guest, "open-files"), 2);
    assert_int_equal(guest_close(guest, numbers[1]), P1_SUCCESS);
    assert_int_equal(guest_close(guest, numbers[1]), P1_BADF);
    assert_int_equal(guest_open(guest, GUEST_IN, "file", 0, 0, READ, &extra), P1_SUCCESS);
    assert_int_equal(extra, numbers[1]);
    /* Closing a preopen makes no room: it never took any. */
    assert_int_equal(guest_close(guest, GUEST_RO), P1_SUCCESS);
    assert_int_equal(guest_open(guest, GUEST_IN, "file", 0, 0, READ, &extra), P1_MFILE);
    assert_int_equal(guest->record.files_opened, 5);
}

static void renumbering_closes_what_was_there(void **state)
{
    struct guest *guest = *state;
    uint32_t file, dir;

    guest->config.open_files_max = 2;
    guest_start(guest);
    assert_int_equal(guest_open(guest, GUEST_IN, "file", 0, 0, READ, &file), P1_SUCCESS);
    assert_int_equal(guest_open(guest, GUEST_IN, "dir", 0, 0, 0, &dir), P1_SUCCESS);
    assert_int_equal(CALL(guest, "fd_renumber", file, 99), P1_BADF);
    assert_int_equal(CALL(guest, "fd_renumber", 99, file), P1_BADF);
    assert_int_equal(CALL(guest, "fd_renumber", file, UINT32_MAX), P1_BADF);
    assert_int_equal(CALL(guest, "fd_renumber", dir, dir), P1_SUCCESS);
    assert_int_equal(CALL(guest, "fd_renumber", file, dir), P1_SUCCESS);
    assert_int_equal(CALL(guest, "fd_fdstat_get", file, GUEST_BUFFER), P1_BADF);
    assert_int_equal(guest_read(guest, dir, 6), P1_SUCCESS);
    assert_int_equal(CALL(guest, "fd_renumber", dir, 1), P1_SUCCESS);
    assert_int_equal(guest_read(guest, 1, 6), P1_SUCCESS);
    assert_int_equal(guest_write(guest, 2, "still"), P1_SUCCESS);
    assert_int_equal(guest_open(guest, GUEST_IN, "dir", 0, 0, 0, &dir), P1_SUCCESS);
    assert_int_equal(dir, file);
}

static void rights_can_be_dropped_and_not_regained(void **state)
{
    struct guest *guest = *state;
    uint32_t number;

    guest_start(guest);
    assert_int_equal(guest_open(guest, GUEST_IN, "file", 0, 0, READ | WRITE, &number),
                     P1_SUCCESS);
    assert_int_equal(guest_write(guest, number, "I"), P1_SUCCESS);
    assert_int_equal(CALL(guest, "fd_fdstat_set_rights", number, READ, 0), P1_SUCCESS);
    assert_int_equal(guest_write(guest, number, "x"), P1_BADF);
    assert_int_equal(guest_pwrite(guest, number, "x", 0), P1_BADF);
    assert_int_equal(CALL(guest, "fd_filestat_set_size", number, 0), P1_INVAL);
    assert_int_equal(CALL(guest, "fd_fdstat_set_rights", number, READ | WRITE, 0),
                     P1_NOTCAPABLE);
    assert_true(outside_holds(guest, "in/file", "Inside"));
    assert_int_equal(guest_read(guest, number, 5), P1_SUCCESS);
}

static void a_file_does_what_it_was_opened_for(void **state)
{
    struct guest *guest = *state;
    uint32_t number, dir;

    guest_start(guest);
    assert_int_equal(guest_open(guest, GUEST_IN, "file", 0, 0, READ, &number),
                     P1_SUCCESS);
    assert_int_equal(guest_write(guest, number, "x"), P1_BADF);
    assert_int_equal(guest_stat(guest, number, "x", 0), P1_NOTDIR);
    assert_int_equal(CALL(guest, "fd_seek", number, -1, P1_WHENCE_SET, GUEST_RESULT),
                     P1_INVAL);
    assert_int_equal(CALL(guest, "fd_seek", number, 0, 3, GUEST_RESULT), P1_INVAL);
    assert_int_equal(CALL(guest, "fd_allocate", number, 0, 1), P1_NOTSUP);
    assert_int_equal(CALL(guest, "fd_advise", number, 0, 1, 6), P1_INVAL);
    assert_int_equal(CALL(guest, "fd_fdstat_set_flags", number, P1_FDFLAG_SYNC),
                     P1_INVAL);
    assert_int_equal(guest_open(guest, GUEST_IN, "file", 0, P1_OFLAG_DIRECTORY, 0, &dir),
                     P1_NOTDIR);
    assert_int_equal(guest_open(guest, GUEST_IN, "dir", 0, 0, WRITE, &dir), P1_ISDIR);
    assert_int_equal(guest_open(guest, GUEST_IN, "dir", 0, P1_OFLAG_CREAT, 0, &dir),
                     P1_ISDIR);
    assert_int_equal(guest_open(guest, GUEST_IN, "new/", 0, P1_OFLAG_CREAT, 0, &dir),
                     P1_ISDIR);
    assert_int_equal(guest_open(guest, GUEST_IN, "file", 0, 16, 0, &dir), P1_INVAL);
    assert_int_equal(guest_open(guest, GUEST_IN, "dir", 0, P1_OFLAG_DIRECTORY, 0, &dir),
                     P1_SUCCESS);
    assert_int_equal(guest_read(guest, dir, 1), P1_BADF);
    assert_int_equal(CALL(guest, "fd_sync", dir), P1_BADF);
    assert_int_equal(CALL(guest, "fd_seek", dir, 0, 0, GUEST_RESULT), P1_BADF);
    assert_int_equal(CALL(guest, "fd_sync", number), P1_SUCCESS);
}

/* As "rm -r" does it: list a part, remove it, go on from its last cookie. */
static void a_listing_misses_nothing_while_entries_are_removed(void **state)
{
    struct guest *guest = *state;
    uint32_t dir, used, seen = 0;
    uint64_t cookie = 0;

    outside_dir(guest, "in/many");
    for (int i = 0; i < 300; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "in/many/%d-entry", i);
        outside_file(guest, name, "");
    }
    guest_start(guest);
    assert_int_equal(guest_open(guest, GUEST_IN, "many", 0, 0, 0, &dir), P1_SUCCESS);
    do {
        assert_int_equal(CALL(guest, "fd_readdir", dir, GUEST_BUFFER, 200,
                              (int64_t)cookie, GUEST_RESULT),
                         P1_SUCCESS);
        used = guest_u32(guest, GUEST_RESULT);
        for (uint32_t at = 0; at + sizeof(struct p1_dirent) <= used;) {
            const unsigned char *bytes = guest->memory.base + GUEST_BUFFER + at;
            struct p1_dirent entry;
            char name[64] = "";

            memcpy(&entry, bytes, sizeof(entry));
            at += (uint32_t)sizeof(entry) + entry.name_length;
            if (at > used)
                break;
            memcpy(name, bytes + sizeof(entry), entry.name_length);
            cookie = entry.next;
            if (name[0] == '.')
                continue;
            assert_int_equal(guest_unlink(guest, dir, name), P1_SUCCESS);
            seen++;
        }
    } while (used == 200);
    assert_int_equal(seen, 300);
    assert_int_equal(outside_count(guest, "in/many"), 0);
}

/* ---- the rest ---- */

static void exit_is_on_record_before_the_guest_is_left(void **state)
{
    struct guest *guest = *state;

    guest_start(guest);
    assert_int_equal(CALL(guest, "proc_raise", 6), P1_NOSYS);
    assert_int_equal(guest->record.ending, NACRE_WASI_RUNNING);
    assert_int_equal(CALL(guest, "proc_exit", 300), NACRE_WASI_UNWIND);
    assert_int_equal(guest->record.ending, NACRE_WASI_EXITED);
    assert_int_equal(guest->record.exit_status, 300);
}

static void arguments_arrive_with_their_pointers(void **state)
{
    struct guest *guest = *state;
    static const char *const words[] = { "tool", "", "a b" };

    guest->call.arguments = words;
    guest->call.argument_count = 3;
    guest_start(guest);
    assert_int_equal(CALL(guest, "args_sizes_get", 0, 4), P1_SUCCESS);
    assert_int_equal(guest_u32(guest, 0), 3);
    assert_int_equal(guest_u32(guest, 4), 10);
    assert_int_equal(CALL(guest, "args_get", 16, 64), P1_SUCCESS);
    assert_int_equal(guest_u32(guest, 20), 69);
    assert_memory_equal(guest->memory.base + 64, "tool\0\0a b\0\xAA", 11);
    assert_int_equal(CALL(guest, "environ_sizes_get", 0, 4), P1_SUCCESS);
    assert_int_equal(guest_u32(guest, 0), 0);
    assert_int_equal(guest_u32(guest, 4), 0);
}

/* What the thread did for an earlier run must not show in this one's clock. */
static void cpu_clocks_start_with_the_run(void **state)
{
    struct guest *guest = *state;
    uint64_t first;

    guest_start(guest);
    assert_int_equal(CALL(guest, "clock_time_get", P1_CLOCK_THREAD_CPU, 0, 16),
                     P1_SUCCESS);
    assert_int_equal(guest_u64(guest, 16), 0);
    for (volatile int i = 0; i < 1000000; i++)
        ;
    assert_int_equal(CALL(guest, "clock_time_get", P1_CLOCK_PROCESS_CPU, 0, 16),
                     P1_SUCCESS);
    first = guest_u64(guest, 16);
    assert_true(first > 0);
    guest_restart(guest);
    assert_int_equal(CALL(guest, "clock_time_get", P1_CLOCK_PROCESS_CPU, 0, 16),
                     P1_SUCCESS);
    assert_int_equal(guest_u64(guest, 16), 0);
    assert_int_equal(CALL(guest, "clock_time_get", 4, 0, 16), P1_INVAL);
    assert_int_equal(CALL(guest, "clock_res_get", P1_CLOCK_REALTIME, 16), P1_SUCCESS);
    assert_true(guest_u64(guest, 16) > 0);
}

static void refusals_are_kept_up_to_a_limit_and_counted_beyond(void **state)
{
    struct guest *guest = *state;

    guest_start(guest);
    for (int i = 0; i < NACRE_DENIALS_MAX + 10; i++)
        assert_int_equal(guest_stat(guest, GUEST_IN, "../\n", 0), P1_PERM);
    assert_int_equal(guest->record.denial_count, NACRE_DENIALS_MAX);
    assert_int_equal(guest->record.denials_seen, NACRE_DENIALS_MAX + 10);
    assert_string_equal(guest->record.denials[0].path, "../\\x0a");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(output_is_cut_at_the_limit_of_both_streams),
        TEST(the_write_that_does_not_fit_leaves_what_fits),
        TEST(streams_can_t_be_read_sought_or_listed),
        TEST(input_is_read_to_its_end),
        TEST(no_input_is_end_of_file),
        TEST(bytes_are_an_input_like_any_other),
        TEST(waiting_ends_at_the_deadline),
        TEST(poll_tells_what_happened),
        TEST(poll_sleeps_no_less_than_asked),
        TEST(poll_refuses_nonsense),
        TEST(open_files_are_counted_exactly),
        TEST(renumbering_closes_what_was_there),
        TEST(rights_can_be_dropped_and_not_regained),
        TEST(a_file_does_what_it_was_opened_for),
        TEST(a_listing_misses_nothing_while_entries_are_removed),
        TEST(exit_is_on_record_before_the_guest_is_left),
        TEST(arguments_arrive_with_their_pointers),
        TEST(cpu_clocks_start_with_the_run),
        TEST(refusals_are_kept_up_to_a_limit_and_counted_beyond),
    };

    return cmocka_run_group_tests_name("wasi_io", tests, NULL, NULL);
}
