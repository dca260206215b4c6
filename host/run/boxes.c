/* Warm sandboxes as an engine sees them: its own, the keeper's and those of others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine.h"
#include "nacre/clock.h"
#include "nacre/keeper.h"
#include "nacre/sessions.h"

/* ---- what there is ---- */

struct telling {
    bool (*each)(void *data, const struct nacre_box_info *info);
    void *data;
    char (*names)[sizeof(((struct nacre_box_info *)0)->name)]; /* told already */
    size_t count;
    bool stopped, short_of_memory;
};

static void telling_clear(struct telling *telling)
{
    free(telling->names);
}

/* Who knows it best is asked first: a name that was told is not told again. */
static bool tell(void *data, const struct nacre_box_info *info)
{
    struct telling *telling = data;
    void *grown;

    for (size_t i = 0; i < telling->count; i++)
        if (strcmp(telling->names[i], info->name) == 0)
            return true;
    grown = reallocarray(telling->names, telling->count + 1, sizeof(*telling->names));
    telling->short_of_memory = !grown;
    if (!grown)
        return false;
    telling->names = grown;
    memcpy(telling->names[telling->count++], info->name, sizeof(info->name));
    telling->stopped = !telling->each(telling->data, info);
    return !telling->stopped;
}

/* The registry is lost; that the engine can't be asked either is told with it. */
static void tell_labelled(struct nacre_engine *engine, struct telling *telling,
                          const struct nacre_error *lost, char ret_note[NACRE_BOXES_NOTE])
{
    struct nacre_executor *executor;
    struct nacre_error err;
    enum nacre_status status =
        nacre_engine_ready(engine, NACRE_LEVEL_CONTAINER, &executor, &err);

    if (status == NACRE_OK)
        status = nacre_container_boxes_labelled(executor, tell, telling, &err);
    (void)snprintf(ret_note, NACRE_BOXES_NOTE, "%.400s; until then %s%.400s", lost->text,
                   status == NACRE_OK ? "the engine's labels say what there is"
                                      : "only the keeper's own are known: ",
                   status == NACRE_OK ? "" : err.text);
}

enum nacre_status nacre_engine_boxes(struct nacre_engine *engine,
                                     bool (*each)(void *data,
                                                  const struct nacre_box_info *info),
                                     void *data, char ret_note[NACRE_BOXES_NOTE],
                                     struct nacre_error *err)
{
    NACRE_AUTO(telling_clear) struct telling telling = { .each = each, .data = data };
    const char *state_dir = engine->places.state_dir;
    enum nacre_status status = nacre_keeper_list(state_dir, tell, &telling, err);

    ret_note[0] = '\0';
    if (status == NACRE_ERR_NOT_FOUND)
        status = NACRE_OK;
    if (status == NACRE_OK && !telling.stopped)
        status = nacre_boxes_read(state_dir, tell, &telling, err);
    if (status == NACRE_ERR_PARSE || status == NACRE_ERR_NOT_FOUND) {
        tell_labelled(engine, &telling, err, ret_note);
        status = NACRE_OK;
    }
    if (status == NACRE_OK && telling.short_of_memory)
        status = nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the list");
    return status;
}

struct seeking {
    const char *which;
    int32_t keeper, found; /* pids, or 0 */
};

/* What the registry still has of ours or of the keeper's is about to go from there. */
static bool seek(void *data, const struct nacre_box_info *info)
{
    struct seeking *seeking = data;

    if (info->owner_pid != getpid() && info->owner_pid != seeking->keeper &&
        nacre_box_is_called(info, seeking->which))
        seeking->found = info->owner_pid;
    return seeking->found == 0;
}

bool nacre_engine_box_is_anothers(struct nacre_engine *engine, const char *which,
                                  int32_t *ret_pid)
{
    struct seeking seeking = { .which = which };
    char note[NACRE_BOXES_NOTE];
    struct nacre_error ignored;

    if (nacre_keeper_pid(engine->places.state_dir, &seeking.keeper, &ignored) != NACRE_OK)
        seeking.keeper = 0;
    if (nacre_engine_boxes(engine, seek, &seeking, note, &ignored) != NACRE_OK ||
        seeking.found == 0)
        return false;
    *ret_pid = seeking.found;
    return true;
}

/* ---- their end ---- */

static uint32_t end_own(struct nacre_engine *engine,
                        const struct nacre_keeper_choice *choice, uint32_t *ret_left)
{
    const struct nacre_boxes_of own = {
        .state_dir = engine->places.state_dir,
        .executor = atomic_load(&engine->executors[NACRE_LEVEL_CONTAINER]),
        .list = nacre_container_boxes_list,
        .end = nacre_container_boxes_end,
    };

    *ret_left = 0;
    return engine->own_boxes && own.executor
               ? nacre_boxes_end_chosen(&own, choice, nacre_clock_wall_ms(), ret_left)
               : 0;
}

static enum nacre_status end_kept(struct nacre_engine *engine,
                                  const struct nacre_keeper_choice *choice,
                                  uint32_t *ret_ended, uint32_t *ret_left,
                                  struct nacre_error *err)
{
    enum nacre_status status = nacre_keeper_end(engine->places.state_dir, choice,
                                                ret_ended, ret_left, err);

    return status == NACRE_ERR_NOT_FOUND ? NACRE_OK : status;
}

/* A session's sandbox may be anybody's: its workspace must not go from under it. */
static enum nacre_status end_recorded(void *data, const char *which,
                                      const char *scope_key, bool force,
                                      uint32_t *ret_ended, uint32_t *ret_left,
                                      struct nacre_error *err)
{
    const struct nacre_keeper_choice choice = { .which = which, .scope_key = scope_key,
                                                .force = force };

    enum nacre_status status = NACRE_OK;
    int32_t pid;

    *ret_ended = end_own(data, &choice, ret_left);
    if (*ret_ended == 0 && *ret_left == 0)
        status = end_kept(data, &choice, ret_ended, ret_left, err);
    if (status == NACRE_OK && *ret_ended == 0 && *ret_left == 0)
        *ret_left = nacre_engine_box_is_anothers(data, which, &pid);
    return status;
}

enum nacre_status nacre_engine_prune(struct nacre_engine *engine,
                                     const struct nacre_sessions_prune *how,
                                     struct nacre_sessions_report *ret_report,
                                     struct nacre_error *err)
{
    const struct nacre_sessions_ender ender = { end_recorded, engine };
    const struct nacre_keeper_choice others = { .unrecorded = true,
                                                .idle_ms = how->idle_ms,
                                                .age_ms = how->age_ms };
    struct nacre_sessions_report report = { 0 };
    uint32_t ended = 0, left = 0;
    enum nacre_status status = nacre_sessions_prune(engine->places.state_dir, how, &ender,
                                                    &report, err);

    /* Both 0 would choose whatever its age. */
    if (status == NACRE_OK && !how->config && (how->idle_ms || how->age_ms)) {
        if (engine->own_boxes)
            ended = end_own(engine, &others, &left);
        else
            status = end_kept(engine, &others, &ended, &left, err);
    }
    if (status != NACRE_OK)
        return status;
    report.ended += ended;
    report.in_use += left;
    *ret_report = report;
    return NACRE_OK;
}
