#ifndef NACRE_PREVIEW1_H
#define NACRE_PREVIEW1_H

#include <stdint.h>

/*
 * wasi_snapshot_preview1 as it lies in a guest's memory: numbers and layouts, for
 * both sides.  All integers are little-endian; padding is named, so that it can be
 * zeroed and never carries a byte of the host.
 */

#define P1_ERRNO_MAP(X)                                                              \
    X(SUCCESS) X(2BIG) X(ACCES) X(ADDRINUSE) X(ADDRNOTAVAIL) X(AFNOSUPPORT) X(AGAIN) \
    X(ALREADY) X(BADF) X(BADMSG) X(BUSY) X(CANCELED) X(CHILD) X(CONNABORTED)         \
    X(CONNREFUSED) X(CONNRESET) X(DEADLK) X(DESTADDRREQ) X(DOM) X(DQUOT) X(EXIST)    \
    X(FAULT) X(FBIG) X(HOSTUNREACH) X(IDRM) X(ILSEQ) X(INPROGRESS) X(INTR) X(INVAL)  \
    X(IO) X(ISCONN) X(ISDIR) X(LOOP) X(MFILE) X(MLINK) X(MSGSIZE) X(MULTIHOP)        \
    X(NAMETOOLONG) X(NETDOWN) X(NETRESET) X(NETUNREACH) X(NFILE) X(NOBUFS) X(NODEV)  \
    X(NOENT) X(NOEXEC) X(NOLCK) X(NOLINK) X(NOMEM) X(NOMSG) X(NOPROTOOPT) X(NOSPC)   \
    X(NOSYS) X(NOTCONN) X(NOTDIR) X(NOTEMPTY) X(NOTRECOVERABLE) X(NOTSOCK)           \
    X(NOTSUP) X(NOTTY) X(NXIO) X(OVERFLOW) X(OWNERDEAD) X(PERM) X(PIPE) X(PROTO)     \
    X(PROTONOSUPPORT) X(PROTOTYPE) X(RANGE) X(ROFS) X(SPIPE) X(SRCH) X(STALE)        \
    X(TIMEDOUT) X(TXTBSY) X(XDEV) X(NOTCAPABLE)

enum {
#define X(id) P1_##id,
    P1_ERRNO_MAP(X)
#undef X
};
_Static_assert(P1_NOTCAPABLE == 76, "preview1 numbers its errors from 0 to 76");

enum {
    P1_RIGHT_FD_DATASYNC = 1 << 0,
    P1_RIGHT_FD_READ = 1 << 1,
    P1_RIGHT_FD_SEEK = 1 << 2,
    P1_RIGHT_FD_FDSTAT_SET_FLAGS = 1 << 3,
    P1_RIGHT_FD_SYNC = 1 << 4,
    P1_RIGHT_FD_TELL = 1 << 5,
    P1_RIGHT_FD_WRITE = 1 << 6,
    P1_RIGHT_FD_ADVISE = 1 << 7,
    P1_RIGHT_FD_ALLOCATE = 1 << 8,
    P1_RIGHT_PATH_CREATE_DIRECTORY = 1 << 9,
    P1_RIGHT_PATH_CREATE_FILE = 1 << 10,
    P1_RIGHT_PATH_LINK_SOURCE = 1 << 11,
    P1_RIGHT_PATH_LINK_TARGET = 1 << 12,
    P1_RIGHT_PATH_OPEN = 1 << 13,
    P1_RIGHT_FD_READDIR = 1 << 14,
    P1_RIGHT_PATH_READLINK = 1 << 15,
    P1_RIGHT_PATH_RENAME_SOURCE = 1 << 16,
    P1_RIGHT_PATH_RENAME_TARGET = 1 << 17,
    P1_RIGHT_PATH_FILESTAT_GET = 1 << 18,
    P1_RIGHT_PATH_FILESTAT_SET_SIZE = 1 << 19,
    P1_RIGHT_PATH_FILESTAT_SET_TIMES = 1 << 20,
    P1_RIGHT_FD_FILESTAT_GET = 1 << 21,
    P1_RIGHT_FD_FILESTAT_SET_SIZE = 1 << 22,
    P1_RIGHT_FD_FILESTAT_SET_TIMES = 1 << 23,
    P1_RIGHT_PATH_SYMLINK = 1 << 24,
    P1_RIGHT_PATH_REMOVE_DIRECTORY = 1 << 25,
    P1_RIGHT_PATH_UNLINK_FILE = 1 << 26,
    P1_RIGHT_POLL_FD_READWRITE = 1 << 27,
    P1_RIGHT_SOCK_SHUTDOWN = 1 << 28,
    P1_RIGHT_SOCK_ACCEPT = 1 << 29,
};

enum {
    P1_FILETYPE_UNKNOWN,
    P1_FILETYPE_BLOCK_DEVICE,
    P1_FILETYPE_CHARACTER_DEVICE,
    P1_FILETYPE_DIRECTORY,
    P1_FILETYPE_REGULAR_FILE,
    P1_FILETYPE_SOCKET_DGRAM,
    P1_FILETYPE_SOCKET_STREAM,
    P1_FILETYPE_SYMBOLIC_LINK,
};

enum {
    P1_OFLAG_CREAT = 1,
    P1_OFLAG_DIRECTORY = 2,
    P1_OFLAG_EXCL = 4,
    P1_OFLAG_TRUNC = 8,
};
#define P1_OFLAGS_ALL 15u
enum {
    P1_FDFLAG_APPEND = 1,
    P1_FDFLAG_DSYNC = 2,
    P1_FDFLAG_NONBLOCK = 4,
    P1_FDFLAG_RSYNC = 8,
    P1_FDFLAG_SYNC = 16,
};
#define P1_FDFLAGS_ALL 31u
#define P1_FDFLAGS_SYNC (P1_FDFLAG_DSYNC | P1_FDFLAG_RSYNC | P1_FDFLAG_SYNC)
enum { P1_LOOKUP_FOLLOW = 1 };
enum {
    P1_FSTFLAG_ATIM = 1,
    P1_FSTFLAG_ATIM_NOW = 2,
    P1_FSTFLAG_MTIM = 4,
    P1_FSTFLAG_MTIM_NOW = 8,
};
#define P1_FSTFLAGS_ALL 15u
enum { P1_WHENCE_SET, P1_WHENCE_CUR, P1_WHENCE_END };
enum { P1_CLOCK_REALTIME, P1_CLOCK_MONOTONIC, P1_CLOCK_PROCESS_CPU, P1_CLOCK_THREAD_CPU };
enum { P1_EVENT_CLOCK, P1_EVENT_FD_READ, P1_EVENT_FD_WRITE };
enum { P1_SUBCLOCK_ABSTIME = 1 };
enum { P1_ADVICE_COUNT = 6 };

struct p1_iovec {
    uint32_t buf;
    uint32_t length;
};

struct p1_fdstat {
    uint8_t filetype;
    uint8_t padding1;
    uint16_t flags;
    uint8_t padding2[4];
    uint64_t rights_base;
    uint64_t rights_inheriting;
};

struct p1_filestat {
    uint64_t dev;
    uint64_t ino;
    uint8_t filetype;
    uint8_t padding[7];
    uint64_t nlink;
    uint64_t size;
    uint64_t atim;
    uint64_t mtim;
    uint64_t ctim;
};

struct p1_prestat {
    uint8_t tag; /* 0: a directory; there is no other */
    uint8_t padding[3];
    uint32_t name_length;
};

struct p1_dirent {
    uint64_t next;
    uint64_t ino;
    uint32_t name_length;
    uint8_t filetype;
    uint8_t padding[3];
};

struct p1_subscription {
    uint64_t userdata;
    uint8_t tag;
    uint8_t padding[7];
    union {
        struct {
            uint32_t id;
            uint32_t padding1;
            uint64_t timeout;
            uint64_t precision;
            uint16_t flags;
            uint8_t padding2[6];
        } clock;
        struct {
            uint32_t fd;
        } file;
    } u;
};

struct p1_event {
    uint64_t userdata;
    uint16_t error;
    uint8_t type;
    uint8_t padding1[5];
    uint64_t bytes;
    uint16_t flags;
    uint8_t padding2[6];
};

_Static_assert(sizeof(struct p1_iovec) == 8, "layout");
_Static_assert(sizeof(struct p1_fdstat) == 24, "layout");
_Static_assert(sizeof(struct p1_filestat) == 64, "layout");
_Static_assert(sizeof(struct p1_prestat) == 8, "layout");
_Static_assert(sizeof(struct p1_dirent) == 24, "layout");
_Static_assert(sizeof(struct p1_subscription) == 48, "layout");
_Static_assert(sizeof(struct p1_event) == 32, "layout");

#endif
