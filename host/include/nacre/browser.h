#ifndef NACRE_BROWSER_H
#define NACRE_BROWSER_H

#include <stdbool.h>
#include <stdint.h>

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

/* What a configuration says of the browser of a session, settled as the rest of the
 * session is: the agent's own over that for all, each with its source. */
struct nacre_browser {
    bool enabled, headless, no_vnc, host_control, auto_start;
    uint64_t start_ms;     /* autoStartTimeoutMs */
    const char *image;     /* borrowed from the configuration, or the default */
    char name[NACRE_BOX_NAME];
    struct nacre_policy *policy; /* level container; the session's network rules */
    struct nacre_source enabled_source, host_control_source;
};
NACRE_MUST_CHECK enum nacre_status
nacre_browser_settle(const struct nacre_session *session, struct nacre_browser *ret_browser,
                     struct nacre_error *err);
void nacre_browser_clear(struct nacre_browser *browser);

/* May this target be driven?  `url` for CUSTOM, else NULL.  SANDBOX needs enabled, HOST
 * allowHostControl, CUSTOM an entry of allowedControlUrls, or of both allowedControlHosts
 * and allowedControlPorts where either is given.  An empty list allows nothing. */
NACRE_MUST_CHECK enum nacre_status
nacre_browser_target(const struct nacre_session *session,
                     enum nacre_browser_target target, const char *url,
                     struct nacre_answer *ret_answer, struct nacre_error *err);

#endif
