#ifndef NACRE_CLI_REQUEST_H
#define NACRE_CLI_REQUEST_H

#include "args.h"
#include "nacre/plan.h"

/* What the options that `run` and `explain` share amount to. */
struct cli_request {
    struct nacre_request request; /* points into what follows and into argv */
    struct nacre_mount_request *mounts;
    char **texts; /* owned: each mount's guest and host name; last the workspace */
    size_t text_count;
    const char **waive; /* points into `waive_text` */
    char *waive_text;
};

/* Any of the values may be not given.  Host directories become absolute here: what
 * they are relative to is the caller's shell, of which the library knows nothing.
 * clear() is due after a failure too. */
NACRE_MUST_CHECK enum nacre_status cli_request_make(struct cli_request *request,
                                                    const struct cli_value *workspace,
                                                    const struct cli_value *mounts,
                                                    const struct cli_value *environment,
                                                    struct nacre_error *err);
void cli_request_clear(struct cli_request *request);

/* --waive NAME,NAME, any number of times: adds them to a request that is made, and with
 * --allow-emulation the one that it stands for. */
NACRE_MUST_CHECK enum nacre_status cli_request_waive(struct cli_request *request,
                                                     const struct cli_value *waive,
                                                     const struct cli_value *emulation,
                                                     struct nacre_error *err);

/* --scope */
NACRE_MUST_CHECK enum nacre_status cli_request_scope(struct cli_request *request,
                                                     const struct cli_value *value,
                                                     struct nacre_error *err);

/* What the person said, from a file: into `input`, which is empty, and *ret_text, which
 * stays NULL when it is not given.  `option` is the option's name. */
struct nacre_buf;
NACRE_MUST_CHECK enum nacre_status cli_request_user_input(const struct cli_value *file,
                                                          const char *option,
                                                          struct nacre_buf *input,
                                                          const char **ret_text,
                                                          struct nacre_error *err);

/* The JSON arguments of a tool's call: "{}" when not given, a file's with '@', those on
 * stdin for '-'. */
NACRE_MUST_CHECK enum nacre_status cli_json_args_read(const struct cli_value *value,
                                                      struct nacre_buf *arguments,
                                                      struct nacre_error *err);

/* --secret and --token, any number of times, and how long a token lives; any may be not
 * given. */
void cli_request_secrets(struct cli_request *request, const struct cli_value *secrets,
                         const struct cli_value *tokens,
                         const struct cli_value *token_ms);

/* The rows, so that both verbs speak of them in the same words. */
#define CLI_OPTION_POLICY                                                        \
    { "--policy", .kind = CLI_TEXT, .value = "POLICY",                           \
      .offer = CLI_OFFER_POLICIES,                                               \
      .help = "a file, a name or claw://local/sandbox/NAME (default: deny all)" }
#define CLI_OPTION_WORKSPACE                                                     \
    { "--workspace", .kind = CLI_TEXT, .value = "DIR",                           \
      .offer = CLI_OFFER_DIRECTORIES,                                            \
      .help = "what the guest sees as /workspace (default: a private one)" }
#define CLI_OPTION_IMAGE                                                         \
    {                                                                            \
        "--image", .kind = CLI_TEXT, .value = "IMAGE",                           \
        .help = "of a container (default: the policy's, or nacre-sandbox)"       \
    }
#define CLI_OPTION_SCOPE                                                         \
    {                                                                            \
        "--scope", .kind = CLI_TEXT, .value = "SCOPE",                           \
        .help = "whose warm container and private directories: run, session, "   \
                "agent, shared"                                                  \
    }
#define CLI_OPTION_MOUNT                                                         \
    { "--mount", .kind = CLI_LIST, .value = "GUEST=HOST[:ro|rw]",                \
      .offer = CLI_OFFER_DIRECTORIES,                                            \
      .help = "show directory HOST as GUEST, if the policy covers it" }
#define CLI_OPTION_UNSANDBOXED                                                   \
    { "--unsandboxed", .kind = CLI_FLAG,                                         \
      .help = "agree to level none, if the policy says it: no sandbox at all" }
#define CLI_OPTION_WAIVE                                                         \
    { "--waive", .kind = CLI_LIST, .value = "NAME,...",                          \
      .help = "lines that need not be enforced (memory_mb, cpu_shares, ...)" }
#define CLI_OPTION_EMULATION                                                     \
    { "--allow-emulation", .kind = CLI_FLAG,                                     \
      .help = "level vm without KVM: no security boundary (--waive emulation)" }
#define CLI_OPTION_INTERCEPT                                                     \
    { "--intercept", .kind = CLI_LIST, .value = "HOST",                          \
      .help = "let the door look into this host's TLS, by a CA of the sandbox's" }
#define CLI_OPTION_JSON_ARGS                                                     \
    { "--json-args", .kind = CLI_TEXT, .value = "JSON|@FILE|-",                  \
      .offer = CLI_OFFER_FILES,                                                  \
      .help = "the arguments of a tool's call, one JSON object (default: {})" }
#define CLI_OPTION_SECRET                                                        \
    { "--secret", .kind = CLI_LIST, .value = "NAME[=VAR]",                       \
      .help = "a secret of the vault, given as the policy's injection says" }
#define CLI_OPTION_TOKEN                                                         \
    { "--token", .kind = CLI_LIST, .value = "NAME[=VAR]",                        \
      .help = "a stand-in for a secret, in a variable; good at its hosts alone" }

#endif
