#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "loopback.h"
#include "machine_parts.h"
#include "nacre/clock.h"
#include "nacre/own.h"
#include "walls.h"

#define FILES_SOFT 4096
#define FILES_HARD 1048576

/*
 * The kernel runs hostile commands and nothing else.  What no command needs is switched
 * off, a fault of the kernel's own ends the machine, and what a container's network
 * namespace allows (ports below 1024) is allowed.
 */
static const struct {
    const char *path, *value;
} settings[] = {
    { "/proc/sys/kernel/modules_disabled", "1" },
    { "/proc/sys/kernel/kexec_load_disabled", "1" },
    { "/proc/sys/kernel/unprivileged_bpf_disabled", "1" },
    { "/proc/sys/kernel/unprivileged_userns_clone", "0" },
    { "/proc/sys/user/max_user_namespaces", "0" },
    { "/proc/sys/kernel/io_uring_disabled", "2" },
    { "/proc/sys/kernel/perf_event_paranoid", "3" },
    { "/proc/sys/kernel/dmesg_restrict", "1" },
    { "/proc/sys/kernel/kptr_restrict", "2" },
    { "/proc/sys/kernel/sysrq", "0" },
    { "/proc/sys/kernel/panic_on_oops", "1" },
    { "/proc/sys/dev/tty/ldisc_autoload", "0" },
    { "/proc/sys/net/core/bpf_jit_harden", "2" },
    { "/proc/sys/fs/protected_symlinks", "1" },
    { "/proc/sys/fs/protected_hardlinks", "1" },
    { "/proc/sys/net/ipv4/ip_unprivileged_port_start", "0" },
};

/* What this kernel does not have need not be switched off. */
static void set_all(void)
{
    for (size_t i = 0; i < NACRE_COUNT(settings); i++) {
        NACRE_AUTO(nacre_fd_guard)
        int fd = open(settings[i].path, O_WRONLY | O_CLOEXEC);
        size_t size = strlen(settings[i].value);

        if ((fd < 0 && errno != ENOENT) ||
            (fd >= 0 && write(fd, settings[i].value, size) != (ssize_t)size))
            launch_fail("set", settings[i].path);
    }
}

void machine_user_clock(const struct init_machine *order)
{
    const struct timespec told = {
        .tv_sec = (time_t)(order->unix_ms / 1000),
        .tv_nsec = (long)(order->unix_ms % 1000 * NACRE_NS_PER_MS),
    };
    struct timespec now;

    /* It was told before the kernel had booted: a clock that is later has gone on. */
    if (clock_gettime(CLOCK_REALTIME, &now) == 0 && now.tv_sec > told.tv_sec)
        return;
    if (clock_settime(CLOCK_REALTIME, &told) != 0)
        launch_fail("set the clock", NULL);
}

void machine_user_settle(const struct init_machine *order)
{
    set_all();
    if (sethostname(order->hostname, strlen(order->hostname)) != 0)
        launch_fail("set the host's name", NULL);
    if (!loopback_raise())
        launch_fail("raise the loopback interface", NULL);
}

/* The kernel's first process begins with few files, and with as many processes as fit
 * into half of the memory: the group and each command have limits of their own. */
static void raise_limits(void)
{
    const struct rlimit files = { FILES_SOFT, FILES_HARD };
    const struct rlimit processes = { RLIM_INFINITY, RLIM_INFINITY };

    if (setrlimit(RLIMIT_NOFILE, &files) != 0 || setrlimit(RLIMIT_NPROC, &processes) != 0)
        launch_fail("raise the limits", NULL);
}

static void limit_bounding(uint64_t kept)
{
    for (unsigned long number = 0; number < 64; number++) {
        if (kept >> number & 1 || prctl(PR_CAPBSET_READ, number, 0, 0, 0) <= 0)
            continue;
        if (prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0)
            launch_fail("drop the capabilities", NULL);
    }
}

void machine_user_become(const struct init_machine *order)
{
    const struct walls walls = { .capabilities_kept = order->capabilities_kept };
    gid_t gid = (gid_t)order->gid;
    uid_t uid = (uid_t)order->uid;
    const char *failed;

    raise_limits();
    limit_bounding(order->capabilities_kept);
    if (setgroups(0, NULL) != 0 || setresgid(gid, gid, gid) != 0 ||
        setresuid(uid, uid, uid) != 0)
        launch_fail("become the sandbox's user", NULL);
    failed = walls_lower(&walls, NULL, 0); /* an ordinary user has none to drop */
    if (failed)
        launch_fail("put up a wall:", failed);
}
