#include "native.h"

#include <string.h>

#include "json_schema.h"

static const struct native_tool *const tools[] = { &native_exec, &native_process };
static const char *const reserved[] = { "exec", "process" };

const struct native_tool *native_tool_find(const char *name)
{
    for (size_t i = 0; i < NACRE_COUNT(tools); i++)
        if (strcmp(tools[i]->name, name) == 0)
            return tools[i];
    return NULL;
}

const struct native_tool *native_tool_at(size_t index)
{
    return index < NACRE_COUNT(tools) ? tools[index] : NULL;
}

bool native_tool_is_reserved(const char *name)
{
    for (size_t i = 0; i < NACRE_COUNT(reserved); i++)
        if (strcmp(reserved[i], name) == 0)
            return true;
    return native_tool_find(name) != NULL;
}

enum nacre_status native_tool_manifest(const struct native_tool *tool,
                                       struct nacre_manifest **ret_manifest,
                                       struct nacre_error *err)
{
    NACRE_AUTO(nacre_manifest_guard)
    struct nacre_manifest *manifest = calloc(1, sizeof(*manifest));
    char pointer[NACRE_SCHEMA_POINTER];
    enum nacre_status status;

    if (!manifest)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a manifest");
    manifest->name = strdup(tool->name);
    manifest->version = strdup(NACRE_VERSION);
    manifest->source = strdup("(built in)");
    manifest->description = strdup(tool->description);
    manifest->input_schema = json_loads(tool->schema, JSON_REJECT_DUPLICATES, NULL);
    if (!manifest->name || !manifest->version || !manifest->source ||
        !manifest->description || !manifest->input_schema)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a manifest");
    status = nacre_json_schema_compile(manifest->input_schema, &manifest->schema, pointer,
                                       err);
    if (status != NACRE_OK)
        return status;
    /* A command can write wherever its sandbox lets it; that is the sandbox's to say. */
    manifest->access = NACRE_TOOL_ACCESS_NONE;
    *ret_manifest = nacre_manifest_take(&manifest);
    return NACRE_OK;
}
