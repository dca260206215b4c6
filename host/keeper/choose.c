/* Which warm sandboxes are meant: by name, by age, and by who has a record of them. */
#include <stdlib.h>
#include <string.h>

#include "nacre/clock.h"
#include "nacre/keeper.h"
#include "nacre/own.h"
#include "nacre/sessions.h"

struct choosing {
    const struct nacre_keeper_choice *choice;
    uint64_t now_ms;
    uint32_t left;
    char **recorded; /* names */
    uint32_t recorded_count;
    bool failed;
};

bool nacre_box_is_called(const struct nacre_box_info *info, const char *which)
{
    static const char session[] = "session:";

    return strcmp(which, info->scope_key) == 0 || strcmp(which, info->name) == 0 ||
           strcmp(which, info->id) == 0 ||
           (strncmp(info->scope_key, session, strlen(session)) == 0 &&
            strcmp(which, info->scope_key + strlen(session)) == 0);
}

static bool add_recorded(void *data, const struct nacre_session_info *info)
{
    struct choosing *choosing = data;
    char **grown = realloc(choosing->recorded,
                           (choosing->recorded_count + 1) * sizeof(*grown));
    char *name = grown ? strdup(info->box_name) : NULL;

    if (grown)
        choosing->recorded = grown;
    choosing->failed = !name;
    if (name)
        choosing->recorded[choosing->recorded_count++] = name;
    return name != NULL;
}

static void choosing_clear(struct choosing *choosing)
{
    for (uint32_t i = 0; i < choosing->recorded_count; i++)
        free(choosing->recorded[i]);
    free(choosing->recorded);
}

static bool is_chosen(void *data, const struct nacre_box_info *info)
{
    const struct choosing *choosing = data;
    const struct nacre_keeper_choice *choice = choosing->choice;

    if (choice->which && !nacre_box_is_called(info, choice->which))
        return false;
    /* What is told of it may be cut; what it is called is not. */
    if (choice->scope_key && strncmp(choice->scope_key, info->scope_key,
                                     sizeof(info->scope_key) - 1) != 0)
        return false;
    for (uint32_t i = 0; i < choosing->recorded_count; i++)
        if (strcmp(choosing->recorded[i], info->name) == 0)
            return false;
    if (choice->idle_ms == 0 && choice->age_ms == 0)
        return true;
    return nacre_clock_is_over(choosing->now_ms, info->used_ms, choice->idle_ms) ||
           nacre_clock_is_over(choosing->now_ms, info->created_ms, choice->age_ms);
}

static bool count_left(void *data, const struct nacre_box_info *info)
{
    struct choosing *choosing = data;

    choosing->left += info->commands > 0 && is_chosen(data, info);
    return true;
}

uint32_t nacre_boxes_end_chosen(const struct nacre_boxes_of *boxes,
                                const struct nacre_keeper_choice *choice, uint64_t now_ms,
                                uint32_t *ret_left)
{
    NACRE_AUTO(choosing_clear)
    struct choosing choosing = { .choice = choice, .now_ms = now_ms };
    struct nacre_error err;
    uint32_t ended;

    if (ret_left)
        *ret_left = 0;
    /* Whose records can't be read, nothing of theirs is taken. */
    if (choice->unrecorded && (nacre_sessions_each(boxes->state_dir, add_recorded,
                                                   &choosing, &err) != NACRE_OK ||
                               choosing.failed))
        return 0;
    ended = boxes->end(boxes->executor, choice->force, is_chosen, &choosing);
    if (ret_left && !choice->force)
        boxes->list(boxes->executor, count_left, &choosing);
    if (ret_left)
        *ret_left = choosing.left;
    return ended;
}
