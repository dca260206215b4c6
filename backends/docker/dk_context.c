/* Reads the docker program's own files, of the caller's home: trusted to name the engine,
 * not to be well-formed. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "dk_endpoint.h"
#include "nacre/buf.h"
#include "nacre/hash.h"
#include "nacre/text.h"

#define CONFIG_MAX ((size_t)1 << 20)

/* *ret_value stays NULL when there is no such file.  jansson reads an object or an array,
 * and members of an array are as absent as those of an empty object. */
static enum nacre_status read_json(const char *path, json_t **ret_value,
                                   struct nacre_error *err)
{
    struct nacre_buf buf = NACRE_BUF(CONFIG_MAX);
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum nacre_status status;
    json_error_t where;
    json_t *value;

    if (fd < 0 && errno == ENOENT)
        return NACRE_OK;
    status = fd < 0 ? nacre_fail(err, NACRE_ERR_IO, "open")
                    : nacre_buf_read(&buf, fd, err);
    if (status != NACRE_OK) {
        nacre_buf_clear(&buf);
        return nacre_fail_context(err, path);
    }
    value = json_loadb(buf.bytes, buf.size, JSON_REJECT_DUPLICATES, &where);
    nacre_buf_clear(&buf);
    if (!value)
        return nacre_fail_at(err, NACRE_ERR_PARSE, path, where.line, where.column,
                             "expected JSON: %s", where.text);
    *ret_value = value;
    return NACRE_OK;
}

/* The context's name by config.json; *ret_name stays "" when there is none. */
static enum nacre_status current_context(const char *config, char ret_name[256],
                                         struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *object = NULL;
    char path[NACRE_PATH_MAX + 32];
    const json_t *name;
    enum nacre_status status;

    (void)snprintf(path, sizeof(path), "%s/config.json", config);
    status = read_json(path, &object, err);
    name = json_object_get(object, "currentContext");
    if (status != NACRE_OK || !name)
        return status;
    if (!json_is_string(name) || json_string_length(name) >= 256)
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "%s: currentContext: expected a name of at most 255 bytes",
                          path);
    (void)snprintf(ret_name, 256, "%s", json_string_value(name));
    return NACRE_OK;
}

/* The host that meta.json has, with the context's certificates if it has some. */
static enum nacre_status read_context(const char *config, const char *name,
                                      struct dk_endpoint *ret_endpoint,
                                      struct nacre_error *err)
{
    struct nacre_digest digest = nacre_hash(name, strlen(name));
    char hex[NACRE_HEX], path[NACRE_PATH_MAX + 128], shown[NACRE_SHOWN], origin[160];
    NACRE_AUTO(dk_json_guard) json_t *meta = NULL;
    const json_t *docker;
    const char *host;
    enum nacre_status status;

    (void)nacre_text_shown(shown, name);
    (void)nacre_digest_hex(&digest, hex);
    (void)snprintf(origin, sizeof(origin), "docker context %s", shown);
    (void)snprintf(path, sizeof(path), "%s/contexts/meta/%s/meta.json", config, hex);
    status = read_json(path, &meta, err);
    if (status != NACRE_OK)
        return nacre_fail_context(err, origin);
    if (!meta)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND,
                          "there is no docker context %s: choose another (docker context "
                          "ls) or set DOCKER_HOST", shown);
    docker = json_object_get(json_object_get(meta, "Endpoints"), "docker");
    host = json_string_value(json_object_get(docker, "Host"));
    if (!host)
        return nacre_fail(err, NACRE_ERR_PARSE, "%s: it names no Endpoints.docker.Host",
                          origin);
    if (json_is_true(json_object_get(docker, "SkipTLSVerify")))
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "%s: it says SkipTLSVerify, and an engine that is not verified "
                          "is not spoken to", origin);
    (void)snprintf(path, sizeof(path), "%s/contexts/tls/%s/docker", config, hex);
    return dk_endpoint_parse(host, origin, access(path, F_OK) == 0 ? path : NULL,
                             ret_endpoint, err);
}

enum nacre_status dk_context_find(const char *config, const char *chosen, bool *ret_found,
                                  struct dk_endpoint *ret_endpoint,
                                  struct nacre_error *err)
{
    char current[256] = "";
    enum nacre_status status = NACRE_OK;
    bool found;

    if (!chosen) {
        status = current_context(config, current, err);
        chosen = current;
    }
    found = chosen[0] != '\0' && strcmp(chosen, "default") != 0;
    if (status == NACRE_OK && found)
        status = read_context(config, chosen, ret_endpoint, err);
    if (status == NACRE_OK)
        *ret_found = found;
    return status;
}
