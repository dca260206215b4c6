/*
 * Walks where a guest could write, while others, a background process of the guest's
 * among them, may change what is there.  So nothing is opened by a path: each name
 * below its own directory, no link is followed, and what was opened is what is judged.
 *
 * A file is rewritten in place, so that its owner, its mode and its other names stay.
 */
#include "leak_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "nacre/clock.h"
#include "nacre/text.h"

#define NAMES_MAX 200000
#define FILES_MAX 20000
#define BYTES_MAX ((uint64_t)1 << 30)
#define REWRITE_BYTES_MAX ((size_t)16 << 20)
#define DEPTH_MAX 64
#define TIME_NS_MAX (10 * NACRE_NS_PER_S)
#define PATH_BYTES_MAX 4096
#define APART_MAX 256
#define OPEN_FLAGS (O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

struct walk {
    const struct nacre_leaks *scanner;
    const struct nacre_mount *mount;
    struct timespec since;
    uint64_t until_ns, bytes_left;
    uint32_t names_left, files_left;
    struct nacre_result *result;
    struct nacre_leak_counts *counts;
    uint64_t skipped;          /* what was not looked at */
    struct {
        dev_t device;
        ino_t inode;
    } apart[APART_MAX]; /* out of the guest's reach, by whichever name */
    size_t apart_count;
    char path[PATH_BYTES_MAX]; /* below the mount; "" is the mount itself */
};

static void tell(struct walk *walk, const char *code, const char *text)
{
    struct nacre_denial denial = { .rule = "capabilities.secrets.leak_detection" };
    char guest[2 * PATH_BYTES_MAX];

    (void)snprintf(guest, sizeof(guest), "%s/%s",
                   strcmp(walk->mount->guest, "/") == 0 ? "" : walk->mount->guest,
                   walk->path);
    (void)snprintf(denial.code, sizeof(denial.code), "%s", code);
    (void)nacre_text_show(denial.path, sizeof(denial.path), guest, strlen(guest));
    (void)snprintf(denial.text, sizeof(denial.text), "%.200s: %s", denial.path, text);
    nacre_result_deny(walk->result, &denial);
}

/* ---- one file ---- */

static void add_clean(void *data, const char *bytes, size_t count)
{
    struct nacre_buf *clean = data;
    struct nacre_error err;

    /* Once something did not fit it is not whole, and its limit says so. */
    if (clean->size_max > 0 && nacre_buf_add(clean, bytes, count, &err) != NACRE_OK) {
        nacre_buf_clear(clean);
        clean->size_max = 0;
    }
}

/* False: not all of it was seen. */
static bool read_all(struct walk *walk, int fd, struct nacre_leak_stream *stream,
                     struct nacre_buf *clean, bool *ret_text)
{
    struct nacre_error err;
    ssize_t got = 1;

    *ret_text = true;
    while (got != 0) {
        char bytes[64 << 10];

        got = read(fd, bytes, sizeof(bytes));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 || (uint64_t)got > walk->bytes_left ||
            nacre_clock_ns() > walk->until_ns)
            return false;
        walk->bytes_left -= (uint64_t)got;
        if (memchr(bytes, '\0', (size_t)got))
            *ret_text = false;
        if (nacre_leak_stream_add(stream, bytes, (size_t)got, got == 0, add_clean, clean,
                                  &err) != NACRE_OK)
            return false;
    }
    return true;
}

static bool rewrite(int directory, const char *name, const struct stat *before,
                    const struct nacre_buf *clean)
{
    NACRE_AUTO(nacre_fd_guard) int fd = openat(directory, name, O_WRONLY | OPEN_FLAGS);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) != 0 || st.st_dev != before->st_dev ||
        st.st_ino != before->st_ino)
        return false;
    for (size_t at = 0; at < clean->size;) {
        ssize_t wrote = pwrite(fd, clean->bytes + at, clean->size - at, (off_t)at);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        at += (size_t)wrote;
    }
    return ftruncate(fd, (off_t)clean->size) == 0;
}

static void report(struct walk *walk, const struct nacre_leak_counts *counts,
                   const char *done)
{
    char text[256];

    (void)snprintf(text, sizeof(text),
                   "%s (secret values %" PRIu64 ", private keys %" PRIu64
                   ", tokens %" PRIu64 ")",
                   done, counts->values, counts->blocked, counts->redacted);
    tell(walk, "leak-in-file", text);
}

static void count(struct walk *walk, const struct nacre_leak_counts *counts)
{
    walk->counts->values += counts->values;
    walk->counts->blocked += counts->blocked;
    walk->counts->redacted += counts->redacted;
    walk->counts->warned += counts->warned;
}

static bool is_leak(const struct nacre_leak_counts *counts)
{
    return counts->values + counts->blocked + counts->redacted > 0;
}

/* Its name, and where a link leads, are told and stay: others may go by them. */
static void scan_name(struct walk *walk, int directory, const char *name,
                      const struct stat *st)
{
    struct nacre_leak_counts counts = { 0 };
    char target[PATH_BYTES_MAX];
    ssize_t length = S_ISLNK(st->st_mode)
                         ? readlinkat(directory, name, target, sizeof(target))
                         : 0;

    (void)nacre_leaks_find(walk->scanner, name, strlen(name), &counts);
    if (length > 0)
        (void)nacre_leaks_find(walk->scanner, target, (size_t)length, &counts);
    count(walk, &counts);
    if (is_leak(&counts))
        report(walk, &counts, "has secrets in its name or in where it links to");
}

static void scan_file(struct walk *walk, int directory, const char *name)
{
    NACRE_AUTO(nacre_leak_stream_guard) struct nacre_leak_stream *stream = NULL;
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf clean = NACRE_BUF(REWRITE_BYTES_MAX);
    NACRE_AUTO(nacre_fd_guard) int fd = openat(directory, name, O_RDONLY | OPEN_FLAGS);
    const struct nacre_leak_counts *counts;
    struct nacre_error err;
    struct stat st;
    bool is_text;

    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || walk->files_left == 0 ||
        nacre_leak_stream_new(walk->scanner, &stream, &err) != NACRE_OK ||
        !read_all(walk, fd, stream, &clean, &is_text)) {
        walk->skipped++;
        return;
    }
    walk->files_left--;
    counts = nacre_leak_stream_counts(stream);
    count(walk, counts);
    if (!is_leak(counts))
        return;
    if (!is_text)
        report(walk, counts, "has secrets in it, and is no text that could be rewritten");
    else if (clean.size_max == 0)
        report(walk, counts, "has secrets in it, and is too large to be rewritten");
    else if (rewrite(directory, name, &st, &clean))
        report(walk, counts, "had secrets in it, which are replaced");
    else
        report(walk, counts, "has secrets in it, and can't be rewritten");
}

/* ---- the tree ---- */

static bool is_listed(char *const *names, uint32_t count, const char *path)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(names[i], path) == 0)
            return true;
    return false;
}

/* What the guest could not reach is not its doing. */
static bool is_out_of_reach(const struct walk *walk, const struct stat *st)
{
    const struct nacre_mount *mount = walk->mount;

    for (size_t i = 0; i < walk->apart_count; i++)
        if (walk->apart[i].device == st->st_dev && walk->apart[i].inode == st->st_ino)
            return true;
    return is_listed(mount->denied, mount->denied_count, walk->path) ||
           is_listed(mount->covered, mount->covered_count, walk->path);
}

/* False when there is no room: then nothing may be touched. */
static bool set_apart(struct walk *walk, const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return true;
    if (walk->apart_count == APART_MAX)
        return false;
    walk->apart[walk->apart_count].device = st.st_dev;
    walk->apart[walk->apart_count++].inode = st.st_ino;
    return true;
}

static bool set_all_apart(struct walk *walk, const struct nacre_plan *plan,
                          const char *const *protected_paths)
{
    bool whole = true;

    for (uint32_t i = 0; i < plan->denied_host_count; i++)
        whole &= set_apart(walk, plan->denied_host_paths[i]);
    for (; protected_paths && *protected_paths; protected_paths++)
        whole &= set_apart(walk, *protected_paths);
    return whole;
}

static bool is_changed(const struct walk *walk, const struct stat *st)
{
    return st->st_ctim.tv_sec > walk->since.tv_sec ||
           (st->st_ctim.tv_sec == walk->since.tv_sec &&
            st->st_ctim.tv_nsec >= walk->since.tv_nsec);
}

static void walk_directory(struct walk *walk, int fd, dev_t device, unsigned depth);

static void walk_name(struct walk *walk, int directory, dev_t device, const char *name,
                      unsigned depth)
{
    struct stat st;
    int below;

    if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        is_out_of_reach(walk, &st))
        return;
    if (is_changed(walk, &st))
        scan_name(walk, directory, name, &st);
    if (S_ISREG(st.st_mode) && is_changed(walk, &st))
        scan_file(walk, directory, name);
    if (!S_ISDIR(st.st_mode) || st.st_dev != device)
        return;
    below = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below < 0 || depth == DEPTH_MAX) {
        walk->skipped++;
        nacre_fd_guard(&below);
        return;
    }
    walk_directory(walk, below, device, depth + 1);
}

/* Takes `fd`. */
static void walk_directory(struct walk *walk, int fd, dev_t device, unsigned depth)
{
    DIR *directory = fdopendir(fd);
    size_t used = strlen(walk->path);
    struct dirent *entry;

    if (!directory) {
        walk->skipped++;
        (void)close(fd);
        return;
    }
    while ((entry = readdir(directory)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        if (walk->names_left == 0 || nacre_clock_ns() > walk->until_ns ||
            used + strlen(entry->d_name) + 2 > sizeof(walk->path)) {
            walk->skipped++;
            break;
        }
        walk->names_left--;
        (void)snprintf(walk->path + used, sizeof(walk->path) - used, "%s%s",
                       used ? "/" : "", entry->d_name);
        walk_name(walk, dirfd(directory), device, entry->d_name, depth);
        walk->path[used] = '\0';
    }
    (void)closedir(directory);
}

static void walk_mount(struct walk *walk)
{
    int fd = open(walk->mount->host, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat st;

    if (fd >= 0 && fstat(fd, &st) == 0) {
        walk_directory(walk, fd, st.st_dev, 0);
    } else {
        walk->skipped++;
        nacre_fd_guard(&fd);
    }
}

void run_leak_files(const struct nacre_leaks *scanner, const struct nacre_plan *plan,
                    const char *const *protected_paths, struct timespec since,
                    struct nacre_result *result, struct nacre_leak_counts *counts)
{
    struct walk walk = {
        .scanner = scanner, .since = since, .result = result, .counts = counts,
        .until_ns = nacre_clock_ns() + TIME_NS_MAX, .bytes_left = BYTES_MAX,
        .names_left = NAMES_MAX, .files_left = FILES_MAX,
    };
    /* In the whole tree most of what changes is others' doing. */
    bool may_walk = set_all_apart(&walk, plan, protected_paths) && !plan->full_tree;

    for (uint32_t i = 0; i < plan->mount_count; i++) {
        if (!plan->mounts[i].writable || !plan->mounts[i].host)
            continue;
        walk.mount = &plan->mounts[i];
        walk.skipped = 0;
        if (may_walk)
            walk_mount(&walk);
        if (walk.skipped > 0 || !may_walk)
            tell(&walk, "leak-unscanned",
                 "not all that changed here could be looked through for secrets");
    }
}
