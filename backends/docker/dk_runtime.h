#ifndef DK_RUNTIME_H
#define DK_RUNTIME_H

#include <jansson.h>

#include "dk_site.h"
#include "nt_box.h"

/*
 * Runtimes of the engine that are more than runc: gVisor, and machines.  What the engine
 * says about one is its name and the path of a program, either of which may be something
 * else; what counts is what init finds inside.
 */

/* The one of the engine's info that `likeness` likes best, above 0; NULL: none.  Lives as
 * long as `info`. */
const char *dk_runtime_best(const json_t *info,
                            int (*likeness)(const char *name, const json_t *runtime));

/* Of a runtime's description; "" for what it does not say. */
const char *dk_runtime_says(const json_t *runtime, const char *key);
const char *dk_runtime_program(const json_t *runtime); /* its path's last part */

/* How it is registered, for people: "/usr/bin/runsc --platform=ptrace"; escaped, cut. */
#define DK_RUNTIME_TEXT 160
const char *dk_runtime_text(const json_t *info, const char *name,
                            char ret_text[DK_RUNTIME_TEXT]);

/* For proofs: questions to init, and whether one has a real answer. */
#define DK_BOOT_ID "file /proc/sys/kernel/random/boot_id"
#define DK_VERSION "file /proc/version"
#define DK_SENTRY "file /proc/sentry-meminfo" /* gVisor's own; no other kernel has it */
bool dk_runtime_answers(const struct nt_box *box, const char *question);

/* NACRE_ERR_UNAVAILABLE: the kernel inside is this machine's own, so that `name` is not
 * `claimed` ("gVisor"). */
NACRE_MUST_CHECK enum nacre_status dk_runtime_has_kernel(const struct dk_site *site,
                                                         const struct nt_box *box,
                                                         const char *name,
                                                         const char *claimed,
                                                         struct nacre_error *err);

#endif
