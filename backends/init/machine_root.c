/* The image is not trusted: names in it are looked up below the sandbox's root. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "machine_parts.h"
#include "mount_api.h"
#include "nacre/own.h"

#define LAYER_BYTES_MIN ((uint64_t)4 << 20) /* mount points in a read-only root */
#define QUIET (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC)

/* ---- the image and the layer above it ---- */

static void make_dir(const char *path)
{
    if (mkdir(path, 0755) != 0 && errno != EEXIST)
        launch_fail("make the directory", path);
}

static void mount_layers(const struct init_machine *order)
{
    char size[64];
    struct stat info;

    make_dir("/lower");
    make_dir("/layer");
    make_dir("/root");
    if (mount(MACHINE_DISK, "/lower", "squashfs", MS_RDONLY | MS_NOSUID | MS_NODEV,
              NULL) != 0)
        launch_fail("mount the image's disk", MACHINE_DISK);
    (void)snprintf(size, sizeof(size), "mode=0700,size=%" PRIu64,
                   order->writable_root && order->layer_bytes > 0 ? order->layer_bytes
                                                                  : LAYER_BYTES_MIN);
    if (mount("layer", "/layer", "tmpfs", MS_NOSUID | MS_NODEV, size) != 0)
        launch_fail("mount the layer above the image", NULL);
    make_dir("/layer/upper");
    make_dir("/layer/work");
    /* The root itself is the upper one, and root's: sqfstar gives the root that it makes
     * to whom it runs as. */
    if (stat("/lower", &info) != 0 || chown("/layer/upper", 0, 0) != 0 ||
        chmod("/layer/upper", info.st_mode & 07777) != 0)
        launch_fail("mount the layer above the image", NULL);
    if (mount("overlay", "/root", "overlay", MS_NOSUID | MS_NODEV,
              "lowerdir=/lower,upperdir=/layer/upper,workdir=/layer/work") != 0)
        launch_fail("mount the root", NULL);
}

/* Where covers and files come from: guests see what is bound, and no more.  It has a name
 * because only what is mounted can be bound. */
static void make_files(struct machine_making *making)
{
    make_dir("/files");
    if (mount("files", "/files", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
              "mode=0700,size=8388608") != 0 ||
        (making->files_fd = open("/files", O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
        launch_fail("mount", "a tmpfs for files");
    if (mkdirat(making->files_fd, "cover", 0) == 0)
        making->cover_dir_fd = openat(making->files_fd, "cover", O_PATH | O_CLOEXEC);
    if (mknodat(making->files_fd, "cover-file", S_IFREG, 0) == 0)
        making->cover_file_fd = openat(making->files_fd, "cover-file",
                                       O_PATH | O_CLOEXEC);
    if (making->cover_dir_fd < 0 || making->cover_file_fd < 0)
        launch_fail("make the covers", NULL);
}

/* ---- the kernel's file systems, as in a container ---- */

static void protect(const struct machine_making *making, const char *path)
{
    NACRE_AUTO(nacre_fd_guard)
    int fd = api_openat2(making->root_fd, path, O_PATH | O_CLOEXEC, RESOLVE_IN_ROOT);
    NACRE_AUTO(nacre_fd_guard) int tree = -1;

    if (fd < 0 && errno == ENOENT)
        return;
    if (fd < 0)
        launch_fail("protect", path);
    tree = machine_bind(fd, MOUNT_ATTR_RDONLY | QUIET, path);
    if (api_move_mount(tree, fd) != 0)
        launch_fail("protect", path);
}

/* The kernel's own threads are nobody's business. */
static void make_proc(const struct machine_making *making)
{
    static const char *const options[] = { "hidepid", "invisible", NULL };
    static const char *const read_only[] = { "proc/bus", "proc/fs", "proc/irq",
                                             "proc/sys", "proc/sysrq-trigger" };
    static const char *const covered[] = {
        "proc/acpi",        "proc/asound",     "proc/dynamic_debug", "proc/interrupts",
        "proc/kcore",       "proc/keys",       "proc/kpagecgroup",   "proc/kpagecount",
        "proc/kpageflags",  "proc/latency_stats", "proc/sched_debug", "proc/scsi",
        "proc/timer_list",  "proc/timer_stats",
    };
    NACRE_AUTO(nacre_fd_guard) int fd = machine_fs("proc", QUIET, "mount", "/proc",
                                                   options);

    machine_attach_at(making, "proc", fd);
    for (size_t i = 0; i < NACRE_COUNT(read_only); i++)
        protect(making, read_only[i]);
    for (size_t i = 0; i < NACRE_COUNT(covered); i++)
        machine_cover(making, covered[i]);
}

static void make_nodes(int dev)
{
    static const struct {
        const char *name;
        unsigned major, minor;
    } nodes[] = {
        { "null", 1, 3 },   { "zero", 1, 5 },    { "full", 1, 7 },
        { "random", 1, 8 }, { "urandom", 1, 9 }, { "tty", 5, 0 },
    };
    static const struct {
        const char *name, *to;
    } links[] = {
        { "fd", "/proc/self/fd" },       { "stdin", "/proc/self/fd/0" },
        { "stdout", "/proc/self/fd/1" }, { "stderr", "/proc/self/fd/2" },
        { "ptmx", "pts/ptmx" },
    };

    for (size_t i = 0; i < NACRE_COUNT(nodes); i++)
        if (mknodat(dev, nodes[i].name, S_IFCHR | 0666,
                    makedev(nodes[i].major, nodes[i].minor)) != 0)
            launch_fail("make a device:", nodes[i].name);
    for (size_t i = 0; i < NACRE_COUNT(links); i++)
        if (symlinkat(links[i].to, dev, links[i].name) != 0)
            launch_fail("make a device:", links[i].name);
    if (mkdirat(dev, "pts", 0755) != 0 || mkdirat(dev, "shm", 0755) != 0)
        launch_fail("make a device:", "pts, shm");
}

static void make_dev(const struct machine_making *making)
{
    static const char *const options[] = { "size", "65536", "mode", "0755", NULL };
    static const char *const pts_options[] = { "ptmxmode", "0666", "mode", "0620",
                                               "gid", "5", NULL };
    const struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };
    const unsigned devices = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC;
    NACRE_AUTO(nacre_fd_guard) int dev = machine_fs("tmpfs", devices, "mount", "/dev",
                                                    options);
    NACRE_AUTO(nacre_fd_guard) int pts = machine_fs("devpts", devices, "mount",
                                                    "/dev/pts", pts_options);

    make_nodes(dev);
    if (api_mount_setattr(dev, &read_only) != 0)
        launch_fail("mount", "/dev");
    machine_attach_at(making, "dev", dev);
    machine_attach_at(making, "dev/pts", pts);
}

/* No sysfs at all: of it a container's guests see no more than their group. */
static void make_sys(const struct machine_making *making)
{
    static const char *const options[] = { "size", "65536", "mode", "0755", NULL };
    NACRE_AUTO(nacre_fd_guard) int fd = machine_fs("tmpfs", QUIET, "mount", "/sys",
                                                   options);
    const struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };

    if (mkdirat(fd, "fs", 0755) != 0 || mkdirat(fd, "fs/cgroup", 0755) != 0 ||
        api_mount_setattr(fd, &read_only) != 0)
        launch_fail("mount", "/sys");
    machine_attach_at(making, "sys", fd);
}

void machine_root_make(struct machine_making *making)
{
    mount_layers(making->order);
    making->root_fd = open("/root", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (making->root_fd < 0)
        launch_fail("open the root", NULL);
    make_files(making);
    make_proc(making);
    make_dev(making);
    make_sys(making);
}

/* ---- from the initial file system into it ---- */

/* That file system can't be unmounted: what it holds is removed, to have the memory. */
static void empty_initial(void)
{
    static const char *const mounts[] = { "/lower", "/layer", "/files",
                                          "/proc",  "/sys",   "/dev" };
    static const char list[] = MACHINE_MODULES "/list";
    NACRE_AUTO(nacre_fd_guard) int fd = open(list, O_RDONLY | O_CLOEXEC);
    char names[4096], path[128], *rest = names;
    ssize_t count = fd < 0 ? -1 : read(fd, names, sizeof(names) - 1);

    names[count > 0 ? count : 0] = '\0';
    for (char *name; (name = strsep(&rest, "\n")) != NULL;) {
        (void)snprintf(path, sizeof(path), MACHINE_MODULES "/%.80s", name);
        (void)unlink(path);
    }
    (void)unlink(list);
    (void)rmdir(MACHINE_MODULES);
    (void)unlink(MACHINE_INIT);
    for (size_t i = 0; i < NACRE_COUNT(mounts); i++)
        if (umount2(mounts[i], MNT_DETACH) != 0)
            launch_fail("let go of", mounts[i]);
}

void machine_root_enter(struct machine_making *making)
{
    if (!making->order->writable_root &&
        mount(NULL, "/root", NULL,
              MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) != 0)
        launch_fail("make the root read-only", NULL);
    empty_initial();
    if (fchdir(making->root_fd) != 0 || mount(".", "/", NULL, MS_MOVE, NULL) != 0 ||
        chroot(".") != 0 || chdir("/") != 0)
        launch_fail("change the root", NULL);
    nacre_fd_guard(&making->root_fd);
    nacre_fd_guard(&making->files_fd);
    nacre_fd_guard(&making->cover_dir_fd);
    nacre_fd_guard(&making->cover_file_fd);
}
