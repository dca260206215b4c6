#include "dk_binds.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nacre/path.h"
#include "nacre/text.h"
#include "binds.h"

#define BINDS_MAX 4096

void dk_binds_clear(struct dk_binds *binds)
{
    nt_masks_free(binds->masks);
    if (binds->mounts)
        nacre_mounts_clear(binds->mounts);
    free(binds->mounts);
    for (size_t i = 0; i < binds->text_count; i++)
        free(binds->texts[i]);
    free(binds->texts);
    free(binds->items);
    free(binds->covered);
    *binds = (struct dk_binds){ 0 };
}

/* Makes room for one more of three lists that grow together. */
static bool grow(struct dk_binds *binds)
{
    size_t room = 2 * binds->room + 32;
    struct dk_bind *items;
    char **texts, **covered;

    if (binds->count < binds->room)
        return true;
    if (binds->count >= BINDS_MAX)
        return false;
    items = realloc(binds->items, room * sizeof(*items));
    if (items)
        binds->items = items;
    texts = realloc(binds->texts, 2 * room * sizeof(*texts));
    if (texts)
        binds->texts = texts;
    covered = realloc(binds->covered, (room + 1) * sizeof(*covered));
    if (covered)
        binds->covered = covered;
    if (!items || !texts || !covered)
        return false;
    binds->room = room;
    return true;
}

static char *keep(struct dk_binds *binds, const char *text)
{
    char *copy = strdup(text);

    if (copy)
        binds->texts[binds->text_count++] = copy;
    return copy;
}

/* Texts of `bind` are copied. */
static enum nacre_status append(struct dk_binds *binds, const struct dk_bind *bind,
                                struct nacre_error *err)
{
    struct dk_bind *item;

    if (!grow(binds))
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "over %d mounts and denied paths",
                          BINDS_MAX);
    item = &binds->items[binds->count];
    *item = *bind;
    item->source = keep(binds, bind->source);
    item->target = keep(binds, bind->target);
    if (!item->source || !item->target)
        return nacre_fail(err, NACRE_ERR_MEMORY, "mounts");
    binds->count++;
    return NACRE_OK;
}

static enum nacre_status add(struct dk_binds *binds, const char *source,
                             const char *target, bool writable, int fd,
                             struct nacre_error *err)
{
    struct stat info;

    if (fstat(fd, &info) != 0)
        return nacre_fail(err, NACRE_ERR_IO, "a mount's directory can't be looked at");
    return append(binds,
                  &(struct dk_bind){ .source = source, .target = target,
                                     .writable = writable,
                                     .is_dir = S_ISDIR(info.st_mode),
                                     .device = info.st_dev, .inode = info.st_ino,
                                     .fd = -1 },
                  err);
}

static enum nacre_status add_volume(struct dk_binds *binds, const char *name,
                                    const char *target, struct nacre_error *err)
{
    return append(binds,
                  &(struct dk_bind){ .source = name, .target = target, .is_dir = true,
                                     .volume = true, .fd = -1 },
                  err);
}

bool dk_binds_has_host(const struct dk_binds *binds)
{
    for (size_t i = 0; i < binds->count; i++)
        if (!binds->items[i].volume)
            return true;
    return false;
}

static enum nacre_status name_of(int fd, char ret_path[NACRE_PATH_MAX],
                                 struct nacre_error *err)
{
    return nacre_mounts_real_name(fd, ret_path)
               ? NACRE_OK
               : nacre_fail(err, NACRE_ERR_IO,
                            "the name of a mount's directory can't be found");
}

static enum nacre_status join(const char *guest, const char *path,
                              char ret_path[NACRE_PATH_MAX], struct nacre_error *err)
{
    if (snprintf(ret_path, NACRE_PATH_MAX, "%s%s%s", guest, path[0] ? "/" : "", path) >=
        NACRE_PATH_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "a denied path is too long");
    return NACRE_OK;
}

static enum nacre_status add_mount(struct dk_binds *binds,
                                   const struct nacre_open_mount *open,
                                   struct nacre_error *err)
{
    char path[NACRE_PATH_MAX];
    enum nacre_status status = name_of(open->fd, path, err);

    if (status == NACRE_OK)
        status = add(binds, path, open->mount->guest, open->mount->writable, open->fd,
                     err);
    if (status == NACRE_OK)
        binds->items[binds->count - 1].fd = open->fd;
    return status;
}

/* A volume is a directory, and nothing else can cover a file. */
static enum nacre_status refuse_file(const char *target, struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                      "the denied path %s is a file, and can't be covered in an engine "
                      "that does not see nacre's files: deny its directory, or run "
                      "nacre where the engine is", nacre_text_shown(shown, target));
}

static enum nacre_status add_cover(struct dk_binds *binds,
                                   const struct dk_binds_input *input,
                                   const char *target, bool is_dir,
                                   struct nacre_error *err)
{
    const struct nt_covers *covers = input->covers;
    enum nacre_status status;

    if (input->carried)
        status = is_dir ? add_volume(binds, input->carried->cover, target, err)
                        : refuse_file(target, err);
    else
        status = add(binds, is_dir ? covers->dir_path : covers->file_path, target, false,
                     is_dir ? covers->dir_fd : covers->file_fd, err);
    if (status == NACRE_OK)
        binds->covered[binds->covered_count++] =
            (char *)binds->items[binds->count - 1].target;
    return status;
}

static enum nacre_status add_mask(struct dk_binds *binds,
                                  const struct dk_binds_input *input,
                                  const struct nt_mask *mask, struct nacre_error *err)
{
    const struct nacre_mount *mount = binds->mounts->items[mask->mount].mount;
    char target[NACRE_PATH_MAX], source[NACRE_PATH_MAX];
    enum nacre_status status = join(mount->guest, mask->path, target, err);

    if (status != NACRE_OK)
        return status;
    if (mask->kind != NT_MASK_SELF)
        return add_cover(binds, input, target, mask->kind == NT_MASK_COVER_DIR, err);
    status = name_of(mask->fd, source, err);
    if (status == NACRE_OK)
        status = add(binds, source, target, mount->writable, mask->fd, err);
    if (status == NACRE_OK)
        binds->items[binds->count - 1].fd = mask->fd;
    return status;
}

/* A private directory is empty when the container starts, but for the way to a denied
 * name (dk_create.c), which is covered as a directory: nobody can say what it would be. */
static enum nacre_status cover_private(struct dk_binds *binds,
                                       const struct dk_binds_input *input,
                                       const struct nacre_open_mount *open,
                                       struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    for (uint32_t i = 0; i < open->mount->denied_count && status == NACRE_OK; i++) {
        char target[NACRE_PATH_MAX];

        if (nacre_mount_covers_denied(open->mount, i))
            continue;
        status = join(open->mount->guest, open->mount->denied[i], target, err);
        if (status == NACRE_OK)
            status = add_cover(binds, input, target, true, err);
    }
    return status;
}

/* ---- names of the image's own ---- */

/* What a name is depends on who looks, too. */
static void known_as(const struct dk_binds_input *input, char ret_name[160])
{
    (void)snprintf(ret_name, 160, "%.80s as %" PRIu32 ":%" PRIu32, input->image_id,
                   input->uid, input->gid);
}

/* Below a tmpfs there is nothing when the sandbox starts. */
static bool is_in_tmpfs(const struct nacre_plan *plan, const char *path)
{
    char *const *items = plan->container.tmpfs;

    if (plan->own_tmp && nacre_path_is_below(path, "/tmp", NULL))
        return true;
    for (; items && *items; items++) {
        char top[NACRE_PATH_MAX];

        (void)snprintf(top, sizeof(top), "%.*s", (int)strcspn(*items, ":"), *items);
        if (nacre_path_is_below(path, top, NULL))
            return true;
    }
    return false;
}

static enum dk_kind kind_of(const struct dk_binds_input *input, const char *path)
{
    char name[160];

    if (is_in_tmpfs(input->plan, path))
        return DK_KIND_MISSING;
    known_as(input, name);
    return dk_known_find(input->known, name, path);
}

const char *dk_binds_unknown(const struct dk_binds_input *input, size_t n)
{
    for (uint32_t i = 0; i < input->plan->denied_root_count; i++)
        if (kind_of(input, input->plan->denied_root[i]) == DK_KIND_UNKNOWN && n-- == 0)
            return input->plan->denied_root[i];
    return NULL;
}

enum nacre_status dk_binds_learn(const struct dk_binds_input *input, const char *path,
                                 enum dk_kind kind, struct nacre_error *err)
{
    char name[160];

    known_as(input, name);
    return dk_known_add(input->known, name, path, kind)
               ? NACRE_OK
               : nacre_fail(err, NACRE_ERR_MEMORY, "denied paths of an image");
}

/* Nothing can be mounted below a cover, and nothing needs to be. */
static bool is_below_cover(const struct dk_binds_input *input, const char *path)
{
    const char *rest;

    for (uint32_t i = 0; i < input->plan->denied_root_count; i++) {
        const char *top = input->plan->denied_root[i];

        if (nacre_path_is_below(path, top, &rest) && rest[0] &&
            kind_of(input, top) == DK_KIND_DIR)
            return true;
    }
    return false;
}

static enum nacre_status cover_image(struct dk_binds *binds,
                                     const struct dk_binds_input *input,
                                     struct nacre_error *err)
{
    enum nacre_status status = NACRE_OK;

    for (uint32_t i = 0; i < input->plan->denied_root_count && status == NACRE_OK; i++) {
        const char *path = input->plan->denied_root[i];
        enum dk_kind kind = kind_of(input, path);

        if ((kind != DK_KIND_FILE && kind != DK_KIND_DIR) || is_below_cover(input, path))
            continue;
        status = add_cover(binds, input, path, kind == DK_KIND_DIR, err);
        if (status == NACRE_OK)
            binds->items[binds->count - 1].in_image = true;
    }
    return status;
}

static enum nacre_status fill(const struct dk_binds_input *input, struct dk_binds *binds,
                              struct nacre_error *err)
{
    const struct nt_user user = { input->uid, input->gid };
    const struct nt_mask *masks;
    size_t mask_count;
    enum nacre_status status = nacre_mounts_open(input->plan, input->protected_paths,
                                                 binds->mounts, err);

    if (status == NACRE_OK)
        status = nacre_binds_check(binds->mounts, input->options, err);
    if (status == NACRE_OK)
        status = nt_masks_open(binds->mounts, &user, input->state_dir, &binds->masks,
                               err);
    for (uint32_t i = 0; i < binds->mounts->count && status == NACRE_OK; i++)
        if (binds->mounts->items[i].fd >= 0)
            status = add_mount(binds, &binds->mounts->items[i], err);
        else
            status = cover_private(binds, input, &binds->mounts->items[i], err);
    if (status != NACRE_OK)
        return status;
    masks = nt_masks_items(binds->masks, &mask_count);
    for (size_t i = 0; i < mask_count && status == NACRE_OK; i++)
        status = add_mask(binds, input, &masks[i], err);
    return status == NACRE_OK ? cover_image(binds, input, err) : status;
}

static enum nacre_status add_own(struct dk_binds *binds, const struct dk_extra *own,
                                 struct nacre_error *err)
{
    NACRE_AUTO(nacre_fd_guard) int fd = open(own->path, O_PATH | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0)
        return nacre_fail(err, NACRE_ERR_IO, "a file of nacre's own is gone: %.300s",
                          own->path);
    return add(binds, own->path, own->target, own->writable, fd, err);
}

enum nacre_status dk_binds_open(const struct dk_binds_input *input,
                                struct dk_binds *ret_binds, struct nacre_error *err)
{
    NACRE_AUTO(dk_binds_clear) struct dk_binds binds = { 0 };
    const struct dk_extra init = { input->init_path, input->init_target, false };
    enum nacre_status status;

    binds.mounts = calloc(1, sizeof(*binds.mounts));
    if (!binds.mounts)
        return nacre_fail(err, NACRE_ERR_MEMORY, "mounts");
    status = fill(input, &binds, err);
    if (status == NACRE_OK)
        status = input->carried
                     ? add_volume(&binds, input->carried->init, init.target, err)
                     : add_own(&binds, &init, err);
    for (size_t i = 0; i < input->extra_count && status == NACRE_OK; i++)
        status = add_own(&binds, &input->extra[i], err);
    if (status != NACRE_OK)
        return status;
    binds.covered[binds.covered_count] = NULL;
    *ret_binds = binds;
    binds = (struct dk_binds){ 0 };
    return NACRE_OK;
}
