#include "rules.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "catalogue.h"

struct tools_rules {
    struct nacre_host_rules *rules;
    bool is_there;
    struct tools_identity file; /* if it is */
    atomic_uint holders;        /* the place where it is kept is one */
};

struct place {
    pthread_mutex_t lock;
    struct tools_rules *current; /* or NULL */
};

static void *place_new(void)
{
    struct place *place = calloc(1, sizeof(*place));

    if (place)
        (void)pthread_mutex_init(&place->lock, NULL);
    return place;
}

static void place_free(void *thing)
{
    struct place *place = thing;

    tools_rules_put(place->current);
    (void)pthread_mutex_destroy(&place->lock);
    free(place);
}

const struct nacre_host_rules *tools_rules_of(const struct tools_rules *rules)
{
    return rules->rules;
}

void tools_rules_put(struct tools_rules *rules)
{
    if (!rules || atomic_fetch_sub(&rules->holders, 1) > 1)
        return;
    nacre_host_rules_free(rules->rules);
    free(rules);
}

static bool is_current(const struct tools_rules *rules, bool is_there,
                       const struct tools_identity *file)
{
    return rules && rules->is_there == is_there &&
           (!is_there || tools_is_same(&rules->file, file));
}

/* Identified before it is read: what changes meanwhile is read again at the next call. */
static enum nacre_status get_locked(struct place *place, const char *path,
                                    struct nacre_error *err)
{
    struct tools_rules *made;
    struct tools_identity file;
    struct stat info;
    bool is_there = path && stat(path, &info) == 0;
    enum nacre_status status;

    if (is_there)
        tools_identify(&info, &file);
    if (is_current(place->current, is_there, &file))
        return NACRE_OK;
    made = calloc(1, sizeof(*made));
    if (!made)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for host.yaml");
    status = nacre_host_rules_load(path, &made->rules, err);
    if (status != NACRE_OK) {
        free(made);
        return status;
    }
    made->is_there = is_there;
    if (is_there)
        made->file = file;
    atomic_init(&made->holders, 1);
    tools_rules_put(place->current);
    place->current = made;
    return NACRE_OK;
}

enum nacre_status tools_rules_get(struct nacre_engine *engine,
                                  struct tools_rules **ret_rules, struct nacre_error *err)
{
    struct place *place = nacre_engine_attached(engine, place_new, place_free);
    enum nacre_status status;

    if (!place)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for host.yaml");
    (void)pthread_mutex_lock(&place->lock);
    status = get_locked(place, nacre_engine_host_file(engine), err);
    if (status == NACRE_OK) {
        atomic_fetch_add(&place->current->holders, 1);
        *ret_rules = place->current;
    }
    (void)pthread_mutex_unlock(&place->lock);
    return status;
}
