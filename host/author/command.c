/* A toolchain is the author's own: it runs on the host, with the author's rights. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nacre/clock.h"
#include "nacre/own.h"
#include "nacre/path.h"
#include "nacre/spawn.h"

#define BUILD_MS 600000

extern char **environ;

bool command_is_there(const char *name)
{
    const char *path = getenv("PATH");
    char file[NACRE_PATH_MAX];

    while (path && *path) {
        size_t length = strcspn(path, ":");

        (void)snprintf(file, sizeof(file), "%.*s/%s", (int)length, path, name);
        if (access(file, X_OK) == 0)
            return true;
        path += length + (path[length] == ':');
    }
    return false;
}

/* The caller's variables, with `added` in front of those that they replace. */
static char **environment_of(const char *const *added)
{
    size_t own = 0, more = 0, used = 0;
    char **all;

    while (environ && environ[own])
        own++;
    while (added && added[more])
        more++;
    all = calloc(own + more + 1, sizeof(*all));
    if (!all)
        return NULL;
    for (size_t i = 0; i < more; i++)
        all[used++] = (char *)(uintptr_t)added[i];
    for (size_t i = 0; i < own; i++) {
        size_t name = strcspn(environ[i], "="), k = 0;

        while (k < more && (strncmp(added[k], environ[i], name + 1) != 0))
            k++;
        if (k == more)
            all[used++] = environ[i];
    }
    return all;
}

/* What it prints goes to stderr; or nowhere. */
static int start(const char *const *argv, const char *directory, char **environment,
                 bool quiet, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    const struct nacre_spawn tool = { .program = argv[0], .by_path = true,
                                      .argv = (char *const *)(uintptr_t)argv,
                                      .environment = environment, .actions = &actions };
    int failed = posix_spawn_file_actions_init(&actions);

    if (failed)
        return failed;
    failed = posix_spawn_file_actions_addchdir_np(&actions, directory);
    if (!failed)
        failed = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!failed && quiet)
        failed = posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, 2, 1);
    if (!failed)
        failed = nacre_spawn(&tool, ret_pid);
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed;
}

static enum nacre_status run(const char *const *argv, const char *directory,
                             const char *const *environment, bool quiet,
                             struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char **all = environment_of(environment);
    pid_t pid = -1;
    int failed, status = 0;

    if (!all)
        return nacre_fail(err, NACRE_ERR_MEMORY, "starting %s", argv[0]);
    failed = start(argv, directory, all, quiet, &pid);
    if (failed) {
        errno = failed;
        return nacre_fail(err, NACRE_ERR_IO, "starting %s", argv[0]);
    }
    if (!nacre_spawn_wait(pid, nacre_clock_ns() + BUILD_MS * NACRE_NS_PER_MS, &status))
        return nacre_fail(err, NACRE_ERR_TIMEOUT, "%s did not end in %d minutes", argv[0],
                          BUILD_MS / 60000);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return NACRE_OK;
    return nacre_fail(err, NACRE_ERR_USAGE, "%s failed: what it says is above", argv[0]);
}

enum nacre_status command_run(const char *const *argv, const char *directory,
                              const char *const *environment, struct nacre_error *err)
{
    return run(argv, directory, environment, false, err);
}

bool command_succeeds(const char *const *argv)
{
    struct nacre_error ignored;

    return run(argv, "/", NULL, true, &ignored) == NACRE_OK;
}
