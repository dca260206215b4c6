#ifndef NACRE_PROCESS_PROBE_H
#define NACRE_PROCESS_PROBE_H

#include <stdbool.h>

#include "nacre/error.h"

/*
 * What a sandbox of level process needs and can be found out at little cost: system call
 * filters, the mount calls of Linux 5.12, and no setting that forbids user namespaces.
 * The rest shows when the first sandbox is made.  `proc` is "/proc"; `privileged`: this
 * process is root, to whom some of the settings do not apply.
 * NACRE_ERR_UNAVAILABLE names what is missing and what to do.
 */
NACRE_MUST_CHECK enum nacre_status pr_probe(const char *proc, bool privileged,
                                            struct nacre_error *err);

#endif
