#ifndef EDIT_H
#define EDIT_H

#include "nacre_tool.h"

#define EDITS_MAX 1000

struct span {
    const char *bytes;
    size_t count;
};

/* One replacement that was asked for. */
struct edit {
    struct span old_text, new_text;
    bool all;
};

/* What is wrong with it, for a model to mend: the place that was probably meant.
 * `number` is 0 where there is but one. */
noreturn void fail_no_match(struct span file, const struct edit *edit, size_t number,
                            const char *path);
noreturn void fail_not_unique(struct span file, const struct edit *edit, size_t number,
                              const char *path);

size_t line_of(struct span file, size_t at);

#endif
