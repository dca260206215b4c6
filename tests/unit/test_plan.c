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
#include "nacre/plan.h"
#include "plan_words.h"

static void add_names(char *dump, size_t size, const char *label, char *const *names,
                      uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        (void)snprintf(dump + strlen(dump), size - strlen(dump), "%s%s%s",
                       i ? "," : label, names[i], "");
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
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv/w",
      "/workspace</srv/w rw -.git/hooks" },
    { SCOPED MOUNT("/workspace", "rw"), "workspace /srv//w/./",
      "/workspace</srv/w rw -.git/hooks" },
    { SCOPED MOUNT("/workspace", "rw"), "mount /workspace=/srv/w:ro",
      "/workspace</srv/w ro" },
    { SCOPED MOUNT("/workspace", "rw"), "mount /workspace=/srv/w:rw",
      "/workspace</srv/w rw -.git/hooks" },
    { SCOPED MOUNT("/data", "ro"), "mount /data=/srv/d", "/data</srv/d ro" },
    { SCOPED MOUNT("/data", "ro"), "mount /data=/srv/d:ro", "/data</srv/d ro" },
    { SCOPED MOUNT("/tmp", "rw"), "mount /tmp=/srv/t", "/tmp</srv/t rw -.git/hooks" },
    { SCOPED MOUNT("data", "rw"), "mount data=/srv/d", "data</srv/d rw -.git/hooks" },
    { SCOPED MOUNT(".", "rw"), "mount .=/srv/d", ".</srv/d rw -.git/hooks" },
    { SCOPED MOUNT(".", "rw"), "mount .=/srv/d\nmount data=/srv/e",
      ".</srv/d rw -.git/hooks +data; data</srv/e rw -.git/hooks" },
    { SCOPED MOUNT("/", "rw"), "mount /=/srv/root", "/</srv/root rw -.git/hooks" },
    /* Below what the policy covers: a further mount, and a hole in the outer one. */
    { SCOPED MOUNT("/workspace", "rw"), "mount /workspace/data=/srv/d",
      "/workspace<private rw +data; /workspace/data</srv/d rw -.git/hooks" },
    { SCOPED MOUNT("/workspace", "ro"), "workspace /srv/w\nmount /workspace/a/b=/srv/d",
      "/workspace</srv/w ro +a/b; /workspace/a/b</srv/d ro" },
    { SCOPED MOUNT("/a", "rw") MOUNT("/a/b", "ro"), "mount /a/b/c=/srv/c",
      "/a</a rw -.git/hooks +b,b/c; /a/b</a/b ro +c; /a/b/c</srv/c ro" },
    { SCOPED MOUNT("/a", "ro") MOUNT("/a/b", "rw"), NULL,
      "/a</a ro +b; /a/b</a/b rw -.git/hooks" },
    { SCOPED MOUNT("/a", "ro") MOUNT("/ab", "rw"), NULL,
      "/a</a ro; /ab</ab rw -.git/hooks" },
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
    { FILES "      mode: full\n", "workspace /srv/w",
      "/</ rw +workspace; /workspace</srv/w rw -.git/hooks" },
    { FILES "      mode: full\n", "mount /=/srv/root", "/</srv/root rw -.git/hooks" },
    { FILES "      mode: full\n", "mount /d=/srv/d:ro", "/</ rw +d; /d</srv/d ro" },
    { FULL MOUNT("/data", "rw"), NULL, "/</ rw" },
    { FULL MOUNT("/", "rw"), NULL, "/</ rw" },
    { FULL MOUNT("/data", "rw"), "mount /data=/srv/d",
      "/</ rw +data; /data</srv/d rw -.git/hooks" },
    { FULL MOUNT("/workspace", "rw") MOUNT("/tmp", "rw"), NULL,
      "/</ rw +workspace,tmp; /workspace<private rw; /tmp<private rw" },
    { FULL MOUNT("data", "rw"), "mount data=/srv/d",
      "/</ rw; data</srv/d rw -.git/hooks" },
    /* Denied paths, by the guest's name and by the host's. */
    { SCOPED MOUNT("/workspace", "rw") DENIED("/workspace/secret"), NULL,
      "/workspace<private rw -secret" },
    { SCOPED MOUNT("/workspace", "rw") DENIED("/workspace-evil, /work"), NULL,
      "/workspace<private rw" },
    { SCOPED MOUNT("/workspace", "rw") DENIED("/workspace/a, /srv/w/b/c, /workspace/a/"),
      "workspace /srv/w", "/workspace</srv/w rw -a,b/c,.git/hooks" },
    { SCOPED MOUNT("/data", "ro") DENIED("/data/x"), NULL, "/data</data ro -x" },
    { SCOPED MOUNT("/data", "ro") MOUNT("/b", "ro") DENIED("/data"), NULL, "/b</b ro" },
    { SCOPED MOUNT("/data/sub", "ro") MOUNT("/b", "ro") DENIED("/data"), NULL,
      "/b</b ro" },
    { SCOPED MOUNT("/data", "rw") DENIED("/"), NULL, "" },
    { SCOPED MOUNT("/a", "rw") MOUNT("/a/b", "rw") DENIED("/a/b"), NULL,
      "/a</a rw -b,.git/hooks" },
    { SCOPED MOUNT("data", "rw") DENIED("/srv/d/x"), "mount data=/srv/d",
      "data</srv/d rw -x,.git/hooks" },
    { FILES "      mode: full\n" DENIED("/etc/shadow, /root/.ssh"), NULL,
      "/</ rw -etc/shadow,root/.ssh" },
    { FILES "      mode: full\n" DENIED("/"), NULL, "" },
    { FULL MOUNT("/data", "rw") DENIED("/data"), NULL, "/</ rw -data" },
    { FULL MOUNT("/data", "rw") DENIED("/srv/root/data"), "mount /=/srv/root",
      "/</srv/root rw -srv/root/data,data,.git/hooks" },
    /* One directory under two names: the denied one stays denied under the other. */
    { SCOPED MOUNT("/workspace", "rw") MOUNT("/m", "rw") DENIED("/workspace/secret"),
      "workspace /srv/w\nmount /m=/srv/w",
      "/workspace</srv/w rw -secret,.git/hooks; /m</srv/w rw -secret,.git/hooks" },
    { SCOPED MOUNT("/workspace", "rw") MOUNT("/m", "rw") DENIED("/workspace/s/t"),
      "workspace /srv/w\nmount /m=/srv/w/s",
      "/workspace</srv/w rw -s/t,.git/hooks; /m</srv/w/s rw -t,.git/hooks" },
};

static void a_policy_and_a_request_give_exactly_these_mounts(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(granted); i++) {
        NACRE_AUTO(nacre_policy_guard)
        struct nacre_policy *policy = policy_of(granted[i].yaml);
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

#define ADD_DATA                                                                         \
    "add under spec.capabilities.filesystem.mount_paths: - {path: /data, permissions: "

static const struct {
    const char *yaml, *asked;
    enum nacre_status status;
    const char *code, *rule;
    int line, column;
    const char *text;
} refused[] = {
    /* What this build has no executor or engine for. */
    { LEVEL("container") "  runtime: apple-container\n", NULL, NACRE_ERR_UNAVAILABLE,
      "not-enforceable", "runtime", 7, 12,
      "runtime apple-container is not there on Linux; change 'apple-container' to "
      "'docker'" },
    { LEVEL("none"), NULL, NACRE_ERR_DENIED, "unsandboxed", "level", 6, 10,
      "level none runs on the host without a sandbox, and the caller has not agreed to "
      "that; give --unsandboxed, or change 'none' to 'process'" },
    { NET "      mode: allowlist\n      ssrf_protection: {dns_pinning: false}\n", NULL,
      NACRE_ERR_UNAVAILABLE, "not-enforceable",
      "capabilities.network.ssrf_protection.dns_pinning", 10, 38,
      "dns_pinning: false with mode allowlist: a name that is looked up again after the "
      "check may lead anywhere; set it to true" },
    { NET "      mode: allowlist\n      allowed_hosts: [a.example]\n"
          "      ssrf_protection: {dns_pinning: false}\n", NULL,
      NACRE_ERR_UNAVAILABLE, "not-enforceable",
      "capabilities.network.ssrf_protection.dns_pinning", 11, 38,
      "dns_pinning: false with mode allowlist: a name that is looked up again after the "
      "check may lead anywhere; set it to true" },
    { LEVEL("none") "  capabilities:\n    secrets: {injection: host-boundary}\n",
      "unsandboxed", NACRE_ERR_UNAVAILABLE, "not-enforceable",
      "capabilities.secrets.injection", 8, 26,
      "host-boundary can't be enforced at level none: it has no door and no files of its "
      "own; change the level 'none' to 'process', or 'host-boundary' to 'environment'" },
    { LEVEL("none") "  capabilities:\n    secrets: {injection: environment}\n",
      "unsandboxed\ntoken key", NACRE_ERR_UNAVAILABLE, "not-enforceable",
      "request.tokens", 0, 0,
      "the token for key can't be used at level none: it has no door; change the level "
      "'none' to 'process'" },
    { SHELL "      mode: restricted\n", NULL, NACRE_ERR_UNAVAILABLE, "not-enforceable",
      "capabilities.shell.mode", 9, 13,
      "shell mode restricted: no native command runs at level wasm; change 'restricted' "
      "to 'deny', or the level 'wasm' to 'process'" },
    { SHELL "      mode: full\n", NULL, NACRE_ERR_UNAVAILABLE, "not-enforceable",
      "capabilities.shell.mode", 9, 13,
      "shell mode full: no native command runs at level wasm; change 'full' to 'deny', "
      "or the level 'wasm' to 'process'" },
    { FULL MOUNT("/data", "ro"), NULL, NACRE_ERR_UNAVAILABLE, "not-enforceable",
      "capabilities.filesystem.mount_paths[0]", 11, 38,
      "/data read-only in mode full: the whole tree is writable, the line would not "
      "hold; change 'ro' to 'rw', or the mode 'full' to 'scoped'" },
    /* What a request may not have. */
    { SCOPED MOUNT("data", "rw"), NULL, NACRE_ERR_DENIED, "mount-unmapped",
      "capabilities.filesystem.mount_paths[0]", 11, 18,
      "data is relative and no mount request says where it lies; ask for a mount: "
      "--mount data=DIR" },
    { FULL MOUNT("data", "rw"), NULL, NACRE_ERR_DENIED, "mount-unmapped",
      "capabilities.filesystem.mount_paths[0]", 11, 18,
      "data is relative and no mount request says where it lies; ask for a mount: "
      "--mount data=DIR" },
    { SCOPED MOUNT("/workspace", "rw"), "mount /data=/srv/d", NACRE_ERR_DENIED,
      "mount-not-covered", "capabilities.filesystem.mount_paths", 10, 7,
      "mount request /data: no line of mount_paths is at or above it; " ADD_DATA "ro}" },
    { SCOPED MOUNT("/workspace", "rw"), "mount /data=/srv/d:rw", NACRE_ERR_DENIED,
      "mount-not-covered", "capabilities.filesystem.mount_paths", 10, 7,
      "mount request /data: no line of mount_paths is at or above it; " ADD_DATA "rw}" },
    { SCOPED MOUNT("/workspace", "rw"), "mount /workspace-evil=/srv/d", NACRE_ERR_DENIED,
      "mount-not-covered", "capabilities.filesystem.mount_paths", 10, 7,
      "mount request /workspace-evil: no line of mount_paths is at or above it; add "
      "under spec.capabilities.filesystem.mount_paths: - {path: /workspace-evil, "
      "permissions: ro}" },
    { SCOPED MOUNT("/workspace", "rw"), "mount /workspace/../data=/srv/d",
      NACRE_ERR_DENIED, "mount-not-covered", "capabilities.filesystem.mount_paths", 10, 7,
      "mount request /data: no line of mount_paths is at or above it; " ADD_DATA "ro}" },
    { SCOPED MOUNT("/data/sub", "rw"), "mount /data=/srv/d", NACRE_ERR_DENIED,
      "mount-not-covered", "capabilities.filesystem.mount_paths", 10, 7,
      "mount request /data: no line of mount_paths is at or above it; " ADD_DATA "ro}" },
    { SCOPED MOUNT("/", "rw"), "mount data=/srv/d", NACRE_ERR_DENIED, "mount-not-covered",
      "capabilities.filesystem.mount_paths", 10, 7,
      "mount request data: no line of mount_paths is at or above it; add under "
      "spec.capabilities.filesystem.mount_paths: - {path: data, permissions: ro}" },
    { SCOPED MOUNT("/data", "rw"), "mount .=/srv/d", NACRE_ERR_DENIED,
      "mount-not-covered", "capabilities.filesystem.mount_paths", 10, 7,
      "mount request .: no line of mount_paths is at or above it; add under "
      "spec.capabilities.filesystem.mount_paths: - {path: \".\", permissions: ro}" },
    { SCOPED MOUNT("/data", "rw"), "workspace /srv/w", NACRE_ERR_DENIED,
      "mount-not-covered", "capabilities.filesystem.mount_paths", 10, 7,
      "mount request /workspace: no line of mount_paths is at or above it; add under "
      "spec.capabilities.filesystem.mount_paths: - {path: /workspace, permissions: ro}" },
    { FILES "      mode: full\n", "mount data=/srv/d", NACRE_ERR_DENIED,
      "mount-not-covered", "capabilities.filesystem.mount_paths", 9, 13,
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
      "spec.capabilities.filesystem: mode: scoped; add under "
      "spec.capabilities.filesystem: mount_paths: [{path: /workspace, permissions: "
      "ro}]" },
    { FILES "      mode: deny\n      mount_paths:\n" MOUNT("/data", "rw"),
      "mount /data=/srv/d", NACRE_ERR_DENIED, "mount-not-covered",
      "capabilities.filesystem.mode", 9, 13,
      "mount request /data: not granted: mode is deny; line 9: change 'deny' to "
      "'scoped'" },
    { SCOPED MOUNT("/data", "ro"), "mount /data=/srv/d:rw", NACRE_ERR_DENIED,
      "over-grant", "capabilities.filesystem.mount_paths[0]", 11, 38,
      "mount request /data asks for writing, the policy grants ro; change 'ro' to 'rw'" },
    { SCOPED MOUNT("/a", "rw") MOUNT("/a/b", "ro"), "mount /a/b/c=/srv/d:rw",
      NACRE_ERR_DENIED, "over-grant", "capabilities.filesystem.mount_paths[1]", 12, 37,
      "mount request /a/b/c asks for writing, the policy grants ro; change 'ro' to "
      "'rw'" },
    { READ_ONLY MOUNT("/data", "rw"), "mount /data=/srv/d:rw", NACRE_ERR_DENIED,
      "over-grant", "capabilities.filesystem.mode", 9, 13,
      "mount request /data asks for writing, mode read-only grants none; change "
      "'read-only' to 'scoped'" },
    { READ_ONLY MOUNT("/data", "ro"), "mount /data=/srv/d:rw", NACRE_ERR_DENIED,
      "over-grant", "capabilities.filesystem.mode", 9, 13,
      "mount request /data asks for writing, mode read-only grants none; change "
      "'read-only' to 'scoped'; line 11: change 'ro' to 'rw'" },
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
      "mount request /workspace from 'w': not an absolute path on the host; give its "
      "whole path, from / on" },
    { SCOPED MOUNT(".", "rw"), "mount ../up=/srv/d\nmount .=/srv/e", NACRE_ERR_DENIED,
      "bad-mount", "request.mounts", 0, 0,
      "mount request '../up' from '/srv/d': empty, too long or climbing; give a name "
      "that stays below where it starts" },
    { SCOPED MOUNT(".", "rw"), "mount =/srv/d\nmount .=/srv/e", NACRE_ERR_DENIED,
      "bad-mount", "request.mounts", 0, 0,
      "mount request '' from '/srv/d': empty, too long or climbing; give a name that "
      "stays below where it starts" },
    /* A denied path wins over a request, on the host's side and on the guest's. */
    { SCOPED MOUNT("/workspace", "rw") DENIED("/srv/secret"), "workspace /srv/secret",
      NACRE_ERR_DENIED, "denied-path", "capabilities.filesystem.denied_paths[0]", 12, 22,
      "mount request /workspace: its directory is at or below the denied path "
      "/srv/secret; remove '/srv/secret' from denied_paths (line 12)" },
    { SCOPED MOUNT("/workspace", "rw") DENIED("/srv/secret"),
      "workspace /srv/x/../secret/w", NACRE_ERR_DENIED, "denied-path",
      "capabilities.filesystem.denied_paths[0]", 12, 22,
      "mount request /workspace: its directory is at or below the denied path "
      "/srv/secret; remove '/srv/secret' from denied_paths (line 12)" },
    { SCOPED MOUNT("/workspace", "rw") DENIED("/workspace/s"),
      "mount /workspace/s/x=/srv/d", NACRE_ERR_DENIED, "denied-path",
      "capabilities.filesystem.denied_paths[0]", 12, 22,
      "mount request /workspace/s/x: it is at or below the denied path /workspace/s; "
      "remove '/workspace/s' from denied_paths (line 12)" },
    { SCOPED MOUNT("/workspace", "rw") MOUNT("/m", "ro") DENIED("/workspace/s"),
      "workspace /srv/w\nmount /m=/srv/w/s/t", NACRE_ERR_DENIED, "denied-path",
      "capabilities.filesystem.denied_paths[0]", 13, 22,
      "mount request /m: its directory is at or below the denied path /workspace/s; "
      "remove '/workspace/s' from denied_paths (line 13)" },
    /* Secrets are the policy's to give; a look into TLS is, too. */
    { HEAD, "secret key=API_KEY", NACRE_ERR_DENIED, "secret-not-granted",
      "request.secrets", 0, 0,
      "the secret key is denied: the policy has no secrets section; add under "
      "spec.capabilities.secrets: injection: host-boundary" },
    { HEAD, "token key", NACRE_ERR_DENIED, "secret-not-granted", "request.tokens", 0, 0,
      "the secret key is denied: the policy has no secrets section; add under "
      "spec.capabilities.secrets: injection: host-boundary" },
    { LEVEL("process"), "intercept a.example", NACRE_ERR_DENIED, "bad-request",
      "request.intercept", 0, 0,
      "--intercept 'a.example': not a host that this policy opens; leave --intercept "
      "out, or list the host under allowed_hosts" },
    { LEVEL("process") "  capabilities:\n    network: {mode: allowlist, allowed_hosts: "
      "[a.example]}\n", "intercept *.a.example", NACRE_ERR_DENIED, "bad-request",
      "request.intercept", 0, 0,
      "--intercept '*.a.example': not a host that this policy opens; leave --intercept "
      "out, or list the host under allowed_hosts" },
    { LEVEL("process") "  capabilities:\n    network: {mode: allowlist, allowed_hosts: "
      "[a.example]}\n", "intercept a.example:8443", NACRE_ERR_DENIED, "bad-request",
      "request.intercept", 0, 0,
      "--intercept 'a.example:8443': not a host that this policy opens; leave "
      "--intercept out, or list the host under allowed_hosts" },
    { LEVEL("process") "  capabilities:\n    network: {mode: allow-all}\n",
      "intercept a.example:22", NACRE_ERR_DENIED, "bad-request", "request.intercept", 0,
      0,
      "--intercept 'a.example:22': not a host that this policy opens; leave --intercept "
      "out, or list the host under allowed_hosts" },
    { LEVEL("process") "  capabilities:\n    network: {mode: allow-all}\n",
      "intercept *", NACRE_ERR_DENIED, "bad-request", "request.intercept", 0, 0,
      "--intercept: '*': '*' alone is not a host; list the hosts, or say mode: "
      "allow-all; leave --intercept out, or list the host under allowed_hosts" },
    /* Limits are denied, never clamped. */
    { LIMITS "    timeout_ms: 1000\n", "timeout-ms 1001", NACRE_ERR_DENIED, "over-limit",
      "resource_limits.timeout_ms", 8, 17,
      "the request asks for a timeout of 1001 ms, the policy allows 1000 ms; change "
      "'1000' to '1001', or ask for less" },
    { HEAD, "timeout-ms 120001", NACRE_ERR_DENIED, "over-limit",
      "resource_limits.timeout_ms", 0, 0,
      "the request asks for a timeout of 120001 ms, the default allows 120000 ms; add "
      "under spec.resource_limits: timeout_ms: 120001, or ask for less" },
};

static void every_refusal_names_its_rule_its_place_and_the_way_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(refused); i++) {
        NACRE_AUTO(nacre_policy_guard)
        struct nacre_policy *policy = policy_of(refused[i].yaml);
        NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = NULL;
        struct nacre_plan *plan = NULL;
        struct nacre_error err = { 0 };
        struct asked asked;
        char told[1100];

        asked_read(&asked, refused[i].asked);
        assert_int_equal(nacre_result_new(&denials, &err), NACRE_OK);
        print_message("%s\n", refused[i].text);
        assert_int_equal(nacre_plan_make(policy, &asked.request, &plan, denials, &err),
                         refused[i].status);
        assert_null(plan);
        assert_int_equal(denials->denials_seen, 1);
        (void)snprintf(told, sizeof(told), "%s; %s", denials->denials[0].text,
                       denials->denials[0].fix);
        assert_string_equal(told, refused[i].text);
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
        "  runtime: apple-container\n"
        "  capabilities:\n"
        "    network: {mode: allowlist, ssrf_protection: {dns_pinning: false}}\n"
        "    filesystem: {mode: deny}\n"
        "    secrets: {injection: file-mount, encryption: aes-256-gcm}\n"
        "    shell: {mode: full}\n";
    static const char *const rules[] = {
        "runtime", "capabilities.network.ssrf_protection.dns_pinning",
    };
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = policy_of(yaml);
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = NULL;
    struct nacre_request request = { .workspace = "/srv/w" };
    struct nacre_plan *plan = NULL;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_result_new(&denials, &err), NACRE_OK);
    assert_int_equal(
        nacre_plan_make(policy, &(struct nacre_request){ 0 }, &plan, denials, &err),
        NACRE_ERR_UNAVAILABLE);
    assert_int_equal(denials->denials_seen, NACRE_COUNT(rules));
    for (size_t i = 0; i < NACRE_COUNT(rules); i++)
        assert_string_equal(denials->denials[i].rule, rules[i]);
    assert_int_equal(nacre_plan_make(policy, &request, &plan, denials, &err),
                     NACRE_ERR_DENIED);
    assert_int_equal(denials->denials_seen, 2 * NACRE_COUNT(rules) + 1);
    assert_int_equal(err.line, 7);
    assert_null(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_policy_and_a_request_give_exactly_these_mounts),
        cmocka_unit_test(every_refusal_names_its_rule_its_place_and_the_way_out),
        cmocka_unit_test(all_refusals_are_told_at_once),
    };

    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}
