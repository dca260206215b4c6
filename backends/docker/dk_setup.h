#ifndef DK_SETUP_H
#define DK_SETUP_H

#include "dk_site.h"
#include "nacre/plan.h"

/*
 * A policy's setup command: run once, as root with the engine's default capabilities and
 * seccomp profile and a writable root, in a container of its own without workspace or
 * secrets.  It has the door that the plan's commands have, and no other network.  What it
 * left is kept as the image nacre-setup:<hash of base and command> and found there the
 * next time.
 *
 * `image` has the base's id, and on success the id of the image to run.  When the command
 * fails NACRE_ERR_UNAVAILABLE has its last words, and nothing is left of it.
 */
NACRE_MUST_CHECK enum nacre_status dk_setup_image(struct dk_site *site,
                                                  const struct nacre_plan *plan,
                                                  const struct dk_caller *caller,
                                                  char image[DK_IMAGE_ID],
                                                  struct nacre_error *err);

#endif
