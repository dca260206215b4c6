#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "boxes.h"
#include "nacre/browser.h"
#include "nacre/clock.h"
#include "nacre/jobs.h"
#include "nacre/own.h"
#include "nacre/text.h"
#include "report.h"
#include "session.h"
#include "verbs.h"

enum {
    OPT_SESSION, OPT_CONFIG, OPT_AGENT, OPT_SKILLS, OPT_SHARED, OPT_FORCE, OPT_TIMEOUT,
    OPT_COUNT
};

#define WAIT_MS 30000

static const struct cli_option options[OPT_COUNT] = {
    [OPT_SESSION] = { "--session", .kind = CLI_TEXT, .value = "KEY",
                      .help = "for put and path (default: the main session)" },
    [OPT_CONFIG] = CLI_OPTION_CONFIG,
    [OPT_AGENT] = { "--agent", .kind = CLI_TEXT, .value = "ID",
                    .help = "for put and path: whose session (default: main); for end: "
                            "what is private to that agent" },
    [OPT_SKILLS] = { "--skills", .kind = CLI_TEXT, .value = "DIR",
                     .offer = CLI_OFFER_DIRECTORIES,
                     .help = "for put: make skills/ the mirror of DIR's skills" },
    [OPT_SHARED] = { "--shared", .kind = CLI_FLAG,
                     .help = "for end: what is private to all" },
    [OPT_FORCE] = { "--force", .kind = CLI_FLAG,
                    .help = "for end: also while it runs; the run then ends" },
    [OPT_TIMEOUT] = { "--timeout-ms", .kind = CLI_NUMBER, .value = "N", .min = 1,
                      .max = 604800000,
                      .help = "how long others are waited for (30000)" },
};

static const char *const words[] = { "list", "end", "put", "path" };

static uint64_t deadline(const struct cli_args *args)
{
    const struct cli_value *given = &args->values[OPT_TIMEOUT];

    return nacre_clock_ns() + (given->given ? given->number : WAIT_MS) * NACRE_NS_PER_MS;
}

/* ---- list ---- */

static json_t *workspace_json(const struct nacre_session_info *info)
{
    NACRE_AUTO(nacre_heap_guard) char *path = NULL;

    if (!info->workspace)
        return json_null();
    if (asprintf(&path, "%s/%s", info->root, info->workspace) < 0) {
        path = NULL;
        return NULL;
    }
    return cli_json_text(path);
}

struct list {
    json_t *json; /* NULL: as text */
    size_t count;
    bool failed;
};

static bool list_json(struct list *list, const struct nacre_session_info *info)
{
    char created[NACRE_SECOND], used[NACRE_SECOND];

    list->failed |= json_array_append_new(
        list->json,
        json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:s, s:I, s:I, s:b, s:b}", "scope",
                  nacre_scope_name(info->scope), "scopeKey",
                  cli_json_text(info->scope_key), "agent", cli_json_text(info->agent),
                  "config", cli_json_text(info->config), "workspace",
                  workspace_json(info), "container",
                  info->box_name[0] ? cli_json_text(info->box_name) : json_null(),
                  "created", nacre_clock_second(created, info->created_ms / 1000),
                  "used",
                  nacre_clock_second(used, info->used_ms / 1000), "pruneIdleMs",
                  (json_int_t)info->idle_ms, "pruneAgeMs", (json_int_t)info->age_ms,
                  "daily", info->daily, "live", info->live)) != 0;
    return !list->failed;
}

static bool list_one(void *data, const struct nacre_session_info *info)
{
    char key[NACRE_SHOWN], name[NACRE_SHOWN], used[NACRE_SECOND];
    struct list *list = data;

    if (list->json)
        return list_json(list, info);
    if (list->count++ == 0)
        (void)printf("%-9s %-32s %-44s %-21s %s\n", "SCOPE", "KEY", "CONTAINER", "USED",
                     "LIVE");
    (void)printf("%-9s %-32s %-44s %-21s %s\n", nacre_scope_name(info->scope),
                 nacre_text_shown(key, info->scope_key),
                 info->box_name[0] ? nacre_text_shown(name, info->box_name) : "-",
                 nacre_clock_second(used, info->used_ms / 1000),
                 info->live ? "yes" : "no");
    return true;
}

static int list_all(const struct cli_args *args, struct nacre_engine *engine)
{
    struct list list = { .json = args->json ? json_array() : NULL };
    struct nacre_error err;
    enum nacre_status status =
        nacre_sessions_each(nacre_engine_state_dir(engine), list_one, &list, &err);

    if (status != NACRE_OK) {
        json_decref(list.json);
        return cli_fail(args, &err);
    }
    if (args->json) {
        if (list.failed)
            json_decref(list.json);
        return cli_json_print(list.failed ? NULL
                                          : json_pack("{s:o}", "sessions", list.json))
                   ? 0
                   : nacre_status_exit(NACRE_ERR_MEMORY);
    }
    if (list.count == 0)
        (void)puts("no session has a sandbox");
    return 0;
}

/* ---- end ---- */

struct background {
    const char *state_dir;
    bool force;
};

/* What the keeper has, and by force a browser that somebody serves by hand.  Of one that
 * does not end, the session's own end tells. */
static enum nacre_status end_jobs(void *data, const char *key, uint32_t *ret_ended,
                                  struct nacre_error *err)
{
    const struct background *background = data;
    const struct nacre_keeper_at at = { .state_dir = background->state_dir };
    enum nacre_status status = nacre_jobs_end(&at, key, ret_ended, err);
    struct nacre_error ignored;

    if (status == NACRE_OK && background->force &&
        nacre_browser_stop(background->state_dir, key, &ignored) == NACRE_OK)
        ++*ret_ended;
    return status;
}

static void tell_end(const struct nacre_sessions_report *sum)
{
    if (sum->ended == 0 && sum->workspaces == 0)
        (void)printf("no sandbox or workspace of its own: nothing to remove");
    else
        (void)printf("ended %" PRIu32 " sandbox%s, removed %" PRIu32 " workspace%s",
                     sum->ended, sum->ended == 1 ? "" : "es", sum->workspaces,
                     sum->workspaces == 1 ? "" : "s");
    if (sum->jobs > 0)
        (void)printf("; ended %" PRIu32 " background command%s", sum->jobs,
                     sum->jobs == 1 ? "" : "s");
    (void)putchar('\n');
    if (sum->kept > 0)
        (void)printf("%" PRIu32 " of its agent's own stay%s\n", sum->kept,
                     sum->kept == 1 ? "s" : "");
}

static enum nacre_status end_one(const struct cli_args *args, struct nacre_engine *engine,
                                 enum nacre_scope scope, const char *key,
                                 struct nacre_sessions_report *sum,
                                 struct nacre_error *err)
{
    const char *state_dir = nacre_engine_state_dir(engine);
    const struct nacre_sessions_ender ender = { cli_boxes_ender, engine };
    struct background background = { state_dir, args->values[OPT_FORCE].given };
    const struct nacre_sessions_end how = {
        .scope = scope,
        .key = key,
        .force = background.force,
        .deadline_ns = deadline(args),
        .end_jobs = end_jobs,
        .jobs_data = &background,
    };
    struct nacre_sessions_report one;
    enum nacre_status status = nacre_sessions_end(state_dir, &how, &ender, &one, err);

    if (status != NACRE_OK)
        return status;
    sum->ended += one.ended;
    sum->workspaces += one.workspaces;
    sum->kept += one.kept;
    sum->jobs += one.jobs;
    return NACRE_OK;
}

static int end(const struct cli_args *args, struct nacre_engine *engine)
{
    const struct cli_value *values = args->values;
    struct nacre_sessions_report sum = { 0 };
    enum nacre_status status = NACRE_OK;
    struct nacre_error err;

    for (size_t i = 1; i < args->operand_count && status == NACRE_OK; i++)
        status = end_one(args, engine, NACRE_SCOPE_SESSION, args->operands[i], &sum,
                         &err);
    if (status == NACRE_OK && values[OPT_AGENT].given)
        status = end_one(args, engine, NACRE_SCOPE_AGENT, values[OPT_AGENT].text, &sum,
                         &err);
    if (status == NACRE_OK && values[OPT_SHARED].given)
        status = end_one(args, engine, NACRE_SCOPE_SHARED, NULL, &sum, &err);
    if (status != NACRE_OK)
        return cli_fail(args, &err);
    if (args->json)
        return cli_json_print(json_pack("{s:I, s:I, s:I, s:I}", "ended",
                                        (json_int_t)sum.ended, "workspaces",
                                        (json_int_t)sum.workspaces, "kept",
                                        (json_int_t)sum.kept, "background",
                                        (json_int_t)sum.jobs))
                   ? 0
                   : nacre_status_exit(NACRE_ERR_MEMORY);
    tell_end(&sum);
    return 0;
}

/* ---- put and path ---- */

static enum nacre_status open_session(const struct cli_args *args,
                                      struct nacre_engine *engine,
                                      struct cli_session *session,
                                      struct nacre_error *err)
{
    const struct cli_value *values = args->values;
    const struct nacre_session_open_options open_options = {
        .state_dir = nacre_engine_state_dir(engine),
        .deadline_ns = deadline(args),
        .out_of_turn = true,
    };
    enum nacre_status status;

    if (!values[OPT_CONFIG].given)
        return nacre_fail(err, NACRE_ERR_USAGE, "session %s needs --config FILE",
                          args->operands[0]);
    status = cli_session_settle(session, values[OPT_CONFIG].text, &values[OPT_SESSION],
                                &values[OPT_AGENT], NULL, err);
    if (status == NACRE_OK)
        status = nacre_session_open(session->session, &open_options, &session->hold, err);
    return status;
}

static enum nacre_status check_files(const struct cli_args *args, struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    for (size_t i = 1; i < args->operand_count && status == NACRE_OK; i++)
        status = nacre_session_put_check(args->operands[i], err);
    return status;
}

/* What is done is told also when a later one fails. */
static enum nacre_status put_files(const struct cli_args *args,
                                   struct cli_session *session, json_t *files,
                                   struct nacre_error *err)
{
    for (size_t i = 1; i < args->operand_count; i++) {
        char name[NACRE_MEDIA_NAME], path[NACRE_MEDIA_NAME + sizeof(NACRE_MEDIA_DIR)];
        enum nacre_status status =
            nacre_session_put_file(session->hold, args->operands[i], name, err);

        if (status != NACRE_OK)
            return status;
        (void)snprintf(path, sizeof(path), NACRE_MEDIA_DIR "/%s", name);
        if (!args->json)
            (void)puts(path);
        else if (json_array_append_new(files, cli_json_text(path)) != 0)
            return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the answer");
    }
    return NACRE_OK;
}

static void tell_skills(const struct nacre_skills_report *skills)
{
    (void)printf("skills: %" PRIu32 " with %" PRIu32 " files", skills->skills,
                 skills->files);
    if (skills->not_skills > 0)
        (void)printf("; %" PRIu32 " folders without a SKILL.md", skills->not_skills);
    if (skills->left_out > 0)
        (void)printf("; %" PRIu32 " links and other things left out", skills->left_out);
    (void)putchar('\n');
}

static int put(const struct cli_args *args, struct nacre_engine *engine)
{
    NACRE_AUTO(cli_session_clear) struct cli_session session = { 0 };
    const struct cli_value *dir = &args->values[OPT_SKILLS];
    struct nacre_skills_report skills = { 0 };
    json_t *files = json_array();
    struct nacre_error err;
    enum nacre_status status = check_files(args, &err);

    if (status == NACRE_OK)
        status = open_session(args, engine, &session, &err);
    if (status == NACRE_OK && dir->given)
        status = nacre_session_put_skills(session.hold, dir->text, &skills, &err);
    if (status == NACRE_OK && dir->given && !args->json)
        tell_skills(&skills);
    if (status == NACRE_OK)
        status = put_files(args, &session, files, &err);
    if (status != NACRE_OK || !args->json) {
        json_decref(files);
        return status == NACRE_OK ? 0 : cli_fail(args, &err);
    }
    return cli_json_print(json_pack("{s:o, s:o, s:{s:I, s:I, s:I, s:I}}", "workspace",
                                    cli_json_text(nacre_session_hold_path(session.hold)),
                                    "files", files, "skills", "skills",
                                    (json_int_t)skills.skills, "files",
                                    (json_int_t)skills.files, "not_skills",
                                    (json_int_t)skills.not_skills, "left_out",
                                    (json_int_t)skills.left_out))
               ? 0
               : nacre_status_exit(NACRE_ERR_MEMORY);
}

static int path(const struct cli_args *args, struct nacre_engine *engine)
{
    NACRE_AUTO(cli_session_clear) struct cli_session session = { 0 };
    struct nacre_error err;

    enum nacre_status status = open_session(args, engine, &session, &err);
    const char *where = status == NACRE_OK ? nacre_session_hold_path(session.hold) : NULL;

    if (status == NACRE_OK && !where)
        status = nacre_fail(&err, NACRE_ERR_NOT_FOUND,
                            "the session's agent has no workspace");
    if (status != NACRE_OK)
        return cli_fail(args, &err);
    if (args->json)
        return cli_json_print(json_pack("{s:o}", "workspace", cli_json_text(where)))
                   ? 0
                   : nacre_status_exit(NACRE_ERR_MEMORY);
    (void)puts(where);
    return 0;
}

/* ---- which ---- */

static enum nacre_status check(const struct cli_args *args, struct nacre_error *err)
{
    const char *word = args->operands[0];
    bool ends = strcmp(word, "end") == 0, puts = strcmp(word, "put") == 0;
    int named = (args->operand_count > 1) + args->values[OPT_AGENT].given +
                args->values[OPT_SHARED].given;

    /* Elsewhere --agent says whose session: nobody shall lose both by that. */
    if (ends && named != 1)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "session end expects one of KEY..., --agent ID and --shared");
    if (puts && args->operand_count < 2 && !args->values[OPT_SKILLS].given)
        return nacre_fail(err, NACRE_ERR_USAGE, "session put expects FILE or --skills");
    if (!ends && !puts && args->operand_count > 1)
        return nacre_fail(err, NACRE_ERR_USAGE, "session %s expects nothing after it",
                          word);
    for (int i = 0; i <= OPT_CONFIG; i++)
        if (ends && args->values[i].given)
            return nacre_fail(err, NACRE_ERR_USAGE,
                              "%s is not for session end: it goes by the key",
                              options[i].name);
    if (!puts && args->values[OPT_SKILLS].given)
        return nacre_fail(err, NACRE_ERR_USAGE, "--skills is for session put");
    for (int i = OPT_SHARED; i <= OPT_FORCE; i++)
        if (!ends && args->values[i].given)
            return nacre_fail(err, NACRE_ERR_USAGE, "%s is for session end",
                              options[i].name);
    return NACRE_OK;
}

static int run(const struct cli_args *args)
{
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    struct nacre_error err;
    enum nacre_status status = check(args, &err);

    if (status == NACRE_OK)
        status = cli_boxes_engine(&engine, &err);
    if (status != NACRE_OK)
        return cli_fail(args, &err);
    switch (args->operands[0][0]) {
    case 'l':
        return list_all(args, engine);
    case 'e':
        return end(args, engine);
    default:
        return args->operands[0][1] == 'u' ? put(args, engine) : path(args, engine);
    }
}

const struct cli_verb cli_verb_session = {
    .name = "session",
    .summary = "sandboxes of sessions: list, end KEY, put FILE, path",
    .operands = "list | end [KEY...] | put FILE... | path",
    .about =
        "put copies files to media/inbound of the session's workspace, under names made\n"
        "safe, and says which. With --skills the folders of DIR that have a SKILL.md\n"
        "become its skills/, and what was there goes. Links are never followed.\n"
        "path makes the workspace, if need be, and says where it is.\n"
        "end takes what runs in a session's background, its own sandbox and workspace;\n"
        "its agent's stay. A session that runs is left as it is, or ended with --force.\n"
        "With --agent or --shared it takes what is private to that scope instead.",
    .example = "  nacre session put --config openclaw.json --session work photo.png\n"
               "  nacre session end work",
    .options = options,
    .option_count = OPT_COUNT,
    .words = words,
    .word_count = NACRE_COUNT(words),
    .operand_offer = CLI_OFFER_FILES,
    .operands_min = 1,
    .operands_max = SIZE_MAX,
    .run = run,
};
