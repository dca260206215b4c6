#ifndef NACRE_KEEPER_SERVE_H
#define NACRE_KEEPER_SERVE_H

#include <pthread.h>

#include "jobs.h"
#include "nacre/keeper.h"

/* The keeper as its threads share it. */
struct keeper {
    const struct nacre_keeper_options *options;
    int wake_fd;          /* an eventfd, for the thread that welcomes */
    pthread_mutex_t lock; /* over what follows */
    pthread_cond_t fewer; /* clients */
    struct client *first;
    uint32_t clients, running; /* of those, with a command */
    bool quitting;
    struct jobs *jobs;
};

struct client {
    struct client *next;
    struct keeper *keeper;
    int socket;
};

/* Hears one message of the client and answers it.  A failure is the client's end. */
NACRE_MUST_CHECK enum nacre_status client_serve(const struct client *client,
                                                struct nacre_error *err);

/* Ends what is chosen; *ret_left counts what was chosen and is in use.  May be NULL. */
uint32_t keeper_end_chosen(const struct keeper *keeper,
                           const struct nacre_keeper_choice *choice, uint32_t *ret_left);

#endif
