#ifndef DK_WIRE_H
#define DK_WIRE_H

#include "dk_client.h"

/*
 * A connection that libcurl has made and that carries no more HTTP of its own.  One
 * thread may receive while another sends.
 */
struct dk_wire;

NACRE_MUST_CHECK enum nacre_status dk_wire_open(const struct dk_client *client,
                                                const char *doing, struct nt_wait wait,
                                                struct dk_wire **ret_wire,
                                                struct nacre_error *err);
void dk_wire_free(struct dk_wire *wire);
NACRE_OWNED(dk_wire)

int dk_wire_fd(const struct dk_wire *wire);

/* As recv() and send() on a non-blocking socket.  After EAGAIN a send has to come with
 * the same bytes again, from wherever they are now and with more behind them or not: the
 * TLS library may have encrypted them. */
ssize_t dk_wire_recv(struct dk_wire *wire, void *bytes, size_t count);
ssize_t dk_wire_send(struct dk_wire *wire, const void *bytes, size_t count);

NACRE_MUST_CHECK enum nacre_status dk_wire_end(struct dk_wire *wire,
                                               struct nacre_error *err);

/* Until `events`, or until it is over (NACRE_ERR_TIMEOUT). */
NACRE_MUST_CHECK enum nacre_status dk_wire_wait(const struct dk_wire *wire, short events,
                                                struct nt_wait wait,
                                                struct nacre_error *err);

#endif
