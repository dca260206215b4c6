#include "choice.h"

#include <string.h>

#include "glob.h"

static void add_written_out(void *data, const char *glob, size_t count)
{
    char *kept = nacre_arena(count + 1);

    memcpy(kept, glob, count);
    kept[count] = '\0';
    if (!ignore_add_line(data, kept, count))
        nacre_tool_fail("too-large", "too many globs: use fewer, or wider ones");
}

void choice_add_glob(struct choice *choice, const char *glob, size_t count)
{
    bool negated = count > 0 && glob[0] == '!';
    const char *rest = glob + negated;
    size_t rest_count = count - negated;

    if (rest_count >= 2 && rest[0] == '.' && rest[1] == '/') {
        rest++; /* "./a" is bound to the root as "/a" is */
        rest_count--;
    }
    if (rest_count == 0 || rest_count > GLOB_BYTES_MAX || memchr(rest, '\n', rest_count))
        nacre_tool_fail("bad-glob", "a glob has 1 to %d bytes and no newline",
                        GLOB_BYTES_MAX);
    if (rest[0] == '!' || rest[0] == '#') { /* no meaning here, so the character */
        char *escaped = nacre_arena(rest_count + 2);

        escaped[0] = '\\';
        memcpy(escaped + 1, rest, rest_count);
        rest = escaped;
        rest_count++;
    }
    if (!glob_expand(rest, rest_count, add_written_out,
                     negated ? &choice->unwanted : &choice->wanted))
        nacre_tool_fail("bad-glob", "%.200s: a { has no }, or the braces stand for more "
                        "than %d globs; write \\{ to mean the character", glob,
                        GLOB_EXPANSIONS_MAX);
}

void choice_add(struct choice *choice, const struct nacre_json *globs)
{
    if (!globs)
        return;
    if (globs->kind == NACRE_JSON_STRING)
        choice_add_glob(choice, globs->text, globs->length);
    if (globs->kind == NACRE_JSON_ARRAY)
        for (const struct nacre_json *item = globs->first; item; item = item->next)
            choice_add(choice, item);
}

bool choice_leaves_out(const struct choice *choice, const char *path, size_t count,
                       const char *name, bool is_directory)
{
    return ignore_judge(&choice->unwanted, path, count, name, is_directory) !=
           IGNORE_NONE;
}

bool choice_has(const struct choice *choice, const char *path, size_t count,
                const char *name, bool is_directory)
{
    return !choice_leaves_out(choice, path, count, name, is_directory) &&
           (choice->wanted.count == 0 || ignore_judge(&choice->wanted, path, count, name,
                                                      is_directory) != IGNORE_NONE);
}

const char *choice_prefix(const char *path)
{
    size_t count;
    char *prefix;

    while (path[0] == '.' && path[1] == '/')
        path += 1 + strspn(path + 1, "/");
    count = strlen(path);
    while (count > 0 && path[count - 1] == '/')
        count--;
    if ((count == 1 && path[0] == '.') || (count == 0 && path[0] == '\0'))
        return "";
    prefix = nacre_arena(count + 2);
    memcpy(prefix, path, count);
    memcpy(prefix + count, "/", 2);
    return prefix;
}

static void show(struct nacre_text *text, const char *bytes, size_t count)
{
    for (size_t at = 0; at < count;) {
        size_t good = 0;

        while (at + good < count && bytes[at + good] != '\n' && bytes[at + good] != '\t')
            good++;
        nacre_text_add_shown(text, bytes + at, good);
        at += good;
        if (at < count)
            nacre_text_addf(text, "\\x%02X", (unsigned char)bytes[at++]);
    }
}

void choice_show_path(struct nacre_text *text, const char *prefix, const char *path,
                      size_t count)
{
    show(text, prefix, strlen(prefix));
    show(text, path, count);
}
