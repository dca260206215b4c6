/*
 * The rules, compiled by libseccomp while nacre itself is being built: at run time a
 * filter is only numbers.
 */
#include "seccomp_rules.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

/* Stands for the pid of a process that is not there yet when the filter is built. */
#define OWN_PID UINT32_C(0x6e616372)

/* Memory, signals, time, the fds at hand, and the end. */
static const int common_calls[] = {
    SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise),
    SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
    SCMP_SYS(sigaltstack), SCMP_SYS(futex), SCMP_SYS(restart_syscall),
    SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(getpid),
    SCMP_SYS(gettid), SCMP_SYS(rseq), SCMP_SYS(getrusage), SCMP_SYS(getrandom),
    SCMP_SYS(clock_gettime), SCMP_SYS(clock_getres), SCMP_SYS(clock_nanosleep),
    SCMP_SYS(nanosleep), SCMP_SYS(gettimeofday), SCMP_SYS(read), SCMP_SYS(write),
    SCMP_SYS(readv), SCMP_SYS(writev), SCMP_SYS(pread64), SCMP_SYS(pwrite64),
    SCMP_SYS(lseek), SCMP_SYS(fstat), SCMP_SYS(ftruncate), SCMP_SYS(close),
    SCMP_SYS(exit), SCMP_SYS(exit_group),
};

/* What preview1 is made of. */
static const int worker_calls[] = {
    SCMP_SYS(preadv), SCMP_SYS(preadv2), SCMP_SYS(pwritev), SCMP_SYS(pwritev2),
    SCMP_SYS(newfstatat), SCMP_SYS(statx), SCMP_SYS(fstatfs), SCMP_SYS(openat),
    SCMP_SYS(openat2), SCMP_SYS(fallocate), SCMP_SYS(fsync), SCMP_SYS(fdatasync),
    SCMP_SYS(getdents64), SCMP_SYS(mkdirat), SCMP_SYS(unlinkat), SCMP_SYS(renameat),
    SCMP_SYS(renameat2), SCMP_SYS(linkat), SCMP_SYS(symlinkat), SCMP_SYS(readlinkat),
    SCMP_SYS(utimensat), SCMP_SYS(fadvise64), SCMP_SYS(poll), SCMP_SYS(ppoll),
    SCMP_SYS(mincore), /* which pages a guest has used */
};

static const int thread_calls[] = { SCMP_SYS(set_robust_list) };

static const int worker_fcntls[] = { F_GETFL, F_SETFL, F_GETFD, F_SETFD,
                                     F_DUPFD_CLOEXEC };

/* Nothing of ours makes these, so whoever does is not ours: no second try. */
static const int fatal_calls[] = {
    /* other programs, other processes */
    SCMP_SYS(execve), SCMP_SYS(execveat), SCMP_SYS(fork), SCMP_SYS(vfork),
    SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev),
    SCMP_SYS(process_madvise), SCMP_SYS(process_mrelease), SCMP_SYS(kcmp),
    SCMP_SYS(pidfd_open), SCMP_SYS(pidfd_getfd), SCMP_SYS(pidfd_send_signal),
    SCMP_SYS(kill), SCMP_SYS(tkill), SCMP_SYS(rt_sigqueueinfo),
    SCMP_SYS(rt_tgsigqueueinfo),
    /* the network */
    SCMP_SYS(socket), SCMP_SYS(socketpair), SCMP_SYS(connect), SCMP_SYS(bind),
    SCMP_SYS(listen), SCMP_SYS(accept), SCMP_SYS(accept4),
    /* the kernel's most attacked corners, and ways around this very filter */
    SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd),
    SCMP_SYS(io_uring_setup), SCMP_SYS(io_uring_enter), SCMP_SYS(io_uring_register),
    SCMP_SYS(memfd_secret), SCMP_SYS(keyctl), SCMP_SYS(add_key), SCMP_SYS(request_key),
    SCMP_SYS(modify_ldt), SCMP_SYS(personality), SCMP_SYS(iopl), SCMP_SYS(ioperm),
    SCMP_SYS(fanotify_init), SCMP_SYS(open_by_handle_at),
    /* mounts and namespaces */
    SCMP_SYS(mount), SCMP_SYS(umount), SCMP_SYS(umount2), SCMP_SYS(pivot_root),
    SCMP_SYS(chroot), SCMP_SYS(move_mount), SCMP_SYS(open_tree), SCMP_SYS(fsopen),
    SCMP_SYS(fsconfig), SCMP_SYS(fsmount), SCMP_SYS(fspick), SCMP_SYS(mount_setattr),
    SCMP_SYS(unshare), SCMP_SYS(setns), SCMP_SYS(mknod), SCMP_SYS(mknodat),
    /* the machine, and who we are */
    SCMP_SYS(kexec_load), SCMP_SYS(kexec_file_load), SCMP_SYS(init_module),
    SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(reboot),
    SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(acct), SCMP_SYS(quotactl),
    SCMP_SYS(syslog), SCMP_SYS(settimeofday), SCMP_SYS(clock_settime),
    SCMP_SYS(adjtimex), SCMP_SYS(clock_adjtime), SCMP_SYS(sethostname),
    SCMP_SYS(setdomainname), SCMP_SYS(setuid), SCMP_SYS(setgid), SCMP_SYS(setreuid),
    SCMP_SYS(setregid), SCMP_SYS(setresuid), SCMP_SYS(setresgid), SCMP_SYS(setgroups),
    SCMP_SYS(setfsuid), SCMP_SYS(setfsgid), SCMP_SYS(capset),
};

/* libseccomp's way of saying it is a negative errno. */
static enum nacre_status rule_fail(struct nacre_error *err, int code, const char *what)
{
    return nacre_fail(err, code == -ENOMEM ? NACRE_ERR_MEMORY : NACRE_ERR_BACKEND,
                      "seccomp: %s: %s", what, strerrordesc_np(-code));
}

static enum nacre_status add_calls(scmp_filter_ctx filter, uint32_t action,
                                   const int calls[], size_t count,
                                   struct nacre_error *err)
{
    for (size_t i = 0; i < count; i++) {
        int code = seccomp_rule_add(filter, action, calls[i], 0);

        if (code < 0)
            return rule_fail(err, code, "a rule for a system call");
    }
    return NACRE_OK;
}

/* Code may be written, or run, but not both at once. */
static enum nacre_status add_memory(scmp_filter_ctx filter, bool map_code,
                                    struct nacre_error *err)
{
    static const int calls[] = { SCMP_SYS(mmap), SCMP_SYS(mprotect) };
    static const scmp_datum_t allowed[] = { 0, PROT_WRITE, PROT_EXEC };
    size_t count = map_code ? NACRE_COUNT(allowed) : NACRE_COUNT(allowed) - 1;

    for (size_t i = 0; i < NACRE_COUNT(calls); i++) {
        for (size_t k = 0; k < count; k++) {
            int code = seccomp_rule_add(
                filter, SCMP_ACT_ALLOW, calls[i], 1,
                SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_WRITE | PROT_EXEC, allowed[k]));

            if (code < 0)
                return rule_fail(err, code, "the rules for memory");
        }
    }
    return NACRE_OK;
}

static enum nacre_status add_worker(scmp_filter_ctx filter, struct nacre_error *err)
{
    static const int clones[] = { SCMP_SYS(clone), SCMP_SYS(clone3) };
    enum nacre_status status;
    int ioctl_code, send_code, mode_code;

    for (size_t i = 0; i < NACRE_COUNT(worker_fcntls); i++) {
        int code = seccomp_rule_add(
            filter, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
            SCMP_A1(SCMP_CMP_EQ, (scmp_datum_t)worker_fcntls[i]));

        if (code < 0)
            return rule_fail(err, code, "the rules for fcntl");
    }
    /* How much there is to read: poll_oneoff tells it.  Terminals are asked nothing. */
    ioctl_code = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(ioctl), 1,
                                  SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, FIONREAD));
    if (ioctl_code < 0)
        return rule_fail(err, ioctl_code, "the rule for ioctl");
    /* To the door, without a signal when that has gone; to no address, and no fds: no more
     * than write() does. */
    send_code = seccomp_rule_add(
        filter, SCMP_ACT_ALLOW, SCMP_SYS(sendto), 2,
        SCMP_A3(SCMP_CMP_EQ, MSG_NOSIGNAL | MSG_DONTWAIT), SCMP_A4(SCMP_CMP_EQ, 0));
    if (send_code < 0)
        return rule_fail(err, send_code, "the rule for sendto");
    /* A file that replaces another gets its mode: never set-id or sticky bits. */
    mode_code = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fchmod), 1,
                                 SCMP_A1(SCMP_CMP_MASKED_EQ, ~(scmp_datum_t)0777, 0));
    if (mode_code < 0)
        return rule_fail(err, mode_code, "the rule for fchmod");
    status = add_calls(filter, SCMP_ACT_ALLOW, worker_calls, NACRE_COUNT(worker_calls),
                       err);
    if (status != NACRE_OK)
        return status;
    return add_calls(filter, SCMP_ACT_KILL_PROCESS, clones, NACRE_COUNT(clones), err);
}

static enum nacre_status add_compiler(scmp_filter_ctx filter, struct nacre_error *err)
{
    const scmp_datum_t thread =
        CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD;
    const scmp_datum_t forbidden = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                   CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                                   CLONE_NEWNET | CLONE_PTRACE | CLONE_VFORK;
    int code = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                                SCMP_A0(SCMP_CMP_MASKED_EQ, thread | forbidden, thread));

    if (code < 0)
        return rule_fail(err, code, "the rule for threads");
    /* clone3 takes its flags by pointer, where a filter can't look; at ENOSYS the C
     * library turns to clone. */
    code = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    if (code < 0)
        return rule_fail(err, code, "the rule for clone3");
    return add_calls(filter, SCMP_ACT_ALLOW, thread_calls, NACRE_COUNT(thread_calls),
                     err);
}

static enum nacre_status add_extras(scmp_filter_ctx filter, uint32_t extras,
                                    struct nacre_error *err)
{
    static const int receive[] = { SCMP_SYS(recvmsg) };
    static const int publish[] = { SCMP_SYS(membarrier) };
    bool map_code = (extras & NACRE_SECCOMP_MAP_CODE) != 0;
    enum nacre_status status = add_memory(filter, map_code, err);

    if (status == NACRE_OK && map_code)
        status = add_calls(filter, SCMP_ACT_ALLOW, publish, NACRE_COUNT(publish), err);
    if (status == NACRE_OK && (extras & NACRE_SECCOMP_RECEIVE_FDS))
        status = add_calls(filter, SCMP_ACT_ALLOW, receive, NACRE_COUNT(receive), err);
    return status;
}

/* What is common to all filters. */
static enum nacre_status set_up(scmp_filter_ctx filter, struct nacre_error *err)
{
    int code = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);

    if (code < 0)
        return rule_fail(err, code, "foreign architectures");
    /* A binary tree: the kernel tries every call number when a filter is loaded, which
     * takes 0.4 ms with a plain list and 0.1 ms so. */
    code = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
    return code < 0 ? rule_fail(err, code, "ordering") : NACRE_OK;
}

static enum nacre_status add_own(scmp_filter_ctx filter, enum nacre_seccomp_kind kind,
                                 uint32_t extras, struct nacre_error *err)
{
    enum nacre_status status;
    /* abort() and raise(), to oneself only. */
    int code = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1,
                                SCMP_A0(SCMP_CMP_EQ, OWN_PID));

    if (code < 0)
        return rule_fail(err, code, "the rule for tgkill");

    status = add_calls(filter, SCMP_ACT_KILL_PROCESS, fatal_calls,
                       NACRE_COUNT(fatal_calls), err);
    if (status == NACRE_OK)
        status = add_calls(filter, SCMP_ACT_ALLOW, common_calls,
                           NACRE_COUNT(common_calls), err);
    if (status == NACRE_OK)
        status = add_extras(filter, extras, err);
    if (status == NACRE_OK)
        status = kind == NACRE_SECCOMP_WORKER ? add_worker(filter, err)
                                              : add_compiler(filter, err);
    return status;
}

#define NUMBERS_MAX 1024 /* of system calls; no machine has as many */

/* The native table on its way into a filter. */
struct native {
    scmp_filter_ctx filter;
    bool is_free[NUMBERS_MAX]; /* allowed whatever its arguments: not in `filter` */
    int newest;                /* the highest number that a row is about */
};

static enum nacre_status add_native_row(void *data, const struct nacre_seccomp_row *row,
                                        struct nacre_error *err)
{
    struct native *native = data;
    struct scmp_arg_cmp args[NACRE_COUNT(row->args)];
    int number = seccomp_syscall_resolve_name(row->name);
    int code;

    if (number == __NR_SCMP_ERROR)
        return nacre_fail(err, NACRE_ERR_BACKEND,
                          "seccomp: this libseccomp does not know %s; expected 2.5.4 or "
                          "newer", row->name);
    if (number < 0)
        return NACRE_OK; /* another machine's */
    if (number >= NUMBERS_MAX)
        return nacre_fail(err, NACRE_ERR_BACKEND, "seccomp: %s has number %d, expected "
                          "one below %d", row->name, number, NUMBERS_MAX);
    if (number > native->newest)
        native->newest = number;
    if (row->refuse == 0 && row->arg_count == 0) {
        native->is_free[number] = true;
        return NACRE_OK;
    }
    for (size_t i = 0; i < row->arg_count; i++)
        args[i] = (struct scmp_arg_cmp){ row->args[i].index, SCMP_CMP_MASKED_EQ,
                                         row->args[i].mask, row->args[i].value };
    code = seccomp_rule_add_array(native->filter,
                                  row->refuse ? SCMP_ACT_ERRNO(row->refuse)
                                              : SCMP_ACT_ALLOW,
                                  number, (unsigned)row->arg_count, args);
    return code < 0 ? rule_fail(err, code, row->name) : NACRE_OK;
}

/*
 * Numbers where calls begin or cease to be free, and where they are looked up: one
 * comparison for each, and behind them all first what follows for those that are not, then
 * what follows for those that are.
 */
#define EDGES_MAX 200 /* a jump reaches 255 instructions */

struct search {
    uint32_t edges[EDGES_MAX];
    size_t count;
    struct sock_filter *code;
};

static bool find_edges(const struct native *native, struct search *search)
{
    bool was_free = false;

    for (int number = 0; number <= native->newest + 1; number++) {
        bool is_free = number < NUMBERS_MAX && native->is_free[number];

        if (is_free == was_free)
            continue;
        if (search->count == EDGES_MAX)
            return false;
        search->edges[search->count++] = (uint32_t)number;
        was_free = is_free;
    }
    return true;
}

/* From `at` on, the search among `count` edges from `first` on.  Returns where to jump for
 * that, which is its result when there is nothing to search: the number of edges that are
 * passed then is odd within what is free. */
static size_t put_search(struct search *search, size_t at, size_t first, size_t count)
{
    size_t below = count / 2, low, high;

    if (count == 0)
        return search->count + first % 2;
    low = put_search(search, at + 1, first, below);
    high = put_search(search, at + 1 + below, first + below + 1, count - below - 1);
    search->code[at] = (struct sock_filter)BPF_JUMP(
        BPF_JMP | BPF_JGE | BPF_K, search->edges[first + below],
        (uint8_t)(high - at - 1), (uint8_t)(low - at - 1));
    return at;
}

/*
 * Before the filter goes what needs no look at arguments: the kernel's own compiler takes
 * time for each instruction, and a range of numbers is two where libseccomp has two for
 * each number.
 *
 * A call that is newer than every row is one that this table has no opinion on.  To a C
 * library ENOSYS means to go on with an older one, EPERM that all is lost; runc puts the
 * same before a profile.  x32 has its numbers far above and is left to be killed.
 */
static enum nacre_status put_numbers_first(struct nacre_seccomp_program *program,
                                           const struct native *native,
                                           struct nacre_error *err)
{
    struct search search = { 0 };
    bool is_found = find_edges(native, &search);
    const struct sock_filter first[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, seccomp_arch_native(), 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (uint32_t)native->newest, 0, 3),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, NACRE_SECCOMP_X32, 0, 1),
        BPF_JUMP(BPF_JMP | BPF_JA, (uint32_t)search.count + 3, 0, 0), /* the filter */
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
    };
    const struct sock_filter last[] = {
        BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0), /* the filter */
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    size_t count = NACRE_COUNT(first) + search.count + NACRE_COUNT(last);

    if (!is_found || program->count > NACRE_SECCOMP_INSTRUCTIONS_MAX - count)
        return nacre_fail(err, NACRE_ERR_BACKEND,
                          "seccomp: a filter of %u instructions and over %zu ranges, "
                          "expected fewer", (unsigned)program->count, search.count / 2);
    memmove(program->code + count, program->code,
            program->count * sizeof(program->code[0]));
    memcpy(program->code, first, sizeof(first));
    search.code = program->code + NACRE_COUNT(first);
    (void)put_search(&search, 0, 0, search.count);
    memcpy(search.code + search.count, last, sizeof(last));
    program->count = (uint16_t)(program->count + count);
    return NACRE_OK;
}

/* libseccomp writes to an fd only. */
static enum nacre_status export_code(scmp_filter_ctx filter,
                                     struct nacre_seccomp_program *ret_program,
                                     struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = memfd_create("nacre-seccomp", MFD_CLOEXEC);
    ssize_t count;
    int code;

    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "seccomp: no memory file");
    code = seccomp_export_bpf(filter, fd);
    if (code < 0)
        return rule_fail(err, code, "export");
    count = pread(fd, ret_program->code, sizeof(ret_program->code), 0);
    if (count < 0)
        return nacre_fail(err, NACRE_ERR_IO, "seccomp: the filter can't be read back");
    if (count == 0 || (size_t)count == sizeof(ret_program->code) ||
        (size_t)count % sizeof(ret_program->code[0]) != 0)
        return nacre_fail(err, NACRE_ERR_BACKEND,
                          "seccomp: a filter of %zd bytes, expected whole instructions, "
                          "fewer than %d",
                          count, NACRE_SECCOMP_INSTRUCTIONS_MAX);

    ret_program->count = (uint16_t)((size_t)count / sizeof(ret_program->code[0]));
    return NACRE_OK;
}

static enum nacre_status find_own_pid(struct nacre_seccomp_program *program,
                                      struct nacre_error *err)
{
    uint16_t own_pids = 0;

    for (uint16_t i = 0; i < program->count; i++) {
        const struct sock_filter *at = &program->code[i];

        if (at->code == (BPF_JMP | BPF_JEQ | BPF_K) && at->k == OWN_PID) {
            program->own_pid = i;
            own_pids++;
        }
    }
    if (own_pids != 1)
        return nacre_fail(err, NACRE_ERR_BACKEND,
                          "seccomp: %u places for the own pid in the filter, expected 1",
                          (unsigned)own_pids);
    return NACRE_OK;
}

static void filter_guard(scmp_filter_ctx *filter)
{
    if (*filter)
        seccomp_release(*filter);
}

enum nacre_status nacre_seccomp_build(enum nacre_seccomp_kind kind, uint32_t extras,
                                      struct nacre_seccomp_program **ret_program,
                                      struct nacre_error *err)
{
    NACRE_AUTO(filter_guard) scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    NACRE_AUTO(nacre_seccomp_program_guard) struct nacre_seccomp_program *program =
        calloc(1, sizeof(*program));
    struct native native = { .filter = filter };
    nacre_seccomp_rows *rows =
        kind == NACRE_SECCOMP_NATIVE    ? nacre_seccomp_native_rows
        : kind == NACRE_SECCOMP_BROWSER ? nacre_seccomp_browser_rows
                                        : NULL;
    enum nacre_status status;

    assert(kind == NACRE_SECCOMP_WORKER || kind == NACRE_SECCOMP_COMPILER ||
           (rows && extras == 0));

    if (!filter || !program)
        return nacre_fail(err, NACRE_ERR_MEMORY, "seccomp: no memory for a filter");
    status = set_up(filter, err);
    if (status == NACRE_OK)
        status = rows ? rows(add_native_row, &native, err)
                      : add_own(filter, kind, extras, err);
    if (status == NACRE_OK)
        status = export_code(filter, program, err);
    if (status == NACRE_OK)
        status = rows ? put_numbers_first(program, &native, err)
                      : find_own_pid(program, err);
    if (status == NACRE_OK)
        *ret_program = nacre_seccomp_program_take(&program);
    return status;
}

void nacre_seccomp_program_free(struct nacre_seccomp_program *program)
{
    free(program);
}
