/*
 * Trusts the kernel's own tables, but not the names in them: a cgroup or a mount
 * point may be called anything.  What can't be understood counts as not there.
 */
#include "cgroup_place.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINE_BYTES (2 * NACRE_PATH_MAX)
#define TABLE_BYTES_MAX ((size_t)1 << 20)
#define CONTROLLERS_MAX 8
#define FIRST_NAMESPACE 0xeffffffbu /* the number that the kernel gives to the first */

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

/* Lines are "N:CONTROLLERS:PATH"; v2's, for which `controller` is NULL, is "0::PATH". */
static bool find_own(const char *cgroups, const char *controller,
                     char ret_path[NACRE_PATH_MAX])
{
    char line[LINE_BYTES];

    while (next_line(&cgroups, line)) {
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;

        if (!path)
            continue;
        *path++ = '\0';
        if (controller ? has_word(controllers + 1, controller, ",")
                       : controllers[1] == '\0')
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
static bool parse_mount(char *line, const char *controller, struct mount *ret_mount)
{
    char *rest = strstr(line, " - ");
    char *type, *super = NULL, *state = NULL;

    if (!rest)
        return false;
    *rest = '\0';
    type = strtok_r(rest + 3, " ", &state);
    if (type && strtok_r(NULL, " ", &state))
        super = strtok_r(NULL, " ", &state);
    if (!super || strcmp(type, controller ? "cgroup" : "cgroup2") != 0 ||
        (controller && !has_word(super, controller, ",")))
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
static bool find_directory(const struct nacre_cgroup_tables *tables,
                           const char *controller, char ret_path[NACRE_PATH_MAX],
                           size_t *ret_top)
{
    const char *cgroups = tables->cgroups ? tables->cgroups : "";
    const char *mounts = tables->mounts ? tables->mounts : "";
    char own[NACRE_PATH_MAX];
    char line[LINE_BYTES];
    struct mount mount;
    const char *rest;

    if (!find_own(cgroups, controller, own) || !is_plain(own))
        return false;
    while (next_line(&mounts, line)) {
        int count;

        if (!parse_mount(line, controller, &mount) || !is_plain(mount.root) ||
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

static bool is_writable(const char *path)
{
    return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

static size_t count_handed(const char *path, const char *const controllers[],
                           size_t count, bool ret_handed[])
{
    char text[256];
    size_t handed = 0;

    read_word(path, "cgroup.subtree_control", text, sizeof(text));
    for (size_t i = 0; i < count; i++) {
        ret_handed[i] = has_word(text, controllers[i], " ");
        handed += ret_handed[i];
    }
    return handed;
}

bool nacre_cgroup_own_v2(const struct nacre_cgroup_tables *tables,
                         char ret_path[NACRE_PATH_MAX])
{
    size_t top;

    return find_directory(tables, NULL, ret_path, &top);
}

/*
 * v2 gives limits only below a cgroup that hands the controller down, and such a cgroup
 * holds no processes unless it is the root.  So ours is rarely the one; an ancestor of it
 * may be, as long as a process that moves there leaves no limit behind.  What hands more
 * down but belongs to somebody else is of no use.
 */
void nacre_cgroup_place_v2(const struct nacre_cgroup_tables *tables,
                           const char *const controllers[], size_t count,
                           bool ret_handed[], struct nacre_cgroup_place *ret_place)
{
    char path[NACRE_PATH_MAX];
    size_t top = 0, length, most;
    bool is_open;

    assert(count <= CONTROLLERS_MAX);

    *ret_place = (struct nacre_cgroup_place){ .version = NACRE_CGROUP_NONE };
    for (size_t i = 0; i < count; i++)
        ret_handed[i] = false;
    if (!find_directory(tables, NULL, path, &top))
        return;
    most = count_handed(path, controllers, count, ret_handed);
    is_open = is_writable(path);
    length = strlen(path);
    ret_place->version = NACRE_CGROUP_V2;
    (void)snprintf(ret_place->path, sizeof(ret_place->path), "%s", path);
    while (length > top && !sets_a_limit(path)) {
        bool handed[CONTROLLERS_MAX], opens;
        size_t here;

        *strrchr(path, '/') = '\0';
        length = strlen(path);
        here = count_handed(path, controllers, count, handed);
        opens = is_writable(path);
        if (opens == is_open ? here <= most : is_open)
            continue;
        most = here;
        is_open = opens;
        memcpy(ret_handed, handed, count * sizeof(handed[0]));
        (void)snprintf(ret_place->path, sizeof(ret_place->path), "%s", path);
    }
}

void nacre_cgroup_place_v1(const struct nacre_cgroup_tables *tables,
                           const char *controller, struct nacre_cgroup_place *ret_place)
{
    char path[NACRE_PATH_MAX];
    size_t top = 0;

    *ret_place = (struct nacre_cgroup_place){ .version = NACRE_CGROUP_NONE };
    if (!find_directory(tables, controller, path, &top))
        return;
    ret_place->version = NACRE_CGROUP_V1;
    (void)snprintf(ret_place->path, sizeof(ret_place->path), "%s", path);
}

void nacre_cgroup_place_find(const struct nacre_cgroup_tables *tables,
                             const char *controller,
                             struct nacre_cgroup_place *ret_place)
{
    bool handed;

    nacre_cgroup_place_v1(tables, controller, ret_place);
    if (ret_place->version != NACRE_CGROUP_NONE)
        return;
    nacre_cgroup_place_v2(tables, &controller, 1, &handed, ret_place);
    if (!handed)
        *ret_place = (struct nacre_cgroup_place){ .version = NACRE_CGROUP_NONE };
}

static enum nacre_status read_table(const char *path, struct nacre_buf *buf,
                                    struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct nacre_error failed;
    enum nacre_status status = fd < 0 ? NACRE_OK : nacre_buf_read(buf, fd, &failed);

    if (status == NACRE_OK)
        return NACRE_OK;
    nacre_buf_clear(buf); /* half a table is none */
    if (status != NACRE_ERR_MEMORY)
        return NACRE_OK;
    *err = failed;
    return nacre_fail_context(err, path);
}

/* Is a whole hierarchy of this kind mounted there?  Its top has the number 1; a part of
 * one, as containers and cgroup namespaces have it, another. */
static bool is_top(const char *path, long magic)
{
    struct statfs filesystem;
    struct stat info;

    return statfs(path, &filesystem) == 0 && (long)filesystem.f_type == magic &&
           stat(path, &info) == 0 && info.st_ino == 1;
}

/* In another cgroup namespace ours reads as if it were higher up than it is: what is
 * mounted from outside of that namespace mountinfo alone can tell. */
static bool is_first_namespace(void)
{
    struct stat info;

    return stat("/proc/self/ns/cgroup", &info) == 0 && info.st_ino == FIRST_NAMESPACE;
}

/* Where each of them is by custom, as mountinfo would tell it; false: one is not. */
static bool add_usual(const char *cgroups, const char *const *controllers,
                      struct nacre_buf *mounts)
{
    char own[NACRE_PATH_MAX], path[64], line[160];
    struct nacre_error ignored;
    bool is_good = is_first_namespace(), has_v2 = false;

    for (size_t i = 0; controllers[i] && is_good; i++) {
        if (find_own(cgroups, controllers[i], own)) {
            (void)snprintf(path, sizeof(path), "/sys/fs/cgroup/%s", controllers[i]);
            (void)snprintf(line, sizeof(line), "0 0 0:0 / %s rw - cgroup cgroup rw,%s\n",
                           path, controllers[i]);
            is_good = is_top(path, CGROUP_SUPER_MAGIC);
        } else if (!has_v2) {
            has_v2 = true;
            (void)snprintf(line, sizeof(line), "0 0 0:0 / /sys/fs/cgroup rw - cgroup2 "
                                               "cgroup2 rw\n");
            is_good = is_top("/sys/fs/cgroup", CGROUP2_SUPER_MAGIC);
        } else {
            continue;
        }
        is_good = is_good && nacre_buf_add(mounts, line, strlen(line), &ignored) ==
                                 NACRE_OK;
    }
    return is_good;
}

enum nacre_status nacre_cgroup_tables_read(const char *const *controllers,
                                           struct nacre_cgroup_tables *ret_tables,
                                           struct nacre_error *err)
{
    NACRE_AUTO(nacre_cgroup_tables_clear) struct nacre_cgroup_tables tables = {
        .own = { NACRE_BUF(TABLE_BYTES_MAX), NACRE_BUF(TABLE_BYTES_MAX) }
    };
    enum nacre_status status = read_table("/proc/self/cgroup", &tables.own[0], err);

    if (status == NACRE_OK &&
        !(controllers && tables.own[0].bytes &&
          add_usual(tables.own[0].bytes, controllers, &tables.own[1]))) {
        nacre_buf_clear(&tables.own[1]);
        status = read_table("/proc/self/mountinfo", &tables.own[1], err);
    }
    if (status != NACRE_OK)
        return status;
    tables.cgroups = tables.own[0].bytes;
    tables.mounts = tables.own[1].bytes;
    *ret_tables = tables;
    tables = (struct nacre_cgroup_tables){ NULL };
    return NACRE_OK;
}

void nacre_cgroup_tables_clear(struct nacre_cgroup_tables *tables)
{
    nacre_buf_clear(&tables->own[0]);
    nacre_buf_clear(&tables->own[1]);
    tables->cgroups = tables->mounts = NULL;
}
