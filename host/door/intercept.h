#ifndef DOOR_INTERCEPT_H
#define DOOR_INTERCEPT_H

#include "nacre/error.h"
#include "stream.h"

/*
 * The server's end of a TLS connection that is ended here, with a certificate of the
 * sandbox's own CA.  HTTP/1.1 alone is offered.
 */
struct door_ca;

/* From now on the stream's bytes are those inside.  `stream->early` holds what was read
 * already, the client's hello first.  Nothing has changed when it fails. */
NACRE_MUST_CHECK enum nacre_status door_tls_start(struct door_stream *stream,
                                                  struct door_ca *ca, const char *name,
                                                  struct nacre_error *err);
enum door_io door_tls_read(struct door_stream *stream, void *bytes, size_t count,
                           size_t *ret_count);
enum door_io door_tls_write(struct door_stream *stream, const void *bytes, size_t count,
                            size_t *ret_count);
void door_tls_shut(struct door_stream *stream);
void door_tls_free(struct door_stream *stream);

#endif
