#include "dk_site.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dk_gvisor.h"
#include "dk_initrd.h"
#include "dk_kata.h"
#include "init_image.h"
#include "nacre/hash.h"
#include "nacre/text.h"

#define REACH_MS 5000
#define SWEEP_MS 10000

/* The file has exactly these bytes, and nobody else can change it. */
static bool is_ours(const char *path, const void *bytes, size_t size)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    NACRE_AUTO(nacre_heap_guard) char *found = NULL;
    struct stat info;
    size_t count = 0;

    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) ||
        info.st_uid != geteuid() || (info.st_mode & 0777) != 0555 ||
        (size_t)info.st_size != size)
        return false;
    found = malloc(size);
    while (found && count < size) {
        ssize_t got = read(fd, found + count, size - count);

        if (got <= 0)
            return false;
        count += (size_t)got;
    }
    return found && memcmp(found, bytes, size) == 0;
}

static bool write_whole(int fd, const char *bytes, size_t size)
{
    size_t count = 0;

    while (count < size) {
        ssize_t put = write(fd, bytes + count, size - count);

        if (put <= 0)
            return false;
        count += (size_t)put;
    }
    return fchmod(fd, 0555) == 0;
}

/* An engine takes a path and nothing else, so that init has to be a file.  It lies where
 * only we can write (dk_owner_open() has seen to that), and what the container runs is
 * compared with it again. */
static enum nacre_status place(const char *state_dir, const char *name, const void *bytes,
                               size_t size, char ret_path[NACRE_PATH_MAX],
                               struct nacre_error *err)
{
    struct nacre_digest digest = nacre_hash(bytes, size);
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char hex[NACRE_HEX], fresh[NACRE_PATH_MAX + 32];
    enum nacre_status status;
    uint64_t number;

    (void)nacre_digest_hex(&digest, hex);
    if (snprintf(ret_path, NACRE_PATH_MAX, "%s/boxes/%s-%.16s", state_dir, name, hex) >=
        NACRE_PATH_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "the state directory's path");
    if (is_ours(ret_path, bytes, size))
        return NACRE_OK;
    status = nacre_random(&number, sizeof(number), err);
    if (status != NACRE_OK)
        return status;
    (void)snprintf(fresh, sizeof(fresh), "%s.%016" PRIx64, ret_path, number);
    fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || !write_whole(fd, bytes, size) || rename(fresh, ret_path) != 0) {
        (void)unlink(fresh);
        return nacre_fail(err, NACRE_ERR_IO, "can't write %.300s", ret_path);
    }
    return is_ours(ret_path, bytes, size)
               ? NACRE_OK
               : nacre_fail(err, NACRE_ERR_IO, "%.300s changed while it was written",
                            ret_path);
}

/* Init for a container, and once more as a machine takes it. */
static enum nacre_status place_init(struct dk_site *site, const char *state_dir,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = memfd_create("nacre-initrd", MFD_CLOEXEC);
    enum nacre_status status = place(state_dir, "init", nacre_init_image,
                                     nacre_init_image_size, site->init_path, err);
    void *archive;
    off_t size;

    if (status == NACRE_OK && fd < 0)
        status = nacre_fail(err, NACRE_ERR_IO, "a machine's initial file system");
    if (status == NACRE_OK)
        status = dk_initrd_write(-1, fd, err);
    if (status != NACRE_OK)
        return status;
    size = lseek(fd, 0, SEEK_END);
    archive = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (archive == MAP_FAILED)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a machine's initial file system");
    status = place(state_dir, "initrd", archive, (size_t)size, site->initrd_path, err);
    (void)munmap(archive, (size_t)size);
    return status;
}

/* The first line of a file of the kernel's; "" when there is none. */
static void read_line(const char *path, char *ret_line, size_t size)
{
    FILE *file = fopen(path, "re");

    ret_line[0] = '\0';
    if (file && !fgets(ret_line, (int)size, file))
        ret_line[0] = '\0';
    if (file)
        (void)fclose(file);
    ret_line[strcspn(ret_line, "\n")] = '\0';
}

static bool counts_filters(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    bool found = false;

    while (file && !found && fgets(line, sizeof(line), file))
        found = strncmp(line, "Seccomp_filters:", 16) == 0;
    if (file)
        (void)fclose(file);
    return found;
}

/* ---- what is masked ---- */

struct masked {
    char **paths;
    size_t count, room;
};

static bool mask(struct masked *masked, const char *dir, const char *name)
{
    if (masked->count + 1 >= masked->room) {
        size_t room = 2 * masked->room + 64;
        char **grown = realloc(masked->paths, room * sizeof(*grown));

        if (!grown)
            return false;
        masked->paths = grown;
        masked->room = room;
    }
    if (asprintf(&masked->paths[masked->count], "%s%s%s", dir, name[0] ? "/" : "",
                 name) < 0)
        return false;
    masked->paths[++masked->count] = NULL;
    return true;
}

/* All that lies in `dir` but `spared`; what can't be listed can't be seen either. */
static bool mask_all(struct masked *masked, const char *dir, const char *spared)
{
    DIR *listing = opendir(dir);
    const struct dirent *entry;
    bool good = true;

    while (listing && good && (entry = readdir(listing)))
        if (entry->d_name[0] != '.' && strcmp(entry->d_name, spared) != 0)
            good = mask(masked, dir, entry->d_name);
    if (listing)
        (void)closedir(listing);
    return good;
}

/*
 * /sys is the host's, read-only or not.  Of it a sandbox keeps its own cgroups, which say
 * what its limits are and whether the kernel killed for memory; the rest is covered.
 */
static char **masked_paths(void)
{
    struct masked masked = { 0 };
    bool good = true;

    /* Only what is there, so that the report can ask for each. */
    for (const char *const *at = dk_far_known; *at && good; at++)
        if (nacre_path_is_below(*at, "/proc", NULL) && access(*at, F_OK) == 0)
            good = mask(&masked, *at, "");
    if (good && mask_all(&masked, "/sys", "fs") && mask_all(&masked, "/sys/fs", "cgroup"))
        return masked.paths;
    for (size_t i = 0; i < masked.count; i++)
        free(masked.paths[i]);
    free(masked.paths);
    return NULL;
}

/* ---- the site ---- */

bool dk_site_says(const struct dk_site *site, const char *key)
{
    return json_is_true(json_object_get(site->info, key));
}

/* overlay2 passes project quotas of xfs on, and of nothing else; that they are switched
 * on there is the engine's to refuse at create.  btrfs, zfs and devicemapper take a size,
 * too; until what it does has been seen from inside, they count as having none. */
bool dk_site_has_quota(const struct dk_site *site)
{
    const char *driver = json_string_value(json_object_get(site->info, "Driver"));
    const json_t *rows = json_object_get(site->info, "DriverStatus");

    for (size_t i = 0; i < json_array_size(rows); i++) {
        const char *key = json_string_value(json_array_get(json_array_get(rows, i), 0));
        const char *value = json_string_value(json_array_get(json_array_get(rows, i), 1));

        if (key && value && strcmp(key, "Backing Filesystem") == 0)
            return driver && strcmp(driver, "overlay2") == 0 && strcmp(value, "xfs") == 0;
    }
    return false;
}

static void look_around(struct dk_site *site)
{
    const char *version = json_string_value(json_object_get(site->info, "CgroupVersion"));

    site->is_cgroup2 = version && strcmp(version, "2") == 0;
    site->has_filters = counts_filters();
    site->gvisor = dk_gvisor_runtime(site->info);
    site->firecracker = dk_kata_firecracker(site->info);
    site->kata = dk_kata_runtime(site->info);
    read_line("/proc/sys/kernel/random/boot_id", site->boot_id, sizeof(site->boot_id));
}

static enum nacre_status reach(struct dk_site *site, const struct dk_caller *caller,
                               struct nacre_error *err)
{
    struct dk_places places = dk_places_environment();
    struct dk_endpoint endpoint;
    enum nacre_status status;

    places.configured = site->options->engine_host;
    places.configured_certificates = site->options->engine_certificates;
    places.configured_origin = site->options->engine_origin;
    status = dk_endpoint_find(&places, &endpoint, err);
    if (status == NACRE_OK)
        status = dk_client_open(&endpoint, dk_site_within(site, caller, REACH_MS),
                                &site->client, err);
    if (status == NACRE_OK)
        status = dk_info(site->client, dk_site_within(site, caller, REACH_MS), &site->info,
                         err);
    return status;
}

enum nacre_status dk_site_open(const struct nacre_executor_options *options,
                               const struct dk_caller *caller, struct dk_site **ret_site,
                               struct nacre_error *err)
{
    NACRE_AUTO(dk_site_guard) struct dk_site *site = calloc(1, sizeof(*site));
    enum nacre_status status;

    if (!site)
        return nacre_fail(err, NACRE_ERR_MEMORY, "container executor");
    site->options = options;
    site->engine_ms_max = options->engine_ms_max;
    site->covers = (struct nt_covers){ .file_fd = -1, .dir_fd = -1 };
    dk_known_init(&site->known);
    dk_late_init(&site->late);
    dk_far_init(&site->far);
    status = reach(site, caller, err);
    if (status == NACRE_OK)
        status = dk_owner_open(options->state_dir, &site->owner, err);
    if (status == NACRE_OK)
        status = place_init(site, options->state_dir, err);
    if (status == NACRE_OK)
        status = nt_covers_open(options->state_dir, &site->covers, err);
    if (status != NACRE_OK)
        return status;
    site->masked = masked_paths();
    if (!site->masked)
        return nacre_fail(err, NACRE_ERR_MEMORY, "container executor");
    look_around(site);
    dk_owner_sweep(site->owner, site->client, dk_site_within(site, caller, SWEEP_MS));
    *ret_site = dk_site_take(&site);
    return NACRE_OK;
}

void dk_site_remove_late(struct dk_site *site, const struct dk_caller *caller)
{
    dk_late_remove(&site->late, site->client, dk_site_within(site, caller, DK_LATE_MS));
}

void dk_site_free(struct dk_site *site)
{
    const struct dk_caller nobody = { 0 };

    if (!site)
        return;
    dk_site_remove_late(site, &nobody);
    for (size_t i = 0; site->masked && site->masked[i]; i++)
        free(site->masked[i]);
    free(site->masked);
    json_decref(site->info);
    nt_covers_clear(&site->covers);
    dk_known_clear(&site->known);
    dk_late_clear(&site->late);
    dk_far_clear(&site->far);
    dk_client_free(site->client);
    dk_owner_free(site->owner);
    free(site);
}
