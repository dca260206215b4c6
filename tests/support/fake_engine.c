#include "fake_engine.h"

#include <assert.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS_MAX 128
#define REQUEST_MAX ((size_t)4 << 20)
#define RULES_MAX 64

struct connection {
    struct fake_engine *engine;
    pthread_t thread;
    int fd; /* -1: closed */
};

struct asked {
    char *line, *body;
};

struct fake_engine {
    char path[108];
    int listener;
    pthread_t acceptor;
    pthread_mutex_t lock; /* over what follows */
    const struct fake_rule *rules;
    uint32_t used[RULES_MAX];
    struct connection connections[CONNECTIONS_MAX];
    size_t connection_count;
    struct asked asked[FAKE_ASKED_MAX];
    size_t asked_count;
};

/* ---- reading a request ---- */

struct request {
    char *bytes; /* terminated */
    size_t count;
    size_t head; /* its length with the blank line */
};

/* At least one more byte. */
static bool more(int fd, struct request *request)
{
    ssize_t got = -1;

    if (request->count < REQUEST_MAX)
        got = recv(fd, request->bytes + request->count, REQUEST_MAX - request->count, 0);
    if (got <= 0)
        return false;
    request->count += (size_t)got;
    request->bytes[request->count] = '\0';
    return true;
}

/* The body of chunks, joined in place; false when the client left. */
static bool join_chunks(int fd, struct request *request)
{
    size_t from = request->head, to = request->head;

    for (;;) {
        char *end = memmem(request->bytes + from, request->count - from, "\r\n", 2);
        size_t size;

        if (!end) {
            if (!more(fd, request))
                return false;
            continue;
        }
        size = strtoul(request->bytes + from, NULL, 16);
        from = (size_t)(end - request->bytes) + 2;
        while (request->count - from < size + 2)
            if (!more(fd, request))
                return false;
        memmove(request->bytes + to, request->bytes + from, size);
        to += size;
        from += size + 2;
        if (size == 0)
            break;
    }
    request->count = to;
    request->bytes[to] = '\0';
    return true;
}

/* False when the client left. */
static bool read_request(int fd, struct request *request)
{
    const char *length;
    char *blank;
    size_t body = 0;

    while (!(blank = memmem(request->bytes, request->count, "\r\n\r\n", 4)))
        if (!more(fd, request))
            return false;
    request->head = (size_t)(blank - request->bytes) + 4;
    length = strcasestr(request->bytes, "\r\nContent-Length:");
    if (strcasestr(request->bytes, "\r\nTransfer-Encoding: chunked"))
        return join_chunks(fd, request);
    if (length && length < blank)
        body = strtoul(length + 17, NULL, 10);
    while (request->count - request->head < body)
        if (!more(fd, request))
            return false;
    return true;
}

/* ---- answering ---- */

static bool say(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        bytes += sent;
        count -= (size_t)sent;
    }
    return true;
}

static bool say_head(int fd, int status, size_t length)
{
    char head[160];
    int count = snprintf(head, sizeof(head),
                         "HTTP/1.1 %d Fake\r\nContent-Type: application/json\r\n"
                         "Content-Length: %zu\r\n\r\n", status ? status : 200, length);

    /* These have no body by definition, and clients stumble over a length. */
    if (status == 204 || status == 304)
        count = snprintf(head, sizeof(head), "HTTP/1.1 %d Fake\r\n\r\n", status);
    return say(fd, head, (size_t)count);
}

static void until_client_leaves(int fd)
{
    char bytes[4096];

    while (recv(fd, bytes, sizeof(bytes), 0) > 0)
        ;
}

static bool echo(int fd)
{
    char bytes[8 + 4096] = { 1 };
    ssize_t got;

    while ((got = recv(fd, bytes + 8, 4096, 0)) > 0) {
        bytes[6] = (char)(got >> 8);
        bytes[7] = (char)got;
        if (!say(fd, bytes, (size_t)got + 8))
            break;
    }
    return false;
}

static bool hijack(int fd, const struct fake_rule *rule)
{
    static const char head[] = "HTTP/1.1 101 UPGRADED\r\n"
                               "Content-Type: application/vnd.docker.raw-stream\r\n"
                               "Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n";
    bool open = say(fd, head, sizeof(head) - 1) &&
                say(fd, rule->stream, rule->stream_bytes);

    while (open && rule->after == FAKE_AFTER_FLOOD)
        open = say(fd, rule->stream, rule->stream_bytes);
    if (open && rule->after == FAKE_AFTER_HOLD)
        until_client_leaves(fd);
    if (open && rule->after == FAKE_AFTER_ECHO)
        return echo(fd);
    return false;
}

static void forget(json_t *object, const char *names)
{
    char *copy = strdup(names), *rest = copy, *name;

    while ((name = strsep(&rest, " "))) {
        json_t *inside = object;
        char *part;

        while ((part = strsep(&name, ".")) && name)
            inside = json_object_get(inside, part);
        (void)json_object_del(inside, part);
    }
    free(copy);
}

/* As an engine tells them a second time, beside HostConfig. */
static json_t *mounts_of(const json_t *config)
{
    const json_t *asked =
        json_object_get(json_object_get(config, "HostConfig"), "Mounts");
    json_t *mounts = json_array();

    for (size_t i = 0; i < json_array_size(asked); i++) {
        const json_t *mount = json_array_get(asked, i);

        (void)json_array_append_new(
            mounts, json_pack("{s:O?, s:O?, s:O?, s:b}", "Type",
                              json_object_get(mount, "Type"), "Source",
                              json_object_get(mount, "Source"), "Destination",
                              json_object_get(mount, "Target"), "RW",
                              !json_is_true(json_object_get(mount, "ReadOnly"))));
    }
    return mounts;
}

/* The body that created the newest container. */
static json_t *newest(struct fake_engine *engine)
{
    json_t *config = NULL;

    (void)pthread_mutex_lock(&engine->lock);
    for (size_t n = engine->asked_count; n-- > 0 && !config;)
        if (strstr(engine->asked[n].line, "/containers/create"))
            config = json_loads(engine->asked[n].body, 0, NULL);
    (void)pthread_mutex_unlock(&engine->lock);
    return config;
}

static bool wants_no_swap(struct fake_engine *engine)
{
    json_t *config = newest(engine);
    const json_t *host = json_object_get(config, "HostConfig");
    bool wants = json_integer_value(json_object_get(host, "Memory")) > 0 &&
                 json_integer_value(json_object_get(host, "MemorySwap")) != -1;

    json_decref(config);
    return wants;
}

/* What inspect would show of it: as Config and HostConfig. */
static char *inspection(struct fake_engine *engine, const char *ignored)
{
    json_t *config = newest(engine), *shown;
    char *text;

    shown = json_pack("{s:s, s:{s:s, s:b, s:i, s:i}, s:O?, s:O?, s:o}", "Id", FAKE_ID,
                      "State", "Status", "running", "Running", 1, "Pid", 4242,
                      "ExitCode", 0, "Image", json_object_get(config, "Image"),
                      "HostConfig", json_object_get(config, "HostConfig"), "Mounts",
                      mounts_of(config));
    (void)json_object_del(config, "HostConfig");
    (void)json_object_set_new(shown, "Config", config ? config : json_null());
    if (ignored)
        forget(shown, ignored);
    text = json_dumps(shown, 0);
    json_decref(shown);
    return text;
}

static bool say_inspection(struct fake_engine *engine, int fd, const char *ignored)
{
    char *text = inspection(engine, ignored);
    bool said = text && say_head(fd, 200, strlen(text)) && say(fd, text, strlen(text));

    free(text);
    return said;
}

static bool flood(int fd, const char *head, const char *text)
{
    bool open = say(fd, head, strlen(head));

    while (open)
        open = say(fd, text, strlen(text));
    return false;
}

/* Is the connection to be kept? */
static bool act(struct fake_engine *engine, int fd, const struct fake_rule *rule)
{
    const char *body = rule->body ? rule->body : "";
    struct timespec delay = { .tv_sec = rule->delay_ms / 1000,
                              .tv_nsec = rule->delay_ms % 1000 * 1000000L };

    (void)nanosleep(&delay, NULL);
    if (rule->deed == FAKE_SWAPLESS && wants_no_swap(engine))
        body = FAKE_NO_SWAP;
    switch (rule->deed) {
    case FAKE_ANSWER:
    case FAKE_SWAPLESS:
        return say_head(fd, rule->status, strlen(body)) && say(fd, body, strlen(body));
    case FAKE_INSPECT:
        return say_inspection(engine, fd, rule->ignored);
    case FAKE_HANG:
        until_client_leaves(fd);
        return false;
    case FAKE_CUT:
        (void)(say_head(fd, rule->status, strlen(body)) &&
               say(fd, body, strlen(body) / 2));
        return false;
    case FAKE_RAW:
        (void)say(fd, body, strlen(body));
        return false;
    case FAKE_FLOOD:
        return flood(fd, "HTTP/1.1 200 Fake\r\n\r\n", body);
    case FAKE_HEAD_FLOOD:
        return flood(fd, "HTTP/1.1 200 Fake\r\n", "X-More: and more\r\n");
    case FAKE_HIJACK:
        return hijack(fd, rule);
    case FAKE_CLOSE:
        break;
    }
    return false;
}

/* ---- serving ---- */

/* Keeps what was asked, and finds the rule for it. */
static struct fake_rule choose(struct fake_engine *engine, struct request *request)
{
    static const struct fake_rule unknown = {
        .status = 404, .body = "{\"message\":\"page not found\"}",
    };
    const struct fake_rule *found = &unknown;
    char *line = strndup(request->bytes, strcspn(request->bytes, "\r"));
    char method[16] = "", path[1024] = "", *after;

    (void)sscanf(line, "%15s %1023[^ ?]", method, path);
    after = strncmp(path, "/v1.", 4) == 0 ? strchr(path + 1, '/') : path;
    *strrchr(line, ' ') = '\0';

    (void)pthread_mutex_lock(&engine->lock);
    for (size_t i = 0; engine->rules[i].path; i++) {
        const struct fake_rule *rule = &engine->rules[i];

        if ((rule->method && strcmp(rule->method, method) != 0) ||
            fnmatch(rule->path, after ? after : "", 0) != 0 ||
            (rule->times > 0 && engine->used[i] >= rule->times))
            continue;
        engine->used[i]++;
        found = rule;
        break;
    }
    assert(engine->asked_count < FAKE_ASKED_MAX);
    engine->asked[engine->asked_count++] =
        (struct asked){ line, strdup(request->bytes + request->head) };
    (void)pthread_mutex_unlock(&engine->lock);
    return *found;
}

static void *serve(void *data)
{
    struct connection *connection = data;
    struct fake_engine *engine = connection->engine;
    struct request request = { .bytes = malloc(REQUEST_MAX + 1) };
    bool open = true;

    while (open && request.bytes) {
        struct fake_rule rule;

        request.count = 0;
        open = read_request(connection->fd, &request);
        if (!open)
            break;
        rule = choose(engine, &request);
        open = act(engine, connection->fd, &rule);
    }
    free(request.bytes);
    (void)pthread_mutex_lock(&engine->lock);
    (void)close(connection->fd);
    connection->fd = -1;
    (void)pthread_mutex_unlock(&engine->lock);
    return NULL;
}

static void *accept_all(void *data)
{
    struct fake_engine *engine = data;
    int fd;

    while ((fd = accept4(engine->listener, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        struct connection *connection;

        (void)pthread_mutex_lock(&engine->lock);
        assert(engine->connection_count < CONNECTIONS_MAX);
        connection = &engine->connections[engine->connection_count];
        *connection = (struct connection){ .engine = engine, .fd = fd };
        if (pthread_create(&connection->thread, NULL, serve, connection) == 0)
            engine->connection_count++;
        else
            (void)close(fd);
        (void)pthread_mutex_unlock(&engine->lock);
    }
    return NULL;
}

void fake_engine_script(struct fake_engine *engine, const struct fake_rule *rules)
{
    (void)pthread_mutex_lock(&engine->lock);
    engine->rules = rules;
    memset(engine->used, 0, sizeof(engine->used));
    (void)pthread_mutex_unlock(&engine->lock);
}

struct fake_engine *fake_engine_start(const char *socket_path,
                                      const struct fake_rule *rules)
{
    struct fake_engine *engine = calloc(1, sizeof(*engine));
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    if (!engine)
        return NULL;
    (void)snprintf(engine->path, sizeof(engine->path), "%s", socket_path);
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path);
    (void)pthread_mutex_init(&engine->lock, NULL);
    engine->rules = rules;
    (void)unlink(socket_path);
    engine->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (engine->listener < 0 ||
        bind(engine->listener, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        listen(engine->listener, 64) < 0 ||
        pthread_create(&engine->acceptor, NULL, accept_all, engine) != 0) {
        perror("fake engine");
        if (engine->listener >= 0)
            (void)close(engine->listener);
        free(engine);
        return NULL;
    }
    return engine;
}

void fake_engine_stop(struct fake_engine *engine)
{
    if (!engine)
        return;
    (void)shutdown(engine->listener, SHUT_RDWR);
    (void)pthread_join(engine->acceptor, NULL);
    (void)close(engine->listener);
    (void)unlink(engine->path);
    (void)pthread_mutex_lock(&engine->lock);
    for (size_t i = 0; i < engine->connection_count; i++)
        if (engine->connections[i].fd >= 0)
            (void)shutdown(engine->connections[i].fd, SHUT_RDWR);
    (void)pthread_mutex_unlock(&engine->lock);
    for (size_t i = 0; i < engine->connection_count; i++)
        (void)pthread_join(engine->connections[i].thread, NULL);
    for (size_t i = 0; i < engine->asked_count; i++) {
        free(engine->asked[i].line);
        free(engine->asked[i].body);
    }
    (void)pthread_mutex_destroy(&engine->lock);
    free(engine);
}

pid_t fake_engine_fork(const char *socket_path, const struct fake_rule *rules)
{
    int ends[2];
    char byte;
    pid_t pid;
    bool started;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1;
    pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!fake_engine_start(socket_path, rules) || write(ends[1], "", 1) != 1)
            _exit(1);
        for (;;)
            (void)pause();
    }
    (void)close(ends[1]);
    started = pid > 0 && read(ends[0], &byte, 1) == 1;
    (void)close(ends[0]);
    if (pid > 0 && !started)
        (void)waitpid(pid, NULL, 0);
    return started ? pid : -1;
}

size_t fake_engine_asked(struct fake_engine *engine)
{
    size_t count;

    (void)pthread_mutex_lock(&engine->lock);
    count = engine->asked_count;
    (void)pthread_mutex_unlock(&engine->lock);
    return count;
}

const char *fake_engine_line(struct fake_engine *engine, size_t n)
{
    return n < fake_engine_asked(engine) ? engine->asked[n].line : "";
}

const char *fake_engine_body(struct fake_engine *engine, size_t n)
{
    return n < fake_engine_asked(engine) ? engine->asked[n].body : "";
}

size_t fake_engine_connections(struct fake_engine *engine)
{
    size_t count;

    (void)pthread_mutex_lock(&engine->lock);
    count = engine->connection_count;
    (void)pthread_mutex_unlock(&engine->lock);
    return count;
}

size_t fake_engine_open(struct fake_engine *engine)
{
    size_t count = 0;

    (void)pthread_mutex_lock(&engine->lock);
    for (size_t i = 0; i < engine->connection_count; i++)
        count += engine->connections[i].fd >= 0;
    (void)pthread_mutex_unlock(&engine->lock);
    return count;
}
