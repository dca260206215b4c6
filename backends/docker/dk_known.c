#include "dk_known.h"

#include <stdlib.h>
#include <string.h>

#define ITEMS_MAX 4096 /* then all is forgotten, and asked for anew */

struct dk_known_item {
    char *image, *path;
    enum dk_kind kind;
};

static void forget(struct dk_known *known)
{
    for (size_t i = 0; i < known->count; i++) {
        free(known->items[i].image);
        free(known->items[i].path);
    }
    known->count = 0;
}

void dk_known_init(struct dk_known *known)
{
    *known = (struct dk_known){ 0 };
    (void)pthread_mutex_init(&known->lock, NULL);
}

void dk_known_clear(struct dk_known *known)
{
    forget(known);
    free(known->items);
    (void)pthread_mutex_destroy(&known->lock);
}

static struct dk_known_item *find(const struct dk_known *known, const char *image,
                                  const char *path)
{
    for (size_t i = 0; i < known->count; i++)
        if (strcmp(known->items[i].image, image) == 0 &&
            strcmp(known->items[i].path, path) == 0)
            return &known->items[i];
    return NULL;
}

enum dk_kind dk_known_find(struct dk_known *known, const char *image, const char *path)
{
    const struct dk_known_item *item;
    enum dk_kind kind;

    (void)pthread_mutex_lock(&known->lock);
    item = find(known, image, path);
    kind = item ? item->kind : DK_KIND_UNKNOWN;
    (void)pthread_mutex_unlock(&known->lock);
    return kind;
}

static bool append(struct dk_known *known, const char *image, const char *path,
                   enum dk_kind kind)
{
    struct dk_known_item item = { strdup(image), strdup(path), kind };
    struct dk_known_item *grown = NULL;

    if (known->count == ITEMS_MAX)
        forget(known);
    if (item.image && item.path)
        grown = realloc(known->items, (known->count + 1) * sizeof(*grown));
    if (!grown) {
        free(item.image);
        free(item.path);
        return false;
    }
    known->items = grown;
    known->items[known->count++] = item;
    return true;
}

bool dk_known_add(struct dk_known *known, const char *image, const char *path,
                  enum dk_kind kind)
{
    struct dk_known_item *item;
    bool kept = true;

    (void)pthread_mutex_lock(&known->lock);
    item = find(known, image, path);
    if (item)
        item->kind = kind;
    else
        kept = append(known, image, path, kind);
    (void)pthread_mutex_unlock(&known->lock);
    return kept;
}
