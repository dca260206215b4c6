#ifndef NACRE_CGROUP_DIR_H
#define NACRE_CGROUP_DIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "nacre/error.h"

/*
 * Directories of cgroups that are ours, known by their names: the process that made them
 * and when it started, which is unique while the machine is up.  So whoever comes later
 * can tell which of them nobody owns any more.
 */
struct nacre_cgroup_owner {
    pid_t pid;
    uint64_t started;
};

#define NACRE_CGROUP_NAME 64

NACRE_MUST_CHECK enum nacre_status
nacre_cgroup_owner_self(struct nacre_cgroup_owner *ret_owner, struct nacre_error *err);

/* One that nobody has had. */
NACRE_MUST_CHECK enum nacre_status
nacre_cgroup_name(const struct nacre_cgroup_owner *owner,
                  char ret_name[NACRE_CGROUP_NAME], struct nacre_error *err);

/*
 * Remove what owners that are gone have left below `dir_fd`.  What still holds a process
 * stays; it is thawed, since one that is frozen could not even see that it should end.
 */
void nacre_cgroup_remove_leftovers(int dir_fd);

/* rmdir, waiting up to `ms_max` for the kernel to let go of processes that have ended.
 * True when it is gone. */
bool nacre_cgroup_remove(int parent_fd, const char *name, unsigned ms_max);

/* A cgroup's file, in one write; false with errno. */
bool nacre_cgroup_write(int dir_fd, const char *name, const char *text);
bool nacre_cgroup_write_number(int dir_fd, const char *name, uint64_t value);

/* What a cgroup's file says, as far as it fits, terminated; "" when it can't be read. */
void nacre_cgroup_read(int dir_fd, const char *name, char *ret_text, size_t size);

/* v1's cpu.shares as v2's cpu.weight. */
uint64_t nacre_cgroup_weight(uint64_t shares);

/* Kills what is listed in the cgroup and says, by /proc, that it belongs to `name`, a part
 * of a path that nobody else's has.  False: it lists none. */
bool nacre_cgroup_kill_listed(int dir_fd, const char *name);

void nacre_cgroup_pause_ms(unsigned ms);

#endif
