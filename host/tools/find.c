/*
 * The catalogue.  The directories are the operator's; what lies in them may be anybody's,
 * so a folder answers to no name but its manifest's own, and one that can't be read is
 * told and not passed over for a later directory's.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "catalogue.h"
#include "nacre/clock.h"
#include "nacre/session.h"
#include "nacre/text.h"
#include "native.h"

#define TOOLS_MAX 1024

/* The times of files move in the kernel's ticks, of some milliseconds. */
#define SETTLED_NS (50 * NACRE_NS_PER_MS)

static bool is_settled(const struct timespec *changed)
{
    uint64_t then = (uint64_t)changed->tv_sec * NACRE_NS_PER_S + (uint64_t)changed->tv_nsec;
    struct timespec time;
    uint64_t now;

    (void)clock_gettime(CLOCK_REALTIME_COARSE, &time);
    now = (uint64_t)time.tv_sec * NACRE_NS_PER_S + (uint64_t)time.tv_nsec;
    return now >= then && now - then >= SETTLED_NS;
}

void tools_identify(const struct stat *info, struct tools_identity *ret_identity)
{
    *ret_identity = (struct tools_identity){
        .device = info->st_dev, .inode = info->st_ino, .bytes = info->st_size,
        .changed = info->st_ctim, .written = info->st_mtim,
        .is_settled = is_settled(&info->st_ctim),
    };
}

static bool is_same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool tools_is_same(const struct tools_identity *kept, const struct tools_identity *now)
{
    return kept->is_settled && kept->device == now->device &&
           kept->inode == now->inode && kept->bytes == now->bytes &&
           is_same_time(kept->changed, now->changed) &&
           is_same_time(kept->written, now->written);
}

/* ---- all names there are ---- */

struct name {
    char *text;
    const char *directory; /* NULL: built in */
};

struct names {
    struct name items[TOOLS_MAX];
    size_t count;
};

static void names_free(struct names **names)
{
    for (size_t i = 0; *names && i < (*names)->count; i++)
        free((*names)->items[i].text);
    free(*names);
}

static bool has_name(const struct names *names, const char *text)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i].text, text) == 0)
            return true;
    return false;
}

static enum nacre_status add_name(struct names *names, const char *text,
                                  const char *directory, struct nacre_error *err)
{
    if (has_name(names, text))
        return NACRE_OK;
    if (names->count == TOOLS_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "there are more than %d tools",
                          TOOLS_MAX);
    names->items[names->count] = (struct name){ strdup(text), directory };
    if (!names->items[names->count].text)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the tools' names");
    names->count++;
    return NACRE_OK;
}

static bool holds_manifest(int directory, const char *name)
{
    char path[NAME_MAX + sizeof("/" TOOLS_MANIFEST)];
    struct stat info;

    (void)snprintf(path, sizeof(path), "%s/" TOOLS_MANIFEST, name);
    return fstatat(directory, path, &info, 0) == 0;
}

static enum nacre_status add_directory(struct names *names, const char *path,
                                       struct nacre_error *err)
{
    DIR *directory = opendir(path);
    enum nacre_status status = NACRE_OK;
    char shown[NACRE_SHOWN];
    struct dirent *entry;

    if (!directory && (errno == ENOENT || errno == ENOTDIR))
        return NACRE_OK;
    if (!directory)
        return nacre_fail(err, NACRE_ERR_IO, "the tool directory %s",
                          nacre_text_shown(shown, path));
    while (status == NACRE_OK && (entry = readdir(directory)))
        if (entry->d_name[0] != '.' && strlen(entry->d_name) < NACRE_TOOL_NAME &&
            holds_manifest(dirfd(directory), entry->d_name))
            status = add_name(names, entry->d_name, path, err);
    (void)closedir(directory);
    return status;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

static enum nacre_status read_names(const char *const tool_dirs[],
                                    struct names **ret_names, struct nacre_error *err)
{
    NACRE_AUTO(names_free) struct names *names = calloc(1, sizeof(*names));
    enum nacre_status status = NACRE_OK;
    const struct native_tool *tool;

    if (!names)
        return nacre_fail(err, NACRE_ERR_MEMORY, "no memory for the tools' names");
    for (size_t i = 0; (tool = native_tool_at(i)) && status == NACRE_OK; i++)
        status = add_name(names, tool->name, NULL, err);
    for (size_t i = 0; tool_dirs && tool_dirs[i] && status == NACRE_OK; i++)
        status = add_directory(names, tool_dirs[i], err);
    if (status != NACRE_OK)
        return status;
    qsort(names->items, names->count, sizeof(names->items[0]), by_text);
    *ret_names = names;
    names = NULL;
    return NACRE_OK;
}

/* ---- one ---- */

static enum nacre_status fail_not_found(const char *const tool_dirs[], const char *name,
                                        struct nacre_error *err)
{
    NACRE_AUTO(names_free) struct names *names = NULL;
    const char *words[TOOLS_MAX];
    char shown[NACRE_SHOWN], list[280] = "";
    const char *nearest = NULL;
    size_t used = 0, count = 0;
    struct nacre_error ignored;

    if (read_names(tool_dirs, &names, &ignored) == NACRE_OK) {
        for (; count < names->count; count++)
            words[count] = names->items[count].text;
        nearest = nacre_text_nearest(name, words, count);
    }
    (void)nacre_text_shown(shown, name);
    if (nearest)
        return nacre_fail(err, NACRE_ERR_NOT_FOUND,
                          "there is no tool '%s'; did you mean '%s'?", shown, nearest);
    for (size_t i = 0; i < count && used < sizeof(list); i++)
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
                                 words[i]);
    return nacre_fail(err, NACRE_ERR_NOT_FOUND, "there is no tool '%s'; there are: %s",
                      shown, count ? list : "none");
}

enum nacre_status tools_locate(const char *const tool_dirs[], const char *name,
                               char ret_folder[NACRE_PATH_MAX],
                               struct tools_identity *ret_identity,
                               struct nacre_error *err)
{
    char path[NACRE_PATH_MAX];
    struct stat info;

    /* A name with a '/' or of dots would lead out of the directories. */
    if (native_tool_is_reserved(name) || name[0] == '\0' || name[0] == '.' ||
        strchr(name, '/'))
        return fail_not_found(tool_dirs, name, err);
    for (size_t i = 0; tool_dirs && tool_dirs[i]; i++) {
        int length = snprintf(path, sizeof(path), "%s/%s/" TOOLS_MANIFEST, tool_dirs[i],
                              name);

        if (length < 0 || (size_t)length >= sizeof(path))
            return nacre_fail(err, NACRE_ERR_USAGE,
                              "the name of a tool directory is too long");
        if (stat(path, &info) != 0) {
            if (errno == ENOENT || errno == ENOTDIR)
                continue;
            return nacre_fail(err, NACRE_ERR_IO, "the tool '%s'", name);
        }
        tools_identify(&info, ret_identity);
        path[(size_t)length - sizeof("/" TOOLS_MANIFEST) + 1] = '\0';
        memcpy(ret_folder, path, strlen(path) + 1);
        return NACRE_OK;
    }
    return fail_not_found(tool_dirs, name, err);
}

enum nacre_status tools_load(const char *folder, const char *name,
                             struct nacre_manifest **ret_manifest,
                             struct nacre_error *err)
{
    NACRE_AUTO(nacre_manifest_guard) struct nacre_manifest *manifest = NULL;
    char canonical[NACRE_TOOL_NAME], shown[NACRE_SHOWN];
    enum nacre_status status = nacre_manifest_load(folder, &manifest, err);

    if (status != NACRE_OK)
        return status;
    if (!nacre_tool_canonical(manifest->name, canonical) || strcmp(canonical, name) != 0)
        return nacre_fail_at(err, NACRE_ERR_PARSE, manifest->source,
                             manifest->name_place.line, manifest->name_place.column,
                             "metadata.name is '%s', but the tool was found by the name "
                             "'%s'; they must be equal",
                             manifest->name, nacre_text_shown(shown, name));
    *ret_manifest = nacre_manifest_take(&manifest);
    return NACRE_OK;
}

enum nacre_status nacre_tools_find(const char *const tool_dirs[], const char *name,
                                   struct nacre_manifest **ret_manifest,
                                   struct nacre_error *err)
{
    const struct native_tool *native = native_tool_find(name);
    struct tools_identity identity;
    char folder[NACRE_PATH_MAX];
    enum nacre_status status;

    if (native)
        return native_tool_manifest(native, ret_manifest, err);
    status = tools_locate(tool_dirs, name, folder, &identity, err);
    return status == NACRE_OK ? tools_load(folder, name, ret_manifest, err) : status;
}

enum nacre_status nacre_tools_each(const char *const tool_dirs[],
                                   void (*each)(void *data, const char *name,
                                                const struct nacre_manifest *manifest,
                                                const struct nacre_error *why),
                                   void *data, struct nacre_error *err)
{
    NACRE_AUTO(names_free) struct names *names = NULL;
    enum nacre_status status = read_names(tool_dirs, &names, err);

    for (size_t i = 0; status == NACRE_OK && i < names->count; i++) {
        NACRE_AUTO(nacre_manifest_guard) struct nacre_manifest *manifest = NULL;
        const char *name = names->items[i].text;
        struct nacre_error why = { 0 };

        if (nacre_tools_find(tool_dirs, name, &manifest, &why) == NACRE_ERR_MEMORY) {
            *err = why;
            return NACRE_ERR_MEMORY;
        }
        each(data, name, manifest, manifest ? NULL : &why);
    }
    return status;
}
