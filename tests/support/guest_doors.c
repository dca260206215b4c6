#include "guest_doors.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nacre/secrets.h"

struct nacre_door {
    bool has_line, is_running;
    struct fake_line line;
};

struct guest_doors guest_doors;
static struct nacre_door *last;

static bool fails(bool *once, struct nacre_error *err)
{
    bool failed = *once;

    *once = false;
    if (failed)
        (void)!nacre_fail(err, NACRE_ERR_BACKEND, "the door fell shut");
    return failed;
}

struct fake_line *guest_doors_line(void)
{
    assert(last && last->has_line);
    return &last->line;
}

enum nacre_status nacre_doors_new(const struct nacre_doors_options *options,
                                  struct nacre_doors **ret_doors, struct nacre_error *err)
{
    (void)options;
    (void)err;
    *ret_doors = (struct nacre_doors *)&guest_doors;
    return NACRE_OK;
}

void nacre_doors_free(struct nacre_doors *doors)
{
    (void)doors;
}

enum nacre_status nacre_doors_probe(struct nacre_doors *doors, struct nacre_error *err)
{
    assert(doors == (struct nacre_doors *)&guest_doors);
    return guest_doors.is_missing
               ? nacre_fail(err, NACRE_ERR_UNAVAILABLE, "nacre-door is not there")
               : NACRE_OK;
}

enum nacre_status nacre_doors_get(struct nacre_doors *doors, const struct nacre_plan *plan,
                                  const struct nacre_tool *tool,
                                  const struct nacre_request *request,
                                  struct nacre_door **ret_door, struct nacre_error *err)
{
    assert(doors == (struct nacre_doors *)&guest_doors);
    assert(plan && tool && request);
    if (fails(&guest_doors.get_fails, err))
        return err->status;
    *ret_door = calloc(1, sizeof(**ret_door));
    assert(*ret_door);
    guest_doors.got++;
    guest_doors.open++;
    guest_doors.secrets_seen = request->granted ? request->granted->count : 0;
    return NACRE_OK;
}

void nacre_doors_put(struct nacre_doors *doors, struct nacre_door *door)
{
    if (!door)
        return;
    assert(doors == (struct nacre_doors *)&guest_doors);
    if (door->has_line)
        fake_line_stop(&door->line);
    if (last == door)
        last = NULL;
    free(door);
    guest_doors.put++;
    guest_doors.open--;
}

enum nacre_status nacre_door_serve(struct nacre_door *door, int kind, int fd,
                                   struct nacre_error *err)
{
    assert(kind == NACRE_DOOR_GUEST && !door->has_line);
    if (fails(&guest_doors.serve_fails, err)) {
        (void)close(fd);
        return err->status;
    }
    fake_line_serve(&door->line, fd);
    door->has_line = true;
    last = door;
    guest_doors.served++;
    return NACRE_OK;
}

enum nacre_status nacre_door_begin(struct nacre_door *door, const char *run_id,
                                   uint64_t deadline_ns, struct nacre_error *err)
{
    assert(!door->is_running && strlen(run_id) < NACRE_RUN_ID);
    if (fails(&guest_doors.begin_fails, err))
        return err->status;
    door->is_running = true;
    (void)strcpy(guest_doors.run_id, run_id);
    guest_doors.deadline_ns = deadline_ns;
    guest_doors.begun++;
    return NACRE_OK;
}

enum nacre_status nacre_door_end(struct nacre_door *door, struct nacre_result *result,
                                 struct nacre_error *err)
{
    const struct nacre_denial denial = { .code = "host-not-allowed",
                                         .text = "from the door" };

    assert(door->is_running);
    if (fails(&guest_doors.end_fails, err))
        return err->status;
    door->is_running = false;
    guest_doors.ended++;
    result->egress_seen += door->line.asked;
    nacre_result_deny(result, &denial);
    return NACRE_OK;
}

const char *nacre_door_certificate(const struct nacre_door *door)
{
    (void)door;
    return "";
}
