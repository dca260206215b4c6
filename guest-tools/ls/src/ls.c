/*
 * ls: a directory's entries by name.  Links are shown and never followed on the way down,
 * so that no farm of them makes a tree endless; what is over the limit is counted.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "nacre_tool.h"

#define LIMIT_DEFAULT 1000
#define LIMIT_MAX 10000
#define DEPTH_MAX 32
#define LINK_BYTES_MAX 1024
#define SHOWN_BYTES_MAX ((size_t)1 << 20)

struct listing {
    bool all, detailed;
    uint64_t depth, limit;
    uint64_t shown, cut, hidden, unread;
    struct nacre_json *items;
};

static void add_shown(const char *text)
{
    nacre_text_add_shown(nacre_tool_content(), text, strlen(text));
}

/* A name may hold what would begin a line of its own. */
static void add_name(const char *name)
{
    for (const char *at = name; *at;) {
        size_t good = strcspn(at, "\n\t");

        nacre_text_add_shown(nacre_tool_content(), at, good);
        at += good;
        if (*at)
            nacre_tool_say("\\x%02X", (unsigned char)*at++);
    }
}

static void add_details(const char *path, enum nacre_entry_kind kind,
                        struct nacre_json *item)
{
    static const char letters[] = {
        [NACRE_ENTRY_OTHER] = '?',
        [NACRE_ENTRY_FILE] = '-',
        [NACRE_ENTRY_DIRECTORY] = 'd',
        [NACRE_ENTRY_LINK] = 'l',
    };
    char when[32];
    struct stat info;
    struct tm parts;

    if (lstat(path, &info) != 0) {
        nacre_tool_say("%c %12s %20s  ", letters[kind], "?", "?");
        return;
    }
    if (!gmtime_r(&info.st_mtime, &parts) ||
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        snprintf(when, sizeof when, "?");
    nacre_tool_say("%c %12llu %20s  ", letters[kind], (unsigned long long)info.st_size,
                   when);
    nacre_json_set(item, "bytes", nacre_json_number((int64_t)info.st_size));
    nacre_json_set(item, "modified", nacre_json_text(when));
}

static void add_target(const char *path, struct nacre_json *item)
{
    char target[LINK_BYTES_MAX + 1];
    ssize_t count = readlink(path, target, LINK_BYTES_MAX);

    nacre_tool_say(" -> ");
    if (count < 0) {
        nacre_tool_say("?");
        return;
    }
    target[count] = '\0';
    add_name(target);
    if (count == LINK_BYTES_MAX)
        nacre_tool_say("...");
    else
        nacre_json_set(item, "target", nacre_json_string(target, (size_t)count));
}

/* `shown` is the path below the directory that was asked for. */
static void add_entry(struct listing *listing, const char *path, const char *shown,
                      enum nacre_entry_kind kind)
{
    static const char *const types[] = {
        [NACRE_ENTRY_OTHER] = "other",
        [NACRE_ENTRY_FILE] = "file",
        [NACRE_ENTRY_DIRECTORY] = "directory",
        [NACRE_ENTRY_LINK] = "link",
    };
    struct nacre_json *item = nacre_json_new(NACRE_JSON_OBJECT);

    nacre_json_set(item, "path", nacre_json_text(shown));
    nacre_json_set(item, "type", nacre_json_text(types[kind]));
    nacre_json_append(listing->items, item);
    if (listing->detailed)
        add_details(path, kind, item);
    add_name(shown);
    if (kind == NACRE_ENTRY_DIRECTORY)
        nacre_tool_say("/");
    else if (kind == NACRE_ENTRY_LINK)
        add_target(path, item);
    nacre_text_add(nacre_tool_content(), "\n", 1);
    listing->shown++;
}

static char *joined(const char *start, const char *name)
{
    size_t start_count = strlen(start), name_count = strlen(name);
    bool slash = start_count > 0 && start[start_count - 1] != '/';
    char *path = nacre_arena(start_count + name_count + 2);

    memcpy(path, start, start_count);
    if (slash)
        path[start_count] = '/';
    memcpy(path + start_count + slash, name, name_count + 1);
    return path;
}

static void list(struct listing *listing, const char *path, const char *shown,
                 uint64_t depth)
{
    struct nacre_entry *entries;
    size_t count;

    if (!nacre_tool_list(path, &entries, &count)) {
        if (depth == 1)
            nacre_tool_fail_errno("Listing", path);
        listing->unread++;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        char *entry_path, *entry_shown;

        if (entries[i].name[0] == '.' && !listing->all) {
            listing->hidden++;
            continue;
        }
        if (listing->shown == listing->limit ||
            nacre_tool_content()->count > SHOWN_BYTES_MAX) {
            listing->cut++;
            continue;
        }
        entry_path = joined(path, entries[i].name);
        entry_shown = joined(shown, entries[i].name);
        add_entry(listing, entry_path, entry_shown, entries[i].kind);
        if (entries[i].kind == NACRE_ENTRY_DIRECTORY && depth < listing->depth)
            list(listing, entry_path, entry_shown, depth + 1);
    }
}

static void set_number(const char *key, uint64_t number)
{
    nacre_tool_set(key, nacre_json_number((int64_t)number));
}

static void tell_rest(const struct listing *listing, const char *path)
{
    if (listing->shown == 0 && listing->cut == 0) {
        add_shown(path);
        if (listing->hidden > 0)
            nacre_tool_say(" shows nothing; all: true shows %llu hidden.\n",
                           (unsigned long long)listing->hidden);
        else
            nacre_tool_say(" is empty.\n");
    }
    if (listing->cut > 0)
        nacre_tool_say("[%llu entries shown, at least %llu more; raise limit or name a "
                       "directory further down]\n", (unsigned long long)listing->shown,
                       (unsigned long long)listing->cut);
    if (listing->unread > 0)
        nacre_tool_say("[%llu directories could not be read]\n",
                       (unsigned long long)listing->unread);
    nacre_tool_set("path", nacre_json_text(path));
    set_number("entries", listing->shown);
    set_number("cut", listing->cut);
    set_number("hidden", listing->hidden);
    nacre_tool_set("items", listing->items);
}

static uint64_t number_between(const struct nacre_json *args, const char *key,
                               int64_t otherwise, int64_t most)
{
    int64_t number = nacre_tool_int(args, key, otherwise);

    if (number < 1 || number > most)
        nacre_tool_fail("bad-arguments", "%s is 1 to %lld.", key, (long long)most);
    return (uint64_t)number;
}

int main(void)
{
    const struct nacre_json *args = nacre_tool_arguments();
    const char *path = nacre_tool_path(nacre_tool_text(args, "path", "."));
    struct listing listing = {
        .all = nacre_tool_flag(args, "all", false),
        .detailed = nacre_tool_flag(args, "long", false),
        .depth = number_between(args, "depth", 1, DEPTH_MAX),
        .limit = number_between(args, "limit", LIMIT_DEFAULT, LIMIT_MAX),
        .items = nacre_json_new(NACRE_JSON_ARRAY),
    };
    struct stat info;

    if (stat(path, &info) != 0)
        nacre_tool_fail_errno("Listing", path);
    if (S_ISDIR(info.st_mode))
        list(&listing, path, "", 1);
    else
        add_entry(&listing, path, path,
                  S_ISREG(info.st_mode) ? NACRE_ENTRY_FILE : NACRE_ENTRY_OTHER);
    tell_rest(&listing, path);
    return nacre_tool_answer();
}
