/*
 * Answers and their rendering.  Each fix is applied to the policy's text by a small
 * editor that knows nothing but the words of the fix, and must flip the verdict.
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "asked.h"
#include "fail_alloc.h"
#include "nacre/render.h"

static struct nacre_policy *policy_of(const char *source, const char *yaml)
{
    struct nacre_policy *policy = NULL;
    struct nacre_error err = { 0 };

    if (nacre_policy_parse(source, yaml, strlen(yaml), &policy, &err) != NACRE_OK)
        fail_msg("%d:%d: %s in:\n%s", err.line, err.column, err.text, yaml);
    return policy;
}

/* "path P", "file P" (a path where a file was seen), "host H" or "command C". */
static enum nacre_status ask(const struct nacre_policy *policy,
                             const struct nacre_request *request, const char *question,
                             struct nacre_answer *ret_answer, struct nacre_error *err)
{
    if (strncmp(question, "path ", 5) == 0)
        return nacre_explain_path(policy, request, question + 5, false, ret_answer, err);
    if (strncmp(question, "file ", 5) == 0)
        return nacre_explain_path(policy, request, question + 5, true, ret_answer, err);
    if (strncmp(question, "host ", 5) == 0)
        return nacre_explain_host(policy, request, question + 5, ret_answer, err);
    if (strncmp(question, "command ", 8) == 0)
        return nacre_explain_command(policy, question + 8, ret_answer, err);
    fail_msg("no question: %s", question);
    return NACRE_ERR_USAGE;
}

/* ---- an editor that does what a fix says ---- */

struct text {
    char bytes[4096];
};

static char *line_at(struct text *text, int line)
{
    char *at = text->bytes;

    for (int i = 1; i < line; i++) {
        at = strchr(at, '\n');
        assert_non_null(at);
        at++;
    }
    return at;
}

static void replace(struct text *text, char *at, size_t length, const char *with)
{
    char tail[sizeof(text->bytes)];

    assert_true(strlen(text->bytes) + strlen(with) < sizeof(text->bytes));
    (void)snprintf(tail, sizeof(tail), "%s", at + length);
    memcpy(at, with, strlen(with));
    memcpy(at + strlen(with), tail, strlen(tail) + 1);
}

/* The line after that of the key `path` ("spec.a.b"), which is written if need be. */
static char *below_key(struct text *text, char *path, int *ret_indent)
{
    char *at = text->bytes;
    int indent = 0;

    for (char *key = strtok(path, "."); key; key = strtok(NULL, "."), indent += 2) {
        char line[128];
        char *found;

        (void)snprintf(line, sizeof(line), "\n%*s%s:\n", indent, "", key);
        found = strstr(at > text->bytes ? at - 1 : at, line);
        if (!found) {
            replace(text, at, 0, line + 1);
            found = at - 1;
        }
        at = found + strlen(line);
    }
    *ret_indent = indent;
    return at;
}

static void apply(struct text *text, const char *edit)
{
    char path[128], what[256], from[64], to[64], line_text[400];
    int line, column, indent;

    if (sscanf(edit, "p.yaml:%d:%d: change '%63[^']' to '%63[^']'", &line, &column, from,
               to) == 4) {
        char *at = line_at(text, line) + column - 1;

        assert_memory_equal(at, from, strlen(from));
        replace(text, at, strlen(from), to);
    } else if (sscanf(edit, "add under %127[a-z._]: %255[^\n]", path, what) == 2) {
        char *at = below_key(text, path, &indent);

        (void)snprintf(line_text, sizeof(line_text), "%*s%s\n", indent, "", what);
        replace(text, at, 0, line_text);
    } else if (sscanf(edit, "remove '%255[^']' from %127[a-z_] (line %d)", what, path,
                      &line) == 3) {
        char *at = line_at(text, line);

        replace(text, at, strcspn(at, "\n"), "");
    } else {
        fail_msg("not an edit: %s", edit);
    }
}

/* Changes first and additions last, so that line numbers hold while they are used. */
static void apply_all(struct text *text, const char *fix)
{
    char edits[512];

    for (int additions = 0; additions < 2; additions++) {
        char *rest = edits;

        (void)snprintf(edits, sizeof(edits), "%s", fix);
        for (char *edit = edits; edit; edit = rest) {
            rest = strstr(edit, "; ");
            if (rest) {
                *rest = '\0';
                rest += 2;
            }
            if ((strncmp(edit, "add ", 4) == 0) == additions)
                apply(text, edit);
        }
    }
}

#define HEADING              \
    "claw: \"0.3.0\"\n"      \
    "kind: Sandbox\n"        \
    "metadata:\n"            \
    "  name: tested\n"       \
    "spec:\n"
#define HEAD HEADING "  level: wasm\n"
#define FILES HEAD "  capabilities:\n    filesystem:\n"
#define NATIVE(level) \
    HEADING "  level: " level "\n  capabilities:\n    filesystem:\n      mode: "
#define NET HEAD "  capabilities:\n    network:\n"
#define WASM_SHELL HEAD "  capabilities:\n    shell:\n"
#define SHELL HEADING "  level: process\n  capabilities:\n    shell:\n"
#define MOUNT(path, permissions) \
    "        - path: " path "\n          permissions: " permissions "\n"
#define SCOPED FILES "      mode: scoped\n      mount_paths:\n" MOUNT("/workspace", "rw")
#define DENIED(path) "      denied_paths:\n        - /elsewhere\n        - " path "\n"

static const struct {
    const char *yaml, *asked, *question;
    bool allowed, write; /* before the fix */
} flips[] = {
    { HEAD, NULL, "path /data", false, false },
    { FILES "      mode: deny\n", NULL, "path /data", false, false },
    { FILES "      mode: deny\n      mount_paths:\n" MOUNT("/data", "ro"), NULL,
      "path /data/x", false, false },
    { SCOPED, NULL, "path /data", false, false },
    { SCOPED, NULL, "path /workspace-evil", false, false },
    { SCOPED, NULL, "file /data/x", false, false },
    { SCOPED, NULL, "file /data/a/../x", false, false },
    { FILES "      mode: deny\n", NULL, "file /data/x", false, false },
    { SCOPED, NULL, "file /workspace/x", true, true },
    { SCOPED DENIED("/data/x"), NULL, "file /data/x", false, false },
    { SCOPED, NULL, "path /a: b, {c} #d", false, false },
    { SCOPED, NULL, "path /it's \"quoted\"", false, false },
    { SCOPED, NULL, "path /workspace/x", true, true },
    { SCOPED, "workspace /srv/w", "path /workspace", true, true },
    { SCOPED MOUNT("data", "rw"), "mount data=/srv/d", "path data/x", true, true },
    { SCOPED MOUNT("/data", "ro"), NULL, "path /data/x", true, false },
    { SCOPED DENIED("/workspace/secret"), NULL, "path /workspace/secret", false, false },
    { SCOPED DENIED("/workspace/secret"), NULL, "path /workspace/a/../secret/b", false,
      false },
    { SCOPED DENIED("/workspace/s") "        - /workspace/s/t\n", NULL,
      "path /workspace/s/t/u", false, false },
    { SCOPED DENIED("/data/s"), NULL, "path /data/s", false, false },
    { SCOPED DENIED("/srv/w/s"), "workspace /srv/w", "path /workspace/s/x", false,
      false },
    { SCOPED MOUNT("/data", "rw") DENIED("/data"), NULL, "path /data/x", false, false },
    { SCOPED DENIED("/workspace/secret"), NULL, "path /workspace/secret2", true, true },
    { FILES "      mode: read-only\n", NULL, "path /workspace", true, false },
    { FILES "      mode: read-only\n", NULL, "path /data", false, false },
    { FILES "      mode: read-only\n      mount_paths:\n" MOUNT("/data", "rw"), NULL,
      "path /data", true, false },
    { FILES "      mode: read-only\n      mount_paths:\n" MOUNT("/data", "ro"), NULL,
      "path /data", true, false },
    { NATIVE("process") "read-only\n", NULL, "path /tmp/x", true, false },
    { NATIVE("process") "deny\n", NULL, "path /dev/shm", true, false },
    { NATIVE("container") "read-only\n", NULL, "path /tmp", true, false },
    { NATIVE("container") "deny\n", NULL, "path /dev/mqueue", true, false },
    { NATIVE("vm") "deny\n", NULL, "path /dev/shm/x", true, false },
    { FILES "      mode: full\n", NULL, "path /etc/passwd", true, true },
    { FILES "      mode: full\n" DENIED("/etc"), NULL, "path /etc/passwd", false, false },
    { HEAD, NULL, "host example.com", false, false },
    { NET "      mode: deny\n", NULL, "host example.com", false, false },
    { NET "      mode: deny\n      allowed_hosts:\n        - example.com\n", NULL,
      "host example.com:443", false, false },
    { NET "      mode: allowlist\n", NULL, "host example.com", false, false },
    { NET "      mode: allowlist\n      allowed_hosts:\n        - \"*.example.com\"\n",
      NULL, "host example.com", false, false },
    { NET "      mode: allowlist\n      allowed_hosts:\n        - a.example\n"
          "        - b.example\n        - \"*.example\"\n",
      NULL, "host b.example", true, false },
    { NET "      mode: allow-all\n", NULL, "host 93.184.216.34:80", true, false },
    { NET "      mode: allow-all\n", NULL, "host https://any.example:8443/x", true,
      false },
    { NET "      mode: allow-all\n", NULL, "host any.example:25", false, false },
    { NET "      mode: allow-all\n", NULL, "host 10.0.0.1", false, false },
    { NET "      mode: allow-all\n      ssrf_protection:\n"
          "        block_private_ips: true\n",
      NULL, "host [fd12::1]", false, false },
    { NET "      mode: allow-all\n      ssrf_protection:\n        enabled: false\n",
      NULL, "host 192.168.1.1", true, false },
    { NET "      mode: allowlist\n", NULL, "host [2606:4700::1]:8443", false, false },
    { NET "      mode: allowlist\n", NULL, "host http://10.0.0.1/", false, false },
    { NET "      mode: allowlist\n      allowed_hosts:\n        - a.example:8443\n",
      NULL, "host https://a.example/", false, false },
    { NET "      mode: allowlist\n      allowed_hosts:\n        - a.example:8443\n"
          "        - c.example\n",
      NULL, "host A.example.:8443", true, false },
    { NET "      mode: allowlist\n      allowed_hosts:\n"
          "        - b\xc3\xbc""cher.example\n"
          "        - c.example\n",
      NULL, "host B\xc3\x9c""CHER.example", true, false },
    /* A module's level runs no command, whatever the shell's lines say. */
    { HEAD, NULL, "command ls -l", false, false },
    { HEAD "  runtime: wasmtime\n", NULL, "command ls", false, false },
    { WASM_SHELL "      mode: deny\n", NULL, "command ls", false, false },
    { WASM_SHELL "      mode: restricted\n", NULL, "command ls", false, false },
    { WASM_SHELL "      mode: full\n", NULL, "command ls", false, false },
    { WASM_SHELL
      "      mode: restricted\n      blocked_commands:\n        - rm\n        - ls\n",
      NULL, "command ls", false, false },
    { HEADING "  level: process\n", NULL, "command ls -l", false, false },
    { SHELL "      mode: deny\n      blocked_commands:\n        - ls\n        - rm\n",
      NULL, "command ls", false, false },
    { SHELL "      mode: restricted\n", NULL, "command ls | wc", true, false },
    { SHELL "      mode: restricted\n", NULL, "command echo 'a  b' \"$c\"", true, false },
    { SHELL "      mode: restricted\n", NULL, "command x=1", true, false },
    { SHELL "      mode: restricted\n", NULL, "command ls $(", false, false },
    { SHELL "      mode: deny\n", NULL, "command $x", false, false },
    { SHELL "      mode: full\n", NULL, "command ls", true, false },
    { SHELL
      "      mode: restricted\n      blocked_commands:\n        - ls\n        - rm -rf\n",
      NULL, "command sudo  rm -rf /", false, false },
    { SHELL
      "      mode: restricted\n      blocked_patterns:\n        - x\n        - eval\n",
      NULL, "command eval 1", false, false },
    { SHELL "      mode: full\n      blocked_commands:\n        - ls\n        - rm\n",
      NULL, "command rm", true, false },
};

static void every_fix_applied_to_the_text_flips_the_verdict(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(flips); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *before =
            policy_of("p.yaml", flips[i].yaml);
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *after = NULL;
        struct nacre_answer first, second;
        struct nacre_error err;
        struct text text;
        struct asked asked;

        asked_read(&asked, flips[i].asked);
        assert_int_equal(ask(before, &asked.request, flips[i].question, &first, &err),
                         NACRE_OK);
        print_message("%s: %s\n    %s\n", flips[i].question, first.text, first.fix);
        assert_int_equal(first.allowed, flips[i].allowed);
        assert_int_equal(first.write, flips[i].write);
        assert_true(first.rule[0] && first.text[0]);

        (void)snprintf(text.bytes, sizeof(text.bytes), "%s", flips[i].yaml);
        apply_all(&text, first.fix);
        after = policy_of("p.yaml", text.bytes);
        assert_int_equal(ask(after, &asked.request, flips[i].question, &second, &err),
                         NACRE_OK);
        if (first.is_path && first.allowed && !first.write)
            assert_true(second.write);
        else
            assert_int_equal(second.allowed, !first.allowed);
    }
}

/* What no edit of the policy alone opens says so, or names the request's part. */
static const struct {
    const char *yaml, *asked, *question;
    bool read, write;
    const char *rule, *text, *fix;
} fixed[] = {
    { FILES "      mode: full\n", NULL, "path /proc/self/mem", false, false,
      "capabilities.filesystem.mode",
      "/proc/self/mem is not opened: it lies on a kernel filesystem, in every mode",
      "no change of a policy opens it" },
    { FILES "      mode: full\n", NULL, "path /sys", false, false,
      "capabilities.filesystem.mode",
      "/sys is not opened: it lies on a kernel filesystem, in every mode",
      "no change of a policy opens it" },
    { SCOPED, "workspace /dev", "path /workspace/kmsg", false, false,
      "capabilities.filesystem.mode",
      "/workspace/kmsg is not opened: it lies on a kernel filesystem, in every mode",
      "no change of a policy opens it" },
    { SCOPED, "workspace /dev/shm/d", "path /workspace/x", true, true,
      "capabilities.filesystem.mount_paths[0]",
      "/workspace/x is readable and writable: in the mount /workspace, from /dev/shm/d",
      "add under spec.capabilities.filesystem: denied_paths: [/workspace/x]" },
    { SCOPED, "mount /workspace=/srv/w:ro", "path /workspace/x", true, false,
      "request.mounts",
      "/workspace/x is readable, not writable: the request asks for its mount read-only",
      "ask for the mount with ':rw'" },
    { SCOPED, "mount /data=/srv/d", "path /data/x", false, false,
      "capabilities.filesystem.mount_paths",
      "/data/x is not visible: mount request /data: no line of mount_paths is at or "
      "above it",
      "add under spec.capabilities.filesystem.mount_paths: - {path: /data, permissions: "
      "ro}" },
    { SCOPED MOUNT("data", "rw"), NULL, "path data/x", false, false,
      "capabilities.filesystem.mount_paths[1]",
      "data/x is not visible: data is relative and no mount request says where it lies",
      "ask for a mount: --mount data=DIR" },
    { SCOPED, NULL, "file /x", false, false, "capabilities.filesystem.mount_paths",
      "/x is not visible: no mount is at or above it",
      "add under spec.capabilities.filesystem.mount_paths: - {path: /, permissions: "
      "ro}" },
    { SCOPED, NULL, "file /data/a/x", false, false, "capabilities.filesystem.mount_paths",
      "/data/a/x is not visible: no mount is at or above it",
      "add under spec.capabilities.filesystem.mount_paths: - {path: /data/a, "
      "permissions: ro}" },
    { SCOPED, NULL, "path data", false, false, "capabilities.filesystem.mount_paths",
      "data is not visible: no mount is at or above it",
      "add under spec.capabilities.filesystem.mount_paths: - {path: data, permissions: "
      "ro}; ask for a mount: --mount data=DIR" },
    { SCOPED DENIED("/srv/w"), "workspace /srv/w", "path /workspace/x", false, false,
      "capabilities.filesystem.denied_paths[1]",
      "/workspace/x is at or below the denied path /srv/w; denied_paths win over every "
      "mount",
      "remove '/srv/w' from denied_paths (line 15)" },
    /* The whole tree, put elsewhere by the request. */
    { FILES "      mode: full\n      mount_paths:\n" MOUNT("/data", "rw")
          DENIED("/srv/root/data/x"),
      "mount /=/srv/root:ro", "path /data/x/y", false, false,
      "capabilities.filesystem.denied_paths[1]",
      "/data/x/y is at or below the denied path /srv/root/data/x; denied_paths win over "
      "every mount",
      "remove '/srv/root/data/x' from denied_paths (line 15)" },
    { FILES "      mode: full\n      mount_paths:\n" MOUNT("/data", "rw"),
      "mount /=/srv/root:ro", "path /data/y", true, false, "request.mounts",
      "/data/y is readable, not writable: the request asks for its mount read-only",
      "ask for the mount with ':rw'" },
    /* Inside a mount within a mount the inner one decides. */
    { SCOPED MOUNT("/workspace/in", "ro"), NULL, "path /workspace/in/x", true, false,
      "capabilities.filesystem.mount_paths[1].permissions",
      "/workspace/in/x is readable, not writable: the mount /workspace/in is ro",
      "p.yaml:14:24: change 'ro' to 'rw'" },
    /* A second name for a directory with something denied in it. */
    { SCOPED MOUNT("/m", "rw") DENIED("/workspace/s"),
      "workspace /srv/w\nmount /m=/srv/w", "path /m/s/x", false, false,
      "capabilities.filesystem.denied_paths[1]",
      "/m/s/x is at or below the denied path /workspace/s; denied_paths win over every "
      "mount",
      "remove '/workspace/s' from denied_paths (line 17)" },
};

static void an_answer_tells_what_no_edit_of_the_policy_opens(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(fixed); i++) {
        NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
            policy_of("p.yaml", fixed[i].yaml);
        struct nacre_answer answer;
        struct nacre_error err;
        struct asked asked;

        asked_read(&asked, fixed[i].asked);
        assert_int_equal(ask(policy, &asked.request, fixed[i].question, &answer, &err),
                         NACRE_OK);
        assert_string_equal(answer.text, fixed[i].text);
        assert_string_equal(answer.fix, fixed[i].fix);
        assert_string_equal(answer.rule, fixed[i].rule);
        assert_int_equal(answer.allowed, fixed[i].read);
        assert_int_equal(answer.read, fixed[i].read);
        assert_int_equal(answer.write, fixed[i].write);
    }
}

static void what_is_no_question_is_told_so(void **state)
{
    static const struct {
        const char *question, *complaint;
    } rows[] = {
        { "path ../up",
          "path '../up' climbs above its start or is too long; give one that a guest "
          "could open" },
        { "host ", "'' is not HOST, HOST:PORT or a URL: a host must not be empty" },
        { "host ftp://a.example",
          "'ftp://a.example' is not HOST, HOST:PORT or a URL: the URL is refused: it "
          "must begin with http:// or https://" },
        { "host https://me@a.example",
          "'https://me@a.example' is not HOST, HOST:PORT or a URL: the URL is refused: a "
          "user or password in it; send an Authorization header" },
        { "host a.example/x",
          "'a.example/x' is not HOST, HOST:PORT or a URL: a host is written without a "
          "user and a path, like api.example.com" },
        { "host *.example",
          "'*.example' is not HOST, HOST:PORT or a URL: a question is about one host, "
          "without '*'" },
        { "host a.example:0",
          "'a.example:0' is not HOST, HOST:PORT or a URL: the port must be a number from "
          "1 to 65535" },
        { "host a\nb",
          "'a\\x0ab' is not HOST, HOST:PORT or a URL: a host has no blank and no control "
          "character" },
        { "host 127.1",
          "'127.1' is not HOST, HOST:PORT or a URL: an address is written as four "
          "decimal numbers without leading zeros, like 192.0.2.1" },
        { "command ", "the command is empty; give it as one word" },
        { "command  \t ", "the command is empty; give it as one word" },
    };
    NACRE_AUTO(nacre_policy_guard)
    struct nacre_policy *policy = policy_of("p.yaml", HEAD);

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nacre_answer answer = { .allowed = true };
        struct nacre_error err = { 0 };

        assert_int_equal(
            ask(policy, &(struct nacre_request){ 0 }, rows[i].question, &answer, &err),
            NACRE_ERR_USAGE);
        assert_string_equal(err.text, rows[i].complaint);
        assert_true(answer.allowed && !answer.text[0]);
    }
}

static void a_refused_address_has_the_line_of_its_rule(void **state)
{
    static const struct {
        struct nacre_denial denial;
        bool known;
        int line;
        const char *fix;
    } rows[] = {
        { { .code = "address-private", .rule = "capabilities.network.ssrf_protection.block_private_ips", .path = "a.example" }, true, 10,
          "p.yaml:10:44: change 'true' to 'false'" },
        { { .code = "address-denied", .rule = "capabilities.network.denied_hosts[0]",
            .place = { 5, 3 }, .path = "a.example" }, true, 5,
          "remove the entry from denied_hosts (line 5)" },
        { { .code = "address-never", .rule = "(built in)", .path = "a.example" }, true, 0,
          "no change opens it" },
        { { .code = "call-http", .rule = "capabilities.secrets.leak_detection.enabled", .path = "a.example" }, true, 11,
          "run it with --intercept a.example" },
        { { .code = "call-http", .rule = "capabilities.secrets.leak_detection.enabled", .path = "93.184.216.34" }, true, 11,
          "no change opens it" },
        { { .code = "host-not-allowed", .rule = "capabilities.network.mode",
            .path = "a.example" }, false, 0, "" },
        { { .code = "leak", .rule = "capabilities.secrets", .path = "a.example" }, false,
          0, "" },
        { { .path = "a.example" }, false, 0, "" },
    };
    NACRE_AUTO(nacre_policy_guard)
    struct nacre_policy *policy =
        policy_of("p.yaml", NET "      mode: allow-all\n"
                                "      ssrf_protection: {block_private_ips: true}\n"
                                "    secrets: {leak_detection: {enabled: true}}\n");

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nacre_answer answer = { 0 };

        assert_int_equal(nacre_explain_denial(policy, &rows[i].denial, &answer),
                         rows[i].known);
        assert_int_equal(answer.place.line, rows[i].line);
        assert_string_equal(answer.fix, rows[i].fix);
        assert_string_equal(answer.rule, rows[i].known ? rows[i].denial.rule : "");
        assert_false(answer.allowed);
    }
}

/* ---- the suite: NAME.ask asks NAME.yaml, NAME.expect is what comes ---- */

static const struct nacre_executor_ops fake_ops = { .name = "wasm" };
static const struct nacre_executor fake = {
    .ops = &fake_ops,
    .features = ~(uint32_t)NACRE_FEATURE_CPU_SHARES_ANY,
    .mechanisms = {
        { .name = "seccomp", .detail = "112 system calls allowed", .present = true },
        { .name = "landlock", .detail = "ABI 2: no truncation", .present = true },
        { .name = "cgroup", .detail = "no delegated one: nice instead" },
    },
    .mechanism_count = 3,
};

static void read_whole(const char *name, const char *ending, struct nacre_buf *ret_text)
{
    char path[512];
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    struct nacre_error err;

    (void)snprintf(path, sizeof(path), "%s/explain/%s%s", NACRE_SUITES_DIR, name, ending);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || nacre_buf_read(ret_text, fd, &err) != NACRE_OK)
        fail_msg("%s can't be read", path);
}

static void render(const struct nacre_policy *policy, const struct nacre_request *request,
                   const char *question, bool colour, struct nacre_buf *out)
{
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    struct nacre_answer answer;
    struct nacre_error err;

    if (strcmp(question, "plan") != 0 && strcmp(question, "walls") != 0 &&
        strcmp(question, "swapless") != 0) {
        assert_int_equal(ask(policy, request, question, &answer, &err), NACRE_OK);
        assert_int_equal(
            nacre_render_answer(policy, question, &answer, colour, out, &err), NACRE_OK);
        return;
    }
    assert_int_equal(nacre_plan_draft(policy, request, &plan, &err), NACRE_OK);
    if (question[0] == 'w')
        nacre_plan_settle(plan, fake.features);
    if (question[0] == 's') /* an engine whose kernel counts no swap */
        nacre_plan_settle(plan, ~(uint64_t)NACRE_FEATURE_SWAP_LIMIT);
    assert_int_equal(nacre_render_plan(policy, plan, question[0] == 'w' ? &fake : NULL,
                                       colour, out, &err),
                     NACRE_OK);
}

static void assert_same_lines(const char *name, const char *got, const char *want)
{
    for (int line = 1; *got || *want; line++) {
        size_t got_length = strcspn(got, "\n"), want_length = strcspn(want, "\n");

        if (got_length != want_length || memcmp(got, want, got_length) != 0)
            fail_msg("%s.expect:%d: expected\n%.*s\nbut got\n%.*s", name, line,
                     (int)want_length, want, (int)got_length, got);
        got += got_length + (got[got_length] == '\n');
        want += want_length + (want[want_length] == '\n');
    }
}

static void run_case(const char *name)
{
    struct nacre_buf yaml = NACRE_BUF(65536), questions = NACRE_BUF(4096);
    struct nacre_buf expect = NACRE_BUF(65536), out = NACRE_BUF(65536);
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    struct asked asked;
    char source[64];

    (void)snprintf(source, sizeof(source), "%s.yaml", name);
    read_whole(name, ".yaml", &yaml);
    read_whole(name, ".ask", &questions);
    read_whole(name, ".expect", &expect);
    policy = policy_of(source, yaml.bytes);
    asked_read(&asked, NULL);
    for (char *line = strtok(questions.bytes, "\n"); line; line = strtok(NULL, "\n"))
        if (!asked_add(&asked, line))
            render(policy, &asked.request, line, false, &out);
    assert_same_lines(name, out.bytes, expect.bytes);
    nacre_buf_clear(&yaml);
    nacre_buf_clear(&questions);
    nacre_buf_clear(&expect);
    nacre_buf_clear(&out);
}

static void explain_prints_what_the_suite_expects(void **state)
{
    DIR *dir = opendir(NACRE_SUITES_DIR "/explain");
    size_t cases = 0;

    (void)state;
    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        size_t length = strlen(entry->d_name);
        char name[64];

        if (length < 5 || strcmp(entry->d_name + length - 4, ".ask") != 0)
            continue;
        (void)snprintf(name, sizeof(name), "%.*s", (int)(length - 4), entry->d_name);
        run_case(name);
        cases++;
    }
    (void)closedir(dir);
    assert_true(cases >= 5);
}

static void colour_changes_no_other_byte(void **state)
{
    static const char *const questions[] = { "plan", "path /data/x", "path /workspace",
                                             "host a.example" };
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
        policy_of("p.yaml", SCOPED MOUNT("/data", "ro"));
    struct asked asked;

    (void)state;
    asked_read(&asked, NULL);
    for (size_t i = 0; i < NACRE_COUNT(questions); i++) {
        struct nacre_buf plain = NACRE_BUF(65536), coloured = NACRE_BUF(65536);
        size_t used = 0;

        render(policy, &asked.request, questions[i], false, &plain);
        render(policy, &asked.request, questions[i], true, &coloured);
        assert_null(strchr(plain.bytes, '\033'));
        assert_non_null(strchr(coloured.bytes, '\033'));
        for (char *at = coloured.bytes; *at; at++) {
            if (*at == '\033')
                at = strchr(at, 'm');
            else
                coloured.bytes[used++] = *at;
        }
        coloured.bytes[used] = '\0';
        assert_string_equal(coloured.bytes, plain.bytes);
        nacre_buf_clear(&plain);
        nacre_buf_clear(&coloured);
    }
}

/* ---- JSON ---- */

static void the_json_of_a_plan_holds_all_of_it(void **state)
{
    NACRE_AUTO(nacre_policy_guard)
    struct nacre_policy *policy = policy_of(
        "p.yaml",
        SCOPED DENIED("/workspace/s") "  resource_limits:\n    cpu_shares: 2000\n");
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    struct nacre_error err;
    struct asked asked;
    json_t *json, *executor;
    const char *guest, *host, *denied, *rule, *file, *lacks, *wall;
    int writable, runnable, line, column;
    json_int_t shares, present;

    (void)state;
    /* A host's name need not be UTF-8; JSON must be. */
    asked_read(&asked, "workspace /srv/\xff");
    assert_int_equal(nacre_plan_draft(policy, &asked.request, &plan, &err), NACRE_OK);
    json = nacre_plan_json(policy, plan, &fake);
    assert_int_equal(json_unpack(json, "{s:b, s:[{s:s, s:s, s:b, s:[s]}], s:{s:I}}",
                                 "runnable", &runnable, "mounts", "guest", &guest, "host",
                                 &host, "writable", &writable, "denied", &denied,
                                 "limits", "cpu_shares", &shares),
                     0);
    assert_true(!runnable && writable);
    assert_int_equal(shares, 2000);
    assert_string_equal(guest, "/workspace");
    assert_string_equal(host, "/srv/\\xff");
    assert_string_equal(denied, "s");
    assert_int_equal(json_array_size(json_object_get(json, "decisions")),
                     plan->decision_count);
    assert_int_equal(json_unpack(json, "{s:[{s:s, s:s, s:i, s:i}]}", "decisions", "rule",
                                 &rule, "file", &file, "line", &line, "column", &column),
                     0);
    assert_string_equal(rule, "level");
    assert_string_equal(file, "p.yaml");
    assert_int_equal(line, 6);
    assert_int_equal(column, 10);
    executor = json_object_get(json, "executor");
    assert_int_equal(json_unpack(executor, "{s:[s], s:[{s:s}]}", "lacks", &lacks, "walls",
                                 "name", &wall), 0);
    assert_string_equal(lacks, "cpu-shares-any");
    assert_string_equal(wall, "seccomp");
    present = (json_int_t)json_array_size(json_object_get(executor, "walls"));
    assert_int_equal(present, 3);
    json_decref(json);

    json = nacre_plan_json(policy, plan, NULL);
    assert_null(json_object_get(json, "executor"));
    json_decref(json);
}

static void the_json_of_a_default_has_no_place(void **state)
{
    NACRE_AUTO(nacre_policy_guard)
    struct nacre_policy *policy = policy_of("p.yaml", HEAD);
    struct nacre_request request = { 0 };
    struct nacre_answer answer;
    struct nacre_error err;
    json_t *json;

    (void)state;
    assert_int_equal(nacre_explain_host(policy, &request, "a.example", &answer, &err),
                     NACRE_OK);
    json = nacre_answer_json(policy, "host \xff", &answer);
    assert_true(json_is_null(json_object_get(json, "line")));
    assert_true(json_is_null(json_object_get(json, "file")));
    assert_true(json_is_false(json_object_get(json, "allowed")));
    assert_null(json_object_get(json, "read"));
    assert_string_equal(json_string_value(json_object_get(json, "question")),
                        "host \\xff");
    json_decref(json);
}

/* ---- when memory is short ---- */

static void *counted_malloc(size_t size)
{
    return malloc(size); /* goes through the wrapper, which jansson's own would not */
}

static void explaining_survives_every_allocation_failure(void **state)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy =
        policy_of("p.yaml", SCOPED MOUNT("/data", "ro") DENIED("/workspace/s"));
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    struct nacre_answer answer;
    struct nacre_error err;
    struct asked asked;
    bool fired = true;

    (void)state;
    asked_read(&asked, "workspace /srv/w");
    assert_int_equal(nacre_plan_draft(policy, &asked.request, &plan, &err), NACRE_OK);
    for (int n = 0; fired; n++) {
        struct nacre_buf out = NACRE_BUF(65536);
        enum nacre_status status;

        assert_true(n < 200);
        fail_alloc_after(n);
        status = nacre_explain_path(policy, &asked.request, "/data/x", false, &answer,
                                    &err);
        if (status == NACRE_OK)
            status = nacre_render_plan(policy, plan, &fake, true, &out, &err);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(status, fired ? NACRE_ERR_MEMORY : NACRE_OK);
        nacre_buf_clear(&out);
    }
    json_set_alloc_funcs(counted_malloc, free);
    fired = true;
    for (int n = 0; fired; n++) {
        json_t *whole, *one;

        assert_true(n < 5000);
        fail_alloc_after(n);
        whole = nacre_plan_json(policy, plan, &fake);
        one = nacre_answer_json(policy, "path /data/x", &answer);
        fired = fail_alloc_fired();
        fail_alloc_after(-1);
        assert_int_equal(!whole || !one, fired);
        json_decref(whole);
        json_decref(one);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fix_applied_to_the_text_flips_the_verdict),
        cmocka_unit_test(an_answer_tells_what_no_edit_of_the_policy_opens),
        cmocka_unit_test(what_is_no_question_is_told_so),
        cmocka_unit_test(a_refused_address_has_the_line_of_its_rule),
        cmocka_unit_test(explain_prints_what_the_suite_expects),
        cmocka_unit_test(colour_changes_no_other_byte),
        cmocka_unit_test(the_json_of_a_plan_holds_all_of_it),
        cmocka_unit_test(the_json_of_a_default_has_no_place),
        cmocka_unit_test(explaining_survives_every_allocation_failure),
    };

    return cmocka_run_group_tests_name("explain", tests, NULL, NULL);
}
