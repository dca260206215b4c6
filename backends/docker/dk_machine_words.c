/* QEMU's command line.  Names of the policy's stand in it; QEMU's own syntax is escaped,
 * and no shell reads them. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dk_machine.h"
#include "dk_recipe.h"
#include "nacre/buf.h"

#define INITRD "/tmp/initrd"
#define WORD_MAX (2 * NACRE_PATH_MAX + 256)
#define TRANSLATED_MIB 64 /* of code, at most */

void dk_machine_words_clear(struct dk_machine_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->items[i]);
    free(words->items);
    *words = (struct dk_machine_words){ 0 };
}

struct writing {
    struct dk_machine_words *words;
    bool failed;
};

__attribute__((format(printf, 2, 3))) static void add(struct writing *writing,
                                                      const char *format, ...)
{
    struct dk_machine_words *words = writing->words;
    va_list args;
    char *word = NULL;

    if (words->count + 1 >= words->room) {
        size_t room = 2 * words->room + 64;
        char **grown = realloc(words->items, room * sizeof(*grown));

        writing->failed |= !grown;
        if (!grown)
            return;
        words->items = grown;
        words->room = room;
    }
    va_start(args, format);
    if (vasprintf(&word, format, args) < 0)
        writing->failed = true;
    else
        words->items[words->count++] = word;
    va_end(args);
    words->items[words->count] = NULL;
}

static void add_two(struct writing *writing, const char *first, const char *second)
{
    add(writing, "%s", first);
    add(writing, "%s", second);
}

/* A comma in a value is written twice. */
static void escape(const char *text, char ret_text[WORD_MAX])
{
    size_t used = 0;

    for (; *text && used < WORD_MAX - 2; text++) {
        if (*text == ',')
            ret_text[used++] = ',';
        ret_text[used++] = *text;
    }
    ret_text[used] = '\0';
}

static void add_share(struct writing *writing, size_t n, const struct dk_bind *share)
{
    char path[WORD_MAX];

    escape(share->target, path);
    add(writing, "-fsdev");
    /* Of several file systems each has numbers of its own: they are told apart. */
    add(writing, "local,id=s%zu,path=" DK_MACHINE_SHARES "/%zu%s,security_model=none,"
                 "multidevs=remap%s",
        n, n, path, share->writable ? "" : ",readonly=on");
    add(writing, "-device");
    add(writing, "virtio-9p-device,fsdev=s%zu,mount_tag=s%zu", n, n);
}

static void add_kernel(struct writing *writing, const struct dk_machine_boot *boot)
{
    char clock[64] = "";

    if (boot->emulated)
        (void)snprintf(clock, sizeof(clock), "tsc_early_khz=%" PRIu64 " ",
                       boot->processor_khz);
    /* As it unpacks itself it chooses a place at random.  Emulated, that takes seconds,
     * and the machine is no wall. */
    add_two(writing, "-kernel",
            boot->emulated ? DK_MACHINE_KERNEL_UNPACKED : DK_MACHINE_KERNEL);
    add_two(writing, "-initrd", INITRD);
    add(writing, "-append");
    /* Its own tests and waits are seconds where it is emulated; nobody inside gets at the
     * kernel, root or not. */
    add(writing, "%spanic=-1 quiet cryptomgr.notests rcupdate.rcu_expedited=1 "
                 "lockdown=confidentiality -- machine", clock);
}

/* As little of a machine as boots: no firmware's devices, no network, no display. */
enum nacre_status dk_machine_words_make(const struct dk_machine_boot *boot,
                                        struct dk_machine_words *ret_words,
                                        struct nacre_error *err)
{
    NACRE_AUTO(dk_machine_words_clear) struct dk_machine_words words = { 0 };
    struct writing writing = { .words = &words };

    /* The kernel takes one file: init's archive with the modules' behind it. */
    add_two(&writing, "/bin/sh", "-c");
    add_two(&writing, "cat " DK_MACHINE_INITRD " " DK_MACHINE_MODULES " >" INITRD
                      " && exec \"$@\"", "sh");
    add(&writing, "/usr/bin/qemu-system-x86_64");
    add_two(&writing, "-M", "microvm,acpi=on,pit=off,pic=off,rtc=on,usb=off,"
                            "isa-serial=off");
    add(&writing, "-accel");
    if (boot->emulated)
        add(&writing, "tcg,tb-size=%d", TRANSLATED_MIB);
    else
        add(&writing, "kvm");
    add_two(&writing, "-cpu", boot->emulated ? "max" : "host");
    add(&writing, "-m");
    add(&writing, "%" PRIu64 "M", boot->ram_bytes >> 20);
    add(&writing, "-smp");
    add(&writing, "%" PRIu32, boot->processors);
    add_two(&writing, "-nodefaults", "-no-user-config");
    add_two(&writing, "-display", "none");
    add(&writing, "-no-reboot");
    /* A second filter, QEMU's own: no process, no program, no privilege. */
    add_two(&writing, "-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,"
                                  "resourcecontrol=deny");
    add_kernel(&writing, boot);
    if (boot->has_disk) {
        add_two(&writing, "-drive", "id=disk,file=" DK_MACHINE_DISK
                                    ",format=raw,if=none,readonly=on");
        add_two(&writing, "-device", "virtio-blk-device,drive=disk");
    }
    add_two(&writing, "-chardev", "stdio,id=channel,signal=off");
    add_two(&writing, "-device", "virtio-serial-device,max_ports=2");
    add_two(&writing, "-device", "virtserialport,chardev=channel,name=" MACHINE_PORT);
    for (size_t i = 0; boot->shares && i < boot->shares->count; i++)
        add_share(&writing, i, &boot->shares->items[i]);
    if (writing.failed)
        return nacre_fail(err, NACRE_ERR_MEMORY, "a machine's command line");
    *ret_words = words;
    words = (struct dk_machine_words){ 0 };
    return NACRE_OK;
}
