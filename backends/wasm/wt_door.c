#include "wt_door.h"

#include <sys/socket.h>
#include <unistd.h>

#include "nacre/own.h"
#include "nacre/secrets.h"

bool wt_door_is_for_one(const struct nacre_plan *plan,
                        const struct nacre_request *request)
{
    return request->granted &&
           (request->granted->count > 0 || request->granted->token_count > 0) &&
           nacre_egress_is_open(&plan->egress);
}

enum nacre_status wt_door_open(struct nacre_doors *doors, const struct nacre_plan *plan,
                               const struct nacre_tool *tool,
                               const struct nacre_request *request,
                               struct wt_door *ret_door, int *ret_fd,
                               struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    struct wt_door door = { .doors = doors };
    enum nacre_status status;
    int pair[2];

    *ret_fd = -1;
    if (!nacre_egress_is_open(&plan->egress))
        return NACRE_OK;
    if (!doors)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the plan lets requests out, but there is no door to send them");
    status = nacre_doors_get(doors, plan, tool, request, &door.door, err);
    if (status != NACRE_OK)
        return status;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        wt_door_clear(&door);
        return nacre_fail(err, NACRE_ERR_IO, "socketpair");
    }
    fd = pair[0];
    status = nacre_door_serve(door.door, NACRE_DOOR_GUEST, pair[1], err);
    if (status != NACRE_OK) {
        wt_door_clear(&door);
        return status;
    }
    *ret_door = door;
    *ret_fd = nacre_fd_take(&fd);
    return NACRE_OK;
}

void wt_door_clear(struct wt_door *door)
{
    nacre_doors_put(door->doors, door->door);
    *door = (struct wt_door){ .door = NULL };
}

enum nacre_status wt_door_begin(struct wt_door *door, const char *run_id,
                                uint64_t deadline_ns, struct nacre_error *err)
{
    enum nacre_status status;

    if (!door->door)
        return NACRE_OK;
    status = nacre_door_begin(door->door, run_id, deadline_ns, err);
    door->is_running = status == NACRE_OK;
    return status;
}

enum nacre_status wt_door_end(struct wt_door *door, struct nacre_result *result,
                              struct nacre_error *err)
{
    enum nacre_status status;

    if (!door->is_running)
        return NACRE_OK;
    status = nacre_door_end(door->door, result, err);
    /* One that does not answer is left as running: its doors know what to do with it. */
    door->is_running = status != NACRE_OK;
    return status;
}
