/*
 * edit: exact replacements in one file, all or none.  Each is matched against the file as
 * it is, so their order means nothing and none can match what another put in.
 */
#include "edit.h"

#include <stdlib.h>
#include <string.h>

#define FILE_BYTES_MAX ((size_t)16 << 20)
#define DIFF_LINES_MAX 400
#define CHANGES_MAX ((size_t)1 << 20)

/* A place in the file that gives way. */
struct change {
    size_t at, count;
    struct span new_text;
    size_t edit;
};

struct changes {
    struct change *list;
    size_t count, room;
};

enum line_ends { LINE_ENDS_LF, LINE_ENDS_CRLF, LINE_ENDS_MIXED };

static enum line_ends line_ends_of(struct span file)
{
    const char *at = file.bytes, *end = file.bytes + file.count;
    bool crlf = false, lf = false;

    while ((at = memchr(at, '\n', (size_t)(end - at)))) {
        if (at > file.bytes && at[-1] == '\r')
            crlf = true;
        else
            lf = true;
        at++;
    }
    return !crlf ? LINE_ENDS_LF : lf ? LINE_ENDS_MIXED : LINE_ENDS_CRLF;
}

/* Every line end of it as CR LF; those that are stay. */
static struct span with_crlf(struct span text)
{
    struct nacre_text out = { 0 };
    const char *at = text.bytes, *end = text.bytes + text.count, *newline;

    while ((newline = memchr(at, '\n', (size_t)(end - at)))) {
        bool has = newline > text.bytes && newline[-1] == '\r';

        nacre_text_add(&out, at, (size_t)(newline - at));
        nacre_text_add(&out, has ? "\n" : "\r\n", has ? 1 : 2);
        at = newline + 1;
    }
    nacre_text_add(&out, at, (size_t)(end - at));
    return (struct span){ out.bytes, out.count };
}

static struct span text_of(const struct nacre_json *object, const char *key)
{
    const struct nacre_json *value = nacre_json_get(object, key);

    if (!value || value->kind != NACRE_JSON_STRING)
        nacre_tool_fail("bad-arguments", "%s has to be a text.", key);
    return (struct span){ value->text, value->length };
}

static struct edit edit_read(const struct nacre_json *object, const char *all)
{
    struct edit edit = { .old_text = text_of(object, "old_text"),
                         .new_text = text_of(object, "new_text"),
                         .all = nacre_tool_flag(object, all, false) };

    if (edit.old_text.count == 0)
        nacre_tool_fail("bad-arguments",
                        "old_text is empty: to fill a new file use write, to add text "
                        "replace what stands before it by both.");
    if (edit.old_text.count == edit.new_text.count &&
        memcmp(edit.old_text.bytes, edit.new_text.bytes, edit.old_text.count) == 0)
        nacre_tool_fail("no-change", "old_text and new_text are the same.");
    return edit;
}

static struct edit *edits_read(const struct nacre_json *args, size_t *ret_count)
{
    const struct nacre_json *list = nacre_json_get(args, "edits");
    struct edit *edits;

    *ret_count = 0;
    if (!list) {
        edits = nacre_arena(sizeof *edits);
        edits[0] = edit_read(args, "replace_all");
        return edits;
    }
    if (list->kind != NACRE_JSON_ARRAY || list->count == 0 || list->count > EDITS_MAX)
        nacre_tool_fail("bad-arguments", "edits has to be a list of 1 to %d.", EDITS_MAX);
    if (nacre_json_get(args, "old_text") || nacre_json_get(args, "new_text") ||
        nacre_json_get(args, "replace_all"))
        nacre_tool_fail("bad-arguments", "Give either edits, or old_text and new_text.");
    edits = nacre_arena(list->count * sizeof *edits);
    for (const struct nacre_json *at = list->first; at; at = at->next)
        edits[(*ret_count)++] = edit_read(at, "all");
    return edits;
}

static const char *find(struct span file, size_t from, struct span text)
{
    return memmem(file.bytes + from, file.count - from, text.bytes, text.count);
}

static void change_add(struct changes *changes, struct change change)
{
    if (changes->count == CHANGES_MAX)
        nacre_tool_fail("too-large", "These are over %zu replacements at once.",
                        CHANGES_MAX);
    if (changes->count == changes->room) {
        size_t room = changes->room ? changes->room * 2 : 64;

        changes->list = nacre_arena_grow(changes->list, changes->room * sizeof change,
                                         room * sizeof change);
        changes->room = room;
    }
    changes->list[changes->count++] = change;
}

/* `number` counts from 1; 0: there is but one. */
static void match(struct span file, struct edit *edit, size_t number, enum line_ends ends,
                  const char *path, struct changes *changes)
{
    const char *found;
    size_t at;

    if (ends == LINE_ENDS_CRLF ||
        (ends == LINE_ENDS_MIXED && !find(file, 0, edit->old_text))) {
        edit->old_text = with_crlf(edit->old_text);
        edit->new_text = with_crlf(edit->new_text);
    }
    found = find(file, 0, edit->old_text);
    if (!found)
        fail_no_match(file, edit, number, path);
    at = (size_t)(found - file.bytes);
    if (!edit->all && find(file, at + 1, edit->old_text))
        fail_not_unique(file, edit, number, path);
    do {
        at = (size_t)(found - file.bytes);
        change_add(changes, (struct change){ at, edit->old_text.count, edit->new_text,
                                             number });
        found = find(file, at + edit->old_text.count, edit->old_text);
    } while (edit->all && found);
}

static int by_place(const void *left, const void *right)
{
    const struct change *a = left, *b = right;

    return a->at < b->at ? -1 : a->at > b->at;
}

static struct span changed(struct span file, const struct changes *changes)
{
    struct nacre_text out = { 0 };
    size_t at = 0;

    nacre_text_add(&out, "", 0);
    for (size_t i = 0; i < changes->count; i++) {
        const struct change *change = &changes->list[i];

        if (change->at < at)
            nacre_tool_fail("overlap",
                            "Edits %zu and %zu overlap in line %zu; nothing was changed. "
                            "Make one edit of them.",
                            changes->list[i - 1].edit, change->edit,
                            line_of(file, change->at));
        nacre_text_add(&out, file.bytes + at, change->at - at);
        nacre_text_add(&out, change->new_text.bytes, change->new_text.count);
        at = change->at + change->count;
        if (out.count > FILE_BYTES_MAX)
            nacre_tool_fail("too-large", "The file would be over %zu bytes; nothing was "
                            "changed.", FILE_BYTES_MAX);
    }
    nacre_text_add(&out, file.bytes + at, file.count - at);
    return (struct span){ out.bytes, out.count };
}

static void tell(const char *path, struct span before, struct span after,
                 const struct changes *changes)
{
    struct nacre_text diff = { 0 };
    struct nacre_changes lines =
        nacre_tool_diff(&diff, path, before.bytes, before.count, after.bytes, after.count,
                        DIFF_LINES_MAX);

    nacre_tool_say("Edited ");
    nacre_text_add_shown(nacre_tool_content(), path, strlen(path));
    nacre_tool_say(": %zu replacement%s, %zu line%s added, %zu removed.\n",
                   changes->count, changes->count == 1 ? "" : "s", lines.added,
                   lines.added == 1 ? "" : "s", lines.removed);
    nacre_text_add(nacre_tool_content(), diff.bytes, diff.count);
    nacre_tool_set("path", nacre_json_text(path));
    nacre_tool_set("replacements", nacre_json_number((int64_t)changes->count));
    nacre_tool_set("added", nacre_json_number((int64_t)lines.added));
    nacre_tool_set("removed", nacre_json_number((int64_t)lines.removed));
    nacre_tool_set("first_line",
                   nacre_json_number((int64_t)line_of(before, changes->list[0].at)));
    nacre_tool_set("bytes", nacre_json_number((int64_t)after.count));
}

int main(void)
{
    const struct nacre_json *args = nacre_tool_arguments();
    const char *path = nacre_tool_path(nacre_tool_text(args, "path", ""));
    struct changes changes = { 0 };
    struct span before, after;
    size_t count;
    struct edit *edits = edits_read(args, &count);
    enum line_ends ends;

    before.bytes = nacre_tool_read_file(path, FILE_BYTES_MAX, &before.count);
    ends = line_ends_of(before);
    for (size_t i = 0; i < (count ? count : 1); i++)
        match(before, &edits[i], count ? i + 1 : 0, ends, path, &changes);
    qsort(changes.list, changes.count, sizeof *changes.list, by_place);
    after = changed(before, &changes);
    if (!nacre_tool_replace_file(path, after.bytes, after.count, false))
        nacre_tool_fail_errno("Writing", path);
    tell(path, before, after, &changes);
    return nacre_tool_answer();
}
