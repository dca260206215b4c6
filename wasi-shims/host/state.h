#ifndef NACRE_WASI_STATE_H
#define NACRE_WASI_STATE_H

#include <limits.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "http.h"
#include "nacre/clock.h"
#include "nacre/own.h"
#include "nacre/path.h"
#include "nacre_wasi.h"
#include "preview1.h"

/* What the shims share among themselves; nothing outside this folder includes it. */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "guest memory is little-endian and is copied as it is");

struct ws_id {
    dev_t dev;
    ino_t ino;
};

enum ws_kind {
    WS_FREE,
    WS_INPUT,  /* stdin */
    WS_OUTPUT, /* stdout or stderr: a buffer of the call, no fd of the host */
    WS_FILE,
    WS_DIRECTORY,
    WS_SECRETS, /* the directory of secrets: no fd of the host (secrets.h) */
    WS_SECRET,  /* a file in it, likewise */
};

/* A number of the guest's fd table. */
struct ws_file {
    enum ws_kind kind;
    int fd;          /* the host's; -1 for WS_OUTPUT, secrets and a private preopen not
                        made yet */
    int list_fd;     /* preopens only: their own position for fd_readdir, or -1 */
    uint64_t list_cookie; /* the last whole entry that fd_readdir returned, */
    int64_t list_next;    /* and the kernel's position after it */
    uint32_t mount;  /* index, for files and directories; of secrets, mount_count */
    uint32_t stream; /* for WS_OUTPUT: 0 stdout, 1 stderr */
    uint32_t secret; /* for WS_SECRET: index, */
    uint64_t position; /* and where it, or stdin that is bytes, is read next */
    bool preopen;
    uint16_t flags;  /* P1_FDFLAG_* */
    uint64_t rights, inheriting;
    uint64_t size_counted; /* in private directories: how far the quota has been paid */
    struct ws_id id; /* of a directory; 0 until it is known */
    char *path;      /* of a directory, canonical, from the mount's root; NULL is "" */
};

struct ws_mount {
    const struct nacre_wasi_mount *config;
    int fd;              /* config->fd, or the private directory once it is made */
    bool is_private;
    bool guarded;        /* has denied or covered names */
    struct ws_id id;     /* of what `fd` is, once it is known; never of a private one */
    char name[40];       /* of the private directory in scratch_fd */
};

#define WS_DEVICES_MAX 16

struct ws_device {
    dev_t dev;
    bool allowed;
};

struct nacre_wasi {
    struct nacre_wasi_config config;
    struct nacre_wasi_call call;
    struct ws_mount *mounts; /* one more than configured: the directory of secrets */

    struct ws_file *files;
    uint32_t file_room;  /* of the array */
    uint32_t file_end;   /* one past the highest number in use */
    uint64_t files_open; /* opened by the guest: preopens and stdio don't count */

    struct ws_id *held;  /* identities of the denied and covered names, as of now */
    uint32_t held_room;

    struct ws_device devices[WS_DEVICES_MAX];
    uint32_t device_count;
    uint32_t device_kept; /* the first so many are mounts' own, which their fds hold */
    dev_t dev_dev;       /* the file system at /dev: devtmpfs looks like any tmpfs */
    bool has_dev_dev;

    bool has_openat2;
    bool running;
    uint64_t scratch_bytes, scratch_files; /* used by this run */
    uint64_t cpu_base_ns;                  /* CPU clocks start at the first question */
    struct ws_http http;
    uint64_t traced_bytes;
};

/* ---- decoding ---- */

static inline uint32_t ws_u32(const union nacre_wasi_cell *cell)
{
    return (uint32_t)cell->i32;
}

static inline uint64_t ws_u64(const union nacre_wasi_cell *cell)
{
    return (uint64_t)cell->i64;
}

int ws_errno(int sys_errno);

/* ---- how a run ends (run.c) ---- */

/* Returns NACRE_WASI_UNWIND. */
int ws_end_by(struct nacre_wasi *wasi, enum nacre_wasi_ending ending);

static inline bool ws_is_late(const struct nacre_wasi *wasi)
{
    return nacre_clock_ns() >= wasi->call.deadline_ns;
}

/* Put a refusal on record; `path` may be NULL. */
void ws_deny(struct nacre_wasi *wasi, uint32_t mount, const char *code, const char *path);

#endif
