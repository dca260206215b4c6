/* The answers may be anybody's: nt_report.c and pr_mountinfo.c read them so. */
#include "pr_expect.h"

#include <inttypes.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "nacre/text.h"
#include "pr_mountinfo.h"

#define STATUS "file /proc/self/status"
#define MOUNTS "file /proc/self/mountinfo"
#define DEVICES "file /proc/net/dev"
#define NO_CAPABILITY "0000000000000000"
#define PAGE 4096

void pr_expect_clear(struct pr_expect *expect)
{
    for (size_t i = 0; i < expect->text_count; i++)
        free(expect->texts[i]);
    expect->text_count = expect->row_count = expect->question_count = 0;
}

/* NULL when memory is short or there is no room; whoever uses it checks at the end. */
__attribute__((format(printf, 2, 3))) static const char *keep(struct pr_expect *expect,
                                                              const char *format, ...)
{
    char *text = NULL;
    va_list args;
    int length;

    if (expect->text_count == PR_TEXTS_MAX)
        return NULL;
    va_start(args, format);
    length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        return NULL;
    expect->texts[expect->text_count++] = text;
    return text;
}

static bool ask(struct pr_expect *expect, const char *question)
{
    if (!question || expect->question_count == PR_QUESTIONS_MAX)
        return false;
    expect->questions[expect->question_count++] = question;
    return true;
}

static bool add(struct pr_expect *expect, struct nt_expect row)
{
    if (!row.what || !row.question || expect->row_count == PR_EXPECTS_MAX)
        return false;
    expect->rows[expect->row_count++] = row;
    return true;
}

static bool add_status(struct pr_expect *expect, const char *what, const char *key,
                       const char *planned)
{
    return planned && add(expect, (struct nt_expect){ what, NT_CHECK_STATUS, STATUS, key,
                                                      planned });
}

/* By what is to be seen at the path, whatever is mounted below or beside it. */
static bool add_place(struct pr_expect *expect, const char *target, const char *planned)
{
    const char *question = keep(expect, "stat /%s", target);

    return planned && ask(expect, question) &&
           add(expect, (struct nt_expect){ keep(expect, "/%s", target), NT_CHECK_STAT,
                                           question, NULL, planned });
}

/* The user, and that nothing which it may do goes beyond a user's. */
static bool add_process(struct pr_expect *expect, const struct pr_spec *spec, bool alone)
{
    static const char *const sets[] = { "CapInh", "CapPrm", "CapEff", "CapBnd",
                                        "CapAmb" };
    uint64_t uid = spec->head.uid, gid = spec->head.gid;
    bool good = ask(expect, STATUS) && ask(expect, DEVICES);

    /* Only what the policy grants may have something of the kernel's below it. */
    expect->asks_mounts = spec->fd_count > 0;
    if (expect->asks_mounts)
        good = good && ask(expect, MOUNTS);

    good = good &&
           add_status(expect, "the user", "Uid",
                      keep(expect, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, uid,
                           uid, uid, uid)) &&
           add_status(expect, "the group", "Gid",
                      keep(expect, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, gid,
                           gid, gid, gid)) &&
           add_status(expect, "NoNewPrivs", "NoNewPrivs", "1") &&
           add_status(expect, "the system call filter", "Seccomp", "2");
    if (alone)
        good = good && add_status(expect, "the other groups", "Groups", "");
    for (size_t i = 0; i < NACRE_COUNT(sets); i++)
        good = good && add_status(expect, sets[i], sets[i], NO_CAPABILITY);
    return good && add(expect, (struct nt_expect){ "the network", NT_CHECK_LOOPBACK,
                                                   DEVICES, NULL, NULL });
}

static const char *flag_words(const struct spec_op *op)
{
    return op->flags & SPEC_DEVICE      ? "ro nosuid noexec"
           : op->flags & SPEC_READ_ONLY ? "ro nosuid nodev"
                                        : "nosuid nodev";
}

static bool add_op(struct pr_expect *expect, const struct spec_op *op,
                   const struct spec_op *scratch)
{
    const char *flags = flag_words(op);

    if (op->kind == SPEC_ROOT)
        return add_place(expect, "",
                         keep(expect, "ro nosuid nodev noexec type=%d", TMPFS_MAGIC));
    /* A bind of the policy's is the very directory that nacre holds. */
    if (op->kind == SPEC_TREE && op->fd != SPEC_NO_FD)
        return add_place(expect, op->target,
                         keep(expect, "device=%" PRIu64 " inode=%" PRIu64 " %s",
                              op->device, op->inode, flags));
    /* Of the root's own table the parts of /etc and /dev are not asked about. */
    if (op->kind == SPEC_TREE)
        return strchr(op->target, '/') || add_place(expect, op->target, flags);
    if (op->kind == SPEC_PRIVATE)
        return add_place(expect, op->target,
                         keep(expect, "type=%d bytes=%" PRIu64 " inodes=%" PRIu64 " %s",
                              TMPFS_MAGIC, (scratch->bytes + PAGE - 1) / PAGE * PAGE,
                              scratch->files, flags));
    return op->kind != SPEC_PROC ||
           add_place(expect, op->target,
                     keep(expect, "nosuid nodev noexec type=%d", PROC_SUPER_MAGIC));
}

enum nacre_status pr_expect_make(const struct pr_spec *spec, bool alone,
                                 struct pr_expect *ret_expect, struct nacre_error *err)
{
    const struct spec_op *scratch = NULL;
    bool good;

    ret_expect->question_count = ret_expect->row_count = ret_expect->text_count = 0;
    good = add_process(ret_expect, spec, alone);
    for (size_t i = 0; i < spec->op_count && good; i++) {
        if (spec->ops[i].kind == SPEC_SCRATCH)
            scratch = &spec->ops[i];
        good = add_op(ret_expect, &spec->ops[i], scratch);
    }
    if (good)
        return NACRE_OK;
    pr_expect_clear(ret_expect);
    return nacre_fail(err, NACRE_ERR_MEMORY, "what a sandbox has to report");
}

/* A later mount at the same path, or above it, hides what was there. */
static bool is_hidden(const char *rest, const struct pr_mount_line *shown)
{
    struct pr_mount_line line;
    bool broken = false;

    while (pr_mountinfo_next(&rest, &line, &broken))
        if (nacre_path_is_below(shown->path, line.path, NULL))
            return true;
    return false;
}

bool pr_expect_shows_kernel(const char *mountinfo, char ret_path[NACRE_PATH_MAX])
{
    struct pr_mount_line line;
    bool broken = false;

    (void)snprintf(ret_path, NACRE_PATH_MAX, "/proc/self/mountinfo");
    while (pr_mountinfo_next(&mountinfo, &line, &broken)) {
        if (!pr_mountinfo_is_kernel(&line) ||
            (strcmp(line.type, "proc") == 0 &&
             nacre_path_is_below(line.path, "/proc", NULL)) ||
            (strcmp(line.type, "devtmpfs") == 0 &&
             nacre_path_is_below(line.path, "/dev", NULL) && line.path[4] == '/') ||
            is_hidden(mountinfo, &line))
            continue;
        (void)snprintf(ret_path, NACRE_PATH_MAX, "%s", line.path);
        return true;
    }
    return broken;
}

enum nacre_status pr_expect_judge(const struct pr_expect *expect,
                                  const struct nt_box *box, struct nacre_error *err)
{
    char path[NACRE_PATH_MAX] = "/", shown[NACRE_SHOWN];
    const char *mounts;
    size_t count;
    enum nacre_status status =
        nt_report_judge(box, expect->rows, expect->row_count, err);

    if (status != NACRE_OK || !expect->asks_mounts)
        return status;
    mounts = nt_box_answer(box, MOUNTS, &count);
    if (!mounts || pr_expect_shows_kernel(mounts, path))
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "the sandbox is not as planned: a filesystem of the kernel's "
                          "own is to be seen at %s; unmount it on the host, or grant a "
                          "directory that is not above it",
                          nacre_text_shown(shown, path));
    return NACRE_OK;
}

enum nacre_status pr_expect_masks(const struct pr_spec *spec,
                                  struct init_mask **ret_masks, size_t *ret_count,
                                  struct nacre_buf *names, struct nacre_error *err)
{
    struct init_mask *masks = calloc(spec->op_count + 1, sizeof(*masks));
    size_t count = 0, offset = 0;
    enum nacre_status status = NACRE_OK;

    if (!masks)
        return nacre_fail(err, NACRE_ERR_MEMORY, "masks");
    for (size_t i = 0; i < spec->op_count && status == NACRE_OK; i++) {
        const char *target = spec->ops[i].target;

        if (spec->ops[i].kind != SPEC_COVER)
            continue;
        status = nacre_buf_add(names, "/", 1, err);
        if (status == NACRE_OK)
            status = nacre_buf_add(names, target, strlen(target) + 1, err);
    }
    for (size_t i = 0; i < spec->op_count && status == NACRE_OK; i++)
        if (spec->ops[i].kind == SPEC_COVER) {
            masks[count++].path = names->bytes + offset;
            offset += strlen(names->bytes + offset) + 1;
        }
    *ret_masks = masks;
    *ret_count = count;
    return status;
}
