#ifndef DK_REPORT_H
#define DK_REPORT_H

#include "dk_group.h"
#include "dk_parts.h"
#include "nt_report.h"

/*
 * The second read-back: what the kernel has to say inside the container before any guest
 * code runs.  The rows are made from the plan before the start, their questions go to
 * init with its configuration, and the answers are judged against them.
 */
struct dk_report {
    struct nt_expect *rows;
    size_t count, room;
    const char **questions; /* NULL-terminated, each once */
    size_t question_count;
    struct nt_nonce **nonces; /* on the host until the report is cleared */
    size_t nonce_count;
    char **texts; /* owned: what rows and questions point to */
    size_t text_count, text_room;
};

NACRE_MUST_CHECK enum nacre_status dk_report_make(const struct dk_parts *parts,
                                                  struct dk_report *ret_report,
                                                  struct nacre_error *err);
void dk_report_clear(struct dk_report *report);

/* Why nothing can be mounted, nacre's own init included. */
#define DK_ELSEWHERE                                                               \
    "the engine does not see the files that nacre sees (is it on another machine, " \
    "or nacre itself in a container?)"

/* NACRE_ERR_UNAVAILABLE names what is not as planned.  `id` is the container's, of
 * a machine in it NULL; `group` is for a runtime that shows no cgroups inside, else
 * NULL. */
NACRE_MUST_CHECK enum nacre_status dk_report_judge(const struct dk_report *report,
                                                   const struct dk_parts *parts,
                                                   const char *id,
                                                   const struct nt_box *box,
                                                   const struct dk_group *group,
                                                   struct nacre_error *err);

/*
 * What init says of the image's own names that are denied and were not known, and of what
 * a far engine's machine has: they are known from now on.  *ret_found: some are there, and
 * the container has to be made anew with covers over them.
 */
NACRE_MUST_CHECK enum nacre_status dk_report_learn(const struct dk_parts *parts,
                                                   const struct nt_box *box,
                                                   bool *ret_found,
                                                   struct nacre_error *err);

#endif
