#ifndef NACRE_KEEPER_PRIVATE_H
#define NACRE_KEEPER_PRIVATE_H

#include "nacre/buf.h"
#include "nacre/own.h"
#include "nacre/plan.h"
#include "nacre/secrets.h"

/*
 * What of a request is for the keeper's eyes alone: variables, files and secrets.  It
 * goes as a message of its own, ahead of the run, and not as JSON, whose reader leaves
 * copies that nobody can wipe.  Integers are little-endian; a text ends with a zero byte, which
 * is counted.
 */
struct keeper_private;

/* False: there is nothing of the kind, and no message is due. */
bool keeper_private_is_needed(const struct nacre_request *request);

/* The message, to be wiped and freed by keeper_private_wipe(). */
NACRE_MUST_CHECK enum nacre_status
keeper_private_write(const struct nacre_request *request, unsigned char **ret_bytes,
                     size_t *ret_count, struct nacre_error *err);
void keeper_private_wipe(unsigned char *bytes, size_t count); /* accepts NULL */

/* What a message says, in memory that is locked as far as that is permitted. */
NACRE_MUST_CHECK enum nacre_status
keeper_private_read(const void *bytes, size_t count, struct keeper_private **ret_private,
                    struct nacre_error *err);
/* Puts it into a request, which borrows it. */
void keeper_private_lend(const struct keeper_private *private,
                         struct nacre_request *request);
void keeper_private_free(struct keeper_private *private); /* wipes; accepts NULL */
NACRE_OWNED(keeper_private)

#endif
