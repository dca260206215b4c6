#ifndef NACRE_ENGINE_WAYS_H
#define NACRE_ENGINE_WAYS_H

#include <stddef.h>

#include "nacre/error.h"
#include "nacre/own.h"

/*
 * What no guest of any level may see of the way to the engine: its socket, and the keys
 * that an engine behind TLS knows the caller by.  Each by the name that it is called by
 * and by the one that links lead to; what is not there yet too.
 */
#define NACRE_ENGINE_WAYS_MAX 16

struct nacre_engine_ways {
    char *paths[NACRE_ENGINE_WAYS_MAX + 1]; /* normalised, absolute, NULL-terminated */
    size_t count;
};

/*
 * As the environment, the docker program's own files and the operator's host.yaml (the
 * engine's address and the directory of its keys; both may be NULL) have it now; nothing
 * is connected.
 * A configuration that names no usable engine leaves what the environment names: that the
 * engine can't be spoken to is for whoever needs it.  The default socket is always among
 * them: that another one is chosen does not close it.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_engine_ways_find(const char *host, const char *certificates,
                       struct nacre_engine_ways *ret_ways, struct nacre_error *err);
void nacre_engine_ways_clear(struct nacre_engine_ways *ways);

#endif
