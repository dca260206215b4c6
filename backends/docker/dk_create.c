#include "dk_create.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dk_api.h"
#include "dk_carrier.h"
#include "nt_door.h"

#define FILES_MAX 128
/* When the machine is short of memory, a guest goes before what people work with. */
#define OOM_SCORE_ADJ 500

const char *const dk_create_readonly[] = { "/proc/bus", "/proc/fs", "/proc/irq",
                                           "/proc/sys", "/proc/sysrq-trigger", NULL };

/* Takes `value`; false when there was none or no memory. */
static bool set(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

static bool add(json_t *array, json_t *value)
{
    return json_array_append_new(array, value) == 0;
}

static json_t *texts(const char *const *items)
{
    json_t *array = json_array();

    for (size_t i = 0; array && items && items[i]; i++)
        if (!add(array, json_string(items[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *labels(const char *const *items)
{
    json_t *object = json_object();

    for (size_t i = 0; object && items && items[i]; i++) {
        const char *equals = strchr(items[i], '=');
        char key[128];

        (void)snprintf(key, sizeof(key), "%.*s",
                       equals ? (int)(equals - items[i]) : (int)strlen(items[i]),
                       items[i]);
        if (!set(object, key, json_string(equals ? equals + 1 : ""))) {
            json_decref(object);
            return NULL;
        }
    }
    return object;
}

/*
 * The Mounts form and not Binds: with Binds an engine makes a source that is missing, and
 * what is made is the world's.  Not recursive: what is mounted below a granted directory
 * was not granted.  A volume that is missing would be made too; but it stays empty, as the
 * engine is told not to fill it with what the image has there.
 */
static json_t *mount_of(const struct dk_bind *bind)
{
    if (bind->volume)
        return json_pack("{s:s, s:s, s:s, s:b, s:{s:b}}", "Type", "volume", "Source",
                         bind->source, "Target", bind->target, "ReadOnly", 1,
                         "VolumeOptions", "NoCopy", 1);
    return json_pack("{s:s, s:s, s:s, s:b, s:{s:s, s:b}}", "Type", "bind", "Source",
                     bind->source, "Target", bind->target, "ReadOnly", !bind->writable,
                     "BindOptions", "Propagation", "rprivate", "NonRecursive", 1);
}

static json_t *mounts(const struct dk_order *order)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < order->bind_count; i++)
        if (!add(array, mount_of(&order->binds[i]))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static bool is_bind_target(const struct dk_order *order, const char *path)
{
    for (size_t i = 0; i < order->bind_count; i++)
        if (strcmp(order->binds[i].target, path) == 0)
            return true;
    return false;
}

/* ---- tmpfs ---- */

static bool is_private(const struct nacre_plan *plan, const char *path)
{
    for (uint32_t i = 0; i < plan->mount_count; i++)
        if (!plan->mounts[i].host && strcmp(plan->mounts[i].guest, path) == 0)
            return true;
    return false;
}

/* The policy's own: "/run:size=64m".  The engine adds noexec unless it is told otherwise,
 * and runc may give it the mode of what lies there in the image, whatever is asked: so
 * that it is the user's who shall write to it. */
static void asked_tmpfs(const struct dk_order *order, const char *text,
                        struct dk_tmpfs *tmpfs)
{
    const char *colon = strchr(text, ':');

    *tmpfs = (struct dk_tmpfs){ .writable = true };
    (void)snprintf(tmpfs->path, sizeof(tmpfs->path), "%.*s",
                   colon ? (int)(colon - text) : (int)strlen(text), text);
    (void)snprintf(tmpfs->options, sizeof(tmpfs->options),
                   "rw,%snosuid,nodev,uid=%" PRIu32 ",gid=%" PRIu32 "%s%.160s",
                   colon && strstr(colon, "noexec") ? "" : "exec,", order->uid,
                   order->gid, colon ? "," : "", colon ? colon + 1 : "");
    tmpfs->bytes_max = nacre_tmpfs_bytes(text);
    if (is_bind_target(order, tmpfs->path) || is_private(order->plan, tmpfs->path))
        tmpfs->path[0] = '\0';
}

/* ",nr_inodes=N", but for gVisor, whose tmpfs counts no files. */
#define FILES_OPTION 40
static const char *files_option(const struct dk_order *order, uint64_t files,
                                char ret_option[FILES_OPTION])
{
    ret_option[0] = '\0';
    if (order->plan->runtime != NACRE_RUNTIME_GVISOR)
        (void)snprintf(ret_option, FILES_OPTION, ",nr_inodes=%" PRIu64, files);
    return ret_option;
}

/* Private directories live and die with the container, and share what they may hold. */
static void private_tmpfs(const struct dk_order *order, const char *path, bool writable,
                          struct dk_tmpfs *tmpfs)
{
    const struct nacre_limits *limits = &order->plan->limits;
    uint64_t count = nacre_plan_private_count(order->plan);
    char files[FILES_OPTION];

    *tmpfs = (struct dk_tmpfs){
        .writable = writable,
        .of_scratch = true,
        .bytes_max = limits->scratch_bytes_max / count,
        .files_max = limits->scratch_files_max / count,
    };
    (void)snprintf(tmpfs->path, sizeof(tmpfs->path), "%s", path);
    (void)snprintf(tmpfs->options, sizeof(tmpfs->options),
                   "%s,exec,nosuid,nodev,size=%" PRIu64 "%s,uid=%" PRIu32
                   ",gid=%" PRIu32 ",mode=700",
                   writable ? "rw" : "ro", tmpfs->bytes_max,
                   files_option(order, tmpfs->files_max, files), order->uid, order->gid);
}

/* What init writes before a command: on no disk, and of the user whom it is for. */
static void files_tmpfs(const struct dk_order *order, const char *path,
                        struct dk_tmpfs *tmpfs)
{
    char files[FILES_OPTION];

    *tmpfs = (struct dk_tmpfs){ .writable = true, .bytes_max = NACRE_FILES_BYTES,
                                .files_max = FILES_MAX };
    (void)snprintf(tmpfs->path, sizeof(tmpfs->path), "%s", path);
    (void)snprintf(tmpfs->options, sizeof(tmpfs->options),
                   "rw,noexec,nosuid,nodev,size=%" PRIu64 "%s,uid=%" PRIu32
                   ",gid=%" PRIu32 ",mode=700",
                   NACRE_FILES_BYTES, files_option(order, FILES_MAX, files), order->uid,
                   order->gid);
}

/* An engine would mount these by itself, writable and of a size that `disk` knows nothing
 * of. */
static void shared_tmpfs(const struct dk_order *order, const char *path,
                         struct dk_tmpfs *tmpfs)
{
    bool writable = order->plan->shared_memory;
    uint64_t bytes = nacre_plan_shared_bytes(order->plan);

    *tmpfs = (struct dk_tmpfs){ .writable = writable, .bytes_max = bytes };
    (void)snprintf(tmpfs->path, sizeof(tmpfs->path), "%s", path);
    (void)snprintf(tmpfs->options, sizeof(tmpfs->options),
                   "%s,noexec,nosuid,nodev,size=%" PRIu64 ",uid=%" PRIu32
                   ",gid=%" PRIu32 ",mode=1777",
                   writable ? "rw" : "ro", bytes, order->uid, order->gid);
}

/* Has the policy put something of its own there? */
static bool is_taken(const struct dk_order *order, const char *path)
{
    char *const *items = order->plan->container.tmpfs;
    size_t length = strlen(path);

    for (; items && *items; items++)
        if (strncmp(*items, path, length) == 0 &&
            ((*items)[length] == ':' || (*items)[length] == '\0'))
            return true;
    return is_bind_target(order, path) || is_private(order->plan, path);
}

bool dk_create_tmpfs(const struct dk_order *order, size_t n, struct dk_tmpfs *ret_tmpfs)
{
    char *const *items = order->plan->container.tmpfs;
    const struct nacre_mount *mount;
    char way[NACRE_PATH_MAX];
    const struct {
        bool wanted;
        const char *path;
        void (*make)(const struct dk_order *order, const char *path,
                     struct dk_tmpfs *tmpfs);
    } ours[] = {
        { order->plan->injection == NACRE_INJECTION_FILE_MOUNT, START_FILES_DIR,
          files_tmpfs },
        { nacre_egress_intercepts(&order->plan->egress), START_CERTIFICATES_DIR,
          files_tmpfs },
        { true, "/dev/shm", shared_tmpfs },
        /* A machine of nacre's own has none. */
        { !order->plan->shared_memory &&
              (order->plan->level != NACRE_LEVEL_VM || order->runtime),
          "/dev/mqueue", shared_tmpfs },
    };

    for (; items && *items; items++)
        if (n-- == 0) {
            asked_tmpfs(order, *items, ret_tmpfs);
            return true;
        }
    for (uint32_t i = 0; i < order->plan->mount_count; i++)
        if (!order->plan->mounts[i].host && n-- == 0) {
            private_tmpfs(order, order->plan->mounts[i].guest,
                          order->plan->mounts[i].writable, ret_tmpfs);
            return true;
        }
    if (order->plan->own_tmp && n-- == 0) {
        private_tmpfs(order, "/tmp", order->plan->tmp_writable, ret_tmpfs);
        return true;
    }
    if (nacre_plan_way(order->plan, n, &mount, way)) {
        private_tmpfs(order, way, mount->writable, ret_tmpfs);
        return true;
    }
    for (size_t ways = 0; nacre_plan_way(order->plan, ways, &mount, way); ways++)
        n--;
    for (size_t i = 0; i < NACRE_COUNT(ours); i++)
        if (ours[i].wanted && n-- == 0) {
            ours[i].make(order, ours[i].path, ret_tmpfs);
            if (is_taken(order, ours[i].path))
                ret_tmpfs->path[0] = '\0';
            return true;
        }
    return false;
}

static json_t *tmpfs(const struct dk_order *order)
{
    json_t *object = json_object();
    struct dk_tmpfs item;

    for (size_t n = 0; object && dk_create_tmpfs(order, n, &item); n++)
        if (item.path[0] && !set(object, item.path, json_string(item.options))) {
            json_decref(object);
            return NULL;
        }
    return object;
}

/* ---- limits ---- */

bool dk_create_is_once(const struct nacre_plan *plan)
{
    return plan->level == NACRE_LEVEL_CONTAINER && plan->scope == NACRE_SCOPE_RUN &&
           plan->runtime != NACRE_RUNTIME_GVISOR;
}

uint64_t dk_create_processes_ours(const struct nacre_plan *plan)
{
    return dk_create_is_once(plan) ? 1 : 2;
}

bool dk_create_ulimit(const struct nacre_plan *plan, size_t n,
                      struct dk_ulimit *ret_ulimit)
{
    char *const *items = plan->container.ulimits;
    bool says_core = false;
    int fields;

    for (size_t i = 0; items && items[i]; i++)
        says_core |= strncmp(items[i], "core=", 5) == 0;
    /* 0: a setup command's, which has as many as the engine gives. */
    if (plan->limits.open_files_max > 0 && n-- == 0) {
        *ret_ulimit = (struct dk_ulimit){ "nofile", plan->limits.open_files_max,
                                          plan->limits.open_files_max };
        return true;
    }
    if (!says_core && n-- == 0) {
        *ret_ulimit = (struct dk_ulimit){ "core", 0, 0 };
        return true;
    }
    for (size_t i = 0; items && items[i]; i++) {
        if (i < n)
            continue;
        fields = sscanf(items[i], "%31[a-z]=%" SCNu64 ":%" SCNu64, ret_ulimit->name,
                        &ret_ulimit->soft, &ret_ulimit->hard);
        if (fields == 2)
            ret_ulimit->hard = ret_ulimit->soft;
        return fields >= 2;
    }
    return false;
}

static json_t *ulimits(const struct nacre_plan *plan)
{
    json_t *array = json_array();
    struct dk_ulimit item;

    for (size_t n = 0; array && dk_create_ulimit(plan, n, &item); n++)
        if (!add(array, json_pack("{s:s, s:I, s:I}", "Name", item.name, "Soft",
                                  (json_int_t)item.soft, "Hard",
                                  (json_int_t)item.hard))) {
            json_decref(array);
            return NULL;
        }
    return array;
}

static json_t *security(const struct dk_order *order)
{
    const struct nacre_container *container = &order->plan->container;
    const struct {
        const char *key, *value;
    } rows[] = {
        { "seccomp", order->seccomp_json },
        { "apparmor", container->apparmor_profile },
        { "label", container->selinux_label },
    };
    json_t *array = json_array();
    bool good = array && add(array, json_string("no-new-privileges"));

    for (size_t i = 0; good && i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_heap_guard) char *text = NULL;

        if (!rows[i].value)
            continue;
        good = asprintf(&text, "%s=%s", rows[i].key, rows[i].value) >= 0 &&
               add(array, json_string(text));
    }
    if (!good) {
        json_decref(array);
        return NULL;
    }
    return array;
}

static bool set_number(json_t *object, const char *key, uint64_t value)
{
    return value == 0 || set(object, key, json_integer((json_int_t)value));
}

/* Reads and writes each have as many. */
static bool set_operations(json_t *host, const struct dk_order *order)
{
    static const char *const keys[] = { "BlkioDeviceReadIOps", "BlkioDeviceWriteIOps" };
    uint64_t most = order->plan->container.disk_iops;

    for (size_t k = 0; most > 0 && k < NACRE_COUNT(keys); k++) {
        json_t *array = json_array();

        for (size_t i = 0; array && i < order->io->count; i++)
            if (!add(array, json_pack("{s:s, s:I}", "Path", order->io->disks[i].node,
                                      "Rate", (json_int_t)most))) {
                json_decref(array);
                return false;
            }
        if (!set(host, keys[k], array))
            return false;
    }
    return true;
}

/* "-1" is the engine's word for no bound: one that can't bound swap warns of any other. */
static bool set_swap(json_t *host, uint64_t memory, uint64_t swap)
{
    return swap == DK_SWAP_UNBOUND ? set(host, "MemorySwap", json_integer(-1))
                                   : set_number(host, "MemorySwap", swap ? swap : memory);
}

static bool set_limits(json_t *host, const struct nacre_plan *plan)
{
    const struct nacre_container *container = &plan->container;
    uint64_t memory = plan->limits.memory_bytes_max;
    /* Around gVisor it would count the sentry's threads, and reaching it would be the
     * end of all: there init sets RLIMIT_NPROC. */
    uint64_t processes = plan->runtime == NACRE_RUNTIME_GVISOR
                             ? 0
                             : plan->limits.processes_max;

    return set_number(host, "Memory", memory) &&
           set_swap(host, memory, container->memory_swap_bytes) &&
           set_number(host, "MemoryReservation", container->memory_reservation_bytes) &&
           set_number(host, "CpuShares", plan->limits.cpu_shares) &&
           set_number(host, "NanoCpus", container->cpus_nano) &&
           set_number(host, "PidsLimit",
                      processes ? processes + dk_create_processes_ours(plan) : 0) &&
           set_number(host, "BlkioWeight", container->disk_io_weight) &&
           (!container->cpuset ||
            set(host, "CpusetCpus", json_string(container->cpuset))) &&
           set(host, "Ulimits", ulimits(plan));
}

static bool set_kernel(json_t *host, char *const *masked)
{
    return set(host, "ReadonlyPaths", texts(dk_create_readonly)) &&
           (!masked || set(host, "MaskedPaths", texts((const char *const *)masked)));
}

static bool set_layer(json_t *host, uint64_t bytes)
{
    return bytes == 0 ||
           set(host, "StorageOpt", json_pack("{s:o}", "size",
                                             json_sprintf("%" PRIu64, bytes)));
}

/* The user is in the device's group, and in no other. */
static bool set_device(json_t *host, const struct dk_order *order)
{
    return !order->device ||
           (set(host, "Devices",
                json_pack("[{s:s, s:s, s:s}]", "PathOnHost", order->device,
                          "PathInContainer", order->device, "CgroupPermissions", "rw")) &&
            set(host, "GroupAdd",
                json_pack("[o]", json_sprintf("%" PRIu32, order->device_gid))));
}

/* The engine mounts these two files over whatever the image has: it is told of them. */
static bool set_names(json_t *host, const struct nacre_plan *plan)
{
    const struct nacre_egress *egress = &plan->egress;
    json_t *hosts;

    if (!nt_door_is_planned(plan))
        return true;
    hosts = json_array();
    for (uint32_t i = 0; hosts && i < egress->allowed_count; i++) {
        const struct nacre_egress_host *allowed = &egress->allowed[i];

        if (!allowed->below && !allowed->is_address &&
            !add(hosts, json_sprintf("%s:" DOORWAY_HOST_ADDRESS, allowed->name))) {
            json_decref(hosts);
            return false;
        }
    }
    return set(host, "ExtraHosts", hosts) &&
           set(host, "Dns", json_pack("[s]", DOORWAY_NAMES_ADDRESS)) &&
           set(host, "DnsOptions", json_pack("[ss]", "timeout:2", "attempts:1"));
}

static json_t *host_config(const struct dk_order *order)
{
    const struct nacre_container *container = &order->plan->container;
    json_t *host = json_pack(
        "{s:b, s:[s], s:s, s:{s:s, s:{}}, s:b, s:b, s:s, s:s, s:b, s:I, s:i, s:b,"
        " s:{s:s}}",
        "ReadonlyRootfs", container->read_only_root, "CapDrop", "ALL", "NetworkMode",
        "none", "LogConfig", "Type", "none", "Config", "AutoRemove", 1, "Init", 0,
        "IpcMode", "private", "CgroupnsMode", "private", "Privileged", 0,
        /* Of a /dev/shm of the engine's: there is nacre's; but it is read back. */
        "ShmSize", (json_int_t)NACRE_SHARED_BYTES_MAX, "OomScoreAdj", OOM_SCORE_ADJ,
        "OomKillDisable", 0, "RestartPolicy", "Name", "no");

    if (host && (!order->runtime || set(host, "Runtime", json_string(order->runtime))) &&
        set(host, "CapAdd", texts((const char *const *)container->keep_capabilities)) &&
        set(host, "SecurityOpt", security(order)) &&
        set(host, "Mounts", mounts(order)) && set(host, "Tmpfs", tmpfs(order)) &&
        set_names(host, order->plan) &&
        set_kernel(host, order->masked) && set_layer(host, order->layer_bytes_max) &&
        set_limits(host, order->plan) && set_operations(host, order) &&
        set_device(host, order))
        return host;
    json_decref(host);
    return NULL;
}

json_t *dk_create_body(const struct dk_order *order)
{
    bool browser = order->plan->container.user_namespaces;
    const char *word = order->setup ? "setup" : browser ? "browser" : NULL;
    char user[32], entry[64];
    json_t *body = NULL;

    (void)snprintf(entry, sizeof(entry), "%s%s",
                   order->setup ? DK_INIT_TARGET_SETUP : DK_INIT_TARGET,
                   order->far ? "/" DK_CARRIED_INIT : "");
    (void)snprintf(user, sizeof(user), "%" PRIu32 ":%" PRIu32, order->uid, order->gid);
    /* The working directory is init's: a command's own is told to init.  An engine that
     * disables the network altogether makes no /etc/hosts and no loopback that a browser
     * could be reached by; mode "none" is as empty. */
    body = json_pack("{s:s, s:s, s:s, s:[s], s:o, s:s, s:b, s:b, s:b, s:b, s:b, s:b, "
                     "s:b, s:{s:[s]}}",
                     "Image", order->image_id, "User", user, "WorkingDir", "/",
                     "Entrypoint", entry, "Cmd",
                     word ? json_pack("[s]", word) : json_array(), "Hostname", "nacre",
                     "OpenStdin", 1, "StdinOnce", 1, "AttachStdin", 1, "AttachStdout", 1,
                     "AttachStderr", 1, "Tty", 0, "NetworkDisabled",
                     !nt_door_is_planned(order->plan) && !browser, "Healthcheck", "Test",
                     "NONE");
    if (body && set(body, "Labels", labels(order->labels)) &&
        set(body, "HostConfig", host_config(order)))
        return body;
    json_decref(body);
    return NULL;
}

/* What init's name server answers for. */
static void hash_names(struct nacre_hasher *hasher, const struct nacre_plan *plan)
{
    const struct nacre_egress *egress = &plan->egress;

    nacre_hash_add_u64(hasher, nt_door_is_planned(plan) ? 1 + (uint64_t)egress->mode : 0);
    if (!nt_door_is_planned(plan))
        return;
    nacre_hash_add_u64(hasher, egress->allowed_count);
    for (uint32_t i = 0; i < egress->allowed_count; i++) {
        nacre_hash_add_text(hasher, egress->allowed[i].name);
        nacre_hash_add_u64(hasher, egress->allowed[i].below);
    }
}

enum nacre_status dk_create_digest(const struct dk_order *order, const json_t *body,
                                   struct nacre_digest *ret_digest,
                                   struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *bare = json_copy((json_t *)body);
    NACRE_AUTO(nacre_heap_guard) char *text = NULL;
    const struct nacre_plan *plan = order->inside ? order->inside : order->plan;
    char *const *blocked = plan->container.blocked_syscalls;
    struct nacre_hasher hasher;

    if (bare && json_object_del(bare, "Labels") == 0)
        text = json_dumps(bare, JSON_COMPACT | JSON_SORT_KEYS);
    if (!text)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a container's digest");
    nacre_hash_init(&hasher);
    nacre_hash_add_text(&hasher, "nacre container 1");
    nacre_hash_add_text(&hasher, text);
    for (size_t i = 0; i < order->bind_count; i++) {
        nacre_hash_add_u64(&hasher, order->binds[i].device);
        nacre_hash_add_u64(&hasher, order->binds[i].inode);
    }
    /* What only init is told. */
    for (; blocked && *blocked; blocked++)
        nacre_hash_add_text(&hasher, *blocked);
    hash_names(&hasher, plan);
    if (order->machine)
        nacre_hash_add(&hasher, order->machine, sizeof(*order->machine));
    nacre_hash_add_u64(&hasher, plan->denied_root_count);
    for (uint32_t i = 0; i < plan->denied_root_count; i++)
        nacre_hash_add_text(&hasher, plan->denied_root[i]);
    *ret_digest = nacre_hash_end(&hasher);
    return NACRE_OK;
}
