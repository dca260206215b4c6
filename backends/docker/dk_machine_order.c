/* What a machine's init is told to make, from the plan alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dk_machine.h"
#include "nt_door.h"

#define MOUNTS_MORE 8 /* beside the plan's lists: the files and their directories */
#define HOSTS "127.0.0.1 localhost\n::1 localhost\n"
#define RESOLVER "nameserver " DOORWAY_NAMES_ADDRESS "\noptions timeout:2 attempts:1\n"
#define COVER_BYTES 4096

struct making {
    struct dk_machine_order *order;
    const struct dk_parts *inside;
    bool failed;
};

void dk_machine_order_clear(struct dk_machine_order *order)
{
    for (size_t i = 0; i < order->text_count; i++)
        free(order->texts[i]);
    free(order->texts);
    free(order->mounts);
    *order = (struct dk_machine_order){ 0 };
}

/* Takes `text`. */
static const char *keep(struct making *making, char *text)
{
    if (!text) {
        making->failed = true;
        return "";
    }
    making->order->texts[making->order->text_count++] = text;
    return text;
}

static void add(struct making *making, struct machine_mount mount)
{
    struct dk_machine_order *order = making->order;

    if (order->machine.mount_count == order->room)
        making->failed = true;
    else
        order->mounts[order->machine.mount_count++] = mount;
}

static void shares(struct making *making)
{
    const struct dk_binds *binds = &making->inside->binds;

    for (size_t i = 0; i < binds->count; i++) {
        char tag[32];

        (void)snprintf(tag, sizeof(tag), "s%zu", i);
        add(making, (struct machine_mount){ .kind = MACHINE_MOUNT_SHARE,
                                            .target = binds->items[i].target,
                                            .text = keep(making, strdup(tag)),
                                            .writable = binds->items[i].writable });
    }
}

static uint64_t mode_of(const char *options)
{
    const char *at = strstr(options, "mode=");

    return at ? strtoull(at + 5, NULL, 8) : 01777;
}

static void tmpfs(struct making *making)
{
    const struct dk_order order = dk_parts_order(making->inside, NULL);
    struct dk_tmpfs item;

    for (size_t n = 0; dk_create_tmpfs(&order, n, &item); n++)
        if (item.path[0])
            add(making, (struct machine_mount){
                            .kind = MACHINE_MOUNT_TMPFS,
                            .target = keep(making, strdup(item.path)),
                            .text = "",
                            .writable = item.writable,
                            .no_exec = strstr(item.options, "noexec") != NULL,
                            .bytes = item.bytes_max,
                            .inodes = item.files_max,
                            .mode = mode_of(item.options) });
}

/*
 * A private directory is empty when the machine starts: a denied name is held by something
 * that nobody can enter, and the way to it is made (dk_create.c).
 *
 * None of these is looked at before each command, as those in shares are.  A share lies
 * in other sandboxes and on the host too, and there a name can be moved from below a
 * cover; the machine's own files are in one mount namespace alone, where the name of a
 * mount point can't be moved or removed, and nobody may unmount.
 */
static void covers(struct making *making)
{
    const struct nacre_plan *plan = making->inside->plan;

    for (uint32_t i = 0; i < plan->mount_count; i++)
        for (uint32_t k = 0; !plan->mounts[i].host && k < plan->mounts[i].denied_count;
             k++) {
            const char *denied = plan->mounts[i].denied[k];
            char *target = NULL;

            if (nacre_mount_covers_denied(&plan->mounts[i], k))
                continue;
            if (asprintf(&target, "%s%s%s", plan->mounts[i].guest, denied[0] ? "/" : "",
                         denied) < 0)
                target = NULL;
            add(making, (struct machine_mount){ .kind = MACHINE_MOUNT_TMPFS,
                                                .target = keep(making, target),
                                                .text = "", .no_exec = true,
                                                .bytes = COVER_BYTES, .inodes = 2 });
        }
    for (uint32_t i = 0; i < plan->denied_root_count; i++)
        add(making, (struct machine_mount){ .kind = MACHINE_MOUNT_COVER,
                                            .target = plan->denied_root[i], .text = "" });
}

static bool is_target(const struct dk_machine_order *order, const char *path)
{
    for (uint64_t i = 0; i < order->machine.mount_count; i++)
        if (strcmp(order->mounts[i].target, path) == 0)
            return true;
    return false;
}

/* What is denied stays covered. */
static void file(struct making *making, const char *target, const char *text)
{
    if (!is_target(making->order, "/etc") && !is_target(making->order, target))
        add(making, (struct machine_mount){ .kind = MACHINE_MOUNT_FILE, .target = target,
                                            .text = text });
}

/* As an engine makes them for a container. */
static void files(struct making *making, struct nacre_error *err)
{
    NACRE_AUTO(nt_door_names_clear) struct nt_door_names names = { 0 };
    const struct nacre_plan *plan = making->inside->plan;
    bool door = nt_door_is_planned(plan);
    char *hosts = NULL;

    making->failed |= nt_door_names_make(plan, &names, err) != NACRE_OK;
    if (asprintf(&hosts, HOSTS "%s", door && names.hosts ? names.hosts : "") < 0)
        hosts = NULL;
    file(making, "/etc/hosts", keep(making, hosts));
    file(making, "/etc/resolv.conf", door ? RESOLVER : "");
}

/* Outer before inner; at one place a cover lies above what it covers. */
static int by_target(const void *a, const void *b)
{
    const struct machine_mount *one = a, *other = b;
    int order = strcmp(one->target, other->target);

    if (order == 0)
        order = (int)other->writable - (int)one->writable;
    return order ? order : (int)one->kind - (int)other->kind;
}

static size_t most_mounts(const struct dk_parts *inside)
{
    const struct nacre_plan *plan = inside->plan;
    size_t count = MOUNTS_MORE + inside->binds.count + nacre_plan_private_count(plan) +
                   plan->denied_root_count;

    for (size_t i = 0; plan->container.tmpfs && plan->container.tmpfs[i]; i++)
        count++;
    for (uint32_t i = 0; i < plan->mount_count; i++)
        count += plan->mounts[i].denied_count;
    return count;
}

enum nacre_status dk_machine_order_make(const struct dk_parts *inside,
                                        struct dk_machine_order *ret_order,
                                        struct nacre_error *err)
{
    NACRE_AUTO(dk_machine_order_clear) struct dk_machine_order order = { 0 };
    struct making making = { .order = &order, .inside = inside };
    const struct nacre_plan *plan = inside->plan;

    order.room = most_mounts(inside);
    order.mounts = calloc(order.room, sizeof(*order.mounts));
    order.texts = calloc(2 * order.room, sizeof(*order.texts));
    if (!order.mounts || !order.texts)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a machine's order");
    shares(&making);
    tmpfs(&making);
    covers(&making);
    files(&making, err);
    if (making.failed)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a machine's order");
    qsort(order.mounts, order.machine.mount_count, sizeof(*order.mounts), by_target);
    order.machine = (struct init_machine){
        .uid = inside->user.uid,
        .gid = inside->user.gid,
        .capabilities_kept = dk_parts_capabilities(inside),
        .hostname = "nacre",
        .writable_root = !plan->container.read_only_root,
        .layer_bytes = inside->layer_bytes_max,
        .memory_bytes_max = plan->limits.memory_bytes_max,
        /* A shepherd counts with its command, as around a container's. */
        .processes_max = plan->limits.processes_max ? plan->limits.processes_max + 1 : 0,
        .unix_ms = nacre_clock_wall_ms(),
        .mounts = order.mounts,
        .mount_count = order.machine.mount_count,
    };
    *ret_order = order;
    order = (struct dk_machine_order){ 0 };
    return NACRE_OK;
}

enum nacre_status dk_machine_digest(const struct dk_parts *inside,
                                    struct nacre_digest *ret_digest,
                                    struct nacre_error *err)
{
    NACRE_AUTO(dk_machine_order_clear) struct dk_machine_order order = { 0 };
    NACRE_AUTO(nacre_heap_guard) uint8_t *bytes = malloc(MACHINE_BYTES_MAX);
    struct pack pack = { .bytes = bytes, .size = MACHINE_BYTES_MAX };
    enum nacre_status status = dk_machine_order_make(inside, &order, err);

    if (status != NACRE_OK)
        return status;
    order.machine.unix_ms = 0;
    if (!bytes)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a machine's digest");
    if (!init_machine_pack(&pack, &order.machine))
        return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE,
                          "what the machine is made of: over %zu bytes or %d mounts",
                          MACHINE_BYTES_MAX, MACHINE_MOUNTS_MAX);
    *ret_digest = nacre_hash(bytes, pack.used);
    return NACRE_OK;
}
