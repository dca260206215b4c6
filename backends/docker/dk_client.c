#include "dk_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/text.h"

#define API_MIN 41u /* 1.41 */
#define API_MAX 47u

const struct dk_engine *dk_client_engine(const struct dk_client *client)
{
    return &client->engine;
}

const struct dk_endpoint *dk_client_endpoint(const struct dk_client *client)
{
    return &client->endpoint;
}

static void show_member(const json_t *object, const char *key, char *ret_text,
                        size_t size)
{
    const json_t *text = json_object_get(object, key);

    (void)nacre_text_show(ret_text, size,
                          json_is_string(text) ? json_string_value(text) : "",
                          json_string_length(text));
}

/* "1.41" → 41; 0 when it is not of that form. */
static uint64_t minor_of(const json_t *version)
{
    const char *text = json_string_value(version);
    uint64_t minor;

    if (!text || strncmp(text, "1.", 2) != 0 || !nacre_text_u64(text + 2, 9999, &minor))
        return 0;
    return minor;
}

static bool is_podman(const json_t *version)
{
    const json_t *components = json_object_get(version, "Components"), *component;
    size_t i;

    json_array_foreach(components, i, component) {
        const char *name = json_string_value(json_object_get(component, "Name"));

        if (name && strcasestr(name, "podman"))
            return true;
    }
    return false;
}

static enum nacre_status settle_version(struct dk_client *client, const json_t *version,
                                        struct nacre_error *err)
{
    uint64_t newest = minor_of(json_object_get(version, "ApiVersion"));
    uint64_t oldest = minor_of(json_object_get(version, "MinAPIVersion"));
    struct dk_engine *engine = &client->engine;

    if (is_podman(version))
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "this is Podman's socket, which is not supported: name a "
                          "Docker engine by DOCKER_HOST");
    show_member(version, "Version", engine->version, sizeof(engine->version));
    if (newest < API_MIN)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the Docker engine %s is too old: API 1.%u is needed (Docker "
                          "20.10 and later)", engine->version, API_MIN);
    if (oldest > API_MAX)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the Docker engine %s is too new: it no longer speaks API 1.%u",
                          engine->version, API_MAX);
    show_member(version, "Os", engine->os, sizeof(engine->os));
    show_member(version, "Arch", engine->arch, sizeof(engine->arch));
    show_member(version, "KernelVersion", engine->kernel, sizeof(engine->kernel));
    (void)snprintf(engine->api, sizeof(engine->api), "1.%u",
                   newest < API_MAX ? (unsigned)newest : API_MAX);
    (void)snprintf(client->prefix, sizeof(client->prefix), "/v%s", engine->api);
    return NACRE_OK;
}

static enum nacre_status meet(struct dk_client *client, struct nt_wait wait,
                              struct nacre_error *err)
{
    const struct dk_request request = { .doing = "asking the engine for its version",
                                        .method = "GET", .path = "/version",
                                        .wait = wait };
    NACRE_AUTO(dk_json_guard) json_t *version = NULL;
    enum nacre_status status = dk_call_json(client, &request, JSON_OBJECT, &version, err);

    if (status != NACRE_OK)
        return status;
    if (!json_is_string(json_object_get(version, "ApiVersion")))
        return dk_fail_shape(&request, "ApiVersion", err);
    return settle_version(client, version, err);
}

enum nacre_status dk_client_open(const struct dk_endpoint *endpoint, struct nt_wait wait,
                                 struct dk_client **ret_client, struct nacre_error *err)
{
    NACRE_AUTO(dk_client_guard) struct dk_client *client = calloc(1, sizeof(*client));
    enum nacre_status status;

    if (!client)
        return nacre_fail(err, NACRE_ERR_MEMORY, "out of memory");
    (void)pthread_mutex_init(&client->lock, NULL);
    client->endpoint = *endpoint;
    if (endpoint->transport == DK_TRANSPORT_UNIX)
        (void)snprintf(client->base, sizeof(client->base), "http://localhost");
    else
        (void)snprintf(client->base, sizeof(client->base), "%s://%s:%u",
                       endpoint->transport == DK_TRANSPORT_TLS ? "https" : "http",
                       endpoint->host, endpoint->port);
    status = dk_curl_load(&client->curl, err);
    if (status == NACRE_OK)
        status = meet(client, wait, err);
    if (status == NACRE_OK)
        *ret_client = dk_client_take(&client);
    return status;
}

void dk_client_free(struct dk_client *client)
{
    if (!client)
        return;
    for (size_t i = 0; i < client->idle_count; i++)
        dk_handle_free(client->curl, &client->idle[i]);
    (void)pthread_mutex_destroy(&client->lock);
    free(client);
}

enum nacre_status dk_info(struct dk_client *client, struct nt_wait wait,
                          json_t **ret_info, struct nacre_error *err)
{
    const struct dk_request request = { .doing = "asking the engine about itself",
                                        .method = "GET", .path = "/info",
                                        .wait = wait };

    return dk_call_json(client, &request, JSON_OBJECT, ret_info, err);
}
