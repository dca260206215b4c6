/*
 * Paths come from a patch that a model wrote, and the tree may hold what another guest
 * planted.  No component may be a link: lstat() says so, and should one be put there
 * in between, the sandbox still ends at the workspace.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "nacre_tool.h"

static const char *shown_of(const char *path, const char *root)
{
    size_t length = strlen(root);

    if (strcmp(root, "/") == 0)
        return path + 1;
    if (strncmp(path, root, length) == 0 && path[length] == '/' && path[length + 1])
        return path + length + 1;
    return NULL;
}

/* Walks down from the workspace.  False: there is nothing at `path`. */
static bool look(const char *path, const char *root, struct stat *ret_stat)
{
    size_t length = strlen(path);
    char *part = nacre_arena(length + 1);

    memcpy(part, path, length + 1);
    for (size_t at = strcmp(root, "/") == 0 ? 1 : strlen(root) + 1; at <= length; at++) {
        if (path[at] != '/' && path[at] != '\0')
            continue;
        part[at] = '\0';
        if (lstat(part, ret_stat) != 0) {
            if (errno == ENOENT)
                return false;
            nacre_tool_fail_errno("looking at", part);
        }
        if (S_ISLNK(ret_stat->st_mode))
            nacre_tool_fail("denied", "%s is a link; a patch changes plain files only: "
                            "name the file that it leads to", part);
        if (at < length && !S_ISDIR(ret_stat->st_mode))
            nacre_tool_fail("not-a-directory", "%s is no directory", part);
        part[at] = path[at];
    }
    return true;
}

struct patch_entry *patch_files_get(struct patch_files *files, const char *path)
{
    const char *root = nacre_tool_path("."), *absolute = nacre_tool_path(path);
    const char *shown = shown_of(absolute, root);
    struct patch_entry *entry;
    struct stat stat;

    if (!shown)
        nacre_tool_fail("denied", "%s is not below %s; a patch changes the workspace "
                        "only", patch_shown(path, strlen(path)), root);
    if (path[0] && path[strlen(path) - 1] == '/')
        nacre_tool_fail("bad-patch", "%s names a directory, not a file",
                        patch_shown(path, strlen(path)));
    for (size_t i = 0; i < files->count; i++)
        if (strcmp(files->entries[i]->path, absolute) == 0)
            return files->entries[i];
    if (files->count == sizeof(files->entries) / sizeof(files->entries[0]))
        nacre_tool_fail("too-large", "the patch names more than %zu files", files->count);

    entry = nacre_arena(sizeof(*entry));
    *entry = (struct patch_entry){ .path = absolute, .shown = shown, .before = "" };
    if (look(absolute, root, &stat)) {
        if (!S_ISREG(stat.st_mode))
            nacre_tool_fail(S_ISDIR(stat.st_mode) ? "is-directory" : "denied",
                            "%s is no plain file", shown);
        entry->before = nacre_tool_read_file(absolute, PATCH_FILE_BYTES_MAX,
                                             &entry->before_count);
        entry->existed = true;
    }
    files->bytes += entry->before_count;
    if (files->bytes > PATCH_TOTAL_BYTES_MAX)
        nacre_tool_fail("too-large", "the files of the patch have more than %zu bytes",
                        PATCH_TOTAL_BYTES_MAX);
    entry->after = entry->before;
    entry->after_count = entry->before_count;
    entry->exists = entry->existed;
    files->entries[files->count++] = entry;
    return entry;
}

static bool is_changed(const struct patch_entry *entry)
{
    if (entry->exists != entry->existed)
        return true;
    if (!entry->exists)
        return false;
    return entry->after_count != entry->before_count ||
           memcmp(entry->after, entry->before, entry->after_count) != 0;
}

/* Directories that were made, to be taken away again. */
struct made {
    char **paths;
    size_t count, room;
};

static bool make_parents(const char *path, struct made *made)
{
    size_t length = strlen(path);
    char *part;

    for (size_t at = 1; at < length; at++) {
        if (path[at] != '/')
            continue;
        part = nacre_arena(at + 1);
        memcpy(part, path, at);
        part[at] = '\0';
        if (mkdir(part, 0777) != 0) {
            struct stat stat;

            /* A mount's root may be refused in other words than EEXIST. */
            if (lstat(part, &stat) == 0 && S_ISDIR(stat.st_mode))
                continue;
            return false;
        }
        if (made->count == made->room) {
            size_t room = made->room ? made->room * 2 : 16;

            made->paths = made->room ? nacre_arena_grow(made->paths,
                                                        made->room * sizeof(char *),
                                                        room * sizeof(char *))
                                     : nacre_arena(room * sizeof(char *));
            made->room = room;
        }
        made->paths[made->count++] = part;
    }
    return true;
}

/* The new bytes beside `entry->path`, under a name that nobody else has. */
static bool write_beside(struct patch_entry *entry, const char *bytes, size_t count)
{
    static unsigned number; /* goes on: a patch has many files */
    const char *slash = strrchr(entry->path, '/');
    size_t room = strlen(entry->path) + 64;
    char *name = nacre_arena(room);
    int fd = -1;
    bool is_written;

    for (unsigned attempt = 0; attempt < 1000 && fd < 0; attempt++) {
        (void)snprintf(name, room, "%.*s/.nacre-patch-%u.tmp", (int)(slash - entry->path),
                       entry->path, number++);
        fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);
        if (fd < 0 && errno != EEXIST)
            return false;
    }
    if (fd < 0)
        return false;
    is_written = nacre_tool_write_all(fd, bytes, count);
    if (close(fd) != 0 || !is_written) {
        int saved = errno;

        (void)unlink(name);
        errno = saved;
        return false;
    }
    entry->temporary = name;
    return true;
}

/* A name beside `entry->path` that nothing has. */
static bool name_beside(struct patch_entry *entry)
{
    return write_beside(entry, "", 0) && unlink(entry->temporary) == 0;
}

/* Which old files themselves become new ones? */
static void choose_moves(struct patch_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        struct patch_entry *entry = files->entries[i], *source = entry->source;

        entry->takes_source = source && entry->exists && !entry->existed &&
                              source->existed && !source->exists && !source->is_taken;
        if (entry->takes_source)
            source->is_taken = true;
    }
}

static bool put_back(struct patch_entry *entry)
{
    if (entry->takes_source) {
        return rename(entry->path, entry->source->path) == 0 && put_back(entry->source);
    }
    if (!entry->existed)
        return unlink(entry->path) == 0;
    /* Unless it was removed for good already. */
    if (!entry->exists && !entry->is_taken && rename(entry->temporary, entry->path) == 0)
        return true;
    return write_beside(entry, entry->before, entry->before_count) &&
           rename(entry->temporary, entry->path) == 0;
}

/* Undoes what was done, in the other direction, and ends the tool. */
static noreturn void give_up(struct patch_files *files, const struct made *made,
                             const struct patch_entry *failed, const char *doing)
{
    struct nacre_text left = { 0 };
    int saved = errno;

    for (size_t i = files->count; i-- > 0;) {
        struct patch_entry *entry = files->entries[i];

        if (entry->is_done && !put_back(entry)) {
            nacre_text_add(&left, " ", 1);
            nacre_text_add_shown(&left, entry->shown, strlen(entry->shown));
        } else if (!entry->is_done && entry->temporary) {
            (void)unlink(entry->temporary);
        }
    }
    for (size_t i = made->count; i-- > 0;)
        (void)rmdir(made->paths[i]);
    if (left.count > 0)
        nacre_tool_fail("half-done", "%s %s: %s; and these could not be put back:%s",
                        doing, failed->shown, strerror(saved), left.bytes);
    errno = saved;
    nacre_tool_fail_errno(doing, failed->path);
}

/* ---- the renames that make all of it true ---- */

enum effect {
    EFFECT_REPLACED,
    EFFECT_FILLED, /* the old file has the new bytes, */
    EFFECT_MOVED,  /* and its new name */
    EFFECT_DELETED,
};

struct steps {
    struct nacre_tool_rename *renames;
    struct {
        struct patch_entry *entry;
        enum effect effect;
    } *what;
    size_t count;
};

static void add_step(struct steps *steps, struct patch_entry *entry, enum effect effect,
                     const char *from, const char *to)
{
    steps->renames[steps->count] = (struct nacre_tool_rename){ from, to };
    steps->what[steps->count].entry = entry;
    steps->what[steps->count++].effect = effect;
}

/* A guest can't set a mode, but the host keeps that of a file which another replaces: so
 * an old file that is moved gets the new bytes first, and then its new name.  What goes is
 * renamed like the rest, to be removed when all of them are made. */
static void plan_steps(struct patch_files *files, struct steps *steps)
{
    const size_t room = 2 * files->count + 1;

    steps->renames = nacre_arena(room * sizeof(*steps->renames));
    steps->what = nacre_arena(room * sizeof(*steps->what));
    for (size_t i = 0; i < files->count; i++) {
        struct patch_entry *entry = files->entries[i];

        if (!entry->temporary)
            continue;
        if (!entry->exists) {
            add_step(steps, entry, EFFECT_DELETED, entry->path, entry->temporary);
        } else if (entry->takes_source) {
            add_step(steps, entry, EFFECT_FILLED, entry->temporary, entry->source->path);
            add_step(steps, entry, EFFECT_MOVED, entry->source->path, entry->path);
        } else {
            add_step(steps, entry, EFFECT_REPLACED, entry->temporary, entry->path);
        }
    }
}

static void note_done(const struct steps *steps, size_t done)
{
    for (size_t i = 0; i < done; i++) {
        struct patch_entry *entry = steps->what[i].entry;

        switch (steps->what[i].effect) {
        case EFFECT_FILLED:
            entry->temporary = NULL;
            entry->source->is_done = true;
            break;
        case EFFECT_MOVED:
            entry->source->is_done = false; /* it goes back with the one that took it */
            entry->is_done = true;
            break;
        case EFFECT_REPLACED:
            entry->temporary = NULL;
            entry->is_done = true;
            break;
        case EFFECT_DELETED:
            entry->is_done = true;
            break;
        }
    }
}

void patch_files_write(struct patch_files *files)
{
    struct made made = { 0 };
    struct steps steps = { 0 };
    struct patch_entry *entry;
    size_t done = 0;
    bool is_whole;

    choose_moves(files);
    for (size_t i = 0; i < files->count; i++) {
        entry = files->entries[i];
        if (!is_changed(entry) || entry->is_taken)
            continue;
        if (!entry->exists && !name_beside(entry))
            give_up(files, &made, entry, "deleting");
        if (entry->exists && !make_parents(entry->path, &made))
            give_up(files, &made, entry, "making the directory of");
        if (entry->exists && !write_beside(entry, entry->after, entry->after_count))
            give_up(files, &made, entry, "writing");
    }
    plan_steps(files, &steps);
    is_whole = nacre_tool_rename_all(steps.renames, steps.count, &done);
    note_done(&steps, done);
    if (!is_whole)
        give_up(files, &made, steps.what[done].entry,
                steps.what[done].effect == EFFECT_DELETED ? "deleting" : "replacing");
    for (size_t i = 0; i < files->count; i++) {
        entry = files->entries[i];
        if (!entry->exists && entry->temporary && unlink(entry->temporary) != 0)
            give_up(files, &made, entry, "deleting");
    }
}
