#include <stdio.h>
#include <string.h>

#include "dk_client.h"
#include "dk_lines.h"
#include "dk_name.h"
#include "nacre/text.h"

static enum nacre_status check_image(const char *image, struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    if (dk_name_is_image(image))
        return NACRE_OK;
    return nacre_fail(err, NACRE_ERR_USAGE,
                      "'%s' can't be an image's name: expected as name:tag",
                      nacre_text_shown(shown, image));
}

/* Where an image is to be found later: &repo=...&tag=... */
static enum nacre_status query_name(struct nacre_buf *path, const char *repository,
                                    const char *tag, struct nacre_error *err)
{
    enum nacre_status status = check_image(repository, err);
    char shown[NACRE_SHOWN];

    if (status == NACRE_OK && !dk_name_is_container(tag))
        status = nacre_fail(err, NACRE_ERR_USAGE, "'%s' can't be an image's tag",
                            nacre_text_shown(shown, tag));
    if (status == NACRE_OK)
        status = dk_query_add(path, "repo", repository, err);
    return status == NACRE_OK ? dk_query_add(path, "tag", tag, err) : status;
}

enum nacre_status dk_image_inspect(struct dk_client *client, const char *image,
                                   struct nt_wait wait, json_t **ret_image,
                                   struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *object = NULL;
    char path[640];
    const struct dk_request request = { .doing = "inspecting the image", .method = "GET",
                                        .path = path, .wait = wait };
    enum nacre_status status = check_image(image, err);
    const char *id;

    if (status != NACRE_OK)
        return status;
    (void)snprintf(path, sizeof(path), "/images/%s/json", image);
    status = dk_call_json(client, &request, JSON_OBJECT, &object, err);
    if (status != NACRE_OK)
        return status;
    id = json_string_value(json_object_get(object, "Id"));
    if (!id || !dk_name_is_image_id(id))
        return dk_fail_shape(&request, "an Id as sha256:...", err);
    *ret_image = NACRE_HEAP_TAKE(object);
    return NACRE_OK;
}

/* Send a tar and follow the report. */
static enum nacre_status send_tar(struct dk_client *client, struct dk_request *request,
                                  const struct dk_progress *progress,
                                  char ret_id[DK_IMAGE_ID], struct nacre_error *err)
{
    NACRE_AUTO(dk_lines_guard) struct dk_lines lines = DK_LINES(progress);
    enum nacre_status status;

    request->method = "POST";
    request->sink = dk_lines_take;
    request->sink_data = &lines;
    status = dk_call(client, request, 0, err);
    if (status != NACRE_OK)
        return status;
    if (dk_lines_end(&lines, ret_id, err) != NACRE_OK)
        return nacre_fail_context(err, request->doing);
    return NACRE_OK;
}

enum nacre_status dk_image_import(struct dk_client *client, const char *repository,
                                  const char *tag, const char *const *changes, int tar_fd,
                                  struct nt_wait wait, char ret_id[DK_IMAGE_ID],
                                  struct nacre_error *err)
{
    struct nacre_buf path = NACRE_BUF(DK_PATH_MAX);
    struct dk_request request = { .doing = "importing the image", .body_fd = &tar_fd,
                                  .wait = wait };
    enum nacre_status status = nacre_buf_addf(&path, err, "/images/create?fromSrc=-");

    if (status == NACRE_OK)
        status = query_name(&path, repository, tag, err);
    for (; status == NACRE_OK && changes && *changes; changes++)
        status = dk_query_add(&path, "changes", *changes, err);
    request.path = path.bytes;
    if (status == NACRE_OK)
        status = send_tar(client, &request, NULL, ret_id, err);
    nacre_buf_clear(&path);
    return status;
}

enum nacre_status dk_image_build(struct dk_client *client, const char *reference,
                                 int tar_fd, const struct dk_progress *progress,
                                 struct nt_wait wait, char ret_id[DK_IMAGE_ID],
                                 struct nacre_error *err)
{
    struct nacre_buf path = NACRE_BUF(DK_PATH_MAX);
    struct dk_request request = { .doing = "building the image", .body_fd = &tar_fd,
                                  .wait = wait };
    enum nacre_status status = check_image(reference, err);

    if (status == NACRE_OK)
        status = nacre_buf_addf(&path, err, "/build?rm=1&forcerm=1");
    if (status == NACRE_OK)
        status = dk_query_add(&path, "t", reference, err);
    request.path = path.bytes;
    if (status == NACRE_OK)
        status = send_tar(client, &request, progress, ret_id, err);
    nacre_buf_clear(&path);
    return status;
}

enum nacre_status dk_image_tag(struct dk_client *client, const char *image,
                               const char *repository, const char *tag,
                               struct nt_wait wait, struct nacre_error *err)
{
    struct nacre_buf path = NACRE_BUF(DK_PATH_MAX);
    struct dk_request request = { .doing = "tagging the image", .method = "POST",
                                  .wait = wait };
    enum nacre_status status = check_image(image, err);

    if (status == NACRE_OK)
        status = nacre_buf_addf(&path, err, "/images/%s/tag", image);
    if (status == NACRE_OK)
        status = query_name(&path, repository, tag, err);
    request.path = path.bytes;
    if (status == NACRE_OK)
        status = dk_call(client, &request, 0, err);
    nacre_buf_clear(&path);
    return status;
}

enum nacre_status dk_image_remove(struct dk_client *client, const char *image,
                                  struct nt_wait wait, struct nacre_error *err)
{
    char path[640];
    const struct dk_request request = { .doing = "removing the image", .method = "DELETE",
                                        .path = path, .wait = wait };
    enum nacre_status status = check_image(image, err);

    if (status != NACRE_OK)
        return status;
    (void)snprintf(path, sizeof(path), "/images/%s", image);
    return dk_call(client, &request, 404, err);
}

enum nacre_status dk_commit(struct dk_client *client, const char *container,
                            const char *repository, const char *tag, const json_t *config,
                            struct nt_wait wait, char ret_id[DK_IMAGE_ID],
                            struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *body = NULL;
    NACRE_AUTO(dk_json_guard) json_t *answer = NULL;
    struct nacre_buf path = NACRE_BUF(DK_PATH_MAX);
    struct dk_request request = { .doing = "committing the container", .method = "POST",
                                  .wait = wait };
    enum nacre_status status = dk_check_container(container, err);
    const char *id;

    if (status == NACRE_OK && config)
        status = dk_body(config, &body, err);
    if (status == NACRE_OK)
        status = nacre_buf_addf(&path, err, "/commit?container=%s&pause=0", container);
    if (status == NACRE_OK)
        status = query_name(&path, repository, tag, err);
    request.path = path.bytes;
    request.body = body;
    if (status == NACRE_OK)
        status = dk_call_json(client, &request, JSON_OBJECT, &answer, err);
    nacre_buf_clear(&path);
    if (status != NACRE_OK)
        return status;
    id = json_string_value(json_object_get(answer, "Id"));
    if (!id || !dk_name_is_image_id(id))
        return dk_fail_shape(&request, "an Id as sha256:...", err);
    (void)snprintf(ret_id, DK_IMAGE_ID, "%s", id);
    return NACRE_OK;
}
