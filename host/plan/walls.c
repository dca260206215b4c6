#include "walls.h"

#include <assert.h>
#include <string.h>

#include "container.h"
#include "nacre/path.h"

#define NATIVE_LIMITS                                                              \
    (NACRE_FEATURE_NATIVE | NACRE_FEATURE_WALL_LIMIT | NACRE_FEATURE_OUTPUT_LIMIT | \
     NACRE_FEATURE_OPEN_FILES)
#define NATIVE_ALWAYS \
    (NATIVE_LIMITS | NACRE_FEATURE_PROCESSES | NACRE_FEATURE_NO_NETWORK)
#define NATIVE_ASKED (NACRE_FEATURE_MEMORY_LIMIT | NACRE_FEATURE_CPU_SHARES_ANY)
#define OUTWARD (NACRE_FEATURE_EGRESS | NACRE_FEATURE_SECRET_FILES)
#define FILES (NACRE_FEATURE_FS_BENEATH | NACRE_FEATURE_FS_DENIED)

#define JUDGE_WALL "parsed as a shell would, judged before anything starts"
#define COVER_WALL                                                                     \
    "covered by a read-only 0000 file or directory; checked before each command"
#define INIT_TIME "init's deadline and the owner's behind it; all it started is killed"
#define INIT_OUTPUT "counted by the owner, cut at the byte"

#define SOCKETS                                                                        \
    "sockets and FIFOs of the host's in a granted directory come with it, whatever the "  \
    "network's mode: who listens there can be reached; deny the paths it must not use"

static const struct walls wasm = {
    .features = NACRE_FEATURE_WASM | NACRE_FEATURE_MEMORY_LIMIT |
                NACRE_FEATURE_WALL_LIMIT | NACRE_FEATURE_FUEL | NACRE_FEATURE_OPEN_FILES |
                NACRE_FEATURE_OUTPUT_LIMIT | NACRE_FEATURE_PROCESSES |
                NACRE_FEATURE_CPU_SHARES_LOW | NACRE_FEATURE_CPU_SHARES_ANY | FILES |
                NACRE_FEATURE_FS_FULL | NACRE_FEATURE_NO_NETWORK |
                NACRE_FEATURE_NO_SHELL | OUTWARD,
    .always = NACRE_FEATURE_WASM | NACRE_FEATURE_MEMORY_LIMIT | NACRE_FEATURE_WALL_LIMIT |
              NACRE_FEATURE_FUEL | NACRE_FEATURE_OPEN_FILES | NACRE_FEATURE_OUTPUT_LIMIT |
              NACRE_FEATURE_PROCESSES | NACRE_FEATURE_NO_NETWORK | NACRE_FEATURE_NO_SHELL,
    .level = "a WebAssembly guest in a worker process of its own",
    .jail = "wasmtime; seccomp; landlock where the kernel has it; a worker can be killed",
    .runtime = "the pinned engine; proposals off by name",
    .network = "no socket import exists; seccomp refuses socket()",
    .door = "a host call to the door's process; no socket import exists, seccomp refuses "
            "socket()",
    .secret_files = "virtual read-only files of the shim; nothing on disk",
    .command = "a wasm guest can't start a process; seccomp refuses fork and exec",
    .deny = "no directory is visible",
    .no_files = "no preopen exists: every path call fails",
    .full = "the host's tree, read-write, but for kernel filesystems",
    .tree = "openat2 RESOLVE_IN_ROOT below a kept fd; kernel filesystems are never "
            "opened",
    .mount = "openat2 RESOLVE_BENEATH below a kept fd; landlock",
    .private_mount = "openat2 RESOLVE_BENEATH below a kept fd; landlock; made in the "
                     "worker's scratch directory",
    .denied = "name and inode compared at every step of the path walk",
    .memory_unit = "MiB of memory and tables together",
    .memory = "the engine's memory comes from nacre's own allocator: exact sum; "
              "RLIMIT_DATA beneath",
    .memory_default = "the engine's memory comes from nacre's own allocator: exact sum; "
                      "RLIMIT_DATA beneath",
    .cpu = "cgroup weight, or nice",
    .cpu_more = "cgroup weight",
    .processes_unit = "processes: a wasm guest can start none",
    .processes = "holds by nature; seccomp refuses fork and exec",
    .open_files_unit = "open files beyond stdio and mounts",
    .open_files = "counted in the shim's fd table",
    .time_unit = "ms of wall time, compilation included",
    .time = "supervisor's deadline: epoch interrupt, SIGKILL at +150 ms",
    .output = "counted in the shim, cut at the byte",
    .scratch = "counted in the shim",
};

static const struct walls process = {
    .features = NATIVE_ALWAYS | NATIVE_ASKED | FILES | NACRE_FEATURE_FS_FULL | OUTWARD,
    .always = NATIVE_ALWAYS,
    .level = "a native command in namespaces of its own",
    .jail = "user, mount, pid, net, ipc, uts, cgroup namespaces; pivot_root; seccomp; no "
            "capabilities; landlock where there is one",
    .runtime = "nacre's own launcher and init",
    .network = "an empty network namespace",
    .door = "an empty network namespace with a door on loopback",
    .secret_files = "a tmpfs of the sandbox with files of the guest's; nothing on disk",
    .command = JUDGE_WALL,
    .deny = "no mount; the root is read-only, only /tmp can be written",
    .no_files = "a root of its own, read-only",
    .full = "the host's tree, read-write, less the denied paths",
    .tree = "bind mount of the host's root, nosuid, nodev; as the sandbox's own user",
    .mount = "bind mount from a kept fd, nosuid, nodev; landlock",
    .private_mount = "a directory of a tmpfs, gone with the sandbox",
    .denied = COVER_WALL,
    .unreached = NOT_IN_ROOT,
    .sockets = SOCKETS " (Landlock ABI 9 refuses sockets: see nacre backends)",
    .memory_unit = "MiB of memory, all processes together",
    .memory = "memory cgroup",
    .memory_default_unit = "MiB together by cgroup, else data of each process",
    .memory_default = "memory cgroup where one can be had; RLIMIT_DATA; a line in the "
                      "policy makes the cgroup a condition",
    .cpu = "cpu cgroup",
    .cpu_more = "cpu cgroup",
    .processes_unit = "processes and threads",
    .processes = "RLIMIT_NPROC in the user namespace; pids cgroup where there is one",
    .open_files_unit = "open files a process",
    .open_files = "RLIMIT_NOFILE",
    .time_unit = "ms of wall time",
    .time = INIT_TIME,
    .output = INIT_OUTPUT,
    .scratch = "size of a tmpfs",
};

#define CONTAINER_FEATURES                                                          \
    (NATIVE_ALWAYS | NATIVE_ASKED | FILES | OUTWARD | NACRE_FEATURE_CPUS |           \
     NACRE_FEATURE_CPUSET | NACRE_FEATURE_SWAP_LIMIT |                               \
     NACRE_FEATURE_MEMORY_RESERVATION | NACRE_FEATURE_DISK_OF_ROOT |                 \
     NACRE_FEATURE_DISK_OF_SESSION | NACRE_FEATURE_DISK_IOPS |                       \
     NACRE_FEATURE_DISK_IO_WEIGHT | NACRE_FEATURE_WARM)
/* With any runtime of the engine. */
#define CONTAINER_WORDS                                                             \
    .network = "network none: the container has loopback alone",                     \
    .door = "network none, with a door on loopback that init carries to the host",   \
    .secret_files = "a tmpfs, filled by init with files of the guest's; not on disk", \
    .command = JUDGE_WALL,                                                           \
    .deny = "nothing of the host; the root is read-only, only /tmp can be written",  \
    .no_files = "no bind; read-only root",                                           \
    .full = "the container's own root, writable as far as its user may; nothing of " \
            "the host is added",                                                     \
    .tree = "writable root",                                                         \
    .private_mount = "a tmpfs of the container, gone with it",                       \
    .denied = COVER_WALL,                                                            \
    .unreached = NOT_IN_ROOT,                                                        \
    .covers_root = true,                                                             \
    .memory_unit = "MiB of memory, all processes together",                          \
    .processes_unit = "processes and threads",                                       \
    .open_files_unit = "open files a process",                                       \
    .open_files = "RLIMIT_NOFILE",                                                   \
    .open_files_min = 32, /* of the engine's runtime, and of init with its commands */ \
    .time_unit = "ms of wall time, the making of its container included",            \
    .time = INIT_TIME ", or the container is",                                       \
    .output = INIT_OUTPUT,                                                           \
    .disk = "the driver's quota, or tmpfs sizes under a read-only root",             \
    .disk_of_session = "an ext4 of that size in a file, for the workspace; tmpfs "   \
                       "sizes; read-only root, or the driver's quota",               \
    .scratch = "size of a tmpfs, read back from inside",                             \
    .scratch_in_parts = true

static const struct walls container = {
    .features = CONTAINER_FEATURES | NACRE_FEATURE_APPARMOR | NACRE_FEATURE_SELINUX |
                NACRE_FEATURE_RUNTIME,
    .always = NATIVE_ALWAYS,
    .level = "a native command in a container of the engine",
    .jail = "the engine's namespaces; no capabilities; seccomp; no-new-privileges; "
            "init's report compared line by line",
    .runtime = "the engine's API; never the docker program",
    CONTAINER_WORDS,
    .mount = "bind; device and inode compared with a kept fd",
    .sockets = SOCKETS,
    .memory = "memory cgroup, read back from inside",
    .memory_default = "memory cgroup, read back from inside",
    .memory_mb_min = NACRE_ENGINE_MEMORY_MIN / (1 << 20),
    .cpu = "cpu cgroup, read back from inside",
    .cpu_more = "cpu cgroup, read back from inside",
    .cpuset = "cpuset cgroup, read back from inside",
    .processes = "pids cgroup, read back from inside",
};

static const struct unkept not_with_gvisor[] = {
    { "container.apparmor_profile", "",
      "gVisor puts no AppArmor profile around a command" },
    { "container.selinux_label", "", "gVisor puts no SELinux label on a command" },
    /* A runsc that keeps the root's changes in memory leaves none for an image. */
    { "container.setup_command", "",
      "with gVisor it can't be told whether an image keeps what it does" },
#define NOT_HELD "gVisor's kernel does not hold this limit"
    { "container.ulimits", "locks=", NOT_HELD },
    { "container.ulimits", "msgqueue=", NOT_HELD },
    { "container.ulimits", "sigpending=", NOT_HELD },
#undef NOT_HELD
};

/*
 * gVisor drops the seccomp profile that the engine gives it, has no cgroups inside and
 * numbers files of its own making.  A pids cgroup would count the sentry's own threads,
 * and reaching it would be the end of the whole sandbox.
 */
static const struct walls gvisor = {
    .features = CONTAINER_FEATURES | NACRE_FEATURE_RUNTIME,
    .always = NATIVE_ALWAYS | NACRE_FEATURE_RUNTIME,
    .level = "a native command in a container of the engine, with gVisor's kernel",
    .jail = "gVisor's kernel in user space; no capabilities; init's seccomp (the "
            "engine's is ignored); init's report compared",
    .runtime = "runsc, registered at the engine; proved from inside, never another",
    CONTAINER_WORDS,
    .mount = "bind; a nonce file written through a kept fd is read back from inside",
    .memory = "memory cgroup around gVisor, read back on the host; over it, all of the "
              "sandbox ends",
    .memory_default = "memory cgroup around gVisor, read back on the host; over it, all "
                      "of the sandbox ends",
    .memory_mb_min = 32, /* gVisor itself does not start with less */
    .cpu = "cpu cgroup around gVisor, read back on the host",
    .cpu_more = "cpu cgroup around gVisor, read back on the host",
    .cpuset = "cpuset cgroup around gVisor, read back on the host",
    .processes = "RLIMIT_NPROC by gVisor's kernel; never a pids cgroup",
    .scratch_files_uncounted = true,
    .unkept = not_with_gvisor,
    .unkept_count = NACRE_COUNT(not_with_gvisor),
    .unkept_fix = "remove this line, or change the runtime 'gvisor' to 'docker'",
};

#define NO_PROFILE "nacre's own filter holds in the machine; the engine's is around QEMU"
#define NO_SWAP "a machine has no swap, and its memory is its own"
#define NO_DISK "a machine's disk is read-only, and what it writes is in memory"
static const struct unkept not_in_machine[] = {
    /* Directories of the host are served by QEMU, as whom commands are. */
    { "container.user", "0", "QEMU is never root, and commands are whom it is" },
    { "container.seccomp_profile", "", NO_PROFILE },
    { "container.apparmor_profile", "", "the machine's kernel has no AppArmor" },
    { "container.selinux_label", "", "the machine's kernel has no SELinux" },
    /* It would run what the level promises to keep in a machine. */
    { "container.setup_command", "", "it would run in a container, outside any machine" },
    { "container.ulimits", "", "nobody sets these limits in a machine" },
    { "container.memory_swap", "", NO_SWAP },
    { "container.memory_reservation", "", NO_SWAP },
    { "container.disk_iops", "", NO_DISK },
    { "container.disk_io_weight", "", NO_DISK },
};

/* The machine's own kernel keeps what it can count; around QEMU the engine's container
 * keeps the rest, and is read back as every container is. */
static const struct walls vm = {
    .features = NATIVE_ALWAYS | NATIVE_ASKED | FILES | OUTWARD | NACRE_FEATURE_CPUS |
                NACRE_FEATURE_CPUSET | NACRE_FEATURE_DISK_OF_ROOT |
                NACRE_FEATURE_DISK_OF_SESSION | NACRE_FEATURE_WARM |
                NACRE_FEATURE_RUNTIME | NACRE_FEATURE_KVM,
    .always = NATIVE_ALWAYS | NACRE_FEATURE_KVM,
    .level = "a native command in a machine with a kernel of its own",
    .jail = "KVM; QEMU as an ordinary user in a container without capabilities; in the "
            "machine seccomp, no capabilities, init's report",
    .runtime = "QEMU in nacre's own image; a registered one is proved from inside",
    .network = "no network device; loopback alone",
    .door = "no network device; a door on loopback that init carries to the host",
    .secret_files = "a tmpfs of the machine, filled by init with files of the guest's; "
                    "not on disk",
    .command = JUDGE_WALL,
    .deny = "nothing of the host; the root is read-only, only /tmp can be written",
    .no_files = "no share; read-only root",
    .full = "the machine's own root, writable as far as its user may; nothing of the "
            "host is added",
    .tree = "a tmpfs above a read-only disk",
    .mount = "9p share of a bind whose device and inode are compared with a kept fd",
    .private_mount = "a tmpfs of the machine",
    .denied = COVER_WALL,
    .unreached = NOT_IN_ROOT,
    .covers_root = true,
    .memory_unit = "MiB of memory, all processes together",
    .memory = "memory cgroup of the machine's kernel, read back from inside",
    .memory_default = "memory cgroup of the machine's kernel, read back from inside",
    .cpu = "cpu cgroup around the machine, read back from inside it",
    .cpu_more = "cpu cgroup around the machine, read back from inside it",
    .cpuset = "cpuset cgroup around the machine, read back from inside it",
    .disk = "sizes of the machine's tmpfs; its disk is read-only",
    .disk_of_session = "an ext4 of that size in a file, for the workspace; sizes of the "
                       "machine's tmpfs",
    .processes_unit = "processes and threads",
    .processes = "pids cgroup of the machine's kernel, read back from inside",
    .open_files_unit = "open files a process",
    .open_files = "RLIMIT_NOFILE",
    .time_unit = "ms of wall time; the boot of a machine has 60 s of its own",
    .time = INIT_TIME ", or the machine is",
    .output = INIT_OUTPUT,
    .scratch = "size of a tmpfs, read back from inside",
    .scratch_in_parts = true,
    .unkept = not_in_machine,
    .unkept_count = NACRE_COUNT(not_in_machine),
    .unkept_fix = "remove this line, or change the level 'vm' to 'container'",
};

static const struct walls none = {
    .features = NATIVE_LIMITS | NATIVE_ASKED | NACRE_FEATURE_PROCESSES,
    .always = NATIVE_LIMITS,
    .level = "a command on the host, without a sandbox; recorded as unsandboxed",
    .jail = "rlimits and a deadline; nothing else holds it",
    .runtime = "nacre's own init",
    .command = JUDGE_WALL,
    .memory_unit = "MiB of memory",
    .memory = "",
    .memory_default = "",
    .cpu = "",
    .cpu_more = "",
    .processes_unit = "processes",
    .processes = "",
    .open_files_unit = "open files a process",
    .open_files = "RLIMIT_NOFILE",
    .time_unit = "ms of wall time",
    .time = INIT_TIME,
    .output = INIT_OUTPUT,
};

const struct walls *nacre_walls_of(enum nacre_level level, enum nacre_runtime runtime)
{
    switch (level) {
    case NACRE_LEVEL_NONE: return &none;
    case NACRE_LEVEL_PROCESS: return &process;
    case NACRE_LEVEL_WASM: return &wasm;
    case NACRE_LEVEL_CONTAINER:
        return runtime == NACRE_RUNTIME_GVISOR ? &gvisor : &container;
    case NACRE_LEVEL_VM: return &vm;
    case NACRE_LEVEL_UNSET:
    case NACRE_LEVEL_COUNT:
        break;
    }
    assert(false && "a policy has a level");
    return NULL;
}

bool nacre_level_is_native(enum nacre_level level)
{
    return level != NACRE_LEVEL_WASM;
}

bool nacre_level_has_image(enum nacre_level level)
{
    return level == NACRE_LEVEL_CONTAINER || level == NACRE_LEVEL_VM;
}

bool nacre_path_is_kernels(const char *path)
{
    return nacre_path_is_below(path, "/proc", NULL) ||
           nacre_path_is_below(path, "/sys", NULL);
}

uint64_t nacre_level_features(enum nacre_level level)
{
    return nacre_walls_of(level, NACRE_RUNTIME_UNSET)->features;
}

/* ---- what is there anyway ---- */

#define IN(mode) (1u << NACRE_FILESYSTEM_##mode)
#define HELD (IN(DENY) | IN(READ_ONLY)) /* modes that leave a guest little to write */
#define WRITES (IN(SCOPED) | IN(FULL))
#define OWN_ROOT (HELD | IN(SCOPED))
#define EVERY (HELD | WRITES)

#define TMP_WRITTEN(modes)                                                         \
    { modes, "/tmp", true, true, "/tmp read-write, private, in memory", "tmpfs" }
#define READ_ONLY_EMPTY(modes, place)                                              \
    { modes, place, true, false, place " read-only and empty", "read-only tmpfs" }
#define NODE(place) { EVERY, place, true, true, NULL, NULL }
#define NODES                                                                      \
    NODE("/dev/null"), NODE("/dev/zero"), NODE("/dev/full"), NODE("/dev/random"),  \
    NODE("/dev/urandom"), NODE("/dev/tty")
#define SHARED(what, wall)                                                         \
    { WRITES, "/dev/shm", true, true, what, wall }, READ_ONLY_EMPTY(HELD, "/dev/shm")
/* Of an engine's or of gVisor's own making. */
#define SHARED_AND_QUEUES(where)                                                   \
    SHARED("/dev/shm (64 MiB at most) and /dev/mqueue" where ": read-write, private, " \
           "in memory",                                                            \
           "a tmpfs whose size is read back from inside, and the kernel's queues"),   \
    { WRITES, "/dev/mqueue", true, true, NULL, NULL },                             \
    READ_ONLY_EMPTY(HELD, "/dev/mqueue")

/* Init, which fills it, is the guest's user. */
#define SECRETS                                                                    \
    { EVERY, NACRE_SECRET_DIR, true, true,                                         \
      NACRE_SECRET_DIR " with the files of --secret, in memory: the guest's own, and can " \
      "be written in every mode",                                                  \
      "tmpfs" }

static const char *const made_etc[] = {
    "/etc/alternatives", "/etc/ca-certificates", "/etc/group", "/etc/hostname",
    "/etc/hosts", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/etc/localtime", "/etc/nsswitch.conf", "/etc/passwd", "/etc/pki",
    "/etc/resolv.conf", "/etc/ssl", NULL,
};

static const struct builtin process_parts[] = {
    SECRETS,
    { OWN_ROOT, "/usr", true, false, "/usr read-only, with /bin, /lib, /lib64 and /sbin",
      "read-only bind, nosuid, nodev" },
    { OWN_ROOT, "/bin", true, false, NULL, NULL },
    { OWN_ROOT, "/sbin", true, false, NULL, NULL },
    { OWN_ROOT, "/lib", true, false, NULL, NULL },
    { OWN_ROOT, "/lib32", true, false, NULL, NULL },
    { OWN_ROOT, "/lib64", true, false, NULL, NULL },
    { OWN_ROOT, "/etc", true, false,
      "/etc made for the run: certificates, alternatives, ld.so.cache, one user",
      "read-only", made_etc },
    { EVERY, "/proc", true, false, "/proc of this sandbox's processes alone",
      "pid namespace; the kernel's secrets masked" },
    NODES,
    SHARED("/dev/shm read-write, private, in memory", "tmpfs"),
    { OWN_ROOT, "/dev", true, false, "/dev: null, zero, full, random, urandom and tty",
      "no other node; device nodes refused" },
    { IN(FULL), "/dev", true, true, "/dev: null, zero, full, random, urandom and tty",
      "no other node; device nodes refused" },
    { IN(FULL), "/sys", false, false, "/sys is covered", "not the host's" },
    { IN(FULL), "/run", false, false, "/run is covered: doors to the host's services",
      "not the host's" },
    TMP_WRITTEN(IN(DENY) | IN(SCOPED)),
    READ_ONLY_EMPTY(IN(READ_ONLY), "/tmp"),
    { OWN_ROOT, NULL, false, false, "no /home, /root, /var or /sys of the host",
      NOT_IN_ROOT },
};

static const struct builtin container_parts[] = {
    SECRETS,
    { EVERY, "/proc", true, false, "/proc of this container's processes alone",
      "pid namespace; the engine's masked paths" },
    { EVERY, "/sys", false, false, "/sys is covered", "masked" },
    NODES,
    SHARED_AND_QUEUES(""),
    { EVERY, "/dev", true, false, "/dev of the engine's: no device of the host",
      "devices cgroup; device nodes refused" },
    TMP_WRITTEN(IN(DENY) | WRITES),
    READ_ONLY_EMPTY(IN(READ_ONLY), "/tmp"),
    { OWN_ROOT, NULL, true, false, "the image's own files, read-only",
      "read-only root" },
    { IN(FULL), NULL, true, true, "the image's own files; changes go with the container",
      "a layer of its own" },
};

static const struct builtin gvisor_parts[] = {
    SECRETS,
    { EVERY, "/proc", true, false,
      "/proc of gVisor's kernel, which knows this sandbox alone", "gVisor's own" },
    { EVERY, "/sys", true, false, "/sys of gVisor's kernel",
      "gVisor's own; nothing of the host" },
    NODES,
    SHARED_AND_QUEUES(" where gVisor has one"),
    { EVERY, "/dev", true, false, "/dev of gVisor's kernel: no device of the host",
      "gVisor's own; device nodes refused" },
    TMP_WRITTEN(IN(DENY) | WRITES),
    READ_ONLY_EMPTY(IN(READ_ONLY), "/tmp"),
    { OWN_ROOT, NULL, true, false, "the image's own files, read-only",
      "read-only root" },
    { IN(FULL), NULL, true, true, "the image's own files; changes go with the container",
      "a layer of its own" },
};

static const struct builtin machine_parts[] = {
    SECRETS,
    { EVERY, "/proc", true, false, "/proc of the machine's kernel",
      "the machine's own; the kernel's secrets masked" },
    { EVERY, "/sys", false, false, "/sys is covered", "the machine has no sysfs" },
    NODES,
    SHARED("/dev/shm read-write, private, in memory: 64 MiB at most",
           "a tmpfs whose size is read back from inside"),
    { EVERY, "/dev", true, false, "/dev: null, zero, full, random, urandom and tty",
      "no device of the host; device nodes refused" },
    TMP_WRITTEN(IN(DENY) | WRITES),
    READ_ONLY_EMPTY(IN(READ_ONLY), "/tmp"),
    { OWN_ROOT, NULL, true, false, "the image's own files, read-only",
      "a disk that is read-only" },
    { IN(FULL), NULL, true, true, "the image's own files; changes go with the machine",
      "a tmpfs above a disk that is read-only" },
};

const struct builtin *nacre_builtin_next(const struct nacre_policy *policy,
                                         const struct builtin *last)
{
    static const struct {
        const struct builtin *parts;
        size_t count;
    } rows[] = {
#define ROW(parts) { parts, NACRE_COUNT(parts) }
        ROW(process_parts), ROW(container_parts), ROW(gvisor_parts), ROW(machine_parts),
#undef ROW
    };
    size_t row = policy->level == NACRE_LEVEL_PROCESS ? 0
                 : policy->level == NACRE_LEVEL_VM ? 3
                 : policy->level != NACRE_LEVEL_CONTAINER ? NACRE_COUNT(rows)
                 : policy->runtime == NACRE_RUNTIME_GVISOR ? 2
                                                           : 1;

    if (row == NACRE_COUNT(rows))
        return NULL;
    for (last = last ? last + 1 : rows[row].parts;
         last < rows[row].parts + rows[row].count; last++)
        if (last->modes & 1u << policy->filesystem.mode &&
            (policy->secrets.injection == NACRE_INJECTION_FILE_MOUNT ||
             !last->guest || strcmp(last->guest, NACRE_SECRET_DIR) != 0))
            return last;
    return NULL;
}

bool nacre_builtin_holds(const struct builtin *part, const char *guest)
{
    for (size_t i = 0; part->names && part->names[i]; i++)
        if (nacre_path_is_below(guest, part->names[i], NULL) ||
            nacre_path_is_below(part->names[i], guest, NULL))
            return true;
    return !part->names;
}

const struct builtin *nacre_builtin_at(const struct nacre_policy *policy,
                                       const char *guest)
{
    const struct builtin *part = NULL;

    while ((part = nacre_builtin_next(policy, part)) != NULL)
        if (!part->guest || nacre_path_is_below(guest, part->guest, NULL))
            break;
    return part;
}
