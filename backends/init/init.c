/*
 * Trusts the owner at the other end of the channel, but not that it reads, lives on or
 * is never wrong: what is no right frame ends the sandbox.  Trusts nothing that guests
 * can reach: they have this process's uid, and may stop or kill whatever is not pid 1.
 */
#include "init.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "children.h"
#include "command.h"
#include "fds.h"
#include "gate.h"
#include "nacre/ancestry.h"
#include "nacre/clock.h"
#include "nacre/own.h"
#include "report.h"
#include "signals.h"

#define KILL_ALL_MS 1000
#define GRACE_MS 1200 /* for a shepherd that was ordered to end its command */
#define SOLE_GRACE_MS 100 /* the same, where all that lives here may be killed */
#define LAST_GRACE_MS 700 /* for a shepherd that was killed to be gone */
#define LEAVE_MS 2000     /* for the last frames to be taken by the owner */

/* A message that came in parts. */
struct message {
    size_t used;
    uint8_t id[FRAME_ID];
    uint8_t bytes[CONFIG_BYTES_MAX];
};
_Static_assert(START_BYTES_MAX <= CONFIG_BYTES_MAX, "both have room");

enum {
    AT_IN,
    AT_OUT,
    AT_SIGNALS,
    AT_REPORT,
    AT_COMMANDS,
    FDS = AT_COMMANDS + CONFIG_COMMANDS_MAX * COMMAND_FDS + GATE_FDS,
};

struct init {
    struct sandbox sandbox;
    struct command commands[CONFIG_COMMANDS_MAX];
    struct frame_reader reader;
    struct message config_message, start_message;
    struct init_room config_room, start_room;
    struct report report;
    struct gate gate;
    nfds_t gate_at; /* in the poll set: behind the commands */
    bool is_configured;
    bool is_used; /* a command was started, or refused */
    int signals;
    uint64_t beat_ns; /* when every command is killed for want of a beat */
    uint64_t leave_ns; /* 0: goes on */
    bool is_cut_off;  /* the owner is gone */
    const char *failure;
    char failure_text[256];
    struct pollfd fds[FDS];
};

static struct init init;
static uint8_t inputs[CONFIG_COMMANDS_MAX][FRAME_WINDOW] __attribute__((aligned(4096)));

/* ---- commands ---- */

/* How many places there are; those beyond lie in memory that is never touched. */
static size_t places(void)
{
    return init.sandbox.config.commands_max;
}

static struct command *find(const uint8_t *id)
{
    for (size_t i = 0; i < places(); i++)
        if (init.commands[i].state != COMMAND_FREE &&
            memcmp(init.commands[i].id, id, FRAME_ID) == 0)
            return &init.commands[i];
    return NULL;
}

static size_t count_commands(void)
{
    size_t count = 0;

    for (size_t i = 0; i < places(); i++)
        count += init.commands[i].state != COMMAND_FREE;
    return count;
}

/* Pid 1 with one command need not be patient: what its shepherd can't end in time, it
 * kills at one stroke. */
static bool may_kill_all(void)
{
    return init.sandbox.place.is_pid1 && count_commands() == 1;
}

static void end_command(struct command *command, enum init_how how, bool by_owner)
{
    command_end(command, how, by_owner, may_kill_all() ? SOLE_GRACE_MS : GRACE_MS);
}

static void end_all(enum init_how how, bool by_owner)
{
    for (size_t i = 0; i < places(); i++)
        if (init.commands[i].state != COMMAND_FREE)
            end_command(&init.commands[i], how, by_owner);
}

static void begin_to_leave(void)
{
    if (init.leave_ns == 0)
        init.leave_ns = nacre_clock_ns() + LEAVE_MS * NACRE_NS_PER_MS;
    end_all(INIT_HOW_KILLED, true);
}

/*
 * Everything but this process.  For pid 1 the kernel does it at one stroke, forks under
 * way included; a subreaper follows its descendants down.  Where there is no child there
 * is nobody, as who has lost its parent becomes one.  False: some resist.
 */
static bool kill_everything(void)
{
    uint64_t until = nacre_clock_ns() + KILL_ALL_MS * NACRE_NS_PER_MS;
    struct pollfd death = { .fd = init.signals, .events = POLLIN };
    struct signalfd_siginfo info;
    int status;
    pid_t pid;

    for (;;) {
        do {
            pid = children_reap(&status);
        } while (pid > 0);
        if (pid < 0)
            return true;
        if (nacre_clock_ns() > until)
            return false;
        if (init.sandbox.place.is_pid1)
            (void)kill(-1, SIGKILL);
        else
            (void)children_kill();
        (void)poll(&death, 1, 2);
        while (read(init.signals, &info, sizeof(info)) > 0)
            ;
    }
}

/* What a lost command has left is nobody's: with no other command at work all of it can
 * be killed; else nobody can tell whose it is, and the sandbox is given up. */
static void clear_lost(struct command *command)
{
    if (count_commands() > 1 || !kill_everything())
        init.failure = "the process that watches over a command was killed or could not "
                       "end all that the command had started";
    else
        command_cleared(command);
}

/* Those of a command whose shepherd is no reaper came to this process. */
static void clear_orphans(struct command *command)
{
    command->has_orphans = false;
    if (!init.sandbox.place.is_pid1 || count_commands() > 1)
        init.failure = "this kernel has no subreapers, and two commands ran at once";
    else if (!kill_everything())
        init.failure = "not all that a command had started could be ended";
}

static void reap(void)
{
    struct signalfd_siginfo info;
    int status;
    pid_t pid;

    while (read(init.signals, &info, sizeof(info)) > 0)
        ;
    while ((pid = children_reap(&status)) > 0) {
        if (pid == init.report.probe) {
            init.report.probe = 0;
            init.report.wait_status = status;
        }
        for (size_t i = 0; i < places(); i++) {
            struct command *command = &init.commands[i];

            if (command->state != COMMAND_ALIVE)
                continue;
            if (command->sole.pid > 0)
                command_sole_reaped(command, pid, status);
            else if (command->shepherd == pid)
                command_reaped(command, &init.sandbox);
        }
    }
    if (init.commands[0].state == COMMAND_ALIVE && init.commands[0].sole.pid > 0)
        command_sole_settle(&init.commands[0], &init.sandbox, pid < 0);
    for (size_t i = 0; i < places() && !init.failure; i++)
        if (init.commands[i].state == COMMAND_LOST)
            clear_lost(&init.commands[i]);
        else if (init.commands[i].state == COMMAND_ENDED && init.commands[i].has_orphans)
            clear_orphans(&init.commands[i]);
}

/* ---- frames of the owner: NULL, or what is wrong ---- */

/* NULL with *ret_whole when that was the last part. */
static const char *add_part(struct message *message, const struct frame *frame,
                            size_t bytes_max, bool *ret_whole)
{
    if (frame->lane > 1)
        return "a message in parts has lanes 0 and 1";
    if (message->used == 0)
        memcpy(message->id, frame->id, FRAME_ID);
    if (memcmp(message->id, frame->id, FRAME_ID) != 0)
        return "the parts of two messages are mixed";
    if (frame->size > bytes_max - message->used)
        return "a message is too long";
    memcpy(message->bytes + message->used, frame->payload, frame->size);
    message->used += frame->size;
    *ret_whole = frame->lane == 1;
    return NULL;
}

static void see_masks(void)
{
    struct stat found;

    for (size_t i = 0; i < init.sandbox.config.mask_count; i++) {
        struct init_mask *mask = &init.config_room.masks[i];

        if (mask->device == 0 && mask->inode == 0 && lstat(mask->path, &found) == 0) {
            mask->device = found.st_dev;
            mask->inode = found.st_ino;
        }
    }
}

static const char *take_config(const struct frame *frame)
{
    struct sandbox *sandbox = &init.sandbox;
    struct init_config *config = &sandbox->config;
    struct unpack unpack = { .bytes = init.config_message.bytes };
    bool is_whole = false;
    const char *wrong = init.is_configured ? "a second configuration"
                                           : add_part(&init.config_message, frame,
                                                      CONFIG_BYTES_MAX, &is_whole);

    if (wrong || !is_whole)
        return wrong;
    unpack.size = init.config_message.used;
    if (!init_config_unpack(&unpack, &init.config_room, config))
        return "the configuration can't be read";
    init.is_configured = true;
    sandbox->walls.landlock_none = config->landlock_none;
    sandbox->walls.yields = config->weighed_apart;
    sandbox->walls.capabilities_kept = config->capabilities_kept;
    sandbox->walls.filter_count =
        (uint16_t)(config->filter_bytes / sizeof(sandbox->walls.filter[0]));
    memcpy(sandbox->walls.filter, config->filter, config->filter_bytes);
    /* Opened before a guest could put another file there. */
    if (config->oom_file[0] != '\0')
        sandbox->oom_fd = open(config->oom_file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (config->forks_file[0] != '\0')
        sandbox->forks_fd = open(config->forks_file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    see_masks();
    wrong = gate_open(&init.gate, config);
    if (wrong) {
        (void)snprintf(init.failure_text, sizeof(init.failure_text),
                       "the sandbox's door can't be opened: %s: %s", wrong,
                       strerrordesc_np(errno));
        return init.failure_text;
    }
    if (!report_ask(&init.report, sandbox))
        return "no process could be made for the report";
    return NULL;
}

static const char *take_start(const struct frame *frame)
{
    struct unpack unpack = { .bytes = init.start_message.bytes };
    size_t others = count_commands();
    struct command *command = NULL;
    struct init_start start;
    bool is_whole = false;
    const char *wrong = init.report.is_sent ? add_part(&init.start_message, frame,
                                                       START_BYTES_MAX, &is_whole)
                                            : "a command before the report";

    /* It may hold secrets, and the shepherd will be a copy of this process. */
    frame_reader_wipe(&init.reader, frame);
    if (wrong || !is_whole)
        return wrong;
    unpack.size = init.start_message.used;
    if (!init_start_unpack(&unpack, &init.start_room, &start))
        return "a command can't be read";
    if (find(frame->id))
        return "a command's id is in use";
    for (size_t i = 0; i < places() && !command; i++)
        if (init.commands[i].state == COMMAND_FREE)
            command = &init.commands[i];
    init.beat_ns = nacre_clock_ns() + init.sandbox.config.beat_ms_max * NACRE_NS_PER_MS;
    if (others >= init.sandbox.config.commands_max || init.leave_ns > 0 ||
        (init.sandbox.config.once && init.is_used)) {
        const uint64_t numbers[] = { INIT_REFUSAL_FULL, EAGAIN };

        outbox_add_text(&init.sandbox.out, FRAME_REFUSED, frame->id, numbers, 2,
                        "too many commands at once");
    } else {
        command->input_bytes = inputs[command - init.commands];
        command_start(command, &init.sandbox, frame->id, &start, others);
    }
    init.is_used = true;
    /* The next command's processes shall not find this one's environment. */
    explicit_bzero(init.start_message.bytes, init.start_message.used);
    init.start_message.used = 0;
    return NULL;
}

/* The command's end may have crossed any of these: then they are for nobody. */
static const char *take_for_command(const struct frame *frame)
{
    struct unpack unpack = { .bytes = frame->payload, .size = frame->size };
    bool has_number = frame->type == FRAME_SIGNAL || frame->type == FRAME_CREDIT;
    uint64_t number = has_number ? unpack_u64(&unpack) : 0;
    bool is_lane_right = frame->type == FRAME_CREDIT ? frame->lane > 0 : frame->lane == 0;
    struct command *command = find(frame->id);

    if (!is_lane_right || (frame->type != FRAME_DATA && !unpack_whole(&unpack)) ||
        (frame->type == FRAME_SIGNAL && (number < 1 || number > (uint64_t)SIGRTMAX)))
        return "a frame for a command has the wrong lane or size";
    if (!command)
        return gate_take(&init.gate, frame, number);
    if (frame->type == FRAME_CLOSE)
        return "a command is not closed";
    if (frame->type == FRAME_SIGNAL)
        command_signal(command, (int)number);
    else if (frame->type == FRAME_KILL)
        end_command(command, INIT_HOW_KILLED, true);
    else if (frame->type == FRAME_END)
        command_input_end(command);
    else if (frame->type == FRAME_DATA &&
             !command_input(command, frame->payload, frame->size))
        return "more input than there was credit for";
    else if (frame->type == FRAME_CREDIT && !command_credit(command, frame->lane, number))
        return "more credit than there are numbers";
    return NULL;
}

static const char *take_dial(const struct frame *frame)
{
    if (!init.report.is_sent)
        return "a connection before the report";
    return find(frame->id) ? "a command's id is in use" : gate_dial(&init.gate, frame);
}

static const char *take_frame(const struct frame *frame)
{
    static const uint8_t none[FRAME_ID];
    bool is_for_all = frame->type == FRAME_CONFIG || frame->type == FRAME_BEAT ||
                      frame->type == FRAME_SHUTDOWN;

    if (is_for_all != (memcmp(frame->id, none, FRAME_ID) == 0))
        return "a frame has the wrong id";
    switch (frame->type) {
    case FRAME_CONFIG:
        return take_config(frame);
    case FRAME_START:
        return take_start(frame);
    case FRAME_DIAL:
        return take_dial(frame);
    case FRAME_SIGNAL:
    case FRAME_KILL:
    case FRAME_DATA:
    case FRAME_END:
    case FRAME_CREDIT:
    case FRAME_CLOSE:
        return take_for_command(frame);
    case FRAME_BEAT:
        init.beat_ns =
            nacre_clock_ns() + init.sandbox.config.beat_ms_max * NACRE_NS_PER_MS;
        return NULL;
    case FRAME_SHUTDOWN:
        begin_to_leave();
        return NULL;
    default:
        return "a frame of a type that only init sends";
    }
}

static void take_frames(void)
{
    struct frame frame;
    int found = 0;

    while (!init.failure && outbox_may_answer(&init.sandbox.out)) {
        found = frame_reader_next(&init.reader, &frame);
        if (found <= 0)
            break;
        init.failure = take_frame(&frame);
    }
    if (found < 0)
        init.failure = "what came through the channel is no frame";
}

static void read_channel(void)
{
    size_t room;
    uint8_t *at = frame_reader_room(&init.reader, &room);
    ssize_t count = room > 0 ? read(0, at, room) : 0;

    if (room == 0)
        return;
    if (count > 0)
        frame_reader_filled(&init.reader, (size_t)count);
    else if (count == 0 || errno != EAGAIN)
        init.is_cut_off = true;
}

/* ---- time ---- */

/* Ends what has run out of time; returns when the next will, at most. */
static uint64_t keep_time(uint64_t now)
{
    uint64_t next = init.leave_ns > 0 ? init.leave_ns : UINT64_MAX;

    for (size_t i = 0; i < places(); i++) {
        struct command *command = &init.commands[i];
        uint64_t due;

        if (command->state != COMMAND_ALIVE)
            continue;
        if (command->wall_ns > 0 && now >= command->wall_ns)
            end_command(command, INIT_HOW_TIMED_OUT, false);
        if (command->wall_ns > 0 && now >= init.beat_ns)
            end_command(command, INIT_HOW_KILLED, false);
        if (command->wall_ns == 0 && now >= command->grace_ns) {
            if (command->shepherd_killed)
                init.failure = "a command could not be ended";
            command->shepherd_killed = true;
            command->grace_ns = now + LAST_GRACE_MS * NACRE_NS_PER_MS;
            (void)kill(may_kill_all() ? -1 : command->shepherd, SIGKILL);
        }
        due = command->wall_ns == 0           ? command->grace_ns
              : init.beat_ns < command->wall_ns ? init.beat_ns
                                                : command->wall_ns;
        if (due < next)
            next = due;
    }
    return next;
}

static void wait_for_something(uint64_t until)
{
    struct outbox *out = &init.sandbox.out;
    bool is_held = out->held_ns > 0;
    nfds_t count = AT_COMMANDS;
    struct timespec left;

    if (is_held && out->held_ns < until)
        until = out->held_ns;

    init.fds[AT_IN] = (struct pollfd){ .fd = outbox_may_answer(out) ? 0 : -1,
                                       .events = POLLIN };
    init.fds[AT_OUT] = (struct pollfd){ .fd = is_held || outbox_is_empty(out) ? -1 : 1,
                                        .events = POLLOUT };
    init.fds[AT_SIGNALS] = (struct pollfd){ .fd = init.signals, .events = POLLIN };
    init.fds[AT_REPORT] = (struct pollfd){
        .fd = outbox_takes_data(out) ? init.report.fd : -1, .events = POLLIN
    };
    for (nfds_t i = 0; i < places(); i++) {
        command_poll(&init.commands[i], &init.sandbox,
                     &init.fds[AT_COMMANDS + i * COMMAND_FDS]);
        if (init.commands[i].state != COMMAND_FREE)
            count = AT_COMMANDS + (i + 1) * COMMAND_FDS;
    }
    init.gate_at = count;
    count += gate_poll(&init.gate, out, &init.fds[count]);
    if (until < UINT64_MAX)
        left = nacre_clock_until(until);
    if (ppoll(init.fds, count, until < UINT64_MAX ? &left : NULL, NULL) < 0)
        memset(init.fds, 0, sizeof(init.fds));
}

static void move_everything(void)
{
    if (init.fds[AT_SIGNALS].revents)
        reap();
    if (init.fds[AT_IN].revents)
        read_channel();
    if (!init.is_cut_off)
        take_frames();
    for (size_t i = 0; i < places(); i++)
        command_move(&init.commands[i], &init.sandbox,
                     &init.fds[AT_COMMANDS + i * COMMAND_FDS]);
    gate_move(&init.gate, &init.sandbox.out, &init.fds[init.gate_at]);
    if (init.report.is_asked && !init.failure)
        init.failure = report_move(&init.report, &init.sandbox);
    if (nacre_clock_ns() >= init.sandbox.out.held_ns &&
        !outbox_flush(&init.sandbox.out, 1))
        init.is_cut_off = true;
}

/* ---- beginning and end ---- */

/* NULL, or what failed, with errno. */
static const char *begin(const struct init_place *place)
{
    int kept[] = { 0, 1, 2, place->landlock_fd, place->names_fd };

    /* kill(-1) from any other process would be the end of the machine. */
    assert(!place->is_pid1 || getpid() == 1);
    init.sandbox.place = *place;
    init.sandbox.oom_fd = init.sandbox.forks_fd = -1;
    init.sandbox.walls.none = !place->walls;
    init.sandbox.walls.held = place->held;
    init.sandbox.walls.landlock_fd = place->landlock_fd;
    init.report.fd = -1;
    gate_init(&init.gate, place->names_fd);
    init.signals = -1;
    frame_reader_init(&init.reader);

    (void)prctl(PR_SET_NAME, NACRE_INIT_NAME);
    (void)setsid();
    (void)umask(022);
    fds_keep(kept, NACRE_COUNT(kept));
    /* So that no fd of ours is ever 2, which a failed assertion writes to. */
    if (fcntl(2, F_GETFD) < 0 && open("/dev/null", O_WRONLY) < 0 && dup(0) < 0)
        return "fds";
    /* Whatever the one before us had: commands start with the defaults.  The launcher has
     * seen to it for all that it makes. */
    if (!place->held)
        signals_reset();
    init.signals = signals_take();
    if (init.signals < 0 || chdir("/") < 0)
        return "signals";
    if (!fd_nonblocking(0) || !fd_nonblocking(1))
        return "the channel";
    if (place->landlock_fd >= 0 && fcntl(place->landlock_fd, F_SETFD, FD_CLOEXEC) < 0)
        return "Landlock";
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        (!place->is_pid1 && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0))
        return "no_new_privs";
    return place->held || place->setup || !place->walls || walls_filter(place->browser)
               ? NULL
               : "seccomp";
}

/* As much of the last frames as the owner takes in time. */
static void flush_last(uint64_t until)
{
    struct pollfd out = { .fd = 1, .events = POLLOUT };

    while (outbox_flush(&init.sandbox.out, 1) && !outbox_is_empty(&init.sandbox.out) &&
           nacre_clock_ns() < until)
        (void)poll(&out, 1, 20);
}

int init_main(const struct init_place *place)
{
    const char *failed = begin(place);
    char text[128];

    if (failed) {
        (void)snprintf(text, sizeof(text), "init could not begin: %s: %s", failed,
                       strerrordesc_np(errno));
        init.failure = text;
    }
    while (!init.failure && !init.is_cut_off) {
        uint64_t until = keep_time(nacre_clock_ns());

        if (init.leave_ns > 0 &&
            (count_commands() == 0 || nacre_clock_ns() >= init.leave_ns))
            break;
        if (init.sandbox.config.once && init.is_used && count_commands() == 0 &&
            outbox_is_empty(&init.sandbox.out))
            break;
        wait_for_something(until);
        move_everything();
    }
    if (!kill_everything() && !init.failure)
        init.failure = "not everything in the sandbox could be killed";
    if (init.failure)
        outbox_add_text(&init.sandbox.out, FRAME_FAILED, NULL, NULL, 0, init.failure);
    if (!init.is_cut_off)
        flush_last(nacre_clock_ns() + LEAVE_MS * NACRE_NS_PER_MS);
    return init.failure ? 1 : 0;
}
