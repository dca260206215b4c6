/* Trusts the directory once it has seen that only our user can enter it, and whoever is
 * at the other end once the kernel has said that it is of our user. */
#include "control.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "nacre/clock.h"
#include "nacre/key.h"
#include "nacre/path.h"

#define DIR_NAME "browsers"
#define BACKLOG 16
#define ANSWER_MS 5000
#define LOOK_MS 20

static enum nacre_status open_dir(const char *state_dir, int *ret_fd,
                                  struct nacre_error *err)
{
    char path[NACRE_PATH_MAX];
    int length = snprintf(path, sizeof(path), "%s/" DIR_NAME, state_dir);

    if (length < 0 || (size_t)length >= sizeof(path))
        return nacre_fail(err, NACRE_ERR_USAGE, "the state directory's path is too long");
    return nacre_private_dir_open(path, ret_fd, err);
}

static void name_of(const char *slug, const char *ending, char ret_name[NACRE_SLUG + 8])
{
    (void)snprintf(ret_name, NACRE_SLUG + 8, "%s%s", slug, ending);
}

/* By way of the directory's fd: an address has room for 107 bytes. */
static struct sockaddr_un address_of(int dir_fd, const char *slug)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s.sock",
                   dir_fd, slug);
    return address;
}

static bool is_ours(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           peer.uid == geteuid();
}

static bool wait_readable(int fd, uint64_t ms)
{
    struct pollfd watched = { .fd = fd, .events = POLLIN };
    uint64_t until_ns = nacre_clock_ns() + ms * NACRE_NS_PER_MS;

    for (;;) {
        struct timespec left = nacre_clock_until(until_ns);
        int ready = ppoll(&watched, 1, &left, NULL);

        if (ready >= 0 || errno != EINTR)
            return ready > 0;
    }
}

/* ---- the owner ---- */

static enum nacre_status open_lock(int dir_fd, const char *slug, int *ret_fd,
                                   struct nacre_error *err)
{
    char name[NACRE_SLUG + 8];

    name_of(slug, ".lock", name);
    *ret_fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return *ret_fd < 0 ? nacre_fail(err, NACRE_ERR_IO, "the lock of a browser")
                       : NACRE_OK;
}

enum nacre_status control_lock(const char *state_dir, const char *slug,
                               struct control *ret_control, struct nacre_error *err)
{
    NACRE_AUTO(control_clear) struct control control = CONTROL_NONE;
    enum nacre_status status = open_dir(state_dir, &control.dir_fd, err);

    if (status == NACRE_OK)
        status = open_lock(control.dir_fd, slug, &control.lock_fd, err);
    if (status != NACRE_OK)
        return status;
    if (flock(control.lock_fd, LOCK_EX | LOCK_NB) != 0)
        return nacre_fail(err, NACRE_ERR_USAGE, "the session has a browser already");
    (void)snprintf(control.slug, sizeof(control.slug), "%s", slug);
    *ret_control = control;
    control = (struct control)CONTROL_NONE;
    return NACRE_OK;
}

enum nacre_status control_listen(struct control *control, struct nacre_error *err)
{
    struct sockaddr_un address = address_of(control->dir_fd, control->slug);
    NACRE_AUTO(nacre_fd_guard)
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    char name[NACRE_SLUG + 8];

    name_of(control->slug, ".sock", name);
    (void)unlinkat(control->dir_fd, name, 0);
    /* The mode of the file that bind() makes. */
    if (fd < 0 || fchmod(fd, 0600) != 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(fd, BACKLOG) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "the socket of a browser");
    control->socket_fd = nacre_fd_take(&fd);
    return NACRE_OK;
}

void control_clear(struct control *control)
{
    char name[NACRE_SLUG + 8];

    if (control->socket_fd >= 0) {
        name_of(control->slug, ".sock", name);
        (void)unlinkat(control->dir_fd, name, 0);
    }
    nacre_fd_guard(&control->socket_fd);
    nacre_fd_guard(&control->lock_fd);
    nacre_fd_guard(&control->dir_fd);
    *control = (struct control)CONTROL_NONE;
}

void control_serve(const struct control *control,
                   json_t *(*answer)(void *data, const char *word), void *data)
{
    NACRE_AUTO(nacre_fd_guard)
    int fd = accept4(control->socket_fd, NULL, NULL, SOCK_CLOEXEC);
    NACRE_AUTO(nacre_heap_guard) char *text = NULL;
    char word[32];
    json_t *told;
    ssize_t count;

    if (fd < 0 || !is_ours(fd) || !wait_readable(fd, ANSWER_MS))
        return;
    count = recv(fd, word, sizeof(word) - 1, MSG_DONTWAIT);
    if (count <= 0)
        return;
    word[count] = '\0';
    told = answer(data, word);
    text = told ? json_dumps(told, JSON_COMPACT) : NULL;
    json_decref(told);
    if (text && strlen(text) <= CONTROL_BYTES_MAX)
        (void)!send(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* ---- who asks ---- */

static enum nacre_status no_browser(struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_NOT_FOUND,
                      "no browser runs for this session; nacre browser start makes one");
}

static enum nacre_status dial(const char *state_dir, const char *slug, int *ret_fd,
                              struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    NACRE_AUTO(nacre_fd_guard) int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    enum nacre_status status = open_dir(state_dir, &dir_fd, err);
    struct sockaddr_un address;

    if (status != NACRE_OK)
        return status;
    address = address_of(dir_fd, slug);
    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "a socket");
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)
        return errno == ENOENT || errno == ECONNREFUSED
                   ? no_browser(err)
                   : nacre_fail(err, NACRE_ERR_IO, "asking a browser");
    if (!is_ours(fd))
        return nacre_fail(err, NACRE_ERR_USAGE, "the browser is another user's");
    *ret_fd = nacre_fd_take(&fd);
    return NACRE_OK;
}

enum nacre_status control_ask(const char *state_dir, const char *slug, const char *word,
                              json_t **ret_answer, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    enum nacre_status status = dial(state_dir, slug, &fd, err);
    char text[CONTROL_BYTES_MAX];
    const char *failed;
    json_t *told;
    ssize_t count;

    if (status != NACRE_OK)
        return status;
    if (send(fd, word, strlen(word), MSG_NOSIGNAL) < 0 ||
        !wait_readable(fd, ANSWER_MS * 2))
        return nacre_fail(err, NACRE_ERR_TIMEOUT, "the browser's owner does not answer");
    count = recv(fd, text, sizeof(text), MSG_DONTWAIT);
    if (count <= 0)
        return no_browser(err); /* it is just leaving */
    told = json_loadb(text, (size_t)count, JSON_REJECT_DUPLICATES, NULL);
    failed = json_string_value(json_object_get(told, "error"));
    if (told && !failed) {
        *ret_answer = told;
        return NACRE_OK;
    }
    status = nacre_fail(err, failed ? NACRE_ERR_UNAVAILABLE : NACRE_ERR_PARSE, "%.400s",
                        failed ? failed : "the browser's owner answers something else");
    json_decref(told);
    return status;
}

enum nacre_status control_await_end(const char *state_dir, const char *slug,
                                    uint64_t deadline_ns, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    enum nacre_status status = open_dir(state_dir, &dir_fd, err);

    if (status == NACRE_OK)
        status = open_lock(dir_fd, slug, &fd, err);
    while (status == NACRE_OK && flock(fd, LOCK_SH | LOCK_NB) != 0) {
        if (nacre_clock_ns() > deadline_ns)
            return nacre_fail(err, NACRE_ERR_TIMEOUT,
                              "the browser was told to end, and has not yet");
        (void)poll(NULL, 0, LOOK_MS);
    }
    return status;
}

enum nacre_status control_each(const char *state_dir,
                               bool (*each)(void *data, const char *slug), void *data,
                               struct nacre_error *err)
{
    static const char ending[] = ".sock";
    int dir_fd = -1;
    enum nacre_status status = open_dir(state_dir, &dir_fd, err);
    const struct dirent *entry;
    bool more = true;
    DIR *dir;

    if (status != NACRE_OK)
        return status;
    dir = fdopendir(dir_fd);
    if (!dir) {
        (void)close(dir_fd);
        return nacre_fail(err, NACRE_ERR_MEMORY, "reading %.300s", DIR_NAME);
    }
    while (more && (entry = readdir(dir))) {
        size_t length = strlen(entry->d_name), tail = sizeof(ending) - 1;
        char slug[NACRE_SLUG];

        if (length <= tail || length - tail >= sizeof(slug) ||
            strcmp(entry->d_name + length - tail, ending) != 0)
            continue;
        memcpy(slug, entry->d_name, length - tail);
        slug[length - tail] = '\0';
        more = each(data, slug);
    }
    (void)closedir(dir);
    return NACRE_OK;
}

/* ---- what is told ---- */

json_t *control_info_write(const struct nacre_browser_info *info)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:I, s:i, s:I}", "name",
                     info->name, "scope_key", info->scope_key, "agent", info->agent,
                     "config", info->config, "version", info->version, "port",
                     (int)info->port, "screen_port", (int)info->screen_port,
                     "connections", (json_int_t)info->connections, "pid", (int)info->pid,
                     "started_ms", (json_int_t)info->started_ms);
}

static bool copy(char *ret_text, size_t size, const char *text)
{
    int length = snprintf(ret_text, size, "%s", text);

    return length >= 0 && (size_t)length < size;
}

bool control_info_read(const json_t *json, struct nacre_browser_info *ret_info)
{
    const char *name, *key, *agent, *config, *version;
    json_int_t connections, started;
    int port, screen, pid;
    struct nacre_browser_info info = { .pid = 0 };

    if (json_unpack((json_t *)(uintptr_t)json,
                    "{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:I, s:i, s:I}", "name", &name,
                    "scope_key", &key, "agent", &agent, "config", &config, "version",
                    &version, "port", &port, "screen_port", &screen, "connections",
                    &connections, "pid", &pid, "started_ms", &started) != 0 ||
        port < 0 || port > UINT16_MAX || screen < 0 || screen > UINT16_MAX ||
        connections < 0 || started < 0 || !copy(info.name, sizeof(info.name), name) ||
        !copy(info.scope_key, sizeof(info.scope_key), key) ||
        !copy(info.agent, sizeof(info.agent), agent) ||
        !copy(info.config, sizeof(info.config), config) ||
        !copy(info.version, sizeof(info.version), version))
        return false;
    info.port = (uint16_t)port;
    info.screen_port = (uint16_t)screen;
    info.connections = (uint32_t)connections;
    info.pid = pid;
    info.started_ms = (uint64_t)started;
    *ret_info = info;
    return true;
}
