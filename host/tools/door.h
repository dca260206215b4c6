#ifndef NACRE_TOOLS_DOOR_H
#define NACRE_TOOLS_DOOR_H

#include <jansson.h>

#include "cache.h"
#include "nacre/approval.h"
#include "nacre/call.h"
#include "nacre/sessions.h"

/* One call on its way through the door. */
struct tools_call {
    struct nacre_engine *engine;
    const struct nacre_call *asked;
    char name[NACRE_TOOL_NAME]; /* canonical; "" when it is none */
    struct tools_entry *entry;  /* held; NULL until it is found */
    struct tools_policy *held;  /* a policy that was loaded for this call; or NULL */
    const struct nacre_policy *policy; /* NULL until the level is chosen */
    struct nacre_session_hold *hold; /* the session's turn; NULL until it is taken */
    json_t *arguments;          /* owned; NULL until they are read */
    struct nacre_request request; /* the caller's, with what the session says */
    char why[320];              /* why at this level */
    char approver[64];          /* whose word it has; "": nobody was asked */
};

void tools_call_clear(struct tools_call *call);

/* ---- level.c: which policy, and so which level ---- */

/* Fills policy, request and why.  NACRE_ERR_DENIED: *ret_denial says why not. */
NACRE_MUST_CHECK enum nacre_status tools_choose(struct tools_call *call,
                                                struct nacre_denial *ret_denial,
                                                struct nacre_error *err);

/* Takes the session's turn for `tool`, if there is a session, and makes the request its
 * own.  NACRE_ERR_DENIED: *ret_denial says why not. */
NACRE_MUST_CHECK enum nacre_status tools_enter(struct tools_call *call,
                                               const struct nacre_tool *tool,
                                               struct nacre_denial *ret_denial,
                                               struct nacre_error *err);

/* ---- call.c: from the door to a run ---- */

/* Runs `tool` with the call's request, in the session's turn.  Where the turn can't be had
 * there is no *ret_result but the *ret_answer that says so. */
NACRE_MUST_CHECK enum nacre_status tools_run(struct tools_call *call,
                                             const struct nacre_tool *tool,
                                             struct nacre_result **ret_result,
                                             json_t **ret_answer,
                                             struct nacre_error *err);

/* ---- process.c ---- */

/* A command in the background is one that exec would run; so is what is typed to it. */
bool tools_is_command(const struct tools_call *call);

/* ---- approve.c: a person's word ---- */

/* NACRE_OK: nobody had to be asked, or it was approved.  NACRE_ERR_DENIED: see
 * *ret_denial. */
NACRE_MUST_CHECK enum nacre_status tools_approve(struct tools_call *call,
                                                 struct nacre_denial *ret_denial,
                                                 struct nacre_error *err);

/* A token for this call, before it is made. */
NACRE_MUST_CHECK enum nacre_status
tools_issue_approval(const struct tools_call *call, uint64_t ttl_ms,
                     char ret_token[NACRE_APPROVAL_TOKEN], struct nacre_error *err);

/* ---- answer.c: the answer as a value ---- */

/* Bytes of any origin as text of JSON; what is no UTF-8 and no printable is escaped, line
 * ends and tabs stay.  NULL: out of memory. */
json_t *tools_text(const char *bytes, size_t count);

/* An answer with one text; takes `text` and `structured` (may be NULL). */
NACRE_MUST_CHECK enum nacre_status tools_answer(bool is_error, json_t *text,
                                                json_t *structured, json_t **ret_answer,
                                                struct nacre_error *err);

/* Adds _meta; `result` is NULL for what never ran, then `outcome` is told, and `denial`
 * (or NULL) alone.  Takes and frees *answer on failure. */
NACRE_MUST_CHECK enum nacre_status tools_add_meta(const struct tools_call *call,
                                                  const struct nacre_result *result,
                                                  const char *outcome,
                                                  const struct nacre_denial *denial,
                                                  json_t **answer,
                                                  struct nacre_error *err);

/* ---- reply.c: from a run to an answer ---- */

/* Of a tool at level wasm: its own answer where it is one, else what went wrong. */
NACRE_MUST_CHECK enum nacre_status tools_reply(const struct tools_call *call,
                                               const struct nacre_result *result,
                                               json_t **ret_answer,
                                               struct nacre_error *err);

/* The limit that ended a run or held it back, with its line; false: none did. */
bool tools_limit(const struct tools_call *call, const struct nacre_result *result,
                 struct nacre_denial *ret_limit);

/* What a run that did not end by itself came to, for a model.  `name` is the tool's. */
void tools_say_outcome(const struct tools_call *call, const struct nacre_result *result,
                       char *ret_text, size_t size);

/* A sealed file in memory that holds `bytes`, read from its beginning. */
NACRE_MUST_CHECK enum nacre_status tools_input(const char *bytes, size_t count,
                                               int *ret_fd, struct nacre_error *err);

#endif
