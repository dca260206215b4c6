/*
 * Any bytes as a message of the keeper's socket, and as the JSON in it: what is read can
 * be written and read again, and is the same.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine.h"
#include "message.h"
#include "nacre/own.h"
#include "private.h"
#include "wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Takes both. */
static void assert_same(json_t *once, json_t *again)
{
    assert(once && again && json_equal(once, again));
    json_decref(once);
    json_decref(again);
}

static void read_plan(const json_t *json)
{
    struct nacre_plan *plan = NULL, *again = NULL;
    struct nacre_error err;
    json_t *written;

    if (nacre_wire_read_plan(json, &plan, &err) != NACRE_OK)
        return;
    written = nacre_wire_plan(plan);
    assert(nacre_wire_read_plan(written, &again, &err) == NACRE_OK);
    assert_same(written, nacre_wire_plan(again));
    nacre_plan_free(plan);
    nacre_plan_free(again);
}

static void read_small(const json_t *json)
{
    struct nacre_keeper_choice choice;
    struct nacre_mechanism wall;
    struct nacre_request request;
    struct nacre_box_info box;
    struct nacre_tool *tool = NULL;
    struct nacre_error err, failure;

    if (nacre_wire_read_tool(json, &tool, &err) == NACRE_OK)
        assert_same(json_deep_copy(json), nacre_wire_tool(tool));
    nacre_tool_free(tool);
    if (nacre_wire_read_request(json, &request, &err) == NACRE_OK) {
        assert_same(json_deep_copy(json), nacre_wire_request(&request));
        nacre_wire_request_clear(&request);
    }
    if (nacre_wire_read_choice(json, &choice, &err) == NACRE_OK)
        nacre_wire_choice_clear(&choice);
    if (nacre_wire_read_error(json, &failure, &err) == NACRE_OK)
        assert_same(json_deep_copy(json), nacre_wire_error(&failure));
    if (nacre_wire_read_mechanism(json, &wall, &err) == NACRE_OK)
        assert_same(json_deep_copy(json), nacre_wire_mechanism(&wall));
    if (nacre_wire_read_box(json, &box, &err) == NACRE_OK)
        assert(strlen(box.id) < sizeof(box.id));
    (void)!keeper_engine_check(json, &(struct keeper_configured){ 0 }, &err);
}

static void read_result(const json_t *json)
{
    struct nacre_result *result = NULL;
    struct nacre_error err;

    if (nacre_result_new(&result, &err) != NACRE_OK)
        return;
    if (nacre_wire_read_result(json, result, &err) == NACRE_OK)
        assert(result->outcome > 0 && result->outcome < NACRE_OUTCOME_COUNT);
    nacre_result_free(result);
}

static void receive(const uint8_t *data, size_t size)
{
    struct nacre_buf bytes = NACRE_BUF(MESSAGE_BYTES_MAX);
    enum message_kind kind;
    struct nacre_error err;
    int ends[2], fd = -1;

    if (size > 65536 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return;
    assert(write(ends[0], data, size) == (ssize_t)size);
    (void)close(ends[0]);
    while (message_receive(ends[1], message_within_ms(1000), &kind, &bytes, &fd, &err) ==
           NACRE_OK) {
        assert(kind > MESSAGE_NONE && kind < MESSAGE_KINDS && bytes.size <= size);
        assert(fd == -1 && bytes.bytes[bytes.size] == '\0');
        nacre_buf_clear(&bytes);
    }
    nacre_buf_clear(&bytes);
    (void)close(ends[1]);
}

static void read_private(const uint8_t *data, size_t size)
{
    struct keeper_private *private = NULL;
    struct nacre_request request = { 0 };
    unsigned char *again = NULL;
    struct nacre_error err;
    size_t count = 0;

    if (keeper_private_read(data, size, &private, &err) != NACRE_OK)
        return;
    keeper_private_lend(private, &request);
    for (uint32_t i = 0; i < request.secret_file_count; i++)
        assert(strlen(request.secret_files[i].name) < size);
    assert(keeper_private_write(&request, &again, &count, &err) == NACRE_OK &&
           count == size && memcmp(again, data, size) == 0);
    keeper_private_wipe(again, count);
    keeper_private_free(private);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *json = json_loadb((const char *)data, size,
                              JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);

    receive(data, size);
    read_private(data, size);
    if (!json)
        return 0;
    read_plan(json);
    read_small(json);
    read_result(json);
    json_decref(json);
    return 0;
}
