#ifndef DK_GVISOR_H
#define DK_GVISOR_H

#include <jansson.h>

#include "dk_runtime.h"

/*
 * gVisor as a runtime of the engine: containers whose system calls are served by a kernel
 * in user space (the sentry).
 */

/* The runtime of the engine's info that says it is runsc, or NULL.  Lives as long as
 * `info`. */
const char *dk_gvisor_runtime(const json_t *info);

#define DK_NO_GVISOR                                                            \
    "the engine has no runsc among its runtimes: install Debian's package runsc and "  \
    "name it in the engine's daemon.json: \"runtimes\": {\"runsc\": {\"path\": "       \
    "\"/usr/bin/runsc\"}}"

/* The questions whose answers prove it; NULL-terminated. */
extern const char *const dk_gvisor_questions[];

/* NACRE_ERR_UNAVAILABLE: the kernel inside is another; which one, if it can be told. */
NACRE_MUST_CHECK enum nacre_status dk_gvisor_prove(const struct dk_site *site,
                                                   const struct nt_box *box,
                                                   struct nacre_error *err);

/* The container is dead: was it for memory?  Its cgroups have gone with it, but the
 * engine had an eye on them; its word may come a moment after the death. */
bool dk_gvisor_ran_out(struct dk_client *client, const char *id, uint64_t since_s);

/*
 * One that does not come up.  `status` and `err` are how, and come back with what to do
 * about it.  A runsc that neither starts nor lets the engine end it is ended here.
 */
NACRE_MUST_CHECK enum nacre_status dk_gvisor_give_up(struct dk_client *client,
                                                     const char *id, uint64_t since_s,
                                                     enum nacre_status status,
                                                     struct nacre_error *err);

#endif
