#include "warm_plan.h"

#include <stdlib.h>
#include <string.h>

static char **list(const char *first, const char *second)
{
    char **texts = calloc(3, sizeof(*texts));

    if (texts) {
        texts[0] = strdup(first);
        texts[1] = strdup(second);
    }
    return texts;
}

static struct nacre_container container(void)
{
    return (struct nacre_container){
        .image = strdup("image:1"),
        .workdir = strdup("/work"),
        .user = strdup("1:2"),
        .seccomp_profile = strdup("docker-default"),
        .apparmor_profile = strdup("armour"),
        .selinux_label = strdup("label"),
        .setup_command = strdup("apt install x"),
        .cpuset = strdup("0-1"),
        .tmpfs = list("/tmp", "/run"),
        .keep_capabilities = list("CHOWN", "KILL"),
        .blocked_syscalls = list("mount", "ptrace"),
        .environment = list("A=1", "B=2"),
        .ulimits = list("nofile=1:2", "core=0:0"),
        .read_only_root = true,
        .user_namespaces = true,
        .memory_swap_bytes = 201,
        .memory_reservation_bytes = 202,
        .cpus_nano = 203,
        .disk_bytes = 204,
        .disk_iops = 205,
        .disk_io_weight = 206,
    };
}

static struct nacre_limits limits(void)
{
    return (struct nacre_limits){
        .memory_bytes_max = 101,
        .memory_asked = true,
        .wall_ms_max = 60000,
        .open_files_max = 103,
        .output_bytes_max = UINT64_C(1) << 20,
        .cpu_shares = 105,
        .processes_max = 106,
        .processes_asked = true,
        .fuel_max = UINT64_MAX,
        .fuel_exact = true,
        .scratch_bytes_max = 108,
        .scratch_files_max = 109,
    };
}

static struct nacre_egress_host *host(const char *text, enum nacre_way way)
{
    struct nacre_egress_host *host = calloc(1, sizeof(*host));
    struct nacre_error err;

    if (host && nacre_egress_host_read(text, host, &err) == NACRE_OK) {
        host->way = way;
        host->index = 3;
        host->place = (struct nacre_place){ 4, 5 };
    }
    return host;
}

static struct nacre_egress egress(void)
{
    struct nacre_egress egress = {
        .mode = NACRE_NETWORK_ALLOWLIST,
        .allowed = host("*.a.example:81", NACRE_WAY_INTERCEPT),
        .allowed_count = 1,
        .denied = host("192.0.2.1", NACRE_WAY_NONE),
        .denied_count = 1,
        .block_private = true,
        .scan = true,
        .patterns = 7,
        .way = NACRE_WAY_UPGRADE,
        .secrets = calloc(1, sizeof(*egress.secrets)),
        .secret_count = 1,
        .limits = { 301, 302, 303, 304, 305, 306 },
        .resolvers = list("192.0.2.53", "192.0.2.54"),
        .fixed_hosts = list("a.example=192.0.2.2", "b.example=192.0.2.3"),
    };

    if (egress.secrets)
        egress.secrets[0] = (struct nacre_egress_secret){
            .name = strdup("key"), .hosts = host("x.a.example", NACRE_WAY_NONE),
            .host_count = 1,
        };
    return egress;
}

struct nacre_plan *warm_plan(const char *scope_key)
{
    struct nacre_plan *plan = calloc(1, sizeof(*plan));

    if (!plan)
        return NULL;
    plan->level = NACRE_LEVEL_CONTAINER;
    plan->runtime = NACRE_RUNTIME_DOCKER;
    plan->full_tree = true;
    plan->mounts = calloc(2, sizeof(*plan->mounts));
    plan->mount_count = 2;
    plan->mounts[0] = (struct nacre_mount){
        .guest = strdup("/workspace"), .host = strdup("/srv/w\xff/x"), .writable = true,
        .denied = list("secret", "a/b"), .denied_count = 2,
        .covered = list("sub", "other"), .covered_count = 2,
    };
    plan->mounts[1] = (struct nacre_mount){ .guest = strdup("/tmp") };
    plan->limits = limits();
    plan->egress = egress();
    plan->injection = NACRE_INJECTION_FILE_MOUNT;
    plan->leak_scan = true;
    plan->leak_patterns = 7;
    plan->required = NACRE_FEATURE_NATIVE | NACRE_FEATURE_WARM;
    plan->waivable = NACRE_FEATURE_DISK_OF_ROOT;
    plan->directory = strdup("/workspace/d\xc3\xa4");
    plan->scope = NACRE_SCOPE_AGENT;
    plan->scope_key = strdup(scope_key);
    plan->container = container();
    plan->denied_host_paths = list("/srv/w/secret", "/etc/shadow");
    plan->denied_host_count = 2;
    plan->denied_root = list("/usr/bin/curl", "/opt");
    plan->denied_root_count = 2;
    plan->digest = nacre_hash("digest", 6);
    plan->sealed = true;
    return plan;
}
