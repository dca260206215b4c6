/* Trusts the owner's words for what to execute.  The file system is the guests': names
 * in it are looked up under the command's own walls, except the masks. */
#include "exec.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void exec_refusal_set(struct exec_refusal *ret_refusal, enum init_refusal refusal,
                      int error, const char *text)
{
    ret_refusal->refusal = refusal;
    ret_refusal->error = error;
    (void)snprintf(ret_refusal->text, sizeof(ret_refusal->text), "%s", text);
}

bool exec_mask_holds(const struct init_mask *mask)
{
    struct stat found;

    return lstat(mask->path, &found) == 0 && found.st_dev == mask->device &&
           found.st_ino == mask->inode && (found.st_mode & 07777) == 0;
}

static const char *path_of(const char *const *environment)
{
    for (; *environment; environment++)
        if (strncmp(*environment, "PATH=", 5) == 0)
            return *environment + 5;
    return "/bin:/usr/bin"; /* as the C library does */
}

/* Returns when `path` was not executed, with errno; true: do not look any further. */
static bool try_path(const struct init_start *start, const char *path,
                     struct exec_refusal *ret_refusal)
{
    (void)execve(path, (char **)(uintptr_t)start->arguments,
                 (char **)(uintptr_t)start->environment);
    /* The kernel has the same word for a program and for its interpreter. */
    if (errno == ENOENT && access(path, F_OK) == 0) {
        char text[sizeof(ret_refusal->text)];

        (void)snprintf(text, sizeof(text), "%.*s (its interpreter)",
                       (int)sizeof(text) - 20, path);
        exec_refusal_set(ret_refusal, INIT_REFUSAL_EXEC, ENOENT, text);
        return true;
    }
    if (errno == ENOENT || errno == ENOTDIR || errno == EACCES)
        return false;
    exec_refusal_set(ret_refusal, INIT_REFUSAL_EXEC, errno, path);
    return true;
}

static void search_path(const struct init_start *start, struct exec_refusal *ret_refusal)
{
    const char *name = start->arguments[0], *at = path_of(start->environment);
    char candidate[PATH_MAX];
    int error = ENOENT;

    if (strlen(name) > NAME_MAX) {
        exec_refusal_set(ret_refusal, INIT_REFUSAL_EXEC, ENAMETOOLONG, name);
        return;
    }
    for (;; at++) {
        size_t length = strcspn(at, ":");

        /* An empty entry is the current directory. */
        if (length + NAME_MAX + 2 <= sizeof(candidate)) {
            (void)snprintf(candidate, sizeof(candidate), "%.*s%s%s", (int)length, at,
                           length > 0 ? "/" : "", name);
            if (try_path(start, candidate, ret_refusal))
                return;
            if (errno == EACCES)
                error = EACCES;
        }
        at += length;
        if (*at == '\0')
            break;
    }
    exec_refusal_set(ret_refusal, INIT_REFUSAL_EXEC, error, name);
}

static void execute(const struct init_start *start, struct exec_refusal *ret_refusal)
{
    const char *name = start->arguments[0];

    if (name[0] == '\0')
        exec_refusal_set(ret_refusal, INIT_REFUSAL_EXEC, ENOENT, name);
    else if (!strchr(name, '/'))
        search_path(start, ret_refusal);
    else if (!try_path(start, name, ret_refusal))
        exec_refusal_set(ret_refusal, INIT_REFUSAL_EXEC, errno, name);
}

void exec_command(const struct exec_plan *plan, struct exec_refusal *ret_refusal)
{
    const struct init_start *start = plan->start;
    const char *failed;
    sigset_t none;

    for (size_t i = 0; i < plan->mask_count; i++)
        if (!exec_mask_holds(&plan->masks[i])) {
            exec_refusal_set(ret_refusal, INIT_REFUSAL_MASK, 0, "");
            ret_refusal->mask = (uint32_t)i;
            return;
        }
    (void)setsid();
    failed = walls_lower(plan->walls, start, plan->processes_ours);
    if (!failed && chdir(start->directory) < 0) {
        exec_refusal_set(ret_refusal, INIT_REFUSAL_DIRECTORY, errno, start->directory);
        return;
    }
    if (!failed)
        failed = walls_close(plan->walls);
    if (failed) {
        exec_refusal_set(ret_refusal, INIT_REFUSAL_WALL, errno, failed);
        return;
    }
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    execute(start, ret_refusal);
}
