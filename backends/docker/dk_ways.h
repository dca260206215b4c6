#ifndef DK_WAYS_H
#define DK_WAYS_H

#include "dk_api.h"
#include "nacre/engine_ways.h"

/* nacre_engine_ways_find() for these places. */
NACRE_MUST_CHECK enum nacre_status dk_ways_find(const struct dk_places *places,
                                                struct nacre_engine_ways *ret_ways,
                                                struct nacre_error *err);

#endif
