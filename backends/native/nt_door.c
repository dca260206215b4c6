/* Trusts the plan and the host's door.  Of a sandbox it takes sockets, from a launcher
 * that no guest has met. */
#include "nt_door.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "nacre/clock.h"
#include "nacre/own.h"
#include "nacre/trust.h"
#include "pass.h"

#define BUNDLE_MAX ((size_t)2 << 20)

static const int kinds[DOORWAY_COUNT] = {
    [DOORWAY_PROXY] = NACRE_DOOR_PROXY,
    [DOORWAY_HTTP] = NACRE_DOOR_HTTP,
    [DOORWAY_TLS] = NACRE_DOOR_TLS,
};

/* It may be tried again: once is enough to say why not. */
static bool is_told(const struct nacre_executor *executor)
{
    for (uint32_t i = 0; i < atomic_load(&executor->mechanism_count); i++)
        if (strcmp(executor->mechanisms[i].name, "egress") == 0)
            return true;
    return false;
}

void nt_door_probe(struct nacre_executor *executor, struct nacre_doors *doors,
                   pthread_mutex_t *lock)
{
    struct nacre_error err;

    (void)pthread_mutex_lock(lock);
    if (!doors || atomic_load(&executor->features) & NACRE_FEATURE_EGRESS) {
        (void)pthread_mutex_unlock(lock);
        return;
    }
    if (nacre_doors_probe(doors, &err) == NACRE_OK) {
        nacre_mechanism_add(executor, "egress", true,
                            "a door on loopback to nacre-door: a proxy, and allowed "
                            "names; no other way out");
        atomic_fetch_or(&executor->features, NACRE_FEATURE_EGRESS);
    } else if (!is_told(executor)) {
        nacre_mechanism_add(executor, "egress", false, "%.180s", err.text);
    }
    (void)pthread_mutex_unlock(lock);
}

enum nacre_status nt_door_open(struct nacre_doors *doors, const struct nacre_plan *plan,
                               const struct nacre_tool *tool,
                               const struct nacre_request *request,
                               struct nt_door *ret_door, struct nacre_error *err)
{
    struct nt_door door = { .doors = doors };
    enum nacre_status status;

    if (nt_door_is_planned(plan)) {
        if (!doors)
            return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                              "the policy opens the network, and there is no door to it "
                              "here");
        status = nacre_doors_get(doors, plan, tool, request, &door.door, err);
        if (status != NACRE_OK)
            return status;
    }
    *ret_door = door;
    return NACRE_OK;
}

void nt_door_close(struct nt_door *door)
{
    if (door->door)
        nacre_doors_put(door->doors, door->door);
    *door = (struct nt_door){ 0 };
}

enum nacre_status nt_door_begin(struct nt_door *door, const char *run_id,
                                uint64_t deadline_ns, struct nacre_error *err)
{
    enum nacre_status status;

    if (!door->door)
        return NACRE_OK;
    status = nacre_door_begin(door->door, run_id, deadline_ns, err);
    door->begun = status == NACRE_OK;
    return status;
}

enum nacre_status nt_door_end(struct nt_door *door, enum nacre_status status,
                              struct nacre_result *result, struct nacre_error *err)
{
    struct nacre_error ignored;

    if (!door->begun)
        return status;
    door->begun = false;
    if (status != NACRE_OK) {
        (void)!nacre_door_end(door->door, result, &ignored);
        return status;
    }
    return nacre_door_end(door->door, result, err);
}

enum nacre_status nt_door_run(struct nt_door *door, struct nt_box *box,
                              struct nt_command *command, struct nacre_result *result,
                              struct nacre_result *told, struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *certificates = NULL;
    enum nacre_status status;

    if (door->door) {
        command->connected = nt_door_connected;
        command->connected_data = door;
    }
    status = nt_door_bundle(door, &certificates, err);
    command->start.certificates = certificates;
    if (status == NACRE_OK)
        status = nt_door_begin(door, told->run_id,
                               nacre_clock_ns() +
                                   command->start.wall_ms_max * NACRE_NS_PER_MS,
                               err);
    if (status == NACRE_OK)
        status = nt_box_run(box, command, result, err);
    return nt_door_end(door, status, told, err);
}

/* ---- its sockets ---- */

/* All were sent before init reported: nobody is waited for. */
enum nacre_status nt_door_receive(struct nt_door *door, int socket,
                                  struct nacre_error *err)
{
    for (enum doorway_kind kind = DOORWAY_PROXY; kind <= DOORWAY_TLS; kind++) {
        uint8_t told = DOORWAY_NONE;
        size_t count = 0;
        int fd = -1;
        enum nacre_status status;

        if (pass_receive(socket, false, &told, 1, &fd, 1, &count) != 1 || count != 1 ||
            told != kind) {
            if (count == 1)
                (void)close(fd);
            return nacre_fail(err, NACRE_ERR_BACKEND,
                              "the sandbox's door: its socket %s did not come",
                              doorway_text(kind));
        }
        status = nacre_door_serve(door->door, NACRE_DOOR_LISTEN + kinds[kind], fd, err);
        if (status != NACRE_OK)
            return status;
    }
    return NACRE_OK;
}

void nt_door_forget(int socket)
{
    uint8_t told;
    size_t count;
    int fd;

    while (socket >= 0 && pass_receive(socket, false, &told, 1, &fd, 1, &count) == 1)
        if (count == 1)
            (void)close(fd);
}

void nt_door_connected(void *data, int kind, int fd)
{
    struct nt_door *door = data;
    struct nacre_error ignored;

    assert(kind > DOORWAY_NONE && kind < DOORWAY_NAMES);
    /* Whoever connected sees the end of it, and the door's own end tells of the rest. */
    (void)!nacre_door_serve(door->door, kinds[kind], fd, &ignored);
}

/* ---- certificates ---- */

enum nacre_status nt_door_bundle(const struct nt_door *door, char **ret_pem,
                                 struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bundle = NACRE_BUF(BUNDLE_MAX);
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    const char *own = door->door ? nacre_door_certificate(door->door) : "";
    enum nacre_status status = NACRE_OK;

    if (own[0] == '\0') {
        *ret_pem = NULL;
        return NACRE_OK;
    }
    if (nacre_trust_bundle())
        fd = open(nacre_trust_bundle(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd >= 0)
        status = nacre_buf_read(&bundle, fd, err);
    if (status == NACRE_OK)
        status = nacre_buf_addf(&bundle, err, "\n%s", own);
    if (status != NACRE_OK)
        return nacre_fail_context(err, "the sandbox's certificates");
    *ret_pem = NACRE_HEAP_TAKE(bundle.bytes);
    bundle = (struct nacre_buf){ 0 };
    return NACRE_OK;
}
