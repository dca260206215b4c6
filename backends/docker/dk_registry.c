/*
 * The file is in a directory of ours alone, and still is taken for broken when it is not
 * exactly what is written here.  Labels are what whoever made a container wrote.
 */
#include "dk_registry.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "dk_box.h"
#include "nacre/buf.h"
#include "nacre/text.h"

#define FILE_NAME "registry.json"
#define FRESH_NAME "registry.fresh"
#define LOCK_FILE "registry.lock"
#define BYTES_MAX ((size_t)4 << 20)
#define LIST_MS 2000 /* less than a sandbox waits for its owner's beat */

/* ---- one box ---- */

static json_t *entry_of(const char *token, const struct nacre_box_info *info)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I}", "keeper", token,
                     "id", info->id, "name", info->name, "scope", info->scope_key,
                     "image", info->image, "config", info->digest, "created_ms",
                     (json_int_t)info->created_ms, "used_ms", (json_int_t)info->used_ms,
                     "pid", (json_int_t)info->owner_pid);
}

static bool fits(char *ret_text, size_t size, const char *text)
{
    return snprintf(ret_text, size, "%s", text) < (int)size;
}

static bool info_of(const json_t *entry, const char **ret_token,
                    struct nacre_box_info *ret_info)
{
    const char *id, *name, *scope, *image, *config;
    json_int_t created, used, pid;

    *ret_info = (struct nacre_box_info){ 0 };
    if (json_unpack_ex((json_t *)entry, NULL, JSON_STRICT,
                       "{s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I}", "keeper",
                       ret_token, "id", &id, "name", &name, "scope", &scope, "image",
                       &image, "config", &config, "created_ms", &created, "used_ms",
                       &used, "pid", &pid) != 0 ||
        created < 0 || used < 0 || pid <= 0 || pid > INT32_MAX)
        return false;
    ret_info->created_ms = (uint64_t)created;
    ret_info->used_ms = (uint64_t)used;
    ret_info->owner_pid = (int32_t)pid;
    return fits(ret_info->id, sizeof(ret_info->id), id) &&
           fits(ret_info->name, sizeof(ret_info->name), name) &&
           fits(ret_info->scope_key, sizeof(ret_info->scope_key), scope) &&
           fits(ret_info->image, sizeof(ret_info->image), image) &&
           fits(ret_info->digest, sizeof(ret_info->digest), config);
}

/* ---- the file ---- */

static bool is_whole(const json_t *boxes)
{
    struct nacre_box_info info;
    const char *token;
    const json_t *entry;
    size_t i;

    json_array_foreach(boxes, i, entry)
        if (!info_of(entry, &token, &info))
            return false;
    return json_is_array(boxes);
}

/* The boxes in it; NULL when there is no such file, or it is broken. */
static json_t *read_boxes(int dir_fd, bool *ret_exists)
{
    NACRE_AUTO(nacre_fd_guard) int fd =
        openat(dir_fd, FILE_NAME, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    NACRE_AUTO(nacre_buf_clear) struct nacre_buf text = NACRE_BUF(BYTES_MAX);
    NACRE_AUTO(dk_json_guard) json_t *file = NULL;
    struct nacre_error ignored;
    json_t *boxes;

    *ret_exists = fd >= 0 || errno != ENOENT;
    if (fd < 0 || nacre_buf_read(&text, fd, &ignored) != NACRE_OK || text.size == 0)
        return NULL;
    file = json_loadb(text.bytes, text.size, JSON_REJECT_DUPLICATES, NULL);
    boxes = json_object_get(file, "boxes");
    return is_whole(boxes) ? json_incref(boxes) : NULL;
}

static enum nacre_status replace(int dir_fd, const json_t *boxes, struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *file = json_pack("{s:O}", "boxes", boxes);
    NACRE_AUTO(nacre_heap_guard) char *text =
        file ? json_dumps(file, JSON_INDENT(1)) : NULL;
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    size_t count = text ? strlen(text) : 0;

    if (!text)
        return nacre_fail(err, NACRE_ERR_MEMORY, "the registry of boxes");
    (void)unlinkat(dir_fd, FRESH_NAME, 0);
    fd = openat(dir_fd, FRESH_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                0600);
    if (fd < 0 || write(fd, text, count) != (ssize_t)count ||
        renameat(dir_fd, FRESH_NAME, dir_fd, FILE_NAME) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "the registry of boxes can't be written");
    return NACRE_OK;
}

/* ---- from the labels ---- */

static const char *label_of(const json_t *container, const char *key)
{
    const char *value =
        json_string_value(json_object_get(json_object_get(container, "Labels"), key));

    return value ? value : "";
}

/* Its owner's pid is not to be known from here: 1 stands for "somebody". */
static json_t *entry_from_labels(const json_t *container)
{
    const char *name = json_string_value(
        json_array_get(json_object_get(container, "Names"), 0));
    struct nacre_box_info info = { .owner_pid = 1 };

    (void)snprintf(info.id, sizeof(info.id), "%.12s",
                   json_string_value(json_object_get(container, "Id")));
    (void)snprintf(info.name, sizeof(info.name), "%s", name && name[0] ? name + 1 : "");
    (void)snprintf(info.scope_key, sizeof(info.scope_key), "%s",
                   label_of(container, DK_SCOPE_LABEL));
    (void)snprintf(info.image, sizeof(info.image), "%s",
                   label_of(container, DK_IMAGE_LABEL));
    (void)snprintf(info.digest, sizeof(info.digest), "%s",
                   label_of(container, DK_CONFIG_LABEL));
    if (!nacre_text_u64(label_of(container, DK_CREATED_LABEL), INT64_MAX,
                        &info.created_ms))
        info.created_ms = 0;
    info.used_ms = info.created_ms;
    return entry_of(label_of(container, DK_TOKEN_LABEL), &info);
}

static enum nacre_status boxes_from_labels(const struct dk_site *site,
                                           json_t **ret_boxes, struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *list = NULL;
    NACRE_AUTO(dk_json_guard) json_t *boxes = json_array();
    const json_t *container;
    enum nacre_status status;
    char label[64];
    size_t i;

    (void)snprintf(label, sizeof(label), DK_OWNER_LABEL "=%u", (unsigned)geteuid());
    status = dk_container_list(site->client, label, dk_site_surely(site, LIST_MS), &list,
                               err);
    if (status != NACRE_OK)
        return status;
    json_array_foreach(list, i, container)
        if (label_of(container, DK_SCOPE_LABEL)[0] &&
            json_array_append_new(boxes, entry_from_labels(container)) != 0)
            return nacre_fail(err, NACRE_ERR_MEMORY, "the registry of boxes");
    *ret_boxes = NACRE_HEAP_TAKE(boxes);
    return *ret_boxes ? NACRE_OK : nacre_fail(err, NACRE_ERR_MEMORY, "the registry");
}

/* ---- writing and reading ---- */

static int lock_registry(int dir_fd)
{
    int fd = openat(dir_fd, LOCK_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd >= 0 && flock(fd, LOCK_EX) != 0)
        nacre_fd_guard(&fd);
    return fd;
}

/* What the file does not say, where it is lost.  Before the lock is taken: an engine that
 * is slow then holds up no other owner, whose sandboxes wait for its beat. */
static enum nacre_status find_lost(const struct dk_site *site, json_t **ret_boxes,
                                   struct nacre_error *err)
{
    int dir_fd = dk_owner_dir(site->owner);
    bool exists;
    json_t *boxes = read_boxes(dir_fd, &exists);

    if (!boxes && dk_owner_any_lives(dir_fd, dk_owner_token(site->owner)))
        return boxes_from_labels(site, ret_boxes, err);
    json_decref(boxes);
    return NACRE_OK;
}

enum nacre_status dk_registry_write(const struct dk_site *site,
                                    const struct nacre_box_info *infos, size_t count,
                                    struct nacre_error *err)
{
    const char *own = dk_owner_token(site->owner);
    int dir_fd = dk_owner_dir(site->owner);
    NACRE_AUTO(dk_json_guard) json_t *lost = NULL;
    enum nacre_status status = find_lost(site, &lost, err);
    NACRE_AUTO(nacre_fd_guard) int lock_fd =
        status == NACRE_OK ? lock_registry(dir_fd) : -1;
    NACRE_AUTO(dk_json_guard) json_t *old = NULL;
    NACRE_AUTO(dk_json_guard) json_t *boxes = json_array();
    bool exists, good = boxes != NULL;
    const json_t *entry;
    size_t i;

    if (status != NACRE_OK) /* a file without the others' would look whole */
        return status;
    if (lock_fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "the registry of boxes can't be locked");
    old = read_boxes(dir_fd, &exists);
    if (!old)
        old = json_incref(lost);
    json_array_foreach(old, i, entry) {
        const char *token = json_string_value(json_object_get(entry, "keeper"));

        if (good && token && strcmp(token, own) != 0 && dk_owner_lives(dir_fd, token))
            good = json_array_append(boxes, (json_t *)entry) == 0;
    }
    for (size_t n = 0; n < count && good; n++)
        good = json_array_append_new(boxes, entry_of(own, &infos[n])) == 0;
    return good ? replace(dir_fd, boxes, err)
                : nacre_fail(err, NACRE_ERR_MEMORY, "the registry of boxes");
}

/* Of owners that live. */
static void tell_each(int dir_fd, const json_t *boxes,
                      bool (*each)(void *data, const struct nacre_box_info *info),
                      void *data)
{
    const json_t *entry;
    size_t i;

    json_array_foreach(boxes, i, entry) {
        struct nacre_box_info info;
        const char *token;

        if (info_of(entry, &token, &info) && dk_owner_lives(dir_fd, token) &&
            !each(data, &info))
            break;
    }
}

enum nacre_status dk_registry_labelled(const struct dk_site *site,
                                       bool (*each)(void *data,
                                                    const struct nacre_box_info *info),
                                       void *data, struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *boxes = NULL;
    enum nacre_status status = boxes_from_labels(site, &boxes, err);

    if (status == NACRE_OK)
        tell_each(dk_owner_dir(site->owner), boxes, each, data);
    return status;
}

enum nacre_status nacre_boxes_read(const char *state_dir,
                                   bool (*each)(void *data,
                                                const struct nacre_box_info *info),
                                   void *data, struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int dir_fd = -1;
    NACRE_AUTO(dk_json_guard) json_t *boxes = NULL;
    char path[NACRE_PATH_MAX];
    bool exists;

    if (snprintf(path, sizeof(path), "%s/boxes", state_dir) >= (int)sizeof(path))
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "the state directory's path");
    dir_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir_fd < 0 && errno == ENOENT)
        return NACRE_OK;
    if (dir_fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "%.300s can't be opened", path);
    boxes = read_boxes(dir_fd, &exists);
    if (!boxes && exists)
        return nacre_fail(err, NACRE_ERR_PARSE,
                          "%.300s/" FILE_NAME " is broken: the next run in a warm "
                          "sandbox makes it anew", path);
    /* Who keeps nothing warm has no file either; but then nobody lives, or nothing is
     * found when the engine is asked. */
    if (!boxes && dk_owner_any_lives(dir_fd, ""))
        return nacre_fail(err, NACRE_ERR_NOT_FOUND,
                          "%.300s/" FILE_NAME " is not there: the next run in a warm "
                          "sandbox makes it anew", path);
    tell_each(dir_fd, boxes, each, data);
    return NACRE_OK;
}
