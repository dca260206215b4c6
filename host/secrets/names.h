#ifndef NACRE_SECRETS_NAMES_H
#define NACRE_SECRETS_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "nacre/secrets.h"

/* The words that people write: names of secrets, of variables, of who may use them. */

#define SCOPE_BYTES_MAX 256

bool secret_name_is_valid(const char *name);
bool secret_scope_is_valid(const char *scope);

/* NACRE_ERR_USAGE says what is expected. */
NACRE_MUST_CHECK enum nacre_status secret_name_check(const char *name,
                                                     struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status secret_grant_check(const char *grant,
                                                      struct nacre_error *err);

/* "NAME" or "NAME=VARIABLE".  Without one, the name in capitals with '_' for what a
 * variable's name can't hold: github-token is GITHUB_TOKEN. */
#define SECRET_VARIABLE (NACRE_SECRET_NAME_MAX + 2)
struct secret_wish {
    char name[NACRE_SECRET_NAME_MAX + 2];
    char variable[SECRET_VARIABLE];
};
NACRE_MUST_CHECK enum nacre_status secret_wish_read(const char *text,
                                                    struct secret_wish *ret_wish,
                                                    struct nacre_error *err);

/* Is it that session's or that agent's?  A run's is nobody else's. */
bool secret_scope_means(const char *scope, const char *session, const char *agent);

/* Does one of the grants mean this asker? */
bool secret_is_granted(char *const *grants, const struct nacre_secret_asker *asker);

#endif
