#include "nacre/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/loop.h>
#include <linux/major.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nacre/own.h"
#include "nacre/spawn.h"
#include "nacre/text.h"

#define LOOP_CONTROL "/dev/loop-control"
#define ATTACH_TRIES_MAX 64
#define DEVICES_MAX 4096
#define IMAGE_FD 3 /* of mkfs: how it names the file */
#define WORDS_MAX 1024

#define DEVICE_NAME 32
static void device_name(unsigned number, char ret_name[DEVICE_NAME])
{
    (void)snprintf(ret_name, DEVICE_NAME, "/dev/loop%u", number);
}

/* By its place and not by PATH: it is run as root. */
static const char *find_mkfs(void)
{
    static const char *const places[] = { "/usr/sbin/mkfs.ext4", "/sbin/mkfs.ext4" };

    for (size_t i = 0; i < NACRE_COUNT(places); i++)
        if (access(places[i], X_OK) == 0)
            return places[i];
    return NULL;
}

enum nacre_status nacre_disk_probe(struct nacre_error *err)
{
    if (geteuid() != 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE, "only root can mount one");
    if (!find_mkfs())
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "there is no mkfs.ext4 (package e2fsprogs)");
    if (access(LOOP_CONTROL, R_OK | W_OK) != 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE, "there are no loop devices");
    return NACRE_OK;
}

/* ---- making ---- */

static int start_mkfs(int image_fd, int words_fd, pid_t *ret_pid)
{
    /* What the kernel can do later costs no time now; nothing is kept for root. */
    const char *argv[] = { "mkfs.ext4", "-q", "-F", "-m", "0", "-E",
                           "lazy_itable_init=1,lazy_journal_init=1,nodiscard",
                           "/proc/self/fd/3", NULL };
    const char *environment[] = { "LC_ALL=C", NULL };
    posix_spawn_file_actions_t actions;
    const struct nacre_spawn mkfs = { .program = find_mkfs(), .actions = &actions,
                                      .argv = (char *const *)(uintptr_t)argv,
                                      .environment =
                                          (char *const *)(uintptr_t)environment };
    int failed = mkfs.program ? posix_spawn_file_actions_init(&actions) : ENOENT;

    if (failed)
        return failed;
    failed = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, words_fd, 1);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, words_fd, 2);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, image_fd, IMAGE_FD);
    if (!failed)
        failed = nacre_spawn(&mkfs, ret_pid);
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* Its last words, on one line. */
static void read_words(int fd, char ret_shown[NACRE_SHOWN])
{
    char words[WORDS_MAX] = "";
    ssize_t count = read(fd, words, sizeof(words) - 1);

    words[count > 0 ? count : 0] = '\0';
    words[strcspn(words, "\n")] = '\0';
    (void)nacre_text_shown(ret_shown, words);
}

static enum nacre_status fill(int image_fd, uint64_t deadline_ns, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int read_fd = -1;
    NACRE_AUTO(nacre_fd_guard) int write_fd = -1;
    char shown[NACRE_SHOWN];
    int pipe_fds[2], failed, status = 0;
    pid_t pid = -1;

    if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "starting mkfs.ext4");
    read_fd = pipe_fds[0];
    write_fd = pipe_fds[1];
    failed = start_mkfs(image_fd, write_fd, &pid);
    if (failed) {
        errno = failed;
        return nacre_fail(err, NACRE_ERR_IO, "starting mkfs.ext4");
    }
    if (!nacre_spawn_wait(pid, deadline_ns, &status))
        return nacre_fail(err, NACRE_ERR_TIMEOUT, "mkfs.ext4 did not end in time");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return NACRE_OK;
    read_words(read_fd, shown);
    return nacre_fail(err, NACRE_ERR_UNAVAILABLE, "mkfs.ext4 failed: %s", shown);
}

enum nacre_status nacre_disk_make(int dir_fd, const char *name, uint64_t bytes,
                                  uint64_t deadline_ns, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd =
        openat(dir_fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    enum nacre_status status;
    char path[64];

    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "a disk of that size can't be made");
    status = fill(fd, deadline_ns, err);
    if (status != NACRE_OK)
        return status;
    /* Without a name until it is whole: whoever dies before leaves nothing. */
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (linkat(AT_FDCWD, path, dir_fd, name, AT_SYMLINK_FOLLOW) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "a disk can't be given its name");
    return NACRE_OK;
}

/* ---- loop devices ---- */

/* Is the device attached to the file `image`? */
static bool is_device_of(int device_fd, const struct stat *image)
{
    struct loop_info64 info;

    return ioctl(device_fd, LOOP_GET_STATUS64, &info) == 0 &&
           info.lo_device == image->st_dev && info.lo_inode == image->st_ino;
}

/* The one that has the file already: another mount namespace may have it mounted. */
static int find_device(const struct stat *image, unsigned *ret_number)
{
    DIR *dir = opendir("/sys/block");
    const struct dirent *entry;
    int found = -1;

    for (int i = 0; dir && found < 0 && i < DEVICES_MAX && (entry = readdir(dir)); i++) {
        NACRE_AUTO(nacre_fd_guard) int fd = -1;
        char name[DEVICE_NAME];
        unsigned number;

        if (sscanf(entry->d_name, "loop%u", &number) != 1)
            continue;
        device_name(number, name);
        fd = open(name, O_RDWR | O_CLOEXEC);
        if (fd >= 0 && is_device_of(fd, image)) {
            *ret_number = number;
            found = nacre_fd_take(&fd);
        }
    }
    if (dir)
        (void)closedir(dir);
    return found;
}

/* -1 with errno.  Others look for a free one as well. */
static int attach(int image_fd, unsigned *ret_number)
{
    NACRE_AUTO(nacre_fd_guard) int control_fd = open(LOOP_CONTROL, O_RDWR | O_CLOEXEC);
    struct loop_config config = { .fd = (uint32_t)image_fd,
                                  .info = { .lo_flags = LO_FLAGS_AUTOCLEAR } };

    for (int i = 0; control_fd >= 0 && i < ATTACH_TRIES_MAX; i++) {
        int number = ioctl(control_fd, LOOP_CTL_GET_FREE);
        char name[DEVICE_NAME];
        NACRE_AUTO(nacre_fd_guard) int fd = -1;

        if (number < 0)
            return -1;
        device_name((unsigned)number, name);
        fd = open(name, O_RDWR | O_CLOEXEC);
        if (fd < 0)
            return -1;
        if (ioctl(fd, LOOP_CONFIGURE, &config) == 0) {
            *ret_number = (unsigned)number;
            return nacre_fd_take(&fd);
        }
        if (errno != EBUSY)
            return -1;
    }
    return -1;
}

/* The device below the file that `fd` is of, or -1. */
static int device_below(int fd)
{
    struct stat info;
    char name[DEVICE_NAME];

    if (fstat(fd, &info) != 0 || major(info.st_dev) != LOOP_MAJOR)
        return -1;
    device_name(minor(info.st_dev), name);
    return open(name, O_RDONLY | O_CLOEXEC);
}

bool nacre_disk_holds(int image_fd, int fd)
{
    NACRE_AUTO(nacre_fd_guard) int device_fd = device_below(fd);
    struct stat image;

    return device_fd >= 0 && fstat(image_fd, &image) == 0 &&
           is_device_of(device_fd, &image);
}

bool nacre_disk_bound(int fd, uint64_t *ret_bytes)
{
    NACRE_AUTO(nacre_fd_guard) int device_fd = device_below(fd);

    return device_fd >= 0 && ioctl(device_fd, BLKGETSIZE64, ret_bytes) == 0;
}

/* ---- mounts ---- */

enum nacre_status nacre_disk_mount(int image_fd, int target_fd, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int device_fd = -1;
    char name[DEVICE_NAME], target[64];
    struct stat image;
    unsigned number;

    if (fstat(image_fd, &image) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "a disk can't be looked at");
    device_fd = find_device(&image, &number);
    if (device_fd < 0)
        device_fd = attach(image_fd, &number);
    if (device_fd < 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "no loop device can be had (it takes Linux 5.8)");
    device_name(number, name);
    (void)snprintf(target, sizeof(target), "/proc/self/fd/%d", target_fd);
    if (mount(name, target, "ext4", MS_NOSUID | MS_NODEV, NULL) != 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE, "a disk can't be mounted");
    return NACRE_OK;
}

enum nacre_status nacre_disk_unmount(int fd, struct nacre_error *err)
{
    char target[64];

    (void)snprintf(target, sizeof(target), "/proc/self/fd/%d", fd);
    return umount2(target, MNT_DETACH) == 0
               ? NACRE_OK
               : nacre_fail(err, NACRE_ERR_IO, "a disk can't be unmounted");
}
