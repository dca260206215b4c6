/* Who may be the keeper, who may come, what it ends, and when it leaves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "engine.h"
#include "in_child.h"
#include "message.h"
#include "nacre/secrets.h"
#include "nacre/tool.h"
#include "scene.h"
#include "session_scene.h"
#include "socket.h"
#include "start.h"
#include "warm_keeper.h"
#include "warm_plan.h"
#include "wire.h"

#define SOON message_within_ms(60000)
#define HOUR UINT64_C(3600000)

static struct warm_keeper keeper;

static int setup(void **state)
{
    if (scene_clear(state) != 0)
        return -1;
    warm_keeper_init(&keeper, ".");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    (void)warm_keeper_stop(&keeper);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

static int raw_client(void)
{
    char version[KEEPER_VERSION];
    struct nacre_error err = { .text = "" };
    int fd = -1;

    if (keeper_connect(".", version, &fd, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return fd;
}

static bool count(void *data, const struct nacre_box_info *info)
{
    (void)info;
    ++*(uint32_t *)data;
    return true;
}

static bool serves(void)
{
    uint32_t boxes = 0;
    struct nacre_error err;

    return nacre_keeper_list(".", count, &boxes, &err) == NACRE_OK;
}

static bool has_left(void)
{
    return !scene_has("keeper.sock");
}

static bool nothing_is_warm(void)
{
    return warm_box_count == 0;
}

/* ---- one, and whose ---- */

static void there_is_one_keeper(void **state)
{
    struct warm_keeper second;

    (void)state;
    warm_keeper_start(&keeper);
    second = keeper;
    second.leaving = 0;
    warm_keeper_start(&second);
    assert_int_equal(warm_keeper_join(&second), NACRE_ERR_USAGE);
    assert_string_equal(second.err.text, "there is a keeper already");
    assert_true(serves());
}

static void the_socket_is_for_its_user_alone(void **state)
{
    struct stat info;

    (void)state;
    (void)umask(0);
    warm_keeper_start(&keeper);
    (void)umask(022);
    assert_int_equal(stat("keeper.sock", &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    assert_int_equal(stat("keeper.lock", &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
}

static void what_a_dead_keeper_left_is_no_obstacle(void **state)
{
    NACRE_AUTO(nacre_fd_guard) int old = -1;
    struct nacre_error err;

    (void)state;
    assert_int_equal(keeper_listen(".", &old, &err), NACRE_OK);
    (void)close(nacre_fd_take(&old));
    assert_true(scene_has("keeper.sock"));
    assert_false(serves());
    warm_keeper_start(&keeper);
    assert_true(serves());
}

static void *start_keeper(void *data)
{
    warm_keeper_start(data);
    return NULL;
}

static void a_keeper_that_is_leaving_is_waited_for(void **state)
{
    NACRE_AUTO(nacre_fd_guard) int lock = -1;
    struct nacre_error err;
    pthread_t thread;

    (void)state;
    assert_int_equal(keeper_lock(".", &lock, &err), NACRE_OK);
    assert_int_equal(pthread_create(&thread, NULL, start_keeper, &keeper), 0);
    (void)poll(NULL, 0, 100);
    assert_false(serves());
    (void)close(nacre_fd_take(&lock));
    assert_true(warm_soon(serves));
    (void)pthread_join(thread, NULL);
}

static void a_directory_that_others_may_write_is_refused(void **state)
{
    static const mode_t modes[] = { 0777, 0720, 0702 };
    uint32_t boxes;
    struct nacre_error err;

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(modes); i++) {
        assert_int_equal(chmod(".", modes[i]), 0);
        warm_keeper_start(&keeper);
        assert_int_equal(warm_keeper_join(&keeper), NACRE_ERR_USAGE);
        assert_int_equal(nacre_keeper_list(".", count, &boxes, &err), NACRE_ERR_USAGE);
        assert_false(scene_has("keeper.lock"));
    }
    assert_int_equal(chmod(".", 0755), 0);
    warm_keeper_start(&keeper);
    assert_true(serves());
}

static void without_a_keeper_nothing_is_warm_and_nothing_starts(void **state)
{
    const struct nacre_keeper_choice all = { 0 };
    uint32_t boxes = 0, left = 0;
    struct nacre_error err;

    (void)state;
    assert_int_equal(nacre_keeper_list("missing", count, &boxes, &err),
                     NACRE_ERR_NOT_FOUND);
    assert_int_equal(nacre_keeper_list(".", count, &boxes, &err), NACRE_ERR_NOT_FOUND);
    assert_int_equal(nacre_keeper_end(".", &all, &boxes, &left, &err),
                     NACRE_ERR_NOT_FOUND);
    assert_int_equal(nacre_keeper_quit(".", &err), NACRE_ERR_NOT_FOUND);
    assert_int_equal(boxes, 0);
    assert_false(scene_has("missing") || scene_has("keeper.lock"));
}

static void a_long_way_to_the_directory_is_no_obstacle(void **state)
{
    char path[2000] = "";

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        memset(path + strlen(path), 'd', 200);
        (void)snprintf(path + strlen(path), 2, "/");
    }
    scene_shell("d=$(printf %0200d 0 | tr 0 d); mkdir -p $d/$d/$d/$d/$d/$d/$d/$d");
    keeper.options.state_dir = path;
    warm_keeper_start(&keeper);
    assert_int_equal(warm_keeper_stop(&keeper), NACRE_OK);
}

/* ---- who may come ---- */

/* As another user, at a socket whose file would let it in: does the keeper greet it? */
static int knock(void *data)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "keeper.sock" };
    uid_t uid = *(uid_t *)data;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    char byte;

    if (uid != 0)
        CHILD_CHECK(setresgid(uid, uid, uid) == 0 && setresuid(uid, uid, uid) == 0);
    CHILD_CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
    return read(fd, &byte, 1) == 1 ? 1 : 0;
}

static void another_user_is_not_greeted(void **state)
{
    uid_t root = 0, other = 4711;

    (void)state;
    if (geteuid() != 0)
        skip(); /* only root can be somebody else */
    warm_keeper_start(&keeper);
    assert_int_equal(chmod("keeper.sock", 0777), 0);
    assert_int_equal(chmod(".", 0755), 0);
    assert_exited(in_child(knock, &root), 1);
    assert_exited(in_child(knock, &other), 0);
    assert_true(serves());
}

static int listen_as_another(void *data)
{
    int *ends = data;
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "keeper.sock" };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    char byte;

    CHILD_CHECK(setresgid(4711, 4711, 4711) == 0 && setresuid(4711, 4711, 4711) == 0);
    CHILD_CHECK(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
    CHILD_CHECK(listen(fd, 4) == 0);
    CHILD_CHECK(write(ends[1], "l", 1) == 1);
    (void)close(ends[1]);
    return read(ends[2], &byte, 1) == 0 ? 0 : 1;
}

static void a_keeper_of_another_user_is_not_spoken_to(void **state)
{
    uint32_t boxes = 0;
    struct nacre_error err;
    int ends[4];
    char byte;
    pid_t pid;

    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(pipe(ends + 2), 0);
    assert_int_equal(chmod(".", 0777), 0);
    pid = fork();
    if (pid == 0) {
        (void)close(ends[3]);
        _exit(listen_as_another(ends));
    }
    (void)close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(chmod(".", 0755), 0);
    assert_int_equal(nacre_keeper_list(".", count, &boxes, &err), NACRE_ERR_DENIED);
    (void)close(ends[3]);
    (void)close(ends[2]);
    (void)close(ends[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void hostile_bytes_end_their_client_alone(void **state)
{
    static const struct {
        const char *bytes;
        size_t count;
    } rows[] = {
        { "", 0 }, { "GET / HTTP/1.1\r\n\r\n", 18 },
        { "\xff\xff\xff\xff\xff\xff\xff\xff", 8 },
        { "\x02\0\0\0\x03\0\0\0{", 9 }, { "\x02\0\0\0\x03\0\0\0{}", 10 },
        { "\x02\0\0\0\x06\0\0\0[]", 10 }, { "\x04\0\0\0\x06\0\0\0null", 12 },
        { "\x02\0\0\0\x02\0\0\0{}", 10 }, { "\0\0\0\0\x20\0\0\0", 8 },
        { "\x02\0\0\0\x23\0\0\0{}", 10 }, { "\x03\0\0\0\x05\0\0\0nul", 11 },
        { "\x01\0\0\0\x04\0\0\0" "9", 9 }, { "\0\0\0\0\x0f\0\0\0", 8 },
    };

    (void)state;
    warm_keeper_start(&keeper);
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        int fd = raw_client();

        assert_int_equal(write(fd, rows[i].bytes, rows[i].count), rows[i].count);
        assert_true(serves());
        (void)close(fd);
        assert_true(serves());
    }
    assert_int_equal(warm_begun, 0);
}

static void more_clients_than_there_is_room_for_wait_their_turn(void **state)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(100);
    int before, fds[128], waiting;
    enum message_kind kind = MESSAGE_NONE;
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "keeper.sock" };
    struct nacre_error err;

    (void)state;
    warm_keeper_start(&keeper);
    before = scene_fds();
    for (size_t i = 0; i < NACRE_COUNT(fds); i++)
        fds[i] = raw_client();
    waiting = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(waiting, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(message_receive(waiting, message_within_ms(200), &kind, &bytes, NULL,
                                     &err),
                     NACRE_ERR_TIMEOUT);
    (void)close(fds[0]);
    assert_int_equal(message_receive(waiting, SOON, &kind, &bytes, NULL, &err), NACRE_OK);
    assert_int_equal(kind, MESSAGE_HELLO);
    (void)close(waiting);
    for (size_t i = 1; i < NACRE_COUNT(fds); i++)
        (void)close(fds[i]);
    for (int i = 0; i < 1000 && scene_fds() != before; i++)
        (void)poll(NULL, 0, 5);
    assert_int_equal(scene_fds(), before);
}

/* ---- what it ends ---- */

static uint32_t end(const struct nacre_keeper_choice *choice, uint32_t *ret_left)
{
    struct nacre_error err = { .text = "" };
    uint32_t ended = 0;

    if (nacre_keeper_end(".", choice, &ended, ret_left, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    return ended;
}

static void what_is_chosen_ends_and_nothing_else(void **state)
{
    static const struct {
        struct nacre_keeper_choice choice;
        uint32_t ended, left;
    } rows[] = {
        { { .which = "session:none" }, 0, 0 },
        { { .which = "session" }, 0, 0 },
        { { .which = "" }, 0, 0 },
        { { .which = "session:a" }, 1, 0 },
        { { .which = "a" }, 1, 0 }, /* a session's key */
        { { .which = "b" }, 0, 0 }, /* an agent's is none */
        { { .which = "box-b" }, 1, 0 },
        { { .which = "box-a", .scope_key = "session:a" }, 1, 0 },
        { { .which = "box-a", .scope_key = "session:d" }, 0, 0 },
        { { .which = "box-a", .scope_key = "session:", .force = true }, 0, 0 },
        { { .which = "session:a", .scope_key = "agent:b", .force = true }, 0, 0 },
        { { .which = "0000000000cc" }, 0, 1 }, /* a command runs in it */
        { { .which = "0000000000cc", .force = true }, 1, 0 },
        { { .idle_ms = HOUR }, 2, 0 },         /* b and d; c is in use now */
        { { .age_ms = 5 * HOUR }, 1, 1 },      /* d, not c */
        { { .age_ms = 5 * HOUR, .force = true }, 2, 0 },
        { { .idle_ms = 100 * HOUR, .age_ms = 3 * HOUR }, 2, 1 },
        { { .idle_ms = 100 * HOUR, .age_ms = 100 * HOUR }, 0, 0 },
        { { .which = "session:a", .idle_ms = HOUR }, 0, 0 },
        { { .which = "session:d", .idle_ms = HOUR }, 1, 0 },
        { { 0 }, 3, 1 },
        { { .force = true }, 4, 0 },
    };

    (void)state;
    warm_keeper_start(&keeper);
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        uint32_t ended, left = 77;

        atomic_store(&warm_box_count, 0);
        warm_box_add("session:a", "box-a", "0000000000aa", HOUR, 0, 0);
        warm_box_add("agent:b", "box-b", "0000000000bb", 4 * HOUR, 2 * HOUR, 0);
        warm_box_add("session:c", "box-c", "0000000000cc", 9 * HOUR, 0, 2);
        warm_box_add("session:d", "box-d", "0000000000dd", 9 * HOUR, 8 * HOUR, 0);
        ended = end(&rows[i].choice, &left);
        if (ended != rows[i].ended || left != rows[i].left ||
            warm_box_count != 4 - rows[i].ended)
            fail_msg("row %zu: ended %u, left %u, %u there", i, ended, left,
                     warm_box_count);
    }
}

/* ---- limits to the millisecond ---- */

static struct nacre_box_info aged;

static void list_aged(struct nacre_executor *executor,
                      bool (*each)(void *data, const struct nacre_box_info *info),
                      void *data)
{
    (void)executor;
    (void)each(data, &aged);
}

static uint32_t end_aged(struct nacre_executor *executor, bool force,
                         bool (*wanted)(void *data, const struct nacre_box_info *info),
                         void *data)
{
    (void)executor;
    (void)force;
    return wanted(data, &aged);
}

static void a_limit_is_over_one_millisecond_after_it(void **state)
{
    static const uint64_t idle = NACRE_PRUNE_IDLE_MS, age = NACRE_PRUNE_AGE_MS;
    static const struct {
        uint64_t idle_ms, age_ms;     /* the limits; both 0 choose by no age at all */
        uint64_t unused_ms, lived_ms; /* how long it is */
        uint32_t ended;
    } rows[] = {
        { idle, age, idle - 1, idle - 1, 0 }, { idle, age, idle, idle, 0 },
        { idle, age, idle + 1, idle + 1, 1 }, { idle, age, 0, age, 0 },
        { idle, age, 0, age + 1, 1 },         { 0, age, age, age, 0 },
        { 0, age, age + 1, age + 1, 1 },      { 0, age, idle + 1, idle + 1, 0 },
        { idle, 0, idle, age + 1, 0 },        { idle, 0, idle + 1, age + 1, 1 },
        { 1, 0, 1, 1, 0 },                    { 1, 0, 2, 2, 1 },
    };
    const struct nacre_boxes_of boxes = { ".", NULL, list_aged, end_aged };
    const uint64_t now_ms = UINT64_C(1800000000000);

    (void)state;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        const struct nacre_keeper_choice choice = { .idle_ms = rows[i].idle_ms,
                                                    .age_ms = rows[i].age_ms };
        uint32_t left = 7;

        aged = (struct nacre_box_info){ .used_ms = now_ms - rows[i].unused_ms,
                                        .created_ms = now_ms - rows[i].lived_ms };
        if (nacre_boxes_end_chosen(&boxes, &choice, now_ms, &left) != rows[i].ended ||
            left != 0)
            fail_msg("row %zu", i);
    }
}

static void the_list_is_of_what_is_warm(void **state)
{
    uint32_t boxes = 0;
    struct nacre_error err;

    (void)state;
    warm_keeper_start(&keeper);
    warm_box_add("session:a", "a", "1", 0, 0, 0);
    warm_box_add("agent:\xff", "b", "2", 0, 0, 1);
    assert_int_equal(nacre_keeper_list(".", count, &boxes, &err), NACRE_OK);
    assert_int_equal(boxes, 2);
}

static bool one_is_warm(void)
{
    return warm_box_count == 1;
}

static bool two_are_warm(void)
{
    return warm_box_count == 2;
}

static void what_is_stale_goes_by_itself_and_what_lives_stays(void **state)
{
    (void)state;
    keeper.options.prune_ms = 1;
    warm_box_add("session:idle", "a", "1", 25 * HOUR, 25 * HOUR, 0);
    warm_box_add("session:old", "b", "2", 8 * 24 * HOUR, 0, 0);
    warm_box_add("session:lives", "c", "3", 8 * 24 * HOUR, 8 * 24 * HOUR, 1);
    warm_keeper_start(&keeper);
    assert_true(warm_soon(one_is_warm));
    assert_string_equal(warm_boxes[0].scope_key, "session:lives");
    atomic_store(&warm_box_count, 0);
    warm_box_add("session:fresh", "d", "4", 7 * 24 * HOUR - HOUR, 23 * HOUR, 0);
    (void)poll(NULL, 0, 700);
    assert_int_equal(warm_box_count, 1);
}

/* A session's run was here, a day ago and more. */
static void record(const char *name, uint64_t idle_hours)
{
    struct hand hand;

    hand_make(&hand, name);
    (void)scene_path(session_state, ".");
    (void)snprintf(hand.session.box_name, sizeof(hand.session.box_name), "%s", name);
    hand.session.prune_idle_ms = idle_hours * HOUR;
    hand_use(&hand);
    scene_shell("touch -d '25 hours ago' sessions/*.json");
}

static bool has_workspace(const char *name)
{
    struct hand hand;

    hand_make(&hand, name);
    return scene_has(hand.box);
}

static void what_has_a_record_goes_by_its_limits_and_with_its_workspace(void **state)
{
    (void)state;
    keeper.options.prune_ms = 1;
    record("short", 1);
    record("long", 100);
    record("never", 0);
    warm_box_add("session:short", "short", "1", 25 * HOUR, 25 * HOUR, 0);
    warm_box_add("session:long", "long", "2", 25 * HOUR, 25 * HOUR, 0);
    warm_box_add("session:never", "never", "3", 800 * HOUR, 800 * HOUR, 0);
    warm_box_add("session:other", "other", "4", 25 * HOUR, 25 * HOUR, 0);
    warm_keeper_start(&keeper);
    assert_true(warm_soon(two_are_warm));
    (void)poll(NULL, 0, 700);
    assert_int_equal(warm_box_count, 2);
    assert_false(has_workspace("short"));
    assert_true(has_workspace("long"));
    assert_true(has_workspace("never"));
}

static void a_record_keeps_a_box_from_who_asks_for_the_rest(void **state)
{
    uint32_t left;

    (void)state;
    record("kept", 1);
    warm_keeper_start(&keeper);
    warm_box_add("session:kept", "kept", "1", 25 * HOUR, 25 * HOUR, 0);
    warm_box_add("session:rest", "rest", "2", 25 * HOUR, 25 * HOUR, 0);
    assert_int_equal(end(&(struct nacre_keeper_choice){ .unrecorded = true,
                                                        .idle_ms = HOUR }, &left), 1);
    assert_string_equal(warm_boxes[0].name, "kept");
    assert_int_equal(end(&(struct nacre_keeper_choice){ .idle_ms = HOUR }, &left), 1);
}

static bool no_token_is_kept(void)
{
    struct stat info;

    return stat("tokens", &info) == 0 && info.st_size == 16; /* the file's head */
}

static void expired_tokens_are_purged_at_the_start_and_from_then_on(void **state)
{
    NACRE_AUTO(nacre_vault_guard) struct nacre_vault *vault = NULL;
    char token[NACRE_TOKEN_TEXT];
    struct nacre_error err;

    (void)state;
    assert_int_equal(chmod(".", 0700), 0);
    if (nacre_vault_open(".", "keys", &vault, &err) != NACRE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(nacre_vault_set(vault, "alpha", "a", 1, &err), NACRE_OK);
    assert_int_equal(nacre_token_issue(vault, "alpha", "run:a", 1, token, &err), NACRE_OK);
    assert_false(no_token_is_kept());
    (void)poll(NULL, 0, 5);
    keeper.options.reap_ms = 3600000;
    warm_keeper_start(&keeper);
    assert_true(warm_soon(no_token_is_kept));
    assert_int_equal(warm_keeper_stop(&keeper), NACRE_OK);

    warm_keeper_init(&keeper, ".");
    keeper.options.reap_ms = 1;
    warm_keeper_start(&keeper);
    assert_int_equal(nacre_token_issue(vault, "alpha", "run:b", 1, token, &err), NACRE_OK);
    assert_true(warm_soon(no_token_is_kept));
}

/* ---- when it leaves ---- */

static void it_leaves_when_it_is_idle(void **state)
{
    (void)state;
    keeper.options.idle_ms = 20;
    warm_keeper_start(&keeper);
    assert_int_equal(warm_keeper_join(&keeper), NACRE_OK);
    assert_true(has_left());
}

static void it_stays_while_something_is_warm_or_somebody_there(void **state)
{
    int fd;

    (void)state;
    keeper.options.idle_ms = 20;
    warm_box_add("session:a", "a", "1", 0, 0, 0);
    warm_keeper_start(&keeper);
    (void)poll(NULL, 0, 700);
    assert_true(serves());
    fd = raw_client();
    atomic_store(&warm_box_count, 0);
    (void)poll(NULL, 0, 700);
    assert_false(has_left());
    (void)close(fd);
    assert_true(warm_soon(has_left));
    assert_int_equal(warm_keeper_join(&keeper), NACRE_OK);
}

static json_t *order_of_a_wait(void)
{
    static const char *const argv[] = { "wait", NULL };
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = warm_plan("session:s");
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    const struct nacre_request request = { 0 };
    struct nacre_error err;

    assert_int_equal(nacre_tool_command(argv, &tool, &err), NACRE_OK);
    return json_pack("{s:o, s:o, s:o, s:o, s:s}", "engine",
                     keeper_engine(&(struct keeper_configured){ 0 }), "plan",
                     nacre_wire_plan(plan), "tool", nacre_wire_tool(tool), "request",
                     nacre_wire_request(&request), "run_id", "1");
}

static bool one_has_begun(void)
{
    return warm_begun == 1;
}

static int waiting_client(void)
{
    int fd = raw_client();
    struct nacre_error err;

    assert_int_equal(message_send_json(fd, MESSAGE_RUN, order_of_a_wait(), -1, SOON,
                                       &err),
                     NACRE_OK);
    assert_true(warm_soon(one_has_begun));
    return fd;
}

static void assert_told_the_end(int fd)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(10000);
    enum message_kind kind = MESSAGE_NONE;
    struct nacre_error err;

    assert_int_equal(message_receive(fd, SOON, &kind, &bytes, NULL, &err), NACRE_OK);
    assert_int_equal(kind, MESSAGE_RESULT);
    assert_int_equal(message_receive(fd, SOON, &kind, &bytes, NULL, &err),
                     NACRE_ERR_NOT_FOUND);
    (void)close(fd);
}

static void told_to_leave_it_ends_everything_and_says_so(void **state)
{
    struct nacre_error err;

    (void)state;
    for (int i = 0; i < 2; i++) {
        int fd;

        warm_keeper_init(&keeper, ".");
        warm_keeper_start(&keeper);
        warm_box_add("session:a", "a", "1", 0, 0, 0);
        warm_box_add("session:b", "b", "2", 0, 0, 1);
        fd = waiting_client();
        if (i == 0)
            assert_int_equal(nacre_keeper_quit(".", &err), NACRE_OK);
        else
            assert_int_equal(warm_keeper_stop(&keeper), NACRE_OK);
        /* All of it is over by the time that it has left. */
        assert_true(nothing_is_warm() && has_left());
        assert_int_equal(warm_ended, 1);
        assert_told_the_end(fd);
        assert_int_equal(warm_keeper_join(&keeper), NACRE_OK);
    }
}

static void asked_to_make_room_it_does_so_only_when_idle(void **state)
{
    NACRE_AUTO(nacre_fd_guard) int asking = -1;
    struct nacre_error err;
    bool leaving = true;
    int fd;

    (void)state;
    warm_keeper_start(&keeper);
    fd = waiting_client();
    asking = raw_client();
    assert_int_equal(keeper_dismiss(asking, MESSAGE_IF_IDLE, &leaving, &err), NACRE_OK);
    assert_false(leaving);
    assert_true(serves());
    (void)close(fd);
    for (int i = 0; i < 500 && !leaving; i++) {
        assert_int_equal(keeper_dismiss(asking, MESSAGE_IF_IDLE, &leaving, &err),
                         NACRE_OK);
        (void)poll(NULL, 0, 5);
    }
    assert_true(leaving);
    assert_int_equal(warm_keeper_join(&keeper), NACRE_OK);
}

static void a_client_that_never_listens_does_not_hold_it_up(void **state)
{
    int fd;

    (void)state;
    warm_keeper_start(&keeper);
    fd = raw_client();
    assert_int_equal(write(fd, "\x02\0\0", 3), 3);
    assert_int_equal(warm_keeper_stop(&keeper), NACRE_OK);
    (void)close(fd);
}

/* ---- starting one ---- */

static void who_can_t_start_one_says_so(void **state)
{
    struct nacre_error err = { .text = "" };
    int fd = -1;

    (void)state;
    assert_int_equal(keeper_reach(".", NULL, NULL, &fd, &err), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(err.text, "name it in the engine's options"));
    assert_int_equal(keeper_reach("new/state", "./no-such-program", NULL, &fd, &err),
                     NACRE_ERR_IO);
    assert_true(scene_has("new/state"));
    assert_int_equal(fd, -1);
}

/* What is started gets no fd of ours, a session of its own, and the root directory. */
static void who_is_started_holds_nothing_of_ours(void **state)
{
    NACRE_AUTO(nacre_fd_guard) int ours = open(".", O_RDONLY); /* not CLOEXEC */
    char program[NACRE_PATH_MAX];
    struct nacre_error err;
    int fd = -1;

    (void)state;
    assert_true(ours >= 0);
    scene_file("program", "#!/bin/sh\n"
                          "cd \"$3\" && { ls -l /proc/$$/fd; echo \"$@\"; "
                          /* By the shell itself: one that waits for another program
                           * blocks signals. */
                          "while read -r line; do case $line in SigBlk*|SigIgn*) "
                          "echo \"$line\";; esac; done </proc/$$/status; } >seen\n"
                          "echo broken >&2\n");
    assert_int_equal(chmod("program", 0700), 0);
    (void)signal(SIGUSR1, SIG_IGN);
    assert_int_equal(keeper_reach(".", scene_path(program, "program"), NULL, &fd, &err),
                     NACRE_ERR_UNAVAILABLE);
    (void)signal(SIGUSR1, SIG_DFL);
    assert_non_null(strstr(err.text, "keeper.log"));
    scene_shell("test \"$(grep -c ' 0 -> /dev/null\\| 1 -> ' seen)\" = 2");
    scene_shell("grep -q ' 3 -> pipe' seen && ! grep -q \" -> $PWD\\$\" seen");
    scene_shell("grep -q \"^keeper --state-dir $PWD --ready-fd 3\\$\" seen");
    /* But for two that the C library has for itself. */
    scene_shell("test \"$(grep -c 'Sig.*[08]0000000$' seen)\" = 2");
    scene_shell("grep -qx broken keeper.log");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(there_is_one_keeper),
        TEST(the_socket_is_for_its_user_alone),
        TEST(what_a_dead_keeper_left_is_no_obstacle),
        TEST(a_keeper_that_is_leaving_is_waited_for),
        TEST(a_directory_that_others_may_write_is_refused),
        TEST(without_a_keeper_nothing_is_warm_and_nothing_starts),
        TEST(a_long_way_to_the_directory_is_no_obstacle),
        TEST(another_user_is_not_greeted),
        TEST(a_keeper_of_another_user_is_not_spoken_to),
        TEST(hostile_bytes_end_their_client_alone),
        TEST(more_clients_than_there_is_room_for_wait_their_turn),
        TEST(what_is_chosen_ends_and_nothing_else),
        TEST(a_limit_is_over_one_millisecond_after_it),
        TEST(the_list_is_of_what_is_warm),
        TEST(what_is_stale_goes_by_itself_and_what_lives_stays),
        TEST(what_has_a_record_goes_by_its_limits_and_with_its_workspace),
        TEST(a_record_keeps_a_box_from_who_asks_for_the_rest),
        TEST(expired_tokens_are_purged_at_the_start_and_from_then_on),
        TEST(it_leaves_when_it_is_idle),
        TEST(it_stays_while_something_is_warm_or_somebody_there),
        TEST(told_to_leave_it_ends_everything_and_says_so),
        TEST(asked_to_make_room_it_does_so_only_when_idle),
        TEST(a_client_that_never_listens_does_not_hold_it_up),
        TEST(who_can_t_start_one_says_so),
        TEST(who_is_started_holds_nothing_of_ours),
    };

    return cmocka_run_group_tests(tests, scene_enter, scene_leave);
}
