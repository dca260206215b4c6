#include "machine_world.h"

#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dk_initrd.h"
#include "nacre/clock.h"
#include "nacre/own.h"

#define KERNEL NACRE_TEST_MACHINE_DIR "/vmlinux"
#define MODULES NACRE_TEST_MACHINE_DIR "/modules.cpio"
#define QEMU "/usr/bin/qemu-system-x86_64"
#define MKSQUASHFS "/usr/bin/mksquashfs"

const char *machine_world_lack(void)
{
    static const char *const needed[] = { KERNEL, MODULES, QEMU, MKSQUASHFS,
                                          "/bin/busybox" };

    for (size_t i = 0; i < NACRE_COUNT(needed); i++)
        if (access(needed[i], R_OK) != 0)
            return needed[i];
    return geteuid() == 0 ? NULL : "other user to be";
}

/* A shell's words are the shortest way to a tree of files; nothing in them is foreign. */
static bool do_script(const struct machine_world *world, const char *script)
{
    pid_t pid = fork();
    int status = -1;

    if (pid == 0) {
        if (chdir(world->dir) != 0)
            _exit(126);
        (void)execl("/bin/sh", "sh", "-ec", script, NULL);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static bool make_initrd(const struct machine_world *world, struct nacre_error *err)
{
    char path[96];
    NACRE_AUTO(nacre_fd_guard) int modules = open(MODULES, O_RDONLY | O_CLOEXEC);
    NACRE_AUTO(nacre_fd_guard) int out = -1;

    (void)snprintf(path, sizeof(path), "%s/initrd", world->dir);
    out = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    return modules >= 0 && out >= 0 && dk_initrd_write(modules, out, err) == NACRE_OK;
}

bool machine_world_make(struct machine_world *world, struct nacre_error *err)
{
    *world = (struct machine_world){ .dir = "/tmp/nacre-machine-XXXXXX" };
    err->text[0] = '\0';
    return mkdtemp(world->dir) != NULL &&
           do_script(world,
                     "umask 022; mkdir -p image/bin image/etc share/hidden fixed;"
                     "cp /bin/busybox image/bin/; echo image >image/etc/file;"
                     "ln -s /etc/file image/etc/link;"
                     "for n in cat chmod cmp cp date dd echo grep head hostname id ls mkdir"
                     " mount mv ps rm rmdir sh sleep stat touch true wc;"
                     "do ln -s busybox image/bin/$n; done;"
                     "printf inside >share/file; printf secret >share/hidden/secret;"
                     "ln -s /etc share/link; printf fixed >fixed/file;"
                     "chown -R 1234:1234 .;"
                     "mksquashfs image disk -comp lz4 -all-root -noappend -quiet"
                     " >/dev/null") &&
           make_initrd(world, err);
}

static uint64_t processor_khz(void)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[256];
    double mhz = 0;

    while (file && mhz == 0 && fgets(line, sizeof(line), file))
        (void)sscanf(line, "cpu MHz : %lf", &mhz);
    if (file)
        (void)fclose(file);
    return mhz > 0 ? (uint64_t)(mhz * 1000) : 2000000;
}

/* As what guests are: what they make in a share is theirs.  The kernel lies where perhaps
 * only the test's own user comes. */
static bool be_nobody(int *kernel)
{
    *kernel = open(KERNEL, O_RDONLY);
    return *kernel >= 0 && setgroups(0, NULL) == 0 && setgid(MACHINE_UID) == 0 &&
           setuid(MACHINE_UID) == 0;
}

static _Noreturn void be_qemu(const struct machine_world *world, const char *append,
                              int channel)
{
    char line[512], memory[16], path[32];
    int errors = -1, kernel = -1;

    (void)snprintf(line, sizeof(line),
                   "tsc_early_khz=%" PRIu64 " panic=-1 quiet cryptomgr.notests"
                   " rcupdate.rcu_expedited=1 %s -- machine",
                   processor_khz(), append);
    (void)snprintf(memory, sizeof(memory), "%d", MACHINE_MEMORY_MB);
    if (chdir(world->dir) == 0 && be_nobody(&kernel))
        errors = open("qemu.log", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (errors < 0 || dup2(channel, 0) < 0 || dup2(channel, 1) < 0 || dup2(errors, 2) < 0)
        _exit(126);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", kernel);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)execl(QEMU, "qemu", "-M",
                "microvm,acpi=on,pit=off,pic=off,rtc=on,usb=off,isa-serial=off,"
                "accel=tcg",
                "-cpu", "max", "-m", memory, "-smp", "1", "-nodefaults",
                "-no-user-config", "-display", "none", "-no-reboot", "-kernel", path,
                "-initrd", "initrd", "-append", line, "-drive",
                "id=disk,file=disk,format=raw,if=none,readonly=on", "-device",
                "virtio-blk-device,drive=disk", "-chardev", "stdio,id=channel,signal=off",
                "-device", "virtio-serial-device,max_ports=2", "-device",
                "virtserialport,chardev=channel,name=" MACHINE_PORT, "-fsdev",
                "local,id=share,path=share,security_model=none,multidevs=remap",
                "-device", "virtio-9p-device,fsdev=share,mount_tag=share", "-fsdev",
                "local,id=fixed,path=fixed,security_model=none,readonly=on", "-device",
                "virtio-9p-device,fsdev=fixed,mount_tag=fixed", NULL);
    _exit(127);
}

bool machine_world_boot(struct machine_world *world, const char *append,
                        struct nt_stream *ret_stream, struct nacre_error *err)
{
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    world->qemu = fork();
    if (world->qemu == 0)
        be_qemu(world, append, ends[1]);
    (void)close(ends[1]);
    return world->qemu > 0 && nt_stream_fd(ends[0], ret_stream, err) == NACRE_OK;
}

bool machine_world_ended(struct machine_world *world, unsigned within_ms)
{
    const struct timespec pause = { .tv_nsec = 5 * (long)NACRE_NS_PER_MS };
    int status;

    for (unsigned waited = 0; world->qemu > 0 && waited <= within_ms; waited += 5) {
        if (waitpid(world->qemu, &status, WNOHANG) == world->qemu)
            world->qemu = 0;
        else
            (void)nanosleep(&pause, NULL);
    }
    return world->qemu == 0;
}

void machine_world_clear(struct machine_world *world)
{
    if (world->qemu > 0) {
        (void)kill(world->qemu, SIGKILL);
        (void)waitpid(world->qemu, NULL, 0);
    }
    if (world->dir[0])
        (void)do_script(world, "rm -rf \"$PWD\"");
    *world = (struct machine_world){ .dir = "" };
}
