#ifndef NACRE_BROWSER_H
#define NACRE_BROWSER_H

#include <stdbool.h>
#include <stdint.h>

#include "nacre/buf.h"
#include "nacre/error.h"
#include "nacre/own.h"
#include "nacre/session.h"

/*
 * A browser in a sandbox: a container with Chromium, which has no network but the door
 * and no port that is published.  A process of its own (`nacre browser serve`, a job of
 * the keeper's) owns it; it listens on a loopback port of the host and lets in who brings
 * a token.  A token opens one connection, and is asked for by who may read the state
 * directory.
 */

#define NACRE_BROWSER_IMAGE "nacre-sandbox-browser:bookworm-slim"
#define NACRE_BROWSER_CDP_PORT 9222   /* in the sandbox */
#define NACRE_BROWSER_NOVNC_PORT 6080 /* in the sandbox */
#define NACRE_BROWSER_START_MS 12000
#define NACRE_BROWSER_URL 256

/* ---- what a configuration says ---- */

/* Who is asked to drive which browser: `target` of a call. */
#define NACRE_BROWSER_TARGET_MAP(X) \
    X(SANDBOX, "sandbox")           \
    X(HOST, "host")                 \
    X(CUSTOM, "custom")
enum nacre_browser_target {
#define X(id, name) NACRE_BROWSER_TARGET_##id,
    NACRE_BROWSER_TARGET_MAP(X)
#undef X
    NACRE_BROWSER_TARGET_COUNT
};
const char *nacre_browser_target_name(enum nacre_browser_target target);

/*
 * What a configuration says of the browser of a session, settled as the rest of the
 * session is: the agent's own over that for all, each with its source.  Its container has
 * what the session's has (limits, variables, denied paths, network), but for what
 * `browser` says otherwise: image, network, binds.  Where nobody says how much of it a
 * browser may have, it has what one needs.
 */
struct nacre_browser {
    bool enabled, headless, no_vnc, host_control, auto_start;
    uint64_t start_ms; /* autoStartTimeoutMs */
    struct nacre_limit cdp_port, no_vnc_port; /* of the host's loopback; 0: any */
    char name[NACRE_BOX_NAME]; /* of the container */
    /* Level container; NULL where the session has no sandbox. */
    struct nacre_policy *policy;
    struct nacre_mount_request *mounts; /* `guest` and `host` owned */
    uint32_t mount_count;
    struct nacre_source enabled_source, host_control_source, auto_start_source,
        cdp_port_source, no_vnc_port_source;
};
NACRE_MUST_CHECK enum nacre_status
nacre_browser_settle(const struct nacre_session *session,
                     struct nacre_browser *ret_browser, struct nacre_error *err);
void nacre_browser_clear(struct nacre_browser *browser);

/* As nacre_session_request(), with the browser's mounts and name.  Borrowed. */
void nacre_browser_request(const struct nacre_session *session,
                           const struct nacre_browser *browser,
                           struct nacre_request *request);

/*
 * May this target be driven?  `url` for CUSTOM: http, https, ws or wss; NULL asks whether
 * any may.  Each needs the tool `browser` to be allowed.  SANDBOX needs a sandbox and
 * `enabled`; HOST allowHostControl; CUSTOM an entry in each of allowedControlUrls,
 * allowedControlHosts and allowedControlPorts that is written, and of these the first or
 * both others have to be.  An empty list allows nothing.
 */
NACRE_MUST_CHECK enum nacre_status
nacre_browser_target(const struct nacre_session *session,
                     enum nacre_browser_target target, const char *url,
                     struct nacre_answer *ret_answer, struct nacre_error *err);

/* The same as a failure: NACRE_ERR_DENIED has the line, and the change that flips it. */
NACRE_MUST_CHECK enum nacre_status
nacre_browser_check(const struct nacre_session *session,
                    enum nacre_browser_target target, const char *url,
                    struct nacre_error *err);

/* ---- one that runs ---- */

/* What runs in the sandbox: Chromium with its own sandbox on, CDP on loopback; with a
 * screen and noVNC where `no_vnc` says so. */
struct nacre_tool;
NACRE_MUST_CHECK enum nacre_status nacre_browser_command(bool headless, bool no_vnc,
                                                         struct nacre_tool **ret_tool,
                                                         struct nacre_error *err);

/*
 * Runs the session's browser and lets in who brings a token, until `stop_fd` (an eventfd,
 * which does not block; it is written to, too) can be read, the browser ends, or nobody
 * has used it for as long as a sandbox may idle, or it is as old as one may be.  `on_ready` is told once tokens can be
 * asked for.  Takes `engine`, one with own_boxes: it is freed before anybody is told that
 * the browser has ended, and then nothing of it is left.
 *
 * NACRE_ERR_DENIED: a gate is shut.  NACRE_ERR_USAGE: the session has one already.
 * NACRE_ERR_TIMEOUT: it did not answer within autoStartTimeoutMs.
 */
struct nacre_engine;
struct nacre_browser_serving {
    int stop_fd;
    void (*on_ready)(void *data);
    void *data;
};
NACRE_MUST_CHECK enum nacre_status
nacre_browser_serve(struct nacre_engine *engine, const struct nacre_session *session,
                    const struct nacre_browser_serving *serving, struct nacre_error *err);

struct nacre_browser_info {
    char name[NACRE_BOX_NAME]; /* of the container */
    char scope_key[256], agent[65], config[256];
    char version[128]; /* "Chrome/147..." */
    uint16_t port, screen_port; /* on 127.0.0.1; the second 0: there is no screen */
    uint32_t connections;
    int32_t pid;
    uint64_t started_ms; /* since 1970 */
};

/* NACRE_ERR_NOT_FOUND: none runs for the session. */
NACRE_MUST_CHECK enum nacre_status
nacre_browser_find(const char *state_dir, const struct nacre_session *session,
                   struct nacre_browser_info *ret_info, struct nacre_error *err);

/* Each that runs, until `each` returns false. */
NACRE_MUST_CHECK enum nacre_status
nacre_browsers_each(const char *state_dir,
                    bool (*each)(void *data, const struct nacre_browser_info *info),
                    void *data, struct nacre_error *err);

/* Starts it as a job of the keeper's, which ends with the session, and waits until it is
 * ready; one that runs is left as it is.  `approval`: a token for what serves it, or
 * NULL.  As nacre_browser_serve() fails. */
struct nacre_keeper_at;
NACRE_MUST_CHECK enum nacre_status
nacre_browser_start(const struct nacre_keeper_at *at, const struct nacre_session *session,
                    const char *approval, struct nacre_browser_info *ret_info,
                    struct nacre_error *err);

/* Ends a scope's, whoever serves it, and waits until nothing is left.
 * NACRE_ERR_NOT_FOUND: there is none. */
NACRE_MUST_CHECK enum nacre_status nacre_browser_stop(const char *state_dir,
                                                      const char *scope_key,
                                                      struct nacre_error *err);

/* A URL that opens one connection, within a minute. */
enum nacre_browser_url {
    NACRE_BROWSER_URL_CDP,    /* ws://: for whoever takes a WebSocket's */
    NACRE_BROWSER_URL_HTTP,   /* http://, below which /json/version names a WebSocket */
    NACRE_BROWSER_URL_SCREEN, /* http://: noVNC, for a person's browser */
};
NACRE_MUST_CHECK enum nacre_status
nacre_browser_url(const char *state_dir, const struct nacre_session *session,
                  enum nacre_browser_url kind, char ret_url[NACRE_BROWSER_URL],
                  struct nacre_error *err);

/*
 * Loads `page` in a tab of its own and adds a picture of it to `png`.  `cdp` is a ws://
 * or http:// URL of a browser.  *ret_page_status is HTTP's, 0 where it is not known: what
 * the door refuses of http:// is a page with its reason on it, and 403.
 * NACRE_ERR_UNAVAILABLE says why the page can't be loaded.
 */
#define NACRE_BROWSER_PNG_BYTES_MAX ((size_t)48 << 20)
#define NACRE_BROWSER_PAGE_MS 30000
NACRE_MUST_CHECK enum nacre_status nacre_browser_screenshot(const char *cdp,
                                                            const char *page,
                                                            uint64_t timeout_ms,
                                                            struct nacre_buf *png,
                                                            int *ret_page_status,
                                                            struct nacre_error *err);

#endif
