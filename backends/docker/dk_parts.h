#ifndef DK_PARTS_H
#define DK_PARTS_H

#include "dk_binds.h"
#include "dk_site.h"
#include "nt_user.h"

/* Whose kernel commands run on. */
enum dk_kernel {
    DK_KERNEL_HOSTS, /* of the engine's machine */
    DK_KERNEL_GVISOR,
    DK_KERNEL_KATA,    /* a machine's, which the engine's runtime brings */
    DK_KERNEL_MACHINE, /* that of nacre's own machine */
};

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
    bool far; /* the engine does not see nacre's files: it has what is `carried` */
    struct dk_carried carried;
    char **masked; /* then; else the site's */
    uint64_t layer_bytes_max; /* 0: no limit, or no layer that could be written */
    struct dk_io io; /* for disk_iops */
    enum dk_kernel kernel;
    const char *runtime; /* of the engine's, by name; NULL: as the engine has it */
    const struct dk_extra *extra; /* borrowed */
    size_t extra_count;

    /* Of the container around nacre's own machine alone: what is in the machine, and
     * where its disk is on the host. */
    struct dk_parts *inside;
    char *disk;
    struct dk_extra machine_extra[2];
    struct nacre_digest machine; /* of what its init is told to make */
    bool kvm; /* and its device is in the container; else it is emulated */
    bool setup; /* as in struct dk_order */
};

/*
 * NACRE_ERR_NOT_RUNNABLE names a mount that can't be, NACRE_ERR_UNAVAILABLE the image
 * that is missing or the line of the policy that this engine can't hold.
 */
struct dk_parts_input {
    struct dk_site *site;
    const struct nacre_plan *plan;
    const struct dk_extra *extra; /* outlive the parts */
    size_t extra_count;
    bool kvm; /* the container has its device */
    bool setup; /* as in struct dk_order */
    struct dk_caller caller;
};
NACRE_MUST_CHECK enum nacre_status dk_parts_open(const struct dk_parts_input *input,
                                                 struct dk_parts *ret_parts,
                                                 struct nacre_error *err);
/* Whom commands are run for: the machine's parts where there is one. */
const struct dk_parts *dk_parts_inner(const struct dk_parts *parts);
void dk_parts_clear(struct dk_parts *parts);

/* For dk_binds_unknown() and dk_binds_learn(); points into `parts`. */
struct dk_binds_input dk_parts_input(const struct dk_parts *parts);

/* Can init be carried to an engine that does not see it?  Not where more than init has to
 * be there (a machine's disk), nor where the proof of the kernel is on the host. */
bool dk_parts_may_be_far(const struct dk_parts *parts);

/* The binds again, after something was learned about the image or the engine. */
NACRE_MUST_CHECK enum nacre_status dk_parts_rebind(struct dk_parts *parts,
                                                   const struct dk_caller *caller,
                                                   struct nacre_error *err);

/* As dk_create takes it; points into `parts`. */
struct dk_order dk_parts_order(const struct dk_parts *parts, const char *const *labels);

/* Those that the policy keeps, bit 1 << CAP_...: in force for user 0, for others only a
 * bound. */
uint64_t dk_parts_capabilities(const struct dk_parts *parts);

#endif
