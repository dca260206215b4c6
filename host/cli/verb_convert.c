#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/convert.h"
#include "nacre/own.h"
#include "nacre/session.h"
#include "nacre/text.h"
#include "report.h"
#include "term.h"
#include "verbs.h"

enum { OPT_TO, OPT_SESSION, OPT_AGENT, OPT_COUNT };

static const struct cli_option options[OPT_COUNT] = {
    [OPT_TO] = { "--to", .kind = CLI_TEXT, .value = "ckp",
                 .help = "the form to write; there is one" },
    [OPT_SESSION] = { "--session", .kind = CLI_TEXT, .value = "KEY",
                      .help = "for this session (the main one)" },
    [OPT_AGENT] = { "--agent", .kind = CLI_TEXT, .value = "ID",
                    .help = "for this agent (the session's, else main)" },
};

static json_t *losses_json(const char *source, const struct nacre_losses *losses)
{
    json_t *list = json_array();

    for (size_t i = 0; i < losses->count; i++) {
        const struct nacre_loss *loss = &losses->items[i];
        char place[CLI_PLACE];

        (void)cli_place_of(place, source, loss->place);
        if (json_array_append_new(list, json_pack("{s:o, s:o, s:i, s:i, s:o}", "key",
                                                  cli_json_text(loss->key), "place",
                                                  cli_json_text(place), "line",
                                                  loss->place.line, "column",
                                                  loss->place.column, "text",
                                                  cli_json_text(loss->text))) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static int tell(const struct cli_args *args, const struct nacre_session *session,
                const struct nacre_buf *text, const struct nacre_losses *losses)
{
    const char *source = session->config->source;

    if (args->json)
        return cli_json_print(json_pack(
                   "{s:s, s:o, s:o, s:b, s:s, s:o}", "dialect",
                   nacre_dialect_name(session->config->dialect), "session",
                   cli_json_text(session->key), "agent", cli_json_text(session->agent),
                   "sandboxed", (int)session->sandboxed, "ckp", text->bytes, "lost",
                   losses_json(source, losses)))
                   ? 0
                   : nacre_status_exit(NACRE_ERR_MEMORY);
    (void)fwrite(text->bytes, 1, text->size, stdout);
    for (size_t i = 0; i < losses->count; i++) {
        char place[CLI_PLACE];

        cli_say("%s: CKP can't say %s: %s",
                cli_place_of(place, source, losses->items[i].place), losses->items[i].key,
                losses->items[i].text);
    }
    return 0;
}

static enum nacre_status judge(const struct cli_args *args, struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    if (!args->values[OPT_TO].given)
        return nacre_fail(err, NACRE_ERR_USAGE, "convert expects --to ckp");
    if (strcmp(args->values[OPT_TO].text, "ckp") != 0)
        return nacre_fail(err, NACRE_ERR_USAGE, "--to expects ckp, not '%s'",
                          nacre_text_shown(shown, args->values[OPT_TO].text));
    return NACRE_OK;
}

static int run(const struct cli_args *args)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config = NULL;
    NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF(NACRE_CKP_BYTES_MAX);
    NACRE_AUTO(nacre_losses_clear) struct nacre_losses losses = { 0 };
    struct nacre_session_ask ask = { .session = args->values[OPT_SESSION].text,
                                     .agent = args->values[OPT_AGENT].text,
                                     .home = getenv("HOME") };
    struct nacre_error err;
    enum nacre_status status = judge(args, &err);

    if (status == NACRE_OK)
        status = nacre_config_load(args->operands[0], &config, &err);
    if (status == NACRE_OK)
        status = nacre_session_settle(config, &ask, &session, &err);
    if (status == NACRE_OK)
        status = nacre_ckp_write_session(session, &text, &losses, &err);
    if (status != NACRE_OK)
        return cli_fail(args, &err);
    return tell(args, session, &text, &losses);
}

const struct cli_verb cli_verb_convert = {
    .name = "convert",
    .summary = "write what a configuration means for a session as a CKP policy",
    .operands = "FILE",
    .about =
        "FILE is a configuration of OpenClaw, Clawdbot, Clawdis, config.yml or Clawpy.\n"
        "The policy goes to stdout, with the line that said each value behind it; every\n"
        "setting that CKP can't say is named on stderr, with its place. The main\n"
        "session is often not sandboxed: name another one to get its sandbox's policy.",
    .example = "  nacre convert --to ckp openclaw.json --session chat > chat.yaml\n"
               "  nacre convert --to ckp clawpy:agent --json",
    .options = options,
    .option_count = OPT_COUNT,
    .operand_offer = CLI_OFFER_FILES,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
