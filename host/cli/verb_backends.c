#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nacre/own.h"
#include "nacre/text.h"
#include "needs.h"
#include "report.h"
#include "verbs.h"

static json_t *features_json(uint64_t mask)
{
    json_t *list = json_array();

    for (uint64_t bit = 1; bit != 0 && bit <= mask; bit <<= 1)
        if (mask & bit &&
            json_array_append_new(
                list, json_string(nacre_feature_name((enum nacre_feature)bit))) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* `why` tells about a level that has no executor here. */
static json_t *level_json(enum nacre_level level, const struct nacre_executor *executor,
                          const char *why)
{
    uint64_t all = nacre_level_features(level);

    if (!executor)
        return json_pack("{s:s, s:b, s:o}", "level", nacre_level_name(level), "available",
                         0, "why", cli_json_text(why));
    return json_pack(
        "{s:s, s:b, s:o, s:o, s:o}", "level", nacre_level_name(level), "available", 1,
        "enforces", features_json(executor->features & all), "lacks",
        features_json(all & ~executor->features), "walls",
        cli_json_mechanisms(executor->mechanisms, executor->mechanism_count));
}

static void print_features(const char *lead, uint64_t mask)
{
    int column = 0;

    for (uint64_t bit = 1; bit != 0 && bit <= mask; bit <<= 1) {
        const char *name;

        if (!(mask & bit))
            continue;
        name = nacre_feature_name((enum nacre_feature)bit);
        if (column == 0 || column > 70)
            column = printf("%s%s", column ? ",\n            " : lead, name);
        else
            column += printf(", %s", name);
    }
    if (column)
        (void)putchar('\n');
}

static void print_level(enum nacre_level level, const struct nacre_executor *executor,
                        const char *why)
{
    bool colour = cli_term_colours(STDOUT_FILENO);
    uint64_t all = nacre_level_features(level);

    if (!executor) {
        (void)printf("%-10s not available: %s\n", nacre_level_name(level), why);
        return;
    }
    (void)printf("%-10s %savailable%s\n", nacre_level_name(level),
                 colour ? "\033[32m" : "", colour ? "\033[0m" : "");
    print_features("  enforces  ", executor->features & all);
    print_features("  lacks     ", all & ~executor->features);
    for (uint32_t i = 0; i < executor->mechanism_count; i++) {
        const struct nacre_mechanism *wall = &executor->mechanisms[i];
        char detail[2 * sizeof(wall->detail)];

        (void)printf("  %-9s %s: %s\n", wall->present ? "wall" : "no wall", wall->name,
                     nacre_text_show(detail, sizeof(detail), wall->detail,
                                     strlen(wall->detail)));
    }
}

static int run(const struct cli_args *args)
{
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    struct nacre_engine_options quiet = { .audit_off = true };
    struct cli_term term = { 0 };
    struct nacre_error err;
    json_t *levels = json_array();
    int failed = 0;

    if (cli_engine_open(quiet, &term, &engine, &err) != NACRE_OK) {
        json_decref(levels);
        return cli_fail(args, &err);
    }
    for (enum nacre_level level = 1; level < NACRE_LEVEL_COUNT; level++) {
        const struct nacre_executor *executor = cli_executor_of(engine, level, &err);
        char why[sizeof(err.file) + sizeof(err.text) + 32] = "", shown[sizeof(why) + 128];

        if (!executor) /* with its place, if it is a line of host.yaml */
            nacre_error_print(&err, why, sizeof(why));
        if (args->json)
            failed |= json_array_append_new(levels, level_json(level, executor, why));
        else
            print_level(level, executor,
                        nacre_text_show(shown, sizeof(shown), why, strlen(why)));
    }
    if (args->json && !failed)
        failed = !cli_json_print(json_pack("{s:O}", "levels", levels));
    json_decref(levels);
    return failed ? nacre_status_exit(NACRE_ERR_MEMORY) : 0;
}

const struct cli_verb cli_verb_backends = {
    .name = "backends",
    .summary = "show what this machine can enforce, probed, and what it lacks",
    .operands = "",
    .about =
        "For each level of isolation: what its executor enforces here, what it lacks,\n"
        "and which walls stand around a guest.",
    .example = "  nacre backends",
    .run = run,
};
