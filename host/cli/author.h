#ifndef NACRE_CLI_AUTHOR_H
#define NACRE_CLI_AUTHOR_H

#include "args.h"
#include "nacre/author.h"

/* What the verbs for authors have in common. */

/* The folder that an operand names (default: this one), loaded. */
NACRE_MUST_CHECK enum nacre_status cli_author_load(const char *directory,
                                                   struct nacre_manifest **ret_manifest,
                                                   struct nacre_error *err);

/* nacre_author_build() with the SDK that lies beside the program. */
NACRE_MUST_CHECK enum nacre_status cli_author_build(const struct nacre_manifest *manifest,
                                                    struct nacre_error *err);

/* Runs the folder's cases and says how they went; returns the exit status: 0 when all
 * passed, 1 when not. */
struct cli_testing {
    const char *module, *policy, *only;
    bool update, quiet; /* quiet: only what failed */
    uint64_t tolerance_percent; /* 0: as the cases say */
};
int cli_author_test(const struct cli_args *args, const struct nacre_manifest *manifest,
                    const struct cli_testing *testing);

#endif
