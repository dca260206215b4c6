/*
 * Planning: which mounts, limits and refusals a policy and a request give, with the
 * exact texts.  More rows are refused than granted.
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

/* Six lines: what a table row writes starts on line 7, in the spec. */
#define HEAD                 \
    "claw: \"0.3.0\"\n"      \
    "kind: Sandbox\n"        \
    "metadata:\n"            \
    "  name: tested\n"       \
    "spec:\n"                \
    "  level: wasm\n"
#define CAPABILITIES HEAD "  capabilities:\n"
#define FILES CAPABILITIES "    filesystem:\n" /* ends on line 8 */

static struct nacre_policy *policy_of(const char *yaml)
{
    struct nacre_policy *policy = NULL;
    struct nacre_error err = { 0 };

    if (nacre_policy_parse("p.yaml", yaml, strlen(yaml), &policy, &err) != NACRE_OK)
        fail_msg("%d:%d: %s in:\n%s", err.line, err.column, err.text, yaml);
    return policy;
}

static void add_names(char *dump, size_t size, const char *label, char *const *names,
                      uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        (void)snprintf(dump + strlen(dump), size - strlen(dump), "%s%s%s", i ? "," : label,
                       names[i], "");
}

/* "/guest<host rw -denied,... +covered,...;" for each mount. */
static void dump_mounts(const struct nacre_plan *plan, char *ret_dump, size_t size)
{
    ret_dump[0] = '\0';
    for (uint32_t i = 0; i < plan->mount_count; i++) {
        const struct nacre_mount *mount = &plan->mounts[i];

        (void)snprintf(ret_dump + strlen(ret_dump), size - strlen(ret_dump), "%s%s<%s %s",
                       i ? "; " : "", mount->guest, mount->host ? mount->host : "private",
                       mount->writable ? "rw" : "ro");
        add_names(ret_dump, size, " -", mount->denied, mount->denied_count);
        add_names(ret_dump, size, " +", mount->covered, mount->covered_count);
    }
}

#define MOUNT(path, permissions) \
    "        - {path: " path ", permissions: " permissions "}\n"
#define SCOPED FILES "      mode: scoped\n      mount_paths:\n" /* entries from line 11 on */
#define READ_ONLY FILES "      mode: read-only\n      mount_paths:\n"
#define FULL FILES "      mode: full\n      mount_paths:\n"
#define DENIED(paths) "      denied_paths: [" paths "]\n"

static const struct {
    const char *yaml, *asked, *mounts;
} granted[] = {
    { HEAD, NULL, "" },
    { FILES "      mode: deny\n", NULL, "" },
    { FILES "      mode: deny\n      mount_paths:\n" MOUNT("/data", "rw"), NULL, "" },
    { FILES "      mode: scoped\n", NULL, "" },
    { SCOPED MOUNT("/workspace", "rw"), NULL, "/workspace<private rw" },
    { SCOPED MOUNT("/workspace", "ro"), NULL, "/workspace<private ro" },
    { SCOPED MOUNT("/tmp", "rw"), NULL, "/tmp<private rw" },
    { SCOPED MOUNT("/data", "ro"), NULL, "/data</data ro" },
    { SCOPED MOUNT("/", "ro"), NULL, "/</ ro" },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/w", "/workspace</srv/w rw" },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv//w/./", "/workspace</srv/w rw" },
    { SCOPED MOUNT("/workspace", "rw"), "mount /workspace=/srv/w:ro", "/workspace</srv/w ro" },
    { SCOPED MOUNT("/workspace", "rw"), "mount /workspace=/srv/w:rw", "/workspace</srv/w rw" },
    { SCOPED MOUNT("/data", "ro"), "mount /data=/srv/d", "/data</srv/d ro" },
    { SCOPED MOUNT("/data", "ro"), "mount /data=/srv/d:ro", "/data</srv/d ro" },
    { SCOPED MOUNT("/tmp", "rw"), "mount /tmp=/srv/t", "/tmp</srv/t rw" },
    { SCOPED MOUNT("data", "rw"), "mount data=/srv/d", "data</srv/d rw" },
    { SCOPED MOUNT(".", "rw"), "mount .=/srv/d", ".</srv/d rw" },
    { SCOPED MOUNT(".", "rw"), "mount .=/srv/d\nmount data=/srv/e",
      ".</srv/d rw +data; data</srv/e rw" },
    { SCOPED MOUNT("/", "rw"), "mount /=/srv/root", "/</srv/root rw" },
    /* Below what the policy covers: a further mount, and a hole in the outer one. */
    { SCOPED MOUNT("/workspace", "rw"), "mount /workspace/data=/srv/d",
      "/workspace<private rw +data; /workspace/data</srv/d rw" },
    { SCOPED MOUNT("/workspace", "ro"), "workspace /srv/w\nmount /workspace/a/b=/srv/d",
      "/workspace</srv/w ro +a/b; /workspace/a/b</srv/d ro" },
    { SCOPED MOUNT("/a", "rw") MOUNT("/a/b", "ro"), "mount /a/b/c=/srv/c",
      "/a</a rw +b,b/c; /a/b</a/b ro +c; /a/b/c</srv/c ro" },
    { SCOPED MOUNT("/a", "ro") MOUNT("/a/b", "rw"), NULL, "/a</a ro +b; /a/b</a/b rw" },
    { SCOPED MOUNT("/a", "ro") MOUNT("/ab", "rw"), NULL, "/a</a ro; /ab</ab rw" },
    /* Read-only is read-only whatever the permissions say. */
    { FILES "      mode: read-only\n", NULL, "/workspace<private ro" },
    { FILES "      mode: read-only\n", "workspace /srv/w", "/workspace</srv/w ro" },
    { FILES "      mode: read-only\n", "mount /workspace/x=/srv/x",
      "/workspace<private ro +x; /workspace/x</srv/x ro" },
    { READ_ONLY MOUNT("/data", "rw"), NULL, "/data</data ro" },
    { READ_ONLY MOUNT("/data", "rw") MOUNT("/workspace", "rw"), "workspace /srv/w",
      "/data</data ro; /workspace</srv/w ro" },
    /* The whole tree, and what lies elsewhere than it says. */
    { FILES "      mode: full\n", NULL, "/</ rw" },
    { FILES "      mode: full\n", "workspace /srv/w", "/</ rw +workspace; /workspace</srv/w rw" },
    { FILES "      mode: full\n", "mount /=/srv/root", "/</srv/root rw" },
    { FILES "      mode: full\n", "mount /d=/srv/d:ro", "/</ rw +d; /d</srv/d ro" },
    { FULL MOUNT("/data", "rw"), NULL, "/</ rw" },
    { FULL MOUNT("/", "rw"), NULL, "/</ rw" },
    { FULL MOUNT("/data", "rw"), "mount /data=/srv/d", "/</ rw +data; /data</srv/d rw" },
    { FULL MOUNT("/workspace", "rw") MOUNT("/tmp", "rw"), NULL,
      "/</ rw +workspace,tmp; /workspace<private rw; /tmp<private rw" },
    { FULL MOUNT("data", "rw"), "mount data=/srv/d", "/</ rw; data</srv/d rw" },
    /* Denied paths, by the guest's name and by the host's. */
    { SCOPED MOUNT("/workspace", "rw") DENIED("/workspace/secret"), NULL,
      "/workspace<private rw -secret" },
    { SCOPED MOUNT("/workspace", "rw") DENIED("/workspace-evil, /work"), NULL,
      "/workspace<private rw" },
    { SCOPED MOUNT("/workspace", "rw") DENIED("/workspace/a, /srv/w/b/c, /workspace/a/"),
      "workspace /srv/w", "/workspace</srv/w rw -a,b/c" },
    { SCOPED MOUNT("/data", "ro") DENIED("/data/x"), NULL, "/data</data ro -x" },
    { SCOPED MOUNT("/data", "ro") MOUNT("/b", "ro") DENIED("/data"), NULL, "/b</b ro" },
    { SCOPED MOUNT("/data/sub", "ro") MOUNT("/b", "ro") DENIED("/data"), NULL, "/b</b ro" },
    { SCOPED MOUNT("/data", "rw") DENIED("/"), NULL, "" },
    { SCOPED MOUNT("/a", "rw") MOUNT("/a/b", "rw") DENIED("/a/b"), NULL, "/a</a rw -b" },
    { SCOPED MOUNT("data", "rw") DENIED("/srv/d/x"), "mount data=/srv/d", "data</srv/d rw -x" },
    { FILES "      mode: full\n" DENIED("/etc/shadow, /root/.ssh"), NULL,
      "/</ rw -etc/shadow,root/.ssh" },
    { FILES "      mode: full\n" DENIED("/"), NULL, "" },
    { FULL MOUNT("/data", "rw") DENIED("/data"), NULL, "/</ rw -data" },
    /* One directory under two names: the denied one stays denied under the other. */
    { SCOPED MOUNT("/workspace", "rw") MOUNT("/m", "rw") DENIED("/workspace/secret"),
      "workspace /srv/w\nmount /m=/srv/w",
      "/workspace</srv/w rw -secret; /m</srv/w rw -secret" },
    { SCOPED MOUNT("/workspace", "rw") MOUNT("/m", "rw") DENIED("/workspace/s/t"),
      "workspace /srv/w\nmount /m=/srv/w/s",
      "/workspace</srv/w rw -s/t; /m</srv/w/s rw -t" },
};

static void a_policy_and_a_request_give_exactly_these_mounts(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(granted); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(granted[i].yaml);
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
        NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = NULL;
        struct nacre_error err = { 0 };
        struct asked asked;
        char dump[1024];

        asked_read(&asked, granted[i].asked);
        assert_int_equal(nacre_result_new(&denials, &err), NACRE_OK);
        if (nacre_plan_make(policy, &asked.request, &plan, denials, &err) != NACRE_OK)
            fail_msg("row %zu: %s", i, err.text);
        dump_mounts(plan, dump, sizeof(dump));
        if (strcmp(dump, granted[i].mounts) != 0)
            fail_msg("row %zu: '%s' instead of '%s'", i, dump, granted[i].mounts);
        assert_true(plan->sealed);
        assert_int_equal(denials->denials_seen, 0);
        assert_int_equal(err.status, NACRE_OK);
    }
}

#define LIMITS HEAD "  resource_limits:\n" /* ends on line 7 */
#define NET CAPABILITIES "    network:\n"
#define SECRETS CAPABILITIES "    secrets:\n"
#define SHELL CAPABILITIES "    shell:\n"
#define LEVEL(words)        \
    "claw: \"0.3.0\"\n"     \
    "kind: Sandbox\n"       \
    "metadata:\n"           \
    "  name: tested\n"      \
    "spec:\n"               \
    "  level: " words "\n"
#define ADD_DATA "add under spec.capabilities.filesystem.mount_paths: - {path: /data, permissions: "

static const struct {
    const char *yaml, *asked;
    enum nacre_status status;
    const char *code, *rule;
    int line, column;
    const char *text;
} refused[] = {
    /* What this build has no executor or engine for. */
    { LEVEL("container"), NULL, NACRE_ERR_UNAVAILABLE, "not-enforceable", "level", 6, 10,
      "level container: its executor is not in this build yet; change 'container' to 'wasm'" },
    { LEVEL("none"), NULL, NACRE_ERR_UNAVAILABLE, "not-enforceable", "level", 6, 10,
      "level none: its executor is not in this build yet; change 'none' to 'wasm'" },
    { LEVEL("process"), NULL, NACRE_ERR_UNAVAILABLE, "not-enforceable", "level", 6, 10,
      "level process: its executor is not in this build yet; change 'process' to 'wasm'" },
    { LEVEL("vm"), NULL, NACRE_ERR_UNAVAILABLE, "not-enforceable", "level", 6, 10,
      "level vm: its executor is not in this build yet; change 'vm' to 'wasm'" },
    { NET "      mode: allow-all\n", NULL, NACRE_ERR_UNAVAILABLE, "not-enforceable",
      "capabilities.network.mode", 9, 13,
      "network mode allow-all: the egress engine that enforces it is not in this build yet; "
      "change 'allow-all' to 'deny'" },
    { NET "      mode: allowlist\n      allowed_hosts: [example.com]\n", NULL,
      NACRE_ERR_UNAVAILABLE, "not-enforceable", "capabilities.network.mode", 9, 13,
      "network mode allowlist: the egress engine that enforces it is not in this build yet; "
      "change 'allowlist' to 'deny'" },
    { SECRETS "      injection: environment\n", NULL, NACRE_ERR_UNAVAILABLE, "not-enforceable",
      "capabilities.secrets.injection", 9, 18,
      "capabilities.secrets.injection: environment: the secrets engine is not in this build "
      "yet; remove this line" },
    { SECRETS "      encryption: aes-256-gcm\n", NULL, NACRE_ERR_UNAVAILABLE,
      "not-enforceable", "capabilities.secrets.encryption", 9, 19,
      "capabilities.secrets.encryption: aes-256-gcm: the secrets engine is not in this build "
      "yet; remove this line" },
    { SECRETS "      leak_detection: {enabled: true}\n", NULL, NACRE_ERR_UNAVAILABLE,
      "not-enforceable", "capabilities.secrets.leak_detection.enabled", 9, 33,
      "capabilities.secrets.leak_detection.enabled: true: the secrets engine is not in this "
      "build yet; set leak_detection.enabled: false" },
    /* Who writes the section wants the scan. */
    { SECRETS "      leak_detection: {patterns: 22}\n", NULL, NACRE_ERR_UNAVAILABLE,
      "not-enforceable", "capabilities.secrets.leak_detection.enabled", 9, 7,
      "capabilities.secrets.leak_detection.enabled: true: the secrets engine is not in this "
      "build yet; set leak_detection.enabled: false" },
    { SHELL "      mode: restricted\n", NULL, NACRE_ERR_UNAVAILABLE, "not-enforceable",
      "capabilities.shell.mode", 9, 13,
      "shell mode restricted: no native command runs at level wasm; native levels are not in "
      "this build; change 'restricted' to 'deny'" },
    { SHELL "      mode: full\n", NULL, NACRE_ERR_UNAVAILABLE, "not-enforceable",
      "capabilities.shell.mode", 9, 13,
      "shell mode full: no native command runs at level wasm; native levels are not in this "
      "build; change 'full' to 'deny'" },
    { FULL MOUNT("/data", "ro"), NULL, NACRE_ERR_UNAVAILABLE, "not-enforceable",
      "capabilities.filesystem.mount_paths[0]", 11, 38,
      "/data read-only in mode full: the whole tree is writable, the line would not hold; "
      "change 'ro' to 'rw', or the mode 'full' to 'scoped'" },
    /* What a request may not have. */
    { SCOPED MOUNT("data", "rw"), NULL, NACRE_ERR_DENIED, "mount-unmapped",
      "capabilities.filesystem.mount_paths[0]", 11, 18,
      "data is relative and no mount request says where it lies; ask for a mount: --mount "
      "data=DIR" },
    { FULL MOUNT("data", "rw"), NULL, NACRE_ERR_DENIED, "mount-unmapped",
      "capabilities.filesystem.mount_paths[0]", 11, 18,
      "data is relative and no mount request says where it lies; ask for a mount: --mount "
      "data=DIR" },
    { SCOPED MOUNT("/workspace", "rw"), "mount /data=/srv/d", NACRE_ERR_DENIED,
      "mount-not-covered", "capabilities.filesystem.mount_paths", 10, 7,
      "mount request /data: no line of mount_paths is at or above it; " ADD_DATA "ro}" },
    { SCOPED MOUNT("/workspace", "rw"), "mount /data=/srv/d:rw", NACRE_ERR_DENIED,
      "mount-not-covered", "capabilities.filesystem.mount_paths", 10, 7,
      "mount request /data: no line of mount_paths is at or above it; " ADD_DATA "rw}" },
    { SCOPED MOUNT("/workspace", "rw"), "mount /workspace-evil=/srv/d", NACRE_ERR_DENIED,
      "mount-not-covered", "capabilities.filesystem.mount_paths", 10, 7,
      "mount request /workspace-evil: no line of mount_paths is at or above it; add under "
      "spec.capabilities.filesystem.mount_paths: - {path: /workspace-evil, permissions: ro}" },
    { SCOPED MOUNT("/workspace", "rw"), "mount /workspace/../data=/srv/d", NACRE_ERR_DENIED,
      "mount-not-covered", "capabilities.filesystem.mount_paths", 10, 7,
      "mount request /data: no line of mount_paths is at or above it; " ADD_DATA "ro}" },
    { SCOPED MOUNT("/data/sub", "rw"), "mount /data=/srv/d", NACRE_ERR_DENIED,
      "mount-not-covered", "capabilities.filesystem.mount_paths", 10, 7,
      "mount request /data: no line of mount_paths is at or above it; " ADD_DATA "ro}" },
    { SCOPED MOUNT("/", "rw"), "mount data=/srv/d", NACRE_ERR_DENIED, "mount-not-covered",
      "capabilities.filesystem.mount_paths", 10, 7,
      "mount request data: no line of mount_paths is at or above it; add under "
      "spec.capabilities.filesystem.mount_paths: - {path: data, permissions: ro}" },
    { SCOPED MOUNT("/data", "rw"), "mount .=/srv/d", NACRE_ERR_DENIED, "mount-not-covered",
      "capabilities.filesystem.mount_paths", 10, 7,
      "mount request .: no line of mount_paths is at or above it; add under "
      "spec.capabilities.filesystem.mount_paths: - {path: \".\", permissions: ro}" },
    { SCOPED MOUNT("/data", "rw"), "workspace /srv/w", NACRE_ERR_DENIED, "mount-not-covered",
      "capabilities.filesystem.mount_paths", 10, 7,
      "mount request /workspace: no line of mount_paths is at or above it; add under "
      "spec.capabilities.filesystem.mount_paths: - {path: /workspace, permissions: ro}" },
    { FILES "      mode: full\n", "mount data=/srv/d", NACRE_ERR_DENIED, "mount-not-covered",
      "capabilities.filesystem.mount_paths", 9, 13,
      "mount request data: no line of mount_paths is at or above it; add under "
      "spec.capabilities.filesystem: mount_paths: [{path: data, permissions: ro}]" },
    { FILES "      mode: read-only\n", "mount /data=/srv/d", NACRE_ERR_DENIED,
      "mount-not-covered", "capabilities.filesystem.mount_paths", 9, 13,
      "mount request /data: no line of mount_paths is at or above it; add under "
      "spec.capabilities.filesystem: mount_paths: [{path: /data, permissions: ro}]" },
    { READ_ONLY MOUNT("/data", "ro"), "workspace /srv/w", NACRE_ERR_DENIED,
      "mount-not-covered", "capabilities.filesystem.mount_paths", 10, 7,
      "mount request /workspace: no line of mount_paths is at or above it; add under "
      "spec.capabilities.filesystem.mount_paths: - {path: /workspace, permissions: ro}" },
    { HEAD, "workspace /srv/w", NACRE_ERR_DENIED, "mount-not-covered",
      "capabilities.filesystem.mode", 0, 0,
      "mount request /workspace: not granted: mode is deny; add under "
      "spec.capabilities.filesystem: mode: scoped; add under spec.capabilities.filesystem: "
      "mount_paths: [{path: /workspace, permissions: ro}]" },
    { FILES "      mode: deny\n      mount_paths:\n" MOUNT("/data", "rw"), "mount /data=/srv/d",
      NACRE_ERR_DENIED, "mount-not-covered", "capabilities.filesystem.mode", 9, 13,
      "mount request /data: not granted: mode is deny; line 9: change 'deny' to 'scoped'" },
    { SCOPED MOUNT("/data", "ro"), "mount /data=/srv/d:rw", NACRE_ERR_DENIED, "over-grant",
      "capabilities.filesystem.mount_paths[0]", 11, 38,
      "mount request /data asks for writing, the policy grants ro; change 'ro' to 'rw'" },
    { SCOPED MOUNT("/a", "rw") MOUNT("/a/b", "ro"), "mount /a/b/c=/srv/d:rw", NACRE_ERR_DENIED,
      "over-grant", "capabilities.filesystem.mount_paths[1]", 12, 37,
      "mount request /a/b/c asks for writing, the policy grants ro; change 'ro' to 'rw'" },
    { READ_ONLY MOUNT("/data", "rw"), "mount /data=/srv/d:rw", NACRE_ERR_DENIED, "over-grant",
      "capabilities.filesystem.mode", 9, 13,
      "mount request /data asks for writing, mode read-only grants none; change 'read-only' to "
      "'scoped'" },
    { READ_ONLY MOUNT("/data", "ro"), "mount /data=/srv/d:rw", NACRE_ERR_DENIED, "over-grant",
      "capabilities.filesystem.mode", 9, 13,
      "mount request /data asks for writing, mode read-only grants none; change 'read-only' to "
      "'scoped'; line 11: change 'ro' to 'rw'" },
    { FILES "      mode: read-only\n", "mount /workspace=/srv/w:rw", NACRE_ERR_DENIED,
      "over-grant", "capabilities.filesystem.mode", 9, 13,
      "mount request /workspace asks for writing, mode read-only grants none; change "
      "'read-only' to 'scoped'; add under spec.capabilities.filesystem: mount_paths: "
      "[{path: /workspace, permissions: rw}]" },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/w\nmount /workspace=/srv/x",
      NACRE_ERR_DENIED, "duplicate-mount", "request.mounts", 0, 0,
      "mount request /workspace comes twice; keep one of the two" },
    { SCOPED MOUNT("/", "rw"), "mount /d=/srv/d\nmount //d/=/srv/d", NACRE_ERR_DENIED,
      "duplicate-mount", "request.mounts", 0, 0,
      "mount request /d comes twice; keep one of the two" },
    { SCOPED MOUNT("/workspace", "rw"), "workspace w", NACRE_ERR_DENIED, "bad-mount",
      "request.mounts", 0, 0,
      "mount request /workspace from 'w': not an absolute path on the host; give its whole "
      "path, from / on" },
    { SCOPED MOUNT(".", "rw"), "mount ../up=/srv/d\nmount .=/srv/e", NACRE_ERR_DENIED,
      "bad-mount", "request.mounts", 0, 0,
      "mount request '../up' from '/srv/d': empty, too long or climbing; give a name that "
      "stays below where it starts" },
    { SCOPED MOUNT(".", "rw"), "mount =/srv/d\nmount .=/srv/e", NACRE_ERR_DENIED, "bad-mount",
      "request.mounts", 0, 0,
      "mount request '' from '/srv/d': empty, too long or climbing; give a name that stays "
      "below where it starts" },
    /* A denied path wins over a request, on the host's side and on the guest's. */
    { SCOPED MOUNT("/workspace", "rw") DENIED("/srv/secret"), "workspace /srv/secret",
      NACRE_ERR_DENIED, "denied-path", "capabilities.filesystem.denied_paths[0]", 12, 22,
      "mount request /workspace: not granted: it lies at or below the denied path /srv/secret; "
      "remove '/srv/secret' from denied_paths (line 12)" },
    { SCOPED MOUNT("/workspace", "rw") DENIED("/srv/secret"), "workspace /srv/x/../secret/w",
      NACRE_ERR_DENIED, "denied-path", "capabilities.filesystem.denied_paths[0]", 12, 22,
      "mount request /workspace: not granted: it lies at or below the denied path /srv/secret; "
      "remove '/srv/secret' from denied_paths (line 12)" },
    { SCOPED MOUNT("/workspace", "rw") DENIED("/workspace/s"), "mount /workspace/s/x=/srv/d",
      NACRE_ERR_DENIED, "denied-path", "capabilities.filesystem.denied_paths[0]", 12, 22,
      "mount request /workspace/s/x: not granted: it lies at or below the denied path "
      "/workspace/s; remove '/workspace/s' from denied_paths (line 12)" },
    { SCOPED MOUNT("/workspace", "rw") MOUNT("/m", "ro") DENIED("/workspace/s"),
      "workspace /srv/w\nmount /m=/srv/w/s/t", NACRE_ERR_DENIED, "denied-path",
      "capabilities.filesystem.denied_paths[0]", 13, 22,
      "mount request /m: not granted: it lies at or below the denied path /workspace/s; remove "
      "'/workspace/s' from denied_paths (line 13)" },
    /* Limits are denied, never clamped. */
    { LIMITS "    timeout_ms: 1000\n", "timeout-ms 1001", NACRE_ERR_DENIED, "over-limit",
      "resource_limits.timeout_ms", 8, 17,
      "the request asks for a timeout of 1001 ms, the policy allows 1000 ms; change '1000' to "
      "'1001', or ask for less" },
    { HEAD, "timeout-ms 120001", NACRE_ERR_DENIED, "over-limit", "resource_limits.timeout_ms",
      0, 0,
      "the request asks for a timeout of 120001 ms, the default allows 120000 ms; add under "
      "spec.resource_limits: timeout_ms: 120001, or ask for less" },
};

static void every_refusal_names_its_rule_its_place_and_the_way_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(refused); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(refused[i].yaml);
        NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = NULL;
        struct nacre_plan *plan = NULL;
        struct nacre_error err = { 0 };
        struct asked asked;

        asked_read(&asked, refused[i].asked);
        assert_int_equal(nacre_result_new(&denials, &err), NACRE_OK);
        print_message("%s\n", refused[i].text);
        assert_int_equal(nacre_plan_make(policy, &asked.request, &plan, denials, &err),
                         refused[i].status);
        assert_null(plan);
        assert_int_equal(denials->denials_seen, 1);
        assert_string_equal(denials->denials[0].text, refused[i].text);
        assert_string_equal(denials->denials[0].code, refused[i].code);
        assert_string_equal(denials->denials[0].rule, refused[i].rule);
        assert_int_equal(denials->denials[0].place.line, refused[i].line);
        assert_int_equal(denials->denials[0].place.column, refused[i].column);
        assert_int_equal(err.status, refused[i].status);
        assert_string_equal(err.text, refused[i].text);
        assert_int_equal(err.line, refused[i].line);
        assert_int_equal(err.column, refused[i].column);
        assert_string_equal(err.file, refused[i].line ? "p.yaml" : "");
    }
}

/* Every refusal is told, and one by the request outweighs those of the build. */
static void all_refusals_are_told_at_once(void **state)
{
    static const char yaml[] = LEVEL("container")
        "  runtime: docker\n"
        "  capabilities:\n"
        "    network: {mode: allow-all}\n"
        "    filesystem: {mode: deny}\n"
        "    secrets: {injection: file-mount, encryption: aes-256-gcm}\n"
        "    shell: {mode: full}\n";
    static const char *const rules[] = {
        "level", "runtime", "capabilities.network.mode", "capabilities.secrets.injection",
        "capabilities.secrets.encryption", "capabilities.shell.mode",
    };
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(yaml);
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = NULL;
    struct nacre_request request = { .workspace = "/srv/w" };
    struct nacre_plan *plan = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_result_new(&denials, &err), NACRE_OK);
    assert_int_equal(nacre_plan_make(policy, &(struct nacre_request){ 0 }, &plan, denials, &err),
                     NACRE_ERR_UNAVAILABLE);
    assert_int_equal(denials->denials_seen, NACRE_COUNT(rules));
    for (size_t i = 0; i < NACRE_COUNT(rules); i++)
        assert_string_equal(denials->denials[i].rule, rules[i]);
    assert_int_equal(nacre_plan_make(policy, &request, &plan, denials, &err), NACRE_ERR_DENIED);
    assert_int_equal(denials->denials_seen, 2 * NACRE_COUNT(rules) + 1);
    assert_int_equal(err.line, 6);
    assert_null(plan);
}

#define EVERY_FEATURE                                                                     \
    (NACRE_FEATURE_WASM | NACRE_FEATURE_MEMORY_LIMIT | NACRE_FEATURE_WALL_LIMIT |         \
     NACRE_FEATURE_FUEL | NACRE_FEATURE_OPEN_FILES | NACRE_FEATURE_OUTPUT_LIMIT |         \
     NACRE_FEATURE_PROCESSES | NACRE_FEATURE_NO_NETWORK | NACRE_FEATURE_NO_SHELL)

static struct nacre_plan *plan_of(const struct nacre_policy *policy,
                                  const struct nacre_request *request)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = NULL;
    struct nacre_plan *plan = NULL;
    struct nacre_error err;

    assert_int_equal(nacre_result_new(&denials, &err), NACRE_OK);
    if (nacre_plan_make(policy, request, &plan, denials, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return plan;
}

static const struct {
    const char *yaml, *asked;
    struct nacre_limits limits;
    uint32_t further; /* features beyond those that are always required */
} limited[] = {
    { HEAD, NULL,
      { 512ull << 20, 120000, 256, 10485760, 0, 64, 2400000000000, false, 268435456, 16384 },
      0 },
    { LIMITS "    memory_mb: 1\n    cpu_shares: 1024\n    max_processes: 2\n"
             "    max_open_files: 3\n    timeout_ms: 1001\n    max_output_bytes: 5\n",
      NULL, { 1048576, 1001, 3, 5, 1024, 2, 40000000000, false, 268435456, 16384 },
      NACRE_FEATURE_CPU_SHARES_LOW },
    { LIMITS "    cpu_shares: 1025\n    timeout_ms: 1000\n", "timeout-ms 1000",
      { 512ull << 20, 1000, 256, 10485760, 1025, 64, 20000000000, false, 268435456, 16384 },
      NACRE_FEATURE_CPU_SHARES_ANY },
    { HEAD, "timeout-ms 1\nfuel 1",
      { 512ull << 20, 1, 256, 10485760, 0, 64, 1, true, 268435456, 16384 }, 0 },
    { HEAD, "fuel 18446744073709551615",
      { 512ull << 20, 120000, 256, 10485760, 0, 64, UINT64_MAX, true, 268435456, 16384 }, 0 },
    { SCOPED MOUNT("/tmp", "rw"), "timeout-ms 1",
      { 512ull << 20, 1, 256, 10485760, 0, 64, 20000000000, false, 268435456, 16384 },
      NACRE_FEATURE_FS_BENEATH },
    { SCOPED MOUNT("/tmp", "rw") DENIED("/etc"), "timeout-ms 1",
      { 512ull << 20, 1, 256, 10485760, 0, 64, 20000000000, false, 268435456, 16384 },
      NACRE_FEATURE_FS_BENEATH | NACRE_FEATURE_FS_DENIED },
    { FILES "      mode: full\n", "timeout-ms 1",
      { 512ull << 20, 1, 256, 10485760, 0, 64, 20000000000, false, 268435456, 16384 },
      NACRE_FEATURE_FS_BENEATH | NACRE_FEATURE_FS_FULL },
};

static void limits_and_required_features_are_these(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(limited); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(limited[i].yaml);
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
        const struct nacre_limits *want = &limited[i].limits;
        struct asked asked;

        asked_read(&asked, limited[i].asked);
        plan = plan_of(policy, &asked.request);
        assert_int_equal(plan->limits.memory_bytes_max, want->memory_bytes_max);
        assert_int_equal(plan->limits.wall_ms_max, want->wall_ms_max);
        assert_int_equal(plan->limits.open_files_max, want->open_files_max);
        assert_int_equal(plan->limits.output_bytes_max, want->output_bytes_max);
        assert_int_equal(plan->limits.cpu_shares, want->cpu_shares);
        assert_int_equal(plan->limits.processes_max, want->processes_max);
        assert_true(plan->limits.fuel_max == want->fuel_max);
        assert_int_equal(plan->limits.fuel_exact, want->fuel_exact);
        assert_int_equal(plan->limits.scratch_bytes_max, want->scratch_bytes_max);
        assert_int_equal(plan->limits.scratch_files_max, want->scratch_files_max);
        assert_int_equal(plan->required, EVERY_FEATURE | limited[i].further);
    }
}

static void a_draft_tells_refusals_and_is_not_sealed(void **state)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(LEVEL("container"));
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_plan_draft(policy, &(struct nacre_request){ 0 }, &plan, &err),
                     NACRE_OK);
    assert_false(plan->sealed);
    assert_int_equal(plan->decisions[0].verdict, NACRE_VERDICT_REFUSE);
    /* No wall of the wasm executor is promised at another level. */
    for (uint32_t i = 0; i < plan->decision_count; i++)
        if (plan->decisions[i].mechanism[0])
            assert_string_equal(plan->decisions[i].mechanism,
                                "none: level container has no executor in this build");
}

/* Each row differs from the first in one thing. */
static const struct {
    const char *yaml, *asked, *session, *agent;
    bool same; /* as the first: a call's own affair */
} sandboxes[] = {
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/w", "s", "a", true },
    { SCOPED MOUNT("/workspace", "rw"), "mount /workspace=/srv/w", "s", "a", true },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/w\ntimeout-ms 7", "s", "a", true },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/w\nfuel 7", "s", "a", true },
    { SCOPED MOUNT("/workspace", "rw") "#\n", "workspace /srv/w", "s", "a", false },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/x", "s", "a", false },
    { SCOPED MOUNT("/workspace", "rw"), NULL, "s", "a", false },
    { SCOPED MOUNT("/workspace", "rw"), "mount /workspace=/srv/w:ro", "s", "a", false },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/w\nmount /workspace/d=/srv/d", "s", "a",
      false },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/w", "t", "a", false },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/w", NULL, "a", false },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/w", "", "a", false },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/w", "s", "b", false },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/w", "sa", "", false },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/w", "", "sa", false },
};

static void the_digest_changes_with_all_that_a_sandbox_is_made_of(void **state)
{
    struct nacre_digest digests[NACRE_COUNT(sandboxes)];

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(sandboxes); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
            policy_of(sandboxes[i].yaml);
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
        struct asked asked;

        asked_read(&asked, sandboxes[i].asked);
        asked.request.session = sandboxes[i].session;
        asked.request.agent = sandboxes[i].agent;
        plan = plan_of(policy, &asked.request);
        digests[i] = plan->digest;
        for (size_t k = 0; k < i; k++)
            assert_int_equal(nacre_digest_equal(&digests[i], &digests[k]),
                             sandboxes[i].same && sandboxes[k].same);
    }
}

/* The same for each member of the policy's model, behind the document's digest: a
 * dialect that forgets to change the digest must not share a sandbox. */
static void the_digest_does_not_rest_on_the_documents_bytes_alone(void **state)
{
    static const char yaml[] = SCOPED MOUNT("/data", "rw") DENIED("/data/x")
        "  resource_limits:\n    memory_mb: 7\n    cpu_shares: 7\n    max_processes: 7\n"
        "    max_open_files: 7\n    max_output_bytes: 7\n";
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(yaml);
    struct nacre_limit *limits[] = {
        &policy->limits.memory_mb, &policy->limits.cpu_shares, &policy->limits.max_processes,
        &policy->limits.max_open_files, &policy->limits.max_output_bytes,
    };
    const struct nacre_request request = { 0 };
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *first = plan_of(policy, &request);

    (void)state;
    for (size_t i = 0; i <= NACRE_COUNT(limits) + 2; i++) {
        NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
        struct nacre_mount_rule *mount = &policy->filesystem.mounts.items[0];
        char *denied = policy->filesystem.denied_paths.items[0].text;
        bool changed = i < NACRE_COUNT(limits) + 2;

        if (i < NACRE_COUNT(limits))
            limits[i]->value++;
        else if (i == NACRE_COUNT(limits))
            mount->writable = false;
        else if (changed)
            denied[strlen(denied) - 1] = 'y';
        plan = plan_of(policy, &request);
        assert_int_equal(nacre_digest_equal(&first->digest, &plan->digest), !changed);
        if (i < NACRE_COUNT(limits))
            limits[i]->value--;
        mount->writable = true;
        denied[strlen(denied) - 1] = 'x';
    }
}

static void planning_survives_every_allocation_failure(void **state)
{
    static const char yaml[] = SCOPED MOUNT("/workspace", "rw") MOUNT("/workspace/in", "ro")
        MOUNT("/data", "ro") MOUNT("/gone", "rw") DENIED("/workspace/s, /gone, /data/x");
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(yaml);
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = NULL;
    struct nacre_error err;
    struct asked asked;
    bool fired = true;

    (void)state;
    asked_read(&asked, "workspace /srv/w\nmount /data/sub=/srv/d:ro\nmount /no=/srv/no");
    assert_int_equal(nacre_result_new(&denials, &err), NACRE_OK);
    for (uint32_t turn = 0; turn < 2; turn++, fired = true) {
        for (int n = 0; fired; n++) {
            NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
            enum nacre_status status;

            assert_true(n < 500);
            denials->denials_seen = denials->denial_count = 0;
            fail_alloc_after(n);
            status = nacre_plan_make(policy, &asked.request, &plan, denials, &err);
            fired = fail_alloc_fired();
            fail_alloc_after(-1);
            if (fired) {
                assert_int_equal(status, NACRE_ERR_MEMORY);
                assert_int_equal(denials->denials_seen, 0);
            } else {
                assert_int_equal(status, turn ? NACRE_OK : NACRE_ERR_DENIED);
            }
            assert_int_equal(plan != NULL, status == NACRE_OK);
        }
        asked.request.mount_count--; /* the second time without the refused one */
    }
}

static void a_result_keeps_the_first_denials_and_counts_all(void **state)
{
    NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_result_new(&result, &err), NACRE_OK);
    for (int i = 0; i < NACRE_DENIALS_MAX + 5; i++) {
        struct nacre_denial denial = { .place.line = i + 1 };

        nacre_result_deny(result, &denial);
    }
    assert_int_equal(result->denial_count, NACRE_DENIALS_MAX);
    assert_int_equal(result->denials_seen, NACRE_DENIALS_MAX + 5);
    assert_int_equal(result->denials[NACRE_DENIALS_MAX - 1].place.line, NACRE_DENIALS_MAX);
    nacre_result_free(NULL);
    fail_alloc_after(0);
    assert_int_equal(nacre_result_new(&(struct nacre_result *){ NULL }, &err),
                     NACRE_ERR_MEMORY);
    fail_alloc_after(-1);
}

static void each_outcome_has_the_exit_status_that_a_shell_expects(void **state)
{
    static const struct {
        struct nacre_result result;
        int exit_status;
        const char *name;
    } rows[] = {
        { { .outcome = NACRE_OUTCOME_EXITED, .exit_status = 3, .signal = 9 }, 3, "exited" },
        { { .outcome = NACRE_OUTCOME_TRAPPED, .exit_status = 3 }, 134, "trapped" },
        { { .outcome = NACRE_OUTCOME_TIMED_OUT }, 124, "timed-out" },
        { { .outcome = NACRE_OUTCOME_OUT_OF_FUEL }, 152, "out-of-fuel" },
        { { .outcome = NACRE_OUTCOME_OUT_OF_MEMORY }, 137, "out-of-memory" },
        { { .outcome = NACRE_OUTCOME_OUTPUT_LIMIT }, 153, "output-limit" },
        { { .outcome = NACRE_OUTCOME_KILLED, .signal = 15 }, 143, "killed" },
        { { .outcome = NACRE_OUTCOME_DENIED }, 126, "denied" },
    };

    (void)state;
    assert_int_equal(NACRE_COUNT(rows), NACRE_OUTCOME_COUNT - 1);
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        assert_int_equal(nacre_result_exit(&rows[i].result), rows[i].exit_status);
        assert_string_equal(nacre_outcome_name(rows[i].result.outcome), rows[i].name);
    }
}

static void every_feature_has_a_name_of_its_own(void **state)
{
    (void)state;
    for (uint32_t a = 1; a <= NACRE_FEATURE_NO_SHELL; a <<= 1)
        for (uint32_t b = 1; b < a; b <<= 1)
            assert_string_not_equal(nacre_feature_name((enum nacre_feature)a),
                                    nacre_feature_name((enum nacre_feature)b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_policy_and_a_request_give_exactly_these_mounts),
        cmocka_unit_test(every_refusal_names_its_rule_its_place_and_the_way_out),
        cmocka_unit_test(all_refusals_are_told_at_once),
        cmocka_unit_test(limits_and_required_features_are_these),
        cmocka_unit_test(a_draft_tells_refusals_and_is_not_sealed),
        cmocka_unit_test(the_digest_changes_with_all_that_a_sandbox_is_made_of),
        cmocka_unit_test(the_digest_does_not_rest_on_the_documents_bytes_alone),
        cmocka_unit_test(planning_survives_every_allocation_failure),
        cmocka_unit_test(a_result_keeps_the_first_denials_and_counts_all),
        cmocka_unit_test(each_outcome_has_the_exit_status_that_a_shell_expects),
        cmocka_unit_test(every_feature_has_a_name_of_its_own),
    };

    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
