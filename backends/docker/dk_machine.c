#include "dk_machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nacre/text.h"

#define MIB ((uint64_t)1 << 20)
/* Measured: what the kernel and init have of a machine's memory, of any size and more of
 * a larger one. */
#define KERNEL_BYTES (96 * MIB)
#define KERNEL_PART 32
/* QEMU's own, with the code that it translates and the initial file system. */
#define QEMU_BYTES (320 * MIB)
#define QEMU_TMPFS "/tmp:size=67108864,mode=1777"
#define QEMU_PROCESSES 128 /* its threads */
#define QEMU_OPEN_FILES 4096
#define PROCESSORS_MAX 8
#define KHZ_COMMON 2000000

/* ---- the container around it ---- */

static void drop_texts(char **texts)
{
    for (size_t i = 0; texts && texts[i]; i++) {
        free(texts[i]);
        texts[i] = NULL;
    }
}

static void drop_text(char **text)
{
    free(*text);
    *text = NULL;
}

static void drop_mount(struct nacre_mount *mount)
{
    for (uint32_t i = 0; i < mount->denied_count; i++)
        free(mount->denied[i]);
    for (uint32_t i = 0; i < mount->covered_count; i++)
        free(mount->covered[i]);
    free(mount->denied);
    free(mount->covered);
    free(mount->guest);
    free(mount->host);
}

/* Private ones are the machine's own affair. */
static bool move_mounts(struct nacre_plan *plan)
{
    uint32_t kept = 0;
    bool failed = false;

    for (uint32_t i = 0; i < plan->mount_count; i++) {
        struct nacre_mount mount = plan->mounts[i];
        char *guest = NULL;

        if (!mount.host) {
            drop_mount(&mount);
            continue;
        }
        if (asprintf(&guest, DK_MACHINE_SHARES "/%" PRIu32 "%s", kept,
                     mount.guest) >= 0) {
            free(mount.guest);
            mount.guest = guest;
        } else {
            failed = true;
        }
        plan->mounts[kept++] = mount;
    }
    plan->mount_count = kept;
    return !failed;
}

static bool settle_container(struct nacre_container *container)
{
    char *image = strdup(NACRE_VM_IMAGE), *tmp = strdup(QEMU_TMPFS);
    char **tmpfs = calloc(2, sizeof(*tmpfs));

    if (!image || !tmp || !tmpfs) {
        free(image);
        free(tmp);
        free(tmpfs);
        return false;
    }
    free(container->image);
    container->image = image;
    drop_texts(container->tmpfs);
    free(container->tmpfs);
    tmpfs[0] = tmp;
    container->tmpfs = tmpfs;
    drop_texts(container->keep_capabilities);
    drop_texts(container->blocked_syscalls);
    drop_texts(container->environment);
    drop_text(&container->workdir);
    container->read_only_root = true;
    container->disk_bytes = 0;
    return true;
}

uint64_t dk_machine_ram(const struct nacre_plan *inside)
{
    uint64_t memory = inside->limits.memory_bytes_max;

    return (memory + KERNEL_BYTES + memory / KERNEL_PART + MIB - 1) / MIB * MIB;
}

/* Emulated ones only take each other's time. */
uint32_t dk_machine_processors(const struct nacre_plan *inside, bool kvm)
{
    uint64_t asked = (inside->container.cpus_nano + 999999999) / 1000000000;
    long there = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t most = there < 1 ? 1 : there > PROCESSORS_MAX ? PROCESSORS_MAX
                                                           : (uint64_t)there;

    if (asked == 0)
        asked = kvm ? most : 1;
    return (uint32_t)(asked < most ? asked : most);
}

uint64_t dk_machine_khz(void)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[256];
    double mhz = 0;

    while (file && mhz == 0 && fgets(line, sizeof(line), file))
        (void)sscanf(line, "cpu MHz : %lf", &mhz);
    if (file)
        (void)fclose(file);
    return mhz > 0 ? (uint64_t)(mhz * 1000) : KHZ_COMMON;
}

enum nacre_status dk_machine_bare(uint64_t memory_bytes, struct nacre_plan **ret_plan,
                                  struct nacre_error *err)
{
    static char *none[] = { NULL };
    const struct nacre_plan bare = {
        .level = NACRE_LEVEL_VM,
        .limits = { .memory_bytes_max = memory_bytes },
        .container = { .tmpfs = none, .keep_capabilities = none,
                       .blocked_syscalls = none, .environment = none, .ulimits = none },
    };

    return dk_machine_plan(&bare, ret_plan, err);
}

enum nacre_status dk_machine_plan(const struct nacre_plan *inside,
                                  struct nacre_plan **ret_plan, struct nacre_error *err)
{
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    enum nacre_status status = nacre_plan_copy(inside, &plan, err);

    if (status != NACRE_OK)
        return status;
    plan->level = NACRE_LEVEL_CONTAINER;
    plan->runtime = NACRE_RUNTIME_DOCKER;
    plan->required &= ~(uint64_t)NACRE_FEATURE_PROCESSES;
    nacre_egress_clear(&plan->egress);
    plan->egress = (struct nacre_egress){ .mode = NACRE_NETWORK_DENY };
    plan->injection = NACRE_INJECTION_UNSET;
    plan->own_tmp = plan->tmp_writable = plan->shared_memory = false;
    for (uint32_t i = 0; i < plan->denied_root_count; i++)
        drop_text(&plan->denied_root[i]);
    plan->denied_root_count = 0;
    if (!move_mounts(plan) || !settle_container(&plan->container))
        return nacre_fail(err, NACRE_ERR_MEMORY, "a machine's plan");
    plan->limits.memory_bytes_max = dk_machine_ram(inside) + QEMU_BYTES;
    plan->container.memory_swap_bytes = plan->limits.memory_bytes_max;
    plan->limits.processes_max = QEMU_PROCESSES;
    plan->limits.open_files_max = QEMU_OPEN_FILES;
    *ret_plan = nacre_plan_take(&plan);
    return NACRE_OK;
}

/* ---- what of it the machine is shown ---- */

/* Of a name in a share: how much of it the machine knows nothing of. */
static size_t lead_of(const char *name)
{
    size_t length = strlen(DK_MACHINE_SHARES "/");

    return length + strspn(name + length, "0123456789");
}

static char *inner_name(const char *target)
{
    return strdup(target + lead_of(target));
}

void dk_machine_drop_lead(char *text)
{
    char *at;

    while ((at = strstr(text, DK_MACHINE_SHARES "/"))) {
        const char *rest = at + lead_of(at);

        memmove(at, rest, strlen(rest) + 1);
    }
}

enum nacre_status dk_machine_binds(const struct dk_binds *around,
                                   struct dk_binds *ret_inside, struct nacre_error *err)
{
    NACRE_AUTO(dk_binds_clear) struct dk_binds inside = { 0 };
    uint32_t count = around->mounts->count;
    size_t covered = around->covered_count;
    char shown[NACRE_SHOWN];

    if (count > DK_MACHINE_SHARES_MAX)
        return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE,
                          "over %d mounts of the host: a machine has no place for more",
                          DK_MACHINE_SHARES_MAX);
    inside.items = calloc(count + 1, sizeof(*inside.items));
    inside.texts = calloc(count + covered + 1, sizeof(*inside.texts));
    inside.covered = calloc(covered + 1, sizeof(*inside.covered));
    if (!inside.items || !inside.texts || !inside.covered)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a machine's mounts");
    for (uint32_t i = 0; i < count; i++) {
        const struct nacre_mount *mount = around->mounts->items[i].mount;
        char *name = inner_name(mount->guest);
        struct stat info;

        if (!name)
            return nacre_fail(err, NACRE_ERR_MEMORY, "a machine's mounts");
        inside.texts[inside.text_count++] = name;
        if (fstat(around->mounts->items[i].fd, &info) != 0 || !S_ISDIR(info.st_mode))
            return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE,
                              "mount '%s' is no directory: a machine is shown "
                              "directories alone",
                              nacre_text_shown(shown, name));
        inside.items[inside.count++] = (struct dk_bind){
            .source = mount->host, .target = name, .writable = mount->writable,
            .is_dir = true, .fd = -1,
        };
    }
    for (size_t i = 0; i < covered; i++) {
        char *name = inner_name(around->covered[i]);

        if (!name)
            return nacre_fail(err, NACRE_ERR_MEMORY, "a machine's mounts");
        inside.texts[inside.text_count++] = name;
        inside.covered[inside.covered_count++] = name;
    }
    *ret_inside = inside;
    inside = (struct dk_binds){ 0 };
    return NACRE_OK;
}
