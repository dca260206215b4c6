#ifndef DK_SETUP_H
#define DK_SETUP_H

#include <stdatomic.h>

#include "dk_site.h"

/*
 * A policy's setup command: run once, as root with the engine's default capabilities and
 * a writable root, in a container of its own without workspace, secrets or network.  What
 * it left is kept as the image nacre-setup:<hash of base and command> and found there the
 * next time.
 *
 * `image` has the base's id, and on success the id of the image to run.  When the command
 * fails NACRE_ERR_UNAVAILABLE has its last words, and nothing is left of it.
 */
NACRE_MUST_CHECK enum nacre_status dk_setup_image(struct dk_site *site,
                                                  const char *command,
                                                  const _Atomic int *cancelled,
                                                  char image[DK_IMAGE_ID],
                                                  struct nacre_error *err);

#endif
