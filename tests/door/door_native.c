/*
 * door_native PROGRAM OPTION… -- COMMAND…: runs a command where native tools run, in an
 * empty network namespace with a real door on loopback: a proxy, ports 80 and 443, and a
 * hosts file in which the named hosts lie there.  At the end prints what the door has kept,
 * to the file $DOOR_KEPT.
 *
 *     --tunnel HOST --upgrade HOST --intercept HOST   reached that way
 *     --scan                                          leak detection, with all patterns
 *     --secret NAME=VALUE@HOST                        granted, and bound to HOST
 *     --connections N                                 at once
 *     --ms N                                          the run's time
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "nacre/clock.h"
#include "nacre/door.h"
#include "nacre/own.h"
#include "nacre/secrets.h"
#include "nacre/tool.h"

#define MANY 16
#define PROXY_PORT 3128
#define DOORS 3
#define BUNDLE "/etc/ssl/certs/ca-certificates.crt"

static struct {
    struct nacre_egress_host allowed[MANY], bound[MANY];
    struct nacre_egress_secret secrets[MANY];
    struct nacre_secret items[MANY];
    struct nacre_secret_set granted;
    struct nacre_plan plan;
    uint64_t wall_ms;
    char **command;
    char directory[64];
} asked = { .wall_ms = 30000, .directory = "/tmp/door_native.XXXXXX" };

/* Where its three sockets listen; allowed names lie on the address of the last two. */
static const struct {
    int kind;
    const char *address;
    uint16_t port;
} places[DOORS] = {
    { NACRE_DOOR_PROXY | NACRE_DOOR_LISTEN, "127.0.0.1", PROXY_PORT },
    { NACRE_DOOR_HTTP | NACRE_DOOR_LISTEN, "127.0.1.1", 80 },
    { NACRE_DOOR_TLS | NACRE_DOOR_LISTEN, "127.0.1.1", 443 },
};

static _Noreturn void die(const char *what, const struct nacre_error *err)
{
    (void)fprintf(stderr, "door_native: %s: %s\n", what, err ? err->text : "");
    exit(2);
}

/* ---- words ---- */

static struct nacre_egress_host read_host(const char *text, enum nacre_way way)
{
    struct nacre_egress_host host;
    struct nacre_error err;

    if (nacre_egress_host_read(text, &host, &err) != NACRE_OK)
        die(text, &err);
    host.way = way;
    return host;
}

static void add_secret(char *text)
{
    uint32_t i = asked.granted.count++;
    char *value = strchr(text, '='), *host = strrchr(text, '@');

    if (!value || !host || i == MANY)
        die(text, NULL);
    *value++ = *host++ = '\0';
    asked.bound[i] = read_host(host, NACRE_WAY_NONE);
    asked.secrets[i] = (struct nacre_egress_secret){ text, &asked.bound[i], 1 };
    asked.items[i] = (struct nacre_secret){ .name = text, .value = (unsigned char *)value,
                                            .count = strlen(value) };
    asked.plan.egress.secret_count = asked.granted.count;
}

static bool read_option(const char *name, char *word)
{
    struct nacre_egress *egress = &asked.plan.egress;

    for (int way = NACRE_WAY_TUNNEL; way < NACRE_WAY_COUNT; way++)
        if (strcmp(name + 2, nacre_way_name((enum nacre_way)way)) == 0) {
            asked.allowed[egress->allowed_count++] = read_host(word, (enum nacre_way)way);
            return true;
        }
    if (strcmp(name, "--secret") == 0)
        add_secret(word);
    else if (strcmp(name, "--connections") == 0)
        egress->limits.connections_max = (uint32_t)atoi(word);
    else if (strcmp(name, "--ms") == 0)
        asked.wall_ms = (uint64_t)atoll(word);
    else
        return false;
    return true;
}

static void read_words(int argc, char **argv)
{
    int at = 2;

    asked.plan.egress = (struct nacre_egress){
        .mode = NACRE_NETWORK_ALLOWLIST, .allowed = asked.allowed,
        .secrets = asked.secrets, .block_private = true, .patterns = 22,
        .way = NACRE_WAY_TUNNEL,
        .limits = { .header_bytes_max = 65536, .body_bytes_max = 64 << 20,
                    .redirects_max = 5, .requests_max = 100000,
                    .requests_per_minute_max = 100000, .connections_max = 600 },
    };
    asked.granted = (struct nacre_secret_set){ .items = asked.items };
    for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
        if (strcmp(argv[at], "--scan") == 0) {
            asked.plan.egress.scan = true;
            continue;
        }
        if (at + 1 >= argc || !read_option(argv[at], argv[at + 1]))
            die(argv[at], NULL);
        at++;
    }
    if (at + 1 >= argc)
        die("PROGRAM OPTION… -- COMMAND…", NULL);
    asked.command = argv + at + 1;
}

/* ---- inside ---- */

static int listen_at(const char *address, uint16_t port)
{
    struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

    (void)inet_pton(AF_INET, address, &here.sin_addr);
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (struct sockaddr *)&here, sizeof(here)) != 0 || listen(fd, 1024) != 0) {
        perror(address);
        exit(2);
    }
    return fd;
}

static void enter(void)
{
    struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
    char path[128];
    FILE *hosts;
    int fd;

    if (unshare(CLONE_NEWNET | CLONE_NEWNS) != 0 ||
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        die("namespaces", NULL);
    fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    (void)ioctl(fd, SIOCSIFFLAGS, &lo);
    (void)close(fd);
    (void)snprintf(path, sizeof(path), "%s/hosts", asked.directory);
    hosts = fopen(path, "we");
    (void)fprintf(hosts, "127.0.0.1 localhost\n");
    for (uint32_t i = 0; i < asked.plan.egress.allowed_count; i++)
        (void)fprintf(hosts, "127.0.1.1 %s\n", asked.allowed[i].name);
    (void)fclose(hosts);
    if (mount(path, "/etc/hosts", NULL, MS_BIND, NULL) != 0)
        die("hosts", NULL);
}

static void set_environment(void)
{
    static const char *const bundles[] = { "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE",
                                           "GIT_SSL_CAINFO", "CURL_CA_BUNDLE",
                                           "NODE_EXTRA_CA_CERTS" };
    static const char *const proxies[] = { "HTTP_PROXY", "HTTPS_PROXY", "http_proxy",
                                           "https_proxy" };
    char text[128];

    (void)snprintf(text, sizeof(text), "%s/bundle.pem", asked.directory);
    for (size_t i = 0; i < NACRE_COUNT(bundles); i++)
        (void)setenv(bundles[i], text, 1);
    (void)snprintf(text, sizeof(text), "http://127.0.0.1:%d", PROXY_PORT);
    for (size_t i = 0; i < NACRE_COUNT(proxies); i++)
        (void)setenv(proxies[i], text, 1);
}

static void pass_out(int line, const int fds[DOORS])
{
    _Alignas(struct cmsghdr) char extra[CMSG_SPACE(DOORS * sizeof(int))] = { 0 };
    struct iovec part = { .iov_base = extra, .iov_len = 1 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = extra,
                              .msg_controllen = sizeof(extra) };
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(DOORS * sizeof(int));
    memcpy(CMSG_DATA(head), fds, DOORS * sizeof(int));
    if (sendmsg(line, &message, 0) < 0)
        die("sockets", NULL);
}

static _Noreturn void be_the_tool(int line)
{
    int fds[DOORS];
    char go;

    enter();
    for (int i = 0; i < DOORS; i++)
        fds[i] = listen_at(places[i].address, places[i].port);
    pass_out(line, fds);
    if (read(line, &go, 1) != 1)
        exit(2);
    set_environment();
    (void)execvp(asked.command[0], asked.command);
    perror(asked.command[0]);
    exit(2);
}

/* ---- outside ---- */

static void take_sockets(int line, struct nacre_door *door)
{
    _Alignas(struct cmsghdr) char extra[CMSG_SPACE(DOORS * sizeof(int))];
    char byte;
    struct iovec part = { .iov_base = &byte, .iov_len = 1 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = extra,
                              .msg_controllen = sizeof(extra) };
    struct nacre_error err;
    int fds[DOORS];

    if (recvmsg(line, &message, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&message))
        die("sockets", NULL);
    memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fds));
    for (int i = 0; i < DOORS; i++)
        if (nacre_door_serve(door, places[i].kind, fds[i], &err) != NACRE_OK)
            die("serve", &err);
}

static void write_certificates(const char *certificate)
{
    char path[128], piece[4096];
    size_t count;
    FILE *system = fopen(BUNDLE, "re"), *file;

    (void)snprintf(path, sizeof(path), "%s/bundle.pem", asked.directory);
    file = fopen(path, "we");
    (void)fputs(certificate, file);
    while (system && (count = fread(piece, 1, sizeof(piece), system)) > 0)
        (void)fwrite(piece, 1, count, file);
    (void)fclose(file);
    if (system)
        (void)fclose(system);
}

static void show(const struct nacre_result *result)
{
    FILE *kept = fopen(getenv("DOOR_KEPT") ? getenv("DOOR_KEPT") : "/dev/stderr", "we");

    for (uint32_t i = 0; i < result->egress_count; i++) {
        const struct nacre_egress_record *record = &result->egress[i];

        (void)fprintf(kept, "record %s %s:%u %s %s %u\n", record->method, record->host,
                      record->port, record->sent ? "sent" : "not-sent",
                      record->code[0] ? record->code : "-", record->status);
    }
    for (uint32_t i = 0; i < result->denial_count; i++)
        (void)fprintf(kept, "denial %s %s\n", result->denials[i].code,
                      result->denials[i].path);
    (void)fprintf(kept, "seen %llu\n", (unsigned long long)result->egress_seen);
    (void)fclose(kept);
}

static int run(struct nacre_door *door)
{
    struct nacre_result *result;
    struct nacre_error err;
    int ends[2], status = 0;
    pid_t child;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        die("socketpair", NULL);
    child = fork();
    if (child == 0)
        be_the_tool(ends[1]);
    (void)close(ends[1]);
    take_sockets(ends[0], door);
    if (nacre_result_new(&result, &err) != NACRE_OK ||
        nacre_door_begin(door, "00", nacre_clock_ns() + asked.wall_ms * NACRE_NS_PER_MS,
                         &err) != NACRE_OK)
        die("begin", &err);
    if (write(ends[0], "", 1) != 1)
        die("the tool is gone", NULL);
    (void)waitpid(child, &status, 0);
    if (nacre_door_end(door, result, &err) != NACRE_OK)
        die("end", &err);
    show(result);
    nacre_result_free(result);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void clean_up(void)
{
    char path[128];

    (void)snprintf(path, sizeof(path), "%s/hosts", asked.directory);
    (void)unlink(path);
    (void)snprintf(path, sizeof(path), "%s/bundle.pem", asked.directory);
    (void)unlink(path);
    (void)rmdir(asked.directory);
}

int main(int argc, char **argv)
{
    struct nacre_tool tool = { .name = (char *)(uintptr_t)"door_native" };
    struct nacre_request request = { .granted = &asked.granted };
    struct nacre_doors_options options = { .program = argc > 1 ? argv[1] : NULL };
    struct nacre_doors *doors;
    struct nacre_door *door;
    struct nacre_error err;
    int status;

    read_words(argc, argv);
    if (!mkdtemp(asked.directory))
        die(asked.directory, NULL);
    if (nacre_doors_new(&options, &doors, &err) != NACRE_OK ||
        nacre_doors_get(doors, &asked.plan, &tool, &request, &door, &err) != NACRE_OK)
        die("no door", &err);
    write_certificates(nacre_door_certificate(door));
    status = run(door);
    nacre_doors_put(doors, door);
    nacre_doors_free(doors);
    clean_up();
    return status;
}
