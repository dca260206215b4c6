/* Trusts the state directory, which only we can write. */
#include "dk_kvm.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dk_box.h"
#include "dk_machine.h"
#include "dk_vm.h"

#define LOOK_MS 10000
#define PROBE_BYTES ((uint64_t)128 << 20)
#define BEAT_MS 5000
#define USABLE "usable "
#define UNUSABLE "unusable "
#define LINE 512

/* ---- what is known ---- */

/* "BOOT-ID IMAGE-ID ": of another start of this machine, or of another QEMU, nothing is
 * known. */
static enum nacre_status key_of(const struct dk_site *site,
                                const struct dk_caller *caller, char ret_key[LINE],
                                struct nacre_error *err)
{
    NACRE_AUTO(dk_json_guard) json_t *image = NULL;
    enum nacre_status status = dk_image_inspect(site->client, NACRE_VM_IMAGE,
                                                dk_caller_within(caller, LOOK_MS),
                                                &image, err);

    if (status == NACRE_OK)
        (void)snprintf(ret_key, LINE, "%s %s ", site->boot_id,
                       json_string_value(json_object_get(image, "Id")));
    return status;
}

static bool path_of(const struct dk_site *site, char ret_path[NACRE_PATH_MAX])
{
    return snprintf(ret_path, NACRE_PATH_MAX, "%s/boxes/kvm", site->options->state_dir) <
           NACRE_PATH_MAX;
}

static bool recall(const char *path, const char *key, bool *ret_usable,
                   char ret_why[DK_KVM_TEXT])
{
    FILE *file = fopen(path, "re");
    char line[LINE];
    const char *rest = line + strlen(key);
    bool known = file && fgets(line, sizeof(line), file) &&
                 strncmp(line, key, strlen(key)) == 0 && strchr(line, '\n');

    if (file)
        (void)fclose(file);
    if (!known)
        return false;
    *ret_usable = strncmp(rest, USABLE, strlen(USABLE)) == 0;
    if (!*ret_usable && strncmp(rest, UNUSABLE, strlen(UNUSABLE)) != 0)
        return false;
    rest += strlen(*ret_usable ? USABLE : UNUSABLE);
    (void)snprintf(ret_why, DK_KVM_TEXT, "%.*s", (int)strcspn(rest, "\n"), rest);
    return true;
}

/* What can't be kept is found out again. */
static void remember(const char *path, const char *key, bool usable, const char *why)
{
    char fresh[NACRE_PATH_MAX + 32], line[2 * LINE];
    NACRE_AUTO(nacre_fd_guard) int fd = -1;
    int count = snprintf(line, sizeof(line), "%s%s%s\n", key, usable ? USABLE : UNUSABLE,
                         why);

    (void)snprintf(fresh, sizeof(fresh), "%s.%ld", path, (long)getpid());
    fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    if (write(fd, line, (size_t)count) != count || rename(fresh, path) != 0)
        (void)unlink(fresh);
}

/* ---- finding out ---- */

/* A machine without a disk: that its init misses it is the answer. */
static enum nacre_status boot(struct dk_box *box, const struct dk_caller *caller,
                              struct nacre_error *err)
{
    const struct dk_machine_boot machine = { .ram_bytes = PROBE_BYTES, .processors = 1 };
    const struct init_machine nothing = { .hostname = "nacre" };
    const struct init_config config = { .beat_ms_max = BEAT_MS, .commands_max = 1,
                                        .oom_file = "" };
    NACRE_AUTO(dk_machine_words_clear) struct dk_machine_words words = { 0 };
    NACRE_AUTO(dk_vm_guard) struct dk_vm *vm = NULL;
    struct dk_vm_order order = { .around = dk_box_channel(box), .machine = &nothing,
                                 .config = &config };
    enum nacre_status status = dk_machine_words_make(&machine, &words, err);

    if (status != NACRE_OK)
        return status;
    order.words = (const char *const *)words.items;
    order.wait = dk_caller_within(caller, DK_KVM_MS);
    status = dk_vm_open(&order, &vm, err);
    return status == NACRE_ERR_UNAVAILABLE ? NACRE_OK : status;
}

/* NACRE_ERR_UNAVAILABLE: it could not be tried. */
static enum nacre_status try(struct dk_site *site, const struct dk_caller *caller,
                             bool *ret_usable, char ret_why[DK_KVM_TEXT],
                             struct nacre_error *err)
{
    const struct dk_extra initrd = { site->initrd_path, DK_MACHINE_INITRD, false };
    NACRE_AUTO(nacre_plan_guard) struct nacre_plan *plan = NULL;
    NACRE_AUTO(dk_box_guard) struct dk_box *box = NULL;
    struct dk_box_order order = { .caller = *caller, .extra = &initrd,
                                  .extra_count = 1, .kvm = true };
    enum nacre_status status = dk_machine_bare(PROBE_BYTES, &plan, err);

    order.plan = plan;
    if (status == NACRE_OK)
        status = dk_box_open(site, &order, &box, err);
    if (status != NACRE_OK)
        return nacre_fail_context(err, "KVM can't be tried");
    status = boot(box, caller, err);
    if (nt_cancelled_by(caller->cancelled, caller->run_cancelled) != 0)
        return nacre_fail(err, NACRE_ERR_UNAVAILABLE, "cancelled");
    *ret_usable = status == NACRE_OK;
    if (status == NACRE_OK)
        (void)snprintf(ret_why, DK_KVM_TEXT, "a machine booted with it and answered");
    else if (status == NACRE_ERR_TIMEOUT)
        (void)snprintf(ret_why, DK_KVM_TEXT,
                       DK_KVM_DEVICE " opens, but no machine booted with it within %d s",
                       DK_KVM_MS / 1000);
    else
        (void)snprintf(ret_why, DK_KVM_TEXT, "no machine boots with it: %.120s",
                       err->text);
    return NACRE_OK;
}

bool dk_kvm_is_usable(struct dk_site *site, const struct dk_caller *caller,
                      char ret_why[DK_KVM_TEXT])
{
    char key[LINE], path[NACRE_PATH_MAX];
    struct nacre_error err;
    struct stat info;
    bool usable = false;

    if (stat(DK_KVM_DEVICE, &info) != 0 || !S_ISCHR(info.st_mode)) {
        (void)snprintf(ret_why, DK_KVM_TEXT, "there is no " DK_KVM_DEVICE " here");
        return false;
    }
    if (key_of(site, caller, key, &err) != NACRE_OK || !path_of(site, path)) {
        (void)snprintf(ret_why, DK_KVM_TEXT, "%.150s", err.text);
        return false;
    }
    if (recall(path, key, &usable, ret_why))
        return usable;
    if (try(site, caller, &usable, ret_why, &err) != NACRE_OK) {
        (void)snprintf(ret_why, DK_KVM_TEXT, "%.150s", err.text);
        return false;
    }
    remember(path, key, usable, ret_why);
    return usable;
}
