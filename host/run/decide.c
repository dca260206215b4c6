/* Trusts the policy; the tool's words and the request are anybody's. */
#include "decide.h"

#include <stdio.h>
#include <string.h>

#include "nacre/shell.h"
#include "nacre/text.h"

/* `denial` is whole but for its code. */
static enum nacre_status deny(const struct nacre_policy *policy, const char *code,
                              struct nacre_denial *denial, struct nacre_result *result,
                              struct nacre_error *err)
{
    (void)snprintf(denial->code, sizeof(denial->code), "%s", code);
    nacre_result_deny(result, denial);
    if (denial->place.line > 0)
        return nacre_fail_at(err, NACRE_ERR_DENIED, policy->source, denial->place.line,
                             denial->place.column, "%.500s", denial->text);
    return nacre_fail(err, NACRE_ERR_DENIED, "%.500s", denial->text);
}

static enum nacre_status deny_module(const struct nacre_policy *policy,
                                     const struct nacre_tool *tool,
                                     struct nacre_result *result, struct nacre_error *err)
{
    const char *level = nacre_level_name(policy->level);
    struct nacre_denial denial = { .rule = "level", .place = policy->level_place };
    char name[NACRE_SHOWN];

    (void)snprintf(denial.text, sizeof(denial.text),
                   "level %s runs native commands, and %s is taken for a WebAssembly "
                   "module",
                   level, nacre_text_shown(name, tool->name));
    (void)snprintf(denial.fix, sizeof(denial.fix),
                   "for a command write nacre run --policy POLICY -- CMD [ARG...]; for a "
                   "module change '%s' to 'wasm'",
                   level);
    return deny(policy, "wrong-level", &denial, result, err);
}

static enum nacre_status deny_command(const struct nacre_policy *policy,
                                      const struct nacre_tool *tool,
                                      struct nacre_result *result,
                                      struct nacre_error *err)
{
    bool absent = policy->level_place.line == 0;
    struct nacre_denial denial = { .rule = "level", .place = policy->level_place };
    char name[NACRE_SHOWN];

    (void)nacre_text_shown(name, tool->name);
    if (absent)
        (void)snprintf(denial.text, sizeof(denial.text),
                       "no native command runs without a policy");
    else
        (void)snprintf(denial.text, sizeof(denial.text),
                       "level wasm runs WebAssembly modules, and %s is a native command",
                       name);
    (void)snprintf(denial.fix, sizeof(denial.fix), "%s",
                   absent ? "give one of level process, as --policy shell"
                          : "take a policy of level process, as --policy shell; for a "
                            "module leave the -- out");
    return deny(policy, "wrong-level", &denial, result, err);
}

/* What decides which program runs is not the request's to say. */
static enum nacre_status judge_environment(const struct nacre_policy *policy,
                                           const struct nacre_request *request,
                                           struct nacre_result *result,
                                           struct nacre_error *err)
{
    const char *const *list = request->environment;

    for (size_t i = 0; list && list[i]; i++) {
        const char *why = nacre_shell_environment_denied(list[i]);
        struct nacre_denial denial = { .rule = "request.environment",
                                       .fix = "leave it out" };
        char name[NACRE_SHOWN];

        if (!why)
            continue;
        (void)nacre_text_show(name, sizeof(name), list[i], strcspn(list[i], "="));
        (void)snprintf(denial.text, sizeof(denial.text),
                       "%s is not passed to a native command: it %s", name, why);
        return deny(policy, "denied-environment", &denial, result, err);
    }
    return NACRE_OK;
}

static enum nacre_status judge(const struct nacre_policy *policy,
                               const struct nacre_command *command,
                               struct nacre_result *result, struct nacre_error *err)
{
    struct nacre_answer answer = { 0 };
    enum nacre_status status = nacre_shell_judge(policy, command, &answer, err);
    struct nacre_denial denial = { .place = answer.place };

    if (status != NACRE_OK || answer.allowed)
        return status;
    memcpy(denial.rule, answer.rule, sizeof(denial.rule));
    memcpy(denial.text, answer.text, sizeof(denial.text));
    memcpy(denial.fix, answer.fix, sizeof(denial.fix));
    return deny(policy, "denied-command", &denial, result, err);
}

static size_t count_of(const char *const *texts)
{
    size_t count = 0;

    while (texts && texts[count])
        count++;
    return count;
}

/* The request's arguments follow the tool's own words, and are judged with them: a rule
 * on `git push` means both.  A text is judged as it was given, too. */
static enum nacre_status judge_command(const struct nacre_policy *policy,
                                       const struct nacre_tool *tool,
                                       const struct nacre_request *request,
                                       struct nacre_result *result,
                                       struct nacre_error *err)
{
    const char *const *argv = (const char *const *)tool->argv;
    size_t own = count_of(argv), more = count_of(request->arguments);
    NACRE_AUTO(nacre_heap_guard) const char **words = NULL;
    enum nacre_status status = NACRE_OK;

    if (tool->kind == NACRE_TOOL_SHELL)
        status = judge(policy, &(struct nacre_command){ .shell_text = argv[2] }, result,
                       err);
    if (status != NACRE_OK || (tool->kind == NACRE_TOOL_SHELL && more == 0))
        return status;
    words = calloc(own + more + 1, sizeof(*words));
    if (!words)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a command");
    memcpy(words, argv, own * sizeof(*words));
    if (more > 0)
        memcpy(words + own, request->arguments, more * sizeof(*words));
    return judge(policy, &(struct nacre_command){ .argv = words }, result, err);
}

enum nacre_status nacre_decide(const struct nacre_policy *policy,
                               const struct nacre_tool *tool,
                               const struct nacre_request *request,
                               struct nacre_result *result, struct nacre_error *err)
{
    bool native = policy->level != NACRE_LEVEL_WASM;
    enum nacre_status status;

    if (tool->kind == NACRE_TOOL_MODULE)
        return native ? deny_module(policy, tool, result, err) : NACRE_OK;
    if (!native)
        return deny_command(policy, tool, result, err);
    status = judge_command(policy, tool, request, result, err);
    return status == NACRE_OK ? judge_environment(policy, request, result, err) : status;
}
