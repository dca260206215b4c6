#ifndef NACRE_GLOB_H
#define NACRE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Globs over paths, as .gitignore has them: * and ? and [..] never take a slash; a "**"
 * that is a whole part of the path takes any number of parts.  \ takes the next character
 * as it is.  A [ without its ] matches nothing.  Linear in pattern times path, whatever
 * the pattern.
 */
bool glob_matches(const char *glob, size_t glob_count, const char *path,
                  size_t path_count);

/*
 * {a,b} written out, also nested; calls `each` for every glob that comes of it, at most
 * GLOB_EXPANSIONS_MAX.  False: a brace has no end, or there are too many; what was called
 * before stays called.
 */
#define GLOB_EXPANSIONS_MAX 256
#define GLOB_BYTES_MAX 1024
bool glob_expand(const char *glob, size_t count,
                 void (*each)(void *data, const char *glob, size_t count), void *data);

#endif
