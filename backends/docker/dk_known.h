#ifndef DK_KNOWN_H
#define DK_KNOWN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/*
 * What a denied name is in an image, remembered: an image never changes, and only a
 * container of it can tell.  For any thread.
 */
enum dk_kind {
    DK_KIND_UNKNOWN,
    DK_KIND_MISSING, /* or out of a guest's reach, which comes to the same */
    DK_KIND_FILE,    /* whatever is no directory */
    DK_KIND_DIR,
};

struct dk_known {
    pthread_mutex_t lock; /* over what follows */
    struct dk_known_item *items;
    size_t count;
};

void dk_known_init(struct dk_known *known);
void dk_known_clear(struct dk_known *known);

enum dk_kind dk_known_find(struct dk_known *known, const char *image, const char *path);

/* False when memory is short. */
bool dk_known_add(struct dk_known *known, const char *image, const char *path,
                  enum dk_kind kind);

#endif
