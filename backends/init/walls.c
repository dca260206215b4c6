#include "walls.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "seccomp.h"

#define NICE_MAX 19

/* Never above what the sandbox as a whole has. */
static bool limit_to(int resource, uint64_t value)
{
    struct rlimit limit;

    if (getrlimit(resource, &limit) < 0)
        return false;
    if (value < limit.rlim_max)
        limit.rlim_max = value;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(resource, &limit) == 0;
}

static const char *limit_all(const struct init_start *start, uint64_t processes_ours)
{
    if (!limit_to(RLIMIT_CORE, 0))
        return "RLIMIT_CORE";
    if (!start)
        return NULL;
    if (start->open_files_max > 0) {
        const struct rlimit files = { start->open_files_max, start->open_files_max };

        /* Not lowered in silence: the policy promises that many. */
        if (setrlimit(RLIMIT_NOFILE, &files) < 0)
            return "RLIMIT_NOFILE";
    }
    if (start->file_bytes_max > 0 && !limit_to(RLIMIT_FSIZE, start->file_bytes_max))
        return "RLIMIT_FSIZE";
    if (start->processes_max > 0) {
        uint64_t all = start->processes_max + processes_ours;

        if (all < processes_ours || !limit_to(RLIMIT_NPROC, all))
            return "RLIMIT_NPROC";
    }
    return NULL;
}

/* With no_new_privs a program can't get back what its process does not have, not even
 * as root; the bounding set goes as well where that is permitted. */
static bool drop_capabilities(uint64_t kept)
{
    struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
    struct __user_cap_data_struct sets[2];

    /* EINVAL: a kernel that has no such set. */
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
        return false;
    for (unsigned long number = 0; number < 64; number++)
        if (!(kept >> number & 1) && prctl(PR_CAPBSET_DROP, number, 0, 0, 0) < 0)
            break; /* not permitted, or past the last one that this kernel knows */
    if (syscall(SYS_capget, &header, sets) < 0)
        return false;
    for (unsigned i = 0; i < 2; i++) {
        sets[i].permitted &= (uint32_t)(kept >> (32 * i));
        sets[i].effective = sets[i].permitted;
        sets[i].inheritable = 0;
    }
    return syscall(SYS_capset, &header, sets) == 0;
}

const char *walls_lower(const struct walls *walls, const struct init_start *start,
                        uint64_t processes_ours)
{
    const char *failed = limit_all(start, processes_ours);

    if (failed)
        return failed;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return "no_new_privs";
    if (walls->yields && setpriority(PRIO_PROCESS, 0, NICE_MAX) < 0)
        return "nice";
    if (!walls->none && !drop_capabilities(walls->capabilities_kept))
        return "capabilities";
    return NULL;
}

bool walls_filter(bool browser)
{
    struct nacre_error err;

    if (nacre_seccomp_install(nacre_seccomp_program(browser ? NACRE_SECCOMP_BROWSER
                                                            : NACRE_SECCOMP_NATIVE),
                              &err) == NACRE_OK)
        return true;
    errno = err.sys_errno;
    return false;
}

const char *walls_close(const struct walls *walls)
{
    const struct sock_fprog extra = { .len = walls->filter_count,
                                      .filter = (struct sock_filter *)(uintptr_t)
                                                    walls->filter };

    if (walls->none)
        return NULL;
    if (walls->landlock_fd < 0 && !walls->landlock_none && !walls->held) {
        errno = EBADF;
        return "Landlock";
    }
    if (walls->landlock_fd >= 0 &&
        syscall(SYS_landlock_restrict_self, walls->landlock_fd, 0) < 0)
        return "Landlock";
    if (extra.len > 0 && syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &extra) < 0)
        return "seccomp (blocked calls)";
    return NULL;
}
