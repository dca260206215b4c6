/*
 * A file's bytes and its hunks: where each belongs, and what comes of them.  A hunk is
 * never put where another place would do as well: that is an error, and says so.
 */
#include <string.h>

#include "patch.h"

struct work {
    const struct patch_file *file;
    struct patch_text text;
    struct patch_places places, anchors;
    struct patch_stats *stats;
    struct patch_fault *fault;
    size_t cursor; /* behind the hunk before */
};

/* "src/a.c, hunk 2 (line 14 of the patch)" */
static const char *name_of(const struct work *work, const struct patch_hunk *hunk)
{
    struct nacre_text name = { 0 };

    nacre_text_add_shown(&name, work->file->path, strlen(work->file->path));
    nacre_text_addf(&name, ", hunk %zu (line %zu of the patch)",
                    (size_t)(hunk - work->file->hunks) + 1, hunk->from);
    return name.bytes;
}

static struct patch_text old_side(const struct patch_hunk *hunk)
{
    struct patch_text wanted = {
        .lines = nacre_arena((hunk->line_count + 1) * sizeof(struct patch_line)),
    };

    for (size_t i = 0; i < hunk->line_count; i++) {
        if (hunk->lines[i].sign == '+')
            continue;
        if (hunk->lines[i].length > wanted.longest)
            wanted.longest = hunk->lines[i].length;
        wanted.lines[wanted.count++] = hunk->lines[i];
    }
    return wanted;
}

static void add_lines(struct nacre_text *text, const struct work *work, size_t from,
                      size_t count)
{
    for (size_t i = from; i < from + count && i < work->text.count; i++)
        nacre_text_addf(
            text, "\n  %zu: %s", i + 1,
            patch_shown(work->text.lines[i].text, work->text.lines[i].length));
}

/* The hunk is nowhere: what comes nearest? */
static bool no_match(struct work *work, const struct patch_hunk *hunk,
                     struct patch_search *search)
{
    struct patch_text wanted = search->wanted;
    struct nacre_text near = { 0 };

    search->fit = PATCH_FIT_FOLD;
    search->start = 0;
    patch_find(search, &work->places);
    if (work->places.count > 0) {
        nacre_text_addf(&near, "its lines stand at line %zu only, %s",
                        work->places.at[0] + 1,
                        hunk->at_end ? "not at the end of the file"
                        : hunk->anchor_count > 0 ? "not behind the \"@@\" line"
                        : "before the hunk above: put the hunks in the file's order");
    } else if (search->reach > 0) {
        const struct patch_line *line = &wanted.lines[search->reach];

        nacre_text_addf(&near, "%zu of its %zu lines stand at line %zu, then the patch "
                        "has %s where the file has", search->reach, wanted.count,
                        search->reach_at + 1, patch_shown(line->text, line->length));
        if (search->reach_at + search->reach < work->text.count)
            add_lines(&near, work, search->reach_at + search->reach, 3);
        else
            nacre_text_addf(&near, " its end");
    } else {
        for (size_t i = 0; i < wanted.count && work->places.count == 0; i++) {
            search->wanted = (struct patch_text){ .lines = &wanted.lines[i], .count = 1,
                                                  .longest = wanted.longest };
            search->fit = PATCH_FIT_ANCHOR;
            if (!patch_is(&wanted.lines[i], ""))
                patch_find(search, &work->places);
        }
        nacre_text_addf(&near, work->places.count > 0 ? "the nearest lines are"
                                                      : "none of its lines is there; the "
                                                        "file starts with");
        add_lines(&near, work, work->places.count > 0 ? work->places.at[0] : 0, 5);
    }
    return patch_fail(work->fault, "no-match", "%s: does not match: %s\nRead the file "
                      "again and write the hunk with its present lines.",
                      name_of(work, hunk), near.bytes);
}

static bool ambiguous(struct work *work, const struct patch_hunk *hunk)
{
    struct nacre_text lines = { 0 };

    for (size_t i = 0; i < work->places.count && i < 5; i++)
        nacre_text_addf(&lines, "%s%zu", i ? ", " : "", work->places.at[i] + 1);
    return patch_fail(work->fault, "ambiguous",
                      "%s: fits %zu places, at lines %s%s; add lines around it or "
                      "\"@@ \" and a line above it that is there once",
                      name_of(work, hunk), work->places.count, lines.bytes,
                      work->places.count > 5 ? ", ..." : "");
}

/* Of `places`, those that come first behind an anchor; each once. */
static void first_behind(const struct patch_places *anchors, struct patch_places *places)
{
    size_t kept = 0, next = 0;

    for (size_t i = 0; i < anchors->count; i++) {
        while (next < places->count && places->at[next] <= anchors->at[i])
            next++;
        if (next == places->count)
            break;
        if (kept == 0 || places->at[kept - 1] != places->at[next])
            places->at[kept++] = places->at[next];
    }
    places->count = kept;
}

/* The lines that the hunk's anchors lead to, in work->anchors. */
static bool find_anchors(struct work *work, const struct patch_hunk *hunk)
{
    work->anchors.count = 0;
    for (size_t i = 0; i < hunk->anchor_count; i++) {
        const struct patch_line *anchor = &hunk->anchors[i];
        struct patch_search search = {
            .text = &work->text, .fit = PATCH_FIT_ANCHOR, .start = work->cursor,
            .wanted = { .lines = &hunk->anchors[i], .count = 1,
                        .longest = anchor->length },
        };

        patch_find(&search, &work->places);
        if (i > 0)
            first_behind(&work->anchors, &work->places);
        if (work->places.count == 0)
            return patch_fail(work->fault, "no-match",
                              "%s: the file has no line %s%s", name_of(work, hunk),
                              patch_shown(anchor->text, anchor->length),
                              work->cursor > 0 ? " behind the hunk above" : "");
        struct patch_places found = work->places;

        work->places = work->anchors;
        work->anchors = found;
    }
    return true;
}

/* A hunk that only adds: behind its anchor, at the line it says, or at the end. */
static bool place_addition(struct work *work, const struct patch_hunk *hunk,
                           size_t *ret_place)
{
    size_t place = work->text.count;

    if (hunk->anchor_count > 0) {
        if (work->anchors.count > 1) {
            work->places = work->anchors;
            return ambiguous(work, hunk);
        }
        place = work->anchors.at[0] + 1;
    } else if (hunk->at > 0 && !hunk->at_end) {
        place = hunk->at - 1;
    }
    if (place > work->text.count || place < work->cursor)
        return patch_fail(work->fault, "no-match",
                          "%s: adds lines at line %zu, but the file has %zu%s",
                          name_of(work, hunk), place + 1, work->text.count,
                          place < work->cursor ? " and the hunk above is behind it" : "");
    *ret_place = place;
    return true;
}

/* True: `place` is among them, and is all that is left. */
static bool keep_only(struct patch_places *places, size_t place)
{
    for (size_t i = 0; i < places->count; i++)
        if (places->at[i] == place) {
            places->at[0] = place;
            places->count = 1;
            return true;
        }
    return false;
}

static bool place_hunk(struct work *work, const struct patch_hunk *hunk,
                       size_t *ret_place)
{
    struct patch_search search = {
        .text = &work->text, .wanted = old_side(hunk), .start = work->cursor,
    };
    const struct patch_places *places = &work->places;
    size_t count = search.wanted.count;

    if (!find_anchors(work, hunk))
        return false;
    if (count == 0)
        return place_addition(work, hunk, ret_place);
    for (search.fit = PATCH_FIT_EXACT; search.fit <= PATCH_FIT_FOLD; search.fit++) {
        patch_find(&search, &work->places);
        if (hunk->anchor_count > 0)
            first_behind(&work->anchors, &work->places);
        if (hunk->at_end && !keep_only(&work->places, work->text.count - count))
            work->places.count = 0;
        if (places->count > 1 &&
            !(hunk->at > 0 && keep_only(&work->places, hunk->at - 1)))
            return ambiguous(work, hunk);
        if (places->count == 0)
            continue;
        work->stats->moved += hunk->at > 0 && places->at[0] != hunk->at - 1;
        if (search.fit > work->stats->fit)
            work->stats->fit = search.fit;
        *ret_place = places->at[0];
        return true;
    }
    return no_match(work, hunk, &search);
}

/* Lines one after the other; only the last may lack its end. */
struct output {
    struct nacre_text *text;
    bool has_lines, unended;
};

static void put(struct output *output, const struct patch_line *line, bool with_cr)
{
    if (output->has_lines)
        nacre_text_add(output->text, "\n", 1);
    nacre_text_add(output->text, line->text, line->length);
    if (with_cr)
        nacre_text_add(output->text, "\r", 1);
    output->has_lines = true;
    output->unended = line->unended;
}

static bool has_cr(const struct patch_line *line)
{
    return line->length > 0 && line->text[line->length - 1] == '\r';
}

/* Lines that come without CR into a file that has it get it. */
static bool needs_cr(const struct work *work, const struct patch_hunk *hunk, size_t place)
{
    size_t count = work->text.count;

    for (size_t i = 0; i < hunk->line_count; i++)
        if (has_cr(&hunk->lines[i]))
            return false;
    return count > 0 && has_cr(&work->text.lines[place < count ? place : count - 1]);
}

static void put_hunk(struct work *work, const struct patch_hunk *hunk, size_t place,
                     struct output *output)
{
    bool with_cr = needs_cr(work, hunk, place);

    for (; work->cursor < place; work->cursor++)
        put(output, &work->text.lines[work->cursor], false);
    for (size_t i = 0; i < hunk->line_count; i++) {
        const struct patch_line *line = &hunk->lines[i];

        if (line->sign == '+') {
            put(output, line, with_cr);
            work->stats->added++;
            continue;
        }
        /* What stays, stays as it is in the file. */
        if (line->sign == ' ')
            put(output, &work->text.lines[work->cursor], false);
        work->stats->removed += line->sign == '-';
        work->cursor++;
    }
}

bool patch_apply(const struct patch_file *file, const char *before, size_t count,
                 struct nacre_text *ret_after, struct patch_stats *stats,
                 struct patch_fault *fault)
{
    struct work work = { .file = file, .stats = stats, .fault = fault };
    struct output output = { .text = ret_after };
    size_t place = 0;

    if (!patch_split(before, count, &work.text))
        return patch_fail(fault, "too-large", "%s has more than %zu lines",
                          patch_shown(file->path, strlen(file->path)), PATCH_LINES_MAX);
    if ((uint64_t)file->hunk_count * work.text.count > PATCH_WORK_MAX)
        return patch_fail(fault, "too-large",
                          "%s: %zu hunks in %zu lines are too many at once; split it",
                          patch_shown(file->path, strlen(file->path)), file->hunk_count,
                          work.text.count);
    for (size_t i = 0; i < file->hunk_count; i++) {
        if (!place_hunk(&work, &file->hunks[i], &place))
            return false;
        put_hunk(&work, &file->hunks[i], place, &output);
    }
    for (; work.cursor < work.text.count; work.cursor++)
        put(&output, &work.text.lines[work.cursor], false);
    if (output.has_lines && !output.unended)
        nacre_text_add(ret_after, "\n", 1);
    return true;
}
