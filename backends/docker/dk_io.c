/* Trusts the kernel's tables.  The engine's word for where its files are is checked by
 * nothing but that the kernel has taken the limits (dk_report_groups.c). */
#include "dk_io.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "nacre/buf.h"
#include "nacre/own.h"
#include "nacre/text.h"

#define TABLE_BYTES_MAX ((size_t)1 << 20)
#define FIELD 256

static bool has_word(const char *list, const char *word)
{
    size_t length = strlen(word);

    for (; *list; list += strcspn(list, ", \n"), list += strspn(list, ", \n"))
        if (strcspn(list, ", \n") == length && strncmp(list, word, length) == 0)
            return true;
    return false;
}

/* "ID PARENT MAJOR:MINOR ... - TYPE SOURCE OPTIONS": of any mount of the device, as what
 * is after the dash is the file system's own. */
static bool find_mount(const char *mounts, unsigned major_number, unsigned minor_number,
                       char ret_type[FIELD], char ret_options[FIELD])
{
    for (const char *line = mounts; *line; line = strchrnul(line, '\n'),
                    line += *line == '\n') {
        const char *end = strchrnul(line, '\n');
        const char *rest = memmem(line, (size_t)(end - line), " - ", 3);
        unsigned major_here, minor_here;

        if (rest && sscanf(line, "%*u %*u %u:%u", &major_here, &minor_here) == 2 &&
            major_here == major_number && minor_here == minor_number)
            return sscanf(rest, " - %255s %*s %255s", ret_type, ret_options) == 2;
    }
    return false;
}

/* DIR/NAME's text; "" when there is none. */
static void read_file(const char *dir, const char *name, char *ret_text, size_t size)
{
    char path[2 * NACRE_PATH_MAX];
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    ssize_t count;

    (void)snprintf(path, sizeof(path), "%s/%s", dir, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    count = fd < 0 ? 0 : read(fd, ret_text, size - 1);
    ret_text[count > 0 ? count : 0] = '\0';
}

/* The kernel bounds whole disks: of a partition, that which it is a part of. */
static bool find_disk(const struct dk_io_places *places, unsigned major_number,
                      unsigned minor_number, struct dk_io_disk *ret_disk)
{
    char dir[NACRE_PATH_MAX], text[1024];
    const char *name;
    struct stat info;

    (void)snprintf(dir, sizeof(dir), "%s/%u:%u", places->blocks, major_number,
                   minor_number);
    read_file(dir, "partition", text, sizeof(text));
    if (text[0])
        (void)snprintf(dir + strlen(dir), sizeof(dir) - strlen(dir), "/..");
    read_file(dir, "dev", text, sizeof(text));
    if (sscanf(text, "%u:%u", &ret_disk->major_number, &ret_disk->minor_number) != 2)
        return false;
    read_file(dir, "uevent", text, sizeof(text));
    name = strstr(text, "DEVNAME=");
    if (!name || snprintf(ret_disk->node, sizeof(ret_disk->node), "%s/%.*s",
                          places->nodes, (int)strcspn(name + 8, "\n"), name + 8) >=
                     (int)sizeof(ret_disk->node))
        return false;
    return stat(ret_disk->node, &info) == 0 && S_ISBLK(info.st_mode) &&
           major(info.st_rdev) == ret_disk->major_number &&
           minor(info.st_rdev) == ret_disk->minor_number;
}

static enum nacre_status refuse(const char *what, const char *why,
                                struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    return nacre_fail(err, NACRE_ERR_UNAVAILABLE, "'%s' %s",
                      nacre_text_shown(shown, what), why);
}

enum nacre_status dk_io_add(const struct dk_io_places *places, uint64_t device,
                            const char *what, struct dk_io *io, struct nacre_error *err)
{
    char type[FIELD], options[FIELD], why[FIELD], shown[NACRE_SHOWN];
    struct dk_io_disk disk;

    if (!find_mount(places->mounts, major(device), minor(device), type, options))
        return refuse(what, "lies on a device of which no mount is to be seen", err);
    if (strcmp(type, "tmpfs") == 0)
        return NACRE_OK;
    if (strcmp(type, "ext4") != 0) {
        (void)snprintf(why, sizeof(why),
                       "lies on %s: only of ext4 is it certain that a write which waits "
                       "in memory counts for who wrote it",
                       nacre_text_shown(shown, type));
        return refuse(what, why, err);
    }
    if (has_word(options, "data=journal"))
        return refuse(what, "is mounted with data=journal: the kernel writes it for all",
                      err);
    if (!find_disk(places, major(device), minor(device), &disk))
        return refuse(what, "lies on a disk that has no node in /dev", err);
    for (size_t i = 0; i < io->count; i++)
        if (io->disks[i].major_number == disk.major_number &&
            io->disks[i].minor_number == disk.minor_number)
            return NACRE_OK;
    if (io->count == DK_IO_DISKS_MAX)
        return refuse(what, "lies on one disk more than can be bounded", err);
    io->disks[io->count++] = disk;
    return NACRE_OK;
}

enum nacre_status dk_io_weighs(const struct dk_io_places *places, const struct dk_io *io,
                               struct nacre_error *err)
{
    for (size_t i = 0; i < io->count; i++) {
        char name[64], text[FIELD];

        (void)snprintf(name, sizeof(name), "%u:%u/queue/scheduler",
                       io->disks[i].major_number, io->disks[i].minor_number);
        read_file(places->blocks, name, text, sizeof(text));
        if (!strstr(text, "[bfq]"))
            return refuse(io->disks[i].node,
                          "does not have the scheduler bfq, the one that goes by weights",
                          err);
    }
    return NACRE_OK;
}

/* ---- this machine's ---- */

static enum nacre_status read_mounts(struct nacre_buf *buf, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open("/proc/self/mountinfo",
                                             O_RDONLY | O_CLOEXEC);

    return fd < 0 ? nacre_fail(err, NACRE_ERR_IO, "/proc/self/mountinfo")
                  : nacre_buf_read(buf, fd, err);
}

/* Newer engines may leave images to containerd, whose directory they do not tell. */
static bool is_containerds(const json_t *info)
{
    const json_t *rows = json_object_get(info, "DriverStatus");

    for (size_t i = 0; i < json_array_size(rows); i++) {
        const char *value = json_string_value(json_array_get(json_array_get(rows, i), 1));

        if (value && strstr(value, "containerd.snapshotter"))
            return true;
    }
    return false;
}

static enum nacre_status add_engines(const struct dk_site *site,
                                     const struct dk_io_places *places, struct dk_io *io,
                                     struct nacre_error *err)
{
    const char *dir = json_string_value(json_object_get(site->info, "DockerRootDir"));
    const char *driver = json_string_value(json_object_get(site->info, "Driver"));
    enum nacre_status status;
    char layers[NACRE_PATH_MAX];
    struct stat info;

    if (is_containerds(site->info))
        return refuse("the engine", "keeps its images where it does not say", err);
    if (!dir || stat(dir, &info) != 0)
        return refuse(dir ? dir : "the engine", "is not to be seen from here", err);
    status = dk_io_add(places, info.st_dev, dir, io, err);
    /* What it keeps of containers may be a mount of its own. */
    if (status == NACRE_OK &&
        snprintf(layers, sizeof(layers), "%s/%s", dir, driver ? driver : "") <
            (int)sizeof(layers) &&
        stat(layers, &info) == 0)
        status = dk_io_add(places, info.st_dev, layers, io, err);
    return status;
}

static enum nacre_status find(const struct dk_site *site, bool weighs,
                              const struct dk_bind *binds, size_t count,
                              struct dk_io *ret_io, struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf mounts = NACRE_BUF(TABLE_BYTES_MAX);
    struct dk_io_places places = { NULL, "/sys/dev/block", "/dev" };
    struct dk_io io = { .count = 0 };
    enum nacre_status status = read_mounts(&mounts, err);

    places.mounts = mounts.bytes ? mounts.bytes : "";
    if (status == NACRE_OK)
        status = add_engines(site, &places, &io, err);
    for (size_t i = 0; i < count && status == NACRE_OK; i++)
        status = dk_io_add(&places, binds[i].device, binds[i].source, &io, err);
    if (status == NACRE_OK && weighs)
        status = dk_io_weighs(&places, &io, err);
    if (status == NACRE_OK)
        *ret_io = io;
    return status;
}

const char *dk_io_rule(const struct nacre_container *container)
{
    return container->disk_io_weight > 0 ? "container.disk_io_weight"
                                         : "container.disk_iops";
}

enum nacre_status dk_io_find(const struct dk_site *site,
                             const struct nacre_container *container,
                             const struct dk_bind *binds, size_t count,
                             struct dk_io *ret_io, struct nacre_error *err)
{
    bool weighs = container->disk_io_weight > 0;
    enum nacre_status status;

    *ret_io = (struct dk_io){ .count = 0 };
    if (container->disk_iops == 0 && !weighs)
        return NACRE_OK;
    status = find(site, weighs, binds, count, ret_io, err);
    if (status == NACRE_OK)
        return NACRE_OK;
    return nacre_fail_blame(err, dk_io_rule(container), "",
                            "use an engine and directories on disks of ext4 (with the "
                            "scheduler bfq for weights), or remove the line");
}

enum nacre_status dk_io_probe(const struct dk_site *site, bool weighs,
                              struct nacre_error *err)
{
    char controllers[FIELD];
    struct dk_io ignored;

    if (!site->is_cgroup2)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "cgroup v1 lets buffered writes through");
    read_file("/sys/fs/cgroup", "cgroup.controllers", controllers, sizeof(controllers));
    if (!has_word(controllers, "io") || !has_word(controllers, "memory"))
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "no cgroup v2 with the controllers io and memory is seen");
    return find(site, weighs, NULL, 0, &ignored, err);
}
