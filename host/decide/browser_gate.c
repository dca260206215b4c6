/*
 * May a target be driven?  The configuration is trusted; the URL comes from an agent, and
 * is read as strictly as any that is fetched.
 */
#include <stdio.h>
#include <string.h>

#include "nacre/browser.h"
#include "nacre/text.h"
#include "nacre/url.h"
#include "settle.h"

struct gate {
    const struct nacre_session *session;
    struct nacre_box_view view;
    struct nacre_answer *answer;
};

static void say(const struct gate *gate, const struct nacre_source *source,
                const char *text)
{
    char rule[64];

    nacre_key_shorten(source->key[0] ? source->key : "(the dialect)", rule);
    nacre_answer_say(gate->answer, rule, 0, source->place, "%s", text);
}

/* One flag that opens or shuts. */
static void judge_flag(const struct gate *gate, const struct nacre_source *source,
                       bool on, const char *open, const char *shut)
{
    char at[NACRE_PLACE_TEXT];

    gate->answer->allowed = on;
    say(gate, source, on ? open : shut);
    if (!source->key[0])
        nacre_answer_fix(gate->answer, "nothing in this dialect can say it");
    else if (source->place.line > 0)
        nacre_answer_fix(gate->answer, "%schange '%s' to '%s'",
                         nacre_session_at(gate->session, source->place, at),
                         on ? "true" : "false", on ? "false" : "true");
    else
        nacre_answer_fix(gate->answer, "add %s: true", source->key);
}

static void judge_sandbox(const struct gate *gate, const struct nacre_browser *browser)
{
    const struct nacre_source *mode = &gate->session->mode_source;
    char at[NACRE_PLACE_TEXT];

    if (gate->session->sandboxed) {
        judge_flag(gate, &browser->enabled_source, browser->enabled,
                   "a browser in a sandbox is enabled",
                   "no browser in a sandbox is enabled");
        return;
    }
    say(gate, mode, "this session has no sandbox, and so no browser in one");
    if (mode->place.line > 0)
        nacre_answer_fix(gate->answer, "%schange '%s' to 'all'",
                         nacre_session_at(gate->session, mode->place, at),
                         nacre_mode_name(gate->session->mode));
    else
        nacre_answer_fix(gate->answer, "add %s: all", mode->key);
}

/* ---- custom ---- */

/* As http and https are read; ws is the former, wss the latter. */
static enum nacre_status read_url(const char *text, struct nacre_url *ret_url,
                                  struct nacre_error *err)
{
    char http[NACRE_URL_BYTES_MAX + 8];
    bool is_ws = strncmp(text, "ws://", 5) == 0 || strncmp(text, "wss://", 6) == 0;
    int length = snprintf(http, sizeof(http), "%s%s", is_ws ? "http" : "",
                          is_ws ? text + 2 : text);

    if (length < 0 || (size_t)length >= sizeof(http))
        return nacre_fail(err, NACRE_ERR_PARSE, "a URL over %d bytes",
                          NACRE_URL_BYTES_MAX);
    return nacre_url_parse(http, (size_t)length, ret_url, err);
}

static size_t without_slash(const char *target)
{
    size_t length = strlen(target);

    while (length > 0 && target[length - 1] == '/')
        length--;
    return length;
}

static bool is_same_url(const struct nacre_url *a, const struct nacre_url *b)
{
    size_t length = without_slash(a->target);

    return a->tls == b->tls && a->port == b->port && strcmp(a->host, b->host) == 0 &&
           length == without_slash(b->target) &&
           strncmp(a->target, b->target, length) == 0;
}

static bool matches(enum nacre_key key, const char *entry, const struct nacre_url *url)
{
    struct nacre_error ignored;
    struct nacre_url other;
    char host[NACRE_NAME_SIZE];
    uint64_t port;

    switch ((int)key) {
    case NACRE_KEY_BROWSER_URLS:
        return read_url(entry, &other, &ignored) == NACRE_OK && is_same_url(&other, url);
    case NACRE_KEY_BROWSER_HOSTS:
        return nacre_name_normalise(entry, strlen(entry), host, &ignored) == NACRE_OK &&
               strcmp(host, url->host) == 0;
    default:
        return nacre_text_u64(entry, UINT16_MAX, &port) && port == url->port;
    }
}

struct list {
    enum nacre_key key;
    const struct nacre_rules *rules;
    struct nacre_source source;
};

static struct list list_of(const struct gate *gate, enum nacre_key key,
                           const struct nacre_rules *own, const struct nacre_rules *all)
{
    return (struct list){ key, own->place.line > 0 ? own : all,
                          nacre_source_choose(gate->session, gate->view.agent, own->place,
                                              all->place, key) };
}

static const struct nacre_rule *find(const struct list *list, const struct nacre_url *url)
{
    for (size_t i = 0; i < list->rules->count; i++)
        if (matches(list->key, list->rules->items[i].text, url))
            return &list->rules->items[i];
    return NULL;
}

/* The word that the list lacks, as the file would have it. */
static void lacks(const struct gate *gate, const struct list *list,
                  const struct nacre_url *url, const char *text)
{
    char at[NACRE_PLACE_TEXT], word[NACRE_SHOWN], quoted[NACRE_SHOWN + 2];
    bool written = list->source.place.line > 0;

    if (list->key == NACRE_KEY_BROWSER_PORTS)
        (void)snprintf(quoted, sizeof(quoted), "%u", (unsigned)url->port);
    else
        (void)snprintf(quoted, sizeof(quoted), "\"%s\"",
                       nacre_text_shown(word, list->key == NACRE_KEY_BROWSER_HOSTS
                                                  ? url->host : text));
    if (!gate->answer->text[0])
        say(gate, &list->source, written ? "the list does not have it"
                                         : "nothing allows it: no list is written");
    if (!list->source.key[0])
        nacre_answer_fix(gate->answer, "nothing in this dialect can say it");
    else if (written)
        nacre_answer_fix(gate->answer, "%sadd %s to %s",
                         nacre_session_at(gate->session, list->source.place, at), quoted,
                         list->source.key);
    else
        nacre_answer_fix(gate->answer, "add %s: [%s]", list->source.key, quoted);
}

static bool can_match(const struct list *list)
{
    return list->source.place.line > 0 && list->rules->count > 0;
}

static void judge_any(const struct gate *gate, const struct list lists[3])
{
    bool any = (lists[0].source.place.line == 0 || can_match(&lists[0])) &&
               (lists[1].source.place.line == 0 || can_match(&lists[1])) &&
               (lists[2].source.place.line == 0 || can_match(&lists[2])) &&
               (can_match(&lists[0]) || (can_match(&lists[1]) && can_match(&lists[2])));
    const struct list *told = &lists[0];

    for (size_t i = 3; i-- > 0;)
        if (lists[i].source.place.line > 0)
            told = &lists[i];
    gate->answer->allowed = any;
    say(gate, &told->source, any ? "those that the lists have"
                                 : "no URL is on every list that has to have it");
    nacre_answer_fix(gate->answer, any ? "empty %s: then none may"
                                       : "add the URL to %s",
                     lists[0].source.key[0] ? lists[0].source.key : "(no such key)");
}

static void judge_url(const struct gate *gate, const struct list lists[3],
                      const struct nacre_url *url, const char *text)
{
    const struct nacre_rule *found[3];
    bool has_urls = lists[0].source.place.line > 0;
    bool missing = false;

    for (size_t i = 0; i < 3; i++) {
        bool asked = lists[i].source.place.line > 0 ||
                     (!has_urls && i > 0 &&
                      lists[3 - i].source.place.line > 0) ||
                     (!has_urls && i == 0 && lists[1].source.place.line == 0 &&
                      lists[2].source.place.line == 0);

        found[i] = find(&lists[i], url);
        if (asked && !found[i]) {
            lacks(gate, &lists[i], url, text);
            missing = true;
        }
    }
    if (missing)
        return;
    gate->answer->allowed = true;
    for (size_t i = 0; i < 3 && !gate->answer->text[0]; i++)
        if (found[i]) {
            struct nacre_source source = lists[i].source;
            char at[NACRE_PLACE_TEXT];

            source.place = found[i]->place;
            say(gate, &source, "the list has it");
            nacre_answer_fix(gate->answer, "%sremove it from %s",
                             nacre_session_at(gate->session, source.place, at),
                             source.key);
        }
}

static enum nacre_status judge_custom(const struct gate *gate, const char *text,
                                      struct nacre_error *err)
{
    const struct nacre_browser_rules *own = &gate->view.own->browser;
    const struct nacre_browser_rules *all = &gate->view.all->browser;
    const struct list lists[3] = {
        list_of(gate, NACRE_KEY_BROWSER_URLS, &own->allowed_control_urls,
                &all->allowed_control_urls),
        list_of(gate, NACRE_KEY_BROWSER_HOSTS, &own->allowed_control_hosts,
                &all->allowed_control_hosts),
        list_of(gate, NACRE_KEY_BROWSER_PORTS, &own->allowed_control_ports,
                &all->allowed_control_ports),
    };
    struct nacre_url url;
    enum nacre_status status;

    if (!text) {
        judge_any(gate, lists);
        return NACRE_OK;
    }
    status = read_url(text, &url, err);
    if (status == NACRE_OK)
        judge_url(gate, lists, &url, text);
    return status;
}

enum nacre_status nacre_browser_target(const struct nacre_session *session,
                                       enum nacre_browser_target target, const char *url,
                                       struct nacre_answer *ret_answer,
                                       struct nacre_error *err)
{
    NACRE_AUTO(nacre_browser_clear) struct nacre_browser browser = { 0 };
    struct nacre_answer answer = { 0 };
    const struct gate gate = {
        .session = session, .answer = &answer,
        .view = nacre_session_view(
            session, nacre_session_agent(session->config, session->agent)),
    };
    enum nacre_status status = nacre_session_tool(session, "browser", &answer, err);

    if (status == NACRE_OK && answer.allowed) {
        answer = (struct nacre_answer){ 0 };
        status = nacre_browser_settle(session, &browser, err);
        if (status == NACRE_OK && target == NACRE_BROWSER_TARGET_CUSTOM)
            status = judge_custom(&gate, url, err);
        else if (status == NACRE_OK && target == NACRE_BROWSER_TARGET_HOST)
            judge_flag(&gate, &browser.host_control_source, browser.host_control,
                       "the host's browser may be driven",
                       "the host's browser may not be driven");
        else if (status == NACRE_OK)
            judge_sandbox(&gate, &browser);
    }
    if (status == NACRE_OK)
        *ret_answer = answer;
    return status;
}

enum nacre_status nacre_browser_check(const struct nacre_session *session,
                                      enum nacre_browser_target target, const char *url,
                                      struct nacre_error *err)
{
    struct nacre_answer answer;
    enum nacre_status status = nacre_browser_target(session, target, url, &answer, err);
    const char *name;

    if (status != NACRE_OK || answer.allowed)
        return status;
    name = nacre_browser_target_name(target);
    if (answer.place.line > 0)
        return nacre_fail_at(err, NACRE_ERR_DENIED, session->config->source,
                             answer.place.line, answer.place.column,
                             "browser target %s is denied by %s: %.150s; fix: %.200s",
                             name, answer.rule, answer.text, answer.fix);
    return nacre_fail(err, NACRE_ERR_DENIED,
                      "browser target %s is denied by %s: %.150s; fix: %.200s", name,
                      answer.rule, answer.text, answer.fix);
}
