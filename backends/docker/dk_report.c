/*
 * Trusts the plan.  The answers are an engine's container's: nt_report reads them, and
 * what is read here is a list of names that are only compared.
 */
#include "dk_report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dk_gvisor.h"
#include "dk_kata.h"
#include "dk_rows.h"
#include "nacre/text.h"

#define STATUS "file /proc/self/status"
#define LIMITS "file /proc/self/limits"
#define LABEL "file /proc/self/attr/current"
/* gVisor has neither such files nor cgroups: init asks its kernel, and nacre the host. */
#define KERNELS_LIMITS "limits"
#define KERNELS_PRIVILEGES "privileges"
#define BOUND "what is bound at "

static const char kernels_id[] = "the kernel's boot id";

static void expect_status(struct dk_making *making, const char *what, const char *key,
                          const char *planned)
{
    dk_expect(making, (struct nt_expect){ what, NT_CHECK_STATUS, STATUS, key, planned });
}

/* Lines of /proc/self/status that gVisor's has not. */
static void expect_privilege(struct dk_making *making, const char *what, const char *key,
                             const char *planned)
{
    const char *question = making->gvisor ? KERNELS_PRIVILEGES : STATUS;

    dk_expect(making, (struct nt_expect){ what, NT_CHECK_STATUS, question, key, planned });
}

static void expect_text(struct dk_making *making, const char *what, const char *path,
                        const char *planned)
{
    dk_expect(making, (struct nt_expect){ what, NT_CHECK_TEXT,
                                          dk_text(making, "file %s", path), NULL,
                                          planned });
}

/* ---- the process ---- */

static void capabilities(struct dk_making *making, const struct dk_parts *parts)
{
    const char *kept = dk_text(making, "%016" PRIx64, dk_parts_capabilities(parts));
    const char *none = "0000000000000000";
    const char *in_force = parts->user.uid == 0 ? kept : none;

    expect_status(making, "the inheritable capabilities", "CapInh", none);
    expect_privilege(making, "the ambient capabilities", "CapAmb", none);
    expect_status(making, "the permitted capabilities", "CapPrm", in_force);
    expect_status(making, "the effective capabilities", "CapEff", in_force);
    expect_status(making, "the bound on capabilities", "CapBnd", kept);
}

/* Ours by init (a setup command has none), one by the engine around a container, and the
 * policy's own where it has one.  Not every kernel counts them. */
static void filters(struct dk_making *making, const struct dk_parts *parts)
{
    char *const *blocked = parts->plan->container.blocked_syscalls;
    int count = !parts->setup + (blocked && blocked[0]) +
                (making->kernel == DK_KERNEL_HOSTS);

    expect_status(making, "seccomp", "Seccomp", "2");
    if (making->kernel == DK_KERNEL_MACHINE ||
        (making->kernel == DK_KERNEL_HOSTS &&
         (parts->far
              ? dk_far_has_filters(dk_client_engine(parts->site->client)->kernel)
              : parts->site->has_filters)))
        expect_status(making, "the number of seccomp filters", "Seccomp_filters",
                      dk_text(making, "%d", count));
}

static void process(struct dk_making *making, const struct dk_parts *parts)
{
    const struct dk_site *site = parts->site;
    uint32_t uid = parts->user.uid, gid = parts->user.gid;

    /* The one who answers is init's child, by the numbers of the /proc that is there: of
     * another namespace they would be others. */
    expect_status(making, "the pid of init", "PPid", "1");
    expect_status(making, "the user", "Uid",
                  dk_text(making, "%u %u %u %u", uid, uid, uid, uid));
    expect_status(making, "the group", "Gid",
                  dk_text(making, "%u %u %u %u", gid, gid, gid, gid));
    capabilities(making, parts);
    expect_privilege(making, "no_new_privs", "NoNewPrivs", "1");
    filters(making, parts);
    dk_expect(making, (struct nt_expect){ "the network", NT_CHECK_LOOPBACK,
                                          "file /proc/net/dev", NULL, NULL });
    if (site->boot_id[0] && making->kernel == DK_KERNEL_HOSTS &&
        dk_binds_has_host(&parts->binds))
        expect_text(making, kernels_id, "/proc/sys/kernel/random/boot_id",
                    site->boot_id);
    if (parts->plan->container.apparmor_profile)
        expect_text(making, "the AppArmor profile", "/proc/self/attr/current",
                    dk_text(making, "%s (enforce)",
                            parts->plan->container.apparmor_profile));
}

/* As /proc/self/limits calls them. */
static const struct {
    const char *name, *key;
} limit_keys[] = {
    { "nofile", "Max open files" },        { "core", "Max core file size" },
    { "cpu", "Max cpu time" },             { "data", "Max data size" },
    { "fsize", "Max file size" },          { "locks", "Max file locks" },
    { "memlock", "Max locked memory" },    { "msgqueue", "Max msgqueue size" },
    { "sigpending", "Max pending signals" }, { "stack", "Max stack size" },
};

static void rlimits(struct dk_making *making, const struct nacre_plan *plan)
{
    const char *question = making->gvisor ? KERNELS_LIMITS : LIMITS;
    struct dk_ulimit ulimit;

    for (size_t n = 0; dk_create_ulimit(plan, n, &ulimit); n++)
        for (size_t i = 0; i < NACRE_COUNT(limit_keys); i++) {
            const char *key = limit_keys[i].key;
            const char *planned = dk_text(making, "%" PRIu64 " %" PRIu64, ulimit.soft,
                                          ulimit.hard);

            /* Whatever the policy says of core, init leaves none to a command. */
            if (strcmp(ulimit.name, "core") == 0)
                planned = "0 0";
            if (strcmp(ulimit.name, limit_keys[i].name) == 0)
                dk_expect(making, (struct nt_expect){ key, NT_CHECK_LIMIT, question, key,
                                                      planned });
        }
}

/* ---- what is mounted ---- */

/* Kata gives all of a machine's containers one /dev/shm, of a size that it chooses: that
 * will do where nothing is asked of it. */
static bool is_katas(const struct dk_making *making, const struct dk_order *order,
                     const struct dk_tmpfs *item)
{
    return making->kernel == DK_KERNEL_KATA && strcmp(item->path, "/dev/shm") == 0 &&
           item->writable && order->plan->container.disk_bytes == 0;
}

static void tmpfs(struct dk_making *making, const struct dk_order *order)
{
    struct dk_tmpfs item;

    for (size_t n = 0; dk_create_tmpfs(order, n, &item); n++) {
        const char *path, *mode = item.writable ? "rw" : "ro", *bytes = "", *files = "";

        if (!item.path[0] || is_katas(making, order, &item))
            continue;
        path = dk_text(making, "%s", item.path);
        if (item.bytes_max)
            bytes = dk_text(making, " bytes=%" PRIu64,
                            (item.bytes_max + 4095) / 4096 * 4096);
        if (item.files_max)
            files = dk_text(making, " inodes=%" PRIu64, item.files_max);
        if (!making->gvisor) {
            dk_expect_mount(making, path,
                            dk_text(making, "%s nosuid nodev type=tmpfs%s%s", mode, bytes,
                                    files));
            continue;
        }
        /* Its list of mounts tells sizes as they were written. */
        dk_expect_mount(making, path, dk_text(making, "%s type=tmpfs", mode));
        dk_expect(making, (struct nt_expect){ dk_text(making, "the size of %s", path),
                                              NT_CHECK_STAT,
                                              dk_text(making, "stat %s", path), NULL,
                                              bytes[0] ? bytes + 1 : "" });
    }
}

static void bound(struct dk_making *making, const struct dk_bind *bind,
                  const char *planned)
{
    dk_expect(making, (struct nt_expect){ dk_text(making, BOUND "%s", bind->target),
                                          NT_CHECK_STAT,
                                          dk_text(making, "stat %s", bind->target), NULL,
                                          planned });
}

static bool is_init(const char *target)
{
    return strcmp(target, DK_INIT_TARGET) == 0 ||
           strcmp(target, DK_INIT_TARGET_SETUP) == 0;
}

/*
 * gVisor numbers files itself, and a volume is not nacre's to look at.  A directory is
 * known by a file that nacre makes in it for as long as the report takes, through the fd
 * that it holds; a cover by being closed to all; init by having answered.
 */
static enum nacre_status know(struct dk_making *making, const struct dk_bind *bind,
                              struct nacre_error *err)
{
    struct dk_report *report = making->report;
    struct nt_nonce *nonce = NULL;
    struct nt_nonce **grown;
    struct stat info;
    char shown[NACRE_SHOWN];
    enum nacre_status status;

    if (is_init(bind->target))
        return NACRE_OK;
    if (bind->fd < 0) {
        bound(making, bind, bind->is_dir ? "mode=40000" : "mode=100000");
        return NACRE_OK;
    }
    (void)nacre_text_shown(shown, bind->target);
    if (fstat(bind->fd, &info) != 0 || !S_ISDIR(info.st_mode))
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                          "%s is a file: with gVisor only a bind of a directory can be "
                          "proved; change the runtime 'gvisor' to 'docker'",
                          shown);
    grown = realloc(report->nonces, (report->nonce_count + 1) * sizeof(*grown));
    if (!grown)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a container's report");
    report->nonces = grown;
    status = nt_nonce_make(making->state_dir, bind->fd, bind->target, &nonce, err);
    if (status == NACRE_ERR_IO) {
        (void)nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                         "mount '%s': with gVisor a bind is proved by a file that nacre "
                         "makes in it for a moment, and it can't make one there",
                         shown);
        return nacre_fail_blame(err, NACRE_RULE_MOUNTS, bind->target,
                                "give nacre a directory that it may write to, or change "
                                "the runtime 'gvisor' to 'docker'");
    }
    if (status != NACRE_OK)
        return status;
    report->nonces[report->nonce_count++] = nonce;
    dk_expect(making, *nt_nonce_expect(nonce));
    return NACRE_OK;
}

static enum nacre_status mounts(struct dk_making *making, const struct dk_parts *parts,
                                const struct dk_order *order, struct nacre_error *err)
{
    char *const *masked = order->masked;
    enum nacre_status status = NACRE_OK;

    dk_expect_mount(making, "/", parts->plan->container.read_only_root ? "ro" : "rw");
    for (size_t i = 0; i < order->bind_count && status == NACRE_OK; i++) {
        const struct dk_bind *bind = &order->binds[i];

        /* What it is a share of has been proved around the machine. */
        if (making->kernel == DK_KERNEL_MACHINE) {
            dk_expect_mount(making, bind->target,
                            bind->writable ? "rw nosuid nodev type=9p"
                                           : "ro nosuid nodev type=9p");
            continue;
        }
        if (!bind->in_image)
            dk_expect_mount(making, bind->target, bind->writable ? "rw" : "ro");
        if (making->kernel != DK_KERNEL_HOSTS || bind->volume)
            status = know(making, bind, err);
        else
            bound(making, bind,
                  dk_text(making, "device=%" PRIu64 " inode=%" PRIu64, bind->device,
                       bind->inode));
    }
    tmpfs(making, order);
    if (making->kernel == DK_KERNEL_HOSTS)
        dk_expect_kernel(making, parts);
    for (; !order->far && masked && *masked; masked++)
        if (strncmp(*masked, "/sys/fs/", 8) != 0) /* filesystems come and go */
            dk_expect_mount(making, *masked, "type=tmpfs");
    return status;
}

/* Asked of the host, not of init. */
static bool is_hosts(const struct nt_expect *row)
{
    return strncmp(row->question, DK_HOSTS, strlen(DK_HOSTS)) == 0;
}

/* Many rows ask the same; and what is there of the image is asked along. */
static bool collect(struct dk_making *making, const struct dk_parts *parts)
{
    struct dk_report *report = making->report;
    const struct dk_binds_input input = dk_parts_input(parts);
    static const char *const machines[] = { DK_BOOT_ID, NULL };
    const char *const *proof = making->kernel == DK_KERNEL_GVISOR ? dk_gvisor_questions
                               : making->kernel == DK_KERNEL_KATA ? dk_kata_questions
                               : making->kernel == DK_KERNEL_MACHINE ? machines
                               : parts->far                          ? dk_far_questions
                                                                     : NULL;
    size_t extra = 0;

    while (making->kernel != DK_KERNEL_MACHINE && dk_binds_unknown(&input, extra))
        extra++;
    report->questions =
        calloc(report->count + extra + 8, sizeof(*report->questions));
    if (!report->questions)
        return false;
    for (size_t i = 0; i < report->count; i++) {
        size_t k = 0;

        if (is_hosts(&report->rows[i]))
            continue;
        while (k < report->question_count &&
               strcmp(report->questions[k], report->rows[i].question) != 0)
            k++;
        report->questions[k] = report->rows[i].question;
        if (k == report->question_count)
            report->question_count++;
    }
    for (size_t n = 0; n < extra; n++)
        report->questions[report->question_count++] =
            dk_text(making, "stat %s", dk_binds_unknown(&input, n));
    if (parts->plan->container.selinux_label)
        report->questions[report->question_count++] = LABEL;
    for (; proof && *proof; proof++)
        report->questions[report->question_count++] = *proof;
    return !making->failed;
}

enum nacre_status dk_report_make(const struct dk_parts *parts,
                                 struct dk_report *ret_report, struct nacre_error *err)
{
    NACRE_AUTO(dk_report_clear) struct dk_report report = { 0 };
    struct dk_making making = { .report = &report,
                             .kernel = parts->kernel,
                             .gvisor = parts->kernel == DK_KERNEL_GVISOR,
                             .state_dir = parts->site->options->state_dir };
    struct dk_order order = dk_parts_order(parts, NULL);
    enum nacre_status status;

    process(&making, parts);
    if (parts->kernel != DK_KERNEL_MACHINE) /* there each command gets its own */
        rlimits(&making, parts->plan);
    dk_expect_groups(&making, parts);
    status = mounts(&making, parts, &order, err);
    if (status != NACRE_OK)
        return status;
    if (making.failed || !collect(&making, parts))
        return nacre_fail(err, NACRE_ERR_MEMORY, "a container's report");
    *ret_report = report;
    report = (struct dk_report){ 0 };
    return NACRE_OK;
}

/* ---- judging ---- */

/* Engines differ: newer ones name the group itself among the others.  None is a group
 * that was not planned. */
static enum nacre_status judge_groups(const struct dk_order *order, const char *status,
                                      size_t count, struct nacre_error *err)
{
    char device[16] = "", both[48], turned[48];
    const char *const planned[] = { device, both, turned };
    struct nt_expect row = { "the groups", NT_CHECK_STATUS, STATUS, "Groups", NULL };
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
    const char *at = nt_box_answer(box, LABEL, &count);
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
    return strncmp(row->what, BOUND, strlen(BOUND)) == 0 || row->what == kernels_id;
}

/* Of these, those that say so whatever the policy mounts: another kernel, or another file
 * as init though nacre's own still lies where the engine was told. */
static bool is_far(const struct nt_expect *row, const struct dk_parts *parts)
{
    const struct dk_binds *binds = &parts->binds;
    struct stat info;

    if (row->what == kernels_id)
        return true;
    if (!is_about_place(row) || !is_init(row->what + strlen(BOUND)))
        return false;
    for (size_t i = 0; i < binds->count; i++)
        if (is_init(binds->items[i].target))
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

    if (is_hosts(row)) {
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
                                  const struct dk_parts *parts, const char *id,
                                  const struct nt_box *box, const struct dk_group *group,
                                  struct nacre_error *err)
{
    const struct dk_order order = dk_parts_order(parts, NULL);
    const char *label = parts->plan->container.selinux_label;
    enum nacre_status status = prove_kernel(parts, box, err);
    size_t count = 0, mounts_count = 0;
    const char *said = nt_box_answer(box, STATUS, &count);
    const char *mountinfo = nt_box_answer(box, DK_MOUNTS, &mounts_count);

    for (size_t i = 0; i < report->count && status == NACRE_OK; i++)
        status = judge_row(&report->rows[i], parts, box, group, err);
    if (status == NACRE_OK)
        status = judge_groups(&order, said, count, err);
    if (status == NACRE_OK)
        status = dk_judge_mounts(parts, id, mountinfo, mounts_count, err);
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
