/*
 * door_levels PROGRAM POLICY [OPTION…] -- SHELL-TEXT: runs a text at the policy's level,
 * process or container, with real doors.  PROGRAM is nacre-door's neighbour.
 *
 *   --intercept HOST             the door may end the host's TLS
 *   --secret NAME=VALUE@HOST     granted, as the policy's injection says it is handed over
 *   --image IMAGE, --scope KEY   of a container; a kept one runs the text twice
 *   --setup TEXT                 its setup command, which no policy of CKP can have
 *
 * Prints what the text wrote, then "exit N", and a line for each denial and request.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/door.h"
#include "nacre/executor.h"
#include "nacre/secrets.h"
#include "nacre/tool.h"

static struct {
    const char *intercept[8];
    const char *image, *scope;
    char *setup;
} asked;

static const char *secret_hosts[2];
static struct nacre_secret secret;
static struct nacre_secret_set granted = { .items = &secret };
static struct nacre_secret_file file;
static char variable[4096];
static const char *environment[] = { variable, NULL };

static _Noreturn void give_up(const char *what, const struct nacre_error *err)
{
    (void)fflush(stdout);
    (void)printf("failed: %s: %s\n", what, err ? err->text : "");
    exit(1);
}

static void must(enum nacre_status status, const char *what, const struct nacre_error *err)
{
    if (status != NACRE_OK)
        give_up(what, err);
}

/* NAME=VALUE@HOST */
static void take_secret(char *text)
{
    char *equals = strchr(text, '='), *at = strrchr(text, '@');

    if (!equals || !at || at < equals)
        give_up("--secret expects NAME=VALUE@HOST", NULL);
    *equals = *at = '\0';
    secret_hosts[0] = at + 1;
    secret = (struct nacre_secret){ text, secret_hosts, text,
                                    (const unsigned char *)equals + 1,
                                    strlen(equals + 1) };
    granted.count = 1;
}

static int read_options(int argc, char **argv)
{
    size_t intercepts = 0;
    int i = 3;

    for (; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2) {
        if (strcmp(argv[i], "--intercept") == 0 && intercepts < 7)
            asked.intercept[intercepts++] = argv[i + 1];
        else if (strcmp(argv[i], "--secret") == 0)
            take_secret(argv[i + 1]);
        else if (strcmp(argv[i], "--image") == 0)
            asked.image = argv[i + 1];
        else if (strcmp(argv[i], "--scope") == 0)
            asked.scope = argv[i + 1];
        else if (strcmp(argv[i], "--setup") == 0)
            asked.setup = argv[i + 1];
        else
            give_up(argv[i], NULL);
    }
    return i + 1;
}

/* What nacre_run() does with granted secrets. */
static void hand_over(const struct nacre_plan *plan, struct nacre_request *request)
{
    if (granted.count == 0)
        return;
    if (plan->injection == NACRE_INJECTION_FILE_MOUNT) {
        file = (struct nacre_secret_file){ secret.name, secret.value, secret.count };
        request->secret_files = &file;
        request->secret_file_count = 1;
    } else if (plan->injection == NACRE_INJECTION_ENVIRONMENT) {
        (void)snprintf(variable, sizeof(variable), "%s=%s", secret.variable,
                       (const char *)secret.value);
        request->environment = environment;
    }
}

static void tell(const struct nacre_result *result)
{
    (void)printf("%s%s%sexit %d\n", result->output.bytes ? result->output.bytes : "",
                 result->errors.bytes ? result->errors.bytes : "",
                 result->outcome == NACRE_OUTCOME_EXITED ? "" : "not at its own ",
                 result->exit_status);
    for (uint32_t i = 0; i < result->denial_count; i++)
        (void)printf("denial %s %s\n", result->denials[i].code, result->denials[i].text);
    for (uint32_t i = 0; i < result->egress_count; i++)
        (void)printf("%s %s %s:%u %s\n", result->egress[i].sent ? "sent" : "refused",
                     result->egress[i].method, result->egress[i].host,
                     result->egress[i].port, result->egress[i].code);
}

int main(int argc, char **argv)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    NACRE_AUTO(nacre_result_guard) struct nacre_result *denials = NULL;
    struct nacre_executor *executor = NULL;
    struct nacre_doors *doors = NULL;
    struct nacre_executor_options options = { .state_dir = getenv("NACRE_STATE_DIR") };
    struct nacre_request request = { .input_fd = -1 };
    const struct nacre_executor_ops *ops = &nacre_process_executor;
    struct nacre_error err = { .text = "" };
    int at = argc > 4 ? read_options(argc, argv) : argc;

    if (at >= argc)
        give_up("usage: door_levels PROGRAM POLICY [OPTION…] -- SHELL-TEXT", NULL);
    must(nacre_policy_load(argv[2], NULL, &policy, &err), "policy", &err);
    must(nacre_result_new(&denials, &err), "memory", &err);
    request.intercept = asked.intercept[0] ? asked.intercept : NULL;
    request.image = asked.image;
    request.session = asked.scope;
    request.granted = granted.count > 0 ? &granted : NULL;
    must(nacre_plan_make(policy, &request, &plan, denials, &err), "plan", &err);
    if (asked.setup && !(plan->container.setup_command = strdup(asked.setup)))
        give_up("memory", NULL);
    hand_over(plan, &request);
    must(nacre_tool_shell(argv[at], &tool, &err), "text", &err);
    must(nacre_doors_new(&(struct nacre_doors_options){ argv[1] }, &doors, &err), "doors",
         &err);
    options.doors = doors;
    if (plan->level == NACRE_LEVEL_CONTAINER)
        ops = &nacre_container_executor;
    must(ops->open(&options, &executor, &err), "executor", &err);
    must(nacre_executor_select(&executor, 1, plan, &executor, denials, &err), "select",
         &err);
    for (int i = 0; i < (plan->scope_key ? 2 : 1); i++) {
        NACRE_AUTO(nacre_result_guard) struct nacre_result *result = NULL;

        must(nacre_result_new(&result, &err), "memory", &err);
        must(nacre_executor_run(executor, plan, tool, &request, result, &err), "run",
             &err);
        tell(result);
    }
    ops->free(executor);
    nacre_doors_free(doors);
    return 0;
}
