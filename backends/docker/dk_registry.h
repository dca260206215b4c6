#ifndef DK_REGISTRY_H
#define DK_REGISTRY_H

#include "dk_site.h"
#include "nacre/boxes.h"

/*
 * state_dir/boxes/registry.json: which boxes there are, for whoever looks without being
 * their owner.  Nothing rests on it: a box belongs to the process that holds its channel,
 * and the engine's labels say the rest.  Replaced as a whole, under a lock; lost or
 * broken it is made anew from the labels.
 */

/* What the labels say of owners that live. */
NACRE_MUST_CHECK enum nacre_status
dk_registry_labelled(const struct dk_site *site,
                     bool (*each)(void *data, const struct nacre_box_info *info),
                     void *data, struct nacre_error *err);

/* `infos` are all of this owner's; the other owners' that live stay.  Where the file is
 * lost and the engine can't say whose there are, nothing is written. */
NACRE_MUST_CHECK enum nacre_status dk_registry_write(const struct dk_site *site,
                                                     const struct nacre_box_info *infos,
                                                     size_t count,
                                                     struct nacre_error *err);

#endif
