#ifndef NACRE_NATIVE_WATCH_H
#define NACRE_NATIVE_WATCH_H

#include <stdbool.h>
#include <sys/stat.h>

#include "nacre/error.h"
#include "nacre/own.h"

/*
 * Names in directories, watched for becoming something else.  Events are the quick way to
 * know; where some were lost, what is there is compared with what was there.
 */
struct nt_watch;
NACRE_MUST_CHECK enum nacre_status nt_watch_new(struct nt_watch **ret_watch,
                                                struct nacre_error *err);
void nt_watch_free(struct nt_watch *watch); /* accepts NULL */
NACRE_OWNED(nt_watch)

/* `info` is what the name is now, NULL for nothing; `shown` is what a message calls it.
 * A name that is watched already stays as it was given first. */
NACRE_MUST_CHECK enum nacre_status nt_watch_add(struct nt_watch *watch, int dir_fd,
                                                const char *name, const struct stat *info,
                                                const char *shown,
                                                struct nacre_error *err);

/* From here on nothing is missed.  NACRE_ERR_UNAVAILABLE when a name has changed since it
 * was added, or can't be watched. */
NACRE_MUST_CHECK enum nacre_status nt_watch_arm(struct nt_watch *watch,
                                                struct nacre_error *err);

/* For any thread.  Once true it stays so. */
bool nt_watch_changed(struct nt_watch *watch, char *reason, size_t size);

/* To be polled: can be read when nt_watch_changed() may have become true.  0: it is not
 * armed. */
int nt_watch_fd(const struct nt_watch *watch);

#endif
