/*
 * What a module is and wants, in words.  Trusts wt_sections.c, which has checked
 * every place that is read again here; the names are still the module's and are
 * made fit to print.
 */
#include "wt_module.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nacre/text.h"
#include "nacre_wasi.h"
#include "wt_sections.h"

#define NAME_SHOWN_MAX 1024

/* A module that is ready to be described. */
struct reading {
    unsigned char *owned; /* the binary, when it was text */
    struct wt_sections sections;
};

static void reading_clear(struct reading *reading)
{
    wt_sections_clear(&reading->sections);
    free(reading->owned);
}

static enum nacre_status reading_begin(struct reading *reading,
                                       const struct nacre_tool *tool,
                                       struct nacre_error *err)
{
    const unsigned char *bytes;
    enum nacre_status status;
    size_t count;

    status = wt_module_binary(tool, &bytes, &count, &reading->owned, err);
    if (status != NACRE_OK)
        return status;
    return wt_sections_read(&reading->sections, tool->name, bytes, count, err);
}

enum nacre_status wt_module_tables(const struct nacre_tool *tool,
                                   struct wt_module_tables *ret_tables,
                                   struct nacre_error *err)
{
    NACRE_AUTO(reading_clear) struct reading reading = { 0 };
    enum nacre_status status = reading_begin(&reading, tool, err);

    if (status == NACRE_OK)
        *ret_tables = reading.sections.tables;
    return status;
}

const char *nacre_capability_name(enum nacre_capability capability)
{
    static const char *const names[] = {
#define X(id, name) [NACRE_CAPABILITY_##id] = name,
        NACRE_CAPABILITY_MAP(X)
#undef X
    };

    assert(capability < NACRE_CAPABILITY_COUNT);
    return names[capability];
}

/* ---- items ---- */

static char *name_text(const struct wt_sections *sections, struct wt_name name)
{
    size_t size = name.count < NAME_SHOWN_MAX / 4 ? 4 * name.count + 8 : NAME_SHOWN_MAX;
    char *text = malloc(size);

    if (text)
        (void)nacre_text_show(text, size, (const char *)sections->in.start + name.at,
                              name.count);
    return text;
}

static void item_signature(const struct wt_sections *sections, const struct wt_item *item,
                           struct wt_text *text)
{
    struct wt_bytes at = wt_sections_at(sections, item->type_place);
    uint32_t needs = 0;

    switch (item->kind) {
    case WT_FUNCTION:
    case WT_TAG:
        at = wt_sections_at(sections, wt_sections_function(sections, item));
        wt_function_type(&at, &needs, text);
        break;
    case WT_TABLE:
        (void)wt_table_type(&at, &needs, text);
        break;
    case WT_MEMORY:
        (void)wt_memory_type(&at, &needs, text);
        break;
    case WT_GLOBAL:
        wt_global_type(&at, &needs, text);
        break;
    case WT_KIND_COUNT:
        break;
    }
    assert(!at.fault);
}

static bool fill_item(const struct wt_sections *sections, const struct wt_item *from,
                      bool imported, struct nacre_module_item *item)
{
    static const char kinds[WT_KIND_COUNT] = { 'f', 't', 'm', 'g', 'e' };
    struct wt_text signature = { .used = 0 };

    item_signature(sections, from, &signature);
    item->kind = kinds[from->kind];
    item->module = imported ? name_text(sections, from->module) : NULL;
    item->name = name_text(sections, from->name);
    item->signature = strdup(signature.bytes);
    return item->name && item->signature && (item->module || !imported);
}

static enum nacre_status fill_items(const struct wt_sections *sections,
                                    const struct wt_items *from, bool imported,
                                    struct nacre_module_item **ret_items,
                                    uint32_t *ret_count, struct nacre_error *err)
{
    if (from->count == 0)
        return NACRE_OK;
    *ret_items = calloc(from->count, sizeof(**ret_items));
    if (!*ret_items)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory to describe a module");
    *ret_count = from->count;
    for (uint32_t i = 0; i < from->count; i++)
        if (!fill_item(sections, &from->items[i], imported, &(*ret_items)[i]))
            return nacre_fail(err, NACRE_ERR_MEMORY, "no memory to describe a module");
    return NACRE_OK;
}

/* ---- why it can't run ---- */

static void say_needs(uint32_t needs, struct wt_text *text)
{
    static const char *const names[] = {
#define X(id, name) [WT_NEED_##id] = name,
        WT_NEED_MAP(X)
#undef X
    };
    int left = __builtin_popcount(needs);
    const char *before = "needs ";

    for (size_t i = 0; i < NACRE_COUNT(names); i++) {
        if (!(needs & 1u << i))
            continue;
        wt_text_add(text, "%s%s", before, names[i]);
        before = --left == 1 ? " and " : ", ";
    }
    wt_text_add(text, ", off in nacre");
}

/* "iI:i" in the words that a module's own signatures are put in. */
static void say_letters(const char *letters, struct wt_text *text)
{
    const char *results = strchr(letters, ':') + 1;

    wt_text_add(text, "(");
    for (const char *at = letters; *at != ':'; at++)
        wt_text_add(text, "%s%s", at > letters ? ", " : "", *at == 'I' ? "i64" : "i32");
    wt_text_add(text, ") -> %s", *results == 'I' ? "i64" : *results ? "i32" : "()");
}

static const struct nacre_wasi_function *wasi_function(const struct wt_sections *sections,
                                                       const struct wt_item *import)
{
    uint32_t count;
    const struct nacre_wasi_function *rows = nacre_wasi_functions(&count);

    if (import->kind != WT_FUNCTION)
        return NULL;
    for (uint32_t i = 0; i < count; i++)
        if (wt_name_is(&sections->in, import->module, rows[i].module) &&
            wt_name_is(&sections->in, import->name, rows[i].name))
            return &rows[i];
    return NULL;
}

/* Which imports nacre serves.  The right name with another signature is none of
 * them, and `text` says so of the first one. */
static void judge_imports(const struct wt_sections *sections,
                          struct nacre_module_info *info, struct wt_text *text)
{
    for (uint32_t i = 0; i < info->import_count; i++) {
        const struct wt_item *import = &sections->imports.items[i];
        const struct nacre_wasi_function *row = wasi_function(sections, import);
        struct nacre_module_item *item = &info->imports[i];
        struct wt_bytes at;
        char letters[32];

        if (!row)
            continue;
        at = wt_sections_at(sections, wt_sections_function(sections, import));
        wt_function_letters(&at, letters, sizeof(letters));
        if (strcmp(letters, row->signature) == 0) {
            item->known = true;
            item->capability = row->capability;
        } else if (text->used == 0) {
            wt_text_add(text, "imports %s as %.60s; %s has ", row->name, item->signature,
                        strcmp(row->module, NACRE_WASI_MODULE) == 0 ? "preview 1"
                                                                    : "nacre");
            say_letters(row->signature, text);
        }
    }
}

/* `text` is told of a _start that can't be called. */
static void judge_exports(const struct wt_sections *sections,
                          struct nacre_module_info *info, struct wt_text *text)
{
    for (uint32_t i = 0; i < info->export_count; i++) {
        const struct wt_item *export = &sections->exports.items[i];

        if (export->kind != WT_FUNCTION ||
            !wt_name_is(&sections->in, export->name, "_start"))
            continue;
        info->is_command = true;
        if (strcmp(info->exports[i].signature, "() -> ()") != 0 && text->used == 0)
            wt_text_add(text, "exports _start as %.60s; a command's is () -> ()",
                        info->exports[i].signature);
    }
    info->is_reactor = !info->is_command;
}

static void describe(const struct wt_sections *sections, struct nacre_module_info *info)
{
    struct wt_text refused = { .used = 0 };

    info->function_count = sections->functions_defined;
    info->has_memory = sections->tables.memories > 0;
    info->memory_pages_min = sections->memory.min;
    info->memory_pages_max = sections->memory.max;
    info->has_names = sections->has_names;
    if (sections->needs != 0)
        say_needs(sections->needs, &refused);
    judge_imports(sections, info, &refused);
    judge_exports(sections, info, &refused);
    (void)nacre_text_show(info->refused, sizeof(info->refused), refused.bytes,
                          refused.used);
}

enum nacre_status nacre_module_read(const struct nacre_tool *tool,
                                    struct nacre_module_info **ret_info,
                                    struct nacre_error *err)
{
    NACRE_AUTO(reading_clear) struct reading reading = { 0 };
    NACRE_AUTO(nacre_module_info_guard) struct nacre_module_info *info = NULL;
    const struct wt_sections *sections = &reading.sections;
    enum nacre_status status = reading_begin(&reading, tool, err);

    if (status != NACRE_OK)
        return status;
    info = calloc(1, sizeof(*info));
    if (!info)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory to describe a module");
    status = fill_items(sections, &sections->imports, true, &info->imports,
                        &info->import_count, err);
    if (status == NACRE_OK)
        status = fill_items(sections, &sections->exports, false, &info->exports,
                            &info->export_count, err);
    if (status != NACRE_OK)
        return status;
    describe(sections, info);
    *ret_info = nacre_module_info_take(&info);
    return NACRE_OK;
}

static void free_items(struct nacre_module_item *items, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        free(items[i].module);
        free(items[i].name);
        free(items[i].signature);
    }
    free(items);
}

void nacre_module_info_free(struct nacre_module_info *info)
{
    if (!info)
        return;
    free_items(info->imports, info->import_count);
    free_items(info->exports, info->export_count);
    free(info);
}

enum nacre_status wt_module_check(const struct nacre_tool *tool,
                                  const struct nacre_request *request,
                                  struct nacre_error *err)
{
    NACRE_AUTO(nacre_module_info_guard) struct nacre_module_info *info = NULL;
    enum nacre_status status = nacre_module_read(tool, &info, err);
    char names[300] = "";
    size_t used = 0;

    if (status != NACRE_OK)
        return status;
    if (info->refused[0])
        return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE, "%.100s: %s", tool->name,
                          info->refused);
    for (uint32_t i = 0; i < info->import_count && used < sizeof(names); i++) {
        const struct nacre_module_item *item = &info->imports[i];

        if (!item->known)
            used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.60s.%.60s",
                                     used ? ", " : "", item->module, item->name);
    }
    if (names[0])
        return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE,
                          "%.100s imports what nacre does not have: %s", tool->name,
                          names);
    if (info->is_reactor && !request->invoke)
        return nacre_fail(
            err, NACRE_ERR_NOT_RUNNABLE,
            "%.100s is a reactor (it has no _start): name one of its exports with "
            "--invoke; 'nacre inspect' lists them",
            tool->name);
    return NACRE_OK;
}
