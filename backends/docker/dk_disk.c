/*
 * Trusts the state directory, which only we can write.  The image and the container that
 * packs it are not trusted: what is left there is judged before it is kept.
 */
#include "dk_disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "dk_box.h"
#include "dk_last.h"
#include "dk_machine.h"
#include "dk_thread.h"
#include "nacre/text.h"
#include "nacre/tree.h"

#define PACK_MS 600000
#define ENGINE_MS 60000
#define LOCK_MS 600000
#define DISK_BYTES_MAX ((uint64_t)32 << 30)
#define SUFFIX ".disk"
#define MAKING "making"
#define OUTPUT_MAX 65536
#define PACKER_BYTES ((uint64_t)512 << 20)
#define READ_BYTES ((size_t)1 << 20)
#define SEAL_BYTES 4096 /* behind the file system, which knows its own end */

/* ---- where they are ---- */

/* "sha256:HEX" is an id; the name has no other part. */
static bool name_of(const char *image_id, char ret_name[96])
{
    const char *colon = strchr(image_id, ':');
    const char *hex = colon ? colon + 1 : image_id;

    if (strlen(hex) != 64 || strspn(hex, "0123456789abcdef") != 64)
        return false;
    (void)snprintf(ret_name, 96, "%s" SUFFIX, hex);
    return true;
}

static enum nacre_status open_dir(const char *state_dir, char ret_path[NACRE_PATH_MAX],
                                  int *ret_fd, struct nacre_error *err)
{
    struct stat info;
    int fd;

    if (snprintf(ret_path, NACRE_PATH_MAX, "%s/machines", state_dir) >= NACRE_PATH_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "the state directory's path");
    if (mkdir(ret_path, 0700) != 0 && errno != EEXIST)
        return nacre_fail(err, NACRE_ERR_IO, "can't make %.300s", ret_path);
    fd = open(ret_path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0 || info.st_uid != geteuid() ||
        (info.st_mode & 0077) != 0) {
        if (fd >= 0)
            (void)close(fd);
        return nacre_fail(err, NACRE_ERR_IO,
                          "%.300s is not a directory of this user's alone", ret_path);
    }
    *ret_fd = fd;
    return NACRE_OK;
}

static bool is_disk(int dir_fd, const char *name, struct stat *ret_info)
{
    return fstatat(dir_fd, name, ret_info, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(ret_info->st_mode) && ret_info->st_uid == geteuid() &&
           (ret_info->st_mode & 0777) == 0444 && ret_info->st_size > 0;
}

/* ---- is it as it was made? ---- */

/* Of the first `count` bytes; false: there are not so many that can be read. */
static bool seal_of(int fd, uint64_t count, char ret_seal[SEAL_BYTES])
{
    NACRE_AUTO(nacre_heap_guard) char *bytes = malloc(READ_BYTES);
    struct nacre_digest digest;
    struct nacre_hasher hasher;
    char hex[NACRE_HEX];

    nacre_hash_init(&hasher);
    for (uint64_t at = 0; at < count;) {
        size_t most = count - at < READ_BYTES ? (size_t)(count - at) : READ_BYTES;
        ssize_t got = bytes ? pread(fd, bytes, most, (off_t)at) : -1;

        if (got <= 0)
            return false;
        nacre_hash_add(&hasher, bytes, (size_t)got);
        at += (uint64_t)got;
    }
    digest = nacre_hash_end(&hasher);
    memset(ret_seal, 0, SEAL_BYTES);
    (void)snprintf(ret_seal, SEAL_BYTES, "nacre disk 1 %s\n",
                   nacre_digest_hex(&digest, hex));
    return true;
}

static bool is_whole(int dir_fd, const char *name, uint64_t size)
{
    NACRE_AUTO(nacre_fd_guard) int fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);
    char seal[SEAL_BYTES], found[SEAL_BYTES];
    uint64_t end = size < SEAL_BYTES ? 0 : size - SEAL_BYTES;

    return fd >= 0 && end > 0 && seal_of(fd, end, seal) &&
           pread(fd, found, SEAL_BYTES, (off_t)end) == SEAL_BYTES &&
           memcmp(seal, found, SEAL_BYTES) == 0;
}

/* One that was found whole is not read again as long as the site is open: that takes as
 * long as a small part of a boot. */
static bool is_good(struct dk_site *site, int dir_fd, const char *name)
{
    struct stat info;

    if (!is_disk(dir_fd, name, &info))
        return false;
    if (atomic_load(&site->whole_disk) != info.st_ino) {
        if (!is_whole(dir_fd, name, (uint64_t)info.st_size))
            return false;
        atomic_store(&site->whole_disk, info.st_ino);
    }
    return true;
}

/* Held while one is made: two makers of the same would make it twice. */
static enum nacre_status lock(int dir_fd, const struct dk_caller *caller,
                              struct nacre_error *err)
{
    const struct timespec pause = { .tv_nsec = 50 * (long)NACRE_NS_PER_MS };
    const struct nt_wait wait = dk_caller_within(caller, LOCK_MS);

    while (flock(dir_fd, LOCK_EX | LOCK_NB) != 0) {
        if (nt_wait_is_over(&wait))
            return nacre_fail(err, NACRE_ERR_TIMEOUT,
                              "another nacre packs an image and does not end");
        (void)nanosleep(&pause, NULL);
    }
    return NACRE_OK;
}

/* ---- keeping few ---- */

/* Whose image the engine has no more. */
static bool is_orphan(struct dk_site *site, const char *name)
{
    NACRE_AUTO(dk_json_guard) json_t *image = NULL;
    struct nacre_error ignored;
    char id[DK_IMAGE_ID];

    (void)snprintf(id, sizeof(id), "sha256:%.64s", name);
    return dk_image_inspect(site->client, id, dk_within_ms(ENGINE_MS), &image,
                            &ignored) == NACRE_ERR_NOT_FOUND;
}

/* With the lock.  A machine that runs keeps its disk though the name is gone. */
static void make_room(struct dk_site *site, int dir_fd)
{
    NACRE_AUTO(nacre_fd_guard) int fd = openat(dir_fd, ".", O_RDONLY | O_CLOEXEC);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    char oldest[96] = "";
    struct timespec oldest_at = { 0 };
    size_t count = 0;

    if (!listing)
        return;
    fd = -1;
    while ((entry = readdir(listing))) {
        struct stat info;

        if (strlen(entry->d_name) != 64 + strlen(SUFFIX) ||
            !is_disk(dir_fd, entry->d_name, &info))
            continue;
        if (is_orphan(site, entry->d_name)) {
            (void)unlinkat(dir_fd, entry->d_name, 0);
            continue;
        }
        count++;
        if (!oldest[0] || info.st_mtim.tv_sec < oldest_at.tv_sec) {
            (void)snprintf(oldest, sizeof(oldest), "%s", entry->d_name);
            oldest_at = info.st_mtim;
        }
    }
    (void)closedir(listing);
    if (count >= DK_DISKS_MAX)
        (void)unlinkat(dir_fd, oldest, 0);
}

/* ---- making one ---- */

struct making {
    struct dk_site *site;
    const char *image_id;
    struct dk_caller caller;
    char name[DK_NAME]; /* of the container that is exported; "": none */
    int pipe[2];
    struct nt_wait wait;
    struct dk_last last;
    enum nacre_status exported;
    struct nacre_error export_err;
};

static void making_end(struct making *making)
{
    struct nacre_error ignored;

    nacre_fd_guard(&making->pipe[0]);
    nacre_fd_guard(&making->pipe[1]);
    if (making->name[0]) /* what stays, stays labelled for the next sweep */
        (void)!dk_container_remove(making->site->client, making->name,
                                   dk_within_ms(ENGINE_MS), &ignored);
}

/* It never runs, and so what it is told to run need not be there. */
static enum nacre_status create(struct making *making, struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *body = NULL;
    struct dk_created created;
    char owner[16];

    (void)snprintf(owner, sizeof(owner), "%u", (unsigned)geteuid());
    body = json_pack("{s:s, s:[s], s:b, s:{s:s, s:s}, s:{s:s, s:{s:s}}}", "Image",
                     making->image_id, "Entrypoint", "/nacre-never-runs",
                     "NetworkDisabled", 1, "Labels", DK_OWNER_LABEL, owner,
                     DK_TOKEN_LABEL, dk_owner_token(making->site->owner), "HostConfig",
                     "NetworkMode", "none", "LogConfig", "Type", "none");
    if (!body)
        return nacre_fail(err, NACRE_ERR_MEMORY, "an image's disk");
    dk_owner_name(making->site->owner, making->name);
    return dk_container_create(making->site->client, making->name, body,
                               dk_caller_within(&making->caller, ENGINE_MS), &created,
                               err);
}

static void *export(void *data)
{
    struct making *making = data;

    making->exported = dk_container_export(making->site->client, making->name,
                                           making->pipe[1], making->wait,
                                           &making->export_err);
    nacre_fd_guard(&making->pipe[1]);
    making->pipe[1] = -1;
    return NULL;
}

static void hear(void *data, int stream, const char *bytes, size_t count)
{
    struct making *making = data;

    (void)stream;
    dk_last_add(&making->last, bytes, count);
}

static enum nacre_status run_packer(struct making *making, struct dk_box *box,
                                    struct nacre_error *err)
{
    /* Cheap to unpack: whoever reads it may be emulated. */
    static const char *const words[] = { "/usr/bin/sqfstar", "-quiet", "-no-progress",
                                         "-mem", "128M", "-root-mode", "0755", "-comp",
                                         "lz4", DK_MACHINE_OUT "/disk", NULL };
    static const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    const struct nacre_request request = { .input_fd = making->pipe[0],
                                           .on_output = hear, .on_output_data = making,
                                           .stream_only = true,
                                           .cancelled = making->caller.run_cancelled };
    const struct nt_command command = {
        .start = { .arguments = words, .environment = environment, .directory = "/",
                   .wall_ms_max = PACK_MS, .input = true },
        .output_bytes_max = OUTPUT_MAX,
        .request = &request,
        .cancelled = making->caller.cancelled,
    };
    char shown[DK_LAST_SHOWN];
    enum nacre_status status = nacre_result_new(&result, err);

    if (status == NACRE_OK)
        status = nt_box_run(dk_box_channel(box), &command, result, err);
    if (status != NACRE_OK)
        return status;
    if (result->outcome != NACRE_OUTCOME_EXITED || result->exit_status != 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the image's files can't be packed for a machine: sqfstar %s "
                          "with status %d, saying: %s",
                          nacre_outcome_name(result->outcome), result->exit_status,
                          dk_last_shown(&making->last, shown));
    return NACRE_OK;
}

/* Both ways at once: what the engine says goes to who packs it. */
static enum nacre_status pack_from(struct making *making, struct dk_box *box,
                                   struct nacre_error *err)
{
    enum nacre_status status;
    pthread_t exporter;

    if (pipe2(making->pipe, O_CLOEXEC) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "an image's disk");
    if (!dk_thread_start(&exporter, export, making))
        return nacre_fail(err, NACRE_ERR_MEMORY, "a thread for an image's disk");
    status = run_packer(making, box, err);
    nacre_fd_guard(&making->pipe[0]); /* an exporter that nobody reads would wait */
    making->pipe[0] = -1;
    (void)pthread_join(exporter, NULL);
    if (status == NACRE_OK && making->exported != NACRE_OK) {
        *err = making->export_err;
        status = making->exported;
    }
    return status;
}

/* A container as QEMU's, for one command: nothing of the host but where the disk goes. */
static enum nacre_status pack(struct making *making, const char *out_path,
                              struct nacre_error *err)
{
    const struct dk_extra out = { out_path, DK_MACHINE_OUT, true };
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    NACRE_AUTO(dk_box_guard) struct dk_box *box = NULL;
    struct dk_box_order order = { .caller = making->caller, .extra = &out,
                                  .extra_count = 1 };
    enum nacre_status status = dk_machine_bare(PACKER_BYTES, &plan, err);

    order.plan = plan;
    if (status == NACRE_OK)
        status = dk_box_open(making->site, &order, &box, err);
    return status == NACRE_OK ? pack_from(making, box, err) : status;
}

static bool seal(int fd, uint64_t size)
{
    uint64_t end = (size + SEAL_BYTES - 1) / SEAL_BYTES * SEAL_BYTES;
    char bytes[SEAL_BYTES];

    return ftruncate(fd, (off_t)end) == 0 && seal_of(fd, end, bytes) &&
           pwrite(fd, bytes, SEAL_BYTES, (off_t)end) == SEAL_BYTES;
}

/* Whoever packed it may have been taken over: what is kept is a file and nothing else, and
 * nobody else's from here on. */
static enum nacre_status keep(int dir_fd, const char *name, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard)
    int fd = openat(dir_fd, MAKING "/disk",
                    O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat info;

    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_nlink != 1 ||
        info.st_size <= 0 || (uint64_t)info.st_size > DISK_BYTES_MAX)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "what was packed of the image is no file for a machine");
    if (fchown(fd, geteuid(), getegid()) != 0 || fchmod(fd, 0444) != 0 ||
        !seal(fd, (uint64_t)info.st_size) || fsync(fd) != 0 ||
        renameat(dir_fd, MAKING "/disk", dir_fd, name) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't keep the image's disk");
    return NACRE_OK;
}

/* With all that whoever packed may have left there: else no other could be made. */
static void remove_making(int dir_fd)
{
    struct nacre_error ignored;

    (void)!nacre_tree_remove(dir_fd, MAKING, &ignored);
}

static enum nacre_status make(struct making *making, int dir_fd, const char *dir_path,
                              const char *name, struct nacre_error *err)
{
    struct nt_user user;
    char out_path[NACRE_PATH_MAX + 16];
    enum nacre_status status = nt_user_find(NULL, &user, err);

    if (status != NACRE_OK)
        return status;
    /* The wait for the lock was another's. */
    making->wait = dk_caller_within(&making->caller, PACK_MS);
    make_room(making->site, dir_fd);
    remove_making(dir_fd); /* of a maker that died */
    (void)snprintf(out_path, sizeof(out_path), "%s/" MAKING, dir_path);
    if (mkdirat(dir_fd, MAKING, 0700) != 0 ||
        fchownat(dir_fd, MAKING, user.uid, user.gid, AT_SYMLINK_NOFOLLOW) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't make %.300s", out_path);
    status = create(making, err);
    if (status == NACRE_OK)
        status = pack(making, out_path, err);
    if (status == NACRE_OK)
        status = keep(dir_fd, name, err);
    remove_making(dir_fd);
    return status;
}

enum nacre_status dk_disk_find(struct dk_site *site, const char *image_id,
                               const struct dk_caller *caller,
                               char ret_path[NACRE_PATH_MAX], struct nacre_error *err)
{
    NACRE_AUTO(making_end)
    struct making making = { .site = site, .image_id = image_id, .pipe = { -1, -1 } };
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    char dir_path[NACRE_PATH_MAX], name[96];
    enum nacre_status status = open_dir(site->options->state_dir, dir_path, &dir_fd, err);

    if (status == NACRE_OK && !name_of(image_id, name))
        status = nacre_fail(err, NACRE_ERR_PARSE, "the image's id is none");
    if (status == NACRE_OK &&
        snprintf(ret_path, NACRE_PATH_MAX, "%s/%s", dir_path, name) >= NACRE_PATH_MAX)
        status = nacre_fail(err, NACRE_ERR_TOO_BIG, "the state directory's path");
    if (status == NACRE_OK && !is_good(site, dir_fd, name)) {
        uint64_t since_ns;

        making.caller = dk_caller_pause(caller, &since_ns);
        status = lock(dir_fd, &making.caller, err);
        if (status == NACRE_OK && !is_good(site, dir_fd, name))
            status = make(&making, dir_fd, dir_path, name, err);
        (void)flock(dir_fd, LOCK_UN);
        dk_caller_resume(caller, since_ns);
    }
    if (status == NACRE_OK) /* for who looks for the one that was used least recently */
        (void)utimensat(dir_fd, name, NULL, 0);
    return status;
}
