/* Nothing that a configuration can say is lost on the way to the plan. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "session_words.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_a_sandbox_says_is_told_by_its_own_name),
        cmocka_unit_test(the_same_reaches_the_plan_that_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
