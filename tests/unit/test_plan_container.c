/*
 * What only a container has: defaults, what each setting becomes, and what is refused in
 * any policy.  CKP can't say any of it, so the rows are put into the model by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fail_alloc.h"
#include "nacre/plan.h"
#include "plan_words.h"

#define LINE 40 /* where the rows pretend to stand */

static struct nacre_result *result_new(void)
{
    struct nacre_result *result = NULL;
    struct nacre_error err;

    assert_int_equal(nacre_result_new(&result, &err), NACRE_OK);
    return result;
}

/* ---- a setting by its name ---- */

struct setting {
    const char *name;
    size_t offset; /* in struct nacre_container_rules */
    char kind;     /* 't'ext, 'l'ist, 'n'umber, 'f'lag */
};
#define SETTING(name, kind) \
    { #name, offsetof(struct nacre_container_rules, name), kind }
static const struct setting settings[] = {
    SETTING(image, 't'),          SETTING(workdir, 't'),
    SETTING(user, 't'),           SETTING(seccomp_profile, 't'),
    SETTING(apparmor_profile, 't'), SETTING(selinux_label, 't'),
    SETTING(setup_command, 't'),  SETTING(cpuset, 't'),
    SETTING(tmpfs, 'l'),          SETTING(keep_capabilities, 'l'),
    SETTING(blocked_syscalls, 'l'), SETTING(environment, 'l'),
    SETTING(ulimits, 'l'),        SETTING(read_only_root, 'f'),
    SETTING(memory_swap, 'n'),    SETTING(memory_reservation, 'n'),
    SETTING(cpus_nano, 'n'),      SETTING(disk_bytes, 'n'),
    SETTING(disk_iops, 'n'),      SETTING(disk_io_weight, 'n'),
};

static void set(struct nacre_policy *policy, const char *name, const char *value)
{
    const struct nacre_place place = { LINE, 1 };

    for (size_t i = 0; i < NACRE_COUNT(settings); i++) {
        void *at = (char *)&policy->container + settings[i].offset;

        if (strcmp(settings[i].name, name) != 0)
            continue;
        if (settings[i].kind == 't') {
            free(((struct nacre_rule *)at)->text);
            *(struct nacre_rule *)at = (struct nacre_rule){ strdup(value), place };
        } else if (settings[i].kind == 'l') {
            struct nacre_rules *rules = at;

            rules->items = calloc(1, sizeof(*rules->items));
            rules->items[0] = (struct nacre_rule){ strdup(value), place };
            rules->count = 1;
            rules->place = place;
        } else if (settings[i].kind == 'n') {
            *(struct nacre_limit *)at =
                (struct nacre_limit){ strtoull(value, NULL, 10), place };
        } else {
            *(struct nacre_flag *)at =
                (struct nacre_flag){ strcmp(value, "true") == 0, place };
        }
        return;
    }
    fail_msg("no setting %s", name);
}

static void a_container_has_these_defaults(void **state)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
        policy_of(LEVEL("container") "  resource_limits: {memory_mb: 64}\n");
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = result_new();
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    const struct nacre_container *container;
    struct nacre_error err;

    (void)state;
    assert_int_equal(
        nacre_plan_make(policy, &(struct nacre_request){ 0 }, &plan, denials, &err),
        NACRE_OK);
    container = &plan->container;
    assert_string_equal(container->image, NACRE_DEFAULT_IMAGE);
    assert_true(container->read_only_root);
    assert_false(container->user_namespaces);
    assert_int_equal(container->memory_swap_bytes, 64 << 20);
    assert_null(container->tmpfs[0]);
    assert_true(plan->own_tmp);
    assert_non_null(container->keep_capabilities);
    assert_null(container->keep_capabilities[0]);
    assert_null(container->blocked_syscalls[0]);
    assert_null(container->environment[0]);
    assert_null(container->ulimits[0]);
    assert_null(container->user);
    assert_null(container->seccomp_profile);
    assert_null(container->apparmor_profile);
    assert_int_equal(container->cpus_nano, 0);
    assert_int_equal(container->disk_bytes, 0);
}

static const struct {
    const char *name, *value;
    uint32_t feature;
    const char *mode;   /* of the files; NULL: scoped */
} granted[] = {
    { "image", "registry.example:5000/tools/build@sha256:0123", 0, NULL },
    { "workdir", "/srv", 0, NULL },
    { "user", "1000:1000", 0, NULL },
    { "seccomp_profile", "docker-default", 0, NULL },
    { "seccomp_profile", "/tmp/profile.json", NACRE_FEATURE_SECCOMP_PROFILE, NULL },
    { "apparmor_profile", "docker-nacre", NACRE_FEATURE_APPARMOR, NULL },
    { "selinux_label", "type:container_t", NACRE_FEATURE_SELINUX, NULL },
    { "setup_command", "apt-get install -y jq", 0, NULL },
    { "cpuset", "0-1,3", NACRE_FEATURE_CPUSET, NULL },
    { "tmpfs", "/var/cache:size=64m,mode=1777", 0, NULL },
    { "keep_capabilities", "cap_chown", 0, NULL },
    { "blocked_syscalls", "ptrace", 0, NULL },
    { "environment", "A=b c", 0, NULL },
    { "ulimits", "core=0", 0, NULL },
    { "read_only_root", "false", 0, NULL },
    { "read_only_root", "false", 0, "full" },
    { "memory_swap", "1073741824", NACRE_FEATURE_SWAP_LIMIT, NULL },
    { "memory_reservation", "6291456", NACRE_FEATURE_MEMORY_RESERVATION, NULL },
    { "cpus_nano", "10000000", NACRE_FEATURE_CPUS, NULL },
    { "disk_bytes", "1073741824", 0, NULL },
    { "disk_iops", "100", NACRE_FEATURE_DISK_IOPS, NULL },
    { "disk_io_weight", "500", NACRE_FEATURE_DISK_IO_WEIGHT, NULL },
};

static struct nacre_policy *policy_in(const char *level, const char *mode)
{
    char yaml[512];

    (void)snprintf(yaml, sizeof(yaml),
                   "claw: \"0.3.0\"\nkind: Sandbox\nmetadata:\n  name: tested\nspec:\n"
                   "  level: %s\n  capabilities:\n    filesystem: {mode: %s}\n",
                   level, mode ? mode : "scoped");
    return policy_of(yaml);
}

static void each_setting_is_granted_with_its_feature_and_changes_the_digest(void **state)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *plain =
        policy_in("container", NULL);
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = result_new();
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *first = NULL;
    const struct nacre_request request = { 0 };
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_plan_make(plain, &request, &first, denials, &err), NACRE_OK);
    for (size_t i = 0; i < NACRE_COUNT(granted); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
            policy_in("container", granted[i].mode);
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;

        print_message("%s: %s\n", granted[i].name, granted[i].value);
        set(policy, granted[i].name, granted[i].value);
        if (nacre_plan_make(policy, &request, &plan, denials, &err) != NACRE_OK)
            fail_msg("%s", err.text);
        assert_int_equal(plan->required, first->required | granted[i].feature);
        assert_false(nacre_digest_equal(&plan->digest, &first->digest));
    }
}

/* Memory that may be swapped out without a bound is not bounded: who asks for the one asks
 * for the other, and its line is to blame. */
static void asked_memory_takes_a_bound_on_swap(void **state)
{
    static const struct {
        const char *level, *limit;
        bool takes;
    } rows[] = {
        { "container", "memory_mb: 64", true },
        { "container", "max_processes: 8", false },
        { "vm", "memory_mb: 64", false },
    };
    const struct nacre_request request = { 0 };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = result_new();
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
        struct nacre_error err;
        char yaml[256];

        (void)snprintf(yaml, sizeof(yaml),
                       "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: tested}\nspec:\n"
                       "  level: %s\n  resource_limits:\n    %s\n", rows[i].level,
                       rows[i].limit);
        policy = policy_of(yaml);
        if (nacre_plan_make(policy, &request, &plan, denials, &err) != NACRE_OK)
            fail_msg("%s", err.text);
        nacre_plan_deny(plan, ~(uint64_t)NACRE_FEATURE_SWAP_LIMIT, denials);
        assert_int_equal(denials->denial_count, rows[i].takes);
        if (!rows[i].takes)
            continue;
        assert_string_equal(denials->denials[0].rule, "container.memory_swap");
        assert_int_equal(denials->denials[0].place.line, 7);
        assert_non_null(strstr(denials->denials[0].fix, "--waive memory_swap"));
    }
}

static const struct {
    const char *name, *value, *mode;
} refused[] = {
    { "image", "", NULL },
    { "image", "-v", NULL },
    { "image", "a b", NULL },
    { "image", "../x", NULL },
    { "workdir", "src", NULL },
    { "workdir", "/proc/self/fd", NULL },
    { "workdir", "/a/../proc", NULL },
    { "user", "", NULL },
    { "user", "0; rm", NULL },
    { "user", "node", NULL },
    { "user", "1000:", NULL },
    { "user", ":1000", NULL },
    { "user", "1000:staff", NULL },
    { "user", "2147483648", NULL },
    { "seccomp_profile", "unconfined", NULL },
    { "seccomp_profile", "disable", NULL },
    { "seccomp_profile", "{}", NULL },
    { "apparmor_profile", "unconfined", NULL },
    { "apparmor_profile", "Unconfined", NULL },
    { "selinux_label", "disable", NULL },
    { "selinux_label", "label=disable", NULL },
    { "setup_command", "", NULL },
    { "cpuset", "all", NULL },
    { "tmpfs", "run", NULL },
    { "tmpfs", "/", NULL },
    { "tmpfs", "/proc", NULL },
    { "tmpfs", "/etc:size=1m", NULL },
    { "tmpfs", "/run:size=0", NULL },
    { "tmpfs", "/run:size=1kk", NULL },
    { "tmpfs", "/run:size=6k4", NULL },
    { "tmpfs", "/run:size=1m,size=1mg", NULL },
    { "tmpfs", "/run:mode=1777k", NULL },
    { "tmpfs", "/run:exec", NULL },
    { "tmpfs", "/run:size=1m,dev", NULL },
    { "keep_capabilities", "ALL", NULL },
    { "keep_capabilities", "SYS_ADMIN", NULL },
    { "keep_capabilities", "CAP_SYS_PTRACE", NULL },
    { "keep_capabilities", "sys_module", NULL },
    { "keep_capabilities", "NET_ADMIN", NULL },
    { "keep_capabilities", "DAC_READ_SEARCH", NULL },
    { "keep_capabilities", "", NULL },
    { "blocked_syscalls", "", NULL },
    { "blocked_syscalls", "mount;", NULL },
    { "environment", "A", NULL },
    { "environment", "=b", NULL },
    { "environment", "1A=b", NULL },
    { "environment", "LD_PRELOAD=x", NULL },
    { "environment", "PATH=/x", NULL },
    { "ulimits", "nofile=5", NULL },
    { "ulimits", "nproc=5", NULL },
    { "ulimits", "core", NULL },
    { "ulimits", "core=-1", NULL },
    { "ulimits", "core=5:4", NULL },
    { "ulimits", "zzz=5", NULL },
    { "read_only_root", "true", "full" },
    { "read_only_root", "false", "deny" },
    { "read_only_root", "false", "read-only" },
    { "memory_swap", "0", NULL },
    { "memory_swap", "5", NULL },
    { "memory_reservation", "0", NULL },
    { "memory_reservation", "1099511627776", NULL },
    { "cpus_nano", "0", NULL },
    { "disk_bytes", "0", NULL },
    { "disk_iops", "0", NULL },
    { "disk_io_weight", "0", NULL },
};

static void what_would_open_a_container_is_refused_by_name(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(refused); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
            policy_in("container", refused[i].mode);
        NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = result_new();
        struct nacre_plan *plan = NULL;
        struct nacre_error err;

        print_message("%s: %s\n", refused[i].name, refused[i].value);
        set(policy, refused[i].name, refused[i].value);
        assert_int_equal(
            nacre_plan_make(policy, &(struct nacre_request){ 0 }, &plan, denials, &err),
            NACRE_ERR_DENIED);
        assert_null(plan);
        assert_int_equal(denials->denials_seen, 1);
        assert_string_equal(denials->denials[0].code, "bad-container");
        assert_memory_equal(denials->denials[0].rule, "container.", 10);
        assert_int_equal(denials->denials[0].place.line, LINE);
        assert_true(denials->denials[0].text[0] && denials->denials[0].fix[0]);
    }
}

/* ---- disk ---- */

static const struct {
    const char *workspace; /* of the request */
    bool is_own, writable, read_only_root;
    uint64_t features;
} disks[] = {
    { NULL, false, true, true, 0 },
    { NULL, false, true, false, NACRE_FEATURE_DISK_OF_ROOT },
    { "/srv/work", false, true, true, NACRE_FEATURE_DISK_OF_HOST },
    { "/srv/work", false, false, true, 0 },
    { "/srv/work", true, true, true, NACRE_FEATURE_DISK_OF_SESSION },
};

static void a_bound_on_the_disk_is_asked_of_all_that_can_be_filled(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(disks); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(
            disks[i].writable
                ? "claw: \"0.3.0\"\nkind: Sandbox\nmetadata:\n  name: tested\nspec:\n"
                  "  level: container\n  capabilities:\n    filesystem:\n"
                  "      mode: scoped\n      mount_paths: [{path: /workspace, "
                  "permissions: rw}]\n"
                : "claw: \"0.3.0\"\nkind: Sandbox\nmetadata:\n  name: tested\nspec:\n"
                  "  level: container\n  capabilities:\n    filesystem:\n"
                  "      mode: read-only\n");
        const struct nacre_request request = { .workspace = disks[i].workspace,
                                               .workspace_is_own = disks[i].is_own };
        NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = result_new();
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plain = NULL;
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
        struct nacre_error err;

        if (!disks[i].read_only_root)
            set(policy, "read_only_root", "false");
        assert_int_equal(nacre_plan_make(policy, &request, &plain, denials, &err),
                         NACRE_OK);
        set(policy, "disk_bytes", "1073741824");
        assert_int_equal(nacre_plan_make(policy, &request, &plan, denials, &err),
                         NACRE_OK);
        assert_int_equal(plan->required, plain->required | disks[i].features);
        nacre_plan_deny(plan, ~disks[i].features, denials);
        assert_int_equal(denials->denials_seen, __builtin_popcountll(disks[i].features));
        for (uint32_t k = 0; k < denials->denials_seen; k++) {
            assert_string_equal(denials->denials[k].rule, "container.disk");
            assert_non_null(strstr(denials->denials[k].fix, "--waive disk"));
        }
    }
}

#define DISK_POLICY                                                             \
    "claw: \"0.3.0\"\nkind: Sandbox\nmetadata:\n  name: tested\nspec:\n"          \
    "  level: container\n  capabilities:\n    filesystem:\n      mode: scoped\n"  \
    "      mount_paths: [{path: /workspace, permissions: rw}]\n"

/* A guest can fill 256 MiB of private directories, less where the disk is smaller but not
 * less than a page, and shared memory: a quarter of the disk, 64 MiB at most. */
static const struct {
    const char *disk, *tmpfs; /* tmpfs NULL: none */
    bool own_workspace, read_only_root, waived;
    const char *says; /* NULL: it fits */
} fits[] = {
    { "67108864", "/run:size=47m", false, true, false, NULL },
    { "67108864", "/run:size=48m", false, true, false,
      "the tmpfs (line 40) take 67108864" },
    { "1048576", "/run:size=760k", false, true, false, NULL },
    { "1048576", "/run:size=768k", false, true, false, "take 1048576" },
    { "1048576", "/run:size=1g", false, true, false, "take 1074003968" },
    { "33554432", "/run", false, true, false, "take 75497472" },
    { "1048576", "/workspace:size=1g", false, true, false, NULL },
    { "1048576", "/workspace:size=1g", true, true, false, "take 1074003968" },
    { "1048576", "/run:size=1g", true, true, true, NULL },
    { "1048576", "/run:size=1g", false, true, true, "take 1074003968" },
    { "1", NULL, false, true, false, "take 4096" },
    { "335544321", NULL, false, false, false, NULL },
    { "335544320", NULL, false, false, false, "the root is writable" },
    { "268435456", NULL, false, false, true, NULL },
    { "1073741824", NULL, true, false, false, "the root is writable" },
    { "1073741824", NULL, true, true, false, NULL },
};

static void a_disk_that_its_own_policy_overfills_is_refused_with_both_lines(void **state)
{
    static const char *const waive[] = { "disk", NULL };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(fits); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
            policy_of(DISK_POLICY);
        const struct nacre_request request = {
            .workspace = fits[i].own_workspace ? "/srv/work" : NULL,
            .workspace_is_own = fits[i].own_workspace,
            .waive = fits[i].waived ? waive : NULL,
        };
        NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = result_new();
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
        struct nacre_error err;

        print_message("%s: %s\n", fits[i].disk, fits[i].tmpfs ? fits[i].tmpfs : "");
        set(policy, "disk_bytes", fits[i].disk);
        policy->container.disk_bytes.place.line = LINE + 1;
        if (fits[i].tmpfs)
            set(policy, "tmpfs", fits[i].tmpfs);
        if (!fits[i].read_only_root)
            set(policy, "read_only_root", "false");
        assert_int_equal(nacre_plan_make(policy, &request, &plan, denials, &err),
                         fits[i].says ? NACRE_ERR_DENIED : NACRE_OK);
        if (!fits[i].says)
            continue;
        assert_int_equal(denials->denials_seen, 1);
        assert_string_equal(denials->denials[0].rule, "container.disk");
        assert_int_equal(denials->denials[0].place.line, LINE + 1);
        assert_non_null(strstr(denials->denials[0].text, fits[i].says));
        assert_true(denials->denials[0].fix[0]);
    }
}

/* ---- with gVisor ---- */

static void gvisor_is_planned_with_its_own_walls(void **state)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
        policy_in("container\n  runtime: gvisor", NULL);
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *plain =
        policy_in("container", NULL);
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = result_new();
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *other = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(
        nacre_plan_make(policy, &(struct nacre_request){ 0 }, &plan, denials, &err),
        NACRE_OK);
    assert_int_equal(
        nacre_plan_make(plain, &(struct nacre_request){ 0 }, &other, denials, &err),
        NACRE_OK);
    assert_int_equal(plan->runtime, NACRE_RUNTIME_GVISOR);
    assert_int_equal(plan->required, other->required | NACRE_FEATURE_RUNTIME);
    assert_memory_not_equal(&plan->digest, &other->digest, sizeof(plan->digest));
    /* No other line of a policy takes its place, and no caller can go without. */
    assert_null(nacre_waiver_name(NACRE_FEATURE_RUNTIME));
    nacre_plan_deny(plan, ~(uint32_t)NACRE_FEATURE_RUNTIME, denials);
    assert_int_equal(denials->denials_seen, 1);
    assert_string_equal(denials->denials[0].rule, "runtime");
    assert_int_equal(denials->denials[0].place.line, 7);
    assert_non_null(strstr(denials->denials[0].fix, "package runsc"));
}

static const struct {
    const char *name, *value;
} not_with_gvisor[] = {
    { "apparmor_profile", "docker-nacre" }, { "selinux_label", "type:container_t" },
    { "setup_command", "apt-get install -y jq" }, { "ulimits", "locks=5" },
    { "ulimits", "msgqueue=5:6" }, { "ulimits", "sigpending=5" },
};

static void what_gvisor_would_take_and_not_do_is_refused(void **state)
{
    static const struct nacre_request nothing = { 0 };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(not_with_gvisor); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
            policy_in("container\n  runtime: gvisor", NULL);
        NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = result_new();
        struct nacre_plan *plan = NULL;
        struct nacre_error err;

        set(policy, not_with_gvisor[i].name, not_with_gvisor[i].value);
        assert_int_equal(nacre_plan_make(policy, &nothing, &plan, denials, &err),
                         NACRE_ERR_UNAVAILABLE);
        assert_null(plan);
        assert_int_equal(denials->denials_seen, 1);
        assert_string_equal(denials->denials[0].code, "not-enforceable");
        assert_non_null(strstr(denials->denials[0].text, "gVisor"));
        assert_int_equal(denials->denials[0].place.line, LINE);
    }
    for (size_t i = 0; i < NACRE_COUNT(granted); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
            policy_in("container\n  runtime: gvisor", granted[i].mode);
        NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = result_new();
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
        struct nacre_error err;
        bool refused_here = false;

        for (size_t k = 0; k < 3; k++) /* the texts, whatever they say */
            refused_here |= strcmp(granted[i].name, not_with_gvisor[k].name) == 0;
        set(policy, granted[i].name, granted[i].value);
        assert_int_equal(nacre_plan_make(policy, &nothing, &plan, denials, &err) ==
                             NACRE_OK,
                         !refused_here);
    }
}

/* An engine, or what it starts, takes no less: better said before it is asked. */
static void a_limit_below_what_an_engine_takes_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *level, *key;
        int least; /* of it; 0: any number will do */
    } rows[] = {
        { "container", "memory_mb", 6 },
        { "container", "max_open_files", 32 },
        { "container", "max_processes", 0 },
        { "container", "timeout_ms", 0 },
        { "container", "max_output_bytes", 0 },
        { "container\n  runtime: gvisor", "memory_mb", 32 },
        { "container\n  runtime: gvisor", "max_open_files", 32 },
        { "vm", "memory_mb", 0 },
        { "vm", "max_open_files", 0 },
        { "process", "memory_mb", 0 },
        { "process", "max_open_files", 0 },
    };
    const struct nacre_request asked = { 0 };

    (void)state;
    for (size_t i = 0; i < 2 * NACRE_COUNT(rows); i++) {
        int least = rows[i / 2].least, value = i % 2 == 0 || least == 0 ? least : least - 1;
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
        NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = result_new();
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
        struct nacre_error err;
        char yaml[512], fix[64];

        (void)snprintf(yaml, sizeof(yaml),
                       "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: tested}\nspec:\n"
                       "  resource_limits: {%s: %d}\n  level: %s\n",
                       rows[i / 2].key, value > 0 ? value : 1, rows[i / 2].level);
        policy = policy_of(yaml);
        print_message("%s: %s %d\n", rows[i / 2].level, rows[i / 2].key, value);
        assert_int_equal(nacre_plan_make(policy, &asked, &plan, denials, &err),
                         value == least ? NACRE_OK : NACRE_ERR_UNAVAILABLE);
        if (value == least)
            continue;
        (void)snprintf(fix, sizeof(fix), "raise it to %d or more", least);
        assert_string_equal(denials->denials[0].code, "not-enforceable");
        assert_non_null(strstr(denials->denials[0].rule, rows[i / 2].key));
        assert_int_equal(denials->denials[0].place.line, 5);
        assert_string_equal(denials->denials[0].fix, fix);
    }
}

#define PATHS "      mount_paths:\n"
/* What explain says is what dk_create.c asks for: see test_dk_create.c. */
static void private_directories_are_told_as_large_as_they_are(void **state)
{
    static const struct {
        const char *level, *mounts, *told;
    } rows[] = {
        { "container", "", "256 MiB and 16384 files in private directories together" },
        { "container", PATHS MOUNT("/workspace", "rw"),
          "128 MiB and 8192 files in each private directory" },
        { "container", PATHS MOUNT("/workspace", "rw") MOUNT("/tmp", "rw"),
          "128 MiB and 8192 files in each private directory" },
        { "container\n  runtime: gvisor", PATHS MOUNT("/workspace", "rw"),
          "128 MiB in each private directory; gVisor counts no files" },
        { "vm", PATHS MOUNT("/workspace", "rw"),
          "128 MiB and 8192 files in each private directory" },
        { "process", PATHS MOUNT("/workspace", "rw") MOUNT("/tmp", "rw"),
          "256 MiB and 16384 files in private directories together" },
        { "process", "", "256 MiB and 16384 files in private directories together" },
    };
    const struct nacre_request asked = { 0 };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
        struct nacre_error err;
        char yaml[1024];
        bool told = false;

        (void)snprintf(yaml, sizeof(yaml),
                       "claw: \"0.3.0\"\nkind: Sandbox\nmetadata: {name: tested}\nspec:\n"
                       "  level: %s\n  capabilities:\n    filesystem:\n"
                       "      mode: scoped\n%s",
                       rows[i].level, rows[i].mounts);
        policy = policy_of(yaml);
        assert_int_equal(nacre_plan_draft(policy, &asked, &plan, &err), NACRE_OK);
        for (uint32_t k = 0; k < plan->decision_count; k++)
            if (strcmp(plan->decisions[k].rule, "scratch") == 0) {
                assert_string_equal(plan->decisions[k].what, rows[i].told);
                told = true;
            }
        assert_true(told);
    }
}

/* ---- in a machine ---- */

static void a_machine_is_planned_with_its_own_walls(void **state)
{
    static const char *const emulated[] = { NACRE_WAIVER_EMULATION, NULL };
    static const struct {
        const char *level;
        uint64_t more; /* than a machine requires */
    } heads[] = { { "vm", 0 }, { "vm\n  runtime: firecracker", NACRE_FEATURE_RUNTIME } };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(heads); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
            policy_in(heads[i].level, NULL);
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *plain =
            policy_in("container", NULL);
        NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = result_new();
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *other = NULL;
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *waived = NULL;
        struct nacre_error err;

        assert_int_equal(nacre_plan_make(policy, &(struct nacre_request){ 0 }, &plan,
                                         denials, &err),
                         NACRE_OK);
        assert_int_equal(nacre_plan_make(plain, &(struct nacre_request){ 0 }, &other,
                                         denials, &err),
                         NACRE_OK);
        assert_true(plan->required ==
                    (other->required | NACRE_FEATURE_KVM | heads[i].more));
        nacre_plan_deny(plan, ~(NACRE_FEATURE_KVM | heads[i].more), denials);
        assert_int_equal(denials->denials_seen, heads[i].more ? 2 : 1);
        for (uint32_t k = 0; k < denials->denials_seen; k++)
            assert_true(denials->denials[k].place.line > 0 && denials->denials[k].fix[0]);
        /* Without KVM by name alone, and without Firecracker never. */
        assert_int_equal(nacre_plan_make(policy,
                                         &(struct nacre_request){ .waive = emulated },
                                         &waived, denials, &err),
                         NACRE_OK);
        assert_true(waived->waivable == NACRE_FEATURE_KVM);
        assert_memory_not_equal(&plan->digest, &waived->digest, sizeof(plan->digest));
    }
}

static const struct {
    const char *name, *value;
} not_in_machine[] = {
    { "user", "0:0" }, { "user", "0" },
    { "seccomp_profile", "docker-default" }, { "apparmor_profile", "docker-nacre" },
    { "selinux_label", "type:container_t" }, { "setup_command", "true" },
    { "ulimits", "core=5" }, { "memory_swap", "5368709120" },
    { "memory_reservation", "1048576" }, { "disk_iops", "5" },
    { "disk_io_weight", "5" },
};

static void what_a_machine_would_take_and_not_do_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(not_in_machine); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_in("vm", NULL);
        NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = result_new();
        struct nacre_plan *plan = NULL;
        struct nacre_error err;

        set(policy, not_in_machine[i].name, not_in_machine[i].value);
        if (nacre_plan_make(policy, &(struct nacre_request){ 0 }, &plan, denials, &err) !=
            NACRE_ERR_UNAVAILABLE)
            fail_msg("%s: %s", not_in_machine[i].name, not_in_machine[i].value);
        assert_null(plan);
        assert_string_equal(denials->denials[0].code, "not-enforceable");
        assert_string_equal(denials->denials[0].fix,
                            "remove this line, or change the level 'vm' to 'container'");
        assert_int_equal(denials->denials[0].place.line, LINE);
    }
}

static void at_another_level_none_of_it_is_passed_over(void **state)
{
    static const char *const levels[] = { "process", "wasm" };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(levels) * NACRE_COUNT(settings); i++) {
        const struct setting *setting = &settings[i / NACRE_COUNT(levels)];
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
            policy_in(levels[i % NACRE_COUNT(levels)], NULL);
        NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = result_new();
        struct nacre_plan *plan = NULL;
        struct nacre_error err;

        set(policy, setting->name, "5");
        assert_int_equal(
            nacre_plan_make(policy, &(struct nacre_request){ 0 }, &plan, denials, &err),
            NACRE_ERR_UNAVAILABLE);
        assert_int_equal(denials->denials_seen, 1);
        assert_int_equal(denials->denials[0].place.line, LINE);
    }
}

/* By the code that compiles its policy: no dialect has a word for it. */
static void a_browser_alone_has_namespaces(void **state)
{
    static const char *const levels[] = { "container", "process", "wasm" };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(levels); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
            policy_in(levels[i], NULL);
        NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = result_new();
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plain = NULL;
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
        const struct nacre_request request = { 0 };
        enum nacre_status status;
        struct nacre_error err;

        assert_false(policy->user_namespaces);
        assert_int_equal(nacre_plan_make(policy, &request, &plain, denials, &err),
                         NACRE_OK);
        assert_false(plain->container.user_namespaces);
        policy->user_namespaces = true;
        status = nacre_plan_make(policy, &request, &plan, denials, &err);
        assert_int_equal(status, i == 0 ? NACRE_OK : NACRE_ERR_UNAVAILABLE);
        if (i > 0) {
            assert_string_equal(denials->denials[0].rule, "container.user_namespaces");
            continue;
        }
        assert_true(plan->container.user_namespaces);
        assert_memory_not_equal(&plan->digest, &plain->digest, sizeof(plan->digest));
    }
}

static void a_request_names_an_image_only_where_the_policy_names_none(void **state)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
        policy_in("container", NULL);
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = result_new();
    const struct nacre_request other = { .image = "debian" };
    const struct nacre_request same = { .image = "alpine" };
    struct nacre_plan *plan = NULL;
    struct nacre_error err;

    (void)state;
    set(policy, "image", "alpine");
    assert_int_equal(nacre_plan_make(policy, &other, &plan, denials, &err),
                     NACRE_ERR_DENIED);
    assert_int_equal(denials->denials[0].place.line, LINE);
    assert_int_equal(nacre_plan_make(policy, &same, &plan, denials, &err), NACRE_OK);
    assert_string_equal(plan->container.image, "alpine");
    nacre_plan_free(plan);
}

static void container_planning_survives_every_allocation_failure(void **state)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
        policy_in("container", NULL);
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = result_new();
    struct nacre_error err;
    bool fired = true;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(granted); i++)
        if (!granted[i].mode && strcmp(granted[i].name, "read_only_root") != 0)
            set(policy, granted[i].name, granted[i].value);
    for (int n = 0; fired; n++) {
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
        enum nacre_status status;

        assert_true(n < 500);
        fail_alloc_after(n);
        status = nacre_plan_make(policy, &(struct nacre_request){ 0 }, &plan, denials,
                                 &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_has_these_defaults),
        cmocka_unit_test(
            each_setting_is_granted_with_its_feature_and_changes_the_digest),
        cmocka_unit_test(asked_memory_takes_a_bound_on_swap),
        cmocka_unit_test(a_limit_below_what_an_engine_takes_is_refused_with_its_line),
        cmocka_unit_test(private_directories_are_told_as_large_as_they_are),
        cmocka_unit_test(what_would_open_a_container_is_refused_by_name),
        cmocka_unit_test(a_bound_on_the_disk_is_asked_of_all_that_can_be_filled),
        cmocka_unit_test(a_disk_that_its_own_policy_overfills_is_refused_with_both_lines),
        cmocka_unit_test(gvisor_is_planned_with_its_own_walls),
        cmocka_unit_test(what_gvisor_would_take_and_not_do_is_refused),
        cmocka_unit_test(a_machine_is_planned_with_its_own_walls),
        cmocka_unit_test(what_a_machine_would_take_and_not_do_is_refused),
        cmocka_unit_test(at_another_level_none_of_it_is_passed_over),
        cmocka_unit_test(a_browser_alone_has_namespaces),
        cmocka_unit_test(a_request_names_an_image_only_where_the_policy_names_none),
        cmocka_unit_test(container_planning_survives_every_allocation_failure),
    };

    return cmocka_run_group_tests_name("plan_container", tests, NULL, NULL);
}
