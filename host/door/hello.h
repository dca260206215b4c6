#ifndef DOOR_HELLO_H
#define DOOR_HELLO_H

#include <stddef.h>
#include <stdint.h>

/*
 * The first thing a TLS client says, read for the name that it wants.  Pure.
 *
 * An encrypted client hello is refused whatever is in it, because it names one host to us
 * and may name another to the server.  So are the empty ones that browsers send to keep
 * the real ones company (GREASE): from outside they look the same.  curl, git, Python and
 * Node send none.
 */
#define DOOR_HELLO_MESSAGE_MAX ((size_t)16 << 10)
#define DOOR_HELLO_BYTES_MAX ((size_t)24 << 10) /* with the records' headers */

enum door_hello_is {
    DOOR_HELLO_MORE,      /* what came is the beginning of one */
    DOOR_HELLO_WHOLE,     /* `name` is what it asks for */
    DOOR_HELLO_NOT_TLS,
    DOOR_HELLO_BAD,       /* TLS, but nothing that a client should send */
    DOOR_HELLO_TOO_BIG,
    DOOR_HELLO_NO_NAME,   /* no server_name */
    DOOR_HELLO_ENCRYPTED, /* with encrypted_client_hello; `name` is the outer one or "" */
};

struct door_hello {
    char name[256]; /* as it came: letters, digits, dots, hyphens and underscores */
};

/* `bytes` are all that came so far.  `ret_hello` is written for WHOLE and ENCRYPTED. */
enum door_hello_is door_hello_read(const uint8_t *bytes, size_t count,
                                   struct door_hello *ret_hello);

#endif
