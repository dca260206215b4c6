#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "nacre/input.h"
#include "nacre/own.h"
#include "report.h"
#include "verbs.h"

enum { OPT_STRICT, OPT_LIST, OPT_COUNT };

static const struct cli_option options[OPT_COUNT] = {
    [OPT_STRICT] = { "--strict", .kind = CLI_FLAG,
                     .help = "classes as under nacre/input-scan: strict" },
    [OPT_LIST] = { "--list", .kind = CLI_FLAG,
                   .help = "show the rules instead, with their scores" },
};

static json_t *hits_json(const struct nacre_input_scan *scan)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < scan->hit_count; i++) {
        const struct nacre_input_hit *hit = &scan->hits[i];
        json_t *item = json_pack("{s:s, s:i, s:I, s:b}", "rule", hit->rule, "score",
                                 (int)hit->score, "offset", (json_int_t)hit->offset,
                                 "encoded", (int)hit->encoded);

        if (json_array_append_new(list, item) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *rules_json(void)
{
    json_t *list = json_array();
    const struct nacre_input_rule *rule;

    for (size_t i = 0; (rule = nacre_input_rule(i)) != NULL; i++)
        if (json_array_append_new(list, json_pack("{s:s, s:i, s:s}", "rule", rule->name,
                                                  "score", (int)rule->score, "about",
                                                  rule->about)) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static int list_rules(const struct cli_args *args)
{
    const struct nacre_input_rule *rule;

    if (args->json)
        return cli_json_print(rules_json()) ? 0 : nacre_status_exit(NACRE_ERR_MEMORY);
    for (size_t i = 0; (rule = nacre_input_rule(i)) != NULL; i++)
        (void)printf("%3" PRIu32 "  %-22s %s\n", rule->score, rule->name, rule->about);
    return 0;
}

static int tell(const struct cli_args *args, const struct nacre_input_scan *scan,
                enum nacre_input_class class)
{
    if (args->json)
        return cli_json_print(json_pack("{s:s, s:i, s:o}", "class",
                                        nacre_input_class_name(class), "score",
                                        (int)scan->score, "hits", hits_json(scan)))
                   ? 0
                   : nacre_status_exit(NACRE_ERR_MEMORY);
    (void)printf("%s: a score of %" PRIu32 "\n", nacre_input_class_name(class),
                 scan->score);
    for (uint32_t i = 0; i < scan->hit_count; i++)
        (void)printf("%3" PRIu32 "  %-22s at byte %zu%s\n", scan->hits[i].score,
                     scan->hits[i].rule, scan->hits[i].offset,
                     scan->hits[i].encoded ? ", in base64" : "");
    return 0;
}

static int run(const struct cli_args *args)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf input = NACRE_BUF(NACRE_INPUT_BYTES_MAX);
    bool strict = args->values[OPT_STRICT].given;
    struct nacre_input_scan scan = { 0 };
    struct nacre_error err;
    enum nacre_status status;

    if (args->values[OPT_LIST].given)
        return list_rules(args);
    status = nacre_buf_read(&input, STDIN_FILENO, &err);
    if (status == NACRE_OK)
        status = nacre_input_scan_add(&scan, "stdin", input.bytes ? input.bytes : "",
                                      input.size, &err);
    if (status != NACRE_OK)
        return cli_fail(args, &err);
    return tell(args, &scan, nacre_input_scan_class(&scan, strict ? NACRE_INPUT_STRICT
                                                                  : NACRE_INPUT_ON));
}

const struct cli_verb cli_verb_input_scan = {
    .name = "input-scan",
    .summary = "score what stands on stdin as a tool's input: safe, suspect or attack",
    .operands = "",
    .about =
        "Reads stdin, at most 64 MiB, and shows which rules of the input scan it meets:\n"
        "phrases of prompt injection, terminal escapes, hidden Unicode, encoded\n"
        "commands, path tricks. A policy switches the scan on for runs by the\n"
        "annotations nacre/input-scan, nacre/on-suspect and nacre/on-attack. It finds\n"
        "known wordings, not every one. The exit status is 0 whatever the class.",
    .example = "  nacre input-scan --json < page.html\n"
               "  nacre input-scan --list",
    .options = options,
    .option_count = OPT_COUNT,
    .run = run,
};
