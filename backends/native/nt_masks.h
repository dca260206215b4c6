#ifndef NACRE_NATIVE_MASKS_H
#define NACRE_NATIVE_MASKS_H

#include "mounts.h"
#include "nt_user.h"

/*
 * Denied paths where the kernel, not nacre, looks names up: what has to be covered in a
 * sandbox that shows these mounts.
 *
 * A denied name is walked from its mount's fd, component by component, following no
 * link.  The directories on the way become mount points of their own (nobody can rename
 * a mount point), what the name leads to is covered.  A name below a covered one needs
 * nothing more.  Of a name that is not there below a writable mount, the first missing
 * component is made as an empty placeholder and covered; below a read-only mount nobody
 * in the sandbox can make it, and the watch sees when somebody on the host does.  In a
 * directory of the guest's own that can't be written now it is refused,
 * NACRE_ERR_UNAVAILABLE: the guest could change the mode.
 *
 * A link on the way can't be covered, and what it leads to is denied by its own name
 * (nacre_mounts_open() adds that).  Below a read-only mount this is enough.  Below a
 * writable one a guest could put something else in the link's place, so that the denied
 * name were its own: that is refused, NACRE_ERR_UNAVAILABLE, with the name to deny
 * instead.
 *
 * A directory that we or the sandbox's user may not search ends the walk and is covered
 * itself: what lies in it is out of the guest's reach either way, and stays so if its
 * mode changes.  (Nor could init, who is that user, cover or check what lies in it.)
 */
enum nt_mask_kind {
    NT_MASK_NONE,
    NT_MASK_SELF,       /* bind it onto itself: a directory, or a file on the way */
    NT_MASK_COVER_FILE, /* bind the empty file over it */
    NT_MASK_COVER_DIR,  /* bind the empty directory over it */
};

struct nt_mask {
    uint32_t mount; /* index in the mounts */
    char *path;     /* relative to it; "" is the mount itself */
    enum nt_mask_kind kind;
    int fd; /* O_PATH, of what is there now */
};

struct nt_masks;

/* Where the host's whole tree is mounted: does `path`, relative to it, lie in a part that
 * the sandbox has its own of?  What is denied there is the host's, and not to be seen. */
bool nt_masks_is_own(const char *path);

/*
 * `mounts` is borrowed until the masks are freed.  Mounts without an fd (private ones)
 * have nothing to cover; who makes their directories may put the fd in first.  `user` is
 * whom the sandbox runs as.
 * `state_dir` is where placeholders are recorded; those of owners that died are removed
 * here, if they are still empty.  NULL: a missing name below a writable mount is
 * NACRE_ERR_UNAVAILABLE.
 */
NACRE_MUST_CHECK enum nacre_status nt_masks_open(const struct nacre_open_mounts *mounts,
                                                 const struct nt_user *user,
                                                 const char *state_dir,
                                                 struct nt_masks **ret_masks,
                                                 struct nacre_error *err);

/* In the order in which they are to be bound: outer before inner. */
const struct nt_mask *nt_masks_items(const struct nt_masks *masks, size_t *ret_count);

/*
 * Was a denied name, or a directory on the way to one, replaced, made, renamed or removed
 * on the host since?  Once true it stays so: the sandbox has to be built anew.  Cheap,
 * for any thread; fits nt_command.disturbed.
 */
bool nt_masks_changed(void *masks, char *reason, size_t size);
/* Can be read when that may have become true; fits nt_command.disturbed_fd. */
int nt_masks_fd(const struct nt_masks *masks);

/* Removes the placeholders that are still empty, unless another sandbox leans on them:
 * only after the sandbox is gone.  Accepts NULL. */
void nt_masks_free(struct nt_masks *masks);
NACRE_OWNED(nt_masks)

/*
 * What is bound over a denied name: an empty file and an empty directory, both mode 0000
 * and ours, in a directory that only we can enter.  Bind them read-only: a guest that has
 * our uid owns them and could change their mode.
 */
struct nt_covers {
    int file_fd, dir_fd; /* O_PATH */
    char file_path[NACRE_PATH_MAX], dir_path[NACRE_PATH_MAX]; /* for an engine */
};
NACRE_MUST_CHECK enum nacre_status nt_covers_open(const char *state_dir,
                                                  struct nt_covers *ret_covers,
                                                  struct nacre_error *err);
void nt_covers_clear(struct nt_covers *covers);

#endif
