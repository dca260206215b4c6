#ifndef NACRE_CLI_SESSION_H
#define NACRE_CLI_SESSION_H

#include "args.h"
#include "nacre/approval.h"
#include "nacre/call.h"
#include "nacre/sessions.h"

/* A configuration as the verbs use it: read, settled for one session, and held. */
struct cli_session {
    struct nacre_config *config;
    struct nacre_session *session;
    struct nacre_session_hold *hold;
};
void cli_session_clear(struct cli_session *session);

/* Reads and settles.  Any of the last three may be not given. */
NACRE_MUST_CHECK enum nacre_status
cli_session_settle(struct cli_session *session, const char *config,
                   const struct cli_value *key, const struct cli_value *agent,
                   const struct cli_value *sender, struct nacre_error *err);

/* May the tool be called?  NACRE_ERR_DENIED: its error has the line and the change that
 * would flip it. */
NACRE_MUST_CHECK enum nacre_status cli_session_allow(const struct cli_session *session,
                                                     const char *tool,
                                                     struct nacre_error *err);

/* Is an elevated exec let through?  NACRE_ERR_DENIED names the gates that are shut. */
NACRE_MUST_CHECK enum nacre_status cli_session_elevate(const struct cli_session *session,
                                                       struct nacre_error *err);

/* A person's word for a run of `tool`, which the session calls `name`, as
 * nacre_call_consent() asks for it; before the request is the session's. */
NACRE_MUST_CHECK enum nacre_status
cli_session_approve(const struct cli_session *session, struct nacre_engine *engine,
                    const struct nacre_policy *policy, const struct nacre_tool *tool,
                    const char *name, const struct nacre_request *request,
                    const char *token, struct nacre_approval *ret_approval,
                    struct nacre_error *err);

/* The word that was given for such a run, as a token for the process that makes it: it
 * asks as well, or whoever starts it by hand would need no word. */
NACRE_MUST_CHECK enum nacre_status
cli_session_hand_on(const struct cli_session *session, struct nacre_engine *engine,
                    const struct nacre_tool *tool, const char *name,
                    const struct nacre_request *request,
                    char ret_token[NACRE_APPROVAL_TOKEN], struct nacre_error *err);

/* The policy of a run: borrowed from the session. */
const struct nacre_policy *cli_session_policy(const struct cli_session *session,
                                              bool is_module, bool elevated);

#define CLI_OPTION_CONFIG                                                        \
    { "--config", .kind = CLI_TEXT, .value = "FILE", .offer = CLI_OFFER_FILES,   \
      .help = "OpenClaw's, Clawdis's, config.yml or Clawpy's: it decides" }
#define CLI_OPTION_SENDER                                                        \
    { "--sender", .kind = CLI_TEXT, .value = "PROVIDER:ID",                      \
      .help = "who is behind the call, for --elevated" }

#endif
