#ifndef NACRE_TOOLS_CACHE_H
#define NACRE_TOOLS_CACHE_H

#include "catalogue.h"
#include "nacre/nacre.h"

/*
 * Manifests, modules and policies that were read before, kept with an engine.  Each is
 * asked for anew by what its file is now (device, inode, size, times): a folder that was
 * replaced is read again, and a call that is under way keeps what it began with.  From
 * several threads.
 */
struct native_tool;

struct tools_entry {
    struct nacre_manifest *manifest;
    const struct native_tool *native; /* NULL: it has a module */
    struct nacre_tool *tool;          /* the module; NULL for what is native */
    /* private */
    char *folder;
    struct tools_identity manifest_file, module_file;
    unsigned holders;
    bool stale;
    struct tools_entry *next;
};

/* `name` is canonical.  NACRE_ERR_NOT_FOUND: there is no such tool.  With `module` the
 * module is there as well, and its digest is the manifest's: else NACRE_ERR_DENIED. */
NACRE_MUST_CHECK enum nacre_status tools_cache_get(struct nacre_engine *engine,
                                                   const char *name, bool module,
                                                   struct tools_entry **ret_entry,
                                                   struct nacre_error *err);
/* Accepts NULL, as its neighbour does. */
void tools_cache_put(struct nacre_engine *engine, struct tools_entry *entry);

/* Who is to run under it. */
enum tools_use {
    TOOLS_USE_COMMAND, /* the policy as it is */
    TOOLS_USE_MODULE,  /* one of another level is held to wasm, under the same lines */
    TOOLS_USE_READER,  /* the same, and one that wants an intent of what changes something
                          is held to reading instead, if that can be */
};

struct tools_policy {
    struct nacre_policy *policy;
    /* private */
    char *reference; /* NULL: the most restrictive */
    enum tools_use use;
    struct tools_identity file;
    struct nacre_digest directories; /* of the policy directories' own states */
    unsigned holders;
    bool stale;
    struct tools_policy *next;
};

/* As nacre_engine_policy(). */
NACRE_MUST_CHECK enum nacre_status tools_policy_get(struct nacre_engine *engine,
                                                    const char *reference,
                                                    enum tools_use use,
                                                    struct tools_policy **ret_policy,
                                                    struct nacre_error *err);
void tools_policy_put(struct nacre_engine *engine, struct tools_policy *policy);

#endif
