/*
 * Trusts the kernel's own tables, but not the names in them: a cgroup or a mount
 * point may be called anything.  What can't be understood counts as not there.
 */
#include "cgroup_place.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define LINE_BYTES (2 * NACRE_PATH_MAX)

/* Copies the next line that fits; false at the end. */
static bool next_line(const char **text, char ret_line[LINE_BYTES])
{
    while (**text) {
        size_t count = strcspn(*text, "\n");
        const char *line = *text;

        *text += count + (line[count] == '\n');
        if (count < LINE_BYTES) {
            memcpy(ret_line, line, count);
            ret_line[count] = '\0';
            return true;
        }
    }
    return false;
}

static bool has_word(const char *list, const char *word, const char *separators)
{
    size_t length = strlen(word);

    while (*list) {
        size_t next = strcspn(list, separators);

        if (next == length && memcmp(list, word, length) == 0)
            return true;
        list += next;
        list += strspn(list, separators);
    }
    return false;
}

/* Lines are "N:CONTROLLERS:PATH"; v2's is "0::PATH". */
static bool find_own(const char *cgroups, bool v2, char ret_path[NACRE_PATH_MAX])
{
    char line[LINE_BYTES];

    while (next_line(&cgroups, line)) {
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;

        if (!path)
            continue;
        *path++ = '\0';
        if (v2 ? controllers[1] == '\0' : has_word(controllers + 1, "cpu", ","))
            return snprintf(ret_path, NACRE_PATH_MAX, "%s", path) < NACRE_PATH_MAX;
    }
    return false;
}

/* mountinfo writes blank, tab, newline and backslash as \ooo. */
static void unescape(char *text)
{
    char *to = text;

    for (const char *from = text; *from; to++) {
        if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
            from[2] <= '7' && from[3] >= '0' && from[3] <= '7') {
            *to = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 | (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

struct mount {
    char *root, *point; /* into the line */
};

/* "ID PARENT DEVICE ROOT POINT OPTIONS [FIELD...] - TYPE SOURCE SUPER_OPTIONS" */
static bool parse_mount(char *line, bool v2, struct mount *ret_mount)
{
    char *rest = strstr(line, " - ");
    char *type, *super = NULL, *state = NULL;

    if (!rest)
        return false;
    *rest = '\0';
    type = strtok_r(rest + 3, " ", &state);
    if (type && strtok_r(NULL, " ", &state))
        super = strtok_r(NULL, " ", &state);
    if (!super || strcmp(type, v2 ? "cgroup2" : "cgroup") != 0 ||
        (!v2 && !has_word(super, "cpu", ",")))
        return false;

    strtok_r(line, " ", &state);
    strtok_r(NULL, " ", &state);
    strtok_r(NULL, " ", &state);
    ret_mount->root = strtok_r(NULL, " ", &state);
    ret_mount->point = strtok_r(NULL, " ", &state);
    if (!ret_mount->root || !ret_mount->point)
        return false;
    unescape(ret_mount->root);
    unescape(ret_mount->point);
    return true;
}

static bool is_plain(const char *path)
{
    char normal[NACRE_PATH_MAX];

    return path[0] == '/' && nacre_path_normalise(path, normal, sizeof(normal)) &&
           strcmp(path, normal) == 0;
}

/* Our own cgroup as a directory, and how much of that text is the mount point.  A root
 * or path with ".." lies outside of our cgroup namespace and can't be reached. */
static bool find_directory(const char *cgroups, const char *mounts, bool v2,
                           char ret_path[NACRE_PATH_MAX], size_t *ret_top)
{
    char own[NACRE_PATH_MAX];
    char line[LINE_BYTES];
    struct mount mount;
    const char *rest;

    if (!find_own(cgroups, v2, own) || !is_plain(own))
        return false;
    while (next_line(&mounts, line)) {
        int count;

        if (!parse_mount(line, v2, &mount) || !is_plain(mount.root) ||
            !is_plain(mount.point) || !nacre_path_is_below(own, mount.root, &rest))
            continue;
        count = snprintf(ret_path, NACRE_PATH_MAX, "%s%s%s", mount.point,
                         *rest ? "/" : "", rest);
        *ret_top = strlen(mount.point);
        return count < NACRE_PATH_MAX;
    }
    return false;
}

/* The first line of DIRECTORY/NAME; "" when there is none. */
static void read_word(const char *directory, const char *name, char *ret_text,
                      size_t size)
{
    char path[NACRE_PATH_MAX + 64];
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    ssize_t count;

    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    count = fd < 0 ? 0 : read(fd, ret_text, size - 1);
    ret_text[count > 0 ? count : 0] = '\0';
    ret_text[strcspn(ret_text, "\n")] = '\0';
}

/* Would a process that leaves this cgroup for its parent be rid of a limit? */
static bool sets_a_limit(const char *directory)
{
    static const struct {
        const char *name, *none;
    } limits[] = {
        { "cpu.max", "max 100000" }, { "cpu.weight", "100" },      { "cpu.idle", "0" },
        { "cpuset.cpus", "" },       { "cpuset.mems", "" },        { "io.max", "" },
        { "memory.high", "max" },    { "memory.max", "max" },      { "pids.max", "max" },
        { "memory.swap.max", "max" },
    };
    char text[128];

    for (size_t i = 0; i < NACRE_COUNT(limits); i++) {
        read_word(directory, limits[i].name, text, sizeof(text));
        if (text[0] && strcmp(text, limits[i].none) != 0)
            return true;
    }
    return false;
}

/*
 * v2 gives weights only below a cgroup that hands "cpu" down, and such a cgroup holds
 * no processes unless it is the root.  So ours is rarely the one; an ancestor of it
 * may be, as long as a worker that moves there leaves no limit behind.
 */
static bool climb(char *path, size_t top)
{
    char text[256];

    for (;;) {
        read_word(path, "cgroup.subtree_control", text, sizeof(text));
        if (has_word(text, "cpu", " "))
            return true;
        if (strlen(path) <= top || sets_a_limit(path))
            return false;
        *strrchr(path, '/') = '\0';
    }
}

void nacre_cgroup_place_find(const char *cgroups, const char *mounts,
                             struct nacre_cgroup_place *ret_place)
{
    char path[NACRE_PATH_MAX];
    enum nacre_cpu_share_kind kind = NACRE_CPU_SHARE_NICE;
    size_t top = 0;

    /* A controller is in one hierarchy only: where v1 has it, v2 has not. */
    if (find_directory(cgroups, mounts, false, path, &top))
        kind = NACRE_CPU_SHARE_CGROUP1;
    else if (find_directory(cgroups, mounts, true, path, &top) && climb(path, top))
        kind = NACRE_CPU_SHARE_CGROUP2;

    ret_place->kind = kind;
    (void)snprintf(ret_place->path, sizeof(ret_place->path), "%s",
                   kind == NACRE_CPU_SHARE_NICE ? "" : path);
}
