/*
 * Listing a directory.  A cookie is how many entries came before, so that any number
 * means something and one past the end is past the end; the kernel's own positions are
 * neither on every file system.  But where the last listing stopped the kernel's
 * position is kept: a guest that goes on from there misses nothing, even when it
 * removes what it has seen.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include "fdtable.h"
#include "functions.h"
#include "guard.h"
#include "guest_memory.h"
#include "secrets.h"

/* The layout of getdents64, which libc keeps to itself. */
struct kernel_dirent {
    uint64_t ino;
    int64_t next;
    unsigned short size;
    unsigned char type;
    char name[];
};

static uint8_t filetype_of(unsigned char type)
{
    switch (type) {
    case DT_REG:
        return P1_FILETYPE_REGULAR_FILE;
    case DT_DIR:
        return P1_FILETYPE_DIRECTORY;
    case DT_LNK:
        return P1_FILETYPE_SYMBOLIC_LINK;
    case DT_CHR:
        return P1_FILETYPE_CHARACTER_DEVICE;
    case DT_BLK:
        return P1_FILETYPE_BLOCK_DEVICE;
    case DT_SOCK:
        return P1_FILETYPE_SOCKET_STREAM;
    default:
        return P1_FILETYPE_UNKNOWN;
    }
}

/* The fd of a preopen is borrowed: its position may be shared with other processes,
 * and it may be an O_PATH one. */
static int listing_fd(struct ws_file *file)
{
    if (!file->preopen)
        return file->fd;
    if (file->list_fd < 0)
        file->list_fd = openat(file->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return file->list_fd;
}

struct listing {
    struct ws_file *file;
    unsigned char *to; /* in the guest */
    uint32_t room, used;
    uint64_t seen;     /* entries so far, from the directory's start */
    uint64_t cookie;   /* those up to here are left out */
    ino_t own_ino;
};

/* An entry that does not fit is cut: that is how the guest learns there is more. */
static void listing_add(struct listing *list, const struct kernel_dirent *entry)
{
    struct p1_dirent out = {
        .next = list->seen,
        .ino = entry->ino,
        .name_length = (uint32_t)strlen(entry->name),
        .filetype = filetype_of(entry->type),
    };
    const void *parts[] = { &out, entry->name };
    const size_t sizes[] = { sizeof(out), out.name_length };

    /* What is above a mount is none of the guest's business. */
    if (!list->file->path && strcmp(entry->name, "..") == 0)
        out.ino = list->own_ino;
    if (list->room - list->used >= sizes[0] + sizes[1]) {
        list->file->list_cookie = list->seen;
        list->file->list_next = entry->next;
    }
    for (size_t i = 0; i < NACRE_COUNT(parts); i++) {
        uint32_t left = list->room - list->used;
        uint32_t count = sizes[i] < left ? (uint32_t)sizes[i] : left;

        memcpy(list->to + list->used, parts[i], count);
        list->used += count;
    }
}

static int list(struct nacre_wasi *wasi, int fd, struct listing *list)
{
    _Alignas(struct kernel_dirent) char entries[8192];

    while (list->used < list->room) {
        long got = syscall(SYS_getdents64, fd, entries, sizeof(entries));

        if (got == 0)
            return P1_SUCCESS;
        if (got < 0) /* ENOENT: it was removed, and so is empty */
            return errno == ENOENT ? P1_SUCCESS : ws_errno(errno);
        for (long at = 0; at < got && list->used < list->room;) {
            const struct kernel_dirent *entry = (const void *)(entries + at);

            list->seen++;
            if (list->seen > list->cookie)
                listing_add(list, entry);
            at += entry->size;
        }
        if (ws_is_late(wasi))
            return ws_end_by(wasi, NACRE_WASI_TIMED_OUT);
    }
    return P1_SUCCESS;
}

int ws_fd_readdir(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    struct listing listing = {
        .to = ws_guest(wasi, ws_u32(&cells[1]), ws_u32(&cells[2])),
        .room = ws_u32(&cells[2]),
        .cookie = ws_u64(&cells[3]),
    };
    int64_t start = 0;
    struct ws_file *file;
    struct stat st;
    int fd, error;

    if (ws_is_secrets(wasi, ws_u32(&cells[0])))
        return ws_secrets_readdir(wasi, cells);
    error = ws_directory_get(wasi, ws_u32(&cells[0]), &file);
    if (error != P1_SUCCESS)
        return error;
    if (!listing.to || !ws_guest(wasi, ws_u32(&cells[4]), sizeof(uint32_t)))
        return P1_FAULT;
    error = ws_guard_name(wasi, file->mount, file->path ? file->path : "");
    if (error != P1_SUCCESS)
        return error;
    fd = listing_fd(file);
    if (fd < 0 || fstat(fd, &st) != 0)
        return ws_errno(errno);
    listing.file = file;
    listing.own_ino = st.st_ino;
    if (listing.cookie != 0 && listing.cookie == file->list_cookie) {
        listing.seen = file->list_cookie;
        start = file->list_next;
    }
    if (lseek(fd, start, SEEK_SET) < 0)
        return ws_errno(errno);
    error = list(wasi, fd, &listing);
    if (error != P1_SUCCESS)
        return error;
    return ws_guest_put_u32(wasi, ws_u32(&cells[4]), listing.used);
}
