#ifndef NACRE_DOOR_H
#define NACRE_DOOR_H

#include "nacre/plan.h"
#include "nacre/result.h"

/*
 * The door: a process of its own (`nacre-door`) that performs what a plan lets out of one
 * sandbox, and nothing else.  It alone has libcurl, sockets to the world and the secrets'
 * values; connections, cookies and DNS answers are never shared between two doors.  It
 * ends when its control socket does.
 */
struct nacre_doors; /* those of an engine: idle ones are kept for the same plan and tool */
struct nacre_door;
struct nacre_tool;

struct nacre_doors_options {
    const char *program; /* the nacre program, beside which nacre-door lies; NULL: this one */
    const char *state_dir; /* where the list of revoked tokens lies; NULL: nowhere */
};
NACRE_MUST_CHECK enum nacre_status nacre_doors_new(const struct nacre_doors_options *options,
                                                   struct nacre_doors **ret_doors,
                                                   struct nacre_error *err);
void nacre_doors_free(struct nacre_doors *doors); /* accepts NULL */

/* Is everything there that a door needs?  NACRE_ERR_UNAVAILABLE says what is missing. */
NACRE_MUST_CHECK enum nacre_status nacre_doors_probe(struct nacre_doors *doors,
                                                     struct nacre_error *err);

/*
 * A door for this plan (plan->egress is open) and tool, with the secrets of
 * request->granted.  put() keeps it for the next run of the same, or ends it.
 */
NACRE_MUST_CHECK enum nacre_status nacre_doors_get(struct nacre_doors *doors,
                                                   const struct nacre_plan *plan,
                                                   const struct nacre_tool *tool,
                                                   const struct nacre_request *request,
                                                   struct nacre_door **ret_door,
                                                   struct nacre_error *err);
void nacre_doors_put(struct nacre_doors *doors, struct nacre_door *door); /* accepts NULL */

/* What an fd that is handed over is. */
enum nacre_door_kind {
    NACRE_DOOR_NONE,
    NACRE_DOOR_GUEST, /* a stream socket to a wasm guest's shims: nacre/door_wire.h */
    NACRE_DOOR_PROXY, /* a connection of a native tool: to the proxy, */
    NACRE_DOOR_HTTP,  /* to port 80 of a name, */
    NACRE_DOOR_TLS,   /* to port 443 of a name */
    NACRE_DOOR_LISTEN = 16, /* added to the last three: a listening socket of such, which
                               goes with the run: it is of that run's own sandbox */
};

/* The fd is the door's from here on, whatever is returned; from any thread. */
NACRE_MUST_CHECK enum nacre_status nacre_door_serve(struct nacre_door *door, int kind,
                                                    int fd, struct nacre_error *err);

/* One run's time: nothing is sent outside of it.  end() adds what was denied and done to
 * `result`, closes what the run left open, and fails when the door is gone: what a tool
 * sent is unknown then. */
NACRE_MUST_CHECK enum nacre_status nacre_door_begin(struct nacre_door *door,
                                                    const char *run_id,
                                                    uint64_t deadline_ns,
                                                    struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status nacre_door_end(struct nacre_door *door,
                                                  struct nacre_result *result,
                                                  struct nacre_error *err);

/* The certificate of the sandbox's own CA (PEM), for hosts of way INTERCEPT; "" when
 * there is none. */
const char *nacre_door_certificate(const struct nacre_door *door);

#endif
