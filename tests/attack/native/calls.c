/*
 * calls: each system call that a native guest must not have, tried for real, with what
 * became of it.  The arguments are such that a kernel which let one through would do no
 * harm; those marked `open` are anybody's outside, so that the same program run there is
 * the control.
 */
#define _GNU_SOURCE
#include <asm/ldt.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/kcmp.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif
#define SYS_statmount_nr 457
#define SYS_listmount_nr 458
#define SYS_open_tree_attr_nr 467

static char bytes[4096];
static struct iovec part = { bytes, sizeof(bytes) };
static struct perf_event_attr counter = { .type = PERF_TYPE_SOFTWARE,
                                          .size = sizeof(counter),
                                          .exclude_kernel = 1,
                                          .exclude_hv = 1 };
static struct io_uring_params ring;
static union bpf_attr map = { .map_type = BPF_MAP_TYPE_ARRAY };
static struct user_desc descriptor;
static uint64_t clone_args[11] = { CLONE_NEWUSER, [4] = SIGCHLD };
static int number;

#define PLACE(variable) (long)(uintptr_t)(variable)
#define TEXT(text) (long)(uintptr_t)(text)

struct attempt {
    const char *name;
    long call, arguments[6];
    char open; /* anybody may outside */
};

static const struct attempt attempts[] = {
    /* mounts and roots */
    { "mount", SYS_mount, { TEXT("none"), TEXT("/nowhere"), TEXT("tmpfs") }, 0 },
    { "umount2", SYS_umount2, { TEXT("/nowhere"), 0 }, 0 },
    { "pivot_root", SYS_pivot_root, { TEXT("/nowhere"), TEXT("/nowhere") }, 0 },
    { "chroot", SYS_chroot, { TEXT("/nowhere") }, 0 },
    { "open_tree", SYS_open_tree, { -100, TEXT("/"), 0 }, 'o' },
    { "open_tree_attr", SYS_open_tree_attr_nr, { -1, TEXT("/"), 0 }, 0 },
    { "move_mount", SYS_move_mount, { -1, TEXT(""), -1, TEXT(""), 0 }, 0 },
    { "fsopen", SYS_fsopen, { TEXT("tmpfs"), 0 }, 0 },
    { "fsconfig", SYS_fsconfig, { -1, 0 }, 'o' },
    { "fsmount", SYS_fsmount, { -1 }, 0 },
    { "fspick", SYS_fspick, { -1, TEXT("/"), 0 }, 0 },
    { "mount_setattr", SYS_mount_setattr, { -1, TEXT("/"), 0, 0, 0 }, 'o' },
    { "statmount", SYS_statmount_nr, { 0 }, 'o' },
    { "listmount", SYS_listmount_nr, { 0 }, 'o' },
    { "swapon", SYS_swapon, { TEXT("/nowhere"), 0 }, 0 },
    { "swapoff", SYS_swapoff, { TEXT("/nowhere") }, 0 },
    { "quotactl", SYS_quotactl, { -1, 0, 0, 0 }, 0 },
    /* namespaces */
    { "unshare user", SYS_unshare, { CLONE_NEWUSER }, 'o' },
    { "unshare net", SYS_unshare, { CLONE_NEWNET }, 0 },
    { "unshare files", SYS_unshare, { CLONE_FILES }, 'o' },
    { "setns", SYS_setns, { -1, 0 }, 'o' },
    { "clone user", SYS_clone, { CLONE_NEWUSER | SIGCHLD }, 'o' },
    { "clone pid", SYS_clone, { CLONE_NEWPID | SIGCHLD }, 0 },
    { "clone with high bits", SYS_clone,
      { (long)(UINT64_C(1) << 40 | CLONE_NEWUSER | SIGCHLD) }, 'o' },
    { "clone3", SYS_clone3, { PLACE(clone_args), sizeof(clone_args) }, 'o' },
    /* other processes */
    { "ptrace", SYS_ptrace, { PTRACE_TRACEME }, 'o' },
    { "process_vm_readv", SYS_process_vm_readv,
      { 0, PLACE(&part), 1, PLACE(&part), 1, 0 }, 'o' },
    { "process_vm_writev", SYS_process_vm_writev,
      { 0, PLACE(&part), 1, PLACE(&part), 1, 0 }, 'o' },
    { "process_madvise", SYS_process_madvise, { -1, PLACE(&part), 1, 0, 0 }, 'o' },
    { "pidfd_getfd", SYS_pidfd_getfd, { -1, 0, 0 }, 'o' },
    { "kcmp", SYS_kcmp, { 0, 0, KCMP_FILES, 0, 0 }, 'o' },
    { "migrate_pages", SYS_migrate_pages, { 0, 0, 0, 0 }, 0 },
    { "move_pages", SYS_move_pages, { 0, 0, 0, 0, 0, 0 }, 0 },
    /* keys, and handles that need no path */
    { "add_key", SYS_add_key, { TEXT("user"), TEXT("nacre-attack"), PLACE(bytes), 1, -2 },
      'o' },
    { "request_key", SYS_request_key, { TEXT("user"), TEXT("nacre-none"), 0, 0 }, 'o' },
    { "keyctl", SYS_keyctl, { KEYCTL_GET_KEYRING_ID, -3, 0 }, 'o' },
    { "name_to_handle_at", SYS_name_to_handle_at,
      { -100, TEXT("/"), PLACE(bytes), PLACE(&number), 0 }, 'o' },
    { "open_by_handle_at", SYS_open_by_handle_at, { -1, PLACE(bytes), 0 }, 0 },
    { "mknod char", SYS_mknod, { TEXT("device"), S_IFCHR | 0600, 0x103 }, 0 },
    { "mknod block", SYS_mknodat, { -100, TEXT("device"), S_IFBLK | 0600, 0x700 }, 0 },
    { "chmod set-uid", SYS_fchmodat, { -1, TEXT("none"), S_ISUID | 0755 }, 'o' },
    { "fchmod set-gid", SYS_fchmod, { -1, S_ISGID | 0755 }, 'o' },
    { "open set-uid", SYS_openat, { -1, TEXT("none"), O_CREAT, S_ISUID | 0755 }, 'o' },
    { "openat2", SYS_openat2, { -1, TEXT("none"), PLACE(bytes), 24 }, 'o' },
    { "fanotify_init", SYS_fanotify_init, { 0, 0 }, 0 },
    /* doors into the kernel */
    { "bpf", SYS_bpf, { BPF_MAP_CREATE, PLACE(&map), sizeof(map) }, 0 },
    { "io_uring_setup", SYS_io_uring_setup, { 1, PLACE(&ring) }, 'o' },
    { "io_uring_enter", SYS_io_uring_enter, { -1, 0, 0, 0, 0, 0 }, 'o' },
    { "io_uring_register", SYS_io_uring_register, { -1, 0, 0, 0 }, 'o' },
    { "perf_event_open", SYS_perf_event_open, { PLACE(&counter), 0, -1, -1, 0 }, 0 },
    { "userfaultfd", SYS_userfaultfd, { 1 }, 0 },
    { "modify_ldt", SYS_modify_ldt, { 0, PLACE(&descriptor), sizeof(descriptor) }, 'o' },
    { "memfd_secret", SYS_memfd_secret, { 0 }, 0 },
    { "personality without layout", SYS_personality, { ADDR_NO_RANDOMIZE }, 'o' },
    { "init_module", SYS_init_module, { 0, 0, 0 }, 0 },
    { "finit_module", SYS_finit_module, { -1, TEXT(""), 0 }, 0 },
    { "delete_module", SYS_delete_module, { TEXT("nowhere"), 0 }, 0 },
    { "kexec_load", SYS_kexec_load, { 0, -1, 0, -1 }, 0 },
    { "kexec_file_load", SYS_kexec_file_load, { -1, -1, 0, 0, 0 }, 0 },
    { "iopl", SYS_iopl, { 4 }, 'o' },
    { "ioperm", SYS_ioperm, { -1, 1, 1 }, 'o' },
    { "lookup_dcookie", SYS_lookup_dcookie, { 0, 0, 0 }, 0 },
    { "syslog", SYS_syslog, { 10, 0, 0 }, 0 },
    { "acct", SYS_acct, { TEXT("/nowhere") }, 0 },
    { "set_mempolicy", SYS_set_mempolicy, { -1, 0, 0 }, 0 },
    /* the machine itself */
    { "reboot", SYS_reboot, { 0, 0, 0, 0 }, 0 },
    { "sethostname", SYS_sethostname, { 0, -1 }, 0 },
    { "setdomainname", SYS_setdomainname, { 0, -1 }, 0 },
    { "clock_settime", SYS_clock_settime, { -1, 0 }, 0 },
    { "settimeofday", SYS_settimeofday, { 8, 0 }, 0 },
    /* networks that are not an empty one */
    { "socket packet", SYS_socket, { AF_PACKET, SOCK_RAW, 0 }, 0 },
    { "socket raw", SYS_socket, { AF_INET, SOCK_RAW, 1 }, 0 },
    { "socket vsock", SYS_socket, { AF_VSOCK, SOCK_STREAM, 0 }, 'o' },
    { "socket alg", SYS_socket, { AF_ALG, SOCK_SEQPACKET, 0 }, 'o' },
    { "socket netlink audit", SYS_socket, { AF_NETLINK, SOCK_RAW, 9 }, 'o' },
    { "socket family with high bits", SYS_socket,
      { (long)(UINT64_C(1) << 32 | AF_PACKET), SOCK_RAW, 0 }, 0 },
    /* by the other tables of numbers */
    { "x32 getpid", 0x40000000 + SYS_getpid, { 0 }, 0 },
};

/* In a process of its own: some would change it, and some end it. */
static void try(const struct attempt *attempt)
{
    const long *a = attempt->arguments;
    int status;
    pid_t child;

    (void)printf("%s: ", attempt->name);
    (void)fflush(stdout);
    child = fork();
    if (child == 0) {
        long got = syscall(attempt->call, a[0], a[1], a[2], a[3], a[4], a[5]);

        if (got == 0 && (attempt->call == SYS_clone || attempt->call == SYS_clone3))
            _exit(0); /* the clone itself */
        (void)printf("%s%s\n", got < 0 ? strerrorname_np(errno) : "done",
                     attempt->open ? " open" : "");
        (void)fflush(stdout);
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0)
        (void)printf("not tried\n");
    else if (WIFSIGNALED(status))
        (void)printf("killed%s\n", attempt->open ? " open" : "");
}

int main(void)
{
    for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++)
        try(&attempts[i]);
    return 0;
}
