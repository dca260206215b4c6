/*
 * One command from its start to its end, in the thread of whoever asked for it.  The
 * guest's output is its own business: it is counted, cut and handed on, never read.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "nacre/clock.h"
#include "nt_doorway.h"
#include "nt_private.h"
#include "nt_result.h"

#define SLICE_NS (100 * NACRE_NS_PER_MS) /* how long a wait goes without a look around */
#define REST_NS (NACRE_NS_PER_MS / 4) /* after a look at the watch that found nothing */
#define GRACE_NS (2 * NACRE_NS_PER_S) /* for init to end what has to end, at most */
#define TIDY_NS NACRE_NS_PER_S /* for a command that was asked to end */
#define INPUT_BYTES 16384
#define DISTURBED_TEXT 512
#define CANCELLED "cancelled"
#define BACKLOG_MAX FRAME_WINDOW /* no input is read while more waits to be sent */

struct call {
    struct nt_box *box;
    const struct nt_command *command;
    struct nacre_result *result;
    struct nt_run run;
    struct nacre_buf taken;       /* what was pending, being handed on */
    uint64_t ungiven[FRAME_LANES]; /* taken, and not told to init yet */

    uint64_t output_bytes, output_bytes_max, input_bytes;
    bool input_open, input_may_wait, dial_open;

    uint64_t limit_ns; /* init has to have ended it by then, */
    uint64_t last_ns;  /* and if there still was output to be taken, by then */
    uint64_t disturbed_ns; /* when to ask about it again */
    uint64_t rested_ns;    /* and until when the watch is not listened to */
    uint64_t asked_ns; /* when it was asked to end; 0: it was not */
    enum nt_kill kill;
    int signal;
    char reason[DISTURBED_TEXT];
    struct nacre_error failure; /* for NT_KILL_FAILED */
};

static void lock(struct call *call)
{
    (void)pthread_mutex_lock(&call->box->lock);
}

static void unlock(struct call *call)
{
    (void)pthread_mutex_unlock(&call->box->lock);
}

static bool is_over(const struct call *call)
{
    return call->run.over || atomic_load(&call->box->spent);
}

/* Somebody else has to move the frames from here on. */
static void give_up_lead(struct call *call)
{
    struct nt_box *box = call->box;

    if (box->leader != &call->run)
        return;
    box->leader = NULL;
    for (struct nt_run *run = box->runs; run; run = run->next)
        if (run != &call->run) {
            nt_run_poke(run);
            return;
        }
}

/* ---- ending it before its end ---- */

static uint64_t grace_ns(const struct call *call)
{
    uint64_t grace_ms = call->command->grace_ms;

    return grace_ms > 0 ? grace_ms * NACRE_NS_PER_MS : GRACE_NS;
}

/* From `end_ns` on it is init's turn to end it. */
static void set_limit(struct call *call, uint64_t end_ns)
{
    call->limit_ns = end_ns + grace_ns(call);
    call->last_ns = end_ns + GRACE_NS;
}

/* Init is at work, and may have waited for whoever takes the output. */
static void put_limit_off(struct call *call)
{
    uint64_t later_ns = nacre_clock_ns() + grace_ns(call);

    if (later_ns > call->last_ns)
        later_ns = call->last_ns;
    if (later_ns > call->limit_ns)
        call->limit_ns = later_ns;
}

static void kill_it(struct call *call, enum nt_kill kill, int number, const char *reason)
{
    if (call->kill != NT_KILL_NONE)
        return;
    call->kill = kill;
    call->signal = number;
    (void)snprintf(call->reason, sizeof(call->reason), "%s", reason);
    set_limit(call, nacre_clock_ns());
    if (!call->run.over)
        nt_wire_send(call->box, FRAME_KILL, 0, call->run.id, NULL, 0);
}

/* Without the lock.  What is disturbed is stopped before anything else is done: each
 * moment it may read what was covered. */
static bool is_disturbed(const struct call *call, char reason[DISTURBED_TEXT])
{
    const struct nt_command *command = call->command;

    if (!command->disturbed ||
        !command->disturbed(command->disturbed_data, reason, DISTURBED_TEXT))
        return false;
    if (command->halt)
        command->halt(command->disturbed_data);
    return true;
}

/* With the lock, which it gives up meanwhile. */
static void end_if_disturbed(struct call *call)
{
    char reason[DISTURBED_TEXT] = "";
    bool disturbed;

    if (!call->command->disturbed || call->kill != NT_KILL_NONE)
        return;
    give_up_lead(call);
    unlock(call);
    disturbed = is_disturbed(call, reason);
    lock(call);
    if (disturbed)
        kill_it(call, NT_KILL_DISTURBED, SIGKILL, reason);
}

static int cancelled_by(const struct nt_command *command)
{
    return nt_cancelled_by(command->cancelled, command->request->cancelled);
}

/* By what a person or a supervisor sends it is asked, and may tidy up; what is still there
 * after that, and whatever is ended in another way, is killed. */
static void cancel(struct call *call, int number, uint64_t now)
{
    bool asks = number == SIGINT || number == SIGTERM || number == SIGHUP ||
                number == SIGQUIT;

    if (asks && call->asked_ns == 0) {
        call->asked_ns = now;
        if (!call->run.over)
            nt_wire_send_u64(call->box, FRAME_SIGNAL, 0, call->run.id, (uint64_t)number);
    }
    if (!asks || now >= call->asked_ns + TIDY_NS)
        kill_it(call, NT_KILL_CANCELLED, number, CANCELLED);
}

static void look_around(struct call *call)
{
    int number = cancelled_by(call->command);
    uint64_t now = nacre_clock_ns();

    nt_wire_beat(call->box, now);
    if (number != 0)
        cancel(call, number, now);
    if (now >= call->disturbed_ns) {
        call->disturbed_ns = now + SLICE_NS;
        end_if_disturbed(call);
    }
    if (now < call->limit_ns || is_over(call))
        return;
    if (call->kill == NT_KILL_NONE) {
        call->kill = NT_KILL_OVERRUN;
        (void)snprintf(call->reason, sizeof(call->reason),
                       "init did not end it in time: the sandbox is given up");
    }
    nt_box_break(call->box, "init did not end a command within %" PRIu64
                            " ms: the sandbox is given up",
                 grace_ns(call) / NACRE_NS_PER_MS);
}

/* ---- what it writes ---- */

/* The first byte over the limit ends it; what came before is kept. */
static void hand_on(struct call *call, uint32_t lane, const char *bytes, size_t count)
{
    const struct nacre_request *request = call->command->request;
    struct nacre_result *result = call->result;
    uint64_t room = call->output_bytes_max - call->output_bytes;
    size_t part = count < room ? count : (size_t)room;

    if (call->failure.status != NACRE_OK)
        return;
    result->output_cut |= part < count;
    call->output_bytes += part;
    if (part == 0)
        return;
    if (!request->stream_only &&
        nacre_buf_add(lane == 1 ? &result->output : &result->errors, bytes, part,
                      &call->failure) != NACRE_OK)
        return;
    if (request->on_output)
        request->on_output(request->on_output_data, (int)lane, bytes, part);
}

static void hand_on_taken(struct call *call)
{
    for (size_t at = 0; at < call->taken.size;) {
        struct nt_chunk head;

        memcpy(&head, call->taken.bytes + at, sizeof(head));
        at += sizeof(head);
        hand_on(call, head.lane, call->taken.bytes + at, head.size);
        at += head.size;
        call->ungiven[head.lane] += head.size;
    }
}

/* In halves of a window: a frame for every read would cost more than the bytes. */
static void give_credit(struct call *call)
{
    for (uint8_t lane = 1; lane < FRAME_LANES; lane++) {
        struct nt_run *run = &call->run;

        if (call->ungiven[lane] < FRAME_WINDOW / 2 || run->over || run->ended[lane])
            continue;
        run->window[lane] += call->ungiven[lane];
        nt_wire_send_u64(call->box, FRAME_CREDIT, lane, run->id, call->ungiven[lane]);
        call->ungiven[lane] = 0;
    }
}

static void take_output(struct call *call)
{
    struct nt_run *run = &call->run;
    struct nacre_buf empty = call->taken;
    char reason[DISTURBED_TEXT] = "";
    bool disturbed;

    if (run->pending.size == 0)
        return;
    call->taken = run->pending;
    run->pending = empty;
    run->pending_last = NT_NO_CHUNK;
    /* A caller's function may take its time. */
    if (call->command->request->on_output)
        give_up_lead(call);
    unlock(call);
    /* What could be read from under a cover that has fallen off goes nowhere: the change
     * was told before anybody could see it. */
    disturbed = is_disturbed(call, reason);
    if (!disturbed)
        hand_on_taken(call);
    call->taken.size = 0;
    call->taken.bytes[0] = '\0';
    lock(call);
    if (disturbed)
        kill_it(call, NT_KILL_DISTURBED, SIGKILL, reason);
    else if (call->failure.status != NACRE_OK)
        kill_it(call, NT_KILL_FAILED, 0, "");
    else if (call->result->output_cut)
        kill_it(call, NT_KILL_OUTPUT, 0, "");
    put_limit_off(call);
    give_credit(call);
}

/* ---- what it reads ---- */

static bool wants_input(struct call *call)
{
    struct nt_run *run = &call->run;
    /* Not before it has started: what a command that is refused would have read stays. */
    bool could = call->input_open && run->started && !run->over &&
                 call->kill == NT_KILL_NONE && run->window[0] > 0;

    run->starved = could && nt_wire_backlog(call->box) >= BACKLOG_MAX;
    return could && !run->starved;
}

/* Never waits, also when somebody else empties the pipe between poll() and here. */
static ssize_t read_input(const struct call *call, void *bytes, size_t count)
{
    int fd = call->command->request->input_fd;
    struct iovec part = { bytes, count };
    ssize_t got;

    if (!call->input_may_wait)
        return read(fd, bytes, count);
    got = preadv2(fd, &part, 1, -1, RWF_NOWAIT);
    /* Terminals, and pipes of older kernels: poll() has said that there is something. */
    return got < 0 && errno == EOPNOTSUPP ? read(fd, bytes, count) : got;
}

/* The lock is not held: a disk may be slow. */
static void pump_input(struct call *call)
{
    struct nt_run *run = &call->run;
    char bytes[INPUT_BYTES];
    size_t room = run->window[0] < sizeof(bytes) ? run->window[0] : sizeof(bytes);
    ssize_t got;

    unlock(call);
    got = read_input(call, bytes, room);
    lock(call);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        call->input_open = false;
        if (!run->over)
            nt_wire_send(call->box, FRAME_END, 0, run->id, NULL, 0);
        return;
    }
    call->input_bytes += (uint64_t)got;
    run->window[0] -= (uint64_t)got;
    if (!run->over)
        nt_wire_send(call->box, FRAME_DATA, 0, run->id, bytes, (size_t)got);
}

/* ---- waiting ---- */

static void drain_pokes(struct nt_run *run)
{
    eventfd_t count;

    if (run->poked)
        (void)eventfd_read(run->wake_fd, &count);
    run->poked = false;
}

static bool uses_doorway(const struct call *call)
{
    return call->command->connected || call->command->request->dial_fd > 0;
}

/* What came through the doorway goes to the command's own. */
static void hand_connections_on(struct call *call)
{
    const struct nt_command *command = call->command;
    int kind, fd;

    while (command->connected && !is_over(call) &&
           nt_doorway_next(call->box, &kind, &fd)) {
        unlock(call);
        command->connected(command->connected_data, kind, fd);
        lock(call);
    }
}

/* Who comes when there is no room waits. */
static bool wants_dials(const struct call *call)
{
    return call->dial_open && !is_over(call) && call->kill == NT_KILL_NONE &&
           nt_doorway_may_dial(call->box);
}

/* What tells that the command may be disturbed; -1: nothing, or not now.  A guest that
 * may write beside a watched name can make it tell without end; a rest bounds what that
 * costs. */
static int watch_fd(const struct call *call, uint64_t *until_ns)
{
    int fd = call->command->disturbed ? call->command->disturbed_fd : 0;

    if (fd <= 0 || call->kill != NT_KILL_NONE)
        return -1;
    if (call->rested_ns <= nacre_clock_ns())
        return fd;
    if (call->rested_ns < *until_ns)
        *until_ns = call->rested_ns;
    return -1;
}

static void heed_watch(struct call *call)
{
    call->disturbed_ns = 0;
    call->rested_ns = nacre_clock_ns() + REST_NS;
}

/* In a poll set. */
enum { AT_WAKE, AT_STREAM, AT_INPUT, AT_DIAL, AT_WATCH, AT_DOORWAY };

/* Moves frames if nobody else does, and sleeps until there is something to do. */
static void step(struct call *call)
{
    struct nt_box *box = call->box;
    struct nt_run *run = &call->run;
    struct pollfd ready[AT_DOORWAY + NT_DOORWAY_FDS];
    nfds_t count = AT_DOORWAY;
    uint64_t until = nacre_clock_ns() + SLICE_NS;
    struct timespec wait = { 0, 0 };
    bool moved = false;

    ready[AT_WAKE] = (struct pollfd){ .fd = run->wake_fd, .events = POLLIN };
    ready[AT_STREAM] = (struct pollfd){ .fd = -1 };
    ready[AT_INPUT] = (struct pollfd){ .fd = -1, .events = POLLIN };
    ready[AT_DIAL] = (struct pollfd){ .fd = -1, .events = POLLIN };
    ready[AT_WATCH] = (struct pollfd){ .fd = watch_fd(call, &until), .events = POLLIN };
    if (!box->leader)
        box->leader = run;
    if (box->leader == run) {
        nt_wire_flush(box);
        moved = nt_wire_read(box);
        ready[AT_STREAM].fd = box->stream.ops->poll_fd(box->stream.stream);
        ready[AT_STREAM].events = nt_wire_backlog(box) > 0 ? POLLIN | POLLOUT : POLLIN;
    }
    if (wants_input(call))
        ready[AT_INPUT].fd = call->command->request->input_fd;
    if (wants_dials(call))
        ready[AT_DIAL].fd = call->command->request->dial_fd;
    hand_connections_on(call);
    if (uses_doorway(call))
        count += nt_doorway_poll(box, nt_wire_backlog(box) < BACKLOG_MAX,
                                 ready + AT_DOORWAY);
    /* Also after something came: so that others get the lock, and the input its turn. */
    if (!moved && !is_over(call))
        wait = nacre_clock_until(until < call->limit_ns ? until : call->limit_ns);
    unlock(call);
    if (ppoll(ready, count, &wait, NULL) < 0)
        for (nfds_t i = 0; i < count; i++)
            ready[i].revents = 0;
    lock(call);
    drain_pokes(run);
    if (ready[AT_WATCH].revents)
        heed_watch(call);
    if (uses_doorway(call))
        nt_doorway_move(box, ready + AT_DOORWAY);
    if (ready[AT_DIAL].revents && wants_dials(call))
        call->dial_open = nt_doorway_dial(box, call->command->request->dial_fd);
    if (ready[AT_INPUT].revents && wants_input(call))
        pump_input(call);
}

static void attend(struct call *call)
{
    lock(call);
    while (!is_over(call)) {
        look_around(call);
        step(call);
        take_output(call);
    }
    take_output(call);
    end_if_disturbed(call);
    if (uses_doorway(call))
        nt_doorway_end(call->box);
    give_up_lead(call);
    if (!call->run.over) {
        struct nt_run **at = &call->box->runs;

        while (*at != &call->run)
            at = &(*at)->next;
        *at = call->run.next;
    }
    unlock(call);
}

/* ---- its beginning and its end ---- */

static void prepare_result(struct call *call)
{
    struct nacre_result *result = call->result;

    size_t kept_max = call->command->output_bytes_max < NACRE_BUF_LIMIT_MAX
                          ? (size_t)call->command->output_bytes_max
                          : NACRE_BUF_LIMIT_MAX;

    /* What is not kept has no other bound than the command's own. */
    call->output_bytes_max = call->command->request->stream_only
                                 ? call->command->output_bytes_max
                                 : kept_max;
    nacre_buf_clear(&result->output);
    nacre_buf_clear(&result->errors);
    result->output.size_max = kept_max;
    result->errors.size_max = kept_max;
    result->output_cut = false;
    result->reason[0] = '\0';
}

static void prepare(struct call *call)
{
    const struct nt_command *command = call->command;
    uint64_t now = nacre_clock_ns(), wall_ms = command->start.wall_ms_max;
    uint64_t most_ms = (UINT64_MAX - now - GRACE_NS) / NACRE_NS_PER_MS;
    struct stat info;

    prepare_result(call);
    set_limit(call, now + (wall_ms < most_ms ? wall_ms : most_ms) * NACRE_NS_PER_MS);
    call->input_open = nt_command_has_input(command);
    call->dial_open = command->request->dial_fd > 0;
    call->input_may_wait = call->input_open &&
                           fstat(command->request->input_fd, &info) == 0 &&
                           (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode) ||
                            S_ISCHR(info.st_mode));
    call->taken.size_max = NT_PENDING_MAX;
    call->run.pending.size_max = NT_PENDING_MAX;
    call->run.pending_last = NT_NO_CHUNK;
    for (size_t i = 0; i < FRAME_LANES; i++)
        call->run.window[i] = FRAME_WINDOW;
}

static enum nacre_status begin(struct call *call, struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) uint8_t *bytes = NULL;
    struct nt_box *box = call->box;
    size_t count = 0;
    enum nacre_status status = nt_command_pack(call->command, &bytes, &count, err);

    if (status == NACRE_OK)
        status = nacre_random(call->run.id, sizeof(call->run.id), err);
    if (status != NACRE_OK)
        return status;
    lock(call);
    if (call->dial_open && !box->doorway)
        box->doorway = nt_doorway_new(false);
    if (atomic_load(&box->spent)) {
        errno = 0;
        status = nacre_fail(err, NACRE_ERR_IO, "%s", box->why);
    } else if (call->dial_open && !box->doorway) {
        status = nacre_fail(err, NACRE_ERR_MEMORY, "connections into a sandbox");
    } else {
        call->run.next = box->runs;
        box->runs = &call->run;
        if (call->command->connected)
            nt_doorway_begin(box);
        nt_wire_send_message(box, FRAME_START, call->run.id, bytes, count);
    }
    unlock(call);
    explicit_bzero(bytes, count);
    return status;
}

static enum nacre_status finish(struct call *call, struct nacre_error *err)
{
    struct nacre_result *result = call->result;
    const struct nt_run *run = &call->run;
    enum nacre_status status;
    bool spent;

    result->usage.bytes_read = call->input_bytes;
    result->usage.bytes_written = call->output_bytes;
    if (run->over && !run->refused)
        nt_result_usage(&run->exit, result);
    if (run->refused) {
        status = nt_result_refused(run, &call->command->start, &spent, err);
        lock(call);
        if (spent)
            nt_box_break(call->box, "%.300s", err->text);
        unlock(call);
        return status;
    }
    if (call->kill == NT_KILL_FAILED) {
        *err = call->failure;
        return err->status;
    }
    if (call->kill != NT_KILL_NONE) {
        nt_result_killed(call->kill, call->signal, call->reason, result);
        return NACRE_OK;
    }
    if (!run->over) {
        errno = 0;
        return nacre_fail(err, NACRE_ERR_IO, "%s", call->box->why);
    }
    nt_result_exit(&run->exit, result);
    if (call->asked_ns > 0)
        (void)snprintf(result->reason, sizeof(result->reason), CANCELLED);
    return NACRE_OK;
}

enum nacre_status nt_box_run(struct nt_box *box, const struct nt_command *command,
                             struct nacre_result *result, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct call call = { .box = box, .command = command, .result = result };
    int number = cancelled_by(command);
    enum nacre_status status;

    if (wake_fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "can't watch over a command");
    call.run.wake_fd = wake_fd;
    prepare(&call);
    /* While its sandbox was made, which may take minutes: it shall not even begin. */
    if (number != 0) {
        nt_result_killed(NT_KILL_CANCELLED, number, CANCELLED, result);
        return NACRE_OK;
    }
    status = begin(&call, err);
    if (status != NACRE_OK)
        return status;
    attend(&call);
    nacre_buf_clear(&call.taken);
    nacre_buf_clear(&call.run.pending);
    return finish(&call, err);
}
