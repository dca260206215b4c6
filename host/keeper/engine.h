#ifndef NACRE_KEEPER_ENGINE_H
#define NACRE_KEEPER_ENGINE_H

#include <jansson.h>

#include "nacre/error.h"

/*
 * Which container engine is meant.  A keeper speaks to the one that its own environment
 * and its own host.yaml name; a client for whom these name another must not end up there.
 */
struct keeper_configured {
    const char *host, *certificates; /* of host.yaml; or NULL */
};

/* What this process's environment and configuration say of it; NULL when memory is
 * short. */
json_t *keeper_engine(const struct keeper_configured *configured);

/* NACRE_ERR_UNAVAILABLE names the variable, or the key, that is another's. */
NACRE_MUST_CHECK enum nacre_status
keeper_engine_check(const json_t *theirs, const struct keeper_configured *configured,
                    struct nacre_error *err);

#endif
