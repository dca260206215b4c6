/* The container executor in a real engine: what a command may do, and what not, each with
 * an observer outside and the same call where it is allowed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#include "engine_world.h"

#define MIB (UINT64_C(1) << 20)

static bool fails_with(const char *text, const char *errors)
{
    const char *said;

    if (jail_run(&jail, text) != NACRE_OK || jail.result->exit_status == 0)
        return false;
    said = jail.result->errors.bytes ? jail.result->errors.bytes : "";
    if (!strstr(said, errors))
        print_message("said: %s\n", said);
    return strstr(said, errors) != NULL;
}

static void a_command_runs_as_an_ordinary_user_and_answers(void **state)
{
    NEEDS_ENGINE();
    assert_true(jail_exits(&jail, "id -u; id -G; echo no >&2; exit 3", 3));
    assert_true(jail_says(&jail, "1000\n1000\n"));
    assert_string_equal(jail.result->errors.bytes, "no\n");
    assert_int_equal(engine_containers(), 0);
}

static void mounts_are_the_directories_of_the_host(void **state)
{
    NEEDS_ENGINE();
    jail_mount(&jail, "/workspace", "ws", true, NULL);
    jail_mount(&jail, "/ro", "ro", false, NULL);
    jail_mount(&jail, "/private", NULL, true, NULL);
    assert_true(jail_exits(&jail,
                           "cat /workspace/file /ro/file; echo new >/workspace/new;"
                           "echo kept >/private/x; cat /private/x", 0));
    assert_true(jail_says(&jail, "insideinsidekept\n"));
    assert_true(jail_holds(&jail, "ws/new", "new\n"));
    assert_true(fails_with("echo new >/ro/new", "Read-only"));
    assert_false(jail_has(&jail, "ro/new"));
    assert_true(fails_with("echo new >/new", "Read-only"));
    assert_true(jail_holds(&jail, "outside/canary", "untouched"));
}

static void a_private_directory_that_is_read_only_stays_empty(void **state)
{
    NEEDS_ENGINE();
    jail_mount(&jail, "/private", NULL, false, NULL);
    assert_true(fails_with("chmod 777 /private; echo x >/private/x", "Read-only"));
}

static void a_full_mode_writes_to_the_containers_own_root(void **state)
{
    NEEDS_ENGINE();
    jail.plan.container.read_only_root = false;
    assert_true(jail_exits(&jail, "echo x >/workspace/x || echo x >/home/x || echo no; "
                                  "ls /", 0));
    jail.plan.container.user = (char[]){ "0:0" };
    assert_true(jail_exits(&jail, "echo x >/new && cat /new", 0));
    assert_true(jail_says(&jail, "x\n"));
}

static void there_is_no_network_but_loopback(void **state)
{
    NEEDS_ENGINE();
    assert_true(jail_exits(&jail, "ls /sys/class/net 2>/dev/null; tail -n +3 "
                                  "/proc/net/dev | cut -d: -f1 | tr -d ' '", 0));
    assert_true(jail_says(&jail, "lo\n"));
}

static void of_sys_there_is_its_own_cgroup_and_nothing_else(void **state)
{
    NEEDS_ENGINE();
    assert_true(jail_exits(&jail,
                           "ls /sys/class /sys/kernel /sys/devices | grep -v : | "
                           "tr -d '\\n'; cat /proc/keys; "
                           "ls /sys/fs/cgroup | grep -qE 'memory|pids' && echo own", 0));
    assert_true(jail_says(&jail, "own\n"));
}

/* ---- limits ---- */

static void memory_has_its_limit(void **state)
{
    static const char eat[] = "exec dd if=/dev/zero of=/dev/null bs=40M count=1";

    NEEDS_ENGINE();
    assert_true(jail_exits(&jail, eat, 0));
    jail.plan.limits.memory_bytes_max = 16 * MIB;
    assert_int_equal(jail_run(&jail, eat), NACRE_OK);
    assert_int_equal(jail.result->outcome, NACRE_OUTCOME_OUT_OF_MEMORY);
}

static void processes_have_their_limit(void **state)
{
    static const char many[] =
        "i=0; while [ $i -lt 6 ]; do sleep 3.217 & i=$((i+1)); done; echo all";

    NEEDS_ENGINE();
    assert_true(jail_exits(&jail, many, 0));
    assert_true(jail_says(&jail, "all\n"));
    jail.plan.limits.processes_max = 4;
    assert_int_equal(jail_run(&jail, many), NACRE_OK);
    assert_false(jail.result->exit_status == 0 && jail.result->output.bytes);
    /* The shell itself is one of them. */
    assert_true(jail_exits(&jail, "sleep 0.1 & sleep 0.1 & sleep 0.1 & wait", 0));
}

static void a_fork_bomb_ends_with_its_time(void **state)
{
    NEEDS_ENGINE();
    jail.plan.limits.wall_ms_max = 700;
    assert_int_equal(jail_run(&jail, "b() { b | b & }; b; sleep 51.2345"), NACRE_OK);
    assert_int_not_equal(jail.result->outcome, NACRE_OUTCOME_NONE);
    assert_int_equal(engine_containers(), 0);
    assert_true(jail_all_gone("51.2345"));
}

static void a_command_that_overruns_is_gone_in_two_seconds(void **state)
{
    uint64_t start = nacre_clock_ns();

    NEEDS_ENGINE();
    jail.plan.limits.wall_ms_max = 300;
    assert_int_equal(jail_run(&jail, "trap '' TERM INT; sleep 61.2345; sleep 61.2345"),
                     NACRE_OK);
    assert_int_equal(jail.result->outcome, NACRE_OUTCOME_TIMED_OUT);
    assert_true(nacre_clock_ns() - start < 10 * NACRE_NS_PER_S); /* of 61 */
    assert_int_equal(jail_processes("61.2345"), 0);
}

static void what_a_command_leaves_behind_is_killed(void **state)
{
    NEEDS_ENGINE();
    assert_true(jail_exits(&jail, "setsid sleep 71.2345 >/dev/null 2>&1 & exit 0", 0));
    assert_int_equal(jail_processes("71.2345"), 0);
}

static void a_flood_is_cut_at_the_byte(void **state)
{
    NEEDS_ENGINE();
    jail.plan.limits.output_bytes_max = 100000;
    assert_int_equal(jail_run(&jail, "yes; sleep 81.2345"), NACRE_OK);
    assert_int_equal(jail.result->outcome, NACRE_OUTCOME_OUTPUT_LIMIT);
    assert_int_equal(jail.result->output.size, 100000);
    assert_true(jail.result->output_cut);
    assert_int_equal(jail_processes("81.2345"), 0);
}

static void every_number_of_the_policy_holds_inside(void **state)
{
    char *limits[] = { (char[]){ "fsize=4096:8192" }, NULL };
    char *tmpfs[] = { (char[]){ "/run:size=1m,noexec" }, NULL };

    NEEDS_ENGINE();
    jail.plan.container.ulimits = limits;
    jail.plan.container.tmpfs = tmpfs;
    jail.plan.container.memory_swap_bytes = 100 * MIB;
    jail.plan.container.memory_reservation_bytes = 30 * MIB;
    jail.plan.container.cpus_nano = 1500000000;
    jail.plan.container.cpuset = (char[]){ "0" };
    jail.plan.limits.cpu_shares = 333;
    assert_true(jail_exits(&jail, "ulimit -f; ulimit -n; nproc; df -k /run | "
                                  "tr -s ' ' | tail -n 1 | cut -d' ' -f2; "
                                  "mount | grep -c 'on /run .*noexec'", 0));
    assert_true(jail_says(&jail, "8\n128\n1\n1024\n1\n"));
}

static void disk_is_bounded_or_refused(void **state)
{
    NEEDS_ENGINE();
    jail.plan.limits.scratch_bytes_max = 64 * MIB;
    jail.plan.container.disk_bytes = 20 * MIB;
    jail_mount(&jail, "/private", NULL, true, NULL);
    assert_true(fails_with("dd if=/dev/zero of=/private/x bs=1M count=10", "No space"));
    assert_true(jail_exits(&jail, "dd if=/dev/zero of=/private/x bs=1M count=3", 0));
    jail.plan.container.read_only_root = false;
    assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
    assert_string_equal(jail.err.rule, "container.disk");
    jail.plan.container.read_only_root = true;
    jail_mount(&jail, "/workspace", "ws", true, NULL);
    assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
    assert_string_equal(jail.err.rule, "container.disk");
    jail.plan.container.disk_bytes = 10 * MIB;
    jail.mounts[1].writable = false;
    assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
    assert_int_equal(engine_containers(), 0);
}

/* ---- privileges ---- */

static void blocked_calls_are_refused(void **state)
{
    char *blocked[] = { (char[]){ "mkdir" }, (char[]){ "mkdirat" }, NULL };

    NEEDS_ENGINE();
    assert_true(jail_exits(&jail, "mkdir /tmp/d", 0));
    jail.plan.container.blocked_syscalls = blocked;
    assert_true(fails_with("mkdir /tmp/d", "not permitted"));
}

static void calls_that_reach_out_are_refused(void **state)
{
    static const char *const calls[] = {
        "mount -t tmpfs x /tmp", "unshare -U true", "unshare -n true", "chroot / true",
        "mknod /tmp/d c 1 3", "hostname other", "dmesg", "swapon /tmp/x",
    };

    NEEDS_ENGINE();
    jail.plan.container.user = (char[]){ "0:0" };
    for (size_t i = 0; i < NACRE_COUNT(calls); i++) {
        assert_int_equal(jail_run(&jail, calls[i]), NACRE_OK);
        if (jail.result->exit_status == 0)
            fail_msg("%s worked", calls[i]);
    }
}

static void capabilities_are_in_force_for_user_0_alone(void **state)
{
    char *kept[] = { (char[]){ "CHOWN" }, NULL };
    static const char give[] = "touch /tmp/x; chown 5:5 /tmp/x";

    NEEDS_ENGINE();
    jail.plan.container.user = (char[]){ "0:0" };
    assert_true(fails_with(give, "not permitted"));
    jail.plan.container.keep_capabilities = kept;
    assert_true(jail_exits(&jail, give, 0));
    assert_true(jail_exits(&jail, "grep -E 'Cap(Prm|Eff|Bnd)' /proc/self/status | "
                                  "cut -f2 | uniq", 0));
    assert_true(jail_says(&jail, "0000000000000001\n"));
    jail.plan.container.user = NULL;
    assert_true(fails_with(give, "not permitted"));
}

static void no_environment_reaches_a_command_or_an_inspect(void **state)
{
    static const char *const environment[] = { "TOKEN=s3cr3t-value", NULL };

    NEEDS_ENGINE();
    jail_mount(&jail, "/workspace", "ws", true, NULL);
    assert_int_equal(setenv("OF_THE_HOST", "s3cr3t-host", 1), 0);
    jail.request.environment = environment;
    jail.plan.scope_key = (char[]){ "session:secret" };
    assert_true(jail_exits(&jail, "echo $TOKEN $OF_THE_HOST $HOME", 0));
    assert_true(jail_says(&jail, "s3cr3t-value /workspace\n"));
    {
        NACRE_AUTO(dk_json_guard) json_t *list = NULL;
        NACRE_AUTO(dk_json_guard) json_t *seen = NULL;
        NACRE_AUTO(nacre_heap_guard) char *text = NULL;
        struct nacre_error err;
        char label[32];

        (void)snprintf(label, sizeof(label), DK_OWNER_LABEL "=%u", (unsigned)geteuid());
        assert_int_equal(dk_container_list(observer, label, SOON, &list, &err), NACRE_OK);
        for (size_t i = 0; i < json_array_size(list); i++) {
            json_decref(seen);
            seen = NULL;
            assert_int_equal(
                dk_container_inspect(observer,
                                     json_string_value(json_object_get(
                                         json_array_get(list, i), "Id")),
                                     SOON, &seen, &err),
                NACRE_OK);
            free(text);
            text = json_dumps(seen, 0);
            assert_null(strstr(text, "s3cr3t"));
        }
    }
}

/* ---- denied paths ---- */

static void denied_paths_give_eacces_and_keep_their_place(void **state)
{
    NEEDS_ENGINE();
    jail_mount(&jail, "/workspace", "ws", true, "a/b/deep");
    jail_deny(&jail, "missing/x");
    assert_true(jail_exits(&jail, "cat /workspace/file; echo x >/workspace/a/beside", 0));
    assert_true(fails_with("cat /workspace/a/b/deep", "Permission denied"));
    assert_true(fails_with("echo x >/workspace/a/b/deep", "can't create"));
    assert_true(fails_with("ls /workspace/missing", "Permission denied"));
    assert_true(fails_with("mv /workspace/a /workspace/c", "busy"));
    assert_true(fails_with("mv /workspace/a/b /workspace/a/c", "busy"));
    assert_true(fails_with("rm -r /workspace/a/b/deep", "busy"));
    assert_true(jail_holds(&jail, "ws/a/b/deep", "deep inside"));
    assert_false(jail_has(&jail, "ws/missing")); /* the placeholder is gone */
}

static void denied_names_of_the_image_are_covered_where_they_are(void **state)
{
    char *denied[] = { (char[]){ "/etc/passwd" }, (char[]){ "/home" },
                              (char[]){ "/home/below" }, (char[]){ "/not/there" },
                              (char[]){ "/usr/bin/cat" } };

    NEEDS_ENGINE();
    assert_true(jail_exits(&jail, "read x </etc/passwd && ls /home && echo $x", 0));
    jail.plan.denied_root = denied;
    jail.plan.denied_root_count = 4;
    assert_true(fails_with("read x </etc/passwd", "Permission denied"));
    assert_true(fails_with("ls /home", "Permission denied"));
    assert_true(jail_exits(&jail, "ls /etc/group", 0));
    /* A link leads to the one program that this image has, the shell's too. */
    jail.plan.denied_root_count = 5;
    assert_int_not_equal(jail_run(&jail, "true"), NACRE_OK);
    assert_int_equal(engine_containers(), 0);
}

/* ---- what can't be ---- */

static void a_missing_image_names_the_command_that_makes_one(void **state)
{
    NEEDS_ENGINE();
    jail.plan.container.image = (char[]){ "nacre-test-missing:1" };
    assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(jail.err.text, "nacre image build"));
    assert_non_null(strstr(jail.err.text, "nacre-test-missing:1"));
}

static void a_workspace_that_the_user_cannot_write_is_an_error(void **state)
{
    char path[128];

    NEEDS_ENGINE();
    jail_mount(&jail, "/workspace", "ws", true, NULL);
    assert_int_equal(chown(jail_path(&jail, "ws", path), 0, 0), 0);
    assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_NOT_RUNNABLE);
    assert_string_equal(jail.err.path, "/workspace");
    assert_non_null(strstr(jail.err.fix, "chown 1000:1000"));
    assert_int_equal(engine_containers(), 0);
    assert_int_equal(chown(path, 1000, 1000), 0);
    assert_true(jail_exits(&jail, "true", 0));
}

static void system_directories_are_refused_by_what_they_really_are(void **state)
{
    static const char *const targets[] = { "/etc", "/", "/proc", "/run" };
    char path[128];

    NEEDS_ENGINE();
    jail_mount(&jail, "/m", "link", false, NULL);
    for (size_t i = 0; i < NACRE_COUNT(targets); i++) {
        (void)unlink(jail_path(&jail, "link", path));
        assert_int_equal(symlink(targets[i], path), 0);
        assert_int_equal(jail_run(&jail, "ls /m"), NACRE_ERR_NOT_RUNNABLE);
    }
    assert_int_equal(engine_containers(), 0);
}

/* Wherever it is: HOME says so, before the password file. */
static void the_callers_home_is_refused(void **state)
{
    const char *before = getenv("HOME");
    char path[128], home[128];

    NEEDS_ENGINE();
    (void)jail_path(&jail, "me", home);
    assert_int_equal(symlink(jail_path(&jail, "ro", path), home), 0);
    assert_int_equal(setenv("HOME", home, 1), 0);
    jail_mount(&jail, "/m", "ro", false, NULL);
    assert_int_equal(jail_run(&jail, "ls /m"), NACRE_ERR_NOT_RUNNABLE);
    assert_non_null(strstr(jail.err.text, "a home directory"));
    assert_int_equal(before ? setenv("HOME", before, 1) : unsetenv("HOME"), 0);
}

static void a_program_that_is_not_there_is_told_from_one_that_failed(void **state)
{
    NEEDS_ENGINE();
    assert_true(jail_exits(&jail, "exit 127", 127));
    jail.plan.directory = (char[]){ "/not/there" };
    assert_int_not_equal(jail_run(&jail, "true"), NACRE_OK);
}

static void cancelled_is_killed_and_nothing_stays(void **state)
{
    NEEDS_ENGINE();
    assert_true(jail_exits(&jail, "true", 0));
    jail.ops->cancel(jail.executor, 15);
    assert_int_equal(jail_run(&jail, "sleep 91.2345"), NACRE_OK);
    assert_int_equal(jail.result->outcome, NACRE_OUTCOME_KILLED);
    assert_int_equal(jail.result->signal, 15);
    assert_int_equal(engine_containers(), 0);
    jail.ops->cancel(jail.executor, 0);
    assert_true(jail_exits(&jail, "true", 0));
}

/* ---- the setup command ---- */

/* Every run of it leaves something else. */
static void a_setup_command_runs_once_and_its_result_is_kept(void **state)
{
    char random[64] = "cat /proc/sys/kernel/random/uuid >/etc/made", other[96];
    char first[64];

    NEEDS_ENGINE();
    jail_mount(&jail, "/workspace", "ws", true, NULL);
    jail.plan.container.setup_command = random;
    assert_true(jail_exits(&jail, "cat /etc/made", 0));
    (void)snprintf(first, sizeof(first), "%s", jail.result->output.bytes);
    assert_int_equal(strlen(first), 37);
    assert_true(jail_exits(&jail, "cat /etc/made", 0));
    assert_true(jail_says(&jail, first));
    (void)snprintf(other, sizeof(other), "%s; true", random);
    jail.plan.container.setup_command = other;
    assert_true(jail_exits(&jail, "cat /etc/made", 0));
    assert_string_not_equal(jail.result->output.bytes, first);
}

/* As `docker run` without options would have it, but for new privileges. */
static void a_setup_command_has_an_engines_capabilities_and_profile(void **state)
{
    char look[] = "umask 077; grep -E '^(Cap|NoNew|Seccomp:)' /proc/self/status >/etc/is;"
                  "chown 1000 /etc/is; mknod /etc/null c 1 3; mkdir /opt; touch /usr/new;"
                  "unshare -m true || echo no unshare >>/etc/is;"
                  "env | cut -d= -f1 | sort | tr '\\n' ' ' >>/etc/is; (sleep 98.7654 &)";

    NEEDS_ENGINE();
    jail.plan.container.setup_command = look;
    assert_true(jail_exits(&jail, "cat /etc/is; ls -d /etc/null /opt /usr/new", 0));
    assert_true(jail_says(&jail, "CapInh:\t0000000000000000\n"
                                 "CapPrm:\t00000000a80425fb\n"
                                 "CapEff:\t00000000a80425fb\n"
                                 "CapBnd:\t00000000a80425fb\n"
                                 "CapAmb:\t0000000000000000\n"
                                 "NoNewPrivs:\t1\nSeccomp:\t2\nno unshare\n"
                                 "HOME LANG PATH PWD SHLVL TERM "
                                 "/etc/null\n/opt\n/usr/new\n"));
    assert_int_equal(jail_processes("sleep 98.7654"), 0);
}

static void *end_the_run(void *data)
{
    while (jail_processes("sleep 97.6543") == 0)
        (void)usleep(10000);
    atomic_store((_Atomic int *)data, SIGTERM);
    return NULL;
}

static void a_setup_command_ends_with_its_run(void **state)
{
    static char sleeps[] = "sleep 97.6543";
    _Atomic int number = 0;
    pthread_t thread;

    NEEDS_ENGINE();
    jail.plan.container.setup_command = sleeps;
    jail.request.cancelled = &number;
    assert_int_equal(pthread_create(&thread, NULL, end_the_run, &number), 0);
    assert_int_equal(jail_run(&jail, "true"), NACRE_OK);
    (void)pthread_join(thread, NULL);
    assert_int_equal(jail.result->outcome, NACRE_OUTCOME_KILLED);
    assert_int_equal(jail.result->signal, SIGTERM);
    jail.request.cancelled = NULL;
    assert_true(jail_all_gone("sleep 97.6543"));
    assert_int_equal(engine_containers(), 0);
}

static void a_setup_command_is_root_without_workspace_or_network(void **state)
{
    char look[] = "id -u; ls /workspace; tail -n +3 /proc/net/dev | grep -vc lo:; exit 5";

    NEEDS_ENGINE();
    jail_mount(&jail, "/workspace", "ws", true, NULL);
    jail.plan.container.setup_command = look;
    assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
    assert_non_null(strstr(jail.err.text, "status 5, saying: 0\\x0a0\\x0a"));
}

/* In the engine's own tree; its pid lies beside its socket. */
static void in_engine(const char *command)
{
    char line[1024];

    (void)snprintf(line, sizeof(line),
                   "nsenter --target $(cat $(dirname %s)/pid) --mount -- %s %s/state",
                   getenv("DOCKER_HOST") + strlen("unix://"), command, jail.top);
    assert_int_equal(system(line), 0);
}

/* It stays for the next run; here others count what containers there are. */
static void remove_carrier(void)
{
    NACRE_AUTO(dk_json_guard) json_t *list = NULL;
    struct nacre_error err;

    assert_int_equal(dk_container_list(observer, "nacre.init", SOON, &list, &err),
                     NACRE_OK);
    assert_int_equal(json_array_size(list), 1);
    assert_int_equal(
        dk_container_remove(
            observer, json_string_value(json_object_get(json_array_get(list, 0), "Id")),
            SOON, &err),
        NACRE_OK);
}

/* Init is carried there, and nothing of it is in the image that is kept. */
static void a_setup_command_runs_where_nacres_files_are_not_seen(void **state)
{
    char command[128];

    NEEDS_ENGINE();
    if (geteuid() != 0)
        skip();
    (void)snprintf(command, sizeof(command), "id -u >/etc/ran; ls -A /dev; : %d",
                   (int)getpid());
    in_engine("mount -t tmpfs none");
    jail.plan.container.setup_command = command;
    (void)jail_exits(&jail, "cat /etc/ran; ls -d /dev/.nacre-init; id -u", 0);
    in_engine("umount");
    remove_carrier();
    assert_true(jail_says(&jail, "0\n1000\n"));
}

static void a_setup_command_that_fails_is_told_and_leaves_nothing(void **state)
{
    static char fails[] = "echo all is well; echo 'no such package' >&2; exit 4";

    NEEDS_ENGINE();
    jail.plan.container.setup_command = fails;
    for (int i = 0; i < 2; i++) { /* it is not taken for made */
        assert_int_equal(jail_run(&jail, "true"), NACRE_ERR_UNAVAILABLE);
        assert_non_null(strstr(jail.err.text, "setup_command"));
        assert_non_null(strstr(jail.err.text, "status 4"));
        assert_non_null(strstr(jail.err.text, "no such package"));
        assert_int_equal(engine_containers(), 0);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        IN_ENGINE(a_command_runs_as_an_ordinary_user_and_answers),
        IN_ENGINE(mounts_are_the_directories_of_the_host),
        IN_ENGINE(a_private_directory_that_is_read_only_stays_empty),
        IN_ENGINE(a_full_mode_writes_to_the_containers_own_root),
        IN_ENGINE(there_is_no_network_but_loopback),
        IN_ENGINE(of_sys_there_is_its_own_cgroup_and_nothing_else),
        IN_ENGINE(memory_has_its_limit),
        IN_ENGINE(processes_have_their_limit),
        IN_ENGINE(a_fork_bomb_ends_with_its_time),
        IN_ENGINE(a_command_that_overruns_is_gone_in_two_seconds),
        IN_ENGINE(what_a_command_leaves_behind_is_killed),
        IN_ENGINE(a_flood_is_cut_at_the_byte),
        IN_ENGINE(every_number_of_the_policy_holds_inside),
        IN_ENGINE(disk_is_bounded_or_refused),
        IN_ENGINE(blocked_calls_are_refused),
        IN_ENGINE(calls_that_reach_out_are_refused),
        IN_ENGINE(capabilities_are_in_force_for_user_0_alone),
        IN_ENGINE(no_environment_reaches_a_command_or_an_inspect),
        IN_ENGINE(denied_paths_give_eacces_and_keep_their_place),
        IN_ENGINE(denied_names_of_the_image_are_covered_where_they_are),
        IN_ENGINE(a_missing_image_names_the_command_that_makes_one),
        IN_ENGINE(a_workspace_that_the_user_cannot_write_is_an_error),
        IN_ENGINE(system_directories_are_refused_by_what_they_really_are),
        IN_ENGINE(the_callers_home_is_refused),
        IN_ENGINE(a_program_that_is_not_there_is_told_from_one_that_failed),
        IN_ENGINE(cancelled_is_killed_and_nothing_stays),
        IN_ENGINE(a_setup_command_runs_once_and_its_result_is_kept),
        IN_ENGINE(a_setup_command_has_an_engines_capabilities_and_profile),
        IN_ENGINE(a_setup_command_ends_with_its_run),
        IN_ENGINE(a_setup_command_is_root_without_workspace_or_network),
        IN_ENGINE(a_setup_command_runs_where_nacres_files_are_not_seen),
        IN_ENGINE(a_setup_command_that_fails_is_told_and_leaves_nothing),
    };

    return cmocka_run_group_tests_name("dk_executor", tests, engine_setup,
                                       engine_teardown);
}
