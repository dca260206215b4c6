#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check_config.h"
#include "nacre/manifest.h"
#include "nacre/own.h"
#include "nacre/text.h"
#include "needs.h"
#include "report.h"
#include "verbs.h"

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);

    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* By its name, else by its first bytes; what does not exist is looked up as a policy. */
static bool is_module(const char *path)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char start[4];

    if (ends_with(path, ".wasm") || ends_with(path, ".wat"))
        return true;
    if (ends_with(path, ".yaml") || ends_with(path, ".yml") ||
        strncmp(path, "claw://", 7) == 0)
        return false;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd >= 0 && read(fd, start, sizeof(start)) == (ssize_t)sizeof(start) &&
           memcmp(start, "\0asm", sizeof(start)) == 0;
}

/* What was found about one path. */
struct finding {
    const char *path, *kind;
    enum nacre_status status;
    struct nacre_error err; /* when status is not OK */
    json_t *facts;          /* owned; NULL when there are none */
    char line[512];         /* the facts for a person */
};

static enum nacre_status check_policy(struct nacre_engine *engine,
                                      struct finding *finding)
{
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    NACRE_AUTO(nacre_advice_clear) struct nacre_advice advice = { 0 };
    struct nacre_request request = { .input_fd = -1 };
    enum nacre_status status =
        nacre_engine_policy(engine, finding->path, &policy, &finding->err);

    if (status == NACRE_OK)
        status = nacre_engine_draft(engine, policy, &request, &plan, &finding->err);
    if (status == NACRE_OK)
        status = nacre_policy_advise(policy, &advice, &finding->err);
    if (status != NACRE_OK)
        return status;
    (void)snprintf(finding->line, sizeof(finding->line), "policy %s%s%s, level %s",
                   policy->name, policy->version ? " " : "",
                   policy->version ? policy->version : "",
                   nacre_level_name(policy->level));
    finding->facts = json_pack(
        "{s:o, s:o, s:s, s:o, s:o, s:o}", "name", cli_json_text(policy->name), "source",
        cli_json_text(policy->source), "level", nacre_level_name(policy->level), "digest",
        cli_json_digest(&policy->digest), "advice",
        cli_advice_json(policy->source, &advice), "notes",
        cli_refused_json(policy, plan));
    return NACRE_OK;
}

static enum nacre_status fail_imports(const struct nacre_module_info *info,
                                      uint32_t count, struct nacre_error *err)
{
    char names[360] = "";
    size_t used = 0;

    for (uint32_t i = 0; i < info->import_count && used < sizeof(names) - 1; i++) {
        char module[NACRE_SHOWN], name[NACRE_SHOWN];
        int wrote;

        if (info->imports[i].known)
            continue;
        wrote = snprintf(names + used, sizeof(names) - used, "%s%s.%s", used ? ", " : "",
                         nacre_text_shown(module, info->imports[i].module),
                         nacre_text_shown(name, info->imports[i].name));
        used += wrote > 0 ? (size_t)wrote : 0;
    }
    return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE,
                      "imports what nacre does not serve (%" PRIu32 "): %s%s", count,
                      names, used >= sizeof(names) ? "..." : "");
}

static enum nacre_status check_module(struct finding *finding)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    NACRE_AUTO(nacre_module_info_guard) struct nacre_module_info *info = NULL;
    enum nacre_status status = nacre_tool_load(finding->path, &tool, &finding->err);
    uint32_t unknown;

    if (status == NACRE_OK)
        status = nacre_module_read(tool, &info, &finding->err);
    if (status != NACRE_OK)
        return status;
    unknown = cli_module_unknown(info);
    finding->facts =
        json_pack("{s:o, s:o, s:o, s:o}", "name", cli_json_text(tool->name), "digest",
                  cli_json_digest(&tool->digest), "refused",
                  info->refused[0] ? cli_json_text(info->refused) : json_null(),
                  "unknown_imports", cli_unknown_json(info));
    (void)snprintf(finding->line, sizeof(finding->line),
                   "%s, %" PRIu32 " import%s served",
                   info->is_command ? "command" : "reactor", info->import_count,
                   cli_plural(info->import_count));
    if (info->refused[0])
        return nacre_fail(&finding->err, NACRE_ERR_NOT_RUNNABLE, "%s", info->refused);
    if (unknown > 0)
        return fail_imports(info, unknown, &finding->err);
    return NACRE_OK;
}

/* Unwise is a warning, without effect a note; neither fails the check. */
static void print_advice(const struct finding *finding)
{
    const char *place, *text;
    json_t *advice;
    int unwise;
    size_t i;

    json_array_foreach(json_object_get(finding->facts, "advice"), i, advice)
        if (json_unpack(advice, "{s:s, s:s, s:b}", "place", &place, "text", &text,
                        "unwise", &unwise) == 0)
            (void)printf("%s: %s: %s\n", place, unwise ? "warning" : "note", text);
}

static bool is_folder(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* A tool's folder: its manifest, the schema in it, and the module that it names. */
static enum nacre_status check_tool(struct finding *finding)
{
    NACRE_AUTO(nacre_manifest_guard) struct nacre_manifest *manifest = NULL;
    enum nacre_status status =
        nacre_manifest_load(finding->path, &manifest, &finding->err);
    struct finding module = { .kind = "module" };
    char found[NACRE_HEX], said[NACRE_HEX];
    const char *digest;

    if (status != NACRE_OK)
        return status;
    module.path = manifest->module;
    status = check_module(&module);
    finding->facts = json_pack(
        "{s:o, s:o, s:O?, s:b}", "name", cli_json_text(manifest->name), "version",
        cli_json_text(manifest->version), "module", module.facts, "sealed",
        manifest->has_digest);
    (void)snprintf(finding->line, sizeof(finding->line), "tool %s %s%s, %.300s",
                   manifest->name, manifest->version,
                   manifest->has_digest ? "" : " (its module is not sealed by a digest)",
                   module.line);
    digest = json_string_value(json_object_get(module.facts, "digest"));
    (void)snprintf(found, sizeof(found), "%s", digest ? digest : "");
    json_decref(module.facts);
    if (status != NACRE_OK) {
        finding->err = module.err;
        return status;
    }
    (void)nacre_digest_hex(&manifest->digest, said);
    if (manifest->has_digest && strcmp(said, found) != 0)
        return nacre_fail_at(&finding->err, NACRE_ERR_DENIED, manifest->source,
                             manifest->digest_place.line, manifest->digest_place.column,
                             "nacre/digest is %s, the module's is %s", said, found);
    return NACRE_OK;
}

static void print_finding(const struct finding *finding)
{
    const struct nacre_error *err = &finding->err;
    char path[256], line[sizeof(err->file) + sizeof(err->text) + 32];
    const char *place, *text, *fix;
    json_t *note;
    size_t i;

    (void)nacre_text_show(path, sizeof(path), finding->path, strlen(finding->path));
    if (finding->status != NACRE_OK) {
        nacre_error_print(err, line, sizeof(line));
        cli_say_lines(err->file[0] ? "error" : path, line);
        return;
    }
    (void)printf("%s: ok: %s\n", path, finding->line);
    print_advice(finding);
    json_array_foreach(json_object_get(finding->facts, "notes"), i, note)
        if (json_unpack(note, "{s:s, s:s, s:s}", "place", &place, "text", &text, "fix",
                        &fix) == 0)
            (void)printf("%s: note: can't run here: %s\n    fix: %s\n", place, text, fix);
}

static json_t *finding_json(const struct finding *finding)
{
    json_t *object = json_pack("{s:o, s:s, s:b}", "path", cli_json_text(finding->path),
                               "kind", finding->kind, "ok", finding->status == NACRE_OK);
    bool whole = object != NULL;

    if (whole && finding->facts)
        whole = json_object_update(object, finding->facts) == 0;
    if (whole && finding->status != NACRE_OK)
        whole = json_object_set_new(object, "error", cli_json_error(&finding->err)) == 0;
    if (whole)
        return object;
    json_decref(object);
    return NULL;
}

/* By its content.  What is neither is told as what its name says: of a .yaml what a
 * policy lacks, of anything else what no reader understood. */
static enum nacre_status check_document(struct nacre_engine *engine,
                                        struct finding *finding)
{
    bool is_yaml = ends_with(finding->path, ".yaml") || ends_with(finding->path, ".yml");
    enum nacre_dialect dialect = NACRE_DIALECT_UNSET;
    struct nacre_error unread;
    bool known = cli_config_recognise(finding->path, &dialect, &unread);
    enum nacre_status status;

    if (!known || dialect == NACRE_DIALECT_CKP ||
        (dialect == NACRE_DIALECT_UNSET && is_yaml)) {
        status = check_policy(engine, finding);
        /* Flow style, which is YAML and no JSON5, may be a policy; else it is JSON5. */
        if (status != NACRE_OK && !known && !is_yaml && unread.status == NACRE_ERR_PARSE)
            finding->err = unread;
        return status == NACRE_OK ? NACRE_OK : finding->err.status;
    }
    finding->kind = "configuration";
    return cli_config_check(engine, finding->path, &finding->facts, finding->line,
                            sizeof(finding->line), &finding->err);
}

/* Adds the finding to `items`; returns its exit status. */
static int check(struct nacre_engine *engine, const char *path, bool text, json_t *items)
{
    bool module = is_module(path);
    bool folder = !module && is_folder(path);
    struct finding finding = { .path = path,
                               .kind = module   ? "module"
                                       : folder ? "tool"
                                                : "policy" };

    finding.status = module   ? check_module(&finding)
                     : folder ? check_tool(&finding)
                              : check_document(engine, &finding);
    if (text)
        print_finding(&finding);
    else if (json_array_append_new(items, finding_json(&finding)) != 0)
        finding.status = nacre_fail(&finding.err, NACRE_ERR_MEMORY, "no memory");
    json_decref(finding.facts);
    return nacre_status_exit(finding.status);
}

static int run(const struct cli_args *args)
{
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    struct nacre_engine_options quiet = { .audit_off = true };
    struct cli_term term = { 0 };
    struct nacre_error err;
    json_t *items = json_array();
    int status = 0;

    if (cli_engine_open(quiet, &term, &engine, &err) != NACRE_OK) {
        json_decref(items);
        return cli_fail(args, &err);
    }
    for (size_t i = 0; i < args->operand_count; i++) {
        int found = check(engine, args->operands[i], !args->json, items);

        status = status == 0 ? found : status;
    }
    if (!args->json)
        json_decref(items);
    else if (!cli_json_print(json_pack("{s:b, s:o}", "ok", status == 0, "items", items)))
        return nacre_status_exit(NACRE_ERR_MEMORY);
    return status;
}

const struct cli_verb cli_verb_check = {
    .name = "check",
    .summary = "judge policies, configurations, modules and tools; nothing runs",
    .operands = "PATH...",
    .about =
        "A policy must be valid to its last key; lines of it that can't be enforced\n"
        "here are noted. A configuration (OpenClaw, Clawdbot, Clawdis, config.yml,\n"
        "Clawpy) is known by its content and settled for each of its agents; what is\n"
        "legal in it but unwise is warned of, and that does not change the exit status.\n"
        "A module must be readable, need no refused feature and import nothing unknown.\n"
        "A directory is a tool's folder: its manifest, the schema in it, its module and\n"
        "the module's digest are judged. The exit status is that of the first failure.",
    .example = "  nacre check policies/workspace.yaml tool.wasm\n"
               "  nacre check ~/.openclaw/openclaw.json clawpy:agent",
    .operand_offer = CLI_OFFER_FILES,
    .operands_min = 1,
    .operands_max = SIZE_MAX,
    .run = run,
};
