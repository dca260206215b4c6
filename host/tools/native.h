#ifndef NACRE_TOOLS_NATIVE_H
#define NACRE_TOOLS_NATIVE_H

#include <jansson.h>

#include "door.h"

/* Tools that are part of nacre: they run commands, at the level that the configuration
 * gives.  A folder of the same name never takes their place. */
struct native_tool {
    const char *name, *description;
    const char *schema; /* of its arguments, as JSON */
    /* Arguments are judged and the level is chosen.  *ret_answer as nacre_call()'s. */
    enum nacre_status (*call)(struct tools_call *call, json_t **ret_answer,
                              struct nacre_error *err);
};

const struct native_tool *native_tool_find(const char *name); /* NULL: none */
const struct native_tool *native_tool_at(size_t index);       /* NULL: no more */

/* Is the name kept for one, even if this build has it not? */
bool native_tool_is_reserved(const char *name);

NACRE_MUST_CHECK enum nacre_status
native_tool_manifest(const struct native_tool *tool, struct nacre_manifest **ret_manifest,
                     struct nacre_error *err);

extern const struct native_tool native_exec, native_process;

#endif
