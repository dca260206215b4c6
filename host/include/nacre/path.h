#ifndef NACRE_PATH_H
#define NACRE_PATH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Paths as text.  Nothing here touches a file system: whether a name exists or
 * is a link is asked elsewhere, with an fd in hand.
 */

/*
 * One spelling for each path: no "//", no ".", no "..", no trailing "/"; "" becomes
 * ".".  An absolute path stays absolute ("/.." is "/"); a relative one that climbs
 * above its start is refused.  False when refused or longer than `size`.
 */
bool nacre_path_normalise(const char *path, char *ret_path, size_t size);

/*
 * For normalised paths: is `path` the same as `top` or below it?  When it is and
 * `ret_rest` is not NULL, *ret_rest points into `path` at what follows ("" when
 * equal, else with no leading slash).  "/" is above every absolute path, "." above
 * every relative one, and neither is above the other's.
 */
bool nacre_path_is_below(const char *path, const char *top, const char **ret_rest);

#define NACRE_PATH_MAX 4096

#endif
