#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "in_child.h"
#include "message.h"
#include "scene.h"

#define SOON message_within_ms(5000)
#define AT_ONCE message_within_ms(50)

static int ends[2];

static int pair_setup(void **state)
{
    (void)state;
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends);
}

static int pair_teardown(void **state)
{
    (void)state;
    nacre_fd_guard(&ends[0]);
    nacre_fd_guard(&ends[1]);
    return 0;
}

#define WITH_PAIR(name) cmocka_unit_test_setup_teardown(name, pair_setup, pair_teardown)

static void drop(int *fd)
{
    nacre_fd_guard(fd);
    *fd = -1;
}

static const char two[] = "\x05\0\0\0\x05\0\0\0hello\0\0\0\0\x01\0\0\0";

/* The second part when the receiver waits for it. */
static void *send_cut(void *data)
{
    size_t cut = *(size_t *)data, rest = sizeof(two) - 1 - cut;

    if (write(ends[0], two, cut) != (ssize_t)cut)
        return data;
    (void)usleep(2000);
    return write(ends[0], two + cut, rest) == (ssize_t)rest ? NULL : data;
}

static void a_message_arrives_however_it_is_cut(void **state)
{
    (void)state;
    for (size_t cut = 0; cut < sizeof(two); cut++) {
        NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(100);
        enum message_kind kind = MESSAGE_NONE;
        struct nacre_error err;
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, send_cut, &cut), 0);
        assert_int_equal(message_receive(ends[1], SOON, &kind, &bytes, NULL, &err),
                         NACRE_OK);
        assert_int_equal(kind, MESSAGE_LIST);
        assert_string_equal(bytes.bytes, "hello");
        nacre_buf_clear(&bytes);
        assert_int_equal(message_receive(ends[1], SOON, &kind, &bytes, NULL, &err),
                         NACRE_OK);
        assert_int_equal(kind, MESSAGE_QUIT);
        assert_int_equal(bytes.size, 0);
        assert_string_equal(bytes.bytes, "");
        (void)pthread_join(thread, NULL);
    }
}

/* A byte at a time, from another thread. */
static void *dribble(void *data)
{
    static const char raw[] = "\x05\0\0\0\x05\0\0\0hello";

    (void)data;
    for (size_t i = 0; i < sizeof(raw) - 1; i++) {
        if (write(ends[0], raw + i, 1) != 1)
            break;
        (void)usleep(1000);
    }
    return NULL;
}

static void a_message_arrives_a_byte_at_a_time(void **state)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(100);
    enum message_kind kind = MESSAGE_NONE;
    struct nacre_error err;
    pthread_t thread;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, dribble, NULL), 0);
    assert_int_equal(message_receive(ends[1], SOON, &kind, &bytes, NULL, &err), NACRE_OK);
    assert_string_equal(bytes.bytes, "hello");
    (void)pthread_join(thread, NULL);
}

static void *send_large(void *data)
{
    struct nacre_error err;
    NACRE_AUTO(nacre_heap_guard) char *large = malloc(MESSAGE_BYTES_MAX);

    (void)data;
    memset(large, 'x', MESSAGE_BYTES_MAX);
    large[MESSAGE_BYTES_MAX - 1] = 'y';
    return (void *)(uintptr_t)message_send(ends[0], MESSAGE_LIST, large,
                                           MESSAGE_BYTES_MAX, -1, SOON, &err);
}

static void a_message_as_large_as_may_be_arrives_and_a_larger_one_does_not(void **state)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(MESSAGE_BYTES_MAX);
    enum message_kind kind = MESSAGE_NONE;
    struct nacre_error err;
    pthread_t thread;
    void *status;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, send_large, NULL), 0);
    assert_int_equal(message_receive(ends[1], SOON, &kind, &bytes, NULL, &err), NACRE_OK);
    (void)pthread_join(thread, &status);
    assert_null(status);
    assert_int_equal(bytes.size, MESSAGE_BYTES_MAX);
    assert_int_equal(bytes.bytes[bytes.size - 1], 'y');
    assert_int_equal(message_send(ends[0], MESSAGE_LIST, "", MESSAGE_BYTES_MAX + 1, -1,
                                  SOON, &err),
                     NACRE_ERR_TOO_BIG);
    assert_int_equal(recv(ends[1], &kind, 1, MSG_DONTWAIT), -1);
}

static void what_is_no_message_is_refused(void **state)
{
    static const struct {
        const char *raw;
        size_t count;
    } rows[] = {
        { "\0\0\0\0\0\0\0\0", 8 },             /* of no kind */
        { "\0\0\0\0\xff\0\0\0", 8 },           /* of one that is not known */
        { "\0\0\0\0\x01\0\0\x80", 8 },
        { "\x01\0\x80\0\x01\0\0\0", 8 },       /* longer than any */
        { "\xff\xff\xff\xff\x01\0\0\0", 8 },
        { "GET / HTTP/1.1\r\n", 16 },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(MESSAGE_BYTES_MAX);
        enum message_kind kind = MESSAGE_NONE;
        struct nacre_error err;

        assert_int_equal(write(ends[0], rows[i].raw, rows[i].count), rows[i].count);
        assert_int_equal(message_receive(ends[1], AT_ONCE, &kind, &bytes, NULL, &err),
                         NACRE_ERR_PARSE);
        assert_int_equal(kind, MESSAGE_NONE);
        (void)pair_teardown(NULL);
        assert_int_equal(pair_setup(NULL), 0);
    }
}

static void an_end_between_messages_is_another_than_one_within(void **state)
{
    static const char raw[] = "\x05\0\0\0\x01\0\0\0hel";
    static const size_t cuts[] = { 0, 1, 7, 8, 11 };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(cuts); i++) {
        NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(100);
        enum message_kind kind = MESSAGE_NONE;
        struct nacre_error err;

        assert_int_equal(write(ends[0], raw, cuts[i]), cuts[i]);
        drop(&ends[0]);
        assert_int_equal(message_receive(ends[1], SOON, &kind, &bytes, NULL, &err),
                         cuts[i] == 0 ? NACRE_ERR_NOT_FOUND : NACRE_ERR_PARSE);
        (void)pair_teardown(NULL);
        assert_int_equal(pair_setup(NULL), 0);
    }
}

static void silence_ends_at_the_deadline_both_ways(void **state)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(100);
    NACRE_AUTO(nacre_heap_guard) char *large = calloc(1, MESSAGE_BYTES_MAX);
    enum message_kind kind = MESSAGE_NONE;
    struct nacre_error err;

    (void)state;
    assert_int_equal(message_receive(ends[1], AT_ONCE, &kind, &bytes, NULL, &err),
                     NACRE_ERR_TIMEOUT);
    assert_int_equal(write(ends[0], "\x05\0\0\0\x01\0\0\0hel", 11), 11);
    assert_int_equal(message_receive(ends[1], AT_ONCE, &kind, &bytes, NULL, &err),
                     NACRE_ERR_TIMEOUT);
    assert_int_equal(message_send(ends[0], MESSAGE_LIST, large, MESSAGE_BYTES_MAX, -1,
                                  AT_ONCE, &err),
                     NACRE_ERR_TIMEOUT);
}

static void nobody_at_the_other_end_is_an_error_and_no_signal(void **state)
{
    struct nacre_error err;

    (void)state;
    drop(&ends[1]);
    assert_int_equal(message_send(ends[0], MESSAGE_LIST, "{}", 2, -1, SOON, &err),
                     NACRE_ERR_IO);
}

static void more_than_the_receiver_wants_is_refused(void **state)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(4);
    enum message_kind kind = MESSAGE_NONE;
    struct nacre_error err;

    (void)state;
    assert_int_equal(message_send(ends[0], MESSAGE_LIST, "12345", 5, -1, SOON, &err),
                     NACRE_OK);
    assert_int_equal(message_receive(ends[1], SOON, &kind, &bytes, NULL, &err),
                     NACRE_ERR_TOO_BIG);
}

/* ---- fds ---- */

static void an_fd_comes_along(void **state)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(100);
    NACRE_AUTO(nacre_fd_guard) int got = -1;
    int before = scene_fds();
    enum message_kind kind;
    struct nacre_error err;
    int pipe_ends[2];
    char byte = 0;

    (void)state;
    assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
    assert_int_equal(message_send(ends[0], MESSAGE_RUN, "{}", 2, pipe_ends[0], SOON,
                                  &err),
                     NACRE_OK);
    assert_int_equal(message_receive(ends[1], SOON, &kind, &bytes, &got, &err), NACRE_OK);
    assert_true(got >= 0 && got != pipe_ends[0]);
    assert_true(fcntl(got, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(write(pipe_ends[1], "z", 1), 1);
    assert_int_equal(read(got, &byte, 1), 1);
    assert_int_equal(byte, 'z');
    drop(&pipe_ends[0]);
    drop(&pipe_ends[1]);
    drop(&got);
    nacre_buf_clear(&bytes);
    assert_int_equal(message_send(ends[0], MESSAGE_RUN, "{}", 2, -1, SOON, &err),
                     NACRE_OK);
    assert_int_equal(message_receive(ends[1], SOON, &kind, &bytes, &got, &err), NACRE_OK);
    assert_int_equal(got, -1);
    assert_int_equal(scene_fds(), before);
}

static void send_fds(size_t count, const char *bytes, size_t size)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(16 * sizeof(int))] = { 0 };
    struct iovec part = { (void *)(uintptr_t)bytes, size };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = control,
                              .msg_controllen = CMSG_SPACE(count * sizeof(int)) };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    int fds[16] = { 0 };

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(header), fds, count * sizeof(int));
    assert_int_equal(sendmsg(ends[0], &message, 0), size);
}

static void fds_that_nobody_wants_are_refused_and_closed(void **state)
{
    static const char whole[] = "\x02\0\0\0\x01\0\0\0{}";
    static const struct {
        size_t count, at;
        bool wanted;
    } rows[] = {
        { 1, 0, false }, /* with a message that may carry none */
        { 2, 0, true },  { 4, 0, true }, { 5, 0, true }, { 16, 0, true },
        { 1, 8, true }, /* with its bytes */
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(100);
        int before = scene_fds(), got = -1;
        enum message_kind kind;
        struct nacre_error err;

        assert_int_equal(write(ends[0], whole, rows[i].at), rows[i].at);
        send_fds(rows[i].count, whole + rows[i].at, 10 - rows[i].at);
        assert_int_equal(message_receive(ends[1], SOON, &kind, &bytes,
                                         rows[i].wanted ? &got : NULL, &err),
                         NACRE_ERR_PARSE);
        assert_int_equal(got, -1);
        assert_int_equal(scene_fds(), before);
        (void)pair_teardown(NULL);
        assert_int_equal(pair_setup(NULL), 0);
    }
}

/* ---- who is there ---- */

static int connect_as(void *data)
{
    uid_t uid = *(uid_t *)data;
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "door" };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    if (uid != geteuid())
        CHILD_CHECK(setresgid(uid, uid, uid) == 0 && setresuid(uid, uid, uid) == 0);
    CHILD_CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
    return 0;
}

static void another_user_is_told_apart(void **state)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "door" };
    NACRE_AUTO(nacre_fd_guard) int listening = socket(AF_UNIX, SOCK_STREAM, 0);
    uid_t uids[] = { geteuid(), 4711 };

    (void)state;
    if (geteuid() != 0)
        skip(); /* only root can be somebody else */
    assert_int_equal(bind(listening, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(chmod("door", 0777), 0);
    assert_int_equal(chmod(".", 0755), 0);
    assert_int_equal(listen(listening, 4), 0);
    for (size_t i = 0; i < 2; i++) {
        struct nacre_error err = { .text = "" };
        int fd;

        assert_exited(in_child(connect_as, &uids[i]), 0);
        fd = accept(listening, NULL, NULL);
        assert_int_equal(message_check_peer(fd, &err),
                         i == 0 ? NACRE_OK : NACRE_ERR_DENIED);
        (void)close(fd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_PAIR(a_message_arrives_however_it_is_cut),
        WITH_PAIR(a_message_arrives_a_byte_at_a_time),
        WITH_PAIR(a_message_as_large_as_may_be_arrives_and_a_larger_one_does_not),
        WITH_PAIR(what_is_no_message_is_refused),
        WITH_PAIR(an_end_between_messages_is_another_than_one_within),
        WITH_PAIR(silence_ends_at_the_deadline_both_ways),
        WITH_PAIR(nobody_at_the_other_end_is_an_error_and_no_signal),
        WITH_PAIR(more_than_the_receiver_wants_is_refused),
        WITH_PAIR(an_fd_comes_along),
        WITH_PAIR(fds_that_nobody_wants_are_refused_and_closed),
        cmocka_unit_test(another_user_is_told_apart),
    };

    return cmocka_run_group_tests(tests, scene_enter, scene_leave);
}
