/*
 * The tree is anybody's: names may be of any bytes, directories may be swapped for links
 * while we walk, and be deeper than a path may be long.  So every directory is opened by
 * its one name, not following; where a path gets too long the directory counts as unread.
 */
#include "walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wasi/api.h>

#define LIST_BYTES 32768
#define RULES_BYTES_MAX ((size_t)1 << 20)

struct item {
    uint32_t name; /* offset */
    uint16_t count;
    uint8_t kind;
};

struct frame {
    int fd; /* -1: closed, to be opened again by its path */
    size_t path_count; /* of the path and its slash, from walk->path on */
    char *names;
    size_t names_count, names_room;
    struct item *items;
    size_t item_count, item_room, next;
    struct ignore_rules git, own;
    char *git_text, *own_text, *exclude_text;
    bool has_git, has_own, is_repository;
};

struct walk {
    struct walk_options options;
    struct frame *frames; /* those above the root come first, with rules alone */
    size_t frame_count, frame_room, above_count;
    char *root;           /* as it was given */
    char *path;           /* from the topmost directory whose rules count */
    size_t root_count;    /* how much of it is above the root */
    size_t open_count;
    bool descend;
    size_t descend_count;
    size_t unread;
    char *unread_path;
    int unread_errno;
    uint8_t listing[LIST_BYTES];
};

/* ---- opening ---- */

#define FILE_RIGHTS (__WASI_RIGHTS_FD_READ | __WASI_RIGHTS_FD_SEEK)
#define DIRECTORY_RIGHTS                                                                 \
    (__WASI_RIGHTS_FD_READDIR | __WASI_RIGHTS_PATH_OPEN |                                \
     __WASI_RIGHTS_PATH_FILESTAT_GET | __WASI_RIGHTS_PATH_READLINK)

static int open_at(int dir_fd, const char *name, bool directory)
{
    __wasi_rights_t rights = directory ? DIRECTORY_RIGHTS : FILE_RIGHTS;
    __wasi_fd_t fd;
    __wasi_errno_t error =
        __wasi_path_open(dir_fd, 0, name, directory ? __WASI_OFLAGS_DIRECTORY : 0, rights,
                         directory ? rights | FILE_RIGHTS : 0, 0, &fd);

    if (error == __WASI_ERRNO_SUCCESS)
        return (int)fd;
    errno = error;
    return -1;
}

int walk_open_file(int dir_fd, const char *name)
{
    return open_at(dir_fd, name, false);
}

/* A directory that is deep in the tree makes one further up close. */
static void make_room(struct walk *walk)
{
    for (size_t i = walk->above_count + 1;
         walk->open_count >= WALK_OPEN_MAX && i + 1 < walk->frame_count; i++)
        if (walk->frames[i].fd >= 0) {
            (void)__wasi_fd_close(walk->frames[i].fd);
            walk->frames[i].fd = -1;
            walk->open_count--;
        }
}

/* A directory that another mount holds has no name in the one around it. */
static int open_mounted(const struct walk *walk, size_t path_count)
{
    size_t root_count = strlen(walk->root), count = path_count - walk->root_count;
    char path[2 * WALK_PATH_MAX + 2];

    memcpy(path, walk->root, root_count);
    path[root_count] = '/';
    memcpy(path + root_count + 1, walk->path + walk->root_count, count);
    path[root_count + 1 + count] = '\0';
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
}

/* Its path has no slash at its end here. */
static bool open_again(struct walk *walk, struct frame *frame)
{
    char *end = walk->path + frame->path_count - 1;

    *end = '\0';
    frame->fd = open_at(walk->frames[walk->above_count].fd, walk->path + walk->root_count,
                        true);
    if (frame->fd < 0 && errno == EACCES)
        frame->fd = open_mounted(walk, frame->path_count - 1);
    *end = '/';
    walk->open_count += frame->fd >= 0;
    return frame->fd >= 0;
}

static void note_unread(struct walk *walk, size_t path_count)
{
    if (walk->unread++ > 0)
        return;
    walk->unread_errno = errno;
    walk->unread_path =
        strndup(walk->path + walk->root_count, path_count - walk->root_count);
}

/* ---- listing ---- */

static enum walk_kind kind_of(const struct frame *frame, const char *name, uint8_t type)
{
    __wasi_filestat_t info;

    if (type == __WASI_FILETYPE_UNKNOWN) {
        if (__wasi_path_filestat_get(frame->fd, 0, name, &info) != __WASI_ERRNO_SUCCESS)
            return WALK_OTHER;
        type = info.filetype;
    }
    return type == __WASI_FILETYPE_REGULAR_FILE    ? WALK_FILE
           : type == __WASI_FILETYPE_DIRECTORY     ? WALK_DIRECTORY
           : type == __WASI_FILETYPE_SYMBOLIC_LINK ? WALK_LINK
                                                   : WALK_OTHER;
}

static bool grow(void **block, size_t *room, size_t wanted, size_t each)
{
    size_t grown = *room ? *room : 64;
    void *moved;

    while (grown < wanted)
        grown *= 2;
    if (grown == *room)
        return true;
    moved = realloc(*block, grown * each);
    if (!moved)
        return false;
    *block = moved;
    *room = grown;
    return true;
}

static bool add_item(struct walk *walk, struct frame *frame, const char *name,
                     size_t count, uint8_t type)
{
    struct item *item;
    char *kept;

    if ((count == 1 && name[0] == '.') ||
        (count == 2 && name[0] == '.' && name[1] == '.'))
        return true;
    if (name[0] == '.') {
        if (count == 4 && memcmp(name, ".git", 4) == 0) {
            frame->is_repository = true;
            return true;
        }
        frame->has_git |= count == 10 && memcmp(name, ".gitignore", 10) == 0;
        frame->has_own |= count == 7 && memcmp(name, ".ignore", 7) == 0;
        if (!walk->options.hidden)
            return true;
    }
    if (!grow((void **)&frame->names, &frame->names_room, frame->names_count + count + 1,
              1) ||
        !grow((void **)&frame->items, &frame->item_room, frame->item_count + 1,
              sizeof(*frame->items)))
        return false;
    kept = frame->names + frame->names_count;
    memcpy(kept, name, count);
    kept[count] = '\0';
    item = &frame->items[frame->item_count++];
    item->name = (uint32_t)frame->names_count;
    item->count = (uint16_t)count;
    item->kind = (uint8_t)kind_of(frame, kept, type);
    frame->names_count += count + 1;
    return true;
}

/* One buffer of entries; *ret_more: there are others, and *cookie says from where. */
static bool list_some(struct walk *walk, struct frame *frame, __wasi_dircookie_t *cookie,
                      bool *ret_more)
{
    __wasi_size_t used;
    size_t at = 0;
    __wasi_errno_t error =
        __wasi_fd_readdir(frame->fd, walk->listing, LIST_BYTES, *cookie, &used);

    errno = error;
    if (error != __WASI_ERRNO_SUCCESS)
        return false;
    while (used - at >= sizeof(__wasi_dirent_t)) {
        __wasi_dirent_t entry;

        memcpy(&entry, walk->listing + at, sizeof(entry));
        at += sizeof(entry);
        if (entry.d_namlen > used - at) /* cut: it comes again */
            break;
        errno = ENOMEM;
        if (entry.d_namlen > 0 && entry.d_namlen <= UINT16_MAX &&
            !add_item(walk, frame, (const char *)walk->listing + at, entry.d_namlen,
                      entry.d_type))
            return false;
        at += entry.d_namlen;
        *cookie = entry.d_next;
    }
    *ret_more = used == LIST_BYTES;
    return true;
}

/* Directories sort as if their slash were there: so do the paths below them. */
static int compare_names(const char *names, const struct item *one,
                         const struct item *other)
{
    size_t least = one->count < other->count ? one->count : other->count;
    int order = memcmp(names + one->name, names + other->name, least);
    unsigned char a, b;

    if (order != 0)
        return order;
    a = one->count > least ? (unsigned char)names[one->name + least]
        : one->kind == WALK_DIRECTORY ? '/' : '\0';
    b = other->count > least ? (unsigned char)names[other->name + least]
        : other->kind == WALK_DIRECTORY ? '/' : '\0';
    return a < b ? -1 : a > b;
}

/* Merging from below: no comparison function of libc's is handed the names. */
static bool sort_items(struct frame *frame)
{
    size_t count = frame->item_count;
    struct item *from = frame->items, *to = malloc((count + 1) * sizeof(*to)), *swap;

    if (!to)
        return false;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t start = 0; start < count; start += 2 * width) {
            size_t middle = start + width < count ? start + width : count;
            size_t end = start + 2 * width < count ? start + 2 * width : count;
            size_t left = start, right = middle;

            for (size_t at = start; at < end; at++)
                to[at] = left < middle &&
                                 (right >= end || compare_names(frame->names, &from[left],
                                                                &from[right]) <= 0)
                             ? from[left++]
                             : from[right++];
        }
        swap = from;
        from = to;
        to = swap;
    }
    frame->items = from;
    frame->item_room = from == to ? 0 : count + 1;
    free(to);
    return true;
}

static bool list_all(struct walk *walk, struct frame *frame)
{
    __wasi_dircookie_t cookie = 0;
    bool more = true;

    while (more)
        if (!list_some(walk, frame, &cookie, &more))
            return false;
    return sort_items(frame);
}

/* ---- rules ---- */

/* What can't be read has no rules; what is over the limit has those of its start. */
static void read_rules(int dir_fd, const char *name, struct ignore_rules *rules,
                       char **text)
{
    int fd = open_at(dir_fd, name, false);
    size_t count = 0, room = 4096;
    ssize_t got = 1;

    if (fd < 0)
        return;
    *text = malloc(room);
    while (*text && got > 0 && count < RULES_BYTES_MAX) {
        if (count == room) {
            char *grown = realloc(*text, 2 * room);

            if (!grown)
                break;
            *text = grown;
            room *= 2;
        }
        got = read(fd, *text + count, room - count);
        count += got > 0 ? (size_t)got : 0;
    }
    (void)__wasi_fd_close(fd);
    if (*text)
        (void)ignore_add_file(rules, *text, count);
}

static void load_rules(struct walk *walk, struct frame *frame)
{
    if (walk->options.no_ignore)
        return;
    if (frame->is_repository)
        read_rules(frame->fd, ".git/info/exclude", &frame->git, &frame->exclude_text);
    if (frame->has_git)
        read_rules(frame->fd, ".gitignore", &frame->git, &frame->git_text);
    if (frame->has_own)
        read_rules(frame->fd, ".ignore", &frame->own, &frame->own_text);
}

static enum ignore_verdict judge_by(const struct walk *walk, size_t path_count,
                                    const char *name, bool is_directory, bool own)
{
    for (size_t i = walk->frame_count; i > 0; i--) {
        const struct frame *frame = &walk->frames[i - 1];
        const struct ignore_rules *rules = own ? &frame->own : &frame->git;
        enum ignore_verdict verdict;

        if (rules->count == 0)
            continue;
        verdict = ignore_judge(rules, walk->path + frame->path_count,
                               path_count - frame->path_count, name, is_directory);
        if (verdict != IGNORE_NONE)
            return verdict;
    }
    return IGNORE_NONE;
}

static bool is_left_out(const struct walk *walk, size_t path_count, const char *name,
                        bool is_directory)
{
    enum ignore_verdict verdict = judge_by(walk, path_count, name, is_directory, true);

    if (verdict == IGNORE_NONE)
        verdict = judge_by(walk, path_count, name, is_directory, false);
    return verdict == IGNORE_LEFT_OUT;
}

/* ---- frames ---- */

static void frame_clear(struct walk *walk, struct frame *frame)
{
    if (frame->fd >= 0) {
        (void)__wasi_fd_close(frame->fd);
        walk->open_count--;
    }
    free(frame->names);
    free(frame->items);
    ignore_clear(&frame->git);
    ignore_clear(&frame->own);
    free(frame->git_text);
    free(frame->own_text);
    free(frame->exclude_text);
}

static struct frame *frame_add(struct walk *walk, int fd, size_t path_count)
{
    if (!grow((void **)&walk->frames, &walk->frame_room, walk->frame_count + 1,
              sizeof(*walk->frames))) {
        (void)__wasi_fd_close(fd);
        errno = ENOMEM;
        return NULL;
    }
    walk->frames[walk->frame_count] =
        (struct frame){ .fd = fd, .path_count = path_count };
    walk->open_count += fd >= 0;
    return &walk->frames[walk->frame_count++];
}

static void frame_pop(struct walk *walk)
{
    frame_clear(walk, &walk->frames[--walk->frame_count]);
}

/* Into the directory whose path was handed out last. */
static void go_down(struct walk *walk)
{
    struct frame *top = &walk->frames[walk->frame_count - 1];
    size_t count = walk->descend_count;
    int fd;

    make_room(walk);
    fd = open_at(top->fd, walk->path + top->path_count, true);
    if (fd < 0 && errno == EACCES)
        fd = open_mounted(walk, count);
    top = fd >= 0 ? frame_add(walk, fd, count + 1) : NULL;
    if (!top) {
        note_unread(walk, count);
        return;
    }
    walk->path[count] = '/';
    if (!list_all(walk, top)) {
        note_unread(walk, count);
        frame_pop(walk);
        return;
    }
    load_rules(walk, top);
}

static bool visit(struct walk *walk, struct frame *frame, const struct item *item,
                  struct walk_entry *ret_entry)
{
    size_t count = frame->path_count + item->count;
    bool is_directory = item->kind == WALK_DIRECTORY;
    char *name = walk->path + frame->path_count;

    if (count >= WALK_PATH_MAX) {
        errno = ENAMETOOLONG;
        note_unread(walk, frame->path_count);
        return false;
    }
    memcpy(name, frame->names + item->name, item->count + 1);
    if (!walk->options.no_ignore && is_left_out(walk, count, name, is_directory))
        return false;
    *ret_entry = (struct walk_entry){
        .path = walk->path + walk->root_count,
        .path_count = count - walk->root_count,
        .name = name,
        .kind = (enum walk_kind)item->kind,
        .depth = (unsigned)(walk->frame_count - walk->above_count),
        .dir_fd = frame->fd,
    };
    walk->descend = is_directory && (walk->options.depth_max == 0 ||
                                     ret_entry->depth < walk->options.depth_max);
    walk->descend_count = count;
    return true;
}

bool walk_next(struct walk *walk, struct walk_entry *ret_entry)
{
    if (walk->descend)
        go_down(walk);
    walk->descend = false;
    while (walk->frame_count > walk->above_count) {
        struct frame *frame = &walk->frames[walk->frame_count - 1];

        if (frame->next == frame->item_count) {
            frame_pop(walk);
            continue;
        }
        if (frame->fd < 0 && !open_again(walk, frame)) {
            note_unread(walk, frame->path_count - 1);
            frame_pop(walk);
            continue;
        }
        if (visit(walk, frame, &frame->items[frame->next++], ret_entry))
            return true;
    }
    return false;
}

void walk_skip(struct walk *walk)
{
    walk->descend = false;
}

/* ---- the root ---- */

static bool has_repository(const char *directory, size_t count)
{
    char path[WALK_PATH_MAX + 8];

    memcpy(path, directory, count);
    memcpy(path + count, "/.git", 6);
    return access(path, F_OK) == 0;
}

/* The rules of the directories above, from the repository's own on. */
static bool load_above(struct walk *walk, const char *root)
{
    size_t starts[WALK_PATH_MAX / 2], depth = 0, count = strlen(root), base;
    struct frame *frame;

    while (count > 1 && root[count - 1] == '/')
        count--;
    for (size_t at = count; !walk->options.no_ignore && at > 1 &&
                            !has_repository(root, at);) {
        while (at > 1 && root[at - 1] != '/')
            at--;
        at -= at > 1; /* the slash */
        if (at <= 1)
            break; /* "/" is where the mounts are */
        starts[depth++] = at;
    }
    base = depth > 0 ? starts[depth - 1] + 1 : count;
    memcpy(walk->path, root + base, count - base);
    walk->root_count = depth > 0 ? count - base + 1 : 0;
    if (walk->root_count > 0)
        walk->path[walk->root_count - 1] = '/';
    for (; depth > 0; depth--) {
        char above[WALK_PATH_MAX + 1];
        int fd;

        memcpy(above, root, starts[depth - 1]);
        above[starts[depth - 1]] = '\0';
        fd = open(above, O_RDONLY | O_DIRECTORY);
        if (fd < 0)
            continue; /* above what is mounted */
        frame = frame_add(walk, fd, starts[depth - 1] + 1 - base);
        if (!frame)
            return false;
        frame->has_git = frame->has_own = frame->is_repository = true;
        load_rules(walk, frame);
        (void)__wasi_fd_close(fd);
        frame->fd = -1;
        walk->open_count--;
    }
    walk->above_count = walk->frame_count;
    return true;
}

struct walk *walk_open(const char *root, const struct walk_options *options)
{
    struct walk *walk = calloc(1, sizeof(*walk));
    struct frame *frame = NULL;
    int fd = -1;

    errno = ENAMETOOLONG;
    if (walk && strlen(root) < WALK_PATH_MAX) {
        walk->options = *options;
        walk->path = malloc(2 * WALK_PATH_MAX + 2);
        walk->root = strdup(root);
        errno = ENOMEM;
        if (walk->path && walk->root && load_above(walk, root))
            fd = open(root, O_RDONLY | O_DIRECTORY);
    }
    if (fd >= 0)
        frame = frame_add(walk, fd, walk->root_count);
    if (!frame || !list_all(walk, frame)) {
        int error = errno;

        walk_free(walk);
        errno = error;
        return NULL;
    }
    load_rules(walk, frame);
    return walk;
}

void walk_free(struct walk *walk)
{
    if (!walk)
        return;
    while (walk->frame_count > 0)
        frame_pop(walk);
    free(walk->frames);
    free(walk->root);
    free(walk->path);
    free(walk->unread_path);
    free(walk);
}

size_t walk_unread(const struct walk *walk, const char **ret_path, int *ret_errno)
{
    *ret_path = walk->unread_path ? walk->unread_path : "";
    *ret_errno = walk->unread_errno;
    return walk->unread;
}
