/*
 * A command of the operator's, started on the host with the operator's rights.  Nothing
 * of the request is in its words or its environment: it arrives on stdin alone.
 */
#include "approver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "nacre/clock.h"
#include "nacre/own.h"
#include "nacre/spawn.h"

extern char **environ;

static json_t *text_or_null(const char *text)
{
    return text ? json_string(text) : json_null();
}

/* -1: the host's failure. */
static int request_fd(const struct nacre_approval_ask *ask, struct nacre_error *err)
{
    char digest[NACRE_HEX];
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:s, s:b, s:s, s:o, s:o, s:o}", "tool", ask->tool, "arguments",
        ask->arguments, "directory", ask->directory, "digest",
        nacre_digest_hex(&ask->digest, digest), "unsandboxed", (int)ask->unsandboxed,
        "reason", ask->reason, "session",
        text_or_null(ask->session), "agent", text_or_null(ask->agent), "caller",
        text_or_null(ask->caller));
    NACRE_AUTO(nacre_fd_guard) int fd = memfd_create("approval", MFD_CLOEXEC);
    bool written = json && fd >= 0 && json_dumpfd(json, fd, JSON_COMPACT) == 0 &&
                   lseek(fd, 0, SEEK_SET) == 0;

    json_decref(json);
    if (written)
        return nacre_fd_take(&fd);
    (void)nacre_fail(err, NACRE_ERR_MEMORY, "a request for the approver");
    return -1;
}

static int start(char *const *command, int input_fd, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    const struct nacre_spawn approver = { .program = command[0], .argv = command,
                                          .environment = environ, .actions = &actions };
    int failed = posix_spawn_file_actions_init(&actions);

    if (failed)
        return failed;
    failed = posix_spawn_file_actions_adddup2(&actions, input_fd, 0);
    /* What it prints is for the operator: it must not mix with a tool's output. */
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, 1);
    if (!failed)
        failed = nacre_spawn(&approver, ret_pid);
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed;
}

enum nacre_status approver_ask(char *const *command, const struct nacre_approval_ask *ask,
                               uint64_t deadline_ns,
                               enum nacre_approval_verdict *ret_verdict,
                               struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int input_fd = request_fd(ask, err);
    pid_t pid = -1;
    int status = 0, failed;
    bool in_time;

    if (input_fd < 0)
        return err->status;
    failed = start(command, input_fd, &pid);
    if (failed) {
        errno = failed;
        return nacre_fail(err, NACRE_ERR_IO, "starting the approver command");
    }
    in_time = nacre_spawn_wait(pid, deadline_ns, &status);
    *ret_verdict = !in_time ? NACRE_APPROVAL_TIMED_OUT
                   : WIFEXITED(status) && WEXITSTATUS(status) == 0
                       ? NACRE_APPROVAL_APPROVED
                       : NACRE_APPROVAL_DENIED;
    return NACRE_OK;
}
