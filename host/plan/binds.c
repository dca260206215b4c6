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
    { "/var/spool/cron", REACH_TREE, "what the host runs by itself" },
    { "/root", REACH_SELF, "a home directory, with its keys" },
    { "/home", REACH_SELF, "home directories, with their keys" },
    { "/usr", REACH_WRITE, "the host's programs" },
    { "/bin", REACH_WRITE, "the host's programs" },
    { "/sbin", REACH_WRITE, "the host's programs" },
    { "/lib", REACH_WRITE, "the host's libraries" },
    { "/lib32", REACH_WRITE, "the host's libraries" },
    { "/lib64", REACH_WRITE, "the host's libraries" },
};

/* Wherever they lie: a home directory can be anywhere, and a copy is as good. */
static const struct {
    const char *name;
    const char *why;
} names[] = {
    { ".ssh", "keys of the user" },
    { ".gnupg", "keys of the user" },
    { ".aws", "credentials of the user" },
    { ".azure", "credentials of the user" },
    { ".config/gcloud", "credentials of the user" },
    { ".config/gh", "credentials of the user" },
    { ".config/nacre", "nacre's own keys and policies" },
    { ".kube", "credentials of the user" },
    { ".docker", "credentials of the user" },
    { ".netrc", "passwords of the user" },
    { ".git-credentials", "passwords of the user" },
    { ".pgpass", "passwords of the user" },
    { ".password-store", "passwords of the user" },
    { ".local/share/keyrings", "passwords of the user" },
    { ".npmrc", "credentials of the user" },
    { ".pypirc", "credentials of the user" },
    { "docker.sock", "the engine's socket: whoever has it has the host" },
    { "podman.sock", "the engine's socket: whoever has it has the host" },
    { "containerd.sock", "the engine's socket: whoever has it has the host" },
    { "crio.sock", "the engine's socket: whoever has it has the host" },
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

/* "/a/.config" is above ".config/gcloud", "/a/.local" above ".local/share/keyrings". */
static bool is_above(const char *path, const char *name)
{
    for (const char *at = strchr(name, '/'); at; at = strchr(at + 1, '/'))
        if (ends_in(path, name, (size_t)(at - name)))
            return true;
    return false;
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

static bool is_place(const char *host, bool writable,
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
    if (is_place(host, writable, ret_refusal))
        return true;
    for (size_t i = 0; i < NACRE_COUNT(names); i++)
        if (holds(host, names[i].name))
            return refuse(ret_refusal, names[i].name, names[i].why, false);
    if (is_home(host, caller ? caller->home : NULL))
        return refuse(ret_refusal, "a home directory", "its owner's keys lie there",
                      false);
    for (size_t i = 0; i < NACRE_COUNT(names); i++)
        if (is_above(host, names[i].name))
            return refuse(ret_refusal, names[i].name, names[i].why, true);
    return is_engine(host, caller ? caller->engine : NULL, ret_refusal);
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
