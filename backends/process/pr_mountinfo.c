/* Reads what the kernel wrote, or what a hostile init says that it did: any text. */
#include "pr_mountinfo.h"

#include <string.h>

#include "nacre/own.h"

/* A blank, a tab, an end of line and a backslash in a name are \ooo. */
static bool unescape(const char *from, size_t count, char ret_path[NACRE_PATH_MAX])
{
    size_t used = 0;

    for (size_t i = 0; i < count && used < NACRE_PATH_MAX - 1; i++) {
        if (from[i] == '\\') {
            unsigned value = 0;

            if (count - i < 4)
                return false;
            for (size_t k = 1; k < 4; k++) {
                if (from[i + k] < '0' || from[i + k] > '7')
                    return false;
                value = value * 8 + (unsigned)(from[i + k] - '0');
            }
            ret_path[used++] = (char)value;
            i += 3;
        } else {
            ret_path[used++] = from[i];
        }
    }
    ret_path[used] = '\0';
    return count > 0 && ret_path[0] == '/' && used < NACRE_PATH_MAX - 1;
}

/* The `number`-th word of a line that ends at `end`, from 0. */
static const char *word(const char *line, const char *end, int number, size_t *ret_count)
{
    for (; number > 0 && line; number--) {
        line = memchr(line, ' ', (size_t)(end - line));
        line = line ? line + 1 : NULL;
    }
    if (!line)
        return NULL;
    *ret_count = (size_t)(end - line);
    if (memchr(line, ' ', *ret_count))
        *ret_count = (size_t)((const char *)memchr(line, ' ', *ret_count) - line);
    return line;
}

bool pr_mountinfo_next(const char **text, struct pr_mount_line *ret_line,
                       bool *ret_broken)
{
    const char *end = strchr(*text, '\n');
    const char *path, *type;
    size_t count;

    if (**text == '\0')
        return false;
    *ret_broken = true;
    if (!end)
        return false;
    path = word(*text, end, 4, &count);
    if (!path || !unescape(path, count, ret_line->path))
        return false;
    type = memmem(*text, (size_t)(end - *text), " - ", 3);
    type = type ? word(type + 3, end, 0, &count) : NULL;
    if (!type || count == 0 || count >= sizeof(ret_line->type))
        return false;
    memcpy(ret_line->type, type, count);
    ret_line->type[count] = '\0';
    *text = end + 1;
    *ret_broken = false;
    return true;
}

bool pr_mountinfo_is_kernel(const struct pr_mount_line *line)
{
    static const char *const types[] = {
        "proc",    "sysfs",    "devtmpfs",    "devpts",      "debugfs",   "tracefs",
        "cgroup",  "cgroup2",  "bpf",         "configfs",    "fusectl",   "pstore",
        "mqueue",  "efivarfs", "binfmt_misc", "rpc_pipefs",  "nfsd",      "securityfs",
        "smackfs", "selinuxfs", "resctrl",    "binder",      "xenfs",     "nsfs",
    };

    for (size_t i = 0; i < NACRE_COUNT(types); i++)
        if (strcmp(line->type, types[i]) == 0)
            return true;
    return false;
}
