#include "pr_root.h"

#include "doorway.h"
#include "nacre/own.h"
#include "spec.h"

#define READ SPEC_MAY_READ
#define RUN (SPEC_MAY_READ | SPEC_MAY_EXECUTE)
#define CHANGE (SPEC_MAY_READ | SPEC_MAY_WRITE)

#define SWITCH                                                                 \
    "passwd: files\ngroup: files\nshadow: files\nnetworks: files\n"            \
    "protocols: files\nservices: files\n"
#define HOSTS "127.0.0.1 localhost nacre\n::1 localhost nacre\n"
#define RESOLVER "nameserver " DOORWAY_NAMES_ADDRESS "\noptions timeout:2 attempts:1\n"

const struct pr_root_entry pr_root[] = {
    { "usr", PR_IN_OWN, PR_ROOT_HOST, NULL, NULL, RUN, 0, "the host's programs" },
    { "bin", PR_IN_OWN, PR_ROOT_HOST, NULL, NULL, RUN, 0, "the host's programs" },
    { "sbin", PR_IN_OWN, PR_ROOT_HOST, NULL, NULL, RUN, 0, "the host's programs" },
    { "lib", PR_IN_OWN, PR_ROOT_HOST, NULL, NULL, RUN, 0, "the host's libraries" },
    { "lib32", PR_IN_OWN, PR_ROOT_HOST, NULL, NULL, RUN, 0, "the host's libraries" },
    { "lib64", PR_IN_OWN, PR_ROOT_HOST, NULL, NULL, RUN, 0, "the host's libraries" },

    { "etc/ld.so.cache", PR_IN_OWN, PR_ROOT_HOST, NULL, NULL, 0, 0, "libraries" },
    { "etc/ld.so.conf", PR_IN_OWN, PR_ROOT_HOST, NULL, NULL, 0, 0, "libraries" },
    { "etc/ld.so.conf.d", PR_IN_OWN, PR_ROOT_HOST, NULL, NULL, 0, 0, "libraries" },
    { "etc/alternatives", PR_IN_OWN, PR_ROOT_HOST, NULL, NULL, 0, 0, "programs" },
    { "etc/ssl/certs", PR_IN_OWN, PR_ROOT_HOST, NULL, NULL, 0, 0, "certificates" },
    { "etc/ca-certificates", PR_IN_OWN, PR_ROOT_HOST, NULL, NULL, 0, 0, "certificates" },
    { "etc/pki/tls/certs", PR_IN_OWN, PR_ROOT_HOST, NULL, NULL, 0, 0, "certificates" },
    { "etc/pki/ca-trust", PR_IN_OWN, PR_ROOT_HOST, NULL, NULL, 0, 0, "certificates" },
    { "etc/localtime", PR_IN_OWN, PR_ROOT_HOST, NULL, NULL, 0, 0, "the time zone" },
    { "etc/nsswitch.conf", PR_IN_OWN, PR_ROOT_FILE,
      "hosts: files\n" SWITCH, "hosts: files dns\n" SWITCH, 0, 0444,
      "names are looked up in files alone" },
    { "etc/passwd", PR_IN_OWN, PR_ROOT_PASSWD, NULL, NULL, 0, 0444, "one user" },
    { "etc/group", PR_IN_OWN, PR_ROOT_GROUP, NULL, NULL, 0, 0444, "one group" },
    { "etc/hosts", PR_IN_OWN, PR_ROOT_HOSTS, HOSTS, NULL, 0, 0444, "one machine" },
    { "etc/resolv.conf", PR_IN_OWN, PR_ROOT_FILE, "", RESOLVER, 0, 0444,
      "no name server, or the door's own" },
    { "etc/hostname", PR_IN_OWN, PR_ROOT_FILE, "nacre\n", NULL, 0, 0444, "its name" },

    { "proc", PR_IN_BOTH, PR_ROOT_PROC, NULL, NULL, CHANGE, 0, "its own processes" },
    /* What the engine of containers masks too. */
    { "proc/acpi", PR_IN_BOTH, PR_ROOT_COVER, NULL, NULL, 0, 0, "of the host" },
    { "proc/asound", PR_IN_BOTH, PR_ROOT_COVER, NULL, NULL, 0, 0, "of the host" },
    { "proc/interrupts", PR_IN_BOTH, PR_ROOT_COVER, NULL, NULL, 0, 0, "of the host" },
    { "proc/kcore", PR_IN_BOTH, PR_ROOT_COVER, NULL, NULL, 0, 0, "of the host" },
    { "proc/keys", PR_IN_BOTH, PR_ROOT_COVER, NULL, NULL, 0, 0, "of the host" },
    { "proc/latency_stats", PR_IN_BOTH, PR_ROOT_COVER, NULL, NULL, 0, 0, "of the host" },
    { "proc/sched_debug", PR_IN_BOTH, PR_ROOT_COVER, NULL, NULL, 0, 0, "of the host" },
    { "proc/scsi", PR_IN_BOTH, PR_ROOT_COVER, NULL, NULL, 0, 0, "of the host" },
    { "proc/timer_list", PR_IN_BOTH, PR_ROOT_COVER, NULL, NULL, 0, 0, "of the host" },
    { "proc/timer_stats", PR_IN_BOTH, PR_ROOT_COVER, NULL, NULL, 0, 0, "of the host" },
    { "proc/bus", PR_IN_BOTH, PR_ROOT_HOLD, NULL, NULL, 0, 0, "read-only" },
    { "proc/fs", PR_IN_BOTH, PR_ROOT_HOLD, NULL, NULL, 0, 0, "read-only" },
    { "proc/irq", PR_IN_BOTH, PR_ROOT_HOLD, NULL, NULL, 0, 0, "read-only" },
    { "proc/sys", PR_IN_BOTH, PR_ROOT_HOLD, NULL, NULL, 0, 0, "read-only" },
    { "proc/sysrq-trigger", PR_IN_BOTH, PR_ROOT_HOLD, NULL, NULL, 0, 0, "read-only" },

    { "sys", PR_IN_FULL, PR_ROOT_COVER, NULL, NULL, 0, 0, "of the host" },
    { "run", PR_IN_FULL, PR_ROOT_RUN, NULL, NULL, READ, 0755,
      "doors to the host's services" },
    { "run/nacre", PR_IN_BOTH, PR_ROOT_CERTIFICATES, NULL, NULL, CHANGE, 0755,
      "certificates of the door's" },
    { "run/secrets", PR_IN_BOTH, PR_ROOT_SECRETS, NULL, NULL, CHANGE, 0700,
      "files of one run" },
    { "etc/hosts", PR_IN_FULL, PR_ROOT_OVER, HOSTS, HOSTS, 0, 0444,
      "names that the door serves" },
    { "etc/resolv.conf", PR_IN_FULL, PR_ROOT_OVER, "", RESOLVER, 0, 0444,
      "the door's name server" },

    { "dev", PR_IN_FULL, PR_ROOT_PRIVATE, NULL, NULL, CHANGE, 0755, "devices" },
    { "dev/null", PR_IN_BOTH, PR_ROOT_DEVICE, NULL, NULL, CHANGE, 0, "device" },
    { "dev/zero", PR_IN_BOTH, PR_ROOT_DEVICE, NULL, NULL, CHANGE, 0, "device" },
    { "dev/full", PR_IN_BOTH, PR_ROOT_DEVICE, NULL, NULL, CHANGE, 0, "device" },
    { "dev/random", PR_IN_BOTH, PR_ROOT_DEVICE, NULL, NULL, CHANGE, 0, "device" },
    { "dev/urandom", PR_IN_BOTH, PR_ROOT_DEVICE, NULL, NULL, CHANGE, 0, "device" },
    { "dev/tty", PR_IN_BOTH, PR_ROOT_DEVICE, NULL, NULL, CHANGE | SPEC_MAY_IOCTL, 0,
      "device" },
    { "dev/fd", PR_IN_BOTH, PR_ROOT_LINK, "/proc/self/fd", NULL, 0, 0, "link" },
    { "dev/stdin", PR_IN_BOTH, PR_ROOT_LINK, "/proc/self/fd/0", NULL, 0, 0, "link" },
    { "dev/stdout", PR_IN_BOTH, PR_ROOT_LINK, "/proc/self/fd/1", NULL, 0, 0, "link" },
    { "dev/stderr", PR_IN_BOTH, PR_ROOT_LINK, "/proc/self/fd/2", NULL, 0, 0, "link" },
    { "dev/shm", PR_IN_BOTH, PR_ROOT_SHARED, NULL, NULL, RUN, 01777, "shared memory" },
    { "tmp", PR_IN_OWN, PR_ROOT_TMP, NULL, NULL, RUN, 01777, "scratch" },
};
const size_t pr_root_count = NACRE_COUNT(pr_root);
