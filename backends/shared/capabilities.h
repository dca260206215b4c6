#ifndef NACRE_CAPABILITIES_H
#define NACRE_CAPABILITIES_H

#include "nacre/error.h"

/*
 * Give up, for good, every capability of this process but those that let root read
 * and write the files of others below its mounts (dac_override, dac_read_search,
 * fowner).  Nothing to do for an ordinary user, who has none.
 */
NACRE_MUST_CHECK enum nacre_status nacre_capabilities_drop(struct nacre_error *err);

#endif
