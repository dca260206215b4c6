/*
 * find: the paths of a tree that globs and types choose, in their order.  Links are told
 * and never followed.
 */
#include <errno.h>
#include <string.h>
#include <wasi/api.h>

#include "choice.h"
#include "walk.h"

#define LIMIT_DEFAULT 1000
#define SHOWN_BYTES_MAX ((size_t)1 << 20)

struct finding {
    struct choice globs;
    unsigned kinds; /* a bit for each enum walk_kind */
    bool needs_info;
    int64_t size_min, size_max, newer_s, older_s; /* of the Unix epoch */
    const char *prefix;
    size_t limit, found, seen;
    bool is_cut;
    struct nacre_json *paths;
};

static int64_t number(const struct nacre_json *args, const char *key, int64_t otherwise)
{
    const struct nacre_json *value = nacre_json_get(args, key);
    int64_t given = nacre_json_int(value, -1);

    if (!value)
        return otherwise;
    if (given < 0)
        nacre_tool_fail("bad-argument", "%s is a whole number from 0 on", key);
    return given;
}

static unsigned kind_bit(const char *name)
{
    static const struct {
        const char *name;
        enum walk_kind kind;
    } kinds[] = { { "file", WALK_FILE }, { "directory", WALK_DIRECTORY },
                  { "link", WALK_LINK }, { "other", WALK_OTHER } };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i].name, name) == 0)
            return 1U << kinds[i].kind;
    nacre_tool_fail("bad-argument", "type %.40s is not known: file, directory, link or "
                    "other", name);
}

static unsigned kinds_read(const struct nacre_json *types)
{
    unsigned kinds = 0;

    if (types && types->kind == NACRE_JSON_STRING)
        kinds = kind_bit(types->text);
    if (types && types->kind == NACRE_JSON_ARRAY)
        for (const struct nacre_json *item = types->first; item; item = item->next)
            kinds |= kinds_read(item);
    return kinds ? kinds : ~0U;
}

/* Size and time of the entry itself; a link's own, not of what it leads to. */
static bool info_fits(const struct finding *finding, const struct walk_entry *entry)
{
    __wasi_filestat_t info;
    int64_t changed_s;

    if (!finding->needs_info)
        return true;
    if (__wasi_path_filestat_get(entry->dir_fd, 0, entry->name, &info) !=
        __WASI_ERRNO_SUCCESS)
        return false;
    changed_s = (int64_t)(info.mtim / 1000000000U);
    if (changed_s < finding->newer_s || changed_s > finding->older_s)
        return false;
    return (finding->size_min == 0 && finding->size_max == INT64_MAX) ||
           (entry->kind == WALK_FILE && info.size <= INT64_MAX &&
            (int64_t)info.size >= finding->size_min &&
            (int64_t)info.size <= finding->size_max);
}

static void show(struct finding *finding, const struct walk_entry *entry)
{
    struct nacre_text *text = nacre_tool_content();
    size_t begun = text->count;

    choice_show_path(text, finding->prefix, entry->path, entry->path_count);
    if (entry->kind == WALK_DIRECTORY)
        nacre_text_add(text, "/", 1);
    else if (entry->kind == WALK_LINK)
        nacre_text_add(text, "@", 1);
    nacre_json_append(finding->paths, nacre_json_string(text->bytes + begun,
                                                        text->count - begun));
    nacre_text_add(text, "\n", 1);
}

static void find_tree(struct finding *finding, const char *root,
                      const struct walk_options *options)
{
    struct walk *walk = walk_open(root, options);
    struct walk_entry entry;
    const char *path;
    size_t unread;
    int error;

    if (!walk)
        nacre_tool_fail_errno("Finding in", root);
    while (!finding->is_cut && walk_next(walk, &entry)) {
        bool is_directory = entry.kind == WALK_DIRECTORY;

        finding->seen++;
        if (choice_leaves_out(&finding->globs, entry.path, entry.path_count, entry.name,
                              is_directory)) {
            walk_skip(walk);
            continue;
        }
        if (!(finding->kinds & 1U << entry.kind) ||
            !choice_has(&finding->globs, entry.path, entry.path_count, entry.name,
                        is_directory) ||
            !info_fits(finding, &entry))
            continue;
        if (finding->found == finding->limit ||
            nacre_tool_content()->count > SHOWN_BYTES_MAX) {
            finding->is_cut = true;
            break;
        }
        show(finding, &entry);
        finding->found++;
    }
    if (finding->found == 0 && !finding->is_cut)
        nacre_tool_say("Nothing found among %zu entries%s.\n", finding->seen,
                       options->hidden && options->no_ignore
                           ? ""
                           : "; hidden and ignored ones are left out unless hidden and "
                             "no_ignore are true");
    if (finding->is_cut)
        nacre_tool_say("[cut at %zu entries: there are more; narrow the search or raise "
                       "limit]\n", finding->found);
    unread = walk_unread(walk, &path, &error);
    if (unread > 0)
        nacre_tool_say("[%zu directories could not be read; the first is %s: %s]\n",
                       unread, path, strerror(error));
    nacre_tool_set("unreadable", nacre_json_number((int64_t)unread));
    walk_free(walk);
}

int main(void)
{
    const struct nacre_json *args = nacre_tool_arguments();
    const char *asked = nacre_tool_text(args, "path", ".");
    struct finding finding = {
        .kinds = kinds_read(nacre_json_get(args, "type")),
        .size_min = number(args, "size_min", 0),
        .size_max = number(args, "size_max", INT64_MAX),
        .newer_s = number(args, "newer_s", 0),
        .older_s = number(args, "older_s", INT64_MAX),
        .prefix = choice_prefix(asked),
        .limit = (size_t)number(args, "limit", LIMIT_DEFAULT),
        .paths = nacre_json_new(NACRE_JSON_ARRAY),
    };
    const struct walk_options options = {
        .hidden = nacre_tool_flag(args, "hidden", false),
        .no_ignore = nacre_tool_flag(args, "no_ignore", false),
        .depth_max = (unsigned)number(args, "depth", 0),
    };

    finding.needs_info = finding.size_min > 0 || finding.size_max != INT64_MAX ||
                         finding.newer_s > 0 || finding.older_s != INT64_MAX;
    choice_add(&finding.globs, nacre_json_get(args, "pattern"));
    find_tree(&finding, nacre_tool_path(asked), &options);
    nacre_tool_set("found", nacre_json_number((int64_t)finding.found));
    nacre_tool_set("seen", nacre_json_number((int64_t)finding.seen));
    nacre_tool_set("truncated", nacre_json_bool(finding.is_cut));
    nacre_tool_set("paths", finding.paths);
    return nacre_tool_answer();
}
