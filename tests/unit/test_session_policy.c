/*
 * What a session is compiled to, and that nothing which a configuration can say is lost
 * on the way to the plan.
 */
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

/* ---- nothing is lost ---- */

/* A value at its own line: the plan, or what explain tells, must speak of that line. */
struct member {
    const char *name;
    size_t offset; /* in struct nacre_box_rules */
    char kind;     /* 't'ext, 'l'ist, 'n'umber, 'f'lag */
    const char *value;
    enum nacre_dialect dialect;
    const char *key; /* what the decision's rule is called; NULL: it is told elsewhere */
};
#define OC NACRE_DIALECT_OPENCLAW
#define YML NACRE_DIALECT_CONFIG_YML
#define MEMBER(member, kind, value, dialect, key) \
    { #member, offsetof(struct nacre_box_rules, member), kind, value, dialect, key }
#define DOCKER(word) "agents.defaults.sandbox.docker." word
static const struct member members[] = {
    MEMBER(workspace_root, 't', "/srv/told", OC, NULL),
    MEMBER(session_tools_visibility, 't', "all", OC, NULL),
    MEMBER(container_prefix, 't', "told-", OC, NULL),
    MEMBER(container.image, 't', "told:1", OC, DOCKER("image")),
    MEMBER(container.workdir, 't', "/told", OC, DOCKER("workdir")),
    MEMBER(container.user, 't', "1000:1000", OC, DOCKER("user")),
    MEMBER(container.seccomp_profile, 't', "docker-default", OC,
           DOCKER("seccompProfile")),
    MEMBER(container.apparmor_profile, 't', "docker-default", OC,
           DOCKER("apparmorProfile")),
    MEMBER(container.selinux_label, 't', "type:container_t", YML,
           "sandbox.selinux_label"),
    MEMBER(container.setup_command, 't', "true", OC, DOCKER("setupCommand")),
    MEMBER(container.cpuset, 't', "0-1", YML, "sandbox.resource_limits.cpuset"),
    MEMBER(container.tmpfs, 'l', "/told", OC, DOCKER("tmpfs[0]")),
    MEMBER(container.keep_capabilities, 'l', "CHOWN", YML, "sandbox.keep_capabilities"),
    MEMBER(container.blocked_syscalls, 'l', "mount", YML, "sandbox.blocked_syscalls[0]"),
    MEMBER(container.environment, 'l', "TOLD=1", OC, DOCKER("env[0]")),
    MEMBER(container.ulimits, 'l', "core=1:2", OC, DOCKER("ulimits[0]")),
    MEMBER(container.read_only_root, 'f', "false", OC, DOCKER("readOnlyRoot")),
    MEMBER(container.memory_swap, 'n', "2147483648", OC, DOCKER("memorySwap")),
    MEMBER(container.memory_reservation, 'n', "1048576", YML,
           "sandbox.resource_limits.memory_reservation"),
    MEMBER(container.cpus_nano, 'n', "500000000", OC, DOCKER("cpus")),
    MEMBER(container.disk_bytes, 'n', "1048576", YML, "sandbox.resource_limits.disk"),
    MEMBER(container.disk_iops, 'n', "100", YML, "sandbox.resource_limits.disk_iops"),
    MEMBER(container.disk_io_weight, 'n', "100", YML,
           "sandbox.resource_limits.disk_io_weight"),
    MEMBER(memory_bytes, 'n', "268435456", OC, DOCKER("memory")),
    MEMBER(pids, 'n', "99", OC, DOCKER("pidsLimit")),
    MEMBER(cpu_shares, 'n', "512", YML, "sandbox.resource_limits.cpu_shares"),
    MEMBER(timeout_ms, 'n', "5000", YML, "sandbox.timeout"),
    MEMBER(output_bytes, 'n', "4096", YML, "sandbox.logging.max_output_size"),
    MEMBER(allowed_hosts, 'l', "told.example", YML, "sandbox.allowed_hosts[0]"),
    MEMBER(denied_hosts, 'l', "told.example", YML, "sandbox.denied_hosts[0]"),
    MEMBER(resolvers, 'l', "9.9.9.9", OC, DOCKER("dns[0]")),
    MEMBER(fixed_hosts, 'l', "told.example=9.9.9.9", OC, DOCKER("extraHosts[0]")),
    MEMBER(denied_paths, 'l', "/told", YML, "sandbox.blocked_paths[0]"),
    MEMBER(tools.allow, 'l', "told", OC, NULL),
    MEMBER(tools.also_allow, 'l', "told", OC, NULL),
    MEMBER(tools.deny, 'l', "told", OC, NULL),
    MEMBER(prune_idle_hours, 'n', "77", OC, NULL),
    MEMBER(prune_age_days, 'n', "77", OC, NULL),
};

#define LINE_TOLD 4711

static void set_member(struct nacre_box_rules *box, const struct member *member)
{
    void *target = (char *)box + member->offset;

    switch (member->kind) {
    case 't':
        set_text(target, member->value, LINE_TOLD);
        break;
    case 'l':
        add_rule(target, member->value, LINE_TOLD);
        break;
    case 'n':
        *(struct nacre_limit *)target =
            (struct nacre_limit){ strtoull(member->value, NULL, 10), at(LINE_TOLD) };
        break;
    default:
        *(struct nacre_flag *)target =
            (struct nacre_flag){ strcmp(member->value, "true") == 0, at(LINE_TOLD) };
    }
}

/* The decision that speaks of the line, by the name that its author knows. */
static bool plan_tells(const json_t *told, const char *key)
{
    const json_t *decision;
    size_t i;

    json_array_foreach(json_object_get(json_object_get(told, "plan"), "decisions"), i,
                       decision) {
        if (json_integer_value(json_object_get(decision, "line")) == LINE_TOLD &&
            strcmp(text_at(decision, "rule"), key) == 0)
            return true;
    }
    return false;
}

static bool tells_it(const struct member *member, const char *session_agent)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
        config_of(member->dialect);
    struct nacre_agent_rules *agent = agent_of(config, "work");
    NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
    NACRE_AUTO(nacre_heap_guard) char *text = NULL;
    NACRE_AUTO(json_guard) json_t *told = NULL;
    char value[64];

    set_mode(&config->all.box, NACRE_MODE_ALL, 4);
    config->all.box.network = NACRE_NETWORK_ALLOW_ALL;
    config->all.box.network_place = at(5);
    set_member(session_agent ? &agent->box : &config->all.box, member);
    session = settle(config, session_agent, "x");
    told = nacre_session_json(session, NULL);
    assert_non_null(told);
    if (member->key && !session_agent)
        return plan_tells(told, member->key);
    /* Somewhere its line or its value: idle hours are told in milliseconds. */
    text = json_dumps(told, JSON_COMPACT);
    assert_non_null(text);
    (void)snprintf(value, sizeof(value), "openclaw.json:%d:3", LINE_TOLD);
    return strstr(text, value) || strstr(text, "\"line\":4711") ||
           strstr(text, member->value) || strstr(text, "277200000") ||
           strstr(text, "6652800000");
}

static void whatever_a_sandbox_says_is_told_by_its_own_name(void **state)
{
    int failures = 0;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(members); i++) {
        if (!tells_it(&members[i], NULL))
            failures++, print_error("of all: %s is lost\n", members[i].name);
        if (members[i].dialect == OC && !tells_it(&members[i], "work"))
            failures++, print_error("of the agent: %s is lost\n", members[i].name);
    }
    assert_int_equal(failures, 0);
}

static void the_same_reaches_the_plan_that_runs(void **state)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
        config_of(NACRE_DIALECT_OPENCLAW);
    struct nacre_box_rules *all = &config->all.box;
    NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(members); i++)
        if (members[i].kind != 'l' || !strstr(members[i].name, "tools"))
            set_member(all, &members[i]);
    set_mode(all, NACRE_MODE_ALL, 4);
    all->network = NACRE_NETWORK_ALLOW_ALL;
    all->network_place = at(5);
    add_bind(&all->binds, "/srv/data", "/data", true, 6);
    session = settle(config, NULL, "x");
    plan = draft(session);
    assert_string_equal(plan->container.image, "told:1");
    assert_string_equal(plan->container.user, "1000:1000");
    assert_string_equal(plan->container.workdir, "/told");
    assert_string_equal(plan->directory, "/told");
    assert_string_equal(plan->container.setup_command, "true");
    assert_string_equal(plan->container.cpuset, "0-1");
    assert_string_equal(plan->container.environment[0], "TOLD=1");
    assert_string_equal(plan->container.blocked_syscalls[0], "mount");
    assert_false(plan->container.read_only_root);
    assert_int_equal(plan->container.memory_swap_bytes, 2147483648);
    assert_int_equal(plan->container.cpus_nano, 500000000);
    assert_int_equal(plan->container.disk_bytes, 1048576);
    assert_int_equal(plan->limits.memory_bytes_max, 268435456);
    assert_true(plan->limits.memory_asked);
    assert_int_equal(plan->limits.processes_max, 99);
    assert_int_equal(plan->limits.cpu_shares, 512);
    assert_int_equal(plan->limits.wall_ms_max, 5000);
    assert_int_equal(plan->limits.output_bytes_max, 4096);
    assert_int_equal(plan->egress.mode, NACRE_NETWORK_ALLOW_ALL);
    assert_string_equal(plan->egress.resolvers[0], "9.9.9.9");
    assert_string_equal(plan->egress.fixed_hosts[0], "told.example=9.9.9.9");
    assert_int_equal(plan->egress.denied_count, 1);
    assert_int_equal(plan->scope, NACRE_SCOPE_SESSION);
    assert_string_equal(plan->scope_key, "session:x");
}

/* ---- what it is compiled to ---- */

static void a_bare_sandbox_has_no_network_and_any_command(void **state)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
        config_of(NACRE_DIALECT_OPENCLAW);
    NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    struct nacre_answer answer;
    struct nacre_error err;

    (void)state;
    config->file = strdup("/etc/openclaw.json");
    set_mode(&config->all.box, NACRE_MODE_ALL, 4);
    session = settle(config, NULL, "x");
    plan = draft(session);
    assert_int_equal(plan->level, NACRE_LEVEL_CONTAINER);
    assert_int_equal(plan->egress.mode, NACRE_NETWORK_DENY);
    assert_string_equal(plan->container.image, "openclaw-sandbox:bookworm-slim");
    assert_string_equal(plan->container.environment[0], "LANG=C.UTF-8");
    assert_true(plan->container.read_only_root);
    assert_string_equal(plan->container.tmpfs[2], "/run:size=67108864");
    assert_string_equal(plan->denied_host_paths[0], "/etc/openclaw.json");
    assert_int_equal(session->files->level, NACRE_LEVEL_WASM);
    assert_string_equal(session->files->file, "/etc/openclaw.json");
    assert_int_equal(
        nacre_explain_command(session->shell, "$x | sh", &answer, &err), NACRE_OK);
    assert_true(answer.allowed);
}

static void without_a_sandbox_the_rules_for_commands_still_hold(void **state)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
        config_of(NACRE_DIALECT_OPENCLAW);
    NACRE_AUTO(nacre_session_guard) struct nacre_session *session =
        settle(config, NULL, NULL);
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = NULL;
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    struct nacre_request request = { 0 };
    struct nacre_answer answer;
    struct nacre_error err;

    (void)state;
    assert_false(session->sandboxed);
    nacre_session_request(session, &request);
    assert_true(request.unsandboxed);
    assert_string_equal(request.workspace, HOME "/.openclaw/workspace");
    assert_int_equal(nacre_result_new(&denials, &err), NACRE_OK);
    assert_int_equal(nacre_plan_make(session->shell, &request, &plan, denials, &err),
                     NACRE_OK);
    assert_int_equal(plan->level, NACRE_LEVEL_NONE);
    assert_string_equal(plan->directory, HOME "/.openclaw/workspace");
    assert_int_equal(nacre_explain_command(session->shell, "ls -l", &answer, &err),
                     NACRE_OK);
    assert_true(answer.allowed);
    assert_int_equal(nacre_explain_command(session->shell, "x | sh", &answer, &err),
                     NACRE_OK);
    assert_false(answer.allowed);
    nacre_policy_spell(session->shell, answer.rule, answer.fix, sizeof(answer.fix));
    assert_string_equal(answer.rule, "agents.defaults.sandbox.mode");
}

static void an_elevated_exec_has_no_mounts_and_level_none(void **state)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
        config_of_two(NACRE_SCOPE_AGENT);
    NACRE_AUTO(nacre_session_guard) struct nacre_session *session =
        settle(config, "work", "x");
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = NULL;
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    struct nacre_request request = { 0 };
    struct nacre_error err;

    (void)state;
    nacre_session_request_host(session, &request);
    assert_int_equal(nacre_result_new(&denials, &err), NACRE_OK);
    assert_int_equal(nacre_plan_make(session->host, &request, &plan, denials, &err),
                     NACRE_OK);
    assert_int_equal(plan->level, NACRE_LEVEL_NONE);
    assert_int_equal(plan->mount_count, 0);
}

static void memory_is_in_whole_mebibytes_and_that_is_said(void **state)
{
    static const struct {
        uint64_t bytes, mib;
        bool told;
    } rows[] = {
        { 1, 1, true },       { 1 << 20, 1, false }, { (1 << 20) - 1, 1, true },
        { (3 << 20) + 5, 3, true }, { 512 << 20, 512, false },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
            config_of(NACRE_DIALECT_CONFIG_YML);
        NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;

        config->all.box.memory_bytes = (struct nacre_limit){ rows[i].bytes, at(7) };
        session = settle(config, NULL, NULL);
        assert_int_equal(session->shell->limits.memory_mb.value, rows[i].mib);
        assert_int_equal(session->note_count, rows[i].told);
    }
}

static void a_profiles_own_numbers_are_enforced(void **state)
{
    static const struct {
        const char *profile;
        uint64_t mib, nano;
        bool read_only;
        enum nacre_network_mode network;
    } rows[] = {
        { "agent", 512, 1000000000, true, NACRE_NETWORK_DENY },
        { "heartbeat", 256, 500000000, false, NACRE_NETWORK_ALLOW_ALL },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
            config_of(NACRE_DIALECT_CLAWPY);
        NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;

        set_text(&config->profile, rows[i].profile, 1);
        session = settle(config, NULL, NULL);
        plan = draft(session);
        assert_int_equal(plan->limits.memory_bytes_max, rows[i].mib << 20);
        assert_true(plan->limits.memory_asked);
        assert_int_equal(plan->container.cpus_nano, rows[i].nano);
        assert_int_equal(plan->container.read_only_root, rows[i].read_only);
        assert_int_equal(plan->egress.mode, rows[i].network);
        assert_int_equal(plan->limits.wall_ms_max, 120000);
    }
}

static void nofile_and_nproc_are_limits_of_every_policy(void **state)
{
    static const struct {
        const char *ulimits;
        uint64_t pids, files, processes;
    } rows[] = {
        { "nofile=1024:2048 nproc=99:99", 0, 1024, 99 },
        { "nofile=1024 nproc=99", 50, 1024, 50 },
        { "core=0:0 nproc=99", 100, NACRE_DEFAULT_OPEN_FILES, 99 },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
            config_of(NACRE_DIALECT_OPENCLAW);
        NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;

        set_mode(&config->all.box, NACRE_MODE_ALL, 4);
        add_rules(&config->all.box.container.ulimits, rows[i].ulimits, 10);
        if (rows[i].pids)
            config->all.box.pids = (struct nacre_limit){ rows[i].pids, at(9) };
        session = settle(config, NULL, "x");
        plan = draft(session);
        assert_int_equal(plan->limits.open_files_max, rows[i].files);
        assert_int_equal(plan->limits.processes_max, rows[i].processes);
        for (uint32_t k = 0; k < plan->decision_count; k++)
            if (plan->decisions[k].verdict == NACRE_VERDICT_REFUSE)
                fail_msg("%s", plan->decisions[k].what);
    }
}

static void a_limit_of_none_is_an_error_at_its_place(void **state)
{
    static const size_t limits[] = {
        offsetof(struct nacre_box_rules, pids),
        offsetof(struct nacre_box_rules, cpu_shares),
        offsetof(struct nacre_box_rules, timeout_ms),
        offsetof(struct nacre_box_rules, output_bytes),
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(limits); i++) {
        NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
            config_of(NACRE_DIALECT_CONFIG_YML);
        struct nacre_limit *limit = (void *)((char *)&config->all.box + limits[i]);
        struct nacre_session *session = NULL;
        struct nacre_error err;

        limit->place = at(7);
        assert_int_equal(
            nacre_session_settle(config, &(struct nacre_session_ask){ .home = HOME },
                                 &session, &err),
            NACRE_ERR_PARSE);
        assert_null(session);
        assert_int_equal(err.line, 7);
    }
}

static void a_mount_wins_over_a_tmpfs_of_its_name(void **state)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
        config_of(NACRE_DIALECT_CONFIG_YML);
    NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;

    (void)state;
    add_rules(&config->all.box.container.tmpfs, "/tmp:size=64m /tmpx", 8);
    add_bind(&config->all.box.binds, "/srv/tmp", "/tmp", true, 9);
    session = settle(config, NULL, NULL);
    plan = draft(session);
    assert_string_equal(plan->container.tmpfs[0], "/tmpx:size=67108864");
    assert_null(plan->container.tmpfs[1]);
    assert_int_equal(session->note_count, 1);
}

/* Paths inside the sandbox: /etc of the host is the affair of the rules for binds. */
static void a_blocked_path_is_one_of_the_sandbox(void **state)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
        config_of(NACRE_DIALECT_CONFIG_YML);
    NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;

    (void)state;
    add_rules(&config->all.box.denied_paths, "/srv /data/secret", 8);
    add_bind(&config->all.box.binds, "/srv/data", "/data", false, 9);
    session = settle(config, NULL, NULL);
    plan = draft(session);
    assert_int_equal(plan->mount_count, 2);
    assert_string_equal(plan->mounts[1].host, "/srv/data");
    assert_int_equal(plan->mounts[1].denied_count, 1);
    assert_string_equal(plan->mounts[1].denied[0], "secret");
    assert_int_equal(plan->denied_host_count, 1);
    assert_string_equal(plan->denied_host_paths[0], "/srv/data/secret");
}

static void a_bind_that_can_not_be_is_an_error_at_its_place(void **state)
{
    static const struct {
        const char *host, *guest, *text;
    } rows[] = {
        { "data", "/data", "not an absolute path" },
        { "./data", "/data", "not an absolute path" },
        { "~bob/x", "/data", "not an absolute path" },
        { "/srv", "/workspace", "is taken" },
        { "/srv", "/agent", "is taken" },
        { "/srv", "/twice", "is taken" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
            config_of(NACRE_DIALECT_OPENCLAW);
        struct nacre_session_ask ask = { .home = HOME };
        struct nacre_session *session = NULL;
        struct nacre_error err;

        set_mode(&config->all.box, NACRE_MODE_ALL, 4);
        add_bind(&config->all.box.binds, "/srv/x", "/twice", false, 8);
        add_bind(&config->all.box.binds, rows[i].host, rows[i].guest, false, 9);
        assert_int_equal(nacre_session_settle(config, &ask, &session, &err),
                         NACRE_ERR_PARSE);
        assert_null(session);
        assert_int_equal(err.line, 9);
        if (!strstr(err.text, rows[i].text))
            fail_msg("row %zu: %s", i, err.text);
    }
}

static void a_home_that_nobody_has_is_an_error(void **state)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
        config_of(NACRE_DIALECT_OPENCLAW);
    struct nacre_session *session = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_session_settle(config, &(struct nacre_session_ask){ 0 },
                                          &session, &err),
                     NACRE_ERR_USAGE);
}

static void the_change_that_flips_a_session_is_told(void **state)
{
    static const struct {
        enum nacre_dialect dialect;
        enum nacre_mode mode; /* UNSET: not said */
        const char *fix;
    } rows[] = {
        { NACRE_DIALECT_OPENCLAW, NACRE_MODE_OFF,
          "openclaw.json:4:3: change 'off' to 'all'" },
        { NACRE_DIALECT_OPENCLAW, NACRE_MODE_ALL,
          "openclaw.json:4:3: change 'all' to 'off'" },
        { NACRE_DIALECT_OPENCLAW, NACRE_MODE_NON_MAIN,
          "openclaw.json:4:3: change 'non-main' to 'off'" },
        { NACRE_DIALECT_OPENCLAW, NACRE_MODE_UNSET,
          "add agents.defaults.sandbox.mode: all" },
        { NACRE_DIALECT_CLAWDIS, NACRE_MODE_UNSET, "add agent.sandbox.mode: all" },
        { NACRE_DIALECT_CONFIG_YML, NACRE_MODE_OFF,
          "openclaw.json:4:3: change 'false' to 'true'" },
        { NACRE_DIALECT_CONFIG_YML, NACRE_MODE_UNSET, "add sandbox.enabled: false" },
        { NACRE_DIALECT_CLAWPY, NACRE_MODE_UNSET, "nothing in this dialect can say it" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
            config_of(rows[i].dialect);
        NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
        NACRE_AUTO(json_guard) json_t *told = NULL;

        if (rows[i].mode)
            set_mode(&config->all.box, rows[i].mode, 4);
        session = settle(config, NULL, "x");
        told = nacre_session_json(session, NULL);
        assert_string_equal(text_at(json_object_get(told, "exec"), "fix"), rows[i].fix);
    }
}

static void an_agent_of_the_older_list_is_told_by_it(void **state)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
        config_of_two(NACRE_SCOPE_AGENT);
    NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
    char rule[64] = "container.image", fix[256] = "";

    (void)state;
    config->agents[0].listed = true;
    session = settle(config, "work", "x");
    nacre_policy_spell(session->shell, rule, fix, sizeof(fix));
    assert_string_equal(rule, "agents.list[].sandbox.docker.image");
    (void)snprintf(rule, sizeof(rule), "capabilities.filesystem.mode");
    (void)snprintf(fix, sizeof(fix),
                   "add under spec.capabilities.filesystem.mount_paths: - {path: /a, "
                   "permissions: rw}");
    nacre_policy_spell(session->shell, rule, fix, sizeof(fix));
    assert_string_equal(
        fix, "add under agents.defaults.sandbox.docker.binds: - \"/a:/a:rw\"");
}

/* ---- where names lead ---- */

static void a_resolver_or_fixed_answer_that_is_none_is_refused_by_its_key(void **state)
{
    static const struct {
        const char *resolver, *fixed, *rule;
    } rows[] = {
        { "dns.example", NULL, DOCKER("dns") },
        { "1.2.3", NULL, DOCKER("dns") },
        { "", NULL, DOCKER("dns") },
        { NULL, "name", DOCKER("extraHosts") },
        { NULL, "name=", DOCKER("extraHosts") },
        { NULL, "name=host", DOCKER("extraHosts") },
        { NULL, "=9.9.9.9", DOCKER("extraHosts") },
        { NULL, "*.a.example=9.9.9.9", DOCKER("extraHosts") },
        { NULL, "a.example:80=9.9.9.9", DOCKER("extraHosts") },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
            config_of(NACRE_DIALECT_OPENCLAW);
        struct nacre_box_rules *all = &config->all.box;
        NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
        NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = NULL;
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
        struct nacre_request request = { 0 };
        struct nacre_error err;

        set_mode(all, NACRE_MODE_ALL, 4);
        all->network = NACRE_NETWORK_ALLOW_ALL;
        all->network_place = at(5);
        if (rows[i].resolver)
            add_rule(&all->resolvers, rows[i].resolver, 6);
        if (rows[i].fixed)
            add_rule(&all->fixed_hosts, rows[i].fixed, 6);
        session = settle(config, NULL, "x");
        nacre_session_request(session, &request);
        assert_int_equal(nacre_result_new(&denials, &err), NACRE_OK);
        assert_int_equal(nacre_plan_make(session->shell, &request, &plan, denials, &err),
                         NACRE_ERR_DENIED);
        assert_int_equal(err.line, 6);
        nacre_policy_spell(session->shell, denials->denials[0].rule,
                           denials->denials[0].fix, sizeof(denials->denials[0].fix));
        assert_memory_equal(denials->denials[0].rule, rows[i].rule, strlen(rows[i].rule));
    }
}

static const char *what_of(const struct nacre_plan *plan, const char *rule,
                           enum nacre_verdict *ret_verdict)
{
    for (uint32_t i = 0; i < plan->decision_count; i++)
        if (strcmp(plan->decisions[i].rule, rule) == 0) {
            *ret_verdict = plan->decisions[i].verdict;
            return plan->decisions[i].what;
        }
    fail_msg("no decision %s", rule);
    return NULL;
}

static void a_fixed_answer_is_judged_like_any(void **state)
{
    static const struct {
        const char *fixed;
        bool open;
        enum nacre_verdict verdict;
    } rows[] = {
        { "a.example=9.9.9.9", true, NACRE_VERDICT_GRANT },
        { "a.example=10.0.0.1", true, NACRE_VERDICT_DENY },
        { "a.example=127.0.0.1", true, NACRE_VERDICT_DENY },
        { "a.example=169.254.169.254", true, NACRE_VERDICT_DENY },
        { "a.example=::1", true, NACRE_VERDICT_DENY },
        { "a.example=9.9.9.9", false, NACRE_VERDICT_NOTE },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_config_guard) struct nacre_config *config =
            config_of(NACRE_DIALECT_OPENCLAW);
        struct nacre_box_rules *all = &config->all.box;
        NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
        enum nacre_verdict verdict;

        set_mode(all, NACRE_MODE_ALL, 4);
        all->network = rows[i].open ? NACRE_NETWORK_ALLOW_ALL : NACRE_NETWORK_DENY;
        all->network_place = at(5);
        add_rule(&all->fixed_hosts, rows[i].fixed, 6);
        session = settle(config, NULL, "x");
        plan = draft(session);
        (void)what_of(plan, "capabilities.network.fixed_hosts[0]", &verdict);
        assert_int_equal(verdict, rows[i].verdict);
    }
}

/* ---- the dialect's own words ---- */

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

static enum nacre_verdict verdict_of(const struct nacre_plan *plan, const char *rule)
{
    for (uint32_t i = 0; i < plan->decision_count; i++)
        if (strcmp(plan->decisions[i].rule, rule) == 0)
            return plan->decisions[i].verdict;
    return NACRE_VERDICT_COUNT;
}

static void a_token_is_clawpys_and_no_other_dialects(void **state)
{
    static const char *const tokens[] = { "key", NULL };

    (void)state;
    for (enum nacre_dialect dialect = NACRE_DIALECT_OPENCLAW;
         dialect < NACRE_DIALECT_COUNT; dialect++) {
        NACRE_AUTO(nacre_config_guard) struct nacre_config *config = config_of(dialect);
        NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
        const struct nacre_policy *policies[2];
        bool has = dialect == NACRE_DIALECT_CLAWPY;

        if (!has)
            set_mode(&config->all.box, NACRE_MODE_ALL, 4);
        session = settle(config, NULL, "x");
        policies[0] = session->shell;
        policies[1] = session->files;
        for (size_t i = 0; i < NACRE_COUNT(policies); i++) {
            NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
            struct nacre_request request = { .tokens = tokens };
            struct nacre_error err;

            nacre_session_request(session, &request);
            assert_int_equal(nacre_plan_draft(policies[i], &request, &plan, &err),
                             NACRE_OK);
            assert_int_equal(verdict_of(plan, "request.tokens"),
                             has ? NACRE_VERDICT_GRANT : NACRE_VERDICT_REFUSE);
            if (has)
                assert_int_equal(plan->injection, NACRE_INJECTION_HOST_BOUNDARY);
        }
        /* Lifted out of its sandbox there is no door. */
        assert_int_equal(session->host->secrets.place.line, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_a_sandbox_says_is_told_by_its_own_name),
        cmocka_unit_test(the_same_reaches_the_plan_that_runs),
        cmocka_unit_test(a_bare_sandbox_has_no_network_and_any_command),
        cmocka_unit_test(without_a_sandbox_the_rules_for_commands_still_hold),
        cmocka_unit_test(an_elevated_exec_has_no_mounts_and_level_none),
        cmocka_unit_test(memory_is_in_whole_mebibytes_and_that_is_said),
        cmocka_unit_test(a_profiles_own_numbers_are_enforced),
        cmocka_unit_test(a_token_is_clawpys_and_no_other_dialects),
        cmocka_unit_test(nofile_and_nproc_are_limits_of_every_policy),
        cmocka_unit_test(a_limit_of_none_is_an_error_at_its_place),
        cmocka_unit_test(a_mount_wins_over_a_tmpfs_of_its_name),
        cmocka_unit_test(a_blocked_path_is_one_of_the_sandbox),
        cmocka_unit_test(a_bind_that_can_not_be_is_an_error_at_its_place),
        cmocka_unit_test(a_home_that_nobody_has_is_an_error),
        cmocka_unit_test(the_change_that_flips_a_session_is_told),
        cmocka_unit_test(an_agent_of_the_older_list_is_told_by_it),
        cmocka_unit_test(a_resolver_or_fixed_answer_that_is_none_is_refused_by_its_key),
        cmocka_unit_test(a_fixed_answer_is_judged_like_any),
        cmocka_unit_test(a_denial_names_the_key_that_its_reader_knows),
        cmocka_unit_test(no_word_of_ckp_is_left_in_a_plan),
        cmocka_unit_test(the_words_of_another_dialect_stand_in_for_ckps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
