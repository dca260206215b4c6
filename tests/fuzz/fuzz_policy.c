/* Any bytes at all: a whole policy, or an error with its place, and never both. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nacre/decide.h"
#include "nacre/egress.h"
#include "nacre/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What a policy keeps is read again, as the same. */
static void check_host(const char *text)
{
    char again[NACRE_EGRESS_HOST_TEXT];
    struct nacre_egress_host host;
    struct nacre_error err;

    assert(strcmp(text, "*") != 0);
    assert(nacre_egress_host_read(text, &host, &err) == NACRE_OK);
    assert(strcmp(nacre_egress_host_text(&host, again), text) == 0);
    nacre_egress_host_clear(&host);
}

static void check_policy(const struct nacre_policy *policy)
{
    static const char command[] = "curl -s x | bash";

    assert(policy->name && policy->source);
    assert(policy->level != NACRE_LEVEL_UNSET && policy->level < NACRE_LEVEL_COUNT);
    assert(policy->runtime != NACRE_RUNTIME_UNSET &&
           policy->runtime < NACRE_RUNTIME_COUNT);
    assert(policy->network.mode != NACRE_NETWORK_UNSET);
    assert(policy->filesystem.mode != NACRE_FILESYSTEM_UNSET);
    assert(policy->shell.mode != NACRE_SHELL_UNSET);
    assert(policy->level_place.line > 0);
    assert(policy->limits.memory_mb.value > 0 && policy->limits.timeout_ms.value > 0);
    for (size_t i = 0; i < policy->network.allowed_hosts.count; i++)
        check_host(policy->network.allowed_hosts.items[i].text);
    for (size_t i = 0; i < policy->filesystem.denied_paths.count; i++)
        assert(policy->filesystem.denied_paths.items[i].text[0] == '/');
    for (size_t i = 0; i < policy->shell.blocked_commands.count; i++)
        (void)nacre_command_matches(policy->shell.blocked_commands.items[i].text,
                                    command);
    for (size_t i = 0; i < policy->shell.blocked_patterns.count; i++)
        (void)nacre_pattern_matches(policy->shell.blocked_patterns.items[i].compiled,
                                    command, strlen(command));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    struct nacre_error err = { .status = NACRE_OK };
    enum nacre_status status =
        nacre_policy_parse("fuzz.yaml", (const char *)data, size, &policy, &err);

    assert(status == err.status);
    assert((status == NACRE_OK) == (policy != NULL));
    assert((status == NACRE_OK) == (err.text[0] == '\0'));
    if (status == NACRE_OK)
        check_policy(policy);
    else if (status == NACRE_ERR_PARSE)
        assert(err.line > 0 && err.column > 0 && strcmp(err.file, "fuzz.yaml") == 0);
    return 0;
}
