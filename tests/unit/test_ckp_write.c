/*
 * Policies written as CKP: what is read back is the same policy, and what CKP can't say
 * is reported, all of it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "model.h"
#include "nacre/convert.h"
#include "nacre/path.h"
#include "nacre/policy.h"
#include "policy_text.h"
#include "suite.h"
#include "yaml_text.h"

#define ROUND_TRIPS_MIN 50

static struct nacre_policy *parse(const char *bytes, size_t count)
{
    struct nacre_policy *policy = NULL;
    struct nacre_error err;

    if (nacre_policy_parse("from.yaml", bytes, count, &policy, &err) != NACRE_OK)
        fail_msg("%d:%d: %s\n%.*s", err.line, err.column, err.text, (int)count, bytes);
    return policy;
}

/* `policy` written and read again; `text` is what was written. */
static struct nacre_policy *round_trip(const struct nacre_policy *policy,
                                       struct nacre_buf *text)
{
    NACRE_AUTO(nacre_losses_clear) struct nacre_losses losses = { 0 };
    struct nacre_error err;

    if (nacre_ckp_write(policy, "about", text, &losses, &err) != NACRE_OK)
        fail_msg("%s: %s", policy->name, err.text);
    assert_int_equal(losses.count, 0);
    return parse(text->bytes, text->size);
}

/* ---- round trips ---- */

static void expect_round_trip(void *data, const char *path)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF((size_t)1 << 20);
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF((size_t)1 << 20);
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf before = NACRE_BUF(65536);
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf after = NACRE_BUF(65536);
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL, *again = NULL;

    (void)data;
    suite_read(path, &bytes);
    policy = parse(bytes.bytes, bytes.size);
    again = round_trip(policy, &text);
    policy_text(&before, policy, false);
    policy_text(&after, again, false);
    if (strcmp(before.bytes, after.bytes) != 0)
        fail_msg("%s:\n%s\nwritten:\n%s\nread again:\n%s", path, before.bytes, text.bytes,
                 after.bytes);
}

static int round_trips_of(const char *directory)
{
    return suite_each(directory, ".yaml", expect_round_trip, NULL);
}

static void every_policy_is_read_back_as_it_was(void **state)
{
    (void)state;
    assert_true(round_trips_of(NACRE_POLICIES_DIR) +
                    round_trips_of(NACRE_SUITES_DIR "/policy/valid") +
                    round_trips_of(NACRE_SUITES_DIR "/explain") >=
                ROUND_TRIPS_MIN);
}

static void the_document_names_the_lines_that_said_it(void **state)
{
    static const char from[] = "claw: '0.3.0'\n"
                               "spec:\n"
                               "  resource_limits: {timeout_ms: 5}\n"
                               "  capabilities:\n"
                               "    secrets: {}\n"
                               "    network:\n"
                               "      allowed_hosts: []\n"
                               "      mode: allowlist\n"
                               "    filesystem:\n"
                               "      mount_paths:\n"
                               "      - {permissions: ro, path: /a b}\n"
                               "  level: process\n"
                               "metadata: {name: x, annotations: {nacre/input-scan: on}}\n"
                               "kind: Sandbox\n";
    static const char written[] = "# about\n"
                                  "claw: \"0.3.0\"\n"
                                  "kind: Sandbox\n"
                                  "metadata:\n"
                                  "  name: x # from.yaml:13\n"
                                  "  annotations:\n"
                                  "    nacre/input-scan: \"on\" # from.yaml:13\n"
                                  "spec:\n"
                                  "  level: process # from.yaml:12\n"
                                  "  capabilities:\n"
                                  "    network:\n"
                                  "      mode: allowlist # from.yaml:8\n"
                                  "      allowed_hosts: [] # from.yaml:7\n"
                                  "    filesystem:\n"
                                  "      mount_paths: # from.yaml:10\n"
                                  "        - path: \"/a b\" # from.yaml:11\n"
                                  "          permissions: ro # from.yaml:11\n"
                                  "    secrets: {} # from.yaml:5\n"
                                  "  resource_limits:\n"
                                  "    timeout_ms: 5 # from.yaml:3\n";
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL, *again = NULL;
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF(65536);

    (void)state;
    policy = parse(from, strlen(from));
    again = round_trip(policy, &text);
    assert_string_equal(text.bytes, written);
}

/* What a dialect's default says has no line, and is written all the same. */
static void what_nobody_said_is_written_where_it_is_not_the_default(void **state)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL, *again = NULL;
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF(65536);
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_policy_most_restrictive(&policy, &err), NACRE_OK);
    policy->level = NACRE_LEVEL_CONTAINER;
    policy->runtime = NACRE_RUNTIME_GVISOR;
    policy->network.mode = NACRE_NETWORK_ALLOW_ALL;
    policy->network.dns_pinning.on = false;
    policy->shell.mode = NACRE_SHELL_FULL;
    policy->secrets.leak_detection.on = true;
    policy->limits.memory_mb.value = 7;
    again = round_trip(policy, &text);
    assert_int_equal(again->level, NACRE_LEVEL_CONTAINER);
    assert_int_equal(again->runtime, NACRE_RUNTIME_GVISOR);
    assert_int_equal(again->network.mode, NACRE_NETWORK_ALLOW_ALL);
    assert_false(again->network.dns_pinning.on);
    assert_true(again->network.ssrf_enabled.on);
    assert_int_equal(again->shell.mode, NACRE_SHELL_FULL);
    assert_true(again->secrets.leak_detection.on);
    assert_int_equal(again->limits.memory_mb.value, 7);
    assert_int_equal(again->limits.timeout_ms.place.line, 0);
}

/* ---- hostile texts ---- */

static void a_text_is_read_as_exactly_itself(void **state)
{
    static const char *const texts[] = {
        "", "plain", "two words", "true", "No", "~", "null", "1.5", "0x10", "- a", "a: b",
        "a #b", "# a", "{a}", "[a]", "&a", "*a", "!a", "|", ">", "%a", "@a", "`a`", "'",
        "\"", "\\", "\\n", "a\nb", "a\r\nb", "\t", " a ",
        "a\xc2\x85" "b", "a\xe2\x80\xa8" "b", "a\xe2\x80\xa9" "b", "a \xe2\x80\xa8 b",
        "a \xe2\x80\xa9 b", "\xef\xbb\xbf", "\xef\xbf\xbe", "\xef\xbf\xbf", "\x7f",
        "\x01\x1b[m", "é€😀", "\xc2\xa0", "---", "...", "?", ": ", "a:", "=", "<<",
        "2020-01-01", "12:30",
        "\xf4\x8f\xbf\xbf",
    };
    static const char head[] = "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: x}\n"
                               "spec:\n  level: wasm\n  capabilities:\n    shell:\n"
                               "      blocked_patterns:\n      - ";
    struct nacre_error err;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(texts); i++) {
        NACRE_AUTO(nacre_buf_clear) struct nacre_buf buf = NACRE_BUF(4096);
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;

        assert_int_equal(nacre_buf_add(&buf, head, strlen(head), &err), NACRE_OK);
        assert_int_equal(nacre_yaml_text_add(&buf, texts[i], &err), NACRE_OK);
        assert_int_equal(nacre_buf_addf(&buf, &err, " # x\n      - 'end'\n"), NACRE_OK);
        /* It is no pattern, or an empty one; then the reader shows what it read. */
        if (nacre_policy_parse("p", buf.bytes, buf.size, &policy, &err) != NACRE_OK) {
            assert_int_equal(err.line, 9);
            assert_true(strstr(err.text, "blocked_patterns[0]") != NULL);
            assert_non_null(
                strstr(err.text, texts[i][0] ? "regular expression" : "empty"));
            continue;
        }
        assert_int_equal(policy->shell.blocked_patterns.count, 2);
        assert_string_equal(policy->shell.blocked_patterns.items[0].text, texts[i]);
    }
}

static void what_a_file_is_named_can_not_leave_its_comment(void **state)
{
    static const char from[] =
        "claw: '0.3.0'\nkind: Sandbox\nmetadata: {name: x}\nspec: {level: wasm}\n";
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF(65536);
    NACRE_AUTO(nacre_losses_clear) struct nacre_losses losses = { 0 };
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_policy_parse("a\nspec: {level: none}\xe2\x80\xa8kind: x\xff",
                                        from, strlen(from), &policy, &err),
                     NACRE_OK);
    assert_int_equal(nacre_ckp_write(policy, "a\nb: c\xc2\x85" "d", &text, &losses, &err),
                     NACRE_OK);
    assert_non_null(strstr(text.bytes, "# a\\x0ab: c\\xc2\\x85d\n"));
    assert_non_null(strstr(text.bytes, "level: wasm # a\\x0aspec: {level: none}"
                                       "\\xe2\\x80\\xa8kind"));
}

static void a_name_of_other_characters_becomes_one_of_ckp(void **state)
{
    static const struct {
        const char *name, *written;
    } rows[] = {
        { "agent:main:main", "agent-main-main" },
        { "--x_y.z", "x-y-z" },
        { ":::", "converted" },
        { "", "converted" },
        { "0123456789012345678901234567890123456789012345678901234567890123456789",
          "012345678901234567890123456789012345678901234567890123456789012" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL, *again = NULL;
        NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF(65536);
        struct nacre_error err;

        assert_int_equal(nacre_policy_most_restrictive(&policy, &err), NACRE_OK);
        free(policy->name);
        policy->name = strdup(rows[i].name);
        again = round_trip(policy, &text);
        assert_string_equal(again->name, rows[i].written);
    }
}

static void a_value_that_ckp_has_no_room_for_is_an_error(void **state)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF(65536);
    NACRE_AUTO(nacre_losses_clear) struct nacre_losses losses = { 0 };
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_policy_most_restrictive(&policy, &err), NACRE_OK);
    policy->limits.memory_mb.value = 1048577;
    assert_int_equal(nacre_ckp_write(policy, NULL, &text, &losses, &err),
                     NACRE_ERR_PARSE);
    assert_non_null(strstr(err.text, "CKP has no room for this policy: "
                                     "spec.resource_limits.memory_mb: 1048577 is not"));
    assert_int_equal(losses.count, 0);
}

/* ---- losses ---- */

static void set_rule(struct nacre_rule *rule, const char *text, int line)
{
    *rule = (struct nacre_rule){ .text = strdup(text), .place = { line, 3 } };
}

static void set_rules(struct nacre_rules *rules, const char *text, int line)
{
    rules->items = calloc(1, sizeof(*rules->items));
    rules->count = 1;
    rules->place = (struct nacre_place){ line, 1 };
    set_rule(&rules->items[0], text, line);
}

static void set_everything(struct nacre_policy *policy)
{
    struct nacre_container_rules *container = &policy->container;
    struct nacre_limit *const limits[] = {
        &container->memory_swap, &container->memory_reservation,
        &container->cpus_nano,   &container->disk_bytes,
        &container->disk_iops,   &container->disk_io_weight,
    };

    set_rule(&container->image, "node:22", 1);
    set_rule(&container->workdir, "/w", 2);
    set_rule(&container->user, "1000:1000", 3);
    set_rule(&container->seccomp_profile, "p.json", 4);
    set_rule(&container->apparmor_profile, "a", 5);
    set_rule(&container->selinux_label, "s", 6);
    set_rule(&container->setup_command, "apt-get\nupdate", 7);
    set_rule(&container->cpuset, "0-1", 8);
    for (size_t i = 0; i < NACRE_COUNT(limits); i++)
        *limits[i] = (struct nacre_limit){ .value = 100 + i, .place = { 9 + (int)i, 3 } };
    container->read_only_root = (struct nacre_flag){ .on = true, .place = { 15, 3 } };
    set_rules(&container->tmpfs, "/run", 16);
    set_rules(&container->keep_capabilities, "CHOWN", 17);
    set_rules(&container->blocked_syscalls, "ptrace", 18);
    set_rules(&container->environment, "KEY=hunter2", 19);
    set_rules(&container->ulimits, "nofile=1:2", 20);
    set_rules(&policy->network.resolvers, "1.1.1.1", 21);
    set_rules(&policy->network.fixed_hosts, "a=127.0.0.1", 22);
    policy->user_namespaces = true;
    policy->level_place = (struct nacre_place){ 23, 3 };
}

static void every_setting_that_ckp_lacks_is_reported_once_with_its_place(void **state)
{
    static const char *const keys[] = {
        "container.image", "container.workdir", "container.user",
        "container.seccomp_profile", "container.apparmor_profile",
        "container.selinux_label", "container.setup_command", "container.cpuset",
        "container.memory_swap", "container.memory_reservation", "container.cpus_nano",
        "container.disk_bytes", "container.disk_iops", "container.disk_io_weight",
        "container.read_only_root", "container.tmpfs[0]",
        "container.keep_capabilities[0]",
        "container.blocked_syscalls[0]", "container.environment[0]",
        "container.ulimits[0]", "network.resolvers[0]", "network.fixed_hosts[0]",
        "container.user_namespaces",
    };
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF(65536);
    NACRE_AUTO(nacre_losses_clear) struct nacre_losses losses = { 0 };
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_policy_most_restrictive(&policy, &err), NACRE_OK);
    set_everything(policy);
    assert_int_equal(nacre_ckp_write(policy, NULL, &text, &losses, &err), NACRE_OK);
    assert_int_equal(losses.count, NACRE_COUNT(keys));
    for (size_t i = 0; i < losses.count; i++) {
        assert_string_equal(losses.items[i].key, keys[i]);
        assert_int_equal(losses.items[i].place.line, (int)i + 1);
        assert_true(losses.items[i].text[0] != '\0');
        assert_null(strstr(losses.items[i].text, "hunter2"));
        assert_null(strchr(losses.items[i].text, '\n'));
    }
    assert_string_equal(losses.items[0].text, "'node:22'; give --image to each run");
    assert_string_equal(losses.items[8].text, "100");
    assert_string_equal(losses.items[18].text, "'KEY'; give --env to each run");
    assert_null(strstr(text.bytes, "node:22"));
}

static void writing_survives_every_allocation_failure(void **state)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    struct nacre_error err;
    bool fired = true;

    (void)state;
    assert_int_equal(nacre_policy_most_restrictive(&policy, &err), NACRE_OK);
    set_everything(policy);
    set_rules(&policy->network.denied_hosts, "a.example", 23);
    for (int n = 0; fired; n++) {
        NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF(65536);
        NACRE_AUTO(nacre_losses_clear) struct nacre_losses losses = { 0 };
        enum nacre_status status;

        assert_true(n < 5000);
        fail_alloc_after(n);
        status = nacre_ckp_write(policy, "x", &text, &losses, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_is_read_back_as_it_was),
        cmocka_unit_test(the_document_names_the_lines_that_said_it),
        cmocka_unit_test(what_nobody_said_is_written_where_it_is_not_the_default),
        cmocka_unit_test(a_text_is_read_as_exactly_itself),
        cmocka_unit_test(what_a_file_is_named_can_not_leave_its_comment),
        cmocka_unit_test(a_name_of_other_characters_becomes_one_of_ckp),
        cmocka_unit_test(a_value_that_ckp_has_no_room_for_is_an_error),
        cmocka_unit_test(every_setting_that_ckp_lacks_is_reported_once_with_its_place),
        cmocka_unit_test(writing_survives_every_allocation_failure),
    };

    return cmocka_run_group_tests_name("ckp_write", tests, NULL, NULL);
}
