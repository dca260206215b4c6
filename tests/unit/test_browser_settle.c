/* What a configuration says of a session's browser, and which gates it opens. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "nacre/browser.h"
#include "nacre/plan.h"

struct world {
    struct nacre_config *config;
    struct nacre_session *session;
};

static void world_clear(struct world *world)
{
    nacre_session_free(world->session);
    nacre_config_free(world->config);
}

/* `sandbox` and `more` are members of agents.defaults.sandbox and of the whole. */
static struct world world_of(const char *sandbox, const char *more, const char *agent)
{
    struct nacre_session_ask ask = { .agent = agent, .session = "chat",
                                     .home = "/home/me" };
    struct world world = { NULL, NULL };
    struct nacre_error err;
    char text[2048];

    (void)snprintf(text, sizeof(text),
                   "{ agents: { defaults: { sandbox: {\n mode: \"all\",\n%s\n} }%s",
                   sandbox, more);
    if (nacre_config_parse("openclaw.json", text, strlen(text), &world.config, &err) !=
            NACRE_OK ||
        nacre_session_settle(world.config, &ask, &world.session, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return world;
}

#define ALLOWED " }, tools: { sandbox: { tools: { allow: [\"browser\"], deny: [] } } } }"
#define UNSAID " } }"

static struct nacre_browser settled(const struct world *world)
{
    struct nacre_browser browser;
    struct nacre_error err;

    if (nacre_browser_settle(world->session, &browser, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return browser;
}

/* ---- settling ---- */

static void what_nobody_says_is_what_openclaw_has(void **state)
{
    NACRE_AUTO(world_clear) struct world world = world_of("", UNSAID, NULL);
    NACRE_AUTO(nacre_browser_clear) struct nacre_browser browser = settled(&world);
    const struct nacre_policy *policy = browser.policy;

    (void)state;
    assert_false(browser.enabled);
    assert_false(browser.headless);
    assert_true(browser.no_vnc);
    assert_false(browser.host_control);
    assert_true(browser.auto_start);
    assert_int_equal(browser.start_ms, 12000);
    assert_int_equal(browser.cdp_port.value, 0);
    assert_int_equal(strncmp(browser.name, "openclaw-sbx-browser-chat-", 26), 0);
    assert_string_equal(policy->container.image.text, NACRE_BROWSER_IMAGE);
    assert_int_equal(policy->level, NACRE_LEVEL_CONTAINER);
    assert_int_equal(policy->network.mode, NACRE_NETWORK_DENY);
    assert_true(policy->user_namespaces);
    assert_false(world.session->shell->user_namespaces);
    assert_string_equal(browser.enabled_source.key,
                        "agents.defaults.sandbox.browser.enabled");
}

static void an_agents_own_words_are_before_those_for_all(void **state)
{
    NACRE_AUTO(world_clear) struct world world = world_of(
        "docker: { network: \"bridge\", memory: \"3g\", binds: [\"/srv/a:/a\"] },\n"
        "browser: { enabled: true, image: \"all:1\", cdpPort: 1111, autoStart: false,\n"
        " autoStartTimeoutMs: 5000, headless: true }",
        ", entries: { work: { sandbox: {\n browser: { image: \"own:1\", cdpPort: 2222,\n"
        " binds: [\"/srv/b:/b:ro\"], network: \"none\",\n"
        " containerPrefix: \"mine-\" } } } }"
        ALLOWED, "work");
    NACRE_AUTO(nacre_browser_clear) struct nacre_browser browser = settled(&world);

    (void)state;
    assert_true(browser.enabled && browser.headless && !browser.auto_start);
    assert_false(browser.no_vnc); /* nothing is shown that has no screen */
    assert_int_equal(browser.start_ms, 5000);
    assert_int_equal(browser.cdp_port.value, 2222);
    assert_int_equal(browser.cdp_port_source.from, NACRE_FROM_AGENT);
    assert_int_equal(browser.enabled_source.from, NACRE_FROM_GLOBAL);
    assert_string_equal(browser.policy->container.image.text, "own:1");
    assert_int_equal(browser.policy->limits.memory_mb.value, 3072);
    assert_int_equal(browser.policy->network.mode, NACRE_NETWORK_DENY);
    assert_int_equal(world.session->shell->network.mode, NACRE_NETWORK_ALLOW_ALL);
    assert_int_equal(strncmp(browser.name, "mine-", 5), 0);
    /* Its binds instead of docker's. */
    assert_int_equal(browser.mount_count, 1);
    assert_string_equal(browser.mounts[0].guest, "/b");
    assert_string_equal(world.session->mounts[0].guest, "/a");
}

static void under_scope_shared_an_agent_has_no_browser_of_its_own(void **state)
{
    NACRE_AUTO(world_clear) struct world world = world_of(
        "scope: \"shared\", browser: { enabled: true, image: \"all:1\" }",
        ", entries: { work: { sandbox: {\n"
        " browser: { enabled: false, image: \"own:1\" } } } }"
        ALLOWED, "work");
    NACRE_AUTO(nacre_browser_clear) struct nacre_browser browser = settled(&world);

    (void)state;
    assert_true(browser.enabled);
    assert_string_equal(browser.policy->container.image.text, "all:1");
}

static void a_denial_of_the_plan_names_the_browsers_own_key(void **state)
{
    NACRE_AUTO(world_clear) struct world world =
        world_of("browser: { enabled: true,\n image: \"not an image\" }", ALLOWED, NULL);
    NACRE_AUTO(nacre_browser_clear) struct nacre_browser browser = settled(&world);
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    struct nacre_request request = { .input_fd = -1 };
    struct nacre_error err;
    bool told = false;

    (void)state;
    nacre_browser_request(world.session, &browser, &request);
    assert_string_equal(request.box_name, browser.name);
    assert_int_equal(nacre_plan_draft(browser.policy, &request, &plan, &err), NACRE_OK);
    for (uint32_t i = 0; i < plan->decision_count; i++)
        told |= plan->decisions[i].verdict == NACRE_VERDICT_REFUSE &&
                plan->decisions[i].place.line == 4;
    assert_true(told);
    for (size_t i = 0; i < browser.policy->alias_count; i++)
        if (strcmp(browser.policy->aliases[i].rule, "container.image") == 0)
            assert_string_equal(browser.policy->aliases[i].key,
                                "agents.defaults.sandbox.browser.image");
}

static void what_moves_nothing_is_told_by_name(void **state)
{
    NACRE_AUTO(world_clear) struct world world = world_of(
        "browser: { vncPort: 5900,\n cdpSourceRange: \"172.21.0.1/32\" }", UNSAID, NULL);
    uint32_t told = 0;

    (void)state;
    for (uint32_t i = 0; i < world.session->note_count; i++)
        told += strstr(world.session->notes[i].text, "vncPort: no effect") ||
                strstr(world.session->notes[i].text, "cdpSourceRange: no effect");
    assert_int_equal(told, 2);
}

/* ---- gates ---- */

#define HERE "agents.defaults.sandbox.browser."
#define URLS "allowedControlUrls: [\"http://10.0.0.42:18791/\"],\n"
#define HOSTS "allowedControlHosts: [\"lab.local\", \"10.0.0.42\"],\n"
#define PORTS "allowedControlPorts: [18791],\n"

static const struct row {
    const char *browser; /* its members, from line 4 on */
    enum nacre_browser_target target;
    const char *url;
    bool allowed;
    const char *rule, *fix; /* of it some words; NULL: not compared */
} rows[] = {
#define SANDBOX NACRE_BROWSER_TARGET_SANDBOX, NULL
#define HOST_ NACRE_BROWSER_TARGET_HOST, NULL
#define CUSTOM(url) NACRE_BROWSER_TARGET_CUSTOM, url
    { "", SANDBOX, false, HERE "enabled", "add " HERE "enabled: true" },
    { "enabled: false", SANDBOX, false, HERE "enabled",
      "4:10: change 'false' to 'true'" },
    { "enabled: true", SANDBOX, true, HERE "enabled", "4:10: change 'true' to 'false'" },
    { "enabled: true", HOST_, false, HERE "allowHostControl",
      "add " HERE "allowHostControl: true" },
    { "allowHostControl: false", HOST_, false, HERE "allowHostControl",
      "change 'false' to 'true'" },
    { "allowHostControl: true", HOST_, true, HERE "allowHostControl", NULL },
    { "allowHostControl: true", SANDBOX, false, HERE "enabled", NULL },
    /* nothing is written */
    { "enabled: true", CUSTOM("http://10.0.0.42:18791"), false, HERE "allowedControlUrls",
      "add " HERE "allowedControlUrls: [\"http://10.0.0.42:18791\"]" },
    { "enabled: true", CUSTOM(NULL), false, HERE "allowedControlUrls", NULL },
    /* empty lists */
    { "allowedControlUrls: []", CUSTOM("http://10.0.0.42:18791"), false,
      HERE "allowedControlUrls", "add \"http://10.0.0.42:18791\"" },
    { "allowedControlUrls: []", CUSTOM(NULL), false, NULL, NULL },
    { "allowedControlHosts: [], allowedControlPorts: []",
      CUSTOM("http://10.0.0.42:18791"), false, NULL, NULL },
    /* by URL */
    { URLS, CUSTOM("http://10.0.0.42:18791"), true, HERE "allowedControlUrls", NULL },
    { URLS, CUSTOM("ws://10.0.0.42:18791/"), true, NULL, NULL },
    { URLS, CUSTOM(NULL), true, NULL, NULL },
    { URLS, CUSTOM("https://10.0.0.42:18791"), false, NULL, NULL },
    { URLS, CUSTOM("wss://10.0.0.42:18791"), false, NULL, NULL },
    { URLS, CUSTOM("http://10.0.0.42:18792"), false, NULL, NULL },
    { URLS, CUSTOM("http://10.0.0.42"), false, NULL, NULL },
    { URLS, CUSTOM("http://10.0.0.42:18791/other"), false, NULL, NULL },
    { URLS, CUSTOM("http://10.0.0.43:18791"), false, NULL, NULL },
    /* by host and port: both */
    { HOSTS PORTS, CUSTOM("http://LAB.local:18791/any"), true, HERE "allowedControlHosts",
      NULL },
    { HOSTS PORTS, CUSTOM("http://lab.local.:18791/any"), true, NULL, NULL },
    { HOSTS PORTS, CUSTOM("http://lab.local:80"), false, HERE "allowedControlPorts",
      "add 80" },
    { HOSTS PORTS, CUSTOM("http://evil.local:18791"), false, HERE "allowedControlHosts",
      "add \"evil.local\"" },
    { HOSTS, CUSTOM("http://lab.local:18791"), false, HERE "allowedControlPorts",
      "add " HERE "allowedControlPorts: [18791]" },
    { HOSTS, CUSTOM(NULL), false, NULL, NULL },
    { PORTS, CUSTOM("http://lab.local:18791"), false, HERE "allowedControlHosts", NULL },
    /* all that are written have to have it */
    { URLS HOSTS PORTS, CUSTOM("http://10.0.0.42:18791"), true, NULL, NULL },
    { URLS HOSTS PORTS, CUSTOM("http://lab.local:18791"), false,
      HERE "allowedControlUrls", NULL },
    { URLS "allowedControlHosts: [\"lab.local\"]", CUSTOM("http://10.0.0.42:18791"),
      false, HERE "allowedControlHosts", NULL },
};

static void each_target_has_its_gate(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        const struct row *row = &rows[i];
        struct nacre_answer answer;
        struct nacre_error err;
        char section[512];
        struct world world;

        (void)snprintf(section, sizeof(section), " browser: {\n%s }", row->browser);
        world = world_of(section, ALLOWED, NULL);
        if (nacre_browser_target(world.session, row->target, row->url, &answer, &err) !=
            NACRE_OK)
            fail_msg("row %zu: %s", i, err.text);
        if (answer.allowed != row->allowed ||
            (row->rule && strcmp(answer.rule, row->rule) != 0) ||
            (row->fix && !strstr(answer.fix, row->fix)))
            fail_msg("row %zu: %s by %s: %s; %s", i,
                     answer.allowed ? "allowed" : "denied", answer.rule, answer.text,
                     answer.fix);
        assert_true(answer.text[0] && answer.fix[0]);
        world_clear(&world);
    }
}

static void a_url_that_two_could_read_in_two_ways_is_refused(void **state)
{
    static const char *const urls[] = {
        "file:///etc/passwd", "http://user@10.0.0.42:18791", "http://10.0.0.42:18791#x",
        "http://0x0a00002a:18791", "javascript:1", "", "ws:/10.0.0.42", "//10.0.0.42",
    };
    NACRE_AUTO(world_clear)
    struct world world = world_of("browser: { " URLS HOSTS PORTS " }", ALLOWED, NULL);

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(urls); i++) {
        struct nacre_answer answer;
        struct nacre_error err;

        assert_int_not_equal(nacre_browser_target(world.session,
                                                  NACRE_BROWSER_TARGET_CUSTOM, urls[i],
                                                  &answer, &err),
                             NACRE_OK);
    }
}

static void a_tool_that_is_denied_opens_no_gate(void **state)
{
    NACRE_AUTO(world_clear) struct world world = world_of(
        "browser: { enabled: true, allowHostControl: true, " URLS " }", UNSAID, NULL);
    struct nacre_error err;

    (void)state;
    for (int i = 0; i < NACRE_BROWSER_TARGET_COUNT; i++) {
        assert_int_equal(nacre_browser_check(world.session, (enum nacre_browser_target)i,
                                             NULL, &err),
                         NACRE_ERR_DENIED);
        assert_non_null(strstr(err.text, "tools.sandbox.tools.deny"));
    }
}

static void without_a_sandbox_there_is_no_browser_in_one(void **state)
{
    NACRE_AUTO(world_clear) struct world world = { NULL, NULL };
    static const char text[] = "{ agents: { defaults: { sandbox: { mode: \"off\",\n"
                               "browser: { enabled: true } } } } }";
    struct nacre_session_ask ask = { .home = "/home/me" };
    struct nacre_answer answer;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_config_parse("c", text, strlen(text), &world.config, &err), 0);
    assert_int_equal(nacre_session_settle(world.config, &ask, &world.session, &err), 0);
    assert_int_equal(nacre_browser_target(world.session, NACRE_BROWSER_TARGET_SANDBOX,
                                          NULL, &answer, &err),
                     NACRE_OK);
    assert_false(answer.allowed);
    assert_string_equal(answer.rule, "agents.defaults.sandbox.mode");
    assert_non_null(strstr(answer.fix, "change 'off' to 'all'"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nobody_says_is_what_openclaw_has),
        cmocka_unit_test(an_agents_own_words_are_before_those_for_all),
        cmocka_unit_test(under_scope_shared_an_agent_has_no_browser_of_its_own),
        cmocka_unit_test(a_denial_of_the_plan_names_the_browsers_own_key),
        cmocka_unit_test(what_moves_nothing_is_told_by_name),
        cmocka_unit_test(each_target_has_its_gate),
        cmocka_unit_test(a_url_that_two_could_read_in_two_ways_is_refused),
        cmocka_unit_test(a_tool_that_is_denied_opens_no_gate),
        cmocka_unit_test(without_a_sandbox_there_is_no_browser_in_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
