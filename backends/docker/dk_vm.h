#ifndef DK_VM_H
#define DK_VM_H

#include "machine.h"
#include "nt_box.h"

/*
 * A machine that runs: QEMU is a command in the box around it, and its standard input and
 * output are the channel to the init inside.  Both ends of that channel are ours, and a
 * thread of its own looks after QEMU.  When either box ends, the machine does.
 */
struct dk_vm;

struct dk_vm_order {
    struct nt_box *around;    /* outlives the machine; nothing else runs in it */
    const char *const *words; /* QEMU's; NULL-terminated */
    const struct init_machine *machine;
    const struct init_config *config;
    struct nt_wait wait; /* for the report */
};

/*
 * Boots it and waits for its init's report: judge that of dk_vm_box() before a command is
 * run.  NACRE_ERR_UNAVAILABLE is init's own word that it can't go on; NACRE_ERR_IO has
 * QEMU's last words, where it has ended.
 */
NACRE_MUST_CHECK enum nacre_status dk_vm_open(const struct dk_vm_order *order,
                                              struct dk_vm **ret_vm,
                                              struct nacre_error *err);

/* Ends it.  Accepts NULL. */
void dk_vm_free(struct dk_vm *vm);
NACRE_OWNED(dk_vm)

struct nt_box *dk_vm_box(struct dk_vm *vm);

/*
 * The channel inside broke, `err` says how: if that is because QEMU has ended, `err` says
 * so, and how it ended.  *ret_for_memory: the kernel of the host killed it for memory.
 */
void dk_vm_tell_end(struct dk_vm *vm, bool *ret_for_memory, struct nacre_error *err);

#endif
