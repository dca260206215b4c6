#ifndef NACRE_RESULT_H
#define NACRE_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "nacre/buf.h"
#include "nacre/hash.h"
#include "nacre/input.h"
#include "nacre/own.h"
#include "nacre/policy.h"
#include "nacre/url.h"

/*
 * How a run ended.  This is the guest's doing or the policy's decision; that the
 * host could not do its job is an enum nacre_status instead, and a guest has no
 * way to cause that.
 */
#define NACRE_OUTCOME_MAP(X)                                                   \
    X(NONE,          0,   "none")          /* a forgotten assignment */         \
    X(EXITED,        0,   "exited")        /* exit_status is the guest's own */ \
    X(TRAPPED,       134, "trapped")       /* 128 + SIGABRT */                  \
    X(TIMED_OUT,     124, "timed-out")                                         \
    X(OUT_OF_FUEL,   152, "out-of-fuel")   /* 128 + SIGXCPU */                  \
    X(OUT_OF_MEMORY, 137, "out-of-memory") /* 128 + SIGKILL */                  \
    X(OUTPUT_LIMIT,  153, "output-limit")  /* 128 + SIGXFSZ */                  \
    X(KILLED,        128, "killed")        /* 128 + result.signal */            \
    X(DENIED,        126, "denied")

enum nacre_outcome {
#define X(id, exit_status, name) NACRE_OUTCOME_##id,
    NACRE_OUTCOME_MAP(X)
#undef X
    NACRE_OUTCOME_COUNT
};

const char *nacre_outcome_name(enum nacre_outcome outcome);

struct nacre_usage {
    uint64_t fuel;
    bool fuel_exact;           /* false: at least this much */
    uint64_t memory_bytes_peak;
    bool memory_refused;       /* the guest asked for more than it may have */
    bool processes_refused;    /* the kernel counted forks beyond what it may have */
    uint64_t wall_ns;          /* of the whole run, compilation included */
    uint64_t compile_ns;       /* 0 when the code came from the cache */
    uint64_t cpu_ns;
    uint64_t bytes_read, bytes_written; /* files and output together */
    uint64_t files_opened;
};

/* One refusal: a stable code, the rule that decided and a sentence for a person. */
struct nacre_denial {
    char code[32];             /* mount-not-covered, over-limit, not-enforceable, ... */
    char rule[64];             /* the policy's key: capabilities.filesystem.mode */
    struct nacre_place place;  /* in the policy; line 0 when a default decided */
    char path[256];            /* the guest path that was asked for; "" when none was */
    char text[512];
    char fix[512];             /* the smallest change that flips it; "" when none does */
};

/* A wall that stood, or one that does not stand here. */
struct nacre_mechanism {
    char name[32];   /* seccomp, landlock, wasm, fuel, ... */
    char detail[192];
    bool present;
};

/* One request that a guest made, or a tunnel that it opened. */
struct nacre_egress_record {
    char method[8];      /* GET, ..., CONNECT for a tunnel */
    char host[NACRE_NAME_SIZE]; /* normalised */
    uint16_t port;
    bool sent;           /* false: refused, and `code` says why */
    char code[24];       /* a denial's, or of enum nacre_http_code; "" when all went well */
    uint32_t status;     /* of the last hop's answer; 0: none came */
    uint32_t hops;       /* redirects that were followed */
    uint64_t bytes_sent, bytes_received; /* of bodies, or of the tunnel */
};

/* What the leak scan found in all that left the sandbox. */
struct nacre_leak_tally {
    uint64_t values, blocked, redacted, warned;
};

/* What the scan of arguments and stdin came to; class NONE: there was none. */
struct nacre_input_tally {
    enum nacre_input_class class;
    uint32_t score, hits;
    bool warned;          /* the policy lets it run, and wants it told */
    bool stdin_unscanned; /* a terminal */
    char rule[32];        /* the heaviest that was found; "" when none was */
    char where[16];       /* "arguments" or "stdin" */
};

#define NACRE_EGRESS_RECORDS_MAX 64
#define NACRE_RUN_ID 33 /* 16 bytes in hex: 8 random for an engine, 8 that count */
#define NACRE_DENIALS_MAX 32
#define NACRE_MECHANISMS_MAX 24

struct nacre_result {
    enum nacre_outcome outcome;
    int exit_status; /* for EXITED */
    int signal;      /* for KILLED */
    struct nacre_buf output, errors; /* what the guest wrote to stdout and stderr */
    bool output_cut;                 /* more was written than max_output_bytes */
    char reason[2048]; /* a trap with its backtrace, or why it ended; "" when none */
/* So begins the reason of a native command that died of a signal, and not of nacre's. */
#define NACRE_REASON_DIED "it died of SIG"
    struct nacre_buf values; /* what an invoked export returned, a JSON array; or empty */
    struct nacre_usage usage;

    char run_id[NACRE_RUN_ID];
    struct nacre_digest policy_digest, tool_digest;
    uint32_t denial_count;  /* of those kept */
    uint64_t denials_seen;  /* of those that happened */
    uint32_t mechanism_count;
    uint64_t waived; /* mask of enum nacre_feature: asked for, not enforced, by the
                        caller's leave; not 0: the run was degraded */
    bool unsandboxed;
    uint32_t egress_count;  /* of those kept */
    uint64_t egress_seen;   /* of those that happened */
    struct nacre_leak_tally leaks;
    bool leak; /* a secret's value or a private key was on its way out */
    struct nacre_input_tally input;

    /* Only what the counts above say is there; the rest was never written. */
    struct nacre_denial denials[NACRE_DENIALS_MAX]; /* refusals of this run */
    struct nacre_mechanism mechanisms[NACRE_MECHANISMS_MAX];
    struct nacre_egress_record egress[NACRE_EGRESS_RECORDS_MAX];
};

/* What a shell would see: the guest's own status, or the outcome's. */
int nacre_result_exit(const struct nacre_result *result);

/* A heap object, because it is large; accepts NULL. */
NACRE_MUST_CHECK enum nacre_status nacre_result_new(struct nacre_result **ret_result,
                                                    struct nacre_error *err);
void nacre_result_free(struct nacre_result *result);
NACRE_OWNED(nacre_result)

/* Keeps the first NACRE_DENIALS_MAX, counts all. */
void nacre_result_deny(struct nacre_result *result, const struct nacre_denial *denial);

#endif
