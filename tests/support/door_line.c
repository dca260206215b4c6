#include "door_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "nacre/door_wire.h"

#define READ_BYTES 100000

static _Noreturn void die(const char *what)
{
    (void)fprintf(stderr, "the door's line: %s\n", what);
    exit(2);
}

static void send_all(int fd, const void *bytes, size_t count)
{
    const char *at = bytes;

    while (count > 0) {
        ssize_t sent = send(fd, at, count, MSG_NOSIGNAL);

        if (sent <= 0)
            die("it is cut");
        at += sent;
        count -= (size_t)sent;
    }
}

static char *receive(int fd, struct nacre_door_message *message)
{
    char *bytes;

    if (recv(fd, message, sizeof(*message), MSG_WAITALL) != sizeof(*message))
        die("it is cut");
    bytes = calloc(1, (size_t)message->size + 1);
    if (!bytes || (message->size > 0 &&
                   recv(fd, bytes, message->size, MSG_WAITALL) != (ssize_t)message->size))
        die("it is cut in a message");
    return bytes;
}

static void ask(int fd, const struct door_line_request *request)
{
    struct nacre_door_ask sizes = { (uint32_t)strlen(request->method),
                                    (uint32_t)strlen(request->url),
                                    (uint32_t)request->headers_size,
                                    (uint32_t)request->body_size };
    struct nacre_door_message message = { .what = NACRE_DOOR_ASK };

    message.size = (uint32_t)sizeof(sizes) + sizes.method_size + sizes.url_size +
                   sizes.headers_size + sizes.body_size;
    send_all(fd, &message, sizeof(message));
    send_all(fd, &sizes, sizeof(sizes));
    send_all(fd, request->method, sizes.method_size);
    send_all(fd, request->url, sizes.url_size);
    send_all(fd, request->headers, request->headers_size);
    send_all(fd, request->body, request->body_size);
}

static void read_body(int fd, uint32_t handle, struct door_line_answer *answer)
{
    for (;;) {
        struct nacre_door_message message = { .what = NACRE_DOOR_READ, .handle = handle,
                                              .number = READ_BYTES };
        struct nacre_error err;
        char *bytes;

        send_all(fd, &message, sizeof(message));
        bytes = receive(fd, &message);
        answer->code = message.code;
        if (message.code != NACRE_HTTP_OK) {
            free(answer->text);
            answer->text = bytes;
            return;
        }
        if (message.size > 0 &&
            nacre_buf_add(&answer->body, bytes, message.size, &err) != NACRE_OK)
            die(err.text);
        free(bytes);
        if (message.size == 0)
            return;
    }
}

void door_line_ask(int fd, const struct door_line_request *request,
                   struct door_line_answer *answer)
{
    struct nacre_door_message message, close_it = { .what = NACRE_DOOR_CLOSE };

    ask(fd, request);
    answer->text = receive(fd, &message);
    answer->code = message.code;
    answer->status = message.number;
    if (message.code != NACRE_HTTP_OK)
        return;
    close_it.handle = message.handle;
    read_body(fd, message.handle, answer);
    send_all(fd, &close_it, sizeof(close_it));
}
