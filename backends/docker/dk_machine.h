#ifndef DK_MACHINE_H
#define DK_MACHINE_H

#include "dk_parts.h"
#include "machine.h"

/*
 * nacre's own machine: QEMU in a container, and in it what the plan asks for.  Made from
 * plans alone; nothing is started here.
 */

/* In the container around it. */
#define DK_MACHINE_PLACE "/.nacre-machine"
#define DK_MACHINE_DISK DK_MACHINE_PLACE "/disk"     /* the sandbox image's files */
#define DK_MACHINE_INITRD DK_MACHINE_PLACE "/initrd" /* init; modules come behind it */
/*
 * The host's directories: the Nth at "/N" and its guest name below it, so that none lies
 * within another.  QEMU opens them by name: in a share a guest could move a name on the
 * way to the next between the proof of what is there and the opening.
 */
#define DK_MACHINE_SHARES DK_MACHINE_PLACE "/shares"
#define DK_MACHINE_OUT DK_MACHINE_PLACE "/out"

/* As many as a microvm has places for devices, beside the disk and the channel. */
#define DK_MACHINE_SHARES_MAX 22

/* The plan of the container around it: QEMU's image, no capability, no network, no secret,
 * and of the mounts those of the host, each at its place below DK_MACHINE_SHARES. */
NACRE_MUST_CHECK enum nacre_status dk_machine_plan(const struct nacre_plan *inside,
                                                   struct nacre_plan **ret_plan,
                                                   struct nacre_error *err);

/* The same for a machine that no plan asks for, and that is shown nothing. */
NACRE_MUST_CHECK enum nacre_status dk_machine_bare(uint64_t memory_bytes,
                                                   struct nacre_plan **ret_plan,
                                                   struct nacre_error *err);

/* The memory of the machine, so that its commands have what the plan says. */
uint64_t dk_machine_ram(const struct nacre_plan *inside);

/* How many processors it has, and what this machine's run at. */
uint32_t dk_machine_processors(const struct nacre_plan *inside, bool kvm);
uint64_t dk_machine_khz(void);

/* What the machine's parts are in the container's binds; names lose their lead. */
NACRE_MUST_CHECK enum nacre_status dk_machine_binds(const struct dk_binds *around,
                                                    struct dk_binds *ret_inside,
                                                    struct nacre_error *err);

/* The same in words for people: the policy knows nothing of the lead. */
void dk_machine_drop_lead(char *text);

/* QEMU's command line. */
struct dk_machine_words {
    char **items; /* NULL-terminated */
    size_t count, room;
};
struct dk_machine_boot {
    const struct dk_binds *shares; /* as dk_machine_binds() has them */
    uint64_t ram_bytes;
    uint32_t processors;
    bool emulated;
    uint64_t processor_khz; /* when emulated: without it the kernel waits for ever */
    bool has_disk;
};
NACRE_MUST_CHECK enum nacre_status
dk_machine_words_make(const struct dk_machine_boot *boot,
                      struct dk_machine_words *ret_words, struct nacre_error *err);
void dk_machine_words_clear(struct dk_machine_words *words);

/* What init is told to make; `inside` outlives it. */
struct dk_machine_order {
    struct init_machine machine;
    struct machine_mount *mounts;
    size_t room;
    char **texts; /* owned */
    size_t text_count;
};
NACRE_MUST_CHECK enum nacre_status
dk_machine_order_make(const struct dk_parts *inside, struct dk_machine_order *ret_order,
                      struct nacre_error *err);
void dk_machine_order_clear(struct dk_machine_order *order);

/* Over all that it is told, but the time of day. */
NACRE_MUST_CHECK enum nacre_status dk_machine_digest(const struct dk_parts *inside,
                                                     struct nacre_digest *ret_digest,
                                                     struct nacre_error *err);

#endif
