/*
 * A sandbox's pid 1 until it is init.  Its capabilities are those of its own user
 * namespace and work on nothing outside it; what of the host's it may use it was given.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "init.h"
#include "launch.h"
#include "launch_ops.h"
#include "loopback.h"
#include "nacre/own.h"
#include "pass.h"
#include "seccomp.h"

/* Swaps the roots and lets the old one go, with all that is mounted there. */
static void change_root(const struct launch *launch)
{
    NACRE_AUTO(nacre_fd_guard) int old = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    if (old < 0 || fchdir(launch->root_fd) != 0 ||
        syscall(SYS_pivot_root, ".", ".") != 0 || fchdir(old) != 0 ||
        umount2(".", MNT_DETACH) != 0 || chdir("/") != 0)
        launch_fail("change the root", NULL);
    /* The whole filesystem, not the mount alone: no other mount of it could write. */
    if (launch->root_is_ours &&
        mount(NULL, "/", NULL,
              MS_REMOUNT | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
        launch_fail("make the root read-only", NULL);
}

/* Those that it has stay: no program that it could become would get any. */
static bool bound_capabilities(void)
{
    unsigned long cap = 0;

    while (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
        cap++;
    /* EINVAL: past the last one that this kernel knows. */
    return errno == EINVAL && cap > 0;
}

/* init needs none: what it starts has its own uid, and it is pid 1. */
static void drop_capabilities(void)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct none[2] = { 0 };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 ||
        syscall(SYS_capset, &header, none) != 0)
        launch_fail("drop the capabilities", NULL);
}

/* The commands' own walls, around pid 1 as well: they are inherited, for each command
 * they would cost 0.3 ms, and what pid 1 reports is seen from behind them. */
static void raise_walls(struct launch *launch)
{
    int ruleset = launch_ruleset(launch);
    struct nacre_error err;

    drop_capabilities();
    /* The second net; it is tied to the thread that spawned, and the channel's end is
     * the first. */
    if (!launch->order.loose && prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
        launch_fail("follow the owner", NULL);
    if (ruleset >= 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) != 0)
        launch_fail("use Landlock", NULL);
    if (nacre_seccomp_install(nacre_seccomp_program(NACRE_SECCOMP_NATIVE), &err) !=
        NACRE_OK) {
        errno = err.sys_errno;
        launch_fail("filter system calls", NULL);
    }
}

/* inotify is counted for each user of the host, across sandboxes: one guest could take
 * what the watch over denied paths needs.  Below this namespace it has its own, smaller
 * share. */
static bool limit_watches(const char *path, const char *text)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_WRONLY | O_CLOEXEC);

    return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/* What is the same for every sandbox of this user.  Nobody could be told of a failure
 * yet: it is kept. */
static const char *settle(const struct spec_head *head)
{
    if (setsid() < 0)
        return "make a session";
    if (!limit_watches("/proc/sys/user/max_inotify_instances", "16") ||
        !limit_watches("/proc/sys/user/max_inotify_watches", "8192"))
        return "limit inotify";
    if (sethostname(head->hostname, strlen(head->hostname)) != 0)
        return "set the host's name";
    if (!loopback_raise())
        return "raise the loopback interface";
    return bound_capabilities() ? NULL : "bound the capabilities";
}

/* Root's own id is not mapped, so this gives no capability away. */
static void become_user(const struct spec_head *head)
{
    gid_t gid = (gid_t)head->gid;
    uid_t uid = (uid_t)head->uid;

    if (setresgid(gid, gid, gid) != 0 || setresuid(uid, uid, uid) != 0)
        launch_fail("become the sandbox's user", NULL);
}

/* Ends without a word when there is nobody any more. */
static void receive_order(struct launch *launch, int socket)
{
    int fds[LAUNCH_FDS_MAX + 2];
    size_t count;

    if (pass_receive(socket, true, &launch->order, sizeof(launch->order), fds,
                     NACRE_COUNT(fds), &count) != sizeof(launch->order) || count < 2)
        _exit(1);
    launch_channel = fds[0];
    launch->fd_count = count - 2;
    memcpy(launch->fds, fds + 2, launch->fd_count * sizeof(int));
    launch_read_spec(launch, fds[1]);
}

_Noreturn void launch_inner(const struct spec_head *head, int socket,
                            enum launch_made made, int failure)
{
    static struct launch launch; /* and not a page of the program's file */
    struct init_place place = { .is_pid1 = true, .walls = true, .held = true,
                                .landlock_fd = -1 };
    const char *failed = failure ? "make the network and the mount namespace"
                                 : settle(head);
    int number = failure ? failure : errno;

    launch.root_fd = launch.scratch_fd = launch.names_fd = -1;
    launch.cover_dir_fd = launch.cover_file_fd = -1;
    receive_order(&launch, socket);
    errno = number;
    if (failed)
        launch_fail(failed, NULL);
    if (launch.head.uid != head->uid || launch.head.gid != head->gid) {
        errno = EBADMSG;
        launch_fail("be another user", NULL);
    }
    become_user(head);
    if (made == LAUNCH_MADE_SOME && unshare(CLONE_NEWNS) != 0)
        launch_fail("make a mount namespace", NULL);
    if (dup2(launch_channel, 0) < 0 || dup2(launch_channel, 1) < 0)
        launch_fail("take the channel", NULL);
    /* Whoever opens them has told already why there are none. */
    if (!trees_receive(socket, launch.trees, &launch.tree_count))
        _exit(1);
    launch_inside(&launch);
    change_root(&launch);
    raise_walls(&launch);
    place.names_fd = launch.names_fd;
    _exit(init_main(&place));
}

int launch_inner_main(void)
{
    const char born = LAUNCH_BORN;
    uint8_t bytes[SPEC_HEAD_MAX];
    struct unpack unpack = { .bytes = bytes };
    struct spec_head head;
    int failure;
    size_t count;
    ssize_t size;

    if (!launch_begin() || dup3(0, LAUNCH_SOCKET, O_CLOEXEC) < 0 ||
        !pass_send(LAUNCH_SOCKET, &born, 1, NULL, 0))
        return 1;
    /* These take the longest of all, while the owner does something else. */
    failure = unshare(CLONE_NEWNET | CLONE_NEWNS) == 0 ? 0 : errno;
    size = pass_receive(LAUNCH_SOCKET, true, bytes, sizeof(bytes), NULL, 0, &count);
    unpack.size = size > 0 ? (size_t)size : 0;
    if (!spec_head_unpack(&unpack, &head))
        return 1;
    launch_inner(&head, LAUNCH_SOCKET, LAUNCH_MADE_ALL, failure);
}
