/*
 * The policy reader against files: suites/policy/invalid/NAME.yaml must fail with the
 * one line of NAME.expect, suites/policy/valid/NAME.yaml must give the model that
 * NAME.expect spells out, and every file of policies/ must load by its name.
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "nacre/buf.h"
#include "nacre/input.h"
#include "nacre/path.h"
#include "nacre/policy.h"

#define INVALID_MIN 90
#define VALID_MIN 25

static void read_file(const char *path, struct nacre_buf *buf)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct nacre_error err;

    if (fd < 0)
        fail_msg("cannot open %s", path);
    assert_int_equal(nacre_buf_read(buf, fd, &err), NACRE_OK);
}

/* ---- the model as text ---- */

__attribute__((format(printf, 2, 3))) static void say(struct nacre_buf *out,
                                                      const char *format, ...)
{
    struct nacre_error err;
    char line[1024];
    va_list args;

    va_start(args, format);
    assert_true(vsnprintf(line, sizeof(line), format, args) < (int)sizeof(line));
    va_end(args);
    assert_int_equal(nacre_buf_add(out, line, strlen(line), &err), NACRE_OK);
}

static void say_line(struct nacre_buf *out, const char *key, const char *value,
                     struct nacre_place place)
{
    if (place.line > 0)
        say(out, "%s %s %d:%d\n", key, value, place.line, place.column);
    else
        say(out, "%s %s default\n", key, value);
}

static void say_flag(struct nacre_buf *out, const char *key, struct nacre_flag flag)
{
    say_line(out, key, flag.on ? "true" : "false", flag.place);
}

static void say_limit(struct nacre_buf *out, const char *key, struct nacre_limit limit)
{
    char value[24];

    (void)snprintf(value, sizeof(value), "%ju", (uintmax_t)limit.value);
    say_line(out, key, value, limit.place);
}

static void say_rules(struct nacre_buf *out, const char *key,
                      const struct nacre_rules *rules)
{
    if (rules->place.line == 0)
        return;
    say_line(out, key, "", rules->place);
    for (size_t i = 0; i < rules->count; i++)
        say_line(out, " -", rules->items[i].text, rules->items[i].place);
}

static void say_capabilities(struct nacre_buf *out, const struct nacre_policy *policy)
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
static void say_input(struct nacre_buf *out, const struct nacre_policy *policy)
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
    if (policy->input.intent_required.place.line > 0)
        say_flag(out, "input.intent_required", policy->input.intent_required);
}

static void say_policy(struct nacre_buf *out, const struct nacre_policy *policy)
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

/* ---- the runner ---- */

/* What came of one file, in the form of its .expect. */
static void outcome_of(const char *yaml, bool valid, struct nacre_buf *out)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF((size_t)2 << 20);
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    struct nacre_error err = { .status = NACRE_OK };
    enum nacre_status status;

    read_file(yaml, &bytes);
    status = nacre_policy_parse("policy.yaml", bytes.bytes, bytes.size, &policy, &err);
    assert_int_equal(status, err.status);
    if (status != NACRE_OK) {
        assert_int_equal(status, NACRE_ERR_PARSE);
        assert_string_equal(err.file, "policy.yaml");
        assert_null(policy);
        say(out, "%d:%d: %s\n", err.line, err.column, err.text);
    } else {
        struct nacre_digest digest = nacre_hash(bytes.bytes, bytes.size);

        assert_true(nacre_digest_equal(&digest, &policy->digest));
        assert_string_equal(policy->source, "policy.yaml");
        say_policy(out, policy);
    }
    if ((status == NACRE_OK) != valid)
        fail_msg("%s is %s:\n%s", yaml, valid ? "refused" : "accepted", out->bytes);
}

static int run_suite(const char *directory, bool valid)
{
    struct dirent **entries = NULL;
    int count = scandir(directory, &entries, NULL, alphasort), cases = 0;

    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        NACRE_AUTO(nacre_buf_clear) struct nacre_buf expected = NACRE_BUF(65536);
        NACRE_AUTO(nacre_buf_clear) struct nacre_buf found = NACRE_BUF(65536);
        char path[NACRE_PATH_MAX];
        char *dot;

        (void)snprintf(path, sizeof(path), "%s/%s", directory, entries[i]->d_name);
        free(entries[i]);
        dot = strrchr(path, '.');
        if (strcmp(dot, ".yaml") != 0)
            continue;
        outcome_of(path, valid, &found);
        (void)snprintf(dot, sizeof(path) - (size_t)(dot - path), ".expect");
        read_file(path, &expected);
        if (strcmp(found.bytes, expected.bytes) != 0)
            fail_msg("%s\nexpected:\n%sfound:\n%s", path, expected.bytes, found.bytes);
        cases++;
    }
    free(entries);
    return cases;
}

static void each_invalid_policy_is_refused_at_its_place(void **state)
{
    (void)state;
    assert_true(run_suite(NACRE_SUITES_DIR "/policy/invalid", false) >= INVALID_MIN);
}

static void each_valid_policy_gives_its_model(void **state)
{
    (void)state;
    assert_true(run_suite(NACRE_SUITES_DIR "/policy/valid", true) >= VALID_MIN);
}

static const struct {
    const char *name;
    enum nacre_level level;
} ready[] = {
    { "build", NACRE_LEVEL_PROCESS },   { "container", NACRE_LEVEL_CONTAINER },
    { "shell", NACRE_LEVEL_PROCESS },   { "deny-all", NACRE_LEVEL_WASM },
    { "read-only", NACRE_LEVEL_WASM },  { "standard", NACRE_LEVEL_CONTAINER },
    { "web-api", NACRE_LEVEL_WASM },
    { "web-fetch", NACRE_LEVEL_WASM },  { "workspace", NACRE_LEVEL_WASM },
};

static int is_yaml(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');

    return dot && strcmp(dot, ".yaml") == 0;
}

static void every_ready_policy_loads_by_its_name(void **state)
{
    static const char *const directories[] = { NACRE_POLICIES_DIR, NULL };
    struct dirent **entries = NULL;
    int count = scandir(NACRE_POLICIES_DIR, &entries, is_yaml, alphasort);

    (void)state;
    assert_int_equal(count, NACRE_COUNT(ready)); /* none without a row here */
    for (int i = 0; i < count; i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
        NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(65536);
        struct nacre_error err;

        free(entries[i]);
        if (nacre_policy_load(ready[i].name, directories, &policy, &err) != NACRE_OK)
            fail_msg("%s: %s", ready[i].name, err.text);
        assert_string_equal(policy->name, ready[i].name);
        assert_int_equal(policy->level, ready[i].level);
        read_file(policy->source, &bytes);
        assert_true(strncmp(bytes.bytes, "# For ", 6) == 0); /* says who it is for */
    }
    free(entries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_invalid_policy_is_refused_at_its_place),
        cmocka_unit_test(each_valid_policy_gives_its_model),
        cmocka_unit_test(every_ready_policy_loads_by_its_name),
    };

    return cmocka_run_group_tests_name("policy_suite", tests, NULL, NULL);
}
