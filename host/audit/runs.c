#include "runs.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* By SHA-256, so that nobody can write a log whose run ids all fall together. */
static size_t slot_of(const struct audit_runs *runs, const char *id)
{
    struct nacre_digest digest = nacre_hash(id, strlen(id));
    uint64_t number;

    memcpy(&number, digest.bytes, sizeof(number));
    return (size_t)number & (runs->slot_count - 1);
}

/* Where `id` is, or the free slot where it belongs.  One slot in two is free. */
static size_t find(const struct audit_runs *runs, const char *id)
{
    size_t at = slot_of(runs, id);

    while (runs->slots[at][0] && strcmp(runs->slots[at], id) != 0)
        at = (at + 1) & (runs->slot_count - 1);
    return at;
}

static void put(struct audit_runs *runs, const char *id)
{
    size_t at = find(runs, id);

    if (!runs->slots[at][0])
        runs->count++;
    memcpy(runs->slots[at], id, strlen(id) + 1);
}

static enum nacre_status grow(struct audit_runs *runs, struct nacre_error *err)
{
    struct audit_runs grown = { .slot_count = 64 };

    if (runs->slot_count > 0)
        grown.slot_count = 2 * runs->slot_count;
    grown.slots = calloc(grown.slot_count, sizeof(*grown.slots));
    if (!grown.slots)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for %zu unfinished runs",
                          runs->count);
    for (size_t i = 0; i < runs->slot_count; i++)
        if (runs->slots[i][0])
            put(&grown, runs->slots[i]);
    free(runs->slots);
    *runs = grown;
    return NACRE_OK;
}

static void drop(struct audit_runs *runs, const char *id)
{
    size_t at, hole;

    if (runs->slot_count == 0)
        return;
    hole = find(runs, id);
    if (!runs->slots[hole][0])
        return;
    runs->slots[hole][0] = '\0';
    runs->count--;
    /* Whoever stands behind the hole because it was taken must be found again. */
    for (at = (hole + 1) & (runs->slot_count - 1); runs->slots[at][0];
         at = (at + 1) & (runs->slot_count - 1)) {
        char moved[NACRE_RUN_ID];

        memcpy(moved, runs->slots[at], sizeof(moved));
        runs->slots[at][0] = '\0';
        memcpy(runs->slots[find(runs, moved)], moved, sizeof(moved));
    }
}

enum nacre_status audit_runs_see(struct audit_runs *runs,
                                 const struct audit_record *record,
                                 struct nacre_error *err)
{
    if (record->type == AUDIT_END)
        drop(runs, record->run);
    if (record->type != AUDIT_BEGIN)
        return NACRE_OK;
    if (2 * (runs->count + 1) > runs->slot_count) {
        enum nacre_status status = grow(runs, err);

        if (status != NACRE_OK)
            return status;
    }
    put(runs, record->run);
    return NACRE_OK;
}

void audit_runs_copy(const struct audit_runs *runs, char (*ret_ids)[NACRE_RUN_ID],
                     size_t max)
{
    size_t copied = 0;

    for (size_t i = 0; i < runs->slot_count && copied < max; i++)
        if (runs->slots[i][0])
            memcpy(ret_ids[copied++], runs->slots[i], sizeof(runs->slots[i]));
}

void audit_runs_clear(struct audit_runs *runs)
{
    free(runs->slots);
    *runs = (struct audit_runs){ 0 };
}
