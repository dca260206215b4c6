#include "locked.h"

#include <string.h>

#include "door.h"
#include "nacre/locked.h"

#define ROOM_FIRST 4096

bool door_locked_add(struct door_locked *locked, const void *bytes, size_t count)
{
    size_t room = locked->room ? locked->room : ROOM_FIRST;
    char *grown;

    if (count > DOOR_LOCKED_MAX - locked->size)
        return false;
    while (room < locked->size + count)
        room *= 2;
    if (room != locked->room) {
        grown = door_locked_new(room);
        if (!grown)
            return false;
        if (locked->size > 0)
            memcpy(grown, locked->bytes, locked->size);
        nacre_locked_free(locked->bytes, locked->room);
        locked->bytes = grown;
        locked->room = room;
    }
    if (count > 0)
        memcpy(locked->bytes + locked->size, bytes, count);
    locked->size += count;
    return true;
}

void door_locked_clear(struct door_locked *locked)
{
    nacre_locked_free(locked->bytes, locked->room);
    *locked = (struct door_locked){ 0 };
}
