/* The sandbox's name server: what it answers to which query. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "names.h"
#include "nacre/own.h"

enum { A = 1, PTR = 12, TXT = 16, AAAA = 28, HTTPS = 65, ANY = 255 };

static uint8_t query[600], answer[NAMES_ANSWER_MAX];

/* A query for one name, dotted; its size. */
static size_t ask(const char *name, unsigned type)
{
    size_t used = 12;

    memset(query, 0, sizeof(query));
    query[0] = 0xab;
    query[1] = 0xcd;
    query[2] = 1; /* recursion desired */
    query[5] = 1;
    while (*name) {
        size_t length = strcspn(name, ".");

        query[used++] = (uint8_t)length;
        memcpy(query + used, name, length);
        used += length;
        name += length + (name[length] == '.');
    }
    query[used++] = 0;
    query[used++] = (uint8_t)(type >> 8);
    query[used++] = (uint8_t)type;
    query[used++] = 0;
    query[used++] = 1;
    return used;
}

struct row {
    const char *name;
    unsigned type, code, answers;
};

static void check(const char *const *names, const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t size = ask(rows[i].name, rows[i].type);
        size_t used = names_answer(names, query, size, answer);

        if (used != size + 16 * rows[i].answers || (answer[3] & 15) != rows[i].code ||
            answer[7] != rows[i].answers)
            fail_msg("%s %u: %zu bytes, code %u, %u answers", rows[i].name, rows[i].type,
                     used, answer[3] & 15, answer[7]);
        assert_memory_equal(answer, query, 2);
        assert_int_equal(answer[2], 0x81);
        assert_memory_equal(answer + 12, query + 12, size - 12);
        if (rows[i].answers)
            assert_memory_equal(answer + used - 6, "\0\4\x7f\0\1\1", 6);
    }
}

static void allowed_names_are_the_doorway_and_others_are_not_there(void **state)
{
    static const char *const names[] = { "a.test", "*.b.test", NULL };
    static const struct row rows[] = {
        { "a.test", A, 0, 1 },      { "A.TesT", A, 0, 1 },
        { "a.test", ANY, 0, 1 },    { "a.test", AAAA, 0, 0 },
        { "a.test", HTTPS, 0, 0 },  { "a.test", TXT, 0, 0 },
        { "x.b.test", A, 0, 1 },    { "x.y.z.b.test", A, 0, 1 },
        { "b.test", A, 3, 0 },      { "xb.test", A, 3, 0 },
        { "x.a.test", A, 3, 0 },    { "a.test.evil", A, 3, 0 },
        { "test", A, 3, 0 },        { "", A, 3, 0 },
        { "localhost", A, 3, 0 },   { "1.0.0.127.in-addr.arpa", PTR, 3, 0 },
        { "secret.exfil.test", TXT, 3, 0 }, { "a.test\x01", A, 3, 0 },
        { "a b.b.test", A, 3, 0 },  { "\xc3\xa4.b.test", A, 3, 0 },
    };

    (void)state;
    check(names, rows, NACRE_COUNT(rows));
}

static void where_all_is_allowed_every_name_is_the_doorway(void **state)
{
    static const char *const names[] = { "*", NULL };
    static const struct row rows[] = {
        { "a.test", A, 0, 1 }, { "anything", A, 0, 1 }, { "a.test", AAAA, 0, 0 },
        { "", A, 3, 0 },       { "a b", A, 3, 0 },
    };

    (void)state;
    check(names, rows, NACRE_COUNT(rows));
}

static void the_longest_name_fits(void **state)
{
    static const char *const names[] = { "*", NULL };
    char name[260];
    size_t size, used;

    (void)state;
    memset(name, 'x', sizeof(name));
    name[63] = name[127] = name[191] = '.';
    name[253] = '\0';
    size = ask(name, A);
    assert_int_equal(size, 12 + 255 + 4);
    used = names_answer(names, query, size, answer);
    assert_int_equal(used, size + 16);
    name[253] = 'x';
    name[254] = '\0';
    size = ask(name, A);
    assert_int_equal(names_answer(names, query, size, answer), 12);
    assert_int_equal(answer[3] & 15, 1);
}

static void what_is_no_query_gets_an_error_or_nothing(void **state)
{
    static const char *const names[] = { "*", NULL };
    size_t size = ask("a.test", A);

    (void)state;
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *part = malloc(cut + 1);
        size_t used;

        memcpy(part, query, cut);
        used = names_answer(names, part, cut, answer);
        assert_int_equal(used, cut < 12 ? 0 : 12);
        assert_true(cut < 12 || (answer[3] & 15) == 1);
        free(part);
    }
    query[2] = 0x81; /* an answer */
    assert_int_equal(names_answer(names, query, size, answer), 0);
    query[2] = 0x28; /* an update */
    assert_int_equal(names_answer(names, query, size, answer), 12);
    assert_int_equal(answer[3] & 15, 4);
    (void)ask("a.test", A);
    query[5] = 2; /* two questions */
    assert_int_equal(names_answer(names, query, size, answer), 12);
    assert_int_equal(answer[3] & 15, 1);
    (void)ask("a.test", A);
    query[12] = 0xc0; /* a pointer, to itself */
    assert_int_equal(names_answer(names, query, size, answer), 12);
    assert_int_equal(answer[3] & 15, 1);
    (void)ask("a.test", A);
    query[size - 1] = 3; /* the class of chaos */
    assert_int_equal(names_answer(names, query, size, answer), size);
    assert_int_equal(answer[3] & 15, 5);
}

static void it_answers_whoever_asked(void **state)
{
    static const char *const names[] = { "a.test", NULL };
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t length = sizeof(address);
    NACRE_AUTO(nacre_fd_guard) int server = socket(AF_INET, SOCK_DGRAM, 0);
    NACRE_AUTO(nacre_fd_guard) int client = socket(AF_INET, SOCK_DGRAM, 0);
    size_t size = ask("a.test", A);

    (void)state;
    assert_int_equal(bind(server, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(getsockname(server, (struct sockaddr *)&address, &length), 0);
    assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(send(client, "x", 1, 0), 1);
    assert_int_equal(send(client, query, size, 0), (ssize_t)size);
    names_serve(server, names);
    assert_int_equal(recv(client, answer, sizeof(answer), MSG_DONTWAIT),
                     (ssize_t)size + 16);
    assert_int_equal(recv(client, answer, sizeof(answer), MSG_DONTWAIT), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allowed_names_are_the_doorway_and_others_are_not_there),
        cmocka_unit_test(where_all_is_allowed_every_name_is_the_doorway),
        cmocka_unit_test(the_longest_name_fits),
        cmocka_unit_test(what_is_no_query_gets_an_error_or_nothing),
        cmocka_unit_test(it_answers_whoever_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
