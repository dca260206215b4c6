#ifndef DK_PARTS_H
#define DK_PARTS_H

#include <stdatomic.h>

#include "dk_binds.h"
#include "dk_site.h"
#include "nt_user.h"

/*
 * What one container is made of: the plan, and all that had to be looked up for it.
 * Nothing is made in the engine but a setup command's image.
 */
struct dk_parts {
    struct dk_site *site;
    struct nacre_plan *plan; /* a copy: the container outlives the call it was made for */
    struct nt_user user;
    char image[DK_IMAGE_ID]; /* that is run: the setup command's, when there is one */
    struct dk_binds binds;
    uint64_t layer_bytes_max; /* 0: no limit, or no layer that could be written */
};

/*
 * NACRE_ERR_NOT_RUNNABLE names a mount that can't be, NACRE_ERR_UNAVAILABLE the image
 * that is missing or the line of the policy that this engine can't hold.
 */
NACRE_MUST_CHECK enum nacre_status dk_parts_open(struct dk_site *site,
                                                 const struct nacre_plan *plan,
                                                 const _Atomic int *cancelled,
                                                 struct dk_parts *ret_parts,
                                                 struct nacre_error *err);
void dk_parts_clear(struct dk_parts *parts);

/* For dk_binds_unknown() and dk_binds_learn(); points into `parts`. */
struct dk_binds_input dk_parts_input(const struct dk_parts *parts);

/* The binds again, after something was learned about the image. */
NACRE_MUST_CHECK enum nacre_status dk_parts_rebind(struct dk_parts *parts,
                                                   struct nacre_error *err);

/* As dk_create takes it; points into `parts`. */
struct dk_order dk_parts_order(const struct dk_parts *parts, const char *const *labels);

/* Those that the policy keeps, bit 1 << CAP_...: in force for user 0, for others only a
 * bound. */
uint64_t dk_parts_capabilities(const struct dk_parts *parts);

#endif
