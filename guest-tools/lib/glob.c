#include "glob.h"

#include <string.h>

#include "unicode.h"

/* A character, or a byte where it is none. */
static size_t take(const char *text, const char *end, uint32_t *ret_point)
{
    size_t length = unicode_decode(text, (size_t)(end - text), ret_point);

    if (length > 0)
        return length;
    *ret_point = (uint8_t)*text;
    return 1;
}

/* ---- [...] ---- */

static bool in_named(const char *name, size_t count, uint32_t point)
{
    static const struct {
        const char *name, *pairs;
    } sets[] = {
        { "alpha", "AZaz" }, { "digit", "09" }, { "alnum", "09AZaz" }, { "upper", "AZ" },
        { "lower", "az" }, { "space", "\t\r  " }, { "blank", "\t\t  " },
        { "punct", "!/:@[`{~" }, { "print", " ~" }, { "graph", "!~" },
        { "cntrl", "\001\037\177\177" }, { "xdigit", "09AFaf" },
    };

    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
        if (strlen(sets[i].name) == count && memcmp(sets[i].name, name, count) == 0)
            for (const char *pair = sets[i].pairs; *pair; pair += 2)
                if (point >= (uint8_t)pair[0] && point <= (uint8_t)pair[1])
                    return true;
    return false;
}

/* A member, with its backslash taken off; NULL: the class does not end. */
static const char *member(const char *at, const char *end, uint32_t *ret_point)
{
    if (at < end && *at == '\\')
        at++;
    return at < end ? at + take(at, end, ret_point) : NULL;
}

/* `at` is behind the [; behind the ] or NULL. */
static const char *class_has(const char *at, const char *end, uint32_t point,
                             bool *ret_has)
{
    bool negated = at < end && (*at == '!' || *at == '^'), has = false;

    at += negated;
    for (bool first = true; at < end && (*at != ']' || first); first = false) {
        uint32_t low = 0, high;

        if (end - at > 3 && at[0] == '[' && at[1] == ':') {
            const char *name = at + 2, *close = name;

            while (close < end && *close != ']')
                close++;
            if (close < end && close > name && close[-1] == ':') {
                has |= in_named(name, (size_t)(close - 1 - name), point);
                at = close + 1;
                continue;
            }
        }
        at = member(at, end, &low);
        if (!at)
            return NULL;
        high = low;
        if (end - at > 1 && at[0] == '-' && at[1] != ']') {
            at = member(at + 1, end, &high);
            if (!at)
                return NULL;
        }
        has |= point >= low && point <= high;
    }
    if (at >= end)
        return NULL;
    *ret_has = has != negated && point != '/';
    return at + 1;
}

/* ---- matching ---- */

struct match {
    const char *begin, *end;           /* of the glob */
    const char *path_end;
    const char *star, *star_path;      /* behind the last "*", and from where it took */
    const char *parts, *parts_path;    /* the same of the last "**" and its slash */
};

/* One or more stars at `at`.  True: all the rest matches. */
static bool take_stars(struct match *match, const char **glob, const char *path)
{
    const char *at = *glob, *behind = at;
    bool whole;

    while (behind < match->end && *behind == '*')
        behind++;
    whole = behind - at >= 2 && (at == match->begin || at[-1] == '/') &&
            (behind == match->end || *behind == '/');
    if (whole && behind == match->end)
        return true;
    *glob = behind + whole;
    if (whole) {
        match->parts = *glob;
        match->parts_path = path;
        match->star = NULL;
    } else {
        match->star = *glob;
        match->star_path = path;
    }
    return false;
}

/* The item at `glob` against the path's next character; NULL: it does not match. */
static const char *take_item(const struct match *match, const char *glob,
                             const char **path)
{
    uint32_t point, wanted;
    size_t length = take(*path, match->path_end, &point);
    bool has;

    if (*glob == '?') {
        has = point != '/';
        glob++;
    } else if (*glob == '[') {
        glob = class_has(glob + 1, match->end, point, &has);
        if (!glob)
            return NULL;
    } else {
        glob += *glob == '\\' && glob + 1 < match->end;
        glob += take(glob, match->end, &wanted);
        has = wanted == point;
    }
    *path += length;
    return has ? glob : NULL;
}

/* Another try: the last star takes one more, or the last "**" a part more. */
static bool try_again(struct match *match, const char **glob, const char **path)
{
    if (match->star && match->star_path < match->path_end && *match->star_path != '/') {
        *glob = match->star;
        *path = ++match->star_path;
        return true;
    }
    match->star = NULL;
    if (!match->parts)
        return false;
    match->parts_path = memchr(match->parts_path, '/',
                               (size_t)(match->path_end - match->parts_path));
    if (!match->parts_path) {
        match->parts = NULL;
        return false;
    }
    *glob = match->parts;
    *path = ++match->parts_path;
    return true;
}

bool glob_matches(const char *glob, size_t glob_count, const char *path,
                  size_t path_count)
{
    struct match match = { .begin = glob, .end = glob + glob_count,
                           .path_end = path + path_count };

    for (;;) {
        const char *next = NULL;

        if (glob < match.end && *glob == '*') {
            if (take_stars(&match, &glob, path))
                return true;
            continue;
        }
        if (glob == match.end && path == match.path_end)
            return true;
        if (glob < match.end && path < match.path_end)
            next = take_item(&match, glob, &path);
        if (next)
            glob = next;
        else if (!try_again(&match, &glob, &path))
            return false;
    }
}

/* ---- braces ---- */

struct expansion {
    void (*each)(void *data, const char *glob, size_t count);
    void *data;
    unsigned count;
};

/* Where the brace that opens at `at` ends; `count` when it does not. */
static size_t brace_end(const char *glob, size_t count, size_t at)
{
    unsigned depth = 0;

    for (; at < count; at++) {
        if (glob[at] == '\\')
            at++;
        else if (glob[at] == '{')
            depth++;
        else if (glob[at] == '}' && --depth == 0)
            return at;
    }
    return count;
}

static size_t brace_start(const char *glob, size_t count)
{
    size_t at = 0;

    while (at < count && glob[at] != '{')
        at += glob[at] == '\\' ? 2 : 1;
    return at < count ? at : count;
}

static bool expand(struct expansion *expansion, const char *glob, size_t count)
{
    size_t open = brace_start(glob, count);
    size_t close = brace_end(glob, count, open), from = open + 1;
    char written[GLOB_BYTES_MAX];
    unsigned depth = 0;

    if (open == count) {
        if (++expansion->count > GLOB_EXPANSIONS_MAX)
            return false;
        expansion->each(expansion->data, glob, count);
        return true;
    }
    if (close == count)
        return false;
    for (size_t at = from; at <= close; at++) {
        size_t length = at - from, rest = count - close - 1;

        if (glob[at] == '\\') {
            at++;
            continue;
        }
        depth += glob[at] == '{';
        if (at == close || (glob[at] == ',' && depth == 0)) {
            memcpy(written, glob, open);
            memcpy(written + open, glob + from, length);
            memcpy(written + open + length, glob + close + 1, rest);
            if (!expand(expansion, written, open + length + rest))
                return false;
            from = at + 1;
        }
        depth -= glob[at] == '}' && at < close;
    }
    return true;
}

bool glob_expand(const char *glob, size_t count,
                 void (*each)(void *data, const char *glob, size_t count), void *data)
{
    struct expansion expansion = { .each = each, .data = data };

    return count <= GLOB_BYTES_MAX && expand(&expansion, glob, count);
}
