/* Trusts nothing of what goes in: it comes from whoever can connect to loopback. */
#include "route.h"

#include <stdio.h>
#include <string.h>

#include "headers.h"

#define HEX "0123456789abcdef"

struct fields {
    char origin[ROUTE_FIELD], cookie[1024], version[8];
    bool has_origin, is_bad;
    struct route_socket socket;
};

/* A second one of a name is for two readers to disagree about. */
static void keep(struct fields *fields, const struct door_field *field, char *ret_text,
                 size_t size)
{
    if (ret_text[0] || field->value_size >= size) {
        fields->is_bad = true;
        return;
    }
    memcpy(ret_text, field->value, field->value_size);
    ret_text[field->value_size] = '\0';
}

static void read_fields(const struct door_head *head, struct fields *fields)
{
    const char *at = head->fields.bytes;
    size_t left = head->fields.size;
    struct door_field field;
    enum door_next next;

    while ((next = door_field_next(&at, &left, &field)) == DOOR_NEXT_FIELD) {
        if (door_field_is(&field, "origin")) {
            fields->is_bad |= fields->has_origin;
            fields->has_origin = true;
            keep(fields, &field, fields->origin, sizeof(fields->origin));
        } else if (door_field_is(&field, "cookie")) {
            keep(fields, &field, fields->cookie, sizeof(fields->cookie));
        } else if (door_field_is(&field, "sec-websocket-version")) {
            keep(fields, &field, fields->version, sizeof(fields->version));
        } else if (door_field_is(&field, "sec-websocket-key")) {
            keep(fields, &field, fields->socket.key, sizeof(fields->socket.key));
        } else if (door_field_is(&field, "sec-websocket-extensions")) {
            keep(fields, &field, fields->socket.extensions,
                 sizeof(fields->socket.extensions));
        } else if (door_field_is(&field, "sec-websocket-protocol")) {
            keep(fields, &field, fields->socket.protocol,
                 sizeof(fields->socket.protocol));
        }
    }
    fields->is_bad |= next == DOOR_NEXT_BAD;
}

static bool read_host(const struct door_head *head, uint16_t port, char ret_host[32])
{
    bool by_name = strcmp(head->url.host, "localhost") == 0;

    if (head->url.port != port || (!by_name && strcmp(head->url.host, "127.0.0.1") != 0))
        return false;
    (void)snprintf(ret_host, 32, "%s:%u", by_name ? "localhost" : "127.0.0.1",
                   (unsigned)port);
    return true;
}

/* "/TOKEN/rest?query": no name in it that leads out, or that a server reads twice. */
static bool read_path(const char *target, struct route *route)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789/._-";
    size_t length;
    const char *rest = target + TOKEN_HEX;

    if (strspn(target + 1, HEX) != TOKEN_HEX - 1)
        return false;
    memcpy(route->token, target + 1, TOKEN_HEX - 1);
    length = strcspn(rest, "?");
    if (length >= sizeof(route->path) || strspn(rest, letters) != length ||
        (length > 0 && rest[0] != '/') || strstr(rest, "..") || strstr(rest, "//"))
        return false;
    memcpy(route->path, rest, length);
    return true;
}

static bool read_cookie(const char *cookies, char ret_value[TOKEN_HEX])
{
    static const char name[] = ROUTE_COOKIE "=";

    for (const char *at = cookies; at && *at; at = strchr(at, ';')) {
        at += strspn(at, "; ");
        if (strncmp(at, name, sizeof(name) - 1) != 0)
            continue;
        at += sizeof(name) - 1;
        if (strspn(at, HEX) != TOKEN_HEX - 1)
            return false;
        memcpy(ret_value, at, TOKEN_HEX - 1);
        return true;
    }
    return false;
}

static bool is_own_origin(const struct fields *fields, const struct route *route)
{
    char own[48];

    (void)snprintf(own, sizeof(own), "http://%s", route->host);
    return strcmp(fields->origin, own) == 0;
}

/* A page is not to drive the browser; what does is a program, which has no origin. */
static enum route_is read_cdp(const struct fields *fields, const struct route *route,
                              bool is_socket)
{
    if (fields->has_origin)
        return ROUTE_REFUSED;
    if (is_socket)
        return ROUTE_CDP;
    return strcmp(route->path, "/json/version") == 0 ||
                   strcmp(route->path, "/json/version/") == 0
               ? ROUTE_VERSION
               : ROUTE_REFUSED;
}

static enum route_is read_screen(const struct fields *fields, struct route *route,
                                 bool is_socket)
{
    if (fields->has_origin ? !is_own_origin(fields, route) : is_socket)
        return ROUTE_REFUSED;
    if (!is_socket && (!route->path[0] || strcmp(route->path, "/") == 0))
        return ROUTE_ENTER;
    if (!read_cookie(fields->cookie, route->cookie))
        return ROUTE_REFUSED;
    if (!is_socket)
        return ROUTE_FILE;
    return strcmp(route->path, "/websockify") == 0 ? ROUTE_SCREEN : ROUTE_REFUSED;
}

void route_read(const struct door_head *head, uint16_t port, bool is_screen,
                struct route *ret_route)
{
    struct route route = { .is = ROUTE_REFUSED };
    struct fields fields = { .has_origin = false };
    bool is_socket = head->asks_websocket;

    read_fields(head, &fields);
    if (!fields.is_bad && strcmp(head->method, "GET") == 0 &&
        head->form == DOOR_TARGET_ORIGIN && !head->is_chunked && head->body_bytes == 0 &&
        read_host(head, port, route.host) && read_path(head->url.target, &route) &&
        (!is_socket || (strcmp(fields.version, "13") == 0 &&
                        strlen(fields.socket.key) == sizeof(fields.socket.key) - 1))) {
        route.socket = fields.socket;
        route.is = is_screen ? read_screen(&fields, &route, is_socket)
                             : read_cdp(&fields, &route, is_socket);
    }
    *ret_route = route;
}
