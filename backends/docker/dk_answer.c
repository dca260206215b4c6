/* What the engine answered: its statuses, its words and its JSON.  None of it is
 * trusted; dk_transfer.c has bounded its size. */
#include <string.h>

#include "dk_client.h"
#include "dk_name.h"
#include "nacre/text.h"

/* An error's body is {"message": "..."}; when it is not, its first bytes have to do. */
static const char *message(const struct nacre_buf *body, char *ret_text, size_t size)
{
    NACRE_AUTO(dk_json_guard) json_t *value =
        body->size > 0 ? json_loadb(body->bytes, body->size, 0, NULL) : NULL;
    const json_t *words = json_object_get(value, "message");

    if (json_is_string(words))
        return nacre_text_show(ret_text, size, json_string_value(words),
                               json_string_length(words));
    if (body->size == 0)
        return nacre_text_show(ret_text, size, "no reason given", 15);
    return nacre_text_show(ret_text, size, body->bytes, body->size);
}

enum nacre_status dk_judge(const struct dk_request *request,
                           const struct dk_answer *answer, struct nacre_error *err)
{
    enum nacre_status status = NACRE_ERR_BACKEND;
    char shown[320];

    if (answer->http_status / 100 == 2)
        return NACRE_OK;
    if (answer->http_status == 404)
        status = NACRE_ERR_NOT_FOUND;
    if (answer->http_status == 409 && request->conflict != NACRE_OK)
        status = request->conflict;
    return nacre_fail(err, status, "%s: the engine says (%ld): %s", request->doing,
                      answer->http_status,
                      message(&answer->body, shown, sizeof(shown)));
}

enum nacre_status dk_fail_shape(const struct dk_request *request, const char *what,
                                struct nacre_error *err)
{
    return nacre_fail(err, NACRE_ERR_PARSE,
                      "%s: expected %s in the engine's answer: is it a Docker engine?",
                      request->doing, what);
}

enum nacre_status dk_call(struct dk_client *client, const struct dk_request *request,
                          long also_fine, struct nacre_error *err)
{
    NACRE_AUTO(dk_answer_guard) struct dk_answer answer = DK_ANSWER;
    enum nacre_status status = dk_send(client, request, &answer, err);

    if (status != NACRE_OK || answer.http_status == also_fine)
        return status;
    return dk_judge(request, &answer, err);
}

enum nacre_status dk_call_json(struct dk_client *client, const struct dk_request *request,
                               json_type type, json_t **ret_value,
                               struct nacre_error *err)
{
    NACRE_AUTO(dk_answer_guard) struct dk_answer answer = DK_ANSWER;
    NACRE_AUTO(dk_json_guard) json_t *value = NULL;
    enum nacre_status status = dk_send(client, request, &answer, err);

    if (status == NACRE_OK)
        status = dk_judge(request, &answer, err);
    if (status != NACRE_OK)
        return status;
    /* Twice the same key is two answers: whoever reads after us may see the other. */
    if (answer.body.size > 0)
        value = json_loadb(answer.body.bytes, answer.body.size, JSON_REJECT_DUPLICATES,
                           NULL);
    if (!value || json_typeof(value) != type)
        return dk_fail_shape(request, type == JSON_ARRAY ? "a JSON array"
                                                         : "a JSON object", err);
    *ret_value = NACRE_HEAP_TAKE(value);
    return NACRE_OK;
}

enum nacre_status dk_call_id(struct dk_client *client, const struct dk_request *request,
                             json_t **ret_object, struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *object = NULL;
    enum nacre_status status = dk_call_json(client, request, JSON_OBJECT, &object, err);
    const char *id = json_string_value(json_object_get(object, "Id"));

    if (status != NACRE_OK)
        return status;
    if (!id || !dk_name_is_id(id))
        return dk_fail_shape(request, "an Id of 64 hex digits", err);
    *ret_object = NACRE_HEAP_TAKE(object);
    return NACRE_OK;
}

enum nacre_status dk_body(const json_t *body, char **ret_text, struct nacre_error *err)
{
    char *text = json_dumps(body, JSON_COMPACT);

    if (!text)
        return nacre_fail(err, NACRE_ERR_MEMORY, "the request's body can't be written");
    *ret_text = text;
    return NACRE_OK;
}
