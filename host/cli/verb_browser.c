#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include "boxes.h"
#include "nacre/browser.h"
#include "nacre/jobs.h"
#include "nacre/own.h"
#include "nacre/path.h"
#include "nacre/text.h"
#include "nacre/tool.h"
#include "report.h"
#include "session.h"
#include "verbs.h"

enum {
    OPT_CONFIG, OPT_SESSION, OPT_AGENT, OPT_NOVNC, OPT_HTTP, OPT_TARGET, OPT_TIMEOUT,
    OPT_APPROVAL, OPT_COUNT
};

static const struct cli_option options[OPT_COUNT] = {
    [OPT_CONFIG] = CLI_OPTION_CONFIG,
    [OPT_SESSION] = { "--session", .kind = CLI_TEXT, .value = "KEY",
                      .help = "whose browser (default: the main session's)" },
    [OPT_AGENT] = { "--agent", .kind = CLI_TEXT, .value = "ID",
                    .help = "whose session (default: main)" },
    [OPT_NOVNC] = { "--novnc", .kind = CLI_FLAG,
                    .help = "for url: the screen, for a browser of your own" },
    [OPT_HTTP] = { "--http", .kind = CLI_FLAG,
                   .help = "for url: http:// with /json/version, not ws://" },
    [OPT_TARGET] = { "--target", .kind = CLI_TEXT, .value = "sandbox|host|custom=URL",
                     .help = "for url, screenshot: which browser (sandbox)" },
    [OPT_TIMEOUT] = { "--timeout-ms", .kind = CLI_NUMBER, .value = "N", .min = 1,
                      .max = 600000,
                      .help = "for screenshot: how long the page may take (30000)" },
    [OPT_APPROVAL] = { "--approval", .kind = CLI_TEXT, .value = "TOKEN",
                       .help = "a person's word for it, where one is needed" },
};

static const char *const words[] = { "start", "stop", "url", "list", "screenshot",
                                     "serve" };

/* The host's own, at the port that browsers are commonly started with. */
#define HOST_URL "http://127.0.0.1:9222"

struct asked {
    const struct cli_args *args;
    struct nacre_engine *engine;
    struct cli_session session;
    enum nacre_browser_target target;
    const char *url; /* of target custom or host; else NULL */
};

static void asked_clear(struct asked *asked)
{
    cli_session_clear(&asked->session);
    nacre_engine_free(asked->engine);
}

static struct nacre_keeper_at keeper_of(const struct asked *asked)
{
    return (struct nacre_keeper_at){ nacre_engine_state_dir(asked->engine),
                                     nacre_engine_program(asked->engine) };
}

/* ---- what is meant ---- */

static enum nacre_status read_target(struct asked *asked, struct nacre_error *err)
{
    static const char custom[] = "custom=";
    const struct cli_value *given = &asked->args->values[OPT_TARGET];
    char shown[NACRE_SHOWN];

    if (!given->given || strcmp(given->text, "sandbox") == 0)
        return NACRE_OK;
    if (strcmp(given->text, "host") == 0) {
        asked->target = NACRE_BROWSER_TARGET_HOST;
        asked->url = HOST_URL;
        return NACRE_OK;
    }
    if (strncmp(given->text, custom, sizeof(custom) - 1) != 0)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "--target takes sandbox, host or custom=URL, not '%s'",
                          nacre_text_shown(shown, given->text));
    asked->target = NACRE_BROWSER_TARGET_CUSTOM;
    asked->url = given->text + sizeof(custom) - 1;
    return NACRE_OK;
}

/* What a word needs before it is done. */
enum needs {
    NEEDS_GATE = 1,   /* to be open */
    NEEDS_TARGET = 2, /* takes --target */
    NEEDS_ENGINE = 4,
};

static enum nacre_status settle(struct asked *asked, unsigned needs,
                                struct nacre_error *err)
{
    const struct cli_value *values = asked->args->values;
    enum nacre_status status = read_target(asked, err);

    if (status == NACRE_OK && values[OPT_TARGET].given && !(needs & NEEDS_TARGET))
        status = nacre_fail(err, NACRE_ERR_USAGE,
                            "--target is for url and screenshot: nacre starts and ends "
                            "the sandbox's browser alone");
    if (status == NACRE_OK && !values[OPT_CONFIG].given)
        status = nacre_fail(err, NACRE_ERR_USAGE,
                            "--config FILE says whether there is a browser, and which");
    if (status == NACRE_OK)
        status = cli_session_settle(&asked->session, values[OPT_CONFIG].text,
                                    &values[OPT_SESSION], &values[OPT_AGENT], NULL, err);
    if (status == NACRE_OK && (needs & NEEDS_GATE))
        status = nacre_browser_check(asked->session.session, asked->target, asked->url,
                                     err);
    if (status == NACRE_OK && (needs & NEEDS_ENGINE))
        status = cli_boxes_engine(&asked->engine, err);
    return status;
}

/* A person's word, where the host's own file marks the tool.  With `ret_token` it is
 * handed on: "" where nobody had to be asked. */
static enum nacre_status approve(const struct asked *asked, struct nacre_engine *engine,
                                 const struct nacre_browser *browser, char *ret_token,
                                 struct nacre_error *err)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    const struct nacre_request request = { .input_fd = -1 };
    struct nacre_approval approval = { .verdict = NACRE_APPROVAL_NONE };
    enum nacre_status status =
        nacre_browser_command(browser->headless, browser->no_vnc, &tool, err);

    if (ret_token)
        ret_token[0] = '\0';
    if (status == NACRE_OK)
        status = cli_session_approve(&asked->session, engine, browser->policy, tool,
                                     "browser", &request,
                                     asked->args->values[OPT_APPROVAL].text, &approval,
                                     err);
    if (status == NACRE_OK && ret_token && approval.verdict == NACRE_APPROVAL_APPROVED)
        status = cli_session_hand_on(&asked->session, engine, tool, "browser", &request,
                                     ret_token, err);
    return status;
}

static enum nacre_status start_it(const struct asked *asked,
                                  const struct nacre_browser *browser,
                                  struct nacre_browser_info *ret_info,
                                  struct nacre_error *err)
{
    const struct nacre_keeper_at at = keeper_of(asked);
    char token[NACRE_APPROVAL_TOKEN];
    enum nacre_status status = approve(asked, asked->engine, browser, token, err);

    if (status != NACRE_OK)
        return status;
    return nacre_browser_start(&at, asked->session.session, token[0] ? token : NULL,
                               ret_info, err);
}

/* Started where the configuration lets it start by itself. */
static enum nacre_status ensure(const struct asked *asked, struct nacre_error *err)
{
    NACRE_AUTO(nacre_browser_clear) struct nacre_browser browser = { 0 };
    const struct nacre_session *session = asked->session.session;
    struct nacre_browser_info info;
    enum nacre_status status = nacre_browser_find(nacre_engine_state_dir(asked->engine),
                                                  session, &info, err);

    if (status != NACRE_ERR_NOT_FOUND)
        return status;
    status = nacre_browser_settle(session, &browser, err);
    if (status != NACRE_OK)
        return status;
    if (!browser.auto_start)
        return nacre_fail_at(err, NACRE_ERR_NOT_FOUND, session->config->source,
                             browser.auto_start_source.place.line,
                             browser.auto_start_source.place.column,
                             "no browser runs, and %.120s is false: nacre browser start "
                             "starts it", browser.auto_start_source.key);
    return start_it(asked, &browser, &info, err);
}

/* ---- start, list ---- */

static json_t *info_json(const struct nacre_browser_info *info)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:o, s:i, s:i, s:I}", "container",
                     info->name, "scopeKey", info->scope_key, "agent", info->agent,
                     "config", info->config, "browser", info->version, "port",
                     (int)info->port, "noVncPort",
                     info->screen_port ? json_integer(info->screen_port) : json_null(),
                     "connections", (int)info->connections, "pid", (int)info->pid,
                     "startedMs", (json_int_t)info->started_ms);
}

static int print_json(json_t *json)
{
    return cli_json_print(json) ? 0 : nacre_status_exit(NACRE_ERR_MEMORY);
}

static int start(struct asked *asked)
{
    NACRE_AUTO(nacre_browser_clear) struct nacre_browser browser = { 0 };
    struct nacre_browser_info info;
    struct nacre_error err;

    if (nacre_browser_settle(asked->session.session, &browser, &err) != NACRE_OK ||
        start_it(asked, &browser, &info, &err) != NACRE_OK)
        return cli_fail(asked->args, &err);
    if (asked->args->json)
        return print_json(info_json(&info));
    (void)printf("%s runs in %s; nacre browser url gives a way in\n", info.version,
                 info.name);
    return 0;
}

struct list {
    json_t *json; /* NULL: as text */
    size_t count;
};

static bool list_one(void *data, const struct nacre_browser_info *info)
{
    struct list *list = data;

    if (list->json)
        return json_array_append_new(list->json, info_json(info)) == 0;
    if (list->count++ == 0)
        (void)printf("%-32s %-44s %-24s %6s %s\n", "KEY", "CONTAINER", "BROWSER", "PORT",
                     "CONNECTIONS");
    (void)printf("%-32s %-44s %-24s %6u %" PRIu32 "\n", info->scope_key, info->name,
                 info->version, (unsigned)info->port, info->connections);
    return true;
}

static int list_all(const struct cli_args *args)
{
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    struct list list = { .json = args->json ? json_array() : NULL };
    struct nacre_error err;
    enum nacre_status status = cli_boxes_engine(&engine, &err);

    if (status == NACRE_OK)
        status = nacre_browsers_each(nacre_engine_state_dir(engine), list_one, &list,
                                     &err);
    if (status != NACRE_OK) {
        json_decref(list.json);
        return cli_fail(args, &err);
    }
    if (args->json)
        return print_json(json_pack("{s:o}", "browsers", list.json));
    if (list.count == 0)
        (void)puts("no browser runs");
    return 0;
}

/* ---- stop, url ---- */

static int stop(struct asked *asked)
{
    struct nacre_error err;

    if (nacre_browser_stop(nacre_engine_state_dir(asked->engine),
                           asked->session.session->scope_key, &err) != NACRE_OK)
        return cli_fail(asked->args, &err);
    if (asked->args->json)
        return print_json(json_pack("{s:b}", "stopped", 1));
    (void)puts("stopped");
    return 0;
}

/* One that nacre has not started: what is done with it is asked about, each time. */
static enum nacre_status approve_other(const struct asked *asked, struct nacre_error *err)
{
    NACRE_AUTO(nacre_tool_guard) struct nacre_tool *tool = NULL;
    const char *const *operands = asked->args->operands;
    const char *page = asked->args->operand_count > 1 ? operands[1] : NULL;
    const char *const argv[] = { "nacre", "browser", operands[0], asked->url, page, NULL };
    const struct nacre_request request = { .input_fd = -1 };
    struct nacre_approval approval;
    enum nacre_status status = nacre_tool_command(argv, &tool, err);

    /* Whether it may be driven without a sandbox is the gate's own line. */
    return status == NACRE_OK
               ? cli_session_approve(&asked->session, asked->engine,
                                     asked->session.session->files, tool, "browser",
                                     &request, asked->args->values[OPT_APPROVAL].text,
                                     &approval, err)
               : status;
}

/* A URL of the target's: of the sandbox's browser a fresh one. */
static enum nacre_status get_url(const struct asked *asked, enum nacre_browser_url kind,
                                 char ret_url[NACRE_URL_BYTES_MAX],
                                 struct nacre_error *err)
{
    enum nacre_status status;

    if (asked->url) {
        (void)snprintf(ret_url, NACRE_URL_BYTES_MAX, "%s", asked->url);
        return approve_other(asked, err);
    }
    status = ensure(asked, err);
    return status == NACRE_OK ? nacre_browser_url(nacre_engine_state_dir(asked->engine),
                                                  asked->session.session, kind, ret_url,
                                                  err)
                              : status;
}

static int give_url(struct asked *asked)
{
    const struct cli_value *values = asked->args->values;
    enum nacre_browser_url kind = values[OPT_NOVNC].given  ? NACRE_BROWSER_URL_SCREEN
                                  : values[OPT_HTTP].given ? NACRE_BROWSER_URL_HTTP
                                                           : NACRE_BROWSER_URL_CDP;
    char url[NACRE_URL_BYTES_MAX];
    struct nacre_error err;

    if (get_url(asked, kind, url, &err) != NACRE_OK)
        return cli_fail(asked->args, &err);
    if (asked->args->json)
        return print_json(json_pack("{s:o, s:s}", "url", cli_json_text(url), "target",
                                    nacre_browser_target_name(asked->target)));
    (void)puts(url);
    return 0;
}

/* ---- screenshot ---- */

/* Whole or not at all: beside its place first, then there. */
static enum nacre_status write_whole(const char *path, const struct nacre_buf *png,
                                     struct nacre_error *err)
{
    char beside[NACRE_PATH_MAX];
    int length = snprintf(beside, sizeof(beside), "%s.XXXXXX", path);
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    size_t done = 0;

    if (length < 0 || (size_t)length >= sizeof(beside))
        return nacre_fail(err, NACRE_ERR_USAGE, "the file's name is too long");
    fd = mkostemp(beside, O_CLOEXEC);
    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "writing %.300s", path);
    while (done < png->size) {
        ssize_t some = write(fd, png->bytes + done, png->size - done);

        if (some < 0 && errno == EINTR)
            continue;
        if (some <= 0)
            break;
        done += (size_t)some;
    }
    if (done == png->size && fchmod(fd, 0644) == 0 && rename(beside, path) == 0)
        return NACRE_OK;
    (void)nacre_fail(err, NACRE_ERR_IO, "writing %.300s", path);
    (void)unlink(beside);
    return err->status;
}

/* Before anything is loaded: what is no file would be replaced by one. */
static enum nacre_status check_place(const char *path, struct nacre_error *err)
{
    char shown[NACRE_SHOWN];
    struct stat info;

    if (lstat(path, &info) != 0 || S_ISREG(info.st_mode))
        return NACRE_OK;
    return nacre_fail(err, NACRE_ERR_USAGE,
                      "'%s' is a link, a directory or a device: name a file",
                      nacre_text_shown(shown, path));
}

static enum nacre_status picture(struct asked *asked, const char *page,
                                 struct nacre_buf *png, int *ret_page_status,
                                 struct nacre_error *err)
{
    const struct cli_value *timeout = &asked->args->values[OPT_TIMEOUT];
    char url[NACRE_URL_BYTES_MAX];
    struct nacre_url read;
    enum nacre_status status = nacre_url_parse(page, strcspn(page, "#"), &read, err);

    if (status == NACRE_OK)
        status = get_url(asked, NACRE_BROWSER_URL_CDP, url, err);
    if (status == NACRE_OK)
        status = nacre_browser_screenshot(
            url, page, timeout->given ? timeout->number : NACRE_BROWSER_PAGE_MS, png,
            ret_page_status, err);
    return status;
}

static int screenshot(struct asked *asked)
{
    NACRE_AUTO(nacre_buf_clear)
    struct nacre_buf png = NACRE_BUF(NACRE_BROWSER_PNG_BYTES_MAX);
    const char *page = asked->args->operands[1], *file = asked->args->operands[2];
    struct nacre_error err;
    int page_status = 0;
    enum nacre_status status = check_place(file, &err);

    if (status == NACRE_OK)
        status = picture(asked, page, &png, &page_status, &err);
    if (status == NACRE_OK)
        status = write_whole(file, &png, &err);
    if (status != NACRE_OK)
        return cli_fail(asked->args, &err);
    if (asked->args->json)
        return print_json(json_pack("{s:o, s:I, s:i}", "file", cli_json_text(file),
                                    "bytes", (json_int_t)png.size, "status",
                                    page_status));
    if (page_status >= 400)
        cli_say("the page was answered with status %d: the picture shows why",
                page_status);
    return 0;
}

/* ---- serve ---- */

static int stop_fd = -1;

static void on_signal(int number)
{
    const uint64_t one = 1;
    int kept = errno;

    (void)number;
    (void)!write(stop_fd, &one, sizeof(one));
    errno = kept;
}

static void on_ready(void *data)
{
    (void)data;
    (void)puts("ready");
    (void)fflush(stdout);
}

static enum nacre_status serve_it(const struct asked *asked, struct nacre_error *err)
{
    NACRE_AUTO(nacre_browser_clear) struct nacre_browser browser = { 0 };
    NACRE_AUTO(nacre_engine_guard) struct nacre_engine *engine = NULL;
    const struct nacre_engine_options own = { .commands_only = true, .own_boxes = true };
    struct sigaction action = { .sa_handler = on_signal };
    struct cli_term term = { 0 };
    struct nacre_browser_serving serving = { .on_ready = on_ready };
    enum nacre_status status;

    stop_fd = serving.stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (stop_fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "an eventfd");
    status = nacre_browser_settle(asked->session.session, &browser, err);
    if (status == NACRE_OK)
        status = cli_engine_open(own, &term, &engine, err);
    /* Whoever calls it: the one who asked for the keeper's sends a token along. */
    if (status == NACRE_OK)
        status = approve(asked, engine, &browser, NULL, err);
    if (status != NACRE_OK)
        return status;
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
    status = nacre_browser_serve(nacre_engine_take(&engine), asked->session.session,
                                 &serving, err);
    cli_term_clear(&term);
    return status;
}

static int serve(struct asked *asked)
{
    struct nacre_error err;

    return serve_it(asked, &err) == NACRE_OK ? 0 : cli_fail(asked->args, &err);
}

/* ---- the verb ---- */

static int run(const struct cli_args *args)
{
    static const struct {
        const char *word;
        size_t operands;
        unsigned needs;
        int (*run)(struct asked *asked);
    } actions[] = {
        { "start", 1, NEEDS_GATE | NEEDS_ENGINE, start },
        { "stop", 1, NEEDS_ENGINE, stop }, /* whatever the file says by now */
        { "url", 1, NEEDS_GATE | NEEDS_TARGET | NEEDS_ENGINE, give_url },
        { "screenshot", 3, NEEDS_GATE | NEEDS_TARGET | NEEDS_ENGINE, screenshot },
        { "serve", 1, NEEDS_GATE, serve }, /* has an engine of its own */
    };
    NACRE_AUTO(asked_clear) struct asked asked = { .args = args };
    const char *word = args->operands[0];
    struct nacre_error err;

    if (strcmp(word, "list") == 0 && args->operand_count == 1)
        return list_all(args);
    for (size_t i = 0; i < NACRE_COUNT(actions); i++)
        if (strcmp(word, actions[i].word) == 0 &&
            args->operand_count == actions[i].operands)
            return settle(&asked, actions[i].needs, &err) == NACRE_OK
                       ? actions[i].run(&asked)
                       : cli_fail(args, &err);
    (void)nacre_fail(&err, NACRE_ERR_USAGE,
                     "screenshot takes a URL and a file, every other word nothing");
    return cli_fail(args, &err);
}

const struct cli_verb cli_verb_browser = {
    .name = "browser",
    .summary = "a browser in a sandbox: start, stop, url, list, screenshot",
    .operands = "start|stop|url|list|screenshot URL FILE",
    .about = "Chromium in a container of the session's, by `browser` of the\n"
             "configuration: its own sandbox on, no network but nacre's door, no port\n"
             "that is published. A URL opens one connection, within a minute: ws://\n"
             "for playwright's connectOverCDP or puppeteer's browserWSEndpoint, --novnc\n"
             "for the screen. It is started where it is needed (autoStart), and ends\n"
             "with its session. `serve` is what the keeper runs.",
    .example = "  nacre browser url --config ~/.openclaw/openclaw.json\n"
               "  nacre browser screenshot --config ~/.openclaw/openclaw.json \\\n"
               "    https://example.com/ page.png",
    .options = options,
    .option_count = OPT_COUNT,
    .words = words,
    .word_count = NACRE_COUNT(words),
    .operands_min = 1,
    .operands_max = 3,
    .run = run,
};
