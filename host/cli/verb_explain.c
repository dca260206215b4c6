#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "explain_call.h"
#include "explain_session.h"
#include "nacre/own.h"
#include "nacre/path.h"
#include "nacre/render.h"
#include "nacre/text.h"
#include "needs.h"
#include "report.h"
#include "request.h"
#include "secrets.h"
#include "session.h"
#include "verbs.h"

enum {
    OPT_POLICY, OPT_WORKSPACE, OPT_MOUNT, OPT_IMAGE, OPT_UNSANDBOXED, OPT_WAIVE,
    OPT_EMULATION, OPT_INTERCEPT,
    OPT_SECRET, OPT_TOKEN, OPT_CONFIG, OPT_SESSION, OPT_SCOPE, OPT_AGENT, OPT_SENDER,
    OPT_PATH, OPT_HOST, OPT_COMMAND, OPT_TOOL, OPT_COUNT
};

static const struct cli_option options[OPT_COUNT] = {
    [OPT_POLICY] = CLI_OPTION_POLICY,
    [OPT_WORKSPACE] = CLI_OPTION_WORKSPACE,
    [OPT_MOUNT] = CLI_OPTION_MOUNT,
    [OPT_IMAGE] = CLI_OPTION_IMAGE,
    [OPT_UNSANDBOXED] = CLI_OPTION_UNSANDBOXED,
    [OPT_WAIVE] = CLI_OPTION_WAIVE,
    [OPT_EMULATION] = CLI_OPTION_EMULATION,
    [OPT_INTERCEPT] = CLI_OPTION_INTERCEPT,
    [OPT_SECRET] = CLI_OPTION_SECRET,
    [OPT_TOKEN] = CLI_OPTION_TOKEN,
    [OPT_CONFIG] = { "--config", .kind = CLI_TEXT, .value = "FILE",
                     .offer = CLI_OFFER_FILES,
                     .help = "what this configuration means for a session" },
    [OPT_SESSION] = { "--session", .kind = CLI_TEXT, .value = "KEY",
                      .help = "in which session: it may hold tokens" },
    [OPT_SCOPE] = CLI_OPTION_SCOPE,
    [OPT_AGENT] = { "--agent", .kind = CLI_TEXT, .value = "NAME",
                    .help = "on whose behalf: a secret may be granted to it" },
    [OPT_SENDER] = { "--sender", .kind = CLI_TEXT, .value = "PROVIDER:ID",
                     .help = "with --config: may this person leave the sandbox?" },
    [OPT_PATH] = { "--path", .kind = CLI_TEXT, .value = "PATH", .offer = CLI_OFFER_FILES,
                   .help = "may a guest read and write this path (as it sees it)?" },
    [OPT_HOST] = { "--host", .kind = CLI_TEXT, .value = "HOST[:PORT]|URL",
                   .help = "may a guest reach this host?" },
    [OPT_COMMAND] = { "--command", .kind = CLI_TEXT, .value = "COMMAND",
                      .help = "may a guest run this shell command?" },
    [OPT_TOOL] = { "--tool", .kind = CLI_TEXT, .value = "MODULE|NAME",
                   .offer = CLI_OFFER_FILES,
                   .help = "would this module or tool run, and at which level? with "
                           "--config: may it be called?" },
};

struct explain {
    const struct cli_args *args;
    struct nacre_engine *engine;
    struct nacre_policy *policy;
    struct cli_session config;     /* with --config, as is the next */
    struct nacre_session *session; /* its own, and so is `policy` */
    struct nacre_secret_set *secrets; /* NULL: none */
    struct nacre_plan *plan; /* a draft */
    struct cli_request request;
};

static void explain_clear(struct explain *explain)
{
    nacre_plan_free(explain->plan);
    nacre_secret_set_free(explain->secrets);
    if (!explain->session)
        nacre_policy_free(explain->policy);
    cli_session_clear(&explain->config);
    nacre_engine_free(explain->engine);
    cli_request_clear(&explain->request);
}

static enum nacre_status print_buf(struct nacre_buf *out)
{
    if (out->size > 0)
        (void)fwrite(out->bytes, 1, out->size, stdout);
    nacre_buf_clear(out);
    return NACRE_OK;
}

static enum nacre_status print_json(json_t *value, struct nacre_error *err)
{
    if (!value)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the JSON answer");
    (void)cli_json_print(value);
    return NACRE_OK;
}

static enum nacre_status explain_plan(struct explain *explain, struct nacre_error *err)
{
    struct nacre_error why;
    const struct nacre_executor *executor =
        cli_executor_of(explain->engine, explain->plan->level, &why);
    struct nacre_buf out = NACRE_BUF(NACRE_RENDER_BYTES_MAX);
    enum nacre_status status;

    if (explain->args->json)
        return print_json(nacre_plan_json(explain->policy, explain->plan, executor), err);
    status = nacre_render_plan(explain->policy, explain->plan, executor,
                               cli_term_colours(STDOUT_FILENO), &out, err);
    if (status == NACRE_OK)
        return print_buf(&out);
    nacre_buf_clear(&out);
    return status;
}

/* Where no --mount says otherwise, a guest's path is the same one on the host. */
static bool is_file(const char *path)
{
    char name[NACRE_PATH_MAX];
    struct stat info;

    return path[0] == '/' && nacre_path_normalise(path, name, sizeof(name)) &&
           stat(name, &info) == 0 && !S_ISDIR(info.st_mode);
}

static enum nacre_status ask(const struct explain *explain, int option,
                             struct nacre_answer *ret_answer, struct nacre_error *err)
{
    const char *text = explain->args->values[option].text;

    if (option == OPT_PATH)
        return nacre_explain_path(explain->policy, &explain->request.request, text,
                                  is_file(text), ret_answer, err);
    if (option == OPT_HOST)
        return nacre_explain_host(explain->policy, &explain->request.request, text,
                                  ret_answer, err);
    return nacre_explain_command(explain->policy, text, ret_answer, err);
}

/* What is refused as a whole reaches nothing.  Not counted is what only this machine
 * lacks; and a secret may be granted to a tool, which nobody named, so that is told. */
static enum nacre_status settle_host(const struct explain *explain,
                                     struct nacre_answer *answer, struct nacre_error *err)
{
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *draft = NULL;
    const struct nacre_request *request = &explain->request.request;
    const struct nacre_decision *line = NULL;
    size_t used = strlen(answer->text);
    enum nacre_status status = nacre_plan_draft(explain->policy, request, &draft, err);

    for (uint32_t i = 0; status == NACRE_OK && i < draft->decision_count && !line; i++)
        if (draft->decisions[i].verdict == NACRE_VERDICT_REFUSE)
            line = &draft->decisions[i];
    if (line) {
        *answer = (struct nacre_answer){ .place = line->place };
        (void)snprintf(answer->rule, sizeof(answer->rule), "%s", line->rule);
        (void)snprintf(answer->text, sizeof(answer->text), "nothing runs: %s",
                       line->what);
        (void)snprintf(answer->fix, sizeof(answer->fix), "%s", line->fix);
        return NACRE_OK;
    }
    if (status == NACRE_OK)
        status = cli_secrets_settle(explain->engine, explain->policy, NULL, request,
                                    draft, err);
    for (uint32_t i = 0; status == NACRE_OK && i < draft->decision_count; i++)
        if (draft->decisions[i].verdict == NACRE_VERDICT_REFUSE) {
            (void)snprintf(answer->text + used, sizeof(answer->text) - used, "; but %s",
                           draft->decisions[i].what);
            break;
        }
    return status;
}

static enum nacre_status explain_question(struct explain *explain, int option,
                                          struct nacre_error *err)
{
    struct nacre_buf out = NACRE_BUF(NACRE_RENDER_BYTES_MAX);
    struct nacre_answer answer;
    char question[512], shown[480];
    const char *text = explain->args->values[option].text;
    enum nacre_status status = ask(explain, option, &answer, err);

    if (status == NACRE_OK && option == OPT_HOST && answer.allowed)
        status = settle_host(explain, &answer, err);
    if (status != NACRE_OK)
        return status;
    (void)snprintf(question, sizeof(question), "%s %s", options[option].name + 2,
                   nacre_text_show(shown, sizeof(shown), text, strlen(text)));
    if (explain->args->json)
        return print_json(nacre_answer_json(explain->policy, question, &answer), err);
    status = nacre_render_answer(explain->policy, question, &answer,
                                 cli_term_colours(STDOUT_FILENO), &out, err);
    if (status == NACRE_OK)
        return print_buf(&out);
    nacre_buf_clear(&out);
    return status;
}

/* Why it would not run, as {"place", "text", "fix"}; empty when it would. */
static json_t *obstacles(const struct explain *explain,
                         const struct nacre_module_info *info)
{
    const struct nacre_plan *plan = explain->plan;
    json_t *list = json_array();
    char place[CLI_PLACE], text[512];
    int failed = 0;

    if (info->refused[0])
        failed |= json_array_append_new(
            list, json_pack("{s:s, s:o, s:s}", "place", "the module", "text",
                            cli_json_text(info->refused), "fix",
                            "build it without these features"));
    for (uint32_t i = 0; i < info->import_count; i++) {
        const struct nacre_module_item *import = &info->imports[i];

        if (import->known)
            continue;
        (void)snprintf(text, sizeof(text),
                       "imports %.200s.%.200s, which nacre does not serve",
                       import->module, import->name);
        failed |= json_array_append_new(
            list, json_pack("{s:s, s:o, s:s}", "place", "the module", "text",
                            cli_json_text(text), "fix", "build it for wasm32-wasip1"));
    }
    if (plan->level != NACRE_LEVEL_WASM)
        failed |= json_array_append_new(
            list, json_pack("{s:o, s:s, s:s}", "place",
                            cli_json_text(cli_place(place, explain->policy,
                                                    explain->policy->level_place)),
                            "text", "this level runs native commands, and no module",
                            "fix", "take a policy of level wasm"));
    for (uint32_t i = 0; i < plan->decision_count; i++)
        if (plan->decisions[i].verdict == NACRE_VERDICT_REFUSE)
            failed |= json_array_append_new(
                list, json_pack("{s:o, s:o, s:o}", "place",
                                cli_json_text(cli_place(place, explain->policy,
                                                        plan->decisions[i].place)),
                                "text", cli_json_text(plan->decisions[i].what), "fix",
                                cli_json_text(plan->decisions[i].fix)));
    if (!failed)
        return list;
    json_decref(list);
    return NULL;
}

static void print_tool(const struct explain *explain, const struct nacre_tool *tool,
                       const struct nacre_module_info *info,
                       const struct nacre_answer *intent, json_t *reasons)
{
    char name[NACRE_SHOWN], shown[1024];
    json_t *reason;
    size_t i;

    (void)nacre_text_shown(name, tool->name);
    (void)printf("%s %s at level %s under policy %s\n", name,
                 json_array_size(reasons) == 0 ? "would run" : "would not run",
                 nacre_level_name(explain->plan->level), explain->policy->name);
    json_array_foreach(reasons, i, reason) {
        const char *place = "", *text = "", *fix = "";

        (void)json_unpack(reason, "{s:s, s:s, s:s}", "place", &place, "text", &text,
                          "fix", &fix);
        (void)printf("  %s: %s\n", place,
                     nacre_text_show(shown, sizeof(shown), text, strlen(text)));
        if (fix[0])
            (void)printf("      fix: %s\n", fix);
    }
    cli_intent_print(intent);
    (void)puts("needs:");
    cli_needs_print(info, explain->policy);
}

static enum nacre_status explain_tool(struct explain *explain, struct nacre_error *err)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    NACRE_AUTO(nacre_module_info_guard) struct nacre_module_info *info = NULL;
    struct nacre_answer intent;
    enum nacre_status status =
        nacre_tool_load(explain->args->values[OPT_TOOL].text, &tool, err);
    json_t *reasons;

    if (status == NACRE_OK)
        status = nacre_module_read(tool, &info, err);
    if (status != NACRE_OK)
        return status;
    reasons = obstacles(explain, info);
    if (!reasons)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the answer");
    nacre_explain_intent(explain->policy, &intent);
    (void)snprintf(intent.file, sizeof(intent.file), "%s", explain->policy->source);
    if (explain->args->json)
        return print_json(
            json_pack("{s:{s:o, s:o}, s:{s:o, s:o, s:o}, s:s, s:b, s:o, s:o, s:o}",
                      "tool", "name", cli_json_text(tool->name), "digest",
                      cli_json_digest(&tool->digest), "policy", "name",
                      cli_json_text(explain->policy->name), "source",
                      cli_json_text(explain->policy->source), "digest",
                      cli_json_digest(&explain->policy->digest), "level",
                      nacre_level_name(explain->plan->level), "runs",
                      json_array_size(reasons) == 0, "obstacles", reasons, "needs",
                      cli_needs_json(info, explain->policy), "intent",
                      cli_intent_json(&intent)),
            err);
    print_tool(explain, tool, info, &intent, reasons);
    json_decref(reasons);
    return NACRE_OK;
}

/* The draft, with the secrets that the vault grants. */
static enum nacre_status draft_plan(struct explain *explain, struct nacre_error *err)
{
    const char *tool = explain->args->values[OPT_TOOL].text;
    const char *slash = tool ? strrchr(tool, '/') : NULL;
    struct nacre_request *request = &explain->request.request;
    enum nacre_status status;

    tool = slash ? slash + 1 : tool;
    status = cli_secrets_preview(explain->engine, explain->policy, tool, request,
                                 &explain->secrets, err);
    request->granted = explain->secrets;
    if (status == NACRE_OK)
        status = nacre_engine_draft(explain->engine, explain->policy, request,
                                    &explain->plan, err);
    if (status == NACRE_OK)
        status = cli_secrets_settle(explain->engine, explain->policy, tool, request,
                                    explain->plan, err);
    return status;
}

/* ---- configurations ---- */

/* What a session's own settings say can't be said a second time. */
static enum nacre_status check_options(const struct cli_value *values,
                                       struct nacre_error *err)
{
    static const int others[] = { OPT_POLICY, OPT_WORKSPACE, OPT_MOUNT, OPT_IMAGE,
                                  OPT_UNSANDBOXED };

    if (!values[OPT_CONFIG].given)
        return values[OPT_SENDER].given
                   ? nacre_fail(err, NACRE_ERR_USAGE, "--sender goes with --config")
                   : NACRE_OK;
    for (size_t i = 0; i < NACRE_COUNT(others); i++)
        if (values[others[i]].given)
            return nacre_fail(err, NACRE_ERR_USAGE, "%s does not go with --config",
                              options[others[i]].name);
    return NACRE_OK;
}

static enum nacre_status load_session(struct explain *explain, struct nacre_error *err)
{
    const struct cli_value *values = explain->args->values;
    enum nacre_status status =
        cli_session_settle(&explain->config, values[OPT_CONFIG].text,
                           &values[OPT_SESSION], &values[OPT_AGENT], &values[OPT_SENDER],
                           err);

    if (status != NACRE_OK)
        return status;
    explain->session = explain->config.session;
    nacre_session_request(explain->session, &explain->request.request);
    explain->policy = explain->session->shell;
    return NACRE_OK;
}

static struct nacre_call call_of(const struct explain *explain)
{
    return (struct nacre_call){ .tool = explain->args->values[OPT_TOOL].text,
                                .policy = explain->args->values[OPT_POLICY].text,
                                .session = explain->session,
                                .request = explain->request.request };
}

/* At which level would a call of the tool run, and why? */
static enum nacre_status explain_call(const struct explain *explain,
                                      struct nacre_error *err)
{
    const struct nacre_call call = call_of(explain);
    json_t *told = NULL;
    enum nacre_status status;

    if (!explain->args->json)
        return cli_explain_call(explain->engine, &call, err);
    status = cli_explain_call_json(explain->engine, &call, &told, err);
    return status == NACRE_OK ? print_json(told, err) : status;
}

static enum nacre_status explain_session(struct explain *explain, struct nacre_error *err)
{
    const char *tool = explain->args->values[OPT_TOOL].text;
    struct nacre_error why;
    const struct nacre_executor *executor =
        cli_executor_of(explain->engine, explain->plan->level, &why);
    const struct nacre_call call = call_of(explain);
    json_t *told = NULL;
    enum nacre_status status = NACRE_OK;

    if (tool)
        status = cli_explain_call_json(explain->engine, &call, &told, err);
    /* That it may not be called is told at the end, with the session's other lines. */
    if (json_is_true(json_object_get(told, "runs")) && !explain->args->json &&
        cli_explain_call(explain->engine, &call, &why) == NACRE_OK)
        (void)putchar('\n');
    if (status == NACRE_OK || status == NACRE_ERR_NOT_FOUND || status == NACRE_ERR_USAGE)
        status = cli_explain_session(explain->session, explain->plan, executor, tool,
                                     told, explain->args->json, err);
    json_decref(told);
    return status;
}

static enum nacre_status find_question(const struct cli_value *values, int *ret_question,
                                       struct nacre_error *err)
{
    *ret_question = -1;
    for (int option = OPT_PATH; option <= OPT_TOOL; option++) {
        if (values[option].given && *ret_question >= 0)
            return nacre_fail(err, NACRE_ERR_USAGE,
                              "one question at a time: %s or %s, not both",
                              options[*ret_question].name, options[option].name);
        *ret_question = values[option].given ? option : *ret_question;
    }
    return NACRE_OK;
}

static enum nacre_status explain_it(struct explain *explain, struct nacre_error *err)
{
    const struct cli_value *values = explain->args->values;
    struct nacre_engine_options quiet = { .audit_off = true };
    struct cli_term term = { 0 };
    int question;
    enum nacre_status status = find_question(values, &question, err);

    if (status == NACRE_OK)
        status = check_options(values, err);
    if (status != NACRE_OK)
        return status;
    status = cli_request_make(&explain->request, &values[OPT_WORKSPACE],
                              &values[OPT_MOUNT], NULL, err);
    if (status == NACRE_OK)
        status = cli_request_waive(&explain->request, &values[OPT_WAIVE],
                                   &values[OPT_EMULATION], err);
    if (status == NACRE_OK)
        status = cli_request_scope(&explain->request, &values[OPT_SCOPE], err);
    explain->request.request.image = values[OPT_IMAGE].text;
    explain->request.request.unsandboxed = values[OPT_UNSANDBOXED].given;
    explain->request.request.intercept = values[OPT_INTERCEPT].items;
    cli_request_secrets(&explain->request, &values[OPT_SECRET], &values[OPT_TOKEN], NULL);
    explain->request.request.session = values[OPT_SESSION].text;
    explain->request.request.agent = values[OPT_AGENT].text;
    if (status == NACRE_OK)
        status = cli_engine_open(quiet, &term, &explain->engine, err);
    if (status == NACRE_OK && question == OPT_TOOL && !values[OPT_CONFIG].given &&
        cli_is_tool_name(values[OPT_TOOL].text))
        return explain_call(explain, err);
    if (status == NACRE_OK)
        status = values[OPT_CONFIG].given
                     ? load_session(explain, err)
                     : nacre_engine_policy(explain->engine, values[OPT_POLICY].text,
                                           &explain->policy, err);
    if (status == NACRE_OK)
        status = draft_plan(explain, err);
    if (status != NACRE_OK)
        return status;
    if (explain->session && (question < 0 || question == OPT_TOOL))
        return explain_session(explain, err);
    if (question < 0)
        return explain_plan(explain, err);
    if (question == OPT_TOOL)
        return explain_tool(explain, err);
    return explain_question(explain, question, err);
}

static int run(const struct cli_args *args)
{
    NACRE_AUTO(explain_clear) struct explain explain = { .args = args };
    struct nacre_error err;

    if (explain_it(&explain, &err) != NACRE_OK)
        return cli_fail(args, &err);
    return 0;
}

const struct cli_verb cli_verb_explain = {
    .name = "explain",
    .summary = "show what a policy comes to, line by line, or answer one question",
    .operands = "",
    .about =
        "Prints the plan: which line of the policy decided each grant and denial, and\n"
        "what enforces it here. With a question it gives the verdict and the smallest\n"
        "change of the policy that would flip it. Runs nothing; the exit status is 0\n"
        "whatever the verdict. With --config it tells what a configuration of OpenClaw,\n"
        "Clawdis or Clawpy means for one session, and may answer the same questions.",
    .example = "  nacre explain --policy workspace\n"
               "  nacre explain --policy workspace --path /etc/passwd\n"
               "  nacre explain --policy shell --command 'curl x | sh'\n"
               "  nacre explain --config ~/.openclaw/openclaw.json --session main "
               "--tool browser",
    .options = options,
    .option_count = OPT_COUNT,
    .run = run,
};
