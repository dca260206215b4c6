#ifndef NACRE_TOOLS_CATALOGUE_H
#define NACRE_TOOLS_CATALOGUE_H

#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "nacre/manifest.h"
#include "nacre/path.h"

#define TOOLS_MANIFEST "tool.yaml"

/* Which file it was, and in which state. */
struct tools_identity {
    dev_t device;
    ino_t inode;
    off_t bytes;
    struct timespec changed, written;
    bool is_settled; /* its last change was long enough ago for the next to have another
                        time */
};
void tools_identify(const struct stat *info, struct tools_identity *ret_identity);
/* Is it, as it is `now`, what was `kept` of it?  Never of a file that had just changed. */
bool tools_is_same(const struct tools_identity *kept, const struct tools_identity *now);

/* The folder of `name` in the first directory that has one, and its manifest's identity.
 * NACRE_ERR_NOT_FOUND names the directories and the nearest name that there is. */
NACRE_MUST_CHECK enum nacre_status
tools_locate(const char *const tool_dirs[], const char *name,
             char ret_folder[NACRE_PATH_MAX], struct tools_identity *ret_identity,
             struct nacre_error *err);

/* The manifest of a folder that answers to `name`. */
NACRE_MUST_CHECK enum nacre_status tools_load(const char *folder, const char *name,
                                              struct nacre_manifest **ret_manifest,
                                              struct nacre_error *err);

#endif
