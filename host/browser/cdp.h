#ifndef BROWSER_CDP_H
#define BROWSER_CDP_H

#include <jansson.h>

#include "websocket.h"

/* Chromium's DevTools protocol: a question and its answer, events in between. */
#define CDP_MESSAGE_BYTES_MAX ((size_t)72 << 20)
#define CDP_SESSION 128

struct cdp {
    struct websocket socket;
    struct nacre_buf text;
    int last_id;
    char session[CDP_SESSION]; /* of the tab that calls go to; "": the browser itself */
    bool loaded;               /* the tab's page, since this was last cleared */
    int page_status;           /* what its server answered; 0: nothing yet */
    uint64_t deadline_ns;
};

/* `url`: ws:// as it is, http:// by what its /json/version says. */
NACRE_MUST_CHECK enum nacre_status cdp_open(const char *url, uint64_t deadline_ns,
                                            struct cdp *ret_cdp, struct nacre_error *err);
void cdp_clear(struct cdp *cdp);

/* Takes `params` (NULL: out of memory); *ret_result is the caller's. */
NACRE_MUST_CHECK enum nacre_status cdp_call(struct cdp *cdp, const char *method,
                                            json_t *params, json_t **ret_result,
                                            struct nacre_error *err);
/* Until the page is loaded. */
NACRE_MUST_CHECK enum nacre_status cdp_await_load(struct cdp *cdp,
                                                  struct nacre_error *err);

#endif
