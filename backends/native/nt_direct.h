#ifndef NACRE_NATIVE_DIRECT_H
#define NACRE_NATIVE_DIRECT_H

#include "nt_launch.h"

/*
 * A sandbox's pid 1, made by this process itself.  That takes a process less than a
 * launcher does, which pays where there will be but one sandbox.  While both have much to
 * do it runs on another processor: schedulers that keep processors free would have them
 * take turns at one.
 */
struct nt_direct {
    int pid1_fd; /* a pidfd; -1: there is none */
    pid_t pid;   /* the same, not reaped */
    int socket;
    pid_t thread;   /* that has made it */
    bool is_apart;  /* it is kept off this thread's processor, of */
    cpu_set_t cpus; /* those that both may use */
};

/* It makes its network and mount namespace now, and waits.  `init_fd`: the program. */
NACRE_MUST_CHECK enum nacre_status nt_direct_begin(int init_fd,
                                                   const struct spec_head *head,
                                                   struct nt_direct *ret_direct,
                                                   struct nacre_error *err);

/* Maps its ids and gives it its order; *direct is empty then.  On failure it is still to
 * be ended. */
NACRE_MUST_CHECK enum nacre_status nt_direct_order(struct nt_direct *direct, int channel,
                                                   int spec_fd,
                                                   const struct nt_launch_options *options,
                                                   struct nt_launched *launched,
                                                   struct nacre_error *err);

/* Ends one that has got no order. */
void nt_direct_end(struct nt_direct *direct);

/* nt_launch.c: until there is something to read; NACRE_ERR_TIMEOUT at the deadline, or when
 * the caller wants no more of it. */
NACRE_MUST_CHECK enum nacre_status nt_launch_await(int socket,
                                                   const struct nt_launch_options *options,
                                                   struct nacre_error *err);

/* An order and its fds; that nobody is there any more shows elsewhere. */
NACRE_MUST_CHECK enum nacre_status nt_order_send(int socket, bool loose, int channel,
                                                 int spec_fd,
                                                 const struct nt_launch_options *options,
                                                 struct nacre_error *err);

#endif
