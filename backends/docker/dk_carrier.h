#ifndef DK_CARRIER_H
#define DK_CARRIER_H

#include "dk_caller.h"

/*
 * Init, and the cover of denied names, for an engine that does not see nacre's files: on
 * another machine, or where nacre itself is in a container.
 *
 * They come as an image with one layer, whose digest nacre knows before the engine says
 * it, since nacre wrote the layer.  A container of that image, the carrier, is made and
 * never started; when the engine makes it, it copies what is in the image into two
 * volumes of the carrier's own.  Sandboxes mount these read-only, where otherwise the
 * host's files are bound.  So it stays a mount over whatever the image of a sandbox has
 * at that place, and no image has a say in what pid 1 is: a link there moves the mount,
 * and the entry's path with it.
 *
 * What is trusted is the engine: to copy a layer whole before it says that the carrier
 * is there, and to let nobody but its own administrators write to the volumes.
 */

/* The names of the two volumes. */
struct dk_carried {
    char init[DK_ID];  /* a directory with DK_CARRIED_INIT in it */
    char cover[DK_ID]; /* an empty directory, root's, mode 0000 */
};
#define DK_CARRIED_INIT "init"

/* Finds the carrier of this nacre's init, or makes it; one that serves no more is
 * removed then.  To make it is not the run's time.  NACRE_ERR_UNAVAILABLE: something else
 * has its name. */
NACRE_MUST_CHECK enum nacre_status dk_carrier_find(struct dk_client *client,
                                                   const struct dk_caller *caller,
                                                   struct dk_carried *ret_carried,
                                                   struct nacre_error *err);

#endif
