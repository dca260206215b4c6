/* Who wants a browser: finds the one that runs, or has the keeper start it. */
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "control.h"
#include "nacre/clock.h"
#include "nacre/jobs.h"
#include "nacre/text.h"

#define STOP_MS 20000
#define MAKE_MS 120000 /* for an engine to make the container */
#define WAIT_MS 1000

/* ---- one that runs ---- */

enum nacre_status nacre_browser_find(const char *state_dir,
                                     const struct nacre_session *session,
                                     struct nacre_browser_info *ret_info,
                                     struct nacre_error *err)
{
    json_t *told = NULL;
    enum nacre_status status =
        control_ask(state_dir, session->slug, CONTROL_STATUS, &told, err);

    if (status == NACRE_OK && !control_info_read(told, ret_info))
        status = nacre_fail(err, NACRE_ERR_PARSE,
                            "the browser's owner answers something else: is it of "
                            "another version?");
    json_decref(told);
    return status;
}

struct each {
    const char *state_dir;
    bool (*each)(void *data, const struct nacre_browser_info *info);
    void *data;
};

/* One that does not answer is none. */
static bool ask_each(void *data, const char *slug)
{
    const struct each *each = data;
    struct nacre_browser_info info;
    struct nacre_error ignored;
    json_t *told = NULL;
    bool more = true;

    if (control_ask(each->state_dir, slug, CONTROL_STATUS, &told, &ignored) == NACRE_OK &&
        control_info_read(told, &info))
        more = each->each(each->data, &info);
    json_decref(told);
    return more;
}

enum nacre_status
nacre_browsers_each(const char *state_dir,
                    bool (*each)(void *data, const struct nacre_browser_info *info),
                    void *data, struct nacre_error *err)
{
    struct each asked = { state_dir, each, data };

    return control_each(state_dir, ask_each, &asked, err);
}

enum nacre_status nacre_browser_url(const char *state_dir,
                                    const struct nacre_session *session,
                                    enum nacre_browser_url kind,
                                    char ret_url[NACRE_BROWSER_URL],
                                    struct nacre_error *err)
{
    static const char *const words[] = {
        [NACRE_BROWSER_URL_CDP] = CONTROL_CDP,
        [NACRE_BROWSER_URL_HTTP] = CONTROL_HTTP,
        [NACRE_BROWSER_URL_SCREEN] = CONTROL_SCREEN,
    };
    json_t *told = NULL;
    enum nacre_status status =
        control_ask(state_dir, session->slug, words[kind], &told, err);
    const char *url;

    if (status != NACRE_OK)
        return status;
    url = json_string_value(json_object_get(told, "url"));
    if (!url || strlen(url) >= NACRE_BROWSER_URL)
        status = nacre_fail(err, NACRE_ERR_PARSE, "the browser's owner gives no URL");
    else
        (void)snprintf(ret_url, NACRE_BROWSER_URL, "%s", url);
    json_decref(told);
    return status;
}

enum nacre_status nacre_browser_stop(const char *state_dir, const char *scope_key,
                                     struct nacre_error *err)
{
    char slug[NACRE_SLUG];
    json_t *told = NULL;
    enum nacre_status status;

    nacre_session_slug(scope_key, slug);
    status = control_ask(state_dir, slug, CONTROL_STOP, &told, err);
    json_decref(told);
    if (status != NACRE_OK)
        return status;
    return control_await_end(state_dir, slug,
                             nacre_clock_ns() + STOP_MS * NACRE_NS_PER_MS, err);
}

/* ---- starting ---- */

struct starting {
    const struct nacre_keeper_at *at;
    const struct nacre_session *session;
    const char *approval; /* or NULL */
    struct nacre_job_owner owner;
    char id[NACRE_JOB_ID];
};

/* The scope owns it: where that is a session, it ends with it. */
static enum nacre_status start_job(struct starting *starting, struct nacre_error *err)
{
    const struct nacre_session *session = starting->session;
    const char *const words[] = {
        "browser", "serve", "--config",
        session->config->file ? session->config->file : session->config->source,
        "--session", session->key, "--agent", session->agent,
        starting->approval ? "--approval" : NULL, starting->approval, NULL,
    };
    const struct nacre_job_start job = { .words = words, .directory = "/",
                                         .title = "browser serve" };

    starting->owner = (struct nacre_job_owner){
        session->scope_key, session->scope == NACRE_SCOPE_SHARED ? "" : session->agent
    };
    return nacre_job_start(starting->at, &starting->owner, &job, starting->id, err);
}

/* What it said when it gave up, with the status that it had. */
static enum nacre_status tell_failure(const struct nacre_job_info *info,
                                      const struct nacre_buf *said,
                                      struct nacre_error *err)
{
    static const char prefix[] = "nacre: ";
    enum nacre_status status = info->exit_status == 124   ? NACRE_ERR_TIMEOUT
                               : info->exit_status == 126 ? NACRE_ERR_DENIED
                                                          : NACRE_ERR_UNAVAILABLE;
    const char *text = said->size > 0 ? said->bytes : "the browser's owner said nothing";
    char shown[400];

    if (strncmp(text, prefix, sizeof(prefix) - 1) == 0)
        text += sizeof(prefix) - 1;
    return nacre_fail(err, status, "%s",
                      nacre_text_show(shown, sizeof(shown), text, strcspn(text, "\n")));
}

/* Until it answers, or its job has ended. */
static enum nacre_status await(const struct starting *starting, uint64_t deadline_ns,
                               struct nacre_browser_info *ret_info,
                               struct nacre_error *err)
{
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf said = NACRE_BUF(NACRE_JOB_BYTES_MAX);
    struct nacre_job_info info = { .running = true };
    uint64_t next = 0;

    while (nacre_clock_ns() < deadline_ns) {
        enum nacre_status status;

        if (nacre_browser_find(starting->at->state_dir, starting->session, ret_info,
                               err) == NACRE_OK)
            return NACRE_OK;
        if (!info.running)
            return tell_failure(&info, &said, err);
        /* Wakes up at its first word, which is that it is ready or why it is not. */
        status = nacre_job_read(starting->at, &starting->owner, starting->id, next, 4096,
                                WAIT_MS, &said, &next, &info, err);
        if (status != NACRE_OK)
            return status;
    }
    return nacre_fail(err, NACRE_ERR_TIMEOUT, "the browser has not started in time");
}

enum nacre_status nacre_browser_start(const struct nacre_keeper_at *at,
                                      const struct nacre_session *session,
                                      const char *approval,
                                      struct nacre_browser_info *ret_info,
                                      struct nacre_error *err)
{
    NACRE_AUTO(nacre_browser_clear) struct nacre_browser browser = { 0 };
    struct starting starting = { .at = at, .session = session, .approval = approval };
    uint64_t deadline_ns;
    enum nacre_status status = nacre_browser_find(at->state_dir, session, ret_info, err);

    if (status != NACRE_ERR_NOT_FOUND)
        return status;
    status = nacre_browser_settle(session, &browser, err);
    if (status == NACRE_OK)
        status = start_job(&starting, err);
    if (status != NACRE_OK)
        return status;
    deadline_ns = nacre_clock_ns() + (browser.start_ms + MAKE_MS) * NACRE_NS_PER_MS;
    status = await(&starting, deadline_ns, ret_info, err);
    if (status != NACRE_OK) {
        struct nacre_error ignored;

        /* None is left behind that nobody knows of. */
        (void)!nacre_job_kill(at, &starting.owner, starting.id, &ignored);
    }
    return status;
}
