/*
 * grep: lines that match a pattern, in a file or a tree.  Files come in the order of
 * their paths; what was left out and why is told at the end.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "choice.h"
#include "search.h"
#include "types.h"
#include "walk.h"

#define LIMIT_DEFAULT 500
#define TEXT_BYTES_DEFAULT 100000
#define CONTEXT_MAX 1000

static struct nacre_regex *pattern_read(const struct nacre_json *args)
{
    const struct nacre_json *pattern = nacre_json_get(args, "pattern");
    unsigned flags = NACRE_REGEX_CRLF;
    struct nacre_regex_error error;
    struct nacre_regex *regex;

    if (!pattern || pattern->kind != NACRE_JSON_STRING)
        nacre_tool_fail("bad-argument", "pattern is missing: the text to look for");
    flags |= nacre_tool_flag(args, "ignore_case", false) ? NACRE_REGEX_CASELESS : 0;
    flags |= nacre_tool_flag(args, "fixed", false) ? NACRE_REGEX_LITERAL : 0;
    flags |= nacre_tool_flag(args, "word", false) ? NACRE_REGEX_WORD : 0;
    regex = nacre_regex_new(pattern->text, pattern->length, flags, &error);
    if (!regex) {
        nacre_tool_set("offset", nacre_json_number((int64_t)error.offset));
        nacre_tool_fail("bad-pattern", "pattern, at byte %zu: %s%s", error.offset,
                        error.text,
                        flags & NACRE_REGEX_LITERAL
                            ? ""
                            : ". fixed: true takes the pattern as plain text");
    }
    return regex;
}

static size_t number(const struct nacre_json *args, const char *key, int64_t otherwise,
                     int64_t most)
{
    int64_t value = nacre_tool_int(args, key, otherwise);

    if (value < 0 || value > most)
        nacre_tool_fail("bad-argument", "%s is a number from 0 to %lld", key,
                        (long long)most);
    return (size_t)value;
}

static enum search_mode mode_read(const struct nacre_json *args)
{
    const char *mode = nacre_tool_text(args, "output_mode", "content");

    if (strcmp(mode, "content") == 0)
        return SEARCH_CONTENT;
    if (strcmp(mode, "files") == 0)
        return SEARCH_FILES;
    if (strcmp(mode, "count") == 0)
        return SEARCH_COUNT;
    nacre_tool_fail("bad-argument", "output_mode is content, files or count");
}

static void search_tree(struct search *search, const char *root,
                        const struct choice *globs, const struct choice *types,
                        const struct nacre_json *args)
{
    const struct walk_options options = {
        .hidden = nacre_tool_flag(args, "hidden", false),
        .no_ignore = nacre_tool_flag(args, "no_ignore", false),
    };
    struct walk *walk = walk_open(root, &options);
    struct walk_entry entry;
    const char *path;
    int error;

    if (!walk)
        nacre_tool_fail_errno("Searching", root);
    while (!search->is_cut && walk_next(walk, &entry)) {
        bool is_directory = entry.kind == WALK_DIRECTORY;

        if (is_directory &&
            choice_leaves_out(globs, entry.path, entry.path_count, entry.name, true))
            walk_skip(walk);
        if (entry.kind == WALK_FILE &&
            choice_has(globs, entry.path, entry.path_count, entry.name, false) &&
            choice_has(types, entry.path, entry.path_count, entry.name, false))
            search_file(search, entry.dir_fd, entry.name, entry.path, entry.path_count);
    }
    search->unread += walk_unread(walk, &path, &error);
    if (!search->unread_path && *path) {
        search->unread_path = strdup(path);
        search->unread_errno = error;
    }
    walk_free(walk);
}

static void set_number(const char *key, size_t value)
{
    nacre_tool_set(key, nacre_json_number((int64_t)value));
}

static void tell_rest(const struct search *search)
{
    if (search->files == 0)
        nacre_tool_say("No matches in %zu files.\n", search->searched - search->binary);
    if (search->is_cut)
        nacre_tool_say("[cut at %zu matching %s: there may be more; narrow the search or "
                       "raise limit]\n",
                       search->mode == SEARCH_FILES ? search->files : search->matches,
                       search->mode == SEARCH_FILES ? "files" : "lines");
    if (search->binary > 0)
        nacre_tool_say("[%zu binary files were not searched]\n", search->binary);
    if (search->long_lines > 0)
        nacre_tool_say("[%zu lines of more than 16 MiB were not searched]\n",
                       search->long_lines);
    if (search->unread > 0)
        nacre_tool_say("[%zu files or directories could not be read; the first is %s: "
                       "%s]\n", search->unread,
                       search->unread_path ? search->unread_path : "?",
                       strerror(search->unread_errno));
    set_number("matches", search->matches);
    set_number("files", search->files);
    set_number("searched", search->searched - search->binary);
    set_number("binary", search->binary);
    set_number("unreadable", search->unread);
    nacre_tool_set("truncated", nacre_json_bool(search->is_cut));
    nacre_tool_set("counts", search->counts);
}

int main(void)
{
    const struct nacre_json *args = nacre_tool_arguments();
    const char *asked = nacre_tool_text(args, "path", ".");
    const char *path = nacre_tool_path(asked);
    size_t context = number(args, "context", 0, CONTEXT_MAX);
    struct choice globs = { 0 }, types = { 0 };
    struct search search = {
        .regex = pattern_read(args),
        .mode = mode_read(args),
        .before = number(args, "before", (int64_t)context, CONTEXT_MAX),
        .behind = number(args, "after", (int64_t)context, CONTEXT_MAX),
        .line_numbers = nacre_tool_flag(args, "line_numbers", true),
        .matches_left = number(args, "limit", LIMIT_DEFAULT, 1000000),
        .text_bytes_max = number(args, "max_bytes", TEXT_BYTES_DEFAULT, 4000000),
        .prefix = choice_prefix(asked),
        .counts = nacre_json_new(NACRE_JSON_ARRAY),
    };
    const char *type = nacre_tool_text(args, "type", NULL);
    struct stat info;

    choice_add(&globs, nacre_json_get(args, "glob"));
    if (type)
        types_add(&types, type);
    if (stat(path, &info) != 0)
        nacre_tool_fail_errno("Searching", path);
    if (S_ISDIR(info.st_mode)) {
        search_tree(&search, path, &globs, &types, args);
    } else {
        search.prefix = "";
        search_open_file(&search, nacre_tool_open_file(path, &info), asked,
                         strlen(asked));
    }
    tell_rest(&search);
    return nacre_tool_answer();
}
