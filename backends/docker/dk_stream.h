#ifndef DK_STREAM_H
#define DK_STREAM_H

#include "dk_client.h"

/*
 * POST `request` on a connection of its own and take that over: the engine has to answer
 * 101, after which the bytes are the container's.  `body` of the request is JSON or NULL.
 */
NACRE_MUST_CHECK enum nacre_status dk_hijack(struct dk_client *client,
                                             const struct dk_request *request,
                                             struct dk_stream **ret_stream,
                                             struct nacre_error *err);

#endif
