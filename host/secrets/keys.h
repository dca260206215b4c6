#ifndef NACRE_SECRETS_KEYS_H
#define NACRE_SECRETS_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#include "nacre/error.h"
#include "nacre/key.h"

/*
 * Where the vault's key comes from: 64 hex digits in $NACRE_VAULT_KEY; else the key of
 * the kernel's keyring that $NACRE_VAULT_KEYRING names; else a file of the key directory,
 * made at first use.
 *
 * While a vault is given a new key there are two: which of them it is sealed with, the
 * vault itself says.  The second is $NACRE_VAULT_KEY_NEXT, the key NAME.next, or a second
 * file; only the file is made and put in the first one's place here, the others are their
 * owner's.
 */
enum key_source { KEY_SOURCE_FILE, KEY_SOURCE_KEYRING, KEY_SOURCE_ENVIRONMENT };

struct vault_keys { /* in locked memory */
    uint8_t bytes[2][NACRE_KEY_BYTES]; /* the one in use, the next one */
    bool there[2];
    enum key_source source;
};

struct key_place {
    const char *dir; /* of key files */
    int dir_fd;
    char name[64], next[64];
};

/* Makes none.  A file that is missing is not `there`; a key of the keyring must be. */
NACRE_MUST_CHECK enum nacre_status keys_load(const struct key_place *place,
                                             struct vault_keys *ret_keys,
                                             struct nacre_error *err);
/* The one in use (0) or the next one (1), if it is not there. */
NACRE_MUST_CHECK enum nacre_status keys_make(const struct key_place *place,
                                             struct vault_keys *keys, int which,
                                             struct nacre_error *err);
/* The next one is the one in use from here on. */
NACRE_MUST_CHECK enum nacre_status keys_promote(const struct key_place *place,
                                                struct vault_keys *keys,
                                                struct nacre_error *err);
/* Removes a next one that never came into use. */
NACRE_MUST_CHECK enum nacre_status keys_drop_next(const struct key_place *place,
                                                  struct vault_keys *keys,
                                                  struct nacre_error *err);

#endif
