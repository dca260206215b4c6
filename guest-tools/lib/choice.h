#ifndef NACRE_CHOICE_H
#define NACRE_CHOICE_H

#include "ignore.h"
#include "nacre_tool.h"

/*
 * Which files a call is about, as find and grep take it: globs, where "!" before one
 * leaves out, and how paths are shown.
 */
struct choice {
    struct ignore_rules wanted, unwanted;
};

/* The globs of one argument, a text or a list of them; a bad one ends the tool. */
void choice_add(struct choice *choice, const struct nacre_json *globs);
void choice_add_glob(struct choice *choice, const char *glob, size_t count);

/* Nothing leaves it out and, where globs say what is wanted, one does. */
bool choice_has(const struct choice *choice, const char *path, size_t count,
                const char *name, bool is_directory);
bool choice_leaves_out(const struct choice *choice, const char *path, size_t count,
                       const char *name, bool is_directory);

/* What is written before the paths below `path`, as the caller wrote it: "" or "a/". */
const char *choice_prefix(const char *path);

/* A path in the answer's text: on one line whatever bytes it has. */
void choice_show_path(struct nacre_text *text, const char *prefix, const char *path,
                      size_t count);

#endif
