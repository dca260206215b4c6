#ifndef DK_BOX_MADE_H
#define DK_BOX_MADE_H

#include <pthread.h>
#include <stdatomic.h>

#include "dk_box.h"
#include "dk_group.h"
#include "dk_parts.h"
#include "dk_vm.h"

/* What dk_box.c makes and dk_box_run.c runs commands in; of these two alone. */
struct dk_box {
    struct dk_parts parts;
    char id[DK_ID]; /* "" until there is a container */
    char name[DK_NAME];
    struct nacre_digest made_of;
    struct nt_box *box;
    struct dk_vm *vm; /* the machine in it; else NULL */
    struct dk_group *group; /* gVisor's, on the host; else NULL */
    struct dk_group *end_group; /* to end all of it by, where a cover may fall off and
                                   nacre may do so; else NULL */
    uint64_t started_s;     /* since 1970 */
    _Atomic bool ended;     /* by dk_box_kill() */
    _Atomic bool hurried;   /* the last run in it had no more time, or was cancelled */
    pthread_mutex_t turn; /* of commands that can't run at once: see run() */
};

static inline bool dk_box_is_gvisor(const struct dk_box *box)
{
    return box->parts.kernel == DK_KERNEL_GVISOR;
}

/* To the init that runs commands. */
static inline struct nt_box *dk_box_commands(const struct dk_box *box)
{
    return box->vm ? dk_vm_box(box->vm) : box->box;
}

#endif
