#ifndef DK_LATE_H
#define DK_LATE_H

#include <pthread.h>
#include <stdbool.h>

#include "dk_api.h"

/*
 * Containers that nobody waits for any more and that could not be removed: an engine that
 * is left while it creates one goes on, and knows of it only when it is done.  Each is
 * tried again for as long as a creation may take.  For any thread.
 */
#define DK_LATE_MAX 32  /* then the oldest is left to who finds it by its labels */
#define DK_LATE_MS 1000 /* for one try of all: whoever makes it has other things to do */

struct dk_late {
    pthread_mutex_t lock; /* over what follows */
    struct dk_late_item {
        char container[DK_ID]; /* an id, or a name that is never used twice */
        uint64_t until_ns;
    } items[DK_LATE_MAX]; /* the oldest first */
    size_t count;
};

void dk_late_init(struct dk_late *late);
void dk_late_clear(struct dk_late *late);

void dk_late_add(struct dk_late *late, const char *container);
bool dk_late_any(struct dk_late *late);

/* Removes those that are there by now. */
void dk_late_remove(struct dk_late *late, struct dk_client *client, struct nt_wait wait);

#endif
