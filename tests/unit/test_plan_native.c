/*
 * Plans of the native levels: what a command may have, what is refused in any policy and
 * any request, whose sandbox it is and what may go unenforced.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "asked.h"
#include "fail_alloc.h"
#include "nacre/plan.h"
#include "plan_words.h"

#define NATIVE(level, words) LEVEL(level) "  capabilities:\n" words
#define NATIVE_FILES(level, mode) \
    NATIVE(level, "    filesystem:\n      mode: " mode "\n")
#define MOUNTS "      mount_paths:\n"

#define ALWAYS                                                                     \
    (NACRE_FEATURE_NATIVE | NACRE_FEATURE_WALL_LIMIT | NACRE_FEATURE_OUTPUT_LIMIT | \
     NACRE_FEATURE_OPEN_FILES)
#define BOXED (ALWAYS | NACRE_FEATURE_PROCESSES | NACRE_FEATURE_NO_NETWORK)

static struct nacre_result *result_new(void)
{
    struct nacre_result *result = NULL;
    struct nacre_error err;

    assert_int_equal(nacre_result_new(&result, &err), NACRE_OK);
    return result;
}

static struct nacre_plan *plan_of(const struct nacre_policy *policy,
                                  const struct nacre_request *request)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = result_new();
    struct nacre_plan *plan = NULL;
    struct nacre_error err;

    if (nacre_plan_make(policy, request, &plan, denials, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return plan;
}

/* ---- what is required ---- */

static const struct {
    const char *yaml;
    uint64_t required;
    const char *directory;
    uint32_t mounts;
    bool full_tree;
} plans[] = {
    { LEVEL("process"), BOXED, "/", 0, false },
    { NATIVE_FILES("process", "scoped") MOUNTS MOUNT("/workspace", "rw"),
      BOXED | NACRE_FEATURE_FS_BENEATH, "/workspace", 1, false },
    { NATIVE_FILES("process", "scoped") MOUNTS MOUNT("/workspace", "rw")
          DENIED("/workspace/s"),
      BOXED | NACRE_FEATURE_FS_BENEATH | NACRE_FEATURE_FS_DENIED, "/workspace", 1,
      false },
    { NATIVE_FILES("process", "deny"), BOXED, "/", 0, false },
    { NATIVE_FILES("container", "deny") DENIED("/usr/bin/curl"),
      BOXED | NACRE_FEATURE_FS_DENIED, "/", 0, false },
    { NATIVE_FILES("process", "deny") DENIED("/home, /proc, /etc/shadow"), BOXED, "/", 0,
      false },
    { NATIVE_FILES("process", "read-only"), BOXED | NACRE_FEATURE_FS_BENEATH,
      "/workspace", 1, false },
    { NATIVE_FILES("process", "full"),
      BOXED | NACRE_FEATURE_FS_BENEATH | NACRE_FEATURE_FS_FULL, "/", 1, true },
    { NATIVE_FILES("container", "full"), BOXED, "/", 0, false },
    { NATIVE_FILES("container", "full") MOUNTS MOUNT("/data", "ro"),
      BOXED | NACRE_FEATURE_FS_BENEATH, "/", 1, false },
    { LEVEL("process") "  resource_limits: {memory_mb: 64}\n",
      BOXED | NACRE_FEATURE_MEMORY_LIMIT, "/", 0, false },
    { LEVEL("process") "  resource_limits: {cpu_shares: 512}\n",
      BOXED | NACRE_FEATURE_CPU_SHARES_ANY, "/", 0, false },
    { LEVEL("container") "  resource_limits: {memory_mb: 64, cpu_shares: 2048}\n",
      BOXED | NACRE_FEATURE_MEMORY_LIMIT | NACRE_FEATURE_SWAP_LIMIT |
          NACRE_FEATURE_CPU_SHARES_ANY, "/", 0, false },
    { LEVEL("none"), ALWAYS, "/", 0, false },
    { LEVEL("none") "  resource_limits: {max_processes: 5, memory_mb: 64}\n",
      ALWAYS | NACRE_FEATURE_PROCESSES | NACRE_FEATURE_MEMORY_LIMIT, "/", 0, false },
    { NATIVE("none", "    network: {mode: allow-all}\n    filesystem: {mode: full}\n"),
      ALWAYS, "/", 0, false },
};

static void a_native_plan_requires_exactly_what_its_lines_need(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(plans); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
            policy_of(plans[i].yaml);
        const struct nacre_request request = { .unsandboxed = true };
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = plan_of(policy, &request);

        print_message("%s\n", plans[i].yaml);
        assert_int_equal(plan->required, plans[i].required);
        assert_int_equal(plan->required & ~nacre_level_features(plan->level), 0);
        assert_string_equal(plan->directory, plans[i].directory);
        assert_int_equal(plan->mount_count, plans[i].mounts);
        assert_int_equal(plan->full_tree, plans[i].full_tree);
        assert_int_equal(plan->limits.fuel_max, 0);
        assert_int_equal(plan->limits.wall_ms_max, 120000);
        assert_int_equal(plan->waivable, 0);
        assert_int_equal(plan->scope, NACRE_SCOPE_RUN);
        assert_null(plan->scope_key);
    }
}

/* ---- what is refused ---- */

static const char *const waive_network[] = { "cpu_shares", "network", NULL };
static const char *const waive_none[] = { "", NULL };

static const struct {
    const char *yaml;
    struct nacre_request request;
    enum nacre_status status;
    const char *code, *rule;
    int line;
    const char *text; /* how it begins */
} refused[] = {
    { LEVEL("none"), { 0 }, NACRE_ERR_DENIED, "unsandboxed", "level", 6,
      "level none runs" },
    { LEVEL("process"), { .fuel = 5 }, NACRE_ERR_DENIED, "wrong-level", "request.fuel", 0,
      "fuel is counted at level wasm alone" },
    { LEVEL("container"), { .invoke = "add" }, NACRE_ERR_DENIED, "wrong-level",
      "request.invoke", 0, "an export is invoked at level wasm alone" },
    { HEAD, { .directory = "/" }, NACRE_ERR_DENIED, "wrong-level", "request.directory", 0,
      "a guest at level wasm" },
    { HEAD, { .image = "debian" }, NACRE_ERR_DENIED, "wrong-level", "request.image", 0,
      "there are images" },
    { LEVEL("process"), { .image = "debian" }, NACRE_ERR_DENIED, "wrong-level",
      "request.image", 0, "there are images" },
    { HEAD, { .dial_fd = 9 }, NACRE_ERR_DENIED, "wrong-level", "request.dial", 0,
      "there are connections into a sandbox at level container alone" },
    { LEVEL("process"), { .dial_fd = 9 }, NACRE_ERR_DENIED, "wrong-level",
      "request.dial", 0, "there are connections" },
    { LEVEL("process"), { .directory = "src" }, NACRE_ERR_DENIED, "bad-request",
      "request.directory", 0, "the directory to start in" },
    { LEVEL("process"), { .directory = "/proc/self/fd" }, NACRE_ERR_DENIED, "bad-request",
      "request.directory", 0, "the directory to start in" },
    { LEVEL("process"), { .directory = "/x/../proc/self/cwd" }, NACRE_ERR_DENIED,
      "bad-request", "request.directory", 0, "the directory to start in" },
    { LEVEL("process"), { .scope = NACRE_SCOPE_SESSION }, NACRE_ERR_DENIED, "bad-request",
      "request.scope", 0, "scope session, and no session" },
    { LEVEL("container"), { .scope = NACRE_SCOPE_SESSION, .session = "" },
      NACRE_ERR_DENIED, "bad-request", "request.scope", 0, "scope session" },
    { LEVEL("container"), { .scope = NACRE_SCOPE_AGENT, .session = "s" },
      NACRE_ERR_DENIED, "bad-request", "request.scope", 0, "scope agent, and no agent" },
    { LEVEL("process"), { .waive = waive_network }, NACRE_ERR_DENIED, "bad-waiver",
      "request.waive", 0, "'network' is not a line that can be waived" },
    { HEAD, { .waive = waive_none }, NACRE_ERR_DENIED, "bad-waiver", "request.waive", 0,
      "'' is not a line" },
    { LEVEL("container"), { .image = "--privileged" }, NACRE_ERR_DENIED, "bad-container",
      "request.image", 0, "'--privileged' is not the name of an image" },
    { LEVEL("container"), { .image = "a b" }, NACRE_ERR_DENIED, "bad-container",
      "request.image", 0, "'a b' is not" },

    /* What no level enforces yet, or not this one. */
    { NATIVE("none", "    network: {mode: deny}\n"), { .unsandboxed = true },
      NACRE_ERR_UNAVAILABLE, "not-enforceable", "capabilities.network.mode", 8,
      "deny can't be enforced at level none" },
    { NATIVE("none", "    network: {allowed_hosts: [a.example]}\n"),
      { .unsandboxed = true }, NACRE_ERR_UNAVAILABLE, "not-enforceable",
      "capabilities.network.allowed_hosts", 8, "allowed_hosts can't be enforced" },
    { NATIVE("none",
             "    network: {mode: allow-all, ssrf_protection: {enabled: true}}\n"),
      { .unsandboxed = true }, NACRE_ERR_UNAVAILABLE, "not-enforceable",
      "capabilities.network.ssrf_protection.enabled", 8, "true can't be enforced" },
    { NATIVE_FILES("none", "deny"), { .unsandboxed = true }, NACRE_ERR_UNAVAILABLE,
      "not-enforceable", "capabilities.filesystem.mode", 9, "deny can't be enforced" },
    { NATIVE_FILES("none", "full") DENIED("/etc"), { .unsandboxed = true },
      NACRE_ERR_UNAVAILABLE, "not-enforceable",
      "capabilities.filesystem.denied_paths[0]", 10, "/etc can't be enforced" },
    { NATIVE_FILES("none", "full") MOUNTS MOUNT("/data", "rw"), { .unsandboxed = true },
      NACRE_ERR_UNAVAILABLE, "not-enforceable", "capabilities.filesystem.mount_paths[0]",
      11, "/data can't be enforced" },

    { NATIVE_FILES("process", "deny") DENIED("/usr/bin/curl"), { 0 },
      NACRE_ERR_UNAVAILABLE, "not-enforceable",
      "capabilities.filesystem.denied_paths[0]", 10,
      "/usr/bin/curl lies in the sandbox's own files" },
    { NATIVE_FILES("process", "deny") DENIED("/etc/ssl/certs/x"), { 0 },
      NACRE_ERR_UNAVAILABLE, "not-enforceable",
      "capabilities.filesystem.denied_paths[0]", 10, "/etc/ssl/certs/x lies in" },
    { NATIVE_FILES("process", "deny") DENIED("/etc"), { 0 }, NACRE_ERR_UNAVAILABLE,
      "not-enforceable", "capabilities.filesystem.denied_paths[0]", 10, "/etc lies in" },
    { NATIVE_FILES("process", "deny") DENIED("/"), { 0 }, NACRE_ERR_UNAVAILABLE,
      "not-enforceable", "capabilities.filesystem.denied_paths[0]", 10, "/ lies in" },
    { NATIVE_FILES("process", "full") DENIED("/"), { 0 }, NACRE_ERR_UNAVAILABLE,
      "not-enforceable", "capabilities.filesystem.denied_paths[0]", 10, "/ lies in" },

    /* Mounts that no native sandbox has. */
    { NATIVE_FILES("process", "scoped") MOUNTS MOUNT("/etc", "ro"), { 0 },
      NACRE_ERR_DENIED, "bad-bind", "capabilities.filesystem.mount_paths[0]", 11,
      "/etc: nothing is mounted over /etc" },
    { NATIVE_FILES("container", "scoped") MOUNTS MOUNT("/var/run/docker.sock", "rw"),
      { 0 }, NACRE_ERR_DENIED, "bad-bind", "capabilities.filesystem.mount_paths[0]", 11,
      "/var/run/docker.sock from /var/run/docker.sock: it is, or lies in, /var/run" },
    { NATIVE_FILES("process", "scoped") MOUNTS MOUNT("/var", "ro"), { 0 },
      NACRE_ERR_DENIED, "bad-bind", "capabilities.filesystem.mount_paths[0]", 11,
      "/var from /var: it would bring along /var/run" },
    { NATIVE_FILES("process", "scoped") MOUNTS MOUNT("/", "ro"), { 0 }, NACRE_ERR_DENIED,
      "bad-bind", "capabilities.filesystem.mount_paths[0]", 11,
      "/: nothing is mounted over /" },
    { NATIVE_FILES("process", "scoped") MOUNTS MOUNT("/workspace", "rw"),
      { .workspace = "/home/ann/.ssh" }, NACRE_ERR_DENIED, "bad-bind",
      "capabilities.filesystem.mount_paths[0]", 11,
      "/workspace from /home/ann/.ssh: it is, or lies in, .ssh" },
    { NATIVE_FILES("process", "read-only"), { .workspace = "/home/ann" },
      NACRE_ERR_DENIED, "bad-bind", "capabilities.filesystem.mode", 9,
      "/workspace from /home/ann: it is, or lies in, a home directory" },
    { NATIVE_FILES("process", "scoped") MOUNTS MOUNT("data", "rw"), { 0 },
      NACRE_ERR_DENIED, "bad-mount", "capabilities.filesystem.mount_paths[0]", 11,
      "data is relative, and at level process" },
    { NATIVE_FILES("container", "full"), { .workspace = "/srv/w" }, NACRE_ERR_DENIED,
      "mount-not-covered", "capabilities.filesystem.mount_paths", 9,
      "mount request /workspace" },
};

static void every_refusal_of_a_native_plan_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(refused); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
            policy_of(refused[i].yaml);
        NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = result_new();
        struct nacre_plan *plan = NULL;
        struct nacre_error err;

        print_message("%s\n", refused[i].text);
        assert_int_equal(
            nacre_plan_make(policy, &refused[i].request, &plan, denials, &err),
            refused[i].status);
        assert_null(plan);
        assert_int_equal(denials->denials_seen, 1);
        assert_string_equal(denials->denials[0].code, refused[i].code);
        assert_string_equal(denials->denials[0].rule, refused[i].rule);
        assert_int_equal(denials->denials[0].place.line, refused[i].line);
        assert_memory_equal(denials->denials[0].text, refused[i].text,
                            strlen(refused[i].text));
        assert_true(denials->denials[0].fix[0]);
    }
}

static void the_same_requests_pass_where_they_belong(void **state)
{
    static const struct {
        const char *yaml;
        struct nacre_request request;
    } rows[] = {
        { HEAD, { .fuel = 5, .invoke = "add" } },
        { LEVEL("none"), { .unsandboxed = true, .workspace = "/srv/w" } },
        { LEVEL("process"), { .unsandboxed = true } }, /* a sandbox all the same */
        { LEVEL("container"), { .image = "debian:bookworm", .directory = "/srv" } },
        { NATIVE_FILES("process", "scoped") MOUNTS MOUNT("/workspace", "rw"),
          { .workspace = "/home/ann/project" } },
        { NATIVE_FILES("process", "scoped") MOUNTS MOUNT("/usr-data", "ro"), { 0 } },
        /* What a wasm guest may see is decided by name, at each step. */
        { SCOPED MOUNT("/etc", "ro") MOUNT("/", "ro"), { 0 } },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
            policy_of(rows[i].yaml);

        nacre_plan_free(plan_of(policy, &rows[i].request));
    }
}

/* ---- where a command starts, and whose sandbox it is ---- */

static void a_command_starts_where_it_was_asked_to(void **state)
{
    static const struct {
        const char *yaml;
        struct nacre_request request;
        const char *directory;
    } rows[] = {
        { LEVEL("process"), { .directory = "/srv//x/." }, "/srv/x" },
        { NATIVE_FILES("process", "read-only"), { .directory = "/tmp" }, "/tmp" },
        { LEVEL("none"), { .unsandboxed = true, .workspace = "/srv/w" }, "/srv/w" },
        { LEVEL("none"),
          { .unsandboxed = true, .workspace = "/srv/w", .directory = "/srv/d" },
          "/srv/d" },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
            policy_of(rows[i].yaml);
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan =
            plan_of(policy, &rows[i].request);

        assert_string_equal(plan->directory, rows[i].directory);
    }
}

static void a_scope_has_a_key_that_no_other_scope_can_have(void **state)
{
    static const struct {
        const char *level;
        struct nacre_request request;
        enum nacre_scope scope;
        const char *key;
    } rows[] = {
        { LEVEL("container"), { 0 }, NACRE_SCOPE_RUN, NULL },
        { LEVEL("container"), { .session = "s" }, NACRE_SCOPE_SESSION, "session:s" },
        { LEVEL("container"), { .session = "s", .scope = NACRE_SCOPE_RUN },
          NACRE_SCOPE_RUN, NULL },
        { LEVEL("container"), { .session = "s", .agent = "a",
                                .scope = NACRE_SCOPE_AGENT },
          NACRE_SCOPE_AGENT, "agent:a" },
        { LEVEL("container"), { .scope = NACRE_SCOPE_SHARED }, NACRE_SCOPE_SHARED,
          "shared" },
        { LEVEL("container"), { .session = "shared" }, NACRE_SCOPE_SESSION,
          "session:shared" },
        { LEVEL("container"), { .session = "agent:a" }, NACRE_SCOPE_SESSION,
          "session:agent:a" },
        { LEVEL("process"), { .session = "s" }, NACRE_SCOPE_RUN, NULL },
        { LEVEL("process"), { .scope = NACRE_SCOPE_SHARED }, NACRE_SCOPE_RUN, NULL },
        { HEAD, { .session = "s", .scope = NACRE_SCOPE_SESSION }, NACRE_SCOPE_RUN, NULL },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
            policy_of(rows[i].level);
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan =
            plan_of(policy, &rows[i].request);

        assert_int_equal(plan->scope, rows[i].scope);
        if (rows[i].key)
            assert_string_equal(plan->scope_key, rows[i].key);
        else
            assert_null(plan->scope_key);
        assert_int_equal(!!(plan->required & NACRE_FEATURE_WARM), rows[i].key != NULL);
    }
}

/* ---- waivers ---- */

static void a_waived_line_is_not_asked_of_the_executor(void **state)
{
    static const char *const waive[] = { "memory_mb", "cpu_shares", "disk", NULL };
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
        policy_of(LEVEL("process") "  resource_limits: {memory_mb: 64, cpu_shares: 7}\n");
    const struct nacre_request request = { .waive = waive };
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = plan_of(policy, &request);
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *strict =
        plan_of(policy, &(struct nacre_request){ 0 });
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *draft = NULL;
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = result_new();
    uint64_t lacking = NACRE_FEATURE_CPU_SHARES_ANY;
    struct nacre_plan view = nacre_plan_without(plan, lacking);
    struct nacre_error err;
    int waived = 0;

    (void)state;
    /* Only what the policy asks for can be waived. */
    assert_int_equal(plan->waivable,
                     NACRE_FEATURE_MEMORY_LIMIT | NACRE_FEATURE_CPU_SHARES_ANY);
    assert_int_equal(view.limits.cpu_shares, 0);
    assert_int_equal(view.required, plan->required & ~lacking);
    assert_true(view.limits.memory_asked);
    assert_int_equal(plan->limits.cpu_shares, 7);
    /* A sandbox that may lack a wall is shared with nobody who did not agree. */
    assert_false(nacre_digest_equal(&plan->digest, &strict->digest));

    nacre_plan_deny(plan, ~lacking, denials);
    assert_int_equal(denials->denials_seen, 0);
    nacre_plan_deny(strict, ~lacking, denials);
    assert_int_equal(denials->denials_seen, 1);
    assert_string_equal(denials->denials[0].rule, "resource_limits.cpu_shares");
    assert_non_null(strstr(denials->denials[0].fix, "--waive cpu_shares"));

    assert_int_equal(nacre_plan_draft(policy, &request, &draft, &err), NACRE_OK);
    nacre_plan_settle(draft, ~lacking);
    for (uint32_t i = 0; i < draft->decision_count; i++) {
        assert_int_not_equal(draft->decisions[i].verdict, NACRE_VERDICT_REFUSE);
        if (draft->decisions[i].verdict != NACRE_VERDICT_WAIVE)
            continue;
        waived++;
        assert_string_equal(draft->decisions[i].rule, "resource_limits.cpu_shares");
        assert_string_equal(draft->decisions[i].mechanism, "");
    }
    assert_int_equal(waived, 1);
}

static void every_waiver_takes_its_line_out_of_the_plan(void **state)
{
    static const uint64_t features[] = {
#define X(id, name) NACRE_FEATURE_##id,
        NACRE_WAIVER_MAP(X)
#undef X
    };
    char text[] = "x";
    const struct nacre_plan plan = {
        .required = UINT32_MAX,
        .limits = { .memory_bytes_max = 5, .memory_asked = true, .cpu_shares = 1,
                    .processes_max = 1 },
        .container = { .apparmor_profile = text, .selinux_label = text, .cpuset = text,
                       .seccomp_profile = text,
                       .memory_swap_bytes = 9, .memory_reservation_bytes = 1,
                       .cpus_nano = 1, .disk_bytes = 1, .disk_iops = 1,
                       .disk_io_weight = 1 },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(features); i++) {
        struct nacre_plan view = nacre_plan_without(&plan, features[i]);

        assert_non_null(nacre_waiver_name((enum nacre_feature)features[i]));
        /* The ways of the hosts have it from the beginning; a machine without KVM is
         * what the mask alone tells. */
        if (features[i] == NACRE_FEATURE_TUNNEL_SCAN || features[i] == NACRE_FEATURE_KVM)
            continue;
        view.required = plan.required;
        assert_memory_not_equal(&view, &plan, sizeof(plan));
    }
    assert_null(nacre_waiver_name(NACRE_FEATURE_NO_NETWORK));
    assert_null(nacre_waiver_name(NACRE_FEATURE_FS_DENIED));
    assert_null(nacre_waiver_name(NACRE_FEATURE_WALL_LIMIT));
}

/* ---- every line has its wall ---- */

#define REST \
    "  capabilities:\n" \
    "    filesystem:\n" \
    "      mode: scoped\n" \
    "      mount_paths:\n" MOUNT("/workspace", "rw") MOUNT("/data", "ro") \
    DENIED("/workspace/s, %s, /proc, /sys/fs") \
    "    shell: {mode: restricted, blocked_commands: [rm], blocked_patterns: [x]}\n" \
    "  resource_limits: {memory_mb: 6, cpu_shares: 2, max_processes: 3,\n" \
    "    max_open_files: 32, timeout_ms: 5, max_output_bytes: 6}\n"

static void every_decision_of_every_level_names_what_enforces_it(void **state)
{
    static const struct {
        const char *head, *denied;
        uint32_t in_root;
    } levels[] = {
        { LEVEL("process"), "/etc/shadow", 0 },
        { LEVEL("container"), "/usr/bin/curl", 1 },
        { LEVEL("vm"), "/usr/bin/curl", 1 },
        { LEVEL("vm") "  runtime: firecracker\n", "/usr/bin/curl", 1 },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(levels); i++) {
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
        char yaml[4096];

        (void)snprintf(yaml, sizeof(yaml), "%s", levels[i].head);
        (void)snprintf(yaml + strlen(yaml), sizeof(yaml) - strlen(yaml), REST,
                       levels[i].denied);
        policy = policy_of(yaml);
        plan = plan_of(policy, &(struct nacre_request){ .workspace = "/srv/w" });
        for (uint32_t k = 0; k < plan->decision_count; k++) {
            const struct nacre_decision *decision = &plan->decisions[k];

            print_message("%s: %s [%s]\n", decision->rule, decision->what,
                          decision->mechanism);
            if (decision->verdict == NACRE_VERDICT_NOTE)
                continue;
            assert_true(decision->mechanism[0]);
            /* Not cut. */
            assert_true(strlen(decision->mechanism) < sizeof(decision->mechanism) - 1);
            assert_true(strlen(decision->what) < sizeof(decision->what) - 1);
        }
        assert_int_equal(plan->denied_root_count, levels[i].in_root);
        if (levels[i].in_root)
            assert_string_equal(plan->denied_root[0], levels[i].denied);
    }
}

static void native_planning_survives_every_allocation_failure(void **state)
{
    static const char *const waive[] = { "cpu_shares", NULL };
    static const char yaml[] = NATIVE_FILES("container", "scoped") MOUNTS
        MOUNT("/workspace", "rw") DENIED("/workspace/s, /usr/bin/curl")
        "  resource_limits: {cpu_shares: 5}\n";
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(yaml);
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = result_new();
    const struct nacre_request request = { .session = "s", .waive = waive,
                                           .directory = "/srv", .image = "debian" };
    struct nacre_error err;
    bool fired = true;

    (void)state;
    for (int n = 0; fired; n++) {
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
        enum nacre_status status;

        assert_true(n < 500);
        fail_alloc_after(n);
        status = nacre_plan_make(policy, &request, &plan, denials, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        assert_int_equal(plan != NULL, !fired);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_native_plan_requires_exactly_what_its_lines_need),
        cmocka_unit_test(every_refusal_of_a_native_plan_is_named),
        cmocka_unit_test(the_same_requests_pass_where_they_belong),
        cmocka_unit_test(a_command_starts_where_it_was_asked_to),
        cmocka_unit_test(a_scope_has_a_key_that_no_other_scope_can_have),
        cmocka_unit_test(a_waived_line_is_not_asked_of_the_executor),
        cmocka_unit_test(every_waiver_takes_its_line_out_of_the_plan),
        cmocka_unit_test(every_decision_of_every_level_names_what_enforces_it),
        cmocka_unit_test(native_planning_survives_every_allocation_failure),
    };

    return cmocka_run_group_tests_name("plan_native", tests, NULL, NULL);
}
