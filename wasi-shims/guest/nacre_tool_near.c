/* Which file was meant?  The names are whatever lies in the sandbox, and only shown. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "nacre_tool.h"

#define NAME_BYTES_MAX 128
#define NAMES_MAX 10000

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static char folded(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
}

/* Letters that are to be added, dropped or changed; upper and lower case count as one. */
static size_t distance(const char *a, const char *b)
{
    size_t row[NAME_BYTES_MAX + 1];
    size_t length = strlen(b);

    for (size_t i = 0; i <= length; i++)
        row[i] = i;
    for (size_t i = 0; a[i]; i++) {
        size_t corner = row[0];

        row[0] = i + 1;
        for (size_t j = 0; j < length; j++) {
            size_t changed = corner + (folded(a[i]) != folded(b[j]));

            corner = row[j + 1];
            row[j + 1] = least(changed, least(row[j], row[j + 1]) + 1);
        }
    }
    return row[length];
}

static const char *nearest(const char *name, const struct nacre_entry *entries,
                           size_t count)
{
    size_t length = strlen(name), best = length < 3 ? 2 : length / 3 + 2;
    const char *found = NULL;

    for (size_t i = 0; i < count && i < NAMES_MAX; i++) {
        size_t other = strlen(entries[i].name), far;

        if (other > NAME_BYTES_MAX)
            continue;
        far = distance(name, entries[i].name);
        /* With no letter in common, a short name is like any other. */
        if (far < best && far < (length > other ? length : other)) {
            best = far;
            found = entries[i].name;
        }
    }
    return found;
}

/* `parent`, `name`, and `rest` where that is there too. */
static const char *joined(const char *parent, const char *name, const char *rest)
{
    struct nacre_text whole = { 0 };
    struct stat info;
    size_t count;

    nacre_text_addf(&whole, "%s/%s", parent, name);
    count = whole.count;
    nacre_text_addf(&whole, "%s", rest);
    if (lstat(whole.bytes, &info) != 0)
        whole.bytes[count] = '\0';
    return whole.bytes;
}

const char *nacre_tool_near(const char *path)
{
    size_t count = strlen(path) + 1, entry_count;
    char *parent = nacre_arena(count);
    struct nacre_entry *entries;
    const char *found;
    char name[NAME_BYTES_MAX + 1];
    char *slash;

    memcpy(parent, path, count);
    while ((slash = strrchr(parent, '/')) && slash > parent) {
        const char *start = path + (slash - parent) + 1;
        size_t length = strcspn(start, "/");

        *slash = '\0';
        if (!nacre_tool_list(parent, &entries, &entry_count)) {
            if (errno != ENOENT)
                return NULL;
            continue;
        }
        if (length > NAME_BYTES_MAX)
            return NULL;
        memcpy(name, start, length);
        name[length] = '\0';
        found = nearest(name, entries, entry_count);
        return found ? joined(parent, found, start + length) : NULL;
    }
    return NULL;
}
