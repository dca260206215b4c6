/*
 * The format that agents write: "*** Begin Patch", a section for each file, "*** End
 * Patch".  A hunk starts with "@@" and, behind it, a line of the file that stands above
 * it; the first hunk of a file may do without.
 */
#include <string.h>

#include "patch.h"

static const char *path_of(const struct patch_line *line, const char *prefix)
{
    size_t from = strlen(prefix), to = line->length;
    char *path;

    while (from < to && patch_blank(line->text[from]))
        from++;
    while (to > from && patch_blank(line->text[to - 1]))
        to--;
    if (from == to || memchr(line->text + from, '\0', to - from))
        return NULL;
    path = nacre_arena(to - from + 1);
    memcpy(path, line->text + from, to - from);
    path[to - from] = '\0';
    return path;
}

static bool no_path(struct patch_reader *reader, const struct patch_line *line)
{
    return patch_fail(reader->fault, "bad-patch", "line %zu: %s names no file",
                      reader->number, patch_shown(line->text, line->length));
}

static bool read_added(struct patch_reader *reader, struct patch_file *file)
{
    struct patch_hunk *hunk = patch_add_hunk(reader, file);
    struct patch_line line;

    while (patch_peek(reader, &line) && !patch_starts(&line, "*** ") &&
           !patch_is(&line, "")) {
        if (line.text[0] != '+')
            return patch_fail(reader->fault, "bad-patch",
                              "line %zu: each line of a new file starts with '+', this "
                              "is %s", reader->number,
                              patch_shown(line.text, line.length));
        line.sign = '+';
        line.text++;
        line.length--;
        patch_add_line(hunk, &line);
        patch_skip(reader);
    }
    return true;
}

/* "@@", "@@ text" and, since models mix the formats, "@@ -1,2 +3,4 @@". */
static void read_anchor(const struct patch_line *line, struct patch_hunk *hunk)
{
    struct patch_line anchor = {
        .text = line->text + 3, .length = line->length - 3, .sign = '@',
    };
    size_t ranges[4];

    if (patch_is(line, "@@"))
        return;
    if (patch_ranges(anchor.text, anchor.length, ranges)) {
        hunk->at = ranges[0];
        return;
    }
    patch_add_anchor(hunk, &anchor);
}

static bool read_body(struct patch_reader *reader, struct patch_hunk *hunk)
{
    struct patch_line line;
    size_t empty_count = 0; /* at the end of the body: for the eye, it may be */

    for (; patch_peek(reader, &line); patch_skip(reader)) {
        if (patch_is(&line, "*** End of File")) {
            hunk->at_end = true;
            empty_count = 0;
            patch_skip(reader);
            break;
        }
        if (patch_starts(&line, "*** ") || patch_starts(&line, "@@"))
            break;
        /* An editor or a model drops the space of an empty line. */
        line.sign = patch_is(&line, "") ? ' ' : line.text[0];
        if (line.sign != ' ' && line.sign != '+' && line.sign != '-')
            return patch_fail(reader->fault, "bad-patch",
                              "line %zu: a line of a hunk starts with ' ', '+' or '-', "
                              "this is %s",
                              reader->number, patch_shown(line.text, line.length));
        empty_count = line.length == 0 ? empty_count + 1 : 0;
        if (line.length > 0 && line.text[0] == line.sign) {
            line.text++;
            line.length--;
        }
        patch_add_line(hunk, &line);
    }
    hunk->line_count -= empty_count;
    if (hunk->line_count == 0)
        return patch_fail(reader->fault, "bad-patch", "line %zu: a hunk without lines",
                          hunk->from);
    return true;
}

static bool read_hunks(struct patch_reader *reader, struct patch_file *file)
{
    struct patch_line line;
    struct patch_hunk *hunk;

    while (patch_peek(reader, &line) && !patch_starts(&line, "*** ")) {
        if (file->hunk_count > 0 && patch_is(&line, "")) {
            patch_skip(reader); /* between "*** End of File" and what follows */
            continue;
        }
        if (!patch_starts(&line, "@@") && file->hunk_count > 0)
            return patch_fail(reader->fault, "bad-patch",
                              "line %zu: a hunk starts with \"@@\", this is %s",
                              reader->number, patch_shown(line.text, line.length));
        hunk = patch_add_hunk(reader, file);
        if (!hunk)
            return false;
        for (; patch_peek(reader, &line) && patch_starts(&line, "@@");
             patch_skip(reader)) {
            if (!patch_is(&line, "@@") && !patch_starts(&line, "@@ "))
                return patch_fail(reader->fault, "bad-patch",
                                  "line %zu: \"@@\" is followed by a space and a line of "
                                  "the file, this is %s",
                                  reader->number, patch_shown(line.text, line.length));
            read_anchor(&line, hunk);
        }
        if (!read_body(reader, hunk))
            return false;
    }
    if (file->hunk_count == 0 && !file->move_to)
        return patch_fail(reader->fault, "bad-patch", "line %zu: no hunk for %s",
                          file->from, patch_shown(file->path, strlen(file->path)));
    return true;
}

static bool read_section(struct patch_reader *reader)
{
    static const char add[] = "*** Add File:", update[] = "*** Update File:",
                      delete[] = "*** Delete File:", move[] = "*** Move to:";
    struct patch_file *file;
    struct patch_line line;
    const char *prefix;

    (void)patch_peek(reader, &line);
    prefix = patch_starts(&line, add) ? add : patch_starts(&line, update) ? update
           : patch_starts(&line, delete) ? delete : NULL;
    if (!prefix)
        return patch_fail(reader->fault, "bad-patch",
                          "line %zu: \"%s path\", \"%s path\", \"%s path\" or \"*** End "
                          "Patch\" was expected, this is %s", reader->number, add, update,
                          delete, patch_shown(line.text, line.length));
    file = patch_add_file(reader, prefix == add ? PATCH_ADD
                                  : prefix == update ? PATCH_UPDATE : PATCH_DELETE);
    if (!file)
        return false;
    file->path = path_of(&line, prefix);
    if (!file->path)
        return no_path(reader, &line);
    patch_skip(reader);
    if (prefix == add)
        return read_added(reader, file);
    if (prefix == delete)
        return true;
    if (patch_peek(reader, &line) && patch_starts(&line, move)) {
        file->move_to = path_of(&line, move);
        if (!file->move_to)
            return no_path(reader, &line);
        patch_skip(reader);
    }
    return read_hunks(reader, file);
}

bool patch_read_envelope(struct patch_reader *reader)
{
    struct patch_line line;

    for (patch_skip(reader); patch_peek(reader, &line);) {
        if (patch_is(&line, "*** End Patch")) {
            for (patch_skip(reader); patch_peek(reader, &line); patch_skip(reader))
                if (!patch_is(&line, ""))
                    return patch_fail(reader->fault, "bad-patch",
                                      "line %zu: %s stands behind \"*** End Patch\"",
                                      reader->number,
                                      patch_shown(line.text, line.length));
            return true;
        }
        if (patch_is(&line, ""))
            patch_skip(reader);
        else if (!read_section(reader))
            return false;
    }
    return patch_fail(reader->fault, "bad-patch",
                      "the patch ends without \"*** End Patch\": is it cut?");
}
