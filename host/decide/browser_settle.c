/*
 * What a configuration means for the browser of a session.  Its container is a sandbox
 * like the session's own, made by the same rules from what `browser` says otherwise.
 */
#include <stdlib.h>
#include <string.h>

#include "nacre/browser.h"
#include "nacre/text.h"
#include "schema.h"
#include "settle.h"

#define PREFIX "openclaw-sbx-browser-"

/* What Chromium takes for a few pages, where nobody says how much it may. */
#define MEMORY_MB 2048
#define PROCESSES 1024 /* threads count */
#define OPEN_FILES 4096
#define TMP "/tmp:size=512m,mode=1777" /* its profile and caches */
#define LIFE_MS UINT64_C(604800000) /* as long as any run may last */
#define OUTPUT_BYTES (UINT64_C(64) << 20)

const char *nacre_browser_target_name(enum nacre_browser_target target)
{
    static const char *const names[] = {
#define X(id, name) [NACRE_BROWSER_TARGET_##id] = name,
        NACRE_BROWSER_TARGET_MAP(X)
#undef X
    };

    return names[target];
}

/* ---- what moves nothing ---- */

static bool is_loopback(const char *range)
{
    return strncmp(range, "127.", 4) == 0 || strcmp(range, "::1/128") == 0;
}

void nacre_browser_tell(struct nacre_session *session,
                        const struct nacre_browser_rules *rules)
{
    if (rules->vnc_port.place.line > 0)
        nacre_session_note(session, rules->vnc_port.place,
                           "browser.vncPort: no effect, VNC stays in the sandbox; nacre "
                           "browser url --novnc shows the screen");
    if (rules->cdp_source_range.text && !is_loopback(rules->cdp_source_range.text))
        nacre_session_note(session, rules->cdp_source_range.place,
                           "browser.cdpSourceRange: no effect, no port is published: CDP "
                           "is at 127.0.0.1 alone, behind a token");
}

/* ---- what is said ---- */

static bool flag(const struct nacre_source *source, const struct nacre_flag *own,
                 const struct nacre_flag *all, bool by_default)
{
    return source->from == NACRE_FROM_AGENT    ? own->on
           : source->from == NACRE_FROM_GLOBAL ? all->on
                                               : by_default;
}

static struct nacre_limit number(const struct nacre_limit *own,
                                 const struct nacre_limit *all, uint64_t by_default)
{
    return own->place.line > 0   ? *own
           : all->place.line > 0 ? *all
                                 : (struct nacre_limit){ by_default, { 0 } };
}

static void settle_words(const struct nacre_session *session,
                         const struct nacre_box_view *view, struct nacre_browser *browser)
{
    const struct nacre_browser_rules *own = &view->own->browser;
    const struct nacre_browser_rules *all = &view->all->browser;
    const struct {
        const struct nacre_flag *own, *all;
        bool by_default;
        enum nacre_key key;
        bool *value;
        struct nacre_source *source;
    } flags[] = {
        { &own->enabled, &all->enabled, false, NACRE_KEY_BROWSER_ENABLED,
          &browser->enabled, &browser->enabled_source },
        { &own->allow_host_control, &all->allow_host_control, false,
          NACRE_KEY_BROWSER_HOST_CONTROL, &browser->host_control,
          &browser->host_control_source },
        { &own->auto_start, &all->auto_start, true, NACRE_KEY_BROWSER_AUTO_START,
          &browser->auto_start, &browser->auto_start_source },
    };

    for (size_t i = 0; i < NACRE_COUNT(flags); i++) {
        *flags[i].source = nacre_source_choose(session, view->agent, flags[i].own->place,
                                               flags[i].all->place, flags[i].key);
        *flags[i].value = flag(flags[i].source, flags[i].own, flags[i].all,
                               flags[i].by_default);
    }
    browser->cdp_port = number(&own->cdp_port, &all->cdp_port, 0);
    browser->no_vnc_port = number(&own->no_vnc_port, &all->no_vnc_port, 0);
    browser->cdp_port_source =
        nacre_source_choose(session, view->agent, own->cdp_port.place,
                            all->cdp_port.place, NACRE_KEY_BROWSER_CDP_PORT);
    browser->no_vnc_port_source =
        nacre_source_choose(session, view->agent, own->no_vnc_port.place,
                            all->no_vnc_port.place, NACRE_KEY_BROWSER_NO_VNC_PORT);
    browser->start_ms = number(&own->auto_start_timeout_ms, &all->auto_start_timeout_ms,
                               NACRE_BROWSER_START_MS).value;
    browser->headless = own->headless.place.line > 0 ? own->headless.on
                                                     : all->headless.on;
    browser->no_vnc = own->no_vnc_enabled.place.line > 0   ? own->no_vnc_enabled.on
                      : all->no_vnc_enabled.place.line > 0 ? all->no_vnc_enabled.on
                                                           : true;
    if (browser->headless)
        browser->no_vnc = false; /* there is no screen to show */
}

static void settle_name(const struct nacre_session *session,
                        const struct nacre_box_view *view, struct nacre_browser *browser)
{
    const char *own = view->own->browser.container_prefix.text;
    const char *all = view->all->browser.container_prefix.text;

    nacre_session_box_name(own ? own : all ? all : PREFIX, session->scope_key,
                           browser->name);
}

/* ---- its sandbox ---- */

/* `rules` with what its own `browser` says.  A borrowed view, like all of it. */
static struct nacre_box_rules for_browser(const struct nacre_box_rules *rules,
                                          bool own_binds)
{
    struct nacre_box_rules made = *rules;
    const struct nacre_browser_rules *said = &rules->browser;

    made.container.image = said->image;
    /* They are for the image of commands. */
    made.container.setup_command = made.container.workdir = (struct nacre_rule){ 0 };
    if (own_binds)
        made.binds = said->binds;
    if (said->network.text) {
        made.network = strcmp(said->network.text, "none") == 0 ? NACRE_NETWORK_DENY
                                                               : NACRE_NETWORK_ALLOW_ALL;
        made.network_place = said->network.place;
    }
    return made;
}

static void set_default(struct nacre_limit *limit, uint64_t value)
{
    if (limit->place.line == 0)
        limit->value = value;
}

static void set_limits(struct nacre_policy *policy)
{
    set_default(&policy->limits.memory_mb, MEMORY_MB);
    set_default(&policy->limits.max_processes, PROCESSES);
    set_default(&policy->limits.max_open_files, OPEN_FILES);
    /* A limit for commands is none for what serves many calls. */
    policy->limits.timeout_ms = (struct nacre_limit){ LIFE_MS, { 0 } };
    policy->limits.max_output_bytes = (struct nacre_limit){ OUTPUT_BYTES, { 0 } };
}

static void free_mounts(struct nacre_mount_request *mounts, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        free((char *)mounts[i].guest);
        free((char *)mounts[i].host);
    }
    free(mounts);
}

/* Where nobody says which, /tmp is as large as a profile needs. */
static enum nacre_status set_tmpfs(struct nacre_rules *tmpfs, struct nacre_error *err)
{
    for (size_t i = 0; tmpfs->place.line == 0 && i < tmpfs->count; i++)
        if (strcmp(tmpfs->items[i].text, "/tmp") == 0) {
            free(tmpfs->items[i].text);
            tmpfs->items[i].text = NULL;
            return nacre_schema_copy(TMP, &tmpfs->items[i].text, err);
        }
    return NACRE_OK;
}

/* As a session like this one whose sandbox is the browser's. */
static enum nacre_status settle_box(const struct nacre_session *session,
                                    const struct nacre_box_view *view,
                                    struct nacre_browser *browser,
                                    struct nacre_error *err)
{
    bool own_binds = view->own->browser.binds.place.line > 0 ||
                     view->all->browser.binds.place.line > 0;
    struct nacre_box_rules own = for_browser(view->own, own_binds);
    struct nacre_box_rules all = for_browser(view->all, own_binds);
    const struct nacre_box_view made = { .config = view->config, .agent = view->agent,
                                         .own = &own, .all = &all, .of_browser = true };
    struct nacre_session like = *session;
    enum nacre_status status;

    like.shell = NULL;
    like.mounts = NULL;
    like.mount_count = 0;
    status = nacre_box_compile(&made, &like, err);
    if (status == NACRE_OK)
        status = set_tmpfs(&like.shell->container.tmpfs, err);
    if (status != NACRE_OK) {
        nacre_policy_free(like.shell);
        free_mounts(like.mounts, like.mount_count);
        return status;
    }
    browser->policy = like.shell;
    browser->mounts = like.mounts;
    browser->mount_count = like.mount_count;
    browser->policy->user_namespaces = true; /* its own sandbox is made of them */
    set_limits(browser->policy);
    return NACRE_OK;
}

/* ---- the whole ---- */

enum nacre_status nacre_browser_settle(const struct nacre_session *session,
                                       struct nacre_browser *ret_browser,
                                       struct nacre_error *err)
{
    const struct nacre_box_view view = nacre_session_view(
        session, nacre_session_agent(session->config, session->agent));
    struct nacre_browser browser = { 0 };

    settle_words(session, &view, &browser);
    settle_name(session, &view, &browser);
    if (session->sandboxed) {
        enum nacre_status status = settle_box(session, &view, &browser, err);

        if (status != NACRE_OK)
            return status;
    }
    *ret_browser = browser;
    return NACRE_OK;
}

void nacre_browser_clear(struct nacre_browser *browser)
{
    nacre_policy_free(browser->policy);
    free_mounts(browser->mounts, browser->mount_count);
    *browser = (struct nacre_browser){ 0 };
}

void nacre_browser_request(const struct nacre_session *session,
                           const struct nacre_browser *browser,
                           struct nacre_request *request)
{
    nacre_session_request(session, request);
    request->mounts = browser->mounts;
    request->mount_count = browser->mount_count;
    request->box_name = browser->name;
}
