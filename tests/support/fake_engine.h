#ifndef NACRE_TEST_FAKE_ENGINE_H
#define NACRE_TEST_FAKE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A Docker engine that does what a table says: right answers, wrong ones, late ones,
 * none.  It listens on a unix socket and serves every connection by a thread of its own.
 * What was asked is kept, for the observer.
 */
struct fake_engine;

enum fake_deed {
    FAKE_ANSWER,     /* `status` and `body` */
    FAKE_SWAPLESS,   /* `status` and `body`, but FAKE_NO_SWAP for a container whose swap
                        is to be bounded: as an engine whose kernel counts none */
    FAKE_INSPECT,    /* what was created by this name or id, less what `ignored` names */
    FAKE_HANG,       /* read the request and say nothing until the client leaves */
    FAKE_CLOSE,      /* read the request and close */
    FAKE_CUT,        /* announce `body` and close after half of it */
    FAKE_RAW,        /* `body` as it is, instead of HTTP, and close */
    FAKE_FLOOD,      /* status 200 and `body` again and again until the client leaves */
    FAKE_HEAD_FLOOD, /* headers without an end */
    FAKE_HIJACK,     /* 101; then `stream`; then as `after` says */
};

enum fake_after {
    FAKE_AFTER_CLOSE, /* the stream ends */
    FAKE_AFTER_ECHO,  /* what comes goes back as stdout's frames, until its end */
    FAKE_AFTER_HOLD,  /* nothing, until the client leaves */
    FAKE_AFTER_FLOOD, /* `stream` again and again until the client leaves */
};

struct fake_rule {
    const char *method;  /* NULL: any */
    const char *path;    /* fnmatch() pattern of what follows "/v1.NN", without query */
    enum fake_deed deed;
    int status;          /* 0: 200 */
    const char *body;    /* NULL: "" */
    const char *ignored; /* FAKE_INSPECT: "HostConfig.Memory Config.User" */
    uint32_t delay_ms;   /* before anything is said */
    uint32_t times;      /* how often it holds, then the rules after it; 0: always */
    const char *stream;  /* FAKE_HIJACK */
    size_t stream_bytes;
    enum fake_after after;
};

/* Ends a table. */
#define FAKE_END { .path = NULL }

/* GET /version, as an engine of API 1.41 answers it. */
#ifdef __aarch64__
#define FAKE_ARCH "arm64"
#else
#define FAKE_ARCH "amd64"
#endif
#define FAKE_VERSION_OF(arch)                                                     \
    { .method = "GET", .path = "/version",                                        \
      .body = "{\"Version\":\"20.10.24\",\"ApiVersion\":\"1.41\","                \
              "\"MinAPIVersion\":\"1.12\",\"Os\":\"linux\",\"Arch\":\"" arch "\","  \
              "\"KernelVersion\":\"6.1.0\",\"Components\":[{\"Name\":\"Engine\"}]}" }
#define FAKE_VERSION FAKE_VERSION_OF(FAKE_ARCH)

/* POST /containers/create: every container gets this id. */
#define FAKE_ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define FAKE_CREATE                                                               \
    { .method = "POST", .path = "/containers/create", .status = 201,              \
      .body = "{\"Id\":\"" FAKE_ID "\",\"Warnings\":[]}" }

#define FAKE_NO_SWAP                                                              \
    "{\"Id\":\"" FAKE_ID "\",\"Warnings\":[\"Your kernel does not support swap "    \
    "limit capabilities or the cgroup is not mounted. Memory limited without "    \
    "swap.\"]}"

/* A frame's head for a string of fewer than 256 bytes. */
#define FAKE_FRAME(type, length) type "\0\0\0\0\0\0" length

/* NULL, with the reason on stderr, when it can't be started.  `rules` is borrowed; the
 * first that fits decides, and what fits none gets a 404. */
struct fake_engine *fake_engine_start(const char *socket_path,
                                      const struct fake_rule *rules);

/* Another table from now on. */
void fake_engine_script(struct fake_engine *engine, const struct fake_rule *rules);

/* The same in a process of its own, which a test may starve of memory without starving
 * the engine, or kill.  Its pid, or -1; what was asked is not told. */
pid_t fake_engine_fork(const char *socket_path, const struct fake_rule *rules);

/* Dies as an engine does: every connection is cut, nobody listens any more. */
void fake_engine_stop(struct fake_engine *engine);

/* How many requests have come, and the Nth: "POST /v1.41/containers/create?name=a", and
 * its body.  Valid until the engine is stopped. */
#define FAKE_ASKED_MAX 512
size_t fake_engine_asked(struct fake_engine *engine);
const char *fake_engine_line(struct fake_engine *engine, size_t n);
const char *fake_engine_body(struct fake_engine *engine, size_t n);

/* Connections accepted so far, and those that are open now. */
size_t fake_engine_connections(struct fake_engine *engine);
size_t fake_engine_open(struct fake_engine *engine);

#endif
