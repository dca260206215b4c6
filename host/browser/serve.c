/* One browser, from its gate to its end. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "control.h"
#include "front.h"
#include "nacre/clock.h"
#include "nacre/nacre.h"
#include "nacre/sessions.h"
#include "nacre/text.h"

#define LOOK_MS 1000
#define TAIL_BYTES 400

struct serving {
    struct nacre_engine *engine;
    const struct nacre_session *session;
    const struct nacre_browser_serving *asked;
    struct nacre_browser browser;
    struct control control;
    struct front *front;
    struct nacre_session_hold *hold;
    uint64_t started_ms, started_ns;

    /* The run, in a thread of its own. */
    struct nacre_tool *tool;
    struct nacre_request request;
    int dial[2]; /* the request's end, ours */
    pthread_t thread;
    bool runs;
    struct nacre_result *result;
    enum nacre_status run_status;
    struct nacre_error run_err;
    char tail[TAIL_BYTES]; /* the last that it wrote to stderr */
    size_t tail_size;
};

/* ---- the run ---- */

static void keep_tail(void *data, int stream, const char *bytes, size_t count)
{
    struct serving *serving = data;

    if (stream != 2)
        return;
    if (count > sizeof(serving->tail)) {
        bytes += count - sizeof(serving->tail);
        count = sizeof(serving->tail);
    }
    if (serving->tail_size + count > sizeof(serving->tail)) {
        size_t gone = serving->tail_size + count - sizeof(serving->tail);

        memmove(serving->tail, serving->tail + gone, serving->tail_size - gone);
        serving->tail_size -= gone;
    }
    memcpy(serving->tail + serving->tail_size, bytes, count);
    serving->tail_size += count;
}

static void tell_end(const struct serving *serving)
{
    const uint64_t one = 1;

    (void)!write(serving->asked->stop_fd, &one, sizeof(one));
}

static void *run(void *data)
{
    struct serving *serving = data;

    serving->run_status =
        nacre_run(serving->engine, serving->browser.policy, serving->tool,
                  &serving->request, &serving->result, &serving->run_err);
    tell_end(serving);
    return NULL;
}

static enum nacre_status start_run(struct serving *serving, struct nacre_error *err)
{
    serving->request.input_fd = -1;
    serving->request.stream_only = true;
    serving->request.on_output = keep_tail;
    serving->request.on_output_data = serving;
    serving->request.caller = "browser";
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, serving->dial) != 0) {
        serving->dial[0] = serving->dial[1] = -1;
        return nacre_fail(err, NACRE_ERR_IO, "a socket");
    }
    serving->request.dial_fd = serving->dial[0];
    if (pthread_create(&serving->thread, NULL, run, serving) != 0)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a thread for the browser");
    serving->runs = true;
    return NACRE_OK;
}

static void end_run(struct serving *serving)
{
    if (!serving->runs)
        return;
    nacre_cancel(serving->engine, SIGTERM);
    (void)pthread_join(serving->thread, NULL);
    serving->runs = false;
}

/* It ended, or was ended, and should not have: the run's own word for it is the best. */
static enum nacre_status tell_run(struct serving *serving, struct nacre_error *err)
{
    const struct nacre_result *result = serving->result;
    char shown[TAIL_BYTES], reason[160];

    if (serving->run_status != NACRE_OK) {
        *err = serving->run_err;
        return err->status;
    }
    if (result->outcome == NACRE_OUTCOME_DENIED && result->denial_count > 0)
        return nacre_fail(err, NACRE_ERR_DENIED, "the browser's sandbox: %.200s; fix: "
                          "%.200s", result->denials[0].text, result->denials[0].fix);
    (void)nacre_text_show(shown, sizeof(shown), serving->tail, serving->tail_size);
    if (err->status == NACRE_ERR_TIMEOUT)
        return nacre_fail(err, NACRE_ERR_TIMEOUT,
                          "the browser did not answer within %" PRIu64 " ms "
                          "(browser.autoStartTimeoutMs)%s%.250s",
                          serving->browser.start_ms, shown[0] ? "; it said: " : "",
                          shown);
    (void)nacre_text_show(reason, sizeof(reason), result->reason, strlen(result->reason));
    return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                      "the browser ended before it answered (%s, status %d)%s%s%s%.200s",
                      nacre_outcome_name(result->outcome), result->exit_status,
                      reason[0] ? ": " : "", reason, shown[0] ? "; it said: " : "",
                      shown);
}

/* ---- questions ---- */

static json_t *tell_status(const struct serving *serving)
{
    struct nacre_browser_info info = { .pid = (int32_t)getpid() };
    const struct nacre_session *session = serving->session;

    memcpy(info.name, serving->browser.name, sizeof(info.name));
    (void)nacre_text_show(info.scope_key, sizeof(info.scope_key), session->scope_key,
                          strlen(session->scope_key));
    (void)nacre_text_show(info.agent, sizeof(info.agent), session->agent,
                          strlen(session->agent));
    (void)nacre_text_show(info.config, sizeof(info.config), session->config->source,
                          strlen(session->config->source));
    (void)snprintf(info.version, sizeof(info.version), "%s",
                   front_version(serving->front));
    info.port = front_port(serving->front, false);
    info.screen_port = front_port(serving->front, true);
    info.connections = front_connections(serving->front);
    info.started_ms = serving->started_ms;
    return control_info_write(&info);
}

static json_t *tell_url(const struct serving *serving, enum token_kind kind)
{
    char url[NACRE_BROWSER_URL];
    struct nacre_error err;

    if (front_url(serving->front, kind, url, sizeof(url), &err) != NACRE_OK)
        return json_pack("{s:s}", "error", err.text);
    return json_pack("{s:s}", "url", url);
}

static json_t *answer(void *data, const char *word)
{
    static const struct {
        const char *word;
        enum token_kind kind;
    } urls[] = {
        { CONTROL_CDP, TOKEN_CDP_SOCKET },
        { CONTROL_HTTP, TOKEN_CDP_HTTP },
        { CONTROL_SCREEN, TOKEN_SCREEN },
    };
    const struct serving *serving = data;

    for (size_t i = 0; i < NACRE_COUNT(urls); i++)
        if (strcmp(urls[i].word, word) == 0)
            return tell_url(serving, urls[i].kind);
    if (strcmp(word, CONTROL_STOP) == 0)
        tell_end(serving);
    else if (strcmp(word, CONTROL_STATUS) != 0)
        return json_pack("{s:s}", "error", "there is no such question");
    return tell_status(serving);
}

/* ---- its life ---- */

/* As any sandbox that is kept: unused for so long, or so old, and nobody is in it. */
static bool is_pruned(const struct serving *serving)
{
    uint64_t idle_ms = serving->session->prune_idle_ms;
    uint64_t age_ms = serving->session->prune_age_ms;
    uint64_t unused_ms =
        (nacre_clock_ns() - front_used_ns(serving->front)) / NACRE_NS_PER_MS;
    uint64_t old_ms = (nacre_clock_ns() - serving->started_ns) / NACRE_NS_PER_MS;

    return front_connections(serving->front) == 0 &&
           ((idle_ms > 0 && unused_ms > idle_ms) || (age_ms > 0 && old_ms > age_ms));
}

static void attend(struct serving *serving)
{
    struct pollfd watched[] = {
        { .fd = serving->asked->stop_fd, .events = POLLIN },
        { .fd = serving->control.socket_fd, .events = POLLIN },
        { .fd = front_fd(serving->front, false), .events = POLLIN },
        { .fd = front_fd(serving->front, true), .events = POLLIN },
    };

    while (!is_pruned(serving)) {
        int ready = poll(watched, NACRE_COUNT(watched), LOOK_MS);

        if (ready < 0 && errno != EINTR)
            return;
        if (ready <= 0)
            continue;
        if (watched[0].revents)
            return;
        if (watched[1].revents)
            control_serve(&serving->control, answer, serving);
        for (size_t i = 0; i < 2; i++)
            if (watched[2 + i].revents)
                front_accept(serving->front, i == 1);
    }
}

/* A port of the file's that is taken is the file's to mend. */
static enum nacre_status listen_at(struct serving *serving, struct nacre_error *err)
{
    const struct nacre_browser *browser = &serving->browser;
    const struct nacre_source *source = &browser->cdp_port_source;
    enum nacre_status status = front_listen(serving->front, err);

    if (status == NACRE_OK || err->sys_errno != EADDRINUSE)
        return status;
    if (front_fd(serving->front, false) >= 0)
        source = &browser->no_vnc_port_source;
    return nacre_fail_at(err, NACRE_ERR_UNAVAILABLE, serving->session->config->source,
                         source->place.line, source->place.column,
                         "the port of %.120s is in use on 127.0.0.1: end what has it, or "
                         "leave the line out for one that is free", source->key);
}

/* What its plan or this machine refuses makes no workspace; the run tells why. */
static enum nacre_status enter(struct serving *serving, struct nacre_error *err)
{
    const struct nacre_session_open_options options = {
        .state_dir = nacre_engine_state_dir(serving->engine), .out_of_turn = true,
        .deadline_ns =
            nacre_clock_ns() + serving->browser.start_ms * NACRE_NS_PER_MS,
    };
    struct nacre_request *request = &serving->request;

    nacre_browser_request(serving->session, &serving->browser, request);
    request->refused =
        nacre_run_is_refused(serving->engine, serving->browser.policy, NULL, request);
    return request->refused
               ? NACRE_OK
               : nacre_session_open(serving->session, &options, &serving->hold, err);
}

static enum nacre_status open_all(struct serving *serving, struct nacre_error *err)
{
    const struct nacre_session *session = serving->session;
    const char *state_dir = nacre_engine_state_dir(serving->engine);
    enum nacre_status status =
        nacre_browser_check(session, NACRE_BROWSER_TARGET_SANDBOX, NULL, err);

    if (status == NACRE_OK)
        status = nacre_browser_settle(session, &serving->browser, err);
    if (status == NACRE_OK)
        status = control_lock(state_dir, session->slug, &serving->control, err);
    if (status == NACRE_OK)
        status = nacre_browser_command(serving->browser.headless, serving->browser.no_vnc,
                                       &serving->tool, err);
    if (status == NACRE_OK)
        status = enter(serving, err);
    return status == NACRE_OK ? start_run(serving, err) : status;
}

static enum nacre_status open_front(struct serving *serving, struct nacre_error *err)
{
    const struct nacre_browser *browser = &serving->browser;
    const struct front_options options = {
        .dial_fd = serving->dial[1], .stop_fd = serving->asked->stop_fd,
        .cdp_port = (uint16_t)browser->cdp_port.value,
        .no_vnc_port = (uint16_t)browser->no_vnc_port.value, .no_vnc = browser->no_vnc,
    };
    uint64_t deadline_ns = nacre_clock_ns() + browser->start_ms * NACRE_NS_PER_MS;
    enum nacre_status status = front_open(&options, &serving->front, err);

    if (status == NACRE_OK) {
        status = front_await(serving->front, deadline_ns, err);
        if (status != NACRE_OK) {
            end_run(serving);
            return tell_run(serving, err);
        }
    }
    if (status == NACRE_OK)
        status = listen_at(serving, err);
    return status == NACRE_OK ? control_listen(&serving->control, err) : status;
}

static void serving_clear(struct serving *serving)
{
    tell_end(serving); /* for whoever is still served */
    end_run(serving);
    front_free(serving->front);
    nacre_session_hold_free(serving->hold);
    nacre_result_free(serving->result);
    nacre_tool_free(serving->tool);
    nacre_fd_guard(&serving->dial[0]);
    nacre_fd_guard(&serving->dial[1]);
    nacre_browser_clear(&serving->browser);
    nacre_engine_free(serving->engine); /* and with it the container */
    control_clear(&serving->control);
}

enum nacre_status nacre_browser_serve(struct nacre_engine *engine,
                                      const struct nacre_session *session,
                                      const struct nacre_browser_serving *asked,
                                      struct nacre_error *err)
{
    NACRE_AUTO(serving_clear) struct serving serving = {
        .engine = engine, .session = session, .asked = asked,
        .control = CONTROL_NONE, .dial = { -1, -1 },
        .started_ms = nacre_clock_wall_ms(), .started_ns = nacre_clock_ns(),
    };
    enum nacre_status status = open_all(&serving, err);

    if (status == NACRE_OK)
        status = open_front(&serving, err);
    if (status != NACRE_OK)
        return status;
    asked->on_ready(asked->data);
    attend(&serving);
    return NACRE_OK;
}
