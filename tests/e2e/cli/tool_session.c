/*
 * A program that embeds nacre and lives through a whole session of tool calls:
 *
 *     tool_session CONFIG SESSION [AGENT]
 *
 * Reads lines "TOOL JSON" and answers each with a line: "ok", or "error CODE".  Between
 * two lines it does nothing, so that somebody else can look at it.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/call.h"

static void check(enum nacre_status status, const struct nacre_error *err)
{
    if (status == NACRE_OK)
        return;
    (void)fprintf(stderr, "tool_session: %s\n", err->text);
    exit(1);
}

static void call_line(struct nacre_engine *engine, const struct nacre_session *session,
                      char *line)
{
    char *arguments = strchr(line, ' ');
    struct nacre_call call = { .tool = line, .session = session,
                               .request = { .input_fd = -1 } };
    json_t *answer = NULL;
    struct nacre_error err;
    const char *code;

    line[strcspn(line, "\n")] = '\0';
    if (!arguments)
        exit(2);
    *arguments++ = '\0';
    call.arguments = arguments;
    call.argument_bytes = strlen(arguments);
    check(nacre_call(engine, &call, &answer, &err), &err);
    code = json_string_value(
        json_object_get(json_object_get(answer, "structuredContent"), "code"));
    if (json_is_true(json_object_get(answer, "isError")))
        (void)printf("error %s\n", code ? code : "none");
    else
        (void)puts("ok");
    (void)fflush(stdout);
    json_decref(answer);
}

int main(int argc, char **argv)
{
    const struct nacre_engine_options options = { 0 };
    const struct nacre_session_ask ask = { .session = argc > 2 ? argv[2] : NULL,
                                           .agent = argc > 3 ? argv[3] : NULL,
                                           .home = getenv("HOME") };
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config = NULL;
    NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
    struct nacre_error err;
    size_t room = 0;
    char *line = NULL;

    if (argc != 3 && argc != 4)
        return 2;
    check(nacre_engine_open(&options, &engine, &err), &err);
    check(nacre_config_load(argv[1], &config, &err), &err);
    check(nacre_session_settle(config, &ask, &session, &err), &err);
    while (getline(&line, &room, stdin) > 0)
        call_line(engine, session, line);
    free(line);
    return 0;
}
