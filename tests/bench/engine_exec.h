#ifndef NACRE_BENCH_ENGINE_EXEC_H
#define NACRE_BENCH_ENGINE_EXEC_H

#include "dk_api.h"

/* The engine's own exec, by its API: what nacre's channel is measured against. */

/* `body` as the API takes it (Cmd, User, Env, AttachStdin, ...), without Tty. */
NACRE_MUST_CHECK enum nacre_status engine_exec_create(struct dk_client *client,
                                                  const char *container,
                                                  const json_t *body,
                                                  struct nt_wait wait,
                                                  char ret_exec[DK_ID],
                                                  struct nacre_error *err);

NACRE_MUST_CHECK enum nacre_status engine_exec_start(struct dk_client *client,
                                                 const char *exec, struct nt_wait wait,
                                                 struct dk_stream **ret_stream,
                                                 struct nacre_error *err);

struct engine_exec_state {
    bool running; /* or about to */
    int exit_status; /* when it does not run */
    pid_t pid;       /* as the engine's machine counts; 0 when it does not run */
};

NACRE_MUST_CHECK enum nacre_status engine_exec_inspect(struct dk_client *client,
                                                   const char *exec, struct nt_wait wait,
                                                   struct engine_exec_state *ret_state,
                                                   struct nacre_error *err);

#endif
