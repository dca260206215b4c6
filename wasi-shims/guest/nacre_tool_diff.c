/*
 * Myers's diff by lines in linear space: the middle of a shortest script is found from
 * both ends, then each half likewise.  A part whose script would cost more than a bound
 * is told as removed and added whole, so that no two texts take long.
 */
#include <string.h>

#include "nacre_tool.h"

#define COST_MAX 1024
#define COST_MIN 16
#define WORK_MAX ((long)64 << 20)
#define AROUND 3
#define LINE_SHOWN_MAX 2000

struct line {
    const char *bytes;
    size_t count; /* with its newline, if it has one */
    uint32_t hash;
    bool changed;
};

struct side {
    struct line *lines;
    long count;
    bool crlf; /* every line end is one */
};

/* Lines left to right of what was, top to bottom of what is. */
struct box {
    long left, top, right, bottom;
};

struct search {
    struct side before, after;
    long cost_max;
    long *forward, *backward; /* how far each diagonal was followed; [0] is the middle */
};

static struct side split(const char *bytes, size_t count)
{
    struct side side = { .crlf = true };
    long room = 0;

    for (size_t at = 0; at < count;) {
        const char *newline = memchr(bytes + at, '\n', count - at);
        size_t length = newline ? (size_t)(newline - (bytes + at)) + 1 : count - at;
        uint32_t hash = 2166136261u;

        for (size_t i = 0; i < length; i++)
            hash = (hash ^ (unsigned char)bytes[at + i]) * 16777619u;
        if (side.count == room) {
            long more = room ? room * 2 : 64;

            side.lines = nacre_arena_grow(side.lines, (size_t)room * sizeof *side.lines,
                                          (size_t)more * sizeof *side.lines);
            room = more;
        }
        side.lines[side.count++] =
            (struct line){ .bytes = bytes + at, .count = length, .hash = hash };
        side.crlf &= !newline || (length > 1 && newline[-1] == '\r');
        at += length;
    }
    return side;
}

static bool same(const struct search *search, long x, long y)
{
    const struct line *a = &search->before.lines[x], *b = &search->after.lines[y];

    return a->hash == b->hash && a->count == b->count &&
           memcmp(a->bytes, b->bytes, a->count) == 0;
}

/* One step from the start with `cost` changes; true: *ret_x, *ret_y is on a shortest
 * way.  Ways that leave the box never meet one that comes from its end. */
static bool step_forward(const struct search *search, const struct box *box, long cost,
                         long *ret_x, long *ret_y)
{
    long delta = (box->right - box->left) - (box->bottom - box->top);
    long *reach = search->forward;

    for (long k = -cost; k <= cost; k += 2) {
        long x = k == -cost || (k != cost && reach[k - 1] < reach[k + 1])
                     ? reach[k + 1]
                     : reach[k - 1] + 1;
        long y = box->top + (x - box->left) - k, other = k - delta;

        while (x < box->right && y < box->bottom && same(search, x, y)) {
            x++;
            y++;
        }
        reach[k] = x;
        if (delta % 2 != 0 && other > -cost && other < cost &&
            y >= search->backward[other]) {
            *ret_x = x;
            *ret_y = y;
            return true;
        }
    }
    return false;
}

static bool step_backward(const struct search *search, const struct box *box, long cost,
                          long *ret_x, long *ret_y)
{
    long delta = (box->right - box->left) - (box->bottom - box->top);
    long *reach = search->backward;

    for (long c = -cost; c <= cost; c += 2) {
        long y = c == -cost || (c != cost && reach[c - 1] > reach[c + 1])
                     ? reach[c + 1]
                     : reach[c - 1] - 1;
        long k = c + delta, x = box->left + (y - box->top) + k;

        while (x > box->left && y > box->top && same(search, x - 1, y - 1)) {
            x--;
            y--;
        }
        reach[c] = y;
        if (delta % 2 == 0 && k >= -cost && k <= cost && x <= search->forward[k]) {
            *ret_x = x;
            *ret_y = y;
            return true;
        }
    }
    return false;
}

static bool middle(const struct search *search, const struct box *box, long *ret_x,
                   long *ret_y)
{
    search->forward[1] = box->left;
    search->backward[1] = box->bottom;
    for (long cost = 0; cost <= search->cost_max; cost++)
        if (step_forward(search, box, cost, ret_x, ret_y) ||
            step_backward(search, box, cost, ret_x, ret_y))
            return true;
    return false;
}

static void compare(const struct search *search, struct box box)
{
    long x, y;

    while (box.left < box.right && box.top < box.bottom &&
           same(search, box.left, box.top)) {
        box.left++;
        box.top++;
    }
    while (box.left < box.right && box.top < box.bottom &&
           same(search, box.right - 1, box.bottom - 1)) {
        box.right--;
        box.bottom--;
    }
    /* With both ends cut off at least two changes are left, so the middle is inside. */
    if (box.left < box.right && box.top < box.bottom && middle(search, &box, &x, &y)) {
        compare(search, (struct box){ box.left, box.top, x, y });
        compare(search, (struct box){ x, y, box.right, box.bottom });
        return;
    }
    for (x = box.left; x < box.right; x++)
        search->before.lines[x].changed = true;
    for (y = box.top; y < box.bottom; y++)
        search->after.lines[y].changed = true;
}

struct output {
    struct nacre_text *text;
    size_t lines, lines_max, left_out;
    struct nacre_changes changes;
    bool crlf;
};

static bool may_add(struct output *out)
{
    if (out->lines < out->lines_max) {
        out->lines++;
        return true;
    }
    out->left_out++;
    return false;
}

static void add_line(struct output *out, char mark, const struct line *line)
{
    bool ends = line->count > 0 && line->bytes[line->count - 1] == '\n';
    size_t count = line->count - ends - (ends && out->crlf);
    size_t shown = count > LINE_SHOWN_MAX ? LINE_SHOWN_MAX : count;

    out->changes.added += mark == '+';
    out->changes.removed += mark == '-';
    if (!may_add(out))
        return;
    nacre_text_add(out->text, &mark, 1);
    nacre_text_add_shown(out->text, line->bytes, shown);
    if (shown < count)
        nacre_text_addf(out->text, " [... %zu more bytes in this line]", count - shown);
    nacre_text_add(out->text, "\n", 1);
    if (!ends && may_add(out))
        nacre_text_addf(out->text, "\\ No newline at end of file\n");
}

/* Behind the last change of the hunk that begins at a change in *x, *y: changes that are
 * no more than twice AROUND lines apart share one. */
static void hunk_end(const struct search *search, long *x, long *y)
{
    const struct side *before = &search->before, *after = &search->after;
    long to_x = *x, to_y = *y, run = 0;

    while (run <= 2 * AROUND) {
        if (to_x < before->count && before->lines[to_x].changed) {
            to_x++;
        } else if (to_y < after->count && after->lines[to_y].changed) {
            to_y++;
        } else if (to_x < before->count && to_y < after->count) {
            to_x++;
            to_y++;
            run++;
            continue;
        } else {
            return;
        }
        *x = to_x;
        *y = to_y;
        run = 0;
    }
}

static void add_hunk(const struct search *search, struct output *out,
                     const struct box *box)
{
    long x = box->left, y = box->top;
    long was = box->right - box->left, is = box->bottom - box->top;

    /* A side without lines is told by the line before. */
    if (may_add(out))
        nacre_text_addf(out->text, "@@ -%ld,%ld +%ld,%ld @@\n", x + (was > 0), was,
                        y + (is > 0), is);
    while (x < box->right || y < box->bottom) {
        if (x < box->right && search->before.lines[x].changed) {
            add_line(out, '-', &search->before.lines[x++]);
        } else if (y < box->bottom && search->after.lines[y].changed) {
            add_line(out, '+', &search->after.lines[y++]);
        } else {
            add_line(out, ' ', &search->before.lines[x++]);
            y++;
        }
    }
}

static void add_hunks(const struct search *search, struct output *out)
{
    const struct side *before = &search->before, *after = &search->after;
    long x = 0, y = 0;

    while (x < before->count || y < after->count) {
        struct box hunk;
        long around;

        if (!(x < before->count && before->lines[x].changed) &&
            !(y < after->count && after->lines[y].changed)) {
            x++;
            y++;
            continue;
        }
        around = x < AROUND ? x : AROUND;
        around = y < around ? y : around;
        hunk.left = x - around;
        hunk.top = y - around;
        hunk_end(search, &x, &y);
        around = before->count - x < AROUND ? before->count - x : AROUND;
        around = after->count - y < around ? after->count - y : around;
        x += around;
        y += around;
        hunk.right = x;
        hunk.bottom = y;
        add_hunk(search, out, &hunk);
    }
}

struct nacre_changes nacre_tool_diff(struct nacre_text *out, const char *path,
                                     const char *before, size_t before_count,
                                     const char *after, size_t after_count,
                                     size_t lines_max)
{
    struct search search = { .before = split(before, before_count),
                             .after = split(after, after_count) };
    struct output output = { .text = out, .lines_max = lines_max };
    long total = search.before.count + search.after.count, cost = WORK_MAX / (total + 1);
    size_t room;

    /* Where all ends are alike they say nothing. */
    output.crlf = search.before.crlf && search.after.crlf;
    search.cost_max = cost > COST_MAX ? COST_MAX : cost < COST_MIN ? COST_MIN : cost;
    room = (size_t)(2 * search.cost_max + 3);
    search.forward = (long *)nacre_arena(room * sizeof(long)) + search.cost_max + 1;
    search.backward = (long *)nacre_arena(room * sizeof(long)) + search.cost_max + 1;
    compare(&search, (struct box){ 0, 0, search.before.count, search.after.count });
    if (strncmp(path, "/workspace/", strlen("/workspace/")) == 0)
        path += strlen("/workspace/");
    path += *path == '/';
    nacre_text_addf(out, "--- a/");
    nacre_text_add_shown(out, path, strlen(path));
    nacre_text_addf(out, "\n+++ b/");
    nacre_text_add_shown(out, path, strlen(path));
    nacre_text_addf(out, "\n");
    add_hunks(&search, &output);
    if (output.left_out > 0)
        nacre_text_addf(out, "... %zu more lines of the diff\n", output.left_out);
    return output.changes;
}
