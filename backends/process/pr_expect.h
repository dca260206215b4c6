#ifndef NACRE_PROCESS_EXPECT_H
#define NACRE_PROCESS_EXPECT_H

#include "nt_report.h"
#include "pr_spec.h"

/* What init is asked before the first command, and what it has to answer. */
#define PR_QUESTIONS_MAX (2 * LAUNCH_FDS_MAX)
#define PR_EXPECTS_MAX (2 * LAUNCH_FDS_MAX)
#define PR_TEXTS_MAX (6 * LAUNCH_FDS_MAX)

struct pr_expect {
    const char *questions[PR_QUESTIONS_MAX];
    size_t question_count;
    bool asks_mounts;
    struct nt_expect rows[PR_EXPECTS_MAX];
    size_t row_count;
    char *texts[PR_TEXTS_MAX]; /* that the above point to; owned */
    size_t text_count;
};

/* `alone`: nothing of the caller's groups may be left (it was root). */
NACRE_MUST_CHECK enum nacre_status pr_expect_make(const struct pr_spec *spec, bool alone,
                                                  struct pr_expect *ret_expect,
                                                  struct nacre_error *err);
void pr_expect_clear(struct pr_expect *expect);

/* NACRE_ERR_UNAVAILABLE at the first thing that is not as planned; no command has run. */
NACRE_MUST_CHECK enum nacre_status pr_expect_judge(const struct pr_expect *expect,
                                                   const struct nt_box *box,
                                                   struct nacre_error *err);

/* What init has to look at before each command: every cover of a denied path.  Their
 * names are in `names`; *ret_masks is to be freed in any case. */
NACRE_MUST_CHECK enum nacre_status pr_expect_masks(const struct pr_spec *spec,
                                                   struct init_mask **ret_masks,
                                                   size_t *ret_count,
                                                   struct nacre_buf *names,
                                                   struct nacre_error *err);

/* Is a filesystem of the kernel's own to be seen in a sandbox with this mountinfo,
 * beside its /proc?  True also when the text can't be read. */
bool pr_expect_shows_kernel(const char *mountinfo, char ret_path[NACRE_PATH_MAX]);

#endif
