/*
 * Trusts nothing but the form of a name: it is normalised.  A name can lie (a link, a
 * bind of the host's own), so this is the first of two looks.
 */
#include "nacre/binds.h"

#include <string.h>

#include "nacre/own.h"
#include "nacre/path.h"

enum reach {
    REACH_TREE,  /* it and everything below */
    REACH_SELF,  /* it alone: below it lie ordinary directories too */
    REACH_WRITE, /* it and everything below, where the guest could write */
    REACH_BUT_HOME, /* it and everything below, but for what lies in the caller's home:
                       a service has its own there */
};

/* A directory above any of these is refused with it: it would bring it along. */
static const struct {
    const char *path;
    enum reach reach;
    const char *why;
} places[] = {
    { "/proc", REACH_TREE, "the host's processes and their memory" },
    { "/sys", REACH_TREE, "the host's kernel and devices" },
    { "/dev", REACH_TREE, "the host's devices" },
    { "/boot", REACH_TREE, "what the host starts from" },
    { "/etc", REACH_TREE, "the host's accounts, keys and settings" },
    { "/run", REACH_TREE, "sockets that the host obeys, the engine's among them" },
    { "/var/run", REACH_TREE, "sockets that the host obeys, the engine's among them" },
    { "/var/lib/docker", REACH_TREE, "every container and image of the engine" },
    { "/var/lib/containerd", REACH_TREE, "every container and image of the engine" },
    { "/var/lib/containers", REACH_TREE, "every container and image of the engine" },
    { "/var/lib", REACH_BUT_HOME, "what the host's services keep" },
    { "/var/log", REACH_TREE, "what the host's services tell" },
    { "/var/backups", REACH_TREE, "copies of the host's accounts and settings" },
    { "/var/cache", REACH_TREE, "what the host's services keep" },
    { "/var/mail", REACH_TREE, "mail of the host's users" },
    { "/var/spool", REACH_TREE, "mail, and what the host runs by itself" },
    { "/root", REACH_SELF, "a home directory, with its keys" },
    { "/home", REACH_SELF, "home directories, with their keys" },
    { "/usr", REACH_WRITE, "the host's programs" },
    { "/bin", REACH_WRITE, "the host's programs" },
    { "/sbin", REACH_WRITE, "the host's programs" },
    { "/snap", REACH_WRITE, "the host's programs" },
    { "/nix", REACH_WRITE, "the host's programs" },
    { "/lib", REACH_WRITE, "the host's libraries" },
    { "/lib32", REACH_WRITE, "the host's libraries" },
    { "/lib64", REACH_WRITE, "the host's libraries" },
};

#define KEYS "keys of the user"
#define CREDENTIALS "credentials of the user"
#define PASSWORDS "passwords of the user"
#define BROWSER "a browser's profile, with passwords and sessions"
#define WALLET "a wallet of the user"
#define SOCKET "the engine's socket: whoever has it has the host"

/* Wherever they lie: a home directory can be anywhere, and a copy is as good.  A file
 * stands for its directory where ordinary things lie beside it. */
static const struct {
    const char *name;
    const char *why;
} names[] = {
    { ".ssh", KEYS },
    { ".gnupg", KEYS },
    { ".putty", KEYS },
    { ".pki", KEYS },
    { ".step", KEYS },
    { ".tsh", KEYS },
    { ".config/gcloud", CREDENTIALS },
    { ".config/sops", KEYS },
    { ".config/nacre", "nacre's own keys and policies" },

    { ".netrc", PASSWORDS },
    { ".git-credentials", PASSWORDS },
    { ".config/git/credentials", PASSWORDS },
    { ".subversion/auth", PASSWORDS },
    { ".pgpass", PASSWORDS },
    { ".my.cnf", PASSWORDS },
    { ".mylogin.cnf", PASSWORDS },
    { ".smbcredentials", PASSWORDS },
    { ".config/filezilla", PASSWORDS },
    { ".password-store", PASSWORDS },
    { ".local/share/keyrings", PASSWORDS },
    { ".local/share/kwalletd", PASSWORDS },
    { ".kde/share/apps/kwallet", PASSWORDS },
    { ".gnome2/keyrings", PASSWORDS },
    { ".op", PASSWORDS },
    { ".config/op", PASSWORDS },
    { ".config/1Password", PASSWORDS },
    { ".config/Bitwarden", PASSWORDS },
    { ".config/Bitwarden CLI", PASSWORDS },
    { ".config/keepassxc", PASSWORDS },

    { ".mozilla", BROWSER },
    { ".librewolf", BROWSER },
    { ".thunderbird", BROWSER },
    { ".config/google-chrome", BROWSER },
    { ".config/google-chrome-beta", BROWSER },
    { ".config/chromium", BROWSER },
    { ".config/BraveSoftware", BROWSER },
    { ".config/microsoft-edge", BROWSER },
    { ".config/vivaldi", BROWSER },
    { ".config/opera", BROWSER },
    { ".config/Code", BROWSER },
    { ".config/Cursor", BROWSER },
    { ".config/Slack", BROWSER },
    { ".config/Signal", BROWSER },
    { "snap/firefox", BROWSER },
    { "snap/chromium", BROWSER },
    { ".var/app", BROWSER },

    { ".aws", CREDENTIALS },
    { ".azure", CREDENTIALS },
    { ".oci", CREDENTIALS },
    { ".aliyun", CREDENTIALS },
    { ".bluemix", CREDENTIALS },
    { ".boto", CREDENTIALS },
    { ".s3cfg", CREDENTIALS },
    { ".fly", CREDENTIALS },
    { ".kaggle", CREDENTIALS },
    { ".databrickscfg", CREDENTIALS },
    { ".vault-token", CREDENTIALS },
    { ".terraform.d", CREDENTIALS },
    { ".terraformrc", CREDENTIALS },
    { ".rclone.conf", CREDENTIALS },
    { ".config/rclone", CREDENTIALS },
    { ".config/doctl", CREDENTIALS },
    { ".config/hcloud", CREDENTIALS },
    { ".config/netlify", CREDENTIALS },
    { ".config/configstore", CREDENTIALS },
    { ".local/share/com.vercel.cli", CREDENTIALS },
    { ".cache/huggingface/token", CREDENTIALS },
    { ".config/gh", CREDENTIALS },
    { ".config/hub", CREDENTIALS },
    { ".config/glab-cli", CREDENTIALS },
    { ".kube", CREDENTIALS },
    { ".minikube", CREDENTIALS },
    { ".config/helm", CREDENTIALS },
    { ".docker", CREDENTIALS },
    { ".dockercfg", CREDENTIALS },
    { ".config/containers", CREDENTIALS },

    { ".npmrc", CREDENTIALS },
    { ".pypirc", CREDENTIALS },
    { ".config/pip", CREDENTIALS },
    { ".config/pypoetry/auth.toml", CREDENTIALS },
    { ".cargo/credentials", CREDENTIALS },
    { ".cargo/credentials.toml", CREDENTIALS },
    { ".gem/credentials", CREDENTIALS },
    { ".m2/settings.xml", CREDENTIALS },
    { ".gradle/gradle.properties", CREDENTIALS },
    { ".composer/auth.json", CREDENTIALS },
    { ".config/composer/auth.json", CREDENTIALS },
    { ".nuget/NuGet", CREDENTIALS },

    { ".openclaw/credentials", CREDENTIALS },
    { ".openclaw/agents", CREDENTIALS },
    { ".openclaw/openclaw.json", CREDENTIALS },
    { ".clawdbot/credentials", CREDENTIALS },
    { ".clawdbot/agents", CREDENTIALS },
    { ".clawdbot/clawdbot.json", CREDENTIALS },
    { ".clawdis/credentials", CREDENTIALS },
    { ".clawdis/clawdis.json", CREDENTIALS },
    { ".claude/.credentials.json", CREDENTIALS },
    { ".claude.json", CREDENTIALS },
    { ".codex/auth.json", CREDENTIALS },
    { ".gemini/oauth_creds.json", CREDENTIALS },
    { ".config/github-copilot", CREDENTIALS },
    { ".local/share/opencode/auth.json", CREDENTIALS },

    { ".bitcoin", WALLET },
    { ".ethereum", WALLET },
    { ".electrum", WALLET },
    { ".config/solana", WALLET },

    { "docker.sock", SOCKET },
    { "podman.sock", SOCKET },
    { "containerd.sock", SOCKET },
    { "crio.sock", SOCKET },
};

/* What every sandbox is made of: a mount there would replace the programs that run, the
 * files that tell who the user is, or the kernel's own. */
static const struct {
    const char *path;
    const char *why;
} targets[] = {
    { "/proc", "the sandbox has its own there" },
    { "/sys", "the kernel's place" },
    { "/dev", "the sandbox has its own there" },
    { "/etc", "the sandbox has its own there" },
    { "/usr", "the sandbox's programs lie there" },
    { "/bin", "the sandbox's programs lie there" },
    { "/sbin", "the sandbox's programs lie there" },
    { "/lib", "the sandbox's libraries lie there" },
    { "/lib32", "the sandbox's libraries lie there" },
    { "/lib64", "the sandbox's libraries lie there" },
};

/* "/a/.config/gcloud/x" holds ".config/gcloud": whole components, anywhere. */
static bool holds(const char *path, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = strchr(path, '/'); at; at = strchr(at + 1, '/'))
        if (strncmp(at + 1, name, length) == 0 &&
            (at[length + 1] == '\0' || at[length + 1] == '/'))
            return true;
    return false;
}

/* Does `path` end in the first `length` bytes of `name`, whole components? */
static bool ends_in(const char *path, const char *name, size_t length)
{
    size_t whole = strlen(path);

    return whole > length && path[whole - length - 1] == '/' &&
           strncmp(path + whole - length, name, length) == 0;
}

/* "/a/.config" is above ".config/gcloud" by "gcloud", "/a/.local" above
 * ".local/share/keyrings" by "share/keyrings"; both would lie in "/a", whose length is
 * told.  NULL: it is not above. */
static const char *rest_below(const char *path, const char *name, size_t *ret_top)
{
    for (const char *at = strchr(name, '/'); at; at = strchr(at + 1, '/'))
        if (ends_in(path, name, (size_t)(at - name))) {
            *ret_top = strlen(path) - (size_t)(at - name) - 1;
            return at + 1;
        }
    return NULL;
}

/* Are the first `length` bytes of `path` a home directory?  "" is that of who has "/". */
static bool begins_with_home(const char *path, size_t length, const char *home)
{
    if (length == 0 || (length == strlen("/root") && strncmp(path, "/root", length) == 0))
        return true;
    if (home && strlen(home) == length && strncmp(path, home, length) == 0)
        return true;
    return length > strlen("/home/") && strncmp(path, "/home/", strlen("/home/")) == 0 &&
           !memchr(path + strlen("/home/"), '/', length - strlen("/home/"));
}

/* "/home/NAME": the usual place of a home directory. */
static bool is_home(const char *host, const char *home)
{
    const char *rest;

    if (home && strcmp(home, "/") != 0 && nacre_path_is_below(home, host, NULL))
        return true;
    return nacre_path_is_below(host, "/home", &rest) && rest[0] && !strchr(rest, '/');
}

static bool refuse(struct nacre_bind_refusal *ret_refusal, const char *what,
                   const char *why, bool is_above)
{
    *ret_refusal =
        (struct nacre_bind_refusal){ .what = what, .why = why, .is_above = is_above };
    return true;
}

/* Of a home that itself lies in `place`: "/" is nobody's.  Who asks without a caller knows
 * none, and will ask again. */
static bool may_be_in_home(const char *host, const char *place,
                           const struct nacre_bind_caller *caller)
{
    const char *rest;

    return !caller || (caller->home && nacre_path_is_below(caller->home, place, &rest) &&
                       rest[0] && nacre_path_is_below(host, caller->home, &rest) &&
                       rest[0]);
}

static bool is_place(const char *host, bool writable,
                     const struct nacre_bind_caller *caller,
                     struct nacre_bind_refusal *ret_refusal)
{
    const char *rest;

    for (size_t i = 0; i < NACRE_COUNT(places); i++) {
        const char *path = places[i].path;
        bool same = strcmp(host, path) == 0;

        if (places[i].reach == REACH_WRITE && !writable)
            continue;
        /* Shared memory is where people put what shall never touch a disk. */
        if (nacre_path_is_below(host, "/dev/shm", &rest) && rest[0])
            break;
        if (!same && places[i].reach == REACH_BUT_HOME &&
            may_be_in_home(host, path, caller))
            continue;
        if (same || (places[i].reach != REACH_SELF &&
                     nacre_path_is_below(host, path, NULL)))
            return refuse(ret_refusal, path, places[i].why, false);
        if (nacre_path_is_below(path, host, NULL))
            return refuse(ret_refusal, path, places[i].why, true);
    }
    return false;
}

/* Wherever the caller has it; a link to it is another of its names. */
static bool is_engine(const char *host, const char *const *engine,
                      struct nacre_bind_refusal *ret_refusal)
{
    static const char why[] =
        "the engine's socket, or the keys to it: whoever has it has the host";

    for (; engine && *engine; engine++) {
        if (nacre_path_is_below(host, *engine, NULL))
            return refuse(ret_refusal, *engine, why, false);
        if (nacre_path_is_below(*engine, host, NULL))
            return refuse(ret_refusal, *engine, why, true);
    }
    return false;
}

bool nacre_bind_is_refused(const char *host, bool writable,
                           const struct nacre_bind_caller *caller,
                           struct nacre_bind_refusal *ret_refusal)
{
    const char *home = caller ? caller->home : NULL;
    size_t top;

    if (is_place(host, writable, caller, ret_refusal))
        return true;
    for (size_t i = 0; i < NACRE_COUNT(names); i++)
        if (holds(host, names[i].name))
            return refuse(ret_refusal, names[i].name, names[i].why, false);
    if (is_home(host, home))
        return refuse(ret_refusal, "a home directory", "its owner's keys lie there",
                      false);
    for (size_t i = 0; i < NACRE_COUNT(names); i++)
        if (rest_below(host, names[i].name, &top) && begins_with_home(host, top, home))
            return refuse(ret_refusal, names[i].name, names[i].why, true);
    return is_engine(host, caller ? caller->engine : NULL, ret_refusal);
}

const char *nacre_bind_below(const char *host, size_t n,
                             struct nacre_bind_refusal *ret_refusal)
{
    size_t top;

    for (size_t i = 0; i < NACRE_COUNT(names); i++) {
        const char *rest = rest_below(host, names[i].name, &top);

        if (!rest || n-- > 0)
            continue;
        (void)refuse(ret_refusal, names[i].name, names[i].why, true);
        return rest;
    }
    return NULL;
}

bool nacre_bind_target_is_refused(const char *guest,
                                  struct nacre_bind_refusal *ret_refusal)
{
    for (size_t i = 0; i < NACRE_COUNT(targets); i++)
        if (nacre_path_is_below(guest, targets[i].path, NULL))
            return refuse(ret_refusal, targets[i].path, targets[i].why, false);
    if (strcmp(guest, "/") == 0)
        return refuse(ret_refusal, "/", "it is the sandbox itself", false);
    return false;
}
