#ifndef DOOR_CA_H
#define DOOR_CA_H

#include "door.h"

struct ssl_ctx_st;

/* What serves TLS in the name of `name`: its own certificate, made at the first use.  The
 * CA owns it. */
NACRE_MUST_CHECK enum nacre_status door_ca_context(struct door_ca *ca, const char *name,
                                                   struct ssl_ctx_st **ret_context,
                                                   struct nacre_error *err);

#endif
