#ifndef DOOR_CONTROL_H
#define DOOR_CONTROL_H

#include "door.h"

/* From now on the orders that come through `fd` are obeyed; the process ends with it. */
bool door_control_watch(struct door *door, int fd);

#endif
