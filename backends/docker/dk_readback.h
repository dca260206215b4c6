#ifndef DK_READBACK_H
#define DK_READBACK_H

#include <jansson.h>

#include "nacre/error.h"

/*
 * The first of two read-backs: is the container that the engine says it made the one that
 * was asked for?  `body` is what create was sent, `inspect` what the engine answers.
 * What was asked for must be there with the same value, what was not asked for must be
 * empty, and there may be no mount but ours.  NACRE_ERR_UNAVAILABLE names the field, what
 * was asked and what came.
 *
 * This proves only that the engine understood: it repeats values that it does not
 * enforce.  The second read-back (dk_report.h) asks the kernel.
 */
NACRE_MUST_CHECK enum nacre_status dk_readback(const json_t *body, const json_t *inspect,
                                               struct nacre_error *err);

#endif
