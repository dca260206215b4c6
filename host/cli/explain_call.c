#include "explain_call.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "nacre/text.h"
#include "report.h"

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);

    return length >= tail && strcmp(text + length - tail, end) == 0;
}

bool cli_is_tool_name(const char *text)
{
    struct stat info;

    return !strchr(text, '/') && !ends_with(text, ".wasm") && !ends_with(text, ".wat") &&
           (stat(text, &info) != 0 || S_ISDIR(info.st_mode));
}

/* file:line:column */
#define PLACE_BYTES (sizeof(((struct nacre_answer *)0)->file) + 32)

static const char *place_of(char ret_place[PLACE_BYTES],
                            const struct nacre_answer *answer)
{
    ret_place[0] = '\0';
    if (answer->place.line > 0)
        (void)snprintf(ret_place, PLACE_BYTES, "%s%s%d:%d", answer->file,
                       answer->file[0] ? ":" : "", answer->place.line,
                       answer->place.column);
    return ret_place;
}

json_t *cli_intent_json(const struct nacre_answer *intent)
{
    char place[PLACE_BYTES];

    return json_pack("{s:b, s:o, s:s, s:s}", "required", !intent->allowed, "why",
                     cli_json_text(intent->text), "rule", intent->rule, "place",
                     place_of(place, intent));
}

void cli_intent_print(const struct nacre_answer *intent)
{
    char place[PLACE_BYTES];

    if (intent->rule[0])
        (void)printf("  %s; decided by %s at %s\n", intent->text, intent->rule,
                     place_of(place, intent));
}

enum nacre_status cli_explain_call_json(struct nacre_engine *engine,
                                        const struct nacre_call *call, json_t **ret_json,
                                        struct nacre_error *err)
{
    struct nacre_answer answer = { 0 }, intent = { 0 };
    enum nacre_level level = NACRE_LEVEL_UNSET;
    char place[PLACE_BYTES];
    enum nacre_status status = nacre_call_explain(engine, call, &level, &answer, &intent,
                                                  err);

    if (status != NACRE_OK)
        return status;
    *ret_json = json_pack(
        "{s:o, s:b, s:o, s:o, s:s, s:s, s:o, s:o}", "tool", cli_json_text(call->tool),
        "runs", answer.allowed, "level",
        level ? json_string(nacre_level_name(level)) : json_null(), "why",
        cli_json_text(answer.text), "rule", answer.rule, "place",
        place_of(place, &answer), "fix", cli_json_text(answer.fix), "intent",
        cli_intent_json(&intent));
    return *ret_json ? NACRE_OK
                     : nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the answer");
}

enum nacre_status cli_explain_call(struct nacre_engine *engine,
                                   const struct nacre_call *call, struct nacre_error *err)
{
    struct nacre_answer answer = { 0 }, intent = { 0 };
    enum nacre_level level = NACRE_LEVEL_UNSET;
    char place[PLACE_BYTES], shown[NACRE_SHOWN];
    enum nacre_status status = nacre_call_explain(engine, call, &level, &answer, &intent,
                                                  err);

    if (status != NACRE_OK)
        return status;
    (void)nacre_text_shown(shown, call->tool);
    (void)place_of(place, &answer);
    if (answer.allowed)
        (void)printf("%s would run at level %s: %s\n", shown, nacre_level_name(level),
                     answer.text);
    else
        (void)printf("%s would not run: %s\n", shown, answer.text);
    if (answer.rule[0])
        (void)printf("  decided by %s%s%s\n", answer.rule, place[0] ? " at " : "", place);
    if (answer.fix[0])
        (void)printf("  fix: %s\n", answer.fix);
    cli_intent_print(&intent);
    return NACRE_OK;
}
