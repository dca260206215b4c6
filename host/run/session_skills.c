/*
 * skills/ as a mirror.  The folder is the operator's, but what lies in it was fetched
 * from elsewhere: links are neither followed nor copied, and everything has a ceiling.
 * The workspace is the guest's: the mirror is made aside and put in place whole.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "nacre/text.h"
#include "nacre/tree.h"
#include "session_store.h"

#define ASIDE ".nacre-skills"
#define SKILL_FILE "SKILL.md"

#ifndef RENAME_EXCHANGE
#define RENAME_EXCHANGE (1 << 1)
#endif

struct mirror {
    const struct nacre_session_hold *hold;
    struct nacre_skills_report report;
    uint64_t bytes_left;
    uint32_t folders;
};

static void dir_guard(DIR **dir)
{
    if (*dir)
        (void)closedir(*dir);
}

/* Takes the fd. */
static DIR *list(int fd)
{
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

    if (!dir)
        nacre_fd_guard(&fd);
    return dir;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static enum nacre_status fail_entry(const char *name, struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    return nacre_fail(err, NACRE_ERR_IO, "skills: '%s' can't be copied",
                      nacre_text_shown(shown, name));
}

/* The mode keeps only who may run it. */
static enum nacre_status copy_file(struct mirror *mirror, int from_fd, mode_t mode,
                                   int to_dir, const char *name, struct nacre_error *err)
{
    const struct session_owner *owner = &mirror->hold->owner;
    mode_t wanted = mode & 0100 ? 0700 : 0600;
    NACRE_AUTO(nacre_fd_guard) int fd =
        openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    uint64_t bytes = 0;
    enum nacre_status status;

    if (fd < 0)
        return fail_entry(name, err);
    if (++mirror->report.files > NACRE_SKILL_FILES_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "skills: there are over %d files",
                          NACRE_SKILL_FILES_MAX);
    status = session_copy(from_fd, fd, mirror->bytes_left, &bytes, err);
    if (status == NACRE_ERR_TOO_BIG)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "skills: they take over %llu MiB",
                          (unsigned long long)(NACRE_SKILL_BYTES_MAX >> 20));
    if (status != NACRE_OK)
        return nacre_fail_context(err, name);
    mirror->bytes_left -= bytes;
    if (fchown(fd, owner->uid, owner->gid) != 0 || fchmod(fd, wanted) != 0)
        return fail_entry(name, err);
    return NACRE_OK;
}

static enum nacre_status copy_tree(struct mirror *mirror, int from_fd, int to_dir,
                                   const char *name, unsigned depth,
                                   struct nacre_error *err);

static enum nacre_status copy_entry(struct mirror *mirror, int from_dir, const char *name,
                                    int to_dir, unsigned depth, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd =
        openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    /* A link, or a socket. */
    if (fd < 0 && (errno == ELOOP || errno == ENXIO)) {
        mirror->report.left_out++;
        return NACRE_OK;
    }
    if (fd < 0 || fstat(fd, &st) != 0)
        return fail_entry(name, err);
    if (S_ISDIR(st.st_mode))
        return copy_tree(mirror, nacre_fd_take(&fd), to_dir, name, depth + 1, err);
    if (S_ISREG(st.st_mode))
        return copy_file(mirror, fd, st.st_mode, to_dir, name, err);
    mirror->report.left_out++;
    return NACRE_OK;
}

/* Takes `from_fd`. */
static enum nacre_status copy_tree(struct mirror *mirror, int from_fd, int to_dir,
                                   const char *name, unsigned depth,
                                   struct nacre_error *err)
{
    NACRE_AUTO(dir_guard) DIR *dir = list(from_fd);
    NACRE_AUTO(nacre_fd_guard) int to_fd = -1;
    const struct dirent *entry;
    enum nacre_status status;

    if (!dir)
        return fail_entry(name, err);
    if (++mirror->folders > NACRE_SKILL_FILES_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "skills: there are over %d folders",
                          NACRE_SKILL_FILES_MAX);
    if (depth > NACRE_SKILL_DEPTH_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "skills: folders are over %d deep",
                          NACRE_SKILL_DEPTH_MAX);
    status = session_dir_make(to_dir, name, &mirror->hold->owner, true, NULL, &to_fd,
                              err);
    while (status == NACRE_OK && (entry = readdir(dir)))
        if (!is_dots(entry->d_name))
            status = copy_entry(mirror, dirfd(dir), entry->d_name, to_fd, depth, err);
    return status;
}

static bool is_skill(int fd)
{
    struct stat st;

    return fstatat(fd, SKILL_FILE, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode);
}

static enum nacre_status copy_skill(struct mirror *mirror, int from_dir, const char *name,
                                    int to_dir, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd =
        openat(from_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    struct stat st;

    /* A file beside the folders; or a link, which the kernel calls no directory too. */
    if (fd < 0 && (errno == ELOOP || errno == ENOTDIR)) {
        mirror->report.left_out +=
            fstatat(from_dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
        return NACRE_OK;
    }
    if (fd < 0)
        return fail_entry(name, err);
    if (!is_skill(fd)) {
        mirror->report.not_skills++;
        return NACRE_OK;
    }
    if (++mirror->report.skills > NACRE_SKILLS_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "there are over %d skills",
                          NACRE_SKILLS_MAX);
    return copy_tree(mirror, nacre_fd_take(&fd), to_dir, name, 1, err);
}

/* What is called skills now, even a link, is exchanged as it is and removed as it is. */
static enum nacre_status put_in_place(const struct nacre_session_hold *hold,
                                      struct nacre_error *err)
{
    session_step(&hold->steps, "put skills in their place");
    if (renameat2(hold->fd, ASIDE, hold->fd, NACRE_SKILLS_DIR, RENAME_EXCHANGE) == 0)
        return nacre_tree_remove(hold->fd, ASIDE, err);
    if (errno != ENOENT)
        return nacre_fail(err, NACRE_ERR_IO, "skills can't be put in their place");
    if (renameat(hold->fd, ASIDE, hold->fd, NACRE_SKILLS_DIR) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "skills can't be put in their place");
    return NACRE_OK;
}

static enum nacre_status make_mirror(struct mirror *mirror, int from_fd,
                                     struct nacre_error *err)
{
    const struct nacre_session_hold *hold = mirror->hold;
    NACRE_AUTO(dir_guard) DIR *dir = list(from_fd);
    NACRE_AUTO(nacre_fd_guard) int to_fd = -1;
    const struct dirent *entry;
    struct nacre_error ignored;
    enum nacre_status status;

    if (!dir)
        return nacre_fail(err, NACRE_ERR_IO, "the folder of skills");
    status = nacre_tree_remove(hold->fd, ASIDE, err);
    session_step(&hold->steps, "copy skills aside");
    if (status == NACRE_OK)
        status = session_dir_make(hold->fd, ASIDE, &hold->owner, true, NULL, &to_fd, err);
    while (status == NACRE_OK && (entry = readdir(dir)))
        if (entry->d_name[0] != '.')
            status = copy_skill(mirror, dirfd(dir), entry->d_name, to_fd, err);
    if (status == NACRE_OK)
        status = put_in_place(hold, err);
    if (status != NACRE_OK)
        (void)!nacre_tree_remove(hold->fd, ASIDE, &ignored);
    return status;
}

enum nacre_status nacre_session_put_skills(struct nacre_session_hold *hold,
                                           const char *dir,
                                           struct nacre_skills_report *ret_report,
                                           struct nacre_error *err)
{
    struct mirror mirror = { .hold = hold, .bytes_left = NACRE_SKILL_BYTES_MAX };
    NACRE_AUTO(nacre_fd_guard) int lock_fd = -1;
    NACRE_AUTO(nacre_fd_guard) int from_fd = -1;
    char shown[NACRE_SHOWN];
    enum nacre_status status;

    (void)nacre_text_shown(shown, dir);
    if (!hold->own)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "this session has the agent's own workspace: its skills are "
                          "the agent's to keep");
    from_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (from_fd < 0 && (errno == ELOOP || errno == ENOTDIR))
        return nacre_fail(err, NACRE_ERR_DENIED,
                          "'%s' is a link or no directory: name the folder itself",
                          shown);
    if (from_fd < 0)
        return nacre_fail(err, errno == ENOENT ? NACRE_ERR_NOT_FOUND : NACRE_ERR_IO,
                          "the folder of skills '%s' can't be opened", shown);
    status = session_lock(hold->dir_fd, hold->id, SESSION_PUT, true, &hold->wait,
                          &lock_fd, NULL, err);
    if (status == NACRE_OK)
        status = make_mirror(&mirror, nacre_fd_take(&from_fd), err);
    if (status == NACRE_OK)
        *ret_report = mirror.report;
    return status;
}
