#ifndef NACRE_NATIVE_DOOR_H
#define NACRE_NATIVE_DOOR_H

#include <pthread.h>

#include "doorway.h"
#include "nacre/door.h"
#include "nacre/executor.h"
#include "nt_box.h"

/*
 * One run's way out of a native sandbox: the host's door, and what a sandbox has to be
 * told so that its programs find it.  A plan that lets nothing out has none of it.
 */
struct nt_door {
    struct nacre_doors *doors;
    struct nacre_door *door; /* NULL: there is none */
    bool begun;
};

/* Does the plan have a door? */
bool nt_door_is_planned(const struct nacre_plan *plan);

/* Adds NACRE_FEATURE_EGRESS where `doors` (may be NULL) work, once. */
void nt_door_probe(struct nacre_executor *executor, struct nacre_doors *doors,
                   pthread_mutex_t *lock);

/* NACRE_ERR_UNAVAILABLE when the plan has a door and there are none here. */
NACRE_MUST_CHECK enum nacre_status nt_door_open(struct nacre_doors *doors,
                                                const struct nacre_plan *plan,
                                                const struct nacre_tool *tool,
                                                const struct nacre_request *request,
                                                struct nt_door *ret_door,
                                                struct nacre_error *err);
void nt_door_close(struct nt_door *door);

/* Around a command.  end() changes a good *status alone: then what the tool sent is
 * unknown. */
NACRE_MUST_CHECK enum nacre_status nt_door_begin(struct nt_door *door, const char *run_id,
                                                 uint64_t deadline_ns,
                                                 struct nacre_error *err);
enum nacre_status nt_door_end(struct nt_door *door, enum nacre_status status,
                              struct nacre_result *result, struct nacre_error *err);

/* nt_box_run() with all that around it, in a box whose init carries connections to the
 * door; without a door as it is.  `told` receives what was sent and denied; it may be
 * `result`. */
NACRE_MUST_CHECK enum nacre_status nt_door_run(struct nt_door *door, struct nt_box *box,
                                               struct nt_command *command,
                                               struct nacre_result *result,
                                               struct nacre_result *told,
                                               struct nacre_error *err);

/* Takes the listening sockets that the launcher has passed to `socket`, all of them, and
 * hands them to the door. */
NACRE_MUST_CHECK enum nacre_status nt_door_receive(struct nt_door *door, int socket,
                                                   struct nacre_error *err);
/* Closes what came there from a launcher that failed; -1 is no socket. */
void nt_door_forget(int socket);
/* A connection; fits nt_command.connected. */
void nt_door_connected(void *door, int kind, int fd);

/* What init's name server answers for, and the further lines of /etc/hosts; made from the
 * plan alone. */
struct nt_door_names {
    char **names; /* NULL-terminated; as in struct init_config */
    size_t count;
    char *hosts;  /* "127.0.1.1 NAME\n" for each name that is no pattern */
};
NACRE_MUST_CHECK enum nacre_status nt_door_names_make(const struct nacre_plan *plan,
                                                      struct nt_door_names *ret_names,
                                                      struct nacre_error *err);
void nt_door_names_clear(struct nt_door_names *names);

/* The host's certificates with the sandbox's own CA behind them, to be freed; *ret_pem is
 * NULL when the door has none. */
NACRE_MUST_CHECK enum nacre_status nt_door_bundle(const struct nt_door *door,
                                                  char **ret_pem,
                                                  struct nacre_error *err);

/* The variables that lead programs to the door: defaults for nt_words_make().  At most so
 * many are added to `defaults`, which has `count`; the new count. */
#define NT_DOOR_VARIABLES 16
size_t nt_door_variables(const struct nacre_plan *plan, const char **defaults,
                         size_t count);

#endif
