/*
 * Trusts the kernel's files.  Whoever owns a cgroup may mark it as delegated: that says
 * what is meant to be, and the kernel says what may be.
 */
#include "cgroup_divide.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "nacre/own.h"

#define REMOVE_MS_MAX 50
#define GENERATIONS_MAX 8
#define TRIES 10

static const char *const divided[] = { "memory", "cpu", "pids" };

bool nacre_cgroup_has_systemd(void)
{
    return access("/run/systemd/system", F_OK) == 0;
}

const char *nacre_cgroup_advice(void)
{
    if (!nacre_cgroup_has_systemd())
        return "";
    return geteuid() == 0 ? "start nacre by systemd-run --scope -p Delegate=yes"
                          : "start nacre by systemd-run --user --scope -p Delegate=yes";
}

static bool is_marked(int fd)
{
    static const char *const names[] = { "user.delegate", "trusted.delegate" };
    char value[2];

    for (size_t i = 0; i < NACRE_COUNT(names); i++)
        if (fgetxattr(fd, names[i], value, sizeof(value)) == 1 && value[0] == '1')
            return true;
    return false;
}

/* A user's own systemd marks nothing; but of a unit that was made by its API, as by
 * systemd-run, it keeps a file that says so. */
static bool is_users_unit(const char *path)
{
    const char *runtime = getenv("XDG_RUNTIME_DIR"), *unit = strrchr(path, '/');
    char file[2 * NACRE_PATH_MAX], text[4096];
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    struct stat info;
    ssize_t count;

    if (!runtime || !strstr(path, "/user@") || !unit)
        return false;
    (void)snprintf(file, sizeof(file), "%s/systemd/transient%s", runtime, unit);
    fd = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    count = fd < 0 || fstat(fd, &info) != 0 || info.st_uid != geteuid()
                ? -1
                : read(fd, text, sizeof(text) - 1);
    text[count > 0 ? count : 0] = '\0';
    return strstr(text, "\nDelegate=yes\n") != NULL;
}

static bool is_handed_over(const char *path, int fd)
{
    struct stat info;

    if (is_marked(fd))
        return true;
    if (nacre_cgroup_has_systemd() || geteuid() == 0)
        return is_users_unit(path);
    return fstat(fd, &info) == 0 && info.st_uid == geteuid();
}

/* "+memory +pids", of those that it has. */
static void name_controllers(int fd, char ret_text[64])
{
    char list[256], *word, *state = NULL;

    ret_text[0] = '\0';
    nacre_cgroup_read(fd, "cgroup.controllers", list, sizeof(list));
    for (word = strtok_r(list, " \n", &state); word; word = strtok_r(NULL, " \n", &state))
        for (size_t i = 0; i < NACRE_COUNT(divided); i++) {
            size_t used = strlen(ret_text);

            if (strcmp(word, divided[i]) == 0)
                (void)snprintf(ret_text + used, 64 - used, "%s+%s", used ? " " : "",
                               word);
        }
}

static pid_t parent_of(pid_t pid)
{
    char path[64], text[1024];
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    const char *field;
    ssize_t count;
    pid_t parent;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    count = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    text[count > 0 ? count : 0] = '\0';
    /* The second field is the program's name, in which anything may stand. */
    field = strrchr(text, ')');
    return field && sscanf(field, ") %*c %d", &parent) == 1 ? parent : 0;
}

/* This process, or one that it has started. */
static bool is_ours(pid_t pid)
{
    for (int i = 0; i < GENERATIONS_MAX && pid > 1; i++, pid = parent_of(pid))
        if (pid == getpid())
            return true;
    return false;
}

/* All that is ours from one to the other, "" being `dir_fd` itself; false with errno. */
static bool move(int dir_fd, const char *from, const char *to)
{
    char path[NACRE_CGROUP_NAME + 32], list[4096], *word, *state = NULL;

    (void)snprintf(path, sizeof(path), "%s%scgroup.procs", from, from[0] ? "/" : "");
    nacre_cgroup_read(dir_fd, path, list, sizeof(list));
    (void)snprintf(path, sizeof(path), "%s%scgroup.procs", to, to[0] ? "/" : "");
    for (word = strtok_r(list, "\n", &state); word; word = strtok_r(NULL, "\n", &state))
        if (is_ours(atoi(word)) && !nacre_cgroup_write(dir_fd, path, word) &&
            errno != ESRCH)
            return false;
    return true;
}

bool nacre_cgroup_divide(const struct nacre_cgroup_tables *tables,
                         const struct nacre_cgroup_owner *owner,
                         char ret_why[NACRE_CGROUP_WHY])
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char path[NACRE_PATH_MAX], name[NACRE_CGROUP_NAME], wanted[64];
    struct nacre_error ignored;
    int failed;

    ret_why[0] = '\0';
    if (!nacre_cgroup_own_v2(tables, path))
        return false;
    fd = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    if (fd < 0 || !is_handed_over(path, fd))
        return false;
    name_controllers(fd, wanted);
    if (!wanted[0]) {
        (void)snprintf(ret_why, NACRE_CGROUP_WHY, "its own was delegated without any");
        return false;
    }
    nacre_cgroup_remove_leftovers(fd);
    if (nacre_cgroup_name(owner, name, &ignored) == NACRE_OK &&
        mkdirat(fd, name, 0755) == 0) {
        for (int i = 0; i < TRIES; i++) {
            if (move(fd, "", name) &&
                nacre_cgroup_write(fd, "cgroup.subtree_control", wanted))
                return true;
            if (errno != EBUSY)
                break;
            /* One that was moved may have started another before. */
            nacre_cgroup_pause_ms(1);
            errno = EBUSY;
        }
        failed = errno;
        (void)move(fd, name, "");
        (void)nacre_cgroup_remove(fd, name, REMOVE_MS_MAX);
        errno = failed;
    }
    (void)snprintf(ret_why, NACRE_CGROUP_WHY, "its own was delegated, but %s",
                   errno == EBUSY ? "other processes are in it" : strerrordesc_np(errno));
    return false;
}
