#ifndef NACRE_TOOL_H
#define NACRE_TOOL_H

#include <stddef.h>

#include "nacre/error.h"
#include "nacre/hash.h"
#include "nacre/own.h"

enum nacre_tool_kind {
    NACRE_TOOL_NONE,
    NACRE_TOOL_MODULE,  /* WebAssembly, for level wasm */
    NACRE_TOOL_COMMAND, /* a native program and its arguments, for the other levels */
    NACRE_TOOL_SHELL,   /* a text for /bin/sh -c, likewise */
};

/*
 * What is to run.  A module is read once: the bytes whose digest is told are the bytes
 * that run.  Immutable and so usable from several threads.
 */
struct nacre_tool {
    enum nacre_tool_kind kind;
    char *name; /* the file's last component; "sh" for a text */
    struct nacre_digest digest; /* of the module, or of the command's words */

    /* of a module */
    char *path;  /* as the caller gave it */
    int bytes_fd; /* a sealed memfd with the module; else -1 */
    const unsigned char *bytes; /* the same, mapped read-only */
    size_t count;

    /* of a command or a text */
    char **argv; /* NULL-terminated; for a text: /bin/sh -c TEXT */
};

#define NACRE_TOOL_BYTES_MAX ((size_t)256 << 20)

NACRE_MUST_CHECK enum nacre_status nacre_tool_load(const char *path,
                                                   struct nacre_tool **ret_tool,
                                                   struct nacre_error *err);
/* The first word is a path, or a name that is looked up in the sandbox's own PATH. */
NACRE_MUST_CHECK enum nacre_status nacre_tool_command(const char *const *argv,
                                                      struct nacre_tool **ret_tool,
                                                      struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status nacre_tool_shell(const char *text,
                                                    struct nacre_tool **ret_tool,
                                                    struct nacre_error *err);
#define NACRE_COMMAND_BYTES_MAX ((size_t)128 << 10) /* all words together */

void nacre_tool_free(struct nacre_tool *tool); /* accepts NULL */
NACRE_OWNED(nacre_tool)

#endif
