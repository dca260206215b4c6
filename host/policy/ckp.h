#ifndef NACRE_POLICY_CKP_H
#define NACRE_POLICY_CKP_H

#include "schema.h"

#define NACRE_CKP_VERSION "0.3.0"

/* The CKP document of kind Sandbox; its target is a struct nacre_policy. */
extern const struct nacre_schema nacre_ckp_schema;

/* An entry of mount_paths; its target is a struct nacre_ckp_mount. */
extern const struct nacre_schema nacre_ckp_mount_schema;

struct nacre_ckp_mount {
    struct nacre_mount_rule rule;
    unsigned permissions; /* 1: ro, 2: rw */
};

/* What holds at a level when no runtime is said. */
enum nacre_runtime nacre_ckp_runtime(enum nacre_level level);

/* metadata.annotations; its target is a struct nacre_policy. */
NACRE_MUST_CHECK enum nacre_status nacre_ckp_annotations(const struct nacre_reading *at,
                                                         const struct nacre_node *node,
                                                         void *target,
                                                         struct nacre_error *err);

#endif
