#include "cache.h"

#include <pthread.h>
#include <string.h>

#include "nacre/clock.h"
#include "nacre/text.h"
#include "native.h"

#define ENTRIES_MAX 256
#define POLICIES_MAX 64

struct cache {
    pthread_mutex_t lock;
    struct tools_entry *entries;
    struct tools_policy *policies;
};

/* ---- the cache ---- */

static void entry_free(struct tools_entry *entry)
{
    if (!entry)
        return;
    nacre_manifest_free(entry->manifest);
    nacre_tool_free(entry->tool);
    free(entry->folder);
    free(entry);
}

static void policy_free(struct tools_policy *policy)
{
    if (!policy)
        return;
    nacre_policy_free(policy->policy);
    free(policy->reference);
    free(policy);
}

static void entry_guard(struct tools_entry **entry)
{
    entry_free(*entry);
}

static void policy_guard(struct tools_policy **policy)
{
    policy_free(*policy);
}

static void *cache_new(void)
{
    struct cache *cache = calloc(1, sizeof(*cache));

    if (cache)
        (void)pthread_mutex_init(&cache->lock, NULL);
    return cache;
}

static void cache_free(void *thing)
{
    struct cache *cache = thing;

    while (cache->entries) {
        struct tools_entry *next = cache->entries->next;

        entry_free(cache->entries);
        cache->entries = next;
    }
    while (cache->policies) {
        struct tools_policy *next = cache->policies->next;

        policy_free(cache->policies);
        cache->policies = next;
    }
    (void)pthread_mutex_destroy(&cache->lock);
    free(cache);
}

static enum nacre_status open_cache(struct nacre_engine *engine, struct cache **ret_cache,
                                    struct nacre_error *err)
{
    *ret_cache = nacre_engine_attached(engine, cache_new, cache_free);
    return *ret_cache ? NACRE_OK : nacre_fail(err, NACRE_ERR_MEMORY, "no memory");
}

/* What is stale and held by nobody goes, and so does all that nobody holds when there is
 * too much. */
static void sweep_entries(struct cache *cache)
{
    struct tools_entry **at = &cache->entries;
    size_t count = 0;

    while (*at) {
        struct tools_entry *entry = *at;

        if (entry->holders == 0 && (entry->stale || ++count > ENTRIES_MAX)) {
            *at = entry->next;
            entry_free(entry);
        } else {
            at = &entry->next;
        }
    }
}

static void sweep_policies(struct cache *cache)
{
    struct tools_policy **at = &cache->policies;
    size_t count = 0;

    while (*at) {
        struct tools_policy *policy = *at;

        if (policy->holders == 0 && (policy->stale || ++count > POLICIES_MAX)) {
            *at = policy->next;
            policy_free(policy);
        } else {
            at = &policy->next;
        }
    }
}

/* ---- tools ---- */

static bool is_current(const struct tools_entry *entry, const char *folder,
                       const struct tools_identity *manifest_file)
{
    struct tools_identity module_file;
    struct stat info;

    if (strcmp(entry->folder, folder) != 0 ||
        !tools_is_same(&entry->manifest_file, manifest_file))
        return false;
    if (!entry->tool)
        return true;
    if (stat(entry->manifest->module, &info) != 0)
        return false;
    tools_identify(&info, &module_file);
    return tools_is_same(&entry->module_file, &module_file);
}

/* Identified before it is read: what changes meanwhile is read again at the next call. */
static enum nacre_status load_module(struct tools_entry *entry, struct nacre_error *err)
{
    const struct nacre_manifest *manifest = entry->manifest;
    char said[NACRE_HEX], found[NACRE_HEX];
    struct nacre_tool *tool = NULL;
    struct stat info;
    enum nacre_status status;

    if (stat(manifest->module, &info) == 0)
        tools_identify(&info, &entry->module_file);
    status = nacre_tool_load(manifest->module, &tool, err);
    if (status != NACRE_OK)
        return status;
    if (manifest->has_digest && !nacre_digest_equal(&manifest->digest, &tool->digest)) {
        status = nacre_fail_at(
            err, NACRE_ERR_DENIED, manifest->source, manifest->digest_place.line,
            manifest->digest_place.column,
            "the module is not the one that the manifest names: nacre/digest is %s, the "
            "module's is %s",
            nacre_digest_hex(&manifest->digest, said),
            nacre_digest_hex(&tool->digest, found));
        nacre_tool_free(tool);
        return status;
    }
    entry->tool = tool;
    return NACRE_OK;
}

static enum nacre_status new_entry(const char *folder, const char *name,
                                   const struct tools_identity *manifest_file,
                                   const struct native_tool *native,
                                   struct tools_entry **ret_entry,
                                   struct nacre_error *err)
{
    NACRE_AUTO(entry_guard) struct tools_entry *entry = calloc(1, sizeof(*entry));
    enum nacre_status status;

    if (!entry || !(entry->folder = strdup(folder)))
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a tool");
    entry->native = native;
    entry->manifest_file = *manifest_file;
    status = native ? native_tool_manifest(native, &entry->manifest, err)
                    : tools_load(folder, name, &entry->manifest, err);
    if (status != NACRE_OK)
        return status;
    *ret_entry = entry;
    entry = NULL;
    return NACRE_OK;
}

static enum nacre_status find_locked(struct cache *cache, const char *name,
                                     const char *folder,
                                     const struct tools_identity *manifest_file,
                                     const struct native_tool *native, bool module,
                                     struct tools_entry **ret_entry,
                                     struct nacre_error *err)
{
    struct tools_entry *entry = NULL;
    enum nacre_status status = NACRE_OK;

    for (struct tools_entry *other = cache->entries; other; other = other->next) {
        if (other->stale || strcmp(other->folder, folder) != 0)
            continue;
        other->stale = !is_current(other, folder, manifest_file);
        entry = other->stale ? entry : other;
    }
    sweep_entries(cache);
    if (!entry) {
        status = new_entry(folder, name, manifest_file, native, &entry, err);
        if (status != NACRE_OK)
            return status;
        entry->next = cache->entries;
        cache->entries = entry;
    }
    if (module && !native && !entry->tool)
        status = load_module(entry, err);
    if (status != NACRE_OK)
        return status;
    entry->holders++;
    *ret_entry = entry;
    return NACRE_OK;
}

enum nacre_status tools_cache_get(struct nacre_engine *engine, const char *name,
                                  bool module, struct tools_entry **ret_entry,
                                  struct nacre_error *err)
{
    const struct native_tool *native = native_tool_find(name);
    struct tools_identity manifest_file = { .is_settled = true };
    char folder[NACRE_PATH_MAX] = "";
    struct cache *cache;
    enum nacre_status status = open_cache(engine, &cache, err);

    /* A native one has no folder: its name, which has no '/', stands for it. */
    if (status == NACRE_OK && native)
        (void)snprintf(folder, sizeof(folder), "%s", native->name);
    else if (status == NACRE_OK)
        status = tools_locate(nacre_engine_tool_dirs(engine), name, folder,
                              &manifest_file, err);
    if (status != NACRE_OK)
        return status;
    (void)pthread_mutex_lock(&cache->lock);
    status = find_locked(cache, name, folder, &manifest_file, native, module, ret_entry,
                         err);
    (void)pthread_mutex_unlock(&cache->lock);
    return status;
}

void tools_cache_put(struct nacre_engine *engine, struct tools_entry *entry)
{
    struct cache *cache;

    if (!entry)
        return;
    cache = nacre_engine_attached(engine, cache_new, cache_free);
    (void)pthread_mutex_lock(&cache->lock);
    entry->holders--;
    (void)pthread_mutex_unlock(&cache->lock);
}

/* ---- policies ---- */

/* A name may come to mean another file without a change of the one that it meant.  What
 * has just changed is like nothing that is kept. */
static struct nacre_digest directories_state(const struct nacre_engine *engine)
{
    const char *const *dirs = nacre_engine_policy_dirs(engine);
    struct nacre_hasher hasher;

    nacre_hash_init(&hasher);
    for (size_t i = 0; dirs[i]; i++) {
        struct tools_identity now = { .is_settled = true };
        struct stat info;

        if (stat(dirs[i], &info) == 0)
            tools_identify(&info, &now);
        nacre_hash_add_u64(&hasher, now.inode);
        nacre_hash_add_u64(&hasher, (uint64_t)now.written.tv_sec);
        nacre_hash_add_u64(&hasher, (uint64_t)now.written.tv_nsec);
        nacre_hash_add_u64(&hasher, now.is_settled ? 0 : nacre_clock_ns());
    }
    return nacre_hash_end(&hasher);
}

static bool identify_policy(const struct nacre_policy *policy,
                            struct tools_identity *ret_identity)
{
    struct stat info = { 0 };

    if (policy->file && stat(policy->file, &info) != 0)
        return false;
    tools_identify(&info, ret_identity);
    return true;
}

static bool is_asked_for(const struct tools_policy *policy, const char *reference,
                         enum tools_use use)
{
    return policy->use == use &&
           (reference && policy->reference ? strcmp(reference, policy->reference) == 0
                                           : !reference && !policy->reference);
}

/* A module has no shell, so that what its commands may do needs no wall. */
static void hold_to_wasm(struct nacre_policy *policy)
{
    if (policy->level == NACRE_LEVEL_WASM)
        return;
    policy->level = NACRE_LEVEL_WASM;
    policy->runtime = NACRE_RUNTIME_WASMTIME;
    policy->shell.mode = NACRE_SHELL_DENY;
}

/* That a tool only reads is its author's word: it is not believed but made true.  Mode
 * full has no read-only form, and asks for the intent. */
static void hold_to_reading(struct nacre_policy *policy)
{
    if (policy->input.intent != NACRE_INTENT_NEED_CHANGES ||
        policy->filesystem.mode == NACRE_FILESYSTEM_FULL)
        return;
    policy->input.held_to_reading = true;
    policy->network.mode = NACRE_NETWORK_DENY;
    /* Read-only without a list would bring a workspace that scoped does not. */
    if (policy->filesystem.mounts.count > 0 &&
        policy->filesystem.mode == NACRE_FILESYSTEM_SCOPED)
        policy->filesystem.mode = NACRE_FILESYSTEM_READ_ONLY;
}

static enum nacre_status new_policy(struct nacre_engine *engine, const char *reference,
                                    enum tools_use use,
                                    const struct nacre_digest *directories,
                                    struct tools_policy **ret_policy,
                                    struct nacre_error *err)
{
    NACRE_AUTO(policy_guard) struct tools_policy *made = calloc(1, sizeof(*made));
    enum nacre_status status;

    if (!made || (reference && !(made->reference = strdup(reference))))
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a policy");
    made->use = use;
    made->directories = *directories;
    status = nacre_engine_policy(engine, reference, &made->policy, err);
    if (status != NACRE_OK)
        return status;
    if (!identify_policy(made->policy, &made->file))
        return nacre_fail(err, NACRE_ERR_IO, "the policy's file is gone");
    if (use != TOOLS_USE_COMMAND)
        hold_to_wasm(made->policy);
    if (use == TOOLS_USE_READER)
        hold_to_reading(made->policy);
    *ret_policy = made;
    made = NULL;
    return NACRE_OK;
}

static enum nacre_status policy_locked(struct nacre_engine *engine, struct cache *cache,
                                       const char *reference, enum tools_use use,
                                       struct tools_policy **ret_policy,
                                       struct nacre_error *err)
{
    struct nacre_digest directories = directories_state(engine);
    struct tools_policy *policy = NULL;
    struct tools_identity file;
    enum nacre_status status = NACRE_OK;

    for (struct tools_policy *other = cache->policies; other; other = other->next) {
        if (other->stale || !is_asked_for(other, reference, use))
            continue;
        other->stale = !nacre_digest_equal(&other->directories, &directories) ||
                       !identify_policy(other->policy, &file) ||
                       !tools_is_same(&other->file, &file);
        policy = other->stale ? policy : other;
    }
    sweep_policies(cache);
    if (!policy) {
        status = new_policy(engine, reference, use, &directories, &policy, err);
        if (status != NACRE_OK)
            return status;
        policy->next = cache->policies;
        cache->policies = policy;
    }
    policy->holders++;
    *ret_policy = policy;
    return NACRE_OK;
}

enum nacre_status tools_policy_get(struct nacre_engine *engine, const char *reference,
                                   enum tools_use use, struct tools_policy **ret_policy,
                                   struct nacre_error *err)
{
    struct cache *cache;
    enum nacre_status status = open_cache(engine, &cache, err);

    if (status != NACRE_OK)
        return status;
    (void)pthread_mutex_lock(&cache->lock);
    status = policy_locked(engine, cache, reference, use, ret_policy, err);
    (void)pthread_mutex_unlock(&cache->lock);
    return status;
}

void tools_policy_put(struct nacre_engine *engine, struct tools_policy *policy)
{
    struct cache *cache;

    if (!policy)
        return;
    cache = nacre_engine_attached(engine, cache_new, cache_free);
    (void)pthread_mutex_lock(&cache->lock);
    policy->holders--;
    (void)pthread_mutex_unlock(&cache->lock);
}
