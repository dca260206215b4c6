#ifndef NACRE_KEEPER_ENGINE_H
#define NACRE_KEEPER_ENGINE_H

#include <jansson.h>

#include "nacre/error.h"

/*
 * Which container engine is meant.  A keeper speaks to the one that its own environment
 * names; a client whose environment names another must not end up there.
 */

/* What this process's environment says of it; NULL when memory is short. */
json_t *keeper_engine(void);

/* NACRE_ERR_UNAVAILABLE names the variable that is another's. */
NACRE_MUST_CHECK enum nacre_status keeper_engine_check(const json_t *theirs,
                                                       struct nacre_error *err);

#endif
