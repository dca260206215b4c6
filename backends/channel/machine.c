/* A machine's first message: read whole and right, or not at all. */
#include "machine.h"

#include <stddef.h>
#include <string.h>

const char *machine_mount_words(uint64_t kind)
{
    static const char *const words[] = {
        [MACHINE_MOUNT_NONE] = "do nothing",
#define X(id, text) [MACHINE_MOUNT_##id] = text,
        MACHINE_MOUNT_MAP(X)
#undef X
    };

    return kind < MACHINE_MOUNT_COUNT ? words[kind] : words[MACHINE_MOUNT_NONE];
}

static void pack_mount(struct pack *pack, const struct machine_mount *mount)
{
    pack_u64(pack, mount->kind);
    pack_text(pack, mount->target);
    pack_text(pack, mount->text);
    pack_u64(pack, mount->writable);
    pack_u64(pack, mount->no_exec);
    pack_u64(pack, mount->bytes);
    pack_u64(pack, mount->inodes);
    pack_u64(pack, mount->mode);
}

bool init_machine_pack(struct pack *pack, const struct init_machine *machine)
{
    pack_u64(pack, machine->uid);
    pack_u64(pack, machine->gid);
    pack_u64(pack, machine->capabilities_kept);
    pack_text(pack, machine->hostname);
    pack_u64(pack, machine->writable_root);
    pack_u64(pack, machine->layer_bytes);
    pack_u64(pack, machine->memory_bytes_max);
    pack_u64(pack, machine->processes_max);
    pack_u64(pack, machine->unix_ms);
    pack_u64(pack, machine->mount_count);
    for (uint64_t i = 0; i < machine->mount_count; i++)
        pack_mount(pack, &machine->mounts[i]);
    return !pack->failed && machine->mount_count <= MACHINE_MOUNTS_MAX;
}

/* Neither the highest id, which means "nobody is named", nor one that is no id. */
static uint64_t unpack_id(struct unpack *unpack)
{
    uint64_t id = unpack_u64(unpack);

    if (id >= UINT32_MAX)
        unpack->failed = true;
    return id;
}

/* Absolute, and not the root itself, which is no mount's. */
static bool is_target(const char *path)
{
    return path[0] == '/' && path[1] != '\0' && strlen(path) < MACHINE_TARGET_MAX;
}

static void unpack_mount(struct unpack *unpack, struct machine_mount *ret_mount)
{
    struct machine_mount mount = { .kind = unpack_u64(unpack) };

    mount.target = unpack_text(unpack);
    mount.text = unpack_text(unpack);
    mount.writable = unpack_bool(unpack);
    mount.no_exec = unpack_bool(unpack);
    mount.bytes = unpack_u64(unpack);
    mount.inodes = unpack_u64(unpack);
    mount.mode = unpack_u64(unpack);
    if (unpack->failed || mount.kind == MACHINE_MOUNT_NONE ||
        mount.kind >= MACHINE_MOUNT_COUNT || mount.mode > 07777 ||
        !is_target(mount.target))
        unpack->failed = true;
    *ret_mount = mount;
}

bool init_machine_unpack(struct unpack *unpack, struct machine_mount *ret_mounts,
                         struct init_machine *ret_machine)
{
    struct init_machine machine = { .uid = unpack_id(unpack), .mounts = ret_mounts };

    machine.gid = unpack_id(unpack);
    machine.capabilities_kept = unpack_u64(unpack);
    machine.hostname = unpack_text(unpack);
    machine.writable_root = unpack_bool(unpack);
    machine.layer_bytes = unpack_u64(unpack);
    machine.memory_bytes_max = unpack_u64(unpack);
    machine.processes_max = unpack_u64(unpack);
    machine.unix_ms = unpack_u64(unpack);
    machine.mount_count = unpack_u64(unpack);
    if (machine.mount_count > MACHINE_MOUNTS_MAX)
        unpack->failed = true;
    for (uint64_t i = 0; !unpack->failed && i < machine.mount_count; i++)
        unpack_mount(unpack, &ret_mounts[i]);
    if (!unpack_whole(unpack))
        return false;
    *ret_machine = machine;
    return true;
}
