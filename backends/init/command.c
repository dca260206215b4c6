/*
 * One command as init sees it: pipes, credit and a shepherd.  Its output is a guest's:
 * bytes and nothing else.  Everything it can make init keep has a ceiling.
 */
#include "command.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fds.h"
#include "nacre/clock.h"
#include "nacre/own.h"
#include "shepherd.h"

#define CREDIT_STEP (FRAME_WINDOW / 4)

enum { AT_SOCKET, AT_INPUT, AT_OUTPUT, AT_ERRORS };
_Static_assert(AT_ERRORS + 1 == COMMAND_FDS, "a place for each");

/* The number of the line "KEY N", which both versions of cgroups have. */
static uint64_t counted(int fd, const char *key)
{
    char text[1024];
    ssize_t count = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);
    size_t length = strlen(key);
    const char *at = text;

    if (count <= 0)
        return 0;
    text[count] = '\0';
    while (at && (strncmp(at, key, length) != 0 || at[length] != ' ')) {
        at = strchr(at, '\n');
        if (at)
            at++;
    }
    return at ? strtoull(at + length, NULL, 10) : 0;
}

static uint64_t oom_kills(const struct sandbox *sandbox)
{
    return counted(sandbox->oom_fd, "oom_kill");
}

static uint64_t forks_refused(const struct sandbox *sandbox)
{
    return counted(sandbox->forks_fd, "max");
}

/* Both only grow; a guest's own files would not have to. */
static uint64_t grown(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static void refuse(struct sandbox *sandbox, const uint8_t *id,
                   const struct exec_refusal *refusal)
{
    const uint64_t numbers[] = { refusal->refusal, (uint64_t)refusal->error };
    const char *text = refusal->text;

    if (refusal->refusal == INIT_REFUSAL_MASK &&
        refusal->mask < sandbox->config.mask_count)
        text = sandbox->config.masks[refusal->mask].path;
    outbox_add_text(&sandbox->out, FRAME_REFUSED, id, numbers, NACRE_COUNT(numbers),
                    text);
}

/* A pipe of which init keeps one end, without waiting for the other. */
static bool make_pipe(int *ret_ours, int *ret_theirs, bool we_write)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    *ret_ours = ends[we_write];
    *ret_theirs = ends[!we_write];
    return fd_nonblocking(*ret_ours);
}

static bool make_fds(struct command *command, const struct init_start *start,
                     struct shepherd_fds *ret_theirs)
{
    return (!start->input || make_pipe(&command->input, &ret_theirs->input, true)) &&
           make_pipe(&command->lanes[0].fd, &ret_theirs->output, false) &&
           make_pipe(&command->lanes[1].fd, &ret_theirs->errors, false);
}

static void close_ours(struct command *command)
{
    fd_close(&command->socket);
    fd_close(&command->input);
    fd_close(&command->lanes[0].fd);
    fd_close(&command->lanes[1].fd);
}

/* False with errno: there is no process. */
static bool start_shepherd(struct command *command, const struct exec_plan *plan,
                           struct shepherd_fds *theirs)
{
    int sockets[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
        return false;
    command->socket = sockets[0];
    theirs->socket = sockets[1];
    command->shepherd = fork();
    if (command->shepherd == 0)
        shepherd_main(plan, theirs);
    return command->shepherd > 0;
}

static bool start_sole(struct command *command, const struct exec_plan *plan,
                       const struct shepherd_fds *theirs)
{
    command->shepherd = sole_start(&command->sole, plan, theirs, &command->socket);
    return command->shepherd > 0;
}

static void drop_files(struct command *command, struct sandbox *sandbox)
{
    if (command->has_files)
        files_leave(&sandbox->files);
    command->has_files = false;
}

void command_start(struct command *command, struct sandbox *sandbox, const uint8_t *id,
                   const struct init_start *start, size_t others)
{
    struct shepherd_fds theirs = { -1, -1, -1, -1 };
    struct exec_plan plan = {
        .start = start,
        .walls = &sandbox->walls,
        .masks = sandbox->config.masks,
        .mask_count = sandbox->config.mask_count,
        .processes_ours = 1 + others + 1, /* init, and a shepherd each */
    };
    bool is_sole = sandbox->config.once && sandbox->place.is_pid1;
    struct exec_refusal refusal;
    const char *failed = NULL;

    *command = (struct command){
        .socket = -1,
        .input = -1,
        .input_credit = FRAME_WINDOW,
        .input_bytes = command->input_bytes,
        .lanes = { { -1, FRAME_WINDOW }, { -1, FRAME_WINDOW } },
        .oom_kills_before = oom_kills(sandbox),
        .forks_before = forks_refused(sandbox),
        .wall_ns = nacre_clock_ns() + start->wall_ms_max * NACRE_NS_PER_MS,
    };
    memcpy(command->id, id, FRAME_ID);
    if (start->certificates[0] != '\0')
        failed = files_certify(start->certificates);
    if (!failed && start->file_count > 0)
        failed = files_enter(&sandbox->files, start);
    if (failed) {
        exec_refusal_set(&refusal, INIT_REFUSAL_WALL, errno, failed);
        refuse(sandbox, id, &refusal);
        return;
    }
    command->has_files = start->file_count > 0;
    plan.processes_ours -= is_sole;
    if (make_fds(command, start, &theirs) &&
        (is_sole ? start_sole(command, &plan, &theirs)
                 : start_shepherd(command, &plan, &theirs))) {
        command->state = COMMAND_ALIVE;
    } else {
        exec_refusal_set(&refusal, INIT_REFUSAL_FULL, errno, "no process could be made");
        refuse(sandbox, id, &refusal);
        close_ours(command);
        drop_files(command, sandbox);
    }
    fd_close(&theirs.socket);
    fd_close(&theirs.input);
    fd_close(&theirs.output);
    fd_close(&theirs.errors);
}

static void order(struct command *command, int number)
{
    const struct shepherd_order order = { number };

    if (command->sole.pid > 0 && number > 0)
        sole_signal(&command->sole, number, command->started);
    else if (command->sole.pid > 0)
        (void)kill(-1, SIGKILL);
    else if (command->socket >= 0)
        (void)send(command->socket, &order, sizeof(order), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void command_end(struct command *command, enum init_how how, bool by_owner,
                 uint64_t grace_ms)
{
    command->output_dropped |= by_owner;
    if (command->state != COMMAND_ALIVE || command->wall_ns == 0)
        return;
    command->ordered = how;
    command->wall_ns = 0;
    command->grace_ns = nacre_clock_ns() + grace_ms * NACRE_NS_PER_MS;
    order(command, 0);
}

void command_signal(struct command *command, int number)
{
    if (command->state == COMMAND_ALIVE)
        order(command, number);
}

/* ---- stdin ---- */

bool command_input(struct command *command, const uint8_t *bytes, size_t count)
{
    size_t end = (command->input_start + command->input_used) % FRAME_WINDOW;
    size_t first = count < FRAME_WINDOW - end ? count : FRAME_WINDOW - end;

    if (count > command->input_credit || command->input_ended)
        return false;
    command->input_credit -= count;
    if (command->input < 0) {
        command->input_owed += count;
        return true;
    }
    memcpy(command->input_bytes + end, bytes, first);
    memcpy(command->input_bytes, bytes + first, count - first);
    command->input_used += count;
    command->input_touched = true;
    return true;
}

void command_input_end(struct command *command)
{
    command->input_ended = true;
    if (command->input_used == 0)
        fd_close(&command->input);
}

static void move_input(struct command *command)
{
    while (command->input_used > 0) {
        size_t first = FRAME_WINDOW - command->input_start;
        size_t chunk = command->input_used < first ? command->input_used : first;
        ssize_t count = write(command->input, command->input_bytes + command->input_start,
                              chunk);

        if (count < 0 && errno == EAGAIN)
            return;
        /* Nobody reads any more: the rest is taken and thrown away. */
        if (count < 0) {
            fd_close(&command->input);
            command->input_owed += command->input_used;
            command->input_used = 0;
            return;
        }
        command->input_start = (command->input_start + (size_t)count) % FRAME_WINDOW;
        command->input_used -= (size_t)count;
        command->input_owed += (size_t)count;
    }
    if (command->input_ended)
        fd_close(&command->input);
}

static void give_credit(struct command *command, struct sandbox *sandbox)
{
    uint8_t bytes[8];
    struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };

    if (command->input_owed < CREDIT_STEP || command->input_ended ||
        !outbox_may_answer(&sandbox->out))
        return;
    pack_u64(&pack, command->input_owed);
    outbox_add(&sandbox->out, FRAME_CREDIT, 0, command->id, bytes, pack.used);
    command->input_credit += command->input_owed;
    command->input_owed = 0;
}

/* ---- stdout and stderr ---- */

bool command_credit(struct command *command, uint8_t lane, uint64_t count)
{
    struct command_lane *out = &command->lanes[lane - 1];

    if (count > UINT64_MAX - out->credit)
        return false;
    out->credit += count;
    return true;
}

static void end_lane(struct command *command, struct sandbox *sandbox, uint8_t lane)
{
    fd_close(&command->lanes[lane - 1].fd);
    outbox_add(&sandbox->out, FRAME_END, lane, command->id, NULL, 0);
}

/* One frame of it at most, so that commands take turns; false: no more for now.
 * `is_dead`: all that the command wrote is in the pipe; whoever else holds its other end
 * is not waited for. */
static bool move_lane(struct command *command, struct sandbox *sandbox, uint8_t lane,
                      bool is_dead)
{
    struct command_lane *out = &command->lanes[lane - 1];
    size_t room;
    uint8_t *at = outbox_data_room(&sandbox->out, &room);
    int waiting = 0;
    ssize_t count;

    if (room > out->credit)
        room = (size_t)out->credit;
    if (room == 0) {
        if (is_dead && ((out->credit == 0 && command->output_dropped) ||
                        (ioctl(out->fd, FIONREAD, &waiting) == 0 && waiting == 0)))
            end_lane(command, sandbox, lane);
        return false;
    }
    count = read(out->fd, at, room);
    if (count > 0) {
        out->credit -= (uint64_t)count;
        outbox_data_added(&sandbox->out, FRAME_DATA, lane, command->id, (size_t)count);
        return true;
    }
    if (count == 0 || errno != EAGAIN || is_dead)
        end_lane(command, sandbox, lane);
    return false;
}

/* ---- its life ---- */

static void take_last_word(struct command *command, const struct shepherd_word *word)
{
    command->spoken = true;
    command->has_orphans = word->is_no_reaper;
    if (word->kind == SHEPHERD_REFUSED && !word->was_ordered) {
        command->refused = true;
        command->refusal = word->refusal;
        return;
    }
    command->exit = (struct init_exit){
        .how = WIFSIGNALED(word->wait_status) ? INIT_HOW_SIGNALLED : INIT_HOW_EXITED,
        .status = (uint64_t)(WIFSIGNALED(word->wait_status)
                                 ? WTERMSIG(word->wait_status)
                                 : WEXITSTATUS(word->wait_status)),
        .user_us = word->user_us,
        .system_us = word->system_us,
        .memory_bytes_peak = word->memory_bytes_peak,
        .left_behind = word->left_behind,
    };
    if (word->was_ordered && command->ordered != INIT_HOW_NONE)
        command->exit.how = command->ordered;
}

static void say_started(struct command *command, struct sandbox *sandbox)
{
    command->started = true;
    outbox_add(&sandbox->out, FRAME_STARTED, 0, command->id, NULL, 0);
    /* Its owner waits for that, to send it its input. */
    if (command->input >= 0)
        outbox_hurry(&sandbox->out);
}

/* The command's own process has said why not, or was executed. */
static void hear_sole(struct command *command, struct sandbox *sandbox)
{
    struct sole *sole = &command->sole;
    struct exec_refusal refusal;
    ssize_t count = read(command->socket, &refusal, sizeof(refusal));

    if (count < 0 && errno == EAGAIN)
        return;
    fd_close(&command->socket);
    if (count == sizeof(refusal)) {
        sole->word.kind = SHEPHERD_REFUSED;
        sole->word.refusal = refusal;
        return;
    }
    say_started(command, sandbox);
    if (sole->signal_held > 0)
        sole_signal(sole, sole->signal_held, true);
}

/* False: there is nothing more to hear, for now or for good. */
static bool hear(struct command *command, struct sandbox *sandbox)
{
    struct shepherd_word word;
    ssize_t count = recv(command->socket, &word, sizeof(word), MSG_DONTWAIT);

    if (count < 0 && errno == EAGAIN)
        return false;
    if (count == sizeof(word) && word.kind == SHEPHERD_STARTED) {
        say_started(command, sandbox);
        return true;
    }
    fd_close(&command->socket);
    if (count == sizeof(word) && word.kind != SHEPHERD_BEATEN)
        take_last_word(command, &word);
    return false;
}
/* The last of its frames, when its lanes are at their end. */
static void leave(struct command *command, struct sandbox *sandbox)
{
    uint8_t bytes[64];
    struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };

    if (command->refused) {
        drop_files(command, sandbox);
        refuse(sandbox, command->id, &command->refusal);
    } else {
        if (command->lanes[0].fd >= 0 || command->lanes[1].fd >= 0)
            return;
        drop_files(command, sandbox);
        command->exit.oom_kills = grown(oom_kills(sandbox), command->oom_kills_before);
        command->exit.forks_refused =
            grown(forks_refused(sandbox), command->forks_before);
        if (!command->started)
            outbox_add(&sandbox->out, FRAME_STARTED, 0, command->id, NULL, 0);
        (void)init_exit_pack(&pack, &command->exit);
        assert(!pack.failed);
        outbox_add(&sandbox->out, FRAME_EXIT, 0, command->id, bytes, pack.used);
    }
    close_ours(command);
    if (command->input_touched)
        (void)madvise(command->input_bytes, FRAME_WINDOW, MADV_DONTNEED);
    command->state = COMMAND_FREE;
}

void command_poll(const struct command *command, const struct sandbox *sandbox,
                  struct pollfd *ret_fds)
{
    for (int i = 0; i < COMMAND_FDS; i++)
        ret_fds[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
    if (command->state == COMMAND_FREE)
        return;
    ret_fds[AT_SOCKET].fd = command->socket;
    if (command->input_used > 0)
        ret_fds[AT_INPUT] = (struct pollfd){ .fd = command->input, .events = POLLOUT };
    for (int i = 0; i < 2; i++)
        if (command->lanes[i].credit > 0 && outbox_takes_data(&sandbox->out))
            ret_fds[AT_OUTPUT + i].fd = command->lanes[i].fd;
}

void command_move(struct command *command, struct sandbox *sandbox,
                  const struct pollfd *fds)
{
    bool is_dead = command->state == COMMAND_ENDED;

    if (command->state == COMMAND_FREE)
        return;
    if (fds[AT_SOCKET].revents && command->socket >= 0) {
        if (command->sole.pid > 0)
            hear_sole(command, sandbox);
        else
            (void)hear(command, sandbox);
    }
    if (command->input >= 0 && command->input_used > 0)
        move_input(command);
    give_credit(command, sandbox);
    for (uint8_t lane = 1; lane <= 2 && !command->refused; lane++) {
        bool more = is_dead || fds[AT_OUTPUT + lane - 1].revents;

        while (more && command->lanes[lane - 1].fd >= 0)
            more = move_lane(command, sandbox, lane, is_dead) && is_dead;
    }
    if (is_dead)
        leave(command, sandbox);
}

void command_reaped(struct command *command, struct sandbox *sandbox)
{
    /* What it has said before it died counts. */
    while (command->socket >= 0 && hear(command, sandbox))
        ;
    command->shepherd = 0;
    command->state = command->spoken ? COMMAND_ENDED : COMMAND_LOST;
}

void command_sole_reaped(struct command *command, pid_t pid, int status)
{
    sole_reaped(&command->sole, pid, status);
}

void command_sole_settle(struct command *command, struct sandbox *sandbox,
                         bool none_left)
{
    if (!command->sole.has_ended)
        return;
    if (none_left) {
        if (command->socket >= 0)
            hear_sole(command, sandbox);
        sole_account(&command->sole, command->ordered != INIT_HOW_NONE);
        take_last_word(command, &command->sole.word);
        command->shepherd = 0;
        command->state = COMMAND_ENDED;
        return;
    }
    /* At one stroke, whoever was about to fork included; each death comes back here. */
    (void)kill(-1, SIGKILL);
    if (command->wall_ns == 0)
        return;
    command->wall_ns = 0;
    command->grace_ns = nacre_clock_ns() + SHEPHERD_KILL_MS * NACRE_NS_PER_MS;
}

void command_cleared(struct command *command)
{
    command->exit = (struct init_exit){
        .how = command->ordered != INIT_HOW_NONE ? command->ordered : INIT_HOW_SIGNALLED,
        .status = SIGKILL,
    };
    command->shepherd = 0;
    command->state = COMMAND_ENDED;
    fd_close(&command->socket);
}
