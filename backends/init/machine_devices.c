/* Trusts the initial file system, which nacre made, and the kernel. */
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "machine_parts.h"
#include "nacre/clock.h"
#include "nacre/own.h"

#define PORTS "/sys/class/virtio-ports"
#define PORT_MS 10000 /* for the channel's device to appear */
#define ROUND_MS 2
#define LIST_BYTES 4096

static void mount_kernels(const char *type, const char *target)
{
    if ((mkdir(target, 0755) != 0 && errno != EEXIST) ||
        mount(type, target, type, MS_NOSUID | MS_NOEXEC, NULL) != 0)
        launch_fail("mount", target);
}

static void load_module(const char *name)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char path[128];

    (void)snprintf(path, sizeof(path), MACHINE_MODULES "/%.80s", name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) != 0 && errno != EEXIST))
        launch_fail("load the module", name);
}

/* A kernel that has all of it built in has an empty list. */
static void load_modules(void)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(MACHINE_MODULES "/list",
                                             O_RDONLY | O_CLOEXEC);
    char list[LIST_BYTES], *rest = list;
    ssize_t count = fd < 0 ? -1 : read(fd, list, sizeof(list) - 1);

    if (count < 0 || count == sizeof(list) - 1)
        launch_fail("read the list of modules", NULL);
    list[count] = '\0';
    for (char *name; (name = strsep(&rest, "\n")) != NULL;)
        if (name[0])
            load_module(name);
}

void machine_devices_begin(void)
{
    mount_kernels("proc", "/proc");
    mount_kernels("sysfs", "/sys");
    mount_kernels("devtmpfs", "/dev");
    load_modules();
}

/* ---- the channel ---- */

static bool is_channel(const char *port)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char path[300], name[sizeof(MACHINE_PORT) + 1];

    (void)snprintf(path, sizeof(path), PORTS "/%s/name", port);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, name, sizeof(name)) == sizeof(MACHINE_PORT) &&
           memcmp(name, MACHINE_PORT "\n", sizeof(MACHINE_PORT)) == 0;
}

/* -1: there is none yet. */
static int open_channel(void)
{
    DIR *ports = opendir(PORTS);
    const struct dirent *entry;
    char path[300];
    int fd = -1;

    while (ports && fd < 0 && (entry = readdir(ports)))
        if (entry->d_name[0] != '.' && is_channel(entry->d_name)) {
            (void)snprintf(path, sizeof(path), "/dev/%s", entry->d_name);
            fd = open(path, O_RDWR | O_CLOEXEC);
        }
    if (ports)
        (void)closedir(ports);
    return fd;
}

/* The device tells its name some time after its driver was loaded. */
void machine_devices_channel(void)
{
    uint64_t until = nacre_clock_ns() + PORT_MS * NACRE_NS_PER_MS;
    int fd;

    while ((fd = open_channel()) < 0 && nacre_clock_ns() < until)
        (void)poll(NULL, 0, ROUND_MS);
    if (fd < 0 || dup2(fd, 0) < 0 || dup2(fd, 1) < 0)
        launch_fail("open the channel", MACHINE_PORT);
    if (fd > 1)
        (void)close(fd);
    launch_channel = 1;
}
