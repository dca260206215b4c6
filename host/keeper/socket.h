#ifndef NACRE_KEEPER_SOCKET_H
#define NACRE_KEEPER_SOCKET_H

#include <stdbool.h>

#include "nacre/error.h"

/*
 * Where client and keeper meet: STATE_DIR/keeper.sock, 0600 in a directory that only its
 * user can write.  The directory's path may be longer than a socket's address can be.
 */

#define KEEPER_VERSION 64

/*
 * Connected, of our user, and welcomed: *ret_version is what the keeper says it is.
 * NACRE_ERR_NOT_FOUND: nobody listens there, or whoever did was on its way out and has
 * read nothing from us.
 */
NACRE_MUST_CHECK enum nacre_status keeper_connect(const char *state_dir,
                                                  char ret_version[KEEPER_VERSION],
                                                  int *ret_socket,
                                                  struct nacre_error *err);

/* Does `version` say that it is made of the same as we are? */
bool keeper_is_same(const char *version);
extern const char keeper_own_version[];

/* The right to be the keeper, kept as long as the fd.  One that is just leaving is waited
 * for.  NACRE_ERR_USAGE: another has it. */
NACRE_MUST_CHECK enum nacre_status keeper_lock(const char *state_dir, int *ret_lock,
                                               struct nacre_error *err);

/* Until whoever was the keeper has let go of the lock. */
NACRE_MUST_CHECK enum nacre_status keeper_await_end(const char *state_dir,
                                                    struct nacre_error *err);

/* Only with the lock: whatever lies there is of a keeper that is gone. */
NACRE_MUST_CHECK enum nacre_status keeper_listen(const char *state_dir, int *ret_socket,
                                                 struct nacre_error *err);
void keeper_unlisten(const char *state_dir);

#endif
