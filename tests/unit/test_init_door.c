/*
 * The real nacre-init at the doorway of a sandbox: what it listens to, carries and answers,
 * and the files that it writes for commands.  In a network and a mount namespace of the
 * test's own.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "doorway.h"
#include "init_owner.h"
#include "nacre/clock.h"
#include "nacre/own.h"

/* ---- the namespaces ---- */

static bool raise_loopback(bool up)
{
    NACRE_AUTO(nacre_fd_guard) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = { .ifr_name = "lo",
                             .ifr_flags = (short)(up ? IFF_UP | IFF_RUNNING : 0) };

    return fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &request) == 0;
}

static bool write_file(const char *path, const char *text)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* Root alone: an ordinary user's test of the same is that of level process. */
static bool has_world(void)
{
    static int has = -1;

    if (has < 0)
        has = geteuid() == 0 && unshare(CLONE_NEWNET | CLONE_NEWNS) == 0 &&
              raise_loopback(true) &&
              write_file("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0") &&
              mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
              mount("tmpfs", "/run", "tmpfs", 0, NULL) == 0 &&
              mkdir(START_FILES_DIR, 0777) == 0 && chmod(START_FILES_DIR, 0777) == 0 &&
              mkdir(START_CERTIFICATES_DIR, 0777) == 0 &&
              chmod(START_CERTIFICATES_DIR, 0777) == 0;
    return has;
}

#define NEEDS_WORLD()     \
    do {                  \
        (void)state;      \
        if (!has_world()) \
            skip();       \
    } while (0)

/* ---- an owner that carries on ---- */

#define CARRIED_MAX (DOORWAY_CONNECTIONS_MAX + 100)
#define CARRIED_BYTES ((size_t)2 << 20)

static struct carried {
    uint8_t id[FRAME_ID];
    uint64_t kind;
    bool is_open, ended, is_closed;
    uint64_t heard, window;
    uint8_t *bytes; /* to be said again */
    size_t start, used;
} carried[CARRIED_MAX];
static size_t carried_count;
static bool echoes;

static void send_to(struct owner *owner, const struct carried *to, enum frame_type type,
                    uint8_t lane, const void *payload, size_t size)
{
    struct frame frame = { .type = (uint8_t)type, .lane = lane, .size = (uint32_t)size };
    uint8_t bytes[FRAME_HEADER + FRAME_PAYLOAD_MAX];

    memcpy(frame.id, to->id, FRAME_ID);
    frame_header(bytes, &frame);
    if (size > 0)
        memcpy(bytes + FRAME_HEADER, payload, size);
    owner_send_raw(owner, bytes, FRAME_HEADER + size);
}

static void send_number(struct owner *owner, const struct carried *to,
                        enum frame_type type, uint8_t lane, uint64_t number)
{
    uint8_t bytes[8];
    struct pack pack = { .bytes = bytes, .size = sizeof(bytes) };

    pack_u64(&pack, number);
    send_to(owner, to, type, lane, bytes, pack.used);
}

static void say_again(struct owner *owner, struct carried *one)
{
    while (one->used > one->start && one->window > 0) {
        size_t part = one->used - one->start;

        if (part > one->window)
            part = (size_t)one->window;
        if (part > FRAME_PAYLOAD_MAX)
            part = FRAME_PAYLOAD_MAX;
        send_to(owner, one, FRAME_DATA, 0, one->bytes + one->start, part);
        one->start += part;
        one->window -= part;
    }
    if (one->ended && one->start == one->used)
        send_to(owner, one, FRAME_END, 0, NULL, 0);
}

static void hear(struct owner *owner, struct carried *one, const struct frame *frame)
{
    struct unpack unpack = { .bytes = frame->payload, .size = frame->size };

    assert_true(one->is_open && !one->is_closed);
    if (frame->type == FRAME_CLOSE) {
        one->is_closed = true;
    } else if (frame->type == FRAME_CREDIT) {
        assert_int_equal(frame->lane, 0);
        one->window += unpack_u64(&unpack);
        assert_true(!echoes || one->window <= DOORWAY_WINDOW);
    } else if (frame->type == FRAME_END) {
        assert_true(frame->lane == 1 && !one->ended);
        one->ended = true;
    } else {
        assert_true(frame->type == FRAME_DATA && frame->lane == 1 && !one->ended);
        one->heard += frame->size;
        if (!echoes)
            return;
        assert_true(frame->size <= CARRIED_BYTES - one->used);
        memcpy(one->bytes + one->used, frame->payload, frame->size);
        one->used += frame->size;
        send_number(owner, one, FRAME_CREDIT, 1, frame->size);
    }
    if (echoes && !one->is_closed)
        say_again(owner, one);
}

static bool carry(struct owner *owner, const struct frame *frame)
{
    struct unpack unpack = { .bytes = frame->payload, .size = frame->size };

    for (size_t i = 0; i < carried_count; i++)
        if (memcmp(carried[i].id, frame->id, FRAME_ID) == 0) {
            hear(owner, &carried[i], frame);
            return true;
        }
    if (frame->type != FRAME_OPEN)
        return false;
    assert_true(carried_count < CARRIED_MAX);
    carried[carried_count] = (struct carried){ .is_open = true, .window = DOORWAY_WINDOW,
                                               .kind = unpack_u64(&unpack) };
    if (echoes)
        carried[carried_count].bytes = malloc(CARRIED_BYTES);
    memcpy(carried[carried_count++].id, frame->id, FRAME_ID);
    return true;
}

static struct init_config config_open(void)
{
    static const char *const names[] = { "a.test", "*.b.test", NULL };
    struct init_config config = owner_config_plain();

    config.carries = true;
    config.names = names;
    config.name_count = 2;
    return config;
}

static struct owner *open_door(enum owner_place place)
{
    const struct init_config config = config_open();
    struct owner *owner = owner_open(place);

    carried_count = 0;
    echoes = true;
    owner->carried = carry;
    owner_configure(owner, &config);
    if (!owner->is_reported)
        fail_msg("%s", owner->failure);
    return owner;
}

static void close_door(struct owner *owner)
{
    for (size_t i = 0; i < carried_count; i++)
        free(carried[i].bytes);
    (void)owner_close(owner);
}

static void pump_until(struct owner *owner, const bool *what)
{
    uint64_t until = nacre_clock_ns() + 10 * NACRE_NS_PER_S;

    while (!*what && !owner->is_at_end && nacre_clock_ns() < until)
        (void)owner_pump(owner, 50);
    assert_true(*what);
}

/* ---- what it carries ---- */

#define PYTHON(text) "exec python3 -c '" text "'"

static void what_a_guest_says_goes_out_and_the_answer_comes_in(void **state)
{
    static const char script[] = PYTHON(
        "import socket\n"
        "for a in ((\"127.0.0.1\",3128),(\"127.0.1.1\",80),(\"127.0.1.1\",443)):\n"
        "  s=socket.create_connection(a)\n"
        "  s.sendall(b\"word\"); s.shutdown(1)\n"
        "  d=b\"\"\n"
        "  while True:\n"
        "    p=s.recv(99)\n"
        "    if not p: break\n"
        "    d+=p\n"
        "  print(d.decode())\n");

    NEEDS_WORLD();
    OWNER_BOTH(place) {
        struct owner *owner = open_door(place);
        struct init_start start = owner_shell(script);
        struct owned *command = owner_run(owner, 1, &start);

        owner_assert_exit(command, INIT_HOW_EXITED, 0);
        assert_string_equal(command->output[0], "word\nword\nword\n");
        assert_int_equal(carried_count, 3);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(carried[i].kind, DOORWAY_PROXY + i);
            pump_until(owner, &carried[i].is_closed);
        }
        close_door(owner);
    }
}

static void a_mebibyte_arrives_whole_both_ways(void **state)
{
    static const char script[] = PYTHON(
        "import socket,threading,os\n"
        "s=socket.create_connection((\"127.0.0.1\",3128))\n"
        "w=os.urandom(1<<20)\n"
        "t=threading.Thread(target=lambda: (s.sendall(w), s.shutdown(1))); t.start()\n"
        "d=b\"\"\n"
        "while True:\n"
        "  p=s.recv(65536)\n"
        "  if not p: break\n"
        "  d+=p\n"
        "print(d==w)\n");
    struct owner *owner;
    struct init_start start = owner_shell(script);
    struct owned *command;

    NEEDS_WORLD();
    owner = open_door(OWNER_CHILD);
    command = owner_run(owner, 1, &start);
    owner_assert_exit(command, INIT_HOW_EXITED, 0);
    assert_string_equal(command->output[0], "True\n");
    close_door(owner);
}

/* A guest that connects and neither reads nor leaves; so many times. */
static struct owner *connected(unsigned count)
{
    static char script[256];
    struct owner *owner = open_door(OWNER_CHILD);
    struct init_start start;

    (void)snprintf(script, sizeof(script),
                   PYTHON("import socket,time\n"
                          "l=[socket.create_connection((\"127.0.0.1\",3128)) for i in "
                          "range(%u)]\n"
                          "print(\"there\",flush=True)\n"
                          "time.sleep(60)\n"),
                   count);
    start = owner_shell(script);
    echoes = false;
    owner_start(owner, 1, &start);
    owner_await(owner, 1, "there");
    if (count > DOORWAY_CONNECTIONS_MAX)
        count = DOORWAY_CONNECTIONS_MAX;
    for (int i = 0; i < 100 && carried_count < count; i++)
        (void)owner_pump(owner, 50);
    return owner;
}

static void there_are_so_many_at_once_and_others_wait(void **state)
{
    struct owner *owner;

    NEEDS_WORLD();
    owner = connected(DOORWAY_CONNECTIONS_MAX + 44);
    assert_int_equal(carried_count, DOORWAY_CONNECTIONS_MAX);
    (void)owner_pump(owner, 300);
    assert_int_equal(carried_count, DOORWAY_CONNECTIONS_MAX);
    send_to(owner, &carried[7], FRAME_CLOSE, 0, NULL, 0);
    pump_until(owner, &carried[7].is_closed);
    pump_until(owner, &carried[DOORWAY_CONNECTIONS_MAX].is_open);
    assert_int_equal(carried_count, DOORWAY_CONNECTIONS_MAX + 1);
    /* What crosses the end of one is for nobody. */
    send_to(owner, &carried[7], FRAME_DATA, 0, "late", 4);
    send_to(owner, &carried[7], FRAME_CLOSE, 0, NULL, 0);
    (void)owner_pump(owner, 200);
    assert_false(owner->has_failed);
    close_door(owner);
}

/* ---- an owner that is wrong ---- */

static void assert_fails(struct owner *owner, const char *text)
{
    uint64_t until = nacre_clock_ns() + 10 * NACRE_NS_PER_S;

    while (!owner->is_at_end && nacre_clock_ns() < until)
        (void)owner_pump(owner, 50);
    assert_true(owner->has_failed);
    if (!strstr(owner->failure, text))
        fail_msg("%s, expected %s", owner->failure, text);
}

static void more_than_was_given_credit_for_ends_the_sandbox(void **state)
{
    static uint8_t bytes[FRAME_PAYLOAD_MAX];
    struct owner *owner;

    NEEDS_WORLD();
    owner = connected(1);
    /* The sockets take a few megabytes, and credit comes for those. */
    for (int i = 0; i < 1000 && !owner->has_failed; i++)
        send_to(owner, &carried[0], FRAME_DATA, 0, bytes, sizeof(bytes));
    assert_fails(owner, "more for a connection than there was credit for");
    close_door(owner);
    owner = connected(1);
    send_number(owner, &carried[0], FRAME_CREDIT, 1, 1);
    assert_fails(owner, "more credit for a connection than it has used");
    close_door(owner);
    owner = connected(1);
    send_number(owner, &carried[0], FRAME_SIGNAL, 0, 9);
    assert_fails(owner, "a frame that no connection has");
    close_door(owner);
}

/* ---- where there can be no door ---- */

static void a_place_that_is_taken_is_named(void **state)
{
    static const enum doorway_kind kinds[] = { DOORWAY_PROXY, DOORWAY_HTTP, DOORWAY_TLS,
                                               DOORWAY_NAMES };
    const struct init_config config = config_open();

    NEEDS_WORLD();
    for (size_t i = 0; i < NACRE_COUNT(kinds); i++) {
        NACRE_AUTO(nacre_fd_guard) int taken = doorway_open(kinds[i]);
        struct owner *owner = owner_open(OWNER_CHILD);

        assert_true(taken >= 0);
        owner_configure(owner, &config);
        assert_fails(owner, doorway_text(kinds[i]));
        assert_false(owner->is_reported);
        (void)owner_close(owner);
    }
}

static void without_a_loopback_there_is_no_door(void **state)
{
    const struct init_config config = config_open();
    struct owner *owner;

    NEEDS_WORLD();
    assert_true(raise_loopback(false));
    owner = owner_open(OWNER_CHILD);
    owner_configure(owner, &config);
    assert_true(raise_loopback(true));
    assert_fails(owner, "the loopback interface");
    (void)owner_close(owner);
}

/* ---- names ---- */

static void allowed_names_alone_are_answered_for(void **state)
{
    static const char script[] = PYTHON(
        "import socket\n"
        "s=socket.socket(2,2); s.settimeout(5)\n"
        "for n in (b\"\\1a\\4test\",b\"\\1x\\1b\\4test\",b\"\\1b\\4test\",b\"\\1c\\4test\"):\n"
        "  s.sendto(b\"\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\"+n+b\"\\0\\0\\1\\0\\1\","
        "(\"127.0.0.53\",53))\n"
        "  d,a=s.recvfrom(999)\n"
        "  print(a[0], d[3]&15, \".\".join(map(str,d[-4:])) if d[7] else \"\")\n");
    struct owner *owner;
    struct init_start start = owner_shell(script);
    struct owned *command;

    NEEDS_WORLD();
    owner = open_door(OWNER_CHILD);
    command = owner_run(owner, 1, &start);
    owner_assert_exit(command, INIT_HOW_EXITED, 0);
    assert_string_equal(command->output[0], "127.0.0.53 0 127.0.1.1\n"
                                            "127.0.0.53 0 127.0.1.1\n"
                                            "127.0.0.53 3 \n127.0.0.53 3 \n");
    close_door(owner);
}

/* ---- files ---- */

static void files_are_there_as_long_as_a_command_that_has_some(void **state)
{
    static const struct init_file files[] = { { "key", "va\0lue", 6 }, { "e", "", 0 } };
    struct owner *owner;
    struct init_start start = owner_shell("cd /run/secrets; ls; tr '\\0' @ <key; "
                                          "stat -c ' %a %s' key; read x");
    struct init_start second = owner_shell("ls /run/secrets; cat /run/nacre/ca.pem");

    NEEDS_WORLD();
    owner = owner_ready(OWNER_CHILD);
    start.files = second.files = files;
    start.file_count = 2;
    second.file_count = 1;
    start.input = true;
    second.certificates = "PEM\n";
    owner_start(owner, 1, &start);
    owner_await(owner, 1, " 400 6\n");
    assert_string_equal(owner->commands[1].output[0], "e\nkey\nva@lue 400 6\n");
    /* The end of one that had them too leaves them to the other. */
    owner_assert_exit(owner_run(owner, 2, &second), INIT_HOW_EXITED, 0);
    assert_string_equal(owner->commands[2].output[0], "e\nkey\nPEM\n");
    assert_int_equal(access("/run/secrets/key", F_OK), 0);
    owner_send(owner, FRAME_END, 0, 1, NULL, 0);
    (void)owner_finish(owner, 1);
    assert_int_equal(access("/run/secrets/key", F_OK), -1);
    assert_int_equal(access("/run/secrets/e", F_OK), -1);
    /* Also where nothing could be executed. */
    start = owner_shell("");
    start.arguments = (const char *const[]){ "/no/such/program", NULL };
    start.files = files;
    start.file_count = 1;
    assert_true(owner_run(owner, 3, &start)->is_refused);
    assert_int_equal(access("/run/secrets/key", F_OK), -1);
    (void)owner_close(owner);
}

/* Is the text in what the process can write? */
static bool is_in_memory(pid_t pid, const char *text)
{
    static char bytes[1 << 16];
    const size_t length = strlen(text);
    char path[64], line[512];
    NACRE_AUTO(nacre_fd_guard) int memory = -1;
    bool found = false;
    FILE *maps;

    (void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
    memory = open(path, O_RDONLY | O_CLOEXEC);
    (void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
    maps = fopen(path, "re");
    assert_true(memory >= 0 && maps);
    while (fgets(line, sizeof(line), maps)) {
        unsigned long at, end;

        if (!strstr(line, " rw") || sscanf(line, "%lx-%lx", &at, &end) != 2)
            continue;
        while (at < end && !found) {
            size_t count = end - at < sizeof(bytes) ? end - at : sizeof(bytes);
            ssize_t got = pread(memory, bytes, count, (off_t)at);

            found = got > 0 && memmem(bytes, (size_t)got, text, length);
            at += count < end - at ? count - length : count;
        }
    }
    (void)fclose(maps);
    return found;
}

/* The process's only child. */
static pid_t child_of(pid_t pid)
{
    char path[64];
    int child = 0;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &child), 1);
    (void)fclose(file);
    return child;
}

/* Init is not dumpable, but root may read it: so it is seen that nothing stays there for
 * whoever comes by a core file or by an error in the kernel. */
static void a_files_bytes_stay_with_no_process_of_the_sandbox(void **state)
{
    static char large[150000]; /* more than one frame */
    const struct init_file file = { "key", large, sizeof(large) };
    static const char *const variables[] = { "PATH=/usr/bin:/bin", "KEPT=env-of-a-secret",
                                             NULL };
    struct init_start start = owner_shell("wc -c </run/secrets/key; read x");
    struct owner *owner;
    pid_t shepherd;

    NEEDS_WORLD();
    for (size_t at = 0; at + 16 < sizeof(large); at += 1000)
        memcpy(large + at, "file-of-a-secret", 16);
    owner = owner_ready(OWNER_CHILD);
    start.environment = variables;
    start.files = &file;
    start.file_count = 1;
    start.input = true;
    owner_start(owner, 1, &start);
    owner_await(owner, 1, "150000\n");
    shepherd = child_of(owner->init_pid);
    assert_true(is_in_memory(child_of(shepherd), "env-of-a-secret")); /* the control */
    assert_false(is_in_memory(child_of(shepherd), "file-of-a-secret"));
    assert_false(is_in_memory(shepherd, "file-of-a-secret"));
    assert_false(is_in_memory(owner->init_pid, "file-of-a-secret"));
    assert_false(is_in_memory(owner->init_pid, "env-of-a-secret"));
    owner_send(owner, FRAME_END, 0, 1, NULL, 0);
    (void)owner_finish(owner, 1);
    (void)owner_close(owner);
}

/* Links that a guest has left are neither followed nor written through. */
static void what_a_guest_left_at_a_files_name_is_replaced(void **state)
{
    static const struct init_file file = { "key", "value", 5 };
    struct init_start start = owner_shell("cat /run/secrets/key");
    struct owner *owner;

    NEEDS_WORLD();
    assert_int_equal(symlink("/run/victim", "/run/secrets/key"), 0);
    owner = owner_ready(OWNER_CHILD);
    start.files = &file;
    start.file_count = 1;
    owner_assert_exit(owner_run(owner, 1, &start), INIT_HOW_EXITED, 0);
    assert_string_equal(owner->commands[1].output[0], "value");
    assert_int_equal(access("/run/victim", F_OK), -1);
    /* A directory can't be: then nothing is executed. */
    assert_int_equal(mkdir("/run/secrets/key", 0700), 0);
    assert_true(owner_run(owner, 2, &start)->is_refused);
    assert_int_equal(owner->commands[2].refusal, INIT_REFUSAL_WALL);
    assert_int_equal(rmdir("/run/secrets/key"), 0);
    (void)owner_close(owner);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_guest_says_goes_out_and_the_answer_comes_in),
        cmocka_unit_test(a_mebibyte_arrives_whole_both_ways),
        cmocka_unit_test(there_are_so_many_at_once_and_others_wait),
        cmocka_unit_test(more_than_was_given_credit_for_ends_the_sandbox),
        cmocka_unit_test(a_place_that_is_taken_is_named),
        cmocka_unit_test(without_a_loopback_there_is_no_door),
        cmocka_unit_test(allowed_names_alone_are_answered_for),
        cmocka_unit_test(files_are_there_as_long_as_a_command_that_has_some),
        cmocka_unit_test(a_files_bytes_stay_with_no_process_of_the_sandbox),
        cmocka_unit_test(what_a_guest_left_at_a_files_name_is_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
