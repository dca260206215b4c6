#ifndef DK_GROUP_H
#define DK_GROUP_H

#include "dk_api.h"

/*
 * The cgroups of a container as the host has them: for a runtime that shows none inside, and
 * to make an end of all that is in one.
 * Found by the process that the engine names, and only believed if they are called by the
 * container's id: an engine that names another process names other groups.
 */
struct dk_group;

/* The container has been started.  NACRE_ERR_UNAVAILABLE: they are not seen from here. */
NACRE_MUST_CHECK enum nacre_status dk_group_open(struct dk_client *client, const char *id,
                                                 bool is_cgroup2, struct nt_wait wait,
                                                 struct dk_group **ret_group,
                                                 struct nacre_error *err);
void dk_group_free(struct dk_group *group); /* accepts NULL */
NACRE_OWNED(dk_group)

/* What `file` says ("memory/memory.limit_in_bytes"; v2 has no controller in front), with
 * a terminator; "error ..." where it can't be read. */
#define DK_GROUP_TEXT 256
const char *dk_group_read(const struct dk_group *group, const char *file,
                          char ret_text[DK_GROUP_TEXT]);

/*
 * The kernel's kills for memory.  The group goes with its last process, and what it has
 * counted with it: where the kernel sounds an alarm (v1, for root) that tells afterwards,
 * elsewhere what was last looked at.  One command at a time; look() from any thread.
 */
uint64_t dk_group_begin(struct dk_group *group); /* the kills so far */
void dk_group_look(struct dk_group *group);
bool dk_group_ran_out(struct dk_group *group, uint64_t kills_before);

/* False: it is another user's, or an engine's that gives its containers users of their
 * own, and only the engine can end it. */
bool dk_group_may_kill(const struct dk_group *group);

/* No process in it can make another from now on.  False: only the engine may say so. */
bool dk_group_stop_forks(const struct dk_group *group);

/*
 * Kills all that is in the container of this id and waits until it is gone: as root, or
 * as the user that the container runs as.  Where it holds thousands that want the
 * processor, the engine's own kill waits for its first process to get a turn among them.
 * False: it was not to be done from here, or in time.
 */
bool dk_group_kill(const struct dk_group *group, const char *id, struct nt_wait wait);

#endif
