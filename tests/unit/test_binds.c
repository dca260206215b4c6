/* Host directories that no native sandbox sees.  More rows are refused than not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nacre/binds.h"
#include "nacre/own.h"

/* As whoever has DOCKER_HOST=unix:///srv/eng/e.sock and DOCKER_CERT_PATH=/opt/keys. */
static const char *const engine[] = { "/srv/eng/e.sock", "/opt/keys", NULL };

static const struct {
    const char *host;
    bool writable;
    const char *home;
    const char *what; /* the rule that refuses it; NULL: none does */
    bool is_above;
} sources[] = {
    { "/", false, NULL, "/proc", true },
    { "/proc", false, NULL, "/proc", false },
    { "/proc/1/root", false, NULL, "/proc", false },
    { "/sys/fs/cgroup", false, NULL, "/sys", false },
    { "/dev", false, NULL, "/dev", false },
    { "/dev/sda", false, NULL, "/dev", false },
    { "/dev/shm", false, NULL, "/dev", false },
    { "/etc", false, NULL, "/etc", false },
    { "/etc/ssl", false, NULL, "/etc", false },
    { "/boot/grub", false, NULL, "/boot", false },
    { "/run", false, NULL, "/run", false },
    { "/run/docker.sock", false, NULL, "/run", false },
    { "/run/user/1000/podman", false, NULL, "/run", false },
    { "/var/run", false, NULL, "/var/run", false },
    { "/var/run/docker.sock", true, NULL, "/var/run", false },
    { "/var", false, NULL, "/var/run", true },
    { "/var/lib", false, NULL, "/var/lib/docker", true },
    { "/var/lib/docker/volumes", false, NULL, "/var/lib/docker", false },
    { "/var/spool", false, NULL, "/var/spool", false },
    { "/root", false, NULL, "/root", false },
    { "/home", false, NULL, "/home", false },
    { "/home/ann", false, NULL, "a home directory", false },
    { "/home/ann/.ssh", false, NULL, ".ssh", false },
    { "/home/ann/.ssh/keys", false, NULL, ".ssh", false },
    { "/root/.aws", false, NULL, ".aws", false },
    { "/srv/backup/ann/.gnupg", false, NULL, ".gnupg", false },
    { "/root/.config/gcloud", false, NULL, ".config/gcloud", false },
    { "/root/.kube", false, NULL, ".kube", false },
    { "/root/.docker", false, NULL, ".docker", false },
    { "/srv/.netrc", false, NULL, ".netrc", false },
    { "/opt/engine/docker.sock", false, NULL, "docker.sock", false },
    { "/usr", true, NULL, "/usr", false },
    { "/usr/local/lib", true, NULL, "/usr", false },
    { "/lib64", true, NULL, "/lib64", false },
    { "/people/ann", false, "/people/ann", "a home directory", false },
    { "/people", false, "/people/ann", "a home directory", false },
    { "/home/ann/.config", true, NULL, ".config/gcloud", true },
    { "/srv/h/.config", false, "/srv/h", ".config/gcloud", true },
    { "/.config", false, NULL, ".config/gcloud", true },
    { "/srv/h/.local", false, "/srv/h", ".local/share/keyrings", true },
    { "/srv/h/.local/share", false, "/srv/h", ".local/share/keyrings", true },
    { "/root/.local/share", false, NULL, ".local/share/keyrings", true },
    { "/home/ann/.cargo", false, NULL, ".cargo/credentials", true },
    { "/home/ann/.openclaw", true, NULL, ".openclaw/credentials", true },
    { "/home/ann/.claude", false, NULL, ".claude/.credentials.json", true },
    { "/home/ann/.codex", false, NULL, ".codex/auth.json", true },
    { "/home/ann/.m2", false, NULL, ".m2/settings.xml", true },
    { "/srv/h/.mozilla", false, NULL, ".mozilla", false },
    { "/home/ann/.mozilla/firefox/x.default", false, NULL, ".mozilla", false },
    { "/home/ann/.config/google-chrome", false, NULL, ".config/google-chrome", false },
    { "/home/ann/.config/chromium/Default", false, NULL, ".config/chromium", false },
    { "/home/ann/.config/rclone", false, NULL, ".config/rclone", false },
    { "/home/ann/.config/op", false, NULL, ".config/op", false },
    { "/home/ann/.local/share/kwalletd", false, NULL, ".local/share/kwalletd", false },
    { "/home/ann/.terraform.d", false, NULL, ".terraform.d", false },
    { "/home/ann/.oci", false, NULL, ".oci", false },
    { "/srv/h/.openclaw/credentials", false, NULL, ".openclaw/credentials", false },
    { "/srv/h/.cargo/credentials.toml", false, NULL, ".cargo/credentials.toml", false },
    { "/srv/p/.claude/.credentials.json", false, NULL, ".claude/.credentials.json",
      false },
    { "/var/log", false, NULL, "/var/log", false },
    { "/var/log/journal", false, NULL, "/var/log", false },
    { "/var/lib/dpkg", false, "/home/ann", "/var/lib", false },
    { "/var/lib/dpkg", false, NULL, "/var/lib", false },
    { "/var/lib/dpkg", false, "/", "/var/lib", false },
    { "/var/lib/dpkg", false, "/var/lib", "/var/lib", false },
    { "/var/lib/clawd", true, "/var/lib/clawd", "/var/lib", false },
    { "/var/lib/other/x", true, "/var/lib/clawd", "/var/lib", false },
    { "/var/backups", false, NULL, "/var/backups", false },
    { "/var/cache/apt", false, NULL, "/var/cache", false },
    { "/var/spool/mail", false, NULL, "/var/spool", false },
    { "/var/mail/ann", false, NULL, "/var/mail", false },
    { "/snap/core", true, NULL, "/snap", false },
    { "/nix/store", true, NULL, "/nix", false },
    { "/srv/eng/e.sock", false, NULL, "/srv/eng/e.sock", false },
    { "/srv/eng", false, NULL, "/srv/eng/e.sock", true },
    { "/srv", true, NULL, "/srv/eng/e.sock", true },
    { "/opt/keys", false, NULL, "/opt/keys", false },
    { "/opt/keys/old", false, NULL, "/opt/keys", false },
    { "/opt", false, NULL, "/opt/keys", true },

    { "/usr", false, NULL, NULL, false },
    { "/usr/share/dict", false, NULL, NULL, false },
    { "/nix/store", false, NULL, NULL, false },
    { "/opt/app", true, NULL, NULL, false },
    { "/srv/project/.config", true, NULL, NULL, false },
    { "/home/ann/project/.config", true, NULL, NULL, false },
    { "/home/ann/project/.local/share", true, "/home/ann", NULL, false },
    { "/home/ann/project/.cargo", true, NULL, NULL, false },
    { "/home/ann/.cargo/registry", true, NULL, NULL, false },
    { "/home/ann/.openclaw/workspace", true, NULL, NULL, false },
    { "/home/ann/project/.claude/worktrees/x", true, NULL, NULL, false },
    { "/var/lib/clawd/work", true, "/var/lib/clawd", NULL, false },
    { "/srv/engine", true, NULL, NULL, false },
    { "/srv/eng/e.sock.d", true, NULL, NULL, false },
    { "/opt/keys2", true, NULL, NULL, false },
    { "/srv/project", true, "/people/ann", NULL, false },
    { "/people/ann/project", true, "/people/ann", NULL, false },
    { "/home/ann/project", true, NULL, NULL, false },
    { "/root/project", true, "/root", NULL, false },
    { "/home/ann/.sshx", true, NULL, NULL, false },
    { "/home/ann/x.ssh", true, NULL, NULL, false },
    { "/home/ann/.config/app", true, NULL, NULL, false },
    { "/home/ann/x.config", true, NULL, NULL, false },
    { "/home/ann/.local/state/nacre", true, NULL, NULL, false },
    { "/home/ann/.local/share/app", true, NULL, NULL, false },
    { "/srv/share", true, NULL, NULL, false },
    { "/dev/shm/project", true, NULL, NULL, false },
    { "/etcetera", true, NULL, NULL, false },
    { "/running/docker.socket", true, NULL, NULL, false },
    { "/srv/project", true, "/", NULL, false },
    { "/tmp/work", true, NULL, NULL, false },
    { "/var/tmp/work", true, NULL, NULL, false },
};

static void a_directory_that_rules_the_host_or_its_user_is_never_bound(void **state)
{
    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(sources); i++) {
        const struct nacre_bind_caller caller = { sources[i].home, engine };
        struct nacre_bind_refusal refusal = { 0 };
        bool refused = nacre_bind_is_refused(sources[i].host, sources[i].writable,
                                             &caller, &refusal);

        print_message("%s\n", sources[i].host);
        assert_int_equal(refused, sources[i].what != NULL);
        if (!refused)
            continue;
        assert_string_equal(refusal.what, sources[i].what);
        assert_int_equal(refusal.is_above, sources[i].is_above);
        assert_true(refusal.why[0]);
    }
}

/* Planning knows no home: what may be in one is left to the second look. */
static void without_a_caller_what_may_lie_in_a_home_waits(void **state)
{
    struct nacre_bind_refusal refusal;

    (void)state;
    assert_false(nacre_bind_is_refused("/var/lib/clawd/work", true, NULL, &refusal));
    assert_true(nacre_bind_is_refused("/var/lib", false, NULL, &refusal));
    assert_true(nacre_bind_is_refused("/var/lib/docker", false, NULL, &refusal));
    assert_true(nacre_bind_is_refused("/home/ann/.config", false, NULL, &refusal));
}

static bool is_below(const char *host, const char *name)
{
    struct nacre_bind_refusal refusal;
    const char *below;

    for (size_t n = 0; (below = nacre_bind_below(host, n, &refusal)) != NULL; n++) {
        assert_true(refusal.is_above && refusal.why[0] && refusal.what[0]);
        if (strcmp(below, name) == 0)
            return true;
    }
    return false;
}

static void what_a_directory_would_bring_along_is_told_by_name(void **state)
{
    (void)state;
    assert_true(is_below("/srv/x/.config", "gcloud"));
    assert_true(is_below("/srv/x/.config", "nacre"));
    assert_true(is_below("/srv/x/.local", "share/keyrings"));
    assert_true(is_below("/srv/x/.local/share", "keyrings"));
    assert_true(is_below("/.cargo", "credentials.toml"));
    assert_false(is_below("/srv/x/.local", "keyrings"));
    assert_false(is_below("/srv/x/x.config", "gcloud"));
    assert_false(is_below("/srv/x/.config/app", "gcloud"));
    assert_false(is_below("/srv/x", ".ssh"));
}

static void nothing_is_mounted_over_what_a_sandbox_is_made_of(void **state)
{
    static const struct {
        const char *guest;
        bool refused;
    } rows[] = {
        { "/", true },         { "/proc", true },      { "/proc/self", true },
        { "/sys", true },      { "/dev", true },       { "/dev/null", true },
        { "/etc", true },      { "/etc/passwd", true }, { "/usr/local", true },
        { "/bin", true },      { "/lib", true },       { "/lib64/x", true },
        { "/workspace", false }, { "/tmp", false },    { "/data", false },
        { "/home/ann", false }, { "/library", false }, { "/devel", false },
        { "/run/app", false },
    };

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        struct nacre_bind_refusal refusal;

        print_message("%s\n", rows[i].guest);
        assert_int_equal(nacre_bind_target_is_refused(rows[i].guest, &refusal),
                         rows[i].refused);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_directory_that_rules_the_host_or_its_user_is_never_bound),
        cmocka_unit_test(without_a_caller_what_may_lie_in_a_home_waits),
        cmocka_unit_test(what_a_directory_would_bring_along_is_told_by_name),
        cmocka_unit_test(nothing_is_mounted_over_what_a_sandbox_is_made_of),
    };

    return cmocka_run_group_tests_name("binds", tests, NULL, NULL);
}
