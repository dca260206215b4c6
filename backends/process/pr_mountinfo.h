#ifndef NACRE_PROCESS_MOUNTINFO_H
#define NACRE_PROCESS_MOUNTINFO_H

#include <stdbool.h>

#include "nacre/path.h"

/* Lines of /proc/self/mountinfo, the host's or a sandbox's. */
struct pr_mount_line {
    char path[NACRE_PATH_MAX]; /* where it is mounted */
    char type[64];
};

/* Reads the line at *text and goes on to the next; false at the end, and for a line that
 * is not in the kernel's form (*ret_broken). */
bool pr_mountinfo_next(const char **text, struct pr_mount_line *ret_line,
                       bool *ret_broken);

/* A filesystem by which the kernel shows or takes orders about itself, or devices. */
bool pr_mountinfo_is_kernel(const struct pr_mount_line *line);

#endif
