#include <string.h>

#include "cdp.h"
#include "nacre/base64.h"
#include "nacre/browser.h"
#include "nacre/clock.h"
#include "nacre/own.h"
#include "nacre/text.h"

/* A text of the answer, kept; "" where it has none. */
static void keep(const json_t *result, const char *name, char *ret_text, size_t size)
{
    const char *text = json_string_value(json_object_get(result, name));

    (void)snprintf(ret_text, size, "%s", text ? text : "");
}

static enum nacre_status call(struct cdp *cdp, const char *method, json_t *params,
                              struct nacre_error *err)
{
    json_t *result = NULL;
    enum nacre_status status = cdp_call(cdp, method, params, &result, err);

    json_decref(result);
    return status;
}

/* A tab of its own; what follows is said to it. */
static enum nacre_status open_tab(struct cdp *cdp, char ret_target[CDP_SESSION],
                                  struct nacre_error *err)
{
    json_t *result = NULL;
    enum nacre_status status =
        cdp_call(cdp, "Target.createTarget", json_pack("{s:s}", "url", "about:blank"),
                 &result, err);

    keep(result, "targetId", ret_target, CDP_SESSION);
    json_decref(result);
    if (status != NACRE_OK)
        return status;
    result = NULL;
    status = cdp_call(cdp, "Target.attachToTarget",
                      json_pack("{s:s, s:b}", "targetId", ret_target, "flatten", 1),
                      &result, err);
    keep(result, "sessionId", cdp->session, sizeof(cdp->session));
    json_decref(result);
    if (status == NACRE_OK && !cdp->session[0])
        status = nacre_fail(err, NACRE_ERR_UNAVAILABLE, "the browser opens no tab");
    return status;
}

static enum nacre_status load(struct cdp *cdp, const char *page, struct nacre_error *err)
{
    json_t *result = NULL;
    char failed[NACRE_SHOWN] = "", shown[NACRE_SHOWN], place[NACRE_SHOWN];
    enum nacre_status status = call(cdp, "Page.enable", json_object(), err);

    if (status == NACRE_OK)
        status = call(cdp, "Network.enable", json_object(), err);
    cdp->loaded = false;
    cdp->page_status = 0;
    if (status == NACRE_OK)
        status = cdp_call(cdp, "Page.navigate", json_pack("{s:s}", "url", page), &result,
                          err);
    keep(result, "errorText", failed, sizeof(failed));
    json_decref(result);
    if (status == NACRE_OK && failed[0])
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "'%s' can't be loaded: %s; what the door refused is in nacre "
                          "audit", nacre_text_shown(place, page),
                          nacre_text_shown(shown, failed));
    return status == NACRE_OK ? cdp_await_load(cdp, err) : status;
}

static enum nacre_status take(struct cdp *cdp, struct nacre_buf *png,
                              struct nacre_error *err)
{
    static const unsigned char magic[] = { 0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n' };
    json_t *result = NULL;
    enum nacre_status status =
        cdp_call(cdp, "Page.captureScreenshot", json_pack("{s:s}", "format", "png"),
                 &result, err);
    const json_t *data = json_object_get(result, "data");
    size_t length = json_string_length(data), count = 0;
    NACRE_AUTO(nacre_heap_guard) char *bytes = malloc(length + 1);

    if (status == NACRE_OK && !bytes)
        status = nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the picture");
    if (status == NACRE_OK &&
        (!json_is_string(data) ||
         !nacre_base64_read(NACRE_BASE64_PLAIN, json_string_value(data), length, bytes,
                            length, &count) ||
         count < sizeof(magic) || memcmp(bytes, magic, sizeof(magic)) != 0))
        status = nacre_fail(err, NACRE_ERR_PARSE, "what the browser gives is no PNG");
    json_decref(result);
    return status == NACRE_OK ? nacre_buf_add(png, bytes, count, err) : status;
}

enum nacre_status nacre_browser_screenshot(const char *cdp_url, const char *page,
                                           uint64_t timeout_ms, struct nacre_buf *png,
                                           int *ret_page_status, struct nacre_error *err)
{
    NACRE_AUTO(cdp_clear) struct cdp cdp = { .socket = WEBSOCKET_NONE };
    char target[CDP_SESSION] = "";
    struct nacre_error ignored;
    enum nacre_status status =
        cdp_open(cdp_url, nacre_clock_ns() + timeout_ms * NACRE_NS_PER_MS, &cdp, err);

    if (status == NACRE_OK)
        status = open_tab(&cdp, target, err);
    if (status == NACRE_OK)
        status = load(&cdp, page, err);
    if (status == NACRE_OK)
        status = take(&cdp, png, err);
    if (target[0]) {
        cdp.session[0] = '\0';
        (void)!call(&cdp, "Target.closeTarget", json_pack("{s:s}", "targetId", target),
                    &ignored);
    }
    if (status == NACRE_OK)
        *ret_page_status = cdp.page_status;
    return status;
}
