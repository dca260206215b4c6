/* What supervisor, zygote and worker say to each other: nothing is read or written past
 * its end, and no fd is lost on the way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "in_child.h"
#include "scene.h"
#include "wt_share.h"

static void a_cursor_stops_where_its_area_ends(void **state)
{
    (void)state;
    for (size_t size = 0; size <= 13; size++) {
        NACRE_AUTO(nacre_heap_guard) char *area = malloc(size + 1);
        struct wt_cursor cursor = { area, area + size, false };

        area[size] = 'c';
        wt_put_text(&cursor, "abc");
        wt_put_number(&cursor, 0xfffffffe);
        wt_put_text(&cursor, "");
        wt_put_text(&cursor, "de");
        assert_int_equal(cursor.failed, size < 12);
        assert_int_equal(area[size], 'c');
        cursor = (struct wt_cursor){ area, area + size, false };
        assert_string_equal(wt_get_text(&cursor), size >= 4 ? "abc" : "");
        assert_int_equal(wt_get_number(&cursor), size >= 8 ? 0xfffffffe : 0);
        if (size < 12)
            continue;
        assert_string_equal(wt_get_text(&cursor), "");
        assert_string_equal(wt_get_text(&cursor), "de");
        assert_false(cursor.failed);
    }
}

/* After one thing that was not there, nothing is: what follows would be shifted. */
static void a_cursor_that_failed_stays_failed(void **state)
{
    char area[] = { 'x', 'y', 'z' };
    struct wt_cursor cursor = { area, area + sizeof(area), false };

    (void)state;
    assert_int_equal(wt_get_number(&cursor), 0);
    assert_true(cursor.failed);
    assert_string_equal(wt_get_text(&cursor), "");
    wt_put_text(&cursor, "");
    wt_put_number(&cursor, 1);
    assert_memory_equal(area, "xyz", 3);
    cursor = (struct wt_cursor){ area, area + sizeof(area), false };
    assert_string_equal(wt_get_text(&cursor), ""); /* no end in sight */
    assert_true(cursor.failed);
}

static void the_streams_buffers_do_not_overlap(void **state)
{
    static const uint64_t sizes[] = { 1, 4095, 4096, 4097, 65536, 1000001 };
    struct wt_share *share = (struct wt_share *)(uintptr_t)0x10000000;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(sizes); i++) {
        unsigned char *one = wt_share_output(share, sizes[i], 0);
        unsigned char *two = wt_share_output(share, sizes[i], 1);

        assert_true(one >= (unsigned char *)(share + 1));
        assert_true(two >= one + sizes[i]);
        assert_true((unsigned char *)share + wt_share_size(sizes[i]) >= two + sizes[i]);
        assert_int_equal((uintptr_t)one % 4096, 0);
    }
}

static void a_futex_wait_ends_by_its_time_or_its_word(void **state)
{
    _Atomic uint32_t word = 5;

    (void)state;
    assert_int_equal(wt_futex_wait(&word, 4, 0), -1);
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(wt_futex_wait(&word, 5, 1000000), -1);
    assert_int_equal(errno, ETIMEDOUT);
}

struct ends {
    int a, b;
};

static struct ends make_pair(void)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                                pair),
                     0);
    return (struct ends){ pair[0], pair[1] };
}

static void close_pair(struct ends ends)
{
    (void)close(ends.a);
    (void)close(ends.b);
}

static void fds_travel_with_their_message(void **state)
{
    static const uint32_t counts[] = { 0, 1, 3, WT_FDS_MAX };
    struct ends ends = make_pair();
    const struct wt_message sent = { WT_REQUEST_SPAWN, -7, 9 };
    int fds[WT_FDS_MAX + 1], got[WT_FDS_MAX];
    int before = scene_fds();
    struct wt_message message;
    uint32_t count;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(fds); i++)
        fds[i] = ends.a;
    for (size_t i = 0; i < NACRE_COUNT(counts); i++) {
        assert_true(wt_send(ends.a, &sent, fds, counts[i]));
        assert_true(wt_receive(ends.b, &message, got, &count));
        assert_memory_equal(&message, &sent, sizeof(sent));
        assert_int_equal(count, counts[i]);
        for (uint32_t k = 0; k < count; k++) {
            assert_true(fcntl(got[k], F_GETFD) & FD_CLOEXEC);
            (void)close(got[k]);
        }
    }
    assert_false(wt_send(ends.a, &sent, fds, WT_FDS_MAX + 1));
    assert_int_equal(errno, E2BIG);
    assert_false(wt_send(ends.a, &sent, (int[]){ -1 }, 1));
    assert_int_equal(errno, EBADF);
    assert_int_equal(scene_fds(), before);
    close_pair(ends);
}

/* Sends `size` bytes with `count` fds, past wt_send(). */
static void send_raw(int socket, size_t size, uint32_t count)
{
    char bytes[64] = { 0 }, control[CMSG_SPACE(200 * sizeof(int))] = { 0 };
    struct iovec part = { bytes, size };
    struct msghdr header = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                             .msg_controllen = CMSG_SPACE(count * sizeof(int)) };
    struct cmsghdr *rights = (struct cmsghdr *)(void *)control;

    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(count * sizeof(int));
    for (uint32_t i = 0; i < count; i++)
        memcpy(CMSG_DATA(rights) + i * sizeof(int), &socket, sizeof(int));
    assert_int_equal(sendmsg(socket, &header, 0), size);
}

static void a_broken_message_loses_no_fd(void **state)
{
    static const struct {
        size_t size;
        uint32_t fds;
    } broken[] = {
        { 1, 1 },
        { sizeof(struct wt_message) - 1, 3 },
        { sizeof(struct wt_message) + 1, 3 },
        { sizeof(struct wt_message), WT_FDS_MAX + 40 },
    };
    struct ends ends = make_pair();
    int before = scene_fds(), got[WT_FDS_MAX];
    struct wt_message message;
    uint32_t count;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(broken); i++) {
        send_raw(ends.a, broken[i].size, broken[i].fds);
        assert_false(wt_receive(ends.b, &message, got, &count));
        assert_int_equal(errno, EBADMSG);
        assert_int_equal(count, 0);
        assert_int_equal(scene_fds(), before);
    }
    assert_false(wt_receive(ends.b, &message, got, &count));
    assert_int_equal(errno, EAGAIN);
    (void)close(ends.a);
    assert_false(wt_receive(ends.b, &message, got, &count));
    assert_int_equal(errno, 0); /* the end, and not a failure */
    assert_false(wt_send(ends.b, &message, NULL, 0));
    assert_int_equal(errno, EPIPE); /* and no SIGPIPE */
    (void)close(ends.b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cursor_stops_where_its_area_ends),
        cmocka_unit_test(a_cursor_that_failed_stays_failed),
        cmocka_unit_test(the_streams_buffers_do_not_overlap),
        cmocka_unit_test(a_futex_wait_ends_by_its_time_or_its_word),
        cmocka_unit_test(fds_travel_with_their_message),
        cmocka_unit_test(a_broken_message_loses_no_fd),
    };

    return cmocka_run_group_tests_name("wt_share", tests, NULL, NULL);
}
