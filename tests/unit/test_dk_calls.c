/* What is asked of an engine, word by word, and what is not believed of its answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/mman.h>

#include "engine_scene.h"

#define OTHER_ID "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"

/* ---- containers ---- */

static void create_gives_the_id_and_the_warnings(void **state)
{
    static const struct {
        const char *body, *warnings;
    } rows[] = {
        { "{\"Id\":\"" FAKE_ID "\",\"Warnings\":[]}", "" },
        { "{\"Id\":\"" FAKE_ID "\",\"Warnings\":null}", "" },
        { "{\"Id\":\"" FAKE_ID "\"}", "" },
        { "{\"Id\":\"" FAKE_ID "\",\"Warnings\":[\"no\\nswap\",\"b\"]}",
          "no\\x0aswap; b" },
        { "{\"Id\":\"" FAKE_ID "\",\"Warnings\":[{}]}", "a warning that is no text" },
        { "{\"Id\":\"" FAKE_ID "\",\"Warnings\":\"x\"}", "Warnings is no list" },
    };
    NACRE_AUTO(dk_json_guard) json_t *body = json_pack("{s:s}", "Image", "busybox");

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        const struct fake_rule rules[] = {
            FAKE_VERSION, { .method = "POST", .path = "/containers/create", .status = 201,
                            .body = rows[i].body }, FAKE_END,
        };
        NACRE_AUTO(dk_client_guard) struct dk_client *client = opened(rules);
        struct dk_created created;
        struct nacre_error err;

        assert_int_equal(dk_container_create(client, "box", body, SOON, &created, &err),
                         NACRE_OK);
        assert_string_equal(created.id, FAKE_ID);
        assert_string_equal(created.warnings, rows[i].warnings);
        assert_string_equal(last_line(), "POST /v1.41/containers/create?name=box");
        assert_string_equal(fake_engine_body(engine, fake_engine_asked(engine) - 1),
                            "{\"Image\":\"busybox\"}");
    }
}

static void many_warnings_are_cut(void **state)
{
    char body[8192] = "{\"Id\":\"" FAKE_ID "\",\"Warnings\":[\"first\"";
    const struct fake_rule rules[] = {
        FAKE_VERSION, { .path = "/containers/create", .body = body }, FAKE_END,
    };
    NACRE_AUTO(dk_json_guard) json_t *nothing = json_object();
    NACRE_AUTO(dk_client_guard) struct dk_client *client = NULL;
    struct dk_created created;
    struct nacre_error err;
    size_t used = strlen(body);

    (void)state;
    while (used < 8000)
        used += (size_t)snprintf(body + used, sizeof(body) - used, ",\"and another\"");
    (void)snprintf(body + used, sizeof(body) - used, "]}");
    client = opened(rules);
    assert_int_equal(dk_container_create(client, "box", nothing, SOON, &created, &err),
                     NACRE_OK);
    assert_true(strncmp(created.warnings, "first; and another; ", 20) == 0);
    assert_in_range(strlen(created.warnings), 400, sizeof(created.warnings) - 1);
}

static void create_refuses_a_bad_answer_and_a_taken_name(void **state)
{
    static const struct {
        int http_status;
        const char *body;
        enum nacre_status status;
    } rows[] = {
        { 201, "{\"Id\":\"short\"}", NACRE_ERR_PARSE },
        { 201, "{\"Id\":\"" FAKE_ID "/../x\"}", NACRE_ERR_PARSE },
        { 201, "{\"Id\":7}", NACRE_ERR_PARSE },
        { 201, "{}", NACRE_ERR_PARSE },
        { 404, "{\"message\":\"No such image: busybox\"}", NACRE_ERR_NOT_FOUND },
        { 409, "{\"message\":\"name in use\"}", NACRE_ERR_USAGE },
        { 400, "{\"message\":\"invalid\"}", NACRE_ERR_BACKEND },
        { 500, "{\"message\":\"broken\"}", NACRE_ERR_BACKEND },
    };
    NACRE_AUTO(dk_json_guard) json_t *body = json_object();

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        const struct fake_rule rules[] = {
            FAKE_VERSION, { .path = "/containers/create", .status = rows[i].http_status,
                            .body = rows[i].body }, FAKE_END,
        };
        NACRE_AUTO(dk_client_guard) struct dk_client *client = opened(rules);
        struct dk_created created = { .id = "unchanged" };
        struct nacre_error err;

        assert_int_equal(dk_container_create(client, "box", body, SOON, &created, &err),
                         rows[i].status);
        assert_string_equal(created.id, "unchanged");
    }
}

static void a_name_that_would_change_the_call_is_never_sent(void **state)
{
    static const struct fake_rule rules[] = { FAKE_VERSION, { .path = "*", .body = "{}" },
                                              FAKE_END };
    NACRE_AUTO(dk_client_guard) struct dk_client *client = opened(rules);
    NACRE_AUTO(dk_json_guard) json_t *body = json_object();
    static const char *const bad[] = { "", "a/b", "../x", "a?force=1", "a b",
                                       "a\r\nX: y" };
    size_t asked = fake_engine_asked(engine);

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(bad); i++) {
        struct dk_created created;
        struct dk_stream *stream = NULL;
        struct nacre_error err;
        char id[DK_IMAGE_ID];
        json_t *value = NULL;

        assert_int_equal(dk_container_create(client, bad[i], body, SOON, &created, &err),
                         NACRE_ERR_USAGE);
        assert_int_equal(dk_container_inspect(client, bad[i], SOON, &value, &err),
                         NACRE_ERR_USAGE);
        assert_int_equal(dk_container_start(client, bad[i], SOON, &err), NACRE_ERR_USAGE);
        assert_int_equal(dk_container_kill(client, bad[i], "KILL", SOON, &err),
                         NACRE_ERR_USAGE);
        assert_int_equal(dk_container_kill(client, "a", bad[i], SOON, &err),
                         NACRE_ERR_USAGE);
        assert_int_equal(dk_container_remove(client, bad[i], SOON, &err),
                         NACRE_ERR_USAGE);
        assert_int_equal(dk_attach(client, bad[i], SOON, &stream, &err), NACRE_ERR_USAGE);
        assert_int_equal(dk_commit(client, bad[i], "a", "b", NULL, SOON, id, &err),
                         NACRE_ERR_USAGE);
        assert_int_equal(dk_image_tag(client, "a", "b", bad[i], SOON, &err),
                         NACRE_ERR_USAGE);
        if (strcmp(bad[i], "a/b") == 0) /* an image may be called so */
            continue;
        assert_int_equal(dk_image_inspect(client, bad[i], SOON, &value, &err),
                         NACRE_ERR_USAGE);
        assert_int_equal(dk_image_remove(client, bad[i], SOON, &err), NACRE_ERR_USAGE);
    }
    assert_int_equal(fake_engine_asked(engine), asked);
}

static void what_is_so_already_is_no_failure(void **state)
{
    static const struct fake_rule rules[] = {
        FAKE_VERSION,
        { .method = "POST", .path = "/containers/a/start", .status = 304 },
        { .method = "POST", .path = "/containers/a/kill", .status = 409,
          .body = "{\"message\":\"is not running\"}" },
        { .method = "DELETE", .path = "/containers/a", .status = 409, .times = 3,
          .body = "{\"message\":\"removal is already in progress\"}" },
        FAKE_END,
    };
    NACRE_AUTO(dk_client_guard) struct dk_client *client = opened(rules);
    struct nacre_error err;

    (void)state;
    assert_int_equal(dk_container_start(client, "a", SOON, &err), NACRE_OK);
    assert_int_equal(dk_container_kill(client, "a", "KILL", SOON, &err), NACRE_OK);
    assert_string_equal(last_line(), "POST /v1.41/containers/a/kill?signal=KILL");
    assert_int_equal(dk_container_remove(client, "a", SOON, &err), NACRE_OK);
    assert_string_equal(last_line(), "DELETE /v1.41/containers/a?force=1&v=1");
    assert_int_equal(fake_engine_asked(engine), 1 + 2 + 4);
    assert_int_equal(dk_image_remove(client, "gone:1", SOON, &err), NACRE_OK);
    /* and what is not there, is not */
    assert_int_equal(dk_container_start(client, "b", SOON, &err), NACRE_ERR_NOT_FOUND);
    assert_int_equal(dk_container_kill(client, "b", "KILL", SOON, &err),
                     NACRE_ERR_NOT_FOUND);
}

static void a_removal_that_never_ends_ends_at_the_deadline(void **state)
{
    static const struct fake_rule rules[] = {
        FAKE_VERSION, { .method = "DELETE", .path = "*", .status = 409 }, FAKE_END,
    };
    NACRE_AUTO(dk_client_guard) struct dk_client *client = opened(rules);
    struct nacre_error err;

    (void)state;
    assert_int_equal(dk_container_remove(client, "a", dk_within_ms(100), &err),
                     NACRE_ERR_TIMEOUT);
}

static void a_list_is_checked(void **state)
{
    static const struct {
        const char *body;
        enum nacre_status status;
    } rows[] = {
        { "[]", NACRE_OK },
        { "[{\"Id\":\"" FAKE_ID "\"}]", NACRE_OK },
        { "{}", NACRE_ERR_PARSE },
        { "[7]", NACRE_ERR_PARSE },
        { "[{\"Id\":\"x\"}]", NACRE_ERR_PARSE },
        { "[{\"Id\":\"" FAKE_ID "\"},{}]", NACRE_ERR_PARSE },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        const struct fake_rule rules[] = {
            FAKE_VERSION, { .path = "/containers/json", .body = rows[i].body }, FAKE_END,
        };
        NACRE_AUTO(dk_client_guard) struct dk_client *client = opened(rules);
        NACRE_AUTO(dk_json_guard) json_t *list = NULL;
        struct nacre_error err;

        assert_int_equal(dk_container_list(client, "nacre.owner=a b&c", SOON, &list,
                                           &err),
                         rows[i].status);
        assert_string_equal(last_line(),
                            "GET /v1.41/containers/json?all=1&filters=%7B%22label%22"
                            "%3A%5B%22nacre.owner%3Da%20b%26c%22%5D%7D");
    }
}

/* For those who build on the fake: an engine that ignores a field shows it so. */
static void the_fake_forgets_what_it_is_told_to(void **state)
{
    static const struct fake_rule rules[] = {
        FAKE_VERSION, FAKE_CREATE,
        { .path = "/containers/*/json", .deed = FAKE_INSPECT, .times = 1 },
        { .path = "/containers/*/json", .deed = FAKE_INSPECT,
          .ignored = "HostConfig.Memory Config.User" },
        FAKE_END,
    };
    NACRE_AUTO(dk_client_guard) struct dk_client *client = opened(rules);
    NACRE_AUTO(dk_json_guard) json_t *body =
        json_pack("{s:s, s:s, s:{s:i, s:b}}", "Image", "x", "User", "1000", "HostConfig",
                  "Memory", 4, "ReadonlyRootfs", 1);
    NACRE_AUTO(dk_json_guard) json_t *whole = NULL;
    NACRE_AUTO(dk_json_guard) json_t *less = NULL;
    struct dk_created created;
    struct nacre_error err;

    (void)state;
    assert_int_equal(dk_container_create(client, "a", body, SOON, &created, &err),
                     NACRE_OK);
    assert_int_equal(dk_container_inspect(client, "a", SOON, &whole, &err), NACRE_OK);
    assert_int_equal(dk_container_inspect(client, "a", SOON, &less, &err), NACRE_OK);
    assert_true(json_equal(json_object_get(whole, "HostConfig"),
                           json_object_get(body, "HostConfig")));
    assert_null(json_object_get(json_object_get(less, "HostConfig"), "Memory"));
    assert_null(json_object_get(json_object_get(less, "Config"), "User"));
    assert_non_null(json_object_get(json_object_get(less, "Config"), "Image"));
}

/* ---- images ---- */

static int memory_file(size_t bytes)
{
    int fd = memfd_create("tar", MFD_CLOEXEC);

    assert_true(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    return fd;
}

#define SHA "sha256:" FAKE_ID

static void import_sends_the_tar_and_reads_the_report(void **state)
{
    static const struct {
        const char *report;
        enum nacre_status status;
        const char *complaint;
    } rows[] = {
        { "{\"status\":\"" SHA "\"}\r\n", NACRE_OK, NULL },
        { "{\"status\":\"busy\"}\n\n{\"status\":\"" SHA "\"}", NACRE_OK, NULL },
        { "{\"stream\":\"a\\n\"}\r\n{\"aux\":{\"ID\":\"" SHA "\"}}\r\n", NACRE_OK,
          NULL },
        { "{\"status\":\"" SHA "\"}\r\n{\"errorDetail\":{},\"error\":\"no\\u0007space\"}",
          NACRE_ERR_BACKEND, "no\\x07space" },
        { "{\"status\":\"done\"}\r\n", NACRE_ERR_PARSE, "an image's id" },
        { "{\"aux\":{\"ID\":\"sha256:short\"}}\r\n", NACRE_ERR_PARSE, "an image's id" },
        { "{\"aux\":7}\r\n", NACRE_ERR_PARSE, "an image's id" },
        { "", NACRE_ERR_PARSE, "an image's id" },
        { "[]\r\n", NACRE_ERR_PARSE, "a JSON object a line" },
        { "{\"status\":\r\n\"" SHA "\"}", NACRE_ERR_PARSE, "a JSON object a line" },
        { "{\"status\":\"" SHA "\"} {}\r\n", NACRE_ERR_PARSE, "a JSON object a line" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        const struct fake_rule rules[] = {
            FAKE_VERSION, { .method = "POST", .path = "/images/create",
                            .body = rows[i].report }, FAKE_END,
        };
        static const char *const changes[] = { "ENV A=b c", NULL };
        NACRE_AUTO(dk_client_guard) struct dk_client *client = opened(rules);
        NACRE_AUTO(nacre_fd_guard) int tar = memory_file(100000);
        char id[DK_IMAGE_ID] = "unchanged";
        struct nacre_error err = { .text = "" };
        enum nacre_status status = dk_image_import(client, "my/image", "v1", changes, tar,
                                                   SOON, id, &err);

        if (status != rows[i].status ||
            (rows[i].complaint && !strstr(err.text, rows[i].complaint)))
            fail_msg("row %zu: %s", i, err.text);
        assert_string_equal(id, status == NACRE_OK ? SHA : "unchanged");
        assert_int_equal(lseek(tar, 0, SEEK_CUR), 100000);
        assert_string_equal(last_line(),
                            "POST /v1.41/images/create?fromSrc=-&repo=my%2Fimage&tag=v1&"
                            "changes=ENV%20A%3Db%20c");
    }
}

static void a_report_without_a_line_end_is_bounded(void **state)
{
    static const struct fake_rule rules[] = {
        FAKE_VERSION, { .path = "/build", .deed = FAKE_FLOOD, .body = "{\"a\":[[[[[[[[" },
        FAKE_END,
    };
    NACRE_AUTO(dk_client_guard) struct dk_client *client = opened(rules);
    NACRE_AUTO(nacre_fd_guard) int tar = memory_file(10);
    char id[DK_IMAGE_ID];
    struct nacre_error err;

    (void)state;
    assert_int_equal(dk_image_build(client, "a:b", tar, NULL, SOON, id, &err),
                     NACRE_ERR_TOO_BIG);
}

static void hear(void *data, const char *text)
{
    (void)strncat(data, text, 200);
    (void)strncat(data, "|", 200);
}

static void a_build_tells_what_it_does(void **state)
{
    static const struct fake_rule rules[] = {
        FAKE_VERSION,
        { .path = "/build", .body = "{\"stream\":\"Step 1\\n\"}\r\n"
                                    "{\"stream\":\"\\n\"}\r\n"
                                    "{\"stream\":\"\\u001b[1mb\"}\r\n"
                                    "{\"aux\":{\"ID\":\"" SHA "\"}}\r\n" },
        FAKE_END,
    };
    NACRE_AUTO(dk_client_guard) struct dk_client *client = opened(rules);
    NACRE_AUTO(nacre_fd_guard) int tar = memory_file(10);
    char heard[1024] = "", id[DK_IMAGE_ID];
    const struct dk_progress progress = { hear, heard };
    struct nacre_error err;

    (void)state;
    assert_int_equal(dk_image_build(client, "a:b", tar, &progress, SOON, id, &err),
                     NACRE_OK);
    assert_string_equal(heard, "Step 1|\\x1b[1mb|");
}

static void a_pipe_that_stands_still_ends_at_the_deadline(void **state)
{
    static const struct fake_rule rules[] = { FAKE_VERSION, { .path = "*" }, FAKE_END };
    NACRE_AUTO(dk_client_guard) struct dk_client *client = opened(rules);
    int ends[2];
    char id[DK_IMAGE_ID];
    struct nacre_error err;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(write(ends[1], "abc", 3), 3);
    assert_int_equal(dk_image_import(client, "a", "b", NULL, ends[0], dk_within_ms(150),
                                     id, &err), NACRE_ERR_TIMEOUT);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

static void commit_gives_the_image(void **state)
{
    static const struct fake_rule rules[] = {
        FAKE_VERSION, { .path = "/commit", .status = 201, .times = 1,
                        .body = "{\"Id\":\"" SHA "\"}" },
        { .path = "/commit", .status = 201, .body = "{\"Id\":\"" FAKE_ID "\"}" },
        FAKE_END,
    };
    NACRE_AUTO(dk_client_guard) struct dk_client *client = opened(rules);
    NACRE_AUTO(dk_json_guard) json_t *config = json_pack("{s:s}", "User", "1000");
    char id[DK_IMAGE_ID] = "";
    struct nacre_error err;

    (void)state;
    assert_int_equal(dk_commit(client, "a", "r", "t", config, SOON, id, &err), NACRE_OK);
    assert_string_equal(id, SHA);
    assert_string_equal(last_line(), "POST /v1.41/commit?container=a&pause=0&repo=r&tag=t");
    assert_string_equal(fake_engine_body(engine, 1), "{\"User\":\"1000\"}");
    assert_int_equal(dk_commit(client, "a", "r", "t", NULL, SOON, id, &err),
                     NACRE_ERR_PARSE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ENGINE(create_gives_the_id_and_the_warnings),
        WITH_ENGINE(many_warnings_are_cut),
        WITH_ENGINE(create_refuses_a_bad_answer_and_a_taken_name),
        WITH_ENGINE(a_name_that_would_change_the_call_is_never_sent),
        WITH_ENGINE(what_is_so_already_is_no_failure),
        WITH_ENGINE(a_removal_that_never_ends_ends_at_the_deadline),
        WITH_ENGINE(a_list_is_checked),
        WITH_ENGINE(the_fake_forgets_what_it_is_told_to),
        WITH_ENGINE(import_sends_the_tar_and_reads_the_report),
        WITH_ENGINE(a_report_without_a_line_end_is_bounded),
        WITH_ENGINE(a_build_tells_what_it_does),
        WITH_ENGINE(a_pipe_that_stands_still_ends_at_the_deadline),
        WITH_ENGINE(commit_gives_the_image),
    };

    return cmocka_run_group_tests_name("dk_calls", tests, scene_enter, scene_leave);
}
