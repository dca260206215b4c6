/* Against a real engine, at $NACRE_TEST_DOCKER: what the fake one claims is so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>

#include "dk_api.h"
#include "dk_endpoint.h"
#include "nacre/text.h"
#include "scene.h"

#define SOON dk_within_ms(20000)
#define IMAGE "nacre-test-busybox"
#define LABEL "nacre.test.dk-engine"

static struct dk_client *client;

static int setup(void **state)
{
    const char *where = getenv("NACRE_TEST_DOCKER");
    struct dk_endpoint endpoint;
    struct nacre_error err = { .text = "NACRE_TEST_DOCKER is not set" };

    if (scene_enter(state) != 0)
        return -1;
    if (!where || dk_endpoint_parse(where, "NACRE_TEST_DOCKER", NULL, &endpoint, &err) !=
                      NACRE_OK ||
        dk_client_open(&endpoint, SOON, &client, &err) != NACRE_OK)
        print_message("no engine: %s\n", err.text);
    return 0;
}

static int teardown(void **state)
{
    dk_client_free(client);
    return scene_leave(state);
}

#define NEEDS_ENGINE() \
    do {               \
        if (!client)   \
            skip();    \
    } while (0)

#define CHECK(call)                                              \
    do {                                                         \
        struct nacre_error err = { .status = NACRE_OK };         \
        if ((call) != NACRE_OK)                                  \
            fail_msg("%s: %s", #call, err.text);                 \
    } while (0)

/* A container that runs `script` with its three streams attached and no log. */
static void create(const char *name, const char *script, struct dk_created *ret_created)
{
    NACRE_AUTO(dk_json_guard) json_t *body =
        json_pack("{s:s, s:[sss], s:b, s:b, s:b, s:b, s:b, s:{s:s}, s:{s:{s:s}, s:s}}",
                  "Image", IMAGE, "Cmd", "sh", "-c", script, "OpenStdin", 1,
                  "StdinOnce", 1, "AttachStdin", 1, "AttachStdout", 1, "AttachStderr", 1,
                  "Labels", LABEL, "yes", "HostConfig", "LogConfig", "Type", "none",
                  "NetworkMode", "none");

    assert_non_null(body);
    CHECK(dk_container_create(client, name, body, SOON, ret_created, &err));
    assert_string_equal(ret_created->warnings, "");
}

static int status_at_end(const char *id)
{
    for (;;) {
        NACRE_AUTO(dk_json_guard) json_t *seen = NULL;
        const json_t *at;

        CHECK(dk_container_inspect(client, id, SOON, &seen, &err));
        at = json_object_get(seen, "State");
        if (json_is_false(json_object_get(at, "Running")))
            return (int)json_integer_value(json_object_get(at, "ExitCode"));
        (void)poll(NULL, 0, 20);
    }
}

/* Reads `count` bytes of stdout, or up to the end; how many there were. */
static size_t read_out(struct dk_stream *stream, char *bytes, size_t count)
{
    size_t got = 0;

    while (got < count) {
        struct pollfd ready = { .fd = dk_stream_fd(stream), .events = POLLIN };
        ssize_t part = dk_stream_read(stream, bytes + got, count - got);

        if (part == 0)
            break;
        if (part < 0 && errno != EAGAIN)
            fail_msg("the stream broke: %m");
        if (part < 0)
            assert_int_equal(poll(&ready, 1, 20000), 1);
        got += part > 0 ? (size_t)part : 0;
    }
    return got;
}

static void the_engine_says_who_it_is(void **state)
{
    NACRE_AUTO(dk_json_guard) json_t *info = NULL;

    (void)state;
    NEEDS_ENGINE();
    assert_string_equal(dk_client_engine(client)->os, "linux");
    assert_true(strncmp(dk_client_engine(client)->api, "1.", 2) == 0);
    CHECK(dk_info(client, SOON, &info, &err));
    assert_non_null(json_object_get(info, "Driver"));
}

static void a_container_lives_and_dies(void **state)
{
    NACRE_AUTO(dk_json_guard) json_t *list = NULL;
    NACRE_AUTO(dk_json_guard) json_t *seen = NULL;
    struct dk_stream *stream = NULL;
    struct dk_created created, twice;
    struct nacre_error error;
    NACRE_AUTO(dk_json_guard) json_t *empty = json_pack("{s:s}", "Image", IMAGE);
    char bytes[64] = "";
    const char *aside;
    size_t aside_count;

    (void)state;
    NEEDS_ENGINE();
    create("nacre-test-life", "echo said >&2; cat; exec sleep 1000", &created);
    assert_int_equal(dk_container_create(client, "nacre-test-life", empty, SOON, &twice,
                                         &error), NACRE_ERR_USAGE);
    CHECK(dk_attach(client, created.id, SOON, &stream, &err));
    CHECK(dk_container_start(client, created.id, SOON, &err));
    CHECK(dk_container_start(client, "nacre-test-life", SOON, &err));
    assert_int_equal(dk_stream_write(stream, "hello", 5), 5);
    assert_int_equal(read_out(stream, bytes, 5), 5);
    assert_string_equal(bytes, "hello");
    aside = dk_stream_stderr(stream, &aside_count);
    assert_int_equal(aside_count, 5);
    assert_memory_equal(aside, "said\n", 5);

    CHECK(dk_container_list(client, LABEL "=yes", SOON, &list, &err));
    assert_int_equal(json_array_size(list), 1);
    CHECK(dk_container_inspect(client, created.id, SOON, &seen, &err));
    assert_true(json_is_true(json_object_get(json_object_get(seen, "State"), "Running")));

    dk_stream_free(stream);
    CHECK(dk_container_kill(client, created.id, "KILL", SOON, &err));
    assert_int_equal(status_at_end(created.id), 137);
    CHECK(dk_container_kill(client, created.id, "KILL", SOON, &err));
    CHECK(dk_container_remove(client, created.id, SOON, &err));
    CHECK(dk_container_remove(client, created.id, SOON, &err));
    assert_int_equal(dk_container_start(client, created.id, SOON, &error),
                     NACRE_ERR_NOT_FOUND);
    assert_int_equal(dk_attach(client, created.id, SOON, &stream, &error),
                     NACRE_ERR_NOT_FOUND);
}

static void the_end_of_input_is_heard_inside(void **state)
{
    struct dk_stream *stream = NULL;
    struct dk_created created;
    char bytes[64] = "";

    (void)state;
    NEEDS_ENGINE();
    create("nacre-test-end", "wc -c; exit 3", &created);
    CHECK(dk_attach(client, created.id, SOON, &stream, &err));
    CHECK(dk_container_start(client, created.id, SOON, &err));
    assert_int_equal(dk_stream_write(stream, "12345", 5), 5);
    CHECK(dk_stream_end_input(stream, &err));
    assert_int_equal(read_out(stream, bytes, sizeof(bytes)), 2); /* to the end */
    assert_string_equal(bytes, "5\n");
    dk_stream_free(stream);
    assert_int_equal(status_at_end(created.id), 3);
    CHECK(dk_container_remove(client, created.id, SOON, &err));
}

/* Nobody reads, the pipe inside is full: closed first, it goes as any other. */
static void a_flooding_container_is_removed_once_its_stream_is_closed(void **state)
{
    struct dk_stream *stream = NULL;
    struct dk_created created;
    char bytes[4096];

    (void)state;
    NEEDS_ENGINE();
    create("nacre-test-flood", "exec cat /dev/zero", &created);
    CHECK(dk_attach(client, created.id, SOON, &stream, &err));
    CHECK(dk_container_start(client, created.id, SOON, &err));
    assert_int_equal(read_out(stream, bytes, sizeof(bytes)), sizeof(bytes));
    (void)poll(NULL, 0, 200);
    dk_stream_free(stream);
    CHECK(dk_container_remove(client, created.id, dk_within_ms(10000), &err));
}

static void images_are_made_tagged_and_removed(void **state)
{
    static const char *const changes[] = { "ENV MARK=a", NULL };
    NACRE_AUTO(dk_json_guard) json_t *image = NULL;
    NACRE_AUTO(nacre_fd_guard) int tar = -1;
    NACRE_AUTO(nacre_fd_guard) int build = -1;
    NACRE_AUTO(nacre_fd_guard) int broken = -1;
    char id[DK_IMAGE_ID], other[DK_IMAGE_ID];
    struct dk_created created;
    struct nacre_error error;
    json_t *none = NULL;

    (void)state;
    NEEDS_ENGINE();
    scene_shell("mkdir root && echo x >root/file && tar -C root -cf root.tar . && "
                "printf 'FROM " IMAGE "\\nENV A=b\\n' >root/Dockerfile && "
                "tar -C root -cf build.tar . && printf 'FROM nowhere-at-all\\nX\\n' "
                ">root/Dockerfile && tar -C root -cf broken.tar .");
    tar = open("root.tar", O_RDONLY | O_CLOEXEC);
    build = open("build.tar", O_RDONLY | O_CLOEXEC);
    broken = open("broken.tar", O_RDONLY | O_CLOEXEC);
    CHECK(dk_image_import(client, "nacre-test-made", "one", changes, tar, SOON, id,
                          &err));
    CHECK(dk_image_inspect(client, "nacre-test-made:one", SOON, &image, &err));
    assert_string_equal(json_string_value(json_object_get(image, "Id")), id);
    CHECK(dk_image_tag(client, id, "nacre-test-made", "two", SOON, &err));
    CHECK(dk_image_build(client, "nacre-test-made:built", build, NULL, SOON, other,
                         &err));
    assert_int_not_equal(dk_image_build(client, "nacre-test-made:broken", broken, NULL,
                                        SOON, other, &error), NACRE_OK);
    create("nacre-test-commit", "true", &created);
    CHECK(dk_commit(client, created.id, "nacre-test-made", "three", NULL, SOON, other,
                    &err));
    CHECK(dk_container_remove(client, created.id, SOON, &err));
    CHECK(dk_image_remove(client, "nacre-test-made:one", SOON, &err));
    CHECK(dk_image_remove(client, "nacre-test-made:two", SOON, &err));
    CHECK(dk_image_remove(client, "nacre-test-made:three", SOON, &err));
    CHECK(dk_image_remove(client, "nacre-test-made:built", SOON, &err));
    CHECK(dk_image_remove(client, "nacre-test-made:one", SOON, &err));
    assert_int_equal(dk_image_inspect(client, id, SOON, &none, &error),
                     NACRE_ERR_NOT_FOUND);
}

static void what_the_engine_refuses_comes_in_its_words(void **state)
{
    NACRE_AUTO(dk_json_guard) json_t *no_image = json_pack("{s:s}", "Image", "nowhere:1");
    NACRE_AUTO(dk_json_guard) json_t *bad =
        json_pack("{s:s, s:{s:i}}", "Image", IMAGE, "HostConfig", "Memory", 1);
    struct dk_created created;
    struct nacre_error err;

    (void)state;
    NEEDS_ENGINE();
    assert_int_equal(dk_container_create(client, "nacre-test-no", no_image, SOON,
                                         &created, &err), NACRE_ERR_NOT_FOUND);
    assert_non_null(strstr(err.text, "nowhere:1"));
    assert_int_equal(dk_container_create(client, "nacre-test-no", bad, SOON, &created,
                                         &err), NACRE_ERR_BACKEND);
    assert_non_null(strcasestr(err.text, "memory limit"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_engine_says_who_it_is),
        cmocka_unit_test(a_container_lives_and_dies),
        cmocka_unit_test(the_end_of_input_is_heard_inside),
        cmocka_unit_test(a_flooding_container_is_removed_once_its_stream_is_closed),
        cmocka_unit_test(images_are_made_tagged_and_removed),
        cmocka_unit_test(what_the_engine_refuses_comes_in_its_words),
    };

    return cmocka_run_group_tests_name("dk_engine", tests, setup, teardown);
}
