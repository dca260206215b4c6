/* A result carries what a guest wrote and named: output, trap texts and function
 * names are hostile here, the rest is nacre's own. */
#include "run_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/base64.h"
#include "nacre/own.h"
#include "nacre/text.h"
#include "report.h"
#include "term.h"

static json_t *base64(const struct nacre_buf *stream)
{
    NACRE_AUTO(nacre_heap_guard) char *text = malloc(NACRE_BASE64_SIZE(stream->size));

    if (!text)
        return NULL;
    return json_stringn_nocheck(
        text,
        nacre_base64_write(NACRE_BASE64_PLAIN, stream->bytes, stream->size, text));
}

/* "stdout", or "stdout_base64" where it is not text. */
static int set_stream(json_t *object, const char *name, const struct nacre_buf *stream)
{
    const char *bytes = stream->bytes ? stream->bytes : "";
    char encoded[32];

    if (nacre_text_is_utf8(bytes, stream->size))
        return json_object_set_new(object, name,
                                   json_stringn_nocheck(bytes, stream->size));
    (void)snprintf(encoded, sizeof(encoded), "%s_base64", name);
    return json_object_set_new(object, encoded,
                               base64(stream));
}

static json_t *number(uint64_t value)
{
    return json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value);
}

static json_t *usage_json(const struct nacre_usage *usage)
{
    return json_pack("{s:o, s:o, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o}",
                     usage->fuel_exact ? "fuel" : "fuel_at_least", number(usage->fuel),
                     "memory_bytes_peak", number(usage->memory_bytes_peak),
                     "memory_refused", (int)usage->memory_refused,
                     "processes_refused", (int)usage->processes_refused,
                     "wall_ns", number(usage->wall_ns),
                     "compile_ns", number(usage->compile_ns),
                     "cpu_ns", number(usage->cpu_ns),
                     "bytes_read", number(usage->bytes_read),
                     "bytes_written", number(usage->bytes_written),
                     "files_opened", number(usage->files_opened));
}

static json_t *denial_json(const struct cli_ran *ran, const struct nacre_denial *denial)
{
    return json_pack("{s:o, s:o, s:o, s:i, s:i, s:o, s:o}", "code",
                     cli_json_text(denial->code), "rule", cli_json_text(denial->rule),
                     "file", cli_json_text(ran->policy->source), "line",
                     denial->place.line, "column", denial->place.column, "text",
                     cli_json_text(denial->text), "fix", cli_json_text(denial->fix));
}

static json_t *denials_json(const struct cli_ran *ran)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < ran->result->denial_count; i++) {
        if (json_array_append_new(list, denial_json(ran, &ran->result->denials[i])) !=
            0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* Which line of the policy ended it, or held it back; NULL: none did. */
static const struct nacre_denial *limit_of(const struct cli_ran *ran,
                                           struct nacre_denial *room)
{
    return nacre_explain_limit(ran->policy, ran->result, ran->timeout_ms,
                               ran->request->fuel, room)
               ? room
               : NULL;
}

static json_t *limit_json(const struct cli_ran *ran)
{
    struct nacre_denial room;
    const struct nacre_denial *limit = limit_of(ran, &room);

    return limit ? denial_json(ran, limit) : json_null();
}

static json_t *egress_json(const struct nacre_result *result)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < result->egress_count; i++) {
        const struct nacre_egress_record *record = &result->egress[i];
        json_t *item = json_pack(
            "{s:o, s:o, s:i, s:b, s:o, s:o, s:o, s:o, s:o}",
            "method", cli_json_text(record->method), "host", cli_json_text(record->host),
            "port", (int)record->port, "sent", (int)record->sent,
            "code", cli_json_text(record->code), "status", number(record->status),
            "hops", number(record->hops), "bytes_sent", number(record->bytes_sent),
            "bytes_received", number(record->bytes_received));

        if (json_array_append_new(list, item) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* How often, never what. */
static json_t *leaks_json(const struct nacre_leak_tally *leaks)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "values", number(leaks->values), "blocked",
                     number(leaks->blocked), "redacted", number(leaks->redacted),
                     "warned", number(leaks->warned));
}

/* What the input scan came to; null when there was none. */
static json_t *input_json(const struct nacre_input_tally *input)
{
    if (input->class == NACRE_INPUT_CLASS_NONE)
        return json_null();
    return json_pack("{s:s, s:o, s:o, s:b, s:o, s:o, s:b}", "class",
                     nacre_input_class_name(input->class), "score",
                     number(input->score), "hits", number(input->hits), "warned",
                     (int)input->warned, "rule", cli_json_text(input->rule), "where",
                     cli_json_text(input->where), "stdin_unscanned",
                     (int)input->stdin_unscanned);
}

/* What the policy asked for and --waive let go, as --waive spells it. */
static json_t *waived_json(uint64_t waived)
{
    json_t *list = json_array();

    for (uint64_t bit = 1; bit != 0 && bit <= waived; bit <<= 1)
        if (waived & bit &&
            json_array_append_new(
                list, json_string(nacre_waiver_name((enum nacre_feature)bit))) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static const char *kind_name(enum nacre_tool_kind kind)
{
    switch (kind) {
    case NACRE_TOOL_MODULE: return "module";
    case NACRE_TOOL_COMMAND: return "command";
    case NACRE_TOOL_SHELL: return "shell";
    case NACRE_TOOL_NONE: break;
    }
    return "none";
}

/* The array that an invoked export returned; null when none was invoked. */
static json_t *values_json(const struct nacre_buf *values)
{
    json_t *array = NULL;

    if (values->size > 0)
        array = json_loadb(values->bytes, values->size, JSON_DECODE_ANY, NULL);
    return array ? array : json_null();
}

json_t *cli_run_json(const struct cli_ran *ran)
{
    const struct nacre_result *result = ran->result;
    json_t *object = json_pack(
        "{s:s, s:i, s:i}", "outcome", nacre_outcome_name(result->outcome), "exit_status",
        nacre_result_exit(result), "signal", result->signal);
    json_t *rest = json_pack(
        "{s:b, s:b, s:o, s:s, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:{s:o, s:o, s:o}, "
        "s:{s:o, s:o, s:s}, s:o, s:o, s:o, s:o, s:o, s:o}",
        "output_cut", (int)result->output_cut,
        "leak", (int)result->leak,
        "leaks", leaks_json(&result->leaks),
        "level", nacre_level_name(ran->policy->level),
        "unsandboxed", (int)result->unsandboxed,
        "degraded", result->waived != 0,
        "waived", waived_json(result->waived),
        "reason", cli_json_text(result->reason),
        "limit", limit_json(ran),
        "values", values_json(&result->values),
        "usage", usage_json(&result->usage),
        "run_id", cli_json_text(result->run_id),
        "policy",
            "name", cli_json_text(ran->policy->name),
            "source", cli_json_text(ran->policy->source),
            "digest", cli_json_digest(&ran->policy->digest),
        "tool",
            "name", cli_json_text(ran->tool->name),
            "digest", cli_json_digest(&ran->tool->digest),
            "kind", kind_name(ran->tool->kind),
        "mechanisms", cli_json_mechanisms(result->mechanisms, result->mechanism_count),
        "denials", denials_json(ran),
        "denials_seen", number(result->denials_seen),
        "egress", egress_json(result),
        "egress_seen", number(result->egress_seen),
        "input", input_json(&result->input));

    if (!object || !rest || set_stream(object, "stdout", &result->output) != 0 ||
        set_stream(object, "stderr", &result->errors) != 0 ||
        json_object_update(object, rest) != 0) {
        json_decref(object);
        object = NULL;
    }
    json_decref(rest);
    return object;
}

/* The fewest digits that read back as the same number. */
static void print_real(double real)
{
    char text[40];
    int digits = 6;

    do
        (void)snprintf(text, sizeof(text), "%.*g", digits, real);
    while (strtod(text, NULL) != real && ++digits <= 17);
    (void)fputs(text, stdout);
}

void cli_run_print_values(const struct cli_ran *ran)
{
    json_t *array = values_json(&ran->result->values), *value;
    size_t i;

    json_array_foreach(array, i, value) {
        if (json_is_string(value))
            (void)fputs(json_string_value(value), stdout);
        else if (json_is_real(value))
            print_real(json_real_value(value));
        else
            (void)json_dumpf(value, stdout, JSON_ENCODE_ANY | JSON_COMPACT);
        (void)fputc('\n', stdout);
    }
    json_decref(array);
}

/* What a request brought has no line: it is told by its option. */
static const char *option_of(const char *rule)
{
    static const struct {
        const char *rule, *option;
    } options[] = {
        { "request.fuel", "--fuel" },
        { "request.timeout_ms", "--timeout-ms" },
        { "request.workspace", "--workspace" },
        { "request.mounts", "--mount" },
    };

    for (size_t i = 0; i < NACRE_COUNT(options); i++)
        if (strcmp(options[i].rule, rule) == 0)
            return options[i].option;
    return rule;
}

/* Who set a limit: an option of this call, or a line of the policy, by the name that its
 * file has for it. */
static void explain_limit(const struct cli_ran *ran)
{
    struct nacre_denial room;
    const struct nacre_denial *limit = limit_of(ran, &room);
    bool asked = limit && strncmp(limit->rule, "request.", 8) == 0;
    char place[CLI_PLACE];

    if (!limit)
        return;
    if (asked)
        cli_say("%s (%s)", limit->text, option_of(limit->rule));
    else
        cli_say("%s (%s, %s)", limit->text, limit->rule,
                cli_place(place, ran->policy, limit->place));
    cli_say("fix: %s", limit->fix);
}

#define DENIALS_TOLD 8

static void explain_denials(const struct cli_ran *ran, const char *lead)
{
    const struct nacre_result *result = ran->result;
    uint32_t told = 0;

    for (; told < result->denial_count && told < DENIALS_TOLD; told++) {
        const struct nacre_denial *denial = &result->denials[told];
        char where[CLI_PLACE] = "", line[CLI_PLACE + sizeof(denial->text)];

        if (denial->place.line > 0)
            (void)cli_place(where, ran->policy, denial->place);
        else
            (void)snprintf(where, sizeof(where), "%s", option_of(denial->rule));
        (void)snprintf(line, sizeof(line), "%s%s%s", where, where[0] ? ": " : "",
                       denial->text);
        cli_say_lines(lead, line);
        if (denial->fix[0])
            cli_say_lines("fix", denial->fix);
    }
    if (result->denials_seen > told)
        cli_say("%s: %" PRIu64 " more; --json and the audit log tell them", lead,
                result->denials_seen - told);
}

/* Told at every end: a run that looks well was not as the policy has it. */
static void explain_waived(uint64_t waived)
{
    char names[256] = "";
    size_t used = 0;

    for (uint64_t bit = 1; bit != 0 && bit <= waived; bit <<= 1)
        if (waived & bit && used < sizeof(names))
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
                                     used ? ", " : "",
                                     nacre_waiver_name((enum nacre_feature)bit));
    if (waived)
        cli_say("degraded: not enforced here, as --waive allows: %s", names);
}

static void explain_leaks(const struct nacre_result *result)
{
    const struct nacre_leak_tally *leaks = &result->leaks;
    uint64_t keys = leaks->blocked, tokens = leaks->redacted;

    if (result->leak || tokens > 0)
        cli_say("%s: kept from leaving: %" PRIu64 " secret value%s, %" PRIu64
                " private key%s, %" PRIu64 " token%s",
                result->leak ? "leak" : "leak scan", leaks->values,
                cli_plural(leaks->values), keys, cli_plural(keys), tokens,
                cli_plural(tokens));
    for (uint32_t i = 0; i < result->denial_count; i++)
        if (strncmp(result->denials[i].code, "leak-", 5) == 0)
            cli_say_lines("leak scan", result->denials[i].text);
    if (leaks->warned > 0)
        cli_say("leak scan: let through, but looks like a credential: %" PRIu64,
                leaks->warned);
}

static void explain_input(const struct nacre_input_tally *input)
{
    if (input->warned)
        cli_say("warning: the input scan says %s: %s in %s (a score of %u)",
                nacre_input_class_name(input->class), input->rule, input->where,
                input->score);
    if (input->stdin_unscanned)
        cli_say("warning: stdin is a terminal and was not scanned");
}

void cli_run_explain(const struct cli_ran *ran)
{
    const struct nacre_result *result = ran->result;

    explain_waived(result->waived);
    explain_leaks(result);
    explain_input(&result->input);
    switch (result->outcome) {
    case NACRE_OUTCOME_DENIED:
        explain_denials(ran, "denied");
        return;
    case NACRE_OUTCOME_TRAPPED:
        cli_say_lines("trapped", result->reason);
        break;
    case NACRE_OUTCOME_KILLED:
        cli_say("killed by signal %d (%s)", result->signal, strsignal(result->signal));
        if (result->reason[0])
            cli_say_lines("why", result->reason);
        break;
    case NACRE_OUTCOME_TIMED_OUT:
    case NACRE_OUTCOME_OUT_OF_FUEL:
    case NACRE_OUTCOME_OUT_OF_MEMORY:
    case NACRE_OUTCOME_OUTPUT_LIMIT:
    case NACRE_OUTCOME_EXITED:
    case NACRE_OUTCOME_NONE:
    case NACRE_OUTCOME_COUNT:
        break;
    }
    explain_limit(ran);
    if (result->outcome == NACRE_OUTCOME_TIMED_OUT && result->reason[0])
        cli_say_lines("where", result->reason);
    /* A guest that did its work has handled its refusals; one that did not may have
     * failed of them, and its own words rarely say so. */
    if (nacre_result_exit(result) != 0)
        explain_denials(ran, "refused");
}
