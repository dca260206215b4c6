/*
 * Entries that look right and mean something else are the ones that leave a sandbox
 * open: a scheme in a host, a wildcard in a path, a '~' that nobody expands.  Each is
 * refused with what to write instead.
 */
#include "entries.h"

#include <string.h>

#include "nacre/egress.h"
#include "nacre/path.h"
#include "nacre/syscalls.h"
#include "nacre/text.h"

#define FAIL(at, node, err, ...) NACRE_READING_FAIL(at, (node)->place, err, __VA_ARGS__)

enum nacre_status nacre_entry_host(const struct nacre_reading *at,
                                   const struct nacre_node *node, char **ret_text,
                                   struct nacre_error *err)
{
    char shown[NACRE_SHOWN], text[NACRE_EGRESS_HOST_TEXT];
    struct nacre_egress_host host;
    struct nacre_error why;
    enum nacre_status status = nacre_egress_host_read(node->text, &host, &why);

    if (status != NACRE_OK)
        return nacre_fail_at(err, status, at->source, node->place.line,
                             node->place.column, "%s: '%s': %.300s", at->where,
                             nacre_text_shown(shown, node->text), why.text);
    (void)nacre_egress_host_text(&host, text);
    nacre_egress_host_clear(&host);
    return nacre_schema_copy(text, ret_text, err);
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

enum nacre_status nacre_entry_text(const struct nacre_reading *at,
                                   const struct nacre_node *node, char **ret_text,
                                   struct nacre_error *err)
{
    if (node->text[strspn(node->text, " \t\n\v\f\r")] == '\0')
        return FAIL(at, node, err, "%s must not be empty", at->where);
    return nacre_schema_copy(node->text, ret_text, err);
}

enum nacre_status nacre_entry_syscall(const struct nacre_reading *at,
                                      const struct nacre_node *node, char **ret_text,
                                      struct nacre_error *err)
{
    struct nacre_error why;
    int number;

    if (nacre_syscall_number(node->text, &number, &why) != NACRE_OK)
        return FAIL(at, node, err, "%s: %.300s", at->where, why.text);
    return nacre_schema_copy(node->text, ret_text, err);
}
