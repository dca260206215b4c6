#include "pr_root.h"

#include "nacre/own.h"
#include "spec.h"

#define READ SPEC_MAY_READ
#define RUN (SPEC_MAY_READ | SPEC_MAY_EXECUTE)
#define CHANGE (SPEC_MAY_READ | SPEC_MAY_WRITE)
#define ANY (RUN | SPEC_MAY_WRITE)

const struct pr_root_entry pr_root[] = {
    { "usr", PR_IN_OWN, PR_ROOT_HOST, NULL, RUN, 0, "the host's programs" },
    { "bin", PR_IN_OWN, PR_ROOT_HOST, NULL, RUN, 0, "the host's programs" },
    { "sbin", PR_IN_OWN, PR_ROOT_HOST, NULL, RUN, 0, "the host's programs" },
    { "lib", PR_IN_OWN, PR_ROOT_HOST, NULL, RUN, 0, "the host's libraries" },
    { "lib32", PR_IN_OWN, PR_ROOT_HOST, NULL, RUN, 0, "the host's libraries" },
    { "lib64", PR_IN_OWN, PR_ROOT_HOST, NULL, RUN, 0, "the host's libraries" },

    { "etc/ld.so.cache", PR_IN_OWN, PR_ROOT_HOST, NULL, 0, 0, "where libraries lie" },
    { "etc/ld.so.conf", PR_IN_OWN, PR_ROOT_HOST, NULL, 0, 0, "where libraries lie" },
    { "etc/ld.so.conf.d", PR_IN_OWN, PR_ROOT_HOST, NULL, 0, 0, "where libraries lie" },
    { "etc/alternatives", PR_IN_OWN, PR_ROOT_HOST, NULL, 0, 0, "names of programs" },
    { "etc/ssl/certs", PR_IN_OWN, PR_ROOT_HOST, NULL, 0, 0, "certificates" },
    { "etc/ca-certificates", PR_IN_OWN, PR_ROOT_HOST, NULL, 0, 0, "certificates" },
    { "etc/pki/tls/certs", PR_IN_OWN, PR_ROOT_HOST, NULL, 0, 0, "certificates" },
    { "etc/pki/ca-trust", PR_IN_OWN, PR_ROOT_HOST, NULL, 0, 0, "certificates" },
    { "etc/localtime", PR_IN_OWN, PR_ROOT_HOST, NULL, 0, 0, "the time zone" },
    { "etc/nsswitch.conf", PR_IN_OWN, PR_ROOT_FILE,
      "passwd: files\ngroup: files\nshadow: files\nhosts: files\nnetworks: files\n"
      "protocols: files\nservices: files\n",
      0, 0444, "names are looked up in files alone" },
    { "etc/passwd", PR_IN_OWN, PR_ROOT_PASSWD, NULL, 0, 0444, "one user" },
    { "etc/group", PR_IN_OWN, PR_ROOT_GROUP, NULL, 0, 0444, "one group" },
    { "etc/hosts", PR_IN_OWN, PR_ROOT_FILE,
      "127.0.0.1 localhost nacre\n::1 localhost nacre\n", 0, 0444, "one machine" },
    { "etc/resolv.conf", PR_IN_OWN, PR_ROOT_FILE, "", 0, 0444, "no name server" },
    { "etc/hostname", PR_IN_OWN, PR_ROOT_FILE, "nacre\n", 0, 0444, "its name" },

    { "proc", PR_IN_BOTH, PR_ROOT_PROC, NULL, CHANGE, 0, "its own processes alone" },
    /* What the engine of containers masks too. */
    { "proc/acpi", PR_IN_BOTH, PR_ROOT_COVER, NULL, 0, 0, "of the host" },
    { "proc/asound", PR_IN_BOTH, PR_ROOT_COVER, NULL, 0, 0, "of the host" },
    { "proc/interrupts", PR_IN_BOTH, PR_ROOT_COVER, NULL, 0, 0, "of the host" },
    { "proc/kcore", PR_IN_BOTH, PR_ROOT_COVER, NULL, 0, 0, "of the host" },
    { "proc/keys", PR_IN_BOTH, PR_ROOT_COVER, NULL, 0, 0, "of the host" },
    { "proc/latency_stats", PR_IN_BOTH, PR_ROOT_COVER, NULL, 0, 0, "of the host" },
    { "proc/sched_debug", PR_IN_BOTH, PR_ROOT_COVER, NULL, 0, 0, "of the host" },
    { "proc/scsi", PR_IN_BOTH, PR_ROOT_COVER, NULL, 0, 0, "of the host" },
    { "proc/timer_list", PR_IN_BOTH, PR_ROOT_COVER, NULL, 0, 0, "of the host" },
    { "proc/timer_stats", PR_IN_BOTH, PR_ROOT_COVER, NULL, 0, 0, "of the host" },
    { "proc/bus", PR_IN_BOTH, PR_ROOT_HOLD, NULL, 0, 0, "read-only" },
    { "proc/fs", PR_IN_BOTH, PR_ROOT_HOLD, NULL, 0, 0, "read-only" },
    { "proc/irq", PR_IN_BOTH, PR_ROOT_HOLD, NULL, 0, 0, "read-only" },
    { "proc/sys", PR_IN_BOTH, PR_ROOT_HOLD, NULL, 0, 0, "read-only" },
    { "proc/sysrq-trigger", PR_IN_BOTH, PR_ROOT_HOLD, NULL, 0, 0, "read-only" },

    { "sys", PR_IN_FULL, PR_ROOT_COVER, NULL, 0, 0, "of the host" },
    { "run", PR_IN_FULL, PR_ROOT_COVER, NULL, 0, 0, "doors to the host's services" },

    { "dev", PR_IN_FULL, PR_ROOT_PRIVATE, NULL, CHANGE, 0755, "devices" },
    { "dev/null", PR_IN_BOTH, PR_ROOT_DEVICE, NULL, CHANGE, 0, "device" },
    { "dev/zero", PR_IN_BOTH, PR_ROOT_DEVICE, NULL, CHANGE, 0, "device" },
    { "dev/full", PR_IN_BOTH, PR_ROOT_DEVICE, NULL, CHANGE, 0, "device" },
    { "dev/random", PR_IN_BOTH, PR_ROOT_DEVICE, NULL, CHANGE, 0, "device" },
    { "dev/urandom", PR_IN_BOTH, PR_ROOT_DEVICE, NULL, CHANGE, 0, "device" },
    { "dev/tty", PR_IN_BOTH, PR_ROOT_DEVICE, NULL, CHANGE | SPEC_MAY_IOCTL, 0, "device" },
    { "dev/fd", PR_IN_BOTH, PR_ROOT_LINK, "/proc/self/fd", 0, 0, "link" },
    { "dev/stdin", PR_IN_BOTH, PR_ROOT_LINK, "/proc/self/fd/0", 0, 0, "link" },
    { "dev/stdout", PR_IN_BOTH, PR_ROOT_LINK, "/proc/self/fd/1", 0, 0, "link" },
    { "dev/stderr", PR_IN_BOTH, PR_ROOT_LINK, "/proc/self/fd/2", 0, 0, "link" },
    { "dev/shm", PR_IN_BOTH, PR_ROOT_PRIVATE, NULL, ANY, 01777, "shared memory" },
    { "tmp", PR_IN_OWN, PR_ROOT_PRIVATE, NULL, ANY, 01777, "scratch" },
};
const size_t pr_root_count = NACRE_COUNT(pr_root);
