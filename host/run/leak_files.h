#ifndef NACRE_RUN_LEAK_FILES_H
#define NACRE_RUN_LEAK_FILES_H

#include <time.h>

#include "nacre/leak.h"
#include "nacre/plan.h"

/*
 * Looks through what was changed since `since` in the plan's writable mounts, within
 * bounds; findings are replaced in the files, told as denials of code leak-in-file, and
 * counted.  What could not be looked at is told too, by code leak-unscanned.  What the
 * guest could not reach is left alone: denied paths, and `protected_paths`
 * (NULL-terminated, or NULL), which are nacre's own.
 */
void run_leak_files(const struct nacre_leaks *scanner, const struct nacre_plan *plan,
                    const char *const *protected_paths, struct timespec since,
                    struct nacre_result *result, struct nacre_leak_counts *counts);

#endif
