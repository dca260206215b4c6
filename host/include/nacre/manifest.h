#ifndef NACRE_MANIFEST_H
#define NACRE_MANIFEST_H

#include <stdbool.h>
#include <stdint.h>

#include "nacre/error.h"
#include "nacre/hash.h"
#include "nacre/own.h"
#include "nacre/policy.h"

/*
 * A tool as an agent knows it: a folder with tool.yaml (CKP, kind Tool), a module for
 * level wasm, its source and its tests.  The manifest says what the tool takes, what it
 * needs and how much it may use; the folder of a build is what is published.
 *
 *     claw: "0.3.0"
 *     kind: Tool
 *     metadata: {name: read, version: 1.0.0, annotations: {...}}
 *     spec:
 *       description: Read a text file
 *       input_schema: {type: object, properties: {...}, required: [path]}
 *       sandbox_ref: claw://local/sandbox/workspace     # without a session's own
 *       timeout_ms: 10000
 *
 * output_schema is what structuredContent has to be; spec.annotations (MCP's hints) are
 * a tool's own word, and only its title is kept.  policy_ref, mcp_source, retry,
 * composite and skill_ref are refused: they are not followed.
 *
 * Annotations of ours, all texts: nacre/fuel (a whole number), nacre/module (a file in
 * the folder; default NAME.wasm), nacre/digest (SHA-256 of the module in hex: another
 * module is refused), nacre/access ("read" or "write": what it does to a workspace),
 * nacre/approval ("required": no call without a person's word), nacre/language (for
 * `nacre build`).
 */

enum nacre_tool_access {
    NACRE_TOOL_ACCESS_NONE, /* touches no file */
    NACRE_TOOL_ACCESS_READ,
    NACRE_TOOL_ACCESS_WRITE,
};

struct nacre_json_schema; /* compiled; host/tools knows how to use it */
struct json_t;

struct nacre_manifest {
    char *directory;  /* absolute; NULL for what is built in (exec, process) */
    char *source;     /* tool.yaml's path, as an error would name it */
    char *name, *version, *title, *description;
    char *sandbox_ref; /* or NULL */
    char *module;      /* path of the module; NULL for what is built in */
    char *language;    /* or NULL */
    struct json_t *input_schema; /* as it stands in the document */
    struct nacre_json_schema *schema;
    struct json_t *output_schema; /* of structuredContent; or NULL, as the next */
    struct nacre_json_schema *output;
    struct nacre_limit timeout_ms, fuel; /* line 0: not said */
    struct nacre_digest digest;
    bool has_digest;
    bool needs_approval;
    enum nacre_tool_access access;
    struct nacre_place name_place, sandbox_place, digest_place, access_place,
        approval_place, schema_place;
};

/* `directory` holds tool.yaml.  The module is not read yet. */
NACRE_MUST_CHECK enum nacre_status nacre_manifest_load(const char *directory,
                                                       struct nacre_manifest **ret_manifest,
                                                       struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status nacre_manifest_parse(const char *source,
                                                        const char *bytes, size_t count,
                                                        struct nacre_manifest **ret_manifest,
                                                        struct nacre_error *err);
void nacre_manifest_free(struct nacre_manifest *manifest); /* accepts NULL */
NACRE_OWNED(nacre_manifest)

/*
 * Arguments against the manifest's schema.  NACRE_ERR_USAGE: `err` names the argument
 * (a JSON pointer), what was expected and what was found, in words a model can act on.
 */
NACRE_MUST_CHECK enum nacre_status nacre_manifest_judge(const struct nacre_manifest *manifest,
                                                        const struct json_t *arguments,
                                                        struct nacre_error *err);

/*
 * Where tools lie: each of the directories (NULL-terminated) holds a folder for each
 * tool; the first that has the name wins.  exec and process are built in and can't be
 * replaced.  `name` is canonical (nacre_tool_canonical).
 */
NACRE_MUST_CHECK enum nacre_status nacre_tools_find(const char *const tool_dirs[],
                                                    const char *name,
                                                    struct nacre_manifest **ret_manifest,
                                                    struct nacre_error *err);
/* Each once, by name; a folder whose manifest does not load comes with NULL and why. */
NACRE_MUST_CHECK enum nacre_status
nacre_tools_each(const char *const tool_dirs[],
                 void (*each)(void *data, const char *name,
                              const struct nacre_manifest *manifest,
                              const struct nacre_error *why),
                 void *data, struct nacre_error *err);

#endif
