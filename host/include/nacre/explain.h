#ifndef NACRE_EXPLAIN_H
#define NACRE_EXPLAIN_H

#include "nacre/answer.h"
#include "nacre/plan.h"

/* Single questions to a policy.  Pure, like planning. */

/* `path` is a guest path.  `is_file`: the caller has seen a file there on the host, which
 * can't be a mount; the directory around it is proposed then. */
NACRE_MUST_CHECK enum nacre_status nacre_explain_path(const struct nacre_policy *policy,
                                                      const struct nacre_request *request,
                                                      const char *path, bool is_file,
                                                      struct nacre_answer *ret_answer,
                                                      struct nacre_error *err);
/* `host` is HOST, HOST:PORT (443 where none is said; that port 80 is judged otherwise is
 * in the text) or a URL; judged by the door's own judge, before any lookup.  Only a URL says what is called: of TLS by a native tool to a
 * host that is reached by upgrade it is known then that it is denied. */
NACRE_MUST_CHECK enum nacre_status nacre_explain_host(const struct nacre_policy *policy,
                                                      const struct nacre_request *request,
                                                      const char *host,
                                                      struct nacre_answer *ret_answer,
                                                      struct nacre_error *err);
/* A request that the door refused for what a question by name can't know: the address
 * that a name led to, or TLS of the tool's own.  False: it was for something else. */
bool nacre_explain_denial(const struct nacre_policy *policy,
                          const struct nacre_denial *denial,
                          struct nacre_answer *ret_answer);
/* The limit that ended a run, or that it met and went on: its line in the policy or the
 * option of the call, and what to do.  `timeout_ms` and `fuel` are what the caller asked
 * for; 0: nothing.  False: no limit had to do with it. */
bool nacre_explain_limit(const struct nacre_policy *policy,
                         const struct nacre_result *result, uint64_t timeout_ms,
                         uint64_t fuel, struct nacre_denial *ret_limit);
NACRE_MUST_CHECK enum nacre_status nacre_explain_command(const struct nacre_policy *policy,
                                                         const char *command,
                                                         struct nacre_answer *ret_answer,
                                                         struct nacre_error *err);

/* Does a run under this policy need an intent, and which line says so?  `allowed`: not. */
void nacre_explain_intent(const struct nacre_policy *policy,
                          struct nacre_answer *ret_answer);

#endif
