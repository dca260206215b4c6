/*
 * The host's orders.  The host is trusted: what breaks the protocol is a bug of ours, and
 * ends the process.
 */
#include "control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nacre/clock.h"
#include "nacre/door_control.h"
#include "nacre/own.h"
#include "revoked.h"

/* What is read before the door is open, and the packet at hand. */
static struct {
    struct nacre_buf egress;
    bool read, open;
    _Alignas(16) char packet[NACRE_DOOR_PACKET_MAX];
} control = { .egress = NACRE_BUF(NACRE_DOOR_EGRESS_MAX) };

static void answer(struct door *door, enum nacre_door_order order, const void *bytes,
                   size_t count)
{
    struct nacre_door_control head = { .order = order };
    struct iovec parts[2] = { { &head, sizeof(head) },
                              { (void *)(uintptr_t)bytes, count } };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

    /* Blocks while the host is slow to read what it asked for: nothing else is as
     * urgent.  When it is gone, so is our purpose. */
    while (sendmsg(door->control.fd, &message, MSG_NOSIGNAL) < 0) {
        if (errno != EINTR)
            _exit(1);
    }
}

static _Noreturn void fail(struct door *door, const char *sentence)
{
    answer(door, NACRE_DOOR_FAILED, sentence, strlen(sentence));
    _exit(1);
}

/* ---- opening ---- */

static void add_egress(struct door *door, uint32_t last, const char *bytes, size_t count)
{
    struct nacre_error err;

    if (control.read || nacre_buf_add(&control.egress, bytes, count, &err) != NACRE_OK)
        fail(door, "the egress rules are too long for the door");
    if (!last)
        return;
    if (nacre_egress_read(control.egress.bytes, control.egress.size, &door->egress,
                          &err) != NACRE_OK)
        fail(door, err.text);
    control.read = true;
    nacre_buf_clear(&control.egress);
    door->secret_count = door->egress.secret_count;
    door->secrets = calloc(door->secret_count + 1, sizeof(*door->secrets));
    if (!door->secrets)
        fail(door, "no memory for the door's secrets");
    for (uint32_t i = 0; i < door->secret_count; i++)
        door->secrets[i].name = door->egress.secrets[i].name;
}

static void add_secret(struct door *door, uint32_t index, bool by_token,
                       const char *bytes, size_t count)
{
    struct door_secret *secret;

    if (!control.read || control.open || index >= door->secret_count)
        fail(door, "a secret that the egress rules do not have");
    secret = &door->secrets[index];
    if (secret->value)
        fail(door, "a secret came twice");
    door_locked_begin();
    secret->value = door_locked_new(count);
    if (!secret->value)
        fail(door, "memory for a secret can't be locked: raise the limit on locked "
                   "memory (ulimit -l)");
    memcpy(secret->value, bytes, count);
    secret->count = count;
    secret->by_token = by_token;
}

static void add_tokens(struct door *door, bool more, const char *bytes, size_t count)
{
    size_t tokens = count / sizeof(struct nacre_door_token);
    uint32_t kept = more ? door->token_count : 0;
    struct door_token *grown;

    if (!control.read || count % sizeof(struct nacre_door_token) != 0 ||
        tokens > NACRE_DOOR_TOKENS_MAX - kept)
        fail(door, "the tokens make no sense to the door");
    grown = realloc(door->tokens, (kept + tokens + 1) * sizeof(*grown));
    if (!grown)
        fail(door, "no memory for the door's tokens");
    door->tokens = grown;
    door->token_count = kept + (uint32_t)tokens;
    for (size_t i = 0; i < tokens; i++) {
        struct nacre_door_token token;

        memcpy(&token, bytes + i * sizeof(token), sizeof(token));
        if (token.secret >= door->secret_count)
            fail(door, "a token of a secret that the egress rules do not have");
        door->tokens[kept + i] = (struct door_token){ token.digest, token.secret,
                                                      token.expires_ms };
    }
}

static enum nacre_status make_scanners(struct door *door, struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) struct nacre_leak_value *values =
        calloc(door->secret_count + 1, sizeof(*values));
    enum nacre_status status = NACRE_OK;
    size_t count = 0;

    if (!values)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the door's scanners");
    for (uint32_t i = 0; i < door->secret_count; i++) {
        const struct door_secret *secret = &door->secrets[i];

        if (secret->value && secret->count >= NACRE_LEAK_VALUE_MIN)
            values[count++] = (struct nacre_leak_value){ secret->name, secret->value,
                                                         secret->count };
    }
    if (count > 0)
        status = nacre_leaks_new(values, count, 0, &door->scrub, err);
    if (status == NACRE_OK && door->egress.scan)
        status = nacre_leaks_new(values, count, door->egress.patterns, &door->leaks, err);
    return status;
}

/* What is loaded at first use has to be there before files are shut off. */
static void load_idna(void)
{
    static const char name[] = "b\xc3\xbc""cher.example";
    char normal[NACRE_NAME_SIZE];
    struct nacre_error err;

    /* Where it can't be had such names are refused, as everywhere. */
    (void)!nacre_name_normalise(name, sizeof(name) - 1, normal, &err);
}

static void open_door(struct door *door, uint32_t build, uint64_t life_ns)
{
    struct nacre_error err;
    uint64_t most = door->egress.limits.requests_per_minute_max;
    enum nacre_status status;
    const char *certificate = "";

    if (build != NACRE_DOOR_BUILD)
        fail(door, "nacre-door is of another build than nacre: install both together");
    if (!control.read || control.open)
        fail(door, "the door was opened without rules, or twice");
    door->minute_ns = calloc(most + 1, sizeof(*door->minute_ns));
    status = door->minute_ns
                 ? nacre_result_new(&door->done, &err)
                 : nacre_fail(&err, NACRE_ERR_MEMORY, "no memory for the door");
    if (status == NACRE_OK)
        status = make_scanners(door, &err);
    if (status == NACRE_OK)
        status = door_resolver_new(door, &door->resolver, &err);
    if (status == NACRE_OK)
        status = door_fetcher_new(door, &door->fetcher, &err);
    if (status == NACRE_OK && nacre_egress_intercepts(&door->egress))
        status = door_ca_new(&door->egress, life_ns / NACRE_NS_PER_S, &door->ca, &err);
    load_idna();
    if (status == NACRE_OK)
        status = door_cage_close(&err);
    if (status != NACRE_OK)
        fail(door, err.text);
    control.open = true;
    if (door->ca)
        certificate = door_ca_certificate(door->ca);
    answer(door, NACRE_DOOR_OPENED, certificate, strlen(certificate));
}

/* ---- runs ---- */

static void serve(struct door *door, uint32_t kind, int fd)
{
    switch (kind & ~(uint32_t)NACRE_DOOR_LISTEN) {
    case NACRE_DOOR_GUEST: door_guest_serve(door, fd); break;
    case NACRE_DOOR_PROXY:
    case NACRE_DOOR_HTTP: door_proxy_serve(door, fd, (int)kind); break;
    case NACRE_DOOR_TLS: door_tls_serve(door, fd, (int)kind); break;
    default: (void)close(fd); break;
    }
}

static void begin_run(struct door *door, uint64_t deadline_ns)
{
    if (door->runs++ == 0) {
        door->requests = 0;
        door->deadline_ns = deadline_ns;
    } else if (deadline_ns > door->deadline_ns) {
        door->deadline_ns = deadline_ns;
    }
    door->running = true;
}

static void end_run(struct door *door)
{
    struct nacre_result *done = door->done;
    struct nacre_door_totals totals;

    if (door->runs > 0 && --door->runs == 0) {
        door_guests_end(door);
        door_clients_end(door);
        door->running = false;
    }
    totals = (struct nacre_door_totals){ .denials_seen = done->denials_seen,
                                         .egress_seen = done->egress_seen,
                                         .leaks = done->leaks, .leak = done->leak };
    if (done->egress_count > 0)
        answer(door, NACRE_DOOR_RECORDS, done->egress,
               done->egress_count * sizeof(done->egress[0]));
    if (done->denial_count > 0)
        answer(door, NACRE_DOOR_DENIALS, done->denials,
               done->denial_count * sizeof(done->denials[0]));
    answer(door, NACRE_DOOR_ENDED, &totals, sizeof(totals));
    done->egress_count = done->denial_count = 0;
    done->egress_seen = done->denials_seen = 0;
    done->leaks = (struct nacre_leak_tally){ 0 };
    done->leak = false;
}

/* ---- packets ---- */

static void obey(struct door *door, const struct nacre_door_control *head,
                 const char *bytes, size_t count, int fd)
{
    if ((fd >= 0) != (head->order == NACRE_DOOR_SERVE ||
                      head->order == NACRE_DOOR_REVOKED) ||
        (head->order >= NACRE_DOOR_SERVE && !control.open))
        fail(door, "the door was told something out of turn");
    switch (head->order) {
    case NACRE_DOOR_EGRESS: add_egress(door, head->number, bytes, count); break;
    case NACRE_DOOR_SECRET: add_secret(door, head->number, false, bytes, count); break;
    case NACRE_DOOR_TOKEN_SECRET:
        add_secret(door, head->number, true, bytes, count);
        break;
    case NACRE_DOOR_TOKENS: add_tokens(door, head->number != 0, bytes, count); break;
    case NACRE_DOOR_REVOKED: door_revoked_set(door, fd); break;
    case NACRE_DOOR_OPEN: open_door(door, head->number, head->at_ns); break;
    case NACRE_DOOR_SERVE: serve(door, head->number, fd); break;
    case NACRE_DOOR_BEGIN: begin_run(door, head->at_ns); break;
    case NACRE_DOOR_END: end_run(door); break;
    default: fail(door, "the door was told something that it does not know");
    }
}

static int fd_of(struct msghdr *message)
{
    struct cmsghdr *at = CMSG_FIRSTHDR(message);
    int fd = -1;

    if (at && at->cmsg_level == SOL_SOCKET && at->cmsg_type == SCM_RIGHTS &&
        at->cmsg_len == CMSG_LEN(sizeof(fd)))
        memcpy(&fd, CMSG_DATA(at), sizeof(fd));
    return fd;
}

/* False: nothing more has come. */
static bool receive(struct door *door)
{
    _Alignas(struct cmsghdr) char extra[CMSG_SPACE(sizeof(int))];
    struct nacre_door_control head;
    struct iovec parts[2] = { { &head, sizeof(head) },
                              { control.packet, sizeof(control.packet) } };
    struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2, .msg_control = extra,
                              .msg_controllen = sizeof(extra) };
    ssize_t got = recvmsg(door->control.fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return errno == EINTR;
    if (got <= 0)
        _exit(0); /* the host has let go of us, or is gone */
    if ((size_t)got < sizeof(head) || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
        fail(door, "the door was told half of something");
    obey(door, &head, control.packet, (size_t)got - sizeof(head), fd_of(&message));
    if (head.order == NACRE_DOOR_SECRET || head.order == NACRE_DOOR_TOKEN_SECRET)
        explicit_bzero(control.packet, (size_t)got - sizeof(head));
    return true;
}

/* Not one order further: the next may end the run, and with it whoever is asking. */
void door_control_drain(struct door *door)
{
    while (!door->running && receive(door))
        ;
}

static void control_ready(struct door_watch *watch, uint32_t events)
{
    (void)events;
    while (receive((struct door *)((char *)watch - offsetof(struct door, control))))
        ;
}

bool door_control_watch(struct door *door, int fd)
{
    (void)mlock(control.packet, sizeof(control.packet)); /* it is wiped in any case */
    door->control = (struct door_watch){ .fd = fd, .ready = control_ready };
    return door_watch_set(door->loop, &door->control, EPOLLIN);
}
