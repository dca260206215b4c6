#ifndef NACRE_PATCH_FILES_H
#define NACRE_PATCH_FILES_H

#include "patch.h"

/*
 * The files that a patch names, as they are and as they are to be.  All of it is
 * computed before the first byte is written.
 */
struct patch_entry {
    const char *path;       /* absolute */
    const char *shown;      /* as below the workspace */
    const char *moved_from; /* or NULL; as shown */
    const char *before, *after;
    size_t before_count, after_count;
    bool existed, exists;
    bool is_moved_away;
    struct patch_entry *source; /* the file that it was moved from; or NULL */
    struct patch_stats stats;
    /* While it is written: */
    char *temporary;
    bool is_done;
    bool takes_source; /* the old file itself becomes this one; */
    bool is_taken;     /* and this is that */
};

struct patch_files {
    struct patch_entry *entries[PATCH_FILES_MAX * 2];
    size_t count;
    size_t bytes;
};

#define PATCH_TOTAL_BYTES_MAX ((size_t)64 << 20)

/* The entry of a path, read when it is named first.  What is not below the workspace, a
 * link on the way, and what is no plain file end the tool. */
struct patch_entry *patch_files_get(struct patch_files *files, const char *path);

/* Writes what has changed: new files beside the old ones first, then all renames by one
 * call of the host's, which no deadline divides.  When one fails, what was done is undone,
 * and the tool ends with why.  A file that is moved keeps its mode. */
void patch_files_write(struct patch_files *files);

#endif
