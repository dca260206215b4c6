#include "start.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "message.h"
#include "nacre/clock.h"
#include "nacre/key.h"
#include "nacre/own.h"
#include "nacre/spawn.h"
#include "nacre/path.h"
#include "socket.h"

#define READY_MS 15000
#define ANSWER_MS 10000
#define LOOK_MS 20
#define LOOKS_MAX 100 /* together 2 s: whoever won may be a moment behind us */
#define READY_FD 3  /* in the keeper */
#define SPARE_FD 10 /* above what is arranged there */
#define LOG_BYTES_MAX (256 << 10)

/* What it says when it can't go on; begun anew when it has grown. */
static int open_log(const char *state_dir)
{
    char path[NACRE_PATH_MAX + 16];
    struct stat info;
    int fd;

    (void)snprintf(path, sizeof(path), "%s/keeper.log", state_dir);
    fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && fstat(fd, &info) == 0 && info.st_size > LOG_BYTES_MAX)
        (void)!ftruncate(fd, 0);
    return fd;
}

/* The keeper's 2 and 3 must not be made of one that is one of them. */
static int moved_up(int fd)
{
    int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, SPARE_FD);

    if (fd >= 0)
        (void)close(fd);
    return moved;
}

static int arrange_fds(posix_spawn_file_actions_t *actions, int log, int ready)
{
    int failed = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);

    if (!failed)
        failed = posix_spawn_file_actions_addopen(actions, 1, "/dev/null", O_WRONLY, 0);
    if (!failed)
        failed = log >= 0 ? posix_spawn_file_actions_adddup2(actions, log, 2)
                          : posix_spawn_file_actions_addopen(actions, 2, "/dev/null",
                                                             O_WRONLY, 0);
    if (!failed)
        failed = posix_spawn_file_actions_adddup2(actions, ready, READY_FD);
    if (!failed)
        failed = posix_spawn_file_actions_addclosefrom_np(actions, READY_FD + 1);
    if (!failed)
        failed = posix_spawn_file_actions_addchdir_np(actions, "/");
    return failed;
}

/* Of its own session, without our fds and our directory: it outlives us and holds nothing
 * of ours. */
static int spawn(const char *program, const char *state_dir, const char *host_file,
                 int log, int ready, pid_t *ret_pid)
{
    bool has_file = host_file && host_file[0] == '/';
    const char *const argv[] = { "nacre", "keeper", "--state-dir", state_dir,
                                 "--ready-fd", "3", has_file ? "--host-file" : NULL,
                                 host_file, NULL };
    posix_spawn_file_actions_t actions;
    const struct nacre_spawn keeper = { .program = program, .argv = (char *const *)argv,
                                        .environment = environ, .actions = &actions,
                                        .own_session = true };
    int failed = posix_spawn_file_actions_init(&actions);

    if (failed)
        return failed;
    failed = arrange_fds(&actions, log, ready);
    if (!failed)
        failed = nacre_spawn(&keeper, ret_pid);
    (void)posix_spawn_file_actions_destroy(&actions);
    return failed;
}

/* Until it says that it is ready, or has left: perhaps because there is one. */
static void wait_ready(int fd)
{
    uint64_t until_ns = message_within_ms(READY_MS);
    struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

    while (nacre_clock_ns() < until_ns) {
        struct timespec left = nacre_clock_until(until_ns);

        if (ppoll(&poll_fd, 1, &left, NULL) > 0)
            return;
    }
}

static enum nacre_status start(const char *state_dir, const char *program,
                               const char *host_file, struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *absolute = realpath(state_dir, NULL);
    NACRE_AUTO(nacre_fd_guard) int log = moved_up(open_log(state_dir));
    NACRE_AUTO(nacre_fd_guard) int ready = -1;
    int ends[2], told, failed, status;
    pid_t pid = -1;

    if (!absolute || pipe2(ends, O_CLOEXEC) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "starting the keeper");
    ready = ends[0];
    told = moved_up(ends[1]);
    failed = told < 0 ? EMFILE : spawn(program, absolute, host_file, log, told, &pid);
    nacre_fd_guard(&told);
    if (failed) {
        errno = failed;
        return nacre_fail(err, NACRE_ERR_IO, "starting the keeper, %.200s keeper",
                          program);
    }
    /* What was spawned has forked the keeper and left: none of us stays its parent. */
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    wait_ready(ready); /* that it failed shows when nobody can be reached */
    return NACRE_OK;
}

enum nacre_status keeper_dismiss(int socket, const char *when, bool *ret_leaving,
                                 struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(4096);
    enum message_kind kind = MESSAGE_NONE;
    enum nacre_status status = message_send(socket, MESSAGE_QUIT, when, strlen(when), -1,
                                            message_within_ms(ANSWER_MS), err);

    if (status == NACRE_OK)
        status = message_receive(socket, message_within_ms(ANSWER_MS), &kind, &bytes,
                                 NULL, err);
    if (status == NACRE_OK && kind != MESSAGE_ANSWER)
        status = nacre_fail(err, NACRE_ERR_PARSE, "the keeper answers something else");
    if (status == NACRE_OK)
        *ret_leaving = strcmp(bytes.bytes, MESSAGE_LEAVING) == 0;
    return status;
}

/* One of another version is asked to make room. */
static enum nacre_status replace(int socket, const char *version, struct nacre_error *err)
{
    bool leaving = false;
    enum nacre_status status = keeper_dismiss(socket, MESSAGE_IF_IDLE, &leaving, err);

    if (status != NACRE_OK || leaving)
        return status;
    return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                      "the keeper that runs is of another version of nacre, %.60s, and "
                      "commands still run in its sandboxes: wait for them, or end it "
                      "with `nacre keeper --quit`",
                      version);
}

static enum nacre_status start_one(const char *state_dir, const char *program,
                                   const char *host_file, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    enum nacre_status status;

    if (!program)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "no keeper runs, and the nacre program is not known that would "
                          "be one: name it in the engine's options");
    if (access(state_dir, F_OK) != 0) {
        status = nacre_private_dir_open(state_dir, &dir_fd, err);
        if (status != NACRE_OK)
            return status;
    }
    return start(state_dir, program, host_file, err);
}

enum nacre_status keeper_reach(const char *state_dir, const char *program,
                               const char *host_file, int *ret_socket,
                               struct nacre_error *err)
{
    bool started = false;

    for (unsigned i = 0; i < LOOKS_MAX; i++) {
        NACRE_AUTO(nacre_fd_guard) int fd = -1;
        char version[KEEPER_VERSION];
        enum nacre_status status = keeper_connect(state_dir, version, &fd, err);

        if (status == NACRE_OK && keeper_is_same(version)) {
            *ret_socket = nacre_fd_take(&fd);
            return NACRE_OK;
        }
        if (status == NACRE_OK) {
            status = replace(fd, version, err);
        } else if (status == NACRE_ERR_NOT_FOUND) {
            /* Once more: one that was found by ours may have left since. */
            status = !started || i == LOOKS_MAX / 2
                         ? start_one(state_dir, program, host_file, err)
                         : NACRE_OK;
            started = true;
        }
        if (status != NACRE_OK)
            return status;
        if (i > 0)
            (void)poll(NULL, 0, LOOK_MS);
    }
    return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                      "the keeper did not start: see %.300s/keeper.log", state_dir);
}
