#include "init_owner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "init_image.h"
#include "nacre/clock.h"
#include "nacre/own.h"

#define PATIENCE_MS 20000
#define NOBODY 65534

extern char **environ;

/* ---- making it ---- */

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, text, strlen(text)) < 0) {
        dprintf(2, "%s: %m\n", path);
        _exit(99);
    }
    (void)close(fd);
}

static _Noreturn void execute(int image, int channel, const char *argument)
{
    char *arguments[] = { (char *)(uintptr_t) "nacre-init",
                          (char *)(uintptr_t)argument, NULL };

    if (dup2(channel, 0) == 0 && dup2(channel, 1) == 1)
        (void)fexecve(image, arguments, environ);
    dprintf(2, "nacre-init: %m\n");
    _exit(99);
}

static int pid1_main(int image, int channel, unsigned uid, unsigned gid)
{
    char map[64];

    write_file("/proc/self/setgroups", "deny");
    (void)snprintf(map, sizeof(map), "1000 %u 1", uid);
    write_file("/proc/self/uid_map", map);
    (void)snprintf(map, sizeof(map), "1000 %u 1", gid);
    write_file("/proc/self/gid_map", map);
    if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0) {
        dprintf(2, "mount /proc: %m\n");
        _exit(99);
    }
    execute(image, channel, NULL);
}

/* A user whose processes are counted: RLIMIT_NPROC does not hold for root. */
static _Noreturn void be_parent_of_pid1(int image, int channel)
{
    int status = 0;
    pid_t pid;
    unsigned uid, gid;

    if (getuid() == 0 && (setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
                          setresuid(NOBODY, NOBODY, NOBODY) < 0))
        _exit(99);
    (void)prctl(PR_SET_DUMPABLE, 1);
    uid = getuid();
    gid = getgid();
    pid = (pid_t)syscall(SYS_clone,
                         CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, NULL, NULL,
                         NULL, NULL);
    if (pid == 0)
        pid1_main(image, channel, uid, gid);
    if (pid < 0)
        dprintf(2, "clone: %m\n");
    (void)close(channel);
    (void)waitpid(pid, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static pid_t only_child_of(pid_t parent)
{
    char path[64], text[64] = "";
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", parent, parent);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!read(fd, text, sizeof(text) - 1);
        (void)close(fd);
    }
    return (pid_t)atoi(text);
}

struct owner *owner_open(enum owner_place place)
{
    struct owner *owner = calloc(1, sizeof(*owner));
    struct nacre_error err;
    int image = -1, sockets[2];

    assert_non_null(owner);
    if (nacre_init_fd(&image, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    owner->pid = fork();
    if (owner->pid == 0) {
        /* The owner's end among them: init would never see it closed. */
        if (dup2(image, 3) < 0 || dup2(sockets[1], 4) < 0 || close_range(5, ~0u, 0) < 0)
            _exit(99);
        if (place == OWNER_PID1)
            be_parent_of_pid1(3, 4);
        execute(3, 4, place == OWNER_NONE    ? "none"
                      : place == OWNER_SETUP ? "setup"
                                             : NULL);
    }
    assert_true(owner->pid > 0);
    (void)close(image);
    (void)close(sockets[1]);
    owner->fd = sockets[0];
    (void)fcntl(owner->fd, F_SETFL, O_NONBLOCK);
    frame_reader_init(&owner->reader);
    owner->init_pid = owner->pid;
    for (int i = 0; place == OWNER_PID1 && i < 1000; i++) {
        owner->init_pid = only_child_of(owner->pid);
        if (owner->init_pid > 0)
            break;
        (void)usleep(1000);
    }
    owner->report = malloc(REPORT_BYTES_MAX);
    assert_non_null(owner->report);
    return owner;
}

struct owner *owner_ready(enum owner_place place)
{
    struct owner *owner = owner_open(place);
    struct init_config config = owner_config_plain();

    owner_configure(owner, &config);
    if (!owner->is_reported)
        fail_msg("no report: %s", owner->failure);
    return owner;
}

int owner_wait(struct owner *owner)
{
    uint64_t until = nacre_clock_ns() + PATIENCE_MS * NACRE_NS_PER_MS;
    int status = -1;

    while (nacre_clock_ns() < until) {
        if (waitpid(owner->pid, &status, WNOHANG) == owner->pid) {
            owner->pid = 0;
            return status;
        }
        (void)usleep(1000);
    }
    (void)kill(owner->pid, SIGKILL);
    fail_msg("init is still there");
    return -1;
}

int owner_close(struct owner *owner)
{
    int status;

    (void)close(owner->fd);
    status = owner->pid > 0 ? owner_wait(owner) : 0;
    free(owner->report);
    free(owner);
    return status;
}

/* ---- speaking ---- */

struct init_config owner_config_plain(void)
{
    return (struct init_config){ .beat_ms_max = 60000,
                                 .commands_max = CONFIG_COMMANDS_MAX,
                                 .landlock_none = true,
                                 .oom_file = "" };
}

struct init_start owner_shell(const char *script)
{
    static const char *const environment[] = { "PATH=/usr/bin:/bin", NULL };
    static const char *arguments[4][4]; /* so many may be in use at once */
    static size_t next;
    const char **own = arguments[next++ % NACRE_COUNT(arguments)];

    own[0] = "/bin/sh";
    own[1] = "-c";
    own[2] = script;
    return (struct init_start){ .arguments = own, .environment = environment,
                                .directory = "/", .wall_ms_max = 60000 };
}

/* What comes meanwhile is taken in: neither side may wait for the other to read.  What
 * is said on that occasion follows behind. */
void owner_send_raw(struct owner *owner, const void *bytes, size_t count)
{
    assert_true(count <= sizeof(owner->out) - owner->out_used);
    if (count > 0)
        memcpy(owner->out + owner->out_used, bytes, count);
    owner->out_used += count;
    if (owner->is_sending)
        return;
    owner->is_sending = true;
    for (size_t done = 0; done < owner->out_used;) {
        ssize_t sent = send(owner->fd, owner->out + done, owner->out_used - done,
                            MSG_NOSIGNAL);

        if (sent < 0 && errno == EAGAIN) {
            struct pollfd poll_fd = { .fd = owner->fd, .events = POLLOUT | POLLIN };

            if (poll(&poll_fd, 1, PATIENCE_MS) == 0)
                fail_msg("init does not read");
            if (poll_fd.revents & POLLIN)
                (void)owner_pump(owner, 0);
            continue;
        }
        if (sent < 0)
            break; /* the test judges by what it gets */
        done += (size_t)sent;
    }
    owner->out_used = 0;
    owner->is_sending = false;
}

static void send_frame(struct owner *owner, enum frame_type type, uint8_t lane,
                       size_t number, const void *payload, size_t size)
{
    struct frame frame = { .type = (uint8_t)type, .lane = lane, .size = (uint32_t)size };
    uint8_t bytes[FRAME_HEADER + FRAME_PAYLOAD_MAX];

    if (number > 0)
        memset(frame.id, 0x5a, FRAME_ID);
    frame.id[0] = (uint8_t)number;
    frame_header(bytes, &frame);
    if (size > 0)
        memcpy(bytes + FRAME_HEADER, payload, size);
    owner_send_raw(owner, bytes, FRAME_HEADER + size);
}

void owner_send(struct owner *owner, enum frame_type type, uint8_t lane, size_t number,
                const void *payload, size_t size)
{
    const uint8_t *at = payload;

    if (type != FRAME_CONFIG && type != FRAME_START) {
        send_frame(owner, type, lane, number, payload, size);
        return;
    }
    for (; size > FRAME_PAYLOAD_MAX; at += FRAME_PAYLOAD_MAX, size -= FRAME_PAYLOAD_MAX)
        send_frame(owner, type, 0, number, at, FRAME_PAYLOAD_MAX);
    send_frame(owner, type, 1, number, at, size);
}

void owner_send_number(struct owner *owner, enum frame_type type, uint8_t lane,
                       size_t number, uint64_t value)
{
    uint8_t bytes[8];
    struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };

    pack_u64(&pack, value);
    send_frame(owner, type, lane, number, bytes, pack.used);
}

void owner_configure(struct owner *owner, const struct init_config *config)
{
    uint64_t until = nacre_clock_ns() + PATIENCE_MS * NACRE_NS_PER_MS;
    NACRE_AUTO(nacre_heap_guard) uint8_t *bytes = malloc(CONFIG_BYTES_MAX);
    struct pack pack = { .bytes = bytes, .size = CONFIG_BYTES_MAX };

    assert_true(init_config_pack(&pack, config));
    owner_send(owner, FRAME_CONFIG, 0, 0, bytes, pack.used);
    while (!owner->is_reported && !owner->is_at_end && nacre_clock_ns() < until)
        (void)owner_pump(owner, 100);
}

void owner_start(struct owner *owner, size_t number, const struct init_start *start)
{
    NACRE_AUTO(nacre_heap_guard) uint8_t *bytes = malloc(START_BYTES_MAX);
    struct pack pack = { .bytes = bytes, .size = START_BYTES_MAX };

    assert_true(number > 0 && number < OWNER_COMMANDS);
    owner->commands[number] = (struct owned){ .is_used = true,
                                              .input_credit = FRAME_WINDOW };
    assert_true(init_start_pack(&pack, start));
    owner_send(owner, FRAME_START, 0, number, bytes, pack.used);
}

/* ---- hearing ---- */

static void take_text(struct unpack *unpack, char *ret_text)
{
    const char *text = unpack_text(unpack);

    assert_true(unpack_whole(unpack));
    assert_true(strlen(text) < 4097);
    (void)snprintf(ret_text, 4097, "%s", text);
}

static void take_data(struct owner *owner, struct owned *command, size_t number,
                      const struct frame *frame)
{
    size_t which = frame->lane - 1u;
    size_t kept = command->count[which] < OWNER_OUTPUT
                      ? OWNER_OUTPUT - (size_t)command->count[which]
                      : 0;

    assert_true(frame->lane >= 1 && frame->lane <= 2 && !command->lane_ended[which]);
    if (kept > frame->size)
        kept = frame->size;
    memcpy(command->output[which] + (OWNER_OUTPUT < command->count[which]
                                         ? OWNER_OUTPUT
                                         : command->count[which]),
           frame->payload, kept);
    command->count[which] += frame->size;
    if (command->keep_credit)
        assert_true(command->count[which] <= FRAME_WINDOW);
    else
        owner_send_number(owner, FRAME_CREDIT, frame->lane, number, frame->size);
}

static void take_frame(struct owner *owner, const struct frame *frame)
{
    struct owned *command = &owner->commands[frame->id[0]];
    struct unpack unpack = { .bytes = frame->payload, .size = frame->size };
    bool is_for_all = frame->type == FRAME_REPORT || frame->type == FRAME_FAILED;

    assert_true(frame->id[0] < OWNER_COMMANDS);
    assert_true(is_for_all || (command->is_used && !command->is_ended));
    if (frame->type == FRAME_REPORT) {
        assert_true(!owner->is_reported &&
                    owner->report_used + frame->size <= REPORT_BYTES_MAX);
        memcpy(owner->report + owner->report_used, frame->payload, frame->size);
        owner->report_used += frame->size;
        owner->is_reported = frame->lane == 1;
    } else if (frame->type == FRAME_FAILED) {
        owner->has_failed = true;
        take_text(&unpack, owner->failure);
    } else if (frame->type == FRAME_STARTED) {
        assert_false(command->is_started);
        command->is_started = true;
    } else if (frame->type == FRAME_REFUSED) {
        assert_false(command->is_started);
        command->refusal = unpack_u64(&unpack);
        command->error = unpack_u64(&unpack);
        take_text(&unpack, command->text);
        command->is_refused = command->is_ended = true;
    } else if (frame->type == FRAME_EXIT) {
        assert_true(command->is_started && command->lane_ended[0] &&
                    command->lane_ended[1]);
        assert_true(init_exit_unpack(&unpack, &command->exit));
        command->is_ended = true;
    } else if (frame->type == FRAME_DATA) {
        take_data(owner, command, frame->id[0], frame);
    } else if (frame->type == FRAME_END) {
        assert_true(frame->lane >= 1 && !command->lane_ended[frame->lane - 1]);
        command->lane_ended[frame->lane - 1] = true;
    } else {
        assert_int_equal(frame->type, FRAME_CREDIT);
        command->input_credit += unpack_u64(&unpack);
        assert_true(command->input_credit <= FRAME_WINDOW);
    }
}

bool owner_pump(struct owner *owner, int wait_ms)
{
    struct pollfd poll_fd = { .fd = owner->fd, .events = POLLIN };
    struct frame frame;
    size_t space;
    uint8_t *at = frame_reader_room(&owner->reader, &space);
    ssize_t count;
    int found;

    if (poll(&poll_fd, 1, wait_ms) <= 0)
        return false;
    count = read(owner->fd, at, space);
    if (count < 0 && errno == EAGAIN)
        return false;
    if (count <= 0) {
        owner->is_at_end = true;
        return false;
    }
    frame_reader_filled(&owner->reader, (size_t)count);
    while ((found = frame_reader_next(&owner->reader, &frame)) == 1)
        if (!owner->carried || !owner->carried(owner, &frame))
            take_frame(owner, &frame);
    assert_int_equal(found, 0);
    return true;
}

struct owned *owner_finish(struct owner *owner, size_t number)
{
    uint64_t until = nacre_clock_ns() + PATIENCE_MS * NACRE_NS_PER_MS;
    struct owned *command = &owner->commands[number];

    while (!command->is_ended && !owner->is_at_end) {
        (void)owner_pump(owner, 200);
        if (nacre_clock_ns() > until)
            fail_msg("command %zu does not end; it said %s", number, command->output[0]);
    }
    return command;
}

struct owned *owner_run(struct owner *owner, size_t number,
                        const struct init_start *start)
{
    owner_start(owner, number, start);
    return owner_finish(owner, number);
}

void owner_assert_exit(const struct owned *command, enum init_how how, unsigned status)
{
    if (!command->is_ended || command->is_refused || command->exit.how != how ||
        command->exit.status != status)
        fail_msg("ended %d, refused %d (%s), how %u, status %u, said %s%s",
                 command->is_ended, command->is_refused, command->text,
                 (unsigned)command->exit.how, (unsigned)command->exit.status,
                 command->output[0], command->output[1]);
}

void owner_await(struct owner *owner, size_t number, const char *text)
{
    uint64_t until = nacre_clock_ns() + PATIENCE_MS * NACRE_NS_PER_MS;
    struct owned *command = &owner->commands[number];

    while (!strstr(command->output[0], text)) {
        (void)owner_pump(owner, 200);
        if (owner->is_at_end || command->is_ended || nacre_clock_ns() > until)
            fail_msg("command %zu does not say %s but %s%s", number, text,
                     command->output[0], command->output[1]);
    }
}

char *owner_answer(const struct owner *owner, const char *question, size_t *ret_count)
{
    struct unpack unpack = { .bytes = owner->report, .size = owner->report_used };
    struct init_answer answer;

    while (init_answer_unpack(&unpack, &answer))
        if (strcmp(answer.question, question) == 0) {
            char *copy = malloc(answer.count + 1);

            assert_non_null(copy);
            memcpy(copy, answer.text, answer.count);
            copy[answer.count] = '\0';
            if (ret_count)
                *ret_count = answer.count;
            return copy;
        }
    fail_msg("%s was not answered", question);
    return NULL;
}
