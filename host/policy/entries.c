/*
 * Entries that look right and mean something else are the ones that leave a sandbox
 * open: a scheme in a host, a wildcard in a path, a '~' that nobody expands.  Each is
 * refused with what to write instead.
 */
#include "entries.h"

#include <stdio.h>
#include <string.h>

#include "host.h"
#include "nacre/path.h"
#include "nacre/text.h"

#define FAIL(at, node, err, ...) NACRE_READING_FAIL(at, (node)->place, err, __VA_ARGS__)

/* What is wrong with a host, in words, or NULL. */
static const char *host_fault(const char *text, size_t *ret_name_start)
{
    const char *name = strncmp(text, "*.", 2) == 0 ? text + 2 : text;
    const char *colon = strchr(name, ':');
    struct nacre_host host;

    if (text[0] == '\0')
        return "a host must not be empty";
    if (strcmp(text, "*") == 0)
        return "'*' alone is not a host; list the hosts, or say mode: allow-all";
    if (strstr(text, "://"))
        return "a host is written without a scheme, like api.example.com";
    if (strpbrk(text, "/?#@\\"))
        return "a host is written without a user and a path, like api.example.com";
    if (strchr(name, '*'))
        return "'*' may stand only for whole labels in front, like *.example.com";
    if (text[0] == '[' || (colon && strchr(colon + 1, ':')))
        return "an IPv6 address is not accepted; write a name";
    if (!nacre_host_split(name, &host))
        return "the port must be a number from 1 to 65535";
    for (const char *at = text; *at; at++)
        if ((unsigned char)*at >= 0x80)
            return "an international name is written in its xn-- form";
    if (!nacre_host_is_name(host.name, host.length))
        return "not a host name; expected a name like api.example.com or *.example.com";
    if (name != text && nacre_host_is_address(host.name, host.length))
        return "'*' has no meaning in front of an address";
    *ret_name_start = (size_t)(name - text);
    return NULL;
}

enum nacre_status nacre_entry_host(const struct nacre_reading *at,
                                   const struct nacre_node *node, char **ret_text,
                                   struct nacre_error *err)
{
    size_t start = 0;
    const char *fault = host_fault(node->text, &start);
    struct nacre_host host;
    char shown[NACRE_SHOWN], canonical[300];
    size_t used;

    if (fault)
        return FAIL(at, node, err, "%s: '%s': %s", at->where,
                    nacre_text_shown(shown, node->text), fault);
    (void)nacre_host_split(node->text + start, &host);
    used = (size_t)snprintf(canonical, sizeof(canonical), "%.*s%.*s", (int)start,
                            node->text, (int)host.length, host.name);
    for (size_t i = 0; i < used; i++)
        if (canonical[i] >= 'A' && canonical[i] <= 'Z')
            canonical[i] = (char)(canonical[i] - 'A' + 'a');
    if (host.port != 0)
        (void)snprintf(canonical + used, sizeof(canonical) - used, ":%u", host.port);
    return nacre_schema_copy(canonical, ret_text, err);
}

static enum nacre_status entry_path(const struct nacre_reading *at,
                                    const struct nacre_node *node, bool absolute,
                                    char **ret_text, struct nacre_error *err)
{
    char shown[NACRE_SHOWN], path[NACRE_PATH_MAX];

    nacre_text_shown(shown, node->text);
    if (node->text[0] == '\0')
        return FAIL(at, node, err, "%s: a path must not be empty", at->where);
    if (node->text[0] == '~')
        return FAIL(at, node, err,
                    "%s: '%s': '~' is not expanded, because whose home it means is not "
                    "known here; write the whole path",
                    at->where, shown);
    if (strchr(node->text, '*'))
        return FAIL(
            at, node, err,
            "%s: '%s': '*' is not a wildcard here; name the directory, it stands for "
            "everything below it",
            at->where, shown);
    if (absolute && node->text[0] != '/')
        return FAIL(at, node, err,
                    "%s: '%s' must be an absolute path, beginning with '/'", at->where,
                    shown);
    if (strlen(node->text) >= sizeof(path))
        return FAIL(at, node, err, "%s: a path may have at most %zu bytes", at->where,
                    sizeof(path) - 1);
    if (!nacre_path_normalise(node->text, path, sizeof(path)))
        return FAIL(at, node, err, "%s: '%s' climbs above its start with '..'", at->where,
                    shown);
    return nacre_schema_copy(path, ret_text, err);
}

enum nacre_status nacre_entry_mount_path(const struct nacre_reading *at,
                                         const struct nacre_node *node, char **ret_text,
                                         struct nacre_error *err)
{
    return entry_path(at, node, false, ret_text, err);
}

enum nacre_status nacre_entry_denied_path(const struct nacre_reading *at,
                                          const struct nacre_node *node, char **ret_text,
                                          struct nacre_error *err)
{
    return entry_path(at, node, true, ret_text, err);
}

enum nacre_status nacre_entry_command(const struct nacre_reading *at,
                                      const struct nacre_node *node, char **ret_text,
                                      struct nacre_error *err)
{
    if (node->text[strspn(node->text, " \t\n\v\f\r")] == '\0')
        return FAIL(at, node, err, "%s: a blocked command must not be empty", at->where);
    return nacre_schema_copy(node->text, ret_text, err);
}
