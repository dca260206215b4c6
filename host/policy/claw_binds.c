/*
 * Binds: the one thing in a configuration that shows a sandbox what lies outside.  Here
 * they are only taken apart; which sources and targets may be bound at all is judged with
 * the plan, by the rules that hold for every dialect.
 */
#include <stdlib.h>
#include <string.h>

#include "claw.h"
#include "nacre/path.h"
#include "nacre/text.h"

enum nacre_status nacre_bind_host(const struct nacre_reading *at,
                                  struct nacre_place place, const char *text,
                                  char **ret_text, struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    (void)nacre_text_shown(shown, text);
    if (text[0] == '\0')
        return NACRE_READING_FAIL(at, place, err, "%s: the path outside is empty",
                                  at->where);
    if (strlen(text) >= NACRE_PATH_MAX)
        return NACRE_READING_FAIL(at, place, err, "%s: a path may have at most %d bytes",
                                  at->where, NACRE_PATH_MAX - 1);
    if (text[0] == '~' && text[1] != '\0' && text[1] != '/')
        return NACRE_READING_FAIL(at, place, err,
                                  "%s: '%s' is somebody else's home; write the whole "
                                  "path",
                                  at->where, shown);
    if (text[0] != '/' && text[0] != '~')
        return NACRE_READING_FAIL(
            at, place, err,
            "%s: '%s' is no absolute path; volumes with a name and paths relative to a "
            "directory are not bound, write it from '/' or '~/'",
            at->where, shown);
    return nacre_schema_copy(text, ret_text, err);
}

enum nacre_status nacre_bind_guest(const struct nacre_reading *at,
                                   struct nacre_place place, const char *text,
                                   char **ret_text, struct nacre_error *err)
{
    char shown[NACRE_SHOWN], path[NACRE_PATH_MAX];

    (void)nacre_text_shown(shown, text);
    if (text[0] != '/')
        return NACRE_READING_FAIL(at, place, err,
                                  "%s: '%s' must be an absolute path of the sandbox",
                                  at->where, shown);
    if (!nacre_path_normalise(text, path, sizeof(path)))
        return NACRE_READING_FAIL(at, place, err, "%s: a path may have at most %d bytes",
                                  at->where, NACRE_PATH_MAX - 1);
    return nacre_schema_copy(path, ret_text, err);
}

enum nacre_status nacre_claw_directory(const struct nacre_reading *at,
                                       const struct nacre_node *node, char **ret_text,
                                       struct nacre_error *err)
{
    const char *text = node->text;
    char shown[NACRE_SHOWN];

    if (text[0] == '/' || (text[0] == '~' && (text[1] == '\0' || text[1] == '/')))
        return nacre_bind_host(at, node->place, text, ret_text, err);
    return NACRE_READING_FAIL(at, node->place, err,
                              "%s: '%s' is no absolute path; write it from '/' or '~/'",
                              at->where, nacre_text_shown(shown, text));
}

static enum nacre_status read_mode(const struct nacre_reading *at,
                                   const struct nacre_node *node, const char *mode,
                                   bool *ret_writable, struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    *ret_writable = strcmp(mode, "rw") == 0;
    if (*ret_writable || strcmp(mode, "ro") == 0)
        return NACRE_OK;
    return NACRE_READING_FAIL(
        at, node->place, err,
        "%s: '%s' is no mode of a bind here; expected ro or rw (labels and propagation "
        "would change the host)",
        at->where, nacre_text_shown(shown, mode));
}

enum nacre_status nacre_claw_bind(const struct nacre_reading *at,
                                  const struct nacre_node *node,
                                  struct nacre_bind_rule *ret_bind,
                                  struct nacre_error *err)
{
    NACRE_AUTO(nacre_heap_guard) char *text = NULL;
    NACRE_AUTO(nacre_heap_guard) char *host = NULL, *guest = NULL;
    struct nacre_bind_rule bind = { .writable = true, .place = node->place };
    char shown[NACRE_SHOWN], *inside, *mode;
    enum nacre_status status = nacre_schema_want_text(at, node, err);

    if (status == NACRE_OK)
        status = nacre_schema_copy(node->text, &text, err);
    if (status != NACRE_OK)
        return status;
    inside = strchr(text, ':');
    mode = inside ? strchr(inside + 1, ':') : NULL;
    if (!inside || (mode && strchr(mode + 1, ':')))
        return NACRE_READING_FAIL(
            at, node->place, err,
            "%s: '%s' is no bind; write HOST:INSIDE:ro or HOST:INSIDE:rw", at->where,
            nacre_text_shown(shown, node->text));
    *inside++ = '\0';
    if (mode)
        *mode++ = '\0';
    /* Without a mode it is writable: that is what engines make of it. */
    if (mode)
        status = read_mode(at, node, mode, &bind.writable, err);
    if (status == NACRE_OK)
        status = nacre_bind_host(at, node->place, text, &host, err);
    if (status == NACRE_OK)
        status = nacre_bind_guest(at, node->place, inside, &guest, err);
    if (status != NACRE_OK)
        return status;
    bind.host = NACRE_HEAP_TAKE(host);
    bind.guest = NACRE_HEAP_TAKE(guest);
    *ret_bind = bind;
    return NACRE_OK;
}

enum nacre_status nacre_bind_rules_add(const struct nacre_reading *at,
                                       struct nacre_bind_rules *binds,
                                       struct nacre_bind_rule *bind,
                                       struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;
    struct nacre_bind_rule *items;
    char shown[NACRE_SHOWN];

    for (size_t i = 0; i < binds->count && status == NACRE_OK; i++)
        if (strcmp(binds->items[i].guest, bind->guest) == 0)
            status = NACRE_READING_FAIL(
                at, bind->place, err,
                "%s: '%s' is bound twice; the first is at line %d", at->where,
                nacre_text_shown(shown, bind->guest), binds->items[i].place.line);
    if (status == NACRE_OK) {
        items = realloc(binds->items, (binds->count + 1) * sizeof(*items));
        if (items) {
            binds->items = items;
            items[binds->count++] = *bind;
            return NACRE_OK;
        }
        status = nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the configuration");
    }
    free(bind->host);
    free(bind->guest);
    return status;
}

static enum nacre_status read_binds(const struct nacre_reading *at,
                                    const struct nacre_node *list,
                                    struct nacre_bind_rules *binds,
                                    struct nacre_error *err)
{
    size_t index = 0;

    binds->place = list->key_place;
    for (const struct nacre_node *node = list->first; node; node = node->next) {
        struct nacre_reading entry = nacre_reading_entry(at, index++);
        struct nacre_bind_rule bind;
        enum nacre_status status = nacre_claw_bind(&entry, node, &bind, err);

        if (status == NACRE_OK)
            status = nacre_bind_rules_add(&entry, binds, &bind, err);
        if (status != NACRE_OK)
            return status;
    }
    return NACRE_OK;
}

enum nacre_status nacre_claw_docker_binds(const struct nacre_reading *at,
                                          const struct nacre_node *node, void *target,
                                          struct nacre_error *err)
{
    struct nacre_config_draft *draft = target;

    return read_binds(at, node, &draft->rules.box.binds, err);
}

enum nacre_status nacre_claw_browser_binds(const struct nacre_reading *at,
                                           const struct nacre_node *node, void *target,
                                           struct nacre_error *err)
{
    struct nacre_config_draft *draft = target;

    return read_binds(at, node, &draft->rules.box.browser.binds, err);
}
