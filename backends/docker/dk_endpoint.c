/* The environment and the configuration are the caller's own, and trusted to name the
 * engine; they are not trusted to be well-formed. */
#include "dk_endpoint.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "nacre/text.h"

#define PORT_PLAIN 2375
#define PORT_TLS 2376

bool dk_address_is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)address;

        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    }
    if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const void *)address;

        return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
    }
    return false;
}

/* A name that may resolve to anything is looked at again when it is connected to. */
static bool host_is_here(const char *host)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET };

    return strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
           (inet_pton(AF_INET, host, &v4.sin_addr) == 1 &&
            dk_address_is_loopback((const struct sockaddr *)&v4));
}

static bool host_is_well_formed(const char *host)
{
    char address[INET6_ADDRSTRLEN];
    struct in6_addr v6;
    size_t length = strlen(host);

    if (host[0] != '[')
        return length > 0 && host[0] != '-' &&
               strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                            "0123456789.-_") == length;
    if (host[length - 1] != ']' || length - 2 >= sizeof(address))
        return false;
    memcpy(address, host + 1, length - 2);
    address[length - 2] = '\0';
    return inet_pton(AF_INET6, address, &v6) == 1;
}

/* "host", "host:port", "[v6]", "[v6]:port". */
static bool split_authority(const char *text, struct dk_endpoint *endpoint)
{
    const char *end = text[0] == '[' ? strchr(text, ']') : strchr(text, ':');
    uint64_t port;

    if (end && text[0] == '[')
        end++;
    if (!end)
        end = text + strlen(text);
    if (end == text || (size_t)(end - text) >= sizeof(endpoint->host))
        return false;
    memcpy(endpoint->host, text, (size_t)(end - text));
    endpoint->host[end - text] = '\0';
    if (!host_is_well_formed(endpoint->host))
        return false;
    if (*end == '\0')
        return true;
    if (*end != ':' || !nacre_text_u64(end + 1, UINT16_MAX, &port) || port == 0)
        return false;
    endpoint->port = (uint16_t)port;
    return true;
}

static enum nacre_status use_certificates(const char *directory,
                                          struct dk_endpoint *endpoint,
                                          struct nacre_error *err)
{
    const struct {
        const char *name;
        char *path;
    } files[] = {
        { "ca.pem", endpoint->ca },
        { "cert.pem", endpoint->cert },
        { "key.pem", endpoint->key },
    };
    char shown[NACRE_SHOWN];

    for (size_t i = 0; i < NACRE_COUNT(files); i++) {
        int length = snprintf(files[i].path, NACRE_PATH_MAX, "%s/%s", directory,
                              files[i].name);

        if (length >= NACRE_PATH_MAX)
            return nacre_fail(err, NACRE_ERR_TOO_BIG,
                              "the directory of the certificates is over %d bytes",
                              NACRE_PATH_MAX - 16);
        if (access(files[i].path, R_OK) != 0)
            return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                              "TLS needs ca.pem, cert.pem and key.pem in %s: %s can't be "
                              "read", nacre_text_shown(shown, directory), files[i].name);
    }
    endpoint->transport = DK_TRANSPORT_TLS;
    return NACRE_OK;
}

static enum nacre_status parse_tcp(const char *authority, const char *certificates,
                                   struct dk_endpoint *endpoint, struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    if (!split_authority(authority, endpoint))
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "expected tcp://host:port, found tcp://%s",
                          nacre_text_shown(shown, authority));
    if (endpoint->port == 0)
        endpoint->port = certificates ? PORT_TLS : PORT_PLAIN;
    if (certificates)
        return use_certificates(certificates, endpoint, err);
    if (!host_is_here(endpoint->host))
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "plain TCP to %s would give the engine to anybody on the way: "
                          "use TLS (DOCKER_TLS_VERIFY=1, DOCKER_CERT_PATH; in "
                          "host.yaml engine.certificates)",
                          nacre_text_shown(shown, endpoint->host));
    endpoint->transport = DK_TRANSPORT_TCP;
    return NACRE_OK;
}

static enum nacre_status parse_unix(const char *path, struct dk_endpoint *endpoint,
                                    struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    if (path[0] != '/' || strlen(path) >= sizeof(endpoint->path))
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "expected unix:///path of at most %zu bytes, found unix://%s",
                          sizeof(endpoint->path) - 1, nacre_text_shown(shown, path));
    endpoint->transport = DK_TRANSPORT_UNIX;
    (void)snprintf(endpoint->path, sizeof(endpoint->path), "%s", path);
    return NACRE_OK;
}

static enum nacre_status parse(const char *text, const char *certificates,
                               struct dk_endpoint *endpoint, struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    if (strncmp(text, "unix://", 7) == 0)
        return parse_unix(text + 7, endpoint, err);
    if (strncmp(text, "tcp://", 6) == 0)
        return parse_tcp(text + 6, certificates, endpoint, err);
    if (strncmp(text, "ssh://", 6) == 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "engines behind ssh:// are not spoken to: forward the socket "
                          "(ssh -L SOCKET:/var/run/docker.sock HOST) and name it as "
                          "unix://SOCKET");
    if (strncmp(text, "npipe://", 8) == 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "named pipes (npipe://) are Windows': name a unix:///path");
    return nacre_fail(err, NACRE_ERR_PARSE,
                      "expected unix:///path or tcp://host:port, found %s",
                      nacre_text_shown(shown, text));
}

enum nacre_status dk_endpoint_parse(const char *text, const char *origin,
                                    const char *certificates,
                                    struct dk_endpoint *ret_endpoint,
                                    struct nacre_error *err)
{
    struct dk_endpoint endpoint = { .transport = DK_TRANSPORT_NONE };

    if (parse(text, certificates, &endpoint, err) != NACRE_OK)
        return nacre_fail_context(err, origin);
    (void)snprintf(endpoint.origin, sizeof(endpoint.origin), "%s", origin);
    *ret_endpoint = endpoint;
    return NACRE_OK;
}

struct dk_places dk_places_environment(void)
{
    return (struct dk_places){
        .docker_host = getenv("DOCKER_HOST"),
        .docker_context = getenv("DOCKER_CONTEXT"),
        .docker_tls_verify = getenv("DOCKER_TLS_VERIFY"),
        .docker_cert_path = getenv("DOCKER_CERT_PATH"),
        .docker_config = getenv("DOCKER_CONFIG"),
        .home = getenv("HOME"),
    };
}

static bool is_given(const char *text)
{
    return text && text[0] != '\0';
}

/* $DOCKER_CONFIG or ~/.docker; false when there is no such place. */
static bool config_directory(const struct dk_places *places,
                             char ret_path[NACRE_PATH_MAX])
{
    int length = 0;

    if (is_given(places->docker_config))
        length = snprintf(ret_path, NACRE_PATH_MAX, "%s", places->docker_config);
    else if (is_given(places->home))
        length = snprintf(ret_path, NACRE_PATH_MAX, "%s/.docker", places->home);
    return length > 0 && length < NACRE_PATH_MAX;
}

enum nacre_status dk_endpoint_find(const struct dk_places *places,
                                   struct dk_endpoint *ret_endpoint,
                                   struct nacre_error *err)
{
    char config[NACRE_PATH_MAX];
    bool has_config = config_directory(places, config), found = false;
    const char *certificates = NULL;
    enum nacre_status status;

    if (is_given(places->docker_tls_verify)) {
        if (is_given(places->docker_cert_path))
            certificates = places->docker_cert_path;
        else if (has_config)
            certificates = config;
        else
            return nacre_fail(err, NACRE_ERR_USAGE,
                              "DOCKER_TLS_VERIFY is set: name the certificates by "
                              "DOCKER_CERT_PATH");
    }
    if (is_given(places->docker_host))
        return dk_endpoint_parse(places->docker_host, "DOCKER_HOST", certificates,
                                 ret_endpoint, err);
    if (is_given(places->docker_context) && !has_config)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND,
                          "DOCKER_CONTEXT is set, but neither HOME nor DOCKER_CONFIG "
                          "says where contexts are");
    if (has_config) {
        status = dk_context_find(config,
                                 is_given(places->docker_context) ? places->docker_context
                                                                  : NULL,
                                 &found, ret_endpoint, err);
        if (status != NACRE_OK || found)
            return status;
    }
    if (is_given(places->configured))
        return dk_endpoint_parse(places->configured,
                                 is_given(places->configured_origin)
                                     ? places->configured_origin
                                     : "the configuration's engine",
                                 is_given(places->configured_certificates)
                                     ? places->configured_certificates
                                     : certificates,
                                 ret_endpoint, err);
    return dk_endpoint_parse("unix://" DK_DEFAULT_SOCKET, "the default", NULL,
                             ret_endpoint, err);
}

const char *dk_endpoint_text(const struct dk_endpoint *endpoint,
                             char ret_text[DK_ENDPOINT_TEXT])
{
    char raw[sizeof(endpoint->host) + 32];

    if (endpoint->transport == DK_TRANSPORT_UNIX)
        (void)snprintf(raw, sizeof(raw), "unix://%s", endpoint->path);
    else
        (void)snprintf(raw, sizeof(raw), "tcp://%s:%u", endpoint->host, endpoint->port);
    return nacre_text_show(ret_text, DK_ENDPOINT_TEXT, raw, strlen(raw));
}
