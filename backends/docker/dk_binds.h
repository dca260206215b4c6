#ifndef DK_BINDS_H
#define DK_BINDS_H

#include "dk_carrier.h"
#include "dk_create.h"
#include "dk_known.h"
#include "mounts.h"
#include "nt_masks.h"

/*
 * What of the host a container sees: the plan's mounts, opened and kept; each directory
 * on the way to a denied name bound onto itself; covers over the denied names; init.
 * The engine is told paths, since it takes nothing else; that it found the very
 * directories that nacre holds is for the report to prove.
 */
struct dk_binds {
    struct nacre_open_mounts *mounts; /* of its own: the masks know it by its place */
    struct nt_masks *masks;
    struct dk_bind *items; /* outer before inner; the texts are owned by `texts` */
    size_t count, room;
    char **covered; /* targets that init must find covered; NULL-terminated, borrowed */
    size_t covered_count;
    char **texts;
    size_t text_count, text_room;
};

/* Of nacre's own, beside init: no mount of a plan's, and so judged by nobody. */
struct dk_extra {
    const char *path, *target;
    bool writable;
};

struct dk_binds_input {
    const struct nacre_plan *plan;
    const char *const *protected_paths;
    const char *state_dir;
    const struct nacre_executor_options *options; /* as nacre_binds_check() takes them */
    const struct nt_covers *covers;
    const char *init_path, *init_target; /* of the file with our init */
    const struct dk_carried *carried; /* what the engine has instead of nacre's files */
    const char *image_id;
    struct dk_known *known; /* what of the plan's denied_root is there, and what not */
    uint32_t uid, gid;
    const struct dk_extra *extra;
    size_t extra_count;
};

/* NACRE_ERR_NOT_RUNNABLE names the mount that can't be. */
NACRE_MUST_CHECK enum nacre_status dk_binds_open(const struct dk_binds_input *input,
                                                 struct dk_binds *ret_binds,
                                                 struct nacre_error *err);
/* Is anything of the host's own in it? */
bool dk_binds_has_host(const struct dk_binds *binds);
void dk_binds_clear(struct dk_binds *binds); /* after the container is gone */

/*
 * Names of the image's own that are denied, and that are not known to be there or not:
 * the Nth, or NULL.  Whoever sees a container of the image tells by dk_binds_learn().
 */
const char *dk_binds_unknown(const struct dk_binds_input *input, size_t n);
NACRE_MUST_CHECK enum nacre_status dk_binds_learn(const struct dk_binds_input *input,
                                                  const char *path, enum dk_kind kind,
                                                  struct nacre_error *err);

#endif
