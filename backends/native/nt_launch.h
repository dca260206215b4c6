#ifndef NACRE_NATIVE_LAUNCH_H
#define NACRE_NATIVE_LAUNCH_H

#include <sched.h>

#include "nacre/own.h"
#include "nt_box.h"

/*
 * Starting our init on this machine, from a sealed memfd.  It is spawned, never forked:
 * the caller may have threads and any size.
 *
 * A caller that reaps all its children itself (waitpid(-1)) may get those of ours; they
 * are held by pidfds, so that nobody else is ever waited for or killed.
 *
 * From several threads.
 */
struct nt_launcher;
struct spec_head;

/* Starts nothing yet.  One launcher serves all runs; it holds nothing of a sandbox that
 * was made, and ends with this process.  `again`: there will be more than one run: a
 * process of its own makes the sandboxes, and the next one's namespaces beforehand. */
NACRE_MUST_CHECK enum nacre_status nt_launcher_open(bool again,
                                                    struct nt_launcher **ret_launcher,
                                                    struct nacre_error *err);

/* Where there will be but one sandbox: makes its pid 1, which goes on by itself while the
 * caller still does something else.  That this failed shows in nt_launch(). */
void nt_launcher_prepare(struct nt_launcher *launcher, const struct spec_head *head);

/* What was launched has been ended.  Accepts NULL. */
void nt_launcher_free(struct nt_launcher *launcher);
NACRE_OWNED(nt_launcher)

struct nt_launch_options {
    const void *spec; /* packed (spec.h), for the launcher; NULL: a plain subreaper of
                         commands without any wall, for level none */
    size_t spec_bytes;
    const int *fds; /* that the spec counts */
    size_t fd_count;
    uint64_t deadline_ns;
    const _Atomic int *cancelled; /* a number in it ends the wait; may be NULL */
};

struct nt_launched {
    int pid1_fd;    /* pidfds, -1 when there is none: of the sandbox's pid 1, */
    int plain_fd;   /* or of a plain subreaper */
    int channel_fd; /* for nt_stream_fd() and nt_box_open(); -1 once taken */
    pid_t apart;    /* pid 1, kept off a processor until it is joined; 0: it is not */
    cpu_set_t cpus; /* that it gets then */
};

/*
 * *ret_launched has to be ended in any case.  NACRE_OK also when the sandbox could not be
 * made: the channel then begins with the launcher's own words about it, which
 * nt_box_open() returns.  NACRE_ERR_IO, here or there: somebody has killed the launcher
 * or what it had made beforehand; nothing has run, and a second try finds a new one.
 */
NACRE_MUST_CHECK enum nacre_status nt_launch(struct nt_launcher *launcher,
                                             const struct nt_launch_options *options,
                                             struct nt_launched *ret_launched,
                                             struct nacre_error *err);

/* pid 1 waits for this: it writes "0" to each of these files, or to none.  That it has
 * ended already shows in nt_box_open(). */
NACRE_MUST_CHECK enum nacre_status nt_launched_join(const struct nt_launched *launched,
                                                    const int *fds, size_t count,
                                                    struct nacre_error *err);

/*
 * After the box was freed, and so the channel closed: kills pid 1 and with it all that it
 * started, waits until it is gone and reaps it.  A plain subreaper is waited for alone:
 * it kills what it started, and is killed itself if it takes too long.
 * NACRE_ERR_TIMEOUT when something was still there after NT_END_MS.
 */
#define NT_END_MS 5000
/* Kills pid 1, for which the kernel kills all that it started. */
void nt_launched_strike(const struct nt_launched *launched);
/* The same, and leaves the rest of nt_launched_end() for *ret_later. */
void nt_launched_doom(struct nt_launched *launched, struct nt_launched *ret_later);
NACRE_MUST_CHECK enum nacre_status nt_launched_end(struct nt_launched *launched,
                                                   struct nacre_error *err);

#endif
