#ifndef NACRE_ERROR_H
#define NACRE_ERROR_H

#include <stddef.h>

/* One list, so that enum, wire name and exit status cannot drift apart. */
#define NACRE_STATUS_MAP(X)                    \
    X(OK,               0,   "ok")              \
    X(ERR_MEMORY,       125, "memory")          \
    X(ERR_IO,           125, "io")              \
    X(ERR_USAGE,        125, "usage")           \
    X(ERR_PARSE,        125, "parse")           \
    X(ERR_TOO_BIG,      125, "too-big")         \
    X(ERR_TIMEOUT,      124, "timeout")         \
    X(ERR_DENIED,       126, "denied")          \
    X(ERR_UNAVAILABLE,  126, "unavailable")     \
    X(ERR_NOT_RUNNABLE, 126, "not-runnable")    \
    X(ERR_NOT_FOUND,    127, "not-found")       \
    X(ERR_BACKEND,      125, "backend")

enum nacre_status {
#define X(id, exit_status, name) NACRE_##id,
    NACRE_STATUS_MAP(X)
#undef X
    NACRE_STATUS_COUNT
};

/*
 * Why a call failed.  Fixed size on purpose: it lives on the caller's stack,
 * needs no release, and can be filled in after memory has run out.
 *
 * Every fallible function takes one as its last parameter, never NULL, and
 * writes to it if and only if it returns something other than NACRE_OK.
 */
struct nacre_error {
    enum nacre_status status;
    int sys_errno;    /* 0 when no system call was involved */
    int line, column; /* 1-based place in `file`; 0 when there is none */
    char file[256];   /* the document that is at fault; "" when there is none */
    char text[512];
    char rule[64];    /* the key of the policy's line that can't be kept; "" when none is
                         to blame.  Where it stands, a plan's decisions say */
    char path[256];   /* of a mount's line: what the guest calls it; else "" */
    char fix[256];    /* with `rule`: what to write or do instead */
};

/* Fill in `err` and return `status`, so that `return nacre_fail(...)` reads well.
 * For NACRE_ERR_IO the errno of the moment is kept and its words are appended. */
enum nacre_status nacre_fail(struct nacre_error *err, enum nacre_status status,
                             const char *format, ...)
    __attribute__((format(printf, 3, 4), nonnull));

/* The same, about a place in a document.  `line` and `column` are 1-based. */
enum nacre_status nacre_fail_at(struct nacre_error *err, enum nacre_status status,
                                const char *file, int line, int column,
                                const char *format, ...)
    __attribute__((format(printf, 6, 7), nonnull));

/* Put "context: " before the text; returns err->status unchanged. */
enum nacre_status nacre_fail_context(struct nacre_error *err, const char *context)
    __attribute__((nonnull));

/* Say which line of the policy can't be kept: then it is a refusal, and nacre_run() tells
 * it as planning tells its own.  `path` is "" but for a mount; returns err->status. */
enum nacre_status nacre_fail_blame(struct nacre_error *err, const char *rule,
                                   const char *path, const char *fix)
    __attribute__((nonnull));

/* "file:line:column: text", or as much of it as is known.  Always terminated. */
void nacre_error_print(const struct nacre_error *err, char *ret_text, size_t size)
    __attribute__((nonnull));

const char *nacre_status_name(enum nacre_status status);
int nacre_status_exit(enum nacre_status status);

#define NACRE_MUST_CHECK __attribute__((warn_unused_result))

#endif
