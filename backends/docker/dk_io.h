#ifndef DK_IO_H
#define DK_IO_H

#include "dk_create.h"
#include "dk_site.h"

/*
 * The disks whose operations a container's cgroup bounds or weighs: that of each thing of
 * the host which it sees, and that of the engine's own files, its image among them.
 *
 * A disk counts when it is certain that a write which waits in the kernel's
 * memory is counted for the container that wrote it.  That takes cgroup v2 with the
 * controllers io and memory, and a file system that tells the kernel whose each page is:
 * ext4 without data=journal is the one that this was tried with.  What lies in memory is
 * on no disk.
 */

/* Where it is looked up: the kernel's, but for tests. */
struct dk_io_places {
    const char *mounts; /* the text of a mountinfo */
    const char *blocks; /* "/sys/dev/block" */
    const char *nodes;  /* "/dev" */
};

/* Adds the disk of what `device` (as stat has it) says, once.  NACRE_ERR_UNAVAILABLE:
 * `what` lies on none that can be bounded. */
NACRE_MUST_CHECK enum nacre_status dk_io_add(const struct dk_io_places *places,
                                             uint64_t device, const char *what,
                                             struct dk_io *io, struct nacre_error *err);

/* Has every disk the scheduler that goes by weights?  NACRE_ERR_UNAVAILABLE names one
 * that has not. */
NACRE_MUST_CHECK enum nacre_status dk_io_weighs(const struct dk_io_places *places,
                                                const struct dk_io *io,
                                                struct nacre_error *err);

/* All of them, for what the plan says; none when it says nothing of disks' operations.
 * NACRE_ERR_UNAVAILABLE names the line that can't be held, and why. */
NACRE_MUST_CHECK enum nacre_status dk_io_find(const struct dk_site *site,
                                              const struct nacre_container *container,
                                              const struct dk_bind *binds, size_t count,
                                              struct dk_io *ret_io,
                                              struct nacre_error *err);

/* The key of the line that it is about. */
const char *dk_io_rule(const struct nacre_container *container);

/* Can operations be bounded, or weighed, here at all? */
NACRE_MUST_CHECK enum nacre_status dk_io_probe(const struct dk_site *site, bool weighs,
                                               struct nacre_error *err);

#endif
