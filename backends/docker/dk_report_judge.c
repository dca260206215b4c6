/*
 * Trusts the plan and the rows made of it.  The answers are an engine's container's:
 * nt_report reads them, and what is read here is a list of names that are only compared.
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "dk_gvisor.h"
#include "dk_kata.h"
#include "dk_rows.h"
#include "nacre/path.h"
#include "nacre/text.h"

const char dk_kernels_id[] = "the kernel's boot id";

/* Engines differ: newer ones name the group itself among the others.  None is a group
 * that was not planned. */
static enum nacre_status judge_groups(const struct dk_order *order, const char *status,
                                      size_t count, struct nacre_error *err)
{
    char device[16] = "", both[48], turned[48];
    const char *const planned[] = { device, both, turned };
    struct nt_expect row = { "the groups", NT_CHECK_STATUS, DK_STATUS, "Groups", NULL };
    enum nacre_status judged = NACRE_ERR_UNAVAILABLE;

    if (order->device)
        (void)snprintf(device, sizeof(device), "%" PRIu32, order->device_gid);
    (void)snprintf(both, sizeof(both), "%" PRIu32 "%s%s", order->gid,
                   device[0] ? " " : "", device);
    (void)snprintf(turned, sizeof(turned), "%s%s%" PRIu32, device, device[0] ? " " : "",
                   order->gid);
    for (size_t i = 0; i < NACRE_COUNT(planned) && judged != NACRE_OK; i++) {
        row.planned = planned[i];
        judged = nt_report_check(&row, status, count, err);
    }
    return judged;
}

/* "type:NAME" is the third field of "user:role:type:level", and so on. */
static enum nacre_status judge_label(const char *wanted, const struct nt_box *box,
                                     struct nacre_error *err)
{
    static const char *const fields[] = { "user:", "role:", "type:", "level:" };
    size_t count = 0, length;
    const char *at = nt_box_answer(box, DK_LABEL, &count);
    char shown[NACRE_SHOWN];

    for (size_t i = 0; at && i < NACRE_COUNT(fields); i++) {
        length = i < 3 ? strcspn(at, ":") : strcspn(at, "\n");
        if (strncmp(wanted, fields[i], strlen(fields[i])) == 0 &&
            strlen(wanted + strlen(fields[i])) == length &&
            strncmp(wanted + strlen(fields[i]), at, length) == 0)
            return NACRE_OK;
        at += length + (at[length] == ':');
    }
    return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                      "the sandbox is not as planned: the SELinux label does not have %s",
                      nacre_text_shown(shown, wanted));
}

/* The kernel writes blank, tab, end of line and backslash as \ooo. */
static void unescape(const char *from, size_t count, char ret_path[NACRE_PATH_MAX])
{
    size_t used = 0;

    for (size_t i = 0; i < count && used < NACRE_PATH_MAX - 1; i++) {
        unsigned value = (unsigned char)from[i];

        if (from[i] == '\\' && sscanf(from + i + 1, "%3o", &value) == 1)
            i += 3;
        ret_path[used++] = (char)value;
    }
    ret_path[used] = '\0';
}

static bool is_planned(const struct dk_order *order, const char *path)
{
    static const char *const engines[] = {
        "/",         "/dev",          "/dev/pts",   "/dev/mqueue",
        "/dev/shm",  "/etc/hostname", "/etc/hosts", "/etc/resolv.conf",
    };
    struct dk_tmpfs item;

    for (size_t i = 0; i < NACRE_COUNT(engines); i++)
        if (strcmp(path, engines[i]) == 0)
            return true;
    for (size_t i = 0; i < order->bind_count; i++)
        if (strcmp(path, order->binds[i].target) == 0)
            return true;
    for (size_t n = 0; dk_create_tmpfs(order, n, &item); n++)
        if (strcmp(path, item.path) == 0)
            return true;
    return nacre_path_is_below(path, "/proc", NULL) ||
           nacre_path_is_below(path, "/sys", NULL);
}

/* Nothing is mounted that was not planned.  A cover over a name of the image's own may
 * lie where a link led: as many as there are of them may be anywhere. */
static enum nacre_status judge_mounts(const struct dk_order *order, size_t anywhere,
                                      const char *mountinfo, struct nacre_error *err)
{

    for (size_t i = 0; i < order->bind_count; i++)
        anywhere += order->binds[i].in_image;
    for (const char *line = mountinfo; line && *line;) {
        const char *at = line, *end = strchrnul(line, '\n');
        char path[NACRE_PATH_MAX], shown[NACRE_SHOWN];

        for (int field = 0; field < 4 && at < end; field++)
            at += strcspn(at, " \n") + 1;
        if (at < end)
            unescape(at, strcspn(at, " \n"), path);
        if (at >= end || (!is_planned(order, path) && anywhere-- == 0))
            return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                              "the sandbox is not as planned: the engine mounted "
                              "something at '%s'",
                              at >= end ? "?" : nacre_text_shown(shown, path));
        line = *end ? end + 1 : end;
    }
    return NACRE_OK;
}

/* Covers in a machine, which init puts wherever the image's links lead. */
static size_t covers_of(const struct dk_parts *parts)
{
    const struct nacre_plan *plan = parts->plan;
    size_t count = 0;

    if (parts->kernel != DK_KERNEL_MACHINE)
        return 0;
    for (uint32_t i = 0; i < plan->mount_count; i++)
        count += plan->mounts[i].host ? 0 : plan->mounts[i].denied_count;
    return count + plan->denied_root_count;
}

static enum nacre_status prove_kernel(const struct dk_parts *parts,
                                      const struct nt_box *box, struct nacre_error *err)
{
    switch (parts->kernel) {
    case DK_KERNEL_GVISOR: return dk_gvisor_prove(parts->site, box, err);
    case DK_KERNEL_KATA: return dk_kata_prove(parts->site, box, parts->runtime, err);
    case DK_KERNEL_MACHINE:
        return dk_runtime_has_kernel(parts->site, box, "qemu", "a machine's", err);
    case DK_KERNEL_HOSTS:
        break;
    }
    return NACRE_OK;
}

/* An engine with another kernel has other directories under the same names, and numbers
 * of theirs that can't be compared with ours. */
static bool is_about_place(const struct nt_expect *row)
{
    return strncmp(row->what, DK_BOUND, strlen(DK_BOUND)) == 0 ||
           row->what == dk_kernels_id;
}

/* Of these, those that say so whatever the policy mounts: another kernel, or another file
 * as init though nacre's own still lies where the engine was told. */
static bool is_far(const struct nt_expect *row, const struct dk_parts *parts)
{
    const struct dk_binds *binds = &parts->binds;
    struct stat info;

    if (row->what == dk_kernels_id)
        return true;
    if (!is_about_place(row) || !dk_is_init(row->what + strlen(DK_BOUND)))
        return false;
    for (size_t i = 0; i < binds->count; i++)
        if (dk_is_init(binds->items[i].target))
            return stat(binds->items[i].source, &info) == 0 &&
                   info.st_dev == binds->items[i].device &&
                   info.st_ino == binds->items[i].inode;
    return false;
}

static enum nacre_status judge_row(const struct nt_expect *row,
                                   const struct dk_parts *parts, const struct nt_box *box,
                                   const struct dk_group *group, struct nacre_error *err)
{
    size_t count = 0;
    const char *answer = nt_box_answer(box, row->question, &count);
    char said[DK_GROUP_TEXT];
    enum nacre_status status;

    if (dk_is_hosts(row)) {
        answer = group ? dk_group_read(group, row->question + strlen(DK_HOSTS), said)
                       : NULL;
        count = answer ? strlen(answer) : 0;
    }
    status = nt_report_check(row, answer, count, err);
    if (status != NACRE_OK && is_far(row, parts))
        atomic_store(&parts->site->is_far, true);
    return status != NACRE_OK && is_about_place(row)
               ? nacre_fail_context(err, DK_ELSEWHERE)
               : status;
}

enum nacre_status dk_report_judge(const struct dk_report *report,
                                  const struct dk_parts *parts, const struct nt_box *box,
                                  const struct dk_group *group, struct nacre_error *err)
{
    const struct dk_order order = dk_parts_order(parts, NULL);
    const char *label = parts->plan->container.selinux_label;
    enum nacre_status status = prove_kernel(parts, box, err);
    size_t count = 0, ignored;
    const char *said = nt_box_answer(box, DK_STATUS, &count);

    for (size_t i = 0; i < report->count && status == NACRE_OK; i++)
        status = judge_row(&report->rows[i], parts, box, group, err);
    if (status == NACRE_OK)
        status = judge_groups(&order, said, count, err);
    if (status == NACRE_OK)
        status = judge_mounts(&order, covers_of(parts),
                              nt_box_answer(box, DK_MOUNTS, &ignored), err);
    if (status == NACRE_OK && label)
        status = judge_label(label, box, err);
    return status;
}

enum nacre_status dk_report_learn(const struct dk_parts *parts, const struct nt_box *box,
                                  bool *ret_found, struct nacre_error *err)
{
    const struct dk_binds_input input = dk_parts_input(parts);
    uint32_t left = parts->plan->denied_root_count;
    enum nacre_status status = NACRE_OK;
    const char *path;

    *ret_found = false;
    if (parts->far)
        status = dk_far_judge(&parts->site->far, parts->masked, box, ret_found, err);
    /* Each one that is learned leaves the list of those that are not known. */
    while (status == NACRE_OK && left-- > 0 && (path = dk_binds_unknown(&input, 0))) {
        char question[NACRE_PATH_MAX + 8];
        const char *answer;
        unsigned mode = 0;
        size_t count = 0;
        enum dk_kind kind = DK_KIND_MISSING;

        (void)snprintf(question, sizeof(question), "stat %s", path);
        answer = nt_box_answer(box, question, &count);
        if (!answer)
            return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                              "init did not say what a denied path is");
        if (sscanf(answer, "%*u %*u %o", &mode) == 1)
            kind = S_ISDIR(mode) ? DK_KIND_DIR : DK_KIND_FILE;
        *ret_found |= kind != DK_KIND_MISSING;
        status = dk_binds_learn(&input, path, kind, err);
    }
    return status;
}
