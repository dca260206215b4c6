/*
 * apply_patch: a patch of several files, all of it or nothing.
 */
#include <string.h>

#include "files.h"
#include "nacre_tool.h"
#include "patch.h"

static noreturn void fail(const struct patch_fault *fault)
{
    nacre_tool_fail(fault->code, "%s\nNo file was changed.", fault->text.bytes);
}

static void apply(struct patch_files *files, const struct patch_file *file)
{
    struct patch_entry *entry = patch_files_get(files, file->path), *target = entry;
    struct nacre_text after = { 0 };
    struct patch_fault fault = { 0 };
    struct patch_text text;

    if (file->op == PATCH_ADD && entry->exists)
        nacre_tool_fail("exists", "%s is there already: update it, or delete it in the "
                        "same patch first\nNo file was changed.", entry->shown);
    if (file->op != PATCH_ADD && !entry->exists)
        nacre_tool_fail("not-found", "%s is not there\nNo file was changed.",
                        entry->shown);
    if (file->op == PATCH_DELETE && file->hunk_count == 0) {
        if (patch_split(entry->after, entry->after_count, &text))
            entry->stats.removed += text.count;
        entry->exists = false;
        return;
    }
    if (!patch_apply(file, entry->exists ? entry->after : "",
                     entry->exists ? entry->after_count : 0, &after, &entry->stats,
                     &fault))
        fail(&fault);
    if (file->op == PATCH_DELETE && after.count > 0)
        nacre_tool_fail("no-match", "%s has more lines than the patch deletes\nNo file "
                        "was changed.", entry->shown);
    if (file->move_to) {
        target = patch_files_get(files, file->move_to);
        if (target->exists && target != entry)
            nacre_tool_fail("exists", "%s is there already: %s can't be moved there\nNo "
                            "file was changed.", target->shown, entry->shown);
        entry->exists = false;
        entry->is_moved_away = target != entry;
        if (target != entry) {
            target->stats = entry->stats;
            target->moved_from = entry->shown;
            target->source = entry->existed ? entry : entry->source;
        }
    }
    target->exists = file->op != PATCH_DELETE;
    target->after = after.count > 0 ? after.bytes : "";
    target->after_count = after.count;
    if (target->after_count > PATCH_FILE_BYTES_MAX)
        nacre_tool_fail("too-large", "%s would have more than %zu bytes\nNo file was "
                        "changed.", target->shown, PATCH_FILE_BYTES_MAX);
}

static const char *status_of(const struct patch_entry *entry)
{
    if (!entry->exists)
        return entry->existed && !entry->is_moved_away ? "D" : NULL;
    if (entry->moved_from)
        return "R";
    return entry->existed ? "M" : "A";
}

static const char *const fits[] = { "exact", "white-space", "typography" };

static void tell_entry(const struct patch_entry *entry, const char *status,
                       struct nacre_json *list)
{
    struct nacre_text *text = nacre_tool_content();
    struct nacre_json *object = nacre_json_new(NACRE_JSON_OBJECT);

    nacre_text_addf(text, "%s ", status);
    if (entry->moved_from) {
        nacre_text_add_shown(text, entry->moved_from, strlen(entry->moved_from));
        nacre_text_addf(text, " -> ");
        nacre_json_set(object, "from", nacre_json_text(entry->moved_from));
    }
    nacre_text_add_shown(text, entry->shown, strlen(entry->shown));
    nacre_text_addf(text, " (+%zu -%zu)", entry->stats.added, entry->stats.removed);
    if (entry->stats.fit == PATCH_FIT_SPACE)
        nacre_text_addf(text, "; matched with white space at the ends of lines ignored");
    if (entry->stats.fit == PATCH_FIT_FOLD)
        nacre_text_addf(text, "; matched with typographic dashes, quotes and spaces "
                        "taken for plain ones");
    if (entry->stats.moved > 0)
        nacre_text_addf(text, "; %zu hunks not at the line they say", entry->stats.moved);
    nacre_text_addf(text, "\n");
    nacre_json_set(object, "status", nacre_json_text(status));
    nacre_json_set(object, "path", nacre_json_text(entry->shown));
    nacre_json_set(object, "added", nacre_json_number((int64_t)entry->stats.added));
    nacre_json_set(object, "removed", nacre_json_number((int64_t)entry->stats.removed));
    nacre_json_set(object, "match", nacre_json_text(fits[entry->stats.fit]));
    nacre_json_append(list, object);
}

static void tell(const struct patch_files *files, const struct patch *patch, bool is_dry)
{
    struct nacre_json *list = nacre_json_new(NACRE_JSON_ARRAY);
    size_t added = 0, removed = 0;
    const char *status;

    for (size_t i = 0; i < files->count; i++) {
        status = status_of(files->entries[i]);
        if (!status)
            continue;
        added += files->entries[i]->stats.added;
        removed += files->entries[i]->stats.removed;
        tell_entry(files->entries[i], status, list);
    }
    nacre_tool_say("%zu %s%s, +%zu -%zu lines", list->count,
                   list->count == 1 ? "file" : "files",
                   is_dry ? " would be changed (dry run: nothing was)" : " changed",
                   added, removed);
    for (size_t i = 0; i < patch->count; i++)
        if (patch->files[i].executable)
            nacre_tool_say("\n%s: made without the executable mode that the patch gives "
                           "it; use exec with chmod",
                           patch_shown(patch->files[i].path,
                                       strlen(patch->files[i].path)));
    nacre_tool_set("files", list);
    nacre_tool_set("added", nacre_json_number((int64_t)added));
    nacre_tool_set("removed", nacre_json_number((int64_t)removed));
}

int main(void)
{
    static struct patch_files files;
    const struct nacre_json *args = nacre_tool_arguments();
    const struct nacre_json *text = nacre_json_get(args, "patch");
    bool is_dry = nacre_tool_flag(args, "dry_run", false);
    struct patch_fault fault = { 0 };
    struct patch patch;

    if (!text || text->kind != NACRE_JSON_STRING)
        nacre_tool_fail("bad-arguments", "patch is a text");
    if (!patch_read(text->text, text->length, &patch, &fault))
        fail(&fault);
    for (size_t i = 0; i < patch.count; i++)
        apply(&files, &patch.files[i]);
    if (!is_dry)
        patch_files_write(&files);
    tell(&files, &patch, is_dry);
    return nacre_tool_answer();
}
