#include "pr_probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "nacre/own.h"
#include "seccomp.h"

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

/* False when the file is not there: not every kernel has every setting. */
static bool read_setting(const char *proc, const char *name, char ret_text[64])
{
    char path[128];
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    ssize_t count;

    (void)snprintf(path, sizeof(path), "%s/%s", proc, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    count = fd < 0 ? -1 : read(fd, ret_text, 63);
    if (count < 0)
        return false;
    ret_text[count] = '\0';
    ret_text[strcspn(ret_text, "\n")] = '\0';
    return true;
}

static bool setting_is(const char *proc, const char *name, const char *value)
{
    char text[64];

    return read_setting(proc, name, text) && strcmp(text, value) == 0;
}

static enum nacre_status probe_namespaces(const char *proc, bool privileged,
                                          struct nacre_error *err)
{
    char path[128], label[64];

    (void)snprintf(path, sizeof(path), "%s/self/ns/user", proc);
    if (access(path, F_OK) != 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "this kernel has no user namespaces (CONFIG_USER_NS)");
    if (setting_is(proc, "sys/user/max_user_namespaces", "0"))
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "user namespaces are switched off: sysctl "
                          "user.max_user_namespaces is 0, expected a larger number");
    if (privileged)
        return NACRE_OK;
    if (setting_is(proc, "sys/kernel/unprivileged_userns_clone", "0"))
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "user namespaces are for root alone here: set sysctl "
                          "kernel.unprivileged_userns_clone to 1, or run nacre as root");
    /* A profile of its own may allow this program what others are refused. */
    if (setting_is(proc, "sys/kernel/apparmor_restrict_unprivileged_userns", "1") &&
        read_setting(proc, "self/attr/current", label) &&
        strcmp(label, "unconfined") == 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "AppArmor lets no unconfined program use user namespaces "
                          "(sysctl kernel.apparmor_restrict_unprivileged_userns is 1, as "
                          "Ubuntu sets it): load a profile for nacre that says "
                          "'userns,', set it to 0, or run nacre as root");
    return NACRE_OK;
}

enum nacre_status pr_probe(const char *proc, bool privileged, struct nacre_error *err)
{
    enum nacre_status status = nacre_seccomp_probe(err);

    if (status != NACRE_OK)
        return status;
    if (syscall(SYS_mount_setattr, -1, "", 0, NULL, 0) != 0 && errno == ENOSYS)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "mount_setattr is needed: Linux 5.12, and no outer sandbox "
                          "that forbids it");
    return probe_namespaces(proc, privileged, err);
}
