/*
 * Requests of a guest: hostile guests on one side, hostile doors on the other.  Best run
 * with ASan: the guest's memory is exactly as large as it says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fail_alloc.h"
#include "fake_line.h"
#include "nacre/clock.h"
#include "nacre_http_abi.h"
#include "wasi_guest.h"

struct world {
    struct guest guest;
    struct fake_line line;
    int said_fd; /* the door's end, where a test speaks for the door itself; or -1 */
    bool line_broken;
};

#define ASK 0x40
#define ANSWER 0x80
#define METHOD 0x90
#define COUNT 0xf0

static int set_up_line(void **state)
{
    static struct world world;

    guest_prepare(&world.guest);
    fake_line_start(&world.line);
    world.said_fd = -1;
    world.line_broken = false;
    world.guest.config.has_door = true;
    world.guest.config.door_fd = world.line.fd;
    guest_start(&world.guest);
    *state = &world;
    return 0;
}

static int tear_down_line(void **state)
{
    struct world *world = *state;
    struct nacre_error err;

    /* A broken line has to be told once; then the guest is finished like any other. */
    if (world->line_broken) {
        assert_int_equal(nacre_wasi_end(world->guest.wasi, &err), NACRE_ERR_IO);
        nacre_wasi_free(world->guest.wasi);
        world->guest.config.has_door = false;
        memset(&world->guest.record, 0, sizeof(world->guest.record));
        guest_start(&world->guest);
    }
    guest_finish(&world->guest);
    assert_int_equal(world->line.misuses, 0);
    fake_line_stop(&world->line);
    if (world->said_fd >= 0)
        (void)close(world->said_fd);
    return 0;
}

/* The test itself is the door. */
static int set_up_script(void **state)
{
    struct world *world;
    int ends[2];

    if (set_up_line(state) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    world = *state;
    assert_int_equal(dup2(ends[0], world->line.fd), world->line.fd);
    (void)close(ends[0]);
    world->said_fd = ends[1];
    return 0;
}

/* ---- what a guest says ---- */

static void put_ask(struct guest *guest, const char *method, const char *url,
                    const char *headers, const char *body)
{
    struct nacre_http_ask ask = { .method = METHOD, .url = GUEST_TEXT,
                                  .headers = GUEST_TEXT2, .body = GUEST_BUFFER };

    ask.method_size = guest_text(guest, METHOD, method);
    ask.url_size = guest_text(guest, GUEST_TEXT, url);
    ask.headers_size = guest_text(guest, GUEST_TEXT2, headers);
    ask.body_size = guest_text(guest, GUEST_BUFFER, body);
    memcpy(guest->memory.base + ASK, &ask, sizeof(ask));
}

static int request(struct guest *guest, const char *url)
{
    put_ask(guest, "GET", url, "", "");
    return CALL(guest, "http_request", ASK, ANSWER);
}

static struct nacre_http_answer answer_of(const struct guest *guest)
{
    struct nacre_http_answer answer;

    memcpy(&answer, guest->memory.base + ANSWER, sizeof(answer));
    return answer;
}

static int read_some(struct guest *guest, uint32_t handle, uint32_t size)
{
    return CALL(guest, "http_read", handle, GUEST_BUFFER, size, COUNT);
}

static const char *sentence(struct guest *guest)
{
    static char text[NACRE_HTTP_ERROR_MAX + 1];
    uint32_t count;

    assert_int_equal(CALL(guest, "http_error", GUEST_BUFFER, 1024, COUNT),
                     NACRE_HTTP_OK);
    count = guest_u32(guest, COUNT);
    assert_true(count <= NACRE_HTTP_ERROR_MAX);
    memcpy(text, guest->memory.base + GUEST_BUFFER, count);
    text[count] = '\0';
    return text;
}

static void assert_says(struct guest *guest, const char *part)
{
    const char *text = sentence(guest);

    if (!strstr(text, part))
        fail_msg("'%s' is not in '%s'", part, text);
}

/* ---- with an honest door ---- */

static void a_request_brings_status_headers_and_body(void **state)
{
    struct world *world = *state;
    struct guest *guest = &world->guest;
    static const char headers[] = "Content-Type: text/plain\nX-Method: PATCH\n";
    struct nacre_http_answer answer;

    put_ask(guest, "PATCH", "https://a.example/ok", "", "");
    assert_int_equal(CALL(guest, "http_request", ASK, ANSWER), NACRE_HTTP_OK);
    answer = answer_of(guest);
    assert_int_equal(answer.status, 200);
    assert_int_equal(answer.handle, 1);
    assert_int_equal(answer.headers_size, sizeof(headers) - 1);
    assert_int_equal(CALL(guest, "http_headers", 1, GUEST_BUFFER, 4096, COUNT),
                     NACRE_HTTP_OK);
    assert_int_equal(guest_u32(guest, COUNT), sizeof(headers) - 1);
    assert_memory_equal(guest->memory.base + GUEST_BUFFER, headers, sizeof(headers) - 1);
    assert_int_equal(read_some(guest, 1, 3), NACRE_HTTP_OK);
    assert_int_equal(guest_u32(guest, COUNT), 3);
    assert_int_equal(read_some(guest, 1, 4096), NACRE_HTTP_OK);
    assert_int_equal(guest_u32(guest, COUNT), 2);
    assert_memory_equal(guest->memory.base + GUEST_BUFFER, "lo", 2);
    assert_int_equal(read_some(guest, 1, 4096), NACRE_HTTP_OK);
    assert_int_equal(guest_u32(guest, COUNT), 0);
    assert_int_equal(CALL(guest, "http_close", 1), NACRE_HTTP_OK);
    assert_int_equal(read_some(guest, 1, 4096), NACRE_HTTP_BAD_HANDLE);
    assert_string_equal(world->line.url, "https://a.example/ok");
}

static void headers_and_body_of_the_request_arrive_as_they_are(void **state)
{
    struct world *world = *state;
    struct guest *guest = &world->guest;

    put_ask(guest, "POST", "https://a.example/echo", "X-A: 1\nX-B: 2\n", "some body");
    assert_int_equal(CALL(guest, "http_request", ASK, ANSWER), NACRE_HTTP_OK);
    /* Cut to what fits, and told how long it is. */
    memset(guest->memory.base + GUEST_BUFFER, '.', 16);
    assert_int_equal(CALL(guest, "http_headers", 1, GUEST_BUFFER, 3, COUNT),
                     NACRE_HTTP_OK);
    assert_int_equal(guest_u32(guest, COUNT), 14);
    assert_memory_equal(guest->memory.base + GUEST_BUFFER, "X-A.", 4);
    assert_int_equal(read_some(guest, 1, 4096), NACRE_HTTP_OK);
    assert_int_equal(guest_u32(guest, COUNT), 9);
    assert_memory_equal(guest->memory.base + GUEST_BUFFER, "some body", 9);
}

static void a_long_body_comes_in_pieces_that_fit(void **state)
{
    struct world *world = *state;
    struct guest *guest = &world->guest;
    uint64_t total = 0;
    uint32_t count;

    assert_int_equal(request(guest, "https://a.example/big"), NACRE_HTTP_OK);
    do {
        assert_int_equal(read_some(guest, 1, 40000), NACRE_HTTP_OK);
        count = guest_u32(guest, COUNT);
        assert_true(count <= 40000);
        total += count;
    } while (count > 0);
    assert_int_equal(total, 600000);
}

static void the_doors_words_reach_the_guest(void **state)
{
    struct world *world = *state;
    struct guest *guest = &world->guest;

    assert_int_equal(CALL(guest, "http_error", GUEST_BUFFER, 1024, COUNT),
                     NACRE_HTTP_OK);
    assert_int_equal(guest_u32(guest, COUNT), 0);
    assert_int_equal(request(guest, "https://evil.example/denied"), NACRE_HTTP_DENIED);
    assert_string_equal(sentence(guest),
                        "evil.example is not on the policy's allowed_hosts");
    assert_int_equal(request(guest, "https://a.example/nowhere"), NACRE_HTTP_NOT_FOUND);
    assert_int_equal(request(guest, "https://a.example/cut"), NACRE_HTTP_OK);
    assert_int_equal(read_some(guest, 1, 2), NACRE_HTTP_OK);
    assert_int_equal(read_some(guest, 1, 2), NACRE_HTTP_PROTOCOL);
    assert_says(guest, "hung up");
    /* A failed body leaves the line as it was. */
    assert_int_equal(CALL(guest, "http_close", 1), NACRE_HTTP_OK);
    assert_int_equal(request(guest, "https://a.example/ok"), NACRE_HTTP_OK);
}

static void handles_are_few_and_used_again(void **state)
{
    struct world *world = *state;
    struct guest *guest = &world->guest;

    for (uint32_t i = 1; i <= NACRE_DOOR_HANDLES; i++) {
        assert_int_equal(request(guest, "https://a.example/ok"), NACRE_HTTP_OK);
        assert_int_equal(answer_of(guest).handle, i);
    }
    assert_int_equal(request(guest, "https://a.example/ok"), NACRE_HTTP_TOO_MANY);
    assert_int_equal(world->line.asked, NACRE_DOOR_HANDLES);
    assert_int_equal(CALL(guest, "http_close", 3), NACRE_HTTP_OK);
    assert_int_equal(CALL(guest, "http_close", 3), NACRE_HTTP_BAD_HANDLE);
    assert_int_equal(request(guest, "https://a.example/ok"), NACRE_HTTP_OK);
    assert_int_equal(answer_of(guest).handle, 3);
}

static void nothing_of_a_run_outlives_it(void **state)
{
    struct world *world = *state;
    struct guest *guest = &world->guest;

    assert_int_equal(request(guest, "https://a.example/denied"), NACRE_HTTP_DENIED);
    assert_int_equal(request(guest, "https://a.example/ok"), NACRE_HTTP_OK);
    guest_restart(guest);
    assert_int_equal(CALL(guest, "http_error", GUEST_BUFFER, 1024, COUNT),
                     NACRE_HTTP_OK);
    assert_int_equal(guest_u32(guest, COUNT), 0);
    assert_int_equal(read_some(guest, 1, 16), NACRE_HTTP_BAD_HANDLE);
    assert_int_equal(CALL(guest, "http_headers", 1, GUEST_BUFFER, 16, COUNT),
                     NACRE_HTTP_BAD_HANDLE);
}

/* ---- hostile guests ---- */

static void pointers_out_of_memory_send_nothing(void **state)
{
    static const struct nacre_http_ask asks[] = {
        { GUEST_MEMORY - 2, 3, GUEST_TEXT, 8, 0, 0, 0, 0 },
        { METHOD, 3, GUEST_MEMORY, 1, 0, 0, 0, 0 },
        { METHOD, 3, UINT32_MAX, 8, 0, 0, 0, 0 },
        { METHOD, 3, 8, UINT32_MAX - 7, 0, 0, 0, 0 }, /* the sum wraps */
        { METHOD, 3, GUEST_TEXT, 8, GUEST_MEMORY - 1, 2, 0, 0 },
        { METHOD, 3, GUEST_TEXT, 8, 0, UINT32_MAX, 0, 0 },
        { METHOD, 3, GUEST_TEXT, 8, 0, 0, GUEST_MEMORY - 1, 2 },
        { METHOD, 3, GUEST_TEXT, 8, 0, 0, 1, UINT32_MAX },
    };
    struct world *world = *state;
    struct guest *guest = &world->guest;

    put_ask(guest, "GET", "https://a.example/ok", "", "");
    for (size_t i = 0; i < NACRE_COUNT(asks); i++) {
        memcpy(guest->memory.base + ASK, &asks[i], sizeof(asks[i]));
        assert_int_equal(CALL(guest, "http_request", ASK, ANSWER),
                         NACRE_HTTP_BAD_REQUEST);
        assert_says(guest, "memory");
    }
    put_ask(guest, "GET", "https://a.example/ok", "", "");
    assert_int_equal(CALL(guest, "http_request", GUEST_MEMORY - 31, ANSWER),
                     NACRE_HTTP_BAD_REQUEST);
    assert_int_equal(CALL(guest, "http_request", UINT32_MAX, ANSWER),
                     NACRE_HTTP_BAD_REQUEST);
    assert_int_equal(CALL(guest, "http_request", ASK, GUEST_MEMORY - 11),
                     NACRE_HTTP_BAD_REQUEST);
    assert_int_equal(CALL(guest, "http_request", ASK, UINT32_MAX),
                     NACRE_HTTP_BAD_REQUEST);
    assert_int_equal(world->line.asked, 0);
    /* The same, once it is in order. */
    assert_int_equal(CALL(guest, "http_request", ASK, ANSWER), NACRE_HTTP_OK);
}

static void results_go_only_where_there_is_memory(void **state)
{
    static const struct {
        const char *name;
        int64_t numbers[4];
    } rows[] = {
        { "http_headers", { 1, GUEST_MEMORY - 1, 2, COUNT } },
        { "http_headers", { 1, 1, UINT32_MAX, COUNT } },
        { "http_headers", { 1, GUEST_BUFFER, 64, GUEST_MEMORY - 3 } },
        { "http_headers", { 1, GUEST_BUFFER, 64, UINT32_MAX } },
        { "http_read", { 1, GUEST_MEMORY - 1, 2, COUNT } },
        { "http_read", { 1, 1, UINT32_MAX, COUNT } },
        { "http_read", { 1, GUEST_BUFFER, 64, GUEST_MEMORY - 3 } },
        { "http_read", { 1, GUEST_BUFFER, 0, COUNT } },
        { "http_error", { GUEST_MEMORY - 1, 2, COUNT } },
        { "http_error", { 1, UINT32_MAX, COUNT } },
        { "http_error", { GUEST_BUFFER, 64, GUEST_MEMORY - 3 } },
    };
    struct world *world = *state;
    struct guest *guest = &world->guest;

    assert_int_equal(request(guest, "https://a.example/ok"), NACRE_HTTP_OK);
    for (size_t i = 0; i < NACRE_COUNT(rows); i++)
        assert_int_equal(guest_call(guest, rows[i].name, rows[i].numbers),
                         NACRE_HTTP_BAD_REQUEST);
    assert_int_equal(world->line.read, 0);
    assert_int_equal(read_some(guest, 1, 64), NACRE_HTTP_OK);
    assert_int_equal(guest_u32(guest, COUNT), 5);
}

static void handles_that_are_none_are_refused(void **state)
{
    static const int64_t handles[] = { 0, 2, 8, 9, 0xd00d0000, INT32_MAX, UINT32_MAX };
    struct world *world = *state;
    struct guest *guest = &world->guest;

    assert_int_equal(request(guest, "https://a.example/ok"), NACRE_HTTP_OK);
    for (size_t i = 0; i < NACRE_COUNT(handles); i++) {
        uint32_t handle = (uint32_t)handles[i];

        assert_int_equal(read_some(guest, handle, 16), NACRE_HTTP_BAD_HANDLE);
        assert_int_equal(CALL(guest, "http_close", handle), NACRE_HTTP_BAD_HANDLE);
        assert_int_equal(CALL(guest, "http_headers", handle, GUEST_BUFFER, 16, COUNT),
                         NACRE_HTTP_BAD_HANDLE);
    }
    assert_int_equal(read_some(guest, 1, 16), NACRE_HTTP_OK);
}

static void what_is_too_large_is_not_sent(void **state)
{
    struct world *world = *state;
    struct guest *guest = &world->guest;
    size_t size = (size_t)20 << 20;
    static const struct {
        struct nacre_http_ask ask;
        int code;
    } rows[] = {
        { { 0, 0, 0, 8, 0, 0, 0, 0 }, NACRE_HTTP_BAD_REQUEST },
        { { 0, 17, 0, 8, 0, 0, 0, 0 }, NACRE_HTTP_BAD_REQUEST },
        { { 0, 3, 0, 0, 0, 0, 0, 0 }, NACRE_HTTP_BAD_URL },
        { { 0, 3, 0, 8193, 0, 0, 0, 0 }, NACRE_HTTP_BAD_URL },
        { { 0, 3, 0, 8, 0, 65537, 0, 0 }, NACRE_HTTP_TOO_LARGE },
        { { 0, 3, 0, 8, 0, 0, 0, (16 << 20) + 1 }, NACRE_HTTP_TOO_LARGE },
    };

    free(guest->memory.base);
    guest->memory = (struct nacre_wasi_memory){ calloc(1, size), size };
    assert_non_null(guest->memory.base);
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        memcpy(guest->memory.base + ASK, &rows[i].ask, sizeof(rows[i].ask));
        assert_int_equal(CALL(guest, "http_request", ASK, ANSWER), rows[i].code);
    }
    assert_int_equal(world->line.asked, 0);
    /* The largest that is: more than any socket holds at once. */
    put_ask(guest, "POST", "https://a.example/echo", "", "");
    {
        struct nacre_http_ask ask;

        memcpy(&ask, guest->memory.base + ASK, sizeof(ask));
        ask.body_size = 16 << 20;
        memcpy(guest->memory.base + ASK, &ask, sizeof(ask));
    }
    assert_int_equal(CALL(guest, "http_request", ASK, ANSWER), NACRE_HTTP_OK);
}

/* ---- no door ---- */

static void without_a_door_a_request_is_denied_in_words(void **state)
{
    struct guest guest;

    (void)state;
    guest_prepare(&guest);
    guest_start(&guest);
    assert_int_equal(request(&guest, "https://user:pw@api.example:8443/path?key=1"),
                     NACRE_HTTP_DENIED);
    assert_says(&guest, "no network");
    assert_says(&guest, "allowed_hosts");
    assert_int_equal(guest_denials(&guest, "no-network"), 1);
    assert_string_equal(guest.record.denials[0].path, "api.example:8443");
    assert_int_equal(request(&guest, "nonsense@"), NACRE_HTTP_DENIED);
    assert_string_equal(guest.record.denials[1].path, "");
    assert_int_equal(read_some(&guest, 1, 16), NACRE_HTTP_BAD_HANDLE);
    assert_int_equal(CALL(&guest, "http_close", 1), NACRE_HTTP_BAD_HANDLE);
    assert_int_equal(guest.record.ending, NACRE_WASI_RUNNING);
    guest_finish(&guest);
}

/* ---- a door that is gone, slow or hostile ---- */

static void a_door_that_hangs_up_is_told_and_stays_told(void **state)
{
    struct world *world = *state;
    struct guest *guest = &world->guest;

    assert_int_equal(request(guest, "https://a.example/ok"), NACRE_HTTP_OK);
    assert_int_equal(request(guest, "https://a.example/gone"), NACRE_HTTP_INTERNAL);
    assert_says(guest, "has ended");
    assert_int_equal(request(guest, "https://a.example/ok"), NACRE_HTTP_INTERNAL);
    assert_int_equal(read_some(guest, 1, 16), NACRE_HTTP_INTERNAL);
    assert_int_equal(CALL(guest, "http_close", 1), NACRE_HTTP_OK);
    world->line_broken = true;
}

/* R08: the wait ends at the deadline, and the run with it. */
static void a_door_that_is_silent_ends_the_run_at_its_deadline(void **state)
{
    struct world *world = *state;
    struct guest *guest = &world->guest;
    uint64_t begun = nacre_clock_ns(), took;

    guest->call.deadline_ns = begun + 60 * NACRE_NS_PER_MS;
    guest_restart(guest);
    assert_int_equal(request(guest, "https://a.example/silent"), NACRE_WASI_UNWIND);
    took = nacre_clock_ns() - begun;
    assert_int_equal(guest->record.ending, NACRE_WASI_TIMED_OUT);
    assert_true(took >= 60 * NACRE_NS_PER_MS && took < 2000 * NACRE_NS_PER_MS);
    world->line_broken = true;
}

/* A door that does not even take the request. */
static void a_request_that_is_not_taken_ends_at_the_deadline(void **state)
{
    struct world *world = *state;
    struct guest *guest = &world->guest;
    size_t size = (size_t)18 << 20;
    struct nacre_http_ask ask;

    free(guest->memory.base);
    guest->memory = (struct nacre_wasi_memory){ calloc(1, size), size };
    assert_non_null(guest->memory.base);
    guest->call.deadline_ns = nacre_clock_ns() + 60 * NACRE_NS_PER_MS;
    guest_restart(guest);
    put_ask(guest, "POST", "https://a.example/ok", "", "");
    memcpy(&ask, guest->memory.base + ASK, sizeof(ask));
    ask.body_size = 16 << 20;
    memcpy(guest->memory.base + ASK, &ask, sizeof(ask));
    assert_int_equal(CALL(guest, "http_request", ASK, ANSWER), NACRE_WASI_UNWIND);
    assert_int_equal(guest->record.ending, NACRE_WASI_TIMED_OUT);
    world->line_broken = true;
}

static void say(const struct world *world, struct nacre_door_message message,
                const void *bytes, size_t count)
{
    assert_int_equal(write(world->said_fd, &message, sizeof(message)), sizeof(message));
    assert_int_equal(write(world->said_fd, bytes, count), count);
}

static void a_sentence_is_cut_and_made_fit(void **state)
{
    struct world *world = *state;
    struct guest *guest = &world->guest;
    static char text[5000];

    memset(text, 's', sizeof(text));
    text[3] = '\x1b';
    say(world,
        (struct nacre_door_message){ NACRE_DOOR_ANSWER, NACRE_HTTP_TLS, 0, 0,
                                     sizeof(text) },
        text, sizeof(text));
    assert_int_equal(request(guest, "https://a.example/"), NACRE_HTTP_TLS);
    assert_null(strchr(sentence(guest), '\x1b'));
    /* All of it was taken: the next answer is understood. */
    say(world, (struct nacre_door_message){ NACRE_DOOR_ANSWER, NACRE_HTTP_OK, 7, 204, 0 },
        "", 0);
    assert_int_equal(request(guest, "https://a.example/"), NACRE_HTTP_OK);
    assert_int_equal(answer_of(guest).status, 204);
    assert_int_equal(answer_of(guest).handle, 1);
    assert_int_equal(answer_of(guest).headers_size, 0);
}

static const struct nacre_door_message nonsense[] = {
    { NACRE_DOOR_DATA, NACRE_HTTP_OK, 1, 200, 0 },
    { NACRE_DOOR_ASK, NACRE_HTTP_OK, 1, 200, 0 },
    { 0, NACRE_HTTP_OK, 1, 200, 0 },
    { UINT32_MAX, NACRE_HTTP_OK, 1, 200, 0 },
    { NACRE_DOOR_ANSWER, NACRE_HTTP_INTERNAL + 1, 1, 200, 0 },
    { NACRE_DOOR_ANSWER, UINT32_MAX, 1, 200, 0 },
    { NACRE_DOOR_ANSWER, NACRE_HTTP_OK, 1, 200, NACRE_DOOR_HEADERS_MAX + 1 },
    { NACRE_DOOR_ANSWER, NACRE_HTTP_OK, 1, 200, UINT32_MAX },
    { NACRE_DOOR_ANSWER, NACRE_HTTP_DENIED, 1, 200, UINT32_MAX },
};

static void an_answer_that_makes_no_sense_ends_the_talk(void **state)
{
    struct world *world = *state;
    struct guest *guest = &world->guest;
    struct nacre_error err;

    for (size_t i = 0; i < NACRE_COUNT(nonsense); i++) {
        char sent[4096];

        say(world, nonsense[i], "", 0);
        assert_int_equal(request(guest, "https://a.example/"), NACRE_HTTP_INTERNAL);
        assert_says(guest, "nonsense");
        /* What might lie behind it is not taken for an answer. */
        say(world,
            (struct nacre_door_message){ NACRE_DOOR_ANSWER, NACRE_HTTP_OK, 1, 200, 0 },
            "", 0);
        assert_int_equal(request(guest, "https://a.example/"), NACRE_HTTP_INTERNAL);
        assert_int_equal(nacre_wasi_end(guest->wasi, &err), NACRE_ERR_IO);
        nacre_wasi_free(guest->wasi);
        /* The next one gets a line of its own. */
        while (recv(world->line.fd, sent, sizeof(sent), MSG_DONTWAIT) > 0)
            ;
        while (recv(world->said_fd, sent, sizeof(sent), MSG_DONTWAIT) > 0)
            ;
        guest_start(guest);
    }
}

static void more_than_was_asked_for_is_not_taken(void **state)
{
    struct world *world = *state;
    struct guest *guest = &world->guest;
    static char bytes[64];

    say(world, (struct nacre_door_message){ NACRE_DOOR_ANSWER, NACRE_HTTP_OK, 7, 200, 0 },
        "", 0);
    assert_int_equal(request(guest, "https://a.example/"), NACRE_HTTP_OK);
    say(world, (struct nacre_door_message){ NACRE_DOOR_DATA, NACRE_HTTP_OK, 0, 0, 17 },
        bytes, 17);
    assert_int_equal(read_some(guest, 1, 16), NACRE_HTTP_INTERNAL);
    assert_int_equal(guest->memory.base[GUEST_BUFFER + 16], 0xAA);
    world->line_broken = true;
}

/* The body's read goes by the door's handle, whatever number that is. */
static void the_doors_handle_is_given_back_to_it(void **state)
{
    struct world *world = *state;
    struct guest *guest = &world->guest;
    struct nacre_door_message asked;
    char sent[4096];

    say(world,
        (struct nacre_door_message){ NACRE_DOOR_ANSWER, NACRE_HTTP_OK, UINT32_MAX, 200,
                                     0 },
        "", 0);
    assert_int_equal(request(guest, "https://a.example/"), NACRE_HTTP_OK);
    assert_true(recv(world->said_fd, sent, sizeof(sent), MSG_DONTWAIT) > 0);
    say(world, (struct nacre_door_message){ NACRE_DOOR_DATA, NACRE_HTTP_OK, 0, 0, 1 }, "x",
        1);
    assert_int_equal(read_some(guest, 1, UINT32_C(16)), NACRE_HTTP_OK);
    assert_int_equal(read(world->said_fd, &asked, sizeof(asked)), sizeof(asked));
    assert_int_equal(asked.handle, UINT32_MAX);
    assert_int_equal(asked.number, 16);
    assert_int_equal(asked.size, 0);
}

static void an_answer_in_single_bytes_is_put_together(void **state)
{
    struct world *world = *state;
    struct guest *guest = &world->guest;
    struct nacre_door_message message = { NACRE_DOOR_ANSWER, NACRE_HTTP_OK, 1, 200, 4 };
    char bytes[sizeof(message) + 4];
    pid_t child;

    memcpy(bytes, &message, sizeof(message));
    memcpy(bytes + sizeof(message), "A: b", 4);
    child = fork();
    if (child == 0) {
        for (size_t i = 0; i < sizeof(bytes); i++) {
            (void)usleep(1000);
            if (write(world->said_fd, bytes + i, 1) != 1)
                _exit(1);
        }
        _exit(0);
    }
    assert_int_equal(request(guest, "https://a.example/"), NACRE_HTTP_OK);
    assert_int_equal(answer_of(guest).headers_size, 4);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void no_memory_for_headers_is_an_error_of_the_call(void **state)
{
    struct world *world = *state;
    struct guest *guest = &world->guest;
    int code;

    put_ask(guest, "GET", "https://a.example/ok", "", "");
    say(world,
        (struct nacre_door_message){ NACRE_DOOR_ANSWER, NACRE_HTTP_OK, 1, 200, 4 }, "A: b",
        4);
    fail_alloc_after(0);
    code = CALL(guest, "http_request", ASK, ANSWER);
    fail_alloc_after(-1);
    assert_int_equal(code, NACRE_HTTP_INTERNAL);
    assert_says(guest, "memory");
    world->line_broken = true;
}

#define LINE(name) cmocka_unit_test_setup_teardown(name, set_up_line, tear_down_line)
#define SCRIPT(name) cmocka_unit_test_setup_teardown(name, set_up_script, tear_down_line)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LINE(a_request_brings_status_headers_and_body),
        LINE(headers_and_body_of_the_request_arrive_as_they_are),
        LINE(a_long_body_comes_in_pieces_that_fit),
        LINE(the_doors_words_reach_the_guest),
        LINE(handles_are_few_and_used_again),
        LINE(nothing_of_a_run_outlives_it),
        LINE(pointers_out_of_memory_send_nothing),
        LINE(results_go_only_where_there_is_memory),
        LINE(handles_that_are_none_are_refused),
        LINE(what_is_too_large_is_not_sent),
        cmocka_unit_test(without_a_door_a_request_is_denied_in_words),
        LINE(a_door_that_hangs_up_is_told_and_stays_told),
        LINE(a_door_that_is_silent_ends_the_run_at_its_deadline),
        SCRIPT(a_request_that_is_not_taken_ends_at_the_deadline),
        SCRIPT(a_sentence_is_cut_and_made_fit),
        SCRIPT(an_answer_that_makes_no_sense_ends_the_talk),
        SCRIPT(more_than_was_asked_for_is_not_taken),
        SCRIPT(the_doors_handle_is_given_back_to_it),
        SCRIPT(an_answer_in_single_bytes_is_put_together),
        SCRIPT(no_memory_for_headers_is_an_error_of_the_call),
    };

    return cmocka_run_group_tests_name("wasi_http", tests, NULL, NULL);
}
