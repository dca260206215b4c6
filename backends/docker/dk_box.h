#ifndef DK_BOX_H
#define DK_BOX_H

#include "dk_binds.h"
#include "dk_site.h"
#include "nt_box.h"

/*
 * One container with our init in it: made from a plan, read back twice, ready for
 * commands.  Whatever fails on the way leaves no container behind.
 */
struct dk_box;

/* Its labels, beside dk_owner.h's. */
#define DK_IMAGE_LABEL "nacre.image"
#define DK_CONFIG_LABEL "nacre.config"   /* hash of what it is made of */
#define DK_CREATED_LABEL "nacre.created" /* ms since 1970 */

struct dk_box_order {
    const struct nacre_plan *plan;
    const char *scope_key; /* for the label; NULL: it is for one run */
    const char *name;      /* NULL: one that nobody else has */
    const struct dk_extra *extra; /* to be bound too; outlive the box */
    size_t extra_count;
    bool kvm; /* the container has KVM's device */
    bool setup; /* as in struct dk_order */
    struct dk_caller caller;
};

/* What the sandbox would be made of, without making it: a warm one is compared by it. */
NACRE_MUST_CHECK enum nacre_status dk_box_digest(struct dk_site *site,
                                                 const struct nacre_plan *plan,
                                                 const struct dk_caller *caller,
                                                 struct nacre_digest *ret_digest,
                                                 struct nacre_error *err);

NACRE_MUST_CHECK enum nacre_status dk_box_open(struct dk_site *site,
                                               const struct dk_box_order *order,
                                               struct dk_box **ret_box,
                                               struct nacre_error *err);

/* Closes the channel first (a stream that nobody reads blocks the engine), then ends the
 * container.  Accepts NULL. */
void dk_box_free(struct dk_box *box);
NACRE_OWNED(dk_box)

/* Made from this very plan, and the names of its directories still lead to them. */
bool dk_box_is_of(const struct dk_box *box, const struct nacre_plan *plan);

/* Ends the container under its commands, which are killed then; the box is spent.  The
 * channel is shut first, here too. */
void dk_box_kill(struct dk_box *box);

const char *dk_box_id(const struct dk_box *box);
const char *dk_box_name(const struct dk_box *box);
const struct nacre_digest *dk_box_made_of(const struct dk_box *box);

/* As nt_box_run(), with the time that the caller has left; from several threads. */
NACRE_MUST_CHECK enum nacre_status dk_box_run(struct dk_box *box,
                                              const struct nacre_plan *plan,
                                              const struct nacre_tool *tool,
                                              const struct nacre_request *request,
                                              const struct dk_caller *caller,
                                              struct nacre_result *result,
                                              struct nacre_error *err);

/* To the init of the container itself, for a command of nacre's own. */
struct nt_box *dk_box_channel(struct dk_box *box);

bool dk_box_beat(struct dk_box *box);      /* as nt_box_beat() */
bool dk_box_is_spent(struct dk_box *box);  /* or what it shows of the host has changed */

#endif
