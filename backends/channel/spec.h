#ifndef NACRE_CHANNEL_SPEC_H
#define NACRE_CHANNEL_SPEC_H

#include <stdbool.h>
#include <stdint.h>

#include "pack.h"

/*
 * What the launcher (backends/init/launch.c) is told to make: a list of operations, made
 * by the host from a plan and carried out in one loop.  The host is trusted here; a guest
 * never sees a spec.
 *
 * A sandbox's pid 1 is told by messages of a SOCK_SEQPACKET socket: a struct launch_order
 * with fds (the channel's socket, a memfd that holds the spec, then those that the
 * operations count from 0), and then the trees (trees.h).  By then its ids are mapped.
 * Over the channel, before any frame, comes a byte LAUNCH_JOIN with the fds of JOIN.
 * Whatever fails is told by a FAILED frame (frame.h) on the channel: then nothing of a
 * guest was executed.
 *
 * `PROGRAM inner`, with that socket as fd 0, is a pid 1 in namespaces that its parent has
 * made.  Before the order it gets a packed struct spec_head, and it sends a byte
 * LAUNCH_BORN once its ids can be mapped.
 *
 * The launcher is `PROGRAM launch`, with a SOCK_SEQPACKET socket as fd 0, and serves one
 * order after the other until there is nobody at the other end.  For each sandbox's pid 1
 * that it makes it sends, on the same socket, a byte LAUNCH_BORN with a pidfd: a child of
 * the launcher's own parent.  They serve the orders in turn; the next one is made
 * beforehand, of the same user, with all namespaces but those that hold something of the
 * host's.  After a failure this launcher may be gone.
 */
#define LAUNCH_BORN 'P'
#define LAUNCH_JOIN 'J'
struct launch_order {
    bool loose; /* pid 1 is not to die with the thread that its parent was spawned by, or
                   that spawned it: it is another's */
};
#define LAUNCH_FDS_MAX 200
#define LAUNCH_GROUPS_MAX 16
#define SPEC_VERSION 1
#define SPEC_HEAD_MAX 256 /* packed */
#define SPEC_BYTES_MAX ((size_t)32 << 20)
#define SPEC_NO_FD UINT64_MAX
#define SPEC_TARGET_MAX 8192 /* a mount's name and one below it */

#define SPEC_KIND_MAP(X)                                                               \
    X(JOIN, "join a cgroup")   /* all of those whose files come over the channel */    \
    X(DATA, "limit data")      /* bytes: RLIMIT_DATA of every process */               \
    X(ROOT, "make the root")   /* a tmpfs; else a TREE at "" is the root */            \
    X(SCRATCH, "make scratch") /* bytes, files: of the one tmpfs that PRIVATE and COVER \
                                  live on; after the root and before them */           \
    X(DIR, "make a directory") /* with those above it; mode */                         \
    X(FILE, "make a file")     /* text, mode */                                        \
    X(LINK, "make a link")     /* text: where it leads */                              \
    X(TREE, "bind")            /* text (or fd): on the host, with all that is mounted  \
                                  below; device, inode: what it has to be */           \
    X(PRIVATE, "make a private directory") /* mode */                                  \
    X(PROC, "mount proc")                                                              \
    X(SELF, "hold a directory") /* bound onto itself; device, inode as above */        \
    X(COVER, "cover a name")    /* by something of mode 0000; SPEC_IS_DIR */           \
    X(OVER, "put a file over a name") /* text, mode; read-only */                       \
    X(LISTEN, "listen")         /* mode: enum doorway_kind; fd: a SEQPACKET socket that \
                                   gets the listening one, with its kind as a byte; the \
                                   names' own stays with init */

enum spec_kind {
    SPEC_NONE,
#define X(id, words) SPEC_##id,
    SPEC_KIND_MAP(X)
#undef X
    SPEC_KIND_COUNT
};
const char *spec_kind_words(uint64_t kind);

enum spec_flag {
    SPEC_READ_ONLY = 1 << 0,
    SPEC_NO_EXEC   = 1 << 1,
    SPEC_DEVICE    = 1 << 2, /* a TREE that may be used as the device that it is */
    SPEC_IS_DIR    = 1 << 3,
    SPEC_MAKE      = 1 << 4, /* the target is not there: a directory, or an empty file */
    /* For the second wall, Landlock: what is allowed at and below the target. */
    SPEC_MAY_READ    = 1 << 5,
    SPEC_MAY_WRITE   = 1 << 6,
    SPEC_MAY_EXECUTE = 1 << 7,
    SPEC_MAY_IOCTL   = 1 << 8,
};

struct spec_op {
    uint64_t kind, flags;
    uint64_t fd; /* SPEC_NO_FD: none */
    uint64_t device, inode; /* both 0: whatever is there */
    uint64_t bytes, files, mode;
    const char *text;
    const char *target; /* in the sandbox, without a slash at its start; never NULL */
};

struct spec_head {
    uint64_t uid, gid; /* mapped onto themselves; what the sandbox runs as */
    bool landlock;     /* the second wall, as far as the kernel has it */
    const char *hostname;
    uint64_t op_count;
};

void spec_head_pack(struct pack *pack, const struct spec_head *head);
void spec_op_pack(struct pack *pack, const struct spec_op *op);

/* False when the message is not whole and right.  Texts point into the message. */
bool spec_head_unpack(struct unpack *unpack, struct spec_head *ret_head);
bool spec_op_unpack(struct unpack *unpack, struct spec_op *ret_op);

#endif
