#ifndef NACRE_MOUNTS_H
#define NACRE_MOUNTS_H

#include "nacre/error.h"
#include "nacre/own.h"
#include "nacre/path.h"
#include "nacre/plan.h"

/*
 * A plan's mounts, opened: each host directory is looked up once, here, and only
 * its fd is used from then on.  Denied names are judged again by the directories'
 * real names, because a plan knows only what a caller wrote.
 */
struct nacre_open_mount {
    const struct nacre_mount *mount; /* the plan's */
    int fd;                          /* -1 for a private one */
    char **denied;                   /* the plan's and those found here */
    uint32_t denied_count;
};

struct nacre_open_mounts {
    struct nacre_open_mount *items;
    uint32_t count;
    bool has_private;
};

/*
 * `protected` (NULL-terminated, may be NULL): nacre's own directories, denied in
 * every mount that is above them.  NACRE_ERR_NOT_RUNNABLE blames the line of the mount
 * that is missing, is no directory, lies on a kernel filesystem or within a denied path.
 */
NACRE_MUST_CHECK enum nacre_status nacre_mounts_open(const struct nacre_plan *plan,
                                                     const char *const *protected_paths,
                                                     struct nacre_open_mounts *ret_mounts,
                                                     struct nacre_error *err);
void nacre_mounts_clear(struct nacre_open_mounts *mounts);

/* Which directories these are, in a number; and are those that the plan's names lead to
 * now still the same?  Who keeps them open from run to run has to ask: somebody may have
 * put others in their place. */
uint64_t nacre_mounts_places(const struct nacre_open_mounts *mounts);
bool nacre_mounts_are_at(const struct nacre_plan *plan, uint64_t places);

/* NACRE_ERR_NOT_RUNNABLE, for the mount's line: "mount 'GUEST': ..." */
enum nacre_status nacre_mount_refuse(const struct nacre_mount *mount, const char *fix,
                                     struct nacre_error *err, const char *format, ...)
    __attribute__((format(printf, 4, 5), nonnull));

/* The name that the kernel has for an fd, links resolved. */
bool nacre_mounts_real_name(int fd, char ret_path[NACRE_PATH_MAX]);

#endif
