/*
 * Opening.  The name was resolved, the guest chose what it finds there: a FIFO would
 * block, a device acts when it is opened, a link leads elsewhere.  So the type is
 * looked at before, the open itself can neither block nor follow, and what was opened
 * is looked at again before anything is done with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "fdtable.h"
#include "functions.h"
#include "guard.h"
#include "guest_memory.h"
#include "scratch.h"
#include "secrets.h"

/* How often a name may change between look and open before we give up on it. */
#define TRIES_MAX 16

struct wish {
    uint32_t oflags, fdflags;
    uint64_t rights, inheriting;
    bool follow, read, write;
};

static int host_flags(const struct wish *wish)
{
    int flags = O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC;

    /* Truncating needs the host's permission to write, even for a guest that asked for
     * reading only; what the guest may do with the fd is in its rights. */
    if (wish->write || (wish->oflags & P1_OFLAG_TRUNC))
        flags |= wish->read ? O_RDWR : O_WRONLY;
    else
        flags |= O_RDONLY;
    if (wish->fdflags & P1_FDFLAG_APPEND)
        flags |= O_APPEND;
    return flags;
}

static int create(struct nacre_wasi *wasi, const struct ws_place *place,
                  const struct wish *wish, int *ret_fd)
{
    int fd, error;

    if (place->slash)
        return P1_ISDIR;
    if (wish->oflags & P1_OFLAG_DIRECTORY)
        return P1_INVAL;
    error = ws_scratch_name(wasi, place->mount);
    if (error != P1_SUCCESS)
        return error;
    fd = openat(place->dir_fd, place->name, host_flags(wish) | O_CREAT | O_EXCL, 0666);
    if (fd < 0)
        return ws_errno(errno);
    error = ws_guard_made(wasi, place, false);
    if (error != P1_SUCCESS) {
        (void)unlinkat(place->dir_fd, place->name, 0);
        (void)close(fd);
        return error;
    }
    *ret_fd = fd;
    return P1_SUCCESS;
}

static int judge_existing(struct nacre_wasi *wasi, const struct ws_place *place,
                          const struct wish *wish)
{
    bool is_directory = S_ISDIR(place->st.st_mode);

    if ((wish->oflags & P1_OFLAG_CREAT) && (wish->oflags & P1_OFLAG_EXCL))
        return P1_EXIST;
    if (S_ISLNK(place->st.st_mode))
        return wish->oflags & P1_OFLAG_DIRECTORY ? P1_NOTDIR : P1_LOOP;
    if ((place->slash || (wish->oflags & P1_OFLAG_DIRECTORY)) && !is_directory)
        return P1_NOTDIR;
    if (is_directory &&
        (wish->write || (wish->oflags & (P1_OFLAG_CREAT | P1_OFLAG_TRUNC))))
        return P1_ISDIR;
    if (!is_directory && !S_ISREG(place->st.st_mode)) {
        ws_deny(wasi, place->mount, "special-file", place->path);
        return P1_ACCES;
    }
    return P1_SUCCESS;
}

static int open_existing(struct nacre_wasi *wasi, const struct ws_place *place,
                         const struct wish *wish, int *ret_fd)
{
    int error = judge_existing(wasi, place, wish);
    int flags = S_ISDIR(place->st.st_mode)
                    ? O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
                    : host_flags(wish);

    if (error != P1_SUCCESS)
        return error;
    *ret_fd = openat(place->dir_fd, place->name, flags);
    return *ret_fd < 0 ? ws_errno(errno) : P1_SUCCESS;
}

static bool is_same(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino &&
           (one->st_mode & S_IFMT) == (other->st_mode & S_IFMT);
}

/* AGAIN: the name is another thing now than when we looked. */
static int open_place(struct nacre_wasi *wasi, const struct ws_file *base,
                      const char *path, const struct wish *wish, struct ws_place *place,
                      int *ret_fd, struct stat *ret_st)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    bool creating = wish->oflags & P1_OFLAG_CREAT;
    /* O_EXCL asks for the name itself: a link there is something that exists. */
    enum ws_links links = creating && (wish->oflags & P1_OFLAG_EXCL) ? WS_LINK_KEPT
                          : wish->follow ? WS_LINK_FOLLOWED : WS_LINK_IF_SLASH;
    int error = ws_resolve(wasi, base, path, links, place);
    bool made = !place->exists;

    if (error != P1_SUCCESS)
        return error;
    if (made && !creating)
        return P1_NOENT;
    if (made)
        error = ws_guard_write(wasi, place->mount, place->path);
    if (error != P1_SUCCESS)
        return error;
    error = made ? create(wasi, place, wish, &fd) : open_existing(wasi, place, wish, &fd);
    if (error == P1_EXIST && made && !(wish->oflags & P1_OFLAG_EXCL))
        return P1_AGAIN;
    if (error != P1_SUCCESS)
        return error;
    if (fstat(fd, ret_st) != 0)
        return ws_errno(errno);
    if (!made && !is_same(ret_st, &place->st))
        return P1_AGAIN;
    if ((wish->oflags & P1_OFLAG_TRUNC) && ret_st->st_size > 0 && ftruncate(fd, 0) != 0)
        return ws_errno(errno);
    *ret_fd = nacre_fd_take(&fd);
    return P1_SUCCESS;
}

static int add_opened(struct nacre_wasi *wasi, const struct wish *wish,
                      const struct ws_place *place, const struct stat *st, int *fd,
                      uint32_t *ret_number)
{
    bool is_directory = S_ISDIR(st->st_mode);
    NACRE_AUTO(nacre_heap_guard) char *path = NULL;
    struct ws_file file = {
        .kind = is_directory ? WS_DIRECTORY : WS_FILE,
        .fd = *fd,
        .list_fd = -1,
        .mount = place->mount,
        .flags = is_directory ? 0 : (uint16_t)wish->fdflags,
        .rights = wish->rights & (is_directory ? ws_rights_directory : ws_rights_file),
        .inheriting = is_directory ? wish->inheriting : 0,
        .size_counted = (uint64_t)st->st_size, /* before truncation: that was paid for */
        .id = { st->st_dev, st->st_ino },
    };
    int error;

    if (is_directory && place->path[0] != '\0') {
        path = strdup(place->path);
        if (!path)
            return P1_NOMEM;
        file.path = path;
    }
    error = ws_file_add(wasi, &file, ret_number);
    if (error != P1_SUCCESS)
        return error;
    (void)nacre_fd_take(fd);
    (void)NACRE_HEAP_TAKE(path);
    wasi->call.record->files_opened++;
    return P1_SUCCESS;
}

static int judge_wish(struct nacre_wasi *wasi, const struct ws_file *base,
                      const struct wish *wish, const char *path)
{
    int error;

    if ((wish->oflags & ~P1_OFLAGS_ALL) || (wish->fdflags & ~P1_FDFLAGS_ALL))
        return P1_INVAL;
    /* As the reference implementation answers; fd_sync is there. */
    if (wish->fdflags & P1_FDFLAGS_SYNC)
        return P1_NOTSUP;
    error = ws_files_room(wasi);
    if (error != P1_SUCCESS)
        return error;
    if (wish->write || (wish->oflags & P1_OFLAG_TRUNC))
        return ws_guard_write(wasi, base->mount, path);
    return P1_SUCCESS;
}

int ws_path_open(struct nacre_wasi *wasi, const union nacre_wasi_cell *cells)
{
    NACRE_AUTO(ws_place_guard) struct ws_place place = WS_PLACE;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    struct wish wish = {
        .follow = ws_u32(&cells[1]) & P1_LOOKUP_FOLLOW,
        .oflags = ws_u32(&cells[4]),
        .rights = ws_u64(&cells[5]),
        .inheriting = ws_u64(&cells[6]),
        .fdflags = ws_u32(&cells[7]),
    };
    char path[NACRE_PATH_MAX];
    struct ws_file *base;
    uint32_t number;
    struct stat st;
    int error;

    if (ws_is_secrets(wasi, ws_u32(&cells[0])))
        return ws_secrets_open(wasi, cells);
    error = ws_directory_get(wasi, ws_u32(&cells[0]), &base);
    wish.read = wish.rights & P1_RIGHT_FD_READ;
    wish.write = wish.rights & P1_RIGHT_FD_WRITE;
    if (error == P1_SUCCESS)
        error = ws_guest_path(wasi, ws_u32(&cells[2]), ws_u32(&cells[3]), path);
    if (error != P1_SUCCESS)
        return error;
    if (!ws_guest(wasi, ws_u32(&cells[8]), sizeof(number)))
        return P1_FAULT;
    error = judge_wish(wasi, base, &wish, path);
    if (error != P1_SUCCESS)
        return error;
    for (int i = 0; i < TRIES_MAX; i++) {
        error = open_place(wasi, base, path, &wish, &place, &fd, &st);
        if (error != P1_AGAIN)
            break;
    }
    if (error == P1_SUCCESS)
        error = add_opened(wasi, &wish, &place, &st, &fd, &number);
    if (error == P1_SUCCESS)
        error = ws_guest_put_u32(wasi, ws_u32(&cells[8]), number);
    return error;
}
