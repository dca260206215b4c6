#ifndef NACRE_PROCESS_SPEC_H
#define NACRE_PROCESS_SPEC_H

#include "mounts.h"
#include "nacre/buf.h"
#include "nt_masks.h"
#include "spec.h"

/*
 * A plan as the launcher's list of operations; the last one waits for the sandbox's
 * cgroups (nt_launched_join).  Looks at the host (what of the root's
 * table is there, what the mounts' fds are called), changes nothing.
 */
struct pr_spec_input {
    const struct nacre_plan *plan;
    const struct nacre_open_mounts *mounts;
    const struct nt_mask *masks;
    size_t mask_count;
    uint64_t uid, gid;
    bool landlock;
    uint64_t data_bytes_max; /* RLIMIT_DATA, where no cgroup bounds memory; 0: none */
    const char *mountinfo;   /* of this process */
    int door_fd;       /* a SEQPACKET socket for the listening ones; -1: no door */
    const char *hosts; /* with a door: further lines of /etc/hosts */
    bool certificates, secrets; /* there will be such files */
};

#define PR_HOSTNAME "nacre"

/* Everything is owned but the fds. */
struct pr_spec {
    struct spec_head head;
    struct spec_op *ops;
    size_t op_count, op_room;
    int fds[LAUNCH_FDS_MAX];
    size_t fd_count;
    char **texts; /* that the operations point to */
    size_t text_count, text_room;
};

/* NACRE_ERR_NOT_RUNNABLE when a mount can't be put into a sandbox, by its name. */
NACRE_MUST_CHECK enum nacre_status pr_spec_make(const struct pr_spec_input *input,
                                                struct pr_spec *ret_spec,
                                                struct nacre_error *err);
void pr_spec_clear(struct pr_spec *spec);

/* As the launcher reads it; to be freed by the caller. */
NACRE_MUST_CHECK enum nacre_status pr_spec_pack(const struct pr_spec *spec,
                                                uint8_t **ret_bytes, size_t *ret_count,
                                                struct nacre_error *err);

#endif
