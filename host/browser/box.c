/* Trusts nothing of what comes out: it is the sandbox's. */
#include "box.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "io.h"
#include "nacre/browser.h"
#include "nacre/clock.h"
#include "nacre/own.h"

#define VERSION_MS 5000

int box_dial(const struct box *box, uint16_t port)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control = { .bytes = { 0 } };
    struct iovec part = { &port, sizeof(port) };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof(control.bytes) };
    struct cmsghdr *passed = CMSG_FIRSTHDR(&message);
    NACRE_AUTO(nacre_fd_guard) int theirs = -1;
    int ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
        return -1;
    theirs = ends[1];
    passed->cmsg_level = SOL_SOCKET;
    passed->cmsg_type = SCM_RIGHTS;
    passed->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(passed), &theirs, sizeof(theirs));
    if (sendmsg(box->dial_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
        (ssize_t)sizeof(port))
        return ends[0];
    (void)close(ends[0]);
    return -1;
}

bool box_answer(const struct box *box, int fd, uint64_t deadline_ns,
                struct nacre_buf *bytes, struct answer *ret_answer, size_t *ret_used)
{
    const struct io io = { box->stop_fd, deadline_ns };
    struct nacre_error ignored;
    char some[4096];

    for (;;) {
        enum answer_is is =
            answer_read(bytes->bytes ? bytes->bytes : "", bytes->size, ret_answer,
                        ret_used);
        ssize_t count;

        if (is != ANSWER_MORE)
            return is == ANSWER_WHOLE;
        count = io_read(&io, fd, some, sizeof(some));
        if (count <= 0 || nacre_buf_add(bytes, some, (size_t)count, &ignored) != NACRE_OK)
            return false;
    }
}

/* ---- /json/version ---- */

/* The body, from `used` on: as long as it says, or up to the end. */
static bool read_body(const struct box *box, int fd, uint64_t deadline_ns,
                      const struct answer *answer, size_t used, struct nacre_buf *bytes)
{
    const struct io io = { box->stop_fd, deadline_ns };
    struct nacre_error ignored;
    char some[4096];

    while (!answer->has_length || bytes->size - used < answer->length) {
        ssize_t count = io_read(&io, fd, some, sizeof(some));

        if (count == 0 && !answer->has_length)
            return true;
        if (count <= 0 || nacre_buf_add(bytes, some, (size_t)count, &ignored) != NACRE_OK)
            return false;
    }
    return true;
}

/* ws://HOST/devtools/browser/ID: what follows the host. */
static bool read_path(const char *url, char *ret_path, size_t size)
{
    static const char start[] = "/devtools/browser/";
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-";
    const char *path = url && strncmp(url, "ws://", 5) == 0 ? strchr(url + 5, '/') : NULL;
    size_t length = path ? strlen(path) : 0;

    if (!path || strncmp(path, start, sizeof(start) - 1) != 0 || length >= size ||
        length == sizeof(start) - 1 ||
        strspn(path + sizeof(start) - 1, letters) != length - (sizeof(start) - 1))
        return false;
    memcpy(ret_path, path, length + 1);
    return true;
}

static bool read_version(const char *text, size_t count, struct box_version *version)
{
    json_t *told = json_loadb(text, count, JSON_REJECT_DUPLICATES, NULL);
    const char *browser = json_string_value(json_object_get(told, "Browser"));
    const json_t *url = json_object_get(told, "webSocketDebuggerUrl");
    bool good = read_path(json_string_value(url), version->path, sizeof(version->path));
    size_t length;

    (void)snprintf(version->browser, sizeof(version->browser), "%s",
                   browser ? browser : "");
    /* Its URLs are of the sandbox, and good for nobody here. */
    (void)json_object_del(told, "webSocketDebuggerUrl");
    (void)json_object_del(told, "devtoolsFrontendUrl");
    length = good ? json_dumpb(told, version->json, sizeof(version->json), 0) : 0;
    json_decref(told);
    if (length == 0 || length >= sizeof(version->json))
        return false;
    version->json[length] = '\0';
    return true;
}

bool box_version(const struct box *box, uint64_t deadline_ns,
                 struct box_version *ret_version)
{
    static const char asked[] = "GET /json/version HTTP/1.1\r\nHost: 127.0.0.1:9222\r\n"
                                "Connection: close\r\n\r\n";
    uint64_t soon_ns = nacre_clock_ns() + VERSION_MS * NACRE_NS_PER_MS;
    const struct io io = { box->stop_fd, soon_ns < deadline_ns ? soon_ns : deadline_ns };
    NACRE_AUTO(nacre_fd_guard) int fd = box_dial(box, NACRE_BROWSER_CDP_PORT);
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf bytes = NACRE_BUF(BOX_JSON_BYTES_MAX);
    struct box_version version = { .path = "" };
    struct answer answer;
    size_t used;

    if (fd < 0 || !io_write(&io, fd, asked, sizeof(asked) - 1) ||
        !box_answer(box, fd, io.deadline_ns, &bytes, &answer, &used) ||
        answer.status != 200 || answer.is_chunked ||
        !read_body(box, fd, io.deadline_ns, &answer, used, &bytes) ||
        !read_version(bytes.bytes + used,
                      answer.has_length ? (size_t)answer.length : bytes.size - used,
                      &version))
        return false;
    *ret_version = version;
    return true;
}
