/*
 * Unified diffs, git's among them.  What stands before the first header and between
 * files (a commit's message, "diff", "index") is passed over as git does; what would
 * change more than lines (modes, links, binary files, copies) is refused by name.
 */
#include <stdio.h>
#include <string.h>

#include "patch.h"

/* One side of a header; NULL is /dev/null. */
struct side {
    const char *path;
    bool is_null;
};

struct header {
    struct side before, after;
    const char *rename_from, *rename_to;
    bool is_new, is_deleted, is_executable;
};

static bool refuse(struct patch_reader *reader, const struct patch_line *line,
                   const char *why)
{
    return patch_fail(reader->fault, "unsupported", "line %zu: %s: %s", reader->number,
                      patch_shown(line->text, line->length), why);
}

static int octal(const char *at, const char *end)
{
    int value = 0;

    for (int digit = 0; digit < 3; digit++, at++) {
        if (at >= end || *at < '0' || *at > '7')
            return -1;
        value = value * 8 + (*at - '0');
    }
    return value;
}

/* "a/\303\244" as git quotes it.  NULL where it is not well-formed. */
static char *unquote(const char *at, const char *end)
{
    static const char letters[] = "abtnvfr\"\\", bytes[] = "\a\b\t\n\v\f\r\"\\";
    char *path = nacre_arena((size_t)(end - at) + 1), *to = path;
    const char *letter;
    int value;

    for (at++; at < end && *at != '"'; at++) {
        if (!*at)
            return NULL;
        if (*at != '\\') {
            *to++ = *at;
            continue;
        }
        if (++at >= end || !*at)
            return NULL;
        letter = strchr(letters, *at);
        value = letter ? bytes[letter - letters] : octal(at, end);
        if (value <= 0 || value > 255)
            return NULL;
        *to++ = (char)value;
        at += letter ? 0 : 2;
    }
    *to = '\0';
    return at < end && to > path ? path : NULL;
}

static char *read_path(const struct patch_line *line, size_t from)
{
    const char *at = line->text + from, *end = line->text + line->length, *tab;
    char *path;

    while (at < end && patch_blank(*at))
        at++;
    if (at < end && *at == '"')
        return unquote(at, end);
    tab = memchr(at, '\t', (size_t)(end - at)); /* a time stands behind it */
    if (tab)
        end = tab;
    while (end > at && patch_blank(end[-1]))
        end--;
    if (at == end || memchr(at, '\0', (size_t)(end - at)))
        return NULL;
    path = nacre_arena((size_t)(end - at) + 1);
    memcpy(path, at, (size_t)(end - at));
    path[end - at] = '\0';
    return path;
}

static bool read_side(struct patch_reader *reader, struct side *ret_side)
{
    struct patch_line line;

    (void)patch_peek(reader, &line);
    ret_side->path = read_path(&line, 4);
    if (!ret_side->path)
        return patch_fail(reader->fault, "bad-patch", "line %zu: %s names no file",
                          reader->number, patch_shown(line.text, line.length));
    ret_side->is_null = strcmp(ret_side->path, "/dev/null") == 0;
    patch_skip(reader);
    return true;
}

static bool starts(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* git's "a/" and "b/", where both sides have them. */
static void strip(struct header *header)
{
    struct side *before = &header->before, *after = &header->after;

    if ((before->is_null || starts(before->path, "a/")) &&
        (after->is_null || starts(after->path, "b/"))) {
        before->path += before->is_null ? 0 : 2;
        after->path += after->is_null ? 0 : 2;
    }
}

static bool is_header(const struct patch_reader *reader)
{
    struct patch_reader ahead = *reader;
    struct patch_line line;

    if (!patch_peek(&ahead, &line) || !patch_starts(&line, "--- "))
        return false;
    patch_skip(&ahead);
    return patch_peek(&ahead, &line) && patch_starts(&line, "+++ ");
}

static bool read_extended(struct patch_reader *reader, struct header *header)
{
    const char *path = "";
    struct patch_line line;

    (void)patch_peek(reader, &line);
    if (patch_starts(&line, "old mode ") || patch_starts(&line, "new mode "))
        return refuse(reader, &line, "a tool can't change modes; use exec with chmod");
    if (patch_starts(&line, "copy from ") || patch_starts(&line, "copy to "))
        return refuse(reader, &line, "copies are not made; add the file with its lines");
    if (patch_starts(&line, "GIT binary patch") || patch_starts(&line, "Binary files "))
        return refuse(reader, &line, "binary files can't be patched; use write");
    if (patch_starts(&line, "new file mode ") ||
        patch_starts(&line, "deleted file mode ")) {
        header->is_new |= line.text[0] == 'n';
        header->is_deleted |= line.text[0] == 'd';
        if (patch_is(&line, "new file mode 100755"))
            header->is_executable = true;
        else if (line.text[0] == 'n' && !patch_is(&line, "new file mode 100644"))
            return refuse(reader, &line, "only plain files are made, no links");
    }
    if (patch_starts(&line, "rename from "))
        header->rename_from = path = read_path(&line, 12);
    if (patch_starts(&line, "rename to "))
        header->rename_to = path = read_path(&line, 10);
    if (!path)
        return refuse(reader, &line, "names no file");
    patch_skip(reader);
    return true;
}

static bool start_file(struct patch_reader *reader, const struct header *header,
                       struct patch_file **ret_file)
{
    const struct side *before = &header->before, *after = &header->after;
    enum patch_op op = before->is_null ? PATCH_ADD
                     : after->is_null ? PATCH_DELETE : PATCH_UPDATE;
    struct patch_file *file;

    if (before->is_null && after->is_null)
        return patch_fail(reader->fault, "bad-patch",
                          "line %zu: both sides are /dev/null", reader->number);
    if ((header->is_new && op != PATCH_ADD) || (header->is_deleted && op != PATCH_DELETE))
        return patch_fail(reader->fault, "bad-patch",
                          "line %zu: the mode says that the file is %s, but no side is "
                          "/dev/null", reader->number,
                          header->is_new ? "new" : "deleted");
    file = patch_add_file(reader, op);
    if (!file)
        return false;
    file->path = before->is_null ? after->path : before->path;
    if (!file->path[0] || (!after->is_null && !after->path[0]))
        return patch_fail(reader->fault, "bad-patch",
                          "line %zu: behind \"a/\" or \"b/\" there is no name",
                          file->from);
    file->executable = header->is_executable;
    if (op == PATCH_UPDATE && strcmp(before->path, after->path) != 0) {
        if (!header->rename_to)
            return patch_fail(reader->fault, "bad-patch",
                              "line %zu: the sides name two files, %s and %s, and no "
                              "\"rename\" says so", reader->number,
                              patch_shown(before->path, strlen(before->path)),
                              patch_shown(after->path, strlen(after->path)));
        file->move_to = after->path;
    }
    *ret_file = file;
    return true;
}

static bool ends_hunk(const struct patch_reader *reader, const struct patch_line *line)
{
    return patch_starts(line, "@@") || patch_starts(line, "diff --git ") ||
           is_header(reader);
}

/* Lines to come, as the hunk's header counts them; without numbers up to what ends it. */
struct rest {
    size_t before, after;
    bool is_counted;
};

static bool bad_count(struct patch_reader *reader, const struct patch_hunk *hunk)
{
    size_t before = 0, after = 0;

    for (size_t i = 0; i < hunk->line_count; i++) {
        before += hunk->lines[i].sign != '+';
        after += hunk->lines[i].sign != '-';
    }
    return patch_fail(reader->fault, "bad-patch",
                      "line %zu: the numbers of lines in the hunk's header do not fit: "
                      "up to line %zu it has %zu before and %zu after; correct them, or "
                      "write \"@@\" without numbers", hunk->from, reader->number, before,
                      after);
}

static bool read_line(struct patch_reader *reader, struct patch_hunk *hunk,
                      struct patch_line *line, struct rest *rest)
{
    line->sign = line->length == 0 || patch_is(line, "") ? ' ' : line->text[0];
    if (line->sign != ' ' && line->sign != '+' && line->sign != '-')
        return patch_fail(reader->fault, "bad-patch",
                          "line %zu: a line of a hunk starts with ' ', '+', '-' or '\\', "
                          "this is %s", reader->number,
                          patch_shown(line->text, line->length));
    if (line->length > 0 && line->text[0] == line->sign) {
        line->text++;
        line->length--;
    }
    if (rest->is_counted && ((line->sign != '+' && rest->before-- == 0) ||
                             (line->sign != '-' && rest->after-- == 0)))
        return bad_count(reader, hunk);
    patch_add_line(hunk, line);
    return true;
}

static bool read_body(struct patch_reader *reader, struct patch_hunk *hunk,
                      struct rest *rest)
{
    struct patch_line line;
    size_t empty_count = 0;

    for (; patch_peek(reader, &line); patch_skip(reader)) {
        if (patch_starts(&line, "\\ ") && hunk->line_count > 0) {
            if (hunk->lines[hunk->line_count - 1].length == 0)
                return patch_fail(reader->fault, "bad-patch",
                                  "line %zu: an empty line without its end is no line",
                                  reader->number);
            hunk->lines[hunk->line_count - 1].unended = true;
            hunk->at_end = true;
            continue;
        }
        if (rest->is_counted ? rest->before + rest->after == 0
                             : ends_hunk(reader, &line))
            break;
        empty_count = line.length == 0 ? empty_count + 1 : 0;
        if (!read_line(reader, hunk, &line, rest))
            return false;
    }
    if (!rest->is_counted)
        hunk->line_count -= empty_count;
    if (rest->is_counted && rest->before + rest->after > 0)
        return bad_count(reader, hunk);
    /* A line of a body where none may be: the numbers are too low.  "-- " is what git
     * format-patch ends a mail with. */
    if (patch_peek(reader, &line) && line.length > 0 && memchr("+- ", line.text[0], 3) &&
        !is_header(reader) && !patch_is(&line, "--") && !patch_is(&line, "")) {
        reader->number++;
        patch_add_line(hunk, &(struct patch_line){ .sign = line.text[0] });
        return bad_count(reader, hunk);
    }
    if (hunk->line_count == 0)
        return patch_fail(reader->fault, "bad-patch", "line %zu: a hunk without lines",
                          hunk->from);
    return true;
}

static bool read_hunks(struct patch_reader *reader, struct patch_file *file)
{
    struct patch_line line;
    struct patch_hunk *hunk;
    struct rest rest;
    size_t ranges[4];

    while (patch_peek(reader, &line) && patch_starts(&line, "@@")) {
        hunk = patch_add_hunk(reader, file);
        if (!hunk)
            return false;
        rest = (struct rest){ 0 };
        if (line.length > 3 && patch_ranges(line.text + 3, line.length - 3, ranges)) {
            hunk->at = ranges[1] == 0 ? ranges[0] + 1 : ranges[0];
            rest = (struct rest){ ranges[1], ranges[3], true };
        } else if (!patch_is(&line, "@@") && !patch_is(&line, "@@ ... @@")) {
            return patch_fail(reader->fault, "bad-patch",
                              "line %zu: \"@@ -LINE,COUNT +LINE,COUNT @@\" was expected, "
                              "this is %s", reader->number,
                              patch_shown(line.text, line.length));
        }
        patch_skip(reader);
        if (!read_body(reader, hunk, &rest))
            return false;
    }
    if (file->hunk_count == 0)
        return patch_fail(reader->fault, "bad-patch", "line %zu: no hunk for %s",
                          file->from, patch_shown(file->path, strlen(file->path)));
    return true;
}

/* A file of git's that has no lines to change: empty, or only renamed. */
static bool read_bare(struct patch_reader *reader, const struct header *header,
                      const struct patch_line *git)
{
    const char *middle = NULL;
    struct patch_file *file;
    size_t half;

    if (header->rename_from && header->rename_to) {
        file = patch_add_file(reader, PATCH_UPDATE);
        if (!file)
            return false;
        file->path = header->rename_from;
        file->move_to = header->rename_to;
        return true;
    }
    if (!header->is_new && !header->is_deleted)
        return true;
    /* "diff --git a/x b/x": the same name twice, which alone tells where one ends. */
    half = git->length > 11 ? (git->length - 11 - 1) / 2 : 0;
    middle = half > 2 ? git->text + 11 + half : NULL;
    if (!middle || *middle != ' ' || git->text[11] == '"' ||
        memcmp(git->text + 13, middle + 3, half - 2) != 0)
        return patch_fail(reader->fault, "bad-patch", "line %zu: which file is %s?",
                          reader->number, patch_shown(git->text, git->length));
    file = patch_add_file(reader, header->is_new ? PATCH_ADD : PATCH_DELETE);
    if (!file)
        return false;
    file->path = read_path(&(struct patch_line){ .text = git->text + 13,
                                                 .length = half - 2 }, 0);
    file->executable = header->is_executable;
    return file->path || patch_fail(reader->fault, "bad-patch", "line %zu: no file named",
                                    reader->number);
}

static bool read_git(struct patch_reader *reader, struct header *header, bool *ret_lines)
{
    struct patch_line git, line;

    (void)patch_peek(reader, &git);
    *ret_lines = false;
    for (patch_skip(reader); patch_peek(reader, &line);) {
        *ret_lines = is_header(reader);
        if (*ret_lines)
            return true;
        if (patch_starts(&line, "diff --git ") || patch_is(&line, "--"))
            break;
        if (!read_extended(reader, header))
            return false;
    }
    return read_bare(reader, header, &git);
}

bool patch_read_unified(struct patch_reader *reader)
{
    struct patch_line line;
    struct patch_file *file = NULL;
    bool has_lines;

    while (patch_peek(reader, &line)) {
        struct header header = { 0 };

        if (patch_starts(&line, "diff --git ")) {
            if (!read_git(reader, &header, &has_lines))
                return false;
            if (!has_lines)
                continue;
        } else if (patch_starts(&line, "@@ -")) {
            return patch_fail(reader->fault, "bad-patch",
                              "line %zu: a hunk without \"--- file\" and \"+++ file\" "
                              "above", reader->number);
        } else if (!is_header(reader)) {
            patch_skip(reader);
            continue;
        }
        if (!read_side(reader, &header.before) || !read_side(reader, &header.after))
            return false;
        strip(&header);
        if (!start_file(reader, &header, &file) || !read_hunks(reader, file))
            return false;
    }
    if (reader->patch->count == 0)
        return patch_fail(reader->fault, "bad-patch",
                          "neither \"*** Begin Patch\" nor a unified diff (\"--- file\", "
                          "\"+++ file\", \"@@ -1,2 +1,3 @@\")");
    return true;
}
