#ifndef NACRE_EXPLAIN_H
#define NACRE_EXPLAIN_H

#include "nacre/plan.h"

/*
 * A single question to a policy.  Pure, like planning.  The answer names the line
 * that decided and the smallest change of the policy that would flip it.
 */
struct nacre_answer {
    bool allowed;
    bool is_path;              /* then `allowed` is `read`, and both of these hold */
    bool read, write;
    char rule[64];
    struct nacre_place place;
    char text[512];
    char fix[512];
};

/* `path` is a guest path. */
NACRE_MUST_CHECK enum nacre_status nacre_explain_path(const struct nacre_policy *policy,
                                                      const struct nacre_request *request,
                                                      const char *path,
                                                      struct nacre_answer *ret_answer,
                                                      struct nacre_error *err);
/* `host` is NAME or NAME:PORT. */
NACRE_MUST_CHECK enum nacre_status nacre_explain_host(const struct nacre_policy *policy,
                                                      const char *host,
                                                      struct nacre_answer *ret_answer,
                                                      struct nacre_error *err);
NACRE_MUST_CHECK enum nacre_status nacre_explain_command(const struct nacre_policy *policy,
                                                         const char *command,
                                                         struct nacre_answer *ret_answer,
                                                         struct nacre_error *err);

#endif
