#ifndef NACRE_PROCESS_MAKING_H
#define NACRE_PROCESS_MAKING_H

#include <string.h>

#include "pr_spec.h"

/* A spec in the making: the first failure sticks. */
struct pr_making {
    const struct pr_spec_input *input;
    struct pr_spec *spec;
    enum nacre_status status;
    struct nacre_error *err;
};

void pr_no_memory(struct pr_making *making);
/* Texts of `op` are copied. */
void pr_add(struct pr_making *making, struct spec_op op);
/* Its number in the spec. */
uint64_t pr_add_fd(struct pr_making *making, int fd);

/* pr_spec_root.c: the sockets of a door, and what of the root is not the policy's. */
void pr_spec_add_door(struct pr_making *making);
void pr_spec_add_root(struct pr_making *making);

/* `top` above `path`, or the same, both without a slash at the start. */
static inline bool pr_is_below(const char *path, const char *top)
{
    size_t length = strlen(top);

    return strncmp(path, top, length) == 0 && (path[length] == '/' || !path[length]);
}

#endif
