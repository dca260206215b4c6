/* Trusts no text: each is read to its end, by characters that can't mean anything else to
 * an engine. */
#include "container.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "nacre/binds.h"
#include "nacre/own.h"
#include "nacre/path.h"
#include "nacre/plan.h"
#include "nacre/shell.h"
#include "nacre/text.h"

#define DIGITS "0123456789"
#define SMALL "abcdefghijklmnopqrstuvwxyz"
#define LARGE "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define TEXT_MAX 255

static bool is_of(const char *text, const char *first, const char *all)
{
    return text && text[0] && strchr(first, text[0]) && strlen(text) <= TEXT_MAX &&
           text[strspn(text, all)] == '\0';
}

bool nacre_container_is_image(const char *text)
{
    return is_of(text, SMALL LARGE DIGITS, SMALL LARGE DIGITS "._-/:@") &&
           !strstr(text, "..") && !strstr(text, "//");
}

bool nacre_container_is_user(const char *text)
{
    uint32_t uid, gid;

    return text && nacre_text_ids(text, &uid, &gid);
}

bool nacre_container_is_place(const char *text)
{
    struct nacre_bind_refusal refusal;
    char path[NACRE_PATH_MAX];

    return text && text[0] == '/' && nacre_path_normalise(text, path, sizeof(path)) &&
           strcmp(path, text) == 0 && !strpbrk(text, ":,\n") &&
           (strcmp(path, "/") == 0 || !nacre_bind_target_is_refused(path, &refusal));
}

bool nacre_container_is_profile(const char *text)
{
    static const char *const open[] = { "unconfined", "disable", "label=disable",
                                        "label:disable" };

    for (size_t i = 0; i < NACRE_COUNT(open); i++)
        if (text && strcasecmp(text, open[i]) == 0)
            return false;
    return is_of(text, SMALL LARGE DIGITS "_/", SMALL LARGE DIGITS "._-/:,=");
}

bool nacre_container_is_cpuset(const char *text)
{
    return is_of(text, DIGITS, DIGITS ",-");
}

/* ---- tmpfs: PATH or PATH:size=64m,mode=1777 ---- */

static bool is_tmpfs_option(const char *text, size_t length)
{
    static const struct {
        const char *name;
        const char *first, *rest, *last; /* the characters of its value; the last may be
                                            one of its own */
    } known[] = { { "size=", "123456789", DIGITS, "kmgKMG" },
                  { "mode=", "01234567", "01234567", "" } };
    static const char *const flags[] = { "noexec", "nosuid", "nodev" };

    for (size_t i = 0; i < NACRE_COUNT(known); i++) {
        size_t name = strlen(known[i].name), value;

        if (length <= name || strncmp(text, known[i].name, name) != 0)
            continue;
        value = strspn(text + name, known[i].rest);
        value += text[name + value] && strchr(known[i].last, text[name + value]);
        return strchr(known[i].first, text[name]) && value == length - name;
    }
    for (size_t i = 0; i < NACRE_COUNT(flags); i++)
        if (length == strlen(flags[i]) && strncmp(text, flags[i], length) == 0)
            return true;
    return false;
}

static const char *read_tmpfs(const char *text, char ret_text[NACRE_CONTAINER_TEXT])
{
    size_t length = strcspn(text, ":");
    const char *options = text[length] ? text + length + 1 : "";
    char path[TEXT_MAX + 1];
    bool sized = false;

    if (length >= sizeof(path) || strlen(text) > TEXT_MAX)
        return "is too long";
    memcpy(path, text, length);
    path[length] = '\0';
    if (!nacre_container_is_place(path) || strcmp(path, "/") == 0)
        return "is not a place for a tmpfs";
    for (const char *at = options; *at;) {
        size_t count = strcspn(at, ",");

        if (!is_tmpfs_option(at, count))
            return "has an option that is not size, mode, noexec, nosuid or nodev";
        sized |= strncmp(at, "size=", 5) == 0;
        at += count + (at[count] == ',');
    }
    (void)snprintf(ret_text, NACRE_CONTAINER_TEXT, "%s:%s%s%s", path, options,
                   sized || !options[0] ? "" : ",",
                   sized ? "" : NACRE_CONTAINER_TMPFS_SIZE);
    return NULL;
}

uint64_t nacre_tmpfs_bytes(const char *text)
{
    const char *at = strstr(strchrnul(text, ':'), "size=");
    uint64_t bytes = 0;
    char unit = '\0';

    if (!at || sscanf(at, "size=%" SCNu64 "%c", &bytes, &unit) < 1)
        return 0;
    switch (unit) {
    case 'k':
    case 'K':
        return bytes << 10;
    case 'm':
    case 'M':
        return bytes << 20;
    case 'g':
    case 'G':
        return bytes << 30;
    default:
        return bytes;
    }
}

/* ---- capabilities: of the engine's default, those that reach nothing outside ---- */

static const char *read_capability(const char *text, char ret_text[NACRE_CONTAINER_TEXT])
{
    static const char *const harmless[] = {
        "AUDIT_WRITE", "CHOWN",   "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL",
        "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
    };
    const char *name = strncasecmp(text, "CAP_", 4) == 0 ? text + 4 : text;

    for (size_t i = 0; i < NACRE_COUNT(harmless); i++)
        if (strcasecmp(name, harmless[i]) == 0) {
            (void)snprintf(ret_text, NACRE_CONTAINER_TEXT, "%s", harmless[i]);
            return NULL;
        }
    return "is refused in any policy: it reaches beyond the container";
}

static const char *read_syscall(const char *text, char ret_text[NACRE_CONTAINER_TEXT])
{
    if (!is_of(text, SMALL "_", SMALL DIGITS "_"))
        return "is not the name of a system call";
    (void)snprintf(ret_text, NACRE_CONTAINER_TEXT, "%s", text);
    return NULL;
}

static const char *read_environment(const char *text, char ret_text[NACRE_CONTAINER_TEXT])
{
    size_t length = strcspn(text, "=");

    if (text[length] != '=' || length == 0 || strlen(text) >= NACRE_CONTAINER_TEXT ||
        strspn(text, SMALL LARGE DIGITS "_") != length || strchr(DIGITS, text[0]))
        return "is not NAME=VALUE";
    if (nacre_shell_environment_denied(text))
        return "changes what runs";
    (void)snprintf(ret_text, NACRE_CONTAINER_TEXT, "%s", text);
    return NULL;
}

/* ---- ulimits: NAME=SOFT or NAME=SOFT:HARD ---- */

static const char *read_ulimit(const char *text, char ret_text[NACRE_CONTAINER_TEXT])
{
    static const char *const known[] = { "core",    "cpu",        "data",  "fsize",
                                         "locks",   "memlock",    "msgqueue",
                                         "sigpending", "stack" };
    size_t length = strcspn(text, "=");
    char soft[32], hard[32];
    uint64_t low, high;
    bool found = false;

    if (strncmp(text, "nofile", 6) == 0 || strncmp(text, "nproc", 5) == 0)
        return "is said by max_open_files and max_processes";
    for (size_t i = 0; i < NACRE_COUNT(known); i++)
        found |= length == strlen(known[i]) && strncmp(text, known[i], length) == 0;
    if (!found || text[length] != '=')
        return "is not NAME=SOFT:HARD";
    text += length + 1;
    if (strlen(text) >= sizeof(soft) || strcspn(text, ":") == 0)
        return "is not NAME=SOFT:HARD";
    (void)snprintf(soft, sizeof(soft), "%.*s", (int)strcspn(text, ":"), text);
    (void)snprintf(hard, sizeof(hard), "%s", strchr(text, ':') ? strchr(text, ':') + 1
                                                               : soft);
    if (!nacre_text_u64(soft, INT64_MAX, &low) ||
        !nacre_text_u64(hard, INT64_MAX, &high) || low > high)
        return "is not NAME=SOFT:HARD";
    (void)snprintf(ret_text, NACRE_CONTAINER_TEXT, "%.*s=%s:%s", (int)length,
                   text - length - 1, soft, hard);
    return NULL;
}

const struct nacre_container_list nacre_container_tmpfs = {
    "container.tmpfs", "tmpfs; size read back from inside",
    "give PATH or PATH:size=64m,mode=1777", read_tmpfs,
};
const struct nacre_container_list nacre_container_capabilities = {
    "container.keep_capabilities", "all others are dropped; read back from inside",
    "remove this line", read_capability,
};
const struct nacre_container_list nacre_container_syscalls = {
    "container.blocked_syscalls", "seccomp, installed by init",
    "name a system call, as 'mount'", read_syscall,
};
const struct nacre_container_list nacre_container_environment = {
    "container.environment", "added to a clean environment",
    "give NAME=VALUE with a name that does not change what runs", read_environment,
};
const struct nacre_container_list nacre_container_ulimits = {
    "container.ulimits", "rlimit, read back from inside", "give NAME=SOFT:HARD",
    read_ulimit,
};
