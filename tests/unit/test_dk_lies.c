/* The second read-back, against a real engine: between the first read-back and the start
 * something is changed behind nacre's back, and what the kernel says inside gives it
 * away.  No command runs then. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine_world.h"

/* What happens before the start; NULL: nothing. */
static void (*mischief)(const char *container);

enum nacre_status __real_dk_container_start(struct dk_client *client,
                                            const char *container, struct nt_wait wait,
                                            struct nacre_error *err);
enum nacre_status __wrap_dk_container_start(struct dk_client *client,
                                            const char *container, struct nt_wait wait,
                                            struct nacre_error *err);

enum nacre_status __wrap_dk_container_start(struct dk_client *client,
                                            const char *container, struct nt_wait wait,
                                            struct nacre_error *err)
{
    if (mischief)
        mischief(container);
    return __real_dk_container_start(client, container, wait, err);
}

static void shell(const char *command)
{
    char line[1024];

    (void)snprintf(line, sizeof(line), "cd %s && { %s; } >/dev/null 2>&1", jail.top,
                   command);
    assert_int_equal(system(line), 0);
}

/* An engine's own call to change a container's limits. */
static void update(const char *container, const char *body)
{
    char command[512];

    (void)snprintf(command, sizeof(command),
                   "curl -sf --unix-socket %s -H 'Content-Type: application/json' "
                   "-d '%s' http://engine/v1.41/containers/%s/update",
                   getenv("DOCKER_HOST") + strlen("unix://"), body, container);
    shell(command);
}

static void more_memory(const char *container)
{
    update(container, "{\"Memory\":1073741824,\"MemorySwap\":1073741824}");
}
static void more_swap(const char *container)
{
    update(container, "{\"MemorySwap\":-1}");
}
static void more_processes(const char *container)
{
    update(container, "{\"PidsLimit\":4000}");
}
static void more_shares(const char *container)
{
    update(container, "{\"CpuShares\":4096}");
}
static void more_processors(const char *container)
{
    update(container, "{\"CpusetCpus\":\"0-1\"}");
}
static void another_directory(const char *container)
{
    (void)container;
    shell("mv ws held && cp -a outside ws");
}
static void a_link_for_a_directory(const char *container)
{
    (void)container;
    shell("mv ws held && ln -s outside ws");
}
static void another_cover(const char *container)
{
    (void)container;
    shell("mv state/covers state/held && mkdir -m 700 state/covers && "
          "echo secret >state/covers/file && mkdir state/covers/dir");
}
static void another_init(const char *container)
{
    (void)container;
    shell("cd state/boxes && cp init-* x && chmod 555 x && mv x $(echo init-*)");
}

static const struct {
    void (*mischief)(const char *container);
    const char *undo;
    const char *named; /* in the sentence */
    bool not_gvisor;   /* it has none of it, or knows init by its words alone */
} lies[] = {
    { more_memory, NULL, "memory", false },
    { more_swap, NULL, "swap", false },
    { more_processes, NULL, "processes", true },
    { more_shares, NULL, "share", false },
    { more_processors, NULL, "processors", false },
    { another_directory, "rm -r ws && mv held ws", "/workspace", false },
    { a_link_for_a_directory, "rm ws && mv held ws", "/workspace", false },
    { another_cover, "rm -r state/covers && mv state/held state/covers",
      "/workspace/file", false },
    { another_init, NULL, "/.nacre-init", true },
};

static void play_lies(void)
{
    bool gvisor = jail.plan.runtime == NACRE_RUNTIME_GVISOR;

    jail_mount(&jail, "/workspace", "ws", true, "file");
    jail.plan.limits.cpu_shares = 512;
    jail.plan.container.cpuset = (char[]){ "0" };
    mischief = NULL;
    assert_true(jail_exits(&jail, "echo ran >/workspace/ran", 0)); /* the control */
    shell("rm ws/ran");
    for (size_t i = 0; i < NACRE_COUNT(lies); i++) {
        if (gvisor && lies[i].not_gvisor)
            continue;
        mischief = lies[i].mischief;
        if (jail_run(&jail, "echo ran >/workspace/ran") != NACRE_ERR_UNAVAILABLE)
            fail_msg("lie %zu passed", i);
        if (!strstr(jail.err.text, lies[i].named))
            fail_msg("lie %zu: %s", i, jail.err.text);
        assert_int_equal(engine_containers(), 0);
        assert_false(jail_has(&jail, "outside/ran"));
        if (lies[i].undo)
            shell(lies[i].undo);
        assert_false(jail_has(&jail, "ws/ran"));
        assert_true(jail_holds(&jail, "ws/file", "inside"));
    }
    mischief = NULL;
    shell("! ls -A ws outside | grep nonce");
}

static void what_changed_behind_our_back_is_seen_before_a_command_runs(void **state)
{
    NEEDS_ENGINE();
    play_lies();
}

/* The tests' engine has the runtime where this is installed. */
static bool has_runsc(void)
{
    return system("command -v runsc >/dev/null 2>&1") == 0;
}

static void with_gvisor_it_is_seen_on_the_host_and_by_a_file_in_the_bind(void **state)
{
    NEEDS_ENGINE();
    if (!has_runsc())
        skip();
    jail.plan.runtime = NACRE_RUNTIME_GVISOR;
    play_lies();
}

static void the_container_of_a_setup_command_is_read_back_too(void **state)
{
    static const struct {
        void (*mischief)(const char *container);
        const char *named;
    } rows[] = { { more_processes, "processes" }, { another_init, "/dev/.nacre-init" } };
    char command[64];

    NEEDS_ENGINE();
    (void)snprintf(command, sizeof(command), "echo ran >/etc/ran; : %d", (int)getpid());
    jail.plan.container.setup_command = command;
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        mischief = rows[i].mischief;
        assert_int_equal(jail_run(&jail, "cat /etc/ran"), NACRE_ERR_UNAVAILABLE);
        if (!strstr(jail.err.text, "setup_command") ||
            !strstr(jail.err.text, rows[i].named))
            fail_msg("lie %zu: %s", i, jail.err.text);
        assert_int_equal(engine_containers(), 0);
    }
    mischief = NULL;
    assert_true(jail_exits(&jail, "cat /etc/ran", 0)); /* the control */
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        IN_ENGINE(what_changed_behind_our_back_is_seen_before_a_command_runs),
        IN_ENGINE(with_gvisor_it_is_seen_on_the_host_and_by_a_file_in_the_bind),
        IN_ENGINE(the_container_of_a_setup_command_is_read_back_too),
    };

    return cmocka_run_group_tests_name("dk_lies", tests, engine_setup, engine_teardown);
}
