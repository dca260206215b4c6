#ifndef NACRE_CLI_RUN_TOOL_H
#define NACRE_CLI_RUN_TOOL_H

#include "args.h"

/* The options of `run`; `exec` has those before RUN_OPT_SHARED. */
enum {
    RUN_OPT_POLICY, RUN_OPT_WORKSPACE, RUN_OPT_MOUNT, RUN_OPT_ENV, RUN_OPT_STDIN,
    RUN_OPT_DIRECTORY, RUN_OPT_IMAGE, RUN_OPT_TIMEOUT, RUN_OPT_SESSION, RUN_OPT_AGENT,
    RUN_OPT_CALLER, RUN_OPT_SCOPE, RUN_OPT_UNSANDBOXED, RUN_OPT_WAIVE,
    RUN_OPT_EMULATION,
    RUN_OPT_INTERCEPT, RUN_OPT_AUDIT, RUN_OPT_LANDLOCK, RUN_OPT_SECRET, RUN_OPT_TOKEN,
    RUN_OPT_TOKEN_MS, RUN_OPT_INTENT, RUN_OPT_USER_INPUT, RUN_OPT_SCAN_FILES,
    RUN_OPT_CONFIG, RUN_OPT_SENDER, RUN_OPT_ELEVATED, RUN_OPT_APPROVAL,
    RUN_OPT_OUT_OF_TURN, RUN_OPT_SHARED,
    RUN_OPT_FUEL = RUN_OPT_SHARED, RUN_OPT_INVOKE,
    RUN_OPT_COUNT
};
extern const struct cli_option cli_run_options[RUN_OPT_COUNT];

/* Exactly one of the first three. */
struct cli_operands {
    const char *module;
    const char *const *command; /* NULL-terminated */
    const char *shell;          /* a text for the shell */
    const char *const *arguments; /* of the module */
    int trace_fd; /* receives the module's host calls; 0: none */
};

/* Runs it, says what there is to say, and returns the exit status. */
int cli_run_tool(const struct cli_args *args, const struct cli_operands *operands);

#define CLI_RUN_SESSIONS                                                              \
    "With --config that file decides, not a policy: is there a sandbox, whose, what\n"  \
    "does it see, which tools may run. A command is the tool exec. One run at a time\n" \
    "for each session: others wait until their time is over. What runs without walls\n" \
    "though its file has some, as --elevated does, waits for nacre approve.\n"

#define CLI_RUN_EXITS                                                                  \
    "Exit status: the guest's own, or 124 timed out, 125 nacre failed, 126 denied or\n" \
    "not runnable, 127 not found, 128+n killed by signal n, 134 trapped, 137 out of\n"  \
    "memory, 152 out of fuel, 153 too much output."

#endif
