/*
 * A case's file is its author's own, and people slip: unknown keys are errors with their
 * place, as in a policy.
 */
#include "case.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/text.h"
#include "schema.h"

void tool_case_free(struct tool_case *tool_case)
{
    if (!tool_case)
        return;
    json_decref(tool_case->arguments);
    nacre_node_free(tool_case->root);
    nacre_buf_clear(&tool_case->bytes);
    free(tool_case->file);
    free(tool_case);
}

static enum nacre_status fail_at(const struct tool_case *tool_case,
                                 struct nacre_place place, const char *what,
                                 struct nacre_error *err)
{
    return nacre_fail_at(err, NACRE_ERR_PARSE, tool_case->file, place.line, place.column,
                         "%s", what);
}

static enum nacre_status check_keys(const struct tool_case *tool_case,
                                    const struct nacre_node *mapping, const char *where,
                                    const char *const *known, size_t count,
                                    struct nacre_error *err)
{
    char what[256], shown[NACRE_SHOWN];

    if (mapping->kind != NACRE_NODE_MAPPING) {
        (void)snprintf(what, sizeof(what), "%s has to be a mapping", where);
        return fail_at(tool_case, mapping->place, what, err);
    }
    for (const struct nacre_node *node = mapping->first; node; node = node->next) {
        const char *nearest = nacre_text_nearest(node->key, known, count);
        size_t i = 0;

        while (i < count && strcmp(known[i], node->key) != 0)
            i++;
        if (i < count)
            continue;
        (void)snprintf(what, sizeof(what), "unknown key '%s' in %s%s%s%s",
                       nacre_text_shown(shown, node->key), where,
                       nearest ? "; did you mean '" : "", nearest ? nearest : "",
                       nearest ? "'?" : "");
        return fail_at(tool_case, node->key_place, what, err);
    }
    return NACRE_OK;
}

/* ---- its parts ---- */

static enum nacre_status read_number(const struct tool_case *tool_case,
                                     const struct nacre_node *node, uint64_t max,
                                     uint64_t *ret_number, struct nacre_error *err)
{
    if (node->kind == NACRE_NODE_NUMBER && nacre_text_u64(node->text, max, ret_number))
        return NACRE_OK;
    return fail_at(tool_case, node->place, "expected a whole number", err);
}

static enum nacre_status read_fuel(struct tool_case *tool_case,
                                   const struct nacre_node *fuel, struct nacre_error *err)
{
    static const char *const known[] = { "golden", "tolerance_percent" };
    const struct nacre_node *golden, *tolerance;
    enum nacre_status status = check_keys(tool_case, fuel, "fuel", known,
                                          NACRE_COUNT(known), err);

    if (status != NACRE_OK)
        return status;
    golden = nacre_node_find(fuel, "golden");
    tolerance = nacre_node_find(fuel, "tolerance_percent");
    if (!golden)
        return fail_at(tool_case, fuel->place, "fuel has to have golden", err);
    tool_case->has_fuel = true;
    tool_case->fuel_tolerance_percent = 10;
    status = read_number(tool_case, golden, INT64_MAX, &tool_case->fuel_golden, err);
    if (status == NACRE_OK && tolerance)
        status = read_number(tool_case, tolerance, 1000,
                             &tool_case->fuel_tolerance_percent, err);
    return status;
}

static enum nacre_status check_expect(const struct tool_case *tool_case,
                                      struct nacre_error *err)
{
    static const char *const known[] = { "isError", "code", "text", "text_contains",
                                         "structured" };
    const struct nacre_node *expect = tool_case->expect;
    const struct nacre_node *is_error, *parts;
    enum nacre_status status = check_keys(tool_case, expect, "expect", known,
                                          NACRE_COUNT(known), err);

    if (status != NACRE_OK)
        return status;
    is_error = nacre_node_find(expect, "isError");
    parts = nacre_node_find(expect, "text_contains");
    if (!is_error || is_error->kind != NACRE_NODE_BOOLEAN)
        return fail_at(tool_case, is_error ? is_error->place : expect->place,
                       "expect has to say isError: true or false", err);
    if (parts && parts->kind != NACRE_NODE_LIST)
        return fail_at(tool_case, parts->place, "text_contains has to be a list", err);
    for (const struct nacre_node *part = parts ? parts->first : NULL; part;
         part = part->next)
        if (part->kind != NACRE_NODE_TEXT)
            return fail_at(tool_case, part->place, "expected a text", err);
    return NACRE_OK;
}

static enum nacre_status read_parts(struct tool_case *tool_case, struct nacre_error *err)
{
    static const char *const known[] = { "name",   "arguments", "files", "expect",
                                         "after", "fuel",      "policy" };
    const struct nacre_node *root = tool_case->root, *name, *arguments, *fuel, *policy;
    enum nacre_status status =
        check_keys(tool_case, root, "a case", known, NACRE_COUNT(known), err);

    if (status != NACRE_OK)
        return status;
    name = nacre_node_find(root, "name");
    arguments = nacre_node_find(root, "arguments");
    fuel = nacre_node_find(root, "fuel");
    policy = nacre_node_find(root, "policy");
    tool_case->expect = nacre_node_find(root, "expect");
    tool_case->files = nacre_node_find(root, "files");
    tool_case->after = nacre_node_find(root, "after");
    if (!name || name->kind != NACRE_NODE_TEXT || !arguments || !tool_case->expect)
        return fail_at(tool_case, root->place,
                       "a case has to have name, arguments and expect", err);
    tool_case->name = name->text;
    if (policy && policy->kind != NACRE_NODE_TEXT)
        return fail_at(tool_case, policy->place, "policy has to be a reference to one",
                       err);
    tool_case->policy = policy ? policy->text : NULL;
    if ((tool_case->files && tool_case->files->kind != NACRE_NODE_MAPPING) ||
        (tool_case->after && tool_case->after->kind != NACRE_NODE_MAPPING))
        return fail_at(tool_case, root->place, "files and after have to be mappings",
                       err);
    status = nacre_node_json(tool_case->file, arguments, &tool_case->arguments, err);
    if (status == NACRE_OK)
        status = check_expect(tool_case, err);
    if (status == NACRE_OK && fuel)
        status = read_fuel(tool_case, fuel, err);
    return status;
}

enum nacre_status case_load(const char *file, struct tool_case **ret_case,
                            struct nacre_error *err)
{
    NACRE_AUTO(tool_case_guard) struct tool_case *made = calloc(1, sizeof(*made));
    NACRE_AUTO(nacre_fd_guard) int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char shown[NACRE_SHOWN];
    enum nacre_status status;

    if (!made)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a case");
    made->bytes = (struct nacre_buf)NACRE_BUF(CASE_BYTES_MAX);
    made->file = strdup(file);
    if (!made->file)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a case");
    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "%s", nacre_text_shown(shown, file));
    status = nacre_buf_read(&made->bytes, fd, err);
    if (status == NACRE_OK)
        status = nacre_yaml_read(file, made->bytes.bytes ? made->bytes.bytes : "",
                                 made->bytes.size, &made->root, err);
    if (status == NACRE_OK)
        status = read_parts(made, err);
    if (status == NACRE_OK)
        *ret_case = tool_case_take(&made);
    return status;
}
