/* Trusts the plan, which is sealed; of the host's filesystems, the fds alone. */
#include "pr_spec.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "nacre/path.h"
#include "nacre/text.h"
#include "pr_making.h"
#include "pr_mountinfo.h"

#define OPS_MAX 65536
#define MAY_RUN (SPEC_MAY_READ | SPEC_MAY_EXECUTE)

void pr_spec_clear(struct pr_spec *spec)
{
    for (size_t i = 0; i < spec->text_count; i++)
        free(spec->texts[i]);
    free(spec->texts);
    free(spec->ops);
    *spec = (struct pr_spec){ 0 };
}

void pr_no_memory(struct pr_making *making)
{
    if (making->status == NACRE_OK)
        making->status = nacre_fail(making->err, NACRE_ERR_MEMORY, "a sandbox's spec");
}

static const char *keep(struct pr_making *making, const char *text)
{
    struct pr_spec *spec = making->spec;
    char *copy = strdup(text);

    if (spec->text_count == spec->text_room) {
        size_t room = 2 * spec->text_room + 64;
        char **grown = realloc(spec->texts, room * sizeof(*grown));

        if (grown) {
            spec->texts = grown;
            spec->text_room = room;
        }
    }
    if (!copy || spec->text_count == spec->text_room) {
        free(copy);
        pr_no_memory(making);
        return "";
    }
    spec->texts[spec->text_count++] = copy;
    return copy;
}

void pr_add(struct pr_making *making, struct spec_op op)
{
    struct pr_spec *spec = making->spec;

    if (spec->op_count == spec->op_room && spec->op_count < OPS_MAX) {
        size_t room = 2 * spec->op_room + 96;
        struct spec_op *grown = realloc(spec->ops, room * sizeof(*grown));

        if (grown) {
            spec->ops = grown;
            spec->op_room = room;
        }
    }
    if (making->status == NACRE_OK && spec->op_count == OPS_MAX)
        making->status = nacre_fail(making->err, NACRE_ERR_TOO_BIG,
                                    "over %d mounts and denied paths", OPS_MAX);
    else if (spec->op_count == spec->op_room)
        pr_no_memory(making);
    if (making->status != NACRE_OK)
        return;
    op.text = op.text ? keep(making, op.text) : "";
    op.target = op.target ? keep(making, op.target) : "";
    spec->ops[spec->op_count++] = op;
}

uint64_t pr_add_fd(struct pr_making *making, int fd)
{
    struct pr_spec *spec = making->spec;

    if (spec->fd_count == LAUNCH_FDS_MAX) {
        if (making->status == NACRE_OK)
            making->status = nacre_fail(making->err, NACRE_ERR_TOO_BIG,
                                        "over %d mounts", LAUNCH_FDS_MAX);
        return SPEC_NO_FD;
    }
    spec->fds[spec->fd_count] = fd;
    return spec->fd_count++;
}

static void identify(struct pr_making *making, int fd, struct spec_op *op)
{
    struct stat info;

    if (fstat(fd, &info) != 0) {
        if (making->status == NACRE_OK)
            making->status = nacre_fail(making->err, NACRE_ERR_IO, "a mount");
        return;
    }
    op->device = info.st_dev;
    op->inode = info.st_ino;
}

/* ---- the policy's mounts ---- */

static const struct nacre_mount *mount_above(const struct nacre_plan *plan,
                                             const struct nacre_mount *mount)
{
    const struct nacre_mount *best = NULL;

    for (uint32_t i = 0; i < plan->mount_count; i++) {
        const struct nacre_mount *other = &plan->mounts[i];

        if (other != mount && nacre_path_is_below(mount->guest, other->guest, NULL) &&
            (!best || strlen(other->guest) > strlen(best->guest)))
            best = other;
    }
    return best;
}

static bool real_name(int fd, char ret_path[NACRE_PATH_MAX])
{
    char link[40];
    ssize_t length;

    (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = readlink(link, ret_path, NACRE_PATH_MAX - 1);
    if (length <= 0 || ret_path[0] != '/')
        return false;
    ret_path[length] = '\0';
    return true;
}

/* Below another one, whose cover hides it? */
static bool is_within_kernel(const char *mountinfo, const char *host,
                             const struct pr_mount_line *shown)
{
    struct pr_mount_line line;
    const char *rest;
    bool broken;

    while (pr_mountinfo_next(&mountinfo, &line, &broken))
        if (pr_mountinfo_is_kernel(&line) &&
            nacre_path_is_below(line.path, host, &rest) && rest[0] &&
            nacre_path_is_below(shown->path, line.path, &rest) && rest[0])
            return true;
    return false;
}

/*
 * What is mounted on the host below a bound directory comes along; of the kernel's own
 * filesystems nothing may be seen.
 */
static void cover_kernel(struct pr_making *making, const struct nacre_open_mount *open)
{
    const struct nacre_mount *mount = open->mount;
    const char *text = making->input->mountinfo;
    struct pr_mount_line line;
    char host[NACRE_PATH_MAX];
    bool broken = !real_name(open->fd, host);

    while (!broken && pr_mountinfo_next(&text, &line, &broken)) {
        char target[NACRE_PATH_MAX * 2];
        const char *rest;

        if (!pr_mountinfo_is_kernel(&line) ||
            !nacre_path_is_below(line.path, host, &rest) || !rest[0] ||
            is_within_kernel(making->input->mountinfo, host, &line))
            continue;
        if (strcmp(mount->guest, "/") == 0 && nt_masks_is_own(rest))
            continue; /* other things stand there */
        (void)snprintf(target, sizeof(target), "%s%s%s", mount->guest + 1,
                       mount->guest[1] ? "/" : "", rest);
        pr_add(making, (struct spec_op){ .kind = SPEC_COVER,
                                         .fd = SPEC_NO_FD,
                                         .flags = SPEC_IS_DIR,
                                         .target = target });
    }
    if (broken && making->status == NACRE_OK)
        making->status = nacre_fail(making->err, NACRE_ERR_BACKEND,
                                    "/proc/self/mountinfo: a line is not as expected");
}

static void add_tree(struct pr_making *making, const struct nacre_open_mount *open)
{
    const struct nacre_mount *mount = open->mount;
    const struct nacre_mount *above = mount_above(making->input->plan, mount);
    char host[NACRE_PATH_MAX];
    struct spec_op op = { .kind = SPEC_TREE,
                          .flags = SPEC_IS_DIR | MAY_RUN,
                          .text = host,
                          .target = mount->guest + 1 };

    if (!real_name(open->fd, host)) {
        if (making->status == NACRE_OK)
            making->status = nacre_fail(making->err, NACRE_ERR_IO,
                                        "mount '%.100s': its real name can't be found",
                                        mount->guest);
        return;
    }
    op.fd = pr_add_fd(making, open->fd);
    op.flags |= mount->writable ? SPEC_MAY_WRITE : SPEC_READ_ONLY;
    /* Nothing is ever made in a directory of the host's. */
    if (above ? !above->host : !making->input->plan->full_tree)
        op.flags |= SPEC_MAKE;
    identify(making, open->fd, &op);
    if (op.target[0] == '\0')
        op.flags = (op.flags & ~(uint64_t)SPEC_MAKE) | SPEC_MAY_IOCTL;
    pr_add(making, op);
}

/* Nothing is ever made in a directory of the host's: there has to be one to mount on. */
static void check_point(struct pr_making *making, const struct nacre_mount *above,
                        const struct nacre_mount *mount)
{
    const struct nacre_open_mounts *mounts = making->input->mounts;
    char shown[NACRE_SHOWN];
    struct stat info;
    const char *rest;

    for (uint32_t i = 0; i < mounts->count && making->status == NACRE_OK; i++)
        if (mounts->items[i].mount == above && mounts->items[i].fd >= 0 &&
            nacre_path_is_below(mount->guest, above->guest, &rest) &&
            fstatat(mounts->items[i].fd, rest, &info, AT_SYMLINK_NOFOLLOW) != 0 &&
            errno == ENOENT)
            making->status = nacre_mount_refuse(
                mount, "make it, or leave the mount out", making->err,
                "%s has no directory %.100s to mount it on, and nothing is made there",
                nacre_text_shown(shown, above->host), rest);
}

static void add_mount(struct pr_making *making, const struct nacre_open_mount *open)
{
    const struct nacre_mount *mount = open->mount;
    const struct nacre_mount *above = mount_above(making->input->plan, mount);

    if (above && above->host)
        check_point(making, above, mount);
    if (mount->host) {
        add_tree(making, open);
        cover_kernel(making, open);
        return;
    }
    pr_add(making, (struct spec_op){
                    .kind = SPEC_PRIVATE,
                    .fd = SPEC_NO_FD,
                    .flags = SPEC_IS_DIR | MAY_RUN |
                             (mount->writable ? SPEC_MAY_WRITE : SPEC_READ_ONLY) |
                             (above && above->host ? 0 : SPEC_MAKE),
                    .mode = strcmp(mount->guest, "/tmp") == 0 ? 01777 : 0755,
                    .target = mount->guest + 1 });
}

/* Outer before inner, whatever order the policy has. */
static void add_mounts(struct pr_making *making)
{
    const struct nacre_open_mounts *mounts = making->input->mounts;
    size_t longest = 0;

    for (uint32_t i = 0; i < mounts->count; i++) {
        size_t length = strlen(mounts->items[i].mount->guest);

        longest = length > longest ? length : longest;
    }
    for (size_t length = 2; length <= longest; length++)
        for (uint32_t i = 0; i < mounts->count; i++)
            if (strlen(mounts->items[i].mount->guest) == length)
                add_mount(making, &mounts->items[i]);
}

/* ---- denied paths ---- */

static void join_target(char ret_target[2 * NACRE_PATH_MAX],
                        const struct nacre_mount *mount, const char *rest)
{
    (void)snprintf(ret_target, 2 * NACRE_PATH_MAX, "%s%s%s", mount->guest + 1,
                   mount->guest[1] && rest[0] ? "/" : "", rest);
}

static void add_mask(struct pr_making *making, const struct nt_mask *mask)
{
    const struct nacre_mount *mount = making->input->mounts->items[mask->mount].mount;
    char target[2 * NACRE_PATH_MAX];
    struct spec_op op = { .kind = mask->kind == NT_MASK_SELF ? SPEC_SELF : SPEC_COVER,
                          .fd = SPEC_NO_FD,
                          .flags = mask->kind == NT_MASK_COVER_DIR ? SPEC_IS_DIR : 0,
                          .target = target };

    join_target(target, mount, mask->path);
    identify(making, mask->fd, &op);
    pr_add(making, op);
}

/* A private directory is empty: the way to a denied name is made, held and covered. */
static void add_private_denied(struct pr_making *making, const struct nacre_mount *mount,
                               const char *denied)
{
    char target[2 * NACRE_PATH_MAX];

    join_target(target, mount, denied);
    pr_add(making, (struct spec_op){ .kind = SPEC_DIR, .fd = SPEC_NO_FD, .mode = 0755,
                                     .target = target });
    for (char *slash = target + strlen(mount->guest);
         (slash = strchr(slash + 1, '/')) != NULL; *slash = '/') {
        *slash = '\0';
        pr_add(making, (struct spec_op){ .kind = SPEC_SELF, .fd = SPEC_NO_FD,
                                         .target = target });
    }
    pr_add(making, (struct spec_op){ .kind = SPEC_COVER, .fd = SPEC_NO_FD,
                                     .flags = SPEC_IS_DIR, .target = target });
}

/* Below another denied name, which is covered with all that could lie there? */
static bool is_within_denied(const struct nacre_open_mount *open, uint32_t index)
{
    for (uint32_t i = 0; i < open->denied_count; i++)
        if (i != index && pr_is_below(open->denied[index], open->denied[i]))
            return true;
    return false;
}

static void add_denied(struct pr_making *making)
{
    const struct nacre_open_mounts *mounts = making->input->mounts;

    for (size_t i = 0; i < making->input->mask_count; i++)
        add_mask(making, &making->input->masks[i]);
    for (uint32_t i = 0; i < mounts->count; i++) {
        const struct nacre_open_mount *open = &mounts->items[i];

        for (uint32_t k = 0; k < open->denied_count; k++)
            if (!open->mount->host && open->mount->writable &&
                !is_within_denied(open, k))
                add_private_denied(making, open->mount, open->denied[k]);
    }
}

/* ---- all of it ---- */

static void add_first(struct pr_making *making)
{
    const struct pr_spec_input *input = making->input;
    const struct nacre_open_mounts *mounts = input->mounts;
    const struct nacre_open_mount *root = NULL;

    if (input->data_bytes_max > 0)
        pr_add(making, (struct spec_op){ .kind = SPEC_DATA, .fd = SPEC_NO_FD,
                                         .bytes = input->data_bytes_max });
    if (!input->plan->full_tree)
        pr_add(making, (struct spec_op){ .kind = SPEC_ROOT, .fd = SPEC_NO_FD,
                                         .flags = SPEC_MAY_READ });
    for (uint32_t i = 0; i < mounts->count; i++)
        if (strcmp(mounts->items[i].mount->guest, "/") == 0)
            root = &mounts->items[i];
    if (root)
        add_tree(making, root);
    pr_add(making, (struct spec_op){ .kind = SPEC_SCRATCH, .fd = SPEC_NO_FD,
                                     .bytes = input->plan->limits.scratch_bytes_max,
                                     .files = input->plan->limits.scratch_files_max });
    if (root)
        cover_kernel(making, root);
}

enum nacre_status pr_spec_make(const struct pr_spec_input *input,
                               struct pr_spec *ret_spec, struct nacre_error *err)
{
    NACRE_AUTO(pr_spec_clear) struct pr_spec spec = { 0 };
    struct pr_making making = { input, &spec, NACRE_OK, err };
    char shown[NACRE_SHOWN];

    for (uint32_t i = 0; i < input->plan->mount_count; i++)
        if (input->plan->mounts[i].guest[0] != '/' ||
            (strcmp(input->plan->mounts[i].guest, "/") == 0 &&
             (!input->plan->full_tree || !input->plan->mounts[i].host)))
            return nacre_fail(err, NACRE_ERR_NOT_RUNNABLE,
                              "mount '%s': at level process a mount is an absolute name "
                              "below /",
                              nacre_text_shown(shown, input->plan->mounts[i].guest));
    spec.head = (struct spec_head){ .uid = input->uid, .gid = input->gid,
                                    .landlock = input->landlock,
                                    .hostname = PR_HOSTNAME };
    pr_spec_add_door(&making);
    add_first(&making);
    pr_spec_add_root(&making);
    add_mounts(&making);
    add_denied(&making);
    /* Last: they are made while the rest is. */
    pr_add(&making, (struct spec_op){ .kind = SPEC_JOIN, .fd = SPEC_NO_FD });
    if (making.status != NACRE_OK)
        return making.status;
    spec.head.op_count = spec.op_count;
    *ret_spec = spec;
    spec = (struct pr_spec){ 0 };
    return NACRE_OK;
}

enum nacre_status pr_spec_pack(const struct pr_spec *spec, uint8_t **ret_bytes,
                               size_t *ret_count, struct nacre_error *err)
{
    size_t size = 256;
    NACRE_AUTO(nacre_heap_guard) uint8_t *bytes = NULL;
    struct pack pack;

    for (size_t i = 0; i < spec->op_count; i++)
        size += 16 * sizeof(uint64_t) + strlen(spec->ops[i].text) +
                strlen(spec->ops[i].target);
    if (size > SPEC_BYTES_MAX)
        return nacre_fail(err, NACRE_ERR_TOO_BIG, "mounts and denied paths are over %zu "
                          "MiB", SPEC_BYTES_MAX >> 20);
    bytes = malloc(size);
    if (!bytes)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a sandbox's spec");
    pack = (struct pack){ .bytes = bytes, .size = size };
    spec_head_pack(&pack, &spec->head);
    for (size_t i = 0; i < spec->op_count; i++)
        spec_op_pack(&pack, &spec->ops[i]);
    assert(!pack.failed);
    *ret_count = pack.used;
    *ret_bytes = NACRE_HEAP_TAKE(bytes);
    return NACRE_OK;
}
