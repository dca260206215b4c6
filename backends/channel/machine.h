#ifndef NACRE_CHANNEL_MACHINE_H
#define NACRE_CHANNEL_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "pack.h"

/*
 * What the init of a virtual machine makes before it is the init of a sandbox.  It is the
 * first process of the machine's kernel, with the initial file system as its root and the
 * channel behind the virtio-serial port MACHINE_PORT.  Its owner's first frame is MACHINE;
 * when all of it is made, init gives up root and goes on as the init of a container does,
 * with CONFIG and the report.  What fails is told by a FAILED frame, and the machine ends.
 *
 * The disk MACHINE_DISK is the sandbox image's file system, a squashfs, read-only.
 */
#define MACHINE_PORT "nacre.channel"
#define MACHINE_DISK "/dev/vda"
#define MACHINE_BYTES_MAX ((size_t)1 << 20)
#define MACHINE_MOUNTS_MAX 1024
#define MACHINE_TARGET_MAX 4096 /* with the terminator */

/* In the initial file system: init itself, and the modules that it loads, one below the
 * other as they need each other: "/modules/list" has a name of a file in /modules a line. */
#define MACHINE_INIT "/init"
#define MACHINE_MODULES "/modules"

#define MACHINE_MOUNT_MAP(X)                                                            \
    X(SHARE, "mount a directory of the host") /* text: the tag of a 9p device */        \
    X(TMPFS, "mount a tmpfs")         /* bytes, inodes (0: the kernel's half), mode */  \
    X(COVER, "cover a name")          /* what is there, by one of mode 0000; not there: \
                                         nothing is done */                             \
    X(FILE, "put a file over a name") /* text: what it says; read-only */

enum machine_mount_kind {
    MACHINE_MOUNT_NONE,
#define X(id, words) MACHINE_MOUNT_##id,
    MACHINE_MOUNT_MAP(X)
#undef X
    MACHINE_MOUNT_COUNT
};
const char *machine_mount_words(uint64_t kind);

struct machine_mount {
    uint64_t kind;
    const char *target; /* absolute in the sandbox; directories that are missing are made
                           in the layer above the image */
    const char *text;   /* "" where the kind has none */
    bool writable;
    bool no_exec;
    uint64_t bytes, inodes, mode;
};

struct init_machine {
    uint64_t uid, gid;          /* whom init and all commands are */
    uint64_t capabilities_kept; /* bounding set; as in struct init_config */
    const char *hostname;
    bool writable_root;         /* a tmpfs of `layer_bytes` above the image; else the image
                                   is read-only (its mount points are made before) */
    uint64_t layer_bytes;
    uint64_t memory_bytes_max, processes_max; /* cgroup v2 of the machine's own kernel, of
                                                 all that is not init; 0: no limit */
    uint64_t unix_ms; /* the time of day: a machine whose clock is behind it, or that has
                         none, goes by it */
    const struct machine_mount *mounts; /* outer before inner */
    uint64_t mount_count;
};

/* Where the kills for memory are counted, for init_config.oom_file. */
#define MACHINE_OOM_FILE "/sys/fs/cgroup/nacre/memory.events"
#define MACHINE_FORKS_FILE "/sys/fs/cgroup/nacre/pids.events"

bool init_machine_pack(struct pack *pack, const struct init_machine *machine);
/* Texts point into the message, mounts into `ret_mounts` (MACHINE_MOUNTS_MAX of them). */
bool init_machine_unpack(struct unpack *unpack, struct machine_mount *ret_mounts,
                         struct init_machine *ret_machine);

#endif
