/* Any bytes at all: a whole policy, or an error with its place, and never both. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nacre/convert.h"
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

static void check_equal(const struct nacre_rules *rules, const struct nacre_rules *again)
{
    assert(rules->count == again->count);
    for (size_t i = 0; i < rules->count; i++)
        assert(strcmp(rules->items[i].text, again->items[i].text) == 0);
}

/* Written as CKP it is the same policy; only its size can be in the way. */
static void check_written(const struct nacre_policy *policy)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *again = NULL;
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF(NACRE_CKP_BYTES_MAX);
    NACRE_AUTO(nacre_losses_clear) struct nacre_losses losses = { 0 };
    struct nacre_error err;
    enum nacre_status status = nacre_ckp_write(policy, NULL, &text, &losses, &err);

    if (status == NACRE_ERR_TOO_BIG || text.size > ((size_t)60 << 10))
        return;
    assert(status == NACRE_OK && losses.count == 0);
    assert(nacre_policy_parse("again", text.bytes, text.size, &again, &err) == NACRE_OK);
    assert(strcmp(policy->name, again->name) == 0);
    assert(policy->level == again->level && policy->runtime == again->runtime);
    assert(policy->network.mode == again->network.mode);
    assert(policy->filesystem.mounts.count == again->filesystem.mounts.count);
    check_equal(&policy->network.allowed_hosts, &again->network.allowed_hosts);
    check_equal(&policy->network.denied_hosts, &again->network.denied_hosts);
    check_equal(&policy->filesystem.denied_paths, &again->filesystem.denied_paths);
    check_equal(&policy->shell.blocked_commands, &again->shell.blocked_commands);
    assert(policy->shell.blocked_patterns.count == again->shell.blocked_patterns.count);
    for (size_t i = 0; i < policy->shell.blocked_patterns.count; i++)
        assert(strcmp(policy->shell.blocked_patterns.items[i].text,
                      again->shell.blocked_patterns.items[i].text) == 0);
    assert(policy->limits.timeout_ms.value == again->limits.timeout_ms.value);
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
    if (status == NACRE_OK) {
        check_policy(policy);
        check_written(policy);
    } else if (status == NACRE_ERR_PARSE) {
        assert(err.line > 0 && err.column > 0 && strcmp(err.file, "fuzz.yaml") == 0);
    }
    return 0;
}
