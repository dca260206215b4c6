#ifndef DOOR_REVOKED_H
#define DOOR_REVOKED_H

#include "door.h"

/* The list of revoked tokens (see nacre/door_control.h), instead of the one that was
 * there; takes over the fd. */
void door_revoked_set(struct door *door, int fd);

/* Asked at each use, so that a run under way has its token no longer than its issuer
 * wants.  A list that can't be read, or that is no longer where it is written to, revokes
 * all of them. */
bool door_revoked(const struct door *door, const struct nacre_digest *digest);

#endif
