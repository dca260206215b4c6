#ifndef NACRE_IGNORE_H
#define NACRE_IGNORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The rules of one .gitignore or .ignore file: one glob a line, "!" takes back, a "/" at
 * the end is for directories only, one elsewhere binds the glob to the file's directory.
 * Who asks walks from the top: below an ignored directory nothing is asked.
 */
struct ignore_rule {
    const char *glob;
    uint32_t count;
    bool negated, directory_only, bound;
    enum { IGNORE_TEXT, IGNORE_ENDING, IGNORE_GLOB } kind; /* "name", "*.ending" or any */
};

struct ignore_rules {
    struct ignore_rule *rules;
    size_t count, room;
};

enum ignore_verdict { IGNORE_NONE, IGNORE_LEFT_OUT, IGNORE_KEPT };

/* `bytes` have to stay as long as the rules do.  False: no memory, or too many rules. */
bool ignore_add_file(struct ignore_rules *rules, const char *bytes, size_t count);
/* One line; nothing is added for comments and blank ones. */
bool ignore_add_line(struct ignore_rules *rules, const char *line, size_t count);
void ignore_clear(struct ignore_rules *rules);

/* `path` is relative to the rules' directory, `name` its last part.  The last rule that
 * matches decides. */
enum ignore_verdict ignore_judge(const struct ignore_rules *rules, const char *path,
                                 size_t path_count, const char *name, bool is_directory);

#endif
