#include "check_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "document.h"
#include "nacre/browser.h"
#include "nacre/own.h"
#include "nacre/session.h"
#include "nacre/text.h"
#include "needs.h"
#include "report.h"

#define PROFILE "clawpy:"

bool cli_config_recognise(const char *path, enum nacre_dialect *ret_dialect,
                          struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear)
    struct nacre_buf buf = NACRE_BUF(NACRE_DOCUMENT_BYTES_MAX);

    *err = (struct nacre_error){ .status = NACRE_OK };
    if (strncmp(path, PROFILE, strlen(PROFILE)) == 0) {
        *ret_dialect = NACRE_DIALECT_CLAWPY;
        return true;
    }
    if (strcmp(path, "-") == 0 || cli_document_read(path, &buf, err) != NACRE_OK)
        return false;
    return nacre_config_recognise(path, buf.bytes ? buf.bytes : "", buf.size, ret_dialect,
                                  err) == NACRE_OK;
}

json_t *cli_advice_json(const char *source, const struct nacre_advice *advice)
{
    json_t *list = json_array();

    for (size_t i = 0; i < advice->count; i++) {
        const struct nacre_config_note *note = &advice->notes[i];
        char place[CLI_PLACE];

        if (note->place.line > 0)
            (void)cli_place_of(place, source, note->place);
        else
            (void)nacre_text_show(place, sizeof(place), source, strlen(source));
        if (json_array_append_new(list, json_pack("{s:o, s:i, s:i, s:b, s:o}", "place",
                                                  cli_json_text(place), "line",
                                                  note->place.line, "column",
                                                  note->place.column, "unwise",
                                                  (int)note->unwise, "text",
                                                  cli_json_text(note->text))) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* Agents mostly share their lines: each is told once. */
static bool add_new(json_t *list, const json_t *notes)
{
    json_t *note, *other;
    size_t i, k;

    json_array_foreach(notes, i, note) {
        bool known = false;

        json_array_foreach(list, k, other)
            known |= json_equal(note, other) != 0;
        if (!known && json_array_append(list, note) != 0)
            return false;
    }
    return notes != NULL;
}

static enum nacre_status add_refused(struct nacre_engine *engine,
                                     const struct nacre_policy *policy,
                                     const struct nacre_request *request, json_t *list,
                                     struct nacre_error *err)
{
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    enum nacre_status status = nacre_engine_draft(engine, policy, request, &plan, err);
    json_t *notes;

    if (status != NACRE_OK)
        return status;
    notes = cli_refused_json(policy, plan);
    if (!add_new(list, notes))
        status = nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the findings");
    json_decref(notes);
    return status;
}

static enum nacre_status draft_browser(struct nacre_engine *engine,
                                       const struct nacre_session *session, json_t *list,
                                       struct nacre_error *err)
{
    NACRE_AUTO(nacre_browser_clear) struct nacre_browser browser = { 0 };
    struct nacre_request request = { .input_fd = -1 };
    enum nacre_status status = nacre_browser_settle(session, &browser, err);

    if (status != NACRE_OK || !browser.enabled || !browser.policy)
        return status;
    nacre_browser_request(session, &browser, &request);
    return add_refused(engine, browser.policy, &request, list, err);
}

/* Of a session like any other; where none is sandboxed, of what then runs. */
static enum nacre_status draft(struct nacre_engine *engine,
                               const struct nacre_config *config, const char *agent,
                               json_t *list, struct nacre_error *err)
{
    NACRE_AUTO(nacre_session_guard) struct nacre_session *session = NULL;
    struct nacre_request request = { .input_fd = -1 };
    struct nacre_session_ask ask = { .agent = agent, .session = "check",
                                     .home = getenv("HOME") };
    enum nacre_status status = nacre_session_settle(config, &ask, &session, err);

    if (status != NACRE_OK)
        return status;
    nacre_session_request(session, &request);
    status = add_refused(engine, session->shell, &request, list, err);
    return status == NACRE_OK ? draft_browser(engine, session, list, err) : status;
}

static enum nacre_status draft_each(struct nacre_engine *engine,
                                    const struct nacre_config *config, json_t *list,
                                    struct nacre_error *err)
{
    enum nacre_status status = draft(engine, config, NULL, list, err);

    for (size_t i = 0; i < config->agent_count && status == NACRE_OK; i++)
        status = draft(engine, config, config->agents[i].id, list, err);
    return status;
}

enum nacre_status cli_config_check(struct nacre_engine *engine, const char *path,
                                   json_t **ret_facts, char *ret_line, size_t line_size,
                                   struct nacre_error *err)
{
    NACRE_AUTO(nacre_config_guard) struct nacre_config *config = NULL;
    NACRE_AUTO(nacre_advice_clear) struct nacre_advice advice = { 0 };
    json_t *notes = json_array();
    enum nacre_status status = nacre_config_load(path, &config, err);

    if (status == NACRE_OK)
        status = nacre_config_advise(config, getenv("HOME"), &advice, err);
    if (status == NACRE_OK)
        status = draft_each(engine, config, notes, err);
    if (status != NACRE_OK) {
        json_decref(notes);
        return status;
    }
    (void)snprintf(ret_line, line_size,
                   "configuration, dialect %s, %zu agent%s of its own",
                   nacre_dialect_name(config->dialect), config->agent_count,
                   cli_plural(config->agent_count));
    *ret_facts = json_pack("{s:s, s:o, s:I, s:o, s:o, s:o}", "dialect",
                           nacre_dialect_name(config->dialect), "source",
                           cli_json_text(config->source), "agents",
                           (json_int_t)config->agent_count, "digest",
                           cli_json_digest(&config->digest), "advice",
                           cli_advice_json(config->source, &advice), "notes", notes);
    return NACRE_OK;
}
