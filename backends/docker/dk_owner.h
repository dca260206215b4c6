#ifndef DK_OWNER_H
#define DK_OWNER_H

#include "dk_api.h"

/*
 * Whose containers they are.  An owner holds a lock on a file of its own for as long as
 * its process lives, and each of its containers carries the file's name: so that what a
 * dead owner left can be told from what a live one uses, without a guess about pids.
 * A name is never used twice, and so who is dead stays dead.
 */
struct dk_owner;

#define DK_OWNER_LABEL "nacre.owner" /* whose user's: a uid */
#define DK_TOKEN_LABEL "nacre.keeper"
#define DK_SCOPE_LABEL "nacre.scope"
#define DK_TOKEN 34 /* "0123456789abcdef-0123456789abcdef": state directory, owner */
#define DK_NAME 64

/* Below `state_dir`, which is made when it is not there. */
NACRE_MUST_CHECK enum nacre_status dk_owner_open(const char *state_dir,
                                                 struct dk_owner **ret_owner,
                                                 struct nacre_error *err);
void dk_owner_free(struct dk_owner *owner); /* its containers are gone; accepts NULL */
NACRE_OWNED(dk_owner)

const char *dk_owner_token(const struct dk_owner *owner);
int dk_owner_dir(const struct dk_owner *owner); /* of all owners: state_dir/boxes */

/* A container's name that nobody else has.  For any thread. */
void dk_owner_name(struct dk_owner *owner, char ret_name[DK_NAME]);

/*
 * A container of this name is there already.  One that a dead owner of this state
 * directory left, or that is left over from this owner's own sandbox of `scope_key`, is
 * removed: NACRE_OK, try again.  NACRE_ERR_UNAVAILABLE says whose it is else; that one is
 * not touched.
 */
NACRE_MUST_CHECK enum nacre_status dk_owner_clear_name(const struct dk_owner *owner,
                                                       struct dk_client *client,
                                                       const char *name,
                                                       const char *scope_key,
                                                       struct nt_wait wait,
                                                       struct nacre_error *err);

/* Is the owner of this name one of this state directory, and dead, or alive?  Of another
 * directory's owners nothing is known: neither.  `dir_fd` is dk_owner_dir(). */
bool dk_owner_is_dead(int dir_fd, const char *token);
bool dk_owner_lives(int dir_fd, const char *token);

/* Is there an owner of this directory that lives, other than `but` ("": any)? */
bool dk_owner_any_lives(int dir_fd, const char *but);

/*
 * Removes the containers that dead owners left: created and never started, or in an
 * engine that was gone when they should have ended.  Never a live owner's.  What fails
 * is left for the next time.
 */
void dk_owner_sweep(const struct dk_owner *owner, struct dk_client *client,
                    struct nt_wait wait);

#endif
