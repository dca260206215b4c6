#ifndef NACRE_PLACES_H
#define NACRE_PLACES_H

#include "nacre/nacre.h"

/* Where an engine keeps its things, and what it may therefore show to no guest. */
struct nacre_places {
    char *state_dir, *cache_dir, *key_dir, *audit_path, *checkpoints_path, *program,
        *host_file; /* the last may be NULL */
    char **policy_dirs, **tool_dirs; /* NULL-terminated */
    const char **protected_paths; /* NULL-terminated; all of these but the program, which
                                     is NULL when it is not needed and not to be found */
};

NACRE_MUST_CHECK enum nacre_status nacre_places_find(const struct nacre_engine_options *options,
                                                     struct nacre_places *ret_places,
                                                     struct nacre_error *err);
void nacre_places_clear(struct nacre_places *places);

/* For who needs the program after all. */
enum nacre_status nacre_places_lack_program(struct nacre_error *err);

#endif
