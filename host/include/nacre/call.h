#ifndef NACRE_CALL_H
#define NACRE_CALL_H

#include "nacre/approval.h"
#include "nacre/manifest.h"
#include "nacre/nacre.h"
#include "nacre/session.h"

/*
 * The door that an agent calls tools by: name and arguments in, one JSON object out.
 *
 *   name → tool policy → manifest → schema → approval → level → nacre_run() → result
 *
 * A tool at level wasm gets its arguments as one JSON object on stdin and answers with
 * one on stdout, as MCP spells it:
 *
 *     {"content": [{"type": "text", "text": "…"}], "structuredContent": {…},
 *      "isError": false}
 *
 * and exits with 0, or with "isError": true for what the model should mend.  Output that
 * is no such object, a trap, a limit: the call answers with isError and says so.  To all
 * of them the call adds
 *
 *     "_meta": {"nacre": {"tool", "version", "level", "why", "outcome", "run_id",
 *               "fuel", "wall_ms", "denials": [{code, rule, place, text, fix}],
 *               "unsandboxed", "degraded"}}
 */

struct nacre_call {
    const char *tool;      /* as the agent wrote it */
    const char *arguments; /* a JSON object */
    size_t argument_bytes;
    const struct nacre_session *session; /* its turn is taken for each call; NULL: no
                                            configuration; then: */
    const char *policy;    /* a reference; NULL: the manifest's sandbox_ref */
    bool elevated;         /* exec outside the sandbox, where the gates are open */
    const char *approval;  /* a token given in advance, or NULL */
    /* What the session does not say, and what every level has (workspace, mounts, waive,
     * secrets, session, agent, scope, caller, cancelled); borrowed. */
    struct nacre_request request;
};

#define NACRE_CALL_ARGUMENT_BYTES_MAX ((size_t)16 << 20)
#define NACRE_CALL_RESULT_BYTES_MAX ((size_t)16 << 20)

/*
 * *ret_answer is the object above, for refusals too: a call that a policy, a schema or a
 * person denies is NACRE_OK with isError.  Anything else is the host's failure.  The
 * caller owns it: json_decref().  From several threads.
 */
struct json_t;
NACRE_MUST_CHECK enum nacre_status nacre_call(struct nacre_engine *engine,
                                              const struct nacre_call *call,
                                              struct json_t **ret_answer,
                                              struct nacre_error *err);

/* A token for one call like this, before it is made: nacre_call.approval takes it.  For
 * the operator; a command that nacre runs gets none. */
NACRE_MUST_CHECK enum nacre_status nacre_call_approve(struct nacre_engine *engine,
                                                      const struct nacre_call *call,
                                                      uint64_t ttl_ms,
                                                      char ret_token[NACRE_APPROVAL_TOKEN],
                                                      struct nacre_error *err);

/*
 * A person's word for one run, by whichever door it comes: nacre_call() asks for it
 * itself, and so does who runs a session's commands without it.  `ask` is what they see
 * and what their word is bound to; its reason is the caller's own ("manifest"), or NULL
 * and set here.  Nobody is asked, and the verdict is NONE, where no reason is: the level
 * has walls, or the file itself says that there are none, and host.yaml does not mark the
 * tool.  NACRE_ERR_DENIED: no yes; *ret_approval has the rest.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_call_consent(struct nacre_engine *engine, const struct nacre_session *session,
                   const struct nacre_policy *policy, const struct nacre_request *request,
                   struct nacre_approval_ask *ask, struct nacre_approval *ret_approval,
                   struct nacre_error *err);

/* Which level would it run at, and why; or what does its policy refuse it, on paper or,
 * without a session, on this machine?  And would it need an intent (`allowed`: not)?
 * Runs nothing. */
NACRE_MUST_CHECK enum nacre_status nacre_call_explain(struct nacre_engine *engine,
                                                      const struct nacre_call *call,
                                                      enum nacre_level *ret_level,
                                                      struct nacre_answer *ret_answer,
                                                      struct nacre_answer *ret_intent,
                                                      struct nacre_error *err);

#endif
