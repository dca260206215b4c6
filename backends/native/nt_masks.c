/*
 * Trusts the plan's names and the fds of its mounts.  What lies below a mount may be
 * changed by anybody at any time: each component is opened once, by its name in the
 * directory that is held, and judged by that fd.
 */
#include "nt_masks.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nacre/text.h"
#include "nt_placeholders.h"
#include "nt_watch.h"

#define NAME_BYTES 256 /* a longer component is no name on any filesystem */

struct nt_masks {
    const struct nacre_open_mounts *mounts;
    struct nt_user user;
    struct nt_mask *items;
    size_t count;
    struct nt_watch *watch;
    struct nt_placeholders *placeholders; /* NULL: none can be made */
};

/* The walk along one denied name. */
struct walk {
    struct nt_masks *masks;
    uint32_t mount;
    int dir_fd;      /* where we are */
    const char *rest; /* what is left of the name */
    char name[NAME_BYTES];       /* the component that is being looked at */
    char path[NACRE_PATH_MAX];   /* to it, from the mount */
    size_t parent_length;        /* of the path: to where we are */
};

static bool is_writable(const struct walk *walk)
{
    return walk->masks->mounts->items[walk->mount].mount->writable;
}

#define GUEST_PATH (2 * NACRE_PATH_MAX)

/* As a guest would call it; for messages. */
static const char *guest_path(const struct walk *walk, char ret_path[GUEST_PATH])
{
    const char *guest = walk->masks->mounts->items[walk->mount].mount->guest;

    (void)snprintf(ret_path, GUEST_PATH, "%.*s/%s", NACRE_PATH_MAX - 2,
                   strcmp(guest, "/") ? guest : "", walk->path);
    return ret_path;
}

static struct nt_mask *find_mask(const struct nt_masks *masks, uint32_t mount,
                                 const char *path)
{
    for (size_t i = 0; i < masks->count; i++)
        if (masks->items[i].mount == mount && strcmp(masks->items[i].path, path) == 0)
            return &masks->items[i];
    return NULL;
}

static bool is_covered(const struct nt_masks *masks, uint32_t mount, const char *path)
{
    const struct nt_mask *mask = find_mask(masks, mount, path);

    return mask && mask->kind != NT_MASK_SELF;
}

/* Holds an fd of its own; what is there already stays. */
static enum nacre_status add_mask(struct nt_masks *masks, uint32_t mount,
                                  const char *path, enum nt_mask_kind kind, int fd,
                                  struct nacre_error *err)
{
    struct nt_mask *grown;

    if (find_mask(masks, mount, path))
        return NACRE_OK;
    grown = realloc(masks->items, (masks->count + 1) * sizeof(*grown));
    if (!grown)
        return nacre_fail(err, NACRE_ERR_MEMORY, "denied paths");
    masks->items = grown;
    grown += masks->count++;
    *grown = (struct nt_mask){ mount, strdup(path), kind,
                               fcntl(fd, F_DUPFD_CLOEXEC, 3) };
    if (!grown->path)
        return nacre_fail(err, NACRE_ERR_MEMORY, "denied paths");
    if (grown->fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't hold a denied path");
    return NACRE_OK;
}

static enum nacre_status add_here(struct walk *walk, enum nt_mask_kind kind, int fd,
                                  struct nacre_error *err)
{
    return add_mask(walk->masks, walk->mount, walk->path, kind, fd, err);
}

static enum nacre_status watch_here(struct walk *walk, const struct stat *info,
                                    struct nacre_error *err)
{
    char shown[GUEST_PATH];

    return nt_watch_add(walk->masks->watch, walk->dir_fd, walk->name, info,
                        guest_path(walk, shown), err);
}

/* ---- what a component can be ---- */

/* The directory we are in may not be searched: it is covered as a whole. */
static enum nacre_status cover_parent(struct walk *walk, struct nacre_error *err)
{
    struct nt_mask *mask;

    walk->path[walk->parent_length] = '\0';
    mask = find_mask(walk->masks, walk->mount, walk->path);
    if (mask) {
        mask->kind = NT_MASK_COVER_DIR;
        return NACRE_OK;
    }
    return add_here(walk, NT_MASK_COVER_DIR, walk->dir_fd, err);
}

/* A directory that can't be written now is no wall to a guest that owns it: it would give
 * itself the right, and what it makes there would outlive it, watched or not. */
static enum nacre_status check_owner(struct walk *walk, struct nacre_error *err)
{
    char path[GUEST_PATH], shown[NACRE_SHOWN];
    uid_t user = geteuid();
    struct stat info;

    if (fstat(walk->dir_fd, &info) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't look at a denied path");
    if (faccessat(walk->dir_fd, ".", W_OK, AT_EACCESS) == 0 || errno != EACCES ||
        (user == 0 ? info.st_uid == 0 : info.st_uid != user))
        return NACRE_OK;
    errno = 0;
    return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                      "the denied path %s is not there, and can't be held in a directory "
                      "that is not writable now but that its owner, the guest, could "
                      "make so: make it writable, or make the mount read-only",
                      nacre_text_shown(shown, guest_path(walk, path)));
}

static enum nacre_status hold(struct walk *walk, struct nacre_error *err)
{
    struct nt_masks *masks = walk->masks;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    enum nacre_status status;
    struct stat info;

    if (!masks->placeholders)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "a denied path that is not there yet can only be held with a "
                          "state directory to write it down in");
    /* What is missing in the middle will be a directory, if ever; the end may be a file,
     * which whoever makes it can then write to. */
    status = nt_placeholders_hold(masks->placeholders, walk->dir_fd, walk->name,
                                  walk->rest[0] != '\0', &fd, err);
    if (status != NACRE_OK)
        return status;
    if (fd < 0) {
        status = check_owner(walk, err);
        return status == NACRE_OK ? watch_here(walk, NULL, err) : status;
    }
    if (fstat(fd, &info) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't look at a denied path");
    status = watch_here(walk, &info, err);
    if (status != NACRE_OK)
        return status;
    return add_here(walk,
                    S_ISDIR(info.st_mode) ? NT_MASK_COVER_DIR : NT_MASK_COVER_FILE, fd,
                    err);
}

static enum nacre_status meet_link(struct walk *walk, struct nacre_error *err)
{
    char path[GUEST_PATH], shown[NACRE_SHOWN];

    if (!is_writable(walk))
        return NACRE_OK;
    return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                      "%s is a symbolic link on the way to a denied path below a "
                      "writable mount, where a guest could replace it: deny the path "
                      "that it leads to instead, or make the mount read-only",
                      nacre_text_shown(shown, guest_path(walk, path)));
}

/* What is there, by its fd; *ret_deeper: the walk goes on in it. */
static enum nacre_status meet(struct walk *walk, int fd, bool *ret_deeper,
                              struct nacre_error *err)
{
    bool is_last = !walk->rest[0];
    enum nacre_status status;
    struct stat info;

    if (fstat(fd, &info) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't look at a denied path");
    if (is_writable(walk) && nt_placeholders_is(walk->dir_fd, walk->name, &info))
        return hold(walk, err);
    status = watch_here(walk, &info, err);
    if (status != NACRE_OK)
        return status;
    if (S_ISLNK(info.st_mode))
        return meet_link(walk, err);
    if (is_last)
        return add_here(
            walk, S_ISDIR(info.st_mode) ? NT_MASK_COVER_DIR : NT_MASK_COVER_FILE, fd,
            err);
    /* A file on the way: as long as it can't be removed, nothing can lie below it. */
    *ret_deeper = S_ISDIR(info.st_mode);
    return add_here(walk, NT_MASK_SELF, fd, err);
}

/* ---- the walk ---- */

bool nt_masks_is_own(const char *path)
{
    static const char *const own[] = { "proc", "sys", "dev", "run" };
    size_t length = strcspn(path, "/");

    for (size_t i = 0; i < NACRE_COUNT(own); i++)
        if (strlen(own[i]) == length && strncmp(path, own[i], length) == 0)
            return true;
    return false;
}

/* Another mount lies there and hides what is below: the denied names in it are its own
 * affair, and a mount point keeps its name. */
static bool is_mounted_over(const struct walk *walk)
{
    const struct nacre_mount *mount = walk->masks->mounts->items[walk->mount].mount;

    if (strcmp(mount->guest, "/") == 0 && nt_masks_is_own(walk->path))
        return true;
    for (uint32_t i = 0; i < mount->covered_count; i++)
        if (strcmp(mount->covered[i], walk->path) == 0)
            return true;
    return false;
}

/* The next component; false when it is too long to be the name of anything. */
static bool advance(struct walk *walk)
{
    size_t length = strcspn(walk->rest, "/");

    assert(length > 0);
    if (length >= sizeof(walk->name))
        return false;
    memcpy(walk->name, walk->rest, length);
    walk->name[length] = '\0';
    assert(strcmp(walk->name, "..") != 0 && strcmp(walk->name, ".") != 0);
    walk->rest += length + (walk->rest[length] == '/');
    walk->parent_length = strlen(walk->path);
    return snprintf(walk->path + walk->parent_length,
                    sizeof(walk->path) - walk->parent_length, "%s%s",
                    walk->parent_length ? "/" : "", walk->name) <
           (int)(sizeof(walk->path) - walk->parent_length);
}

static enum nacre_status step(struct walk *walk, bool *ret_deeper,
                              struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    enum nacre_status status;

    *ret_deeper = false;
    if (!advance(walk) || is_covered(walk->masks, walk->mount, walk->path) ||
        is_mounted_over(walk))
        return NACRE_OK;
    if (!nt_user_may(&walk->masks->user, walk->dir_fd, X_OK))
        return cover_parent(walk, err);
    fd = openat(walk->dir_fd, walk->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 && errno == EACCES)
        return cover_parent(walk, err);
    if (fd < 0 && errno == ENAMETOOLONG)
        return NACRE_OK;
    if (fd < 0 && errno != ENOENT)
        return nacre_fail(err, NACRE_ERR_IO, "can't look at a denied path");
    if (fd < 0)
        return is_writable(walk) ? hold(walk, err) : watch_here(walk, NULL, err);
    status = meet(walk, fd, ret_deeper, err);
    if (status == NACRE_OK && *ret_deeper) {
        (void)close(walk->dir_fd);
        walk->dir_fd = nacre_fd_take(&fd);
    }
    return status;
}

static enum nacre_status mask_name(struct nt_masks *masks, uint32_t mount,
                                   const char *denied, struct nacre_error *err)
{
    int mount_fd = masks->mounts->items[mount].fd;
    struct walk walk = { .masks = masks, .mount = mount, .rest = denied };
    enum nacre_status status = NACRE_OK;
    bool deeper = true;

    if (is_covered(masks, mount, ""))
        return NACRE_OK;
    if (!denied[0])
        return add_mask(masks, mount, "", NT_MASK_COVER_DIR, mount_fd, err);
    walk.dir_fd = fcntl(mount_fd, F_DUPFD_CLOEXEC, 3);
    if (walk.dir_fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't hold a mount");
    while (status == NACRE_OK && deeper && walk.rest[0])
        status = step(&walk, &deeper, err);
    (void)close(walk.dir_fd);
    return status;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* In order, so that a name comes before those below it. */
static enum nacre_status mask_mount(struct nt_masks *masks, uint32_t mount,
                                    struct nacre_error *err)
{
    const struct nacre_open_mount *open = &masks->mounts->items[mount];
    NACRE_AUTO(nacre_heap_guard) const char **names = NULL;
    enum nacre_status status = NACRE_OK;

    if (open->fd < 0 || open->denied_count == 0)
        return NACRE_OK;
    names = calloc(open->denied_count, sizeof(*names));
    if (!names)
        return nacre_fail(err, NACRE_ERR_MEMORY, "denied paths");
    memcpy(names, open->denied, open->denied_count * sizeof(*names));
    qsort(names, open->denied_count, sizeof(*names), compare);
    for (uint32_t i = 0; i < open->denied_count && status == NACRE_OK; i++)
        status = mask_name(masks, mount, names[i], err);
    return status;
}

enum nacre_status nt_masks_open(const struct nacre_open_mounts *mounts,
                                const struct nt_user *user, const char *state_dir,
                                struct nt_masks **ret_masks, struct nacre_error *err)
{
    NACRE_AUTO(nt_masks_guard) struct nt_masks *masks = calloc(1, sizeof(*masks));
    enum nacre_status status;
    bool any = false;

    if (!masks)
        return nacre_fail(err, NACRE_ERR_MEMORY, "denied paths");
    masks->mounts = mounts;
    masks->user = *user;
    for (uint32_t i = 0; i < mounts->count; i++)
        any |= mounts->items[i].fd >= 0 && mounts->items[i].denied_count > 0;
    status = nt_watch_new(&masks->watch, err);
    if (status == NACRE_OK && state_dir)
        status = nt_placeholders_open(state_dir, &masks->placeholders, err);
    for (uint32_t i = 0; i < mounts->count && status == NACRE_OK; i++)
        status = mask_mount(masks, i, err);
    if (status == NACRE_OK && any)
        status = nt_watch_arm(masks->watch, err);
    if (status != NACRE_OK)
        return status;
    *ret_masks = nt_masks_take(&masks);
    return NACRE_OK;
}

const struct nt_mask *nt_masks_items(const struct nt_masks *masks, size_t *ret_count)
{
    *ret_count = masks->count;
    return masks->items;
}

bool nt_masks_changed(void *masks, char *reason, size_t size)
{
    return nt_watch_changed(((struct nt_masks *)masks)->watch, reason, size);
}

int nt_masks_fd(const struct nt_masks *masks)
{
    return nt_watch_fd(masks->watch);
}

void nt_masks_free(struct nt_masks *masks)
{
    if (!masks)
        return;
    for (size_t i = 0; i < masks->count; i++) {
        nacre_fd_guard(&masks->items[i].fd);
        free(masks->items[i].path);
    }
    free(masks->items);
    nt_watch_free(masks->watch);
    nt_placeholders_free(masks->placeholders);
    free(masks);
}
