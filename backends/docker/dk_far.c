/* The names are init's answer: compared, and asked to be covered. */
#include "dk_far.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dk_create.h"
#include "dk_rows.h"
#include "nacre/path.h"
#include "nacre/text.h"
#include "nt_report.h"

#define NAMES "list "
#define NAME 256

/* Of /proc the engine's own list, which ours takes the place of. */
const char *const dk_far_known[] = {
    "/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys",
    "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi", "/proc/timer_list",
    "/proc/timer_stats",
    "/sys/block", "/sys/bus", "/sys/class", "/sys/dev", "/sys/devices", "/sys/firmware",
    "/sys/hypervisor", "/sys/kernel", "/sys/module", "/sys/power",
    "/sys/fs/bcache", "/sys/fs/bcachefs", "/sys/fs/bpf", "/sys/fs/btrfs",
    "/sys/fs/ecryptfs", "/sys/fs/erofs", "/sys/fs/ext4", "/sys/fs/f2fs", "/sys/fs/fuse",
    "/sys/fs/gfs2", "/sys/fs/nfs", "/sys/fs/nilfs2", "/sys/fs/o2cb", "/sys/fs/ocfs2",
    "/sys/fs/orangefs", "/sys/fs/pstore", "/sys/fs/resctrl", "/sys/fs/selinux",
    "/sys/fs/smackfs", "/sys/fs/tmpfs", "/sys/fs/ubifs", "/sys/fs/virtiofs",
    "/sys/fs/xfs", "/sys/fs/zonefs", NULL,
};

const char *const dk_far_questions[] = { NAMES "/proc", NAMES "/sys", NAMES "/sys/fs",
                                         NULL };

/* Where all but one name has to be covered; of /proc, what is known. */
static const struct {
    const char *dir, *spared;
} places[] = {
    { "/proc", NULL }, { "/sys", "fs" }, { "/sys/fs", "cgroup" },
};

void dk_far_init(struct dk_far *far)
{
    *far = (struct dk_far){ 0 };
    (void)pthread_mutex_init(&far->lock, NULL);
}

void dk_far_clear(struct dk_far *far)
{
    for (size_t i = 0; i < far->count; i++)
        free(far->found[i]);
    (void)pthread_mutex_destroy(&far->lock);
}

char **dk_far_masked(struct dk_far *far)
{
    char **masked = calloc(NACRE_COUNT(dk_far_known) + DK_FAR_MAX, sizeof(*masked));
    size_t count = NACRE_COUNT(dk_far_known) - 1;

    if (!masked)
        return NULL;
    memcpy(masked, dk_far_known, count * sizeof(*masked));
    (void)pthread_mutex_lock(&far->lock);
    memcpy(masked + count, far->found, far->count * sizeof(*masked));
    (void)pthread_mutex_unlock(&far->lock);
    return masked;
}

static enum nacre_status refuse(const char *path, struct nacre_error *err)
{
    char shown[NACRE_SHOWN];

    return nacre_fail(err, NACRE_ERR_UNAVAILABLE,
                      "the sandbox is not as planned: %s of the engine's machine is not "
                      "covered", nacre_text_shown(shown, path));
}

static enum nacre_status learn(struct dk_far *far, const char *path,
                               struct nacre_error *err)
{
    char *copy = NULL;

    (void)pthread_mutex_lock(&far->lock);
    if (far->count < DK_FAR_MAX && (copy = strdup(path)))
        far->found[far->count++] = copy;
    (void)pthread_mutex_unlock(&far->lock);
    return copy ? NACRE_OK : refuse(path, err);
}

static enum nacre_status judge(struct dk_far *far, char *const *masked,
                               const struct nt_box *box, const char *path,
                               bool *ret_again, struct nacre_error *err)
{
    bool is_readonly = dk_is_listed(dk_create_readonly, path);
    const struct nt_expect row = { path, NT_CHECK_MOUNT, DK_MOUNTS, path,
                                   is_readonly ? DK_READONLY : "type=tmpfs" };
    size_t count = 0;
    const char *mounts = nt_box_answer(box, DK_MOUNTS, &count);
    enum nacre_status status;

    if (nacre_path_is_below(path, "/proc", NULL) && !is_readonly &&
        !dk_is_listed(dk_far_known, path))
        return NACRE_OK;
    status = nt_report_check(&row, mounts, count, err);
    if (status == NACRE_OK || is_readonly)
        return status;
    if (dk_is_listed((const char *const *)masked, path))
        return refuse(path, err);
    *ret_again = true;
    return learn(far, path, err);
}

enum nacre_status dk_far_judge(struct dk_far *far, char *const *masked,
                               const struct nt_box *box, bool *ret_again,
                               struct nacre_error *err)
{
    for (size_t i = 0; i < NACRE_COUNT(places); i++) {
        size_t count = 0;
        const char *at = nt_box_answer(box, dk_far_questions[i], &count);

        if (!at || strncmp(at, "error ", 6) == 0)
            return refuse(places[i].dir, err);
        while (*at) {
            size_t length = strcspn(at, "\n");
            char path[2 * NAME], name[NAME];
            enum nacre_status status = NACRE_OK;

            (void)snprintf(name, sizeof(name), "%.*s", (int)length, at);
            (void)snprintf(path, sizeof(path), "%s/%s", places[i].dir, name);
            if (!places[i].spared || strcmp(name, places[i].spared) != 0)
                status = judge(far, masked, box, path, ret_again, err);
            if (status != NACRE_OK)
                return status;
            at += length + (at[length] == '\n');
        }
    }
    return NACRE_OK;
}

/* From 5.9 on. */
bool dk_far_has_filters(const char *version)
{
    unsigned major = 0, minor = 0;

    return sscanf(version, "%u.%u", &major, &minor) == 2 &&
           (major > 5 || (major == 5 && minor >= 9));
}
