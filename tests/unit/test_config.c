/* Configurations: where they come from, what they are, and what holds without them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "config_model.h"
#include "defaults.h"
#include "nacre/config.h"
#include "nacre/document.h"
#include "nacre/own.h"

/* ---- loading ---- */

static int make_place(void **state)
{
    static char top[] = "nacre-config-XXXXXX";

    *state = mkdtemp(top);
    return *state ? 0 : -1;
}

static const char *in(void **state, const char *name)
{
    static char path[256];

    (void)snprintf(path, sizeof(path), "%s/%s", (const char *)*state, name);
    return path;
}

static const char *write_file(void **state, const char *name, const char *text)
{
    const char *path = in(state, name);
    FILE *out = fopen(path, "we");

    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
    return path;
}

static int remove_place(void **state)
{
    static const char *const names[] = { "openclaw.json", "linked.json", "policy.yaml",
                                         "big.json",      "pipe",        "empty.json" };

    for (size_t i = 0; i < NACRE_COUNT(names); i++)
        (void)unlink(in(state, names[i]));
    return rmdir(*state);
}

static void a_file_is_loaded_with_the_place_where_it_lies(void **state)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config = NULL, *linked = NULL;
    struct nacre_error err;
    const char *path =
        write_file(state, "openclaw.json", "{agents: {defaults: {sandbox: {}}}}");

    assert_int_equal(nacre_config_load(path, &config, &err), NACRE_OK);
    assert_string_equal(config->source, path);
    assert_int_equal(config->file[0], '/');
    assert_non_null(strstr(config->file, path));
    assert_int_equal(config->dialect, NACRE_DIALECT_OPENCLAW);
    assert_int_equal(symlink("openclaw.json", in(state, "linked.json")), 0);
    assert_int_equal(nacre_config_load(in(state, "linked.json"), &linked, &err),
                     NACRE_OK);
    assert_string_equal(linked->file, config->file);
}

static void refuse(const char *reference, enum nacre_status expected, const char *words)
{
    struct nacre_config *config = NULL;
    struct nacre_error err = { .status = NACRE_OK };

    assert_int_equal(nacre_config_load(reference, &config, &err), expected);
    assert_null(config);
    if (!strstr(err.text, words))
        fail_msg("'%s' is not in '%s'", words, err.text);
}

static void what_is_no_regular_file_is_refused(void **state)
{
    refuse(in(state, "nowhere.json"), NACRE_ERR_NOT_FOUND, "no such file");
    refuse("", NACRE_ERR_NOT_FOUND, "configuration '': no such file");
    refuse(*state, NACRE_ERR_USAGE,
           "not a regular file; a configuration is a YAML or JSON5 file");
    refuse("/dev/zero", NACRE_ERR_USAGE, "not a regular file");
    assert_int_equal(mkfifo(in(state, "pipe"), 0600), 0);
    refuse(in(state, "pipe"), NACRE_ERR_USAGE, "not a regular file");
}

static void a_file_beyond_the_ceiling_is_refused(void **state)
{
    FILE *out = fopen(in(state, "big.json"), "we");

    assert_non_null(out);
    for (size_t i = 0; i <= NACRE_DOCUMENT_BYTES_MAX; i++)
        assert_int_equal(fputc(' ', out), ' ');
    assert_int_equal(fclose(out), 0);
    refuse(in(state, "big.json"), NACRE_ERR_TOO_BIG, "larger than 1048576 bytes");
}

static void a_ckp_policy_is_named_as_one(void **state)
{
    refuse(write_file(state, "policy.yaml",
                      "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: x}\n"),
           NACRE_ERR_USAGE, "CKP policy (ckp)");
}

static void an_empty_file_is_no_configuration(void **state)
{
    struct nacre_config *config = NULL;
    struct nacre_error err = { .status = NACRE_OK };

    (void)write_file(state, "empty.json", "");
    assert_int_equal(nacre_config_load(in(state, "empty.json"), &config, &err),
                     NACRE_ERR_PARSE);
    assert_null(config);
    assert_true(err.line > 0);
}

/* ---- Clawpy's profiles ---- */

static void the_profiles_of_clawpy_are_built_in(void **state)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *agent = NULL, *heartbeat = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_config_load("clawpy:agent", &agent, &err), NACRE_OK);
    assert_string_equal(agent->profile.text, "agent");
    assert_string_equal(agent->source, "clawpy:agent");
    assert_null(agent->file);
    assert_int_equal(agent->all.box.memory_bytes.value, 512u << 20);
    assert_int_equal(agent->all.box.container.cpus_nano.value, 1000000000);
    assert_int_equal(agent->all.box.network, NACRE_NETWORK_DENY);
    assert_true(agent->all.box.container.read_only_root.on);
    assert_int_equal(agent->all.box.scope, NACRE_SCOPE_SESSION);
    assert_int_equal(agent->all.box.timeout_ms.value, 120000);
    assert_int_equal(nacre_config_load("clawpy:heartbeat", &heartbeat, &err), NACRE_OK);
    assert_string_equal(heartbeat->profile.text, "heartbeat");
    assert_int_equal(heartbeat->all.box.memory_bytes.value, 256u << 20);
    assert_int_equal(heartbeat->all.box.container.cpus_nano.value, 500000000);
    assert_int_equal(heartbeat->all.box.network, NACRE_NETWORK_ALLOW_ALL);
    assert_false(heartbeat->all.box.container.read_only_root.on);
    assert_true(heartbeat->all.box.container.read_only_root.place.line > 0);
    assert_int_equal(heartbeat->all.box.scope, NACRE_SCOPE_AGENT);
    assert_int_equal(heartbeat->all.box.timeout_ms.value, 120000);
}

static void an_unknown_profile_is_not_found(void **state)
{
    (void)state;
    refuse("clawpy:", NACRE_ERR_NOT_FOUND, "agent and heartbeat");
    refuse("clawpy:agents", NACRE_ERR_NOT_FOUND, "agent and heartbeat");
    refuse("clawpy:../agent", NACRE_ERR_NOT_FOUND, "agent and heartbeat");
}

/* ---- recognising ---- */

static void each_dialect_is_known_by_its_keys(void **state)
{
    static const struct {
        const char *text;
        enum nacre_dialect dialect;
    } rows[] = {
        { "claw: \"0.3.0\"\n", NACRE_DIALECT_CKP },
        { "kind: Sandbox\nspec: {}\n", NACRE_DIALECT_CKP },
        { "{agents: {}}", NACRE_DIALECT_OPENCLAW },
        { "{agents: {}, sandbox: {}}", NACRE_DIALECT_OPENCLAW },
        { "{tools: {}}", NACRE_DIALECT_OPENCLAW },
        { "{gateway: {}}", NACRE_DIALECT_OPENCLAW },
        { "{models: {}, memory: {}}", NACRE_DIALECT_OPENCLAW },
        { "{agent: {}}", NACRE_DIALECT_CLAWDIS },
        { "sandbox: {}\n", NACRE_DIALECT_CONFIG_YML },
        { "timeout: 5\n", NACRE_DIALECT_CLAWPY },
        { "{}", NACRE_DIALECT_UNSET },
        { "{agnets: {}}", NACRE_DIALECT_UNSET },
        { "- agents\n", NACRE_DIALECT_UNSET },
        { "agents\n", NACRE_DIALECT_UNSET },
    };
    enum nacre_dialect dialect = NACRE_DIALECT_COUNT;
    struct nacre_error err;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        assert_int_equal(nacre_config_recognise("c", rows[i].text, strlen(rows[i].text),
                                                &dialect, &err),
                         NACRE_OK);
        assert_int_equal(dialect, rows[i].dialect);
    }
    dialect = NACRE_DIALECT_CKP;
    assert_int_equal(nacre_config_recognise("c", "{a:", 3, &dialect, &err),
                     NACRE_ERR_PARSE);
    assert_int_equal(dialect, NACRE_DIALECT_CKP);
}

/* ---- agents, notes, names ---- */

static void an_agent_is_found_by_its_id_in_any_case(void **state)
{
    static const char text[] = "{agents: {list: [{id: \"Build\"}], entries: {a: {}}}}";
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_config_parse("c", text, strlen(text), &config, &err),
                     NACRE_OK);
    assert_int_equal(config->agent_count, 2);
    assert_string_equal(nacre_config_agent(config, "BUILD")->id, "build");
    assert_string_equal(nacre_config_agent(config, "a")->id, "a");
    assert_null(nacre_config_agent(config, "main"));
    assert_null(nacre_config_agent(config, ""));
}

static void notes_have_a_ceiling_and_are_cut(void **state)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config = NULL;
    struct nacre_place place = { .line = 1, .column = 2 };
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_config_new("c", &config, &err), NACRE_OK);
    for (size_t i = 0; i < NACRE_CONFIG_NOTES_MAX + 5; i++)
        assert_int_equal(nacre_config_note(config, place, true, &err, "%0400d", 1),
                         NACRE_OK);
    assert_int_equal(config->note_count, NACRE_CONFIG_NOTES_MAX);
    assert_int_equal(strlen(config->notes[0].text), sizeof(config->notes[0].text) - 1);
}

static void every_word_of_the_model_has_its_name(void **state)
{
    (void)state;
    assert_string_equal(nacre_dialect_name(NACRE_DIALECT_UNSET), "unset");
    assert_string_equal(nacre_dialect_name(NACRE_DIALECT_CONFIG_YML), "config.yml");
    assert_string_equal(nacre_mode_name(NACRE_MODE_NON_MAIN), "non-main");
    assert_string_equal(nacre_access_name(NACRE_ACCESS_RW), "rw");
}

/* ---- defaults ---- */

static bool has(const char *const *list, const char *name)
{
    for (; list && *list; list++)
        if (strcmp(*list, name) == 0)
            return true;
    return false;
}

static void no_default_of_a_file_is_wider_than_it_has_to_be(void **state)
{
    (void)state;
    for (enum nacre_dialect i = NACRE_DIALECT_UNSET; i < NACRE_DIALECT_COUNT; i++) {
        const struct nacre_dialect_defaults *defaults = nacre_dialect_defaults(i);

        assert_int_equal(defaults->network, NACRE_NETWORK_DENY);
        assert_int_equal(defaults->scope, NACRE_SCOPE_SESSION);
        assert_int_equal(defaults->access, NACRE_ACCESS_NONE);
        assert_true(defaults->read_only_root);
        assert_string_equal(defaults->main_key, "main");
        assert_true(strlen(defaults->container_prefix) <= 22);
        assert_int_equal(defaults->workspace_root[0], '~');
        assert_false(has(defaults->tools_allow, "browser"));
    }
}

static void defaults_are_those_that_the_users_of_a_dialect_know(void **state)
{
    const struct nacre_dialect_defaults *openclaw =
        nacre_dialect_defaults(NACRE_DIALECT_OPENCLAW);
    const struct nacre_dialect_defaults *clawdis =
        nacre_dialect_defaults(NACRE_DIALECT_CLAWDIS);

    (void)state;
    assert_string_equal(openclaw->image, "openclaw-sandbox:bookworm-slim");
    assert_string_equal(openclaw->container_prefix, "openclaw-sbx-");
    assert_int_equal(openclaw->prune_idle_hours, 24);
    assert_int_equal(openclaw->prune_age_days, 7);
    assert_true(has(openclaw->tools_allow, "session_status"));
    assert_true(has(openclaw->tools_deny, "imessage"));
    assert_string_equal(clawdis->image, "clawdis-sandbox:bookworm-slim");
    assert_string_equal(clawdis->container_prefix, "clawdis-sbx-");
    assert_string_equal(clawdis->workspace_root, "~/.clawdis/sandboxes");
    assert_true(has(clawdis->tools_allow, "bash"));
    assert_true(has(clawdis->tools_deny, "discord"));
    assert_null(nacre_dialect_defaults(NACRE_DIALECT_CONFIG_YML)->tools_allow);
}

static void the_name_of_its_file_tells_clawdbot_from_openclaw(void **state)
{
    static const struct {
        const char *source, *prefix;
    } rows[] = {
        { "openclaw.json", "openclaw-sbx-" },
        { "/home/x/.clawdbot/clawdbot.json", "clawdbot-sbx-" },
        { "moltbot.json", "moltbot-sbx-" },
        { "/clawdbot/other.json", "openclaw-sbx-" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_config_guard) struct nacre_config *config = NULL;
        struct nacre_error err;

        assert_int_equal(nacre_config_parse(rows[i].source, "{tools:{}}", 10, &config,
                                            &err),
                         NACRE_OK);
        assert_string_equal(nacre_config_defaults(config)->container_prefix,
                            rows[i].prefix);
    }
}

static void the_heartbeat_of_clawpy_has_defaults_of_its_own(void **state)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_config_load("clawpy:heartbeat", &config, &err), NACRE_OK);
    assert_int_equal(nacre_config_defaults(config)->scope, NACRE_SCOPE_AGENT);
    assert_int_equal(nacre_config_defaults(config)->memory_bytes, 256u << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_loaded_with_the_place_where_it_lies),
        cmocka_unit_test(what_is_no_regular_file_is_refused),
        cmocka_unit_test(a_file_beyond_the_ceiling_is_refused),
        cmocka_unit_test(a_ckp_policy_is_named_as_one),
        cmocka_unit_test(an_empty_file_is_no_configuration),
        cmocka_unit_test(the_profiles_of_clawpy_are_built_in),
        cmocka_unit_test(an_unknown_profile_is_not_found),
        cmocka_unit_test(each_dialect_is_known_by_its_keys),
        cmocka_unit_test(an_agent_is_found_by_its_id_in_any_case),
        cmocka_unit_test(notes_have_a_ceiling_and_are_cut),
        cmocka_unit_test(every_word_of_the_model_has_its_name),
        cmocka_unit_test(no_default_of_a_file_is_wider_than_it_has_to_be),
        cmocka_unit_test(defaults_are_those_that_the_users_of_a_dialect_know),
        cmocka_unit_test(the_name_of_its_file_tells_clawdbot_from_openclaw),
        cmocka_unit_test(the_heartbeat_of_clawpy_has_defaults_of_its_own),
    };

    return cmocka_run_group_tests(tests, make_place, remove_place);
}
