/*
 * The keeper's life: one thread welcomes clients, each client has a thread of its own,
 * and nobody who was welcomed is left without an answer.
 */
#include "serve.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "message.h"
#include "nacre/clock.h"
#include "nacre/secrets.h"
#include "nacre/sessions.h"
#include "socket.h"

#define CLIENTS_MAX 128
#define LOOK_MS 500
#define HELLO_MS 1000
#define PART_S 5

/* ---- clients ---- */

static void say_hello(const struct client *client, struct nacre_error *err)
{
    if (message_send(client->socket, MESSAGE_HELLO, keeper_own_version,
                     strlen(keeper_own_version), -1, message_within_ms(HELLO_MS),
                     err) != NACRE_OK)
        (void)shutdown(client->socket, SHUT_RDWR);
}

static void *live(void *data)
{
    struct client *client = data;
    struct keeper *keeper = client->keeper;
    struct nacre_error err;

    say_hello(client, &err);
    while (client_serve(client, &err) == NACRE_OK)
        ;
    (void)pthread_mutex_lock(&keeper->lock);
    for (struct client **at = &keeper->first; *at; at = &(*at)->next)
        if (*at == client) {
            *at = client->next;
            break;
        }
    (void)close(client->socket);
    free(client);
    (void)eventfd_write(keeper->wake_fd, 1);
    keeper->clients--;
    (void)pthread_cond_signal(&keeper->fewer);
    (void)pthread_mutex_unlock(&keeper->lock);
    return NULL;
}

/* On the list before its thread can leave it. */
static bool admit(struct keeper *keeper, struct client *client)
{
    pthread_attr_t attributes;
    pthread_t thread;
    bool admitted;

    (void)pthread_attr_init(&attributes);
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)pthread_mutex_lock(&keeper->lock);
    admitted = pthread_create(&thread, &attributes, live, client) == 0;
    if (admitted) {
        client->next = keeper->first;
        keeper->first = client;
        keeper->clients++;
    }
    (void)pthread_mutex_unlock(&keeper->lock);
    (void)pthread_attr_destroy(&attributes);
    return admitted;
}

/* False: this process can't take another one now. */
static bool welcome(struct keeper *keeper, int listening)
{
    NACRE_AUTO(nacre_fd_guard) int socket = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    struct client *client;
    struct nacre_error err;

    if (socket < 0)
        return errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
    if (message_check_peer(socket, &err) != NACRE_OK)
        return true;
    client = calloc(1, sizeof(*client));
    if (!client)
        return false;
    *client = (struct client){ .keeper = keeper, .socket = socket };
    if (!admit(keeper, client)) {
        free(client);
        return false;
    }
    (void)nacre_fd_take(&socket);
    return true;
}

/* ---- its life ---- */

static bool see_one(void *data, const struct nacre_box_info *info)
{
    (void)info;
    *(bool *)data = true;
    return false;
}

struct state {
    bool leaving, is_full, is_needed;
};

static struct state look(struct keeper *keeper)
{
    const struct nacre_keeper_options *options = keeper->options;
    struct state state = { .leaving = options->leaving && atomic_load(options->leaving) };

    options->list(options->executor, see_one, &state.is_needed);
    state.is_needed |= jobs_are_there(keeper->jobs);
    (void)pthread_mutex_lock(&keeper->lock);
    state.leaving |= keeper->quitting;
    state.is_needed |= keeper->clients > 0;
    state.is_full = keeper->clients >= CLIENTS_MAX;
    (void)pthread_mutex_unlock(&keeper->lock);
    return state;
}

/* Whoever comes while it is full waits in the socket's queue.  Signals come here alone:
 * in every other thread they are blocked. */
static void attend(struct keeper *keeper, int listening, bool is_full,
                   const sigset_t *signals)
{
    struct pollfd fds[] = { { .fd = keeper->wake_fd, .events = POLLIN },
                            { .fd = is_full ? -1 : listening, .events = POLLIN } };
    struct timespec wait = nacre_clock_until(message_within_ms(LOOK_MS));
    eventfd_t count;

    if (ppoll(fds, NACRE_COUNT(fds), &wait, signals) <= 0)
        return;
    if (fds[0].revents)
        (void)eventfd_read(keeper->wake_fd, &count);
    if (fds[1].revents && !welcome(keeper, listening))
        (void)poll(NULL, 0, LOOK_MS / 10); /* the queue stays readable */
}

/* Housekeeping: where a token is used, its expiry is judged again. */
static void reap_tokens(const char *state_dir)
{
    struct nacre_error err;
    uint64_t purged;

    (void)!nacre_token_reap(state_dir, &purged, &err);
}

static enum nacre_status end_box(void *data, const char *which, const char *scope_key,
                                 bool force, uint32_t *ret_ended, uint32_t *ret_left,
                                 struct nacre_error *err)
{
    const struct nacre_keeper_choice choice = { .which = which, .scope_key = scope_key,
                                                .force = force };

    (void)err;
    *ret_ended = keeper_end_chosen(data, &choice, ret_left);
    return NACRE_OK;
}

/* Sessions by what their configurations say, and the rest by what holds for all.  What
 * can't be read or removed is left for the next time. */
static void prune(struct keeper *keeper)
{
    const struct nacre_keeper_choice stale = { .unrecorded = true,
                                               .idle_ms = NACRE_PRUNE_IDLE_MS,
                                               .age_ms = NACRE_PRUNE_AGE_MS };
    const struct nacre_sessions_ender ender = { end_box, keeper };
    const struct nacre_sessions_prune timer = { .timer = true };
    struct nacre_sessions_report report;
    struct nacre_error err;

    (void)!nacre_sessions_prune(keeper->options->state_dir, &timer, &ender, &report,
                                &err);
    (void)keeper_end_chosen(keeper, &stale, NULL);
}

static void serve(struct keeper *keeper, int listening, const sigset_t *signals)
{
    const struct nacre_keeper_options *options = keeper->options;
    uint64_t idle_since_ns = nacre_clock_ns(), pruned_ns = idle_since_ns;
    uint64_t reaped_ns = idle_since_ns;

    reap_tokens(options->state_dir);
    for (;;) {
        struct state state = look(keeper);
        uint64_t now_ns = nacre_clock_ns();

        if (state.is_needed)
            idle_since_ns = now_ns;
        if (state.leaving || now_ns - idle_since_ns > options->idle_ms * NACRE_NS_PER_MS)
            return;
        if (now_ns - pruned_ns > options->prune_ms * NACRE_NS_PER_MS) {
            prune(keeper);
            pruned_ns = nacre_clock_ns();
        }
        if (now_ns - reaped_ns > options->reap_ms * NACRE_NS_PER_MS) {
            reap_tokens(options->state_dir);
            reaped_ns = nacre_clock_ns();
        }
        attend(keeper, listening, state.is_full, signals);
    }
}

static bool wait_for_clients(struct keeper *keeper, int how)
{
    struct timespec until;

    for (const struct client *client = keeper->first; client; client = client->next)
        (void)shutdown(client->socket, how);
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PART_S;
    while (keeper->clients > 0 &&
           pthread_cond_timedwait(&keeper->fewer, &keeper->lock, &until) != ETIMEDOUT)
        ;
    return keeper->clients == 0;
}

/* Nobody new can come.  Whoever is here is cancelled and told how it ended; who does not
 * listen is cut off.  No thread is left behind: each has what it runs to end first.  And
 * nothing warm is, as its owner leaves. */
static void part(struct keeper *keeper)
{
    const struct nacre_keeper_choice all = { .force = true };
    struct nacre_executor *executor = keeper->options->executor;

    jobs_close(keeper->jobs); /* each may be a client, too */
    executor->ops->cancel(executor, SIGTERM);
    (void)pthread_mutex_lock(&keeper->lock);
    if (!wait_for_clients(keeper, SHUT_RD))
        while (!wait_for_clients(keeper, SHUT_RDWR))
            ;
    (void)pthread_mutex_unlock(&keeper->lock);
    (void)keeper_end_chosen(keeper, &all, NULL);
    executor->ops->cancel(executor, 0);
}

static void keeper_init(struct keeper *keeper, const struct nacre_keeper_options *options)
{
    pthread_condattr_t attributes;

    *keeper = (struct keeper){ .options = options };
    (void)pthread_mutex_init(&keeper->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&keeper->fewer, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    keeper->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    keeper->jobs = jobs_new(options->program);
}

static void keeper_clear(struct keeper *keeper)
{
    jobs_free(keeper->jobs);
    nacre_fd_guard(&keeper->wake_fd);
    (void)pthread_cond_destroy(&keeper->fewer);
    (void)pthread_mutex_destroy(&keeper->lock);
}

enum nacre_status nacre_keeper_serve(const struct nacre_keeper_options *options,
                                     struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int lock = -1;
    NACRE_AUTO(keeper_clear) struct keeper keeper;
    sigset_t all, signals;
    int listening = -1;
    enum nacre_status status = keeper_lock(options->state_dir, &lock, err);

    keeper_init(&keeper, options);
    if (status == NACRE_OK && keeper.wake_fd < 0)
        status = nacre_fail(err, NACRE_ERR_IO, "an eventfd");
    if (status == NACRE_OK && !keeper.jobs)
        status = nacre_fail(err, NACRE_ERR_MEMORY, "the keeper's jobs");
    if (status == NACRE_OK)
        status = keeper_listen(options->state_dir, &listening, err);
    if (status != NACRE_OK)
        return status;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &signals);
    if (options->ready_fd >= 0)
        (void)!write(options->ready_fd, "r", 1);
    serve(&keeper, listening, &signals);
    (void)pthread_sigmask(SIG_SETMASK, &signals, NULL);
    /* Who waits in the queue has not been welcomed, and looks for another keeper. */
    (void)close(listening);
    keeper_unlisten(options->state_dir);
    part(&keeper);
    return NACRE_OK;
}
