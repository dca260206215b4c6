/* Trusts nothing of what goes in: it comes from the sandbox.  A chunk's extensions and
 * trailers are refused: nothing we serve needs them, and requests have been hidden in
 * how two readers take them. */
#include "head.h"

#include <string.h>

enum chunk_state {
    CHUNK_SIZE,     /* its hex digits */
    CHUNK_SIZE_LF,
    CHUNK_DATA,
    CHUNK_DATA_CR,
    CHUNK_DATA_LF,
    CHUNK_LAST_CR,  /* after the one of size 0 */
    CHUNK_LAST_LF,
    CHUNK_END,
};
#define CHUNK_DIGITS_MAX 8

void door_body_init(struct door_body *body, const struct door_head *head)
{
    *body = (struct door_body){ .is_chunked = head->is_chunked,
                                .left = head->body_bytes,
                                .state = CHUNK_SIZE };
}

/* As much as there is of what is left; DOOR_BODY_WHOLE when that was the last of it. */
static enum door_body_is take_data(struct door_body *body, const char *bytes,
                                   size_t count, struct nacre_buf *out, size_t *taken)
{
    size_t some = body->left < count ? (size_t)body->left : count;
    struct nacre_error err;

    if (body->left > out->size_max - out->size ||
        (some > 0 && nacre_buf_add(out, bytes, some, &err) != NACRE_OK))
        return DOOR_BODY_TOO_BIG;
    body->left -= some;
    *taken += some;
    return body->left == 0 ? DOOR_BODY_WHOLE : DOOR_BODY_MORE;
}

static bool take_digit(struct door_body *body, char byte)
{
    uint32_t digit;

    if (byte >= '0' && byte <= '9')
        digit = (uint32_t)(byte - '0');
    else if (byte >= 'a' && byte <= 'f')
        digit = (uint32_t)(byte - 'a') + 10;
    else if (byte >= 'A' && byte <= 'F')
        digit = (uint32_t)(byte - 'A') + 10;
    else
        return false;
    if (body->digits == CHUNK_DIGITS_MAX)
        return false;
    body->digits++;
    body->left = body->left << 4 | digit;
    return true;
}

/* One byte of what is around the chunks. */
static bool take_framing(struct door_body *body, char byte)
{
    switch ((enum chunk_state)body->state) {
    case CHUNK_SIZE:
        if (byte == '\r' && body->digits > 0)
            body->state = CHUNK_SIZE_LF;
        else
            return take_digit(body, byte);
        return true;
    case CHUNK_SIZE_LF:
        body->state = body->left > 0 ? CHUNK_DATA : CHUNK_LAST_CR;
        return byte == '\n';
    case CHUNK_DATA_CR:
        body->state = CHUNK_DATA_LF;
        return byte == '\r';
    case CHUNK_DATA_LF:
        body->state = CHUNK_SIZE;
        body->digits = 0;
        return byte == '\n';
    case CHUNK_LAST_CR:
        body->state = CHUNK_LAST_LF;
        return byte == '\r';
    case CHUNK_LAST_LF:
        body->state = CHUNK_END;
        return byte == '\n';
    case CHUNK_DATA:
    case CHUNK_END:
        break;
    }
    return false;
}

static enum door_body_is take_chunked(struct door_body *body, const char *bytes,
                                      size_t count, struct nacre_buf *out, size_t *taken)
{
    while (body->state != CHUNK_END) {
        if (body->state != CHUNK_DATA) {
            if (*taken == count)
                return DOOR_BODY_MORE;
            if (!take_framing(body, bytes[*taken]))
                return DOOR_BODY_BAD;
            (*taken)++;
            continue;
        }
        switch (take_data(body, bytes + *taken, count - *taken, out, taken)) {
        case DOOR_BODY_WHOLE:
            body->state = CHUNK_DATA_CR;
            break;
        case DOOR_BODY_MORE:
            return DOOR_BODY_MORE;
        case DOOR_BODY_BAD:
        case DOOR_BODY_TOO_BIG:
            return DOOR_BODY_TOO_BIG;
        }
    }
    return DOOR_BODY_WHOLE;
}

enum door_body_is door_body_take(struct door_body *body, const char *bytes, size_t count,
                                 struct nacre_buf *out, size_t *ret_taken)
{
    *ret_taken = 0;
    if (body->is_chunked)
        return take_chunked(body, bytes, count, out, ret_taken);
    return take_data(body, bytes, count, out, ret_taken);
}
