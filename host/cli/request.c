#include "request.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nacre/buf.h"
#include "nacre/own.h"
#include "nacre/text.h"

/* Takes its place among the texts, which have room for it. */
static enum nacre_status keep(struct cli_request *request, char *text,
                              const char **ret_text, struct nacre_error *err)
{
    if (!text)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the command line");
    request->texts[request->text_count++] = text;
    *ret_text = text;
    return NACRE_OK;
}

/* A path that does not exist is only made absolute: whoever opens it says so better. */
static char *absolute(const char *path)
{
    NACRE_AUTO(nacre_heap_guard) char *here = NULL;
    char *whole = realpath(path, NULL);

    if (whole || errno == ENOMEM)
        return whole;
    if (path[0] == '/')
        return strdup(path);
    here = getcwd(NULL, 0);
    if (!here)
        return strdup(path);
    return asprintf(&whole, "%s/%s", here, path) < 0 ? NULL : whole;
}

static enum nacre_status fail_mount(const char *text, struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    return nacre_fail(
        err, NACRE_ERR_USAGE,
        "--mount expects GUEST=HOST, GUEST=HOST:ro or GUEST=HOST:rw, not '%s'",
        nacre_text_shown(shown, text));
}

/* HOST may contain '=' and ':'; only a last ":ro" or ":rw" is not part of it. */
static enum nacre_status read_mount(struct cli_request *request, const char *text,
                                    struct nacre_mount_request *mount,
                                    struct nacre_error *err)
{
    const char *equals = strchr(text, '=');
    NACRE_AUTO(nacre_heap_guard) char *host = NULL;
    enum nacre_status status;
    size_t length;

    if (!equals || equals == text)
        return fail_mount(text, err);
    host = strdup(equals + 1);
    if (!host)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the command line");
    length = strlen(host);
    if (length >= 3 && (strcmp(host + length - 3, ":ro") == 0 ||
                        strcmp(host + length - 3, ":rw") == 0)) {
        mount->mode = host[length - 1] == 'w' ? 'w' : 'r';
        host[length - 3] = '\0';
    }
    if (host[0] == '\0')
        return fail_mount(text, err);
    status = keep(request, strndup(text, (size_t)(equals - text)), &mount->guest, err);
    if (status != NACRE_OK)
        return status;
    return keep(request, absolute(host), &mount->host, err);
}

static enum nacre_status check_environment(const struct cli_value *environment,
                                           struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    for (size_t i = 0; i < environment->count; i++) {
        const char *text = environment->items[i];
        const char *equals = strchr(text, '=');

        if (!equals || equals == text)
            return nacre_fail(
                err, NACRE_ERR_USAGE,
                "--env expects NAME=VALUE, not '%s'; nothing of nacre's own "
                "environment is passed on",
                nacre_text_shown(shown, text));
        for (size_t k = 0; k < i; k++)
            if (strncmp(environment->items[k], text, (size_t)(equals - text) + 1) == 0)
                return nacre_fail(err, NACRE_ERR_USAGE, "--env %s is given twice",
                                  nacre_text_show(shown, sizeof(shown), text,
                                                  (size_t)(equals - text)));
    }
    return NACRE_OK;
}

enum nacre_status cli_request_make(struct cli_request *request,
                                   const struct cli_value *workspace,
                                   const struct cli_value *mounts,
                                   const struct cli_value *environment,
                                   struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    *request = (struct cli_request){ .request.input_fd = -1 };
    request->mounts = calloc(mounts->count + 1, sizeof(*request->mounts));
    request->texts = calloc(2 * mounts->count + 1, sizeof(*request->texts));
    if (!request->mounts || !request->texts)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the command line");
    for (size_t i = 0; i < mounts->count && status == NACRE_OK; i++)
        status = read_mount(request, mounts->items[i], &request->mounts[i], err);
    if (status == NACRE_OK && workspace->given)
        status =
            keep(request, absolute(workspace->text), &request->request.workspace, err);
    if (status == NACRE_OK && environment)
        status = check_environment(environment, err);
    if (status != NACRE_OK)
        return status;
    request->request.mounts = request->mounts;
    request->request.mount_count = (uint32_t)mounts->count;
    if (environment && environment->given)
        request->request.environment = environment->items;
    return NACRE_OK;
}

enum nacre_status cli_request_waive(struct cli_request *request,
                                    const struct cli_value *waive,
                                    const struct cli_value *emulation,
                                    struct nacre_error *err)
{
    size_t bytes = emulation->given, used = 0, count = 0;

    for (size_t i = 0; i < waive->count; i++)
        bytes += strlen(waive->items[i]) + 1;
    if (bytes == 0)
        return NACRE_OK;
    request->waive_text = malloc(bytes);
    request->waive = calloc(bytes + 1, sizeof(*request->waive));
    if (!request->waive_text || !request->waive)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the command line");
    for (size_t i = 0; i < waive->count; i++) {
        const char *at = waive->items[i];

        do {
            size_t length = strcspn(at, ",");

            if (length == 0)
                return nacre_fail(err, NACRE_ERR_USAGE,
                                  "--waive expects NAME or NAME,NAME, none empty");
            request->waive[count++] = request->waive_text + used;
            memcpy(request->waive_text + used, at, length);
            request->waive_text[used + length] = '\0';
            used += length + 1;
            at += length;
        } while (*at++ == ',');
    }
    if (emulation->given)
        request->waive[count++] = NACRE_WAIVER_EMULATION;
    request->request.waive = request->waive;
    return NACRE_OK;
}

enum nacre_status cli_request_user_input(const struct cli_value *file, const char *option,
                                         struct nacre_buf *input, const char **ret_text,
                                         struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    enum nacre_status status;
    char shown[NACRE_SHOWN];

    if (!file->given)
        return NACRE_OK;
    (void)nacre_text_shown(shown, file->text);
    fd = open(file->text, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 && errno == ENOENT)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND, "%s: there is no file '%s'", option,
                          shown);
    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "%s: opening '%s'", option, shown);
    status = nacre_buf_read(input, fd, err);
    if (status != NACRE_OK)
        return nacre_fail_context(err, option);
    if (input->size > 0 && memchr(input->bytes, '\0', input->size))
        return nacre_fail(err, NACRE_ERR_USAGE, "%s: '%s' is not a text: it holds a NUL",
                          option, shown);
    *ret_text = input->bytes ? input->bytes : "";
    return NACRE_OK;
}

enum nacre_status cli_json_args_read(const struct cli_value *value,
                                     struct nacre_buf *arguments, struct nacre_error *err)
{
    const char *text = value->given ? value->text : "{}";
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    char shown[NACRE_SHOWN];

    if (strcmp(text, "-") == 0)
        return nacre_buf_read(arguments, STDIN_FILENO, err);
    if (text[0] != '@')
        return nacre_buf_add(arguments, text, strlen(text), err);
    fd = open(text + 1, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    (void)nacre_text_shown(shown, text + 1);
    if (fd < 0)
        return nacre_fail(err, errno == ENOENT ? NACRE_ERR_NOT_FOUND : NACRE_ERR_IO,
                          "--json-args: opening '%s'", shown);
    return nacre_buf_read(arguments, fd, err);
}

void cli_request_secrets(struct cli_request *request, const struct cli_value *secrets,
                         const struct cli_value *tokens, const struct cli_value *token_ms)
{
    request->request.secrets = secrets->given ? secrets->items : NULL;
    request->request.tokens = tokens->given ? tokens->items : NULL;
    request->request.token_ms = token_ms ? token_ms->number : 0;
}

void cli_request_clear(struct cli_request *request)
{
    free(request->waive);
    free(request->waive_text);
    for (size_t i = 0; i < request->text_count; i++)
        free(request->texts[i]);
    free(request->texts);
    free(request->mounts);
    *request = (struct cli_request){ .request.input_fd = -1 };
}

enum nacre_status cli_request_scope(struct cli_request *request,
                                    const struct cli_value *value,
                                    struct nacre_error *err)
{
    enum nacre_scope *scope = &request->request.scope;
    char shown[NACRE_SHOWN];

    for (enum nacre_scope known = 1; value->given && known < NACRE_SCOPE_COUNT; known++)
        if (strcmp(value->text, nacre_scope_name(known)) == 0)
            *scope = known;
    if (value->given && *scope == NACRE_SCOPE_UNSET)
        return nacre_fail(err, NACRE_ERR_USAGE,
                          "--scope expects run, session, agent or shared, not '%s'",
                          nacre_text_shown(shown, value->text));
    return NACRE_OK;
}
