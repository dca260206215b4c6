#ifndef DK_SITE_H
#define DK_SITE_H

#include <stdatomic.h>

#include "dk_caller.h"
#include "dk_far.h"
#include "dk_known.h"
#include "dk_late.h"
#include "dk_owner.h"
#include "nacre/executor.h"
#include "nt_masks.h"

/*
 * What all containers of an executor share: the engine, the file with our init, the
 * covers.  Immutable once open but for what locks itself, and so usable from several
 * threads.
 */
struct dk_site {
    const struct nacre_executor_options *options; /* borrowed */
    uint32_t engine_ms_max; /* as in the options */
    struct dk_client *client;
    struct dk_owner *owner;
    struct nt_covers covers;
    struct dk_known known;
    struct dk_late late;
    char init_path[NACRE_PATH_MAX];
    char initrd_path[NACRE_PATH_MAX]; /* init as a machine's first file system has it */
    char boot_id[64];
    char **masked; /* NULL-terminated: what of /proc and /sys no guest sees */
    bool is_cgroup2;  /* of the engine's machine */
    bool has_filters; /* the kernel tells how many seccomp filters a process is under */
    json_t *info;     /* the engine's own words */
    /* The engine's runtimes that say they are; NULL: none.  In info. */
    const char *gvisor, *firecracker, *kata;
    _Atomic bool is_far; /* the engine has been seen not to see nacre's files */
    struct dk_far far;
    _Atomic uint64_t whole_disk; /* the inode of the last that dk_disk found to be so */
};

/*
 * Also removes what dead owners left in the engine.  NACRE_ERR_UNAVAILABLE says where the
 * engine was looked for, and what to do.
 */
NACRE_MUST_CHECK enum nacre_status
dk_site_open(const struct nacre_executor_options *options, const struct dk_caller *caller,
             struct dk_site **ret_site, struct nacre_error *err);
void dk_site_free(struct dk_site *site); /* removes what is late; accepts NULL */
NACRE_OWNED(dk_site)

/* For a call to the engine: every one has its own time, and is bounded by its caller's. */
static inline struct nt_wait dk_site_within(const struct dk_site *site,
                                            const struct dk_caller *caller, uint32_t ms)
{
    return dk_caller_within(caller, site->engine_ms_max && site->engine_ms_max < ms
                                        ? site->engine_ms_max : ms);
}

/* The same for a call that has to be made whoever waits: to take something away. */
static inline struct nt_wait dk_site_surely(const struct dk_site *site, uint32_t ms)
{
    const struct dk_caller nobody = { 0 };

    return dk_site_within(site, &nobody, ms);
}

/* Removes what was given up and is there by now; not beyond the caller's time. */
void dk_site_remove_late(struct dk_site *site, const struct dk_caller *caller);

/* Does the engine's info say so: "MemoryLimit", "PidsLimit", ... */
bool dk_site_says(const struct dk_site *site, const char *key);

/* A limit of disk space for a container's own layer: can the engine's driver do that? */
bool dk_site_has_quota(const struct dk_site *site);

#endif
