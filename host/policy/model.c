#include <assert.h>
#include <stdlib.h>

#include "model.h"
#include "nacre/decide.h"
#include "nacre/leak.h"
#include "schema.h"

#define NAMES(FUNCTION, TYPE, PREFIX, MAP)                         \
    const char *FUNCTION(enum TYPE value)                          \
    {                                                              \
        static const char *const names[] = { "unset", MAP };       \
                                                                   \
        assert(value < PREFIX##_COUNT);                            \
        return names[value];                                       \
    }
#define X(id, name) name,
NAMES(nacre_level_name, nacre_level, NACRE_LEVEL, NACRE_LEVEL_MAP(X))
NAMES(nacre_runtime_name, nacre_runtime, NACRE_RUNTIME, NACRE_RUNTIME_MAP(X))
NAMES(nacre_network_mode_name, nacre_network_mode, NACRE_NETWORK, NACRE_NETWORK_MAP(X))
NAMES(nacre_filesystem_mode_name, nacre_filesystem_mode, NACRE_FILESYSTEM,
      NACRE_FILESYSTEM_MAP(X))
NAMES(nacre_shell_mode_name, nacre_shell_mode, NACRE_SHELL, NACRE_SHELL_MAP(X))
NAMES(nacre_injection_name, nacre_injection, NACRE_INJECTION, NACRE_INJECTION_MAP(X))
NAMES(nacre_scope_name, nacre_scope, NACRE_SCOPE, NACRE_SCOPE_MAP(X))
#undef X

/* Every default is the restrictive one; a dialect only ever adds what is written. */
enum nacre_status nacre_policy_new(const char *source, struct nacre_policy **ret_policy,
                                   struct nacre_error *err)
{
    NACRE_AUTO(nacre_policy_guard)
    struct nacre_policy *policy = calloc(1, sizeof(*policy));
    enum nacre_status status;

    if (!policy)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the policy");
    status = nacre_schema_copy(source, &policy->source, err);
    if (status != NACRE_OK)
        return status;
    policy->network.mode = NACRE_NETWORK_DENY;
    policy->network.ssrf_enabled.on = true;
    policy->network.block_private_ips.on = true;
    policy->network.dns_pinning.on = true;
    policy->filesystem.mode = NACRE_FILESYSTEM_DENY;
    policy->secrets.leak_patterns.value = NACRE_LEAK_PATTERNS;
    policy->shell.mode = NACRE_SHELL_DENY;
    policy->limits.memory_mb.value = NACRE_DEFAULT_MEMORY_MB;
    policy->limits.cpu_shares.value = NACRE_DEFAULT_CPU_SHARES;
    policy->limits.max_processes.value = NACRE_DEFAULT_PROCESSES;
    policy->limits.max_open_files.value = NACRE_DEFAULT_OPEN_FILES;
    policy->limits.timeout_ms.value = NACRE_DEFAULT_TIMEOUT_MS;
    policy->limits.max_output_bytes.value = NACRE_DEFAULT_OUTPUT_BYTES;
    *ret_policy = nacre_policy_take(&policy);
    return NACRE_OK;
}

enum nacre_status nacre_policy_most_restrictive(struct nacre_policy **ret_policy,
                                                struct nacre_error *err)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    enum nacre_status status = nacre_policy_new("(no policy)", &policy, err);

    if (status == NACRE_OK)
        status = nacre_schema_copy("no-policy", &policy->name, err);
    if (status != NACRE_OK)
        return status;
    policy->level = NACRE_LEVEL_WASM;
    policy->runtime = NACRE_RUNTIME_WASMTIME;
    policy->digest = nacre_hash("", 0);
    *ret_policy = nacre_policy_take(&policy);
    return NACRE_OK;
}

void nacre_rules_clear(struct nacre_rules *rules)
{
    for (size_t i = 0; i < rules->count; i++)
        free(rules->items[i].text);
    free(rules->items);
}

void nacre_container_rules_clear(struct nacre_container_rules *container)
{
    struct nacre_rule *const texts[] = {
        &container->image,           &container->workdir,
        &container->user,            &container->seccomp_profile,
        &container->apparmor_profile, &container->selinux_label,
        &container->setup_command,   &container->cpuset,
    };

    for (size_t i = 0; i < NACRE_COUNT(texts); i++)
        free(texts[i]->text);
    nacre_rules_clear(&container->tmpfs);
    nacre_rules_clear(&container->keep_capabilities);
    nacre_rules_clear(&container->blocked_syscalls);
    nacre_rules_clear(&container->environment);
    nacre_rules_clear(&container->ulimits);
}

void nacre_policy_free(struct nacre_policy *policy)
{
    if (!policy)
        return;
    free(policy->source);
    free(policy->file);
    free(policy->name);
    free(policy->version);
    nacre_rules_clear(&policy->network.allowed_hosts);
    nacre_rules_clear(&policy->network.denied_hosts);
    nacre_rules_clear(&policy->network.resolvers);
    nacre_rules_clear(&policy->network.fixed_hosts);
    nacre_rules_clear(&policy->filesystem.denied_paths);
    nacre_rules_clear(&policy->shell.blocked_commands);
    nacre_container_rules_clear(&policy->container);
    for (size_t i = 0; i < policy->filesystem.mounts.count; i++)
        free(policy->filesystem.mounts.items[i].path);
    free(policy->filesystem.mounts.items);
    for (size_t i = 0; i < policy->shell.blocked_patterns.count; i++) {
        free(policy->shell.blocked_patterns.items[i].text);
        nacre_pattern_free(policy->shell.blocked_patterns.items[i].compiled);
    }
    free(policy->shell.blocked_patterns.items);
    free(policy->aliases);
    free(policy);
}
