#ifndef NACRE_POLICY_H
#define NACRE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nacre/error.h"
#include "nacre/hash.h"
#include "nacre/own.h"

/*
 * The policy model: the one form that every dialect is compiled to.  Immutable
 * once loaded and so usable from several threads.  Every value remembers the
 * place that said it, because `explain` and every denial name that place.
 */

/* 1-based; line 0 means that nobody wrote it and a default holds. */
struct nacre_place {
    int line, column;
};

/* Spelt as CKP spells them; the NONE0 member catches a forgotten assignment. */
#define NACRE_LEVEL_MAP(X)       \
    X(NONE, "none")              \
    X(PROCESS, "process")        \
    X(WASM, "wasm")              \
    X(CONTAINER, "container")    \
    X(VM, "vm")
#define NACRE_RUNTIME_MAP(X)             \
    X(NATIVE, "native")                  \
    X(WASMTIME, "wasmtime")              \
    X(DOCKER, "docker")                  \
    X(APPLE_CONTAINER, "apple-container") \
    X(GVISOR, "gvisor")                  \
    X(FIRECRACKER, "firecracker")
#define NACRE_NETWORK_MAP(X)     \
    X(DENY, "deny")              \
    X(ALLOWLIST, "allowlist")    \
    X(ALLOW_ALL, "allow-all")
#define NACRE_FILESYSTEM_MAP(X)  \
    X(DENY, "deny")              \
    X(READ_ONLY, "read-only")    \
    X(SCOPED, "scoped")          \
    X(FULL, "full")
#define NACRE_SHELL_MAP(X)       \
    X(DENY, "deny")              \
    X(RESTRICTED, "restricted")  \
    X(FULL, "full")
#define NACRE_INJECTION_MAP(X)           \
    X(HOST_BOUNDARY, "host-boundary")    \
    X(ENVIRONMENT, "environment")        \
    X(FILE_MOUNT, "file-mount")

/* The scan of arguments and stdin, and what becomes of a finding. */
#define NACRE_INPUT_MODE_MAP(X)  \
    X(OFF, "off")                \
    X(ON, "on")                  \
    X(STRICT, "strict")
#define NACRE_INPUT_ACTION_MAP(X) \
    X(ALLOW, "allow")            \
    X(WARN, "warn")              \
    X(BLOCK, "block")

/* Which runs need an intent's token. */
#define NACRE_INTENT_NEED_MAP(X) \
    X(NEVER, "false")            \
    X(ALWAYS, "true")            \
    X(CHANGES, "changes") /* all but a tool's that only reads, and is held to that */

/* How many sandboxes there are, where they are kept warm. */
#define NACRE_SCOPE_MAP(X)       \
    X(RUN, "run")                \
    X(SESSION, "session")        \
    X(AGENT, "agent")            \
    X(SHARED, "shared")

#define NACRE_POLICY_ENUM(TYPE, PREFIX, MAP)                 \
    enum TYPE { PREFIX##_UNSET, MAP PREFIX##_COUNT }
#define X(id, name) NACRE_LEVEL_##id,
NACRE_POLICY_ENUM(nacre_level, NACRE_LEVEL, NACRE_LEVEL_MAP(X));
#undef X
#define X(id, name) NACRE_RUNTIME_##id,
NACRE_POLICY_ENUM(nacre_runtime, NACRE_RUNTIME, NACRE_RUNTIME_MAP(X));
#undef X
#define X(id, name) NACRE_NETWORK_##id,
NACRE_POLICY_ENUM(nacre_network_mode, NACRE_NETWORK, NACRE_NETWORK_MAP(X));
#undef X
#define X(id, name) NACRE_FILESYSTEM_##id,
NACRE_POLICY_ENUM(nacre_filesystem_mode, NACRE_FILESYSTEM, NACRE_FILESYSTEM_MAP(X));
#undef X
#define X(id, name) NACRE_SHELL_##id,
NACRE_POLICY_ENUM(nacre_shell_mode, NACRE_SHELL, NACRE_SHELL_MAP(X));
#undef X
#define X(id, name) NACRE_INJECTION_##id,
NACRE_POLICY_ENUM(nacre_injection, NACRE_INJECTION, NACRE_INJECTION_MAP(X));
#undef X
#define X(id, name) NACRE_INPUT_##id,
NACRE_POLICY_ENUM(nacre_input_mode, NACRE_INPUT, NACRE_INPUT_MODE_MAP(X));
#undef X
#define X(id, name) NACRE_ON_INPUT_##id,
NACRE_POLICY_ENUM(nacre_input_action, NACRE_ON_INPUT, NACRE_INPUT_ACTION_MAP(X));
#undef X
#define X(id, name) NACRE_INTENT_NEED_##id,
NACRE_POLICY_ENUM(nacre_intent_need, NACRE_INTENT_NEED, NACRE_INTENT_NEED_MAP(X));
#undef X
#define X(id, name) NACRE_SCOPE_##id,
NACRE_POLICY_ENUM(nacre_scope, NACRE_SCOPE, NACRE_SCOPE_MAP(X));
#undef X

const char *nacre_level_name(enum nacre_level level);
const char *nacre_runtime_name(enum nacre_runtime runtime);
const char *nacre_network_mode_name(enum nacre_network_mode mode);
const char *nacre_filesystem_mode_name(enum nacre_filesystem_mode mode);
const char *nacre_shell_mode_name(enum nacre_shell_mode mode);
const char *nacre_injection_name(enum nacre_injection injection);
const char *nacre_scope_name(enum nacre_scope scope);

/* One entry of a list: a host, a denied path, a blocked command. */
struct nacre_rule {
    char *text;
    struct nacre_place place;
};

struct nacre_rules {
    struct nacre_rule *items;
    size_t count;
    struct nacre_place place; /* of the key; line 0 when the list is not there */
};

struct nacre_mount_rule {
    char *path; /* normalised */
    bool writable;
    struct nacre_place place;             /* of the path */
    struct nacre_place permissions_place;
};

struct nacre_mount_rules {
    struct nacre_mount_rule *items;
    size_t count;
    struct nacre_place place;
};

struct nacre_flag {
    bool on;
    struct nacre_place place;
};

/* When place.line is 0 the policy does not set it and `value` is the default. */
struct nacre_limit {
    uint64_t value;
    struct nacre_place place;
};

struct nacre_pattern; /* a compiled regular expression; decide/ knows how to use it */

struct nacre_pattern_rule {
    char *text;
    struct nacre_pattern *compiled; /* never NULL in a loaded policy */
    struct nacre_place place;
};

/*
 * What only a container has.  CKP can't say any of it, so that its policies have the
 * defaults (every place has line 0, every text NULL); other dialects can.
 */
struct nacre_container_rules {
    struct nacre_rule image, workdir, user;
    struct nacre_rule seccomp_profile;  /* "docker-default": send none to the engine */
    struct nacre_rule apparmor_profile, selinux_label;
    struct nacre_rule setup_command;
    struct nacre_rule cpuset;
    struct nacre_rules tmpfs;           /* "/run" or "/run:size=64m,mode=1777" */
    struct nacre_rules keep_capabilities, blocked_syscalls;
    struct nacre_rules environment;     /* "K=V" */
    struct nacre_rules ulimits;         /* "nofile=1024:2048" */
    struct nacre_flag read_only_root;   /* default true */
    struct nacre_limit memory_swap, memory_reservation; /* bytes */
    struct nacre_limit cpus_nano;
    struct nacre_limit disk_bytes, disk_iops, disk_io_weight;
};

/* What a rule of CKP's is called in the dialect that a policy was compiled from. */
struct nacre_rule_alias {
    const char *rule; /* CKP's key; static */
    size_t item;      /* of a list, from 1; 0: the key itself */
    char key[64];     /* the dialect's */
    char fix[160];    /* instead of one in CKP's words; "" where the key alone differs */
};

struct nacre_policy {
    char *source;  /* as an error would name it: a path, or "(no policy)" */
    char *file;    /* the real path of its file, which no guest may change; or NULL */
    char *name;    /* metadata.name */
    char *version; /* metadata.version, or NULL */
    struct nacre_place name_place, version_place;
    struct nacre_digest digest; /* of the document's bytes, as sha256sum prints it */

    enum nacre_level level;
    struct nacre_place level_place;
    enum nacre_runtime runtime; /* inferred from the level when it is not said */
    struct nacre_place runtime_place;

    struct {
        enum nacre_network_mode mode;
        struct nacre_place mode_place;
        struct nacre_rules allowed_hosts;
        struct nacre_rules denied_hosts; /* of CKP's annotation nacre/denied-hosts */
        struct nacre_rules resolvers;    /* addresses; none: the host's own.  CKP can't
                                            say these two */
        struct nacre_rules fixed_hosts;  /* "name=address", judged like any answer */
        struct nacre_flag ssrf_enabled, block_private_ips, dns_pinning;
    } network;

    struct {
        enum nacre_filesystem_mode mode;
        struct nacre_place mode_place;
        struct nacre_mount_rules mounts;
        struct nacre_rules denied_paths; /* texts are normalised and absolute */
        bool denied_inside; /* they are names in the sandbox alone.  Of CKP they are names
                               of the host as well */
        bool strict_binds; /* what nacre/binds.h refuses is refused at level wasm, too */
    } filesystem;

    struct {
        struct nacre_place place; /* of the section; line 0 when there is none */
        enum nacre_injection injection;
        struct nacre_place injection_place;
        struct nacre_place encryption_place; /* the only value is aes-256-gcm */
        struct nacre_flag leak_detection;
        struct nacre_limit leak_patterns;
    } secrets;

    struct {
        enum nacre_shell_mode mode;
        struct nacre_place mode_place;
        struct nacre_rules blocked_commands;
        struct {
            struct nacre_pattern_rule *items;
            size_t count;
            struct nacre_place place;
        } blocked_patterns;
    } shell;

    struct nacre_container_rules container;
    bool user_namespaces; /* of a container: what a browser's own sandbox is made of.  No
                             dialect can say it; whoever compiles a browser's policy does */

    /* CKP says these in metadata.annotations, by the names in nacre/input.h. */
    struct {
        enum nacre_input_mode mode; /* UNSET: off */
        enum nacre_input_action suspect, attack; /* what is done; UNSET: warn, block */
        enum nacre_intent_need intent; /* UNSET: never */
        struct nacre_place mode_place, suspect_place, attack_place, intent_place;
        bool held_to_reading; /* instead of an intent: files are read-only, and there is
                                 no network.  No document can say it; the door for tools
                                 does */
    } input;

    struct {
        struct nacre_limit memory_mb, cpu_shares, max_processes, max_open_files,
            timeout_ms, max_output_bytes;
    } limits;

    struct nacre_rule_alias *aliases; /* none: the policy is one of CKP's */
    size_t alias_count;
};

/* A rule and a fix in the words of the policy's own dialect, for who reads or records
 * them.  What decides keeps CKP's: `rule` is compared there. */
void nacre_policy_spell(const struct nacre_policy *policy, char rule[64], char *fix,
                        size_t fix_size);

/* What holds where a policy is silent. */
#define NACRE_DEFAULT_MEMORY_MB 512
#define NACRE_DEFAULT_CPU_SHARES 1024
#define NACRE_DEFAULT_PROCESSES 64
#define NACRE_DEFAULT_OPEN_FILES 256
#define NACRE_DEFAULT_TIMEOUT_MS 120000
#define NACRE_DEFAULT_OUTPUT_BYTES (10 * 1024 * 1024)

/*
 * Load a policy by reference: a path (it contains a '/' or ends in .yaml, .yml), a
 * name looked up as NAME.yaml in `policy_dirs` (NULL-terminated, first wins), or
 * claw://local/sandbox/NAME[@VERSION] (alias claw://sandbox/NAME), looked up the
 * same way; a version that differs from metadata.version is an error.
 * NACRE_ERR_NOT_FOUND names the directories that were searched.
 */
NACRE_MUST_CHECK enum nacre_status nacre_policy_load(const char *reference,
                                                     const char *const policy_dirs[],
                                                     struct nacre_policy **ret_policy,
                                                     struct nacre_error *err);

/* The same from memory; `source` is the name that errors use. */
NACRE_MUST_CHECK enum nacre_status nacre_policy_parse(const char *source, const char *bytes,
                                                      size_t count,
                                                      struct nacre_policy **ret_policy,
                                                      struct nacre_error *err);

/* What holds without a policy: level wasm, nothing granted, the default limits. */
NACRE_MUST_CHECK enum nacre_status nacre_policy_most_restrictive(struct nacre_policy **ret_policy,
                                                                 struct nacre_error *err);

/* Accepts NULL. */
void nacre_policy_free(struct nacre_policy *policy);
NACRE_OWNED(nacre_policy)

#endif
