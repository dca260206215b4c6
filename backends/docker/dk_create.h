#ifndef DK_CREATE_H
#define DK_CREATE_H

#include <jansson.h>

#include "nacre/hash.h"
#include "nacre/path.h"
#include "nacre/plan.h"

/*
 * A plan as the engine takes it.  Pure: what had to be looked up (directories, the user,
 * the image) is in the order.
 */

/* Where init lies in every container.  It is static, and bound from the host or carried to
 * an engine that does not see it there (dk_carrier.h), so no image lacks what it needs;
 * one for another architecture, or with a link of this name, is refused.  So there is no
 * second way by the engine's exec, which would be one without nacre's seccomp, network,
 * secrets and speed. */
#define DK_INIT_TARGET "/.nacre-init"
/* Where the root becomes an image: on the engine's own tmpfs, so that the place which the
 * engine makes for it is none of the root's. */
#define DK_INIT_TARGET_SETUP "/dev/.nacre-init"

/* For memory_swap_bytes: the engine's kernel can't bound it, and nobody insists. */
#define DK_SWAP_UNBOUND UINT64_MAX

/* Something of the host, or carried to the engine, that the container sees. */
struct dk_bind {
    const char *source; /* as the engine opens it; of a volume its name */
    const char *target;
    bool writable;
    bool is_dir;
    bool volume;   /* of dk_carrier.h's, a directory; the numbers and fd say nothing */
    bool in_image; /* over a name of the image's own, which may be a link there */
    uint64_t device, inode; /* of what nacre holds: another one is another sandbox */
    int fd; /* of it, O_PATH; borrowed; -1 for what is known by its mode or as init */
};

/* Disks whose operations are bounded. */
#define DK_IO_DISKS_MAX 8
struct dk_io_disk {
    unsigned major_number, minor_number;
    char node[128]; /* as the engine opens it */
};
struct dk_io {
    struct dk_io_disk disks[DK_IO_DISKS_MAX];
    size_t count;
};

/* Of /proc, what nobody in a container may write to: the engines' own list, told so that
 * another one shows.  NULL-terminated. */
extern const char *const dk_create_readonly[];
#define DK_READONLY "ro nosuid nodev noexec type=proc" /* as a report has it */

struct dk_order {
    const struct nacre_plan *plan;
    const char *runtime; /* of the engine's, by name; NULL: as the engine has it */
    const char *image_id; /* the image that was looked up: a tag can move meanwhile */
    uint32_t uid, gid;
    const struct dk_bind *binds; /* outer before inner */
    size_t bind_count;
    const char *seccomp_json; /* NULL: the engine's own profile */
    char *const *masked;      /* NULL-terminated; NULL: as the engine has it */
    uint64_t layer_bytes_max; /* of the container's own layer; 0: no limit */
    bool far; /* init is carried: what is mounted is a directory with it */
    const struct dk_io *io; /* for disk_iops; NULL only without it */
    bool setup; /* dk_setup.c's: commands have the engine's seccomp profile alone */
    const char *device; /* of the host's; NULL: none.  No policy can ask for one */
    uint32_t device_gid; /* whom it is open to */
    const char *const *labels; /* NULL-terminated "K=V" */
    /* Of the container around a machine: what is in it; else NULL. */
    const struct nacre_plan *inside;
    const struct nacre_digest *machine;
};

/* A container for one command, which then has pid 1 alone above it: no process that a
 * guest could signal is nacre's. */
bool dk_create_is_once(const struct nacre_plan *plan);

/* Pid 1 and the shepherds of commands, which the engine counts with the guest's. */
uint64_t dk_create_processes_ours(const struct nacre_plan *plan);

/* Where private directories and other tmpfs are, and how large: the report compares. */
struct dk_tmpfs {
    char path[NACRE_PATH_MAX];
    char options[256]; /* as mount takes them */
    bool writable;
    bool of_scratch; /* its size is a part of the plan's scratch_bytes_max */
    uint64_t bytes_max, files_max; /* 0: not said */
};

/* The Nth tmpfs of an order; false: there are fewer.  One at whose place something is
 * bound is skipped, with an empty path. */
bool dk_create_tmpfs(const struct dk_order *order, size_t n, struct dk_tmpfs *ret_tmpfs);

/* "nofile=1024:2048": false for what a plan would not hold. */
struct dk_ulimit {
    char name[32];
    uint64_t soft, hard;
};
bool dk_create_ulimit(const struct nacre_plan *plan, size_t n,
                      struct dk_ulimit *ret_ulimit);

/* NULL only when memory is short. */
json_t *dk_create_body(const struct dk_order *order);

/* Over all that the container is made of, labels aside: two orders with the same digest
 * may share a sandbox. */
NACRE_MUST_CHECK enum nacre_status dk_create_digest(const struct dk_order *order,
                                                    const json_t *body,
                                                    struct nacre_digest *ret_digest,
                                                    struct nacre_error *err);

#endif
