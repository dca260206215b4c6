/* The model as text: a line for each value, with its place or whether it was said. */
#include "policy_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "nacre/input.h"

struct text {
    struct nacre_buf *buf;
    bool places;
};

__attribute__((format(printf, 2, 3))) static void say(struct text *out,
                                                      const char *format, ...)
{
    struct nacre_error err;
    char line[1024];
    va_list args;

    va_start(args, format);
    assert_true(vsnprintf(line, sizeof(line), format, args) < (int)sizeof(line));
    va_end(args);
    assert_int_equal(nacre_buf_add(out->buf, line, strlen(line), &err), NACRE_OK);
}

static void say_line(struct text *out, const char *key, const char *value,
                     struct nacre_place place)
{
    if (place.line > 0 && out->places)
        say(out, "%s %s %d:%d\n", key, value, place.line, place.column);
    else if (place.line > 0)
        say(out, "%s %s said\n", key, value);
    else
        say(out, "%s %s default\n", key, value);
}

static void say_flag(struct text *out, const char *key, struct nacre_flag flag)
{
    say_line(out, key, flag.on ? "true" : "false", flag.place);
}

static void say_limit(struct text *out, const char *key, struct nacre_limit limit)
{
    char value[24];

    (void)snprintf(value, sizeof(value), "%ju", (uintmax_t)limit.value);
    say_line(out, key, value, limit.place);
}

static void say_rules(struct text *out, const char *key,
                      const struct nacre_rules *rules)
{
    if (rules->place.line == 0 && rules->count == 0)
        return;
    say_line(out, key, "", rules->place);
    for (size_t i = 0; i < rules->count; i++)
        say_line(out, " -", rules->items[i].text, rules->items[i].place);
}

static void say_capabilities(struct text *out, const struct nacre_policy *policy)
{
    say_line(out, "network.mode", nacre_network_mode_name(policy->network.mode),
             policy->network.mode_place);
    say_rules(out, "allowed_hosts", &policy->network.allowed_hosts);
    say_rules(out, "denied_hosts", &policy->network.denied_hosts);
    say_flag(out, "ssrf.enabled", policy->network.ssrf_enabled);
    say_flag(out, "ssrf.block_private_ips", policy->network.block_private_ips);
    say_flag(out, "ssrf.dns_pinning", policy->network.dns_pinning);
    say_line(out, "filesystem.mode", nacre_filesystem_mode_name(policy->filesystem.mode),
             policy->filesystem.mode_place);
    if (policy->filesystem.mounts.place.line > 0)
        say_line(out, "mount_paths", "", policy->filesystem.mounts.place);
    for (size_t i = 0; i < policy->filesystem.mounts.count; i++) {
        const struct nacre_mount_rule *mount = &policy->filesystem.mounts.items[i];

        say_line(out, " -", mount->path, mount->place);
        say_line(out, "  ", mount->writable ? "rw" : "ro", mount->permissions_place);
    }
    say_rules(out, "denied_paths", &policy->filesystem.denied_paths);
    if (policy->secrets.place.line > 0) {
        say_line(out, "secrets", "", policy->secrets.place);
        say_line(out, "injection", nacre_injection_name(policy->secrets.injection),
                 policy->secrets.injection_place);
        say_line(out, "encryption", "", policy->secrets.encryption_place);
        say_flag(out, "leak_detection", policy->secrets.leak_detection);
        say_limit(out, "leak_patterns", policy->secrets.leak_patterns);
    }
    say_line(out, "shell.mode", nacre_shell_mode_name(policy->shell.mode),
             policy->shell.mode_place);
    say_rules(out, "blocked_commands", &policy->shell.blocked_commands);
    if (policy->shell.blocked_patterns.place.line > 0)
        say_line(out, "blocked_patterns", "", policy->shell.blocked_patterns.place);
    for (size_t i = 0; i < policy->shell.blocked_patterns.count; i++) {
        assert_non_null(policy->shell.blocked_patterns.items[i].compiled);
        say_line(out, " -", policy->shell.blocked_patterns.items[i].text,
                 policy->shell.blocked_patterns.items[i].place);
    }
}

/* Where nothing of it is said there is nothing to spell out. */
static void say_input(struct text *out, const struct nacre_policy *policy)
{
    if (policy->input.mode_place.line > 0)
        say_line(out, "input.mode", nacre_input_mode_name(policy->input.mode),
                 policy->input.mode_place);
    if (policy->input.suspect_place.line > 0)
        say_line(out, "input.suspect", nacre_input_action_name(policy->input.suspect),
                 policy->input.suspect_place);
    if (policy->input.attack_place.line > 0)
        say_line(out, "input.attack", nacre_input_action_name(policy->input.attack),
                 policy->input.attack_place);
    if (policy->input.intent_place.line > 0)
        say_line(out, "input.intent", nacre_intent_need_name(policy->input.intent),
                 policy->input.intent_place);
}

static void say_policy(struct text *out, const struct nacre_policy *policy)
{
    say_line(out, "name", policy->name, policy->name_place);
    if (policy->version)
        say_line(out, "version", policy->version, policy->version_place);
    say_input(out, policy);
    say_line(out, "level", nacre_level_name(policy->level), policy->level_place);
    say_line(out, "runtime", nacre_runtime_name(policy->runtime), policy->runtime_place);
    say_capabilities(out, policy);
    say_limit(out, "memory_mb", policy->limits.memory_mb);
    say_limit(out, "cpu_shares", policy->limits.cpu_shares);
    say_limit(out, "max_processes", policy->limits.max_processes);
    say_limit(out, "max_open_files", policy->limits.max_open_files);
    say_limit(out, "timeout_ms", policy->limits.timeout_ms);
    say_limit(out, "max_output_bytes", policy->limits.max_output_bytes);
}

void policy_text(struct nacre_buf *out, const struct nacre_policy *policy, bool places)
{
    struct text text = { .buf = out, .places = places };

    say_policy(&text, policy);
}
