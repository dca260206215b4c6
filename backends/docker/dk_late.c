#include "dk_late.h"

#include <stdio.h>
#include <string.h>

#define KEPT_NS (60 * NACRE_NS_PER_S)

void dk_late_init(struct dk_late *late)
{
    *late = (struct dk_late){ 0 };
    (void)pthread_mutex_init(&late->lock, NULL);
}

void dk_late_clear(struct dk_late *late)
{
    (void)pthread_mutex_destroy(&late->lock);
}

/* The lock is held. */
static void drop(struct dk_late *late, size_t i)
{
    late->count--;
    memmove(&late->items[i], &late->items[i + 1],
            (late->count - i) * sizeof(late->items[0]));
}

void dk_late_add(struct dk_late *late, const char *container)
{
    struct dk_late_item *item;

    (void)pthread_mutex_lock(&late->lock);
    if (late->count == DK_LATE_MAX)
        drop(late, 0);
    item = &late->items[late->count++];
    (void)snprintf(item->container, sizeof(item->container), "%s", container);
    item->until_ns = nacre_clock_ns() + KEPT_NS;
    (void)pthread_mutex_unlock(&late->lock);
}

bool dk_late_any(struct dk_late *late)
{
    bool any;

    (void)pthread_mutex_lock(&late->lock);
    any = late->count > 0;
    (void)pthread_mutex_unlock(&late->lock);
    return any;
}

static void forget(struct dk_late *late, const char *container)
{
    (void)pthread_mutex_lock(&late->lock);
    for (size_t i = 0; i < late->count; i++)
        if (strcmp(late->items[i].container, container) == 0) {
            drop(late, i);
            break;
        }
    (void)pthread_mutex_unlock(&late->lock);
}

/* One that is not found may still come. */
static bool remove_one(struct dk_client *client, const char *container,
                       struct nt_wait wait)
{
    NACRE_AUTO(dk_json_guard) json_t *inspect = NULL;
    struct nacre_error ignored;

    return dk_container_inspect(client, container, wait, &inspect, &ignored) ==
               NACRE_OK &&
           dk_container_remove(client, container, wait, &ignored) == NACRE_OK;
}

void dk_late_remove(struct dk_late *late, struct dk_client *client, struct nt_wait wait)
{
    struct dk_late_item items[DK_LATE_MAX];
    size_t count;

    (void)pthread_mutex_lock(&late->lock);
    while (late->count > 0 && nacre_clock_ns() >= late->items[0].until_ns)
        drop(late, 0);
    count = late->count;
    memcpy(items, late->items, count * sizeof(items[0]));
    (void)pthread_mutex_unlock(&late->lock);
    for (size_t i = 0; i < count && !nt_wait_is_over(&wait); i++)
        if (remove_one(client, items[i].container, wait))
            forget(late, items[i].container);
}
