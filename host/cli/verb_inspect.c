/* A module is hostile: its names go to the terminal only after being made fit. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "nacre/own.h"
#include "nacre/text.h"
#include "needs.h"
#include "report.h"
#include "request.h"
#include "verbs.h"

enum { OPT_POLICY, OPT_COUNT };

static const struct cli_option options[OPT_COUNT] = {
    [OPT_POLICY] = CLI_OPTION_POLICY,
};

#define PAGE_BYTES UINT64_C(65536)

static const char *kind_name(const struct nacre_module_info *info)
{
    if (info->is_command)
        return "command";
    return info->is_reactor ? "reactor" : "module";
}

static const char *item_kind(char kind)
{
    switch (kind) {
    case 'f':
        return "func";
    case 'm':
        return "memory";
    case 't':
        return "table";
    case 'g':
        return "global";
    default:
        return "tag";
    }
}

static void print_item(const struct nacre_module_item *item)
{
    char module[NACRE_SHOWN], name[NACRE_SHOWN], signature[256];
    const char *text = item->signature ? item->signature : "";

    (void)printf("  %-7s", item_kind(item->kind));
    if (item->module)
        (void)printf("%s.", nacre_text_shown(module, item->module));
    (void)printf("%s %s", nacre_text_shown(name, item->name),
                 nacre_text_show(signature, sizeof(signature), text, strlen(text)));
    if (item->module)
        (void)printf("  [%s]", item->known ? nacre_capability_name(item->capability)
                                           : "unknown: nacre does not serve it");
    (void)putchar('\n');
}

static void print_text(const struct nacre_tool *tool, const struct nacre_policy *policy,
                       const struct nacre_module_info *info)
{
    char name[NACRE_SHOWN], hex[NACRE_HEX];

    (void)printf("%s: WebAssembly %s, %zu bytes, sha256 %s\n",
                 nacre_text_shown(name, tool->name), kind_name(info), tool->count,
                 nacre_digest_hex(&tool->digest, hex));
    if (!info->has_memory)
        (void)puts("memory: none");
    else if (info->memory_pages_max == UINT64_MAX)
        (void)printf("memory: %" PRIu64 " KiB at start, no maximum of its own\n",
                     info->memory_pages_min * (PAGE_BYTES / 1024));
    else
        (void)printf("memory: %" PRIu64 " KiB at start, at most %" PRIu64 " KiB\n",
                     info->memory_pages_min * (PAGE_BYTES / 1024),
                     info->memory_pages_max * (PAGE_BYTES / 1024));
    (void)printf("functions: %" PRIu32 "%s\n", info->function_count,
                 info->has_names ? ""
                                 : ", without names: a backtrace shows numbers only");
    if (info->refused[0])
        (void)printf("refused: %s\n", info->refused);
    (void)puts("needs:");
    cli_needs_print(info, policy);
    (void)puts("imports:");
    for (uint32_t i = 0; i < info->import_count; i++)
        print_item(&info->imports[i]);
    (void)puts("exports:");
    for (uint32_t i = 0; i < info->export_count; i++)
        print_item(&info->exports[i]);
}

static json_t *items_json(const struct nacre_module_item *items, uint32_t count)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < count; i++) {
        const struct nacre_module_item *item = &items[i];
        json_t *each = json_pack("{s:o, s:s, s:o}", "name", cli_json_text(item->name),
                                 "kind", item_kind(item->kind), "signature",
                                 cli_json_text(item->signature ? item->signature : ""));

        if (each && item->module &&
            (json_object_set_new(each, "module", cli_json_text(item->module)) != 0 ||
             json_object_set_new(each, "known", json_boolean(item->known)) != 0 ||
             json_object_set_new(each, "capability",
                                 json_string(nacre_capability_name(item->capability))) !=
                 0)) {
            json_decref(each);
            each = NULL;
        }
        if (json_array_append_new(list, each) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *memory_json(const struct nacre_module_info *info)
{
    if (!info->has_memory)
        return json_null();
    return json_pack("{s:I, s:o}", "pages_min", (json_int_t)info->memory_pages_min,
                     "pages_max",
                     info->memory_pages_max == UINT64_MAX
                         ? json_null()
                         : json_integer((json_int_t)info->memory_pages_max));
}

static json_t *info_json(const struct nacre_tool *tool, const struct nacre_policy *policy,
                         const struct nacre_module_info *info)
{
    return json_pack(
        "{s:o, s:o, s:I, s:s, s:o, s:i, s:b, s:o, s:{s:o, s:o}, s:o, s:o, s:o}",
        "name", cli_json_text(tool->name),
        "digest", cli_json_digest(&tool->digest),
        "bytes", (json_int_t)tool->count,
        "kind", kind_name(info),
        "memory", memory_json(info),
        "functions", (int)info->function_count,
        "names", (int)info->has_names,
        "refused", info->refused[0] ? cli_json_text(info->refused) : json_null(),
        "policy", "name", cli_json_text(policy->name),
                  "source", cli_json_text(policy->source),
        "needs", cli_needs_json(info, policy),
        "imports", items_json(info->imports, info->import_count),
        "exports", items_json(info->exports, info->export_count));
}

static int run(const struct cli_args *args)
{
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    NACRE_AUTO(nacre_policy_guard) struct nacre_policy *policy = NULL;
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    NACRE_AUTO(nacre_module_info_guard) struct nacre_module_info *info = NULL;
    struct nacre_engine_options quiet = { .audit_off = true };
    struct cli_term term = { 0 };
    struct nacre_error err;

    if (cli_engine_open(quiet, &term, &engine, &err) != NACRE_OK ||
        nacre_engine_policy(engine, args->values[OPT_POLICY].text, &policy, &err) !=
            NACRE_OK ||
        nacre_tool_load(args->operands[0], &tool, &err) != NACRE_OK ||
        nacre_module_read(tool, &info, &err) != NACRE_OK)
        return cli_fail(args, &err);
    if (!args->json)
        print_text(tool, policy, info);
    else if (!cli_json_print(info_json(tool, policy, info)))
        return nacre_status_exit(NACRE_ERR_MEMORY);
    return 0;
}

const struct cli_verb cli_verb_inspect = {
    .name = "inspect",
    .summary = "show what a module is, what it needs, and what a policy grants of that",
    .operands = "MODULE",
    .about = "The module's sections are read; nothing of it is compiled or run.",
    .example = "  nacre inspect --policy workspace tool.wasm",
    .options = options,
    .option_count = OPT_COUNT,
    .operand_offer = CLI_OFFER_FILES,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
