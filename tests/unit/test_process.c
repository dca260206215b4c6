/* Level process through its executor, with real sandboxes: what a guest is, sees and may
 * do.  Each as root (who is never root inside) and as an ordinary user. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "in_child.h"
#include "jail_world.h"
#include "nacre/clock.h"

static int runs(void *data)
{
    struct jail jail;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    CHILD_CHECK(jail_exits(&jail, "echo out; echo err >&2; exit 7", 7));
    CHILD_CHECK(jail_says(&jail, "out\n"));
    CHILD_CHECK(strcmp(jail.result->errors.bytes, "err\n") == 0);
    CHILD_CHECK(jail_run(&jail, "kill -TERM $$") == NACRE_OK);
    CHILD_CHECK(jail.result->outcome == NACRE_OUTCOME_KILLED &&
                jail.result->signal == SIGTERM);
    /* Nothing of one run is there in the next. */
    CHILD_CHECK(jail_exits(&jail, "touch /tmp/left", 0));
    CHILD_CHECK(jail_exits(&jail, "test ! -e /tmp/left", 0));
    jail_finish(&jail);
    return 0;
}

static void a_command_runs_and_tells_how_it_ended(void **state)
{
    (void)state;
    assert_true(jail_as_both(runs, NULL));
}

static int is_ordinary(void *data)
{
    struct jail jail;
    char expected[64];

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    (void)snprintf(expected, sizeof(expected), "%u\n",
                   geteuid() == 0 ? 1000 : (unsigned)geteuid());
    CHILD_CHECK(jail_exits(&jail, "id -u", 0) && jail_says(&jail, expected));
    CHILD_CHECK(jail_exits(&jail,
                           "grep -E 'Cap|NoNewPrivs|Seccomp:' /proc/self/status | "
                           "cut -f2 | sort -u | tr '\\n' ' '",
                           0));
    CHILD_CHECK(jail_says(&jail, "0000000000000000 1 2 "));
    CHILD_CHECK(jail_exits(&jail, "cat /proc/self/uid_map | tr -s ' '", 0));
    (void)snprintf(expected, sizeof(expected), " %u %u 1\n",
                   geteuid() == 0 ? 1000 : (unsigned)geteuid(),
                   geteuid() == 0 ? 1000 : (unsigned)geteuid());
    CHILD_CHECK(jail_says(&jail, expected));
    CHILD_CHECK(jail_exits(&jail, "hostname; cat /proc/1/comm", 0));
    CHILD_CHECK(jail_says(&jail, "nacre\nnacre-init\n"));
    jail_finish(&jail);
    return 0;
}

static void the_guest_is_one_ordinary_user_without_capabilities(void **state)
{
    (void)state;
    assert_true(jail_as_both(is_ordinary, NULL));
}

static int begins_anew(void *data)
{
    static const uint64_t ignore[4] = { (uintptr_t)SIG_IGN };
    sigset_t all;
    struct jail jail;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    /* By the kernel's call: also those that the C library keeps to itself.  Without
     * children that end unseen. */
    for (int number = 1; number <= SIGRTMAX; number++)
        if (number != SIGCHLD)
            (void)syscall(SYS_rt_sigaction, number, ignore, NULL, sizeof(uint64_t));
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    CHILD_CHECK(jail_exits(&jail, "grep -E 'Sig(Ign|Blk)' /proc/self/status", 0));
    CHILD_CHECK(jail_says(&jail, "SigBlk:\t0000000000000000\n"
                                 "SigIgn:\t0000000000000000\n"));
    jail_finish(&jail);
    return 0;
}

static void no_signal_that_the_caller_ignores_is_ignored_by_the_guest(void **state)
{
    (void)state;
    assert_true(jail_as_both(begins_anew, NULL));
}

static int sees_root(void *data)
{
    struct jail jail;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    CHILD_CHECK(jail_exits(&jail,
                           "for d in home root var sys run srv boot opt mnt; do "
                           "test ! -e /$d || exit 1; done",
                           0));
    CHILD_CHECK(jail_exits(&jail, "ls /dev | tr '\\n' ' '", 0));
    CHILD_CHECK(jail_says(&jail, "fd full null random shm stderr stdin stdout tty "
                                 "urandom zero "));
    CHILD_CHECK(jail_exits(&jail, "test -x /bin/sh -a -r /etc/ld.so.cache", 0));
    CHILD_CHECK(jail_exits(&jail, "wc -l </etc/passwd; id -un; cat /etc/resolv.conf", 0));
    CHILD_CHECK(jail_says(&jail, "1\nnacre\n"));
    CHILD_CHECK(jail_exits(&jail, "echo x >/dev/null; head -c3 /dev/zero | wc -c", 0));
    /* Writable: /tmp and /dev/shm, and nothing else. */
    CHILD_CHECK(jail_exits(&jail,
                           "for d in / /etc /usr /usr/bin /dev /proc /proc/sys; do "
                           "touch $d/x 2>/dev/null && exit 1; done; "
                           "touch /tmp/x /dev/shm/x",
                           0));
    CHILD_CHECK(jail_exits(&jail, "chmod 777 / /etc 2>/dev/null", 1));
    jail_finish(&jail);
    return 0;
}

static void the_root_has_what_the_table_says_and_is_read_only(void **state)
{
    (void)state;
    assert_true(jail_as_both(sees_root, NULL));
}

static int sees_mounts(void *data)
{
    struct jail jail;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    jail_mount(&jail, "/in/ner", "ro", false, NULL); /* out of order on purpose */
    jail_mount(&jail, "/in", NULL, true, NULL);
    jail_mount(&jail, "/workspace", "ws", true, NULL);
    jail_mount(&jail, "/ro", "ro", false, NULL);
    CHILD_CHECK(jail_exits(&jail, "pwd; cat file; echo \" $HOME\"", 0));
    CHILD_CHECK(jail_says(&jail, "/workspace\ninside /workspace\n"));
    CHILD_CHECK(jail_exits(&jail, "printf made >new && cat /in/ner/a/b/deep", 0));
    CHILD_CHECK(jail_holds(&jail, "ws/new", "made"));
    CHILD_CHECK(jail_exits(&jail, "touch /in/own", 0));
    CHILD_CHECK(jail_exits(&jail,
                           "exec 2>/dev/null; for f in /ro /in/ner; do "
                           "echo x >$f/file && exit 1; rm -f $f/file && exit 2; "
                           "mkdir $f/d && exit 3; done; true",
                           0));
    CHILD_CHECK(jail_holds(&jail, "ro/file", "inside"));
    /* A set-user-id file or a device is worth nothing in a mount. */
    CHILD_CHECK(jail_exits(&jail,
                           "grep -c ' /workspace rw,nosuid,nodev' /proc/self/mountinfo",
                           0));
    CHILD_CHECK(jail_exits(&jail, "cat /workspace/../outside/canary", 1));
    jail_finish(&jail);
    return 0;
}

static void mounts_are_as_planned_wherever_they_lie(void **state)
{
    (void)state;
    assert_true(jail_as_both(sees_mounts, NULL));
}

/* Names that planning has let through, and that lead elsewhere. */
static int is_really_elsewhere(void *data)
{
    static const struct {
        const char *name, *target; /* the link's, below the world or absolute */
        bool writable;
    } rows[] = {
        { "to-etc", "/etc", false },          { "to-run", "/run", false },
        { "to-root", "/", false },            { "to-keys", "outside/.ssh", false },
        { "below", "outside/.ssh/a", false }, { "to-home", "outside", false },
        { "to-usr", "/usr", true },           { "to-config", "ro/.config", false },
    };
    char path[128], target[256];
    struct jail jail;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    CHILD_CHECK(mkdir(jail_path(&jail, "outside/.ssh", path), 0755) == 0 &&
                mkdir(jail_path(&jail, "outside/.ssh/a", path), 0755) == 0 &&
                mkdir(jail_path(&jail, "ro/.config", path), 0755) == 0 &&
                mkdir(jail_path(&jail, "ro/.config/gcloud", path), 0755) == 0 &&
                mkdir(jail_path(&jail, "ws/.config", path), 0755) == 0 &&
                mkdir(jail_path(&jail, "outside/home", path), 0755) == 0 &&
                setenv("HOME", path, 1) == 0);
    for (size_t i = 0; i < NACRE_COUNT(rows); i++) {
        (void)snprintf(target, sizeof(target), "%s%s%s",
                       rows[i].target[0] == '/' ? "" : jail.top,
                       rows[i].target[0] == '/' ? "" : "/", rows[i].target);
        CHILD_CHECK(symlink(target, jail_path(&jail, rows[i].name, path)) == 0);
        jail.plan.mount_count = 0;
        jail_mount(&jail, "/w", rows[i].name, rows[i].writable, NULL);
        if (jail_run(&jail, "ls /w") != NACRE_ERR_NOT_RUNNABLE ||
            !strstr(jail.err.text, " is really ")) {
            dprintf(2, "%s: %s\n", rows[i].name, jail.err.text);
            return CHILD_CHECK_FAILED;
        }
    }
    /* The control: any other directory may be reached by a link. */
    (void)snprintf(target, sizeof(target), "%s/ws", jail.top);
    CHILD_CHECK(symlink(target, jail_path(&jail, "to-ws", path)) == 0);
    jail.plan.mount_count = 0;
    jail_mount(&jail, "/w", "to-ws", true, NULL);
    CHILD_CHECK(jail_exits(&jail, "cat /w/file", 0) && jail_says(&jail, "inside"));
    /* And one of that name that has no keys in it. */
    jail.plan.mount_count = 0;
    jail_mount(&jail, "/w", "ws/.config", false, NULL);
    CHILD_CHECK(jail_exits(&jail, "ls /w", 0) && jail_says(&jail, ""));
    jail_finish(&jail);
    return 0;
}

static void a_link_to_what_no_sandbox_may_see_is_no_mount(void **state)
{
    (void)state;
    assert_true(jail_as_both(is_really_elsewhere, NULL));
}

/* What an earlier guest may have left where another mount goes. */
static int has_link_on_the_way(void *data)
{
    static const char *const links[] = { "ws/to", "ws/to-usr" };
    char path[128];
    struct jail jail;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    CHILD_CHECK(symlink("a", jail_path(&jail, links[0], path)) == 0 &&
                symlink("/usr", jail_path(&jail, links[1], path)) == 0);
    jail_mount(&jail, "/w", "ws", true, NULL);
    jail_mount(&jail, "/w/a/b", "ro", false, NULL); /* the control */
    CHILD_CHECK(jail_exits(&jail, "cat /w/a/b/file", 0) && jail_says(&jail, "inside"));
    jail.plan.mount_count = 1;
    jail_mount(&jail, "/w/to/b", "ro", false, NULL);
    CHILD_CHECK(jail_run(&jail, "true") == NACRE_ERR_UNAVAILABLE);
    jail.plan.mount_count = 1;
    jail_mount(&jail, "/w/to-usr/bin", "ro", false, NULL);
    CHILD_CHECK(jail_run(&jail, "true") == NACRE_ERR_UNAVAILABLE);
    CHILD_CHECK(strstr(jail.err.text, "w/to-usr/bin") != NULL);
    jail_finish(&jail);
    return 0;
}

static void a_link_leads_no_mount_over_another_part_of_the_sandbox(void **state)
{
    (void)state;
    assert_true(jail_as_both(has_link_on_the_way, NULL));
}

static int sees_full(void *data)
{
    struct jail jail;
    char text[512];

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    jail.plan.full_tree = true;
    jail_mount(&jail, "/", "/", true, NULL);
    (void)snprintf(text, sizeof(text), "printf made >%s/ws/new", jail.top);
    CHILD_CHECK(jail_exits(&jail, text, 0) && jail_holds(&jail, "ws/new", "made"));
    CHILD_CHECK(jail_exits(&jail, "ls /sys /run 2>/dev/null", 2));
    CHILD_CHECK(jail_exits(&jail, "ls /dev | grep -c -v -E "
                                  "'^(fd|full|null|random|shm|std.*|tty|urandom|zero)$'",
                           1));
    CHILD_CHECK(jail_exits(&jail, "test -e /proc/1/comm && ls -d /proc/[0-9]* | wc -l",
                           0));
    CHILD_CHECK(atoi(jail.result->output.bytes) < 10);
    jail_finish(&jail);
    return 0;
}

static void mode_full_shows_the_hosts_tree_less_the_kernels(void **state)
{
    (void)state;
    assert_true(jail_as_both(sees_full, NULL));
}

/* Of /proc, /sys, /dev and /run the sandbox has its own, whatever is denied there. */
static int is_denied_in_full(void *data)
{
    static const char *const kernels[] = { "proc", "proc/kcore", "sys/kernel", "dev/kmsg",
                                           "run/none/such" };
    char denied[128];
    struct jail jail;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    jail.plan.full_tree = true;
    jail_mount(&jail, "/", "/", true, NULL);
    (void)snprintf(denied, sizeof(denied), "cat %s/ws/file", jail.top);
    CHILD_CHECK(jail_exits(&jail, denied, 0)); /* the control */
    for (size_t i = 0; i < NACRE_COUNT(kernels); i++)
        jail_deny(&jail, kernels[i]);
    jail_deny(&jail, jail_path(&jail, "ws/file", denied) + 1);
    (void)snprintf(denied, sizeof(denied), "cat %s/ws/file 2>/dev/null", jail.top);
    CHILD_CHECK(jail_exits(&jail, denied, 1));
    CHILD_CHECK(jail_exits(&jail, "test -e /proc/1/comm && echo x >/dev/null", 0));
    jail_finish(&jail);
    return 0;
}

static void mode_full_takes_denied_names_of_the_kernels_too(void **state)
{
    (void)state;
    assert_true(jail_as_both(is_denied_in_full, NULL));
}

/* ---- denied names ---- */

static int is_denied(void *data)
{
    struct jail jail;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    /* The control: without the denial each of these works. */
    jail_mount(&jail, "/workspace", "ws", true, NULL);
    CHILD_CHECK(jail_exits(&jail, "cat a/b/deep && mv a x && mv x a && touch b && rm b",
                           0));
    jail_deny(&jail, "a/b/deep");
    jail_deny(&jail, "missing/too");
    CHILD_CHECK(jail_exits(&jail, "cat a/b/deep 2>/dev/null", 1));
    CHILD_CHECK(jail_exits(&jail, "rm -f a/b/deep 2>/dev/null", 1));
    CHILD_CHECK(jail_exits(&jail, "echo x 2>/dev/null >a/b/deep", 2));
    CHILD_CHECK(jail_exits(&jail, "chmod 666 a/b/deep 2>/dev/null", 1));
    CHILD_CHECK(jail_exits(&jail, "mv a x 2>/dev/null", 1));
    CHILD_CHECK(jail_exits(&jail, "mv a/b x 2>/dev/null", 1));
    CHILD_CHECK(jail_exits(&jail, "ln a/b/deep x 2>/dev/null", 1));
    CHILD_CHECK(jail_exits(&jail, "mkdir -p missing/too 2>/dev/null", 1));
    CHILD_CHECK(jail_exits(&jail, "mv missing x 2>/dev/null", 1));
    CHILD_CHECK(jail_exits(&jail, "touch a/b/beside && cat file", 0));
    CHILD_CHECK(jail_holds(&jail, "ws/a/b/deep", "deep inside"));
    CHILD_CHECK(!jail_has(&jail, "ws/missing")); /* the placeholder is gone again */
    jail_finish(&jail);
    return 0;
}

static void denied_names_are_covered_and_their_ancestors_held(void **state)
{
    (void)state;
    assert_true(jail_as_both(is_denied, NULL));
}

/* To root's sandboxes, which are not root nor in root's group, it is closed; to others'
 * it is their own. */
static int is_denied_where_it_is_closed(void *data)
{
    const gid_t roots = 0;
    char path[128];
    struct jail jail;

    (void)data;
    CHILD_CHECK(geteuid() != 0 || setgroups(1, &roots) == 0);
    jail_prepare(&jail, &nacre_process_executor);
    CHILD_CHECK(mkdir(jail_path(&jail, "ws/closed", path), 0750) == 0);
    CHILD_CHECK(mkdir(jail_path(&jail, "ws/closed/in", path), 0755) == 0);
    jail_mount(&jail, "/workspace", "ws", true, "closed/in");
    jail_deny(&jail, "closed/missing/too");
    CHILD_CHECK(jail_exits(&jail, "cat file && touch beside", 0));
    CHILD_CHECK(jail_exits(&jail, "ls closed/in 2>/dev/null", 2));
    CHILD_CHECK(jail_exits(&jail, "mv closed x 2>/dev/null", 1));
    CHILD_CHECK(jail_has(&jail, "ws/closed/in") && !jail_has(&jail, "ws/closed/missing"));
    jail_finish(&jail);
    return 0;
}

static void a_denied_name_in_a_directory_closed_to_the_guest_is_covered(void **state)
{
    (void)state;
    assert_true(jail_as_both(is_denied_where_it_is_closed, NULL));
}

static int is_denied_in_nested(void *data)
{
    char *covered = (char *)"a/b";
    struct jail jail;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    jail_mount(&jail, "/w", "ws", true, NULL);
    jail_mount(&jail, "/w/a/b", "ro", true, NULL);
    jail.mounts[0].covered = &covered;
    jail.mounts[0].covered_count = 1;
    /* The control. */
    CHILD_CHECK(jail_exits(&jail, "cat /w/a/b/file && mv /w/a /w/x && mv /w/x /w/a", 0));
    jail_deny(&jail, "file");
    jail.plan.mount_count = 1;
    jail_deny(&jail, "a/b/file"); /* as planning does: of every mount above it */
    jail.plan.mount_count = 2;
    CHILD_CHECK(jail_exits(&jail, "cat /w/a/b/file 2>/dev/null", 1));
    CHILD_CHECK(jail_exits(&jail, "mv /w/a /w/x 2>/dev/null", 1));
    CHILD_CHECK(jail_exits(&jail, "touch /w/a/b/beside && test -d /w/a/b/a", 0));
    CHILD_CHECK(jail_holds(&jail, "ro/file", "inside") && jail_has(&jail, "ro/beside"));
    CHILD_CHECK(!jail_has(&jail, "ws/a/b/beside") && !jail_has(&jail, "ws/a/b/file"));
    jail.mounts[0].covered_count = 0;
    jail_finish(&jail);
    return 0;
}

static void denied_names_of_a_mount_within_a_mount_are_covered(void **state)
{
    (void)state;
    assert_true(jail_as_both(is_denied_in_nested, NULL));
}

static int is_denied_in_private(void *data)
{
    struct jail jail;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    jail_mount(&jail, "/workspace", NULL, true, "a/b/secret");
    CHILD_CHECK(jail_exits(&jail, "echo x 2>/dev/null >a/b/secret", 2));
    CHILD_CHECK(jail_exits(&jail, "mv a x 2>/dev/null", 1));
    CHILD_CHECK(jail_exits(&jail, "rmdir a/b/secret 2>/dev/null", 1));
    CHILD_CHECK(jail_exits(&jail, "echo x >a/b/other", 0));
    jail_deny(&jail, "a/b");
    CHILD_CHECK(jail_exits(&jail, "echo x 2>/dev/null >a/b/other", 2));
    jail_finish(&jail);
    return 0;
}

static void denied_names_of_a_private_mount_can_not_be_made(void **state)
{
    (void)state;
    assert_true(jail_as_both(is_denied_in_private, NULL));
}

static void *replace_later(void *data)
{
    const struct jail *jail = data;
    const struct timespec pause = { .tv_nsec = 300000000 };
    char from[128], to[128];

    (void)nanosleep(&pause, NULL);
    (void)rename(jail_path(jail, "outside/canary", from),
                 jail_path(jail, "ws/a/b/deep", to));
    return NULL;
}

static int is_disturbed(void *data)
{
    struct jail jail;
    pthread_t thread;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    jail_mount(&jail, "/workspace", "ws", true, "a/b/deep");
    CHILD_CHECK(pthread_create(&thread, NULL, replace_later, &jail) == 0);
    CHILD_CHECK(jail_run(&jail, "sleep 15; cat a/b/deep") == NACRE_OK);
    CHILD_CHECK(pthread_join(thread, NULL) == 0);
    CHILD_CHECK(jail.result->outcome == NACRE_OUTCOME_KILLED);
    CHILD_CHECK(strstr(jail.result->reason, "deep") != NULL);
    CHILD_CHECK(jail.result->output.size == 0);
    jail_finish(&jail);
    return 0;
}

static void a_denied_file_that_the_host_replaces_ends_the_command(void **state)
{
    (void)state;
    assert_true(jail_as_both(is_disturbed, NULL));
}

/* ---- network, environment, owner ---- */

static int is_offline(void *data)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof(address);
    int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char inside[128], outside[160];
    struct jail jail;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    CHILD_CHECK(bind(door, (struct sockaddr *)&address, size) == 0);
    CHILD_CHECK(listen(door, 4) == 0);
    CHILD_CHECK(getsockname(door, (struct sockaddr *)&address, &size) == 0);
    (void)snprintf(inside, sizeof(inside),
                   "bash -c 'exec 3<>/dev/tcp/127.0.0.1/%d' 2>/dev/null",
                   ntohs(address.sin_port));
    (void)snprintf(outside, sizeof(outside), "exec %s", inside);
    CHILD_CHECK(system(outside) == 0);
    CHILD_CHECK(jail_exits(&jail, inside, 1));
    CHILD_CHECK(jail_exits(&jail, "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '",
                           0));
    CHILD_CHECK(jail_says(&jail, "lo\n"));
    CHILD_CHECK(jail_exits(&jail, "bash -c 'echo >/dev/udp/127.0.0.1/9'", 0));
    (void)close(door);
    jail_finish(&jail);
    return 0;
}

static void the_network_is_empty_but_for_its_own_loopback(void **state)
{
    (void)state;
    assert_true(jail_as_both(is_offline, NULL));
}

static int has_clean_environment(void *data)
{
    struct jail jail;

    (void)data;
    CHILD_CHECK(setenv("NACRE_TEST_SECRET", "hush", 1) == 0);
    jail_prepare(&jail, &nacre_process_executor);
    jail.request.environment = (const char *const[]){ "MINE=1", "LANG=de", NULL };
    CHILD_CHECK(jail_exits(&jail, "env | grep -v ^PWD | sort | tr '\\n' ' '", 0));
    CHILD_CHECK(jail_says(&jail, "HOME=/tmp LANG=de LOGNAME=nacre MINE=1 "
                                 "PATH=/usr/local/bin:/usr/bin:/bin TERM=dumb "
                                 "TMPDIR=/tmp USER=nacre "));
    CHILD_CHECK(jail_exits(&jail, "grep -s hush /proc/1/environ", 2));
    jail_mount(&jail, "/workspace", "ws", true, NULL);
    jail.request.environment = (const char *const[]){ "LD_PRELOAD=/tmp/x.so", NULL };
    CHILD_CHECK(jail_run(&jail, "touch ran") == NACRE_ERR_DENIED);
    jail.request.environment = (const char *const[]){ "novalue", NULL };
    CHILD_CHECK(jail_run(&jail, "touch ran") == NACRE_ERR_USAGE);
    CHILD_CHECK(!jail_has(&jail, "ws/ran"));
    jail_finish(&jail);
    return 0;
}

static void the_environment_is_clean_and_what_changes_programs_is_refused(void **state)
{
    (void)state;
    assert_true(jail_as_both(has_clean_environment, NULL));
}

static int refuses_workspace(void *data)
{
    struct jail jail;
    char path[128];

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    CHILD_CHECK(chown(jail_path(&jail, "ws", path), 0, 0) == 0);
    jail_mount(&jail, "/workspace", "ws", true, NULL);
    CHILD_CHECK(jail_run(&jail, "touch ran") == NACRE_ERR_NOT_RUNNABLE);
    CHILD_CHECK(strstr(jail.err.text, "/workspace") && strstr(jail.err.text, "1000"));
    jail.mounts[0].writable = false;
    CHILD_CHECK(jail_exits(&jail, "cat file", 0));
    jail_finish(&jail);
    return 0;
}

static void a_workspace_that_roots_guest_can_not_write_is_an_error(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(in_child(refuses_workspace, NULL), 0);
}

static void *cancel_later(void *data)
{
    const struct timespec pause = { .tv_nsec = 200000000 };
    const struct jail *jail = data;

    (void)nanosleep(&pause, NULL);
    jail->ops->cancel(jail->executor, SIGINT);
    return NULL;
}

static int is_cancelled(void *data)
{
    struct jail jail;
    pthread_t thread;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    CHILD_CHECK(jail_open(&jail) == NACRE_OK);
    CHILD_CHECK(pthread_create(&thread, NULL, cancel_later, &jail) == 0);
    CHILD_CHECK(jail_run(&jail, "sleep 15.4321") == NACRE_OK);
    CHILD_CHECK(jail.result->outcome == NACRE_OUTCOME_KILLED &&
                jail.result->signal == SIGINT);
    CHILD_CHECK(pthread_join(thread, NULL) == 0);
    CHILD_CHECK(jail_run(&jail, "true") == NACRE_OK);
    CHILD_CHECK(jail.result->signal == SIGINT);
    jail.ops->cancel(jail.executor, 0);
    CHILD_CHECK(jail_exits(&jail, "true", 0));
    CHILD_CHECK(jail_all_gone("sleep 15.4321"));
    jail_finish(&jail);
    return 0;
}

static void a_cancelled_run_ends_and_later_ones_too_until_it_is_taken_back(void **state)
{
    (void)state;
    assert_true(jail_as_both(is_cancelled, NULL));
}

static void *run_many(void *data)
{
    struct jail *jail = data;

    for (int i = 0; i < 4; i++) {
        struct jail own = *jail;

        own.result = NULL;
        if (!jail_exits(&own, "echo one", 0) || !jail_says(&own, "one\n"))
            return data;
        nacre_result_free(own.result);
    }
    return NULL;
}

static int runs_from_threads(void *data)
{
    struct jail jail;
    pthread_t threads[4];
    void *failed;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    CHILD_CHECK(jail_open(&jail) == NACRE_OK);
    for (size_t i = 0; i < NACRE_COUNT(threads); i++)
        CHILD_CHECK(pthread_create(&threads[i], NULL, run_many, &jail) == 0);
    for (size_t i = 0; i < NACRE_COUNT(threads); i++) {
        CHILD_CHECK(pthread_join(threads[i], &failed) == 0);
        CHILD_CHECK(failed == NULL);
    }
    jail_finish(&jail);
    return 0;
}

static void several_threads_run_at_once(void **state)
{
    (void)state;
    assert_true(jail_as_both(runs_from_threads, NULL));
}

/* One that has ended and waits to be reaped is no more than a number. */
static bool lives(int pid)
{
    char path[32], state = 'Z';
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    file = fopen(path, "re");
    if (file && fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        state = 'Z';
    if (file)
        (void)fclose(file);
    return state != 'Z';
}

/* How many children of this process live, after each was sent `number`.  A launcher that
 * is killed between making a child and telling of it leaves one that nobody knows to
 * reap: it has ended with its launcher. */
static int signal_children(int number)
{
    FILE *file = fopen("/proc/thread-self/children", "re");
    int count = 0, pid;

    while (file && fscanf(file, "%d", &pid) == 1) {
        count += lives(pid);
        (void)kill(pid, number);
    }
    if (file)
        (void)fclose(file);
    return count;
}

static int is_prepared(void *data)
{
    const struct timespec pause = { .tv_nsec = 10000000 };
    struct jail jail;

    (void)data;
    jail_prepare(&jail, &nacre_process_executor);
    jail.options.single_run = true;
    CHILD_CHECK(jail_open(&jail) == NACRE_OK);
    CHILD_CHECK(signal_children(0) > 0);
    CHILD_CHECK(jail_exits(&jail, "echo one", 0) && jail_says(&jail, "one\n"));
    /* What it promised is not held against it. */
    CHILD_CHECK(jail_exits(&jail, "echo two", 0) && jail_says(&jail, "two\n"));
    jail_finish(&jail);

    /* The launcher, and what it has made by then. */
    for (int i = 0; i < 4; i++) {
        jail_prepare(&jail, &nacre_process_executor);
        jail.options.single_run = true;
        CHILD_CHECK(jail_open(&jail) == NACRE_OK);
        for (int k = 0; k < i; k++)
            (void)nanosleep(&pause, NULL);
        CHILD_CHECK(signal_children(SIGKILL) > 0);
        CHILD_CHECK(jail_exits(&jail, "echo three", 0) && jail_says(&jail, "three\n"));
        jail_finish(&jail);
    }

    jail_prepare(&jail, &nacre_process_executor);
    jail.options.single_run = true;
    CHILD_CHECK(jail_open(&jail) == NACRE_OK);
    (void)nanosleep(&pause, NULL);
    jail_finish(&jail);
    CHILD_CHECK(signal_children(0) == 0);
    return 0;
}

static void what_was_made_beforehand_serves_or_is_replaced_and_never_stays(void **state)
{
    (void)state;
    assert_true(jail_as_both(is_prepared, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_command_runs_and_tells_how_it_ended),
        cmocka_unit_test(the_guest_is_one_ordinary_user_without_capabilities),
        cmocka_unit_test(no_signal_that_the_caller_ignores_is_ignored_by_the_guest),
        cmocka_unit_test(the_root_has_what_the_table_says_and_is_read_only),
        cmocka_unit_test(mounts_are_as_planned_wherever_they_lie),
        cmocka_unit_test(a_link_to_what_no_sandbox_may_see_is_no_mount),
        cmocka_unit_test(a_link_leads_no_mount_over_another_part_of_the_sandbox),
        cmocka_unit_test(mode_full_shows_the_hosts_tree_less_the_kernels),
        cmocka_unit_test(mode_full_takes_denied_names_of_the_kernels_too),
        cmocka_unit_test(denied_names_are_covered_and_their_ancestors_held),
        cmocka_unit_test(a_denied_name_in_a_directory_closed_to_the_guest_is_covered),
        cmocka_unit_test(denied_names_of_a_mount_within_a_mount_are_covered),
        cmocka_unit_test(denied_names_of_a_private_mount_can_not_be_made),
        cmocka_unit_test(a_denied_file_that_the_host_replaces_ends_the_command),
        cmocka_unit_test(the_network_is_empty_but_for_its_own_loopback),
        cmocka_unit_test(the_environment_is_clean_and_what_changes_programs_is_refused),
        cmocka_unit_test(a_workspace_that_roots_guest_can_not_write_is_an_error),
        cmocka_unit_test(a_cancelled_run_ends_and_later_ones_too_until_it_is_taken_back),
        cmocka_unit_test(several_threads_run_at_once),
        cmocka_unit_test(what_was_made_beforehand_serves_or_is_replaced_and_never_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
