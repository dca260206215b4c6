#ifndef DK_DISK_H
#define DK_DISK_H

#include "dk_site.h"

/*
 * An image's file system as a machine has it: a squashfs, made once for each image and
 * kept in the state directory.  It is exported from a container that never runs, and
 * packed in another that has no network and nothing else to lose: what an image holds is
 * read by no program of the host's.  Its digest is kept behind it; one that is not as it
 * was made is made again.
 */
#define DK_DISKS_MAX 8 /* that are kept; the one that was used least recently goes first */

/* The file, read-only.  Takes as long as the image is large, the first time, and that is
 * not the run's time. */
NACRE_MUST_CHECK enum nacre_status dk_disk_find(struct dk_site *site, const char *image_id,
                                                const struct dk_caller *caller,
                                                char ret_path[NACRE_PATH_MAX],
                                                struct nacre_error *err);

#endif
