/*
 * Where a name leads.  Nothing that an answer holds is trusted: every address in it is
 * judged, and one that may not be reached takes the others with it.  Only name servers
 * are asked: not /etc/hosts, no search domains, no aliases.
 */
#include <ares.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "door.h"
#include "nacre/clock.h"
#include "nacre/own.h"

#define QUERY_MS 2000 /* until a server is asked again; c-ares doubles it */
#define QUERY_TRIES 2
#define LOOKUP_MS 10000

/* A socket of c-ares'. */
struct ares_watch {
    struct door_watch watch; /* first */
    struct ares_watch *next;
    struct door_resolver *resolver;
};

struct door_resolver {
    struct door *door;
    ares_channel channel;
    struct door_timer timer;
    struct ares_watch *watches;
    struct door_lookup *under_way;
};

struct door_lookup {
    struct door_timer timer; /* first: the deadline, or "tell it now" */
    struct door *door;
    char name[NACRE_NAME_SIZE];
    door_looked_up *done;
    void *data;
    struct door_lookup *next; /* of those under way */
    bool asked;     /* c-ares has a call back to make, which frees it if `freed` */
    bool freed, answered;
    enum nacre_http_code code;
    struct door_addresses addresses;
    char text[512];
};

/* ---- c-ares in the loop ---- */

static void set_timer(struct door_resolver *resolver)
{
    struct timeval room, *left = ares_timeout(resolver->channel, NULL, &room);
    uint64_t at_ns = 0;

    if (left)
        at_ns = nacre_clock_ns() + (uint64_t)left->tv_sec * NACRE_NS_PER_S +
                (uint64_t)left->tv_usec * 1000;
    door_timer_set(resolver->door->loop, &resolver->timer, at_ns);
}

static void watch_ready(struct door_watch *watch, uint32_t events)
{
    struct door_resolver *resolver = ((struct ares_watch *)watch)->resolver;
    ares_socket_t fd = watch->fd;

    ares_process_fd(resolver->channel,
                    events & (EPOLLIN | EPOLLERR | EPOLLHUP) ? fd : ARES_SOCKET_BAD,
                    events & (EPOLLOUT | EPOLLERR | EPOLLHUP) ? fd : ARES_SOCKET_BAD);
    set_timer(resolver);
}

static void timer_due(struct door_timer *timer)
{
    struct door_resolver *resolver =
        (struct door_resolver *)((char *)timer - offsetof(struct door_resolver, timer));

    ares_process_fd(resolver->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    set_timer(resolver);
}

/* Where memory for a watch is missing the lookup ends by its deadline. */
static void socket_changed(void *data, ares_socket_t fd, int readable, int writable)
{
    struct door_resolver *resolver = data;
    struct ares_watch **at = &resolver->watches, *watch;
    uint32_t events = (readable ? EPOLLIN : 0) | (writable ? EPOLLOUT : 0);

    while (*at && (*at)->watch.fd != fd)
        at = &(*at)->next;
    watch = *at;
    if (!watch && events != 0) {
        watch = *at = calloc(1, sizeof(*watch));
        if (watch)
            *watch = (struct ares_watch){ .watch = { .fd = fd, .ready = watch_ready },
                                          .resolver = resolver };
    }
    if (!watch)
        return;
    (void)door_watch_set(resolver->door->loop, &watch->watch, events);
    if (events == 0) {
        *at = watch->next;
        free(watch);
    }
}

static int use_resolvers(ares_channel channel, char *const *resolvers)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf list = NACRE_BUF(8192);
    struct nacre_error err;

    for (size_t i = 0; resolvers[i]; i++) {
        if (nacre_buf_addf(&list, &err, "%s%s", i ? "," : "", resolvers[i]) != NACRE_OK)
            return ARES_ENOMEM;
    }
    return ares_set_servers_csv(channel, list.bytes ? list.bytes : "");
}

enum nacre_status door_resolver_new(struct door *door,
                                    struct door_resolver **ret_resolver,
                                    struct nacre_error *err)
{
    char lookups[] = "b"; /* name servers alone */
    struct ares_options options = {
        .flags = ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES,
        .timeout = QUERY_MS,
        .tries = QUERY_TRIES,
        .ndomains = 0,
        .lookups = lookups,
        .sock_state_cb = socket_changed,
    };
    struct door_resolver *resolver = calloc(1, sizeof(*resolver));
    int failed;

    if (!resolver)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the resolver");
    resolver->door = door;
    resolver->timer.due = timer_due;
    options.sock_state_cb_data = resolver;
    failed = ares_library_init(ARES_LIB_INIT_ALL);
    if (!failed)
        failed = ares_init_options(&resolver->channel, &options,
                                   ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
                                       ARES_OPT_DOMAINS | ARES_OPT_LOOKUPS |
                                       ARES_OPT_SOCK_STATE_CB);
    if (!failed && door->egress.resolvers)
        failed = use_resolvers(resolver->channel, door->egress.resolvers);
    if (failed) {
        free(resolver);
        return nacre_fail(err, NACRE_ERR_BACKEND, "the resolver: %s",
                          ares_strerror(failed));
    }
    *ret_resolver = resolver;
    return NACRE_OK;
}

/* ---- one lookup ---- */

static void lookup_due(struct door_timer *timer)
{
    struct door_lookup *lookup = (struct door_lookup *)timer;

    if (!lookup->answered) {
        lookup->answered = true;
        lookup->code = NACRE_HTTP_TIMED_OUT;
        (void)snprintf(lookup->text, sizeof(lookup->text),
                       "No name server told the address of %.253s in time. Try again "
                       "later.",
                       lookup->name);
    }
    lookup->done(lookup->data, lookup->code, &lookup->addresses, lookup->text);
}

static void tell_soon(struct door_lookup *lookup)
{
    lookup->answered = true;
    door_timer_set(lookup->door->loop, &lookup->timer, 1);
}

static void fail(struct door_lookup *lookup, int failed)
{
    switch (failed) {
    case ARES_ENOTFOUND:
    case ARES_ENODATA:
        lookup->code = NACRE_HTTP_NOT_FOUND;
        (void)snprintf(lookup->text, sizeof(lookup->text),
                       "There is no address for the name %.253s. Is it spelt right?",
                       lookup->name);
        break;
    case ARES_ETIMEOUT:
        lookup->code = NACRE_HTTP_TIMED_OUT;
        (void)snprintf(lookup->text, sizeof(lookup->text),
                       "No name server told the address of %.253s in time. Try again "
                       "later.",
                       lookup->name);
        break;
    default:
        lookup->code = NACRE_HTTP_UNREACHABLE;
        (void)snprintf(lookup->text, sizeof(lookup->text),
                       "The address of %.253s can't be looked up (%s). Try again later.",
                       lookup->name, ares_strerror(failed));
    }
}

/* False: it may not be reached, and so may none of the others. */
static bool judge(struct door_lookup *lookup, const struct nacre_address *address)
{
    struct nacre_egress_verdict verdict;
    struct door_addresses *addresses = &lookup->addresses;

    nacre_egress_judge_address(&lookup->door->egress, lookup->name, address, &verdict);
    if (!verdict.allowed) {
        door_denied(lookup->door, &verdict, lookup->name);
        (void)snprintf(addresses->denied, sizeof(addresses->denied), "%s", verdict.code);
        (void)snprintf(lookup->text, sizeof(lookup->text), "%s", verdict.text);
        lookup->code = NACRE_HTTP_DENIED;
        addresses->count = 0;
        return false;
    }
    if (addresses->count < DOOR_ADDRESSES_MAX)
        addresses->items[addresses->count++] = *address;
    return true;
}

bool door_sockaddr_read(const struct sockaddr *from, struct nacre_address *ret_address,
                        unsigned *ret_port)
{
    const struct sockaddr_in *v4 = (const void *)from;
    const struct sockaddr_in6 *v6 = (const void *)from;

    *ret_address = (struct nacre_address){ .is_v6 = from->sa_family == AF_INET6 };
    if (from->sa_family == AF_INET) {
        memcpy(ret_address->bytes, &v4->sin_addr, 4);
        *ret_port = ntohs(v4->sin_port);
    } else if (from->sa_family == AF_INET6) {
        memcpy(ret_address->bytes, &v6->sin6_addr, 16);
        *ret_port = ntohs(v6->sin6_port);
    }
    return from->sa_family == AF_INET || from->sa_family == AF_INET6;
}

static void judge_all(struct door_lookup *lookup, const struct ares_addrinfo *answer)
{
    for (const struct ares_addrinfo_node *at = answer->nodes; at; at = at->ai_next) {
        struct nacre_address address;
        unsigned port;

        if (!door_sockaddr_read(at->ai_addr, &address, &port))
            continue;
        if (!judge(lookup, &address))
            return;
    }
    if (lookup->addresses.count == 0)
        fail(lookup, ARES_ENODATA);
}

static void take_out(struct door_lookup *lookup)
{
    struct door_lookup **at = &lookup->door->resolver->under_way;

    while (*at && *at != lookup)
        at = &(*at)->next;
    if (*at)
        *at = lookup->next;
}

static void settle(struct door_lookup *lookup, int failed,
                   const struct ares_addrinfo *answer)
{
    if (lookup->answered)
        return;
    if (failed)
        fail(lookup, failed);
    else
        judge_all(lookup, answer);
    tell_soon(lookup);
}

/* The answer is also of those that asked for the same name meanwhile; each judges it. */
static void answered(void *data, int failed, int timeouts, struct ares_addrinfo *answer)
{
    struct door_lookup *lookup = data, *next;

    (void)timeouts;
    lookup->asked = false;
    take_out(lookup);
    for (struct door_lookup *at = lookup->door->resolver->under_way; at; at = next) {
        next = at->next;
        if (at->asked || strcmp(at->name, lookup->name) != 0)
            continue;
        take_out(at);
        settle(at, failed, answer);
    }
    if (lookup->freed)
        free(lookup);
    else
        settle(lookup, failed, answer);
    ares_freeaddrinfo(answer);
}

/* A crowd of connections to one host is one question, not hundreds: a name server would
 * drop most of them. */
static bool is_asked_already(const struct door_lookup *lookup)
{
    for (struct door_lookup *at = lookup->door->resolver->under_way; at; at = at->next)
        if (at->asked && strcmp(at->name, lookup->name) == 0)
            return true;
    return false;
}

/* The host's own answers for a name: told from outside, judged all the same. */
static bool answer_fixed(struct door_lookup *lookup)
{
    char *const *fixed = lookup->door->egress.fixed_hosts;
    size_t length = strlen(lookup->name);
    bool found = false;

    for (size_t i = 0; fixed && fixed[i]; i++) {
        const char *text = fixed[i] + length + 1;
        struct nacre_address address;

        if (strncmp(fixed[i], lookup->name, length) != 0 || fixed[i][length] != '=')
            continue;
        found = true;
        if (!nacre_address_parse(text, strlen(text), &address))
            fail(lookup, ARES_ENOTFOUND);
        else if (!judge(lookup, &address))
            break;
    }
    return found;
}

enum nacre_status door_lookup(struct door *door, const char *name, door_looked_up *done,
                              void *data, struct door_lookup **ret_lookup,
                              struct nacre_error *err)
{
    struct door_lookup *lookup = calloc(1, sizeof(*lookup));
    struct ares_addrinfo_hints hints = { .ai_family = AF_UNSPEC,
                                         .ai_flags = ARES_AI_NOSORT,
                                         .ai_socktype = SOCK_STREAM };
    struct nacre_address address;
    uint64_t until_ns = nacre_clock_ns() + LOOKUP_MS * NACRE_NS_PER_MS;

    if (!lookup)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for a lookup");
    *lookup = (struct door_lookup){ .timer = { .due = lookup_due }, .door = door,
                                    .done = done, .data = data };
    (void)snprintf(lookup->name, sizeof(lookup->name), "%s", name);
    *ret_lookup = lookup;
    if (nacre_address_parse(name, strlen(name), &address)) {
        (void)judge(lookup, &address);
        tell_soon(lookup);
        return NACRE_OK;
    }
    if (answer_fixed(lookup)) {
        tell_soon(lookup);
        return NACRE_OK;
    }
    door_timer_set(door->loop, &lookup->timer,
                   until_ns < door->deadline_ns ? until_ns : door->deadline_ns);
    lookup->asked = !is_asked_already(lookup);
    lookup->next = door->resolver->under_way;
    door->resolver->under_way = lookup;
    if (!lookup->asked)
        return NACRE_OK;
    /* NOSORT: to sort them c-ares would connect sockets to what is not judged yet. */
    ares_getaddrinfo(door->resolver->channel, name, NULL, &hints, answered, lookup);
    set_timer(door->resolver);
    return NACRE_OK;
}

void door_lookup_free(struct door_lookup *lookup)
{
    if (!lookup)
        return;
    door_timer_set(lookup->door->loop, &lookup->timer, 0);
    if (lookup->asked) {
        lookup->freed = true;
        return;
    }
    take_out(lookup);
    free(lookup);
}
