#ifndef DK_WAYS_H
#define DK_WAYS_H

#include "dk_api.h"

/*
 * What no guest may see of the way to the engine: its socket, and the keys that an engine
 * behind TLS knows the caller by.  Each by the name that it is called by and by the one
 * that links lead to; what is not there yet too.
 */
#define DK_WAYS_MAX 12

struct dk_ways {
    char *paths[DK_WAYS_MAX + 1]; /* normalised, absolute, NULL-terminated */
    size_t count;
};

/* Nothing is connected.  A configuration that names no usable engine leaves what the
 * environment names: that the engine can't be spoken to is for whoever needs it.  The
 * default socket is always among them: that another one is chosen does not close it. */
NACRE_MUST_CHECK enum nacre_status dk_ways_find(const struct dk_places *places,
                                                struct dk_ways *ret_ways,
                                                struct nacre_error *err);
void dk_ways_clear(struct dk_ways *ways);

#endif
