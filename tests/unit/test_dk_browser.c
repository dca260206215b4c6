/*
 * A browser's container in a real engine: what its table of system calls allows and what
 * not, and Chromium itself in it, reached through `dial_fd` alone.  An observer outside
 * looks at its processes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "dials.h"
#include "engine_world.h"
#include "fake_doors.h"
#include "nacre/browser.h"
#include "nacre/tool.h"

#define MIB (UINT64_C(1) << 20)
#define PATIENCE_MS 60000 /* a loaded machine may take long to start it */

/* ---- the table ---- */

/* What became of every forbidden call, one a line. */
static char *calls(bool browser, const char *before)
{
    char text[256];

    jail.plan.container.user_namespaces = browser;
    (void)snprintf(text, sizeof(text), "%s /workspace/calls", before);
    if (jail_run(&jail, text) != NACRE_OK)
        fail_msg("%s", jail.err.text);
    return strdup(jail.result->output.bytes ? jail.result->output.bytes : "");
}

static void put_calls(void)
{
    char command[512];

    (void)snprintf(command, sizeof(command), "cp %s %s/ws/calls", NACRE_ATTACK_CALLS,
                   jail.top);
    assert_int_equal(system(command), 0);
    jail_mount(&jail, "/workspace", "ws", true, NULL);
}

/* "name\tfate": is the name one of these? */
static bool is_among(const char *line, const char *const *names)
{
    for (; *names; names++)
        if (strncmp(line, *names, strlen(*names)) == 0 &&
            strspn(line + strlen(*names), " \t:") > 0)
            return true;
    return false;
}

/* The lines in which two such lists differ are about those calls, and all of them. */
static void assert_differ_in(char *a, char *b, const char *const *names)
{
    char *at_a = NULL, *at_b = NULL;
    const char *line_a = strtok_r(a, "\n", &at_a), *line_b = strtok_r(b, "\n", &at_b);
    size_t lines = 0;

    for (; line_a && line_b; lines++) {
        if ((strcmp(line_a, line_b) != 0) != is_among(line_a, names))
            fail_msg("ordinary: %s; browser: %s", line_a, line_b);
        line_a = strtok_r(NULL, "\n", &at_a);
        line_b = strtok_r(NULL, "\n", &at_b);
    }
    assert_true(!line_a && !line_b);
    assert_true(lines > 40);
}

static void a_browsers_table_lets_a_user_namespace_through_and_nothing_else(void **state)
{
    static const char *const more[] = { "chroot", "unshare user", "clone user",
                                        "clone with high bits", NULL };
    NACRE_AUTO(nacre_heap_guard) char *ordinary = NULL, *browsers = NULL;

    NEEDS_ENGINE();
    put_calls();
    ordinary = calls(false, "");
    browsers = calls(true, "");
    assert_differ_in(ordinary, browsers, more);
}

/* With all capabilities of a namespace of its own: what the kernel would let it do there,
 * the table refuses. */
static void within_its_namespace_a_guest_gets_no_further(void **state)
{
    static const char *const more[] = { "chroot", "unshare user", "clone user",
                                        "clone pid", "clone with high bits", NULL };
    NACRE_AUTO(nacre_heap_guard) char *ordinary = NULL, *browsers = NULL;

    NEEDS_ENGINE();
    put_calls();
    ordinary = calls(false, "");
    browsers = calls(true, "unshare -Ur");
    assert_differ_in(ordinary, browsers, more);
    assert_true(jail_exits(&jail, "unshare -U -m true", 1));
    assert_true(jail_exits(&jail, "unshare -U -n true", 1));
    jail.plan.container.user_namespaces = false;
    assert_true(jail_exits(&jail, "unshare -U true", 1));
}

/* ---- somebody who dials ---- */

static struct {
    int sends; /* the other end of dial_fd */
    _Atomic int cancelled;
    pthread_t thread;
    bool runs;
} caller = { .sends = -1 };

/* Is it all there?  Chromium's server closes no connection. */
static bool is_whole(const char *answer)
{
    const char *body = strstr(answer, "\r\n\r\n");
    const char *length = strcasestr(answer, "\r\nContent-Length:");

    return body && length && strlen(body + 4) >= strtoul(length + 17, NULL, 10);
}

/* What a page of the sandbox's says; false when nobody answers. */
static bool ask(uint16_t port, const char *method, const char *path, char *ret_answer,
                size_t size)
{
    NACRE_AUTO(nacre_fd_guard) int fd = dials_open(caller.sends, port);
    struct pollfd ready = { .fd = fd, .events = POLLIN };
    char text[256];
    size_t used = 0;
    ssize_t got = 1;

    (void)snprintf(text, sizeof(text),
                   "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n\r\n",
                   method, path, port);
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
    ret_answer[0] = '\0';
    while (got > 0 && used < size - 1 && !is_whole(ret_answer) &&
           poll(&ready, 1, 1000) > 0) {
        got = recv(fd, ret_answer + used, size - 1 - used, 0);
        used += got > 0 ? (size_t)got : 0;
        ret_answer[used] = '\0';
    }
    return strncmp(ret_answer, "HTTP/1.1 200", 12) == 0 ||
           strncmp(ret_answer, "HTTP/1.0 200", 12) == 0;
}

static bool answers(uint16_t port, const char *path, const char *text)
{
    uint64_t until = nacre_clock_ns() + PATIENCE_MS * NACRE_NS_PER_MS;
    const struct timespec pause = { .tv_nsec = 50000000 };
    char answer[16384] = "";

    while (nacre_clock_ns() < until) {
        if (ask(port, "GET", path, answer, sizeof(answer)) && strstr(answer, text))
            return true;
        (void)nanosleep(&pause, NULL);
    }
    print_message("%s says: %s\n", path, answer);
    return false;
}

static void *run_browser(void *how)
{
    if (jail_run(&jail, how) != NACRE_OK)
        print_message("%s\n", jail.err.text);
    return NULL;
}

static struct nacre_egress_host allowed[] = { { .name = (char *)"allowed.test" } };

/* The plan of a browser, with a door. */
static int enter(void **state)
{
    static char tmp[] = "/tmp:size=512m,mode=1777", image[] = NACRE_BROWSER_IMAGE;
    static char *tmpfs[] = { tmp, NULL };
    struct nacre_error err;
    int pair[2];

    fake_doors = (struct fake_doors){ 0 };
    if (engine_enter(state) != 0 || !observer)
        return observer ? -1 : 0;
    allowed[0].way = NACRE_WAY_TUNNEL;
    jail.plan.egress = (struct nacre_egress){ .mode = NACRE_NETWORK_ALLOWLIST,
                                              .allowed = allowed, .allowed_count = 1,
                                              .way = NACRE_WAY_TUNNEL };
    jail.plan.container.image = image;
    jail.plan.container.tmpfs = tmpfs;
    jail.plan.container.user_namespaces = true;
    jail.plan.limits.memory_bytes_max = 2048 * MIB;
    jail.plan.limits.processes_max = 1024;
    jail.plan.limits.open_files_max = 4096;
    jail.plan.limits.wall_ms_max = 2 * PATIENCE_MS;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return -1;
    jail.request.dial_fd = pair[0];
    caller.sends = pair[1];
    caller.cancelled = 0;
    jail.request.cancelled = &caller.cancelled;
    return nacre_doors_new(NULL, &jail.options.doors, &err) == NACRE_OK ? 0 : -1;
}

static void start(const char *how)
{
    assert_int_equal(pthread_create(&caller.thread, NULL, run_browser,
                                    (void *)(uintptr_t)how), 0);
    caller.runs = true;
}

static void stop(void)
{
    if (!caller.runs)
        return;
    caller.runs = false;
    caller.cancelled = SIGTERM;
    (void)pthread_join(caller.thread, NULL);
}

static int leave(void **state)
{
    struct nacre_doors *doors = jail.options.doors;
    int result;

    if (!observer)
        return 0;
    stop();
    (void)close(jail.request.dial_fd);
    (void)close(caller.sends);
    result = engine_leave(state);
    nacre_doors_free(doors);
    return result;
}

#define IN_BROWSER(test) cmocka_unit_test_setup_teardown(test, enter, leave)

static bool has_image(void)
{
    NACRE_AUTO(dk_json_guard) json_t *image = NULL;
    struct nacre_error err;

    return observer && dk_image_inspect(observer, NACRE_BROWSER_IMAGE, SOON, &image,
                                        &err) == NACRE_OK;
}

#define NEEDS_BROWSER()    \
    do {                   \
        (void)state;       \
        if (!has_image())  \
            skip();        \
    } while (0)

/* ---- an observer ---- */

/* The one container that there is. */
static json_t *container(void)
{
    NACRE_AUTO(dk_json_guard) json_t *list = NULL;
    json_t *found = NULL;
    struct nacre_error err;
    char label[32];

    (void)snprintf(label, sizeof(label), DK_OWNER_LABEL "=%u", (unsigned)geteuid());
    if (dk_container_list(observer, label, SOON, &list, &err) != NACRE_OK ||
        json_array_size(list) != 1 ||
        dk_container_inspect(observer,
                             json_string_value(json_object_get(json_array_get(list, 0),
                                                               "Id")),
                             SOON, &found, &err) != NACRE_OK)
        fail_msg("%zu containers", json_array_size(list));
    return found;
}

static bool read_of(const char *pid, const char *name, char *ret_text, size_t size)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char path[300];
    ssize_t count;

    (void)snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    count = fd >= 0 ? read(fd, ret_text, size - 1) : -1;
    ret_text[count > 0 ? count : 0] = '\0';
    for (ssize_t i = 0; i + 1 < count; i++)
        if (ret_text[i] == '\0')
            ret_text[i] = ' ';
    return count > 0;
}

struct process {
    char pid[16], user[64], command[8192], status[4096], net[4096];
    int filters;
};

static bool look_at(const char *pid, const char *id, struct process *process)
{
    char group[4096], path[64];
    const char *filters;
    ssize_t count;

    if (!read_of(pid, "cgroup", group, sizeof(group)) || !strstr(group, id) ||
        !read_of(pid, "cmdline", process->command, sizeof(process->command)) ||
        !read_of(pid, "status", process->status, sizeof(process->status)) ||
        !read_of(pid, "net/dev", process->net, sizeof(process->net)))
        return false;
    (void)snprintf(process->pid, sizeof(process->pid), "%.15s", pid);
    (void)snprintf(path, sizeof(path), "/proc/%.15s/ns/user", pid);
    count = readlink(path, process->user, sizeof(process->user) - 1);
    process->user[count > 0 ? count : 0] = '\0';
    filters = strstr(process->status, "\nSeccomp_filters:");
    process->filters = filters ? atoi(filters + 17) : 0;
    return true;
}

/* How many processes of the container have `words` in their command line; one of them. */
static size_t processes(const json_t *of, const char *words, struct process *ret_process)
{
    const char *id = json_string_value(json_object_get(of, "Id"));
    DIR *all = opendir("/proc");
    const struct dirent *entry;
    struct process found;
    size_t count = 0;

    assert_non_null(all);
    while ((entry = readdir(all)) != NULL)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
            look_at(entry->d_name, id, &found) && strstr(found.command, words)) {
            *ret_process = found;
            count++;
        }
    (void)closedir(all);
    return count;
}

/* ---- Chromium ---- */

static void chromium_has_its_own_sandbox(const json_t *of)
{
    struct process browser, renderer, none;

    assert_int_equal(processes(of, "--no-sandbox", &none), 0);
    assert_true(processes(of, "chromium --headless", &browser) >= 1);
    assert_true(processes(of, "--type=renderer", &renderer) >= 1);
    assert_string_not_equal(browser.user, renderer.user);
    assert_non_null(strstr(renderer.status, "NoNewPrivs:\t1"));
    assert_non_null(strstr(renderer.status, "\nSeccomp:\t2"));
    assert_non_null(strstr(renderer.status, "CapEff:\t0000000000000000"));
    /* Ours and the engine's, and above them Chromium's. */
    assert_int_equal(browser.filters, 2);
    assert_true(renderer.filters > browser.filters);
}

static void nothing_is_published(const json_t *of)
{
    const json_t *host = json_object_get(of, "HostConfig");
    const json_t *network = json_object_get(of, "NetworkSettings");
    struct process browser;
    const char *line;

    assert_string_equal(json_string_value(json_object_get(host, "NetworkMode")), "none");
    assert_int_equal(json_object_size(json_object_get(host, "PortBindings")), 0);
    assert_int_equal(json_object_size(json_object_get(network, "Ports")), 0);
    assert_false(json_is_true(json_object_get(host, "PublishAllPorts")));
    assert_true(processes(of, "chromium --headless", &browser) >= 1);
    /* Two lines of words, and one interface. */
    line = strchr(strchr(browser.net, '\n') + 1, '\n') + 1;
    assert_non_null(strstr(line, "lo:"));
    assert_null(strchr(strchr(line, '\n') + 1, ':'));
}

static void chromium_answers_from_behind_its_walls(void **state)
{
    NACRE_AUTO(dk_json_guard) json_t *of = NULL;
    char answer[16384];
    int before;

    NEEDS_BROWSER();
    start("nacre-browser headless");
    assert_true(answers(NACRE_BROWSER_CDP_PORT, "/json/version", "\"Chrome/"));
    assert_true(answers(NACRE_BROWSER_CDP_PORT, "/json/list", "about:blank"));
    of = container();
    chromium_has_its_own_sandbox(of);
    nothing_is_published(of);

    /* A port that nobody listens to. */
    assert_false(ask(NACRE_BROWSER_NOVNC_PORT, "GET", "/", answer, sizeof(answer)));
    assert_string_equal(answer, "");

    /* What a page asks for comes to the door, its own loopback included. */
    before = fake_doors.connections;
    assert_true(ask(NACRE_BROWSER_CDP_PORT, "PUT", "/json/new?http://a.test/x", answer,
                    sizeof(answer)));
    for (int i = 0; i < 200 && fake_doors.connections == before; i++)
        (void)poll(NULL, 0, 50);
    assert_true(fake_doors.connections > before);
    before = fake_doors.connections;
    assert_true(ask(NACRE_BROWSER_CDP_PORT, "PUT",
                    "/json/new?http://127.0.0.1:9222/json/version", answer,
                    sizeof(answer)));
    for (int i = 0; i < 200 && fake_doors.connections == before; i++)
        (void)poll(NULL, 0, 50);
    assert_true(fake_doors.connections > before);
    stop();
    assert_int_equal(jail.result->outcome, NACRE_OUTCOME_KILLED);
}

static void a_window_is_shown_by_novnc(void **state)
{
    NEEDS_BROWSER();
    start("nacre-browser novnc");
    assert_true(answers(NACRE_BROWSER_CDP_PORT, "/json/version", "\"Chrome/"));
    assert_true(answers(NACRE_BROWSER_NOVNC_PORT, "/vnc.html", "noVNC"));
}

/* ---- its owner's death ---- */

static void an_owner_that_is_killed_leaves_nothing(void **state)
{
    pid_t owner;
    int status;

    NEEDS_BROWSER();
    owner = fork();
    if (owner == 0) {
        (void)!jail_run(&jail, "nacre-browser headless");
        _exit(1);
    }
    assert_true(owner > 0);
    assert_true(answers(NACRE_BROWSER_CDP_PORT, "/json/version", "\"Chrome/"));
    assert_int_equal(engine_containers(), 1);
    assert_int_equal(kill(owner, SIGKILL), 0);
    assert_int_equal(waitpid(owner, &status, 0), owner);
    assert_true(engine_has(0));
    assert_true(jail_all_gone("--user-data-dir=/tmp/nacre-browser"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_ENGINE(a_browsers_table_lets_a_user_namespace_through_and_nothing_else),
        IN_ENGINE(within_its_namespace_a_guest_gets_no_further),
        IN_BROWSER(chromium_answers_from_behind_its_walls),
        IN_BROWSER(a_window_is_shown_by_novnc),
        IN_BROWSER(an_owner_that_is_killed_leaves_nothing),
    };

    return cmocka_run_group_tests_name("dk_browser", tests, engine_setup,
                                       engine_teardown);
}
