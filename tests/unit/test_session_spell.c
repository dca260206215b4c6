/* A plan and its denials speak the words of the session's own dialect. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "nacre/buf.h"
#include "nacre/explain.h"
#include "nacre/render.h"
#include "session_words.h"

static void a_denial_names_the_key_that_its_reader_knows(void **state)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
        config_of(NACRE_DIALECT_OPENCLAW);
    NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
    struct nacre_buf out = NACRE_BUF(NACRE_RENDER_BYTES_MAX);
    struct nacre_request request = { 0 };
    struct nacre_answer answer;
    struct nacre_error err;

    (void)state;
    set_mode(&config->all.box, NACRE_MODE_ALL, 4);
    config->all.box.network = NACRE_NETWORK_DENY;
    config->all.box.network_place = at(5);
    session = settle(config, NULL, "x");
    nacre_session_request(session, &request);
    assert_int_equal(nacre_explain_host(session->shell, &request, "example.com", &answer,
                                        &err),
                     NACRE_OK);
    assert_int_equal(nacre_render_answer(session->shell, "host example.com", &answer,
                                         false, &out, &err),
                     NACRE_OK);
    assert_non_null(strstr(out.bytes,
                           "agents.defaults.sandbox.docker.network (openclaw.json:5:3)"));
    assert_non_null(strstr(out.bytes, "flip  set it to bridge"));
    assert_null(strstr(out.bytes, "spec."));
    nacre_buf_clear(&out);
}

static void no_word_of_ckp_is_left_in_a_plan(void **state)
{
    static const char *const words[] = { "capabilities.network", "spec.",
                                         "capabilities.filesystem", "mount_paths",
                                         "memory_mb", "denied_paths" };
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
        config_of_two(NACRE_SCOPE_AGENT);
    NACRE_AUTO(nacre_session_guard) struct nacre_session *session =
        settle(config, "work", "x");
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = draft(session);
    struct nacre_buf out = NACRE_BUF(NACRE_RENDER_BYTES_MAX);
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_render_plan(session->shell, plan, NULL, false, &out, &err),
                     NACRE_OK);
    for (size_t i = 0; i < NACRE_COUNT(words); i++)
        if (strstr(out.bytes, words[i]))
            fail_msg("'%s' in: %.400s", words[i], strstr(out.bytes, words[i]) - 100);
    assert_non_null(strstr(out.bytes, "openclaw.json:39:3"));
    assert_non_null(strstr(out.bytes, "agents.entries.work.sandbox.docker.binds"));
    assert_non_null(strstr(out.bytes, "agents.defaults.sandbox.docker.binds"));
    nacre_buf_clear(&out);
}

static void the_words_of_another_dialect_stand_in_for_ckps(void **state)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
        config_of(NACRE_DIALECT_CONFIG_YML);
    NACRE_AUTO(nacre_session_guard) struct nacre_session *session =
        settle(config, NULL, NULL);
    static const struct {
        const char *rule, *fix, *rule_after, *fix_after;
    } rows[] = {
        { "capabilities.network.allowed_hosts[2]",
          "add under spec.capabilities.network.allowed_hosts: - a",
          "sandbox.allowed_hosts[2]", "add under sandbox.allowed_hosts: - a" },
        { "resource_limits.timeout_ms", "add under spec.resource_limits: timeout_ms: 9",
          "sandbox.timeout", "add under sandbox.timeout: 9" },
        { "capabilities.filesystem.denied_paths[0]",
          "remove '/denied_paths' from denied_paths (line 3)", "sandbox.blocked_paths[0]",
          "remove '/denied_paths' from blocked_paths (line 3)" },
        { "request.mounts", "", "request.mounts", "" },
        { "capabilities.filesystem.mode",
          "add under spec.capabilities.filesystem.mount_paths: - {path: /a, permissions: "
          "ro}; and more",
          "sandbox.mounts",
          "add under sandbox.mounts: - {source: /a, target: /a, mode: ro}; and more" },
        { "fuel", "x", "fuel", "x" },
        { "capabilities.secrets", "add under spec.capabilities.secrets: x: y",
          "capabilities.secrets",
          "nothing in this file can say it; a policy of CKP's can (nacre convert --to "
          "ckp)" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        char rule[64], fix[256];

        (void)snprintf(rule, sizeof(rule), "%s", rows[i].rule);
        (void)snprintf(fix, sizeof(fix), "%s", rows[i].fix);
        nacre_policy_spell(session->shell, rule, fix, sizeof(fix));
        assert_string_equal(rule, rows[i].rule_after);
        assert_string_equal(fix, rows[i].fix_after);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_denial_names_the_key_that_its_reader_knows),
        cmocka_unit_test(no_word_of_ckp_is_left_in_a_plan),
        cmocka_unit_test(the_words_of_another_dialect_stand_in_for_ckps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
