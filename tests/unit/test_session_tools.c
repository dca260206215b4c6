/* Which tools a session may call, who may leave the sandbox, and which line says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "config_words.h"
#include "fail_alloc.h"
#include "nacre/own.h"
#include "nacre/session.h"

/* Lists stand on these lines, their entries from the next one on. */
enum { LINE_GLOBAL = 100, LINE_AGENT = 200, LINE_BOX = 300, LINE_OWN = 400 };
#define LINE_ALLOW 0
#define LINE_ALSO 30
#define LINE_DENY 60

struct lists {
    const char *allow, *also, *deny;
};

static void fill(struct nacre_tool_rules *rules, const struct lists *lists, int line)
{
    add_rules(&rules->allow, lists->allow, line + LINE_ALLOW);
    add_rules(&rules->also_allow, lists->also, line + LINE_ALSO);
    add_rules(&rules->deny, lists->deny, line + LINE_DENY);
}

static struct nacre_session *settle(const struct nacre_config *config, const char *agent,
                                    const char *key, const char *sender)
{
    struct nacre_session_ask ask = { agent, key, sender, HOME };
    struct nacre_session *session = NULL;
    struct nacre_error err;

    if (nacre_session_settle(config, &ask, &session, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return session;
}

static const struct row {
    struct lists global, agent, box, own; /* `own`: the sandbox's, of the agent */
    const char *tool;
    bool allowed;
    int line;         /* that decides; 0: a default */
    const char *rule; /* NULL: not compared */
    bool direct;      /* not sandboxed */
} rows[] = {
#define G(a, d) .global = { a, NULL, d }
#define A(a, d) .agent = { a, NULL, d }
#define B(a, d) .box = { a, NULL, d }
#define O(a, d) .own = { a, NULL, d }
#define YES(name, l, r) .tool = name, .allowed = true, .line = l, .rule = r
#define NO(name, l, r) .tool = name, .line = l, .rule = r
#define BOX_ALLOW "tools.sandbox.tools.allow"
#define BOX_DENY "tools.sandbox.tools.deny"
#define OWN_ALLOW "agents.entries.work.tools.sandbox.tools.allow"
#define OWN_DENY "agents.entries.work.tools.sandbox.tools.deny"

    /* the defaults of a sandbox */
    { YES("exec", 0, BOX_ALLOW) },
    { YES("bash", 0, BOX_ALLOW) },
    { YES("BASH", 0, BOX_ALLOW) },
    { YES(" Exec ", 0, BOX_ALLOW) },
    { YES("apply-patch", 0, BOX_ALLOW) },
    { YES("apply_patch", 0, BOX_ALLOW) },
    { YES("ls", 0, BOX_ALLOW) },
    { YES("view_image", 0, BOX_ALLOW) },
    { YES("session_status", 0, BOX_ALLOW) },
    { NO("browser", 0, BOX_DENY) },
    { NO("canvas", 0, BOX_DENY) },
    { NO("nodes", 0, BOX_DENY) },
    { NO("cron", 0, BOX_DENY) },
    { NO("gateway", 0, BOX_DENY) },
    { NO("telegram", 0, BOX_DENY) },
    { NO("iMessage", 0, BOX_DENY) },
    { NO("web_fetch", 0, BOX_ALLOW) },
    { NO("memory_get", 0, BOX_ALLOW) },
    { NO("exec2", 0, BOX_ALLOW) },
    { NO("xexec", 0, BOX_ALLOW) },
    { NO("*", 0, BOX_ALLOW) },

    /* no sandbox: its lists say nothing */
    { YES("browser", 0, NULL), .direct = true },
    { YES("anything", 0, NULL), .direct = true },
    { B("exec", "read"), YES("read", 0, NULL), .direct = true },
    { G(NULL, "browser"), NO("browser", 161, "tools.deny"), .direct = true },
    { G("read", NULL), NO("exec", 100, "tools.allow"), .direct = true },
    { A("read", NULL), NO("exec", 200, "agents.entries.work.tools.allow"),
      .direct = true },
    { A("read", NULL), YES("read", 201, "agents.entries.work.tools.allow"),
      .direct = true },

    /* deny wins */
    { B("exec", "exec"), NO("exec", 361, BOX_DENY) },
    { B("*", "exec"), NO("exec", 361, BOX_DENY) },
    { B("exec", "*"), NO("exec", 361, BOX_DENY) },
    { B("bash", "exec"), NO("bash", 361, BOX_DENY) },
    { B("exec", "bash"), NO("exec", 361, BOX_DENY) },
    { B("exec", "bash"), NO("bash", 361, BOX_DENY) },
    { B("*", "apply-patch"), NO("apply_patch", 361, BOX_DENY) },
    { B("*", "apply_patch"), NO("apply-patch", 361, BOX_DENY) },
    { B("*", "BASH"), NO("exec", 361, BOX_DENY) },
    { B("*", "ba*"), NO("exec", 361, BOX_DENY) },
    { B("ba*", "[]"), YES("exec", 301, BOX_ALLOW) },

    /* an empty allow list is everything but what is denied */
    { B("[]", "[]"), YES("browser", 360, BOX_DENY) },
    { B("[]", NULL), NO("browser", 0, BOX_DENY) },
    { B("[]", NULL), YES("web_fetch", 0, BOX_DENY) },
    { B("[]", "web_*"), NO("web_fetch", 361, BOX_DENY) },
    { B(NULL, "[]"), NO("browser", 0, BOX_ALLOW) },

    /* groups */
    { B("group:fs", "[]"), YES("read", 301, BOX_ALLOW) },
    { B("group:fs", "[]"), YES("write", 301, BOX_ALLOW) },
    { B("group:fs", "[]"), YES("edit", 301, BOX_ALLOW) },
    { B("group:fs", "[]"), YES("apply_patch", 301, BOX_ALLOW) },
    { B("group:fs", "[]"), NO("exec", 300, BOX_ALLOW) },
    { B("group:fs", "[]"), NO("ls", 300, BOX_ALLOW) },
    { B("Group:FS", "[]"), YES("read", 301, BOX_ALLOW) },
    { B("x group:runtime", "[]"), YES("process", 302, BOX_ALLOW) },
    { B("*", "group:runtime"), NO("exec", 361, BOX_DENY) },
    { B("*", "group:memory"), NO("memory_search", 361, BOX_DENY) },
    { B("*", "group:web"), NO("web_search", 361, BOX_DENY) },
    { B("*", "group:sessions"), NO("sessions_spawn", 361, BOX_DENY) },
    { B("*", "group:sessions"), NO("session_status", 361, BOX_DENY) },
    { B("*", "group:ui"), NO("canvas", 361, BOX_DENY) },
    { B("*", "group:automation"), NO("gateway", 361, BOX_DENY) },
    { B("*", "group:messaging"), NO("message", 361, BOX_DENY) },
    { B("*", "group:nodes"), NO("nodes", 361, BOX_DENY) },
    { B("*", "group:openclaw"), NO("image", 361, BOX_DENY) },
    { B("*", "group:media"), NO("view_image", 361, BOX_DENY) },
    { B("*", "group:agents"), NO("ask_user", 361, BOX_DENY) },
    { B("group:plugins", "[]"), NO("exec", 300, BOX_ALLOW) },

    /* globs */
    { B("sessions_*", "[]"), YES("sessions_list", 301, BOX_ALLOW) },
    { B("sessions_*", "[]"), NO("session_status", 300, BOX_ALLOW) },
    { B("*_list", "[]"), YES("Sessions_List", 301, BOX_ALLOW) },
    { B("s*_*t", "[]"), YES("sessions_list", 301, BOX_ALLOW) },
    { B("*a*a*a*a*b", "[]"), NO("aaaaaaaaaaaaaaaaaaaaaaaaaaaa", 300, BOX_ALLOW) },
    { B("read?", "[]"), NO("reads", 300, BOX_ALLOW) },
    { B("re.d", "[]"), NO("read", 300, BOX_ALLOW) },
    { B("[r]ead", "[]"), NO("read", 300, BOX_ALLOW) },

    /* alsoAllow */
    { .box = { NULL, "web_fetch", NULL }, YES("web_fetch", 331, BOX_ALLOW) },
    { .box = { NULL, "web_fetch", NULL }, YES("exec", 0, BOX_ALLOW) },
    { .box = { "read", "web_fetch", NULL }, NO("exec", 300, BOX_ALLOW) },
    { .box = { NULL, "browser", NULL }, NO("browser", 0, BOX_DENY) },
    { .box = { "[]", "web_fetch", NULL }, YES("exec", 0, BOX_DENY) },
    { .global = { "read", "exec", NULL }, YES("exec", 0, BOX_ALLOW) },
    { .global = { NULL, "exec", NULL }, YES("read", 0, BOX_ALLOW) },

    /* the agent's over those of all, each on its own */
    { B("read", NULL), O("exec", NULL), YES("exec", 401, OWN_ALLOW) },
    { B("read", NULL), O("exec", NULL), NO("read", 400, OWN_ALLOW) },
    { B(NULL, "exec"), O("exec", NULL), NO("exec", 361, BOX_DENY) },
    { B("exec", "exec"), O(NULL, "[]"), YES("exec", 301, BOX_ALLOW) },
    { B("*", "[]"), O(NULL, "browser"), NO("browser", 461, OWN_DENY) },
    { .box = { NULL, "x", NULL }, .own = { NULL, "y", NULL },
      NO("x", 0, BOX_ALLOW) },
    { .box = { NULL, "x", NULL }, .own = { NULL, "y", NULL },
      YES("y", 431, BOX_ALLOW) },

    /* what is denied before the sandbox is not brought back by it */
    { G(NULL, "exec"), B("exec", "[]"), NO("exec", 161, "tools.deny") },
    { G("read", NULL), B("*", "[]"), NO("exec", 100, "tools.allow") },
    { A(NULL, "bash"), O("exec", "[]"),
      NO("exec", 261, "agents.entries.work.tools.deny") },
    { A("group:fs", NULL), O("*", "[]"),
      NO("exec", 200, "agents.entries.work.tools.allow") },
    { G("exec", NULL), A("read", NULL), NO("exec", 200, NULL) },
    { G("exec", NULL), A("read", NULL), NO("read", 100, NULL) },
    { G("*", NULL), A("*", NULL), B("*", "[]"), YES("anything", 301, BOX_ALLOW) },
};

static struct nacre_config *config_of_row(const struct row *row)
{
    struct nacre_config *config = config_of(NACRE_DIALECT_OPENCLAW);
    struct nacre_agent_rules *agent = agent_of(config, "work");

    set_mode(&config->all.box, row->direct ? NACRE_MODE_OFF : NACRE_MODE_ALL, 9);
    fill(&config->all.tools, &row->global, LINE_GLOBAL);
    fill(&agent->tools, &row->agent, LINE_AGENT);
    fill(&config->all.box.tools, &row->box, LINE_BOX);
    fill(&agent->box.tools, &row->own, LINE_OWN);
    return config;
}

static void each_row_is_decided_by_its_line(void **state)
{
    int failures = 0;

    (void)state;
    assert_true(NACRE_COUNT(rows) >= 60);
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
            config_of_row(&rows[i]);
        NACRE_AUTO(nacre_session_guard) struct nacre_session *session =
            settle(config, "work", "x", NULL);
        struct nacre_answer answer;
        struct nacre_error err;

        assert_int_equal(nacre_session_tool(session, rows[i].tool, &answer, &err),
                         NACRE_OK);
        if (answer.allowed == rows[i].allowed && answer.place.line == rows[i].line &&
            (!rows[i].rule || strcmp(answer.rule, rows[i].rule) == 0) &&
            answer.text[0] && answer.fix[0])
            continue;
        failures++;
        print_error("row %zu (%s): %s, line %d, %s: %s; %s\n", i, rows[i].tool,
                    answer.allowed ? "allowed" : "denied", answer.place.line, answer.rule,
                    answer.text, answer.fix);
    }
    assert_int_equal(failures, 0);
}

static void a_denial_says_every_change_that_it_takes(void **state)
{
    const struct row row = { G(NULL, "exec"), B("read", "bash") };
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config = config_of_row(&row);
    NACRE_AUTO(nacre_session_guard) struct nacre_session *session =
        settle(config, "work", "x", NULL);
    struct nacre_answer answer;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_session_tool(session, "exec", &answer, &err), NACRE_OK);
    assert_string_equal(answer.text, "'exec' is denied: tools.deny has 'exec'");
    assert_string_equal(
        answer.fix, "openclaw.json:161:3: remove from tools.deny what denies 'exec'; "
                    "openclaw.json:361:3: remove from tools.sandbox.tools.deny what "
                    "denies 'exec'; openclaw.json:300:3: add 'exec' to "
                    "tools.sandbox.tools.allow");
}

/* Which the fix of a denial by a default must not be: a line that is not there. */
static void a_default_is_changed_by_a_key_that_can_be_written(void **state)
{
    static const struct {
        enum nacre_dialect dialect;
        const char *tool, *fix;
    } defaults[] = {
        { NACRE_DIALECT_OPENCLAW, "web_fetch",
          "add tools.sandbox.tools.alsoAllow: [\"web_fetch\"]" },
        { NACRE_DIALECT_OPENCLAW, "browser",
          "write tools.sandbox.tools.deny without 'browser': the default has it; add "
          "tools.sandbox.tools.alsoAllow: [\"browser\"]" },
        { NACRE_DIALECT_CLAWDIS, "apply_patch",
          "write agent.sandbox.tools.allow: the default and 'apply_patch'" },
        { NACRE_DIALECT_CLAWDIS, "exec", "write agent.sandbox.tools.deny with 'exec'" },
        { NACRE_DIALECT_CLAWPY, "browser", "this dialect has no rules for tools" },
        { NACRE_DIALECT_CONFIG_YML, "x", "this dialect has no rules for tools" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(defaults); i++) {
        NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
            config_of(defaults[i].dialect);
        NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
        struct nacre_answer answer;
        struct nacre_error err;

        set_mode(&config->all.box, NACRE_MODE_ALL, 9);
        session = settle(config, NULL, "x", NULL);
        assert_int_equal(nacre_session_tool(session, defaults[i].tool, &answer, &err),
                         NACRE_OK);
        assert_string_equal(answer.fix, defaults[i].fix);
    }
}

static void access_ro_switches_writing_off(void **state)
{
    static const char *const writing[] = { "write", "edit", "apply_patch",
                                           "apply-patch", "WRITE" };
    const struct row row = { B("*", "[]") };
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config = config_of_row(&row);
    NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
    struct nacre_answer answer;
    struct nacre_error err;

    (void)state;
    set_access(&config->all.box, NACRE_ACCESS_RO, 12);
    session = settle(config, NULL, "x", NULL);
    for (size_t i = 0; i < NACRE_COUNT(writing); i++) {
        assert_int_equal(nacre_session_tool(session, writing[i], &answer, &err),
                         NACRE_OK);
        assert_false(answer.allowed);
        assert_string_equal(answer.rule, "agents.defaults.sandbox.workspaceAccess");
        assert_int_equal(answer.place.line, 12);
        assert_string_equal(answer.fix, "openclaw.json:12:3: change 'ro' to 'rw'");
    }
    assert_int_equal(nacre_session_tool(session, "read", &answer, &err), NACRE_OK);
    assert_true(answer.allowed);
}

static void what_is_no_tools_name_is_an_error(void **state)
{
    const struct row row = { B("*", "[]") };
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config = config_of_row(&row);
    NACRE_AUTO(nacre_session_guard) struct nacre_session *session =
        settle(config, NULL, "x", NULL);
    char longest[NACRE_TOOL_NAME + 1];
    struct nacre_answer answer;
    struct nacre_error err;

    (void)state;
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(nacre_session_tool(session, longest, &answer, &err),
                     NACRE_ERR_USAGE);
    assert_int_equal(nacre_session_tool(session, "", &answer, &err), NACRE_ERR_USAGE);
    assert_int_equal(nacre_session_tool(session, "  ", &answer, &err), NACRE_ERR_USAGE);
    longest[sizeof(longest) - 2] = '\0';
    assert_int_equal(nacre_session_tool(session, longest, &answer, &err), NACRE_OK);
}

/* U+00A0 is a blank as JavaScript trims: the list would be empty, and so allow all. */
static void a_list_of_blank_names_is_an_error_and_not_an_empty_list(void **state)
{
    const struct row row_list[] = { { B("\xc2\xa0", "[]") }, { B("*", "\xe3\x80\x80") } };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(row_list); i++) {
        NACRE_AUTO(nacre_config_guard)
        struct nacre_config *config = config_of_row(&row_list[i]);
        struct nacre_session_ask ask = { .home = HOME };
        struct nacre_session *session = NULL;
        struct nacre_error err;

        assert_int_equal(nacre_session_settle(config, &ask, &session, &err),
                         NACRE_ERR_PARSE);
        assert_null(session);
        assert_non_null(strstr(err.text, "must not be empty"));
    }
}

static void a_group_that_would_deny_nothing_is_an_error_at_its_place(void **state)
{
    const struct row row = { B("*", "x group:webs") };
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config = config_of_row(&row);
    struct nacre_session_ask ask = { .home = HOME };
    struct nacre_session *session = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_session_settle(config, &ask, &session, &err), NACRE_ERR_PARSE);
    assert_null(session);
    assert_int_equal(err.line, 362);
    assert_non_null(strstr(err.text, "'group:web'?"));
}

/* ---- elevation ---- */

static const struct {
    int global, agent;         /* enabled: -1 not said, 0 false, 1 true */
    const char *from, *own;    /* allowFrom of all and of the agent; NULL: not said */
    const char *sender;
    bool enabled, allowed;
    const char *gates; /* "gate key line; ..." */
} elevations[] = {
#define FROM "allowFrom tools.elevated.allowFrom"
#define OWN_FROM "allowFrom agents.entries.work.tools.elevated.allowFrom"
    { -1, -1, "discord:7", NULL, "discord:7", true, true, "" },
    { 1, 1, "discord:7", "discord:7", "discord:7", true, true, "" },
    { -1, -1, "discord:*", NULL, "discord:anybody", true, true, "" },
    { -1, -1, "Discord:Bob", NULL, "discord:bob", true, true, "" },
    { -1, -1, "discord:discord:7", NULL, "discord:7", true, true, "" },
    { -1, -1, "whatsapp:+49 discord:7", NULL, "discord:7", true, true, "" },
    { 0, -1, "discord:7", NULL, "discord:7", false, false,
      "enabled tools.elevated.enabled 51; " },
    { -1, 0, "discord:7", NULL, "discord:7", false, false,
      "enabled agents.entries.work.tools.elevated.enabled 61; " },
    { 0, 0, NULL, "slack:1", "discord:7", false, false,
      "enabled tools.elevated.enabled 51; "
      "enabled agents.entries.work.tools.elevated.enabled 61; "
      FROM ".discord 0; " OWN_FROM ".discord 62; " },
    { -1, -1, NULL, NULL, "discord:7", true, false, FROM ".discord 0; " },
    { -1, -1, "[]", NULL, "discord:7", true, false, FROM ".discord 52; " },
    { -1, -1, "discord:7", NULL, NULL, true, false, FROM " 52; " },
    { -1, -1, "discord:*", NULL, NULL, true, false, FROM " 52; " },
    { -1, -1, "discord:*", NULL, "discord:", true, false, FROM ".discord 52; " },
    { -1, -1, "discord:*", NULL, "discord", true, false, FROM " 52; " },
    { -1, -1, "discord:*", NULL, ":7", true, false, FROM " 52; " },
    { -1, -1, "discord:7", NULL, "discord:77", true, false, FROM ".discord 52; " },
    { -1, -1, "discord:77", NULL, "discord:7", true, false, FROM ".discord 52; " },
    { -1, -1, "discord:7", NULL, "slack:7", true, false, FROM ".slack 52; " },
    { -1, -1, "*:*", NULL, "slack:7", true, false, FROM ".slack 52; " },
    { -1, -1, "discord:7", "[]", "discord:7", true, false, OWN_FROM ".discord 62; " },
    { -1, -1, "discord:7", "slack:*", "discord:7", true, false,
      OWN_FROM ".discord 62; " },
    { -1, -1, "slack:*", "discord:7", "discord:7", true, false, FROM ".discord 52; " },
    { -1, -1, "discord:dis", NULL, "dis:dis", true, false, FROM ".dis 52; " },
};

static void set_enabled(struct nacre_flag *flag, int said, int line)
{
    if (said >= 0)
        *flag = (struct nacre_flag){ said, at(line) };
}

static void each_gate_must_let_the_sender_through(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(elevations); i++) {
        NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
            config_of(NACRE_DIALECT_OPENCLAW);
        struct nacre_agent_rules *agent = agent_of(config, "work");
        NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
        char gates[512] = "";

        set_enabled(&config->all.elevated.enabled, elevations[i].global, 51);
        set_enabled(&agent->elevated.enabled, elevations[i].agent, 61);
        add_rules(&config->all.elevated.allow_from, elevations[i].from, 52);
        add_rules(&agent->elevated.allow_from, elevations[i].own, 62);
        session = settle(config, "work", "x", elevations[i].sender);
        for (uint32_t k = 0; k < session->elevated.gate_count; k++)
            (void)snprintf(gates + strlen(gates), sizeof(gates) - strlen(gates),
                           "%s %s %d; ", session->elevated.gates[k].gate,
                           session->elevated.gates[k].key,
                           session->elevated.gates[k].place.line);
        if (session->elevated.enabled != elevations[i].enabled ||
            session->elevated.allowed != elevations[i].allowed ||
            strcmp(gates, elevations[i].gates) != 0)
            fail_msg("row %zu: enabled %d, allowed %d, gates: %s", i,
                     session->elevated.enabled, session->elevated.allowed, gates);
    }
}

static void a_dialect_without_elevation_has_none(void **state)
{
    static const enum nacre_dialect dialects[] = { NACRE_DIALECT_CLAWDIS,
                                                   NACRE_DIALECT_CONFIG_YML,
                                                   NACRE_DIALECT_CLAWPY };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(dialects); i++) {
        NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
            config_of(dialects[i]);
        NACRE_AUTO(nacre_session_guard) struct nacre_session *session =
            settle(config, NULL, NULL, "discord:7");

        assert_false(session->elevated.enabled);
        assert_false(session->elevated.allowed);
    }
}

/* ---- profiles ---- */

static void a_profile_narrows_what_the_lists_allow(void **state)
{
    static const struct {
        const char *of_all, *of_agent, *allow, *also, *tool;
        bool allowed;
        int line; /* that denies */
    } profiles[] = {
        { NULL, NULL, NULL, NULL, "exec", true, 0 },
        { "full", NULL, NULL, NULL, "exec", true, 0 },
        { "minimal", NULL, NULL, NULL, "session_status", true, 0 },
        { "minimal", NULL, NULL, NULL, "bash", false, 10 },
        { "minimal", NULL, NULL, NULL, "read", false, 10 },
        { "coding", NULL, NULL, NULL, "exec", true, 0 },
        { "coding", NULL, NULL, NULL, "apply-patch", true, 0 },
        { "coding", NULL, NULL, NULL, "view_image", false, 10 },
        { "messaging", NULL, NULL, NULL, "sessions_send", true, 0 },
        { "messaging", NULL, NULL, NULL, "sessions_spawn", false, 10 },
        { "messaging", NULL, NULL, NULL, "write", false, 10 },
        /* an agent's own stands in for that of all */
        { "coding", "minimal", NULL, NULL, "exec", false, 20 },
        { "minimal", "coding", NULL, NULL, "exec", true, 0 },
        { "minimal", "full", NULL, NULL, "exec", true, 0 },
        /* allow brings nothing back, alsoAllow adds to it */
        { "minimal", NULL, "exec read", NULL, "exec", false, 10 },
        { "minimal", NULL, NULL, "exec", "exec", true, 0 },
        { "minimal", NULL, NULL, "exec", "read", false, 10 },
        { "coding", NULL, "read", NULL, "exec", false, LINE_GLOBAL },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(profiles); i++) {
        NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
            config_of(NACRE_DIALECT_OPENCLAW);
        struct nacre_agent_rules *agent = agent_of(config, "work");
        NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
        struct nacre_answer answer = { 0 };
        struct nacre_error err;

        set_mode(&config->all.box, NACRE_MODE_ALL, 4);
        if (profiles[i].of_all)
            set_text(&config->all.tools.profile, profiles[i].of_all, 10);
        if (profiles[i].of_agent)
            set_text(&agent->tools.profile, profiles[i].of_agent, 20);
        fill(&config->all.tools,
             &(struct lists){ profiles[i].allow, profiles[i].also, NULL }, LINE_GLOBAL);
        session = settle(config, "work", "x", NULL);
        assert_int_equal(nacre_session_tool(session, profiles[i].tool, &answer, &err),
                         NACRE_OK);
        if (answer.allowed != profiles[i].allowed ||
            (!answer.allowed && answer.place.line != profiles[i].line))
            fail_msg("row %zu: %s at line %d: %s", i, profiles[i].tool,
                     answer.place.line, answer.text);
        if (!answer.allowed && profiles[i].line == 20)
            assert_string_equal(answer.rule, "agents.entries.work.tools.profile");
        if (!answer.allowed && profiles[i].line == 10)
            assert_non_null(strstr(answer.fix, "add tools.alsoAllow: ["));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_row_is_decided_by_its_line),
        cmocka_unit_test(a_denial_says_every_change_that_it_takes),
        cmocka_unit_test(a_default_is_changed_by_a_key_that_can_be_written),
        cmocka_unit_test(access_ro_switches_writing_off),
        cmocka_unit_test(what_is_no_tools_name_is_an_error),
        cmocka_unit_test(a_list_of_blank_names_is_an_error_and_not_an_empty_list),
        cmocka_unit_test(a_group_that_would_deny_nothing_is_an_error_at_its_place),
        cmocka_unit_test(each_gate_must_let_the_sender_through),
        cmocka_unit_test(a_dialect_without_elevation_has_none),
        cmocka_unit_test(a_profile_narrows_what_the_lists_allow),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
