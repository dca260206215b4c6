#ifndef NACRE_DISK_H
#define NACRE_DISK_H

#include <stdbool.h>
#include <stdint.h>

#include "nacre/error.h"

/*
 * A bound on what a directory may hold: an ext4 in a sparse file, mounted over it by a
 * loop device.  Metadata counts, so that a guest gets somewhat less; what it writes
 * beyond is ENOSPC to it and takes nothing more of the host's disk.  For root alone.
 *
 * The device ends with its last mount (autoclear), so that one that was attached by a
 * process that was killed is gone with it.  A mount stays, for every process in this
 * mount namespace, until nacre_disk_unmount() or the machine's end.
 */

/* NACRE_ERR_UNAVAILABLE says what is missing here. */
NACRE_MUST_CHECK enum nacre_status nacre_disk_probe(struct nacre_error *err);

/* Makes the file `name` in `dir_fd`, whole or not at all, with an empty file system. */
NACRE_MUST_CHECK enum nacre_status nacre_disk_make(int dir_fd, const char *name,
                                                   uint64_t bytes, uint64_t deadline_ns,
                                                   struct nacre_error *err);

/*
 * Mounts the file (open to read and write) over the directory `target_fd`, which then is
 * to be opened anew; nosuid, nodev.  The same file never has two devices: two file
 * systems over one file would be the end of both.  So callers hold a lock for the file.
 */
NACRE_MUST_CHECK enum nacre_status nacre_disk_mount(int image_fd, int target_fd,
                                                    struct nacre_error *err);

/* Is the directory that `fd` leads to one in that file? */
bool nacre_disk_holds(int image_fd, int fd);

/* Takes the mount that the directory `fd` lies in away; who uses it keeps it so long. */
NACRE_MUST_CHECK enum nacre_status nacre_disk_unmount(int fd, struct nacre_error *err);

/* How large the loop device is that `fd` lies on; false: on none. */
bool nacre_disk_bound(int fd, uint64_t *ret_bytes);

#endif
