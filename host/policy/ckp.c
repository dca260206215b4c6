/*
 * CKP 0.3.0, kind Sandbox.  The document is untrusted; it is read into a fresh policy
 * that is handed over only when every line of it was understood.
 */
#include "ckp.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "entries.h"
#include "model.h"
#include "nacre/decide.h"
#include "nacre/leak.h"
#include "nacre/text.h"

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

bool nacre_policy_is_name(const char *name)
{
    size_t length = strlen(name);

    return length >= 1 && length <= 63 && name[0] != '-' &&
           strspn(name, LETTERS DIGITS "-") == length;
}

bool nacre_policy_is_version(const char *version)
{
    for (int part = 0; part < 3; part++) {
        size_t digits = strspn(version, DIGITS);

        if (digits == 0 || (part < 2 && version[digits] != '.'))
            return false;
        version += digits + (part < 2);
    }
    if (*version == '-')
        return version[1] != '\0' &&
               version[1 + strspn(version + 1, LETTERS DIGITS "-.")] == '\0';
    return *version == '\0';
}

/* ---- the head ---- */

static enum nacre_status set_claw(const struct nacre_reading *at,
                                  const struct nacre_node *node, void *target,
                                  struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    (void)target;
    if (strcmp(node->text, NACRE_CKP_VERSION) == 0)
        return NACRE_OK;
    return NACRE_READING_FAIL(at, node->place, err,
                              "claw: this nacre reads CKP \"%s\", found '%s'",
                              NACRE_CKP_VERSION, nacre_text_shown(shown, node->text));
}

static enum nacre_status set_kind(const struct nacre_reading *at,
                                  const struct nacre_node *node, void *target,
                                  struct nacre_error *err)
{
    static const char *const others[] = {
        "Identity", "Provider", "Channel",    "Tool",   "Skill", "Memory",
        "Claw",     "Policy",   "WorldModel", "Swarm",  "Telemetry",
    };
    static const char *const sandbox[] = { "Sandbox" };
    char shown[NACRE_SHOWN];
    const char *nearest = nacre_text_nearest(node->text, sandbox, 1);

    (void)target;
    if (strcmp(node->text, "Sandbox") == 0)
        return NACRE_OK;
    for (size_t i = 0; i < NACRE_COUNT(others); i++)
        if (strcmp(node->text, others[i]) == 0)
            return NACRE_READING_FAIL(
                at, node->place, err,
                "kind: a CKP document of kind %s says nothing about the "
                "sandbox; give the one of kind Sandbox",
                others[i]);
    return NACRE_READING_FAIL(at, node->place, err,
                              "kind: expected Sandbox, found '%s'%s",
                              nacre_text_shown(shown, node->text),
                              nearest ? "; did you mean 'Sandbox'?" : "");
}

static enum nacre_status set_name(const struct nacre_reading *at,
                                  const struct nacre_node *node, void *target,
                                  struct nacre_error *err)
{
    struct nacre_policy *policy = target;
    char shown[NACRE_SHOWN];

    if (!nacre_policy_is_name(node->text))
        return NACRE_READING_FAIL(at, node->place, err,
                                  "metadata.name: expected 1 to 63 letters, digits and "
                                  "hyphens, the first no hyphen; found '%s'",
                                  nacre_text_shown(shown, node->text));
    policy->name_place = node->place;
    return nacre_schema_copy(node->text, &policy->name, err);
}

static enum nacre_status set_version(const struct nacre_reading *at,
                                     const struct nacre_node *node, void *target,
                                     struct nacre_error *err)
{
    struct nacre_policy *policy = target;
    char shown[NACRE_SHOWN];

    if (!nacre_policy_is_version(node->text))
        return NACRE_READING_FAIL(
            at, node->place, err,
            "metadata.version: expected MAJOR.MINOR.PATCH, like 1.0.0 "
            "or 1.0.0-rc.1; found '%s'",
            nacre_text_shown(shown, node->text));
    policy->version_place = node->place;
    return nacre_schema_copy(node->text, &policy->version, err);
}

static enum nacre_status set_labels(const struct nacre_reading *at,
                                    const struct nacre_node *node, void *target,
                                    struct nacre_error *err)
{
    (void)target;
    for (const struct nacre_node *label = node->first; label; label = label->next) {
        enum nacre_status status = nacre_schema_want_text(at, label, err);

        if (status != NACRE_OK)
            return status;
    }
    return NACRE_OK;
}

/* ---- lists ---- */

static enum nacre_status fail_memory(struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the policy");
}

static enum nacre_status set_hosts(const struct nacre_reading *at,
                                   const struct nacre_node *node, void *target,
                                   struct nacre_error *err)
{
    struct nacre_policy *policy = target;

    return nacre_schema_read_rules(at, node, nacre_entry_host,
                                   &policy->network.allowed_hosts, err);
}

static enum nacre_status set_denied(const struct nacre_reading *at,
                                    const struct nacre_node *node, void *target,
                                    struct nacre_error *err)
{
    struct nacre_policy *policy = target;

    return nacre_schema_read_rules(at, node, nacre_entry_denied_path,
                                   &policy->filesystem.denied_paths, err);
}

static enum nacre_status set_commands(const struct nacre_reading *at,
                                      const struct nacre_node *node, void *target,
                                      struct nacre_error *err)
{
    struct nacre_policy *policy = target;

    return nacre_schema_read_rules(at, node, nacre_entry_command,
                                   &policy->shell.blocked_commands, err);
}

static enum nacre_status read_pattern(const struct nacre_reading *at,
                                      const struct nacre_node *node,
                                      struct nacre_pattern_rule *rule,
                                      struct nacre_error *err)
{
    enum nacre_status status = nacre_schema_want_text(at, node, err);
    size_t offset = 0;
    char shown[NACRE_SHOWN], words[sizeof(err->text)];

    if (status != NACRE_OK)
        return status;
    if (node->text[0] == '\0')
        return NACRE_READING_FAIL(
            at, node->place, err,
            "%s: an empty pattern matches every command; to refuse all "
            "of them say mode: deny",
            at->where);
    status = nacre_schema_copy(node->text, &rule->text, err);
    if (status != NACRE_OK)
        return status;
    status = nacre_pattern_compile(NACRE_PATTERN_POLICY, node->text, strlen(node->text),
                                   &rule->compiled, &offset, err);
    if (status != NACRE_ERR_PARSE)
        return status;
    memcpy(words, err->text, sizeof(words));
    return NACRE_READING_FAIL(at, node->place, err,
                              "%s: not a regular expression: %.120s at offset %zu%s%s%s",
                              at->where, words, offset, offset > 0 ? ", after '" : "",
                              nacre_text_show(shown, sizeof(shown), node->text, offset),
                              offset > 0 ? "'" : "");
}

static enum nacre_status set_patterns(const struct nacre_reading *at,
                                      const struct nacre_node *list, void *target,
                                      struct nacre_error *err)
{
    struct nacre_policy *policy = target;

    policy->shell.blocked_patterns.place = list->key_place;
    if (list->count == 0)
        return NACRE_OK;
    policy->shell.blocked_patterns.items =
        calloc(list->count, sizeof(*policy->shell.blocked_patterns.items));
    if (!policy->shell.blocked_patterns.items)
        return fail_memory(err);
    for (const struct nacre_node *node = list->first; node; node = node->next) {
        size_t index = policy->shell.blocked_patterns.count++;
        struct nacre_pattern_rule *rule = &policy->shell.blocked_patterns.items[index];
        struct nacre_reading entry = nacre_reading_entry(at, index);
        enum nacre_status status = read_pattern(&entry, node, rule, err);

        if (status != NACRE_OK)
            return status;
        rule->place = node->place;
    }
    return NACRE_OK;
}

static enum nacre_status refuse_repeat(const struct nacre_reading *at,
                                       const struct nacre_mount_rules *mounts,
                                       const struct nacre_mount_rule *mount,
                                       struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    for (size_t i = 0; i < mounts->count; i++)
        if (strcmp(mounts->items[i].path, mount->path) == 0)
            return NACRE_READING_FAIL(
                at, mount->place, err,
                "%s: '%s' is mounted twice; the first is at line %d", at->where,
                nacre_text_shown(shown, mount->path), mounts->items[i].place.line);
    return NACRE_OK;
}

static enum nacre_status set_mounts(const struct nacre_reading *at,
                                    const struct nacre_node *list, void *target,
                                    struct nacre_error *err)
{
    struct nacre_policy *policy = target;
    struct nacre_mount_rules *mounts = &policy->filesystem.mounts;

    mounts->place = list->key_place;
    if (list->count == 0)
        return NACRE_OK;
    mounts->items = calloc(list->count, sizeof(*mounts->items));
    if (!mounts->items)
        return fail_memory(err);
    for (const struct nacre_node *node = list->first; node; node = node->next) {
        struct nacre_reading entry = nacre_reading_entry(at, mounts->count);
        struct nacre_ckp_mount mount = { .permissions = 0 };
        enum nacre_status status =
            nacre_schema_read(&nacre_ckp_mount_schema, &entry, node, &mount, err);

        if (status == NACRE_OK)
            status = refuse_repeat(&entry, mounts, &mount.rule, err);
        if (status != NACRE_OK) {
            free(mount.rule.path);
            return status;
        }
        mount.rule.writable = mount.permissions == 2;
        mounts->items[mounts->count++] = mount.rule;
    }
    return NACRE_OK;
}

static enum nacre_status set_mount_path(const struct nacre_reading *at,
                                        const struct nacre_node *node, void *target,
                                        struct nacre_error *err)
{
    struct nacre_ckp_mount *mount = target;

    mount->rule.place = node->place;
    return nacre_entry_mount_path(at, node, &mount->rule.path, err);
}

/* ---- secrets ---- */

static enum nacre_status enter_secrets(const struct nacre_reading *at,
                                       const struct nacre_node *node, void *target,
                                       struct nacre_error *err)
{
    struct nacre_policy *policy = target;

    (void)at, (void)err;
    policy->secrets.place = node->key_place;
    return NACRE_OK;
}

/* Who writes the section wants the scan: only `enabled: false` switches it off. */
static enum nacre_status enter_leak_detection(const struct nacre_reading *at,
                                              const struct nacre_node *node, void *target,
                                              struct nacre_error *err)
{
    struct nacre_policy *policy = target;

    (void)at, (void)err;
    policy->secrets.leak_detection =
        (struct nacre_flag){ .on = true, .place = node->key_place };
    return NACRE_OK;
}

static enum nacre_status set_encryption(const struct nacre_reading *at,
                                        const struct nacre_node *node, void *target,
                                        struct nacre_error *err)
{
    struct nacre_policy *policy = target;
    char shown[NACRE_SHOWN];

    if (strcmp(node->text, "aes-256-gcm") != 0)
        return NACRE_READING_FAIL(at, node->place, err,
                                  "%s: the only encryption is aes-256-gcm, found '%s'",
                                  at->where, nacre_text_shown(shown, node->text));
    policy->secrets.encryption_place = node->place;
    return NACRE_OK;
}

/* ---- the tables ---- */

#define X(id, name) name,
static const char *const level_words[] = { NACRE_LEVEL_MAP(X) };
static const char *const runtime_words[] = { NACRE_RUNTIME_MAP(X) };
static const char *const network_words[] = { NACRE_NETWORK_MAP(X) };
static const char *const filesystem_words[] = { NACRE_FILESYSTEM_MAP(X) };
static const char *const shell_words[] = { NACRE_SHELL_MAP(X) };
static const char *const injection_words[] = { NACRE_INJECTION_MAP(X) };
#undef X
static const char *const permission_words[] = { "ro", "rw" };

_Static_assert(sizeof(enum nacre_level) == sizeof(unsigned),
               "a word is stored as unsigned");

#define SCHEMA(table) { .keys = table, .count = NACRE_COUNT(table) }
#define REQUIRED(words) .required = true, .example = words
#define SECTION(key, inner) .name = key, .type = NACRE_SCHEMA_SECTION, .section = &(inner)
#define WORD(key, TARGET, member, list)                                         \
    .name = key, .type = NACRE_SCHEMA_WORD, .offset = offsetof(TARGET, member), \
    .place_offset = offsetof(TARGET, member##_place), .words = list,            \
    .word_count = NACRE_COUNT(list)
#define FLAG(key, member)                   \
    .name = key, .type = NACRE_SCHEMA_FLAG, \
    .offset = offsetof(struct nacre_policy, member)
#define LIMIT(key, member, least, most)      \
    .name = key, .type = NACRE_SCHEMA_LIMIT, \
    .offset = offsetof(struct nacre_policy, member), .min = least, .max = most
#define TEXT(key, setter) .name = key, .type = NACRE_SCHEMA_TEXT, .set = setter
#define LIST(key, setter) .name = key, .type = NACRE_SCHEMA_LIST, .set = setter
#define OPEN(key, setter) .name = key, .type = NACRE_SCHEMA_OPEN, .set = setter

static const struct nacre_schema_key mount_keys[] = {
    { TEXT("path", set_mount_path), REQUIRED("path: /workspace") },
    { .name = "permissions",
      .type = NACRE_SCHEMA_WORD,
      REQUIRED("permissions: ro, or rw"),
      .offset = offsetof(struct nacre_ckp_mount, permissions),
      .place_offset = offsetof(struct nacre_ckp_mount, rule.permissions_place),
      .words = permission_words,
      .word_count = NACRE_COUNT(permission_words) },
};
const struct nacre_schema nacre_ckp_mount_schema = SCHEMA(mount_keys);

static const struct nacre_schema_key ssrf_keys[] = {
    { FLAG("enabled", network.ssrf_enabled) },
    { FLAG("block_private_ips", network.block_private_ips) },
    { FLAG("dns_pinning", network.dns_pinning) },
};
static const struct nacre_schema ssrf_schema = SCHEMA(ssrf_keys);

static const struct nacre_schema_key network_keys[] = {
    { WORD("mode", struct nacre_policy, network.mode, network_words) },
    { LIST("allowed_hosts", set_hosts) },
    { SECTION("ssrf_protection", ssrf_schema) },
};
static const struct nacre_schema network_schema = SCHEMA(network_keys);

static const struct nacre_schema_key filesystem_keys[] = {
    { WORD("mode", struct nacre_policy, filesystem.mode, filesystem_words) },
    { LIST("mount_paths", set_mounts) },
    { LIST("denied_paths", set_denied) },
};
static const struct nacre_schema filesystem_schema = SCHEMA(filesystem_keys);

static const struct nacre_schema_key leak_keys[] = {
    { FLAG("enabled", secrets.leak_detection) },
    { LIMIT("patterns", secrets.leak_patterns, 0, NACRE_LEAK_PATTERNS) },
};
static const struct nacre_schema leak_schema = SCHEMA(leak_keys);

static const struct nacre_schema_key secrets_keys[] = {
    { WORD("injection", struct nacre_policy, secrets.injection, injection_words) },
    { TEXT("encryption", set_encryption) },
    { SECTION("leak_detection", leak_schema), .set = enter_leak_detection },
};
static const struct nacre_schema secrets_schema = SCHEMA(secrets_keys);

static const struct nacre_schema_key shell_keys[] = {
    { WORD("mode", struct nacre_policy, shell.mode, shell_words) },
    { LIST("blocked_commands", set_commands) },
    { LIST("blocked_patterns", set_patterns) },
};
static const struct nacre_schema shell_schema = SCHEMA(shell_keys);

static const struct nacre_schema_key capability_keys[] = {
    { SECTION("network", network_schema) },
    { SECTION("filesystem", filesystem_schema) },
    { SECTION("secrets", secrets_schema), .set = enter_secrets },
    { SECTION("shell", shell_schema) },
};
static const struct nacre_schema capability_schema = SCHEMA(capability_keys);

static const struct nacre_schema_key limit_keys[] = {
    { LIMIT("memory_mb", limits.memory_mb, 1, 1048576) },
    { LIMIT("cpu_shares", limits.cpu_shares, 2, 262144) },
    { LIMIT("max_processes", limits.max_processes, 1, 4194304) },
    { LIMIT("max_open_files", limits.max_open_files, 1, 1048576) },
    { LIMIT("timeout_ms", limits.timeout_ms, 1, 604800000) },
    { LIMIT("max_output_bytes", limits.max_output_bytes, 1, 1073741824) },
};
static const struct nacre_schema limit_schema = SCHEMA(limit_keys);

static const struct nacre_schema_key spec_keys[] = {
    { WORD("level", struct nacre_policy, level, level_words),
      REQUIRED("level: wasm, or another of none, process, container, vm") },
    { WORD("runtime", struct nacre_policy, runtime, runtime_words) },
    { SECTION("capabilities", capability_schema) },
    { SECTION("resource_limits", limit_schema) },
};
static const struct nacre_schema spec_schema = SCHEMA(spec_keys);

static const struct nacre_schema_key metadata_keys[] = {
    { TEXT("name", set_name), REQUIRED("name: NAME") },
    { TEXT("version", set_version) },
    { OPEN("labels", set_labels) },
    { OPEN("annotations", nacre_ckp_annotations) },
};
static const struct nacre_schema metadata_schema = SCHEMA(metadata_keys);

static const struct nacre_schema_key document_keys[] = {
    { TEXT("claw", set_claw), REQUIRED("claw: \"" NACRE_CKP_VERSION "\"") },
    { TEXT("kind", set_kind), REQUIRED("kind: Sandbox") },
    { SECTION("metadata", metadata_schema), REQUIRED("metadata: {name: NAME}") },
    { SECTION("spec", spec_schema), REQUIRED("spec: {level: wasm}") },
};
const struct nacre_schema nacre_ckp_schema = SCHEMA(document_keys);

/* ---- the whole ---- */

/* Which runtimes can serve a level; the first is what holds when none is said. */
static const enum nacre_runtime runtimes[NACRE_LEVEL_COUNT][3] = {
    [NACRE_LEVEL_NONE] = { NACRE_RUNTIME_NATIVE },
    [NACRE_LEVEL_PROCESS] = { NACRE_RUNTIME_NATIVE },
    [NACRE_LEVEL_WASM] = { NACRE_RUNTIME_WASMTIME },
    [NACRE_LEVEL_CONTAINER] = { NACRE_RUNTIME_DOCKER, NACRE_RUNTIME_GVISOR,
                                NACRE_RUNTIME_APPLE_CONTAINER },
    [NACRE_LEVEL_VM] = { NACRE_RUNTIME_FIRECRACKER },
};

enum nacre_runtime nacre_ckp_runtime(enum nacre_level level)
{
    return runtimes[level][0];
}

static enum nacre_status settle_runtime(struct nacre_policy *policy,
                                        struct nacre_error *err)
{
    const enum nacre_runtime *served = runtimes[policy->level];

    assert(policy->level != NACRE_LEVEL_UNSET);
    if (policy->runtime == NACRE_RUNTIME_UNSET)
        policy->runtime = nacre_ckp_runtime(policy->level);
    for (size_t i = 0; i < NACRE_COUNT(runtimes[0]); i++)
        if (policy->runtime == served[i])
            return NACRE_OK;
    return nacre_fail_at(
        err, NACRE_ERR_PARSE, policy->source, policy->runtime_place.line,
        policy->runtime_place.column,
        "spec.runtime: %s can't serve level %s; say %s or leave the runtime out",
        nacre_runtime_name(policy->runtime), nacre_level_name(policy->level),
        nacre_runtime_name(served[0]));
}

enum nacre_status nacre_policy_parse(const char *source, const char *bytes, size_t count,
                                     struct nacre_policy **ret_policy,
                                     struct nacre_error *err)
{
    NACRE_AUTO(nacre_node_guard) struct nacre_node *root = NULL;
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    struct nacre_reading at = { .source = source };
    enum nacre_status status = nacre_yaml_read(source, bytes, count, &root, err);

    if (status == NACRE_OK)
        status = nacre_policy_new(source, &policy, err);
    if (status == NACRE_OK)
        status = nacre_schema_read(&nacre_ckp_schema, &at, root, policy, err);
    if (status == NACRE_OK)
        status = settle_runtime(policy, err);
    if (status != NACRE_OK)
        return status;
    policy->digest = nacre_hash(bytes, count);
    *ret_policy = nacre_policy_take(&policy);
    return NACRE_OK;
}
