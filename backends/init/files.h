#ifndef NACRE_INIT_FILES_H
#define NACRE_INIT_FILES_H

#include "config.h"

/*
 * The files of commands (START_FILES_DIR, on a tmpfs): written for one, gone with the
 * last that had some.  Two commands at once that have a file of the same name see the
 * later one: they are of one sandbox, and can read each other's anyway.
 */
struct files {
    size_t users; /* commands with files that live */
    size_t count;
    char names[START_FILES_MAX][START_FILE_NAME_MAX];
};

/* Writes those of a command and wipes them from its message.  NULL, or what failed, with
 * errno: then none of them is there.  Else files_leave() when the command has ended. */
const char *files_enter(struct files *files, const struct init_start *start);
void files_leave(struct files *files);

/* The certificates that commands are to trust, instead of those that were there.  NULL,
 * or what failed, with errno. */
const char *files_certify(const char *certificates);

#endif
