#ifndef EGRESS_DOOR_PROCESS_H
#define EGRESS_DOOR_PROCESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "nacre/door_control.h"
#include "nacre/error.h"
#include "nacre/own.h"

/* The process `nacre-door` and its control socket, as the host holds them. */
struct door_process {
    pid_t pid;
    int pidfd, control;
};

/* Where it lies: beside the program, or in ../libexec/nacre from there.  `program` NULL:
 * this process's own. */
#define DOOR_PATH 4200
NACRE_MUST_CHECK enum nacre_status door_process_find(const char *program,
                                                     char ret_path[DOOR_PATH],
                                                     struct nacre_error *err);

/* Without any environment and any fd of ours but stderr: what the caller's variables say
 * about proxies, certificates, key logs and resolvers is not for the door. */
NACRE_MUST_CHECK enum nacre_status door_process_start(const char *path,
                                                      struct door_process *ret_process,
                                                      struct nacre_error *err);
/* At once, and reaped; accepts one that was never started (all -1). */
void door_process_end(struct door_process *process);

/* Does it run with all that it needs? */
NACRE_MUST_CHECK enum nacre_status door_process_check(const char *path,
                                                      struct nacre_error *err);

bool door_process_lives(const struct door_process *process);

/* One packet; `fd` (borrowed) goes along unless it is -1.  From any thread. */
NACRE_MUST_CHECK enum nacre_status
door_process_tell(const struct door_process *process,
                  const struct nacre_door_control *head, const void *bytes, size_t count,
                  int fd, struct nacre_error *err);
/* The next one, within `ms`; *ret_count is what followed the head. */
NACRE_MUST_CHECK enum nacre_status door_process_hear(const struct door_process *process,
                                                     uint64_t ms,
                                                     struct nacre_door_control *ret_head,
                                                     void *bytes, size_t size,
                                                     size_t *ret_count,
                                                     struct nacre_error *err);

#endif
