#ifndef NACRE_NATIVE_REPORT_H
#define NACRE_NATIVE_REPORT_H

#include "nt_box.h"

/*
 * What the kernel says about a sandbox, compared with what was planned.  The answers
 * were asked for before any guest code ran; they are read as if a guest had written
 * them.  Whatever is missing, cut, doubled or not in the kernel's form differs.
 */
enum nt_check {
    NT_CHECK_NONE,
    /* /proc/self/status: the line `key` ("Uid", "CapEff", "Groups"), its fields with one
     * blank between them: "1000 1000 1000 1000". */
    NT_CHECK_STATUS,
    NT_CHECK_LIMIT, /* /proc/self/limits: `key` ("Max open files") is "SOFT HARD" */
    /* /proc/self/mountinfo: what is mounted on top at the path `key` has every word of
     * `planned`: ro, rw, nosuid, nodev, noexec, type=NAME, and of a tmpfs
     * bytes=NUMBER (whole pages), inodes=NUMBER. */
    NT_CHECK_MOUNT,
    /* "stat PATH": it has every word of `planned`: device=, inode=, mode= (octal), uid=,
     * gid=, type=, bytes=, inodes= as config.h has them, and ro, rw, nosuid, nodev,
     * noexec. */
    NT_CHECK_STAT,
    NT_CHECK_LOOPBACK, /* /proc/net/dev: lo and nothing else; no `planned` */
    NT_CHECK_TEXT, /* exactly `planned`; an end of line or a zero byte may follow */
    NT_CHECK_ONE_OF, /* the same for one of the words of `planned` */
    NT_CHECK_LINES, /* the lines of `planned`, in any order, and no others */
    NT_CHECK_ERROR,    /* there was none to be had: `planned` is the error ("EACCES") */
};

struct nt_expect {
    const char *what; /* for the message: "the user", "the mount at /tmp" */
    enum nt_check check;
    const char *question; /* as init was asked */
    const char *key;      /* where the check above has one, else NULL */
    const char *planned;
};

/* NACRE_ERR_UNAVAILABLE at the first row that is not so: "the sandbox is not as planned:
 * WHAT is X, planned Y". */
NACRE_MUST_CHECK enum nacre_status nt_report_judge(const struct nt_box *box,
                                                   const struct nt_expect *rows,
                                                   size_t count, struct nacre_error *err);

/* One row against one answer; `answer` NULL: init gave none.  Terminated at `count`. */
NACRE_MUST_CHECK enum nacre_status nt_report_check(const struct nt_expect *row,
                                                   const char *answer, size_t count,
                                                   struct nacre_error *err);

/* The words "device=D inode=I" of what `fd` holds: a bind is compared with the fd that
 * nacre has, not with a path. */
#define NT_IDENTITY 64
NACRE_MUST_CHECK enum nacre_status nt_report_identity(int fd, char ret_words[NT_IDENTITY],
                                                      struct nacre_error *err);

/*
 * The other proof that a bind is the directory which nacre holds, for where device and
 * inode can't be compared: an empty file of a random name, made through the fd.  Make it,
 * ask its question, judge its row, free it.  A nonce that is freed is gone; that of an
 * owner who dies goes as other placeholders do (nt_placeholders.h), by `state_dir`.
 * NACRE_ERR_IO: no file can be made there.
 */
struct nt_nonce;
NACRE_MUST_CHECK enum nacre_status nt_nonce_make(const char *state_dir, int dir_fd,
                                                 const char *guest_path,
                                                 struct nt_nonce **ret_nonce,
                                                 struct nacre_error *err);
/* The row has the question; both live as long as the nonce. */
const struct nt_expect *nt_nonce_expect(const struct nt_nonce *nonce);
void nt_nonce_free(struct nt_nonce *nonce); /* accepts NULL */
NACRE_OWNED(nt_nonce)

#endif
