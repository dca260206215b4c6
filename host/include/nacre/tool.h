#ifndef NACRE_TOOL_H
#define NACRE_TOOL_H

#include <stddef.h>

#include "nacre/error.h"
#include "nacre/hash.h"
#include "nacre/own.h"

/*
 * A module, read once: the bytes whose digest is told are the bytes that run.
 * Immutable and so usable from several threads.
 */
struct nacre_tool {
    char *name;  /* the file's last component */
    char *path;  /* as the caller gave it */
    int bytes_fd; /* a sealed memfd with the module */
    const unsigned char *bytes; /* the same, mapped read-only */
    size_t count;
    struct nacre_digest digest;
};

#define NACRE_TOOL_BYTES_MAX ((size_t)256 << 20)

NACRE_MUST_CHECK enum nacre_status nacre_tool_load(const char *path,
                                                   struct nacre_tool **ret_tool,
                                                   struct nacre_error *err);
void nacre_tool_free(struct nacre_tool *tool); /* accepts NULL */
NACRE_OWNED(nacre_tool)

#endif
