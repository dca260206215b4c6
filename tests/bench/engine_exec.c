#include "engine_exec.h"

#include <stdio.h>
#include <string.h>

#include "dk_client.h"
#include "dk_name.h"
#include "dk_stream.h"
#include "nacre/text.h"

#define PATH 320

static enum nacre_status exec_path(const char *exec, const char *tail,
                                   char ret_path[PATH], struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    if (!dk_name_is_id(exec))
        return nacre_fail(err, NACRE_ERR_USAGE, "'%s' can't be the id of an exec",
                          nacre_text_shown(shown, exec));
    (void)snprintf(ret_path, PATH, "/exec/%s%s", exec, tail);
    return NACRE_OK;
}

enum nacre_status engine_exec_create(struct dk_client *client, const char *container,
                                 const json_t *body, struct nt_wait wait,
                                 char ret_exec[DK_ID], struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *text = NULL;
    NACRE_AUTO(dk_json_guard) json_t *answer = NULL;
    char path[PATH];
    struct dk_request request = { .doing = "creating the exec", .method = "POST",
                                  .path = path, .wait = wait };
    enum nacre_status status = dk_check_container(container, err);

    if (status == NACRE_OK)
        status = dk_body(body, &text, err);
    if (status != NACRE_OK)
        return status;
    (void)snprintf(path, sizeof(path), "/containers/%s/exec", container);
    request.body = text;
    status = dk_call_id(client, &request, &answer, err);
    if (status == NACRE_OK)
        (void)snprintf(ret_exec, DK_ID, "%s",
                       json_string_value(json_object_get(answer, "Id")));
    return status;
}

enum nacre_status engine_exec_start(struct dk_client *client, const char *exec,
                                struct nt_wait wait, struct dk_stream **ret_stream,
                                struct nacre_error *err)
{
    char path[PATH];
    const struct dk_request request = { .doing = "starting the exec", .path = path,
                                        .body = "{\"Detach\":false,\"Tty\":false}",
                                        .wait = wait };
    enum nacre_status status = exec_path(exec, "/start", path, err);

    return status != NACRE_OK ? status : dk_hijack(client, &request, ret_stream, err);
}

enum nacre_status engine_exec_inspect(struct dk_client *client, const char *exec,
                                  struct nt_wait wait, struct engine_exec_state *ret_state,
                                  struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *answer = NULL;
    char path[PATH];
    const struct dk_request request = { .doing = "inspecting the exec", .method = "GET",
                                        .path = path, .wait = wait };
    enum nacre_status status = exec_path(exec, "/json", path, err);
    const json_t *running, *code;
    bool has_ended;
    json_int_t pid;

    if (status == NACRE_OK)
        status = dk_call_json(client, &request, JSON_OBJECT, &answer, err);
    if (status != NACRE_OK)
        return status;
    running = json_object_get(answer, "Running");
    code = json_object_get(answer, "ExitCode");
    pid = json_integer_value(json_object_get(answer, "Pid"));
    /* Between its start and its first moment it neither runs nor has a status. */
    has_ended = json_is_false(running) && !json_is_null(code);
    if (!json_is_boolean(running) || pid < 0 || pid > INT32_MAX ||
        (has_ended && (!json_is_integer(code) || json_integer_value(code) < 0 ||
                       json_integer_value(code) > 255)))
        return dk_fail_shape(&request, "Running, and an ExitCode from 0 to 255", err);
    *ret_state = (struct engine_exec_state){
        .running = !has_ended,
        .exit_status = has_ended ? (int)json_integer_value(code) : 0,
        .pid = has_ended ? 0 : (pid_t)pid,
    };
    return NACRE_OK;
}
