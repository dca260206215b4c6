/* A module's names are its author's: they are shown, never trusted. */
#include "needs.h"

#include <stdio.h>
#include <string.h>

#include "nacre/own.h"
#include "nacre/text.h"
#include "report.h"

bool cli_module_needs(const struct nacre_module_info *info, enum nacre_capability wanted)
{
    for (uint32_t i = 0; i < info->import_count; i++)
        if (info->imports[i].known && info->imports[i].capability == wanted)
            return true;
    return false;
}

uint32_t cli_module_unknown(const struct nacre_module_info *info)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < info->import_count; i++)
        count += !info->imports[i].known;
    return count;
}

struct cli_grant cli_grant_of(const struct nacre_policy *policy,
                              enum nacre_capability capability)
{
    if (capability == NACRE_CAPABILITY_FILES)
        return (struct cli_grant){
            .granted = policy->filesystem.mode != NACRE_FILESYSTEM_DENY &&
                       (policy->filesystem.mode != NACRE_FILESYSTEM_SCOPED ||
                        policy->filesystem.mounts.count > 0),
            .rule = "capabilities.filesystem.mode",
            .value = nacre_filesystem_mode_name(policy->filesystem.mode),
            .place = policy->filesystem.mode_place,
        };
    if (capability == NACRE_CAPABILITY_NETWORK)
        return (struct cli_grant){
            .granted = policy->network.mode == NACRE_NETWORK_ALLOW_ALL ||
                       (policy->network.mode == NACRE_NETWORK_ALLOWLIST &&
                        policy->network.allowed_hosts.count > 0),
            .rule = "capabilities.network.mode",
            .value = nacre_network_mode_name(policy->network.mode),
            .place = policy->network.mode_place,
        };
    return (struct cli_grant){ .granted = true, .rule = "", .value = "" };
}

json_t *cli_needs_json(const struct nacre_module_info *info,
                       const struct nacre_policy *policy)
{
    json_t *list = json_array();

    for (enum nacre_capability each = 1; each < NACRE_CAPABILITY_COUNT; each++) {
        struct cli_grant grant = cli_grant_of(policy, each);

        if (!cli_module_needs(info, each))
            continue;
        if (json_array_append_new(list, json_pack("{s:s, s:b, s:s, s:s, s:i, s:i}",
                                                  "name", nacre_capability_name(each),
                                                  "granted", (int)grant.granted, "rule",
                                                  grant.rule, "value", grant.value,
                                                  "line", grant.place.line, "column",
                                                  grant.place.column)) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

void cli_needs_print(const struct nacre_module_info *info,
                     const struct nacre_policy *policy)
{
    char place[CLI_PLACE];
    bool any = false;

    for (enum nacre_capability each = 1; each < NACRE_CAPABILITY_COUNT; each++) {
        struct cli_grant grant = cli_grant_of(policy, each);

        if (!cli_module_needs(info, each))
            continue;
        any = true;
        if (!grant.rule[0])
            (void)printf("  %-12s granted to every guest\n", nacre_capability_name(each));
        else
            (void)printf("  %-12s %s by %s: %s %s\n", nacre_capability_name(each),
                         grant.granted ? "granted" : "not granted",
                         cli_place(place, policy, grant.place), grant.rule, grant.value);
    }
    if (!any)
        (void)puts("  nothing");
}

json_t *cli_unknown_json(const struct nacre_module_info *info)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < info->import_count; i++) {
        const struct nacre_module_item *import = &info->imports[i];

        if (import->known)
            continue;
        if (json_array_append_new(list,
                                  json_pack("{s:o, s:o, s:o}", "module",
                                            cli_json_text(import->module), "name",
                                            cli_json_text(import->name), "signature",
                                            cli_json_text(import->signature))) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

const struct nacre_executor *cli_executor_of(struct nacre_engine *engine,
                                             enum nacre_level level,
                                             struct nacre_error *ret_why)
{
    const struct nacre_executor *executor;

    return nacre_engine_executor(engine, level, &executor, ret_why) == NACRE_OK ? executor
                                                                                : NULL;
}

json_t *cli_refused_json(const struct nacre_policy *policy,
                         const struct nacre_plan *plan)
{
    json_t *notes = json_array();
    char place[CLI_PLACE];

    for (uint32_t i = 0; i < plan->decision_count; i++) {
        const struct nacre_decision *decision = &plan->decisions[i];

        if (decision->verdict != NACRE_VERDICT_REFUSE)
            continue;
        if (json_array_append_new(
                notes, json_pack("{s:o, s:s, s:o, s:o}", "place",
                                 cli_json_text(cli_place(place, policy, decision->place)),
                                 "rule", decision->rule, "text",
                                 cli_json_text(decision->what), "fix",
                                 cli_json_text(decision->fix))) != 0) {
            json_decref(notes);
            return NULL;
        }
    }
    return notes;
}
