#ifndef DK_FAR_H
#define DK_FAR_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "nacre/error.h"
#include "nt_box.h"

/*
 * Sandboxes on a machine whose /proc and /sys nacre can't look at beforehand.  What of them
 * is to be covered is known by name; what is there is asked from inside, and a name that
 * was not known is from then on.  For any thread.
 */
#define DK_FAR_MAX 64

struct dk_far {
    pthread_mutex_t lock; /* over what follows */
    char *found[DK_FAR_MAX]; /* beyond dk_far_known; they stay as long as this does */
    size_t count;
};
void dk_far_init(struct dk_far *far);
void dk_far_clear(struct dk_far *far);

/* What some kernel has; NULL-terminated. */
extern const char *const dk_far_known[];

/* All that is known, as struct dk_order has it; the caller frees the array alone.  NULL
 * when memory is short. */
char **dk_far_masked(struct dk_far *far);

/* NULL-terminated. */
extern const char *const dk_far_questions[];

/*
 * NACRE_ERR_UNAVAILABLE names what of the engine's machine was to be covered by `masked`,
 * or to be read-only, and is not.  *ret_again: there is more than that, and it is known
 * from now on; else it is left as it was.
 */
NACRE_MUST_CHECK enum nacre_status dk_far_judge(struct dk_far *far, char *const *masked,
                                                const struct nt_box *box, bool *ret_again,
                                                struct nacre_error *err);

/* Does a kernel of this version tell how many seccomp filters there are? */
bool dk_far_has_filters(const char *version);

#endif
