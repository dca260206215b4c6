#ifndef BROWSER_ANSWER_H
#define BROWSER_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The head of an HTTP/1 response that comes from the sandbox, read strictly.  Pure. */
#define ANSWER_HEAD_BYTES_MAX ((size_t)16 << 10)

struct answer {
    int status;
    bool has_length, is_chunked;
    uint64_t length;
    char type[96];        /* Content-Type; "" where it is none that can be passed on */
    char accept[32];      /* Sec-WebSocket-Accept */
    char extensions[256], protocol[64];
};

enum answer_is {
    ANSWER_MORE,
    ANSWER_WHOLE,
    ANSWER_BAD,
};

/* `bytes` are all that came so far; `ret_used` is how long the head is. */
enum answer_is answer_read(const char *bytes, size_t count, struct answer *ret_answer,
                           size_t *ret_used);

#endif
