/* Trusts nothing that the engine sends, neither the answer that hands the connection over
 * nor what comes through it. */
#include "dk_stream.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dk_demux.h"
#include "dk_name.h"
#include "dk_wire.h"
#include "nacre/text.h"

#define HEAD_MAX 8192
#define DROPPED_MAX ((size_t)64 << 10) /* of stderr in one call, give or take a buffer */

struct dk_stream {
    struct dk_wire *wire;
    bool over;      /* then `last` is what a read gives for ever */
    int last_errno; /* 0: the end */
    struct dk_demux demux;
    char stderr_kept[DK_STDERR_KEPT];
    size_t stderr_count;
};

/* ---- the hand-over ---- */

/* The answer's head, as it comes. */
struct head {
    char bytes[HEAD_MAX + 1]; /* terminated */
    size_t count;
    size_t end; /* where the body begins; 0: not there yet */
};

static enum nacre_status send_all(struct dk_wire *wire, const struct nacre_buf *text,
                                  struct nt_wait wait, struct nacre_error *err)
{
    size_t done = 0;

    while (done < text->size) {
        ssize_t sent = dk_wire_send(wire, text->bytes + done, text->size - done);
        enum nacre_status status;

        if (sent > 0)
            done += (size_t)sent;
        if (sent >= 0)
            continue;
        if (errno != EAGAIN)
            return nacre_fail(err, NACRE_ERR_IO, "the connection to the engine broke");
        status = dk_wire_wait(wire, POLLOUT, wait, err);
        if (status != NACRE_OK)
            return status;
    }
    return NACRE_OK;
}

/* Adds what came; *ret_end when nothing more will. */
static enum nacre_status receive(struct dk_wire *wire, struct head *head,
                                 struct nt_wait wait, bool *ret_end,
                                 struct nacre_error *err)
{
    for (;;) {
        ssize_t got = dk_wire_recv(wire, head->bytes + head->count,
                                   HEAD_MAX - head->count);
        enum nacre_status status;

        if (got >= 0) {
            head->count += (size_t)got;
            head->bytes[head->count] = '\0';
            *ret_end = got == 0;
            return NACRE_OK;
        }
        if (errno != EAGAIN)
            return nacre_fail(err, NACRE_ERR_IO, "the connection to the engine broke");
        status = dk_wire_wait(wire, POLLIN, wait, err);
        if (status != NACRE_OK)
            return status;
    }
}

static enum nacre_status receive_head(struct dk_wire *wire, struct head *head,
                                      struct nt_wait wait, struct nacre_error *err)
{
    while (head->end == 0) {
        const char *blank;
        bool ended = false;
        enum nacre_status status = receive(wire, head, wait, &ended, err);

        if (status != NACRE_OK)
            return status;
        blank = memmem(head->bytes, head->count, "\r\n\r\n", 4);
        if (blank)
            head->end = (size_t)(blank - head->bytes) + 4;
        else if (ended || head->count == HEAD_MAX)
            return nacre_fail(err, NACRE_ERR_PARSE,
                              "the engine's answer has no head of at most %d bytes",
                              HEAD_MAX);
    }
    return NACRE_OK;
}

/* "HTTP/1.1 101 UPGRADED" → 101; 0 when it is no such line. */
static long status_of(const struct head *head)
{
    const char *digits = head->bytes + 9;

    if (strncmp(head->bytes, "HTTP/1.", 7) != 0 || head->bytes[8] != ' ' ||
        strspn(digits, "0123456789") != 3)
        return 0;
    return strtol(digits, NULL, 10);
}

/* The engine refused: its reason is the body, of which the first bytes will do. */
static enum nacre_status refused(struct dk_wire *wire, const struct dk_request *request,
                                 struct head *head, struct nacre_error *err)
{
    NACRE_AUTO(dk_answer_guard) struct dk_answer answer = DK_ANSWER;
    const char *length = strcasestr(head->bytes, "\r\nContent-Length:");
    size_t wanted = 0;
    bool ended = false;
    enum nacre_status status = NACRE_OK;

    answer.http_status = status_of(head);
    if (answer.http_status < 300 || answer.http_status > 599)
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "expected the engine to hand the connection over (101)");
    if (length && length < head->bytes + head->end)
        wanted = strtoul(length + 17, NULL, 10);
    wanted = wanted < HEAD_MAX - head->end ? wanted : HEAD_MAX - head->end;
    while (status == NACRE_OK && !ended && head->count - head->end < wanted)
        status = receive(wire, head, request->wait, &ended, err);
    if (status == NACRE_OK)
        status = nacre_buf_add(&answer.body, head->bytes + head->end,
                               head->count - head->end, err);
    return status == NACRE_OK ? dk_judge(request, &answer, err) : status;
}

static enum nacre_status hand_over(struct dk_client *client,
                                   const struct dk_request *request,
                                   struct dk_stream *stream, struct nacre_error *err)
{
    struct nacre_buf text = NACRE_BUF(DK_PATH_MAX);
    const char *body = request->body ? request->body : "";
    struct head head = { .count = 0 };
    size_t room;
    unsigned char *into;
    enum nacre_status status;

    status = nacre_buf_addf(&text, err,
                            "POST %s%s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\n"
                            "Upgrade: tcp\r\nContent-Type: application/json\r\n"
                            "Content-Length: %zu\r\n\r\n%s", client->prefix,
                            request->path, strstr(client->base, "://") + 3, strlen(body),
                            body);
    if (status == NACRE_OK)
        status = send_all(stream->wire, &text, request->wait, err);
    nacre_buf_clear(&text);
    if (status == NACRE_OK)
        status = receive_head(stream->wire, &head, request->wait, err);
    if (status != NACRE_OK)
        return status;
    if (status_of(&head) != 101)
        return refused(stream->wire, request, &head, err);
    into = dk_demux_room(&stream->demux, &room);
    _Static_assert(sizeof(stream->demux.in) >= HEAD_MAX, "the rest of the head fits");
    memcpy(into, head.bytes + head.end, head.count - head.end);
    dk_demux_added(&stream->demux, head.count - head.end);
    return NACRE_OK;
}

enum nacre_status dk_hijack(struct dk_client *client, const struct dk_request *request,
                            struct dk_stream **ret_stream, struct nacre_error *err)
{
    NACRE_AUTO(dk_stream_guard) struct dk_stream *stream = calloc(1, sizeof(*stream));
    enum nacre_status status;

    if (!stream)
        return nacre_fail(err, NACRE_ERR_MEMORY, "out of memory");
    status = dk_check_time(request, err);
    if (status == NACRE_OK)
        status = dk_wire_open(client, request->doing, request->wait,
                              &stream->wire, err);
    if (status != NACRE_OK)
        return status;
    status = hand_over(client, request, stream, err);
    if (status == NACRE_OK)
        *ret_stream = dk_stream_take(&stream);
    return status;
}

enum nacre_status dk_attach(struct dk_client *client, const char *container,
                            struct nt_wait wait, struct dk_stream **ret_stream,
                            struct nacre_error *err)
{
    char path[320];
    const struct dk_request request = { .doing = "attaching to the container",
                                        .path = path, .wait = wait };
    enum nacre_status status = dk_check_container(container, err);

    if (status != NACRE_OK)
        return status;
    (void)snprintf(path, sizeof(path),
                   "/containers/%s/attach?stream=1&stdin=1&stdout=1&stderr=1", container);
    return dk_hijack(client, &request, ret_stream, err);
}

void dk_stream_free(struct dk_stream *stream)
{
    if (!stream)
        return;
    dk_wire_free(stream->wire);
    free(stream);
}

/* ---- its use ---- */

int dk_stream_fd(const struct dk_stream *stream)
{
    return dk_wire_fd(stream->wire);
}

static ssize_t finish(struct dk_stream *stream, int last_errno)
{
    stream->over = true;
    stream->last_errno = last_errno;
    errno = last_errno;
    return last_errno == 0 ? 0 : -1;
}

ssize_t dk_stream_read_any(struct dk_stream *stream, void *bytes, size_t count,
                           enum dk_output *ret_output)
{
    while (!stream->over) {
        ssize_t got = dk_demux_take(&stream->demux, bytes, count, ret_output);
        unsigned char *room;
        size_t room_bytes;

        if (got > 0)
            return got;
        if (got < 0)
            return finish(stream, EPROTO);
        room = dk_demux_room(&stream->demux, &room_bytes);
        got = dk_wire_recv(stream->wire, room, room_bytes);
        if (got < 0 && errno == EAGAIN)
            return -1;
        if (got < 0)
            return finish(stream, errno);
        if (got == 0)
            return finish(stream, dk_demux_is_between(&stream->demux) ? 0 : EPROTO);
        dk_demux_added(&stream->demux, (size_t)got);
    }
    return finish(stream, stream->last_errno);
}

/* At EAGAIN nothing may be left that poll() does not see: the demultiplexer is emptied
 * first, and a receive has the room for a whole TLS record. */
ssize_t dk_stream_read(struct dk_stream *stream, void *bytes, size_t count)
{
    size_t dropped = 0;

    while (dropped < DROPPED_MAX || dk_demux_is_ready(&stream->demux)) {
        enum dk_output output = DK_OUTPUT_NONE;
        ssize_t got = dk_stream_read_any(stream, bytes, count, &output);
        size_t room = DK_STDERR_KEPT - stream->stderr_count;

        if (got <= 0 || output == DK_OUTPUT_STDOUT)
            return got;
        room = room < (size_t)got ? room : (size_t)got;
        memcpy(stream->stderr_kept + stream->stderr_count, bytes, room);
        stream->stderr_count += room;
        dropped += (size_t)got;
    }
    errno = EAGAIN;
    return -1;
}

const char *dk_stream_stderr(const struct dk_stream *stream, size_t *ret_count)
{
    *ret_count = stream->stderr_count;
    return stream->stderr_kept;
}

ssize_t dk_stream_write(struct dk_stream *stream, const void *bytes, size_t count)
{
    return count == 0 ? 0 : dk_wire_send(stream->wire, bytes, count);
}

enum nacre_status dk_stream_end_input(struct dk_stream *stream, struct nacre_error *err)
{
    return dk_wire_end(stream->wire, err);
}
