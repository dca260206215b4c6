#include "report.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "nacre/own.h"
#include "nacre/text.h"
#include "term.h"

json_t *cli_json_text(const char *text)
{
    char shown[1024];

    if (nacre_text_is_utf8(text, strlen(text)))
        return json_string_nocheck(text);
    return json_string_nocheck(nacre_text_show(shown, sizeof(shown), text, strlen(text)));
}

json_t *cli_json_digest(const struct nacre_digest *digest)
{
    char hex[NACRE_HEX];

    return json_string_nocheck(nacre_digest_hex(digest, hex));
}

json_t *cli_json_mechanisms(const struct nacre_mechanism *mechanisms, uint32_t count)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < count; i++)
        if (json_array_append_new(list,
                                  json_pack("{s:o, s:b, s:o}", "name",
                                            cli_json_text(mechanisms[i].name), "present",
                                            (int)mechanisms[i].present, "detail",
                                            cli_json_text(mechanisms[i].detail))) != 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

json_t *cli_json_error(const struct nacre_error *err)
{
    return json_pack("{s:s, s:o, s:o, s:i, s:i}", "status",
                     nacre_status_name(err->status), "text", cli_json_text(err->text),
                     "file", cli_json_text(err->file), "line", err->line, "column",
                     err->column);
}

bool cli_json_print(json_t *value)
{
    size_t layout = isatty(STDOUT_FILENO) ? JSON_INDENT(2) : JSON_COMPACT;
    int failed = -1;

    if (value) {
        failed = json_dumpf(value, stdout, layout | JSON_ENCODE_ANY);
        (void)fputc('\n', stdout);
        json_decref(value);
    }
    /* A write error stays in stdout's error flag, and main() tells it. */
    if (failed && !ferror(stdout)) {
        cli_say("no memory for the JSON answer");
        return false;
    }
    return true;
}

int cli_fail(const struct cli_args *args, const struct nacre_error *err)
{
    char line[sizeof(err->file) + sizeof(err->text) + 32], shown[sizeof(line) + 128];

    nacre_error_print(err, line, sizeof(line));
    (void)nacre_text_show(shown, sizeof(shown), line, strlen(line));
    (void)fprintf(stderr, "nacre: %s\n", shown);
    if (args->json)
        (void)cli_json_print(json_pack("{s:o}", "error", cli_json_error(err)));
    return nacre_status_exit(err->status);
}

const char *cli_place(char ret_text[CLI_PLACE], const struct nacre_policy *policy,
                      struct nacre_place place)
{
    return cli_place_of(ret_text, policy->source, place);
}

const char *cli_place_of(char ret_text[CLI_PLACE], const char *source,
                         struct nacre_place place)
{
    char shown[256];

    if (place.line == 0)
        (void)snprintf(ret_text, CLI_PLACE, "default");
    else
        (void)snprintf(ret_text, CLI_PLACE, "%s:%d:%d",
                       nacre_text_show(shown, sizeof(shown), source, strlen(source)),
                       place.line, place.column);
    return ret_text;
}
