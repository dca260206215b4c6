#ifndef NACRE_TEST_DIALS_H
#define NACRE_TEST_DIALS_H

/* Somebody who dials into a sandbox (nacre_request.dial_fd).  After <cmocka.h>. */

#include <sys/socket.h>
#include <unistd.h>

#include "pass.h"

/* Our end of a connection to `port`; `socket` is the other end of dial_fd. */
static inline int dials_open(int socket, uint16_t port)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_true(pass_send(socket, &port, sizeof(port), &pair[1], 1));
    (void)close(pair[1]);
    return pair[0];
}

#endif
