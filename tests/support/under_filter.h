#ifndef NACRE_TEST_UNDER_FILTER_H
#define NACRE_TEST_UNDER_FILTER_H

#include "in_child.h"
#include "seccomp.h"

/* One attempt: what to do, and under which filter (NULL: none). */
struct attempt {
    const struct nacre_seccomp_program *filter;
    int (*deed)(void *data); /* what the child leaves with */
    void *data;
};

static inline int try_child(void *data)
{
    const struct attempt *attempt = data;
    struct nacre_error err;

    if (attempt->filter && nacre_seccomp_install(attempt->filter, &err) != NACRE_OK) {
        dprintf(2, "%s\n", err.text);
        return CHILD_CHECK_FAILED;
    }
    return attempt->deed(attempt->data);
}

/* Does `deed` in a child of its own; returns the wait status. */
static inline int try(const struct nacre_seccomp_program *filter,
                      int (*deed)(void *data), void *data)
{
    struct attempt attempt = { filter, deed, data };

    return in_child(try_child, &attempt);
}

#endif
