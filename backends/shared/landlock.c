#include "landlock.h"

#include <assert.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "nacre/own.h"

/* Numbers and names of our own: the header of an old distribution stops at ABI 2, and
 * one build must use whatever the kernel that it runs on has. */
#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

#define CREATE_RULESET_VERSION 1U
#define RULE_PATH_BENEATH 1

enum {
    FS_EXECUTE = 1 << 0,
    FS_WRITE_FILE = 1 << 1,
    FS_READ_FILE = 1 << 2,
    FS_READ_DIR = 1 << 3,
    FS_REMOVE_DIR = 1 << 4,
    FS_REMOVE_FILE = 1 << 5,
    FS_MAKE_CHAR = 1 << 6,
    FS_MAKE_DIR = 1 << 7,
    FS_MAKE_REG = 1 << 8,
    FS_MAKE_SOCK = 1 << 9,
    FS_MAKE_FIFO = 1 << 10,
    FS_MAKE_BLOCK = 1 << 11,
    FS_MAKE_SYM = 1 << 12,
    FS_REFER = 1 << 13,     /* ABI 2 */
    FS_TRUNCATE = 1 << 14,  /* ABI 3 */
    FS_IOCTL_DEV = 1 << 15, /* ABI 5 */
    FS_RESOLVE_UNIX = 1 << 16, /* ABI 9 */

    FS_READ = FS_READ_FILE | FS_READ_DIR,
    FS_CHANGE = FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR |
                FS_MAKE_REG | FS_MAKE_SYM | FS_REFER | FS_TRUNCATE,
    FS_MAKE_IPC = FS_MAKE_SOCK | FS_MAKE_FIFO,
    FS_ABI_1 = FS_REFER - 1,
    /* Of a rule on something that is no directory the kernel takes no other. */
    FS_OF_A_FILE = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE |
                   FS_IOCTL_DEV | FS_RESOLVE_UNIX,

    NET_BIND_TCP = 1 << 0, /* ABI 4 */
    NET_CONNECT_TCP = 1 << 1,
    SCOPE_ABSTRACT_UNIX = 1 << 0, /* ABI 6 */
    SCOPE_SIGNAL = 1 << 1,
};

/* The kernel takes a longer struct than it knows as long as the rest is zero. */
struct ruleset {
    uint64_t fs, net, scoped;
};

struct path_beneath {
    uint64_t allowed;
    int32_t parent_fd;
} __attribute__((packed));

uint32_t nacre_landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);

    return abi > 0 ? (uint32_t)abi : 0;
}

static struct ruleset handled_by(uint32_t abi)
{
    struct ruleset handled = { .fs = FS_ABI_1 };

    if (abi >= 2)
        handled.fs |= FS_REFER;
    if (abi >= 3)
        handled.fs |= FS_TRUNCATE;
    if (abi >= 4)
        handled.net = NET_BIND_TCP | NET_CONNECT_TCP;
    if (abi >= 5)
        handled.fs |= FS_IOCTL_DEV;
    if (abi >= 6)
        handled.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
    if (abi >= NACRE_LANDLOCK_ABI_SOCKETS)
        handled.fs |= FS_RESOLVE_UNIX;
    return handled;
}

static enum nacre_status add_rule(int ruleset_fd, const struct nacre_landlock_rule *rule,
                                  uint64_t handled, struct nacre_error *err)
{
    struct path_beneath beneath = { .parent_fd = rule->dir_fd };
    struct stat info;

    beneath.allowed = handled & (FS_READ | (rule->writable ? FS_CHANGE : 0) |
                                 (rule->writable && rule->makes_ipc ? FS_MAKE_IPC : 0) |
                                 (rule->executable ? FS_EXECUTE : 0) |
                                 (rule->ioctls ? FS_IOCTL_DEV : 0) |
                                 (rule->connects ? FS_RESOLVE_UNIX : 0));
    if (fstat(rule->dir_fd, &info) == 0 && !S_ISDIR(info.st_mode))
        beneath.allowed &= FS_OF_A_FILE;
    if (syscall(SYS_landlock_add_rule, ruleset_fd, RULE_PATH_BENEATH, &beneath, 0) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "landlock: no rule for fd %d, expected a "
                          "directory or file of an ordinary file system", rule->dir_fd);
    return NACRE_OK;
}

static enum nacre_status make_ruleset(const struct nacre_landlock_rule *rules,
                                      size_t count, uint32_t abi, struct ruleset handled,
                                      int *ret_fd, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;

    fd = (int)syscall(SYS_landlock_create_ruleset, &handled, sizeof(handled), 0);
    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "landlock: no ruleset at ABI %u", abi);
    for (size_t i = 0; i < count; i++) {
        enum nacre_status status = add_rule(fd, &rules[i], handled.fs, err);

        if (status != NACRE_OK)
            return status;
    }
    *ret_fd = nacre_fd_take(&fd);
    return NACRE_OK;
}

enum nacre_status nacre_landlock_enforce(const struct nacre_landlock_rule *rules,
                                         size_t count, uint32_t *ret_abi,
                                         struct nacre_error *err)
{
    uint32_t abi = nacre_landlock_abi();
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    enum nacre_status status;

    if (abi == 0) {
        *ret_abi = 0;
        return NACRE_OK;
    }
    status = make_ruleset(rules, count, abi, handled_by(abi), &fd, err);
    if (status != NACRE_OK)
        return status;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "landlock: no_new_privs");
    if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
        return nacre_fail(err, NACRE_ERR_IO, "landlock: the ruleset was not accepted");
    *ret_abi = abi;
    return NACRE_OK;
}

enum nacre_status nacre_landlock_ruleset_open(const struct nacre_landlock_rule *rules,
                                              size_t count, int *ret_fd,
                                              struct nacre_error *err)
{
    uint32_t abi = nacre_landlock_abi();
    const struct ruleset handled = { .fs = handled_by(abi).fs };

    if (abi == 0) {
        *ret_fd = -1;
        return NACRE_OK;
    }
    return make_ruleset(rules, count, abi, handled, ret_fd, err);
}

const char *nacre_landlock_lacks(uint32_t abi)
{
    static const char *const lacks[] = {
        "all of it (Linux 5.13 with lsm=landlock has it)",
        "moves, truncation, TCP, device ioctls, signals and abstract sockets",
        "truncation, TCP, device ioctls, signals and abstract sockets",
        "TCP, device ioctls, signals and abstract sockets",
        "device ioctls, signals and abstract sockets",
        "signals and abstract sockets",
    };

    static_assert(NACRE_COUNT(lacks) == NACRE_LANDLOCK_ABI_FULL, "one row for each ABI");
    return abi < NACRE_COUNT(lacks) ? lacks[abi] : "";
}
