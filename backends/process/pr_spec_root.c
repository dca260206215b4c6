/* The parts of a sandbox's root that are the same for every policy, and the sockets of
 * its door.  Looks at what of the table the host has. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "doorway.h"
#include "nacre/path.h"
#include "pr_making.h"
#include "pr_root.h"

/* Early: what can't be bound is told before anything else is made. */
void pr_spec_add_door(struct pr_making *making)
{
    uint64_t fd;

    if (making->input->door_fd < 0)
        return;
    fd = pr_add_fd(making, making->input->door_fd);
    for (enum doorway_kind kind = DOORWAY_PROXY; kind < DOORWAY_COUNT; kind++)
        pr_add(making, (struct spec_op){ .kind = SPEC_LISTEN,
                                         .fd = kind == DOORWAY_NAMES ? SPEC_NO_FD : fd,
                                         .mode = kind });
}

static bool is_mounted(const struct nacre_plan *plan, const char *target)
{
    for (uint32_t i = 0; i < plan->mount_count; i++)
        if (strcmp(plan->mounts[i].guest + 1, target) == 0)
            return true;
    return false;
}

static void add_host(struct pr_making *making, const struct pr_root_entry *entry)
{
    char path[64], link[NACRE_PATH_MAX];
    struct spec_op op = { .kind = SPEC_TREE,
                          .fd = SPEC_NO_FD,
                          .text = path,
                          .target = entry->path,
                          .flags = entry->flags | SPEC_MAKE };
    struct stat info;
    ssize_t length;

    (void)snprintf(path, sizeof(path), "/%s", entry->path);
    if (lstat(path, &info) != 0)
        return;
    if (S_ISLNK(info.st_mode)) {
        length = readlink(path, link, sizeof(link) - 1);
        if (length <= 0)
            return;
        link[length] = '\0';
        op = (struct spec_op){ .kind = SPEC_LINK,
                               .fd = SPEC_NO_FD,
                               .text = link,
                               .target = entry->path };
    } else if (entry->kind == PR_ROOT_DEVICE && S_ISCHR(info.st_mode)) {
        op.flags |= SPEC_DEVICE | SPEC_READ_ONLY | SPEC_NO_EXEC;
    } else if (entry->kind == PR_ROOT_HOST &&
               (S_ISDIR(info.st_mode) || S_ISREG(info.st_mode))) {
        op.flags |= SPEC_READ_ONLY | (S_ISDIR(info.st_mode) ? SPEC_IS_DIR : 0);
    } else {
        return;
    }
    pr_add(making, op);
}

/* Of the host's /proc or tree, which the sandbox's has the same names as. */
static void add_cover(struct pr_making *making, const struct pr_root_entry *entry)
{
    char path[64];
    struct spec_op op = { .fd = SPEC_NO_FD, .target = entry->path };
    struct stat info;

    (void)snprintf(path, sizeof(path), "/%s", entry->path);
    if (lstat(path, &info) != 0 || S_ISLNK(info.st_mode))
        return;
    op.kind = entry->kind == PR_ROOT_HOLD ? SPEC_SELF : SPEC_COVER;
    op.flags = entry->kind == PR_ROOT_HOLD ? SPEC_READ_ONLY
               : S_ISDIR(info.st_mode)     ? SPEC_IS_DIR
                                           : 0;
    pr_add(making, op);
}

static const char *text_of(const struct pr_making *making,
                           const struct pr_root_entry *entry)
{
    return making->input->door_fd >= 0 && entry->door_text ? entry->door_text
                                                           : entry->text;
}

static void add_hosts(struct pr_making *making, struct spec_op op)
{
    const char *more = making->input->door_fd >= 0 ? making->input->hosts : "";
    NACRE_AUTO(nacre_heap_guard) char *text = NULL;

    if (asprintf(&text, "%s%s", op.text, more) < 0) {
        pr_no_memory(making);
        return;
    }
    op.text = text;
    pr_add(making, op);
}

/* What leads out of the part of the host's tree that is to be seen is left alone: then
 * names are the proxy's business. */
static void add_over(struct pr_making *making, const struct pr_root_entry *entry)
{
    NACRE_AUTO(nacre_heap_guard) char *real = NULL;
    struct spec_op op = { .kind = SPEC_OVER, .fd = SPEC_NO_FD,
                          .text = text_of(making, entry), .mode = entry->mode };
    char path[64];

    (void)snprintf(path, sizeof(path), "/%s", entry->path);
    real = making->input->door_fd >= 0 ? realpath(path, NULL) : NULL;
    if (!real || pr_is_below(real + 1, "run") || pr_is_below(real + 1, "proc") ||
        pr_is_below(real + 1, "sys"))
        return;
    op.target = real + 1;
    if (strcmp(entry->path, "etc/hosts") == 0)
        add_hosts(making, op);
    else
        pr_add(making, op);
}

static void add_private(struct pr_making *making, const struct pr_root_entry *entry,
                        uint64_t flags)
{
    if (!is_mounted(making->input->plan, entry->path))
        pr_add(making, (struct spec_op){ .kind = SPEC_PRIVATE,
                                         .fd = SPEC_NO_FD,
                                         .flags = entry->flags | flags | SPEC_IS_DIR,
                                         .mode = entry->mode,
                                         .target = entry->path });
}

static void add_made(struct pr_making *making, const struct pr_root_entry *entry)
{
    char text[512];
    struct spec_op op = { .kind = entry->kind == PR_ROOT_LINK ? SPEC_LINK : SPEC_FILE,
                          .fd = SPEC_NO_FD,
                          .text = text_of(making, entry),
                          .target = entry->path,
                          .mode = entry->mode };

    if (entry->kind == PR_ROOT_HOSTS) {
        add_hosts(making, op);
        return;
    }
    if (entry->kind == PR_ROOT_PASSWD) {
        (void)snprintf(text, sizeof(text), "nacre:x:%u:%u:nacre:/tmp:/bin/sh\n",
                       (unsigned)making->input->uid, (unsigned)making->input->gid);
        op.text = text;
    } else if (entry->kind == PR_ROOT_GROUP) {
        (void)snprintf(text, sizeof(text), "nacre:x:%u:\n", (unsigned)making->input->gid);
        op.text = text;
    }
    pr_add(making, op);
}

static void add_entry(struct pr_making *making, const struct pr_root_entry *entry)
{
    const struct nacre_plan *plan = making->input->plan;
    bool full = plan->full_tree;
    /* In the host's tree the mount points are there. */
    uint64_t make = full && !strchr(entry->path, '/') ? 0 : SPEC_MAKE;

    if (!(entry->where & (full ? PR_IN_FULL : PR_IN_OWN)))
        return;
    switch (entry->kind) {
    case PR_ROOT_HOST:
    case PR_ROOT_DEVICE:
        add_host(making, entry);
        break;
    case PR_ROOT_COVER:
    case PR_ROOT_HOLD:
        add_cover(making, entry);
        break;
    case PR_ROOT_FILE:
    case PR_ROOT_PASSWD:
    case PR_ROOT_GROUP:
    case PR_ROOT_HOSTS:
    case PR_ROOT_LINK:
        add_made(making, entry);
        break;
    case PR_ROOT_PRIVATE:
        add_private(making, entry, make);
        break;
    case PR_ROOT_TMP:
        add_private(making, entry,
                    make | (plan->tmp_writable ? SPEC_MAY_WRITE : SPEC_READ_ONLY));
        break;
    case PR_ROOT_SHARED:
        add_private(making, entry,
                    make | (plan->shared_memory ? SPEC_MAY_WRITE : SPEC_READ_ONLY));
        break;
    case PR_ROOT_RUN:
        if (making->input->certificates || making->input->secrets)
            add_private(making, entry, make);
        else
            add_cover(making, entry);
        break;
    case PR_ROOT_CERTIFICATES:
        if (making->input->certificates)
            add_private(making, entry, make);
        break;
    case PR_ROOT_SECRETS:
        if (making->input->secrets)
            add_private(making, entry, make);
        break;
    case PR_ROOT_OVER:
        add_over(making, entry);
        break;
    case PR_ROOT_PROC:
        pr_add(making, (struct spec_op){ .kind = SPEC_PROC,
                                         .fd = SPEC_NO_FD,
                                         .flags = entry->flags | make | SPEC_IS_DIR,
                                         .target = entry->path });
        break;
    case PR_ROOT_NONE:
        assert(false && "every row has a kind");
    }
}

void pr_spec_add_root(struct pr_making *making)
{
    for (size_t i = 0; i < pr_root_count; i++)
        add_entry(making, &pr_root[i]);
}
