#include "door_world.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "nacre/clock.h"
#include "nacre/own.h"

#define TURNS 40

struct door_lookup {
    door_looked_up *done;
    void *data;
};

struct door_world world;

static struct door_lookup *lookup;
static uint64_t passed_ns;
static struct door_timer tick;

/* ---- what is played ---- */

uint64_t __real_nacre_clock_ns(void);
uint64_t __wrap_nacre_clock_ns(void);
uint64_t __wrap_nacre_clock_ns(void)
{
    return __real_nacre_clock_ns() + passed_ns;
}

void __real_nacre_egress_judge_address(const struct nacre_egress *egress, const char *name,
                                       const struct nacre_address *address,
                                       struct nacre_egress_verdict *ret_verdict);
void __wrap_nacre_egress_judge_address(const struct nacre_egress *egress, const char *name,
                                       const struct nacre_address *address,
                                       struct nacre_egress_verdict *ret_verdict);
void __wrap_nacre_egress_judge_address(const struct nacre_egress *egress, const char *name,
                                       const struct nacre_address *address,
                                       struct nacre_egress_verdict *ret_verdict)
{
    static const uint8_t here[4] = { 127, 0, 0, 1 };

    __real_nacre_egress_judge_address(egress, name, address, ret_verdict);
    if (!address->is_v6 && memcmp(address->bytes, here, 4) == 0)
        ret_verdict->allowed = true;
}

void door_control_drain(struct door *door)
{
    (void)door;
}

struct door_fetch *door_fetch_new(struct door *door, const struct door_ask *ask,
                                  const struct door_fetch_events *events, void *data)
{
    struct door_fetch *fetch = calloc(1, sizeof(*fetch));

    (void)door;
    if (!fetch || !(fetch->body = malloc(ask->body_size + 1))) {
        free(fetch);
        return NULL;
    }
    fetch->events = events;
    fetch->data = data;
    fetch->url = ask->url;
    fetch->raw_body = ask->raw_body;
    fetch->follow = ask->follow;
    fetch->body_size = ask->body_size;
    memcpy(fetch->body, ask->body, ask->body_size);
    fetch->body[ask->body_size] = '\0';
    (void)snprintf(fetch->method, sizeof(fetch->method), "%s", ask->method);
    (void)snprintf(fetch->headers, sizeof(fetch->headers), "%.*s", (int)ask->headers_size,
                   ask->headers);
    world.asked++;
    return world.fetch = fetch;
}

void door_fetch_resume(struct door_fetch *fetch)
{
    (void)fetch;
    world.resumed++;
}

void door_fetch_free(struct door_fetch *fetch)
{
    if (!fetch)
        return;
    if (fetch == world.fetch)
        world.fetch = NULL;
    world.freed++;
    free(fetch->body);
    free(fetch);
}

enum nacre_status door_lookup(struct door *door, const char *name, door_looked_up *done,
                              void *data, struct door_lookup **ret_lookup,
                              struct nacre_error *err)
{
    (void)door;
    (void)name;
    lookup = calloc(1, sizeof(*lookup));
    if (!lookup)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory");
    *lookup = (struct door_lookup){ done, data };
    world.looked_up++;
    *ret_lookup = lookup;
    return NACRE_OK;
}

void door_lookup_free(struct door_lookup *freed)
{
    if (freed && freed == lookup)
        lookup = NULL;
    free(freed);
}

void door_world_found(enum nacre_http_code code)
{
    struct door_addresses addresses = { .count = 1,
                                        .items = { { .bytes = { 127, 0, 0, 1 } } } };

    assert_non_null(lookup);
    if (code == NACRE_HTTP_DENIED)
        addresses = (struct door_addresses){ .denied = "address-never" };
    lookup->done(lookup->data, code, &addresses, "as the test says");
}

void door_world_answer(uint32_t status, const char *headers)
{
    assert_non_null(world.fetch);
    world.fetch->events->answered(world.fetch->data, status, headers, strlen(headers));
}

bool door_world_body(const char *bytes, size_t count)
{
    assert_non_null(world.fetch);
    return world.fetch->events->body(world.fetch->data, bytes, count);
}

void door_world_end(enum nacre_http_code code, const char *text)
{
    assert_non_null(world.fetch);
    world.fetch->events->ended(world.fetch->data, code, text);
}

/* ---- the door ---- */

static const struct {
    const char *text;
    enum nacre_way way;
} hosts[] = {
    { "tunnel.example", NACRE_WAY_TUNNEL },
    { "upgrade.example", NACRE_WAY_UPGRADE },
    { "intercept.example", NACRE_WAY_INTERCEPT },
    { "*.below.example", NACRE_WAY_TUNNEL },
    { "plain.example:80", NACRE_WAY_UPGRADE },
    { "upgrade.example:8443", NACRE_WAY_UPGRADE },
};

int door_world_open(void **state)
{
    struct door *door = &world.door;
    struct nacre_error err;

    (void)state;
    memset(&world, 0, sizeof(world));
    passed_ns = 0;
    assert_int_equal(door_loop_new(&door->loop, &err), NACRE_OK);
    assert_int_equal(nacre_result_new(&door->done, &err), NACRE_OK);
    door->egress = (struct nacre_egress){
        .mode = NACRE_NETWORK_ALLOWLIST, .block_private = true,
        .allowed = calloc(NACRE_COUNT(hosts), sizeof(*door->egress.allowed)),
        .limits = { .header_bytes_max = 65536, .body_bytes_max = 65536,
                    .requests_max = 10000, .requests_per_minute_max = 10000,
                    .connections_max = 600 },
    };
    for (uint32_t i = 0; i < NACRE_COUNT(hosts); i++) {
        struct nacre_egress_host *host = &door->egress.allowed[i];

        assert_int_equal(nacre_egress_host_read(hosts[i].text, host, &err), NACRE_OK);
        host->way = hosts[i].way;
        door->egress.allowed_count++;
    }
    door->minute_ns = calloc(10001, sizeof(*door->minute_ns));
    door->running = true;
    door->deadline_ns = nacre_clock_ns() + 3600 * NACRE_NS_PER_S;
    return 0;
}

static void nothing(struct door_timer *timer)
{
    (void)timer;
}

void door_world_settle(void)
{
    for (int i = 0; i < TURNS; i++) {
        tick.due = nothing;
        door_timer_set(world.door.loop, &tick, nacre_clock_ns());
        door_loop_turn(world.door.loop);
    }
}

void door_world_pass(uint64_t ns)
{
    passed_ns += ns;
    door_world_settle();
}

unsigned door_world_wakes(void)
{
    unsigned turns = 0;

    door_timer_set(world.door.loop, &tick, nacre_clock_ns() + 50 * NACRE_NS_PER_MS);
    for (; tick.at_ns != 0; turns++)
        door_loop_turn(world.door.loop);
    return turns;
}

int door_world_close(void **state)
{
    (void)state;
    door_clients_end(&world.door);
    door_world_settle();
    assert_null(world.fetch);
    door_clients_free(&world.door);
    nacre_egress_clear(&world.door.egress);
    nacre_result_free(world.door.done);
    door_ca_free(world.door.ca);
    free(world.door.minute_ns);
    door_loop_free(world.door.loop);
    return 0;
}

/* ---- tools ---- */

int door_world_connect(int kind)
{
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    if (kind == NACRE_DOOR_TLS)
        door_tls_serve(&world.door, ends[1], kind);
    else
        door_proxy_serve(&world.door, ends[1], kind);
    return ends[0];
}

void door_world_send(int fd, const void *bytes, size_t count)
{
    assert_int_equal(send(fd, bytes, count, MSG_NOSIGNAL), (ssize_t)count);
    door_world_settle();
}

void door_world_say(int fd, const char *text)
{
    door_world_send(fd, text, strlen(text));
}

size_t door_world_take(int fd, void *bytes, size_t size)
{
    size_t count = 0;
    ssize_t got;

    door_world_settle();
    while (count < size && (got = recv(fd, (char *)bytes + count, size - count, 0)) > 0) {
        count += (size_t)got;
        door_world_settle();
    }
    return count;
}

const char *door_world_hear(int fd)
{
    static char text[1 << 20];

    text[door_world_take(fd, text, sizeof(text) - 1)] = '\0';
    return text;
}

bool door_world_is_closed(int fd)
{
    char byte;

    (void)door_world_hear(fd);
    return recv(fd, &byte, 1, 0) == 0 || errno != EAGAIN;
}

size_t door_world_hello(const char *name, void *bytes, size_t size)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    SSL *tls = SSL_new(context);
    BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
    int count;

    if (name)
        (void)SSL_set_tlsext_host_name(tls, name);
    SSL_set_bio(tls, in, out);
    (void)SSL_connect(tls);
    count = BIO_read(out, bytes, (int)size);
    assert_true(count > 0);
    SSL_free(tls);
    SSL_CTX_free(context);
    return (size_t)count;
}

int door_world_server(uint16_t *ret_port)
{
    struct sockaddr_in here = { .sin_family = AF_INET,
                                .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t size = sizeof(here);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&here, sizeof(here)), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&here, &size), 0);
    *ret_port = ntohs(here.sin_port);
    return fd;
}
