#ifndef DK_ENDPOINT_H
#define DK_ENDPOINT_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "dk_api.h"

/*
 * "unix:///path" or "tcp://host[:port]", as `origin` has it.  `certificates` is the
 * directory with ca.pem, cert.pem and key.pem; NULL: TCP is plain.
 */
NACRE_MUST_CHECK enum nacre_status dk_endpoint_parse(const char *text, const char *origin,
                                                     const char *certificates,
                                                     struct dk_endpoint *ret_endpoint,
                                                     struct nacre_error *err);

/* The context that is chosen, in the files that the docker program keeps below `config`;
 * *ret_found tells whether one is. */
NACRE_MUST_CHECK enum nacre_status dk_context_find(const char *config, const char *chosen,
                                                   bool *ret_found,
                                                   struct dk_endpoint *ret_endpoint,
                                                   struct nacre_error *err);

/* Does a packet to this address stay on this machine? */
bool dk_address_is_loopback(const struct sockaddr *address);

#endif
