#ifndef DK_KATA_H
#define DK_KATA_H

#include "dk_runtime.h"

/*
 * Kata Containers as a runtime of the engine: containers that are machines, with QEMU,
 * Cloud Hypervisor or Firecracker around them.
 */

/* The runtime of the engine's info that says it is Kata with Firecracker, or any Kata;
 * NULL: none. */
const char *dk_kata_firecracker(const json_t *info);
const char *dk_kata_runtime(const json_t *info);

/* The questions whose answers prove a machine; NULL-terminated. */
extern const char *const dk_kata_questions[];

/* NACRE_ERR_UNAVAILABLE: the kernel inside is the host's or gVisor's, or has no virtio
 * bus; or the engine is elsewhere.  That it is another kernel alone proves nothing:
 * gVisor's is one too. */
NACRE_MUST_CHECK enum nacre_status dk_kata_prove(const struct dk_site *site,
                                                 const struct nt_box *box,
                                                 const char *runtime,
                                                 struct nacre_error *err);

#endif
