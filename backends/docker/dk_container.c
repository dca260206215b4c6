#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "dk_client.h"
#include "dk_name.h"
#include "nacre/text.h"

#define PATH 320 /* with a name or an id in it */

struct dk_export {
    int fd;
    struct nt_wait wait;
};

enum nacre_status dk_check_container(const char *container, struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    if (dk_name_is_container(container))
        return NACRE_OK;
    return nacre_fail(err, NACRE_ERR_USAGE,
                      "'%s' can't be a container's name: expected letters, digits, '_', "
                      "'.' and '-'", nacre_text_shown(shown, container));
}

/* ret_path: "/containers/" + container + tail. */
static enum nacre_status container_path(const char *container, const char *tail,
                                        char ret_path[PATH], struct nacre_error *err)
{
    enum nacre_status status = dk_check_container(container, err);

    if (status == NACRE_OK)
        (void)snprintf(ret_path, PATH, "/containers/%s%s", container, tail);
    return status;
}

/* Only arrays of texts are known; anything else is a warning in itself. */
static void join_warnings(const json_t *warnings, char *ret_text, size_t size)
{
    size_t used = 0, i;
    const json_t *warning;

    ret_text[0] = '\0';
    if (warnings && !json_is_null(warnings) && !json_is_array(warnings))
        (void)snprintf(ret_text, size, "Warnings is no list");
    json_array_foreach(warnings, i, warning) {
        const char *text = json_is_string(warning) ? json_string_value(warning)
                                                   : "a warning that is no text";

        if (i > 0 && size - used > 3)
            used += (size_t)snprintf(ret_text + used, size - used, "; ");
        (void)nacre_text_show(ret_text + used, size - used, text, strlen(text));
        used += strlen(ret_text + used);
    }
}

enum nacre_status dk_container_create(struct dk_client *client, const char *name,
                                      const json_t *body, struct nt_wait wait,
                                      struct dk_created *ret_created,
                                      struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *text = NULL;
    NACRE_AUTO(dk_json_guard) json_t *answer = NULL;
    char path[PATH];
    struct dk_request request = { .doing = "creating the container", .method = "POST",
                                  .path = path, .wait = wait,
                                  .conflict = NACRE_ERR_USAGE };
    enum nacre_status status = container_path(name, "", path, err);

    if (status == NACRE_OK)
        status = dk_body(body, &text, err);
    if (status != NACRE_OK)
        return status;
    (void)snprintf(path, sizeof(path), "/containers/create?name=%s", name);
    request.body = text;
    status = dk_call_id(client, &request, &answer, err);
    if (status != NACRE_OK)
        return status;
    (void)snprintf(ret_created->id, DK_ID, "%s",
                   json_string_value(json_object_get(answer, "Id")));
    join_warnings(json_object_get(answer, "Warnings"), ret_created->warnings,
                  sizeof(ret_created->warnings));
    return NACRE_OK;
}

enum nacre_status dk_container_inspect(struct dk_client *client, const char *container,
                                       struct nt_wait wait, json_t **ret_container,
                                       struct nacre_error *err)
{
    char path[PATH];
    const struct dk_request request = { .doing = "inspecting the container",
                                        .method = "GET", .path = path,
                                        .wait = wait };
    enum nacre_status status = container_path(container, "/json", path, err);

    return status != NACRE_OK ? status : dk_call_id(client, &request, ret_container, err);
}

/* A call about one container that gives nothing back. */
static enum nacre_status act(struct dk_client *client, const char *doing,
                             const char *container, const char *tail,
                             struct nt_wait wait, long also_fine,
                             struct nacre_error *err)
{
    char path[PATH];
    const struct dk_request request = { .doing = doing, .method = "POST", .path = path,
                                        .wait = wait };
    enum nacre_status status = container_path(container, tail, path, err);

    return status != NACRE_OK ? status : dk_call(client, &request, also_fine, err);
}

enum nacre_status dk_container_start(struct dk_client *client, const char *container,
                                     struct nt_wait wait, struct nacre_error *err)
{
    return act(client, "starting the container", container, "/start", wait, 304, err);
}

enum nacre_status dk_container_kill(struct dk_client *client, const char *container,
                                    const char *signal, struct nt_wait wait,
                                    struct nacre_error *err)
{
    char tail[64], shown[NACRE_SHOWN];

    if (!dk_name_is_container(signal) || strlen(signal) > 16)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "'%s' can't be a signal: expected one as KILL",
                          nacre_text_shown(shown, signal));
    (void)snprintf(tail, sizeof(tail), "/kill?signal=%s", signal);
    return act(client, "killing the container", container, tail, wait, 409, err);
}

enum nacre_status dk_container_stop_forks(struct dk_client *client, const char *container,
                                          struct nt_wait wait, struct nacre_error *err)
{
    char path[PATH];
    const struct dk_request request = { .doing = "lowering the container's limit of "
                                                 "processes",
                                        .method = "POST", .path = path,
                                        .body = "{\"PidsLimit\":1}",
                                        .wait = wait };
    enum nacre_status status = container_path(container, "/update", path, err);

    return status == NACRE_OK ? dk_call(client, &request, 0, err) : status;
}

enum nacre_status dk_container_remove(struct dk_client *client, const char *container,
                                      struct nt_wait wait, struct nacre_error *err)
{
    const struct timespec pause = { .tv_nsec = 20 * (long)NACRE_NS_PER_MS };
    char path[PATH];
    const struct dk_request request = { .doing = "removing the container",
                                        .method = "DELETE", .path = path,
                                        .wait = wait };
    enum nacre_status status = container_path(container, "?force=1&v=1", path, err);

    while (status == NACRE_OK) {
        NACRE_AUTO(dk_answer_guard) struct dk_answer answer = DK_ANSWER;

        status = dk_send(client, &request, &answer, err);
        if (status != NACRE_OK || answer.http_status == 404)
            return status;
        /* Somebody else is at it; when done, it will not be found. */
        if (answer.http_status != 409)
            return dk_judge(&request, &answer, err);
        (void)nanosleep(&pause, NULL);
    }
    return status;
}

/* Whoever reads it may stand still: the deadline holds here too. */
static enum nacre_status write_out(void *data, const char *bytes, size_t count,
                                   struct nacre_error *err)
{
    const struct dk_export *out = data;

    while (count > 0) {
        struct pollfd ready = { .fd = out->fd, .events = POLLOUT };
        ssize_t put;

        if (nt_wait_is_over(&out->wait))
            return nacre_fail(err, NACRE_ERR_TIMEOUT, "nobody takes it in time");
        if (poll(&ready, 1, dk_left_ms(nt_wait_next_ns(&out->wait))) <= 0)
            continue;
        put = write(out->fd, bytes, count < PIPE_BUF ? count : PIPE_BUF);
        if (put < 0 && errno != EINTR && errno != EAGAIN)
            return nacre_fail(err, NACRE_ERR_IO, "can't write it");
        bytes += put > 0 ? put : 0;
        count -= put > 0 ? (size_t)put : 0;
    }
    return NACRE_OK;
}

enum nacre_status dk_container_export(struct dk_client *client, const char *container,
                                      int fd, struct nt_wait wait,
                                      struct nacre_error *err)
{
    char path[PATH];
    struct dk_export out = { fd, wait };
    const struct dk_request request = { .doing = "exporting the container",
                                        .method = "GET", .path = path,
                                        .wait = wait, .sink = write_out,
                                        .sink_data = &out };
    enum nacre_status status = container_path(container, "/export", path, err);

    return status == NACRE_OK ? dk_call(client, &request, 0, err) : status;
}

enum nacre_status dk_container_list(struct dk_client *client, const char *label,
                                    struct nt_wait wait, json_t **ret_list,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *filter = NULL;
    NACRE_AUTO(dk_json_guard) json_t *list = NULL;
    NACRE_AUTO(dk_json_guard) json_t *filters = json_pack("{s[s]}", "label", label);
    struct nacre_buf path = NACRE_BUF(DK_PATH_MAX);
    struct dk_request request = { .doing = "listing containers", .method = "GET",
                                  .wait = wait };
    enum nacre_status status = dk_body(filters, &filter, err);
    const json_t *container;
    size_t i;

    if (status == NACRE_OK)
        status = nacre_buf_addf(&path, err, "/containers/json?all=1");
    if (status == NACRE_OK)
        status = dk_query_add(&path, "filters", filter, err);
    request.path = path.bytes;
    if (status == NACRE_OK)
        status = dk_call_json(client, &request, JSON_ARRAY, &list, err);
    nacre_buf_clear(&path);
    if (status != NACRE_OK)
        return status;
    json_array_foreach(list, i, container) {
        const char *id = json_string_value(json_object_get(container, "Id"));

        if (!id || !dk_name_is_id(id))
            return dk_fail_shape(&request, "containers with an Id of 64 hex digits", err);
    }
    *ret_list = NACRE_HEAP_TAKE(list);
    return NACRE_OK;
}

enum nacre_status dk_container_ran_out(struct dk_client *client, const char *id,
                                       uint64_t since_s, struct nt_wait wait,
                                       bool *ret_ran_out, struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *filter = NULL;
    NACRE_AUTO(dk_json_guard) json_t *event = NULL;
    NACRE_AUTO(dk_json_guard)
    json_t *filters = json_pack("{s[s] s[s]}", "container", id, "event", "oom");
    NACRE_AUTO(dk_answer_guard) struct dk_answer answer = DK_ANSWER;
    struct nacre_buf path = NACRE_BUF(DK_PATH_MAX);
    struct dk_request request = { .doing = "asking how the container ended",
                                  .method = "GET", .wait = wait };
    uint64_t now_ms = nacre_clock_wall_ms();
    enum nacre_status status = dk_body(filters, &filter, err);
    const char *of;

    /* What has an end in the past is told at once, as objects in a row. */
    if (status == NACRE_OK)
        status = nacre_buf_addf(&path, err,
                                "/events?since=%" PRIu64 "&until=%" PRIu64 ".%09" PRIu64,
                                since_s, now_ms / 1000, now_ms % 1000 * 1000000);
    if (status == NACRE_OK)
        status = dk_query_add(&path, "filters", filter, err);
    request.path = path.bytes;
    if (status == NACRE_OK)
        status = dk_send(client, &request, &answer, err);
    if (status == NACRE_OK)
        status = dk_judge(&request, &answer, err);
    nacre_buf_clear(&path);
    if (status != NACRE_OK)
        return status;
    event = json_loadb(answer.body.bytes ? answer.body.bytes : "", answer.body.size,
                       JSON_DISABLE_EOF_CHECK, NULL);
    of = json_string_value(json_object_get(event, "id"));
    *ret_ran_out = of && strcmp(of, id) == 0;
    return NACRE_OK;
}
