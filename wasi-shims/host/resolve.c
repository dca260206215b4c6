/*
 * From a guest's path to a directory and a name.
 *
 * The path is the guest's, and so is much of the tree: links may point anywhere, and
 * another process may swap a directory for a link between any two calls.  So no step
 * goes by text that was checked before: the kernel resolves (openat2, nothing above
 * the start, no link), or we do, one component at a time, each opened without
 * following and judged by what was opened.
 */
#include "resolve.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

#include "guard.h"

#define LINKS_MAX 40
#define DEPTH_MAX (NACRE_PATH_MAX / 2)

void ws_place_guard(struct ws_place *place)
{
    if (place->owns_dir)
        (void)close(place->dir_fd);
}

static int escape(struct nacre_wasi *wasi, uint32_t mount, const char *path)
{
    ws_deny(wasi, mount, "escape", path);
    return P1_PERM;
}

static void place_move(struct ws_place *place, int fd, bool owned)
{
    ws_place_guard(place);
    place->dir_fd = fd;
    place->owns_dir = owned;
}

/* Canonical paths grow and shrink by one component. */
static int path_push(char path[NACRE_PATH_MAX], const char *name, size_t length)
{
    size_t used = strlen(path);

    if (length > NAME_MAX || used + length + 2 > NACRE_PATH_MAX)
        return P1_NAMETOOLONG;
    if (used > 0)
        path[used++] = '/';
    memcpy(path + used, name, length);
    path[used + length] = '\0';
    return P1_SUCCESS;
}

static void path_pop(char path[NACRE_PATH_MAX])
{
    char *slash = strrchr(path, '/');

    *(slash ? slash : path) = '\0';
}

static void place_name(struct ws_place *place, const char *name, size_t length)
{
    memcpy(place->name, name, length);
    place->name[length] = '\0';
    memcpy(place->last, name, length);
    place->last[length] = place->slash ? '/' : '\0';
    place->last[length + 1] = '\0';
}

static bool is_dots(const char *name, size_t length)
{
    return (length == 1 && name[0] == '.') ||
           (length == 2 && name[0] == '.' && name[1] == '.');
}

static bool is_followed(const struct ws_place *place, enum ws_links links)
{
    return links == WS_LINK_FOLLOWED || (links == WS_LINK_IF_SLASH && place->slash);
}

/* ---- by the kernel ---- */

static int open_beneath(struct nacre_wasi *wasi, int dir_fd, const char *path)
{
    struct open_how how = {
        .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    long fd = syscall(SYS_openat2, dir_fd, path, &how, sizeof(how));

    /* Old kernels have no such call; filters made for older ones answer EPERM. */
    if (fd < 0 && (errno == ENOSYS || errno == EPERM))
        wasi->has_openat2 = false;
    return (int)fd;
}

/* Without a link on the way, text and tree agree: the canonical path is exact. */
static int path_join(char path[NACRE_PATH_MAX], const char *more)
{
    while (*more) {
        size_t length = strcspn(more, "/");

        if (length == 2 && is_dots(more, 2)) {
            path_pop(path);
        } else if (length > 0 && !is_dots(more, length)) {
            int error = path_push(path, more, length);

            if (error != P1_SUCCESS)
                return error;
        }
        more += length;
        more += strspn(more, "/");
    }
    return P1_SUCCESS;
}

enum quick { QUICK_DONE, QUICK_WALK };

/*
 * The common case: no link anywhere.  QUICK_WALK when that is not so, or when the
 * kernel can't help; then nothing has been decided yet.
 */
static enum quick resolve_quick(struct nacre_wasi *wasi, const struct ws_file *base,
                                const char *path, enum ws_links links,
                                struct ws_place *place, int *ret_error)
{
    char above[NACRE_PATH_MAX];
    size_t end = strlen(path), start;

    *ret_error = P1_SUCCESS;
    while (end > 0 && path[end - 1] == '/')
        end--;
    start = end;
    while (start > 0 && path[start - 1] != '/')
        start--;
    if (end == 0 || end - start > NAME_MAX)
        return QUICK_WALK;
    if (is_dots(path + start, end - start))
        start = end; /* all of it is the directory */
    place->slash = path[end] == '/';
    memcpy(above, path, start);
    above[start] = '\0';
    if (start > 0) {
        int fd = open_beneath(wasi, base->fd, above);

        if (fd < 0) {
            /* Had there been a link before the gap, it would have said so instead. */
            *ret_error = ws_errno(errno);
            return errno == ENOENT || errno == ENOTDIR ? QUICK_DONE : QUICK_WALK;
        }
        place_move(place, fd, true);
        if (fstat(fd, &place->st) != 0) {
            *ret_error = ws_errno(errno);
            return QUICK_DONE;
        }
        place->dir_dev = place->st.st_dev;
    }
    *ret_error = path_join(place->path, above);
    if (*ret_error != P1_SUCCESS)
        return QUICK_DONE;
    if (start == end) {
        place->slash = false;
        place_name(place, ".", 1);
        place->exists = fstat(place->dir_fd, &place->st) == 0;
        return QUICK_DONE;
    }
    place_name(place, path + start, end - start);
    place->exists =
        fstatat(place->dir_fd, place->name, &place->st, AT_SYMLINK_NOFOLLOW) == 0;
    if (!place->exists && errno != ENOENT) {
        *ret_error = ws_errno(errno);
        return QUICK_DONE;
    }
    if (place->exists && S_ISLNK(place->st.st_mode) && is_followed(place, links))
        return QUICK_WALK;
    *ret_error = path_push(place->path, place->name, end - start);
    return QUICK_DONE;
}

/* ---- by ourselves ---- */

struct walk {
    struct nacre_wasi *wasi;
    struct ws_place *place;
    const char *asked;         /* the guest's path, for the record */
    bool is_root;
    bool guarded;
    uint32_t links, depth;
    struct ws_id above[DEPTH_MAX + 1]; /* [depth] is the directory we are in */
    char rest[2 * NACRE_PATH_MAX];     /* what is still to be resolved */
};

static void walk_start(struct walk *walk, int fd, struct ws_id id)
{
    place_move(walk->place, fd, false);
    walk->depth = 0;
    walk->above[0] = id;
}

/* `more` comes before what is left after the component that was just taken. */
static int walk_prepend(struct walk *walk, const char *more, size_t length,
                        const char *rest)
{
    size_t rest_length = strlen(rest);

    if (length + rest_length + 2 > sizeof(walk->rest))
        return P1_NAMETOOLONG;
    memmove(walk->rest + length + 1, rest, rest_length + 1);
    memcpy(walk->rest, more, length);
    walk->rest[length] = '/';
    if (rest_length == 0)
        walk->rest[length] = '\0';
    return P1_SUCCESS;
}

static int walk_to_root(struct walk *walk)
{
    int fd = walk->wasi->mounts[walk->place->mount].fd;
    struct stat st;

    if (fstat(fd, &st) != 0)
        return ws_errno(errno);
    walk->place->path[0] = '\0';
    walk_start(walk, fd, (struct ws_id){ st.st_dev, st.st_ino });
    return P1_SUCCESS;
}

static int walk_up(struct walk *walk, const char *rest)
{
    struct ws_place *place = walk->place;
    struct ws_id came_from;
    struct stat st;
    int fd;

    if (walk->depth == 0) {
        char above[NACRE_PATH_MAX];
        int error;

        if (!walk->is_root)
            return escape(walk->wasi, place->mount, walk->asked);
        memcpy(above, place->path, sizeof(above));
        path_pop(above);
        error = walk_prepend(walk, above, strlen(above), rest);
        return error == P1_SUCCESS ? walk_to_root(walk) : error;
    }
    fd = openat(place->dir_fd, "..", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return ws_errno(errno);
    place_move(place, fd, true);
    if (fstat(fd, &st) != 0)
        return ws_errno(errno);
    came_from = walk->above[--walk->depth];
    /* Moved away under our feet: this is not the directory we came through. */
    if (st.st_dev != came_from.dev || st.st_ino != came_from.ino)
        return escape(walk->wasi, place->mount, walk->asked);
    path_pop(place->path);
    memmove(walk->rest, rest, strlen(rest) + 1);
    return P1_SUCCESS;
}

/* `fd` is the link itself, or -1 and it is `name` in the current directory. */
static int walk_link(struct walk *walk, int fd, const char *name, const char *rest)
{
    char target[NACRE_PATH_MAX];
    ssize_t length;
    int error;

    if (++walk->links > LINKS_MAX)
        return P1_LOOP;
    length = fd >= 0 ? readlinkat(fd, "", target, sizeof(target))
                     : readlinkat(walk->place->dir_fd, name, target, sizeof(target));
    if (length < 0)
        return ws_errno(errno);
    if (length == 0 || (size_t)length >= sizeof(target))
        return P1_NAMETOOLONG;
    path_pop(walk->place->path);
    error = walk_prepend(walk, target, (size_t)length, rest);
    if (error != P1_SUCCESS || target[0] != '/')
        return error;
    if (!walk->is_root)
        return escape(walk->wasi, walk->place->mount, walk->asked);
    return walk_to_root(walk);
}

static int walk_down(struct walk *walk, const char *name, const char *rest)
{
    struct ws_place *place = walk->place;
    NACRE_AUTO(nacre_fd_guard) int fd =
        openat(place->dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    int error = P1_SUCCESS;

    if (fd < 0 || fstat(fd, &st) != 0)
        return ws_errno(errno);
    /* Links of procfs are text like any other here, but not even that is followed. */
    if (st.st_dev != walk->above[walk->depth].dev)
        error = ws_guard_device(walk->wasi, place->mount, place->dir_fd, name, st.st_dev,
                                place->path);
    if (error == P1_SUCCESS && walk->guarded)
        error = ws_guard_id(walk->wasi, place->mount, &st, place->path);
    if (error != P1_SUCCESS)
        return error;
    if (S_ISLNK(st.st_mode))
        return walk_link(walk, fd, NULL, rest);
    if (!S_ISDIR(st.st_mode))
        return P1_NOTDIR;
    if (walk->depth == DEPTH_MAX)
        return P1_NAMETOOLONG;
    walk->above[++walk->depth] = (struct ws_id){ st.st_dev, st.st_ino };
    place_move(place, nacre_fd_take(&fd), true);
    memmove(walk->rest, rest, strlen(rest) + 1);
    return P1_SUCCESS;
}

/* The last component.  *ret_done is false when it was a link that is to be followed. */
static int walk_last(struct walk *walk, const char *name, size_t length,
                     enum ws_links links, bool *ret_done)
{
    struct ws_place *place = walk->place;

    place_name(place, name, length);
    place->exists =
        fstatat(place->dir_fd, place->name, &place->st, AT_SYMLINK_NOFOLLOW) == 0;
    *ret_done = true;
    if (!place->exists)
        return errno == ENOENT ? P1_SUCCESS : ws_errno(errno);
    if (walk->guarded) {
        int error = ws_guard_id(walk->wasi, place->mount, &place->st, place->path);

        if (error != P1_SUCCESS)
            return error;
    }
    if (!S_ISLNK(place->st.st_mode) || !is_followed(place, links))
        return P1_SUCCESS;
    *ret_done = false;
    return walk_link(walk, -1, place->name, place->slash ? "/" : "");
}

/* One component.  `name` is a copy, because `rest` moves. */
static int walk_step(struct walk *walk, enum ws_links links, bool *ret_done)
{
    char name[NAME_MAX + 1];
    size_t length = strcspn(walk->rest, "/");
    const char *rest = walk->rest + length;
    const char *next = rest + strspn(rest, "/");
    struct ws_place *place = walk->place;
    int error;

    if (length > NAME_MAX)
        return P1_NAMETOOLONG;
    if (length == 0 || (length == 1 && walk->rest[0] == '.')) {
        memmove(walk->rest, next, strlen(next) + 1);
        return P1_SUCCESS;
    }
    if (is_dots(walk->rest, length))
        return walk_up(walk, next);
    memcpy(name, walk->rest, length);
    name[length] = '\0';
    error = path_push(place->path, name, length);
    if (error == P1_SUCCESS && walk->guarded)
        error = ws_guard_name(walk->wasi, place->mount, place->path);
    if (error != P1_SUCCESS)
        return error;
    if (*next != '\0')
        return walk_down(walk, name, next);
    place->slash = *rest == '/';
    return walk_last(walk, name, length, links, ret_done);
}

static int resolve_walk(struct nacre_wasi *wasi, const struct ws_file *base,
                        const char *path, enum ws_links links, struct ws_place *place)
{
    struct walk walk;
    bool done = false;
    int error = P1_SUCCESS;

    walk.wasi = wasi;
    walk.place = place;
    walk.asked = path;
    walk.is_root = wasi->mounts[base->mount].config->is_root;
    walk.guarded = wasi->mounts[base->mount].guarded;
    walk.links = 0;
    memcpy(walk.rest, path, strlen(path) + 1);
    if (walk.guarded)
        ws_guard_look(wasi, place->mount);
    if (path[0] == '/')
        error = walk_to_root(&walk);
    else
        walk_start(&walk, base->fd, base->id);
    while (error == P1_SUCCESS && !done && walk.rest[0] != '\0')
        error = walk_step(&walk, links, &done);
    place->dir_dev = walk.above[walk.depth].dev;
    if (error != P1_SUCCESS || done)
        return error;
    /* It ended in a directory that has no name of its own here: ".", "..", "a/..". */
    place->slash = false;
    place_name(place, ".", 1);
    if (fstat(place->dir_fd, &place->st) != 0)
        return ws_errno(errno);
    place->exists = true;
    if (walk.guarded)
        error = ws_guard_name(wasi, place->mount, place->path);
    return error;
}

/* ---- both ---- */

static int place_start(struct ws_place *place, const struct ws_file *base)
{
    size_t length = base->path ? strlen(base->path) : 0;

    if (length >= sizeof(place->path))
        return P1_NAMETOOLONG;
    memcpy(place->path, base->path ? base->path : "", length + 1);
    place->mount = base->mount;
    place->exists = false;
    place->dir_dev = base->id.dev;
    place_move(place, base->fd, false);
    return P1_SUCCESS;
}

int ws_resolve(struct nacre_wasi *wasi, const struct ws_file *base, const char *path,
               enum ws_links links, struct ws_place *place)
{
    const struct ws_mount *mount = &wasi->mounts[base->mount];
    enum quick quick = QUICK_WALK;
    int error = place_start(place, base);

    if (error != P1_SUCCESS)
        return error;
    if (path[0] == '/' && !mount->config->is_root)
        return escape(wasi, base->mount, path);
    if (wasi->has_openat2 && !mount->guarded && path[0] != '/')
        quick = resolve_quick(wasi, base, path, links, place, &error);
    if (quick == QUICK_WALK) {
        error = place_start(place, base);
        if (error == P1_SUCCESS)
            error = resolve_walk(wasi, base, path, links, place);
    }
    if (error != P1_SUCCESS)
        return error;
    error = ws_guard_device(wasi, place->mount, place->dir_fd, ".", place->dir_dev,
                            place->path);
    if (error == P1_SUCCESS && place->exists && place->st.st_dev != place->dir_dev)
        error = ws_guard_device(wasi, place->mount, place->dir_fd, place->name,
                                place->st.st_dev, place->path);
    return error;
}
